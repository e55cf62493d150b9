/* SPDX-License-Identifier: MIT */
/* cnrt_notifier - notifiers, which the first generation calls events. */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <errno.h>

#include "runtime-hooks/cnrt/cnrt_public.h"
#include "runtime-hooks/core/core_notifier.h"

#define NS_PER_US 1000.0

struct notifier {
    struct ntk_core_handle handle;
    struct ntk_core_notifier *core;
    uint32_t device;
};

static void notifier_release(struct ntk_core_handle *handle)
{
    struct notifier *notifier = (struct notifier *)handle;

    ntk_core_notifier_destroy(notifier->core);
    notifier->core = NULL;
}

static struct ntk_core_handle_pool notifiers =
    NTK_CORE_HANDLE_POOL_INIT(struct notifier, notifier_release);

static void drop(struct notifier *notifier)
{
    if (notifier) {
        ntk_core_handle_drop(&notifiers, notifier);
    }
}

/* Converts an error; -EINVAL means that the notifier was never placed. */
static int code_of(int error)
{
    return error == -EINVAL ? CNRT_ERR_NOTIFIER : cnrt_queue_code(error);
}

int cnrt_notifier_create(void **out_notifier)
{
    if (!out_notifier) {
        return CNRT_ERR_INVALID;
    }
    struct ntk_core_notifier *core = ntk_core_notifier_create(cnrt_front_crew());
    struct notifier *notifier = core ? ntk_core_handle_create_hidden(&notifiers) : NULL;
    if (!notifier) {
        ntk_core_notifier_destroy(core);
        return CNRT_ERR_NOMEM;
    }
    notifier->core = core;
    notifier->device = cnrt_front_current_device();
    ntk_core_handle_show(notifier);
    *out_notifier = notifier;
    return CNRT_OK;
}

int cnrt_notifier_destroy(void *notifier)
{
    return ntk_core_handle_close(&notifiers, notifier) ? CNRT_OK : CNRT_ERR_NOTIFIER;
}

int cnrt_notifier_place(void *notifier_pointer, void *queue_pointer)
{
    struct notifier *notifier = ntk_core_handle_take(&notifiers, notifier_pointer);
    struct cnrt_queue *queue = cnrt_queue_take(queue_pointer);
    int code = CNRT_OK;

    if (!notifier) {
        code = CNRT_ERR_NOTIFIER;
    } else if (!queue) {
        code = CNRT_ERR_QUEUE;
    } else if (notifier->device != queue->device) {
        code = CNRT_ERR_NOTIFIER;
    } else {
        code = cnrt_queue_code(ntk_core_notifier_place(notifier->core, queue->core));
    }
    cnrt_queue_drop(queue);
    drop(notifier);
    return code;
}

int cnrt_notifier_wait(void *pointer)
{
    struct notifier *notifier = ntk_core_handle_take(&notifiers, pointer);
    int code = CNRT_ERR_NOTIFIER;

    if (notifier) {
        code = code_of(ntk_core_notifier_wait(notifier->core, NTK_CORE_QUEUE_FOREVER));
    }
    drop(notifier);
    return code;
}

int cnrt_notifier_query(void *pointer)
{
    struct notifier *notifier = ntk_core_handle_take(&notifiers, pointer);
    int ret = notifier ? ntk_core_notifier_is_reached(notifier->core) : -EINVAL;

    drop(notifier);
    return ret < 0 ? CNRT_ERR_NOTIFIER : ret == 0 ? CNRT_ERR_BUSY : CNRT_OK;
}

int cnrt_notifier_queue_wait(void *notifier_pointer, void *queue_pointer, unsigned int flag)
{
    struct notifier *notifier = ntk_core_handle_take(&notifiers, notifier_pointer);
    struct cnrt_queue *queue = cnrt_queue_take(queue_pointer);
    int code = CNRT_ERR_INVALID;

    if (!notifier) {
        code = CNRT_ERR_NOTIFIER;
    } else if (!queue) {
        code = CNRT_ERR_QUEUE;
    } else if (flag == 0) {
        code = code_of(ntk_core_notifier_queue_wait(notifier->core, queue->core));
    }
    cnrt_queue_drop(queue);
    drop(notifier);
    return code;
}

int cnrt_notifier_duration(void *start_pointer, void *end_pointer, float *out_us)
{
    struct notifier *start = ntk_core_handle_take(&notifiers, start_pointer);
    struct notifier *end = ntk_core_handle_take(&notifiers, end_pointer);
    int code = CNRT_ERR_NOTIFIER;
    int64_t ns = 0;

    if (!out_us) {
        code = CNRT_ERR_INVALID;
    } else if (start && end) {
        int ret = ntk_core_notifier_elapsed_get(start->core, end->core, &ns);

        code = ret == -EBUSY ? CNRT_ERR_NOT_READY : code_of(ret);
    }
    if (code == CNRT_OK) {
        *out_us = (float)((double)ns / NS_PER_US);
    }
    drop(start);
    drop(end);
    return code;
}

void cnrt_notifiers_close_all(void)
{
    ntk_core_handle_close_all(&notifiers);
}

void cnrt_notifiers_forget(void)
{
    ntk_core_handle_forget(&notifiers);
}

cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *notifier)
{
    CNRT_INSIDE(cnrt_notifier_create((void **)notifier));
}

cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *notifier)
{
    int entered = cnrt_front_enter();
    int code = entered;

    if (entered == CNRT_OK) {
        code = notifier ? cnrt_notifier_destroy(*notifier) : CNRT_ERR_INVALID;
        if (code == CNRT_OK) {
            *notifier = NULL;
        }
    }
    return cnrt_front_leave(entered, code);
}

cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue)
{
    CNRT_INSIDE(cnrt_notifier_place(notifier, queue));
}

cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float *us)
{
    CNRT_INSIDE(cnrt_notifier_duration(start, end, us));
}
