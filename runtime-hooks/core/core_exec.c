/* SPDX-License-Identifier: MIT */
/*
 * core_exec - runs an execution: walks through a model's steps, on its cores and in the calling
 * thread.
 */
#include "runtime-hooks/core/core_model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/core/core_publish.h"
#include "runtime-hooks/core/core_record.h"
#include "runtime-hooks/core/core_trace.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"

#define VIEWS_ON_STACK 32U

static_assert(NTK_CORE_LNC_MAX <= NTK_ENGINE_PAIR_MAX,
              "every core of a logical core has a place in the group");

static const char *const engine_names[] = {
#define NTK_ENGINE(id, symbol, neff_file, short_name, label, profiler_name, nki_engine) short_name,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
};

struct execution {
    struct ntk_core_model *model;
    struct core_tensor_view *views; /* indexed like the model's inputs and outputs */
    struct core_context *context;   /* NULL without intermediate data */
    char *between;                  /* buffer of the context */
    struct core_capture *capture;   /* NULL if it is not recorded */
    uint64_t id;
    uint64_t call_start_ticks;
    uint64_t code_bytes;               /* bytes of code not yet sent to the device */
    uint16_t queue;                    /* number of the front's queue */
    uint64_t parts_ticks;              /* host time on cores in earlier steps */
    uint64_t device_ns;                /* device time in earlier steps */
    enum ntk_core_outcome outcome;     /* outcome of earlier steps */
    struct ntk_core_trace_span traced; /* span of the whole execution */
    struct ntk_core_trace_span phase;  /* current EXEC_* phase; zeroed: none */
    struct ntk_err *err;
};

static char *slot_address(const struct execution *execution, uint32_t slot_index)
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

