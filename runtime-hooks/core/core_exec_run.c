/* SPDX-License-Identifier: MIT */
/* core_exec_run - runs one step of an execution on its core, from taking to releasing the core, and
 * counts it. */
#include "runtime-hooks/core/core_exec_state.h"

#include <assert.h>
#include <errno.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/core/core_publish.h"
#include "runtime-hooks/core/core_record.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"

static_assert(NTK_CORE_LNC_MAX <= NTK_ENGINE_PAIR_MAX,
              "every core of a logical core has a place in the group");

static const char *const engine_names[] = {
#define NTK_ENGINE(id, symbol, neff_file, short_name, label, profiler_name, nki_engine) short_name,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
};

char *core_exec_slot_address(const struct core_execution *execution, uint32_t slot_index)
{
    const struct core_slot *slot = &execution->model->slots[slot_index];

    if (slot->io != CORE_SLOT_NONE) {
        return execution->views[slot->io].address;
    }
    if (slot->is_passed && execution->context) {
        return execution->context->passed[slot_index - execution->model->first_passed].address;
    }
    if (slot->param) {
        return slot->param->allocation.address;
    }
    return execution->between + slot->offset;
}

static uint64_t slot_device_address(const struct core_execution *execution, uint32_t slot_index)
{
    const struct core_slot *slot = &execution->model->slots[slot_index];

    if (slot->is_passed) {
        return execution->context->passed[slot_index - execution->model->first_passed].hook.address;
    }
    if (slot->param) {
        return slot->param->allocation.hook.address;
    }
    return slot->io != CORE_SLOT_NONE ? execution->views[slot->io].device_address : 0;
}

/* The caller holds the core's execution lock, so scratchpad and bindings belong to this
 * execution. */
static void bindings_fill(const struct core_execution *execution, struct core_subgraph *subgraph,
                          const struct core_allocation *scratchpad)
{
    for (uint32_t i = 0; i < subgraph->variable_count; i++) {
        const struct core_variable *variable = &subgraph->variables[i];
        struct ntk_engine_binding *binding = &subgraph->bindings[i];

        *binding = (struct ntk_engine_binding){ .size = variable->bytes };
        switch (variable->kind) {
        case CORE_VARIABLE_FIXED:
            binding->bytes = variable->allocation.address;
            binding->device_address = variable->allocation.hook.address;
            break;
        case CORE_VARIABLE_SLOT:
            binding->bytes = core_exec_slot_address(execution, variable->slot);
            binding->device_address = slot_device_address(execution, variable->slot);
            break;
        case CORE_VARIABLE_SCRATCHPAD:
            binding->bytes = scratchpad->address + variable->offset;
            binding->device_address = scratchpad->hook.address + variable->offset;
            break;
        case CORE_VARIABLE_NONE:
            break;
        }
    }
}

static enum ntk_core_outcome outcome_of_run(const struct core_execution *execution,
                                            const struct core_nc *nc, uint32_t index,
                                            const struct ntk_engine_result *result)
{
    const struct ntk_core_model *model = execution->model;
    uint32_t per_device = model->core->row->facts.cores_per_device;
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    enum ntk_core_text text = NTK_CORE_TEXT_RUN;
    char sentence[NTK_ERR_TEXT_BYTES];

    switch (result->outcome) {
    case NTK_RUN_OK:
        return NTK_CORE_COMPLETED;
    case NTK_RUN_NUMERICAL_ERROR:
        if (!model->core->options.report_numerical_errors) {
            return NTK_CORE_COMPLETED;
        }
        outcome = NTK_CORE_NUMERICAL_ERROR;
        break;
    case NTK_RUN_OUT_OF_BOUNDS:
        outcome = NTK_CORE_OUT_OF_BOUNDS;
        text = NTK_CORE_TEXT_OUT_OF_BOUNDS;
        break;
    case NTK_RUN_DEADLOCK:
    case NTK_RUN_TIMEOUT:
        outcome = NTK_CORE_TIMED_OUT;
        text = NTK_CORE_TEXT_TIMEOUT;
        break;
    case NTK_RUN_BAD_INPUT:
        outcome = NTK_CORE_BAD_INPUT;
        break;
    case NTK_RUN_NO_MEMORY:
        outcome = NTK_CORE_NO_MEMORY;
        break;
    }
    const struct core_text_facts facts = {
        .device = (nc->first_physical + index) / per_device,
        .core = (nc->first_physical + index) % per_device,
        .model = model->name,
        .model_id = model->id,
        .timeout_ns = model->timeout_ns,
        .engine =
            result->fault_engine < NTK_ENGINE_COUNT ? engine_names[result->fault_engine] : "none",
        .slot = result->fault_slot,
        .what = ntk_engine_outcome_name(result->outcome),
    };
    ntk_err_set(
        execution->err, outcome == NTK_CORE_TIMED_OUT ? -ETIMEDOUT : -EIO, NTK_ERR_NO_OFFSET, "%s",
        core_text_write(model->core->options.texts, text, &facts, sentence, sizeof sentence));
    return outcome;
}

