/* SPDX-License-Identifier: MIT */
/*
 * core_profile - captures: writes the engine activity of the first execution after a start as NTFF
 * (docs/decisions/captures.md: executions of a software core are alike, so one is enough).
 */
#include "runtime-hooks/core/core_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum capture_state {
    CAPTURE_ARMED,     /* the next execution will be recorded */
    CAPTURE_RECORDING, /* an execution is writing */
    CAPTURE_DONE,
};

struct core_capture {
    char *path;
    struct ntk_core_model *model; /* NULL after the model was unloaded */
    struct ntk_hooks_model_ref hook;
    uint16_t physical_core;
    uint64_t session;
    uint64_t start_ticks;
    uint32_t name;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    enum capture_state state;       /* protected by lock */
    struct ntk_ntff_writer *writer; /* used by the execution that records */
    uint64_t offset_ps;             /* start of the current step on the capture's clock */
    uint32_t first_subgraph[64];    /* index of each step's first subgraph in the file */
};

static _Atomic uint64_t next_session = 1;

struct core_capture *core_capture_take(struct ntk_core_model *model)
{
    struct core_capture *capture = NULL;

    /* The first check is made without the lock; the second one under the lock, which keeps the
     * capture from being freed. */
    if (!atomic_load_explicit(&model->capture, memory_order_relaxed)) {
        return NULL;
    }
    pthread_mutex_lock(&model->core->lock);
    struct core_capture *candidate = atomic_load_explicit(&model->capture, memory_order_relaxed);
    if (candidate) {
        pthread_mutex_lock(&candidate->lock);
        if (candidate->state == CAPTURE_ARMED) {
            candidate->state = CAPTURE_RECORDING;
            capture = candidate;
        }
        pthread_mutex_unlock(&candidate->lock);
    }
    pthread_mutex_unlock(&model->core->lock);
    return capture;
}

struct core_record_sink core_capture_sink(const struct core_capture *capture, uint32_t step,
                                          uint32_t subgraph)
{
    size_t steps = sizeof capture->first_subgraph / sizeof *capture->first_subgraph;

    return (struct core_record_sink){ .writer = capture->writer,
                                      .subgraph = capture->first_subgraph[step % steps] + subgraph,
                                      .offset_ps = capture->offset_ps };
}

void core_capture_step_end(struct core_capture *capture, uint64_t device_ns)
{
    capture->offset_ps += device_ns * 1000;
}

