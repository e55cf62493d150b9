/* SPDX-License-Identifier: MIT */
/*
 * http_listen - opens a listening socket for an address that users type.
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

/* Returns the descriptor, or -errno with a message. Without a host: every address, IPv6 and
 * IPv4. */
int ntk_http_listen(const struct ntk_http_address *address, struct ntk_err *err);
/* Opens a Unix socket to which every user may connect; replaces an existing name that has no
 * server. Returns -EADDRINUSE if a process serves it. */
int ntk_http_listen_unix(const char *path, struct ntk_err *err);
/* The port; 0 if it is not an IP socket. */
uint16_t ntk_http_listen_port_get(int fd);

#ifdef __cplusplus
}
#endif
#endif
