/* SPDX-License-Identifier: MIT */
/*
 * work_words - computes the words of work_units.h, at the first execution of each slot.
 *
 * Owner:   ntk_work_words_create() allocates, _destroy() frees; the program is borrowed, and words
 *          are appended to a vector that owns their texts.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_WORK_WORDS_H
#define NTK_PROFILER_ANALYSIS_WORK_WORDS_H

#include "profiler/analysis/work_units.h"

#define NTK_WORK_NO_WORD UINT32_MAX

struct ntk_work_words;

/* Frees the texts of a word. */
void ntk_work_word_fini(struct ntk_work_word *word);

/* Creates the state for the words of one core; NULL if out of memory. */
struct ntk_work_words *ntk_work_words_create(const struct ntk_program *program, size_t core,
                                             struct ntk_vec *words, struct ntk_map *numbers);
void ntk_work_words_destroy(struct ntk_work_words *words);

/* Returns the word of an instruction; must be called in order of time. NTK_WORK_NO_WORD if none;
 * *failed is -ENOMEM. */
uint32_t ntk_work_words_next(struct ntk_work_words *words,
                             const struct ntk_trace_instruction *instruction, int *failed);

#endif
