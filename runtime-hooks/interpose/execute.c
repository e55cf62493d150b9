/* SPDX-License-Identifier: MIT */
/*
 * Executions that the caller waits for.
 */
#include "runtime-hooks/interpose/model.h"

struct execution {
    const struct interpose_scope *scope;
    struct ntk_hooks_exec hook;
    bool is_open;
};

/* What the runtime refused before a core had it. */
static bool is_refusal(NRT_STATUS status)
{
    switch (status) {
    case NRT_INVALID:
    case NRT_INVALID_HANDLE:
    case NRT_RESOURCE:
    case NRT_QUEUE_FULL:
    case NRT_UNINITIALIZED:
    case NRT_CLOSED:
    case NRT_EXEC_BAD_INPUT:
    case NRT_EXEC_NC_BUSY:
        return true;
    default:
        return false;
    }
}

static bool execution_begin(struct execution *execution, const nrt_model_t *handle)
{
    static uint64_t next_id;
    struct interpose_model model;

    if (execution->scope->generation == 0 || !interpose_model_get(handle, &model) ||
        model.core == NTK_NO_CORE) {
        return false;
    }
    execution->hook.model = model.ref;
    execution->hook.core = model.core;
    execution->hook.core_count = model.core_count;
    execution->hook.execution_id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
    execution->hook.core_start_ticks =
        ntk_hooks_exec_begin(model.ref, model.core, model.core_count);
    execution->hook.call_start_ticks = execution->hook.core_start_ticks;
    execution->is_open = true;
    return true;
}

static void execution_end(struct execution *execution, NRT_STATUS status)
{
    execution->is_open = false;
    if (!interpose_is_on(execution->scope)) {
        return;
    }
    execution->hook.status = (uint32_t)status;
    if (is_refusal(status)) {
        ntk_hooks_exec_cancel(&execution->hook);
    } else {
        ntk_hooks_exec_end(&execution->hook);
    }
}

/* Also on the way of an exception, or of a thread that is cancelled: how it ended nobody knows. */
static void execution_cleanup(struct execution *execution)
{
    if (execution->is_open) {
        execution_end(execution, NRT_FAILURE);
    }
}

#define EXECUTION \
    struct execution execution __attribute__((cleanup(execution_cleanup))) = { .scope = &scope }

NRT_STATUS observed_nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                                nrt_tensor_set_t *output_set)
{
    INTERPOSE_SCOPE;
    EXECUTION;

    if (!execution_begin(&execution, model)) {
        return REAL(nrt_execute)(model, input_set, output_set);
    }
    NRT_STATUS status = REAL(nrt_execute)(model, input_set, output_set);
    execution_end(&execution, status);
    return status;
}

NRT_STATUS observed_nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *input_set,
                                       nrt_tensor_set_t *output_set, int repeat_count)
{
    INTERPOSE_SCOPE;
    EXECUTION;

    if (!execution_begin(&execution, model)) {
        return REAL(nrt_execute_repeat)(model, input_set, output_set, repeat_count);
    }
    execution.hook.run_count = repeat_count > 0 ? (uint32_t)repeat_count : 1;
    NRT_STATUS status = REAL(nrt_execute_repeat)(model, input_set, output_set, repeat_count);
    execution_end(&execution, status);
    return status;
}
