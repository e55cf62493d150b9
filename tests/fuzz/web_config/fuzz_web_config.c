/* SPDX-License-Identifier: MIT */
/* Any bytes as a web configuration: rejected with a message, or accepted within its limits. */
#include <stdint.h>
#include <stdlib.h>

#include "shared/http/http_security_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_http_security_config config;
    struct ntk_err err = { 0 };

    if (ntk_http_security_config_parse((const char *)data, size, &config, &err) < 0) {
        if (err.text[0] == '\0') {
            abort(); /* a rejection has a message */
        }
        return 0;
    }
    if (config.user_count > NTK_HTTP_SECURITY_USERS_MAX ||
        config.header_count > NTK_HTTP_SECURITY_HEADERS_MAX ||
        config.tls_minor_min > config.tls_minor_max || config.tls_minor_max > 3 ||
        (config.has_tls && !config.cert == !config.cert_file)) {
        abort();
    }
    ntk_http_security_config_fini(&config);
    return 0;
}
