/* SPDX-License-Identifier: MIT */
/* prometheus_negotiate - parses lists of "name; parameter=value" with quality values. */
#include "exporters/prometheus/prometheus_negotiate.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Parameters that distinguish formats. */
enum parameter { PARAMETER_VERSION, PARAMETER_PROTO, PARAMETER_ENCODING, PARAMETER_COUNT };
static const char *const parameter_names[] = { "version", "proto", "encoding" };

/* One element in the list. */
struct item {
    const char *name;
    size_t name_bytes;
    const char *parameter[PARAMETER_COUNT]; /* NULL if missing */
    size_t parameter_bytes[PARAMETER_COUNT];
    int quality; /* in thousandths */
};

static bool is_text(const char *bytes, size_t bytes_count, const char *text)
{
    return strlen(text) == bytes_count && !strncasecmp(bytes, text, bytes_count);
}

/* Parses a quality such as "1" or "0.75" to thousandths; an invalid quality counts as 1. */
static int parse_quality(const char *text, size_t text_bytes)
{
    int quality = 0;
    int place = 100;

    if (text_bytes == 0 || text[0] != '0') {
        return 1000;
    }
    for (size_t i = 2; i < text_bytes && place > 0 && text[i] >= '0' && text[i] <= '9'; i++) {
        quality += (text[i] - '0') * place;
        place /= 10;
    }
    return quality;
}

static void trim(const char **text, size_t *text_bytes)
{
    while (*text_bytes && strchr(" \t", **text)) {
        (*text)++;
        (*text_bytes)--;
    }
    while (*text_bytes && strchr(" \t", (*text)[*text_bytes - 1])) {
        (*text_bytes)--;
    }
}

static void take_parameter(struct item *item, const char *text, size_t text_bytes)
{
    const char *equals = memchr(text, '=', text_bytes);

    if (!equals) {
        return;
    }
    size_t name_bytes = (size_t)(equals - text);
    const char *value = equals + 1;
    size_t value_bytes = text_bytes - name_bytes - 1;
    trim(&text, &name_bytes);
    trim(&value, &value_bytes);
    if (is_text(text, name_bytes, "q")) {
        item->quality = parse_quality(value, value_bytes);
    }
    for (int i = 0; i < PARAMETER_COUNT; i++) {
        if (is_text(text, name_bytes, parameter_names[i])) {
            item->parameter[i] = value;
            item->parameter_bytes[i] = value_bytes;
        }
    }
}

static bool has(const struct item *item, enum parameter which, const char *value)
{
    return item->parameter[which] &&
           is_text(item->parameter[which], item->parameter_bytes[which], value);
}

/* Returns NTK_PROMETHEUS_FORMAT_COUNT for an unsupported format. */
static enum ntk_prometheus_format format_of(const struct item *item)
{
    static const char *const text_names[] = { "text/plain", "text/*", "*/*" };

    for (size_t i = 0; i < sizeof text_names / sizeof *text_names; i++) {
        if (is_text(item->name, item->name_bytes, text_names[i])) {
            return NTK_PROMETHEUS_TEXT_0_0_4;
        }
    }
    if (is_text(item->name, item->name_bytes, "application/openmetrics-text") &&
        (!item->parameter[PARAMETER_VERSION] || has(item, PARAMETER_VERSION, "1.0.0") ||
         has(item, PARAMETER_VERSION, "0.0.1"))) {
        return NTK_PROMETHEUS_OPENMETRICS_1_0_0;
    }
    if (is_text(item->name, item->name_bytes, "application/vnd.google.protobuf") &&
        has(item, PARAMETER_PROTO, "io.prometheus.client.MetricFamily") &&
        has(item, PARAMETER_ENCODING, "delimited")) {
        return NTK_PROMETHEUS_PROTOBUF;
    }
    return NTK_PROMETHEUS_FORMAT_COUNT;
}

/* Takes the next element and advances *at; false at the end. */
static bool next_item(const char **at, struct item *item)
{
    if (!**at) {
        return false;
    }
    size_t item_bytes = strcspn(*at, ",");
    const char *end = *at + item_bytes;

    *item = (struct item){ .quality = 1000 };
    for (const char *part = *at; part <= end;) {
        const char *semicolon = memchr(part, ';', (size_t)(end - part));
        const char *part_end = semicolon ? semicolon : end;
        const char *text = part;
        size_t text_bytes = (size_t)(part_end - part);
        trim(&text, &text_bytes);
        if (!item->name) {
            item->name = text;
            item->name_bytes = text_bytes;
        } else {
            take_parameter(item, text, text_bytes);
        }
        part = part_end + 1;
    }
    *at = *end ? end + 1 : end;
    return true;
}

enum ntk_prometheus_format ntk_prometheus_negotiate_format(const char *accept)
{
    enum ntk_prometheus_format format = NTK_PROMETHEUS_TEXT_0_0_4;
    int best = 0;
    struct item item;

    while (accept && next_item(&accept, &item)) {
        enum ntk_prometheus_format candidate = format_of(&item);
        if (candidate != NTK_PROMETHEUS_FORMAT_COUNT && item.quality > best) {
            best = item.quality;
            format = candidate;
        }
    }
    return format;
}

bool ntk_prometheus_negotiate_gzip(const char *accept_encoding)
{
    struct item item;
    int any = 0;
    int gzip = -1;

    while (accept_encoding && next_item(&accept_encoding, &item)) {
        if (is_text(item.name, item.name_bytes, "gzip") ||
            is_text(item.name, item.name_bytes, "x-gzip")) {
            gzip = item.quality;
        } else if (is_text(item.name, item.name_bytes, "*")) {
            any = item.quality;
        }
    }
    return gzip >= 0 ? gzip > 0 : any > 0;
}
