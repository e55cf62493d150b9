/* SPDX-License-Identifier: MIT */
/* store_events - what happened in a window, in order: one SELECT over the logs and the
 * processes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* Where each kind comes from; the columns are named in add_sql(). */
#define FROM_TO(time) time " > ?3 AND " time " <= ?4"

static const char *const sources[NTK_STORE_EVENT_COUNT] = {
    [NTK_STORE_EVENT_START] = "SELECT first_seen_ns, 0, process_id, -1, 0, '', command, NULL, "
                              "NULL, NULL, NULL, NULL, NULL, 0"
                              " FROM process"
                              " WHERE " FROM_TO("first_seen_ns"),
    [NTK_STORE_EVENT_END] =
        "SELECT ended_ns, 1, process_id, -1, 0, '', '', NULL, NULL, NULL, NULL, NULL, NULL, 0"
        " FROM process WHERE " FROM_TO("ended_ns"),
    [NTK_STORE_EVENT_LOAD] =
        "SELECT time_ns, 2, process_id, core, model_id, '', name, nrt_status, bytes, duration_ns,"
        " NULL, NULL, NULL, event_id FROM model_log WHERE operation = 'load' AND " FROM_TO(
            "time_ns"),
    [NTK_STORE_EVENT_UNLOAD] =
        "SELECT time_ns, 3, process_id, core, model_id, '', name, nrt_status, NULL, duration_ns,"
        " NULL, NULL, NULL, event_id FROM model_log WHERE operation = 'unload' AND " FROM_TO(
            "time_ns"),
    [NTK_STORE_EVENT_ERROR] =
        "SELECT time_ns, 4, process_id, core, model_id, error_class, '', nrt_status, NULL, NULL,"
        " NULL, execution, NULL, event_id FROM error_log WHERE " FROM_TO("time_ns"),
    [NTK_STORE_EVENT_ALLOC] =
        "SELECT time_ns, 5, process_id, core, model_id, k.name, tensor, NULL, bytes, NULL, address,"
        " NULL, NULL, event_id FROM memory_log LEFT JOIN memory_category k USING (category)"
        " WHERE operation = 'alloc' AND " FROM_TO("time_ns"),
    [NTK_STORE_EVENT_FREE] =
        "SELECT time_ns, 6, process_id, core, model_id, k.name, tensor, NULL, bytes, NULL, address,"
        " NULL, NULL, event_id FROM memory_log LEFT JOIN memory_category k USING (category)"
        " WHERE operation = 'free' AND " FROM_TO("time_ns"),
    [NTK_STORE_EVENT_MODEL_START] =
        "SELECT time_ns, 7, process_id, core, model_id, '', name, nrt_status, NULL, duration_ns,"
        " NULL, NULL, NULL, event_id FROM model_log WHERE operation = 'start' AND " FROM_TO(
            "time_ns"),
    [NTK_STORE_EVENT_MODEL_STOP] =
        "SELECT time_ns, 8, process_id, core, model_id, '', name, nrt_status, NULL, duration_ns,"
        " NULL, NULL, NULL, event_id FROM model_log WHERE operation = 'stop' AND " FROM_TO(
            "time_ns"),
    [NTK_STORE_EVENT_MARK] =
        "SELECT time_ns, 9, process_id, -1, 0, name, '', NULL, NULL, duration_ns, NULL, NULL,"
        " value, event_id FROM mark_log WHERE " FROM_TO("time_ns"),
};

const char *const ntk_store_event_names[NTK_STORE_EVENT_COUNT] = {
    "start", "end", "load", "unload", "error", "alloc", "free", "model_start", "model_stop", "mark",
};

