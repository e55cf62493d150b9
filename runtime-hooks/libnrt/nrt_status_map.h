/* SPDX-License-Identifier: MIT */
/*
 * nrt_status_map - maps errors and outcomes of the core to NRT_STATUS, with the only table for
 * this.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_STATUS_MAP_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_STATUS_MAP_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* error is 0 or -errno. */
NRT_STATUS nrt_status_from_error(int error);
NRT_STATUS nrt_status_from_outcome(enum ntk_core_outcome outcome);

#endif
