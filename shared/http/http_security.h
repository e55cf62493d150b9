/* SPDX-License-Identifier: MIT */
/*
 * http_security - access control for a server, and its identity: TLS, passwords, a rate limit.
 *
 * Either the web configuration file of the Prometheus family (http_security_config.h), or a
 * certificate and a key. Files are checked with each handshake and each request, and reread if they
 * changed, so rotated certificates and passwords apply at once. An unusable certificate is reported
 * once, and the previous one stays in use; with an unusable configuration, every request gets 500.
 *
 * Owner:   open / close; outlives the server that uses it.
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_SECURITY_H
#define NTK_SHARED_HTTP_HTTP_SECURITY_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/err.h"
#include "shared/http/http_security_config.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_clock;
struct ntk_http_security;
struct ntk_http_tls;

int ntk_http_security_open_config(const char *path, struct ntk_http_security **out_security,
                                  struct ntk_err *err);
int ntk_http_security_open_pair(const char *cert_path, const char *key_path,
                                struct ntk_http_security **out_security, struct ntk_err *err);
/* Sets the clock of the rate limit, borrowed, instead of the system's. */
void ntk_http_security_set_clock(struct ntk_http_security *security, const struct ntk_clock *clock);
void ntk_http_security_close(struct ntk_http_security *security);

/* -- for the server ---------------------------------------------------------------------------- */

bool ntk_http_security_has_tls(const struct ntk_http_security *security);
/* The current certificate and key; valid until the security is closed. */
struct ntk_http_tls *ntk_http_security_tls_get(struct ntk_http_security *security);
/* The GnuTLS priorities "NORMAL:..." for the allowed versions; static, or owned by the security. */
const char *ntk_http_security_priorities_get(const struct ntk_http_security *security);
/* PEM text of the authority for client certificates, read when the security was opened; NULL: no
 * client certificates. */
const char *ntk_http_security_client_ca_get(const struct ntk_http_security *security);
enum ntk_http_client_auth
ntk_http_security_client_auth_get(const struct ntk_http_security *security);

/* Returns 0 if the request is accepted; 1 if the password must be computed; else the status of the
 * response: 401, 429 or 500. Name and password are NULL if the client sent none. */
int ntk_http_security_check(struct ntk_http_security *security, const char *user,
                            const char *password);
/* Computes the password after a check that returned 1, with the same name and password. Returns 0
 * or 401. Takes as long as a bcrypt. */
int ntk_http_security_compute(struct ntk_http_security *security, const char *user,
                              const char *password);
/* Calls a function for each header that belongs into all responses. */
void ntk_http_security_headers_each(struct ntk_http_security *security,
                                    void (*call)(const char *name, const char *value, void *ctx),
                                    void *ctx);

#ifdef __cplusplus
}
#endif
#endif
