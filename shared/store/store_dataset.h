/* SPDX-License-Identifier: MIT */
/*
 * store_dataset - the database as tables for other programs: their list, their division into
 * pieces, and their rows, value by value.
 *
 * Rows need no other table: processes by their key instead of a number, names of models and
 * categories next to their ids. The rows of a step (from, to] are a function of the file, in order
 * of their time, which is the first column.
 *
 * Owner:   a cursor is closed by its opener, before its reader.
 * Threads: as for the reader.
 */
#ifndef NTK_SHARED_STORE_STORE_DATASET_H
#define NTK_SHARED_STORE_STORE_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/store/store_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_STORE_DATASET(name, step, kept, of, meaning, sql) NTK_STORE_DATASET_##name,
enum ntk_store_dataset_id {
#include "shared/store/store_datasets.def"
    NTK_STORE_DATASET_COUNT
};
#undef NTK_STORE_DATASET

#define NTK_STORE_DATASET_COLUMNS_MAX 64
#define NTK_STORE_HOST_BYTES 256

struct ntk_store_dataset_info {
    const char *name;
    const char *meaning;
    uint64_t step_ns; /* an hour or a day, aligned to UTC: the size of a piece */
    bool is_log;      /* its rows are numbered: ntk_store_dataset_late() */
};
extern const struct ntk_store_dataset_info ntk_store_datasets[NTK_STORE_DATASET_COUNT];
/* NTK_STORE_DATASET_COUNT if there is none. */
enum ntk_store_dataset_id ntk_store_dataset_find(const char *name);
/* The start of the step (start, start + step] that contains a time above 0. */
uint64_t ntk_store_dataset_start(enum ntk_store_dataset_id id, uint64_t time_ns);

/* The first time after after_ns in a step with rows; -ENODATA if there is none. */
int ntk_store_dataset_next(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t after_ns, uint64_t *out_time_ns, struct ntk_err *err);
/* The file has lost rows before *out_whole_ns (0: none), and expects none up to *out_done_ns. */
int ntk_store_dataset_span(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t *out_whole_ns, uint64_t *out_done_ns, struct ntk_err *err);
/* For a log: the number of its last row (0: none), and the earliest time of the rows above `above`
 * (UINT64_MAX: none), which came late. */
int ntk_store_dataset_late(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t above, uint64_t *out_last, uint64_t *out_time_ns,
                           struct ntk_err *err);

/* The identity of the file, also in copies, and its host at that time; "" if unknown. */
int ntk_store_dataset_origin(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_id,
                             char host[NTK_STORE_HOST_BYTES], struct ntk_err *err);

/* ---- rows ---- */

enum ntk_store_cell_kind {
    NTK_STORE_CELL_NULL, /* only as a value: unknown */
    NTK_STORE_CELL_I64,
    NTK_STORE_CELL_TIME, /* i64: ns since 1970 */
    NTK_STORE_CELL_F64,
    NTK_STORE_CELL_TEXT,
    NTK_STORE_CELL_BLOB,
};

struct ntk_store_cell {
    enum ntk_store_cell_kind kind; /* that of its column, or NULL */
    union {
        int64_t i64;
        double f64;
        struct {
            const void *bytes; /* valid until the next row */
            size_t bytes_count;
        };
    };
};

struct ntk_store_cursor_column {
    char name[64];
    enum ntk_store_cell_kind kind;
};

struct ntk_store_cursor;

int ntk_store_cursor_open(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                          uint64_t from_ns, uint64_t to_ns, struct ntk_store_cursor **out_cursor,
                          struct ntk_err *err);
/* Valid as long as the cursor. */
const struct ntk_store_cursor_column *
ntk_store_cursor_columns(const struct ntk_store_cursor *cursor, size_t *out_count);
/* 1: a row, a cell for each column; 0: no more. */
int ntk_store_cursor_next(struct ntk_store_cursor *cursor, const struct ntk_store_cell **out_cells,
                          struct ntk_err *err);
/* NULL is fine. */
void ntk_store_cursor_close(struct ntk_store_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif
