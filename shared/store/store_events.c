/* SPDX-License-Identifier: MIT */
/* store_events - reads the events in a window in order: one SELECT over the logs and the
 * processes. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

/* Where each kind of event comes from: the columns after time, kind and process_id, in the order in
 * which add_sql() names them; and the rows. */
struct source {
    const char *time, *columns, *rows;
};

#define MODEL_LOG(kind, bytes)                                                          \
    {                                                                                   \
        "time_ns",                                                                      \
            "core, model_id, '', name, nrt_status, " bytes ", duration_ns, NULL, NULL," \
            " NULL, event_id",                                                          \
            "model_log WHERE kind = '" kind "' AND"                                     \
    }
#define MEMORY_LOG(kind)                                                                          \
    {                                                                                             \
        "time_ns",                                                                                \
            "core, model_id, k.name, memory_log.name, NULL, bytes, NULL, address, NULL,"          \
            " NULL, event_id",                                                                    \
            "memory_log LEFT JOIN memory_category k USING (category) WHERE kind = '" kind "' AND" \
    }
static const struct source sources[NTK_STORE_EVENT_COUNT] = {
    [NTK_STORE_EVENT_START] = { "first_seen_ns",
                                "-1, 0, '', command, NULL, NULL, NULL, NULL, NULL, NULL, 0",
                                "process WHERE" },
    [NTK_STORE_EVENT_END] = { "ended_ns", "-1, 0, '', '', NULL, NULL, NULL, NULL, NULL, NULL, 0",
                              "process WHERE" },
    [NTK_STORE_EVENT_LOAD] = MODEL_LOG("load", "bytes"),
    [NTK_STORE_EVENT_UNLOAD] = MODEL_LOG("unload", "NULL"),
    [NTK_STORE_EVENT_ERROR] = { "time_ns",
                                "core, model_id, error_class, '', nrt_status, NULL, NULL, NULL,"
                                " execution_id, NULL, event_id",
                                "error_log WHERE" },
    [NTK_STORE_EVENT_ALLOC] = MEMORY_LOG("alloc"),
    [NTK_STORE_EVENT_FREE] = MEMORY_LOG("free"),
    [NTK_STORE_EVENT_MODEL_START] = MODEL_LOG("model_start", "NULL"),
    [NTK_STORE_EVENT_MODEL_STOP] = MODEL_LOG("model_stop", "NULL"),
    [NTK_STORE_EVENT_MARK] = { "time_ns",
                               "-1, 0, name, '', NULL, NULL, duration_ns, NULL, NULL, value,"
                               " event_id",
                               "mark_log WHERE" },
};

const char *const ntk_store_event_names[NTK_STORE_EVENT_COUNT] = {
    "first_seen", "end",  "load",        "unload",     "error",
    "alloc",      "free", "model_start", "model_stop", "mark",
};

/* Columns of an event, addressed by number, because an answer may have many events. */
/* clang-format off */
#define EVENT_COLUMNS(C)                                                                \
    C(TIME_NS, e.time_ns) C(KIND, e.kind) C(CORE, e.core) C(MODEL_ID, e.model_id)       \
    C(WHAT, e.what) C(NAME, e.name) C(STATUS, e.status) C(BYTES, e.bytes)               \
    C(DURATION, e.duration) C(ADDRESS, e.address) C(EXECUTION, e.execution)             \
    C(PID, p.pid) C(TAG, p.tag) C(MODEL, m.name) C(VALUE, e.value)                      \
    C(KILLED, p.killed) C(EXIT_CODE, p.exit_code) C(EXIT_SIGNAL, p.exit_signal)
/* clang-format on */
#define AS_ENUM(symbol, column) symbol,
#define AS_SQL(symbol, column) #column ", "
enum event_column { EVENT_COLUMNS(AS_ENUM) };

