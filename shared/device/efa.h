/* SPDX-License-Identifier: MIT */
/*
 * efa - counters of the machine's EFA adapters, as the kernel's infiniband class tells them.
 *
 * An adapter is one of Amazon's (vendor 0x1d0f) whose number begins with 0xefa. What an adapter
 * does not count is absent. Each read looks again, so adapters may come and go.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_EFA_H
#define NTK_SHARED_DEVICE_EFA_H

#include <stddef.h>
#include <stdint.h>

#include "shared/abi/efa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_EFA_NAME_BYTES 64 /* the kernel's bound for the name of an adapter */
#define NTK_EFA_PORTS_MAX 128 /* what is beyond is not read */

struct ntk_efa_reading {
    char device[NTK_EFA_NAME_BYTES];
    uint32_t port;
    uint32_t has; /* bits by enum ntk_efa_counter */
    uint64_t counter[NTK_EFA_COUNTER_COUNT];
};

/* Below root (such as "/sys"), by name and port; how many. */
size_t ntk_efa_read(const char *root, struct ntk_efa_reading *out_readings, size_t max);

#ifdef __cplusplus
}
#endif
#endif
