/* SPDX-License-Identifier: MIT */
/*
 * column - the data of one column in a row group: values, absent rows, a dictionary while it saves
 * space, the smallest and the largest value.
 *
 * Private to shared/parquet. Owner: the caller's storage, zeroed, then _init; _fini frees.
 * Threads: one.
 */
#ifndef NTK_SHARED_PARQUET_COLUMN_H
#define NTK_SHARED_PARQUET_COLUMN_H

#include "shared/base/buf.h"
#include "shared/parquet/parquet.h"

struct ntk_parquet_chunk {
    const struct ntk_parquet_column *column;
    struct ntk_buf values; /* plain; with a dictionary its entries, which are plain, too */
    struct ntk_buf levels; /* closed runs of (varint 2 * length, u8 level) */
    uint64_t run_length;
    bool run_level;
    unsigned bit_count; /* in the last byte of values, if they are bits */
    uint64_t value_count;
    uint64_t null_count;

    bool is_dictionary;
    struct ntk_buf numbers; /* u32 each: the entry of each value */
    struct ntk_buf places;  /* u32 each: the position of an entry in values */
    uint32_t *slots;        /* open hash of entries, number + 1 */
    size_t slot_count;
    uint32_t entry_count;

    bool has_range; /* min and max hold */
    bool no_range;  /* a value was too long for statistics, or not a number */
    int64_t min_i64, max_i64;
    double min_f64, max_f64;
    struct ntk_buf min_bytes, max_bytes;
};

void ntk_parquet_chunk_init(struct ntk_parquet_chunk *chunk,
                            const struct ntk_parquet_column *column);
void ntk_parquet_chunk_fini(struct ntk_parquet_chunk *chunk);
/* The change of the chunk's memory; ntk_parquet_chunk_ok() reports failures. */
size_t ntk_parquet_chunk_put(struct ntk_parquet_chunk *chunk,
                             const struct ntk_parquet_value *value);
bool ntk_parquet_chunk_ok(const struct ntk_parquet_chunk *chunk);
/* No more values follow: a dictionary that saves no space is dropped. */
void ntk_parquet_chunk_close(struct ntk_parquet_chunk *chunk);
/* The body of the data page. */
void ntk_parquet_chunk_page(struct ntk_parquet_chunk *chunk, struct ntk_buf *page);
/* As plain bytes, without the length of a text. False: there are none. */
bool ntk_parquet_chunk_range(const struct ntk_parquet_chunk *chunk, struct ntk_buf *min,
                             struct ntk_buf *max);
/* Empties it for the next row group. */
void ntk_parquet_chunk_reset(struct ntk_parquet_chunk *chunk);

#endif
