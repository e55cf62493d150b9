/* SPDX-License-Identifier: MIT */
/*
 * column - what a row group has gathered of one column: values, absent rows, a dictionary as long
 * as it is worth it, the smallest and the largest.
 *
 * Private to shared/parquet. Owner: caller's storage, zeroed, then _init; _fini frees.
 * Threads: one.
 */
#ifndef NTK_SHARED_PARQUET_COLUMN_H
#define NTK_SHARED_PARQUET_COLUMN_H

#include "shared/base/buf.h"
#include "shared/parquet/parquet.h"

struct ntk_parquet_chunk {
    const struct ntk_parquet_column *column;
    struct ntk_buf values; /* plain; with a dictionary its entries, plain too */
    struct ntk_buf levels; /* closed runs of (varint 2 * length, u8 level) */
    uint64_t run_length;
    bool run_level;
    unsigned bit_count; /* of the last byte of values, when they are bits */
    uint64_t value_count;
    uint64_t null_count;

    bool is_dictionary;
    struct ntk_buf numbers; /* u32 each: the entry of each value */
    struct ntk_buf places;  /* u32 each: where an entry begins in values */
    uint32_t *slots;        /* open hash of entries, number + 1 */
    size_t slot_count;
    uint32_t entry_count;

    bool has_range; /* min and max hold */
    bool no_range;  /* a value was too long to be one, or not a number */
    int64_t min_i64, max_i64;
    double min_f64, max_f64;
    struct ntk_buf min_bytes, max_bytes;
};

void ntk_parquet_chunk_init(struct ntk_parquet_chunk *chunk,
                            const struct ntk_parquet_column *column);
void ntk_parquet_chunk_fini(struct ntk_parquet_chunk *chunk);
/* Memory that the chunk took for the value, more or less; ntk_parquet_chunk_ok() reports
 * failures. */
size_t ntk_parquet_chunk_put(struct ntk_parquet_chunk *chunk,
                             const struct ntk_parquet_value *value);
bool ntk_parquet_chunk_ok(const struct ntk_parquet_chunk *chunk);
/* No value comes any more: a dictionary that is not worth it is given up. */
void ntk_parquet_chunk_close(struct ntk_parquet_chunk *chunk);
/* The body of the data page. */
void ntk_parquet_chunk_page(struct ntk_parquet_chunk *chunk, struct ntk_buf *page);
/* As plain bytes, without the length of a text. False: there are none. */
bool ntk_parquet_chunk_range(const struct ntk_parquet_chunk *chunk, struct ntk_buf *min,
                             struct ntk_buf *max);
/* For the next row group. */
void ntk_parquet_chunk_reset(struct ntk_parquet_chunk *chunk);

#endif
