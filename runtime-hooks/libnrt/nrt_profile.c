/* SPDX-License-Identifier: MIT */
/*
 * Recording of whole cores: the latest execution, to be written at any time, and sessions.
 */
#include "runtime-hooks/libnrt/nrt_profile_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_front.h"
#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define DEFAULT_FOLDER "./output"
#define SESSIONS_MAX 64U /* that wait to be written or dropped */
#define SAVED_MAX 16U    /* files per core that continuous profiling leaves; older ones go */
#define PATH_BYTES 4096

struct nrt_profile_continuous_options {
    char *folder;
};

struct session {
    uint64_t id;
    uint32_t nc;
    struct ntk_core_recording *recording;
};

/* Taken inside the front's gate, before every lock of the core. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_continuous;
static uint32_t saved_count; /* files since the start of the process */
/* A file that continuous profiling left. */
struct saved {
    uint32_t nc;
    char *path;
};
static struct ntk_vec saved = NTK_VEC_INIT(struct saved);
static struct ntk_vec sessions = NTK_VEC_INIT(struct session);
static uint64_t session_last_id;

/* Unnamed files of recordings lie here until they are written. */
static const char *scratch_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder ? folder : "/tmp";
}

/* What a save came to, for the public call. */
static NRT_STATUS saved_status(const char *function, int ret, const struct ntk_err *err)
{
    if (ret < 0) {
        return nrt_front_fail(function, ret == -ENODATA || ret == -ENOENT ? -EINVAL : ret, err);
    }
    if (ret > 0) { /* a shorter, readable capture */
        bool is_bounded = err->code == -ENOBUFS;

        nrt_log_write(NRT_LOG_NRT, is_bounded ? NRT_LOG_WARN : NRT_LOG_ERROR, function, "%s",
                      err->text);
        return is_bounded ? NRT_SUCCESS : NRT_RESOURCE;
    }
    return NRT_SUCCESS;
}

/* --- continuous ----------------------------------------------------------------------------------- */

NRT_STATUS nrt_profile_continuous_options_allocate(nrt_profile_continuous_options_t **options)
{
    if (!options) {
        return NRT_INVALID;
    }
    nrt_profile_continuous_options_t *made = calloc(1, sizeof *made);
    if (!made || !(made->folder = strdup(DEFAULT_FOLDER))) {
        free(made);
        return NRT_RESOURCE;
    }
    *options = made;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_profile_continuous_options_free(nrt_profile_continuous_options_t *options)
{
    if (!options) {
        return NRT_INVALID;
    }
    free(options->folder);
    free(options);
    return NRT_SUCCESS;
}

NRT_STATUS
nrt_profile_continuous_options_set_output_dir(nrt_profile_continuous_options_t *options,
                                              const char *output_dir)
{
    if (!options || !output_dir || !*output_dir) {
        return NRT_INVALID;
    }
    char *folder = strdup(output_dir);
    if (!folder) {
        return NRT_RESOURCE;
    }
    free(options->folder);
    options->folder = folder;
    return NRT_SUCCESS;
}

/* The lock is held. */
static int continuous_start(struct ntk_core *core, struct ntk_err *err)
{
    struct ntk_core_recorder_options recorder = { .keeps = NTK_CORE_KEEPS_LATEST,
                                                  .folder = scratch_folder() };
    struct nrt_env_async async = { 0 };
    int ret = nrt_env_profile_bounds_get(&recorder, err);

    if (ret == 0) {
        ret = nrt_env_async_get(&async, err);
    }
    if (ret == 0 && (is_continuous || ntk_inspect_records_device() || async.implicit_depth > 0)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           is_continuous ? "continuous profiling is on already"
                           : async.implicit_depth > 0
                               ? "continuous profiling does not go with queued executions"
                               : "an inspection records the device");
    }
    for (uint32_t nc = 0; nc < ntk_core_count(core) && ret == 0; nc++) {
        ret = ntk_core_recorder_start(core, nc, NTK_CORE_RECORDER_CONTINUOUS, &recorder, err);
    }
    return ret;
}

