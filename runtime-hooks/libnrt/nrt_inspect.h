/* SPDX-License-Identifier: MIT */
/*
 * nrt_inspect - starts inspections that the environment requests; other code calls
 * runtime-hooks/inspect directly.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* Starts the inspection that the environment requests, at the end of nrt_init(). */
void nrt_inspect_opened(struct ntk_core *core);

#endif
