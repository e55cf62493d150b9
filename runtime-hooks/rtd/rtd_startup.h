/* SPDX-License-Identifier: MIT */
/*
 * rtd_startup - opens the devices, with a few attempts and the original's log lines.
 *
 * Owner:   the caller closes the core.
 * Threads: one, before the daemon has others. SIGTERM and SIGINT are blocked and end the wait.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_STARTUP_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_STARTUP_H

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/rtd/rtd_devices.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"

#define RTD_STARTUP_ATTEMPTS 3
#define RTD_STARTUP_PAUSE_NS (500 * NTK_NS_PER_MS) /* pause between two attempts */

/* Returns NULL with the reason in why if no attempt succeeded. If why already has a reason, no
 * attempt is made, but the lines are logged. clock NULL means the system clock. */
struct ntk_core *rtd_startup(struct ntk_core_options *options,
                             const struct ntk_core_machine *machine,
                             const struct rtd_devices *devices, const struct ntk_clock *clock,
                             struct ntk_err *why);

#endif
