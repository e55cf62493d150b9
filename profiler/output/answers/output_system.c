/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_system.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "profiler/output/answers/output_cells.h"
#include "profiler/output/tables/rows_split.h"
#include "profiler/output/tables/rows_system.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/text_table.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/units.h"

const struct ntk_system_execution *
ntk_system_capture_execution(const struct ntk_system_view *view,
                             const struct ntk_system_capture *capture, const char **out_reason)
{
    const struct ntk_system_captured captured = { .model_id = capture->model_id,
                                                  .process_id = capture->process_id,
                                                  .nc = capture->nc,
                                                  .has_window = capture->has_window,
                                                  .start_ns = capture->window_start_ns,
                                                  .end_ns = capture->window_end_ns };

    if (capture->is_session) {
        if (out_reason) {
            *out_reason = NULL;
        }
        return NULL;
    }
    return ntk_system_tables_captured(view->tables, &captured, out_reason);
}

/* ---- text ---- */

const char *ntk_output_system_process(const struct ntk_system_trace *trace, char *buf,
                                      size_t buf_bytes)
{
    int64_t process = ntk_rows_system_process(trace);

    if (process == NTK_ABSENT_I64) {
        (void)snprintf(buf, buf_bytes, "unknown");
    } else {
        (void)snprintf(buf, buf_bytes, "%" PRId64, process);
    }
    return buf;
}

static void head_put(const struct ntk_system_trace *trace, struct ntk_buf *out)
{
    char time_text[32] = "-"; /* "-" outside the years of the calendar */
    char duration[32];
    char instance[64];
    char process[NTK_SYSTEM_PROCESS_BYTES];
    time_t second = (time_t)(trace->begin_ns / 1000000000U);
    struct tm utc;
    uint64_t last_ns = 0;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        last_ns = !span->is_partial && span->end_ns > last_ns ? span->end_ns : last_ns;
        ntk_system_trace_passed(trace, i);
    }
    if (trace->begin_ns > 0 && gmtime_r(&second, &utc)) {
        (void)strftime(time_text, sizeof time_text, "%Y-%m-%d %H:%M:%S", &utc);
    }
    ntk_buf_add_format(out, "Session   %s\n", trace->folder);
    if (ntk_system_trace_is_absent(trace)) {
        ntk_buf_add_text(out, "Trace     none: the folder has only captures\n");
        return;
    }
    if (trace->info) {
        ntk_str_copy_clean(instance, sizeof instance, trace->info->instance_type,
                           strlen(trace->info->instance_type));
        ntk_buf_add_format(out, "Process   %s on %s",
                           ntk_output_system_process(trace, process, sizeof process),
                           instance[0] ? instance : "a machine of unknown type");
        if (trace->info->core_count > 0) {
            ntk_buf_add_format(out, ", %s %" PRIu32,
                               trace->info->core_count == 1 ? "core" : "cores",
                               trace->info->first_core);
        }
        if (trace->info->core_count > 1) {
            ntk_buf_add_format(out, " to %" PRIu32,
                               trace->info->first_core + trace->info->core_count - 1);
        }
        ntk_buf_add_text(out, trace->info->software_cores ? " (software cores)" : "");
        ntk_buf_add_char(out, '\n');
    } else if (trace->span_count > 0) {
        ntk_buf_add_text(out, "Process   unknown: the folder has no trace_info.pb\n");
    }
    if (trace->begin_ns > 0) {
        ntk_buf_add_format(out, "Time      %s UTC, recorded for %s", time_text,
                           ntk_units_duration(duration, sizeof duration,
                                              trace->end_ns > trace->begin_ns
                                                  ? trace->end_ns - trace->begin_ns
                                                  : 0));
    } else {
        ntk_buf_add_text(out, "Time      unknown");
    }
    if (last_ns > trace->begin_ns && last_ns < trace->end_ns) {
        ntk_buf_add_format(
            out, "; the last event ends after %s",
            ntk_units_duration(duration, sizeof duration, last_ns - trace->begin_ns));
    }
    ntk_buf_add_char(out, '\n');
    ntk_buf_add_format(out,
                       "Events    %zu spans and instants, %" PRIu64
                       " without start or end, %" PRIu64 " events overwritten\n",
                       trace->span_count, trace->partial_count, trace->lost);
    ntk_vec_each(const struct ntk_system_note, note, &trace->notes) {
        ntk_buf_add_text(out, "Note      ");
        ntk_buf_add_clean(out, note->text);
        ntk_buf_add_char(out, '\n');
    }
}

