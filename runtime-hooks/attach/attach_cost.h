/* SPDX-License-Identifier: MIT */
/*
 * attach_cost - measures the cost of observing an execution on this machine, with functions of this
 * program.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_COST_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_COST_H

#include <stdint.h>

#include "shared/base/err.h"

/* The kind of a function's first instruction, which determines the cost. */
enum ntk_attach_first {
    NTK_ATTACH_FIRST_PUSH,
    NTK_ATTACH_FIRST_OTHER, /* any other instruction, and all on AArch64 */
    NTK_ATTACH_FIRST_COUNT
};

/* Finds the kind of the first instruction. *out_skip is the distance from the entry to a place
 * where a probe works as well and is cheaper, after a landing mark for indirect jumps. */
enum ntk_attach_first ntk_attach_cost_first(const uint8_t bytes[8], uint32_t *out_skip);
/* Measures the cost of probes at entry and return of a function with each kind of first
 * instruction, in nanoseconds per call. Returns -EPERM with a message if not permitted. */
int ntk_attach_cost_measure(uint64_t out_cost_ns[NTK_ATTACH_FIRST_COUNT], struct ntk_err *err);

#endif