static void continuous_stop(struct ntk_core *core)
{
    for (uint32_t nc = 0; nc < ntk_core_count(core); nc++) {
        (void)ntk_core_recorder_stop(core, nc, NTK_CORE_RECORDER_CONTINUOUS, NULL, NULL);
    }
}

NRT_STATUS nrt_profile_continuous_start(nrt_profile_continuous_options_t *options)
{
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    (void)options; /* where files go is asked when there is one */
    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    int ret = continuous_start(nrt_front_core_get(), &err);
    if (ret < 0) {
        if (!is_continuous) {
            continuous_stop(nrt_front_core_get());
        }
        status = nrt_front_fail("nrt_profile_continuous_start", ret, &err);
    } else {
        is_continuous = true;
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}

/* The oldest files of a core beyond SAVED_MAX go. The lock is held. */
static void saved_add(uint32_t nc, const char *path)
{
    struct saved added = { .nc = nc, .path = strdup(path) };
    size_t count = 0;

    if (!added.path || ntk_vec_push(&saved, &added) < 0) {
        free(added.path);
        return;
    }
    for (size_t i = saved.count; i-- > 0;) {
        struct saved *file = ntk_vec_at(&saved, i);

        if (file->nc == nc && ++count > SAVED_MAX) {
            (void)unlink(file->path);
            free(file->path);
            ntk_vec_remove(&saved, i);
        }
    }
}

/* The lock is held. */
static int continuous_save(struct ntk_core *core, uint32_t nc, const char *folder,
                           struct ntk_err *err)
{
    char instance[PATH_BYTES];
    char path[PATH_BYTES + 64];

    if (!is_continuous) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "continuous profiling is off");
    }
    if (ntk_inspect_instance_folder(folder, instance, sizeof instance) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is too long a path", folder);
    }
    int ret = ntk_fs_make_folders(instance, 0755, err);
    if (ret < 0) {
        return ret;
    }
    (void)snprintf(path, sizeof path, "%s/profile_nc_%" PRIu32 "_latest_%" PRIu32 ".ntff", instance,
                   nc, saved_count + 1);
    ret = ntk_core_recorder_save(core, nc, NTK_CORE_RECORDER_CONTINUOUS, NULL, path, err);
    if (ret >= 0) {
        saved_count++;
        saved_add(nc, path);
    }
    return ret;
}

NRT_STATUS nrt_profile_continuous_save(uint32_t vnc, nrt_profile_continuous_options_t *options)
{
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    int ret = continuous_save(nrt_front_core_get(), vnc, options ? options->folder : DEFAULT_FOLDER,
                              &err);
    pthread_mutex_unlock(&lock);
    status = saved_status("nrt_profile_continuous_save", ret, &err);
    nrt_front_leave();
    return status;
}

NRT_STATUS nrt_profile_continuous_stop(void)
{
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    if (is_continuous) {
        continuous_stop(nrt_front_core_get());
        is_continuous = false;
    } else {
        nrt_log_error("nrt_profile_continuous_stop", "continuous profiling is off (NRT_INVALID)");
        status = NRT_INVALID;
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}

/* --- sessions ------------------------------------------------------------------------------------- */

NRT_STATUS nrt_profile_session_start(int32_t vnc)
{
    struct ntk_core_recorder_options recorder = { .keeps = NTK_CORE_KEEPS_ALL,
                                                  .folder = scratch_folder() };
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    int ret = nrt_env_profile_bounds_get(&recorder, &err);
    if (ret == 0) { /* a negative number is no core either */
        ret = ntk_core_recorder_start(nrt_front_core_get(), (uint32_t)vnc,
                                      NTK_CORE_RECORDER_SESSION, &recorder, &err);
    }
    if (ret < 0) {
        status =
            nrt_front_fail("nrt_profile_session_start", ret == -EALREADY ? -EINVAL : ret, &err);
    }
    nrt_front_leave();
    return status;
}

/* The lock is held. */
static int session_stop(int32_t vnc, uint64_t *out_id, struct ntk_err *err)
{
    struct session *session = sessions.count < SESSIONS_MAX ? ntk_vec_add(&sessions) : NULL;

    if (!session) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "%zu sessions wait to be written or dropped", sessions.count);
    }
    session->nc = (uint32_t)vnc;
    int ret = ntk_core_recorder_stop(nrt_front_core_get(), (uint32_t)vnc, NTK_CORE_RECORDER_SESSION,
                                     &session->recording, err);
    if (ret < 0) {
        ntk_vec_remove(&sessions, sessions.count - 1);
        return ret;
    }
    *out_id = session->id = ++session_last_id;
    return 0;
}

