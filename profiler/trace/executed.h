/* SPDX-License-Identifier: MIT */
/*
 * executed - the instructions of a program that ran, with their counts.
 *
 *   struct ntk_executed executed = { .core = core };
 *   while (ntk_executed_next(&executed)) { ... executed.instruction.slot ... executed.times ... }
 *
 * What follows from an instruction's bytes alone needs to be found once for each slot, not once for
 * each time it ran. A core whose slots are not counted gives its instructions one by one instead,
 * each with times 1.
 *
 * Owner:   caller's storage; nothing to free. Threads: one at a time per struct.
 */
#ifndef NTK_PROFILER_TRACE_EXECUTED_H
#define NTK_PROFILER_TRACE_EXECUTED_H

#include "profiler/trace/trace.h"

struct ntk_executed {
    const struct ntk_trace_core *core;
    struct ntk_trace_instruction instruction; /* engine, slot and opcode; nothing else */
    uint64_t times;
    size_t next; /* slot of the engine, or instruction */
    unsigned engine;
};

/* False at the end. */
bool ntk_executed_next(struct ntk_executed *executed);

#endif
