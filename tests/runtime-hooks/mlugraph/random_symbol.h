/* SPDX-License-Identifier: MIT */
/* random_symbol - numbered symbol files with values for their variables. */
#ifndef NTK_TESTS_MLUGRAPH_RANDOM_SYMBOL_H
#define NTK_TESTS_MLUGRAPH_RANDOM_SYMBOL_H

#include "runtime-hooks/mlugraph/mlu_array.h"
#include "runtime-hooks/mlugraph/mlu_symbol.h"

struct random_symbol {
    struct mlu_symbol symbol;
    struct mlu_array *values;      /* per node; no data for operators and labels */
    const struct mlu_array **args; /* the same in the form that executors read */
};

/* Convolutions, norms, sums, joins, splits and more on up to two MLUs and the CPU, with heads in
 * between; all shapes fit. everywhere: the device for all operators; NULL: a device for each. */
void random_symbol_make(struct random_symbol *random, uint64_t seed, uint32_t operator_count,
                        const char *everywhere);
void random_symbol_fini(struct random_symbol *random);

#endif
