/* SPDX-License-Identifier: MIT */
/*
 * Inspection: system trace, device profiles and the host, into one folder. And the older trace of all
 * cores into one file.
 */
#include "runtime-hooks/libnrt/nrt_inspect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_inspect.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_inspect_config.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"
#include "runtime-hooks/libnrt/nrt_trace_types.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

/* A loaded model. */
struct seen_model {
    struct ntk_core_model *model;
    char *capture; /* path while it is recorded */
};

struct inspection {
    bool is_on;
    bool on_fail; /* a failed execution is written */
    bool is_lazy; /* nothing else is: there is no folder until one fails */
    bool has_recorders, has_failed;
    uint32_t activities;
    nrt_inspect_device_profile_mode_t device_mode;
    bool core_enabled[NRT_TRACE_CORES];
    char *below;  /* the output folder */
    char *folder; /* of this inspection, in it */
    struct ntk_core_inspect_info info;
    struct ntk_core_sampler *sampler;
};

/* Taken inside the front's gate, before every lock of the core. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct inspection inspection;
static struct ntk_vec models = NTK_VEC_INIT(struct seen_model);

/* --- begin and stop ------------------------------------------------------------------------------- */

static char *path_of(const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", inspection.folder, name) < 0 ? NULL : path;
}

/* NRT_INVALID: it does not fit. */
NRT_STATUS nrt_inspect_get_instance_output_dir(const char *output_dir, char *buf, size_t buf_size)
{
    if (!output_dir || !buf || buf_size == 0) {
        return NRT_INVALID;
    }
    int length =
        snprintf(buf, buf_size, "%s/%s_pid_%d", output_dir, NTK_CORE_INSTANCE_ID, (int)getpid());
    return length < 0 || (size_t)length >= buf_size ? NRT_INVALID : NRT_SUCCESS;
}

/* "<hash><end>" in the folder, for the program of a model. NULL without memory. */
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

static bool session_mode_is_on(void)
{
    return inspection.is_on && !inspection.is_lazy &&
           (inspection.activities & NRT_INSPECT_DEVICE_PROFILE) &&
           inspection.device_mode == NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION;
}

static bool model_mode_is_on(void)
{
    return inspection.is_on && !inspection.is_lazy &&
           (inspection.activities & NRT_INSPECT_DEVICE_PROFILE) &&
           inspection.device_mode == NRT_INSPECT_DEVICE_PROFILE_MODE_MODEL;
}

