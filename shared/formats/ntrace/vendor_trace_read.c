/* SPDX-License-Identifier: MIT */
/* vendor_trace_read - reads the vendor's streams, record by record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/formats/common/protobuf.h"
#include "shared/formats/ntrace/vendor_trace.h"

#define LENGTH_BYTES 4U
#define WINDOW_BYTES (2 * NTK_VENDOR_TRACE_RECORD_BYTES_MAX)

static uint32_t length_of(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Our files begin with 08 01 12 and a length; read as a number, that is more than 1 MiB. */
bool ntk_vendor_trace_is_stream(const uint8_t *bytes, size_t count)
{
    return count == 0 ||
           (count >= LENGTH_BYTES && length_of(bytes) <= NTK_VENDOR_TRACE_RECORD_BYTES_MAX);
}

/* ---- streams ---- */

struct window {
    int fd; /* -1: all bytes are in memory */
    uint8_t *bytes;
    size_t count, at;
    uint64_t before; /* bytes of the file before those in memory */
    const char *name;
};

/* Reads more bytes after the unprocessed ones. Returns their number, 0 at the end, or -errno. */
static ssize_t window_fill(struct window *window)
{
    ssize_t n;

    if (window->fd < 0) {
        return 0;
    }
    memmove(window->bytes, window->bytes + window->at, window->count - window->at);
    window->before += window->at;
    window->count -= window->at;
    window->at = 0;
    do {
        n = read(window->fd, window->bytes + window->count, WINDOW_BYTES - window->count);
    } while (n < 0 && errno == EINTR);
    window->count += n > 0 ? (size_t)n : 0;
    return n < 0 ? -errno : n;
}

/* Makes this many bytes available from the position on. Returns 1, 0 if the file ends before, or
 * -errno. */
static int window_have(struct window *window, size_t count)
{
    while (window->count - window->at < count) {
        ssize_t n = window_fill(window);

        if (n <= 0) {
            return (int)n;
        }
    }
    return 1;
}

static int cut(const struct window *window, const char *why, struct ntk_err *err)
{
    uint64_t offset = window->before + window->at;

    ntk_err_set(err, -EBADMSG, offset, "%s %s: %llu bytes are readable", window->name, why,
                (unsigned long long)offset);
    return 1;
}

static int window_each(struct window *window, ntk_vendor_trace_take *take, void *ctx,
                       struct ntk_err *err)
{
    for (;;) {
        int ret = window_have(window, LENGTH_BYTES);

        if (ret == 0) {
            return window->at == window->count ? 0 : cut(window, "is truncated", err);
        }
        size_t length = ret > 0 ? length_of(window->bytes + window->at) : 0;
        if (ret > 0 && length > NTK_VENDOR_TRACE_RECORD_BYTES_MAX) {
            return cut(window, "has a record of more than 1 MiB", err);
        }
        ret = ret > 0 ? window_have(window, LENGTH_BYTES + length) : ret;
        if (ret == 0) {
            return cut(window, "is truncated", err);
        }
        if (ret < 0) {
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", window->name,
                               strerror(-ret));
        }
        const uint8_t *record = window->bytes + window->at + LENGTH_BYTES;
        ret = length > 0 ? take(record, length, window->before + window->at, ctx) : 0;
        if (ret < 0) {
            return ret;
        }
        window->at += LENGTH_BYTES + length;
    }
}

int ntk_vendor_trace_each_of(const uint8_t *bytes, size_t count, const char *name,
                             ntk_vendor_trace_take *take, void *ctx, struct ntk_err *err)
{
    struct window window = { .fd = -1, .bytes = (uint8_t *)bytes, .count = count, .name = name };

    return window_each(&window, take, ctx, err);
}

int ntk_vendor_trace_each(const char *path, ntk_vendor_trace_take *take, void *ctx,
                          struct ntk_err *err)
{
    struct window window = { .name = path };

