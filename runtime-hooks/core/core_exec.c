/* SPDX-License-Identifier: MIT */
/*
 * core_exec - runs an execution: walks through a model's steps, on its cores and in the calling
 * thread.
 */
#include "runtime-hooks/core/core_exec_state.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime-hooks/core/core_record.h"

#define VIEWS_ON_STACK 32U

static enum ntk_core_outcome cpu_step_run(struct core_execution *execution,
                                          const struct core_step *step)
{
    size_t count = (size_t)step->input_count + step->output_count;
    struct ntk_neff_cpu_tensor *tensors = calloc(count + 1, sizeof *tensors);

    if (ntk_core_trace_is_on()) {
        core_exec_trace_phase_end(execution);
    }
    if (!tensors) {
        ntk_err_no_memory(execution->err);
        return NTK_CORE_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t slot =
            i < step->input_count ? step->inputs[i] : step->outputs[i - step->input_count];

        tensors[i] = execution->model->slots[slot].shape;
        tensors[i].data = core_exec_slot_address(execution, slot);
    }
    int failed =
        step->function(tensors, step->input_count, tensors + step->input_count, step->output_count);
    free(tensors);
    if (failed != 0) {
        ntk_err_set(execution->err, -EIO, NTK_ERR_NO_OFFSET,
                    "CPU node '%s' of model '%s' failed with %d", step->name,
                    execution->model->name, failed);
        return NTK_CORE_CPU_NODE_FAILED;
    }
    return NTK_CORE_COMPLETED;
}

/* Counts an execution that ran only on the host, at the model's core, which was not busy. */
static void hosted_tell(const struct core_execution *execution, enum ntk_core_outcome outcome)
{
    struct ntk_core_model *model = execution->model;
    struct core_nc *nc = &model->core->ncs[model->nc];
    struct ntk_hooks_exec exec = { .model = model->hook,
                                   .execution_id = execution->id,
                                   .call_start_ticks = execution->call_start_ticks,
                                   .status = core_status(outcome),
                                   .core = (uint16_t)nc->first_physical,
                                   .core_count = 1,
                                   .queue = execution->queue };

    pthread_mutex_lock(&nc->execution_lock);
    exec.core_start_ticks = ntk_hooks_exec_begin(model->hook, exec.core, 1);
    exec.core_end_ticks = exec.core_start_ticks;
    ntk_hooks_exec_end(&exec);
    pthread_mutex_unlock(&nc->execution_lock);
}

/* Runs the steps until one fails; NaN does not count as a failure. */
static enum ntk_core_outcome steps_run(struct core_execution *execution)
{
    struct ntk_core_model *model = execution->model;

    execution->outcome = NTK_CORE_COMPLETED;
    for (uint32_t i = 0; i < model->step_count && core_exec_continues(execution->outcome); i++) {
        const struct core_step *step = &model->steps[i];
        enum ntk_core_outcome now =
            step->is_cpu ? cpu_step_run(execution, step) : core_exec_step_run(execution, i);

        execution->outcome = core_exec_outcome_worse(execution->outcome, now);
        if (step->is_cpu && !core_exec_continues(now) && i < model->last_core_step) {
            /* No core reports the end of the execution. */
            core_exec_refused_tell(model, execution->id, execution->call_start_ticks, now);
        }
    }
    return execution->outcome;
}

void ntk_core_execute_refused(struct ntk_core_model *model, int error)
{
    uint64_t id = core_execution_begin(model->core);

    core_exec_refused_tell(model, id, ntk_hooks_now(), ntk_core_outcome_of(error));
    core_execution_end(model->core, id);
}

/* Returns true if the model may use a tensor at this place. */
static bool lies_well(const struct ntk_core_model *model, const struct core_tensor_view *view)
{
    const struct core_nc *ncs = model->core->ncs;

    return view->nc == NTK_CORE_ANY ||
           (view->nc >= model->group_nc && view->nc < model->group_nc + model->group_nc_count) ||
           (model->is_for_stack && ncs[view->nc].stack == ncs[model->nc].stack);
}

/* Takes and checks a view of every tensor; on failure, all are released. */
static int views_take(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                      size_t tensor_count, struct core_tensor_view *views, struct ntk_err *err)
{
    int ret = 0;
    uint32_t taken = 0;

    if (tensor_count != model->io_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "model '%s' requires %u tensors, got %zu", model->name, model->io_count,
                           tensor_count);
    }
    while (taken < model->io_count && ret == 0) {
        const struct ntk_core_io *io = &model->ios[taken];

        if (!tensors[taken]) {
            ret =
                ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "missing %s tensor '%s' of model '%s'",
                            io->is_output ? "output" : "input", io->name, model->name);
            break;
        }
        struct core_tensor_view *view = &views[taken];
        core_tensor_view_take(tensors[taken], view);
        taken++;
        if (!view->address || view->bytes < io->bytes) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                              "tensor '%s' of model '%s' requires %llu bytes, got %llu", io->name,
                              model->name, (unsigned long long)io->bytes,
                              (unsigned long long)view->bytes);
        } else if (!lies_well(model, view)) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                              "tensor '%s' is on core %u, but model '%s' runs on core %u", io->name,
                              view->nc, model->name, model->nc);
        }
    }
    while (ret < 0 && taken > 0) {
        core_tensor_view_drop(&views[--taken]);
    }
    return ret;
}