void core_pace(const struct ntk_clock *clock, uint64_t start_ns, uint64_t device_ns)
{
    ntk_cond_sleep(clock, device_ns < INT64_MAX / 2 ? start_ns + device_ns : INT64_MAX);
}

static uint64_t host_ns_since(uint64_t start_ticks)
{
    return ntk_hooks_ticks_to_ns(ntk_hooks_now() - start_ticks);
}

/* Makes the core hang until the limit; the rest of its work is not done. */
static uint64_t hang_last(const struct ntk_core_model *model, const struct core_step *step,
                          struct ntk_engine_result *results)
{
    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        if (results[i].duration_ns < model->timeout_ns) {
            results[i].duration_ns = model->timeout_ns;
        }
    }
    return model->timeout_ns;
}

/* Gives the core to another model or node: clears the data that the last one left in its memories.
 * The caller holds the execution lock. */
static bool nc_hand_over(struct ntk_core *core, struct core_nc *nc,
                         const struct ntk_core_model *model, uint32_t node)
{
    for (uint32_t i = 0; i < core->lnc; i++) {
        if (ntk_engine_core_reset(nc->engines[i]) < 0) {
            nc->last_model = 0;
            return false;
        }
    }
    if (nc->last_model == model->id) {
        ntk_hooks_model_switched(model->hook);
    }
    nc->last_model = model->id;
    nc->last_node = node;
    nc->is_started = false;
    return true;
}

/* Queues a printed item for the client; drops it if no client is connected or the queue is full. */
static void printed(const struct ntk_engine_print_event *event, void *ctx)
{
    const struct core_step *step = ctx;

    (void)ntk_core_debug_push(step->nc, event);
}

/* The caller holds the core. All physical cores of the logical core run in parallel in device
 * time. */
static enum ntk_core_outcome subgraphs_run(struct core_execution *execution, uint32_t step_index,
                                           const struct core_step_record *record,
                                           const struct core_slowness *slowness,
                                           struct ntk_engine_result *results)
{
    struct ntk_core_model *model = execution->model;
    struct core_step *step = &model->steps[step_index];
    struct core_nc *nc = &model->core->ncs[step->nc];
    struct ntk_engine_run_options options[NTK_CORE_LNC_MAX];
    struct ntk_engine_member members[NTK_CORE_LNC_MAX];
    const struct ntk_engine_printer printer = { printed, step };
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;

    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        struct core_subgraph *subgraph = &step->subgraphs[i];

        bindings_fill(execution, subgraph, &nc->scratchpad[i]);
        options[i] = (struct ntk_engine_run_options){
            .bindings = subgraph->bindings,
            .binding_count = subgraph->variable_count,
            .timeout_ns = model->timeout_ns,
            .zero_outputs = step->is_empty,
            .is_start = !nc->is_started,
            .rounds_by_chance = model->rounds_by_chance,
            .compute_factor = slowness->core,
            .hbm_factor = slowness->hbm,
            .trace = core_step_record_trace(record, i),
            .printer = &printer,
        };
        members[i] = (struct ntk_engine_member){ nc->engines[i], subgraph->program, &options[i] };
    }
    if (ntk_engine_run_together(members, step->subgraph_count, results, execution->err) < 0) {
        return NTK_CORE_FAILED;
    }
    /* The first failure determines the outcome. */
    for (uint32_t i = step->subgraph_count; i-- > 0;) {
        outcome = core_exec_outcome_worse(outcome_of_run(execution, nc, i, &results[i]), outcome);
    }
    nc->is_started = nc->is_started || core_exec_continues(outcome);
    return outcome;
}