/* The lock is held. A model whose capture cannot start stays unrecorded, and the log says so. */
static void capture_start(struct seen_model *seen)
{
    struct ntk_err err = { 0 };
    uint32_t nc = ntk_core_model_nc(seen->model);

    if (!model_mode_is_on() || (nc < NRT_TRACE_CORES && !inspection.core_enabled[nc])) {
        return;
    }
    char *path = model_path(seen->model, "", "_instid_0_vnc_%u.ntff", nc);
    /* The first of several models of one NEFF on one core is recorded. */
    if (!path || access(path, F_OK) == 0) {
        free(path);
        return;
    }
    int ret = ntk_core_profile_start(seen->model, path, &err);
    if (ret < 0) {
        (void)nrt_front_fail("nrt_inspect_begin", ret, &err);
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
            nrt_log_error("nrt_inspect_stop", "%s", err.text);
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

    if (nrt_inspect_get_instance_output_dir(below, instance, sizeof instance) != NRT_SUCCESS) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is too long a path", below);
    }
    gmtime_r(&now, &utc);
    (void)strftime(time_text, sizeof time_text, "%Y%m%dT%H%M%SZ", &utc);
    char *folder = NULL;
    for (unsigned i = 0; !folder; i++) { /* a second inspection in this second gets its own */
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

/* On the enabled cores: sessions, or what keeps a failed execution. */
static int recorders_start(struct ntk_core *core, enum ntk_core_recorder_keeps keeps,
                           struct ntk_err *err)
{
    const char *scratch = getenv("TMPDIR");
    struct ntk_core_recorder_options recorder = {
        .keeps = keeps,
        .folder = inspection.folder ? inspection.folder : (scratch && *scratch ? scratch : "/tmp"),
    };
    int ret = nrt_env_profile_bounds_get(&recorder, err);

    inspection.has_recorders = true;
    for (uint32_t nc = 0; nc < ntk_core_count(core) && ret == 0; nc++) {
        if (nc < NRT_TRACE_CORES && inspection.core_enabled[nc]) {
            ret = ntk_core_recorder_start(core, nc, NTK_CORE_RECORDER_INSPECT, &recorder, err);
        }
    }
    return ret;
}

/* What is recorded from now on. */
static int recording_start(struct ntk_core *core, const struct nrt_inspect_config *config,
                           struct ntk_err *err)
{
    bool is_session = !inspection.is_lazy && (config->activities & NRT_INSPECT_DEVICE_PROFILE) &&
                      config->device_mode == NRT_INSPECT_DEVICE_PROFILE_MODE_SESSION;
    int ret = 0;

    if (config->activities & NRT_INSPECT_SYSTEM_PROFILE) {
        struct ntk_core_trace_options trace = { .core_count = ntk_core_count(core),
                                                .core_enabled = config->core_enabled,
                                                .kinds = nrt_trace_types_kinds(config->types),
                                                .events_per_core = config->events_per_nc };

        ret = ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &trace, err);
    }
    if (ret == 0 && (is_session || inspection.on_fail)) {
        /* A session holds the executions that fail anyway. */
        ret = recorders_start(core, is_session ? NTK_CORE_KEEPS_ALL : NTK_CORE_KEEPS_FAILED, err);
    }
    if (ret == 0 && (config->activities & (NRT_INSPECT_HOST_MEMORY | NRT_INSPECT_CPU_UTIL))) {
        ret = ntk_core_sampler_create(&inspection.sampler, err);
    }
    return ret;
}

/* The lock is held. */
static int begin(struct ntk_core *core, const struct nrt_inspect_config *config,
                 struct ntk_err *err)
{
    if (inspection.is_on) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "an inspection is on already");
    }
    inspection.on_fail = config->enable_on_fail;
    inspection.is_lazy = config->enable_on_fail && !config->enable_inspect;
    inspection.below = strdup(config->folder);
    int ret = inspection.below ? 0 : ntk_err_no_memory(err);
    if (ret == 0 && !inspection.is_lazy) {
        ret = folder_make(inspection.below, err);
    }
    inspection.activities = config->activities;
    inspection.device_mode = config->device_mode;
    memcpy(inspection.core_enabled, config->core_enabled, sizeof inspection.core_enabled);
    inspection.info = (struct ntk_core_inspect_info){ .instance_id = NTK_CORE_INSTANCE_ID,
                                                      .runtime_version = NRT_FRONT_RUNTIME_VERSION,
                                                      .session_id = config->session_id,
                                                      .begin_ns = ntk_clock_realtime_ns() };
    if (ret == 0) {
        ret = recording_start(core, config, err);
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

static void kind_names_get(const char **names)
{
    for (int i = 0; i < NTK_CORE_TRACE_KINDS; i++) {
        names[i] = nrt_trace_kind_name((enum ntk_core_trace_kind)i);
    }
}

/* The first failure is told; the other files are written all the same. */
static int keep_first(int first, int ret, const struct ntk_err *err)
{
    if (ret > 0) { /* there, but shorter: the disk is full */
        ret = err->code;
    }
    if (ret < 0) {
        nrt_log_error("nrt_inspect_stop", "%s", err->text);
    }
    return first < 0 ? first : ret;
}

/* The system trace as it is now, and what the folder is about. The lock is held. */
static int trace_save(struct ntk_core *core)
{
    const char *names[NTK_CORE_TRACE_KINDS];
    char *trace = path_of("ntrace.pb");
    char *info = path_of("trace_info.pb");
    struct ntk_err err = { 0 };
    int ret = trace && info ? 0 : -ENOMEM;

    kind_names_get(names);
    inspection.info.end_ns = ntk_clock_realtime_ns();
    if (ret == 0 && (inspection.activities & NRT_INSPECT_SYSTEM_PROFILE)) {
        int saved = ntk_core_trace_save(core, NTK_CORE_TRACE_INSPECT, names, trace, &err);
        ret = keep_first(ret, saved, &err);
    }
    if (trace && info) {
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
    int ret = cpu && memory ? 0 : -ENOMEM;

    if (ret == 0 && inspection.sampler) {
        ret = ntk_core_sampler_save(
            inspection.sampler, inspection.activities & NRT_INSPECT_CPU_UTIL ? cpu : NULL,
            inspection.activities & NRT_INSPECT_HOST_MEMORY ? memory : NULL, &err);
        ret = keep_first(0, ret, &err);
    }
    free(cpu);
    free(memory);
    return ret;
}

/* The session of each core that ran something. */
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
                 : -ENOMEM;
        if (ret > 0 && err.code == -ENOBUFS) {
            nrt_log_write(NRT_LOG_NRT, NRT_LOG_WARN, "nrt_inspect_stop", "%s", err.text);
        } else if (ret != -ENODATA && ret != -ENOENT) { /* that core ran nothing, or is left out */
            first = keep_first(first, ret, &err);
        }
        free(path);
    }
    return first;
}

