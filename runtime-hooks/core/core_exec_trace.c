/* SPDX-License-Identifier: MIT */
/* core_exec_trace - the spans of an execution, its phases and its runs on cores. */
#include "runtime-hooks/core/core_exec_state.h"

#include "shared/base/clock.h"

static struct ntk_core_trace_data trace_data(const struct core_execution *execution)
{
    return (struct ntk_core_trace_data){ .execution_id = execution->id,
                                         .model_id = execution->model->id,
                                         .queue = execution->queue,
                                         .name = execution->model->name };
}

void core_exec_trace_begin(struct core_execution *execution)
{
    const struct ntk_core_trace_note notes[] = {
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXECUTE, &execution->traced },
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXEC_PRE, &execution->phase },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(execution->model->nc, &data, notes, 2);
}

void core_exec_trace_phase_end(struct core_execution *execution)
{
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_span_end(&execution->phase, &data);
    execution->phase = (struct ntk_core_trace_span){ 0 };
}

void core_exec_trace_phase_next(struct core_execution *execution, enum ntk_core_trace_kind kind,
                                uint32_t nc)
{
    struct ntk_core_trace_span last;

    if (execution->phase.tracking_id == 0 || execution->phase.nc != nc) {
        core_exec_trace_phase_end(execution);
    }
    last = execution->phase;
    const struct ntk_core_trace_note notes[] = {
        { .phase = NTK_NTRACE_STOP, .span = &last },
        { NTK_NTRACE_START, kind, &execution->phase },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(nc, &data, notes, 2);
}

void core_exec_trace_end(struct core_execution *execution)
{
    const struct ntk_core_trace_note notes[] = {
        { .phase = NTK_NTRACE_STOP, .span = &execution->phase },
        { .phase = NTK_NTRACE_STOP, .span = &execution->traced },
    };
    struct ntk_core_trace_data data = trace_data(execution);

    ntk_core_trace_moment(execution->model->nc, &data, notes, 2);
}

void core_exec_trace_run_begin(const struct core_execution *execution, const struct core_step *step,
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

void core_exec_trace_run_end(const struct core_execution *execution, const struct core_step *step,
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