/* Flips one bit of an output, a different one in each execution. */
static void bit_flip(const struct core_execution *execution, const struct core_step *step)
{
    uint64_t draw = execution->id * UINT64_C(0x9e3779b97f4a7c15) >> 16;

    for (uint32_t i = 0; i < step->output_count; i++) {
        uint64_t bytes = execution->model->slots[step->outputs[i]].bytes;

        if (bytes > 0) {
            core_exec_slot_address(execution, step->outputs[i])[draw / 8 % bytes] ^=
                (char)(1 << draw % 8);
            return;
        }
    }
}

/* A step on its core, from taking to releasing the core. */
struct run {
    struct core_execution *execution;
    struct core_step *step;
    struct core_nc *nc;
    uint32_t step_index;
    enum ntk_core_outcome outcome;
    uint64_t device_ns;
    struct ntk_hooks_exec exec;
    struct ntk_hooks_exec_core per_core[NTK_CORE_LNC_MAX];
    struct ntk_engine_result results[NTK_CORE_LNC_MAX];
    struct ntk_core_trace_span running[NTK_CORE_LNC_MAX];
};

/* Takes the core exclusively; returns false, with nothing held, if it cannot be cleared for the
 * model. */
static bool core_take(const struct run *run)
{
    struct core_execution *execution = run->execution;
    struct ntk_core_model *model = execution->model;
    struct core_nc *nc = run->nc;
    uint32_t number = run->step->nc;

    if (ntk_core_trace_is_on()) {
        core_exec_trace_phase_next(execution, NTK_CORE_TRACE_EXEC_DISPATCH, number);
    }
    pthread_mutex_lock(&nc->execution_lock);
    if (ntk_core_trace_is_on()) {
        core_exec_trace_phase_next(execution, NTK_CORE_TRACE_EXEC_WAIT, number);
    }
    if ((nc->last_model == model->id && nc->last_node == run->step->node) ||
        nc_hand_over(model->core, nc, model, run->step->node)) {
        return true;
    }
    pthread_mutex_unlock(&nc->execution_lock);
    ntk_err_set(execution->err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot clear core %u for model '%s'",
                number, model->name);
    core_exec_refused_tell(model, execution->id, execution->call_start_ticks, NTK_CORE_NO_MEMORY);
    return false;
}

static void run_begin(struct run *run)
{
    struct core_execution *execution = run->execution;
    struct ntk_hooks_model_ref hook = execution->model->hook;

    run->exec = (struct ntk_hooks_exec){
        .model = hook,
        .execution_id = execution->id,
        .call_start_ticks = execution->call_start_ticks,
        .core = (uint16_t)run->nc->first_physical,
        .core_count = (uint16_t)run->step->subgraph_count,
        .queue = execution->queue,
        .per_core = run->per_core,
    };
    run->exec.core_start_ticks =
        ntk_hooks_exec_begin(hook, run->exec.core, (uint16_t)run->step->subgraph_count);
    core_counters_begin(execution->model->core->counters, run->step->nc,
                        run->exec.core_start_ticks);
    core_code_tell(run->nc->first_physical, hook, 0, execution->code_bytes);
    execution->code_bytes = 0;
    if (ntk_core_trace_is_on()) {
        core_exec_trace_run_begin(execution, run->step, run->running);
    }
}

/* Does the work of all physical cores, including the effects of faults. */
static void run_work(struct run *run, const struct core_slowness *slowness)
{
    struct core_execution *execution = run->execution;
    struct core_step_record record;

    core_step_record_begin(&record, execution->capture, execution->model, run->step_index,
                           execution->id);
    if (run->outcome == NTK_CORE_COMPLETED) {
        run->outcome = subgraphs_run(execution, run->step_index, &record, slowness, run->results);
    }
    if (slowness->flips_bit && core_exec_continues(run->outcome)) {
        bit_flip(execution, run->step);
    }
    for (uint32_t i = 0; i < run->step->subgraph_count; i++) {
        struct ntk_engine_result *result = &run->results[i];

        result->duration_ns += slowness->pause_ns;
        run->device_ns =
            result->duration_ns > run->device_ns ? result->duration_ns : run->device_ns;
    }
    core_step_record_end(&record, run->device_ns, run->outcome != NTK_CORE_COMPLETED);
}

