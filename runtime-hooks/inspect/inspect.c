/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/inspect/inspect.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_inspect.h"
#include "runtime-hooks/core/core_inspect_vendor.h"
#include "runtime-hooks/inspect/continuous.h"
#include "runtime-hooks/inspect/session.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

/* A loaded model. */
struct seen_model {
    struct ntk_core_model *model;
    char *capture; /* path while recording, else NULL */
};

struct inspection {
    bool is_on;
    bool is_lazy; /* the folder is created only when an execution fails */
    bool has_recorders, has_failed;
    struct ntk_inspect_options options; /* the inspection owns its folder */
    char *below;                        /* the output folder */
    char *folder;                       /* folder of this inspection, in the output folder */
    struct ntk_core_inspect_info info;
    struct ntk_core_sampler *sampler;
};

/* Locked while the front's gate is held, before every lock of the core. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inspection inspection;
static struct ntk_vec models = NTK_VEC_INIT(struct seen_model);

/* --- begin and stop --------------------------------------------------------------------------- */

static char *path_of(const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", inspection.folder, name) < 0 ? NULL : path;
}

int ntk_inspect_instance_folder(const char *folder, char *out_path, size_t bytes)
{
    int length =
        snprintf(out_path, bytes, "%s/%s_pid_%d", folder, NTK_CORE_INSTANCE_ID, (int)getpid());

    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

/* Returns the path "<hash><suffix>" in the folder, for the program of a model. NULL if out of
 * memory. */
static char *model_path(const struct ntk_core_model *model, const char *before, const char *format,
                        uint32_t nc)
{
    char hash[33];
    char end[64];
    char *path = NULL;

    ntk_str_hex(hash, ntk_core_model_uuid(model), 16);
    (void)snprintf(end, sizeof end, format, nc);
    return asprintf(&path, "%s/%s%s%s", inspection.folder, before, hash, end) < 0 ? NULL : path;
}

static void tell(enum ntk_inspect_step step, int error, const char *sentence)
{
    if (inspection.options.tell) {
        inspection.options.tell(step, error, sentence);
    }
}

static bool records_device(void)
{
    return inspection.is_on && !inspection.is_lazy &&
           (inspection.options.activities & NTK_INSPECT_DEVICE_PROFILE);
}

static bool session_mode_is_on(void)
{
    return records_device() && inspection.options.device == NTK_INSPECT_BY_SESSION;
}

static bool model_mode_is_on(void)
{
    return records_device() && inspection.options.device == NTK_INSPECT_BY_MODEL;
}

static bool core_is_enabled(uint32_t nc)
{
    return nc < NTK_INSPECT_CORES && inspection.options.core_enabled[nc];
}

/* Starts to capture a model. If that fails, the model is not recorded, and the failure is logged.
 * The caller holds the lock. */
static void capture_start(struct seen_model *seen)
{
    struct ntk_err err = { 0 };
    uint32_t nc = ntk_core_model_nc(seen->model);

    if (!model_mode_is_on() || (nc < NTK_INSPECT_CORES && !core_is_enabled(nc))) {
        return;
    }
    char *path = model_path(seen->model, "", "_instid_0_vnc_%u.ntff", nc);
    if (!path) {
        tell(NTK_INSPECT_STEP_BEGIN, ntk_err_no_memory(&err), err.text);
    }
    /* If several models on one core have the same NEFF, only the first is recorded. */
    if (!path || access(path, F_OK) == 0) {
        free(path);
        return;
    }
    int ret = ntk_core_profile_start(seen->model, path, &err);
    if (ret < 0) {
        tell(NTK_INSPECT_STEP_BEGIN, ret, err.text);
        free(path);
        return;
    }
    seen->capture = path;
}

static void capture_stop(struct ntk_core *core, struct seen_model *seen)
{
    struct ntk_err err = { 0 };

    if (seen->capture) {
        int ret = ntk_core_profile_stop(core, seen->capture, &err);
        if (ret != 0) {
            tell(NTK_INSPECT_STEP_STOP, ret < 0 ? ret : err.code, err.text);
        }
        free(seen->capture);
        seen->capture = NULL;
    }
}

static int folder_make(const char *below, struct ntk_err *err)
{
    char instance[4096];
    char time_text[32];
    time_t now = time(NULL);
    struct tm utc;

    if (ntk_inspect_instance_folder(below, instance, sizeof instance) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: the path is too long", below);
    }
    gmtime_r(&now, &utc);
    (void)strftime(time_text, sizeof time_text, "%Y%m%dT%H%M%SZ", &utc);
    if (inspection.options.is_vendor) { /* the time is written to trace_info.pb */
        (void)snprintf(time_text, sizeof time_text, "%llu",
                       (unsigned long long)inspection.info.begin_ns);
    }
    char *folder = NULL;
    /* a second inspection in the same second gets a different name */
    for (unsigned i = 0; !folder; i++) {
        int length = i == 0 ? asprintf(&folder, "%s/%s", instance, time_text)
                            : asprintf(&folder, "%s/%s-%u", instance, time_text, i);

        if (length < 0) {
            return ntk_err_no_memory(err);
        }
        if (access(folder, F_OK) == 0) {
            free(folder);
            folder = NULL;
        }
    }
    int ret = ntk_fs_make_folders(folder, 0755, err);
    if (ret < 0) {
        free(folder);
        return ret;
    }
    inspection.folder = folder;
    return 0;
}

static void inspection_fini(struct ntk_core *core)
{
    for (uint32_t nc = 0; nc < ntk_core_count(core) && inspection.has_recorders; nc++) {
        (void)ntk_core_recorder_stop(core, nc, NTK_CORE_RECORDER_INSPECT, NULL, NULL);
    }
    (void)ntk_core_trace_stop(NTK_CORE_TRACE_INSPECT);
    ntk_core_sampler_destroy(inspection.sampler);
    free(inspection.below);
    free(inspection.folder);
    inspection = (struct inspection){ 0 };
}

/* Starts sessions or recorders of failed executions on the enabled cores. */
static int recorders_start(struct ntk_core *core, enum ntk_core_recorder_keeps keeps,
                           struct ntk_err *err)
{
    const struct ntk_core_recorder_options recorder = {
        .keeps = keeps,
        .folder = inspection.folder ? inspection.folder : ntk_fs_temporary_folder(),
        .bounds = inspection.options.bounds,
    };
    int ret = 0;

    inspection.has_recorders = true;
    for (uint32_t nc = 0; nc < ntk_core_count(core) && ret == 0; nc++) {
        if (core_is_enabled(nc)) {
            ret = ntk_core_recorder_start(core, nc, NTK_CORE_RECORDER_INSPECT, &recorder, err);
        }
    }
    return ret;
}

static bool has_sessions(const struct ntk_inspect_options *options)
{
    return (options->records || !options->on_fail) &&
           (options->activities & NTK_INSPECT_DEVICE_PROFILE) &&
           options->device == NTK_INSPECT_BY_SESSION;
}

bool ntk_inspect_has_recordings(const struct ntk_inspect_options *options)
{
    return has_sessions(options) || options->on_fail;
}

/* Starts to record the enabled activities. */
static int recording_start(struct ntk_core *core, struct ntk_err *err)
{
    const struct ntk_inspect_options *options = &inspection.options;
    int ret = 0;

    if (options->activities & NTK_INSPECT_SYSTEM_PROFILE) {
        struct ntk_core_trace_options trace = { .core_count = ntk_core_count(core),
                                                .core_enabled = options->core_enabled,
                                                .kinds = options->trace_kinds,
                                                .events_per_core = options->events_per_core };

        ret = ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &trace, err);
    }
    if (ret == 0 && ntk_inspect_has_recordings(options)) {
        /* A session also contains failed executions. */
        ret = recorders_start(
            core, has_sessions(options) ? NTK_CORE_KEEPS_ALL : NTK_CORE_KEEPS_FAILED, err);
    }
    if (ret == 0 && (options->activities & (NTK_INSPECT_HOST_MEMORY | NTK_INSPECT_CPU_UTIL))) {
        ret = ntk_core_sampler_create(&inspection.sampler, err);
    }
    return ret;
}

