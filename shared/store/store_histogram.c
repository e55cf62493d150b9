/* SPDX-License-Identifier: MIT */
/* store_histogram - a latency histogram as a BLOB of the database. */
#include "shared/store/store_histogram.h"

#include <errno.h>

#include "shared/base/cursor.h"

#define BLOB_VERSION 1

static void put_varint(struct ntk_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        ntk_buf_put_u8(buf, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    ntk_buf_put_u8(buf, (uint8_t)value);
}

static uint64_t take_varint(struct ntk_cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = ntk_cursor_u8(cursor);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    cursor->failed = true;
    return 0;
}

void ntk_store_histogram_encode(const struct ntk_histogram *histogram, struct ntk_buf *buf)
{
    uint32_t before = 0;

    ntk_buf_put_u8(buf, BLOB_VERSION);
    put_varint(buf, histogram->sum_ns);
    put_varint(buf, histogram->entry_count);
    for (size_t i = 0; i < histogram->entry_count; i++) {
        put_varint(buf, histogram->entries[i].bucket - before);
        put_varint(buf, histogram->entries[i].count);
        before = histogram->entries[i].bucket;
    }
}

void ntk_store_histogram_encode_dense(const struct ntk_histogram_dense *dense, struct ntk_buf *buf)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram histogram = { .count = dense->count, .sum_ns = dense->sum_ns };

    histogram.entries = entries;
    histogram.entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
    ntk_store_histogram_encode(&histogram, buf);
}

int ntk_store_histogram_decode(const void *bytes, size_t bytes_count,
                               struct ntk_histogram_dense *dense)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_cursor cursor;
    uint64_t bucket = 0;

    ntk_cursor_init(&cursor, bytes, bytes_count);
    if (ntk_cursor_u8(&cursor) != BLOB_VERSION) {
        return -EBADMSG;
    }
    struct ntk_histogram histogram = { .sum_ns = take_varint(&cursor), .entries = entries };
    histogram.entry_count = take_varint(&cursor);
    if (!ntk_cursor_ok(&cursor) || histogram.entry_count > NTK_HISTOGRAM_BUCKETS) {
        return -EBADMSG;
    }
    for (size_t i = 0; i < histogram.entry_count; i++) {
        uint64_t distance = take_varint(&cursor);
        uint64_t count = take_varint(&cursor);
        bucket += distance;
        if (distance >= NTK_HISTOGRAM_BUCKETS || bucket >= NTK_HISTOGRAM_BUCKETS || count == 0 ||
            (i > 0 && distance == 0)) {
            return -EBADMSG;
        }
        entries[i] = (struct ntk_histogram_entry){ .bucket = (uint32_t)bucket, .count = count };
        histogram.count += count;
    }
    if (!ntk_cursor_ok(&cursor) || ntk_cursor_left(&cursor) != 0) {
        return -EBADMSG;
    }
    ntk_histogram_dense_merge(dense, &histogram);
    return 0;
}
