/* SPDX-License-Identifier: MIT */
/*
 * http_security_config - the web configuration file of the Prometheus family, as data.
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
    NTK_HTTP_CLIENT_AUTH_IF_GIVEN, /* verified if the client sends one */
    NTK_HTTP_CLIENT_AUTH_REQUIRED, /* required and verified */
};

struct ntk_http_security_user {
    char *name;
    char *hash; /* crypt(5), of bcrypt */
};

struct ntk_http_security_header {
    char *name;
    char *value;
};

struct ntk_http_security_config {
    bool has_tls;
    char *cert_file; /* or cert; relative to the folder of the configuration */
    char *key_file;  /* or key */
    char *cert;      /* PEM text */
    char *key;
    char *client_ca_file; /* NULL with client_ca or without either */
    char *client_ca;
    enum ntk_http_client_auth client_auth;
    unsigned tls_minor_min; /* of TLS 1.x: 0 to 3 */
    unsigned tls_minor_max;
    struct ntk_http_security_user *users;
    size_t user_count;
    struct ntk_http_security_header headers[NTK_HTTP_SECURITY_HEADERS_MAX];
    size_t header_count;
    uint64_t rate_interval_ns; /* one request each; 0: no limit */
    uint64_t rate_burst;       /* at least 1 where there is a limit */
};

/* 0, or -EINVAL with a message with line and key. Empty text is an empty configuration. */
int ntk_http_security_config_parse(const char *text, size_t text_bytes,
                                   struct ntk_http_security_config *out_config,
                                   struct ntk_err *err);
void ntk_http_security_config_fini(struct ntk_http_security_config *config);

#ifdef __cplusplus
}
#endif
#endif
