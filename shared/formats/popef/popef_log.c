/* SPDX-License-Identifier: MIT */
/* popef_log - the library's log, set by POPEF_LOG_LEVEL and POPEF_LOG_DEST. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/formats/popef/popef_private.h"

static const char *const names[] = {
    [POPEF_LOG_OFF] = "OFF",   [POPEF_LOG_ERR] = "ERR",     [POPEF_LOG_WARN] = "WARN",
    [POPEF_LOG_INFO] = "INFO", [POPEF_LOG_DEBUG] = "DEBUG", [POPEF_LOG_TRACE] = "TRACE",
};
#define NAME_COUNT (int)(sizeof names / sizeof *names)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int threshold = POPEF_LOG_WARN;
static int log_fd = STDERR_FILENO;

/* secure_getenv(), because a program with more rights than its caller must not write a file of the
 * caller's choice. */
static void start(void)
{
    const char *level = secure_getenv("POPEF_LOG_LEVEL");
    const char *place = secure_getenv("POPEF_LOG_DEST");

    for (int i = 0; level && i < NAME_COUNT; i++) {
        if (strcmp(level, names[i]) == 0) {
            atomic_store_explicit(&threshold, i, memory_order_relaxed);
        }
    }
    if (place && strcmp(place, "stdout") == 0) {
        log_fd = STDOUT_FILENO;
    } else if (place && place[0] != '\0' && strcmp(place, "stderr") != 0) {
        /* O_NONBLOCK, so that a FIFO without a reader is rejected instead of blocking. */
        int fd = open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);

        if (fd >= 0) {
            (void)fcntl(fd, F_SETFL, O_WRONLY | O_APPEND);
        }
        log_fd = fd >= 0 ? fd : STDERR_FILENO;
    }
}

void popef_log_set_level(enum popef_log_level level)
{
    (void)pthread_once(&once, start); /* otherwise start() would override the level later */
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void ntk_popef_log(enum popef_log_level level, const char *format, ...)
{
    char line[POPEF_ERROR_TEXT_BYTES + 64];
    va_list args;

    (void)pthread_once(&once, start);
    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed)) {
        return;
    }
    int used = snprintf(line, sizeof line, "popef: %s: ", names[level]);
    va_start(args, format);
    (void)vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, args);
    va_end(args);
    size_t length = ntk_str_clean(line, sizeof line - 1);
    line[length++] = '\n';
    ssize_t written = write(log_fd, line, length); /* a failure cannot be reported */
    (void)written;
}
