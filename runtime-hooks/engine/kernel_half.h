/* SPDX-License-Identifier: MIT */
/*
 * kernel_half - converts rows of float16 with x86-64 instructions.
 *
 * Results are bit-identical to kernel_dtype.c, which handles CPUs without these instructions and
 * the rest of a row.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_HALF_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_HALF_H

#include <stddef.h>

/* Convert elements of a dense row from the first on and return their number: at most count, or 0 if
 * the CPU does not support it. */
size_t ntk_half_widen(const void *from, size_t count, float *to);
size_t ntk_half_narrow(const float *from, size_t count, void *to);

#endif
