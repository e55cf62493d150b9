/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_endpoint.h"

#include <stdio.h>
#include <string.h>

char *ntk_rpc_endpoint_make(const char *text)
{
    char *endpoint = NULL;

    if (text[0] == '/' || !strchr(text, ':')) {
        return asprintf(&endpoint, "unix:%s", text) < 0 ? NULL : endpoint;
    }
    return strdup(text);
}
