/* SPDX-License-Identifier: MIT */
/* tier_check - checks that the minutes and hours of a database match its seconds. */
#include "tests/shared/store/tier_check.h"

#include <stdio.h>

#include "shared/store/tier.h"
#include "tests/support/unit.h"

sqlite3 *test_tier_open(const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(ntk_tier_add_functions(db, NULL), 0);
    return db;
}

int64_t test_tier_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    if (sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("no row: %s: %s", sql, sqlite3_errmsg(db));
    }
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* What must be equal over the samples of a step and the step's row, by family. */
static const struct {
    const char *family;
    const char *keys;
    const char *samples;
    const char *merged;
} families[] = {
    { "machine", "'all'", "count(*), sum(period_ns), sum(events_read)",
      "samples, period_ns, events_read" },
    { "process", "process_id",
      "count(*), max(device_memory_bytes), max(host_memory_bytes), max(in_flight)",
      "samples, device_memory_bytes_max, host_memory_bytes_max, in_flight_max" },
    { "core", "process_id, core", "count(*), sum(period_ns), sum(busy_ns), sum(flops)",
      "samples, period_ns, busy_ns, flops" },
    { "execution", "process_id, core",
      "sum(completed), sum(generic), max(total_latency_max_ns), "
      "histogram_merge(total_latency_histogram)",
      "completed, generic, total_latency_max_ns, total_latency_histogram" },
    { "model", "process_id, model_id",
      "sum(executions), sum(errors), histogram_merge(total_latency_histogram)",
      "executions, errors, total_latency_histogram" },
};

void test_tier_check(sqlite3 *db)
{
    static const char *const tiers[] = { "minute", "hour" };

    for (size_t t = 0; t < 2; t++) {
        char sql[2048];
        snprintf(sql, sizeof sql, "SELECT coalesce(done_ns, 0) FROM tier WHERE tier = '%s'",
                 tiers[t]);
        long long done_ns = test_tier_number(db, sql);
        snprintf(sql, sizeof sql, "SELECT step_ns FROM tier WHERE tier = '%s'", tiers[t]);
        long long step_ns = test_tier_number(db, sql);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            char made[1024];
            char there[512];
            snprintf(made, sizeof made,
                     "SELECT (time_ns - 1) / %lld * %lld + %lld AS step, %s, %s FROM %s_sample"
                     " WHERE time_ns <= %lld GROUP BY step, %s",
                     step_ns, step_ns, step_ns, families[i].keys, families[i].samples,
                     families[i].family, done_ns, families[i].keys);
            snprintf(there, sizeof there, "SELECT time_ns, %s, %s FROM %s_%s", families[i].keys,
                     families[i].merged, families[i].family, tiers[t]);
            snprintf(sql, sizeof sql, "SELECT count(*) FROM (%s EXCEPT %s)", made, there);
            assert_int_equal(test_tier_number(db, sql), 0);
            snprintf(sql, sizeof sql, "SELECT count(*) FROM (%s EXCEPT %s)", there, made);
            assert_int_equal(test_tier_number(db, sql), 0);
        }
    }
}