static void threads_put(const struct ntk_system_tables *tables, struct ntk_buf *out)
{
    static const char *const heads[] = { "THREAD",     "EVENT",     "SOURCE",   "COUNT",
                                         "TOTAL (US)", "MEAN (US)", "P50 (US)", "MAX (US)" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 8, 1u << 1 | 1u << 2, heads);
    for (size_t i = 0; i < tables->thread_row_count; i++) {
        const struct ntk_system_thread_row *row = &tables->thread_rows[i];
        uint64_t whole = row->count - row->partial_count;

        /* Events of a core have no thread, and a thread that has ended may be unknown. */
        ntk_cell_u64_or_dash(&table, row->thread_id, row->thread_id > 0);
        ntk_text_table_text(&table, row->type);
        ntk_text_table_text(&table, row->is_hardware ? "neuron_hw" : "neuron_rt");
        ntk_text_table_format(&table, "%" PRIu64, row->count);
        ntk_text_table_us(&table, row->total_ns, row->max_ns > 0);
        ntk_text_table_us(&table, whole > 0 ? row->total_ns / whole : 0, row->max_ns > 0);
        ntk_text_table_us(&table, row->median_ns, row->max_ns > 0);
        ntk_text_table_us(&table, row->max_ns, row->max_ns > 0);
    }
    ntk_buf_add_char(out, '\n');
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    if (tables->thread_rows_omitted > 0) {
        ntk_buf_add_format(out, "(%zu more thread rows omitted)\n", tables->thread_rows_omitted);
    }
}

/* Returns true if there are phases; a recording of a running process has none. */
static bool has_phases(const struct ntk_system_tables *tables)
{
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        if (execution->check_ns > 0 || execution->queue_ns > 0 || execution->wait_ns > 0 ||
            execution->after_ns > 0) {
            return true;
        }
    }
    return false;
}

/* The same time as in analyze executions. */
static uint64_t device_ns(const struct ntk_system_execution *execution)
{
    return execution->device_ns ? execution->device_ns : execution->run_ns;
}

static void executions_put(const struct ntk_system_view *view, size_t count_max,
                           struct ntk_buf *out)
{
    static const char *const heads[] = { "EXEC",       "MODEL",     "NC",         "THREAD",
                                         "START (US)", "CALL (US)", "CHECK",      "QUEUE",
                                         "WAIT",       "AFTER",     "DEVICE (US)" };
    static const char *const short_heads[] = { "EXEC",       "MODEL",     "NC",         "THREAD",
                                               "START (US)", "CALL (US)", "DEVICE (US)" };
    const struct ntk_system_tables *tables = view->tables;
    bool is_long = has_phases(tables);
    struct ntk_text_table table;

    ntk_text_table_init(&table, is_long ? 11 : 7, 1u << 1, is_long ? heads : short_heads);
    for (size_t i = 0; i < tables->execution_count && i < count_max; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];
        bool is_whole = !execution->is_partial;

