/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/inspect/session.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "shared/base/fs.h"
#include "shared/base/vec.h"

struct session {
    uint64_t id;
    uint32_t nc;
    struct ntk_core_recording *recording;
};

/* Locked while the front's gate is held, before every lock of the core. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_vec sessions = NTK_VEC_INIT(struct session);
static uint64_t last_id;

int ntk_session_start(struct ntk_core *core, uint32_t nc,
                      const struct ntk_core_recorder_bounds *bounds, struct ntk_err *err)
{
    const struct ntk_core_recorder_options recorder = { .keeps = NTK_CORE_KEEPS_ALL,
                                                        .folder = ntk_fs_temporary_folder(),
                                                        .bounds = *bounds };

    return ntk_core_recorder_start(core, nc, NTK_CORE_RECORDER_SESSION, &recorder, err);
}

/* Stops the session of a core. The caller holds the lock. */
static int stop(struct ntk_core *core, uint32_t nc, uint64_t *out_id, struct ntk_err *err)
{
    struct session *session = sessions.count < NTK_SESSIONS_MAX ? ntk_vec_add(&sessions) : NULL;

    if (!session) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "%zu sessions must be written or dropped first", sessions.count);
    }
    session->nc = nc;
    int ret = ntk_core_recorder_stop(core, nc, NTK_CORE_RECORDER_SESSION, &session->recording, err);
    if (ret < 0) {
        ntk_vec_remove(&sessions, sessions.count - 1);
        return ret;
    }
    *out_id = session->id = ++last_id;
    return 0;
}

int ntk_session_stop(struct ntk_core *core, uint32_t nc, uint64_t *out_id, struct ntk_err *err)
{
    pthread_mutex_lock(&lock);
    int ret = stop(core, nc, out_id, err);
    pthread_mutex_unlock(&lock);
    return ret;
}

int ntk_session_save(uint64_t id, const char *path, struct ntk_err *err)
{
    int ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown session %" PRIu64, id);

    pthread_mutex_lock(&lock);
    ntk_vec_each(struct session, session, &sessions) {
        if (session->id == id) {
            ret = ntk_core_recording_save(session->recording, path, err);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

size_t ntk_session_drop(uint64_t id, uint32_t nc)
{
    size_t dropped = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = sessions.count; i-- > 0;) {
        struct session *session = ntk_vec_at(&sessions, i);

        if ((id == 0 || session->id == id) && (nc == NTK_CORE_ANY || session->nc == nc)) {
            ntk_core_recording_destroy(session->recording);
            ntk_vec_remove(&sessions, i);
            dropped++;
        }
    }
    pthread_mutex_unlock(&lock);
    return dropped;
}

void ntk_session_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    lock = fresh;
    ntk_vec_clear(&sessions); /* the memory is a copy of the parent's */
}
