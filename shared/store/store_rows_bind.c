/* SPDX-License-Identifier: MIT */
/* store_rows_bind - binds parts of a row that need several columns, or a special value. */
#include <assert.h>

#include "shared/store/columns.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

void ntk_rows_bind_hooks(sqlite3_stmt *row, const struct ntk_runtime_sample *runtime)
{
    if (!runtime || runtime->hooks == NTK_HOOKS_UNKNOWN) {
        return;
    }
    ntk_store_sql_bind_text(row, "hooks", ntk_hooks_kind_names[runtime->hooks]);
    ntk_store_sql_bind(row, "cores_guessed", runtime->cores_guessed);
    ntk_store_sql_bind_text(row, "executions_counted",
                            ntk_executions_counted_names[runtime->executions_counted]);
}

void ntk_rows_bind_core(sqlite3_stmt *row, const char *name, uint32_t core)
{
    ntk_store_sql_bind(row, name, core == NTK_NO_CORE ? UINT64_MAX : core); /* stored as -1 */
}

static struct ntk_rows_place *find_place(struct ntk_store_rows *rows, const void *row,
                                         const char *name)
{
    uintptr_t hash = (uintptr_t)row / 64 * 31 + (uintptr_t)name;

    return &rows->places[hash % NTK_ROWS_PLACES];
}

static int place_of(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name)
{
    struct ntk_rows_place *place = find_place(rows, row, name);

    if (place->row != row || place->name != name) {
        *place = (struct ntk_rows_place){ row, name, ntk_store_sql_parameter(row, name) };
        assert(place->at > 0);
    }
    return place->at;
}

void ntk_rows_put(struct ntk_store_rows *rows, struct ntk_packer *packer, const char *name,
                  bool is_known, uint64_t value)
{
    struct ntk_rows_place *place = find_place(rows, packer, name);

    if (!is_known) {
        return;
    }
    if (place->row != packer || place->name != name) {
        *place = (struct ntk_rows_place){ packer, name, ntk_packer_column(packer, name) };
        assert(place->at >= 0);
    }
    ntk_packer_set(packer, place->at, ntk_store_sql_integer(value));
}

void ntk_rows_bind(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name, uint64_t value)
{
    sqlite3_bind_int64(row, place_of(rows, row, name), (sqlite3_int64)value);
}

void ntk_rows_bind_known(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                         bool is_known, uint64_t value)
{
    if (is_known) {
        ntk_rows_bind(rows, row, name, value);
    }
}

void ntk_rows_bind_blob(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                        const struct ntk_buf *blob)
{
    sqlite3_bind_blob64(row, place_of(rows, row, name), blob->bytes, blob->bytes_count,
                        SQLITE_STATIC);
}

void ntk_rows_bind_percentiles(struct ntk_store_rows *rows, sqlite3_stmt *row,
                               const struct ntk_histogram *histogram, const char *p50,
                               const char *p99, const char *largest)
{
    static const double percents[] = { 50, 99, 100 };
    const char *const names[] = { p50, p99, largest };
    double values[3] = { 0 };

    if (!ntk_histogram_percentiles(histogram, percents, 3, values)) {
        return;
    }
    for (size_t i = 0; i < 3 && names[i]; i++) {
        ntk_rows_bind(rows, row, names[i], (uint64_t)values[i]);
    }
}

void ntk_rows_bind_histogram(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                             const struct ntk_histogram *histogram, struct ntk_buf *scratch)
{
    if (histogram->count > 0) {
        ntk_buf_reset(scratch);
        ntk_store_histogram_encode(histogram, scratch);
        ntk_rows_bind_blob(rows, row, name, scratch);
    }
}

int ntk_rows_finish(struct ntk_store_rows *rows, sqlite3_stmt *row, struct ntk_err *err)
{
    return ntk_store_sql_run(rows->db, row, &rows->row_count, err);
}