    window.fd = ntk_fs_open_regular(path, NULL, err);
    if (window.fd < 0) {
        return window.fd;
    }
    window.bytes = malloc(WINDOW_BYTES);
    int ret = window.bytes ? window_each(&window, take, ctx, err) : ntk_err_no_memory(err);
    free(window.bytes);
    close(window.fd);
    return ret;
}

/* ---- records ---- */

/* Returns true if a field has one of the numeric wire types that are used here. */
static bool is_number(const struct ntk_protobuf_field *field)
{
    return field->kind == NTK_PROTOBUF_VARINT;
}

static struct ntk_vendor_trace_text text_of(const struct ntk_protobuf_field *field)
{
    return (struct ntk_vendor_trace_text){ (const char *)field->bytes, field->bytes_count };
}

static bool same(struct ntk_vendor_trace_text a, struct ntk_vendor_trace_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.text, b.text, a.bytes) == 0);
}

#define TAG_KEY 0x0a   /* field 1, bytes */
#define TAG_VALUE 0x12 /* field 2, bytes */
#define TAG_PAIR 0x62  /* field 12, bytes */
#define LONG 0x80      /* bit of a length that has more than one byte */

/* Reads key and value quickly if they have the usual form; false for any other form. */
static bool pair_read_quick(const uint8_t *bytes, size_t count, struct ntk_vendor_trace_pair *pair)
{
    if (count < 4 || bytes[0] != TAG_KEY || bytes[1] >= LONG || bytes[1] + (size_t)4 > count) {
        return false;
    }
    const uint8_t *value = bytes + 2 + bytes[1];
    if (value[0] != TAG_VALUE || value[1] >= LONG || 4 + (size_t)bytes[1] + value[1] != count) {
        return false;
    }
    pair->key = (struct ntk_vendor_trace_text){ (const char *)bytes + 2, bytes[1] };
    pair->value = (struct ntk_vendor_trace_text){ (const char *)value + 2, value[1] };
    return true;
}

static bool pair_read(const uint8_t *bytes, size_t count, struct ntk_vendor_trace_pair *pair)
{
    struct ntk_protobuf_field part;
    size_t at = 0;

    *pair = (struct ntk_vendor_trace_pair){ { "", 0 }, { "", 0 } };
    while (ntk_protobuf_next(bytes, count, &at, &part)) {
        if (part.bytes && part.number == 1) {
            pair->key = text_of(&part);
        } else if (part.bytes && part.number == 2) {
            pair->value = text_of(&part);
        }
    }
    return at == count;
}

/* Adds a pair; the last value of a duplicate key wins. Returns false if the pair is incomplete. */
static bool pair_add(struct ntk_vendor_trace_record *record, const uint8_t *bytes, size_t count)
{
    struct ntk_vendor_trace_pair pair;
    bool is_whole = pair_read_quick(bytes, count, &pair) || pair_read(bytes, count, &pair);

    if (pair.key.bytes == 0) {
        return is_whole;
    }
    for (size_t i = 0; i < record->pair_count; i++) {
        if (same(record->pairs[i].key, pair.key)) {
            record->pairs[i].value = pair.value;
            return is_whole;
        }
    }
    if (record->pair_count < NTK_VENDOR_TRACE_PAIRS_MAX) {
        record->pairs[record->pair_count++] = pair;
    } else {
        record->skipped++;
    }
    return is_whole;
}

/* Reads the number of a field below 16 quickly, if it is complete and has at most 63 bits; false
 * for any other. */
static bool number_read_quick(const uint8_t *bytes, size_t count, size_t *position,
                              struct ntk_protobuf_field *field)
{
    size_t at = *position;
    uint64_t value = 0;

    if (at >= count || (bytes[at] & (LONG | 7)) != 0) {
        return false;
    }
    uint8_t tag = bytes[at++];
    for (unsigned shift = 0; shift < 63 && at < count; shift += 7) {
        uint8_t byte = bytes[at++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < LONG) {
            *field = (struct ntk_protobuf_field){ .number = tag >> 3,
                                                  .kind = NTK_PROTOBUF_VARINT,
                                                  .value = value };
            *position = at;
            return true;
        }
    }
    return false;
}

