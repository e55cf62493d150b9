/* SPDX-License-Identifier: MIT */
/* format - formats numbers with a fixed width, which rounding never increases. */
#include "top/base/format.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"

#define HBM "HBM" /* same as in labels */

const char *ntk_top_format_percent(char *buf, struct ntk_top_number percent)
{
    if (!percent.present) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "     -");
    } else if (percent.estimated) {
        char text[NTK_TOP_FORMAT_BYTES];

        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%s",
                       ntk_top_format_percent_short(text, 6, percent));
    } else if (percent.value >= 99.995) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "  100%%");
    } else {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%5.2f%%",
                       percent.value > 0 ? percent.value : 0.0);
    }
    return buf;
}

const char *ntk_top_format_teraflops(char *buf, struct ntk_top_number teraflops)
{
    if (!teraflops.present) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "         -");
    } else {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%8.3fTF", teraflops.value);
    }
    return buf;
}

/* Writes a small number like "%.*f", if its rounding is beyond doubt: printf() rounds the exact
 * binary value and takes ten times as long. A screen has hundreds of percentages. Returns the
 * length, or 0. */
static int write_small(char *buf, double value, int decimals, const char *unit)
{
    static const unsigned int scales[] = { 1, 10, 100, 1000 };
    size_t unit_bytes = strlen(unit);
    char *at = buf;

    if (!(value >= 0 && value < 1000) || decimals >= (int)(sizeof scales / sizeof *scales)) {
        return 0;
    }
    double scaled = value * scales[decimals];
    unsigned int whole = (unsigned int)scaled;
    double rest = scaled - whole;
    if (rest > 0.499999 && rest < 0.500001) {
        return 0;
    }
    whole += rest > 0.5;
    unsigned int integer = whole / scales[decimals];
    unsigned int fraction = whole % scales[decimals];
    for (unsigned int digit = integer >= 1000  ? 1000
                              : integer >= 100 ? 100
                              : integer >= 10  ? 10
                                               : 1;
         digit > 0; digit /= 10) {
        *at++ = (char)('0' + integer / digit % 10);
    }
    if (decimals > 0) {
        *at++ = '.';
    }
    for (unsigned int digit = scales[decimals] / 10; digit > 0; digit /= 10) {
        *at++ = (char)('0' + fraction / digit % 10);
    }
    memcpy(at, unit, unit_bytes + 1);
    return (int)(at - buf + (ptrdiff_t)unit_bytes);
}

/* Formats value, right-aligned before unit, with at most `decimals` decimals, as many as fit. */
static const char *fit(char *buf, int width, double value, int decimals, const char *unit)
{
    char text[NTK_TOP_FORMAT_BYTES];
    int room = width - (int)strlen(unit) - 2; /* space after a digit and the point */
    int length = 0;

    for (double rest = value; rest >= 10 && room > 0; rest /= 10) {
        room--;
    }
    for (int d = decimals < room ? decimals : room > 0 ? room : 0; d >= 0; d--) {
        length = write_small(text, value, d, unit);
        length = length > 0 ? length : snprintf(text, sizeof text, "%.*f%s", d, value, unit);
        if (length <= width) {
            break;
        }
    }
    /* right-aligned, and truncated at the end of the buffer */
    int blanks = length < width ? width - length : 0;
    blanks = blanks < NTK_TOP_FORMAT_BYTES ? blanks : NTK_TOP_FORMAT_BYTES - 1;
    memset(buf, ' ', (size_t)blanks);
    (void)ntk_str_copy(buf + blanks, (size_t)(NTK_TOP_FORMAT_BYTES - blanks), text);
    return buf;
}

const char *ntk_top_format_percent_short(char *buf, int width, struct ntk_top_number percent)
{
    double value = percent.value > 100 ? 100 : percent.value > 0 ? percent.value : 0.0;

    if (!percent.present) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%*s", width, "-");
        return buf;
    }
    if (percent.estimated && width >= 4) {
        const struct ntk_top_number plain = { percent.value, true };
        char text[NTK_TOP_FORMAT_BYTES];

        (void)ntk_top_format_percent_short(text, width - 1, plain);
        size_t blanks = strspn(text, " ");
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%*s~%s", (int)blanks, "", text + blanks);
        return buf;
    }
    /* Use the same decimals for every value, so that a column does not move: space for "99.99%". */
    if (value >= 99.5) {
        return fit(buf, width, 100, 0, width >= 4 ? "%" : "");
    }
    return fit(buf, width, value, width >= 6 ? 2 : width >= 5 ? 1 : 0, width >= 4 ? "%" : "");
}

const char *ntk_top_format_teraflops_short(char *buf, int width, struct ntk_top_number teraflops)
{
    if (!teraflops.present) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%*s", width, "-");
        return buf;
    }
    return fit(buf, width, teraflops.value, 3, width >= 8 ? "TF" : width >= 5 ? "T" : "");
}

const char *ntk_top_format_bytes(char *buf, struct ntk_top_bytes bytes)
{
    static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
    double value = (double)bytes.value;
    size_t unit = 0;

    if (!bytes.present) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "-");
        return buf;
    }
    /* 1023.95 would be printed as 1024.0. */
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%s%.*f%s", bytes.estimated ? "~" : "",
                   bytes.estimated && value >= 99.95 ? 0 : 1, value, units[unit]);
    return buf;
}

const char *ntk_top_format_delay(char *buf, uint64_t delay_ns)
{
    static const struct {
        uint64_t ms;
        const char *suffix;
    } units[] = { { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
    uint64_t ms = delay_ns / NTK_NS_PER_MS;
    size_t i = 0;

    while (ms % units[i].ms != 0) {
        i++;
    }
    i = ms == 0 ? 3 : i;
    (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%llu%s", (unsigned long long)(ms / units[i].ms),
                   units[i].suffix);
    return buf;
}

const char *ntk_top_format_clock(char *buf, uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / NTK_NS_PER_SECOND);
    struct tm date;

    buf[0] = '\0';
    if (localtime_r(&seconds, &date)) {
        (void)strftime(buf, NTK_TOP_FORMAT_BYTES, "%H:%M:%S", &date);
    }
    return buf;
}

const char *ntk_top_format_age(char *buf, uint64_t age_ns)
{
    unsigned long long seconds = age_ns / NTK_NS_PER_SECOND;
    unsigned long long minutes = seconds / 60;

    if (minutes < 1) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%llus", seconds);
    } else if (minutes < 120) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%llum", minutes);
    } else if (minutes < 48 * 60) {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%lluh", minutes / 60);
    } else {
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%llud", minutes / (24 * 60));
    }
    return buf;
}

const char *ntk_top_format_label(char buf[NTK_TOP_LABEL_BYTES], const char *memory_type,
                                 const char *text)
{
    const char *at = strstr(text, HBM);

    if (!at || !memory_type || strcmp(memory_type, HBM) == 0) {
        return text;
    }
    (void)snprintf(buf, NTK_TOP_LABEL_BYTES, "%.*s%s%s", (int)(at - text), text, memory_type,
                   at + strlen(HBM));
    return buf;
}
