/* SPDX-License-Identifier: MIT */
/* output_system_runs - writes gaps between executions, the parts of their time, and the start-up
 * before them. */
#include "profiler/output/answers/system_answers.h"

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/host_gaps.h"
#include "profiler/analysis/load_split.h"
#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/output/tables/rows_split.h"
#include "shared/base/units.h"

/* ---- host gaps ---- */

static void gaps_text(const struct ntk_system_trace *trace, const struct ntk_host_gaps *gaps,
                      struct ntk_text_table *table)
{
    for (size_t c = 0; c < gaps->core_count; c++) {
        const struct ntk_gap_core *core = &gaps->cores[c];

        ntk_cell_process(table, trace);
        ntk_cell_u64(table, core->nc);
        ntk_cell_u64(table, core->run_count);
        ntk_cell_share(table, (double)core->run_ns, (double)core->span_ns);
        ntk_cell_host_us(table, core->gap_ns);
        if (core->gap_count > 0) {
            ntk_cell_host_us(table, core->median_ns);
            ntk_cell_host_us(table, core->longest_ns);
            ntk_cell_host_at(table, trace, core->longest_at_ns);
        } else {
            ntk_cell_dashes(table, 3);
        }
        for (unsigned i = 0; i < NTK_GAP_CAUSE_COUNT; i++) {
            ntk_cell_share(table, (double)core->cause_ns[i], (double)core->gap_ns);
        }
    }
}

static void gaps_json(const struct ntk_system_trace *trace, const struct ntk_host_gaps *gaps,
                      struct ntk_json *json)
{
    ntk_output_process_begin(trace, json);
    ntk_json_key_array_begin(json, "cores");
    for (size_t c = 0; c < gaps->core_count; c++) {
        const struct ntk_gap_core *core = &gaps->cores[c];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "nc", core->nc);
        ntk_json_key_u64(json, "run_count", core->run_count);
        ntk_json_key_u64(json, "run_ns", core->run_ns);
        ntk_json_key_u64(json, "span_ns", core->span_ns);
        ntk_json_key_u64(json, "gap_count", core->gap_count);
        ntk_json_key_u64(json, "gap_ns", core->gap_ns);
        if (core->gap_count > 0) {
            ntk_json_key_u64(json, "median_ns", core->median_ns);
            ntk_json_key_u64(json, "longest_ns", core->longest_ns);
            ntk_json_key_u64(json, "longest_at_ns", core->longest_at_ns);
        }
        ntk_json_key_object_begin(json, "causes_ns");
        for (unsigned i = 0; i < NTK_GAP_CAUSE_COUNT; i++) {
            ntk_json_key_u64(json, ntk_gap_cause_name(i), core->cause_ns[i]);
        }
        ntk_json_object_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

int ntk_output_host_gaps(const struct ntk_system_asked *asked, struct ntk_buf *text,
                         struct ntk_json *json)
{
    const struct ntk_system_trace *const *traces = asked->traces;
    size_t trace_count = asked->trace_count;
    static const char *const heads[] = { "PROCESS",    "NC",     "RUNS",       "RUNNING",
                                         "GAPS US",    "P50 US", "LONGEST US", "AT US",
                                         "TENSORS",    "MODEL",  "EXECUTE",    "OTHER",
                                         "APPLICATION" };
    struct ntk_text_table table;
    int ret = 0;

