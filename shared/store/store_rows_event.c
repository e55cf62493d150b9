/* SPDX-License-Identifier: MIT */
/* store_rows_event - errors, loads, allocations and marks. */
#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

const char *const ntk_store_model_operations[NTK_EVENT_KIND_COUNT] = {
    [NTK_EVENT_MODEL_LOAD] = "load",
    [NTK_EVENT_MODEL_UNLOAD] = "unload",
    [NTK_EVENT_MODEL_START] = "start",
    [NTK_EVENT_MODEL_STOP] = "stop",
};

/* What the hardware did, else the class of the execution. */
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
    struct ntk_rows_binder binder;
    int ret = ntk_rows_get_process(rows, snapshot, ntk_event_key(event), NULL, &process, err);

    if (ret < 0) {
        return ret;
    }
    switch (event->kind) {
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        binder = ntk_rows_bind_start(rows, ADD_MEMORY_LOG);
        ntk_rows_bind_u64(&binder, event->realtime_ns);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_text(&binder, event->kind == NTK_EVENT_MEM_ALLOC ? "alloc" : "free");
        ntk_rows_bind_u64(&binder, event->category);
        ntk_rows_bind_core(&binder, event->core);
        ntk_rows_bind_u64(&binder, event->model_id);
        ntk_rows_bind_u64(&binder, event->address);
        ntk_rows_bind_u64(&binder, event->bytes);
        ntk_rows_bind_text(&binder, event->name);
        return ntk_rows_bind_finish(rows, &binder, err);
    case NTK_EVENT_ERROR:
        binder = ntk_rows_bind_start(rows, ADD_ERROR_LOG);
        ntk_rows_bind_u64(&binder, event->realtime_ns);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_text(&binder, error_name(event));
        ntk_rows_bind_u64(&binder, event->status);
        ntk_rows_bind_core(&binder, event->core);
        ntk_rows_bind_u64(&binder, event->model_id);
        ntk_rows_bind_u64(&binder, event->execution_id);
        return ntk_rows_bind_finish(rows, &binder, err);
    case NTK_EVENT_MODEL_LOAD:
    case NTK_EVENT_MODEL_UNLOAD:
    case NTK_EVENT_MODEL_START:
    case NTK_EVENT_MODEL_STOP:
        binder = ntk_rows_bind_start(rows, ADD_MODEL_LOG);
        ntk_rows_bind_u64(&binder, event->realtime_ns);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_text(&binder, ntk_store_model_operations[event->kind]);
        ntk_rows_bind_u64(&binder, event->model_id);
        ntk_rows_bind_text(&binder, event->name);
        ntk_rows_bind_core(&binder, event->core);
        ntk_rows_bind_u64(&binder, event->status);
        ntk_rows_bind_u64(&binder, event->duration_ns);
        ntk_rows_bind_u64(&binder, event->bytes);
        return ntk_rows_bind_finish(rows, &binder, err);
    case NTK_EVENT_MARK:
        binder = ntk_rows_bind_start(rows, ADD_MARK_LOG);
        ntk_rows_bind_u64(&binder, event->realtime_ns);
        ntk_rows_bind_u64(&binder, (uint64_t)process->id);
        ntk_rows_bind_text(&binder, event->name);
        ntk_rows_bind_u64(&binder, event->value);
        ntk_rows_bind_u64(&binder, event->duration_ns);
        return ntk_rows_bind_finish(rows, &binder, err);
    default:
        return 0; /* profiles: in the events of neuron-top, not stored */
    }
}
