/* SPDX-License-Identifier: MIT */
/*
 * log - one line on stderr: "<program>: <module>: <message>", or a call of a sink.
 *
 * For programs and for parts that only they use; never in the hooks. A line names module, object,
 * cause and what happens next, and each event is logged once. Where stderr is systemd's journal,
 * the line begins with its priority ("<3>" to "<7>"), which the journal removes.
 *
 * Threads: any; a line is one write.
 */
#ifndef NTK_SHARED_BASE_LOG_H
#define NTK_SHARED_BASE_LOG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_err;

enum ntk_log_level {
    NTK_LOG_ERROR,
    NTK_LOG_WARN, /* default */
    NTK_LOG_INFO,
    NTK_LOG_DEBUG,
    NTK_LOG_TRACE, /* a client's calls and similar events */
};

/* Sets the program's name, borrowed for the lifetime of the program. */
void ntk_log_set_program(const char *name);
void ntk_log_set_level(enum ntk_log_level level);
enum ntk_log_level ntk_log_get_level(void);
/* Sends lines to this function instead of stderr, cleaned and without a line break. module may be
 * NULL or "". The function may be called from any thread. NULL restores stderr. */
typedef void ntk_log_sink(enum ntk_log_level level, const char *module, const char *text);
void ntk_log_set_sink(ntk_log_sink *sink);
/* The number of lines of that level so far, from all threads; lines that the current level
 * suppresses are not counted. */
uint64_t ntk_log_count_get(enum ntk_log_level level);
void ntk_log_write(enum ntk_log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs err's message as the last message of a failing program. Returns the exit code, 1. */
int ntk_log_failure(const char *module, const struct ntk_err *err);

#define ntk_log_error(module, ...) ntk_log_write(NTK_LOG_ERROR, (module), __VA_ARGS__)
#define ntk_log_warn(module, ...) ntk_log_write(NTK_LOG_WARN, (module), __VA_ARGS__)
#define ntk_log_info(module, ...) ntk_log_write(NTK_LOG_INFO, (module), __VA_ARGS__)
#define ntk_log_debug(module, ...) ntk_log_write(NTK_LOG_DEBUG, (module), __VA_ARGS__)
#define ntk_log_trace(module, ...) ntk_log_write(NTK_LOG_TRACE, (module), __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
