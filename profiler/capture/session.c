/* SPDX-License-Identifier: MIT */
/* session - runs and records a model, from load to unload. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/session_private.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define NEFF_BYTES_MAX ((size_t)64 << 30)
#define CORES_MAX 256 /* maximum number that a header may claim for one model */
#define ASYNC_DEPTH "8"

/* Counts for the callback of the process's only session. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t submitted; /* only used by the session's thread */
    uint64_t done;
    NRT_STATUS first_failure;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void execution_done(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                           NRT_STATUS status)
{
    (void)params;
    (void)model_id;
    (void)vnc;
    (void)job_id;
    pthread_mutex_lock(&queue.lock);
    queue.done++;
    if (queue.first_failure == NRT_SUCCESS) {
        queue.first_failure = status;
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static NRT_STATUS load(struct ntk_session *s, const void *neff, size_t bytes)
{
    return s->options.rank_count > 0
               ? s->nrt.nrt_load_collectives(neff, bytes, 0, -1, s->options.rank,
                                             s->options.rank_count, &s->model)
               : s->nrt.nrt_load(neff, bytes, 0, -1, &s->model);
}

const char *ntk_session_library(const struct ntk_session *session)
{
    return session->library;
}

/* Rejects a NEFF that a runtime without hardware would reject after a page of its own log. The
 * runtime reports unreadable NEFFs. */
static int check_is_runnable(const struct ntk_session *s, const uint8_t *bytes, size_t bytes_count,
                             struct ntk_err *err)
{
    const char *opaque = getenv("NEURON_SOFT_OPAQUE");
    const struct ntk_neff_open_options only = { .leave_constants = true };
    bool is_on = false;
    bool is_opaque = opaque && (ntk_str_parse_bool(opaque, &is_on) < 0 || is_on);
    struct ntk_neff *neff = NULL;
    int ret = 0;

    if (!s->nrt.is_software || is_opaque ||
        ntk_neff_open_with(bytes, bytes_count, &only, &neff, NULL) < 0) {
        return 0;
    }
    if (neff->is_vendor) {
        ret = ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                          "compiled for Neuron hardware, which software NeuronCores cannot run "
                          "(capture it on a Neuron instance, or set NEURON_SOFT_OPAQUE=1 to load "
                          "it without computing)");
    }
    ntk_neff_close(neff);
    return ret;
}

int ntk_session_open(const char *neff_path, const struct ntk_session_options *options,
                     struct ntk_session **out_session, struct ntk_err *err)
{
    struct ntk_session *s = NULL;
    uint8_t *neff = NULL;
    size_t neff_bytes = 0;
    NRT_STATUS status;
    if (!ntk_fs_is_ours(neff_path)) {
        (void)setenv("NEURON_SOFT_CPU_NODES", "0", 0); /* the code is untrusted */
    }
    int ret = ntk_fs_read(neff_path, NEFF_BYTES_MAX, &neff, &neff_bytes, err);

    if (ret < 0) {
        return ret;
    }
    /* For a file that is not a NEFF, a clear message is created here, instead of a status of the
     * runtime. */
    struct ntk_neff_header header;
    ret = ntk_neff_read_header(neff, neff_bytes, &header, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", neff_path);
        goto out;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    ret = ntk_nrt_open(&s->nrt, err);
    if (ret < 0) {
        goto out;
    }
    ret = check_is_runnable(s, neff, neff_bytes, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", neff_path);
        goto out;
    }
    (void)ntk_nrt_format(&s->nrt, s->library, sizeof s->library);
    s->options = *options;
    if (options->rank_count > 0 && (!s->nrt.nrt_load_collectives || !s->nrt.nrt_barrier)) {
        ret = ntk_nrt_lacks(err, "nrt_load_collectives");
        goto out;
    }
    if (options->is_async) {
        if (!s->nrt.nrt_register_async_exec_callback) {
            ret = ntk_nrt_lacks(err, "nrt_register_async_exec_callback");
            goto out;
        }
        setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", ASYNC_DEPTH, 0);
    }
    /* Use as few cores as possible, unless the user specifies them. */
    if (!getenv("NEURON_RT_VISIBLE_CORES")) {
        bool is_many = header.num_tpb > 1 && header.num_tpb <= CORES_MAX;
        char count[16];

        (void)snprintf(count, sizeof count, "%u", is_many ? header.num_tpb : 1);
        setenv("NEURON_RT_NUM_CORES", count, 0);
    }
    status = s->nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status != NRT_SUCCESS) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "nrt_init failed: %s (%d), library %s",
                          ntk_nrt_status_name(&s->nrt, status), (int)status, s->library);
        goto out;
    }
    s->is_initialised = true;
    if (options->is_async) {
        status = s->nrt.nrt_register_async_exec_callback(execution_done, &queue);
        if (status != NRT_SUCCESS) {
            ret = ntk_nrt_fail(&s->nrt, err, status, "nrt_register_async_exec_callback");
            goto out;
        }
    }
    status = load(s, neff, neff_bytes);
    if (status != NRT_SUCCESS) {
        s->model = NULL;
        ret = ntk_nrt_fail(&s->nrt, err, status,
                           options->rank_count > 0 ? "nrt_load_collectives" : "nrt_load");
        ntk_err_prefix(err, "%s", neff_path);
        goto out;
    }
    ret = ntk_session_make_tensors(s, err);
    if (ret < 0) {
        goto out;
    }
    *out_session = s;
    s = NULL;

