/* SPDX-License-Identifier: MIT */
/*
 * attach_pace - when attach checks a process again, and whether observing its executions costs too
 * much. Decisions only: the caller has the clock and the process.
 *
 * Owner:   the caller's storage.
 * Threads: one per struct.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PACE_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"

/* ---- processes without an attached child ---- */

/* A process without libnrt may load it later: check again after 1, 2, 4, 8, 8 ... s. */
#define NTK_ATTACH_WAIT_NS (1 * NTK_NS_PER_SECOND)
#define NTK_ATTACH_WAIT_MAX_NS (8 * NTK_NS_PER_SECOND)
/* Pause before retrying a process that another program is attached to. */
#define NTK_ATTACH_TAKEN_NS (5 * NTK_NS_PER_SECOND)
#define NTK_ATTACH_NEVER UINT64_MAX

struct ntk_attach_pace {
    uint64_t wait_ns; /* 0: NTK_ATTACH_WAIT_NS */
    uint64_t next_ns; /* time of the next check; 0: at once; or NTK_ATTACH_NEVER */
};

/* Nothing to attach to: retries later, with doubling pauses. */
void ntk_attach_pace_put_off(struct ntk_attach_pace *pace, uint64_t now_ns);

/* ---- the cost of observing ---- */

#define NTK_ATTACH_JUDGE_NS (1 * NTK_NS_PER_SECOND) /* between two decisions */
/* after this many executions the first decision is made early */
#define NTK_ATTACH_JUDGE_FIRST 256u
#define NTK_ATTACH_JUDGE_MIN 32u /* fewer are not representative */

struct ntk_attach_judge {
    double cost_max;  /* allowed cost of observing, as a share of the time of executions */
    uint64_t cost_ns; /* of observing one execution */
    uint64_t judged_ns;
    uint64_t exec_count; /* at the previous decision */
    uint64_t exec_ns;
};

/* Totals so far. True: since the last decision, observing cost more than allowed; *out_execution_ns
 * is then the mean time of an execution. */
bool ntk_attach_judge_is_too_dear(struct ntk_attach_judge *judge, uint64_t exec_count,
                                  uint64_t exec_ns, uint64_t now_ns, double *out_execution_ns);

#endif
