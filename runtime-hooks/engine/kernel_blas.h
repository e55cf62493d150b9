/* SPDX-License-Identifier: MIT */
/*
 * kernel_blas - the matrix product that the tensor engine needs, from OpenBLAS.
 *
 * The first core loads the library, because OpenBLAS starts a thread per CPU when loaded, which
 * must not happen in a program that only reads a version. It is loaded in a way that starts no
 * threads: cores are the unit of parallelism, and a product stays on the calling thread. This
 * setting applies to the process: an application that uses the same library also becomes
 * single-threaded.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_BLAS_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_BLAS_H

#include <stdbool.h>

#include "shared/base/err.h"

/* Loads the library if necessary. After a failure the next call tries again. */
int ntk_kernel_blas_open(struct ntk_err *err);

/* Computes out (rows x columns) = a^T x b, added to the old content if adds is true. a is depth x
 * rows, b is depth x columns. All are row-major; a step is the distance between two rows, in
 * elements. */
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

/* May only be called after a successful open. */
void ntk_kernel_blas_multiply(const struct ntk_kernel_blas_product *product);

#endif
