/* SPDX-License-Identifier: MIT */
/*
 * column - the data of one column in a row group: values, absent rows, a dictionary while that
 * saves space, minimum and maximum.
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
    struct ntk_buf values; /* plain values, or the dictionary's entries in plain form */
    struct ntk_buf levels; /* finished runs of (varint 2 * length, u8 level) */
    uint64_t run_length;
    bool run_level;
    unsigned bit_count; /* for booleans: bits used in the last byte of values */
    uint64_t value_count;
    uint64_t null_count;

    bool is_dictionary;
    struct ntk_buf numbers; /* u32 each: dictionary entry of each value */
    struct ntk_buf places;  /* u32 each: position of each entry in values */
    uint32_t *slots;        /* open hash table of entries: number + 1 */
    size_t slot_count;
    uint32_t entry_count;

    bool has_range; /* min and max are valid */
    bool no_range;  /* no statistics: a value was too long, or not a number */
    int64_t min_i64, max_i64;
    double min_f64, max_f64;
    struct ntk_buf min_bytes, max_bytes;
};

void ntk_parquet_chunk_init(struct ntk_parquet_chunk *chunk,
                            const struct ntk_parquet_column *column);
void ntk_parquet_chunk_fini(struct ntk_parquet_chunk *chunk);
/* Adds a value. Returns the change of the chunk's memory; ntk_parquet_chunk_ok() reports
 * failures. */
size_t ntk_parquet_chunk_put(struct ntk_parquet_chunk *chunk,
                             const struct ntk_parquet_value *value);
bool ntk_parquet_chunk_ok(const struct ntk_parquet_chunk *chunk);
/* Ends the chunk: no more values follow. A dictionary that saves no space is dropped. */
void ntk_parquet_chunk_close(struct ntk_parquet_chunk *chunk);
/* Appends the body of the data page. */
void ntk_parquet_chunk_page(struct ntk_parquet_chunk *chunk, struct ntk_buf *page);
/* Appends minimum and maximum as plain bytes, without the length of a text. Returns false if there
 * are none. */
bool ntk_parquet_chunk_range(const struct ntk_parquet_chunk *chunk, struct ntk_buf *min,
                             struct ntk_buf *max);
/* Empties the chunk for the next row group. */
void ntk_parquet_chunk_reset(struct ntk_parquet_chunk *chunk);

#endif
