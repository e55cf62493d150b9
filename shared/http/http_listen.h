/* SPDX-License-Identifier: MIT */
/*
 * http_listen - a listening socket for an address that users type.
 *
 * Owner:   the caller closes the descriptor.
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_LISTEN_H
#define NTK_SHARED_HTTP_HTTP_LISTEN_H

#include <stdint.h>

#include "shared/base/err.h"
#include "shared/http/http_address.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor, or -errno with a message. No host: every address, IPv6 and IPv4. */
int ntk_http_listen(const struct ntk_http_address *address, struct ntk_err *err);
/* A Unix socket to which every user may connect; a name without a server is replaced. -EADDRINUSE:
 * a process serves it. */
int ntk_http_listen_unix(const char *path, struct ntk_err *err);
/* 0 if it is not an IP socket. */
uint16_t ntk_http_listen_port_get(int fd);

#ifdef __cplusplus
}
#endif
#endif
