/* SPDX-License-Identifier: MIT */
/* http_listen - resolves a name to addresses and listens on the first that works. */
#include "shared/http/http_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/base/str.h"

#define LISTEN_BACKLOG 128

static const char *listen_cause(int error)
{
    return error == EADDRINUSE ? "the port is in use" : strerror(error);
}

static int listen_on(const struct addrinfo *info)
{
    int on = 1;
    int off = 0;
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    info->ai_protocol);

    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (info->ai_family == AF_INET6) {
        /* the socket for "" serves IPv4 and IPv6 */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int ret = -errno;
        close(fd);
        return ret;
    }
    return fd;
}

/* Listens on the first working address of the family (AF_UNSPEC: any). */
static int listen_on_first(const struct addrinfo *infos, int family)
{
    int ret = -EADDRNOTAVAIL;

    for (const struct addrinfo *info = infos; info; info = info->ai_next) {
        if (family == AF_UNSPEC || info->ai_family == family) {
            ret = listen_on(info);
            if (ret >= 0 || ret == -EADDRINUSE) {
                break;
            }
        }
    }
    return ret;
}

int ntk_http_listen(const struct ntk_http_address *address, struct ntk_err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *infos = NULL;
    char port[8];
    int fd;

    snprintf(port, sizeof port, "%u", address->port);
    int found = getaddrinfo(address->host[0] ? address->host : NULL, port, &hints, &infos);
    if (found != 0) {
        return ntk_err_set(err, -EADDRNOTAVAIL, NTK_ERR_NO_OFFSET, "cannot listen on '%s': %s",
                           address->host, gai_strerror(found));
    }
    /* Without a host, listen on every address: the IPv6 socket also serves IPv4. A machine without
     * IPv6 gets the IPv4 socket. */
    fd = listen_on_first(infos, address->host[0] ? AF_UNSPEC : AF_INET6);
    if (fd < 0 && fd != -EADDRINUSE && !address->host[0]) {
        fd = listen_on_first(infos, AF_INET);
    }
    freeaddrinfo(infos);
    if (fd < 0) {
        return ntk_err_set(err, fd, NTK_ERR_NO_OFFSET, "cannot listen on %s%sport %u: %s",
                           address->host, address->host[0] ? " " : "", address->port,
                           listen_cause(-fd));
    }
    return fd;
}

static bool is_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_reached =
        fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                    errno == EAGAIN || errno == EINPROGRESS);

    if (fd >= 0) {
        close(fd);
    }
    return is_reached;
}

/* Listens under the final name only when the socket is ready, so that clients never find a socket
 * that does not answer. */
static int listen_as(const struct sockaddr_un *address, struct sockaddr_un *temporary)
{
    int bytes = snprintf(temporary->sun_path, sizeof temporary->sun_path, "%s.%d",
                         address->sun_path, (int)getpid());
    if (bytes < 0 || (size_t)bytes >= sizeof temporary->sun_path) {
        return -ENAMETOOLONG;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    (void)unlink(temporary->sun_path);
    if (bind(fd, (const struct sockaddr *)temporary, sizeof *temporary) < 0 ||
        chmod(temporary->sun_path, 0666) < 0 || listen(fd, LISTEN_BACKLOG) < 0 ||
        rename(temporary->sun_path, address->sun_path) < 0) {
        int ret = -errno;
        (void)unlink(temporary->sun_path);
        close(fd);
        return ret;
    }
    return fd;
}

int ntk_http_listen_unix(const char *path, struct ntk_err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct sockaddr_un temporary = { .sun_family = AF_UNIX };
    int fd = -ENAMETOOLONG;

    if (ntk_str_copy(address.sun_path, sizeof address.sun_path, path)) {
        fd = is_served(&address) ? -EADDRINUSE : listen_as(&address, &temporary);
    }
    return fd >= 0 ? fd
                   : ntk_err_set(err, fd, NTK_ERR_NO_OFFSET, "cannot listen on '%s': %s", path,
                                 fd == -EADDRINUSE ? "another process is listening on it"
                                                   : strerror(-fd));
}

uint16_t ntk_http_listen_port_get(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name;
    socklen_t name_bytes = sizeof name;

    memset(&name, 0, sizeof name);
    if (getsockname(fd, &name.any, &name_bytes) < 0) {
        return 0;
    }
    return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}
