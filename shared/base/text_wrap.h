/* SPDX-License-Identifier: MIT */
/*
 * text_wrap - breaks prose at blanks to fit a screen.
 *
 * Errors:  the same as buf.h; the buffer keeps them.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_TEXT_WRAP_H
#define NTK_SHARED_BASE_TEXT_WRAP_H

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_TEXT_WIDTH 80 /* used if the width is unknown */
#define NTK_TEXT_WIDTH_MIN 40

/* The line width on stdout: $COLUMNS, else the terminal's width, else NTK_TEXT_WIDTH; at least
 * NTK_TEXT_WIDTH_MIN. */
size_t ntk_text_width(void);
/* Appends text and a line feed. The first line begins at column `indent`, where the caller's text
 * ended; later lines begin with that many blanks. A word that is longer than a line gets a separate
 * line. A number and the word after it stay together. Width is counted in UTF-8 characters. */
void ntk_text_wrap(struct ntk_buf *out, const char *text, size_t indent, size_t width);

#ifdef __cplusplus
}
#endif
#endif