/* The lock is held and an inspection on. */
static int stop(struct ntk_core *core)
{
    int ret = 0;

    ntk_vec_each(struct seen_model, seen, &models) {
        capture_stop(core, seen);
    }
    if (inspection.folder) { /* else nothing failed that should have been written */
        int sessions = sessions_save(core);
        int trace = trace_save(core);
        int host = host_save();

        ret = sessions < 0 ? sessions : trace < 0 ? trace : host;
    }
    inspection_fini(core);
    return ret;
}

/* options NULL: by_environment says which defaults. */
static NRT_STATUS begin_public(const nrt_inspect_config_t *options, bool by_environment)
{
    struct nrt_inspect_config defaults = { 0 };
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    int ret = nrt_inspect_config_init(&defaults) == NRT_SUCCESS ? 0 : -ENOMEM;
    if (ret == 0 && by_environment) {
        ret = nrt_inspect_config_from_environment(&defaults, &err);
    }
    if (ret == 0) {
        pthread_mutex_lock(&lock);
        ret = begin(nrt_front_core_get(), options ? options : &defaults, &err);
        pthread_mutex_unlock(&lock);
    }
    free(defaults.folder);
    if (ret < 0) {
        status = nrt_front_fail("nrt_inspect_begin", ret, &err);
    }
    nrt_front_leave();
    return status;
}

NRT_STATUS nrt_inspect_begin(void)
{
    return begin_public(NULL, true);
}

NRT_STATUS nrt_inspect_begin_with_options(nrt_inspect_config_t *options)
{
    return begin_public(options, false);
}

NRT_STATUS nrt_inspect_stop(void)
{
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    if (!inspection.is_on) {
        nrt_log_error("nrt_inspect_stop", "no inspection is on (NRT_INVALID)");
        status = NRT_INVALID;
    } else if (stop(nrt_front_core_get()) < 0) {
        status = NRT_FAILURE;
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}

void nrt_inspect_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    inspection = (struct inspection){ 0 }; /* files, thread and memory are the parent's */
    ntk_vec_clear(&models);
}

/* --- what the library tells ----------------------------------------------------------------------- */

void nrt_inspect_opened(struct ntk_core *core)
{
    struct nrt_inspect_config config = { 0 };
    struct ntk_err err = { 0 };

    if (!nrt_inspect_config_is_wanted()) {
        return;
    }
    int ret = nrt_inspect_config_init(&config) == NRT_SUCCESS
                  ? nrt_inspect_config_from_environment(&config, &err)
                  : -ENOMEM;
    if (ret == 0) {
        pthread_mutex_lock(&lock);
        ret = begin(core, &config, &err);
        pthread_mutex_unlock(&lock);
    }
    if (ret < 0) { /* the job goes on without */
        (void)nrt_front_fail("nrt_inspect_begin", ret, &err);
    }
    free(config.folder);
}

void nrt_inspect_closing(struct ntk_core *core)
{
    pthread_mutex_lock(&lock);
    if (inspection.is_on) {
        (void)stop(core);
    }
    ntk_vec_clear(&models);
    pthread_mutex_unlock(&lock);
}

/* The program beside its captures. The lock is held. */
static void neff_save(const struct ntk_core_model *model, const char *format, const void *neff,
                      size_t bytes)
{
    struct ntk_err err = { 0 };
    char *path = model_path(model, "neff_", format, ntk_core_model_nc(model));

    if (path && access(path, F_OK) != 0 && ntk_fs_write(path, neff, bytes, &err) < 0) {
        nrt_log_error("nrt_load", "%s", err.text);
    }
    free(path);
}

void nrt_inspect_model_loaded(struct ntk_core_model *model, const void *neff, size_t bytes)
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
        free(seen.capture); /* its capture ends with the runtime */
    }
    pthread_mutex_unlock(&lock);
}