        ntk_text_table_format(&table, "%" PRIu64, execution->exec_id);
        ntk_text_table_text(&table, execution->model);
        ntk_text_table_format(&table, "%" PRIu32, execution->nc);
        ntk_cell_u64_or_dash(&table, execution->thread_id, execution->thread_id > 0);
        ntk_text_table_us(&table, ntk_system_trace_after_ns(view->trace, execution->start_ns),
                          execution->start_ns >= view->trace->zero_ns);
        ntk_text_table_us(&table, execution->host_ns, is_whole);
        if (is_long) {
            ntk_text_table_us(&table, execution->check_ns, execution->check_ns > 0);
            ntk_text_table_us(&table, execution->queue_ns, execution->queue_ns > 0);
            ntk_text_table_us(&table, execution->wait_ns, execution->wait_ns > 0);
            ntk_text_table_us(&table, execution->after_ns, execution->after_ns > 0);
        }
        ntk_text_table_us(&table, device_ns(execution), execution->device_core_count > 0);
    }
    ntk_buf_add_text(
        out, tables->execution_count == 0
                 ? "\n"
                 : "\nCALL is the whole nrt_execute; TOTAL of analyze executions covers only the "
                   "part from the start of kbl_exec_pre to the end of kbl_exec_post\n");
    if (is_long) {
        ntk_buf_add_text(out, "QUEUE ends when the call gets the core; in analyze executions, it "
                              "ends with the first work on the device\n");
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    if (tables->execution_count > count_max) {
        ntk_buf_add_format(out, "(%zu more executions: --output-format summary-json shows all)\n",
                           tables->execution_count - count_max);
    }
}

static void captures_put(const struct ntk_system_view *view, struct ntk_buf *out)
{
    static const char *const heads[] = { "CAPTURE",     "MODEL ID",     "NC",         "EXECUTION",
                                         "DEVICE (US)", "INSTRUCTIONS", "DMA PACKETS" };
    struct ntk_text_table table;
    struct ntk_buf omitted = { 0 };

    ntk_text_table_init(&table, 7, 1u << 0, heads);
    for (size_t i = 0; i < view->capture_count; i++) {
        const struct ntk_system_capture *capture = &view->captures[i];
        const char *reason;
        const struct ntk_system_execution *execution =
            ntk_system_capture_execution(view, capture, &reason);

        if (reason && view->tables->execution_count > 0) {
            ntk_buf_add_text(&omitted, "Not joined to the trace: ");
            ntk_buf_add_clean(&omitted, ntk_str_base_name(capture->path));
            ntk_buf_add_format(&omitted, ": %s\n", reason);
        }

        ntk_text_table_text(&table, ntk_str_base_name(capture->path));
        ntk_text_table_format(&table, "%" PRIu64, capture->model_id);
        if (capture->nc != UINT32_MAX) {
            ntk_text_table_format(&table, "%" PRIu32, capture->nc);
        } else {
            ntk_text_table_text(&table, "-");
        }
        if (execution || capture->exec_id) {
            ntk_text_table_format(&table, "%" PRIu64,
                                  execution ? execution->exec_id : capture->exec_id);
        } else {
            ntk_text_table_text(&table, capture->is_session ? "all" : "-");
        }
        ntk_text_table_us(&table, capture->total_ns, capture->has_total);
        ntk_cell_u64_or_dash(&table, capture->instruction_count, capture->has_instructions);
        ntk_cell_u64_or_dash(&table, capture->packet_count, capture->has_packets);
    }
    ntk_buf_add_char(out, '\n');
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    out->failed = out->failed || !ntk_buf_ok(&omitted);
    ntk_buf_add(out, omitted.bytes, omitted.bytes_count);
    ntk_buf_fini(&omitted);
}

void ntk_output_system_text(const struct ntk_system_view *view, size_t executions_max,
                            struct ntk_buf *out)
{
    head_put(view->trace, out);
    if (view->tables->thread_row_count > 0) {
        threads_put(view->tables, out);
    }
    if (view->tables->execution_count > 0) {
        executions_put(view, executions_max, out);
    }
    if (view->capture_count > 0) {
        captures_put(view, out);
    }
}

/* ---- summary JSON ---- */

static void vendor_json(const struct ntk_vendor_trace_info *vendor, bool shows_private,
                        struct ntk_json *json)
{
    ntk_json_key_u64(json, "trace_version", vendor->version);
    if (vendor->ultraserver_index != NTK_VENDOR_TRACE_NO_INDEX) {
        ntk_json_key_text(json, "ultraserver_id", vendor->ultraserver_id);
        if (vendor->ultraserver_type[0]) {
            ntk_json_key_text(json, "ultraserver_type", vendor->ultraserver_type);
        }
        ntk_json_key_u64(json, "ultraserver_size", vendor->ultraserver_size);
        ntk_json_key_u64(json, "ultraserver_instance_index", vendor->ultraserver_index);
    }
    if (shows_private) {
        ntk_json_key_text(json, "ip_address", vendor->ip_address);
        ntk_json_key_text(json, "host_name", vendor->host_name);
    }
}