/* Extends host time to device time: for a hanging core, and for all cores if requested. */
static void run_pace(struct run *run, uint64_t start_ns)
{
    const struct ntk_core_model *model = run->execution->model;
    const struct ntk_clock *clock = model->core->options.clock;

    if (model->hangs_last &&
        (run->outcome == NTK_CORE_TIMED_OUT || run->outcome == NTK_CORE_COLLECTIVES)) {
        run->device_ns = hang_last(model, run->step, run->results);
        core_pace(clock, ntk_clock_now_ns(clock) - host_ns_since(run->exec.core_start_ticks),
                  run->device_ns);
    } else if (model->core->options.is_paced) {
        core_pace(clock, start_ns, run->device_ns);
    }
}

/* Counts the step, and records its end. */
static void run_end(struct run *run)
{
    struct core_execution *execution = run->execution;
    const struct ntk_core_model *model = execution->model;
    struct ntk_core *core = model->core;
    const struct core_step *step = run->step;
    struct ntk_hooks_exec *exec = &run->exec;

    if (ntk_core_trace_is_on()) {
        core_exec_trace_run_end(execution, step, run->running, run->results);
    }
    run->nc->device_clock_ns += run->device_ns;
    exec->core_end_ticks = ntk_hooks_now();
    uint64_t host_ns = ntk_hooks_ticks_to_ns(exec->core_end_ticks - exec->core_start_ticks);
    /* If the execution continues on another core, it counts there. */
    exec->is_part = run->step_index < model->last_core_step && core_exec_continues(run->outcome);
    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        core_exec_core_fill(&run->per_core[i], &run->results[i], host_ns);
        core_driver_count(core, run->nc->first_physical + i, &run->results[i], host_ns,
                          i == 0 && !(exec->is_part && step->returns), run->outcome);
    }
    core_counters_end(core->counters, step->nc, run->results, step->subgraph_count, host_ns);
}

enum ntk_core_outcome core_exec_step_run(struct core_execution *execution, uint32_t step_index)
{
    struct ntk_core_model *model = execution->model;
    struct ntk_core *core = model->core;
    struct core_step *step = &model->steps[step_index];
    struct run run = { .execution = execution,
                       .step = step,
                       .nc = &core->ncs[step->nc],
                       .step_index = step_index,
                       .outcome = NTK_CORE_COMPLETED };
    struct core_slowness slowness = CORE_SLOWNESS_NONE;

    if (!core_take(&run)) {
        return NTK_CORE_NO_MEMORY;
    }
    run_begin(&run);
    uint64_t start_ns = core->options.is_paced ? ntk_clock_now_ns(core->options.clock) : 0;
    if (core->faults) {
        struct core_hardware_subject subject = { .model_name = model->name,
                                                 .model = model->hook,
                                                 .execution_id = execution->id,
                                                 .timeout_ns = model->timeout_ns };

        run.outcome = core_hardware_check(core, run.nc, &subject, &slowness, execution->err);
        core_pause(core->options.clock, slowness.pause_ns);
    }
    bool is_fault = run.outcome != NTK_CORE_COMPLETED;
    run_work(&run, &slowness);
    run_pace(&run, start_ns);
    run_end(&run);
    if (is_fault) {
        ntk_core_publish_fault(core->soft);
    }
    run.exec.parts_ticks = execution->parts_ticks;
    run.exec.device_ns = run.device_ns;
    run.exec.status = run.exec.is_part
                          ? 0
                          : core_status(core_exec_outcome_worse(execution->outcome, run.outcome));
    ntk_hooks_exec_end(&run.exec);
    pthread_mutex_unlock(&run.nc->execution_lock);
    execution->parts_ticks += run.exec.core_end_ticks - run.exec.core_start_ticks;
    execution->device_ns += run.device_ns;
    return run.outcome;
}
