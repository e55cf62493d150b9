/* SPDX-License-Identifier: MIT */
/*
 * collective_names - recognises instructions that the program or compiler names after a collective
 * operation.
 *
 * No opcode of a collective is known: a program starts them with instructions that move data, and
 * collectives core records cannot be read yet. They can only be recognised by their names.
 *
 * Owner:   the caller provides zeroed storage; _fini frees the content.
 * Threads: any; immutable after _init.
 */
#ifndef NTK_PROFILER_ANALYSIS_COLLECTIVE_NAMES_H
#define NTK_PROFILER_ANALYSIS_COLLECTIVE_NAMES_H

#include "profiler/analysis/program.h"

#define NTK_COLLECTIVE_WORDS 6U

struct ntk_collective_names { /* of one core */
    uint8_t *of_layer;        /* by layer: 1 + word, or 0 */
    uint8_t *of_name;         /* by name of the compiler: the same */
    bool has_any;
};

/* Returns 0 or -ENOMEM. */
int ntk_collective_names_init(struct ntk_collective_names *names, const struct ntk_program *program,
                              size_t core);
void ntk_collective_names_fini(struct ntk_collective_names *names);
/* Returns 1 + the word in the name of an instruction of the core; 0 if it is not a collective. */
unsigned ntk_collective_names_find(const struct ntk_collective_names *names,
                                   const struct ntk_program *program, size_t core,
                                   const struct ntk_slot_fact *fact);
/* Returns a name such as "all_reduce". */
const char *ntk_collective_word_name(unsigned word);

#endif
