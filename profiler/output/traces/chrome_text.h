/* SPDX-License-Identifier: MIT */
/*
 * chrome_text - writes numbers and fixed words of an event in place, because an event has a dozen
 * of them, and a call for each would be slower than writing the characters.
 *
 * Each function writes at `at`, where the caller reserved space, and returns the end.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_CHROME_TEXT_H
#define NTK_PROFILER_OUTPUT_TRACES_CHROME_TEXT_H

#include <stdint.h>
#include <string.h>

#define NTK_CHROME_NUMBER_BYTES 20U
/* Maximum length of a time in microseconds: sign, digits, point and three more digits. */
#define NTK_CHROME_US_BYTES (NTK_CHROME_NUMBER_BYTES + 5U)

static inline char *ntk_chrome_word(char *at, const char *word, size_t length)
{
    memcpy(at, word, length);
    return at + length;
}
#define NTK_CHROME_WORD(at, literal) ntk_chrome_word(at, literal, sizeof(literal) - 1)

static inline char *ntk_chrome_u64(char *at, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    static const uint64_t powers[] = {
        0,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000U,
    };
    /* 1233 / 4096 approximates log10 of 2: the result is at most one too large */
    size_t digits = (size_t)(64 - __builtin_clzll(value | 1)) * 1233 / 4096;
    digits += value >= powers[digits] || digits == 0;
    char *end = at + digits;
    char *to = end;
    while (value >= 100) {
        to -= 2;
        memcpy(to, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        memcpy(to - 2, pairs + value * 2, 2);
    } else {
        to[-1] = (char)('0' + value);
    }
    return end;
}

/* Writes nanoseconds as microseconds with three digits, the unit of the format. */
static inline char *ntk_chrome_us(char *at, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    unsigned below = (unsigned)(size % 1000);

    if (ns < 0) {
        *at++ = '-';
    }
    at = ntk_chrome_u64(at, size / 1000);
    at[0] = '.';
    at[1] = (char)('0' + below / 100);
    at[2] = (char)('0' + below / 10 % 10);
    at[3] = (char)('0' + below % 10);
    return at + 4;
}

#endif
