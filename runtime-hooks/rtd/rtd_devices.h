/* SPDX-License-Identifier: MIT */
/*
 * rtd_devices - selects the devices of this daemon: a sequence of neighbours.
 *
 * Owner:   the caller provides the storage; nothing must be freed.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_DEVICES_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/rtd/rtd_config.h"
#include "shared/base/err.h"

struct rtd_devices {
    bool is_given; /* false: all devices in the machine */
    size_t count;
    uint32_t indexes[RTD_DEVICES_MAX];
    /* Addresses of the devices while their numbers are unknown, else "". */
    char bdfs[RTD_DEVICES_MAX][NTK_CORE_BDF_BYTES];
};

/* Adds an address such as "0000:10:1c.0" or "10:1c.0". -EINVAL: not a PCI address, or too many
 * addresses. */
int rtd_devices_add_bdf(struct rtd_devices *devices, const char *text, struct ntk_err *err);
/* Sets the devices of an instance file. */
void rtd_devices_set(struct rtd_devices *devices, const uint32_t *indexes, size_t count);

/* Sorts the devices; takes all in the machine if none was given. -ENODEV: the machine lacks
 * a device. -EINVAL: a duplicate, or two consecutive devices that are not neighbours. */
int rtd_devices_settle(struct rtd_devices *devices, const struct ntk_core_machine *machine,
                       struct ntk_err *err);

#endif