static void session_json(const struct ntk_system_view *view, struct ntk_json *json)
{
    const struct ntk_system_trace *trace = view->trace;

    ntk_json_key_text(json, "folder", trace->folder);
    if (trace->info) {
        ntk_json_key_text(json, "instance_id", trace->info->instance_id);
        ntk_json_key_text(json, "instance_type", trace->info->instance_type);
        ntk_json_key_text(json, "runtime_version", trace->info->runtime_version);
        if (trace->info->process_id) {
            ntk_json_key_u64(json, "process_id", trace->info->process_id);
        }
        ntk_json_key_u64(json, "session_id", trace->info->session_id);
        ntk_json_key_u64(json, "core_count", trace->info->core_count);
        ntk_json_key_u64(json, "first_core", trace->info->first_core);
        ntk_json_key_u64(json, "lnc", trace->info->lnc);
    }
    if (trace->vendor) {
        vendor_json(trace->vendor, view->shows_private, json);
    }
    if (trace->begin_ns > 0) {
        ntk_json_key_u64(json, "begin_ns", trace->begin_ns);
        ntk_json_key_u64(json, "end_ns", trace->end_ns);
    }
    if (trace->is_part) {
        ntk_json_key_bool(json, "is_part", true);
    }
    if (!ntk_system_trace_is_absent(trace)) {
        ntk_json_key_u64(json, "event_count", trace->span_count);
        ntk_json_key_u64(json, "partial_count", trace->partial_count);
        ntk_json_key_u64(json, "lost_count", trace->lost);
    }
}

static void threads_json(const struct ntk_system_tables *tables, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "threads");
    for (size_t i = 0; i < tables->thread_row_count; i++) {
        const struct ntk_system_thread_row *row = &tables->thread_rows[i];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "thread_id", row->thread_id);
        ntk_json_key_text(json, "event_type", row->type);
        ntk_json_key_text(json, "source", row->is_hardware ? "neuron_hw" : "neuron_rt");
        ntk_json_key_u64(json, "count", row->count);
        ntk_json_key_u64(json, "partial_count", row->partial_count);
        ntk_json_key_u64(json, "total_ns", row->total_ns);
        ntk_json_key_u64(json, "median_ns", row->median_ns);
        ntk_json_key_u64(json, "max_ns", row->max_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    if (tables->thread_rows_omitted > 0) {
        ntk_json_key_u64(json, "threads_omitted", tables->thread_rows_omitted);
    }
}

/* Writes a key if the value is known; steps that the trace does not record are omitted, as they are
 * "-" in the text. */
static void key_if(struct ntk_json *json, const char *key, uint64_t value, bool is_known)
{
    if (is_known) {
        ntk_json_key_u64(json, key, value);
    }
}

