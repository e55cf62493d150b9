/* SPDX-License-Identifier: MIT */
/*
 * attach_cost - the cost of observing one execution on this machine, measured with functions of
 * this program.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_COST_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_COST_H

#include <stdint.h>

#include "shared/base/err.h"

/* The first instruction of a function, which determines the cost. */
enum ntk_attach_first {
    NTK_ATTACH_FIRST_PUSH,
    NTK_ATTACH_FIRST_OTHER, /* anything else, and all on AArch64 */
    NTK_ATTACH_FIRST_COUNT
};

/* *out_skip: distance from the entry where a probe is as good and cheaper, after a landing mark for
 * indirect jumps. */
enum ntk_attach_first ntk_attach_cost_first(const uint8_t bytes[8], uint32_t *out_skip);
/* The cost of probes at entry and return of this kind of function, in nanoseconds per call. -EPERM
 * with a message if not permitted. */
int ntk_attach_cost_measure(uint64_t out_cost_ns[NTK_ATTACH_FIRST_COUNT], struct ntk_err *err);

#endif
