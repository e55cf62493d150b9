/* SPDX-License-Identifier: MIT */
/*
 * diag_answers - small programs whose answers are known bit for bit: one per engine and type.
 *
 * The answers are worked out here with the host's arithmetic and roundings of our own, which the
 * software NeuronCores do not use. Inputs are chosen so that no order of a sum changes a bit.
 *
 * Owner:   _program gives bytes that are freed with free(). Threads: any.
 */
#ifndef NTK_AGENT_DIAG_DIAG_ANSWERS_H
#define NTK_AGENT_DIAG_DIAG_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

/* How many there are. */
size_t ntk_diag_answer_count(void);
/* "pe-matmul-bfloat16". */
const char *ntk_diag_answer_name(size_t index);

/* The NEFF, for a logical core of lnc physical ones; `local` is the one that computes; columns:
 * those of the tensor engine it runs on. */
int ntk_diag_answer_program(size_t index, uint32_t columns, uint32_t lnc, uint32_t local,
                            uint8_t **out_bytes, size_t *out_count, struct ntk_err *err);

#define NTK_DIAG_ANSWER_BYTES_MAX (128u * 128u * 4u)
/* Fills the input "a" or "b" (which: 0, 1), and the answer "y"; how many bytes, 0 where the program
 * has no such tensor. Each round has other numbers. */
size_t ntk_diag_answer_input(size_t index, int which, uint32_t round, uint8_t *out);
size_t ntk_diag_answer_expect(size_t index, uint32_t round, uint8_t *out);

#endif
