/* SPDX-License-Identifier: MIT */
/*
 * attach_pace - decides when attach checks a process again, and whether observing its executions
 * costs too much. The caller provides the clock and the process.
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

/* First interval of checks: a process without libnrt may load it later, so it is checked again
 * after 1, 2, 4, 8, 8 ... s. */
#define NTK_ATTACH_WAIT_NS (1 * NTK_NS_PER_SECOND)
#define NTK_ATTACH_WAIT_MAX_NS (8 * NTK_NS_PER_SECOND)
/* Interval of retries for a process to which another program is attached. */
#define NTK_ATTACH_TAKEN_NS (5 * NTK_NS_PER_SECOND)
#define NTK_ATTACH_NEVER UINT64_MAX

struct ntk_attach_pace {
    uint64_t wait_ns; /* current interval; 0: NTK_ATTACH_WAIT_NS */
    uint64_t next_ns; /* time of the next check; 0: now; or NTK_ATTACH_NEVER */
};

/* Delays the next check with a doubled interval, because there is nothing to attach to. */
void ntk_attach_pace_put_off(struct ntk_attach_pace *pace, uint64_t now_ns);

/* ---- the cost of observing ---- */

#define NTK_ATTACH_JUDGE_NS (1 * NTK_NS_PER_SECOND) /* interval of decisions */
/* Number of executions after which the first decision is made early. */
#define NTK_ATTACH_JUDGE_FIRST 256u
/* minimum executions for a decision: fewer are not representative */
#define NTK_ATTACH_JUDGE_MIN 32u

struct ntk_attach_judge {
    double cost_max;  /* allowed cost of observing, as a share of the executions' time */
    uint64_t cost_ns; /* cost of observing one execution */
    uint64_t judged_ns;
    uint64_t exec_count; /* count at the previous decision */
    uint64_t exec_ns;
};

/* Takes the totals so far. Returns true if, since the last decision, observing cost more than
 * allowed; *out_execution_ns is then the mean time of an execution. */
bool ntk_attach_judge_is_too_dear(struct ntk_attach_judge *judge, uint64_t exec_count,
                                  uint64_t exec_ns, uint64_t now_ns, double *out_execution_ns);

#endif
