/* SPDX-License-Identifier: MIT */
/*
 * slot_text - writes short words and numbers into a buffer quickly: a slot's text has dozens of
 * them, and with printf they would take longer than the rest of an export.
 *
 *   struct slot_text text = { .out = out };
 *   SLOT_TEXT_WORD(&text, "channels=");
 *   slot_text_number(&text, slot[34]);
 *   slot_text_end(&text);                  // before anything else is written to out, or read
 *
 * Private to vendor_slot.c. Owner: borrows the buffer. Threads: one.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_SLOT_TEXT_H
#define NTK_SHARED_FORMATS_NEFF_SLOT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/buf.h"

#define SLOT_TEXT_WORD_MAX 64U    /* maximum bytes of a word or number */
#define SLOT_TEXT_ROOM_BYTES 512U /* enough for most slots */

struct slot_text {
    struct ntk_buf *out;
    char *at, *end;                 /* room after the bytes of out; NULL: no text is open */
    char spare[SLOT_TEXT_WORD_MAX]; /* takes the discarded words if out of memory */
};

/* Commits the text, with a NUL at its end. */
static inline void slot_text_end(struct slot_text *text)
{
    if (text->at && text->end != text->spare + sizeof text->spare) {
        *text->at = '\0';
        text->out->bytes_count = (size_t)(text->at - text->out->bytes);
    }
    text->at = text->end = NULL;
}

/* Makes room for one word. */
static inline char *slot_text_room(struct slot_text *text)
{
    if ((size_t)(text->end - text->at) >= SLOT_TEXT_WORD_MAX) {
        return text->at;
    }
    slot_text_end(text);
    text->at = ntk_buf_extend(text->out, SLOT_TEXT_ROOM_BYTES);
    if (text->at) {
        text->out->bytes_count -= SLOT_TEXT_ROOM_BYTES;
        text->end = text->at + SLOT_TEXT_ROOM_BYTES;
    } else {
        text->at = text->spare;
        text->end = text->spare + sizeof text->spare;
    }
    return text->at;
}

/* Adds at most SLOT_TEXT_WORD_MAX bytes of the word. */
static inline void slot_text_word(struct slot_text *text, const char *word, size_t bytes)
{
    char *at = slot_text_room(text);

    bytes = bytes < SLOT_TEXT_WORD_MAX ? bytes : SLOT_TEXT_WORD_MAX;
    memcpy(at, word, bytes);
    text->at = at + bytes;
}
#define SLOT_TEXT_WORD(text, literal) slot_text_word((text), "" literal, sizeof(literal) - 1)

/* Adds a decimal number. */
static inline void slot_text_number(struct slot_text *text, uint64_t value)
{
    char *at = slot_text_room(text);
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count > 0) {
        *at++ = digits[--count];
    }
    text->at = at;
}

static inline void slot_text_signed(struct slot_text *text, int64_t value)
{
    if (value < 0) {
        SLOT_TEXT_WORD(text, "-");
    }
    slot_text_number(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Adds hexadecimal digits, at least this many. */
static inline void slot_text_digits(struct slot_text *text, uint64_t value, unsigned least)
{
    char *at = slot_text_room(text);
    unsigned count = 16;

    while (count > least && value >> 4 * (count - 1) == 0) {
        count--;
    }
    while (count-- > 0) {
        *at++ = "0123456789abcdef"[value >> 4 * count & 15];
    }
    text->at = at;
}

/* Adds a number in the form 0x1f. */
static inline void slot_text_hex(struct slot_text *text, uint64_t value)
{
    SLOT_TEXT_WORD(text, "0x");
    slot_text_digits(text, value, 1);
}

#endif