/* Begins an inspection. The caller holds the lock. */
static int begin(struct ntk_core *core, const struct ntk_inspect_options *options,
                 struct ntk_err *err)
{
    if (inspection.is_on) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "an inspection is already in progress");
    }
    inspection.options = *options;
    inspection.is_lazy = options->on_fail && !options->records;
    inspection.below = strdup(options->folder);
    inspection.options.folder = inspection.below;
    int ret = inspection.below ? 0 : ntk_err_no_memory(err);
    inspection.info = (struct ntk_core_inspect_info){ .instance_id = NTK_CORE_INSTANCE_ID,
                                                      .runtime_version = options->runtime_version,
                                                      .session_id = options->session_id,
                                                      .begin_ns = ntk_clock_realtime_ns() };
    if (ret == 0 && !inspection.is_lazy) {
        ret = folder_make(inspection.below, err);
    }
    if (ret == 0) {
        ret = recording_start(core, err);
    }
    if (ret < 0) {
        inspection_fini(core);
        return ret;
    }
    inspection.is_on = true;
    ntk_vec_each(struct seen_model, seen, &models) {
        capture_start(seen);
    }
    return 0;
}

int ntk_inspect_begin(struct ntk_core *core, const struct ntk_inspect_options *options,
                      struct ntk_err *err)
{
    pthread_mutex_lock(&lock);
    int ret = begin(core, options, err);
    pthread_mutex_unlock(&lock);
    return ret;
}

