/* SPDX-License-Identifier: MIT */
/* cnrt_queue - queues, which the first generation calls streams. */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <errno.h>
#include <pthread.h>

#include "runtime-hooks/cnrt/cnrt_public.h"
#include "shared/abi/event_abi.h"
#include "shared/base/bits.h"
#include "shared/base/vec.h"

#define DEPTH 65536U /* limit on waiting tasks per queue; beyond it the caller waits */

static void queue_release(struct ntk_core_handle *handle)
{
    struct cnrt_queue *queue = (struct cnrt_queue *)handle;

    ntk_core_queue_destroy(queue->core);
    queue->core = NULL;
    atomic_fetch_sub(&cnrt_front_device(queue->device)->queue_count, 1);
}

struct ntk_core_handle_pool cnrt_queues =
    NTK_CORE_HANDLE_POOL_INIT(struct cnrt_queue, queue_release);

/* Protects the list of queues in the order of creation, used to synchronise a device. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_vec list = NTK_VEC_INIT(struct cnrt_queue *);

/* The smallest unused number; 0 if there is none left, over all devices. The caller locks the
 * list. */
static uint16_t number_free(void)
{
    uint64_t taken[NTK_BITS_WORDS(NTK_EXEC_QUEUES + 1)] = { 1 };

    ntk_vec_each(struct cnrt_queue *, queue, &list) {
        ntk_bits_add(taken, (*queue)->number);
    }
    for (unsigned i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (~taken[i]) {
            return (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(~taken[i]));
        }
    }
    return 0;
}

static int list_add(struct cnrt_queue *queue)
{
    pthread_mutex_lock(&list_lock);
    queue->number = number_free();
    int ret = ntk_vec_push(&list, &queue);
    pthread_mutex_unlock(&list_lock);
    return ret;
}

