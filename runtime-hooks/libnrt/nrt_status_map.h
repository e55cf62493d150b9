/* SPDX-License-Identifier: MIT */
/*
 * nrt_status_map - the only table from the core's errors and outcomes to NRT_STATUS.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_STATUS_MAP_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_STATUS_MAP_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* error: 0 or -errno. */
NRT_STATUS nrt_status_from_error(int error);
NRT_STATUS nrt_status_from_outcome(enum ntk_core_outcome outcome);

#endif
