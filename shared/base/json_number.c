/* SPDX-License-Identifier: MIT */
/* json_number - floating-point numbers as the shortest text that reads back, in Go's form. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json.h"

static size_t put_text(char *buf, size_t buf_bytes, const char *text, size_t length)
{
    if (buf_bytes > 0) {
        size_t kept = length < buf_bytes ? length : buf_bytes - 1;

        memcpy(buf, text, kept);
        buf[kept] = '\0';
    }
    return length;
}

/* Writes an integer without printf, which takes ten times as long. */
static size_t put_whole(char *buf, size_t buf_bytes, bool is_negative, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (is_negative) {
        digits[--at] = '-';
    }
    return put_text(buf, buf_bytes, digits + at, sizeof digits - at);
}

#define DIGITS_BYTES 40

/* Splits printf's %e text into the digits, without trailing zeros, and the exponent. */
static int split_digits(const char *text, char *digits, int *out_exponent)
{
    int count = 0;
    const char *at = text;

    for (; *at && *at != 'e'; at++) {
        if (*at != '.') {
            digits[count++] = *at;
        }
    }
    *out_exponent = atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    digits[count] = '\0';
    return count;
}

#define PLACES_MIN 15 /* at most one number with this many digits reads back to a given double */
#define PLACES_MAX 17

__extension__ typedef unsigned __int128 wide;

static wide ten_to(int power)
{
    static const uint64_t ten_to_10 = 10000000000;
    wide value = power >= 20 ? (wide)ten_to_10 * ten_to_10 : power >= 10 ? ten_to_10 : 1;

    for (power %= 10; power > 0; power--) {
        value *= 10;
    }
    return value;
}

/* The shortest digits that read back to value, without trailing zeros, computed with exact
 * integers, because printf takes ten times as long. Returns 0 for numbers that are too large or
 * small for that, and for powers of two, because the distances to their two neighbours differ. */
static int exact_digits(double value, char *digits, int *out_exponent)
{
    int power;
    int exponent;

    if (value < 1e-6 || value >= 1e15) {
        return 0;
    }
    /* Here, value is mantissa / 2^shift. */
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &power), 53);
    int shift = 53 - power;
    if (mantissa == UINT64_C(1) << 52) {
        return 0;
    }
    exponent = (int)floor(log10(value)); /* may be off by one */
    for (int places = PLACES_MIN; places <= PLACES_MAX; places++) {
        wide scale = ten_to(places - 1 - exponent);
        wide exact = scale * mantissa;
        wide unit = (wide)1 << shift;
        uint64_t number = (uint64_t)(exact >> shift);
        wide rest = exact & (unit - 1);

        if (number < ten_to(places - 1) || number >= ten_to(places)) {
            exponent += number < ten_to(places - 1) ? -1 : 1;
            places--;
            continue;
        }
        if (2 * rest > unit || (2 * rest == unit && number % 2 == 1)) {
            number++;
            rest = unit - rest;
        }
        if (2 * rest < scale || (2 * rest == scale && mantissa % 2 == 0)) {
            int count = (int)put_whole(digits, DIGITS_BYTES, false, number);

            *out_exponent = exponent + count - places;
            while (digits[count - 1] == '0') {
                count--;
            }
            return count;
        }
    }
    return 0;
}

/* The shortest of 15, 16 and 17 digits that reads back to the same double; 17 digits always do.
 * Shorter values are found by dropping zeros. Only below DBL_MIN do 15 digits differ from one. */
static int shortest_of_double(double value, char *digits, int *out_exponent)
{
    char text[40];
    int count = exact_digits(value, digits, out_exponent);

    if (count > 0) {
        return count;
    }
    for (int precision = value < DBL_MIN ? 0 : 14; precision <= 16;
         precision = precision ? precision + 1 : 14) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (precision < 16 && strtod(text, NULL) == value) {
            break;
        }
    }
    return split_digits(text, digits, out_exponent);
}

/* Same for a float, with 6 to 9 digits. */
static int shortest_of_float(float value, char *digits, int *out_exponent)
{
    char text[40];

    for (int precision = value < FLT_MIN ? 0 : 5; precision <= 8;
         precision = precision ? precision + 1 : 5) {
        snprintf(text, sizeof text, "%.*e", precision, (double)value);
        if (precision < 8 && strtof(text, NULL) == value) {
            break;
        }
    }
    return split_digits(text, digits, out_exponent);
}

/* Writes the digits of value = d.ddd x 10^exponent by Go's rules; the first `used` bytes of local
 * are the sign. */
static size_t place_digits(char *buf, size_t buf_bytes, char *local, size_t local_bytes,
                           size_t used, const char *digits, int count, int exponent)
{
    if (exponent < -6 || exponent >= 21) {
        local[used++] = digits[0];
        if (count > 1) {
            local[used++] = '.';
            memcpy(local + used, digits + 1, (size_t)count - 1);
            used += (size_t)count - 1;
        }
        used += (size_t)snprintf(local + used, local_bytes - used, "e%c%02d",
                                 exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    } else if (exponent < 0) {
        local[used++] = '0';
        local[used++] = '.';
        for (int i = 1; i < -exponent; i++) {
            local[used++] = '0';
        }
        memcpy(local + used, digits, (size_t)count);
        used += (size_t)count;
    } else {
        for (int i = 0; i < count || i <= exponent; i++) {
            if (i == exponent + 1) {
                local[used++] = '.';
            }
            local[used++] = i < count ? digits[i] : '0';
        }
    }
    return put_text(buf, buf_bytes, local, used);
}

size_t ntk_json_format_double(char *buf, size_t buf_bytes, double value)
{
    char digits[DIGITS_BYTES];
    int exponent;
    char local[64];
    size_t used = 0;

    if (!isfinite(value)) {
        return (size_t)snprintf(buf, buf_bytes, "null");
    }
    if (value == 0) {
        return put_whole(buf, buf_bytes, signbit(value), 0);
    }
    if (value < 0) {
        local[used++] = '-';
        value = -value;
    }
    if (value < 9007199254740992.0 && value == (double)(uint64_t)value) {
        return put_whole(buf, buf_bytes, used > 0, (uint64_t)value);
    }
    int count = shortest_of_double(value, digits, &exponent);
    return place_digits(buf, buf_bytes, local, sizeof local, used, digits, count, exponent);
}

/* Integers that a float cannot hold exactly: the roundest number that reads back to the same
 * float. */
static uint64_t roundest_integer(float value)
{
    uint64_t exact = (uint64_t)value;

    uint64_t unit = 1;

    while (exact / unit >= 100000) { /* most values need more than five digits */
        unit *= 10;
    }
    for (; unit > 1; unit /= 10) {
        uint64_t rounded = (exact + unit / 2) / unit * unit;
        if ((float)rounded == value) {
            return rounded;
        }
    }
    return exact;
}

size_t ntk_json_format_float(char *buf, size_t buf_bytes, float value)
{
    char digits[DIGITS_BYTES];
    int exponent;
    char local[64];
    size_t used = 0;

    if (!isfinite(value) || (fabsf(value) < 16777216.0F && value == truncf(value))) {
        return ntk_json_format_double(buf, buf_bytes, (double)value);
    }
    if (value < 0) {
        local[used++] = '-';
        value = -value;
    }
    if (value >= 16777216.0F && value < 1e18F) {
        return put_whole(buf, buf_bytes, used > 0, roundest_integer(value));
    }
    int count = shortest_of_float(value, digits, &exponent);
    return place_digits(buf, buf_bytes, local, sizeof local, used, digits, count, exponent);
}
