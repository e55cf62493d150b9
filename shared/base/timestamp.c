/* SPDX-License-Identifier: MIT */
/* timestamp - converts between times and the form that users write. */
#include "shared/base/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"

/* In the year 2262; later times do not fit into nanoseconds. */
#define SECONDS_MAX 9223372036.0

static int bad(struct ntk_err *err)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "expected 2026-11-21T07:30:00Z, or seconds since the Unix epoch");
}

/* Parses the digits after the point as ns; returns the rest of the text. */
static const char *take_fraction(const char *text, uint64_t *out_ns)
{
    uint64_t unit_ns = NTK_NS_PER_SECOND / 10;

    *out_ns = 0;
    if (text[0] != '.' || text[1] < '0' || text[1] > '9') {
        return text;
    }
    for (text++; *text >= '0' && *text <= '9'; text++) {
        *out_ns += (uint64_t)(*text - '0') * unit_ns;
        unit_ns /= 10;
    }
    return text;
}

/* Parses "Z", "+02:00" or "-0330" to seconds east of Greenwich; false for any other text. */
static bool take_zone(const char *text, long *out_seconds)
{
    unsigned int hours;
    unsigned int minutes;
    char rest;

    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        *out_seconds = 0;
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') ||
        (sscanf(text + 1, "%2u:%2u%c", &hours, &minutes, &rest) != 2 &&
         sscanf(text + 1, "%2u%2u%c", &hours, &minutes, &rest) != 2) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *out_seconds = (long)(hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
    return true;
}

static const char *take_date(const char *text, struct tm *date)
{
    static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                         "%Y-%m-%d %H:%M", "%Y-%m-%d" };

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *date = (struct tm){ .tm_isdst = -1 };
        const char *rest = strptime(text, forms[i], date);
        if (rest) {
            return rest;
        }
    }
    return NULL;
}

/* Returns true if the month has this day: strptime() accepts the 31st of every month. */
static bool is_day(const struct tm *date)
{
    struct tm noon = {
        .tm_year = date->tm_year, .tm_mon = date->tm_mon, .tm_mday = date->tm_mday, .tm_hour = 12
    };

    return timegm(&noon) != -1 && noon.tm_mday == date->tm_mday;
}

int ntk_timestamp_parse(const char *text, uint64_t *out_ns, struct ntk_err *err)
{
    struct tm date;
    uint64_t fraction_ns;
    long zone = 0;
    double seconds;
    time_t time;

    if (ntk_str_parse_double(text, &seconds) == 0) {
        if (!(seconds >= 0 && seconds <= SECONDS_MAX)) {
            return bad(err);
        }
        *out_ns = (uint64_t)(seconds * (double)NTK_NS_PER_SECOND);
        return 0;
    }
    const char *rest = take_date(text, &date);
    if (!rest || !is_day(&date)) {
        return bad(err);
    }
    rest = take_fraction(rest, &fraction_ns);
    if (*rest == '\0') {
        time = mktime(&date);
    } else if (take_zone(rest, &zone)) {
        time = timegm(&date) - zone;
    } else {
        return bad(err);
    }
    if (time < 0 || (double)time > SECONDS_MAX) {
        return bad(err);
    }
    *out_ns = (uint64_t)time * NTK_NS_PER_SECOND + fraction_ns;
    return 0;
}

void ntk_timestamp_format(uint64_t ns, char *buf, size_t buf_bytes)
{
    time_t seconds = (time_t)(ns / NTK_NS_PER_SECOND);
    unsigned int ms = (unsigned int)(ns % NTK_NS_PER_SECOND / NTK_NS_PER_MS);
    struct tm utc;
    size_t count = strftime(buf, buf_bytes, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));

    (void)snprintf(buf + count, buf_bytes - count, ms ? ".%03uZ" : "Z", ms);
}
