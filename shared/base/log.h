/* SPDX-License-Identifier: MIT */
/*
 * log - one line on stderr: "<program>: <module>: <sentence>".
 *
 * For programs and for the parts only they use; never in the hooks. A line names module, object,
 * cause and what happens next, and each event is logged once. Where stderr is systemd's journal,
 * the line begins with its priority ("<3>" to "<7>"), which the journal takes away.
 *
 * Threads: any; a line is one write.
 */
#ifndef NTK_SHARED_BASE_LOG_H
#define NTK_SHARED_BASE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_err;

enum ntk_log_level {
    NTK_LOG_ERROR,
    NTK_LOG_WARN, /* default */
    NTK_LOG_INFO,
    NTK_LOG_DEBUG,
};

/* Borrowed for the life of the program. */
void ntk_log_set_program(const char *name);
void ntk_log_set_level(enum ntk_log_level level);
enum ntk_log_level ntk_log_get_level(void);
void ntk_log_write(enum ntk_log_level level, const char *module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last words of a program that fails: the sentence of err. Returns its exit code, 1. */
int ntk_log_failure(const char *module, const struct ntk_err *err);

#define ntk_log_error(module, ...) ntk_log_write(NTK_LOG_ERROR, (module), __VA_ARGS__)
#define ntk_log_warn(module, ...) ntk_log_write(NTK_LOG_WARN, (module), __VA_ARGS__)
#define ntk_log_info(module, ...) ntk_log_write(NTK_LOG_INFO, (module), __VA_ARGS__)
#define ntk_log_debug(module, ...) ntk_log_write(NTK_LOG_DEBUG, (module), __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
