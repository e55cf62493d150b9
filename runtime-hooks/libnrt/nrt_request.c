/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/libnrt/nrt_cc.h"
#include "runtime-hooks/core/core_trace.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_execute.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

#define TRACKER_ERRORS_MAX 1024U

struct error {
    uint64_t sequence;
    uint64_t status;
};

struct nrt_tracker {
    struct ntk_core_handle handle;
    pthread_mutex_t lock;
    struct ntk_vec errors; /* elements are struct error */
    struct error *list;    /* list most recently returned to the caller */
    uint64_t lost;
};

enum kind {
    KIND_READ,
    KIND_WRITE,
    KIND_COPY,
    KIND_EXECUTE,
    KIND_IMPLICIT,
    KIND_COLLECTIVE,
};

struct request {
    struct ntk_core_queue_item item;
    const struct nrt_queue *queue;
    enum kind kind;
    NRT_STATUS *status;
    struct nrt_tracker *tracker;
    /* members for tensor operations */
    struct nrt_tensor *tensor, *to_tensor;
    void *to;
    const void *from;
    uint64_t offset, to_offset, bytes;
    /* members for executions */
    struct nrt_model *model;
    struct nrt_execute_call call;
    int repeat_count;
    /* members for collective operations */
    struct nrt_cc_context *collective;
};

static bool is_implicit;

/* The most recently registered callback. */
static pthread_mutex_t callback_lock = PTHREAD_MUTEX_INITIALIZER;
static NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
static void *callback_params;

static void tracker_release(struct ntk_core_handle *handle)
{
    struct nrt_tracker *tracker = (struct nrt_tracker *)handle;

    ntk_vec_fini(&tracker->errors);
    free(tracker->list);
    pthread_mutex_destroy(&tracker->lock);
}

static struct ntk_core_handle_pool trackers =
    NTK_CORE_HANDLE_POOL_INIT(struct nrt_tracker, tracker_release);

int nrt_request_open(const struct ntk_core *core, struct ntk_err *err)
{
    struct nrt_env_async env = { 0 };
    int ret = nrt_env_async_get(&env, err);

    if (ret < 0) {
        return ret;
    }
    is_implicit = env.implicit_depth > 0;
    ret = nrt_queues_open(ntk_core_count(core), env.compute_depth, env.implicit_depth);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory") : 0;
}

void nrt_request_stop(void)
{
    nrt_queues_stop();
}

void nrt_request_close(void)
{
    ntk_core_handle_close_all(&trackers);
    nrt_cc_close_all();
    nrt_queues_close();
    is_implicit = false;
    callback = NULL;
    callback_params = NULL;
}

void nrt_request_forget_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    ntk_core_handle_forget(&trackers);
    nrt_cc_forget_after_fork();
    callback_lock = fresh;
    callback = NULL;
    nrt_queues_forget_after_fork();
    is_implicit = false;
}

bool nrt_request_is_implicit(void)
{
    return is_implicit;
}

/* --- a request's life ------------------------------------------------------------------------- */

static void tracker_add(struct nrt_tracker *tracker, uint64_t sequence, NRT_STATUS status)
{
    struct error *error = NULL;

    pthread_mutex_lock(&tracker->lock);
    if (tracker->errors.count < TRACKER_ERRORS_MAX) {
        error = ntk_vec_add(&tracker->errors);
    }
    if (error) {
        *error = (struct error){ sequence, (uint64_t)status };
    } else {
        tracker->lost++;
    }
    pthread_mutex_unlock(&tracker->lock);
}

/* Releases the resources of the request, but not its memory. */
static void request_release(struct request *request)
{
    if (request->model) {
        nrt_execute_call_fini(&request->call);
        ntk_core_handle_drop(&nrt_front_models, request->model);
    }
    if (request->tensor) {
        ntk_core_handle_drop(&nrt_front_tensors, request->tensor);
    }
    if (request->to_tensor) {
        ntk_core_handle_drop(&nrt_front_tensors, request->to_tensor);
    }
    if (request->tracker) {
        ntk_core_handle_drop(&trackers, request->tracker);
    }
    if (request->collective) {
        nrt_cc_drop(request->collective);
    }
    request->collective = NULL;
    request->model = NULL;
    request->tensor = NULL;
    request->to_tensor = NULL;
    request->tracker = NULL;
}

