/* SPDX-License-Identifier: MIT */
/*
 * cnrt_public - the second generation's interface, for its implementation files. CNRT_IN_1() adds
 * the first generation's name to a call that has the same meaning there.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H

#pragma GCC visibility push(default)
#include "neuware/g2/cnrt.h"
#pragma GCC visibility pop

/* Used after the function, in the same file: defines cnrt1_<name> as an alias of cnrt<name>. */
#define CNRT_IN_1(name)                        \
    extern __typeof__(cnrt##name) cnrt1_##name \
        __attribute__((alias("cnrt" #name), visibility("default")))

#endif