static void add_sql(struct ntk_buf *sql, const struct ntk_store_filter *filter, uint32_t kinds)
{
    ntk_buf_add_text(sql, "WITH e (time_ns, kind, process_id, core, model_id, what, name, status,"
                          " bytes, duration, address, execution, value, place) AS (");
    const char *separator = "";
    for (int kind = 0; kind < NTK_STORE_EVENT_COUNT; kind++) {
        if (kinds >> kind & 1) {
            const struct source *source = &sources[kind];

            ntk_buf_add_format(sql,
                               "%sSELECT %s, %d, process_id, %s FROM %s %s > :from_ns"
                               " AND %s <= :to_ns",
                               separator, source->time, kind, source->columns, source->rows,
                               source->time, source->time);
            separator = " UNION ALL ";
        }
    }
    ntk_buf_add_text(sql, filter->newest_events ? ") SELECT * FROM (" : ") ");
    ntk_buf_add_text(sql, "SELECT " EVENT_COLUMNS(AS_SQL) "e.place");
    ntk_buf_add_text(sql, " FROM e JOIN process p USING (process_id) LEFT JOIN model m"
                          " ON m.process_id = e.process_id AND m.model_id = e.model_id WHERE 1");
    ntk_store_window_add_process(sql, "p.", filter);
    if (filter->model) {
        ntk_buf_add_text(sql, " AND (m.name = :name OR m.name = :name || '.neff')");
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

/* The class or outcome of an error. The record of a fault has no class although its status has one,
 * because the failed execution, which has a record too, counts. A status without a class gets the
 * outcome. */
static const char *class_or_outcome(const char *stored, uint32_t status)
{
    if (!stored || strcmp(stored, "none") != 0) {
        return stored;
    }
    return ntk_error_class_of_status(status) < NTK_ERROR_CLASS_COUNT
               ? "fault"
               : ntk_outcome_names[ntk_outcome_of_status(status)];
}

static void take_event(sqlite3_stmt *statement, struct ntk_store_event *event)
{
    int64_t core = sqlite3_column_int64(statement, CORE);

    *event = (struct ntk_store_event){
        .time_ns = (uint64_t)sqlite3_column_int64(statement, TIME_NS),
        .kind = (enum ntk_store_event_kind)sqlite3_column_int(statement, KIND),
        .has_core = core >= 0,
        .core = core >= 0 ? (uint32_t)core : 0,
        .model_id = (uint32_t)sqlite3_column_int64(statement, MODEL_ID),
        .what = (const char *)sqlite3_column_text(statement, WHAT),
        .name = (const char *)sqlite3_column_text(statement, NAME),
        .has_status = is_known(statement, STATUS),
        .status = (uint32_t)sqlite3_column_int64(statement, STATUS),
        .has_bytes = is_known(statement, BYTES),
        .bytes = (uint64_t)sqlite3_column_int64(statement, BYTES),
        .has_duration = is_known(statement, DURATION),
        .duration_ns = (uint64_t)sqlite3_column_int64(statement, DURATION),
        .has_address = is_known(statement, ADDRESS),
        .address = (uint64_t)sqlite3_column_int64(statement, ADDRESS),
        .has_execution = is_known(statement, EXECUTION),
        .execution = (uint64_t)sqlite3_column_int64(statement, EXECUTION),
        .pid = (uint32_t)sqlite3_column_int64(statement, PID),
        .tag = (const char *)sqlite3_column_text(statement, TAG),
        .model = (const char *)sqlite3_column_text(statement, MODEL),
        .has_value = is_known(statement, VALUE),
        .value = (uint64_t)sqlite3_column_int64(statement, VALUE),
    };
    if (event->kind == NTK_STORE_EVENT_ERROR) {
        event->what = class_or_outcome(event->what, event->status);
    }
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
    int ret = ntk_store_sql_prepare_buf(reader->db, &sql, &statement, err);
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
        ntk_store_sql_bind(statement, "from_ns", window->from_ns);
        ntk_store_sql_bind(statement, "to_ns", window->to_ns);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_event event;
        char text[NTK_EXIT_TEXT_BYTES];
        take_event(statement, &event);
        if (event.kind == NTK_STORE_EVENT_END) {
            event.what = ntk_exit_text(ntk_store_sql_exit(statement),
                                       sqlite3_column_int(statement, KILLED) != 0, text);
        }
        ret = row(&event, ctx);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}
