/* SPDX-License-Identifier: MIT */
/*
 * rtd_log - the daemon's lines, for the syslog service and for a console.
 *
 * "nrtd[PID]: text", the same text on both. The socket of the syslog service is written to without
 * ever waiting, so that a service that hangs delays no inference; what it does not take goes to the
 * console, as do all lines where it is not present.
 *
 * Threads: _open and _close by one, before and after the others; lines from any.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_LOG_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "shared/base/log.h"

#define RTD_LOG_SOCKET "/dev/log"
#define RTD_LOG_LEVEL_MIN 3
#define RTD_LOG_LEVEL_DEFAULT 5
#define RTD_LOG_LEVEL_MAX 7

/* From here on ntk_log_* says it so. level: RTD_LOG_LEVEL_MIN only errors, 4 warnings too, 5 what
 * happens, 6 more, 7 each call. */
void rtd_log_open(const char *socket_path, int level, bool has_console);
/* stderr for all lines from here on, too: the last words of a program that ends. */
void rtd_log_console(void);
void rtd_log_close(void);

/* One datagram of the syslog service: "<30>Nov 23 14:05:09 nrtd[7]: text". Returns its length; what
 * does not fit is cut. */
size_t rtd_log_format(char *out, size_t out_bytes, enum ntk_log_level level, const struct tm *when,
                      int pid, const char *module, const char *text);

#endif