    if (json) {
        ntk_json_array_begin(json);
    } else {
        ntk_buf_add_text(text, "Core idle time between executions, and what the host "
                               "did in the meantime\n");
        ntk_output_software_note(
            asked,
            "RUNNING is the time that the chip would need (cost model); the host computes "
            "the results in EXECUTE",
            text);
    }
    ntk_text_table_init(&table, 13, 0, heads);
    for (size_t t = 0; t < trace_count && ret == 0; t++) {
        struct ntk_host_gaps gaps;

        ret = ntk_analysis_host_gaps(traces[t], &gaps);
        if (ret == 0) {
            if (json) {
                gaps_json(traces[t], &gaps, json);
            } else {
                gaps_text(traces[t], &gaps, &table);
            }
            ntk_host_gaps_fini(&gaps);
        }
    }
    if (json) {
        ntk_json_array_end(json);
    } else {
        ntk_text_table_put(&table, text);
    }
    ntk_text_table_fini(&table);
    return ret;
}

/* ---- executions ---- */

static void cell_known(struct ntk_text_table *table, int64_t ns)
{
    if (ns == NTK_SPLIT_ABSENT) {
        ntk_text_table_text(table, "-");
    } else {
        ntk_cell_host_us(table, (uint64_t)ns);
    }
}

/* Returns whether a step is known. */
static bool executions_text(const struct ntk_system_trace *trace,
                            const struct ntk_execution_split *split, struct ntk_text_table *table)
{
    bool has_steps = false;

    for (size_t i = 0; i < split->count; i++) {
        has_steps = has_steps || split->items[i].total_ns != NTK_SPLIT_ABSENT;
    }
    for (size_t i = 0; i < split->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_split_execution *one = &split->items[i];

        ntk_cell_process(table, trace);
        ntk_cell_u64(table, one->nc);
        ntk_cell_u64(table, one->exec_id);
        ntk_text_table_text(table, one->model[0] ? one->model : "-");
        ntk_text_table_text(table, one->bound ? one->bound : "-");
        cell_known(table, one->total_ns);
        cell_known(table, one->submit_ns);
        cell_known(table, one->queue_ns);
        cell_known(table, one->queue_busy_ns);
        cell_known(table, one->switch_ns);
        cell_known(table, one->device_ns);
        cell_known(table, one->notify_ns);
        cell_known(table, one->post_ns);
        cell_known(table, one->host_ns);
    }
    return has_steps || split->count == 0;
}

int ntk_output_executions(const struct ntk_system_asked *asked, struct ntk_buf *text,
                          struct ntk_json *json)
{
    static const char *const heads[] = { "PROCESS",  "NC",     "EXEC",  "MODEL", "BOUND",
                                         "TOTAL US", "SUBMIT", "QUEUE", "BUSY",  "SWITCH",
                                         "DEVICE",   "NOTIFY", "POST",  "HOST" };
    struct ntk_text_table table;
    size_t hidden = 0;
    bool lacks_steps = false;
    int ret = 0;

    if (json) {
        return ntk_output_rows_json(asked->traces, asked->trace_count, "Execution",
                                    ntk_rows_system_executions, json);
    }
    ntk_buf_add_text(text, "Time breakdown of each execution; BUSY is the part of QUEUE in "
                           "which the core ran other executions\n"
                           "TOTAL is from the start of kbl_exec_pre to the end of kbl_exec_post; "
                           "CALL of show-session is all of nrt_execute\n");
    ntk_output_software_note(
        asked,
        "DEVICE is the time that the chip would need (cost model); NOTIFY includes the "
        "time that the host takes to compute the results",
        text);
    ntk_text_table_init(&table, 14, 1u << 3 | 1u << 4, heads);
    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        struct ntk_execution_split split;

