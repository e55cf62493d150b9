/* SPDX-License-Identifier: MIT */
/* store_histogram - encodes a latency histogram as a BLOB of the database. */
#include "shared/store/store_histogram.h"

#include <errno.h>
#include <string.h>

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

static bool take_long_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
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

/* Inline, because most numbers have one byte. */
static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    if (*at < end && **at < 0x80) {
        *out = *(*at)++;
        return true;
    }
    return take_long_varint(at, end, out);
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

int ntk_store_histogram_read(const void *bytes, size_t bytes_count,
                             struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS],
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
    int ret = ntk_store_histogram_read(bytes, bytes_count, entries, &histogram);

    if (ret == 0) {
        ntk_histogram_dense_merge(dense, &histogram);
    }
    return ret;
}

/* -- addition ---------------------------------------------------------------------------------- */

#define HEAD_BYTES_MAX (1 + 2 * VARINT_BYTES)
#define ENTRY_BYTES_MAX (2 * VARINT_BYTES)

/* Merging the entries of a BLOB and of a histogram. Runs of unchanged stored entries, the largest
 * part of a total, are copied without decoding. */
struct merge {
    const struct ntk_histogram *more;
    size_t taken;  /* number of the histogram's entries that were merged */
    uint32_t next; /* bucket of the histogram's next entry; NTK_HISTOGRAM_BUCKETS: none */
    uint8_t *to;
    uint32_t bucket; /* bucket of the last merged entry */
    uint64_t entry_count;
};

static void find_next(struct merge *merge)
{
    const struct ntk_histogram *more = merge->more;

    merge->next = merge->taken < more->entry_count &&
                          more->entries[merge->taken].bucket < NTK_HISTOGRAM_BUCKETS
                      ? more->entries[merge->taken].bucket
                      : NTK_HISTOGRAM_BUCKETS;
}

static uint64_t take_next(struct merge *merge)
{
    uint64_t count = merge->more->entries[merge->taken++].count;

    find_next(merge);
    return count;
}

static void put_entry(struct merge *merge, uint32_t bucket, uint64_t count)
{
    merge->to += put_varint(merge->to, bucket - merge->bucket);
    merge->to += put_varint(merge->to, count);
    merge->bucket = bucket;
    merge->entry_count++;
}

/* Adds new buckets that come before `end`. */
static void put_new(struct merge *merge, uint32_t end)
{
    while (merge->next < end) {
        uint32_t bucket = merge->next;

        put_entry(merge, bucket, take_next(merge));
    }
}

static void put_bytes(struct merge *merge, const uint8_t *from, const uint8_t *end)
{
    memcpy(merge->to, from, (size_t)(end - from));
    merge->to += end - from;
}

/* Returns false if the stored bytes are invalid. */
static bool merge_entries(struct merge *merge, const uint8_t *at, const uint8_t *end, uint64_t left)
{
    const uint8_t *unchanged = at; /* start of unchanged bytes that are not copied yet */
    uint64_t bucket = 0;
    uint64_t distance;
    uint64_t count;

    for (uint64_t i = 0; i < left; i++) {
        const uint8_t *entry = at;

        if (!take_varint(&at, end, &distance) || !take_varint(&at, end, &count) || count == 0 ||
            distance >= NTK_HISTOGRAM_BUCKETS || (i > 0 && distance == 0)) {
            return false;
        }
        bucket += distance;
        if (bucket >= NTK_HISTOGRAM_BUCKETS) {
            return false;
        }
        if (bucket < merge->next) {
            merge->bucket = (uint32_t)bucket;
            merge->entry_count++;
            continue;
        }
        put_bytes(merge, unchanged, entry);
        put_new(merge, (uint32_t)bucket);
        put_entry(merge, (uint32_t)bucket, count + (merge->next == bucket ? take_next(merge) : 0));
        unchanged = at;
    }
    put_bytes(merge, unchanged, end);
    put_new(merge, NTK_HISTOGRAM_BUCKETS);
    return at == end;
}

/* Writes the sum of a stored histogram and `more` to `sum`. Returns 0, -EBADMSG if the stored bytes
 * are invalid, or -ENOMEM. */
static int add_to(struct ntk_buf *sum, const struct ntk_buf *blob, const struct ntk_histogram *more)
{
    const uint8_t *at = (const uint8_t *)blob->bytes;
    const uint8_t *end = at + blob->bytes_count;
    uint8_t head[HEAD_BYTES_MAX] = { BLOB_VERSION };
    size_t head_bytes = 1;
    uint64_t sum_ns;
    uint64_t left;

    if (at == end || *at++ != BLOB_VERSION || !take_varint(&at, end, &sum_ns) ||
        !take_varint(&at, end, &left) || left > NTK_HISTOGRAM_BUCKETS ||
        more->entry_count > NTK_HISTOGRAM_BUCKETS) {
        return -EBADMSG;
    }
    /* Each entry adds or changes one stored entry, and also changes the entry after it. */
    uint8_t *begin = ntk_buf_extend(sum, HEAD_BYTES_MAX + blob->bytes_count +
                                             2 * ENTRY_BYTES_MAX * more->entry_count);
    if (!begin) {
        return -ENOMEM;
    }
    uint8_t *entries = begin + HEAD_BYTES_MAX;
    struct merge merge = { .more = more, .to = entries };
    find_next(&merge);
    if (!merge_entries(&merge, at, end, left)) {
        return -EBADMSG;
    }
    head_bytes += put_varint(head + head_bytes, sum_ns + more->sum_ns);
    head_bytes += put_varint(head + head_bytes, merge.entry_count);
    memcpy(begin, head, head_bytes);
    memmove(begin + head_bytes, entries, (size_t)(merge.to - entries));
    sum->bytes_count = head_bytes + (size_t)(merge.to - entries);
    sum->bytes[sum->bytes_count] = '\0';
    return 0;
}

/* Adds to stored bytes; bytes that are not a histogram count as empty. */
void ntk_store_histogram_add(struct ntk_buf *blob, const struct ntk_histogram *more)
{
    struct ntk_buf sum = { 0 };

    int ret = add_to(&sum, blob, more);
    if (ret == 0) {
        ntk_buf_fini(blob);
        *blob = sum;
        return;
    }
    ntk_buf_fini(&sum);
    if (ret == -ENOMEM) {
        blob->failed = true;
        return;
    }
    ntk_buf_reset(blob);
    ntk_store_histogram_encode(more, blob);
}
