/* SPDX-License-Identifier: MIT */
#include "shared/base/text_wrap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MAX 10000

size_t ntk_text_width(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    unsigned long columns = text ? strtoul(text, NULL, 10) : 0;

    if (columns == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
    }
    if (columns == 0 || columns > WIDTH_MAX) {
        return NTK_TEXT_WIDTH;
    }
    return columns < NTK_TEXT_WIDTH_MIN ? NTK_TEXT_WIDTH_MIN : columns;
}

static size_t characters(const char *text, size_t bytes_count)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes_count; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

/* The number of bytes up to the next blank at which the line may be broken. A number stays with its
 * unit. */
static size_t piece(const char *text)
{
    size_t bytes_count = strcspn(text, " ");
    size_t number = (text[0] == '(') + strspn(text + (text[0] == '('), "0123456789.");

    if (number > (text[0] == '(') && number == bytes_count && text[number] == ' ' &&
        text[number + 1] != ' ') {
        bytes_count += 1 + strcspn(text + number + 1, " ");
    }
    return bytes_count;
}

void ntk_text_wrap(struct ntk_buf *out, const char *text, size_t indent, size_t width)
{
    size_t at = indent;

    text += strspn(text, " ");
    while (*text) {
        size_t bytes_count = piece(text);
        size_t word = characters(text, bytes_count);
        if (at > indent && at + 1 + word > width) {
            ntk_buf_add_char(out, '\n');
            ntk_buf_add_fill(out, ' ', indent);
            at = indent;
        } else if (at > indent) {
            ntk_buf_add_char(out, ' ');
            at++;
        }
        ntk_buf_add(out, text, bytes_count);
        at += word;
        text += bytes_count;
        text += strspn(text, " ");
    }
    ntk_buf_add_char(out, '\n');
}