/* Keeps and logs the first failure; the other files are written nevertheless. */
static int keep_first(int first, int ret, const struct ntk_err *err)
{
    if (ret > 0) { /* written but incomplete because the disk is full */
        ret = err->code;
    }
    if (ret < 0) {
        tell(NTK_INSPECT_STEP_STOP, ret, err->text);
    }
    return first < 0 ? first : ret;
}

/* Writes the same two files in the vendor's layout; only the second if trace is NULL. */
static int vendor_save(struct ntk_core *core, const char *trace, const char *info)
{
    struct ntk_core_vendor_trace saved_trace = { 0 };
    struct ntk_err err = { 0 };
    int ret = 0;

    if (trace) {
        int saved = ntk_core_vendor_trace_save(
            core, NTK_CORE_TRACE_INSPECT, inspection.options.kind_names, trace, &saved_trace, &err);
        ret = keep_first(ret, saved, &err);
    }
    int saved = ntk_core_vendor_info_save(core, &inspection.info, inspection.options.kind_names,
                                          trace ? &saved_trace : NULL, info, &err);
    ret = keep_first(ret, saved, &err);
    ntk_core_vendor_trace_fini(&saved_trace);
    return ret;
}

/* Writes the current system trace and the general files. The caller holds the lock. */
static int trace_save(struct ntk_core *core)
{
    char *trace = path_of("ntrace.pb");
    char *info = path_of("trace_info.pb");
    struct ntk_err err = { 0 };
    int ret = trace && info ? 0 : keep_first(0, ntk_err_no_memory(&err), &err);

    inspection.info.end_ns = ntk_clock_realtime_ns();
    bool has_trace = inspection.options.activities & NTK_INSPECT_SYSTEM_PROFILE;
    if (ret == 0 && inspection.options.is_vendor) {
        ret = vendor_save(core, has_trace ? trace : NULL, info);
    } else if (ret == 0) {
        if (has_trace) {
            int saved = ntk_core_trace_save(core, NTK_CORE_TRACE_INSPECT,
                                            inspection.options.kind_names, trace, &err);
            ret = keep_first(ret, saved, &err);
        }
        int saved = ntk_core_inspect_info_save(core, &inspection.info, info, &err);
        ret = keep_first(ret, saved, &err);
    }
    free(trace);
    free(info);
    return ret;
}

static int host_save(void)
{
    char *cpu = path_of("cpu_util.pb");
    char *memory = path_of("host_mem.pb");
    struct ntk_err err = { 0 };
    int ret = cpu && memory ? 0 : keep_first(0, ntk_err_no_memory(&err), &err);

    if (ret == 0 && inspection.sampler) {
        ret = ntk_core_sampler_save(
            inspection.sampler, inspection.options.is_vendor,
            inspection.options.activities & NTK_INSPECT_CPU_UTIL ? cpu : NULL,
            inspection.options.activities & NTK_INSPECT_HOST_MEMORY ? memory : NULL, &err);
        ret = keep_first(0, ret, &err);
    }
    free(cpu);
    free(memory);
    return ret;
}

/* Writes the session of each core with executions. */
static int sessions_save(struct ntk_core *core)
{
    char name[96];
    int first = 0;

    if (!session_mode_is_on()) {
        return 0;
    }
    for (uint32_t nc = 0; nc < ntk_core_count(core); nc++) {
        struct ntk_err err = { 0 };

        (void)snprintf(name, sizeof name, "profile_nc_%u_session_%llu.ntff", nc,
                       (unsigned long long)inspection.info.session_id);
        char *path = path_of(name);
        int ret =
            path ? ntk_core_recorder_save(core, nc, NTK_CORE_RECORDER_INSPECT, NULL, path, &err)
                 : ntk_err_no_memory(&err);
        if (ret > 0 && err.code == -ENOBUFS) {
            tell(NTK_INSPECT_STEP_STOP, 0, err.text);
            /* nothing ran on that core, or the core is excluded */
        } else if (ret != -ENODATA && ret != -ENOENT) {
            first = keep_first(first, ret, &err);
        }
        free(path);
    }
    return first;
}

/* Stops the inspection. The caller holds the lock and an inspection is on. */
static int stop(struct ntk_core *core)
{
    int ret = 0;

    ntk_vec_each(struct seen_model, seen, &models) {
        capture_stop(core, seen);
    }
    if (inspection.folder) { /* without a folder nothing failed, so there is nothing to write */
        int sessions = sessions_save(core);
        int trace = trace_save(core);
        int host = host_save();

        ret = sessions < 0 ? sessions : trace < 0 ? trace : host;
    }
    inspection_fini(core);
    return ret;
}

