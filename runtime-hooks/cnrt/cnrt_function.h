/* SPDX-License-Identifier: MIT */
/*
 * cnrt_function - functions out of offline models, and how they are invoked, in words of no
 * generation.
 *
 * Functions here are called inside a call, and return a cnrtRet_t as int.
 *
 * Owner:   sizes and arrays are the function's; a program that was taken is released by its taker.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_FUNCTION_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_FUNCTION_H

#include "runtime-hooks/cnrt/cnrt_program.h"

/* cnrtGetInputDataSize() of the third generation: the function owns *out_sizes. */
int cnrt_function_sizes(void *function, bool is_output, int64_t **out_sizes, int *out_count);
/* The number of inputs or outputs; the function owns *out_array: this many elements of
 * CNRT_ELEMENT_BYTES, initially zeroed. */
#define CNRT_ELEMENT_BYTES 16U
int cnrt_function_array(void *function, bool is_output, void **out_array, int *out_count);

/* Followed by NULL or a cnrtInvokeFuncParam_t with the same layout. */
struct cnrt_invoke_param {
    int *data_parallelism;
    unsigned int *affinity;
    void *end;
};
/* params: device pointers of the inputs, then of the outputs. core_count: cores for the caller's
 * type of function; the device must have them. */
int cnrt_function_invoke(void *function, void **params, uint32_t core_count, void *queue,
                         const struct cnrt_invoke_param *param);
/* Whether it can be invoked on the current device with this many cores. */
int cnrt_function_check(void *function, uint32_t core_count);

/* The program of an extracted function, held; NULL: none. */
struct ntk_cnrt_program *cnrt_function_program_take(void *function);
int cnrt_program_invoke(struct ntk_cnrt_program *program, void **params, uint32_t core_count,
                        void *queue, const struct cnrt_invoke_param *param);

#endif
