/* SPDX-License-Identifier: MIT */
/* http_address - parses a listening address. */
#include "shared/http/http_address.h"

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"

int ntk_http_address_parse(const char *text, const char *default_host,
                           struct ntk_http_address *out_address, struct ntk_err *err)
{
    struct ntk_http_address address = { { 0 }, 0 };
    const char *port_text = text;
    const char *host = default_host;
    size_t host_bytes = strlen(default_host);
    uint64_t port;

    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (!close || close[1] != ':') {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected '[ADDRESS]:PORT'");
        }
        host = text + 1;
        host_bytes = (size_t)(close - host);
        port_text = close + 2;
    } else {
        const char *colon = strrchr(text, ':');
        if (colon) {
            host = text;
            host_bytes = (size_t)(colon - text);
            port_text = colon + 1;
            if (memchr(host, ':', host_bytes)) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "invalid IPv6 address: expected '[ADDRESS]:PORT'");
            }
        }
    }
    if (host_bytes >= sizeof address.host) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the address is too long");
    }
    if (port_text[0] < '0' || port_text[0] > '9' || ntk_str_parse_u64(port_text, &port) < 0 ||
        port > UINT16_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected '[ADDRESS:]PORT' with a port up to 65535");
    }
    memcpy(address.host, host, host_bytes);
    address.port = (uint16_t)port;
    *out_address = address;
    return 0;
}

bool ntk_http_address_is_loopback(const struct ntk_http_address *address)
{
    return ntk_str_starts_with(address->host, "127.") || !strcmp(address->host, "::1") ||
           !strcmp(address->host, "localhost");
}
