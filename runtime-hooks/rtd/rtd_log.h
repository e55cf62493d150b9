/* SPDX-License-Identifier: MIT */
/*
 * rtd_log - writes the log lines of the daemon to the syslog service and to a console.
 *
 * Lines have the format "nrtd[PID]: text" in both places. Writes to the socket of the syslog
 * service never wait, so that a hanging service delays no inference; lines that it does not accept
 * go to the console, as do all lines without the service.
 *
 * Threads: any thread may write lines; one thread calls _open before and _close after the others
 *          exist.
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

/* Directs ntk_log_* to this log. level: RTD_LOG_LEVEL_MIN only errors, 4 also warnings, 5 events, 6
 * more details, 7 every call. */
void rtd_log_open(const char *socket_path, int level, bool has_console);
/* Also writes all further lines to stderr, for the last messages before the program exits. */
void rtd_log_console(void);
void rtd_log_close(void);

/* Formats one datagram for the syslog service, such as "<30>Nov 23 14:05:09 nrtd[7]: text". Returns
 * its length; longer ones are truncated. */
size_t rtd_log_format(char *out, size_t out_bytes, enum ntk_log_level level, const struct tm *when,
                      int pid, const char *module, const char *text);

#endif
