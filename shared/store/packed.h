/* SPDX-License-Identifier: MIT */
/*
 * packed - tables with one row per period, in which a column contains the values of all entities
 * (docs/formats/store.md, "Packed tables").
 *
 * x_packed stores the rows of x, and the view x in the file unpacks them for any program. Our own
 * connections have a virtual table x in front of the view (packed_table.c), which is faster.
 * Private to shared/store. Threads: one at a time per connection.
 */
#ifndef NTK_SHARED_STORE_PACKED_H
#define NTK_SHARED_STORE_PACKED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/store/tier.h"

/* Not known. */
#define NTK_PACKED_NULL INT64_MIN
/* Columns of type REAL are stored as integers, in this many parts of 1. */
#define NTK_PACKED_PARTS 1e9

bool ntk_packed_is(enum ntk_tier_family family);
/* The name of a table, such as "core_sample". */
#define NTK_PACKED_NAME_BYTES 32
void ntk_packed_name(enum ntk_tier_family family, enum ntk_store_tier tier,
                     char name[static NTK_PACKED_NAME_BYTES]);
/* Adds the text as ntk_columns_tell() does, after replacing @ by the name of a table, and ~ by the
 * name of the set of its columns, keys included. */
void ntk_packed_tell(struct ntk_buf *sql, const char *text, const char *name);
int64_t ntk_packed_parts(double value);

/* Packs the values at a distance of `stride`. Returns SQLITE_NULL; SQLITE_INTEGER if all are
 * values[0]; or SQLITE_BLOB, in `blob`, which it empties first. */
int ntk_packed_encode(const int64_t *values, size_t stride, size_t count, struct ntk_buf *blob);

/* A column of a packed row. */
struct ntk_packed_column {
    const unsigned char
        *end;     /* of the BLOB, borrowed from the statement; NULL: one value for all */
    int64_t base; /* NTK_PACKED_NULL: all are unknown */
    size_t width; /* bytes of a value */
};
struct ntk_packed_column ntk_packed_open(sqlite3_stmt *statement, int column, size_t row_count);
int64_t ntk_packed_get(const struct ntk_packed_column *column, size_t row, size_t row_count);

/* Collects the samples of a period. Owner: _destroy() frees; it must precede the database. */
struct ntk_packer;
int ntk_packer_create(sqlite3 *db, enum ntk_tier_family family, struct ntk_packer **out_packer,
                      struct ntk_err *err);
void ntk_packer_destroy(struct ntk_packer *packer);
/* Forgets all rows. */
void ntk_packer_reset(struct ntk_packer *packer);
/* Same after a rollback. */
void ntk_packer_forget(struct ntk_packer *packer);
/* Starts a row, in which nothing is known. */
void ntk_packer_add(struct ntk_packer *packer);
/* Position of a column, -1 if it does not exist. */
int ntk_packer_column(const struct ntk_packer *packer, const char *name);
void ntk_packer_set(struct ntk_packer *packer, int column, int64_t value);
/* Writes and forgets the rows; they replace those of the same time. */
int ntk_packer_write(struct ntk_packer *packer, uint64_t time_ns, uint64_t *row_count,
                     struct ntk_err *err);

/* Ensures that the views in the file can count the rows of a packed row. */
int ntk_packed_count_to(sqlite3 *db, int64_t row_count, struct ntk_err *err);
/* Adds the virtual tables, and the aggregate pack(x): a column as it is stored. Real
 * numbers become parts. */
int ntk_packed_add_tables(sqlite3 *db, struct ntk_err *err);

#endif
