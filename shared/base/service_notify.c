/* SPDX-License-Identifier: MIT */
/* service_notify - sends lines to systemd's notification socket. */
#include "shared/base/service_notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"

struct ntk_service {
    int fd;
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint64_t feed_period_ns;
};

/* Parses "/path", or "@name" in the abstract namespace, where addresses begin with a zero byte. */
static int parse_address(const char *text, struct ntk_service *service, struct ntk_err *err)
{
    size_t length = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || length < 2 ||
        length >= sizeof service->address.sun_path) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid NOTIFY_SOCKET '%.120s': expected a path or @name", text);
    }
    service->address.sun_family = AF_UNIX;
    memcpy(service->address.sun_path, text, length);
    if (text[0] == '@') {
        service->address.sun_path[0] = '\0';
    }
    service->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return 0;
}

static int parse_watchdog(struct ntk_service *service, struct ntk_err *err)
{
    const char *usec_text = getenv("WATCHDOG_USEC");
    const char *pid_text = getenv("WATCHDOG_PID");
    uint64_t usec;
    uint64_t pid;

    if (!usec_text) {
        return 0;
    }
    if (ntk_str_parse_u64(usec_text, &usec) < 0 || usec < 2 || usec > UINT64_MAX / NTK_NS_PER_US) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid WATCHDOG_USEC '%.40s': expected microseconds", usec_text);
    }
    if (pid_text && (ntk_str_parse_u64(pid_text, &pid) < 0 || pid != (uint64_t)getpid())) {
        return 0; /* the watchdog is for another process of the service */
    }
    service->feed_period_ns = usec * NTK_NS_PER_US / 2;
    return 0;
}

int ntk_service_create(struct ntk_service **out_service, struct ntk_err *err)
{
    const char *text = getenv("NOTIFY_SOCKET");
    struct ntk_service *service;
    int ret;

    *out_service = NULL;
    if (!text || !*text) {
        return 0;
    }
    service = calloc(1, sizeof *service);
    if (!service) {
        return ntk_err_no_memory(err);
    }
    service->fd = -1;
    ret = parse_address(text, service, err);
    ret = ret < 0 ? ret : parse_watchdog(service, err);
    if (ret >= 0) {
        service->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (service->fd < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "socket: %s", strerror(errno));
        }
    }
    if (ret < 0) {
        ntk_service_destroy(service);
        return ret;
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    *out_service = service;
    return 0;
}

void ntk_service_destroy(struct ntk_service *service)
{
    if (!service) {
        return;
    }
    if (service->fd >= 0) {
        close(service->fd);
    }
    free(service);
}

uint64_t ntk_service_feed_period_ns(const struct ntk_service *service)
{
    return service ? service->feed_period_ns : 0;
}

/* Sends lines. If the service manager does not read them, they are lost, and later ones follow. */
static void say(struct ntk_service *service, const char *lines)
{
    if (service) {
        (void)sendto(service->fd, lines, strlen(lines), MSG_NOSIGNAL,
                     (const struct sockaddr *)&service->address, service->address_bytes);
    }
}

void ntk_service_ready(struct ntk_service *service, const char *status)
{
    char lines[512];

    (void)snprintf(lines, sizeof lines, "READY=1\nSTATUS=%.400s\n", status);
    say(service, lines);
}

void ntk_service_reloading(struct ntk_service *service)
{
    char lines[64];

    (void)snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%llu\n",
                   (unsigned long long)(ntk_clock_monotonic_ns() / NTK_NS_PER_US));
    say(service, lines);
}

void ntk_service_feed(struct ntk_service *service)
{
    say(service, "WATCHDOG=1\n");
}

void ntk_service_stopping(struct ntk_service *service)
{
    say(service, "STOPPING=1\n");
}