void nrt_inspect_model_unloading(struct ntk_core_model *model)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < models.count; i++) {
        struct seen_model *seen = ntk_vec_at(&models, i);

        if (seen->model == model) {
            capture_stop(nrt_front_core_get(), seen);
            ntk_vec_remove(&models, i);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The kept execution of one core, as a file of its own; false when there is none that is not there yet.
 * The lock is held. */
static bool failed_save(struct ntk_core *core, const struct ntk_core_model *model, uint32_t nc)
{
    bool is_saved = false;
    struct ntk_err err = { 0 };
    /* Beside the capture of the first execution it needs another name. */
    char *path = model_path(
        model, "", model_mode_is_on() ? "_instid_0_vnc_%u_failed.ntff" : "_instid_0_vnc_%u.ntff",
        nc);

    /* One per program and core: a job that goes on failing does not fill the disk. */
    if (path && access(path, F_OK) != 0) {
        int ret = ntk_core_recorder_save(core, nc, NTK_CORE_RECORDER_INSPECT,
                                         ntk_core_model_uuid(model), path, &err);

        if (ret > 0 || (ret < 0 && ret != -ENODATA && ret != -ENOENT)) {
            nrt_log_error("nrt_execute", "%s", err.text);
        }
        is_saved = ret >= 0;
    }
    free(path);
    return is_saved;
}

void nrt_inspect_execution_failed(struct ntk_core_model *model)
{
    struct ntk_core *core = nrt_front_core_get();
    struct ntk_err err = { 0 };
    int ret = 0;

    pthread_mutex_lock(&lock);
    if (inspection.is_on && inspection.on_fail) {
        bool is_news = !inspection.has_failed;

        inspection.has_failed = true;
        if (!inspection.folder) {
            ret = folder_make(inspection.below, &err);
        }
        if (ret < 0) {
            nrt_log_error("nrt_execute", "%s", err.text);
        } else {
            uint32_t first = ntk_core_model_nc(model);
            uint32_t end = first + ntk_core_model_nc_count(model);

            for (uint32_t nc = first; nc < end && !session_mode_is_on(); nc++) {
                is_news = failed_save(core, model, nc) || is_news;
            }
            if (is_news) { /* now: the job may not live to its end */
                (void)trace_save(core);
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

bool nrt_inspect_records_device(void)
{
    pthread_mutex_lock(&lock);
    bool is_on = inspection.is_on && !inspection.is_lazy &&
                 (inspection.activities & NRT_INSPECT_DEVICE_PROFILE) != 0;
    pthread_mutex_unlock(&lock);
    return is_on;
}

/* --- the older trace ------------------------------------------------------------------------------ */

NRT_STATUS nrt_trace_start(bool trace_mem)
{
    uint64_t memory =
        (UINT64_C(1) << NTK_CORE_TRACE_MEMORY_ALLOC) | (UINT64_C(1) << NTK_CORE_TRACE_MEMORY_FREE);
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    struct ntk_core_trace_options trace = {
        .core_count = ntk_core_count(nrt_front_core_get()),
        .kinds = nrt_trace_types_kinds(nrt_trace_types_all()) & ~(trace_mem ? 0 : memory),
        .events_per_core = NRT_TRACE_EVENTS_PER_NC,
    };
    int ret = ntk_core_trace_start(NTK_CORE_TRACE_WHOLE, &trace, &err);
    if (ret < 0) {
        (void)nrt_front_fail("nrt_trace_start", ret, &err);
        status = ret == -ENOMEM ? NRT_RESOURCE : NRT_INVALID;
    }
    nrt_front_leave();
    return status;
}

NRT_STATUS nrt_trace_stop(const char *filename)
{
    const char *names[NTK_CORE_TRACE_KINDS];
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    if (!filename || !*filename || ntk_core_trace_core_count(NTK_CORE_TRACE_WHOLE) == 0) {
        status = NRT_INVALID;
    } else {
        kind_names_get(names);
        int ret =
            ntk_core_trace_save(nrt_front_core_get(), NTK_CORE_TRACE_WHOLE, names, filename, &err);
        if (ret < 0) {
            (void)nrt_front_fail("nrt_trace_stop", ret, &err);
            status = NRT_FAILURE;
        } else if (ret > 0) { /* a shorter, readable trace */
            nrt_log_error("nrt_trace_stop", "%s", err.text);
            status = NRT_RESOURCE;
        }
        (void)ntk_core_trace_stop(NTK_CORE_TRACE_WHOLE);
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}
