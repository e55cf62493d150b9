/* SPDX-License-Identifier: MIT */
/* cnrt_context - runtime contexts of the third generation: a function with a private device. */
#pragma GCC visibility push(default)
#include "neuware/g3/cnrt.h"
#pragma GCC visibility pop

#include <pthread.h>

#include "runtime-hooks/cnrt/cnrt_function.h"

struct context {
    struct ntk_core_handle handle;
    struct ntk_cnrt_program *program;
    pthread_mutex_t lock; /* protects the following members */
    uint32_t device;
    bool is_ready; /* initialised, so its device is fixed */
};

static void context_release(struct ntk_core_handle *handle)
{
    struct context *context = (struct context *)handle;

    cnrt_program_drop(context->program);
    pthread_mutex_destroy(&context->lock);
}

static struct ntk_core_handle_pool contexts =
    NTK_CORE_HANDLE_POOL_INIT(struct context, context_release);

static void drop(struct context *context)
{
    if (context) {
        ntk_core_handle_drop(&contexts, context);
    }
}

static int create(cnrtRuntimeContext_t *out_context, cnrtFunction_t function)
{
    struct ntk_cnrt_program *program = out_context ? cnrt_function_program_take(function) : NULL;

    if (!program) {
        return CNRT_ERR_INVALID;
    }
    struct context *context = ntk_core_handle_create_hidden(&contexts);
    if (!context) {
        cnrt_program_drop(program);
        return CNRT_ERR_NOMEM;
    }
    pthread_mutex_init(&context->lock, NULL);
    context->program = program;
    context->device = cnrt_front_current_device();
    ntk_core_handle_show(context);
    *out_context = (cnrtRuntimeContext_t)context;
    return CNRT_OK;
}

static int device_set(void *pointer, int ordinal)
{
    struct context *context = ntk_core_handle_take(&contexts, pointer);
    int code = CNRT_ERR_INVALID;

    if (context) {
        pthread_mutex_lock(&context->lock);
        if (context->is_ready) {
            code = CNRT_ERR_FUNC_CALL;
        } else if (ordinal < 0 || (uint32_t)ordinal >= cnrt_front_device_count()) {
            code = CNRT_ERR_NODEV;
        } else {
            context->device = (uint32_t)ordinal;
            code = CNRT_OK;
        }
        pthread_mutex_unlock(&context->lock);
    }
    drop(context);
    return code;
}

static int make_ready(void *pointer)
{
    struct context *context = ntk_core_handle_take(&contexts, pointer);

    if (context) {
        pthread_mutex_lock(&context->lock);
        context->is_ready = true;
        pthread_mutex_unlock(&context->lock);
    }
    drop(context);
    return context ? CNRT_OK : CNRT_ERR_INVALID;
}

/* Gets the context's device, once it is ready. */
static int device_get(struct context *context, uint32_t *out_device)
{
    pthread_mutex_lock(&context->lock);
    bool is_ready = context->is_ready;
    *out_device = context->device;
    pthread_mutex_unlock(&context->lock);
    return is_ready ? CNRT_OK : CNRT_ERR_FUNC_CALL;
}

static int queue_make(void *pointer, cnrtQueue_t *out_queue)
{
    struct context *context = ntk_core_handle_take(&contexts, pointer);
    int code = CNRT_ERR_INVALID;
    uint32_t device = 0;

    if (context && out_queue) {
        code = device_get(context, &device);
        if (code == CNRT_OK) {
            code = cnrt_queue_create_on(device, (void **)out_queue, CNRT_QUEUES_MAX_3);
        }
    }
    drop(context);
    return code;
}

static int invoke(void *pointer, void **params, void *queue_pointer, void *extra)
{
    struct context *context = ntk_core_handle_take(&contexts, pointer);
    struct cnrt_queue *queue = cnrt_queue_take(queue_pointer);
    int code = context ? CNRT_ERR_QUEUE : CNRT_ERR_INVALID;
    uint32_t device = 0;

    if (context && queue) {
        code = device_get(context, &device);
        if (code == CNRT_OK && device != queue->device) {
            code = CNRT_ERR_QUEUE;
        }
        if (code == CNRT_OK) {
            code = cnrt_program_invoke(context->program, params, 1, queue_pointer, extra);
        }
    }
    cnrt_queue_drop(queue);
    drop(context);
    return code;
}

void cnrt_contexts_close_all(void)
{
    ntk_core_handle_close_all(&contexts);
}

void cnrt_contexts_forget(void)
{
    ntk_core_handle_forget(&contexts);
}

cnrtRet_t cnrtCreateRuntimeContext(cnrtRuntimeContext_t *context, cnrtFunction_t function,
                                   void *extra)
{
    (void)extra; /* its content is unknown */
    CNRT_INSIDE(create(context, function));
}

cnrtRet_t cnrtSetRuntimeContextDeviceId(cnrtRuntimeContext_t context, int ordinal)
{
    CNRT_INSIDE(device_set(context, ordinal));
}

cnrtRet_t cnrtInitRuntimeContext(cnrtRuntimeContext_t context, void *extra)
{
    (void)extra;
    CNRT_INSIDE(make_ready(context));
}

cnrtRet_t cnrtRuntimeContextCreateQueue(cnrtRuntimeContext_t context, cnrtQueue_t *queue)
{
    CNRT_INSIDE(queue_make(context, queue));
}

cnrtRet_t cnrtInvokeRuntimeContext(cnrtRuntimeContext_t context, void **params, cnrtQueue_t queue,
                                   void *extra)
{
    CNRT_INSIDE(invoke(context, params, queue, extra));
}

cnrtRet_t cnrtDestroyRuntimeContext(cnrtRuntimeContext_t context)
{
    CNRT_INSIDE(ntk_core_handle_close(&contexts, context) ? CNRT_OK : CNRT_ERR_INVALID);
}

cnrtRet_t cnrtGetInputDataSize(int64_t **sizes, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(cnrt_function_sizes(function, false, sizes, count));
}

cnrtRet_t cnrtGetOutputDataSize(int64_t **sizes, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(cnrt_function_sizes(function, true, sizes, count));
}
