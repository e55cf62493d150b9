/* SPDX-License-Identifier: MIT */
/*
 * cnrt_function - functions from offline models and their invocation, independent of a generation.
 *
 * These functions must be called inside a public call, and return a cnrtRet_t as int.
 *
 * Owner:   sizes and arrays belong to the function; the caller that took a program releases it.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_FUNCTION_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_FUNCTION_H

#include "runtime-hooks/cnrt/cnrt_program.h"

/* Implements cnrtGetInputDataSize() of the third generation: the function owns *out_sizes. */
int cnrt_function_sizes(void *function, bool is_output, int64_t **out_sizes, int *out_count);
/* Returns the number of inputs or outputs. The function owns *out_array, which has this many
 * elements of CNRT_ELEMENT_BYTES, initially zeroed. */
#define CNRT_ELEMENT_BYTES 16U
int cnrt_function_array(void *function, bool is_output, void **out_array, int *out_count);

/* Same layout as cnrtInvokeFuncParam_t; functions accept NULL. */
struct cnrt_invoke_param {
    int *data_parallelism;
    unsigned int *affinity;
    void *end;
};
/* params are device pointers of the inputs, then of the outputs. core_count is the number of cores
 * for the caller's type of function; the device must have them. */
int cnrt_function_invoke(void *function, void **params, uint32_t core_count, void *queue,
                         const struct cnrt_invoke_param *param);
/* Checks whether the function can be invoked on the current device with this many cores. */
int cnrt_function_check(void *function, uint32_t core_count);

/* Takes a reference to the program of an extracted function; NULL if there is none. */
struct ntk_cnrt_program *cnrt_function_program_take(void *function);
int cnrt_program_invoke(struct ntk_cnrt_program *program, void **params, uint32_t core_count,
                        void *queue, const struct cnrt_invoke_param *param);

#endif
