/* SPDX-License-Identifier: MIT */
/*
 * http_guard - protects a server against pages of other sites, and against clients without the
 * token.
 *
 * Names: a browser that comes here through a foreign name (DNS rebinding) sends that name in Host.
 * Accepted are IP addresses, localhost and names below it, the name of the listening address, the
 * name of the machine (also without its domain) and the names in the options. A request without
 * Host does not come from a browser.
 *
 * Token: with a file, every path but those below "/-/" needs it: `Authorization: Bearer TOKEN`, or
 * the cookie that `/?token=TOKEN` gives once. The cookie holds a random value of this run, not the
 * token, and ends when the token changes. The file is checked with each request.
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

/* Limits of a token's length: shorter ones can be guessed. */
#define NTK_HTTP_TOKEN_BYTES_MIN 16
#define NTK_HTTP_TOKEN_BYTES_MAX 256

struct ntk_http_guard;

struct ntk_http_guard_options {
    const char *host;       /* of the listening address; NULL or "" for none */
    const char *names;      /* more names, separated by commas; NULL for none */
    const char *token_path; /* NULL: no token */
};

/* A message describes a problem with the token's file. */
int ntk_http_guard_create(const struct ntk_http_guard_options *options,
                          struct ntk_http_guard **out_guard, struct ntk_err *err);
void ntk_http_guard_destroy(struct ntk_http_guard *guard);

/* Whether a Host of this text (with or without a port) is accepted. */
bool ntk_http_guard_knows(const struct ntk_http_guard *guard, const char *host);

/* True: accepted. Else the answer is filled; the guard owns its texts until the next call. secure:
 * the connection is encrypted. */
bool ntk_http_guard_check(struct ntk_http_guard *guard, const struct ntk_http_request *request,
                          uint16_t port, bool secure, struct ntk_http_response *answer);

#ifdef __cplusplus
}
#endif
#endif
