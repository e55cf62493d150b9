/* SPDX-License-Identifier: MIT */
/*
 * url - removes secrets from addresses, so that messages may show them.
 *
 * A URL may contain a name and a password before its host, and a token in its query or fragment.
 * Every program passes addresses from users through these functions before it prints or stores
 * them.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_URL_H
#define NTK_SHARED_BASE_URL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Large enough for any result of ntk_url_redact(). */
#define NTK_URL_SHOWN_BYTES 320

/* Copies "SCHEME://USER:PASSWORD@HOST/PATH?QUERY#FRAGMENT" as "SCHEME://HOST/PATH"; the scheme may
 * be missing. Truncates to to_bytes; treats unsafe characters as str.h does. Returns to. */
const char *ntk_url_redact(char *to, size_t to_bytes, const char *url);
/* Removes "USER:PASSWORD@" from each URL in a text, in place; returns the new length. err.c and
 * log.c call it for every message and line. */
size_t ntk_url_redact_text(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
