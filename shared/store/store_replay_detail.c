/* SPDX-License-Identifier: MIT */
/* store_replay_detail - loads models, memory and events of the runtimes at a past time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/word.h"
#include "shared/store/store_replay_state.h"
#include "shared/store/store_sql.h"

static const char models_sql[] =
    "SELECT process_id, model_id, name, neff_path, uuid, core, core_count, estimated,"
    " load_timestamp_ns, load_ns, unloaded_ns, memory_estimated FROM model"
    " WHERE process_id = :process_id AND first_seen_ns <= :time_ns AND last_seen_ns > :start_ns "
    "ORDER BY model_id";

static uint64_t start_of(const struct ntk_replay *replay)
{
    uint64_t period_ns = replay->snapshot->period_ns;

    return replay->time_ns > period_ns ? replay->time_ns - period_ns : 0;
}

static int load_models(struct ntk_replay *replay, struct ntk_runtime_sample *runtime,
                       int64_t process_id, struct ntk_err *err)
{
    struct ntk_vec models = NTK_VEC_INIT(struct ntk_model_sample);
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare_plain(replay, models_sql, &statement, err);

    if (ret == 0) {
        ntk_store_sql_bind(statement, "start_ns", start_of(replay));
        ntk_store_sql_bind(statement, "process_id", (uint64_t)process_id);
    }
    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        struct ntk_model_sample *model = ntk_replay_add(&models);
        if (!model) {
            ret = ntk_err_no_memory(err);
            break;
        }
        ret = 0;
        model->id = (uint32_t)ntk_store_sql_u64(statement, "model_id");
        model->name = ntk_replay_text(replay, statement, "name");
        model->neff_path = ntk_replay_text(replay, statement, "neff_path");
        ntk_str_copy(model->uuid, sizeof model->uuid, ntk_store_sql_word(statement, "uuid"));
        model->core = (int64_t)ntk_store_sql_u64(statement, "core") < 0
                          ? NTK_NO_CORE
                          : (uint32_t)ntk_store_sql_u64(statement, "core");
        model->core_count = (uint32_t)ntk_store_sql_u64(statement, "core_count");
        model->estimated = ntk_store_sql_u64(statement, "estimated") != 0;
        model->memory_estimated = ntk_store_sql_u64(statement, "memory_estimated") != 0;
        model->load_timestamp_ns = ntk_store_sql_u64(statement, "load_timestamp_ns");
        model->load_ns = ntk_store_sql_u64(statement, "load_ns");
        uint64_t unloaded_ns = ntk_store_sql_u64(statement, "unloaded_ns");
        model->loaded = unloaded_ns == 0 || unloaded_ns > replay->time_ns;
    }
    sqlite3_finalize(statement);
    if (ret == 0) {
        runtime->has |= NTK_RUNTIME_HAS_MODELS;
        struct ntk_model_sample *to =
            ntk_snapshot_alloc_models(replay->snapshot, runtime, models.count);
        if (to) {
            memcpy(to, models.items, models.count * sizeof *to);
        }
    }
    ntk_vec_fini(&models);
    return ret;
}

static int load_model_samples(struct ntk_replay *replay, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret =
        ntk_replay_prepare(replay, NTK_FAMILY_MODEL,
                           "process_id, model_id, executions, errors, total_latency_histogram,"
                           " device_latency_histogram",
                           "", &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        ret = 0;
        struct ntk_runtime_sample *runtime =
            ntk_replay_find_runtime(replay, (int64_t)ntk_store_sql_u64(statement, "process_id"));
        for (size_t i = 0; runtime && i < runtime->model_count; i++) {
            struct ntk_model_sample *model = &runtime->models[i];
            if (model->id != ntk_store_sql_u64(statement, "model_id")) {
                continue;
            }
            model->has |= NTK_MODEL_HAS_EXECUTIONS;
            model->executions.period = ntk_store_sql_u64(statement, "executions");
            model->errors.period = ntk_store_sql_u64(statement, "errors");
            model->is_running = model->executions.period > 0;
            model->total_latency =
                ntk_replay_histogram(replay, statement, "total_latency_histogram");
            model->device_latency =
                ntk_replay_histogram(replay, statement, "device_latency_histogram");
            model->has |= model->total_latency.count > 0 ? NTK_MODEL_HAS_LATENCY : 0;
            model->has |= model->device_latency.count > 0 ? NTK_MODEL_HAS_DEVICE_LATENCY : 0;
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

/* For each key, its last row up to this time. */
static const char memory_sql[] =
    "SELECT m.core, m.category, m.model_id, m.current_bytes, m.peak_bytes FROM memory_last l"
    " JOIN memory_sample m ON m.process_id = l.process_id AND m.core = l.core"
    "  AND m.category = l.category AND m.model_id = l.model_id AND m.time_ns ="
    "  (SELECT max(s.time_ns) FROM memory_sample s WHERE s.process_id = l.process_id"
    "    AND s.core = l.core AND s.category = l.category AND s.model_id = l.model_id"
    "    AND s.time_ns <= :time_ns)"
    " WHERE l.process_id = :process_id AND (m.current_bytes > 0 OR m.peak_bytes > 0)"
    " ORDER BY m.core, m.category, m.model_id";

