/* SPDX-License-Identifier: MIT */
/*
 * core_exec_state - an execution, for its parts: its steps (core_exec.c), one step on its core
 * (core_exec_run.c), its counts (core_exec_count.c) and spans (core_exec_trace.c). Private to
 * runtime-hooks/core.
 *
 * Owner:   the thread that executes; nothing is kept.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_EXEC_STATE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_EXEC_STATE_H

#include "runtime-hooks/core/core_model.h"
#include "runtime-hooks/core/core_trace.h"

struct core_execution {
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

/* Selects which of two outcomes of an execution's cores is reported. */
static inline enum ntk_core_outcome core_exec_outcome_worse(enum ntk_core_outcome a,
                                                            enum ntk_core_outcome b)
{
    if (a == NTK_CORE_COMPLETED || (a == NTK_CORE_NUMERICAL_ERROR && b != NTK_CORE_COMPLETED)) {
        return b;
    }
    return a;
}

static inline bool core_exec_continues(enum ntk_core_outcome outcome)
{
    return outcome == NTK_CORE_COMPLETED || outcome == NTK_CORE_NUMERICAL_ERROR;
}

/* The address of the data in a slot. */
char *core_exec_slot_address(const struct core_execution *execution, uint32_t slot_index);
/* Runs one step on its core. */
enum ntk_core_outcome core_exec_step_run(struct core_execution *execution, uint32_t step_index);
/* Counts and records an execution that did not reach a core. */
void core_exec_refused_tell(struct ntk_core_model *model, uint64_t id, uint64_t call_start_ticks,
                            enum ntk_core_outcome outcome);

/* Spans; only if ntk_core_trace_is_on(). */
void core_exec_trace_begin(struct core_execution *execution);
/* Ends the execution and its current phase: the last phase, or the first if it never ran. */
void core_exec_trace_end(struct core_execution *execution);
void core_exec_trace_phase_end(struct core_execution *execution);
/* Ends a phase and starts the next, at the same moment unless the next phase is on another core. */
void core_exec_trace_phase_next(struct core_execution *execution, enum ntk_core_trace_kind kind,
                                uint32_t nc);
/* The caller holds the core. Starts one span per physical core, with both clocks at its start. */
void core_exec_trace_run_begin(const struct core_execution *execution, const struct core_step *step,
                               struct ntk_core_trace_span *spans);
/* Ends the spans: each physical core stops at a different device time. */
void core_exec_trace_run_end(const struct core_execution *execution, const struct core_step *step,
                             const struct ntk_core_trace_span *spans,
                             const struct ntk_engine_result *results);

#endif