NRT_STATUS nrt_profile_session_stop(int32_t vnc, uint64_t *session_id)
{
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    if (!session_id) {
        status = NRT_INVALID;
    } else {
        pthread_mutex_lock(&lock);
        int ret = session_stop(vnc, session_id, &err);
        pthread_mutex_unlock(&lock);
        if (ret < 0) {
            status =
                nrt_front_fail("nrt_profile_session_stop", ret == -ENOENT ? -EINVAL : ret, &err);
        }
    }
    nrt_front_leave();
    return status;
}

/* NULL when there is none. The lock is held. */
static struct session *session_find(uint64_t id)
{
    ntk_vec_each(struct session, session, &sessions) {
        if (session->id == id) {
            return session;
        }
    }
    return NULL;
}

NRT_STATUS nrt_profile_session_serialize(uint64_t session_id, const char *filename)
{
    struct ntk_err err = { 0 };
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    struct session *session = session_find(session_id);
    if (!session || !filename || !*filename) {
        nrt_log_error("nrt_profile_session_serialize",
                      "no session %" PRIu64 ", or no file name (NRT_INVALID)", session_id);
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_recording_save(session->recording, filename, &err);

        status = saved_status("nrt_profile_session_serialize", ret, &err);
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}

/* The id, or with id 0 the core, negative: all. How many there were. The lock is held. */
static size_t sessions_drop(uint64_t id, int32_t vnc)
{
    size_t dropped = 0;

    for (size_t i = sessions.count; i-- > 0;) {
        struct session *session = ntk_vec_at(&sessions, i);

        if (id != 0 ? session->id == id : vnc < 0 || session->nc == (uint32_t)vnc) {
            ntk_core_recording_destroy(session->recording);
            ntk_vec_remove(&sessions, i);
            dropped++;
        }
    }
    return dropped;
}

NRT_STATUS nrt_profile_session_drop(uint64_t session_id)
{
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    pthread_mutex_lock(&lock);
    if (session_id == 0 || sessions_drop(session_id, 0) == 0) {
        status = NRT_INVALID;
    }
    pthread_mutex_unlock(&lock);
    nrt_front_leave();
    return status;
}

NRT_STATUS nrt_profile_session_drop_all(int32_t vnc)
{
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    if (vnc >= 0 && (uint32_t)vnc >= ntk_core_count(nrt_front_core_get())) {
        status = NRT_INVALID;
    } else {
        pthread_mutex_lock(&lock);
        (void)sessions_drop(0, vnc);
        pthread_mutex_unlock(&lock);
    }
    nrt_front_leave();
    return status;
}

/* --- the end -------------------------------------------------------------------------------------- */

static void saved_forget(void)
{
    ntk_vec_each(struct saved, file, &saved) {
        free(file->path);
    }
    ntk_vec_clear(&saved);
}

void nrt_profile_closing(void)
{
    pthread_mutex_lock(&lock);
    is_continuous = false; /* the recorders go with their cores */
    (void)sessions_drop(0, -1);
    saved_forget();
    pthread_mutex_unlock(&lock);
}

void nrt_profile_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    is_continuous = false;
    saved_count = 0;
    saved_forget();
    ntk_vec_clear(&sessions); /* their memory is a copy of the parent's */
}
