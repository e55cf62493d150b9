/* SPDX-License-Identifier: MIT */
/* rpc_listen - checks an address without gRPC, with connect() and bind(). */
#include "shared/rpc/rpc_listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define HOST_BYTES_MAX 512

/* The path of a Unix socket; NULL for any other kind of address. */
static const char *path_of(const char *endpoint)
{
    if (strncmp(endpoint, UNIX_PREFIX, strlen(UNIX_PREFIX)) != 0) {
        return NULL;
    }
    const char *path = endpoint + strlen(UNIX_PREFIX);
    return strncmp(path, "//", 2) == 0 ? path + 2 : path;
}

int ntk_rpc_listen_check(const char *endpoint, struct ntk_err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = path_of(endpoint);

    if (!path) {
        return 0;
    }
    if (path[0] == '\0') {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s: missing path: expected an address such as unix:/run/neuron.sock",
                           endpoint);
    }
    if (strlen(path) >= sizeof address.sun_path) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: the path is longer than %zu bytes",
                           endpoint, sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a socket: %s",
                           strerror(errno));
    }
    bool answers = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
    close(fd);
    return answers ? ntk_err_set(err, -EADDRINUSE, NTK_ERR_NO_OFFSET,
                                 "%s is in use: another daemon responds there", endpoint)
                   : 0;
}

/* Returns 0 if the address can be bound now. */
static int bind_error(int family, const struct sockaddr *address, socklen_t bytes)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int reuse = 1;

    if (fd < 0) {
        return errno;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse); /* gRPC does the same */
    int error = bind(fd, address, bytes) == 0 ? 0 : errno;
    /* Try to listen, too, because two sockets may be bound to a port without a listener. */
    if (error == 0 && family != AF_UNIX && listen(fd, 1) != 0) {
        error = errno;
    }
    close(fd);
    return error;
}

static const char *why_not_path(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat status;

    if (strlen(path) >= sizeof address.sun_path) {
        return "the path is too long";
    }
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode)) {
        return S_ISDIR(status.st_mode) ? "path exists and is a folder"
                                       : "path exists and is not a socket";
    }
    memcpy(address.sun_path, path, strlen(path));
    int error = bind_error(AF_UNIX, (struct sockaddr *)&address, sizeof address);
    if (error == 0) {
        (void)unlink(path);
    }
    return error ? strerror(error) : NULL;
}

static const char *why_not_port(const char *endpoint)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found = NULL;
    char host[HOST_BYTES_MAX];
    const char *colon = strrchr(endpoint, ':');

    if (!colon || (size_t)(colon - endpoint) >= sizeof host) {
        return NULL;
    }
    bool is_bracketed = endpoint[0] == '[' && colon > endpoint + 1 && colon[-1] == ']';
    size_t length = (size_t)(colon - endpoint) - (is_bracketed ? 2 : 0);
    memcpy(host, endpoint + is_bracketed, length);
    host[length] = '\0';
    int ret = getaddrinfo(length ? host : NULL, colon + 1, &hints, &found);
    if (ret != 0) {
        return gai_strerror(ret);
    }
    int error = 0;
    for (const struct addrinfo *at = found; at && error == 0; at = at->ai_next) {
        error = bind_error(at->ai_family, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    return error ? strerror(error) : NULL;
}

int ntk_rpc_listen_why(const char *endpoint, struct ntk_err *err)
{
    const char *path = path_of(endpoint);
    const char *why = path ? why_not_path(path) : why_not_port(endpoint);

    return ntk_err_set(err, -EADDRNOTAVAIL, NTK_ERR_NO_OFFSET, "cannot listen on '%s': %s",
                       endpoint, why ? why : "address in use or not available");
}
