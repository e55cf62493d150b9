/* SPDX-License-Identifier: MIT */
/*
 * diag_answers - builds small programs with exactly known answers: one per engine and type.
 *
 * This file computes the expected answers with the arithmetic of the host and separate rounding
 * code, which the software NeuronCores do not use. Inputs are chosen so that the order of a sum
 * does not matter.
 *
 * Owner: the caller frees the result of _program with free(). Threads: any.
 */
#ifndef NTK_AGENT_DIAG_DIAG_ANSWERS_H
#define NTK_AGENT_DIAG_DIAG_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

/* Returns the number of answers. */
size_t ntk_diag_answer_count(void);
/* Returns a name such as "pe-matmul-bfloat16". */
const char *ntk_diag_answer_name(size_t index);

/* Builds the NEFF for a logical core of lnc physical cores; `local` is the core that computes.
 * columns: columns of its tensor engine. */
int ntk_diag_answer_program(size_t index, uint32_t columns, uint32_t lnc, uint32_t local,
                            uint8_t **out_bytes, size_t *out_count, struct ntk_err *err);

#define NTK_DIAG_ANSWER_BYTES_MAX (128u * 128u * 4u)
/* Fills input "a" or "b" (which: 0, 1) or the answer "y". Returns the number of bytes, 0 if the
 * program has no such tensor. Numbers differ between rounds. */
size_t ntk_diag_answer_input(size_t index, int which, uint32_t round, uint8_t *out);
size_t ntk_diag_answer_expect(size_t index, uint32_t round, uint8_t *out);

#endif