out:
    ntk_session_close(s);
    free(neff);
    return ret;
}

void ntk_session_close(struct ntk_session *session)
{
    if (!session) {
        return;
    }
    if (session->recording) {
        session->nrt.nrt_profile_stop(session->recording);
        free(session->recording);
    }
    ntk_session_free_tensors(session);
    if (session->model) {
        session->nrt.nrt_unload(session->model);
    }
    if (session->is_initialised) {
        session->nrt.nrt_close();
    }
    free(session);
}

int ntk_session_meet(struct ntk_session *session, struct ntk_err *err)
{
    if (session->options.rank_count == 0) {
        return 0;
    }
    NRT_STATUS status =
        session->nrt.nrt_barrier(0, session->options.rank, session->options.rank_count);
    return status == NRT_SUCCESS ? 0 : ntk_nrt_fail(&session->nrt, err, status, "nrt_barrier");
}

static int executed(struct ntk_session *session, NRT_STATUS status, struct ntk_err *err)
{
    if (status == NRT_SUCCESS) {
        return 0;
    }
    int ret = ntk_nrt_fail(&session->nrt, err, status, "nrt_execute");
    return status == NRT_EXEC_COMPLETED_WITH_NUM_ERR ? 1 : ret;
}

int ntk_session_execute(struct ntk_session *session, struct ntk_err *err)
{
    if (!session->options.is_async) {
        return executed(session,
                        session->nrt.nrt_execute(session->model, session->io.sets[NTK_NRT_IO_READ],
                                                 session->io.sets[NTK_NRT_IO_WRITTEN]),
                        err);
    }
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        uint64_t done = queue.done;
        pthread_mutex_unlock(&queue.lock);
        NRT_STATUS status =
            session->nrt.nrt_execute(session->model, session->io.sets[NTK_NRT_IO_READ],
                                     session->io.sets[NTK_NRT_IO_WRITTEN]);
        if (status != NRT_QUEUE_FULL) {
            queue.submitted += status == NRT_SUCCESS;
            return executed(session, status, err);
        }
        pthread_mutex_lock(&queue.lock);
        while (queue.done == done && queue.done < queue.submitted) {
            pthread_cond_wait(&queue.changed, &queue.lock);
        }
        pthread_mutex_unlock(&queue.lock);
    }
}

int ntk_session_drain(struct ntk_session *session, struct ntk_err *err)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.done < queue.submitted) {
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    NRT_STATUS status = queue.first_failure;
    queue.first_failure = NRT_SUCCESS;
    pthread_mutex_unlock(&queue.lock);
    return executed(session, status, err);
}

int ntk_session_record_start(struct ntk_session *session, const char *ntff_path,
                             struct ntk_err *err)
{
    char *path = strdup(ntff_path);

    if (!path) {
        return ntk_err_no_memory(err);
    }
    NRT_STATUS status = session->nrt.nrt_profile_start(session->model, path);
    if (status != NRT_SUCCESS) {
        free(path);
        int ret = ntk_nrt_fail(&session->nrt, err, status, "nrt_profile_start");
        ntk_err_prefix(err, "%s", ntff_path);
        return ret;
    }
    session->recording = path;
    return 0;
}

int ntk_session_record_stop(struct ntk_session *session, struct ntk_err *err)
{
    char *path = session->recording;

    if (!path) {
        return 0;
    }
    session->recording = NULL;
    NRT_STATUS status = session->nrt.nrt_profile_stop(path);
    int ret = 0;
    if (status != NRT_SUCCESS) {
        ret = status == NRT_RESOURCE && access(path, F_OK) == 0
                  ? ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET,
                                "some records were dropped for lack of space (%s)",
                                ntk_nrt_status_name(&session->nrt, status))
                  : ntk_nrt_fail(&session->nrt, err, status, "nrt_profile_stop");
        ntk_err_prefix(err, "%s", path);
    }
    free(path);
    return ret;
}
