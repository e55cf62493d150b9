/* SPDX-License-Identifier: MIT */
/* cnrt_task - tasks on queues: each runs a program. */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime-hooks/cnrt/cnrt_clusters.h"
#include "runtime-hooks/cnrt/cnrt_program.h"

/* A device pointer passed to a task. */
struct param {
    struct ntk_cnrt_memory *memory;
    uint64_t offset, bytes;
};

struct task_item {
    struct ntk_core_queue_item item;
    struct cnrt_queue *queue;
    struct ntk_cnrt_task task;
    uint64_t asked_ticks;
    uint32_t width; /* number of clusters */
    double share;   /* used share of these clusters */
    int code;
    uint32_t param_count;
    struct param params[];
};

uint64_t ntk_cnrt_ticks(void)
{
    return ntk_core_ticks();
}

static void task_free(struct task_item *task)
{
    for (uint32_t i = 0; i < task->param_count; i++) {
        ntk_cnrt_memory_drop(task->params[i].memory);
    }
    free(task);
}

/* --- running ---------------------------------------------------------------------------------- */

static enum ntk_core_outcome compute(void *ctx, struct ntk_core_kernel_work *out_work,
                                     struct ntk_err *err)
{
    struct task_item *task = ctx;
    struct ntk_cnrt_work work = { 0 };

    task->code = task->task.run(task->task.ctx, &work);
    *out_work = (struct ntk_core_kernel_work){ .flops = work.flops,
                                               .vector_elements = work.vector_elements,
                                               .read_bytes = work.read_bytes,
                                               .written_bytes = work.written_bytes };
    if (task->code != CNRT_OK) {
        (void)ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", cnrt_code_text(task->code, 2));
    }
    return cnrt_outcome_from_code(task->code);
}

static int function_run(struct task_item *task, uint32_t nc, enum ntk_core_outcome *out_outcome,
                        struct ntk_err *err)
{
    const struct ntk_core_kernel_run run = {
        .first_ncs = &nc,
        .first_nc_count = 1,
        .width = task->width,
        .share = task->share,
        .asked_ticks = task->asked_ticks,
        .queue = task->queue->number,
        .compute = compute,
        .ctx = task,
    };

    return ntk_core_kernel_run(cnrt_program_kernel_get(task->task.program), &run, out_outcome, err);
}

static int file_run(struct task_item *task, uint32_t nc, enum ntk_core_outcome *out_outcome,
                    struct ntk_err *err)
{
    const struct ntk_core_queued queued = { .asked_ticks = task->asked_ticks,
                                            .queue = task->queue->number };
    struct ntk_core_tensor **tensors = calloc(task->param_count + 1, sizeof *tensors);
    uint32_t made = 0;
    int ret = 0;

    if (!tensors) {
        return ntk_err_no_memory(err);
    }
    for (; ret == 0 && made < task->param_count; made++) {
        const struct param *param = &task->params[made];

        ret = ntk_core_tensor_create_slice(param->memory->tensor, param->offset, param->bytes, NULL,
                                           &tensors[made], err);
    }
    if (ret == 0) {
        ret = cnrt_program_run(task->task.program, nc, tensors, task->param_count, &queued,
                               out_outcome, err);
    }
    while (made-- > 0) {
        ntk_core_tensor_destroy(tensors[made]);
    }
    free(tensors);
    return ret;
}

static bool task_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct task_item *task = (struct task_item *)item;
    uint32_t number = task->queue->device;
    const struct cnrt_device *device = cnrt_front_device(number);
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;
    struct ntk_err err = { 0 };
    uint32_t cluster =
        cnrt_clusters_hold(number, device->nc_count, task->width, task->task.cluster_mask);
    uint32_t nc = device->first_nc + cluster;
    int ret = task->task.run ? function_run(task, nc, &outcome, &err)
                             : file_run(task, nc, &outcome, &err);
    int code = ret < 0 ? cnrt_code_from_error(ret) : task->code;

    (void)is_broken;
    cnrt_clusters_release(number, cluster, task->width);
    if (code == CNRT_OK && outcome != NTK_CORE_COMPLETED) {
        code = cnrt_code_from_outcome(outcome);
        (void)cnrt_front_fail("a task", -EIO, &err);
    }
    if (code != CNRT_OK) {
        cnrt_queue_failed(task->queue, code);
    }
    /* Free the task's data before the task counts as complete, so that a thread that has
     * synchronised finds its memory free. */
    if (task->task.destroy) {
        task->task.destroy(task->task.ctx);
    }
    for (uint32_t i = 0; i < task->param_count; i++) {
        ntk_cnrt_memory_drop(task->params[i].memory);
    }
    task->param_count = 0;
    cnrt_program_drop(task->task.program);
    return true;
}

