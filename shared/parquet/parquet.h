/* SPDX-License-Identifier: MIT */
/*
 * parquet - writes a table as a Parquet file, row by row, through a callback.
 *
 * Rows are collected in a row group, which is written when it is full; so memory is bounded by a
 * row group (ntk_parquet_options.group_rows_max, NTK_PARQUET_GROUP_BYTES) for any length of the
 * file. Each column of a row group is one page: plain values, or indices into a dictionary for
 * repeated texts. Its minimum and maximum are in the footer, so that readers can skip row groups.
 * The same rows always produce the same bytes.
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

/* Size limit of a row group, which ends with the row that exceeds it. */
#define NTK_PARQUET_GROUP_ROWS 122880
#define NTK_PARQUET_GROUP_BYTES ((size_t)32 << 20)
/* Columns with a larger dictionary are written as plain values. */
#define NTK_PARQUET_DICTIONARY_ENTRIES_MAX 65536
#define NTK_PARQUET_DICTIONARY_BYTES_MAX ((size_t)1 << 20)
/* Columns with longer texts have no minimum and maximum in the footer. */
#define NTK_PARQUET_STATISTIC_BYTES_MAX 128

enum ntk_parquet_kind {                      /* comments: the member of the value */
                        NTK_PARQUET_BOOL,    /* i64, 0 or 1 */
                        NTK_PARQUET_I32,     /* i64; larger values are clamped */
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
    bool is_optional;    /* rows may lack a value */
    bool has_dictionary; /* TEXT and BYTES: use a dictionary while it saves space */
};

struct ntk_parquet_pair {
    const char *key;
    const char *value;
};

struct ntk_parquet_options {
    const char *name; /* name of the table */
    const struct ntk_parquet_column *columns;
    size_t column_count;
    enum ntk_parquet_codec codec;
    size_t group_rows_max;  /* 0: NTK_PARQUET_GROUP_ROWS */
    int sorted_by;          /* column by which rows are sorted, ascending; negative: none */
    const char *created_by; /* such as "neuron-monitor 1.0" */
    const struct ntk_parquet_pair *pairs; /* the file's metadata */
    size_t pair_count;
    /* Takes the next bytes of the file. Returns 0, or -errno, which stops the writing. */
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

/* Returns NULL if out of memory. */
struct ntk_parquet *ntk_parquet_create(const struct ntk_parquet_options *options);
/* Adds a row, with a value for each column. Returns 0, -ENOMEM, the error of write(), or -EINVAL if
 * the value of a required column is absent. */
int ntk_parquet_put(struct ntk_parquet *parquet, const struct ntk_parquet_value *values);
/* Writes the last row group and the footer, which completes the file. */
int ntk_parquet_finish(struct ntk_parquet *parquet);
uint64_t ntk_parquet_row_count(const struct ntk_parquet *parquet);
/* Number of bytes written so far. */
uint64_t ntk_parquet_byte_count(const struct ntk_parquet *parquet);
void ntk_parquet_destroy(struct ntk_parquet *parquet);

#ifdef __cplusplus
}
#endif
#endif