static struct ntk_core_execution_times times_of(const struct core_execution *execution)
{
    const struct ntk_core *core = execution->model->core;
    uint64_t mhz = ntk_engine_core_spec_get(core->row->facts.generation)->clock_mhz[NTK_ENGINE_SP];

    return (struct ntk_core_execution_times){
        .core_ns = ntk_hooks_ticks_to_ns(execution->parts_ticks),
        .device_ns = execution->device_ns,
        .device_cycles =
            execution->device_ns / 1000 * mhz + execution->device_ns % 1000 * mhz / 1000,
    };
}

static int execute(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                   size_t tensor_count, const struct ntk_core_queued *queued,
                   enum ntk_core_outcome *out_outcome, struct ntk_core_execution_times *out_times,
                   struct ntk_err *err)
{
    struct core_tensor_view on_stack[VIEWS_ON_STACK];

    model = core_model_turn(model);
    struct core_execution execution = { .model = model,
                                        .views = on_stack,
                                        .call_start_ticks =
                                            queued ? queued->asked_ticks : ntk_hooks_now(),
                                        .code_bytes = queued ? queued->code_bytes : 0,
                                        .queue = queued ? queued->queue : 0,
                                        .id = core_execution_begin(model->core),
                                        .err = err };
    bool has_context = false;
    int ret = 0;

    if (ntk_core_trace_is_on()) {
        core_exec_trace_begin(&execution);
    }
    if (model->io_count > VIEWS_ON_STACK) {
        execution.views = calloc(model->io_count, sizeof *execution.views);
        if (!execution.views) {
            ret = ntk_err_no_memory(err);
            core_exec_refused_tell(model, execution.id, execution.call_start_ticks,
                                   ntk_core_outcome_of(ret));
            goto out;
        }
    }
    ret = views_take(model, tensors, tensor_count, execution.views, err);
    if (ret < 0) {
        core_exec_refused_tell(model, execution.id, execution.call_start_ticks,
                               ntk_core_outcome_of(ret));
        goto out;
    }
    execution.context = core_context_take(model, &has_context, NULL);
    if (!has_context) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "out of memory for the tensors between the nodes of model '%s'",
                          model->name);
        core_exec_refused_tell(model, execution.id, execution.call_start_ticks,
                               ntk_core_outcome_of(ret));
    } else {
        execution.between = execution.context ? execution.context->buffer.address : NULL;
        execution.capture = core_capture_take(model);
        enum ntk_core_outcome outcome = steps_run(&execution);
        if (model->is_hosted) {
            hosted_tell(&execution, outcome);
        }
        if (ntk_core_trace_is_on()) {
            core_exec_trace_phase_next(&execution, NTK_CORE_TRACE_EXEC_POST, model->nc);
        }
        core_capture_give_back(execution.capture);
        core_context_give_back(model, execution.context);
        for (uint32_t i = model->input_count; i < model->io_count; i++) {
            if (core_exec_continues(outcome)) {
                core_tensor_written(tensors[i]);
            }
        }
        *out_outcome = outcome;
    }
    for (uint32_t i = 0; i < model->io_count; i++) {
        core_tensor_view_drop(&execution.views[i]);
    }

out:
    *out_times = times_of(&execution);
    if (execution.views != on_stack) {
        free(execution.views);
    }
    if (ntk_core_trace_is_on()) {
        core_exec_trace_end(&execution);
    }
    core_execution_end(model->core, execution.id);
    return ret;
}

int ntk_core_execute(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                     size_t tensor_count, enum ntk_core_outcome *out_outcome, struct ntk_err *err)
{
    struct ntk_core_execution_times times;

    return execute(model, tensors, tensor_count, NULL, out_outcome, &times, err);
}

int ntk_core_execute_timed(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                           size_t tensor_count, enum ntk_core_outcome *out_outcome,
                           struct ntk_core_execution_times *out_times, struct ntk_err *err)
{
    return execute(model, tensors, tensor_count, NULL, out_outcome, out_times, err);
}

int ntk_core_execute_queued(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                            size_t tensor_count, const struct ntk_core_queued *queued,
                            enum ntk_core_outcome *out_outcome, struct ntk_err *err)
{
    struct ntk_core_execution_times times;

    return execute(model, tensors, tensor_count, queued, out_outcome, &times, err);
}

struct ntk_segment_trigger *ntk_core_trigger_get(void)
{
    return ntk_hooks_trigger();
}

uint64_t ntk_core_ticks(void)
{
    return ntk_hooks_now();
}
