/* SPDX-License-Identifier: MIT */
/* core_number - numbers of cores on a machine, derived from their numbers on a device. */
#ifndef NTK_SHARED_ABI_CORE_NUMBER_H
#define NTK_SHARED_ABI_CORE_NUMBER_H

#include <stdint.h>

/* The result is a physical core number if the arguments are physical, and logical if they are
 * logical. */
static inline uint32_t ntk_core_number(uint32_t device, uint32_t cores_per_device,
                                       uint32_t local_core)
{
    return device * cores_per_device + local_core;
}

#endif