static uint64_t slot_device_address(const struct execution *execution, uint32_t slot_index)
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
static void bindings_fill(const struct execution *execution, struct core_subgraph *subgraph,
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
            binding->bytes = slot_address(execution, variable->slot);
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

static enum ntk_core_outcome outcome_of_run(const struct execution *execution,
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

/* Selects which of two outcomes of an execution's cores is reported. */
static enum ntk_core_outcome outcome_worse(enum ntk_core_outcome a, enum ntk_core_outcome b)
{
    if (a == NTK_CORE_COMPLETED || (a == NTK_CORE_NUMERICAL_ERROR && b != NTK_CORE_COMPLETED)) {
        return b;
    }
    return a;
}

static bool continues(enum ntk_core_outcome outcome)
{
    return outcome == NTK_CORE_COMPLETED || outcome == NTK_CORE_NUMERICAL_ERROR;
}

struct ntk_segment_trigger *ntk_core_trigger_get(void)
{
    return ntk_hooks_trigger();
}

uint64_t ntk_core_ticks(void)
{
    return ntk_hooks_now();
}

void core_code_tell(uint32_t physical_core, struct ntk_hooks_model_ref model, uint32_t name,
                    uint64_t bytes)
{
    struct ntk_hooks_transfer transfer = {
        .start_ticks = ntk_hooks_now(),
        .bytes = bytes,
        .name = name,
        .core = (uint16_t)physical_core,
        .direction = NTK_TRANSFER_HOST_TO_DEVICE,
        .model = model,
    };

    if (bytes > 0) {
        ntk_hooks_transfer(&transfer);
    }
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

void core_driver_count(struct ntk_core *core, uint32_t physical,
                       const struct ntk_engine_result *result, uint64_t host_ns, bool is_first,
                       enum ntk_core_outcome outcome)
{
    struct ntk_soft_core *counters = &core->soft->state->core[physical];
    uint64_t clock_mhz = core->row->tensor_clock_mhz;
    uint64_t matmul_ns = result->busy_ns[NTK_ENGINE_PE];
    uint64_t idle_ns = result->duration_ns > matmul_ns ? result->duration_ns - matmul_ns : 0;
    uint64_t busy_ns = 0;

    for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        busy_ns += result->busy_ns[e];
    }
    if (is_first) {
        ntk_core_soft_count_add(
            &counters->status[ntk_status_counter_of_status(core_status(outcome))], 1);
        ntk_core_soft_count_add(
            &counters->inference_count,
            outcome == NTK_CORE_COMPLETED || outcome == NTK_CORE_NUMERICAL_ERROR ? 1 : 0);
    }
    ntk_core_soft_count_add(&counters->flop_count, result->effective_flops);
    ntk_core_soft_count_add(&counters->nc_time_in_use_ns, host_ns);
    ntk_abi_add_owned(&counters->pe_matmul_cycles, matmul_ns * clock_mhz / 1000);
    ntk_abi_add_owned(&counters->pe_idle_cycles, idle_ns * clock_mhz / 1000);
    if (result->duration_ns > 0) {
        ntk_abi_add_owned(
            &counters->engine_busy_ns,
            (uint64_t)((double)busy_ns / (double)result->duration_ns * (double)host_ns));
    }
}

void core_exec_core_fill(struct ntk_hooks_exec_core *to, const struct ntk_engine_result *result,
                         uint64_t host_ns)
{
    double stretch = result->duration_ns > 0 ? (double)host_ns / (double)result->duration_ns : 0.0;

    *to = (struct ntk_hooks_exec_core){
        .flops = result->flops,
        .effective_flops = result->effective_flops,
        .hbm_read_bytes = result->hbm_read_bytes,
        .hbm_written_bytes = result->hbm_write_bytes,
        .dma_bytes = result->dma_bytes,
        .tensor_matmul_ns = result->busy_ns[NTK_ENGINE_PE],
    };
    for (size_t e = 0; e < NTK_ENGINE_COUNT; e++) {
        to->engine_busy_device_ns[e] = result->busy_ns[e];
        to->engine_busy_ns[e] = (uint64_t)((double)result->busy_ns[e] * stretch);
        to->engine_instructions[e] = e < NTK_ENGINE_SEQUENCER_COUNT ? result->instruction_count[e]
                                                                    : result->dma_transfer_count;
    }
}

static void refused_tell(struct ntk_core_model *model, uint64_t id, uint64_t call_start_ticks,
                         enum ntk_core_outcome outcome)
{
    uint32_t status = core_status(outcome);
    uint32_t physical = model->core->ncs[model->nc].first_physical;
    struct ntk_hooks_exec exec = { .model = model->hook,
                                   .execution_id = id,
                                   .call_start_ticks = call_start_ticks,
                                   .status = status,
                                   .core = (uint16_t)physical };

    ntk_hooks_exec_refused(&exec);
    ntk_core_soft_count_add(
        &model->core->soft->state->core[physical].status[ntk_status_counter_of_status(status)], 1);
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

/* --- system trace ----------------------------------------------------------------------------- */

static struct ntk_core_trace_data trace_data(const struct execution *execution)
{
    return (struct ntk_core_trace_data){ .execution_id = execution->id,
                                         .model_id = execution->model->id,
                                         .queue = execution->queue,
                                         .name = execution->model->name };
}

static void trace_execution_begin(struct execution *execution)
{
    const struct ntk_core_trace_note notes[] = {
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXECUTE, &execution->traced },
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXEC_PRE, &execution->phase },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(execution->model->nc, &data, notes, 2);
}

static void trace_phase_end(struct execution *execution)
{
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_span_end(&execution->phase, &data);
    execution->phase = (struct ntk_core_trace_span){ 0 };
}

/* Ends a phase and starts the next, at the same moment unless the next phase is on another core. */
static void trace_phase_next(struct execution *execution, enum ntk_core_trace_kind kind,
                             uint32_t nc)
{
    struct ntk_core_trace_span last;

    if (execution->phase.tracking_id == 0 || execution->phase.nc != nc) {
        trace_phase_end(execution);
    }
    last = execution->phase;
    const struct ntk_core_trace_note notes[] = {
        { .phase = NTK_NTRACE_STOP, .span = &last },
        { NTK_NTRACE_START, kind, &execution->phase },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(nc, &data, notes, 2);
}

/* Ends the execution and its current phase: the last phase, or the first if it never ran. */
static void trace_execution_end(struct execution *execution)
{
    const struct ntk_core_trace_note notes[] = {
        { .phase = NTK_NTRACE_STOP, .span = &execution->phase },
        { .phase = NTK_NTRACE_STOP, .span = &execution->traced },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(execution->model->nc, &data, notes, 2);
}

/* The caller holds the core. Starts one span per physical core, with both clocks at its start. */
static void trace_running_begin(const struct execution *execution, const struct core_step *step,
                                struct ntk_core_trace_span *spans)
{
    const struct ntk_core *core = execution->model->core;
    struct core_nc *nc = &core->ncs[step->nc];
    struct ntk_core_trace_data data = trace_data(execution);

    data.time_ns = ntk_clock_realtime_ns();
    data.device_ns = nc->device_clock_ns;
    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        bool is_switch = i == 0 && nc->traced_model != execution->model->id;
        const struct ntk_core_trace_note notes[] = {
            /* first, because later events depend on it */
            { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SYNC, NULL },
            { NTK_NTRACE_START, NTK_CORE_TRACE_RUNNING, &spans[i] },
            { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SWITCH, NULL },
        };

        data.device_core = (uint16_t)((nc->first_physical + i) % core->row->facts.cores_per_device);
        ntk_core_trace_moment(step->nc, &data, notes, is_switch ? 3 : 2);
    }
    nc->traced_model = execution->model->id;
}

/* Ends the spans: each physical core stops at a different device time. */
static void trace_running_end(const struct execution *execution, const struct core_step *step,
                              const struct ntk_core_trace_span *spans,
                              const struct ntk_engine_result *results)
{
    const struct ntk_core *core = execution->model->core;
    const struct core_nc *nc = &core->ncs[step->nc];
    struct ntk_core_trace_data data = trace_data(execution);

    data.time_ns = ntk_clock_realtime_ns();
    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        data.device_core = (uint16_t)((nc->first_physical + i) % core->row->facts.cores_per_device);
        data.device_ns = nc->device_clock_ns + results[i].duration_ns;
        if (results[i].outcome == NTK_RUN_NUMERICAL_ERROR) {
            ntk_core_trace_point(NTK_CORE_TRACE_NUMERICAL, step->nc, &data);
        }
        ntk_core_trace_span_end(&spans[i], &data);
    }
}

/* Queues a printed item for the client; it is dropped without a client or space. */
static void printed(const struct ntk_engine_print_event *event, void *ctx)
{
    const struct core_step *step = ctx;

    (void)ntk_core_debug_push(step->nc, event);
}

/* The caller holds the core. All physical cores of the logical core run in parallel in device
 * time. */
static enum ntk_core_outcome subgraphs_run(struct execution *execution, uint32_t step_index,
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
        outcome = outcome_worse(outcome_of_run(execution, nc, i, &results[i]), outcome);
    }
    nc->is_started =
        nc->is_started || outcome == NTK_CORE_COMPLETED || outcome == NTK_CORE_NUMERICAL_ERROR;
    return outcome;
}

/* Flips one bit of an output, a different one in each execution. */
static void bit_flip(const struct execution *execution, const struct core_step *step)
{
    uint64_t draw = execution->id * UINT64_C(0x9e3779b97f4a7c15) >> 16;

    for (uint32_t i = 0; i < step->output_count; i++) {
        uint64_t bytes = execution->model->slots[step->outputs[i]].bytes;

        if (bytes > 0) {
            slot_address(execution, step->outputs[i])[draw / 8 % bytes] ^= (char)(1 << draw % 8);
            return;
        }
    }
}

/* A step on its core, from taking to releasing the core. */
struct run {
    struct execution *execution;
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
    struct execution *execution = run->execution;
    struct ntk_core_model *model = execution->model;
    struct core_nc *nc = run->nc;
    uint32_t number = run->step->nc;

    if (ntk_core_trace_is_on()) {
        trace_phase_next(execution, NTK_CORE_TRACE_EXEC_DISPATCH, number);
    }
    pthread_mutex_lock(&nc->execution_lock);
    if (ntk_core_trace_is_on()) {
        trace_phase_next(execution, NTK_CORE_TRACE_EXEC_WAIT, number);
    }
    if ((nc->last_model == model->id && nc->last_node == run->step->node) ||
        nc_hand_over(model->core, nc, model, run->step->node)) {
        return true;
    }
    pthread_mutex_unlock(&nc->execution_lock);
    ntk_err_set(execution->err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot clear core %u for model '%s'",
                number, model->name);
    refused_tell(model, execution->id, execution->call_start_ticks, NTK_CORE_NO_MEMORY);
    return false;
}

static void run_begin(struct run *run)
{
    struct execution *execution = run->execution;
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
        trace_running_begin(execution, run->step, run->running);
    }
}

