/* SPDX-License-Identifier: MIT */
/*
 * executed - the instructions of a program that ran, with their counts.
 *
 *   struct ntk_executed executed = { .core = core };
 *   while (ntk_executed_next(&executed)) { ... executed.instruction.slot ... executed.times ... }
 *
 * Results that depend only on an instruction's bytes are computed once per slot, not per execution.
 * A core without counts yields its instructions one by one, each with times 1.
 *
 * Owner: caller's storage; nothing to free. Threads: one at a time per struct.
 */
#ifndef NTK_PROFILER_TRACE_EXECUTED_H
#define NTK_PROFILER_TRACE_EXECUTED_H

#include "profiler/trace/trace.h"

struct ntk_executed {
    const struct ntk_trace_core *core;
    struct ntk_trace_instruction instruction; /* only engine, slot and opcode are set */
    uint64_t times;
    size_t next; /* slot of the engine, or instruction */
    unsigned engine;
};

/* False at the end. */
bool ntk_executed_next(struct ntk_executed *executed);

#endif