void core_capture_give_back(struct core_capture *capture)
{
    if (capture) {
        pthread_mutex_lock(&capture->lock);
        capture->state = CAPTURE_DONE;
        pthread_cond_broadcast(&capture->idle);
        pthread_mutex_unlock(&capture->lock);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static int writer_make(struct core_capture *capture, struct ntk_err *err)
{
    const struct ntk_core_model *model = capture->model;
    struct core_record_description description = { 0 };
    uint32_t subgraph_count = 0;

    for (uint32_t s = 0; s < model->step_count; s++) {
        if (s < sizeof capture->first_subgraph / sizeof *capture->first_subgraph) {
            capture->first_subgraph[s] = subgraph_count;
        }
        subgraph_count += model->steps[s].subgraph_count;
    }
    if (core_record_describe(model, 0, model->step_count, &description) < 0) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_ntff_writer_create(capture->path, &description.capture, &capture->writer, err);
    core_record_description_fini(&description);
    return ret;
}

static void capture_free(struct core_capture *capture)
{
    if (capture) {
        ntk_ntff_writer_destroy(capture->writer);
        pthread_cond_destroy(&capture->idle);
        pthread_mutex_destroy(&capture->lock);
        free(capture->path);
        free(capture);
    }
}

/* Removes the empty file that a start created, if it is still there. A terminal, pipe or device
 * existed before and is not ours. */
static void empty_file_remove(const char *path)
{
    struct stat status;

    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0) {
        (void)unlink(path);
    }
}

int ntk_core_profile_start(struct ntk_core_model *model, const char *path, struct ntk_err *err)
{
    struct ntk_core *core = model->core;
    struct core_capture *capture;
    int ret = 0;

    if (model->is_hosted) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "cannot capture model '%s': it does not run on a NeuronCore",
                           model->name);
    }
    capture = calloc(1, sizeof *capture);
    if (!capture || !(capture->path = strdup(path))) {
        free(capture);
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->idle, NULL);
    capture->model = model;
    capture->hook = model->hook;
    capture->physical_core = (uint16_t)core->ncs[model->nc].first_physical;
    capture->session = atomic_fetch_add(&next_session, 1);
    capture->name = ntk_hooks_name(path);

    pthread_mutex_lock(&core->lock);
    ntk_vec_each(struct core_capture *, other, &core->captures) {
        if ((*other)->model == model || strcmp((*other)->path, path) == 0) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                              "a capture of '%s' is already being written to '%s'", model->name,
                              (*other)->path);
        }
    }
    if (ret == 0) {
        /* Truncate the file, so that an old capture is not mistaken for this one. */
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);

        if (fd < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                              strerror(errno));
        } else {
            close(fd);
            ret = writer_make(capture, err);
            if (ret < 0) {
                empty_file_remove(path);
            }
        }
    }
    if (ret == 0 && ntk_vec_push(&core->captures, &capture) < 0) {
        ret = ntk_err_no_memory(err);
    }
    pthread_mutex_unlock(&core->lock);
    if (ret < 0) {
        capture_free(capture);
        return ret;
    }
    capture->start_ticks = ntk_hooks_profile_start(capture->hook, capture->physical_core,
                                                   capture->session, capture->name);
    pthread_mutex_lock(&core->lock);
    atomic_store_explicit(&model->capture, capture, memory_order_relaxed);
    pthread_mutex_unlock(&core->lock);
    return 0;
}

int ntk_core_profile_stop(struct ntk_core *core, const char *path, struct ntk_err *err)
{
    struct core_capture *capture = NULL;
    struct stat status = { 0 };

    pthread_mutex_lock(&core->lock);
    for (size_t i = 0; i < core->captures.count && !capture; i++) {
        struct core_capture *candidate = *(struct core_capture **)ntk_vec_at(&core->captures, i);

        if (strcmp(candidate->path, path) == 0) {
            capture = candidate;
            ntk_vec_remove(&core->captures, i);
        }
    }
    if (capture && capture->model) {
        atomic_store_explicit(&capture->model->capture, NULL, memory_order_relaxed);
    }
    pthread_mutex_unlock(&core->lock);
    if (!capture) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "no capture is being written to '%s'",
                           path);
    }
    pthread_mutex_lock(&capture->lock);
    while (capture->state == CAPTURE_RECORDING) {
        pthread_cond_wait(&capture->idle, &capture->lock);
    }
    capture->state = CAPTURE_DONE;
    pthread_mutex_unlock(&capture->lock);
    if (capture->offset_ps > 0) {
        ntk_ntff_writer_set_execution(capture->writer, 0, capture->offset_ps);
    }
    int ret = ntk_ntff_writer_commit(capture->writer, err);
    (void)stat(path, &status);
    empty_file_remove(path);
    ntk_hooks_profile_stop(capture->hook, capture->physical_core, capture->session, capture->name,
                           capture->start_ticks, (uint64_t)status.st_size,
                           core_status(ntk_core_outcome_of(ret < 0 ? ret : 0)));
    capture_free(capture);
    return ret;
}

void core_capture_finish(struct ntk_core_model *model)
{
    struct ntk_core *core = model->core;

    pthread_mutex_lock(&core->lock);
    ntk_vec_each(struct core_capture *, capture, &core->captures) {
        if ((*capture)->model == model) {
            (*capture)->model = NULL;
        }
    }
    pthread_mutex_unlock(&core->lock);
}

void core_captures_drop(struct ntk_core *core)
{
    ntk_vec_each(struct core_capture *, capture, &core->captures) {
        capture_free(*capture);
    }
    ntk_vec_clear(&core->captures);
}
