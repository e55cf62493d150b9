/* SPDX-License-Identifier: MIT */
/*
 * kernel_half - rows of float16 by the instructions that x86-64 has for them.
 *
 * The bits are those that kernel_dtype.c computes; there for CPUs without them, and for what is
 * left of a row.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_HALF_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_HALF_H

#include <stddef.h>

/* Converts elements of a dense row from the first on and returns their number: at most count, 0 if
 * unsupported by the CPU. */
size_t ntk_half_widen(const void *from, size_t count, float *to);
size_t ntk_half_narrow(const float *from, size_t count, void *to);

#endif
