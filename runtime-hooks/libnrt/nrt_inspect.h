/* SPDX-License-Identifier: MIT */
/*
 * nrt_inspect - inspections requested by the environment; other calls go to runtime-hooks/inspect
 * directly.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* At the end of nrt_init(): starts what the environment requests. */
void nrt_inspect_opened(struct ntk_core *core);

#endif