static void add_sql(struct ntk_buf *sql, const struct ntk_store_filter *filter, uint32_t kinds)
{
    ntk_buf_add_text(sql, "WITH e (time_ns, kind, process_id, core, model_id, what, name, status,"
                          " bytes, duration, address, execution, value, place) AS (");
    const char *separator = "";
    for (int kind = 0; kind < NTK_STORE_EVENT_COUNT; kind++) {
        if (kinds >> kind & 1) {
            ntk_buf_add_format(sql, "%s%s", separator, sources[kind]);
            separator = " UNION ALL ";
        }
    }
    ntk_buf_add_text(sql, filter->newest_events ? ") SELECT * FROM (" : ") ");
    ntk_buf_add_text(
        sql, "SELECT e.time_ns, e.kind, e.core, e.model_id, e.what, e.name, e.status,"
             " e.bytes, e.duration, e.address, e.execution, p.pid, p.tag, m.name, e.value, e.place"
             " FROM e JOIN process p USING (process_id) LEFT JOIN model m"
             " ON m.process_id = e.process_id AND m.model_id = e.model_id WHERE 1");
    ntk_store_window_add_process(sql, "p.", filter);
    if (filter->model) {
        ntk_buf_add_text(sql, " AND (m.name = ?2 OR m.name = ?2 || '.neff')");
    }
    if (filter->has_core) {
        ntk_buf_add_format(sql, " AND e.core = %" PRIu32, filter->core);
    }
    if (filter->newest_events) {
        ntk_buf_add_format(sql,
                           " ORDER BY e.time_ns DESC, e.place DESC, e.kind DESC LIMIT %" PRIu64
                           ") ORDER BY time_ns, place, kind",
                           filter->newest_events);
    } else {
        ntk_buf_add_text(sql, " ORDER BY e.time_ns, e.place, e.kind");
    }
}

static bool is_known(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) != SQLITE_NULL;
}

static void take_event(sqlite3_stmt *statement, struct ntk_store_event *event)
{
    int64_t core = sqlite3_column_int64(statement, 2);

    *event = (struct ntk_store_event){
        .time_ns = (uint64_t)sqlite3_column_int64(statement, 0),
        .kind = (enum ntk_store_event_kind)sqlite3_column_int(statement, 1),
        .has_core = core >= 0,
        .core = core >= 0 ? (uint32_t)core : 0,
        .model_id = (uint32_t)sqlite3_column_int64(statement, 3),
        .what = (const char *)sqlite3_column_text(statement, 4),
        .name = (const char *)sqlite3_column_text(statement, 5),
        .has_status = is_known(statement, 6),
        .nrt_status = (uint32_t)sqlite3_column_int64(statement, 6),
        .has_bytes = is_known(statement, 7),
        .bytes = (uint64_t)sqlite3_column_int64(statement, 7),
        .has_duration = is_known(statement, 8),
        .duration_ns = (uint64_t)sqlite3_column_int64(statement, 8),
        .has_address = is_known(statement, 9),
        .address = (uint64_t)sqlite3_column_int64(statement, 9),
        .has_execution = is_known(statement, 10),
        .execution = (uint64_t)sqlite3_column_int64(statement, 10),
        .pid = (uint32_t)sqlite3_column_int64(statement, 11),
        .tag = (const char *)sqlite3_column_text(statement, 12),
        .model = (const char *)sqlite3_column_text(statement, 13),
        .has_value = is_known(statement, 14),
        .value = (uint64_t)sqlite3_column_int64(statement, 14),
    };
}

int ntk_store_reader_events(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window, uint32_t kinds,
                            ntk_store_event_row row, void *ctx, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    if (window->to_ns > INT64_MAX || window->from_ns >= window->to_ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window is empty");
    }
    kinds &= NTK_STORE_EVENTS_ALL;
    if (kinds == 0) {
        return 0;
    }
    add_sql(&sql, filter, kinds);
    int ret = ntk_buf_ok(&sql)
                  ? ntk_store_sql_prepare(reader->db, ntk_buf_text_get(&sql), &statement, err)
                  : ntk_err_no_memory(err);
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)window->from_ns);
        sqlite3_bind_int64(statement, 4, (sqlite3_int64)window->to_ns);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_event event;
        take_event(statement, &event);
        ret = row(&event, ctx);
    }
    sqlite3_finalize(statement);
    ntk_buf_fini(&sql);
    return ret < 0 ? ret : 0;
}
