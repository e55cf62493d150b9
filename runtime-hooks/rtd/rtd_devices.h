/* SPDX-License-Identifier: MIT */
/*
 * rtd_devices - which devices in the machine are this daemon's: a run of neighbours.
 *
 * Owner:   caller's storage; nothing to free.
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
    bool is_given; /* else all devices in the machine */
    size_t count;
    uint32_t indexes[RTD_DEVICES_MAX];
    /* Their names while the numbers are unknown, else "". */
    char bdfs[RTD_DEVICES_MAX][NTK_CORE_BDF_BYTES];
};

/* "0000:10:1c.0", or "10:1c.0". -EINVAL: not a PCI address, or too many. */
int rtd_devices_add_bdf(struct rtd_devices *devices, const char *text, struct ntk_err *err);
/* Those of an instance file. */
void rtd_devices_set(struct rtd_devices *devices, const uint32_t *indexes, size_t count);

/* Sorts them; without any given, takes all devices in the machine. -ENODEV: the machine lacks
 * one. -EINVAL: a duplicate, or two consecutive ones that are not neighbours. */
int rtd_devices_settle(struct rtd_devices *devices, const struct ntk_core_machine *machine,
                       struct ntk_err *err);

#endif