/* Does the work of all physical cores, including the effects of faults. */
static void run_work(struct run *run, const struct core_slowness *slowness)
{
    struct execution *execution = run->execution;
    struct core_step_record record;

    core_step_record_begin(&record, execution->capture, execution->model, run->step_index,
                           execution->id);
    if (run->outcome == NTK_CORE_COMPLETED) {
        run->outcome = subgraphs_run(execution, run->step_index, &record, slowness, run->results);
    }
    if (slowness->flips_bit && continues(run->outcome)) {
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
    struct execution *execution = run->execution;
    const struct ntk_core_model *model = execution->model;
    struct ntk_core *core = model->core;
    const struct core_step *step = run->step;
    struct ntk_hooks_exec *exec = &run->exec;

    if (ntk_core_trace_is_on()) {
        trace_running_end(execution, step, run->running, run->results);
    }
    run->nc->device_clock_ns += run->device_ns;
    exec->core_end_ticks = ntk_hooks_now();
    uint64_t host_ns = ntk_hooks_ticks_to_ns(exec->core_end_ticks - exec->core_start_ticks);
    /* If the execution continues on another core, it counts there. */
    exec->is_part = run->step_index < model->last_core_step && continues(run->outcome);
    for (uint32_t i = 0; i < step->subgraph_count; i++) {
        core_exec_core_fill(&run->per_core[i], &run->results[i], host_ns);
        core_driver_count(core, run->nc->first_physical + i, &run->results[i], host_ns,
                          i == 0 && !(exec->is_part && step->returns), run->outcome);
    }
    core_counters_end(core->counters, step->nc, run->results, step->subgraph_count, host_ns);
}

static enum ntk_core_outcome core_step_run(struct execution *execution, uint32_t step_index)
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
    run.exec.status =
        run.exec.is_part ? 0 : core_status(outcome_worse(execution->outcome, run.outcome));
    ntk_hooks_exec_end(&run.exec);
    pthread_mutex_unlock(&run.nc->execution_lock);
    execution->parts_ticks += run.exec.core_end_ticks - run.exec.core_start_ticks;
    execution->device_ns += run.device_ns;
    return run.outcome;
}