static void request_destroy(struct ntk_core_queue_item *item)
{
    struct request *request = (struct request *)item;

    request_release(request);
    free(request);
}

static NRT_STATUS work_do(const struct request *request)
{
    struct ntk_err err = { 0 };
    int ret = 0;

    switch (request->kind) {
    case KIND_READ:
        ret = ntk_core_tensor_read(request->tensor->core, request->to, request->offset,
                                   request->bytes, &err);
        break;
    case KIND_WRITE:
        ret = ntk_core_tensor_write(request->tensor->core, request->from, request->offset,
                                    request->bytes, &err);
        break;
    case KIND_COPY:
        ret = ntk_core_tensor_copy(request->tensor->core, request->offset, request->to_tensor->core,
                                   request->to_offset, request->bytes, &err);
        break;
    case KIND_EXECUTE:
    case KIND_IMPLICIT:
        return nrt_execute_call_run(&request->call, request->model, request->repeat_count);
    case KIND_COLLECTIVE:
        return nrt_cc_run(request->collective, request->queue->index);
    }
    return ret < 0 ? nrt_front_fail("nrta_request", ret, &err) : NRT_SUCCESS;
}

/* No unit can continue after a hardware error. */
static bool status_is_fatal(NRT_STATUS status)
{
    return status == NRT_HW_ERROR || status == NRT_EXEC_UNIT_UNRECOVERABLE ||
           (status >= NRT_EXEC_HW_ERR_COLLECTIVES && status <= NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE);
}

static bool request_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct request *request = (struct request *)item;
    NRT_STATUS status = is_broken ? NRT_EXEC_UNIT_UNRECOVERABLE : work_do(request);
    uint32_t model_id = request->model ? ntk_core_model_id(request->model->core) : 0;
    uint64_t sequence = nrt_queues_sequence_make(request->queue, item->number);

    if (request->status) {
        *request->status = status;
    }
    if (request->tracker && status != NRT_SUCCESS) {
        tracker_add(request->tracker, sequence, status);
    }
    /* Release before the caller is notified, because it may then unload the model, or free and
     * allocate memory. */
    request_release(request);
    if (request->kind == KIND_IMPLICIT) {
        pthread_mutex_lock(&callback_lock);
        NRT_ASYNC_EXEC_STATUS_CALLBACK call = callback;
        void *params = callback_params;
        pthread_mutex_unlock(&callback_lock);
        if (call) {
            call(params, model_id, request->queue->core, item->number, status);
        }
    }
    return !status_is_fatal(status);
}

static struct request *request_create(enum kind kind)
{
    struct request *request = calloc(1, sizeof *request);

    if (request) {
        request->item.run = request_run;
        request->item.destroy = request_destroy;
        request->kind = kind;
    }
    return request;
}

static NRT_STATUS request_refuse(struct request *request, int error)
{
    /* As in a synchronous call, the end of the runtime is not an execution. */
    if (request->model && error != -ESHUTDOWN) {
        ntk_core_execute_refused(request->model->core, error);
    }
    request_destroy(&request->item);
    return nrt_status_from_error(error);
}

