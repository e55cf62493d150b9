/* SPDX-License-Identifier: MIT */
/* store_rows_event - writes errors, loads, allocations and marks. */
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

/* The name of the hardware error, else the class of the execution. The record of a fault has no
 * class, because its execution counts. */
static const char *error_name(const struct ntk_event_sample *event)
{
    if (event->error_code > 0 && event->error_code < NTK_ERROR_CODE_COUNT) {
        return ntk_error_code_names[event->error_code];
    }
    return event->error_class < NTK_ERROR_CLASS_COUNT ? ntk_error_class_names[event->error_class]
                                                      : "none";
}

int ntk_rows_write_event(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         const struct ntk_event_sample *event, struct ntk_err *err)
{
    struct ntk_rows_process *process;
    sqlite3_stmt *row;
    int ret = ntk_rows_get_process(rows, snapshot, ntk_event_key(event), NULL, &process, err);

    if (ret < 0) {
        return ret;
    }
    switch (event->kind) {
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        row = rows->statements[ADD_MEMORY_LOG];
        ntk_store_sql_bind(row, "time_ns", event->realtime_ns);
        ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
        ntk_store_sql_bind_text(row, "kind", ntk_event_kind_names[event->kind]);
        ntk_store_sql_bind(row, "category", event->category);
        ntk_rows_bind_core(row, "core", event->core);
        ntk_store_sql_bind(row, "model_id", event->model_id);
        ntk_store_sql_bind(row, "address", event->address);
        ntk_store_sql_bind(row, "bytes", event->bytes);
        ntk_store_sql_bind_text(row, "name", event->name);
        return ntk_rows_finish(rows, row, err);
    case NTK_EVENT_ERROR:
        row = rows->statements[ADD_ERROR_LOG];
        ntk_store_sql_bind(row, "time_ns", event->realtime_ns);
        ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
        ntk_store_sql_bind_text(row, "error_class", error_name(event));
        ntk_store_sql_bind(row, "nrt_status", event->status);
        ntk_rows_bind_core(row, "core", event->core);
        ntk_store_sql_bind(row, "model_id", event->model_id);
        ntk_store_sql_bind(row, "execution_id", event->execution_id);
        return ntk_rows_finish(rows, row, err);
    case NTK_EVENT_MODEL_LOAD:
    case NTK_EVENT_MODEL_UNLOAD:
    case NTK_EVENT_MODEL_START:
    case NTK_EVENT_MODEL_STOP:
        row = rows->statements[ADD_MODEL_LOG];
        ntk_store_sql_bind(row, "time_ns", event->realtime_ns);
        ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
        ntk_store_sql_bind_text(row, "kind", ntk_event_kind_names[event->kind]);
        ntk_store_sql_bind(row, "model_id", event->model_id);
        ntk_store_sql_bind_text(row, "name", event->name);
        ntk_rows_bind_core(row, "core", event->core);
        ntk_store_sql_bind(row, "nrt_status", event->status);
        ntk_store_sql_bind(row, "duration_ns", event->duration_ns);
        ntk_store_sql_bind(row, "bytes", event->bytes);
        return ntk_rows_finish(rows, row, err);
    case NTK_EVENT_MARK:
        row = rows->statements[ADD_MARK_LOG];
        ntk_store_sql_bind(row, "time_ns", event->realtime_ns);
        ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
        ntk_store_sql_bind_text(row, "name", event->name);
        ntk_store_sql_bind(row, "value", event->value);
        ntk_store_sql_bind(row, "duration_ns", event->duration_ns);
        return ntk_rows_finish(rows, row, err);
    default:
        return 0; /* profile events are only shown by neuron-top, not stored */
    }
}
