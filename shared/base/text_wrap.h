/* SPDX-License-Identifier: MIT */
/*
 * text_wrap - prose broken at blanks, for a screen.
 *
 * Errors:  those of buf.h, which the buffer keeps.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_TEXT_WRAP_H
#define NTK_SHARED_BASE_TEXT_WRAP_H

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_TEXT_WIDTH 80 /* when the width is unknown */
#define NTK_TEXT_WIDTH_MIN 40

/* The width of lines on stdout: $COLUMNS, else that of the terminal, else NTK_TEXT_WIDTH; at least
 * NTK_TEXT_WIDTH_MIN. */
size_t ntk_text_width(void);
/* Appends text and a line feed. The first line begins at column `indent`, where the caller's text
 * ended; the others begin with that many blanks. A word that is longer than a line gets a line
 * alone. A number and the word after it stay together. Width counts characters of UTF-8. */
void ntk_text_wrap(struct ntk_buf *out, const char *text, size_t indent, size_t width);

#ifdef __cplusplus
}
#endif
#endif