bool ntk_vendor_trace_record_read(const uint8_t *bytes, size_t count,
                                  struct ntk_vendor_trace_record *out_record)
{
    struct ntk_vendor_trace_record *record = out_record;
    struct ntk_protobuf_field field;
    bool is_whole = true;
    size_t at = 0;

    record->time_ns = record->type = record->number = record->tracking_id = record->sequence = 0;
    record->thread_id = 0;
    record->phase = NTK_VENDOR_TRACE_NO_PHASE;
    record->pair_count = 0;
    record->skipped = 0;
    for (;;) {
        if (at + 2 <= count && bytes[at] == TAG_PAIR && bytes[at + 1] < LONG &&
            bytes[at + 1] <= count - at - 2) { /* true for most of a record */
            is_whole = pair_add(record, bytes + at + 2, bytes[at + 1]) && is_whole;
            at += 2 + (size_t)bytes[at + 1];
            continue;
        }
        if (!number_read_quick(bytes, count, &at, &field) &&
            !ntk_protobuf_next(bytes, count, &at, &field)) {
            break;
        }
        if (field.number == 12 && field.bytes) {
            is_whole = pair_add(record, field.bytes, field.bytes_count) && is_whole;
            continue;
        }
        bool is_known = field.number == 2 || field.number == 7 || field.number == 9 ||
                        field.number == 10 || field.number == 12 ||
                        (field.number >= 14 && field.number <= 16);
        if (!is_known || !is_number(&field) || field.number == 12) {
            record->skipped += is_known;
            continue;
        }
        switch (field.number) {
        case 2:
            record->time_ns = field.value;
            break;
        case 7:
            record->type = field.value;
            break;
        case 9:
            record->thread_id = field.value < UINT32_MAX ? (uint32_t)field.value : UINT32_MAX;
            break;
        case 10:
            record->number = field.value;
            break;
        case 14:
            record->phase = field.value <= NTK_VENDOR_TRACE_INSTANT ? (uint8_t)field.value
                                                                    : NTK_VENDOR_TRACE_NO_PHASE;
            break;
        case 15:
            record->tracking_id = field.value;
            break;
        default:
            record->sequence = field.value;
            break;
        }
    }
    return is_whole && at == count;
}

bool ntk_vendor_trace_memory_read(const uint8_t *bytes, size_t count,
                                  struct ntk_vendor_trace_sample *out_sample)
{
    struct ntk_protobuf_field field;
    size_t at = 0;

    *out_sample = (struct ntk_vendor_trace_sample){ 0 };
    while (ntk_protobuf_next(bytes, count, &at, &field)) {
        if (is_number(&field) && field.number == 1) {
            out_sample->used_bytes = field.value;
        } else if (is_number(&field) && field.number == 2) {
            out_sample->time_ns = field.value;
        }
    }
    return at == count;
}

bool ntk_vendor_trace_cpu_read(const uint8_t *bytes, size_t count,
                               struct ntk_vendor_trace_sample *out_sample)
{
    struct ntk_protobuf_field field;
    size_t at = 0;

    *out_sample = (struct ntk_vendor_trace_sample){ 0 };
    while (ntk_protobuf_next(bytes, count, &at, &field)) {
        if (field.number == 1 && field.kind == NTK_PROTOBUF_FIXED32) {
            uint32_t bits = (uint32_t)field.value;
            float percent;

            memcpy(&percent, &bits, sizeof percent);
            /* The comparison also rejects NaN. */
            out_sample->has_percent = percent >= 0.0F && percent <= 100.0F;
            out_sample->percent = out_sample->has_percent ? (double)percent : 0;
        } else if (is_number(&field) && field.number == 2) {
            out_sample->time_ns = field.value;
        } else if (is_number(&field) && field.number == 3) {
            out_sample->processor = field.value;
        }
    }
    return at == count;
}