static int load_memory(struct ntk_replay *replay, struct ntk_runtime_sample *runtime,
                       int64_t process_id, struct ntk_err *err)
{
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_memory_sample);
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare_plain(replay, memory_sql, &statement, err);

    if (ret == 0) {
        ntk_store_sql_bind(statement, "process_id", (uint64_t)process_id);
    }
    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        struct ntk_memory_sample *row = ntk_replay_add(&rows);
        int64_t core = (int64_t)ntk_store_sql_u64(statement, "core");
        uint64_t category = ntk_store_sql_u64(statement, "category");
        if (!row || category >= NTK_MEMORY_CATEGORY_COUNT) {
            ret = row ? ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                    "the database contains memory of an unknown category")
                      : ntk_err_no_memory(err);
            break;
        }
        ret = 0;
        row->core = core < 0 ? NTK_NO_CORE : (uint16_t)core;
        row->category = (uint16_t)category;
        row->location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)category);
        row->model_id = (uint32_t)ntk_store_sql_u64(statement, "model_id");
        row->current_bytes = ntk_store_sql_u64(statement, "current_bytes");
        row->peak_bytes = ntk_store_sql_u64(statement, "peak_bytes");
    }
    sqlite3_finalize(statement);
    if (ret == 0) {
        runtime->has |= NTK_RUNTIME_HAS_MEMORY;
        runtime->memory = ntk_snapshot_alloc(replay->snapshot, rows.count, sizeof *runtime->memory);
        if (runtime->memory) {
            memcpy(runtime->memory, rows.items, rows.count * sizeof *runtime->memory);
            runtime->memory_count = rows.count;
        }
    }
    ntk_vec_fini(&rows);
    return ret;
}

/* Events with their process, which may have ended. */
static const char events_sql[] =
    "SELECT e.*, p.pid, p.header_pid, p.uid, p.start_time, p.tag FROM (SELECT time_ns, process_id, "
    "kind, core, model_id, address, bytes, name, category,"
    "  0 AS nrt_status, 0 AS execution_id, 0 AS duration_ns FROM memory_log WHERE time_ns > "
    ":start_ns "
    "AND "
    "time_ns <= :time_ns"
    " UNION ALL SELECT time_ns, process_id, error_class, core, model_id, 0, 0, '', -1, nrt_status,"
    "  execution_id, 0 FROM error_log WHERE time_ns > :start_ns AND time_ns <= :time_ns"
    " UNION ALL SELECT time_ns, process_id, kind, core, model_id, 0, bytes, name, -2,"
    "  nrt_status, 0, duration_ns FROM model_log WHERE time_ns > :start_ns AND time_ns <= :time_ns"
    " UNION ALL SELECT time_ns, process_id, '', -1, 0, value, 0, name, -3, 0, 0, duration_ns"
    "  FROM mark_log WHERE time_ns > :start_ns AND time_ns <= :time_ns"
    " ORDER BY 1 DESC LIMIT :most) e LEFT JOIN process p USING (process_id) ORDER BY e.time_ns";

static void take_event(struct ntk_snapshot *snapshot, sqlite3_stmt *statement,
                       struct ntk_event_sample *event)
{
    const char *word = ntk_store_sql_word(statement, "kind");
    int64_t core = (int64_t)ntk_store_sql_u64(statement, "core");
    int64_t category = (int64_t)ntk_store_sql_u64(statement, "category");