/* Submits the request, which afterwards belongs to the queue or is freed. */
static NRT_STATUS request_submit(struct request *request, uint32_t core,
                                 const struct nrt_request_place *place)
{
    const struct nrt_queue *queue = nrt_queues_find(core, place->unit, (uint32_t)place->queue);
    uint64_t number = 0;

    request->queue = queue;
    request->status = place->status;
    if (place->tracker) {
        request->tracker = ntk_core_handle_take(&trackers, place->tracker);
        if (!request->tracker) {
            return request_refuse(request, -EBADF);
        }
    }
    if (!queue) {
        return request_refuse(request, -EINVAL);
    }
    int ret = ntk_core_queue_submit(queue->items, &request->item, &number);
    if (ret < 0) {
        return request_refuse(request, ret);
    }
    if (place->sequence) {
        *place->sequence = nrt_queues_sequence_make(queue, number);
    }
    return NRT_SUCCESS;
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Holds the tensor; checks the range and, if the caller passed a core, that the tensor is on it. */
static NRT_STATUS tensor_hold(const nrt_tensor_t *tensor, uint64_t offset, uint64_t bytes,
                              struct nrt_tensor **out_tensor, uint32_t *core)
{
    struct ntk_core_tensor_info info;

    *out_tensor = ntk_core_handle_take(&nrt_front_tensors, tensor);
    if (!*out_tensor) {
        return NRT_INVALID;
    }
    ntk_core_tensor_info_get((*out_tensor)->core, &info);
    if (offset > info.bytes || bytes > info.bytes - offset) {
        return NRT_INVALID;
    }
    if (info.placement == NTK_CORE_DEVICE) {
        if (*core != NTK_CORE_ANY && *core != info.nc) {
            return NRT_INVALID;
        }
        *core = info.nc;
    }
    return NRT_SUCCESS;
}

static NRT_STATUS transfer(enum kind kind, const nrt_tensor_t *tensor, void *to, const void *from,
                           uint64_t offset, uint64_t size, const struct nrt_request_place *place)
{
    uint32_t core = place->core;
    NRT_FRONT_SCOPE;

    struct request *request = request_create(kind);
    if (!request) {
        status = NRT_RESOURCE;
    } else if (!to && !from) {
        status = NRT_INVALID;
    } else {
        request->to = to;
        request->from = from;
        request->offset = offset;
        request->bytes = size;
        status = tensor_hold(tensor, offset, size, &request->tensor, &core);
    }
    if (status == NRT_SUCCESS) {
        status = request_submit(request, core == NTK_CORE_ANY ? 0 : core, place);
    } else if (request) {
        request_destroy(&request->item);
    }
    return status;
}

NRT_STATUS nrt_request_write(nrt_tensor_t *tensor, const void *from, uint64_t offset, uint64_t size,
                             const struct nrt_request_place *place)
{
    return transfer(KIND_WRITE, tensor, NULL, from, offset, size, place);
}

NRT_STATUS nrt_request_read(void *to, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            const struct nrt_request_place *place)
{
    return transfer(KIND_READ, tensor, to, NULL, offset, size, place);
}

NRT_STATUS nrt_request_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size,
                            const struct nrt_request_place *place)
{
    uint32_t core = place->core;
    NRT_FRONT_SCOPE;

    struct request *request = request_create(KIND_COPY);
    if (!request) {
        status = NRT_RESOURCE;
    } else {
        request->offset = src_offset;
        request->to_offset = dst_offset;
        request->bytes = size;
        status = tensor_hold(src, src_offset, size, &request->tensor, &core);
        if (status == NRT_SUCCESS) {
            status = tensor_hold(dst, dst_offset, size, &request->to_tensor, &core);
        }
    }
    if (status == NRT_SUCCESS) {
        status = request_submit(request, core == NTK_CORE_ANY ? 0 : core, place);
    } else if (request) {
        request_destroy(&request->item);
    }
    return status;
}

/* --- executions ------------------------------------------------------------------------------- */

/* Submits an execution; the caller also holds the model. */
static NRT_STATUS submit_traced(struct request *request, enum kind kind,
                                const struct ntk_core_model *model,
                                const struct nrt_request_place *place)
{
    struct ntk_core_trace_data data = { .model_id = ntk_core_model_id(model),
                                        .name = ntk_core_model_name(model) };
    struct nrt_request_place with_sequence = *place;
    struct ntk_core_trace_span span = { 0 };
    uint32_t nc = ntk_core_model_nc(model);
    uint64_t sequence = 0;

    if (!ntk_core_trace_is_on()) {
        return request_submit(request, nc, place);
    }
    with_sequence.sequence = place->sequence ? place->sequence : &sequence;
    ntk_core_trace_span_begin(
        &span, kind == KIND_IMPLICIT ? NTK_CORE_TRACE_SUBMIT : NTK_CORE_TRACE_SCHEDULE, nc, &data);
    NRT_STATUS status = request_submit(request, nc, &with_sequence);
    data.execution_id = status == NRT_SUCCESS ? *with_sequence.sequence : 0;
    ntk_core_trace_span_end(&span, &data);
    return status;
}

