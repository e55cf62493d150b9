/* SPDX-License-Identifier: MIT */
/*
 * url - addresses in a form that messages may show.
 *
 * A URL may contain a name and a password before its host, and a token in its query or fragment.
 * Every program passes a user's address through this before it prints or stores it.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_URL_H
#define NTK_SHARED_BASE_URL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enough for the result of ntk_url_redact(). */
#define NTK_URL_SHOWN_BYTES 320

/* Copies "SCHEME://USER:PASSWORD@HOST/PATH?QUERY#FRAGMENT" as "SCHEME://HOST/PATH"; the scheme may
 * be missing. Truncates to to_bytes; treats unsafe characters as str.h does. Returns to. */
const char *ntk_url_redact(char *to, size_t to_bytes, const char *url);
/* Removes "USER:PASSWORD@" from each URL in a text, in place; returns the new length. err and log
 * do this for every message and line. */
size_t ntk_url_redact_text(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