int ntk_inspect_stop(struct ntk_core *core)
{
    pthread_mutex_lock(&lock);
    int ret = inspection.is_on ? stop(core) : -ENOENT;
    pthread_mutex_unlock(&lock);
    return ret;
}

void ntk_inspect_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    inspection = (struct inspection){ 0 }; /* files, thread and memory belong to the parent */
    ntk_vec_clear(&models);
    ntk_continuous_forget();
    ntk_session_forget();
}

/* --- reports of a front ----------------------------------------------------------------------- */

void ntk_inspect_closing(struct ntk_core *core)
{
    pthread_mutex_lock(&lock);
    if (inspection.is_on) {
        (void)stop(core);
    }
    ntk_vec_clear(&models);
    pthread_mutex_unlock(&lock);
    ntk_continuous_closing();
    (void)ntk_session_drop(0, NTK_CORE_ANY);
}

/* Writes the program to the folder with its captures. The caller holds the lock. */
static void neff_save(const struct ntk_core_model *model, const char *format, const void *neff,
                      size_t bytes)
{
    struct ntk_err err = { 0 };
    char *path = model_path(model, "neff_", format, ntk_core_model_nc(model));

    if (path && access(path, F_OK) != 0 && ntk_fs_write(path, neff, bytes, &err) < 0) {
        tell(NTK_INSPECT_STEP_LOAD, err.code, err.text);
    }
    free(path);
}

void ntk_inspect_model_loaded(struct ntk_core_model *model, const void *neff, size_t bytes)
{
    struct seen_model seen = { .model = model };

    pthread_mutex_lock(&lock);
    capture_start(&seen);
    if (seen.capture) {
        neff_save(model, "_vnc_%u.neff", neff, bytes);
    } else if (session_mode_is_on()) {
        neff_save(model, ".neff", neff, bytes);
    }
    if (ntk_vec_push(&models, &seen) < 0 && seen.capture) {
        free(seen.capture); /* the capture stops with the runtime */
    }
    pthread_mutex_unlock(&lock);
}

void ntk_inspect_model_unloading(struct ntk_core *core, struct ntk_core_model *model)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < models.count; i++) {
        struct seen_model *seen = ntk_vec_at(&models, i);

        if (seen->model == model) {
            capture_stop(core, seen);
            ntk_vec_remove(&models, i);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Writes the kept execution of one core to a separate file; false if none is new. The lock
 * is held. */
static bool failed_save(struct ntk_core *core, const struct ntk_core_model *model, uint32_t nc)
{
    bool is_saved = false;
    struct ntk_err err = { 0 };
    /* The usual name is taken by the capture of the first execution. */
    char *path = model_path(
        model, "", model_mode_is_on() ? "_instid_0_vnc_%u_failed.ntff" : "_instid_0_vnc_%u.ntff",
        nc);

    /* Write one file per program and core, so that repeated failures do not fill the disk. */
    if (path && access(path, F_OK) != 0) {
        int ret = ntk_core_recorder_save(core, nc, NTK_CORE_RECORDER_INSPECT,
                                         ntk_core_model_uuid(model), path, &err);

        if (ret > 0 || (ret < 0 && ret != -ENODATA && ret != -ENOENT)) {
            tell(NTK_INSPECT_STEP_EXECUTE, ret < 0 ? ret : err.code, err.text);
        }
        is_saved = ret >= 0;
    }
    free(path);
    return is_saved;
}

void ntk_inspect_execution_failed(struct ntk_core *core, struct ntk_core_model *model)
{
    struct ntk_err err = { 0 };
    int ret = 0;

    pthread_mutex_lock(&lock);
    if (inspection.is_on && inspection.options.on_fail) {
        bool is_news = !inspection.has_failed;

        inspection.has_failed = true;
        if (!inspection.folder) {
            ret = folder_make(inspection.below, &err);
        }
        if (ret < 0) {
            tell(NTK_INSPECT_STEP_EXECUTE, ret, err.text);
        } else {
            uint32_t first = ntk_core_model_nc(model);
            uint32_t end = first + ntk_core_model_nc_count(model);

            for (uint32_t nc = first; nc < end && !session_mode_is_on(); nc++) {
                is_news = failed_save(core, model, nc) || is_news;
            }
            if (is_news) { /* write it now, because the job may not reach its end */
                (void)trace_save(core);
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

bool ntk_inspect_records_device(void)
{
    pthread_mutex_lock(&lock);
    bool is_on = records_device();
    pthread_mutex_unlock(&lock);
    return is_on;
}
