/* SPDX-License-Identifier: MIT */
/* store_health - verdicts and reasons as rows. */
#include "shared/store/store_health.h"

#include <assert.h>
#include <string.h>

#include "shared/store/store_sql.h"

static const char insert_sql[] =
    "INSERT OR REPLACE INTO device_health VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/* Verdict and reasons; the number of errors is not a separate state; it is in the rows. */
static uint64_t state_of(const struct ntk_device_sample *device)
{
    uint64_t state = UINT64_C(1) << 63 | (uint64_t)device->verdict << 60;

    static_assert(NTK_HEALTH_REASON_COUNT < 60, "a bit for each reason below the verdict");
    for (size_t i = 0; i < device->health_count; i++) {
        state |= UINT64_C(1) << device->health[i].reason;
    }
    return state;
}

/* Another number when some reason's count is another one. */
static uint64_t counts_of(const struct ntk_device_sample *device)
{
    uint64_t counts = 0;

    for (size_t i = 0; i < device->health_count; i++) {
        counts = counts * 31 + device->health[i].count;
    }
    return counts;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_known(sqlite3_stmt *statement, int at, bool is_known, uint64_t value)
{
    if (is_known) {
        sqlite3_bind_int64(statement, at, (sqlite3_int64)value);
    } else {
        sqlite3_bind_null(statement, at);
    }
}

/* Reason i of the device; without any, the row of a device that is well. */
static void bind_row(sqlite3_stmt *statement, const struct ntk_device_sample *device, size_t i)
{
    const struct ntk_health_sample *health = i < device->health_count ? &device->health[i] : NULL;
    const struct ntk_health_reason_row *row = health ? &ntk_health_reasons[health->reason] : NULL;

    sqlite3_bind_int64(statement, 3, (sqlite3_int64)i);
    bind_text(statement, 4, ntk_health_verdict_names[device->verdict]);
    bind_text(statement, 5, row ? row->name : "");
    bind_text(statement, 6, ntk_health_actions[row ? row->action : NTK_HEALTH_ACTION_NONE].name);
    sqlite3_bind_int64(statement, 7,
                       (sqlite3_int64)(health ? health->since_ns : device->verdict_since_ns));
    bind_known(statement, 8, health && health->count > 0, health ? health->count : 0);
    bind_known(statement, 9, health && health->core != NTK_NO_CORE, health ? health->core : 0);
    bind_known(statement, 10, health && health->status > 0, health ? health->status : 0);
    bind_text(statement, 11, health ? health->detail : "");
}

static int write_device(sqlite3 *db, sqlite3_stmt *statement,
                        const struct ntk_device_sample *device, uint64_t *row_count,
                        struct ntk_err *err)
{
    size_t rows = device->health_count > 0 ? device->health_count : 1;

    sqlite3_bind_int64(statement, 2, (sqlite3_int64)device->index);
    for (size_t i = 0; i < rows; i++) {
        bind_row(statement, device, i);
        if (sqlite3_step(statement) != SQLITE_DONE) {
            return ntk_store_sql_error(db, "database", err);
        }
        sqlite3_reset(statement);
        (*row_count)++;
    }
    return 0;
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
            ret = ntk_store_sql_prepare(db, insert_sql, &statement, err);
            if (ret < 0) {
                return ret;
            }
        }
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)time_ns);
        ret = write_device(db, statement, device, row_count, err);
        if (ret == 0) {
            health->written[device->index].state = state;
            health->written[device->index].counts = counts;
            health->written[device->index].time_ns = time_ns;
        }
    }
    sqlite3_finalize(statement);
    return ret;
}
