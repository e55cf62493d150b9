/* SPDX-License-Identifier: MIT */
/*
 * http_guard - protects a server from pages of other sites, and from clients without the token.
 *
 * Names: a browser that comes here through a foreign name (DNS rebinding) sends that name in Host.
 * Accepted are IP addresses, localhost and names below it, the name of the listening address, the
 * name of the machine (also without its domain) and the names in the options. A request without
 * Host does not come from a browser.
 *
 * Token: with a file, every path but those below "/-/" needs it: `Authorization: Bearer TOKEN`, or
 * the cookie that `/?token=TOKEN` sets once. The cookie contains a random value of this run, not
 * the token, and becomes invalid when the token changes. The file is checked with each request.
 *
 * Owner:   create / destroy; the texts of the options are borrowed for that time.
 * Threads: ntk_http_guard_check() from one thread.
 */
#ifndef NTK_SHARED_HTTP_HTTP_GUARD_H
#define NTK_SHARED_HTTP_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits on a token's length: shorter tokens can be guessed. */
#define NTK_HTTP_TOKEN_BYTES_MIN 16
#define NTK_HTTP_TOKEN_BYTES_MAX 256

struct ntk_http_guard;

struct ntk_http_guard_options {
    const char *host;       /* listening address; NULL or "": none */
    const char *names;      /* additional names, separated by commas; NULL: none */
    const char *token_path; /* NULL: no token */
};

/* On error, a message describes the problem with the token's file. */
int ntk_http_guard_create(const struct ntk_http_guard_options *options,
                          struct ntk_http_guard **out_guard, struct ntk_err *err);
void ntk_http_guard_destroy(struct ntk_http_guard *guard);

/* Returns true if this Host (with or without a port) is accepted. */
bool ntk_http_guard_knows(const struct ntk_http_guard *guard, const char *host);

/* Returns true if the request is accepted. Otherwise fills the response; the guard owns its texts
 * until the next call. secure: the connection is encrypted. */
bool ntk_http_guard_check(struct ntk_http_guard *guard, const struct ntk_http_request *request,
                          uint16_t port, bool secure, struct ntk_http_response *answer);

#ifdef __cplusplus
}
#endif
#endif