static NRT_STATUS execution_submit(enum kind kind, struct nrt_model *model, struct nrt_set *input,
                                   struct nrt_set *output, int repeat_count,
                                   const struct nrt_request_place *place)
{
    struct request *request = request_create(kind);

    if (!request) {
        ntk_core_execute_refused(model->core, -ENOMEM);
        return NRT_RESOURCE;
    }
    request->repeat_count = repeat_count;
    NRT_STATUS status = nrt_execute_call_init(&request->call, model, input, output);
    if (status == NRT_SUCCESS) {
        /* Requests submitted before an unload are executed: the unload waits for them. */
        ntk_core_handle_hold(model);
        request->model = model;
        return submit_traced(request, kind, model->core, place);
    }
    nrt_execute_call_fini(&request->call);
    request_destroy(&request->item);
    return status;
}

NRT_STATUS nrt_request_execute_implicit(struct nrt_model *model, struct nrt_set *input,
                                        struct nrt_set *output, int repeat_count)
{
    struct nrt_request_place place = { .unit = NRT_QUEUE_IMPLICIT };

    return execution_submit(KIND_IMPLICIT, model, input, output, repeat_count, &place);
}

NRT_STATUS nrt_request_execute(nrt_model_t *model, const nrt_tensor_set_t *input,
                               nrt_tensor_set_t *output, const struct nrt_request_place *place)
{
    NRT_FRONT_SCOPE;
    struct nrt_model *taken = ntk_core_handle_take(&nrt_front_models, model);
    struct nrt_set *from = ntk_core_handle_take(&nrt_front_sets, input);
    struct nrt_set *to = ntk_core_handle_take(&nrt_front_sets, output);
    if (taken && from && to) {
        status = execution_submit(KIND_EXECUTE, taken, from, to, 1, place);
    } else {
        if (taken) {
            ntk_core_execute_refused(taken->core, -EINVAL);
        }
        status = taken ? NRT_INVALID : nrt_front_no_model(model);
    }
    if (to) {
        ntk_core_handle_drop(&nrt_front_sets, to);
    }
    if (from) {
        ntk_core_handle_drop(&nrt_front_sets, from);
    }
    if (taken) {
        ntk_core_handle_drop(&nrt_front_models, taken);
    }
    return status;
}

NRT_STATUS nrt_request_collective(struct nrt_cc_context **cc_ctx,
                                  const struct nrt_request_place *place)
{
    NRT_FRONT_SCOPE;
    struct nrt_cc_context *context = cc_ctx ? nrt_cc_take(*cc_ctx) : NULL;
    struct request *request = context ? request_create(KIND_COLLECTIVE) : NULL;
    if (!context) {
        status = NRT_INVALID;
    } else if (!request) {
        status = NRT_RESOURCE;
        nrt_cc_drop(context);
    } else {
        request->collective = context;
        status = request_submit(request, nrt_cc_core(context), place);
    }
    if (status == NRT_SUCCESS) {
        nrt_cc_close(*cc_ctx);
        *cc_ctx = NULL;
    }
    return status;
}

NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK new_callback,
                                            void *params)
{
    NRT_FRONT_SCOPE;
    if (!new_callback || !is_implicit) {
        nrt_log_error("nrt_register_async_exec_callback", "%s (NRT_INVALID)",
                      new_callback ? "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS must be above 0: "
                                     "nrt_execute is synchronous"
                                   : "no callback");
        status = NRT_INVALID;
    } else {
        pthread_mutex_lock(&callback_lock);
        callback = new_callback;
        callback_params = params;
        pthread_mutex_unlock(&callback_lock);
    }
    return status;
}

NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc)
{
    NRT_FRONT_SCOPE;
    if (vnc < 0 || (uint32_t)vnc >= ntk_core_count(nrt_front_core_get())) {
        status = NRT_INVALID;
    } else if (is_implicit) {
        const struct nrt_queue *queue = nrt_queues_find((uint32_t)vnc, NRT_QUEUE_IMPLICIT, 0);

        if (ntk_core_queue_sync(queue->items) < 0) {
            nrt_log_error("nrt_async_drain_queued_execs",
                          "called from a callback that the queue waits for (NRT_FAILURE)");
            status = NRT_FAILURE;
        }
    }
    return status;
}

