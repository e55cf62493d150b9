/* SPDX-License-Identifier: MIT */
/* tier_functions - adds functions that SQL lacks: sums without overflow, newest values,
 * histograms. */
#include <stdlib.h>
#include <string.h>

#include "shared/store/packed.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

/* ---- add_up(x) ---- */

struct sum {
    int64_t value;
    int any;
};

static void sum_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
    (void)count;

    if (!sum || sqlite3_value_type(values[0]) == SQLITE_NULL) {
        return;
    }
    int64_t value = sqlite3_value_int64(values[0]);
    if (__builtin_add_overflow(sum->value, value, &sum->value)) {
        sum->value = value < 0 ? INT64_MIN : INT64_MAX;
    }
    sum->any = 1;
}

static void sum_final(sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);

    if (sum && sum->any) {
        sqlite3_result_int64(context, sum->value);
    }
}

/* ---- newest(x, time_ns) ---- */

struct newest {
    sqlite3_value *value;
    int64_t time_ns;
};

static void newest_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct newest *newest = sqlite3_aggregate_context(context, sizeof *newest);
    (void)count;

    if (!newest || sqlite3_value_type(values[0]) == SQLITE_NULL) {
        return;
    }
    int64_t time_ns = sqlite3_value_int64(values[1]);
    if (!newest->value || time_ns >= newest->time_ns) {
        sqlite3_value_free(newest->value);
        newest->value = sqlite3_value_dup(values[0]);
        newest->time_ns = time_ns;
    }
}

static void newest_final(sqlite3_context *context)
{
    struct newest *newest = sqlite3_aggregate_context(context, 0);

    if (newest && newest->value) {
        sqlite3_result_value(context, newest->value);
        sqlite3_value_free(newest->value);
    }
}

/* ---- histogram_merge(blob), histogram_percentile(blob, percent) ---- */

struct merge {
    struct ntk_histogram_dense *dense;
};

static void merge_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct merge *merge = sqlite3_aggregate_context(context, sizeof *merge);
    (void)count;

    if (!merge || sqlite3_value_type(values[0]) != SQLITE_BLOB) {
        return;
    }
    if (!merge->dense) {
        merge->dense = calloc(1, sizeof *merge->dense);
        if (!merge->dense) {
            sqlite3_result_error_nomem(context);
            return;
        }
    }
    const void *bytes = sqlite3_value_blob(values[0]);
    /* Skips a malformed histogram: the others matter more than an error. */
    (void)ntk_store_histogram_decode(bytes, (size_t)sqlite3_value_bytes(values[0]), merge->dense);
}

static void merge_final(sqlite3_context *context)
{
    struct merge *merge = sqlite3_aggregate_context(context, 0);
    struct ntk_buf blob = { 0 };

    if (!merge || !merge->dense) {
        return;
    }
    if (merge->dense->count > 0) {
        ntk_store_histogram_encode_dense(merge->dense, &blob);
        if (ntk_buf_ok(&blob)) {
            sqlite3_result_blob64(context, blob.bytes, blob.bytes_count, SQLITE_TRANSIENT);
        } else {
            sqlite3_result_error_nomem(context);
        }
    }
    ntk_buf_fini(&blob);
    free(merge->dense);
}

static void percentile(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram histogram;
    double percent = sqlite3_value_double(values[1]);
    double value_ns;
    (void)count;

    if (sqlite3_value_type(values[0]) != SQLITE_BLOB) {
        return;
    }
    const void *bytes = sqlite3_value_blob(values[0]);
    if (ntk_store_histogram_read(bytes, (size_t)sqlite3_value_bytes(values[0]), entries,
                                 &histogram) == 0 &&
        ntk_histogram_percentiles(&histogram, &percent, 1, &value_ns)) {
        sqlite3_result_int64(context, (sqlite3_int64)value_ns);
    }
}

int ntk_tier_add_functions(sqlite3 *db, struct ntk_err *err)
{
    static const struct {
        const char *name;
        int argument_count;
        void (*scalar)(sqlite3_context *, int, sqlite3_value **);
        void (*step)(sqlite3_context *, int, sqlite3_value **);
        void (*final)(sqlite3_context *);
    } functions[] = {
        { "add_up", 1, NULL, sum_step, sum_final },
        { "newest", 2, NULL, newest_step, newest_final },
        { "histogram_merge", 1, NULL, merge_step, merge_final },
        { "histogram_percentile", 2, percentile, NULL, NULL },
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (sqlite3_create_function(db, functions[i].name, functions[i].argument_count,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                    functions[i].scalar, functions[i].step,
                                    functions[i].final) != SQLITE_OK) {
            return ntk_store_sql_error(db, "database", err);
        }
    }
    return ntk_packed_add_tables(db, err);
}
