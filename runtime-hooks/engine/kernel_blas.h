/* SPDX-License-Identifier: MIT */
/*
 * kernel_blas - the one matrix product that the tensor engine needs, from OpenBLAS.
 *
 * The library is loaded by the first core and not by the program that links this: OpenBLAS starts
 * one thread for each CPU as soon as it is loaded, and a program that only asks for a version, or
 * never opens a core, must not get them. It is loaded so that it starts none: cores are the unit of
 * parallel work, and a product stays on the thread that asks for it. That setting is the process's:
 * an application that calls the same library itself becomes single-threaded too.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_BLAS_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_BLAS_H

#include <stdbool.h>

#include "shared/base/err.h"

/* Loads the library when it is not there yet. A failure is tried again by the next call. */
int ntk_kernel_blas_open(struct ntk_err *err);

/* out (rows x columns) = a^T x b, added to what out holds when adds is true. a is depth x rows, b
 * is depth x columns; all are row-major, a step is the distance of two rows in elements. */
struct ntk_kernel_blas_product {
    int rows;
    int columns;
    int depth;
    const float *a;
    int a_step;
    const float *b;
    int b_step;
    bool adds;
    float *out;
    int out_step;
};

/* After a successful open. */
void ntk_kernel_blas_multiply(const struct ntk_kernel_blas_product *product);

#endif
