/* SPDX-License-Identifier: MIT */
/*
 * parquet - writes a table as a Parquet file, row by row, through a callback.
 *
 * Rows are collected in a row group, which is written when it is full; so memory is bounded by a
 * row group (ntk_parquet_options.group_rows_max, NTK_PARQUET_GROUP_BYTES) for any length of the
 * file. Each column of a row group is one page: plain values, or for repeated texts numbers of a
 * dictionary; its smallest and largest value are in the footer, so that readers can skip row
 * groups. The same rows give the same bytes.
 *
 * Source of the format: Apache Parquet, parquet.thrift and Encodings.md.
 *
 * Owner:   create / destroy; options and their data are borrowed for that time.
 * Threads: one at a time per writer.
 */
#ifndef NTK_SHARED_PARQUET_PARQUET_H
#define NTK_SHARED_PARQUET_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row group ends with the row that makes it longer. */
#define NTK_PARQUET_GROUP_ROWS 122880
#define NTK_PARQUET_GROUP_BYTES ((size_t)32 << 20)
/* A column with a larger dictionary is written plainly. */
#define NTK_PARQUET_DICTIONARY_ENTRIES_MAX 65536
#define NTK_PARQUET_DICTIONARY_BYTES_MAX ((size_t)1 << 20)
/* Longer texts have no smallest and largest value in the footer. */
#define NTK_PARQUET_STATISTIC_BYTES_MAX 128

enum ntk_parquet_kind {                      /* ......... member of the value */
                        NTK_PARQUET_BOOL,    /* i64, 0 or 1 */
                        NTK_PARQUET_I32,     /* i64; larger values become the largest */
                        NTK_PARQUET_I64,     /* i64 */
                        NTK_PARQUET_TIME_US, /* i64: microseconds since 1970, UTC */
                        NTK_PARQUET_F64,     /* f64 */
                        NTK_PARQUET_TEXT,    /* bytes: UTF-8 */
                        NTK_PARQUET_BYTES,   /* any bytes; no statistics */
};

enum ntk_parquet_codec { NTK_PARQUET_SNAPPY, NTK_PARQUET_ZSTD };

struct ntk_parquet_column {
    const char *name;
    enum ntk_parquet_kind kind;
    bool is_optional;    /* a row may lack it */
    bool has_dictionary; /* for TEXT and BYTES: while it saves space */
};

struct ntk_parquet_pair {
    const char *key;
    const char *value;
};

struct ntk_parquet_options {
    const char *name; /* of the table */
    const struct ntk_parquet_column *columns;
    size_t column_count;
    enum ntk_parquet_codec codec;
    size_t group_rows_max;  /* 0: NTK_PARQUET_GROUP_ROWS */
    int sorted_by;          /* the column in which rows are in ascending order; negative: none */
    const char *created_by; /* "neuron-monitor 1.0" */
    const struct ntk_parquet_pair *pairs; /* metadata of the file */
    size_t pair_count;
    /* Takes the next bytes of the file; 0 or -errno, which ends it. */
    int (*write)(void *ctx, const void *bytes, size_t bytes_count);
    void *ctx;
};

struct ntk_parquet_value {
    bool is_present;
    union {
        int64_t i64;
        double f64;
        struct {
            const void *bytes;
            uint32_t bytes_count;
        };
    };
};

struct ntk_parquet;

/* NULL if out of memory. */
struct ntk_parquet *ntk_parquet_create(const struct ntk_parquet_options *options);
/* A row, with a value for each column. 0, -ENOMEM, the error of write(), or -EINVAL: a required
 * column is absent. */
int ntk_parquet_put(struct ntk_parquet *parquet, const struct ntk_parquet_value *values);
/* Writes the last row group and the footer: the file is complete. */
int ntk_parquet_finish(struct ntk_parquet *parquet);
uint64_t ntk_parquet_row_count(const struct ntk_parquet *parquet);
/* Bytes written so far. */
uint64_t ntk_parquet_byte_count(const struct ntk_parquet *parquet);
void ntk_parquet_destroy(struct ntk_parquet *parquet);

#ifdef __cplusplus
}
#endif
#endif
