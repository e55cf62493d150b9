/* SPDX-License-Identifier: MIT */
/* url - removes secrets from addresses, so that messages may show them. */
#include "shared/base/url.h"

#include <stdbool.h>
#include <string.h>

#include "shared/base/str.h"

/* Returns true if the part after the last colon of HOST:PORT is a number, or is missing. */
static bool has_port(const char *authority, size_t bytes)
{
    const char *colon = memrchr(authority, ':', bytes);

    while (colon && ++colon < authority + bytes) {
        if (*colon < '0' || *colon > '9') {
            return authority[0] == '[';
        }
    }
    return true;
}

/* The length of the part before the host in an address of this many bytes. */
static size_t secret_bytes(const char *start, size_t bytes)
{
    size_t authority = 0;

    while (authority < bytes && !memchr("/?#", start[authority], 3)) {
        authority++;
    }
    const char *at = memrchr(start, '@', authority);
    /* A password with one of these characters ends the authority early, so the part before the last
     * '@' is removed. */
    if (!at && !has_port(start, authority)) {
        at = memrchr(start, '@', bytes);
    }
    return at ? (size_t)(at + 1 - start) : 0;
}

const char *ntk_url_redact(char *to, size_t to_bytes, const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *start = scheme ? scheme + 3 : url;
    const char *host = start + secret_bytes(start, strlen(start));

    ntk_str_copy_clean(to, to_bytes, url, (size_t)(start - url));
    size_t filled = strlen(to);
    ntk_str_copy_clean(to + filled, to_bytes - filled, host, strcspn(host, "?#"));
    return to;
}

size_t ntk_url_redact_text(char *text, size_t bytes)
{
    char *end = text + bytes;
    char *scheme;

    for (char *at = text; (scheme = memmem(at, (size_t)(end - at), "://", 3)); at = scheme + 3) {
        char *start = scheme + 3;
        size_t word = 0;

        while (start + word < end && !memchr(" \t\r\n\"'<>", start[word], 7)) {
            word++;
        }
        size_t secret = secret_bytes(start, word);
        memmove(start, start + secret, (size_t)(end - start) - secret);
        end -= secret;
    }
    return (size_t)(end - text);
}