static void executions_json(const struct ntk_system_tables *tables, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "executions");
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "exec_id", execution->exec_id);
        ntk_json_key_text(json, "model_name", execution->model);
        ntk_json_key_u64(json, "model_id", execution->model_id);
        ntk_json_key_u64(json, "nc_idx", execution->nc);
        key_if(json, "thread_id", execution->thread_id, execution->thread_id > 0);
        ntk_json_key_u64(json, "start_ns", execution->start_ns);
        ntk_json_key_bool(json, "is_partial", execution->is_partial);
        key_if(json, "host_ns", execution->host_ns, !execution->is_partial);
        key_if(json, "check_ns", execution->check_ns, execution->check_ns > 0);
        key_if(json, "queue_ns", execution->queue_ns, execution->queue_ns > 0);
        key_if(json, "wait_ns", execution->wait_ns, execution->wait_ns > 0);
        key_if(json, "after_ns", execution->after_ns, execution->after_ns > 0);
        key_if(json, "device_ns", device_ns(execution), execution->device_core_count > 0);
        ntk_json_key_u64(json, "device_core_count", execution->device_core_count);
        key_if(json, "nc_timestamp_ns", execution->device_start_ns,
               execution->has_clock || (!tables->is_vendor && execution->device_core_count > 0));
        key_if(json, "cpu_timestamp_ns", execution->sync_host_ns, execution->sync_host_ns > 0);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void captures_json(const struct ntk_system_view *view, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "captures");
    for (size_t i = 0; i < view->capture_count; i++) {
        const struct ntk_system_capture *capture = &view->captures[i];
        const char *reason;
        const struct ntk_system_execution *execution =
            ntk_system_capture_execution(view, capture, &reason);

        ntk_json_object_begin(json);
        ntk_json_key_text(json, "file", ntk_str_base_name(capture->path));
        ntk_json_key_u64(json, "model_id", capture->model_id);
        if (capture->nc != UINT32_MAX) {
            ntk_json_key_u64(json, "nc_idx", capture->nc);
        }
        if (execution || capture->exec_id) {
            ntk_json_key_u64(json, "exec_id", execution ? execution->exec_id : capture->exec_id);
        } else if (reason) {
            ntk_json_key_text(json, "not_joined", reason);
        }
        if (capture->has_total) {
            ntk_json_key_u64(json, "device_ns", capture->total_ns);
        }
        if (capture->has_instructions) {
            ntk_json_key_u64(json, "instruction_count", capture->instruction_count);
        }
        if (capture->has_packets) {
            ntk_json_key_u64(json, "packet_count", capture->packet_count);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

void ntk_output_system_summary_json(const struct ntk_system_view *views, size_t count,
                                    struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "sessions");
    for (size_t i = 0; i < count; i++) {
        ntk_json_object_begin(&json);
        session_json(&views[i], &json);
        threads_json(views[i].tables, &json);
        executions_json(views[i].tables, &json);
        captures_json(&views[i], &json);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

/* ---- the vendor's JSON ---- */

static int put_event(void *ctx, const void *data)
{
    struct ntk_json *json = ctx;
    const struct ntk_system_event_row *row = data;
    struct ntk_system_argument arguments[NTK_SYSTEM_ARGUMENTS_MAX];
    size_t count;
    char group[32];

    (void)snprintf(group, sizeof group, "nrt-nc-%03" PRId64, row->nc);
    ntk_json_object_begin(json);
    ntk_json_key_i64(json, "id", row->id);
    if (row->parent_id != NTK_ABSENT_I64) {
        ntk_json_key_i64(json, "parent_id", row->parent_id);
    }
    ntk_json_key_text(json, "name", row->name);
    ntk_json_key_text(json, "group", group);
    ntk_json_key_i64(json, "timestamp", row->start_ns);
    ntk_json_key_i64(json, "duration", row->duration_ns);
    ntk_json_key_text(json, "instance_id", row->instance);
    if (row->process != NTK_ABSENT_I64) {
        ntk_json_key_i64(json, "process_id", row->process);
    }
    ntk_json_key_i64(json, "thread_id", row->thread);
    ntk_json_key_i64(json, "worker_gid", row->worker);
    ntk_json_key_i64(json, "lnc_idx", row->nc);
    ntk_json_key_i64(json, "nc_idx", row->nc);
    if (row->device_core != NTK_ABSENT_I64) {
        ntk_json_key_i64(json, "device_core_idx", row->device_core);
    }
    count = ntk_rows_system_arguments(row, arguments);
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].text) {
            ntk_json_key_text(json, arguments[i].key, arguments[i].text);
        } else {
            ntk_json_key_i64(json, arguments[i].key, arguments[i].number);
        }
    }
    ntk_json_object_end(json);
    return 0;
}

static int put_host_memory(void *ctx, const void *data)
{
    struct ntk_json *json = ctx;
    const struct ntk_host_memory_row *row = data;

    ntk_json_object_begin(json);
    ntk_json_key_i64(json, "timestamp", row->time_ns);
    ntk_json_key_i64(json, "duration", row->until_ns - row->time_ns);
    ntk_json_key_text(json, "instance_id", row->instance);
    ntk_json_key_i64(json, "usage", row->used_bytes);
    if (!isnan(row->used_percent)) {
        ntk_json_key_double(json, "percent_usage", row->used_percent);
    }
    ntk_json_object_end(json);
    return 0;
}

