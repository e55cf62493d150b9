/* SPDX-License-Identifier: MIT */
/*
 * health - finds the health of devices from one reading: errors and unhealthy components. One
 * reading cannot show that a counter grows or a heartbeat stops.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_LS_HEALTH_H
#define NTK_TOP_LS_HEALTH_H

#include "shared/base/buf.h"
#include "shared/device/device.h"
#include "top/ls/machine.h"

/* Fills `health` of the machine's devices, which must come from the source. Returns 0 or
 * -ENOMEM. */
int ntk_ls_health_read(struct ntk_device_source *source, struct ntk_ls_machine *machine);
/* Writes a line for each device that is not healthy. */
void ntk_ls_health_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);

#endif
