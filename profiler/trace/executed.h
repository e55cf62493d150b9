/* SPDX-License-Identifier: MIT */
/*
 * executed - visits the instructions of a program that ran, with their counts.
 *
 *   struct ntk_executed executed = { .core = core };
 *   while (ntk_executed_next(&executed)) { ... executed.instruction.slot ... executed.times ... }
 *
 * Results that depend only on an instruction's bytes are computed once per slot, not per execution.
 * For a core without counts, instructions are visited one by one, each with times 1.
 *
 * Owner: the caller provides the storage; nothing must be freed. Threads: one at a time per struct.
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

/* Returns false at the end. */
bool ntk_executed_next(struct ntk_executed *executed);

#endif
