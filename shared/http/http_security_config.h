/* SPDX-License-Identifier: MIT */
/*
 * http_security_config - parses the web configuration file of the Prometheus family.
 *
 * YAML as exporter-toolkit's docs/web-configuration.md describes it: tls_server_config,
 * http_server_config, basic_auth_users, rate_limit. Unsupported settings (cipher lists, allowed
 * names of clients) and unknown keys are rejected, not ignored.
 *
 * Owner:   caller's storage; ntk_http_security_config_fini() frees the texts.
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_HTTP_HTTP_SECURITY_CONFIG_H
#define NTK_SHARED_HTTP_HTTP_SECURITY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HTTP_SECURITY_FILE_BYTES ((size_t)1024 * 1024)
#define NTK_HTTP_SECURITY_USERS_MAX 1024
#define NTK_HTTP_SECURITY_HEADERS_MAX 5

enum ntk_http_client_auth {
    NTK_HTTP_CLIENT_AUTH_NONE,
    NTK_HTTP_CLIENT_AUTH_IF_GIVEN, /* verify a certificate if the client sends one */
    NTK_HTTP_CLIENT_AUTH_REQUIRED, /* require and verify a certificate */
};

struct ntk_http_security_user {
    char *name;
    char *hash; /* bcrypt hash in the form of crypt(5) */
};

struct ntk_http_security_header {
    char *name;
    char *value;
};

struct ntk_http_security_config {
    bool has_tls;
    /* file with the certificate (or see cert), relative to the configuration's folder */
    char *cert_file;
    char *key_file; /* file with the key (or see key) */
    char *cert;     /* certificate as PEM text */
    char *key;
    char *client_ca_file; /* NULL if client_ca is set or neither is */
    char *client_ca;
    enum ntk_http_client_auth client_auth;
    unsigned tls_minor_min; /* minimum version 1.x of TLS: 0 to 3 */
    unsigned tls_minor_max;
    struct ntk_http_security_user *users;
    size_t user_count;
    struct ntk_http_security_header headers[NTK_HTTP_SECURITY_HEADERS_MAX];
    size_t header_count;
    uint64_t rate_interval_ns; /* one request is allowed per interval; 0: no limit */
    uint64_t rate_burst;       /* at least 1 if there is a limit */
};

/* Returns 0, or -EINVAL with a message that contains line and key. Empty text is an empty
 * configuration. */
int ntk_http_security_config_parse(const char *text, size_t text_bytes,
                                   struct ntk_http_security_config *out_config,
                                   struct ntk_err *err);
void ntk_http_security_config_fini(struct ntk_http_security_config *config);

#ifdef __cplusplus
}
#endif
#endif