    event->realtime_ns = ntk_store_sql_u64(statement, "time_ns");
    event->core = core < 0 ? NTK_NO_CORE : (uint16_t)core;
    event->model_id = (uint32_t)ntk_store_sql_u64(statement, "model_id");
    event->address = ntk_store_sql_u64(statement, "address");
    event->bytes = ntk_store_sql_u64(statement, "bytes");
    event->name = ntk_snapshot_text(snapshot, ntk_store_sql_word(statement, "name"));
    event->status = (uint32_t)ntk_store_sql_u64(statement, "nrt_status");
    event->execution_id = ntk_store_sql_u64(statement, "execution_id");
    event->duration_ns = ntk_store_sql_u64(statement, "duration_ns");
    event->error_class = NTK_ERROR_CLASS_NONE;
    if (category == -1) {
        event->kind = NTK_EVENT_ERROR;
        size_t of_class = ntk_word_find(word, ntk_error_class_names, NTK_ERROR_CLASS_COUNT);
        size_t code = ntk_word_find(word, ntk_error_code_names, NTK_ERROR_CODE_COUNT);
        event->error_class =
            of_class < NTK_ERROR_CLASS_COUNT ? (uint16_t)of_class : NTK_ERROR_CLASS_NONE;
        event->error_code = code < NTK_ERROR_CODE_COUNT ? (uint32_t)code : 0;
    } else if (category == -2) {
        size_t kind = ntk_word_find(word, ntk_event_kind_names, NTK_EVENT_KIND_COUNT);
        event->kind = kind < NTK_EVENT_KIND_COUNT ? (uint16_t)kind : NTK_EVENT_MODEL_UNLOAD;
    } else if (category == -3) {
        event->kind = NTK_EVENT_MARK;
        event->value = event->address;
        event->address = 0;
    } else {
        event->kind = word && strcmp(word, "alloc") == 0 ? NTK_EVENT_MEM_ALLOC : NTK_EVENT_MEM_FREE;
        event->category = (uint16_t)category;
        event->location = category < NTK_MEMORY_CATEGORY_COUNT
                              ? (uint16_t)ntk_memory_location_of((enum ntk_memory_category)category)
                              : 0;
    }
    event->pid = (uint32_t)ntk_store_sql_u64(statement, "pid");
    event->header_pid = (uint32_t)ntk_store_sql_u64(statement, "header_pid");
    event->uid = (uint32_t)ntk_store_sql_u64(statement, "uid");
    event->start_time = ntk_store_sql_u64(statement, "start_time");
    event->tag = ntk_snapshot_text(snapshot, ntk_store_sql_word(statement, "tag"));
}

static int load_events(sqlite3 *db, struct ntk_snapshot *snapshot, uint64_t from_ns, size_t most,
                       struct ntk_err *err)
{
    struct ntk_vec events = NTK_VEC_INIT(struct ntk_event_sample);
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, events_sql, &statement, err);

    if (ret == 0) {
        ntk_store_sql_bind(statement, "time_ns", snapshot->realtime_ns);
        ntk_store_sql_bind(statement, "start_ns", from_ns);
        ntk_store_sql_bind(statement, "most", most);
    }
    while (ret == 0 && ntk_store_sql_next(db, statement, &ret, err)) {
        struct ntk_event_sample *event = ntk_replay_add(&events);
        ret = event ? 0 : ntk_err_no_memory(err);
        if (event) {
            take_event(snapshot, statement, event);
        }
    }
    sqlite3_finalize(statement);
    snapshot->event_count = 0;
    if (ret == 0 && events.count > 0) {
        struct ntk_event_sample *to = ntk_snapshot_alloc_events(snapshot, events.count);
        if (to) {
            memcpy(to, events.items, events.count * sizeof *to);
        }
    }
    ntk_vec_fini(&events);
    return ret;
}

int ntk_store_reader_load_events(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                                 uint64_t from_ns, size_t most, struct ntk_err *err)
{
    int ret = load_events(reader->db, snapshot, from_ns, most, err);

    return ret == 0 && !ntk_snapshot_ok(snapshot) ? ntk_err_no_memory(err) : ret;
}

int ntk_replay_load_details(struct ntk_replay *replay, struct ntk_err *err)
{
    struct ntk_snapshot *snapshot = replay->snapshot;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < snapshot->runtime_count; i++) {
        ret = load_models(replay, &snapshot->runtimes[i], replay->process_ids[i], err);
        /* Memory rows are deleted together with the seconds. */
        if (ret == 0 && replay->time_ns >= replay->extents[NTK_STORE_SECOND].first_ns) {
            ret = load_memory(replay, &snapshot->runtimes[i], replay->process_ids[i], err);
        }
    }
    if (ret == 0) {
        ret = load_model_samples(replay, err);
    }
    return ret == 0 ? load_events(replay->db, snapshot, start_of(replay), INT64_MAX, err) : ret;
}
