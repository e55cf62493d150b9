/* SPDX-License-Identifier: MIT */
/* store_health - writes and reads verdicts and reasons as rows. */
#include "shared/store/store_health.h"

#include <assert.h>
#include <string.h>

#include "shared/base/word.h"
#include "shared/store/store_sql.h"

/* A number for verdict and reasons. The number of errors is not part of it, although rows contain
 * it. */
static uint64_t state_of(const struct ntk_device_sample *device)
{
    uint64_t state = UINT64_C(1) << 63 | (uint64_t)device->verdict << 60;

    static_assert(NTK_HEALTH_REASON_COUNT < 60, "a bit for each reason below the verdict");
    for (size_t i = 0; i < device->health_count; i++) {
        state |= UINT64_C(1) << device->health[i].reason;
    }
    return state;
}

/* A number that changes if the count of a reason changes. */
static uint64_t counts_of(const struct ntk_device_sample *device)
{
    uint64_t counts = 0;

    for (size_t i = 0; i < device->health_count; i++) {
        counts = (counts * 31 + device->health[i].count) * 31 + device->health[i].cores;
    }
    return counts;
}

/* Binds reason i of the device or, if there are none, the row of a healthy device. */
static void bind_row(sqlite3_stmt *statement, uint64_t time_ns,
                     const struct ntk_device_sample *device, size_t i)
{
    const struct ntk_health_sample *health = i < device->health_count ? &device->health[i] : NULL;
    const uint16_t core = health ? health->core : NTK_NO_CORE;
    const struct ntk_health_reason_row *row = health ? &ntk_health_reasons[health->reason] : NULL;

    ntk_store_sql_bind(statement, "time_ns", time_ns);
    ntk_store_sql_bind(statement, "device", device->index);
    ntk_store_sql_bind(statement, "rank", i);
    ntk_store_sql_bind_text(statement, "verdict", ntk_health_verdict_names[device->verdict]);
    ntk_store_sql_bind_text(statement, "reason", row ? row->name : "");
    ntk_store_sql_bind_text(statement, "action",
                            ntk_health_actions[row ? row->action : NTK_HEALTH_ACTION_NONE].name);
    ntk_store_sql_bind(statement, "since_ns", health ? health->since_ns : device->verdict_since_ns);
    ntk_store_sql_bind_known(statement, "count", health && health->count > 0,
                             health ? health->count : 0);
    ntk_store_sql_bind_known(statement, "core", core != NTK_NO_CORE, core);
    ntk_store_sql_bind_known(statement, "nrt_status", health && health->status > 0,
                             health ? health->status : 0);
    ntk_store_sql_bind_text(statement, "detail", health ? health->detail : "");
}

static int write_device(sqlite3 *db, sqlite3_stmt *statement, uint64_t time_ns,
                        const struct ntk_device_sample *device, uint64_t *row_count,
                        struct ntk_err *err)
{
    size_t rows = device->health_count > 0 ? device->health_count : 1;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < rows; i++) {
        bind_row(statement, time_ns, device, i);
        ret = ntk_store_sql_run(db, statement, row_count, err);
    }
    return ret;
}

void ntk_store_health_reset(struct ntk_store_health *health)
{
    memset(health, 0, sizeof *health);
}

int ntk_store_health_write(struct ntk_store_health *health, sqlite3 *db,
                           const struct ntk_snapshot *snapshot, uint64_t *row_count,
                           struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        uint64_t state = state_of(device);
        uint64_t counts = counts_of(device);

        if (!(device->has & NTK_DEVICE_HAS_HEALTH) || device->index >= NTK_SNAPSHOT_DEVICES_MAX) {
            continue;
        }
        bool is_same = health->written[device->index].state == state;
        if (is_same && health->written[device->index].counts == counts) {
            continue;
        }
        uint64_t time_ns = is_same ? health->written[device->index].time_ns : snapshot->realtime_ns;
        if (!statement) {
            ret = ntk_store_sql_prepare_row(db, "device_health", NULL, &statement, err);
            if (ret < 0) {
                return ret;
            }
        }
        ret = write_device(db, statement, time_ns, device, row_count, err);
        if (ret == 0) {
            health->written[device->index].state = state;
            health->written[device->index].counts = counts;
            health->written[device->index].time_ns = time_ns;
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

/* The rows of the last time, and those of the time at which their verdict began. */
static const char stored_sql[] =
    "WITH boot AS (SELECT coalesce(min(since_ns), 9223372036854775807) AS begin_ns FROM machine"
    "  WHERE boot_id = :boot_id),"
    " ours AS (SELECT * FROM device_health, boot WHERE device = :device AND time_ns >= begin_ns),"
    " last AS (SELECT max(time_ns) AS time_ns FROM ours)"
    " SELECT h.verdict, h.reason, h.core, h.since_ns, h.time_ns = last.time_ns AS is_last"
    " FROM ours h, last WHERE h.time_ns = last.time_ns OR h.time_ns = (SELECT min(v.time_ns)"
    "  FROM ours v WHERE v.time_ns > coalesce((SELECT max(o.time_ns) FROM ours o WHERE o.verdict <>"
    "   (SELECT n.verdict FROM ours n WHERE n.time_ns = last.time_ns LIMIT 1)), 0))";

/* Sets the start of a verdict, which is the start of the first reason that causes it. */
static void take_verdict_since(struct ntk_health_stored *stored, int reason, uint64_t since_ns)
{
    bool is_cause = reason < 0 || ntk_health_reasons[reason].verdict == stored->verdict;

    if (is_cause && (stored->since_ns == 0 || since_ns < stored->since_ns)) {
        stored->since_ns = since_ns;
    }
}

bool ntk_store_health_read(sqlite3 *db, const char *boot_id, uint32_t device,
                           struct ntk_health_stored *out)
{
    sqlite3_stmt *statement;
    bool is_stored = false;

    *out = (struct ntk_health_stored){ 0 };
    if (ntk_store_sql_prepare(db, stored_sql, &statement, NULL) < 0) {
        return false;
    }
    ntk_store_sql_bind_text(statement, "boot_id", boot_id);
    ntk_store_sql_bind(statement, "device", device);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t verdict = ntk_word_find(ntk_store_sql_word(statement, "verdict"),
                                       ntk_health_verdict_names, NTK_HEALTH_VERDICT_COUNT);
        int reason = ntk_health_reason_of(ntk_store_sql_text(statement, "reason"));

        out->verdict = (uint32_t)verdict; /* the same in all rows */
        take_verdict_since(out, reason, ntk_store_sql_u64(statement, "since_ns"));
        is_stored = verdict < NTK_HEALTH_VERDICT_COUNT && out->since_ns > 0;
        if (reason >= 0 && ntk_store_sql_u64(statement, "is_last")) {
            uint64_t core = ntk_store_sql_u64(statement, "core");

            out->reasons[reason].since_ns = ntk_store_sql_u64(statement, "since_ns");
            out->reasons[reason].has_core =
                ntk_store_sql_known(statement, "core") && core < NTK_NO_CORE;
            out->reasons[reason].core = out->reasons[reason].has_core ? (uint16_t)core : 0;
        }
    }
    sqlite3_finalize(statement);
    return is_stored;
}