/* --- results of requests ---------------------------------------------------------------------- */

NRT_STATUS nrt_request_is_completed(uint64_t sequence, bool *is_completed)
{
    uint64_t number = 0;
    NRT_FRONT_SCOPE;

    const struct nrt_queue *queue = nrt_queues_sequence_find(sequence, &number);
    int ret = queue && is_completed ? ntk_core_queue_is_complete(queue->items, number) : -EINVAL;
    if (ret < 0) {
        status = nrt_status_from_error(ret);
    } else {
        *is_completed = ret == 1;
    }
    return status;
}

NRT_STATUS nrt_request_sequence_get(uint32_t core, uint32_t unit, int queue, uint64_t *sequence)
{
    NRT_FRONT_SCOPE;
    const struct nrt_queue *found = nrt_queues_find(core, unit, (uint32_t)queue);
    if (!found || !sequence) {
        status = NRT_INVALID;
    } else {
        *sequence = nrt_queues_sequence_make(found, ntk_core_queue_completed_get(found->items));
    }
    return status;
}

NRT_STATUS nrt_request_watch(uint64_t sequence, int fd)
{
    uint64_t number = 0;
    NRT_FRONT_SCOPE;

    const struct nrt_queue *queue = nrt_queues_sequence_find(sequence, &number);

    status =
        nrt_status_from_error(queue ? ntk_core_queue_watch(queue->items, number, fd) : -EINVAL);
    return status;
}

NRT_STATUS nrt_request_watch_queue(int core, uint32_t unit, int queue, int fd)
{
    NRT_FRONT_SCOPE;

    const struct nrt_queue *found = nrt_queues_find((uint32_t)core, unit, (uint32_t)queue);

    status = nrt_status_from_error(found ? ntk_core_queue_watch_all(found->items, fd) : -EINVAL);
    return status;
}

/* --- error trackers --------------------------------------------------------------------------- */

NRT_STATUS nrt_request_tracker_create(uint32_t core, void **out_tracker)
{
    NRT_FRONT_SCOPE;
    if (!out_tracker || core >= ntk_core_count(nrt_front_core_get())) {
        status = NRT_INVALID;
    } else {
        struct nrt_tracker *tracker = ntk_core_handle_create(&trackers);

        if (!tracker) {
            status = NRT_RESOURCE;
        } else {
            pthread_mutex_init(&tracker->lock, NULL);
            ntk_vec_init(&tracker->errors, sizeof(struct error));
            *out_tracker = tracker;
        }
    }
    return status;
}

void nrt_request_tracker_destroy(void *tracker)
{
    if (tracker && nrt_front_enter() == NRT_SUCCESS) {
        (void)ntk_core_handle_close(&trackers, tracker);
        nrt_front_leave();
    }
}

/* Copies the list, so that later errors do not change it. The caller holds the lock. */
static NRT_STATUS tracker_copy(struct nrt_tracker *tracker, const uint64_t **list, size_t *count)
{
    size_t bytes = tracker->errors.count * sizeof(struct error);
    struct error *copy = malloc(bytes + sizeof *copy);

    if (!copy) {
        return NRT_RESOURCE;
    }
    if (bytes > 0) {
        memcpy(copy, tracker->errors.items, bytes);
    }
    free(tracker->list);
    tracker->list = copy;
    *list = &copy->sequence;
    *count = tracker->errors.count;
    if (tracker->lost > 0) {
        nrt_log_error("nrta_error_tracker_get_list", "%llu more errors than the tracker can hold",
                      (unsigned long long)tracker->lost);
        tracker->lost = 0;
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_request_tracker_list(void *tracker, const uint64_t **list, size_t *count)
{
    NRT_FRONT_SCOPE;
    struct nrt_tracker *taken = ntk_core_handle_take(&trackers, tracker);
    if (!taken) {
        status = NRT_INVALID_HANDLE;
    } else if (!list || !count) {
        status = NRT_INVALID;
    } else {
        pthread_mutex_lock(&taken->lock);
        status = tracker_copy(taken, list, count);
        pthread_mutex_unlock(&taken->lock);
    }
    if (taken) {
        ntk_core_handle_drop(&trackers, taken);
    }
    return status;
}
