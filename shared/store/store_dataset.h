/* SPDX-License-Identifier: MIT */
/*
 * store_dataset - reads the database as tables for other programs: the list of tables, their
 * division into pieces, and their rows, value by value.
 *
 * Rows need no other table: they contain the key of a process instead of a number, and the names of
 * models and categories as well as their ids. The rows of a step (from, to] depend only on the file
 * and are sorted by time, which is the first column.
 *
 * Owner:   the caller closes a cursor before its reader.
 * Threads: the same as for the reader.
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
    uint64_t step_ns; /* size of a piece: an hour or a day, aligned to UTC */
    bool is_log;      /* rows are numbered, see ntk_store_dataset_late() */
};
extern const struct ntk_store_dataset_info ntk_store_datasets[NTK_STORE_DATASET_COUNT];
/* Finds a dataset by name; NTK_STORE_DATASET_COUNT if there is none. */
enum ntk_store_dataset_id ntk_store_dataset_find(const char *name);
/* The start of the step (start, start + step] that contains a time, which must be above 0. */
uint64_t ntk_store_dataset_start(enum ntk_store_dataset_id id, uint64_t time_ns);

/* Finds the first time after after_ns in a step with rows; -ENODATA if there is none. */
int ntk_store_dataset_next(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t after_ns, uint64_t *out_time_ns, struct ntk_err *err);
/* The file has lost rows from before *out_whole_ns (0: none), and expects no new ones up to
 * *out_done_ns. */
int ntk_store_dataset_span(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t *out_whole_ns, uint64_t *out_done_ns, struct ntk_err *err);
/* For a log: the number of its last row (0: none), and the earliest time of the rows numbered above
 * `above`, which arrived late (UINT64_MAX: none). */
int ntk_store_dataset_late(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t above, uint64_t *out_last, uint64_t *out_time_ns,
                           struct ntk_err *err);

/* The identity of the file, which copies share, and its host at that time; "" if unknown. */
int ntk_store_dataset_origin(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_id,
                             char host[NTK_STORE_HOST_BYTES], struct ntk_err *err);

/* ---- rows ---- */

enum ntk_store_cell_kind {
    NTK_STORE_CELL_NULL, /* only as a value: the value is unknown */
    NTK_STORE_CELL_I64,
    NTK_STORE_CELL_TIME, /* i64: ns since 1970 */
    NTK_STORE_CELL_F64,
    NTK_STORE_CELL_TEXT,
    NTK_STORE_CELL_BLOB,
};

struct ntk_store_cell {
    enum ntk_store_cell_kind kind; /* kind of its column, or NULL */
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
/* The column at an index; valid until the cursor is closed. */
const struct ntk_store_cursor_column *
ntk_store_cursor_columns(const struct ntk_store_cursor *cursor, size_t *out_count);
/* Returns 1 for a row, with a cell for each column, or 0 after the last. */
int ntk_store_cursor_next(struct ntk_store_cursor *cursor, const struct ntk_store_cell **out_cells,
                          struct ntk_err *err);
void ntk_store_cursor_close(struct ntk_store_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif
