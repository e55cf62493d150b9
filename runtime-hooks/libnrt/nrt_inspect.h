/* SPDX-License-Identifier: MIT */
/*
 * nrt_inspect - inspections that the environment asks for; what else the library tells them goes to
 * runtime-hooks/inspect itself.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* At the end of nrt_init(): begins what the environment asks for. */
void nrt_inspect_opened(struct ntk_core *core);

#endif