static void task_destroy(struct ntk_core_queue_item *item)
{
    task_free((struct task_item *)item);
}

/* --- pushing ---------------------------------------------------------------------------------- */

/* Checks that all memory for the file's parameters is on the queue's device, and takes references
 * to it. */
static int params_take(struct task_item *task)
{
    const struct ntk_cnrt_task *given = &task->task;
    size_t count = 0;
    const struct ntk_core_io *ios = cnrt_program_io_get(given->program, &count);
    int code =
        count == given->param_count && (given->params || count == 0) ? CNRT_OK : CNRT_ERR_INVALID;

    for (size_t i = 0; i < count && code == CNRT_OK; i++) {
        struct param *param = &task->params[i];
        int device = 0;

        code = ntk_cnrt_memory_take(given->params[i], ios[i].bytes, &device, &param->memory);
        if (code == CNRT_OK) {
            task->param_count++;
            param->offset = (uint64_t)((char *)given->params[i] - param->memory->address);
            param->bytes = ios[i].bytes;
            code = (uint32_t)device == task->queue->device ? CNRT_OK : CNRT_ERR_INVALID_POINTER;
        }
    }
    return code;
}

/* Adds a task; the caller has a reference to the program. */
static int push_held(struct cnrt_queue *queue, const struct ntk_cnrt_task *given)
{
    uint32_t clusters = cnrt_front_device(queue->device)->nc_count;
    uint32_t cores = given->core_count > 0 ? given->core_count : 1;
    uint32_t per_cluster = cnrt_cluster_cores();
    uint32_t width = (cores - 1) / per_cluster + 1;
    bool is_file = cnrt_program_kernel_get(given->program) == NULL;

    if (width > clusters || !cnrt_clusters_exist(clusters, width, given->cluster_mask) ||
        (!is_file && !given->run)) {
        return CNRT_ERR_INVALID;
    }
    struct task_item *task =
        calloc(1, sizeof *task + (is_file ? given->param_count : 0) * sizeof task->params[0]);
    if (!task) {
        return CNRT_ERR_NOMEM;
    }
    task->item.run = task_run;
    task->item.destroy = task_destroy;
    task->queue = queue;
    task->task = *given;
    task->width = width;
    task->share = (double)cores / ((double)width * per_cluster);
    task->asked_ticks = ntk_core_ticks();
    int code = CNRT_OK;
    if (is_file) {
        task->task.run = NULL;
        code = params_take(task);
        task->task.params = NULL; /* the array belongs to the caller */
    }
    if (code == CNRT_OK) {
        code = cnrt_queue_submit(queue, &task->item);
    }
    if (code != CNRT_OK) {
        task_free(task);
    }
    return code;
}

int cnrt_task_push(void *queue_pointer, const struct ntk_cnrt_task *task)
{
    struct cnrt_queue *queue = cnrt_queue_take(queue_pointer);
    int code = queue ? CNRT_ERR_INVALID : CNRT_ERR_QUEUE;

    if (queue && task->program && cnrt_program_hold(task->program)) {
        code = push_held(queue, task);
        if (code != CNRT_OK) {
            cnrt_program_drop(task->program);
        }
    }
    cnrt_queue_drop(queue);
    return code;
}

int ntk_cnrt_task_push(void *queue, const struct ntk_cnrt_task *task)
{
    CNRT_INSIDE(cnrt_task_push(queue, task));
}

static int queue_check(void *pointer, int *out_device)
{
    struct cnrt_queue *queue = cnrt_queue_take(pointer);

    if (queue && out_device) {
        *out_device = (int)queue->device;
    }
    cnrt_queue_drop(queue);
    return queue ? CNRT_OK : CNRT_ERR_QUEUE;
}

int ntk_cnrt_queue_check(void *queue, int *out_device)
{
    CNRT_INSIDE(queue_check(queue, out_device));
}
