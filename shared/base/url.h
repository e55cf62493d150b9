/* SPDX-License-Identifier: MIT */
/*
 * url - addresses as messages may show them.
 *
 * A URL may hold a name and a password before its host, and a token in its query or fragment.
 * Every program passes an address that a user gave through this before it prints or stores it.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_URL_H
#define NTK_SHARED_BASE_URL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enough for what ntk_url_redact() leaves of an address. */
#define NTK_URL_SHOWN_BYTES 320

/* Copies "SCHEME://USER:PASSWORD@HOST/PATH?QUERY#FRAGMENT" as "SCHEME://HOST/PATH"; the scheme may
 * be missing. Cut to to_bytes; unsafe characters as in str.h. Returns to. */
const char *ntk_url_redact(char *to, size_t to_bytes, const char *url);
/* Removes "USER:PASSWORD@" from each URL in a text, in place; its new length. err and log do it for
 * every sentence and line. */
size_t ntk_url_redact_text(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