static void list_remove(const struct cnrt_queue *queue)
{
    pthread_mutex_lock(&list_lock);
    for (size_t i = 0; i < list.count; i++) {
        if (*(struct cnrt_queue **)ntk_vec_at(&list, i) == queue) {
            ntk_vec_remove(&list, i);
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
}

static int queue_make(uint32_t device, bool is_waiting, uint32_t count_max, void **out_queue)
{
    _Atomic uint32_t *count = &cnrt_front_device(device)->queue_count;

    if (atomic_fetch_add(count, 1) >= count_max) {
        atomic_fetch_sub(count, 1);
        return CNRT_ERR_NORES;
    }
    struct ntk_core_queue *core =
        ntk_core_queue_create(cnrt_front_crew(), DEPTH, NTK_CORE_QUEUE_WAITS);
    struct cnrt_queue *queue = core ? ntk_core_handle_create_hidden(&cnrt_queues) : NULL;
    if (!queue) {
        ntk_core_queue_destroy(core);
        atomic_fetch_sub(count, 1);
        return CNRT_ERR_NOMEM;
    }
    ntk_core_queue_let_help(core);
    queue->core = core;
    queue->device = device;
    queue->is_waiting = is_waiting;
    atomic_init(&queue->error, CNRT_OK);
    if (list_add(queue) < 0) {
        ntk_core_handle_drop(&cnrt_queues, queue);
        return CNRT_ERR_NOMEM;
    }
    ntk_core_handle_show(queue);
    *out_queue = queue;
    return CNRT_OK;
}

int cnrt_queue_create_on(uint32_t device, void **out_queue, uint32_t count_max)
{
    return queue_make(device, false, count_max, out_queue);
}

int cnrt_queue_create(void **out_queue, uint32_t count_max)
{
    return cnrt_queue_create_waiting(out_queue, count_max, false);
}

int cnrt_queue_create_waiting(void **out_queue, uint32_t count_max, bool is_waiting)
{
    return out_queue ? queue_make(cnrt_front_current_device(), is_waiting, count_max, out_queue)
                     : CNRT_ERR_INVALID;
}

int cnrt_queue_submit(struct cnrt_queue *queue, struct ntk_core_queue_item *item)
{
    uint64_t number = 0;
    int ret = ntk_core_queue_submit(queue->core, item, &number);

    if (ret == 0 && queue->is_waiting) {
        (void)ntk_core_queue_wait(queue->core, number, NTK_CORE_QUEUE_FOREVER);
    }
    return cnrt_queue_code(ret);
}

struct cnrt_queue *cnrt_queue_take(void *queue)
{
    return ntk_core_handle_take(&cnrt_queues, queue);
}

void cnrt_queue_drop(struct cnrt_queue *queue)
{
    if (queue) {
        ntk_core_handle_drop(&cnrt_queues, queue);
    }
}

int cnrt_queue_destroy(void *pointer)
{
    struct cnrt_queue *queue = cnrt_queue_take(pointer);

    if (!queue) {
        return CNRT_ERR_QUEUE;
    }
    list_remove(queue);
    cnrt_queue_drop(queue);
    /* Waits for other threads' waiting calls to return first. */
    return ntk_core_handle_close_and_wait(&cnrt_queues, pointer) ? CNRT_OK : CNRT_ERR_QUEUE;
}

void cnrt_queue_failed(struct cnrt_queue *queue, int code)
{
    int none = CNRT_OK;

    (void)atomic_compare_exchange_strong(&queue->error, &none, code);
}

int cnrt_queue_code(int error)
{
    switch (-error) {
    case 0:
        return CNRT_OK;
    case ESHUTDOWN:
        return CNRT_ERR_INIT;
    case ENOMEM:
        return CNRT_ERR_NOMEM;
    case EDEADLK: /* a task must not wait for a queue */
        return CNRT_ERR_FUNC_CALL;
    default:
        return CNRT_ERR_QUEUE;
    }
}

static int sync_held(struct cnrt_queue *queue)
{
    int code = cnrt_queue_code(ntk_core_queue_sync(queue->core));

    return code == CNRT_OK ? atomic_exchange(&queue->error, CNRT_OK) : code;
}

int cnrt_queue_sync(void *pointer)
{
    struct cnrt_queue *queue = cnrt_queue_take(pointer);
    int code = queue ? sync_held(queue) : CNRT_ERR_QUEUE;

    cnrt_queue_drop(queue);
    return code;
}

int cnrt_queue_query(void *pointer)
{
    struct cnrt_queue *queue = cnrt_queue_take(pointer);
    int code = CNRT_ERR_QUEUE;

    if (queue) {
        code = ntk_core_queue_is_idle(queue->core) ? atomic_exchange(&queue->error, CNRT_OK)
                                                   : CNRT_ERR_BUSY;
    }
    cnrt_queue_drop(queue);
    return code;
}

/* Takes a reference to the n-th queue of a device; NULL after the last. */
static struct cnrt_queue *queue_of(uint32_t device, size_t *inout_index)
{
    struct cnrt_queue *queue = NULL;

    pthread_mutex_lock(&list_lock);
    while (!queue && *inout_index < list.count) {
        struct cnrt_queue *candidate = *(struct cnrt_queue **)ntk_vec_at(&list, (*inout_index)++);

        if (candidate->device == device) {
            queue = cnrt_queue_take(candidate);
        }
    }
    pthread_mutex_unlock(&list_lock);
    return queue;
}

/* Synchronises a device. Queues created or destroyed in the meantime may be skipped, because no
 * thread waits for another thread's queue. */
static int device_sync(uint32_t device)
{
    struct cnrt_queue *queue;
    size_t index = 0;
    int code = CNRT_OK;

    while ((queue = queue_of(device, &index)) != NULL) {
        int now = sync_held(queue);

        code = code == CNRT_OK ? now : code;
        cnrt_queue_drop(queue);
    }
    return code;
}

void cnrt_queues_close_all(void)
{
    pthread_mutex_lock(&list_lock);
    ntk_vec_fini(&list);
    ntk_vec_init(&list, sizeof(struct cnrt_queue *));
    pthread_mutex_unlock(&list_lock);
    ntk_core_handle_close_all(&cnrt_queues);
}

void cnrt_queues_forget(void)
{
    pthread_mutex_init(&list_lock, NULL);
    ntk_vec_fini(&list);
    ntk_vec_init(&list, sizeof(struct cnrt_queue *));
    ntk_core_handle_forget(&cnrt_queues);
}

cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue)
{
    CNRT_INSIDE(cnrt_queue_create((void **)queue, CNRT_QUEUES_MAX_1));
}

cnrtRet_t cnrtDestroyQueue(cnrtQueue_t queue)
{
    CNRT_INSIDE(cnrt_queue_destroy(queue));
}

cnrtRet_t cnrtSyncQueue(cnrtQueue_t queue)
{
    CNRT_INSIDE(cnrt_queue_sync(queue));
}

cnrtRet_t cnrtSyncDevice(void)
{
    CNRT_INSIDE(device_sync(cnrt_front_current_device()));
}
CNRT_IN_1(SyncDevice);
