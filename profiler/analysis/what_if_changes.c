/* SPDX-License-Identifier: MIT */
/* what_if_changes - parses changes of one execution, such as "dma=2,wait:20", and formats them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/what_if.h"

#define TEXT_BYTES (NTK_WHAT_IF_NAME_BYTES + 64)

static const struct {
    const char *name;
    enum ntk_what_if_part part;
} plain_parts[] = {
    { "dma", NTK_WHAT_IF_DMA },         { "dma-latency", NTK_WHAT_IF_DMA_LATENCY },
    { "latency", NTK_WHAT_IF_LATENCY }, { "transposes", NTK_WHAT_IF_TRANSPOSES },
    { "engines", NTK_WHAT_IF_ENGINES },
};
#define PLAIN_PARTS (sizeof plain_parts / sizeof *plain_parts)

static int number_parse(const char *text, unsigned max, unsigned *out)
{
    char *end = NULL;

    if (*text < '0' || *text > '9') {
        return -EINVAL;
    }
    unsigned long value = strtoul(text, &end, 10);
    *out = (unsigned)value;
    return *end || value > max ? -EINVAL : 0;
}

/* Parses "FILE:LINE". */
static int line_parse(char *text, struct ntk_what_if_change *out)
{
    char *colon = strrchr(text, ':');

    if (!colon || colon == text || (size_t)(colon - text) >= sizeof out->name) {
        return -EINVAL;
    }
    *colon = '\0';
    memcpy(out->name, text, strlen(text) + 1);
    return number_parse(colon + 1, INT32_MAX, &out->number);
}

static int engine_parse(const char *text, enum ntk_what_if_part part,
                        struct ntk_what_if_change *out)
{
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (strcmp(text, ntk_ntff_engine_name(e)) == 0) {
            out->part = part;
            out->number = e;
            return 0;
        }
    }
    return -EINVAL;
}

/* Parses "20", "vector", "qSyncIO0" or "FILE:LINE". */
static int wait_parse(char *text, struct ntk_what_if_change *out)
{
    size_t length = strlen(text);

    if (*text >= '0' && *text <= '9' && !strchr(text, ':')) {
        out->part = NTK_WHAT_IF_WAIT;
        return number_parse(text, UINT8_MAX, &out->number);
    }
    if (strchr(text, ':')) {
        out->part = NTK_WHAT_IF_WAIT_LINE;
        return line_parse(text, out);
    }
    if (engine_parse(text, NTK_WHAT_IF_WAIT_ENGINE, out) == 0) {
        return 0;
    }
    out->part = NTK_WHAT_IF_WAIT_QUEUE;
    if (length == 0 || length >= sizeof out->name) {
        return -EINVAL;
    }
    memcpy(out->name, text, length + 1);
    return 0;
}

static int part_parse(char *text, struct ntk_what_if_change *out)
{
    for (size_t i = 0; i < PLAIN_PARTS; i++) {
        if (strcmp(text, plain_parts[i].name) == 0) {
            out->part = plain_parts[i].part;
            return 0;
        }
    }
    if (strncmp(text, "line:", 5) == 0) {
        out->part = NTK_WHAT_IF_LINE;
        return line_parse(text + 5, out);
    }
    if (strncmp(text, "wait:", 5) == 0) {
        return wait_parse(text + 5, out);
    }
    return engine_parse(text, NTK_WHAT_IF_ENGINE, out);
}

/* Parses a decimal number, which must be positive and finite. */
static int speed_parse(const char *text, double *out)
{
    char *end = NULL;

    if (!*text || strspn(text, "0123456789.eE+") != strlen(text) || *text == '+') {
        return -EINVAL;
    }
    *out = strtod(text, &end);
    return *end || !(*out >= NTK_WHAT_IF_SPEED_MIN && *out <= NTK_WHAT_IF_SPEED_MAX) ? -EINVAL : 0;
}

static int change_parse(const char *word, size_t length, struct ntk_what_if_change *out)
{
    char text[TEXT_BYTES];

    if (length == 0 || length >= sizeof text) {
        return -EINVAL;
    }
    memcpy(text, word, length);
    text[length] = '\0';
    *out = (struct ntk_what_if_change){ 0 };
    char *equals = strrchr(text, '=');
    if (equals) {
        *equals = '\0';
    }
    int ret = part_parse(text, out);
    if (ret == 0 && equals) {
        ret = ntk_what_if_is_wait(out->part) ? -EINVAL : speed_parse(equals + 1, &out->speed);
    }
    return ret;
}

int ntk_what_if_changes_add(struct ntk_what_if_changes *changes, const char *text,
                            struct ntk_err *err)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct ntk_what_if_change change;

        if (change_parse(at, length, &change) < 0) {
            return ntk_err_set(
                err, -EINVAL, NTK_ERR_NO_OFFSET,
                "'%.*s': expected dma, dma-latency, latency, transposes, engines, tensor, scalar, "
                "gpsimd, vector, sync or line:FILE:LINE, optionally with =FACTOR (speed-up, 0.001 "
                "to 1000000; without it, the part takes no time), or wait:SEMAPHORE, "
                "wait:ENGINE, wait:QUEUE or wait:FILE:LINE",
                (int)(length < 80 ? length : 80), at);
        }
        if (changes->count == NTK_WHAT_IF_CHANGES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many changes (at most %u)",
                               NTK_WHAT_IF_CHANGES_MAX);
        }
        changes->list[changes->count++] = change;
        at += length;
        if (!*at) {
            return 0;
        }
    }
}

static int part_text(const struct ntk_what_if_change *change, char *buf, size_t buf_bytes)
{
    for (size_t i = 0; i < PLAIN_PARTS; i++) {
        if (change->part == plain_parts[i].part) {
            return snprintf(buf, buf_bytes, "%s", plain_parts[i].name);
        }
    }
    switch (change->part) {
    case NTK_WHAT_IF_ENGINE:
        return snprintf(buf, buf_bytes, "%s", ntk_ntff_engine_name(change->number));
    case NTK_WHAT_IF_WAIT:
        return snprintf(buf, buf_bytes, "wait:%u", change->number);
    case NTK_WHAT_IF_WAIT_ENGINE:
        return snprintf(buf, buf_bytes, "wait:%s", ntk_ntff_engine_name(change->number));
    case NTK_WHAT_IF_WAIT_QUEUE:
        return snprintf(buf, buf_bytes, "wait:%s", change->name);
    default:
        return snprintf(buf, buf_bytes, "%s:%s:%u",
                        ntk_what_if_is_wait(change->part) ? "wait" : "line", change->name,
                        change->number);
    }
}

const char *ntk_what_if_changes_text(const struct ntk_what_if_changes *changes, char *buf,
                                     size_t buf_bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < changes->count; i++) {
        const struct ntk_what_if_change *change = &changes->list[i];
        char part[TEXT_BYTES];
        char factor[32] = "";

        part_text(change, part, sizeof part);
        if (change->speed != 0) {
            snprintf(factor, sizeof factor, "=%g", change->speed);
        }
        int more = snprintf(buf + used, buf_bytes - used, "%s%s%s", i ? "," : "", part, factor);
        if (more < 0 || (size_t)more >= buf_bytes - used) {
            break;
        }
        used += (size_t)more;
    }
    return buf;
}
