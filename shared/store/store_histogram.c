/* SPDX-License-Identifier: MIT */
/* store_histogram - a latency histogram as a BLOB of the database. */
#include "shared/store/store_histogram.h"

#include <errno.h>

#define BLOB_VERSION 1
#define VARINT_BYTES 10

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t count = 0;

    for (; value >= 0x80; value >>= 7) {
        at[count++] = (uint8_t)(value | 0x80);
    }
    at[count++] = (uint8_t)value;
    return count;
}

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

void ntk_store_histogram_encode(const struct ntk_histogram *histogram, struct ntk_buf *buf)
{
    uint8_t bytes[1024] = { BLOB_VERSION };
    size_t used = 1;
    uint32_t before = 0;

    used += put_varint(bytes + used, histogram->sum_ns);
    used += put_varint(bytes + used, histogram->entry_count);
    for (size_t i = 0; i < histogram->entry_count; i++) {
        if (used > sizeof bytes - 2 * VARINT_BYTES) {
            ntk_buf_add(buf, bytes, used);
            used = 0;
        }
        used += put_varint(bytes + used, histogram->entries[i].bucket - before);
        used += put_varint(bytes + used, histogram->entries[i].count);
        before = histogram->entries[i].bucket;
    }
    ntk_buf_add(buf, bytes, used);
}

void ntk_store_histogram_encode_dense(const struct ntk_histogram_dense *dense, struct ntk_buf *buf)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram histogram = { .count = dense->count, .sum_ns = dense->sum_ns };

    histogram.entries = entries;
    histogram.entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
    ntk_store_histogram_encode(&histogram, buf);
}

/* entries has room for NTK_HISTOGRAM_BUCKETS; on failure, out is unchanged. */
static int decode(const void *bytes, size_t bytes_count, struct ntk_histogram_entry *entries,
                  struct ntk_histogram *out)
{
    const uint8_t *at = bytes;
    const uint8_t *end = at + bytes_count;
    struct ntk_histogram histogram = { .entries = entries };
    uint64_t bucket = 0;

    if (bytes_count == 0 || *at++ != BLOB_VERSION || !take_varint(&at, end, &histogram.sum_ns) ||
        !take_varint(&at, end, &histogram.entry_count) ||
        histogram.entry_count > NTK_HISTOGRAM_BUCKETS) {
        return -EBADMSG;
    }
    for (size_t i = 0; i < histogram.entry_count; i++) {
        uint64_t distance;
        uint64_t count;

        if (!take_varint(&at, end, &distance) || !take_varint(&at, end, &count)) {
            return -EBADMSG;
        }
        bucket += distance;
        if (distance >= NTK_HISTOGRAM_BUCKETS || bucket >= NTK_HISTOGRAM_BUCKETS || count == 0 ||
            (i > 0 && distance == 0)) {
            return -EBADMSG;
        }
        entries[i] = (struct ntk_histogram_entry){ .bucket = (uint32_t)bucket, .count = count };
        histogram.count += count;
    }
    if (at != end) {
        return -EBADMSG;
    }
    *out = histogram;
    return 0;
}

int ntk_store_histogram_decode(const void *bytes, size_t bytes_count,
                               struct ntk_histogram_dense *dense)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram histogram;
    int ret = decode(bytes, bytes_count, entries, &histogram);

    if (ret == 0) {
        ntk_histogram_dense_merge(dense, &histogram);
    }
    return ret;
}

void ntk_store_histogram_add(struct ntk_buf *blob, const struct ntk_histogram *more)
{
    struct ntk_histogram_entry stored[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram_entry sums[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram old = { 0 };
    size_t o = 0;
    size_t m = 0;

    (void)decode(blob->bytes, blob->bytes_count, stored, &old);
    struct ntk_histogram sum = { .sum_ns = old.sum_ns + more->sum_ns, .entries = sums };
    while (sum.entry_count < NTK_HISTOGRAM_BUCKETS &&
           (o < old.entry_count || m < more->entry_count)) {
        uint32_t old_bucket = o < old.entry_count ? stored[o].bucket : UINT32_MAX;
        uint32_t new_bucket = m < more->entry_count ? more->entries[m].bucket : UINT32_MAX;
        struct ntk_histogram_entry *entry = &sums[sum.entry_count++];

        *entry = (struct ntk_histogram_entry){ .bucket = old_bucket < new_bucket ? old_bucket
                                                                                 : new_bucket };
        entry->count += old_bucket <= new_bucket ? stored[o++].count : 0;
        entry->count += new_bucket <= old_bucket ? more->entries[m++].count : 0;
    }
    ntk_buf_reset(blob);
    ntk_store_histogram_encode(&sum, blob);
}
