/* SPDX-License-Identifier: MIT */
/*
 * http_tls - a server's certificate and key, in the form that GnuTLS needs during a handshake.
 *
 * Owner:   create / destroy. The result of get() lives as long as the object.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_SHARED_HTTP_HTTP_TLS_H
#define NTK_SHARED_HTTP_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stddef.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HTTP_TLS_CHAIN_MAX 16

struct ntk_http_tls;

/* Takes PEM texts: a chain that begins with the server's certificate, and its key. Returns -EINVAL
 * with a message if either is invalid or they do not belong together. */
int ntk_http_tls_create(const char *cert_pem, size_t cert_bytes, const char *key_pem,
                        size_t key_bytes, struct ntk_http_tls **out_tls, struct ntk_err *err);
void ntk_http_tls_destroy(struct ntk_http_tls *tls);
void ntk_http_tls_get(struct ntk_http_tls *tls, gnutls_pcert_st **out_chain,
                      unsigned *out_chain_count, gnutls_privkey_t *out_key);

#ifdef __cplusplus
}
#endif
#endif
