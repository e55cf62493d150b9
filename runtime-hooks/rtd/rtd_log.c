/* SPDX-License-Identifier: MIT */
/* rtd_log - sends datagrams to the syslog service, and writes lines to a console. */
#include "runtime-hooks/rtd/rtd_log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#define IDENT "nrtd"
#define LINE_BYTES 1200

static struct {
    pthread_mutex_t lock;
    int fd; /* -1 if not open */
    struct sockaddr_un address;
    bool has_console;
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static const int priorities[] = {
    [NTK_LOG_ERROR] = LOG_ERR,   [NTK_LOG_WARN] = LOG_WARNING, [NTK_LOG_INFO] = LOG_INFO,
    [NTK_LOG_DEBUG] = LOG_DEBUG, [NTK_LOG_TRACE] = LOG_DEBUG,
};

/* Returns no module name for a line with its own source ("[NRTD:RunServer] ..."). */
static const char *module_of(const char *module, const char *text)
{
    return module && text[0] != '[' ? module : "";
}

size_t rtd_log_format(char *to, size_t to_bytes, enum ntk_log_level level, const struct tm *when,
                      int pid, const char *module, const char *text)
{
    /* Names of months in the protocol, independent of the locale. */
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const char *speaker = module_of(module, text);
    int length = snprintf(to, to_bytes, "<%d>%s %2d %02d:%02d:%02d " IDENT "[%d]: %s%s%s",
                          LOG_DAEMON | priorities[level], months[when->tm_mon % 12], when->tm_mday,
                          when->tm_hour, when->tm_min, when->tm_sec, pid, speaker,
                          speaker[0] ? ": " : "", text);

    return length < 0 ? 0 : (size_t)length < to_bytes ? (size_t)length : to_bytes - 1;
}

static bool send_line(enum ntk_log_level level, const char *module, const char *text)
{
    char line[LINE_BYTES];
    time_t now = time(NULL);
    struct tm when = { 0 };

    (void)localtime_r(&now, &when);
    size_t bytes = rtd_log_format(line, sizeof line, level, &when, (int)getpid(), module, text);
    /* The address is given each time, because a restarted service has a new socket with the same
     * name. */
    return out.fd >= 0 &&
           sendto(out.fd, line, bytes, MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&out.address, sizeof out.address) == (ssize_t)bytes;
}

static void sink(enum ntk_log_level level, const char *module, const char *text)
{
    const char *speaker = module_of(module, text);
    char line[LINE_BYTES];

    pthread_mutex_lock(&out.lock);
    bool is_sent = send_line(level, module, text);
    if (!is_sent || out.has_console) {
        int length = snprintf(line, sizeof line, IDENT "[%d]: %s%s%s\n", (int)getpid(), speaker,
                              speaker[0] ? ": " : "", text);
        ssize_t written = write(STDERR_FILENO, line,
                                length < (int)sizeof line ? (size_t)length : sizeof line - 1);
        (void)written; /* a failure cannot be reported anywhere */
    }
    pthread_mutex_unlock(&out.lock);
}

void rtd_log_open(const char *socket_path, int level, bool has_console)
{
    out.has_console = has_console;
    out.address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(socket_path) < sizeof out.address.sun_path) {
        memcpy(out.address.sun_path, socket_path, strlen(socket_path));
        out.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    }
    ntk_log_set_level((enum ntk_log_level)(level - RTD_LOG_LEVEL_MIN));
    ntk_log_set_sink(sink);
}

void rtd_log_console(void)
{
    pthread_mutex_lock(&out.lock);
    out.has_console = true;
    pthread_mutex_unlock(&out.lock);
}

void rtd_log_close(void)
{
    ntk_log_set_sink(NULL);
    if (out.fd >= 0) {
        close(out.fd);
        out.fd = -1;
    }
}
