/* SPDX-License-Identifier: MIT */
/*
 * cnrt_public - the second generation's interface for the files that implement it. A call that
 * means the same in the first one gets its name there by CNRT_IN_1().
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_PUBLIC_H

#pragma GCC visibility push(default)
#include "neuware/g2/cnrt.h"
#pragma GCC visibility pop

/* After the function, in its file: cnrt1_<name> is cnrt<name>. */
#define CNRT_IN_1(name)                        \
    extern __typeof__(cnrt##name) cnrt1_##name \
        __attribute__((alias("cnrt" #name), visibility("default")))

#endif
