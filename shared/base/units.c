/* SPDX-License-Identifier: MIT */
/* units - formats numbers with units for screens. */
#include "shared/base/units.h"

#include <stdio.h>

static const char *scaled(char *buf, size_t buf_bytes, double value, double step,
                          const char *const *suffixes, size_t suffix_count)
{
    size_t i = 0;

    /* 999.95 would be printed as 1000.0, so use the next unit. */
    while (i + 1 < suffix_count && value >= step - step / 20000) {
        value /= step;
        i++;
    }
    if (i == 0) {
        snprintf(buf, buf_bytes, "%.0f%s", value, suffixes[i]);
    } else {
        snprintf(buf, buf_bytes,
                 value >= 100  ? "%.0f%s"
                 : value >= 10 ? "%.1f%s"
                               : "%.2f%s",
                 value, suffixes[i]);
    }
    return buf;
}

const char *ntk_units_bytes(char *buf, size_t buf_bytes, uint64_t bytes)
{
    static const char *const suffixes[] = { "B", "KB", "MB", "GB", "TB", "PB" };
    double value = (double)bytes;
    size_t i = 0;

    while (i + 1 < sizeof suffixes / sizeof *suffixes && value >= 1023.95) {
        value /= 1024;
        i++;
    }
    snprintf(buf, buf_bytes, i == 0 ? "%.0f%s" : "%.1f%s", value, suffixes[i]);
    return buf;
}

const char *ntk_units_duration(char *buf, size_t buf_bytes, uint64_t ns)
{
    static const char *const suffixes[] = { "ns", "us", "ms", "s" };

    return scaled(buf, buf_bytes, (double)ns, 1000, suffixes, 4);
}

const char *ntk_units_count(char *buf, size_t buf_bytes, double count)
{
    static const char *const suffixes[] = { "", "k", "M", "G", "T", "P" };

    return scaled(buf, buf_bytes, count, 1000, suffixes, 6);
}
