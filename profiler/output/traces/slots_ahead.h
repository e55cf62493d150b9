/* SPDX-License-Identifier: MIT */
/*
 * slots_ahead - fetches into the cache what the arguments of the next instructions are made from.
 *
 * A trace is in order of time, so its engines take turns: five walks through the program, which the
 * processor does not recognise. In an unrolled program, each instruction has its own facts, names
 * and position, and a writer would wait for main memory at each of them. The addresses depend
 * on each other, so they are fetched in three steps, each some instructions after the previous one.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_SLOTS_AHEAD_H
#define NTK_PROFILER_OUTPUT_TRACES_SLOTS_AHEAD_H

#include "profiler/output/export.h"

enum { /* distances in instructions */
       NTK_AHEAD_FACTS = 48,
       NTK_AHEAD_NAMES = 32,
       NTK_AHEAD_TEXTS = 16,
};
#define NTK_AHEAD_NAME_BYTES 31 /* most names are shorter; a name may end in the next cache line */

/* gcc assumes that a function without results has no effect, even if it prefetches, and removes
 * calls of it. */
#define NTK_AHEAD_INLINE static inline __attribute__((always_inline))

/* Fetches facts. */
NTK_AHEAD_INLINE void ntk_ahead_facts(const struct ntk_export *export, size_t core_index,
                                      const struct ntk_trace_instruction *instruction)
{
    const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, instruction);

    __builtin_prefetch(fact); /* the struct may be in two cache lines */
    __builtin_prefetch(&fact->compiler_pc);
}

/* Fetches the compiler's record and the position; both follow from the facts. */
NTK_AHEAD_INLINE void ntk_ahead_names(const struct ntk_export *export, size_t core_index,
                                      const struct ntk_trace_instruction *instruction)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, instruction);

    if (fact->named) {
        __builtin_prefetch(&fact->named->name);
        __builtin_prefetch(&fact->named->predecessor_count);
    }
    if (positions && core_index < positions->core_count) {
        const struct ntk_neff_core_positions *of_core = &positions->cores[core_index];
        if (fact->compiler_pc >= 0 &&
            (size_t)fact->compiler_pc < of_core->slot_counts[instruction->engine]) {
            __builtin_prefetch(&of_core->slots[instruction->engine][fact->compiler_pc]);
        }
    }
}

/* Fetches the name and the row of the kernel tree. */
NTK_AHEAD_INLINE void ntk_ahead_texts(const struct ntk_export *export, size_t core_index,
                                      const struct ntk_trace_instruction *instruction)
{
    const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, instruction);

    if (fact->named) {
        __builtin_prefetch(fact->named->name);
        __builtin_prefetch(fact->named->name + NTK_AHEAD_NAME_BYTES);
    }
    __builtin_prefetch(ntk_neff_position_instruction(
        export->program->positions,
        ntk_program_position(export->program, core_index, instruction)));
}

/* Must be called before each instruction of a core, in order. */
NTK_AHEAD_INLINE void ntk_slots_ahead(const struct ntk_export *export, size_t core_index,
                                      const struct ntk_trace_instruction *at)
{
    const struct ntk_trace_core *core = &export->trace->cores[core_index];
    size_t left = (size_t)(core->instructions + core->instruction_count - at);

    if (left > NTK_AHEAD_FACTS) {
        ntk_ahead_facts(export, core_index, at + NTK_AHEAD_FACTS);
    }
    if (left > NTK_AHEAD_NAMES) {
        ntk_ahead_names(export, core_index, at + NTK_AHEAD_NAMES);
    }
    if (left > NTK_AHEAD_TEXTS) {
        ntk_ahead_texts(export, core_index, at + NTK_AHEAD_TEXTS);
    }
}

#endif
