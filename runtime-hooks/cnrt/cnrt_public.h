/* SPDX-License-Identifier: MIT */
/*
 * cnrt_public - the second generation's interface, for its implementation files. CNRT_IN_1() gives
 * a call with the same meaning its name in the first one.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H

#pragma GCC visibility push(default)
#include "neuware/g2/cnrt.h"
#pragma GCC visibility pop

/* After the function, in its file: defines cnrt1_<name> as cnrt<name>. */
#define CNRT_IN_1(name)                        \
    extern __typeof__(cnrt##name) cnrt1_##name \
        __attribute__((alias("cnrt" #name), visibility("default")))

#endif