        ret = ntk_analysis_execution_split(asked->traces[t], &split);
        if (ret == 0) {
            lacks_steps |= !executions_text(asked->traces[t], &split, &table);
            hidden += split.count > NTK_OUTPUT_ROWS_MAX ? split.count - NTK_OUTPUT_ROWS_MAX : 0;
            ntk_execution_split_fini(&split);
        }
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
    ntk_output_more(text, NTK_OUTPUT_ROWS_MAX + hidden);
    if (lacks_steps) {
        ntk_buf_add_text(text, "No steps: the trace contains none, for example because it was "
                               "recorded from outside (inspect --pid, trigger); view -d shows the "
                               "calls\n");
    }
    return ret;
}

/* ---- start-up ---- */

static int startup_json(const struct ntk_system_trace *trace, const struct ntk_load_split *split,
                        struct ntk_json *json)
{
    ntk_output_process_begin(trace, json);
    if (split->has_begin) {
        ntk_json_key_u64(json, "first_event_ns", split->first_event_ns);
    }
    if (split->has_run) {
        ntk_json_key_u64(json, "first_device_ns", split->first_device_ns);
    }
    ntk_json_key_u64(json, "load_count", split->count);
    ntk_json_key_u64(json, "loads_ns", split->loads_ns);
    ntk_json_key_u64(json, "device_ns", split->device_ns);
    ntk_json_key_u64(json, "events_ns", split->events_ns);
    ntk_json_key(json, "loads");
    int ret = ntk_output_rows_json(&trace, 1, "Load", ntk_rows_system_loads, json);
    ntk_json_object_end(json);
    return ret;
}

static void part_cells(struct ntk_text_table *table, bool is_known, bool has_time, uint64_t count,
                       uint64_t bytes, uint64_t ns)
{
    if (is_known) {
        ntk_cell_u64(table, count);
        ntk_cell_bytes(table, bytes);
    } else {
        ntk_cell_dashes(table, 2);
    }
    if (has_time) {
        ntk_cell_host_us(table, ns);
    } else {
        ntk_cell_dashes(table, 1);
    }
}

static void startup_text(const struct ntk_system_trace *trace, const struct ntk_load_split *split,
                         struct ntk_buf *text)
{
    static const char *const heads[] = { "NC", "MODEL",  "AT US", "LOAD US", "ALLOCS", "BYTES",
                                         "US", "COPIES", "BYTES", "US",      "REST US" };
    struct ntk_text_table table;
    char process[NTK_SYSTEM_PROCESS_BYTES];
    char before[32];
    char loads[32];
    char device[32];
    char until[32];

    ntk_buf_add_format(text,
                       "Process %s: ", ntk_output_system_process(trace, process, sizeof process));
    if (split->has_begin) {
        ntk_buf_add_format(text, "%s from its start to the first event, ",
                           ntk_units_duration(before, sizeof before, split->first_event_ns));
    }
    if (split->has_run) {
        ntk_buf_add_format(text, "%s from the first event to the first run on a device",
                           ntk_units_duration(until, sizeof until, split->first_device_ns));
    } else {
        ntk_buf_add_text(text, "no run on a device");
    }
    ntk_buf_add_format(text, "; loads took %s",
                       ntk_units_duration(loads, sizeof loads, split->loads_ns));
    if (split->has_run) {
        ntk_buf_add_format(text, ", the device was busy for %s",
                           ntk_units_duration(device, sizeof device, split->device_ns));
    }
    ntk_buf_add_char(text, '\n');
    ntk_text_table_init(&table, 11, 1u << 1, heads);
    for (size_t i = 0; i < split->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_split_load *load = &split->items[i];

        ntk_cell_u64(&table, load->nc);
        ntk_text_table_text(&table, load->model[0] ? load->model : "-");
        ntk_cell_host_at(&table, trace, load->start_ns);
        ntk_cell_host_us(&table, load->duration_ns);
        part_cells(&table, split->has_allocs, split->has_alloc_times, load->alloc_count,
                   load->alloc_bytes, load->alloc_ns);
        part_cells(&table, split->has_copies, split->has_copies, load->copy_count, load->copy_bytes,
                   load->copy_ns);
        if (split->has_allocs || split->has_copies) {
            ntk_cell_host_us(&table, load->rest_ns);
        } else {
            ntk_cell_dashes(&table, 1);
        }
    }
    if (split->count > 0) {
        ntk_text_table_put(&table, text);
        ntk_output_more(text, split->count);
    }
    ntk_text_table_fini(&table);
}

int ntk_output_startup(const struct ntk_system_asked *asked, struct ntk_buf *text,
                       struct ntk_json *json)
{
    int ret = 0;

    if (json) {
        ntk_json_array_begin(json);
    }
    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        struct ntk_load_split split;

        ret = ntk_analysis_load_split(asked->traces[t], &split);
        if (ret == 0) {
            if (json) {
                ret = startup_json(asked->traces[t], &split, json);
            } else {
                startup_text(asked->traces[t], &split, text);
            }
            ntk_load_split_fini(&split);
        }
    }
    if (json) {
        ntk_json_array_end(json);
    } else if (ret == 0) {
        ntk_buf_add_text(text,
                         "The rest of a load is host work that the trace does not break down\n");
    }
    return ret;
}
