/* SPDX-License-Identifier: MIT */
/*
 * execute - observes executions that the caller waits for.
 */
#include "runtime-hooks/interpose/execute.h"

#include "runtime-hooks/interpose/model.h"
#include "runtime-hooks/interpose/pending.h"

#define ID_BLOCK (1ull << 20)

/* Each thread reserves numbers in blocks: numbers identify executions and do not count them. */
static uint64_t execution_id_next(void)
{
    static uint64_t next_block;
    uint64_t *id = &interpose_thread.execution_id;

    if (*id % ID_BLOCK == 0) {
        *id = ID_BLOCK * __atomic_fetch_add(&next_block, 1, __ATOMIC_RELAXED);
    }
    return ++*id;
}

bool interpose_execution_begin(struct interpose_execution *execution, const nrt_model_t *handle)
{
    struct interpose_model model;

    if (execution->scope->generation == 0 || !interpose_model_get(handle, &model) ||
        model.core == NTK_NO_CORE) {
        return false;
    }
    execution->handle = handle;
    execution->vnc = model.vnc;
    execution->hook.model = model.ref;
    execution->hook.core = model.core;
    execution->hook.core_count = model.core_count;
    execution->hook.execution_id = execution_id_next();
    execution->hook.core_start_ticks =
        ntk_hooks_exec_begin(model.ref, model.core, model.core_count);
    execution->hook.call_start_ticks = execution->hook.core_start_ticks;
    execution->is_open = true;
    return true;
}

/* Returns true if a runtime with this model rejected the execution. */
static bool was_there(const struct interpose_execution *execution, NRT_STATUS status)
{
    struct interpose_model model;

    return status != NRT_UNINITIALIZED && status != NRT_CLOSED &&
           interpose_model_get(execution->handle, &model) && !model.is_unloading;
}

void interpose_execution_end(struct interpose_execution *execution, NRT_STATUS status)
{
    execution->is_open = false;
    if (!interpose_is_on(execution->scope)) {
        return;
    }
    execution->hook.status = (uint32_t)status;
    if (ntk_hooks_is_refusal((uint32_t)status)) {
        ntk_hooks_exec_cancel(&execution->hook);
        if (was_there(execution, status)) {
            ntk_hooks_exec_refused(&execution->hook);
        }
    } else {
        ntk_hooks_exec_end(&execution->hook);
    }
}

/* ---- the implicit mode ---- */

/* Queues the execution before the call, because the callback may run before the call returns. */
static void queue_up(struct interpose_execution *execution)
{
    struct pending_place place = { .key = PENDING_IMPLICIT(execution->hook.core) };
    struct pending_request request = {
        .generation = execution->scope->generation,
        .execution = execution->hook,
    };

    execution->is_open = false;
    execution->is_queued = true;
    pending_add(&place, &request);
}

static void queue_end(struct interpose_execution *execution, NRT_STATUS status)
{
    execution->is_queued = false;
    if (status != NRT_SUCCESS &&
        pending_remove(PENDING_IMPLICIT(execution->hook.core), execution->hook.execution_id)) {
        interpose_execution_end(execution, status);
    }
}

void interpose_execution_cleanup(struct interpose_execution *execution)
{
    if (execution->is_open) {
        interpose_execution_end(execution, NRT_FAILURE);
    } else if (execution->is_queued) {
        queue_end(execution, NRT_FAILURE);
    }
}

/* ---- the calls ---- */

NRT_STATUS observed_nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                                nrt_tensor_set_t *output_set)
{
    INTERPOSE_SCOPE;
    INTERPOSE_EXECUTION;

    if (!interpose_execution_begin(&execution, model)) {
        return REAL(nrt_execute)(model, input_set, output_set);
    }
    if (interpose_is_implicit) {
        queue_up(&execution);
    }
    NRT_STATUS status = REAL(nrt_execute)(model, input_set, output_set);
    if (interpose_is_implicit) {
        queue_end(&execution, status);
    } else {
        interpose_execution_end(&execution, status);
    }
    return status;
}

NRT_STATUS observed_nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                                       nrt_tensor_set_t *output_set, int repeat_count)
{
    INTERPOSE_SCOPE;
    INTERPOSE_EXECUTION;

    if (!interpose_execution_begin(&execution, model)) {
        return REAL(nrt_execute_repeat)(model, input_set, output_set, repeat_count);
    }
    execution.hook.run_count = repeat_count > 0 ? (uint32_t)repeat_count : 1;
    if (interpose_is_implicit) {
        queue_up(&execution);
    }
    NRT_STATUS status = REAL(nrt_execute_repeat)(model, input_set, output_set, repeat_count);
    if (interpose_is_implicit) {
        queue_end(&execution, status);
    } else {
        interpose_execution_end(&execution, status);
    }
    return status;
}
