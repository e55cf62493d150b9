/* SPDX-License-Identifier: MIT */
/* rollup - merges samples into minutes, and minutes into hours. */
#include "shared/store/rollup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/store/packed.h"
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

#define NOT_KNOWN UINT64_MAX

struct ntk_rollup {
    sqlite3 *db;
    sqlite3_stmt *merge[NTK_STORE_TIER_COUNT][NTK_FAMILY_COUNT];
    bool loaded;
    uint64_t first_ns;  /* first time of the seconds tier: samples after it are complete */
    uint64_t newest_ns; /* time of the newest sample */
    uint64_t done_ns[NTK_STORE_TIER_COUNT]; /* progress of the minute and hour tiers */
};

static int prepare(struct ntk_rollup *rollup, enum ntk_store_tier tier, enum ntk_tier_family family,
                   struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_tier_add_merge(&sql, family, tier);
    return ntk_store_sql_prepare_buf(rollup->db, &sql, &rollup->merge[tier][family], err);
}

int ntk_rollup_create(sqlite3 *db, struct ntk_rollup **out_rollup, struct ntk_err *err)
{
    struct ntk_rollup *rollup = calloc(1, sizeof *rollup);
    int ret = 0;

    if (!rollup) {
        return ntk_err_no_memory(err);
    }
    rollup->db = db;
    for (int tier = NTK_STORE_MINUTE; ret == 0 && tier < NTK_STORE_TIER_COUNT; tier++) {
        for (int family = 0; ret == 0 && family < NTK_FAMILY_COUNT; family++) {
            ret = prepare(rollup, (enum ntk_store_tier)tier, (enum ntk_tier_family)family, err);
        }
    }
    if (ret < 0) {
        ntk_rollup_destroy(rollup);
        return ret;
    }
    *out_rollup = rollup;
    return 0;
}

void ntk_rollup_destroy(struct ntk_rollup *rollup)
{
    if (!rollup) {
        return;
    }
    for (size_t tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        for (size_t family = 0; family < NTK_FAMILY_COUNT; family++) {
            sqlite3_finalize(rollup->merge[tier][family]);
        }
    }
    free(rollup);
}

void ntk_rollup_forget(struct ntk_rollup *rollup)
{
    rollup->loaded = false;
}

/* Reads a number; NOT_KNOWN if it is absent. */
static int load_number(struct ntk_rollup *rollup, const char *sql, uint64_t *out,
                       struct ntk_err *err)
{
    int64_t number = 0;
    int ret = ntk_store_sql_number(rollup->db, sql, &number, err);

    if (ret == -ENODATA) {
        *out = NOT_KNOWN;
        return 0;
    }
    *out = (uint64_t)number;
    return ret;
}

/* Finds the beginning of a tier that was never merged: the step of the oldest row in the tier
 * below. */
static int begin_tier(struct ntk_rollup *rollup, enum ntk_store_tier tier, struct ntk_err *err)
{
    uint64_t oldest_ns;
    int ret = load_number(rollup,
                          tier == NTK_STORE_MINUTE
                              ? "SELECT min(time_ns) FROM machine_sample HAVING count(*) > 0"
                              : "SELECT min(time_ns) FROM machine_minute HAVING count(*) > 0",
                          &oldest_ns, err);

    if (ret == 0 && oldest_ns != NOT_KNOWN) {
        rollup->done_ns[tier] = ntk_tier_start(tier, oldest_ns);
    }
    return ret;
}

static int load(struct ntk_rollup *rollup, struct ntk_err *err)
{
    int ret;

    if (rollup->loaded) {
        return 0;
    }
    ret = load_number(rollup, "SELECT max(time_ns) FROM machine_sample HAVING count(*) > 0",
                      &rollup->newest_ns, err);
    if (ret == 0) {
        ret = load_number(rollup, "SELECT first_ns FROM tier WHERE tier = 'second'",
                          &rollup->first_ns, err);
    }
    if (ret == 0) {
        ret = load_number(rollup,
                          "SELECT done_ns FROM tier WHERE tier = 'minute' AND done_ns IS NOT NULL",
                          &rollup->done_ns[NTK_STORE_MINUTE], err);
    }
    if (ret == 0) {
        ret = load_number(rollup,
                          "SELECT done_ns FROM tier WHERE tier = 'hour' AND done_ns IS NOT NULL",
                          &rollup->done_ns[NTK_STORE_HOUR], err);
    }
    rollup->loaded = ret == 0;
    return ret;
}

/* Stores the progress of a tier. */
static int mark(struct ntk_rollup *rollup, enum ntk_store_tier tier, uint64_t done_ns,
                struct ntk_err *err)
{
    char sql[160];

    snprintf(sql, sizeof sql, "UPDATE tier SET done_ns = %" PRIu64 " WHERE tier = '%s'", done_ns,
             ntk_tier_names[tier]);
    rollup->done_ns[tier] = done_ns;
    return ntk_store_sql_exec(rollup->db, sql, err);
}

int ntk_rollup_see(struct ntk_rollup *rollup, uint64_t time_ns, uint64_t period_ns,
                   struct ntk_err *err)
{
    int ret = load(rollup, err);