static int put_cpu(void *ctx, const void *data)
{
    struct ntk_json *json = ctx;
    const struct ntk_cpu_row *row = data;

    ntk_json_object_begin(json);
    ntk_json_key_i64(json, "timestamp", row->time_ns);
    ntk_json_key_i64(json, "duration", row->until_ns - row->time_ns);
    ntk_json_key_text(json, "instance_id", row->instance);
    if (row->index == NTK_ABSENT_I64) {
        ntk_json_key_text(json, "cpu_id", row->cpu);
    } else {
        ntk_json_key_i64(json, "cpu_id", row->index);
    }
    ntk_json_key_double(json, "util", row->percent);
    ntk_json_object_end(json);
    return 0;
}

/* Writes the columns of a table as keys. */
static int put_columns(struct ntk_json *json, const char *table, const void *row)
{
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_system(&table_count);

    ntk_json_object_begin(json);
    for (size_t t = 0; t < table_count; t++) {
        if (strcmp(tables[t].name, table) != 0) {
            continue;
        }
        for (size_t c = 0; c < tables[t].column_count; c++) {
            const struct ntk_column *column = &tables[t].columns[c];
            union ntk_cell cell;
            if (!ntk_cell_get(column, row, &cell)) {
                continue;
            }
            if (column->kind == NTK_COLUMN_JSON) {
                ntk_json_key(json, column->name);
                ntk_json_raw(json, cell.text, strlen(cell.text));
            } else if (column->kind == NTK_COLUMN_TEXT) {
                ntk_json_key_text(json, column->name, cell.text);
            } else if (column->kind == NTK_COLUMN_BOOL) {
                ntk_json_key_bool(json, column->name, cell.i64 != 0);
            } else {
                ntk_json_key_i64(json, column->name, cell.i64);
            }
        }
    }
    ntk_json_object_end(json);
    return 0;
}

int ntk_output_system_row_json(void *ctx, const void *row)
{
    const struct ntk_system_rows_json *to = ctx;

    return put_columns(to->json, to->table, row);
}

static int put_device_memory(void *ctx, const void *row)
{
    return put_columns(ctx, "SystemProfileHbmUsage", row);
}

static int put_execution(void *ctx, const void *row)
{
    return put_columns(ctx, "Execution", row);
}

static int put_load(void *ctx, const void *row)
{
    return put_columns(ctx, "Load", row);
}

static int put_out_of_memory(void *ctx, const void *row)
{
    return put_columns(ctx, "OutOfMemory", row);
}

struct array_writer {
    struct ntk_json *json;
    ntk_row_put *put;
    struct ntk_sink *sink;
};

static int put_row(void *ctx, const void *row)
{
    const struct array_writer *to = ctx;
    int ret = to->put(to->json, row);

    return ret < 0 || !to->sink ? ret : ntk_sink_step(to->sink);
}

int ntk_output_system_json(const struct ntk_system_view *views, size_t count, struct ntk_buf *out,
                           struct ntk_sink *sink)
{
    static const struct {
        const char *key;
        int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx);
        ntk_row_put *put;
    } arrays[] = {
        { "trace_event", ntk_rows_system_events, put_event },
        { "mem_usage", ntk_rows_system_host_memory, put_host_memory },
        { "cpu_util", ntk_rows_system_cpus, put_cpu },
        { "device_mem_usage", ntk_rows_system_hbm, put_device_memory },
        { "execution", ntk_rows_system_executions, put_execution },
        { "load", ntk_rows_system_loads, put_load },
        { "oom", ntk_rows_system_out_of_memory, put_out_of_memory },
    };
    struct ntk_export export = { .folders = views, .folder_count = count };
    struct ntk_json json;
    int ret = 0;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays && ret >= 0; a++) {
        struct array_writer writer = { &json, arrays[a].put, sink };

        ntk_json_key_array_begin(&json, arrays[a].key);
        ret = arrays[a].rows(&export, put_row, &writer);
        ntk_json_array_end(&json);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
    return ret;
}
