/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "shared/base/quiet.h"

#define NRT_LOG_LINE_BYTES 2048

enum place {
    PLACE_CONSOLE,
    PLACE_SYSLOG,
    PLACE_FILE,
};

struct target {
    _Atomic int level;
    _Atomic int place;
    _Atomic int fd; /* file descriptor for PLACE_FILE */
};

static struct target targets[NRT_LOG_COMPONENTS] = {
    { .level = NRT_LOG_ERROR, .fd = -1 },
    { .level = NRT_LOG_ERROR, .fd = -1 },
    { .level = NRT_LOG_ERROR, .fd = -1 },
    { .level = NRT_LOG_ERROR, .fd = -1 },
};

static const char *const component_names[NRT_LOG_COMPONENTS] = { "NRT", "TDRV", "NMGR", "KMGR" };

static const struct {
    const char *name;
    enum nrt_log_level level;
} level_names[] = {
    { "QUIET", NRT_LOG_QUIET },  { "ERROR", NRT_LOG_ERROR }, { "WARN", NRT_LOG_WARN },
    { "INFO", NRT_LOG_INFO },    { "DEBUG", NRT_LOG_DEBUG }, { "TRACE", NRT_LOG_TRACE },
    { "WARNING", NRT_LOG_WARN },
};

/* Returns NEURON_RT_<name>_<component>, else NEURON_RT_<name>; NULL if neither is set. */
static const char *variable_get(const char *name, enum nrt_log_component component)
{
    char text[64];

    (void)snprintf(text, sizeof text, "NEURON_RT_%s_%s", name, component_names[component]);
    const char *value = getenv(text);
    if (!value) {
        (void)snprintf(text, sizeof text, "NEURON_RT_%s", name);
        value = getenv(text);
    }
    return value && *value ? value : NULL;
}

static void target_open(enum nrt_log_component component)
{
    struct target *target = &targets[component];
    const char *location = variable_get("LOG_LOCATION", component);
    const char *level = variable_get("LOG_LEVEL", component);
    enum place place = PLACE_CONSOLE;
    int fd = -1;

    if (location && strcasecmp(location, "syslog") == 0) {
        place = PLACE_SYSLOG;
    } else if (location && strcasecmp(location, "console") != 0) {
        /* A pipe must not block the start if it has no reader, or a call if it is full. */
        fd = open(location, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                  0644);
        /* If the file cannot be opened, log to the console. */
        place = fd >= 0 ? PLACE_FILE : PLACE_CONSOLE;
    }
    enum nrt_log_level chosen = place == PLACE_SYSLOG ? NRT_LOG_INFO : NRT_LOG_ERROR;
    for (size_t i = 0; level && i < sizeof level_names / sizeof *level_names; i++) {
        if (strcasecmp(level, level_names[i].name) == 0) {
            chosen = level_names[i].level;
        }
    }
    int old = atomic_exchange(&target->fd, fd);
    atomic_store(&target->place, place);
    atomic_store(&target->level, chosen);
    if (old >= 0) {
        close(old);
    }
}

void nrt_log_open(void)
{
    for (int i = 0; i < NRT_LOG_COMPONENTS; i++) {
        target_open((enum nrt_log_component)i);
    }
}

void nrt_log_close(void)
{
    for (int i = 0; i < NRT_LOG_COMPONENTS; i++) {
        int fd = atomic_exchange(&targets[i].fd, -1);

        if (fd >= 0) {
            atomic_store(&targets[i].place, PLACE_CONSOLE);
            close(fd);
        }
    }
}

bool nrt_log_is_on(enum nrt_log_component component, enum nrt_log_level level)
{
    return (int)level <= atomic_load_explicit(&targets[component].level, memory_order_relaxed);
}

/* Formats the line without its line feed: at most bytes - 1 characters, NUL-terminated. */
static void line_format(char *line, size_t bytes, enum nrt_log_component component,
                        enum nrt_log_level level, const char *function, const char *message)
{
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    static const char *const levels[] = { "QUIET", "ERROR", "WARN", "INFO", "DEBUG", "TRACE" };
    struct timespec now = { 0 };
    struct tm tm = { 0 };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &tm);
    (void)snprintf(line, bytes, "%04d-%s-%02d %02d:%02d:%02d.%06ld  %5d:%-5d  %-5s  %5s:%-40s  %s",
                   tm.tm_year + 1900, months[tm.tm_mon], tm.tm_mday, tm.tm_hour, tm.tm_min,
                   tm.tm_sec, now.tv_nsec / 1000, (int)getpid(), (int)syscall(SYS_gettid),
                   levels[level], component_names[component], function, message);
}

void nrt_log_write(enum nrt_log_component component, enum nrt_log_level level, const char *function,
                   const char *format, ...)
{
    static const int priorities[] = { LOG_DEBUG, LOG_ERR,   LOG_WARNING,
                                      LOG_INFO,  LOG_DEBUG, LOG_DEBUG };
    struct target *target = &targets[component];
    char message[NRT_LOG_LINE_BYTES - 256];
    char line[NRT_LOG_LINE_BYTES];
    va_list args;

    if (!nrt_log_is_on(component, level)) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    line_format(line, sizeof line - 1, component, level, function, message);

    int place = atomic_load(&target->place);
    if (place == PLACE_SYSLOG) {
        syslog(LOG_USER | priorities[level], "%s", line);
        return;
    }
    size_t bytes = strlen(line);
    line[bytes++] = '\n';
    int fd = place == PLACE_FILE ? atomic_load(&target->fd) : STDERR_FILENO;
    struct ntk_quiet quiet;

    /* A failure to write a log line is ignored, and must not terminate the process. */
    ntk_quiet_enter(&quiet);
    ssize_t written = write(fd >= 0 ? fd : STDERR_FILENO, line, bytes);
    (void)written;
    ntk_quiet_leave(&quiet);
}