    for (int tier = NTK_STORE_MINUTE; ret == 0 && tier < NTK_STORE_TIER_COUNT; tier++) {
        uint64_t done_ns = rollup->done_ns[tier];
        if (done_ns != NOT_KNOWN && time_ns <= done_ns) {
            ret = mark(rollup, (enum ntk_store_tier)tier,
                       ntk_tier_start((enum ntk_store_tier)tier, time_ns), err);
        }
    }
    if (ret == 0 && time_ns <= rollup->first_ns) {
        char sql[160];
        rollup->first_ns = time_ns > period_ns ? time_ns - period_ns : 0;
        snprintf(sql, sizeof sql, "UPDATE tier SET first_ns = %" PRIu64 " WHERE tier = 'second'",
                 rollup->first_ns);
        ret = ntk_store_sql_exec(rollup->db, sql, err);
    }
    if (ret == 0) {
        rollup->newest_ns = time_ns;
    }
    return ret;
}

/* The time up to which the tier below is known to be complete. */
static uint64_t limit_of(const struct ntk_rollup *rollup, enum ntk_store_tier tier)
{
    return tier == NTK_STORE_MINUTE ? rollup->newest_ns : rollup->done_ns[NTK_STORE_MINUTE];
}

static bool is_due(const struct ntk_rollup *rollup, enum ntk_store_tier tier)
{
    uint64_t limit_ns = limit_of(rollup, tier);

    return limit_ns != NOT_KNOWN && rollup->done_ns[tier] != NOT_KNOWN &&
           rollup->done_ns[tier] + ntk_tier_step_ns[tier] <= limit_ns;
}

/* Skips steps without samples: moves the mark to the step of the next row. */
static int skip_empty(struct ntk_rollup *rollup, enum ntk_store_tier tier, struct ntk_err *err)
{
    char sql[160];
    uint64_t next_ns;

    snprintf(sql, sizeof sql,
             "SELECT time_ns FROM machine%s WHERE time_ns > %" PRIu64 " ORDER BY time_ns LIMIT 1",
             ntk_tier_suffixes[tier - 1], rollup->done_ns[tier]);
    int ret = load_number(rollup, sql, &next_ns, err);
    if (ret < 0) {
        return ret;
    }
    uint64_t start_ns =
        ntk_tier_start(tier, next_ns == NOT_KNOWN ? limit_of(rollup, tier) : next_ns);
    return start_ns > rollup->done_ns[tier] ? mark(rollup, tier, start_ns, err) : 0;
}

/* A step may have more rows than any of its seconds: processes come and go. */
static int count_rows(const struct ntk_rollup *rollup, enum ntk_store_tier tier, uint64_t end_ns,
                      struct ntk_err *err)
{
    int64_t most = 0;
    int ret = 0;

    for (int family = 0; ret == 0 && family < NTK_FAMILY_COUNT; family++) {
        char sql[160];
        int64_t row_count = 0;
        if (ntk_packed_is((enum ntk_tier_family)family)) {
            snprintf(sql, sizeof sql, "SELECT row_count FROM %s%s_packed WHERE time_ns = %" PRIu64,
                     ntk_tier_families[family], ntk_tier_suffixes[tier], end_ns);
            ret = ntk_store_sql_number(rollup->db, sql, &row_count, err);
            ret = ret == -ENODATA ? 0 : ret;
            most = row_count > most ? row_count : most;
        }
    }
    return ret < 0 ? ret : ntk_packed_count_to(rollup->db, most, err);
}

static int merge_step(struct ntk_rollup *rollup, enum ntk_store_tier tier, struct ntk_err *err)
{
    uint64_t start_ns = rollup->done_ns[tier];
    uint64_t end_ns = start_ns + ntk_tier_step_ns[tier];

    for (size_t family = 0; family < NTK_FAMILY_COUNT; family++) {
        sqlite3_stmt *statement = rollup->merge[tier][family];
        ntk_store_sql_bind(statement, "start_ns", start_ns);
        ntk_store_sql_bind(statement, "end_ns", end_ns);
        int step = sqlite3_step(statement);
        int ret = step == SQLITE_DONE ? 0 : ntk_store_sql_error(rollup->db, "database", err);
        sqlite3_reset(statement);
        if (ret < 0) {
            return ret;
        }
    }
    int ret = count_rows(rollup, tier, end_ns, err);
    return ret < 0 ? ret : mark(rollup, tier, end_ns, err);
}

static int run_tier(struct ntk_rollup *rollup, enum ntk_store_tier tier, uint64_t until_ns,
                    struct ntk_err *err)
{
    int ret = skip_empty(rollup, tier, err);

    while (ret == 0 && is_due(rollup, tier)) {
        ret = merge_step(rollup, tier, err);
        if (ret == 0) {
            ret = skip_empty(rollup, tier, err);
        }
        if (ntk_clock_monotonic_ns() >= until_ns) {
            break;
        }
    }
    return ret;
}

int ntk_rollup_run(struct ntk_rollup *rollup, uint64_t budget_ns, struct ntk_err *err)
{
    uint64_t until_ns = ntk_clock_monotonic_ns() + budget_ns;
    int ret = load(rollup, err);

    for (int i = NTK_STORE_MINUTE; ret == 0 && i < NTK_STORE_TIER_COUNT; i++) {
        enum ntk_store_tier tier = (enum ntk_store_tier)i;
        if (rollup->done_ns[tier] == NOT_KNOWN) {
            ret = begin_tier(rollup, tier, err);
        }
        if (ret < 0 || !is_due(rollup, tier)) {
            continue;
        }
        ret = ntk_store_sql_exec(rollup->db, "BEGIN IMMEDIATE", err);
        if (ret == 0) {
            ret = run_tier(rollup, tier, until_ns, err);
        }
        if (ret == 0) {
            ret = ntk_store_sql_exec(rollup->db, "COMMIT", err);
        }
    }
    if (ret < 0) {
        return ret;
    }
    return is_due(rollup, NTK_STORE_MINUTE) || is_due(rollup, NTK_STORE_HOUR);
}
