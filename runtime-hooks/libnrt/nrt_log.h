/* SPDX-License-Identifier: MIT */
/*
 * nrt_log - writes the log lines of the runtime, in the vendor's format and place.
 *
 * nrt_log_open() reads NEURON_RT_LOG_LEVEL, NEURON_RT_LOG_LOCATION and their forms per component
 * (_TDRV, _NMGR, _KMGR, _NRT). Each event is logged once, by the front.
 *
 * Threads: any; one line is one write.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_LOG_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum nrt_log_level {
    NRT_LOG_QUIET,
    NRT_LOG_ERROR,
    NRT_LOG_WARN,
    NRT_LOG_INFO,
    NRT_LOG_DEBUG,
    NRT_LOG_TRACE,
};

enum nrt_log_component {
    NRT_LOG_NRT,
    NRT_LOG_TDRV,
    NRT_LOG_NMGR,
    NRT_LOG_KMGR,
    NRT_LOG_COMPONENTS,
};

/* Reads the environment, even when called again. */
void nrt_log_open(void);
void nrt_log_close(void);
bool nrt_log_is_on(enum nrt_log_component component, enum nrt_log_level level);
/* function: the name before the message, usually the public call. */
void nrt_log_write(enum nrt_log_component component, enum nrt_log_level level, const char *function,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

#define nrt_log_error(function, ...) \
    nrt_log_write(NRT_LOG_NRT, NRT_LOG_ERROR, (function), __VA_ARGS__)
#define nrt_log_info(function, ...) \
    nrt_log_write(NRT_LOG_NRT, NRT_LOG_INFO, (function), __VA_ARGS__)

#endif
