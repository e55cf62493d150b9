/* SPDX-License-Identifier: MIT */
/*
 * http_address - parses a listening address as users type it: "9100", ":9100", "127.0.0.1:9100",
 * "localhost:9100", "[::1]:9100".
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_ADDRESS_H
#define NTK_SHARED_HTTP_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HTTP_HOST_BYTES 256

struct ntk_http_address {
    char host[NTK_HTTP_HOST_BYTES]; /* "" means every address of the machine */
    uint16_t port;                  /* 0: the system chooses */
};

/* default_host is used if the text has no host: "" or "127.0.0.1". -EINVAL with a message that does
 * not repeat the text. ":PORT" means every address, whatever default_host is. */
int ntk_http_address_parse(const char *text, const char *default_host,
                           struct ntk_http_address *out_address, struct ntk_err *err);
/* Returns true if the address is only reachable from this machine. */
bool ntk_http_address_is_loopback(const struct ntk_http_address *address);

#ifdef __cplusplus
}
#endif
#endif
