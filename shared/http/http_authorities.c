/* SPDX-License-Identifier: MIT */
#include "shared/http/http_authorities.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static bool is_below(const char *root, const char *path)
{
    char whole[PATH_MAX];

    return (size_t)snprintf(whole, sizeof whole, "%s%s", root, path) < sizeof whole &&
           access(whole, R_OK) == 0;
}

const char *http_authorities_file(const char *root, const char *built_in)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, Amazon Linux */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",                  /* Alpine */
    };

    if (built_in == NULL || is_below(root, built_in)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (is_below(root, places[i])) {
            return places[i];
        }
    }
    return NULL;
}
