/* SPDX-License-Identifier: MIT */
/* store_rows_bind - the columns of one row, in order. */
#include "shared/store/store_rows_state.h"

#include <assert.h>

#include "shared/store/columns.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_sql.h"

struct ntk_rows_binder ntk_rows_bind_start(struct ntk_store_rows *rows, enum ntk_rows_statement id)
{
    return (struct ntk_rows_binder){ rows->statements[id], 1 };
}

void ntk_rows_bind_u64(struct ntk_rows_binder *binder, uint64_t value)
{
    sqlite3_bind_int64(binder->statement, binder->next++, (sqlite3_int64)value);
}

void ntk_rows_bind_known(struct ntk_rows_binder *binder, bool known, uint64_t value)
{
    if (known) {
        ntk_rows_bind_u64(binder, value);
    } else {
        sqlite3_bind_null(binder->statement, binder->next++);
    }
}

void ntk_rows_bind_ratio(struct ntk_rows_binder *binder, bool known, double value)
{
    if (known) {
        sqlite3_bind_double(binder->statement, binder->next++, value);
    } else {
        sqlite3_bind_null(binder->statement, binder->next++);
    }
}

void ntk_rows_bind_text(struct ntk_rows_binder *binder, const char *text)
{
    sqlite3_bind_text(binder->statement, binder->next++, text ? text : "", -1, SQLITE_STATIC);
}

void ntk_rows_bind_hooks(struct ntk_rows_binder *binder, const struct ntk_runtime_sample *runtime)
{
    bool is_known = runtime && runtime->hooks != NTK_HOOKS_UNKNOWN;

    if (is_known) {
        ntk_rows_bind_text(binder, ntk_hooks_kind_names[runtime->hooks]);
    } else {
        sqlite3_bind_null(binder->statement, binder->next++);
    }
    ntk_rows_bind_known(binder, is_known, is_known && runtime->cores_guessed);
    ntk_rows_bind_known(binder, is_known,
                        !is_known                     ? 0
                        : runtime->partial_executions ? NTK_STORE_COUNTED_PART
                        : runtime->no_executions      ? NTK_STORE_COUNTED_NONE
                                                      : NTK_STORE_COUNTED_ALL);
}

void ntk_rows_bind_blob(struct ntk_rows_binder *binder, const struct ntk_buf *buf)
{
    sqlite3_bind_blob64(binder->statement, binder->next++, buf->bytes, buf->bytes_count,
                        SQLITE_STATIC);
}

void ntk_rows_bind_core(struct ntk_rows_binder *binder, uint32_t core)
{
    sqlite3_bind_int64(binder->statement, binder->next++, core == NTK_NO_CORE ? -1 : (int)core);
}

/* Runs the statement to its end: one row is written. */
int ntk_rows_bind_finish(struct ntk_store_rows *rows, struct ntk_rows_binder *binder,
                         struct ntk_err *err)
{
    int step = sqlite3_step(binder->statement);
    int ret = 0;

    if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(rows->db, "database", err);
    }
    sqlite3_reset(binder->statement);
    sqlite3_clear_bindings(binder->statement);
    rows->row_count++;
    return ret;
}

/* Binds p50 and p99, and the largest when asked. */
void ntk_rows_bind_percentiles(struct ntk_rows_binder *binder,
                               const struct ntk_histogram *histogram, size_t count)
{
    static const double percents[] = { 50, 99, 100 };
    double values[3] = { 0 };
    bool known = ntk_histogram_percentiles(histogram, percents, 3, values);

    assert(count <= 3);
    for (size_t i = 0; i < count; i++) {
        ntk_rows_bind_known(binder, known, (uint64_t)values[i]);
    }
}

void ntk_rows_bind_histogram(struct ntk_rows_binder *binder, const struct ntk_histogram *histogram,
                             struct ntk_buf *scratch)
{
    if (histogram->count == 0) {
        sqlite3_bind_null(binder->statement, binder->next++);
        return;
    }
    ntk_buf_reset(scratch);
    ntk_store_histogram_encode(histogram, scratch);
    ntk_rows_bind_blob(binder, scratch);
}