static enum ntk_core_outcome cpu_step_run(struct execution *execution, const struct core_step *step)
{
    size_t count = (size_t)step->input_count + step->output_count;
    struct ntk_neff_cpu_tensor *tensors = calloc(count + 1, sizeof *tensors);

    if (ntk_core_trace_is_on()) {
        trace_phase_end(execution);
    }
    if (!tensors) {
        ntk_err_no_memory(execution->err);
        return NTK_CORE_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t slot =
            i < step->input_count ? step->inputs[i] : step->outputs[i - step->input_count];

        tensors[i] = execution->model->slots[slot].shape;
        tensors[i].data = slot_address(execution, slot);
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
static void hosted_tell(const struct execution *execution, enum ntk_core_outcome outcome)
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
static enum ntk_core_outcome steps_run(struct execution *execution)
{
    struct ntk_core_model *model = execution->model;

    execution->outcome = NTK_CORE_COMPLETED;
    for (uint32_t i = 0; i < model->step_count && continues(execution->outcome); i++) {
        const struct core_step *step = &model->steps[i];
        enum ntk_core_outcome now =
            step->is_cpu ? cpu_step_run(execution, step) : core_step_run(execution, i);

        execution->outcome = outcome_worse(execution->outcome, now);
        if (step->is_cpu && !continues(now) && i < model->last_core_step) {
            /* No core reports the end of the execution. */
            refused_tell(model, execution->id, execution->call_start_ticks, now);
        }
    }
    return execution->outcome;
}

void ntk_core_execute_refused(struct ntk_core_model *model, int error)
{
    uint64_t id = core_execution_begin(model->core);

    refused_tell(model, id, ntk_hooks_now(), ntk_core_outcome_of(error));
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

static struct ntk_core_execution_times times_of(const struct execution *execution)
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
    struct execution execution = { .model = model,
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
        trace_execution_begin(&execution);
    }
    if (model->io_count > VIEWS_ON_STACK) {
        execution.views = calloc(model->io_count, sizeof *execution.views);
        if (!execution.views) {
            ret = ntk_err_no_memory(err);
            refused_tell(model, execution.id, execution.call_start_ticks, ntk_core_outcome_of(ret));
            goto out;
        }
    }
    ret = views_take(model, tensors, tensor_count, execution.views, err);
    if (ret < 0) {
        refused_tell(model, execution.id, execution.call_start_ticks, ntk_core_outcome_of(ret));
        goto out;
    }
    execution.context = core_context_take(model, &has_context, NULL);
    if (!has_context) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          "out of memory for the tensors between the nodes of model '%s'",
                          model->name);
        refused_tell(model, execution.id, execution.call_start_ticks, ntk_core_outcome_of(ret));
    } else {
        execution.between = execution.context ? execution.context->buffer.address : NULL;
        execution.capture = core_capture_take(model);
        enum ntk_core_outcome outcome = steps_run(&execution);
        if (model->is_hosted) {
            hosted_tell(&execution, outcome);
        }
        if (ntk_core_trace_is_on()) {
            trace_phase_next(&execution, NTK_CORE_TRACE_EXEC_POST, model->nc);
        }
        core_capture_give_back(execution.capture);
        core_context_give_back(model, execution.context);
        for (uint32_t i = model->input_count; i < model->io_count; i++) {
            if (continues(outcome)) {
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
        trace_execution_end(&execution);
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
