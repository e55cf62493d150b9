/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/system_analyses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/host_gaps.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/memory_use.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/analysis/rank_skew.h"
#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_host_threads.h"
#include "profiler/output/answers/output_joined.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/output/tables/rows_split.h"
#include "profiler/output/tables/rows_system.h"
#include "shared/base/units.h"

typedef int answer(const struct ntk_system_asked *asked, struct ntk_buf *text,
                   struct ntk_json *json);

static void cell_ns(struct ntk_text_table *table, uint64_t ns)
{
    ntk_text_table_format(table, "%.1f", (double)ns / 1e3);
}

static void cell_at(struct ntk_text_table *table, const struct ntk_system_trace *trace, uint64_t ns)
{
    cell_ns(table, ntk_system_trace_after_ns(trace, ns));
}

static void cell_process(struct ntk_text_table *table, const struct ntk_system_trace *trace)
{
    char process[NTK_SYSTEM_PROCESS_BYTES];

    ntk_text_table_text(table, ntk_output_system_process(trace, process, sizeof process));
}

/* Old files and those of the vendor's layout do not record it. */
static bool is_software(const struct ntk_system_trace *trace)
{
    return trace->info && trace->info->software_cores;
}

static void process_begin(const struct ntk_system_trace *trace, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "session", trace->folder);
    if (ntk_rows_system_process(trace) != NTK_ABSENT_I64) {
        ntk_json_key_i64(json, "process_id", ntk_rows_system_process(trace));
    }
    if (is_software(trace)) {
        ntk_json_key_bool(json, "software_cores", true);
    }
}

/* Device time and host time differ a lot there; without the note, figures look wrong. */
static void software_note(const struct ntk_system_asked *asked, const char *note,
                          struct ntk_buf *text)
{
    for (size_t t = 0; t < asked->trace_count; t++) {
        if (is_software(asked->traces[t])) {
            ntk_buf_add_format(text, "Software cores: %s\n", note);
            return;
        }
    }
}

/* ---- host gaps ---- */

static void gaps_text(const struct ntk_system_trace *trace, const struct ntk_host_gaps *gaps,
                      struct ntk_text_table *table)
{
    for (size_t c = 0; c < gaps->core_count; c++) {
        const struct ntk_gap_core *core = &gaps->cores[c];

        cell_process(table, trace);
        ntk_cell_u64(table, core->nc);
        ntk_cell_u64(table, core->run_count);
        ntk_cell_share(table, (double)core->run_ns, (double)core->span_ns);
        cell_ns(table, core->gap_ns);
        cell_ns(table, core->median_ns);
        cell_ns(table, core->longest_ns);
        cell_at(table, trace, core->longest_at_ns);
        for (unsigned i = 0; i < NTK_GAP_CAUSE_COUNT; i++) {
            ntk_cell_share(table, (double)core->cause_ns[i], (double)core->gap_ns);
        }
    }
}

static void gaps_json(const struct ntk_system_trace *trace, const struct ntk_host_gaps *gaps,
                      struct ntk_json *json)
{
    process_begin(trace, json);
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
        ntk_json_key_u64(json, "median_ns", core->median_ns);
        ntk_json_key_u64(json, "longest_ns", core->longest_ns);
        ntk_json_key_u64(json, "longest_at_ns", core->longest_at_ns);
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

static int answer_gaps(const struct ntk_system_asked *asked, struct ntk_buf *text,
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
        ntk_buf_add_text(text, "Time between executions in which a core is idle, and the activity "
                               "of the host in that time\n");
        software_note(
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

/* ---- memory ---- */

/* A recording of a running process, or without these events, lacks them. */
static bool is_known(const struct ntk_memory_use *use)
{
    return use->allocation_count + use->free_count > 0;
}

static void memory_text(const struct ntk_system_trace *trace, const struct ntk_memory_use *use,
                        struct ntk_buf *text)
{
    static const char *const heads[] = { "USE", "AT PEAK", "SHARE", "OWN PEAK" };
    char process[NTK_SYSTEM_PROCESS_BYTES];
    char peak[NTK_UNITS_TEXT_BYTES];
    char end[NTK_UNITS_TEXT_BYTES];
    struct ntk_text_table table;

    if (!is_known(use)) {
        ntk_buf_add_format(
            text, "Process %s: unknown (the trace contains no allocations of device memory)\n",
            ntk_output_system_process(trace, process, sizeof process));
        return;
    }
    ntk_buf_add_format(
        text, "Process %s: peak %s at %.1f us, %s at the end; %llu allocations, %llu frees",
        ntk_output_system_process(trace, process, sizeof process),
        ntk_units_bytes(peak, sizeof peak, use->peak_bytes),
        (double)ntk_system_trace_after_ns(trace, use->peak_ns) / 1e3,
        ntk_units_bytes(end, sizeof end, use->end_bytes), (unsigned long long)use->allocation_count,
        (unsigned long long)use->free_count);
    if (use->unmatched_count) {
        ntk_buf_add_format(text,
                           "\n"
                           "%llu frees belong to memory allocated before the trace (%s)",
                           (unsigned long long)use->unmatched_count,
                           ntk_units_bytes(peak, sizeof peak, use->unmatched_bytes));
    }
    ntk_buf_add_char(text, '\n');
    ntk_text_table_init(&table, 4, 1u << 0, heads);
    for (size_t i = 0; i < use->part_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        ntk_text_table_text(&table, use->parts[i].name[0] ? use->parts[i].name : "-");
        ntk_cell_bytes(&table, use->parts[i].peak_bytes);
        ntk_cell_share(&table, (double)use->parts[i].peak_bytes, (double)use->peak_bytes);
        ntk_cell_bytes(&table, use->parts[i].most_bytes);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
    ntk_output_more(text, use->part_count);
}

static void memory_json(const struct ntk_system_trace *trace, const struct ntk_memory_use *use,
                        struct ntk_json *json)
{
    process_begin(trace, json);
    if (!is_known(use)) {
        ntk_json_object_end(json);
        return;
    }
    ntk_json_key_u64(json, "peak_bytes", use->peak_bytes);
    ntk_json_key_u64(json, "peak_ns", use->peak_ns);
    ntk_json_key_u64(json, "end_bytes", use->end_bytes);
    ntk_json_key_u64(json, "allocation_count", use->allocation_count);
    ntk_json_key_u64(json, "free_count", use->free_count);
    ntk_json_key_u64(json, "unmatched_free_bytes", use->unmatched_bytes);
    ntk_json_key_array_begin(json, "uses");
    for (size_t i = 0; i < use->part_count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "name", use->parts[i].name);
        ntk_json_key_u64(json, "peak_bytes", use->parts[i].peak_bytes);
        ntk_json_key_u64(json, "own_peak_bytes", use->parts[i].most_bytes);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "over_time");
    for (size_t i = 0; i < use->point_count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "timestamp", use->points[i].time_ns);
        ntk_json_key_u64(json, "bytes", use->points[i].bytes);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static int answer_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
                         struct ntk_json *json)
{
    const struct ntk_system_trace *const *traces = asked->traces;
    size_t trace_count = asked->trace_count;
    int ret = 0;

    if (json) {
        ntk_json_array_begin(json);
    }
    for (size_t t = 0; t < trace_count && ret == 0; t++) {
        struct ntk_memory_use use;

        ret = ntk_analysis_memory_use(traces[t], &use);
        if (ret == 0) {
            if (json) {
                memory_json(traces[t], &use, json);
            } else {
                memory_text(traces[t], &use, text);
            }
            ntk_memory_use_fini(&use);
        }
    }
    if (json) {
        ntk_json_array_end(json);
    }
    return ret;
}

/* ---- executions ---- */

static void cell_known(struct ntk_text_table *table, int64_t ns)
{
    if (ns == NTK_SPLIT_ABSENT) {
        ntk_text_table_text(table, "-");
    } else {
        cell_ns(table, (uint64_t)ns);
    }
}

static void executions_text(const struct ntk_system_trace *trace,
                            const struct ntk_execution_split *split, struct ntk_text_table *table)
{
    for (size_t i = 0; i < split->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_split_execution *one = &split->items[i];

        cell_process(table, trace);
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
}

/* The columns of a table are also the JSON keys. */
static int rows_json(const struct ntk_system_trace *const *traces, size_t count, const char *table,
                     int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx),
                     struct ntk_json *json)
{
    struct ntk_system_view *views = calloc(count + 1, sizeof *views);
    struct ntk_system_rows_json to = { json, table };

    if (!views) {
        return -ENOMEM;
    }
    for (size_t t = 0; t < count; t++) {
        views[t].trace = traces[t];
    }
    struct ntk_export export = { .folders = views, .folder_count = count };
    ntk_json_array_begin(json);
    int ret = rows(&export, ntk_output_system_row_json, &to);
    ntk_json_array_end(json);
    free(views);
    return ret;
}

static int answer_executions(const struct ntk_system_asked *asked, struct ntk_buf *text,
                             struct ntk_json *json)
{
    static const char *const heads[] = { "PROCESS",  "NC",     "EXEC",  "MODEL", "BOUND",
                                         "TOTAL US", "SUBMIT", "QUEUE", "BUSY",  "SWITCH",
                                         "DEVICE",   "NOTIFY", "POST",  "HOST" };
    struct ntk_text_table table;
    size_t hidden = 0;
    int ret = 0;

    if (json) {
        return rows_json(asked->traces, asked->trace_count, "Execution", ntk_rows_system_executions,
                         json);
    }
    ntk_buf_add_text(text, "Where the time of each execution went; BUSY is the part of QUEUE in "
                           "which the core ran other executions\n"
                           "TOTAL is from the start of kbl_exec_pre to the end of kbl_exec_post; "
                           "CALL of show-session is all of nrt_execute\n");
    software_note(asked,
                  "DEVICE is the time that the chip would need (cost model); NOTIFY contains the "
                  "time in which the host computes the results",
                  text);
    ntk_text_table_init(&table, 14, 1u << 3 | 1u << 4, heads);
    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        struct ntk_execution_split split;

        ret = ntk_analysis_execution_split(asked->traces[t], &split);
        if (ret == 0) {
            executions_text(asked->traces[t], &split, &table);
            hidden += split.count > NTK_OUTPUT_ROWS_MAX ? split.count - NTK_OUTPUT_ROWS_MAX : 0;
            ntk_execution_split_fini(&split);
        }
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
    ntk_output_more(text, NTK_OUTPUT_ROWS_MAX + hidden);
    return ret;
}

/* ---- start-up ---- */

static int startup_json(const struct ntk_system_trace *trace, const struct ntk_load_split *split,
                        struct ntk_json *json)
{
    process_begin(trace, json);
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
    int ret = rows_json(&trace, 1, "Load", ntk_rows_system_loads, json);
    ntk_json_object_end(json);
    return ret;
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
        cell_at(&table, trace, load->start_ns);
        cell_ns(&table, load->duration_ns);
        ntk_cell_u64(&table, load->alloc_count);
        ntk_cell_bytes(&table, load->alloc_bytes);
        cell_ns(&table, load->alloc_ns);
        ntk_cell_u64(&table, load->copy_count);
        ntk_cell_bytes(&table, load->copy_bytes);
        cell_ns(&table, load->copy_ns);
        cell_ns(&table, load->rest_ns);
    }
    if (split->count > 0) {
        ntk_text_table_put(&table, text);
        ntk_output_more(text, split->count);
    }
    ntk_text_table_fini(&table);
}

static int answer_startup(const struct ntk_system_asked *asked, struct ntk_buf *text,
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

/* ---- out of memory ---- */

/* "memory 0:1 (code 12, OUT_OF_MEMORY) in nrt_load model.neff" */
static void oom_place_text(const struct ntk_system_trace *trace,
                           const struct ntk_out_of_memory *memory, bool is_placed,
                           struct ntk_buf *text)
{
    const char *name =
        trace->vendor
            ? ntk_vendor_trace_name_find(trace->vendor, NTK_VENDOR_TRACE_ERRORS, memory->code)
            : NULL;

    if (is_placed) {
        ntk_buf_add_format(text, "memory %u:%u", memory->device, memory->hbm);
    } else {
        ntk_buf_add_text(text, "unknown memory");
    }
    ntk_buf_add_format(text, " (code %u%s", memory->code, name ? ", " : "");
    ntk_buf_add_clean(text, name ? name : "");
    ntk_buf_add_char(text, ')');
    if (memory->call[0]) {
        ntk_buf_add_format(text, " in %s ", memory->call);
        ntk_buf_add_clean(text, memory->model);
    }
    ntk_buf_add_char(text, '\n');
}

static void oom_head_text(const struct ntk_system_trace *trace,
                          const struct ntk_out_of_memory *memory, struct ntk_buf *text)
{
    bool is_placed = memory->hbm != NTK_SYSTEM_NO_STACK && memory->device != NTK_SYSTEM_NO_STACK;
    char process[NTK_SYSTEM_PROCESS_BYTES];
    char size[NTK_UNITS_TEXT_BYTES];
    char total[NTK_UNITS_TEXT_BYTES];
    char capacity[NTK_UNITS_TEXT_BYTES];

    ntk_buf_add_format(text, "Process %s: an allocation of %s for ",
                       ntk_output_system_process(trace, process, sizeof process),
                       memory->size ? ntk_units_bytes(size, sizeof size, memory->size)
                                    : "unknown size");
    ntk_buf_add_clean(text, memory->usage[0] ? memory->usage : "-");
    ntk_buf_add_format(text, " failed at %.1f us on core %u, ",
                       (double)ntk_system_trace_after_ns(trace, memory->time_ns) / 1e3, memory->nc);
    oom_place_text(trace, memory, is_placed, text);
    if (memory->code != NTK_SYSTEM_OUT_OF_MEMORY) {
        ntk_buf_add_format(text,
                           "No allocation failed with code %u (out of memory): showing the last "
                           "one that failed with a different code\n",
                           NTK_SYSTEM_OUT_OF_MEMORY);
    }
    if (is_placed) {
        ntk_buf_add_format(text, "The memory was filled to %s",
                           ntk_units_bytes(total, sizeof total, memory->total_bytes));
        if (memory->capacity_bytes) {
            ntk_buf_add_format(text, " of %s",
                               ntk_units_bytes(capacity, sizeof capacity, memory->capacity_bytes));
        }
        ntk_buf_add_text(text, memory->is_fragmented
                                   ? ": the rest is fragmented, or another process holds it\n"
                                   : "\n");
    }
    ntk_buf_add_format(
        text, "Of the allocations in the trace, %llu were freed (%s) and %llu were not (%s)\n",
        (unsigned long long)memory->freed_count,
        ntk_units_bytes(size, sizeof size, memory->freed_bytes),
        (unsigned long long)memory->kept_count,
        ntk_units_bytes(total, sizeof total, memory->kept_bytes));
}

static void oom_text(const struct ntk_system_trace *trace, const struct ntk_out_of_memory *memory,
                     struct ntk_buf *text)
{
    static const char *const usage_heads[] = { "USE", "THEN", "SHARE", "PEAK" };
    static const char *const largest_heads[] = { "ADDRESS", "BYTES", "USE", "NC", "AT US" };
    struct ntk_text_table table;

    oom_head_text(trace, memory, text);
    ntk_text_table_init(&table, 4, 1u << 0, usage_heads);
    for (size_t u = 0; u < memory->usage_count; u++) {
        ntk_text_table_text(&table, memory->usages[u].usage);
        ntk_cell_bytes(&table, memory->usages[u].bytes);
        ntk_cell_share(&table, (double)memory->usages[u].bytes, (double)memory->total_bytes);
        ntk_cell_bytes(&table, memory->usages[u].peak_bytes);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
    ntk_text_table_init(&table, 5, 1u << 0 | 1u << 2, largest_heads);
    for (size_t i = 0; i < memory->largest_count; i++) {
        ntk_text_table_format(&table, "0x%llx", (unsigned long long)memory->largest[i].address);
        ntk_cell_bytes(&table, memory->largest[i].bytes);
        ntk_text_table_text(&table, memory->largest[i].usage);
        ntk_cell_u64(&table, memory->largest[i].nc);
        cell_at(&table, trace, memory->largest[i].time_ns);
    }
    if (memory->largest_count > 0) {
        ntk_buf_add_text(text, "The largest allocations that were not freed:\n");
        ntk_text_table_put(&table, text);
    }
    ntk_text_table_fini(&table);
}

static int answer_out_of_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
                                struct ntk_json *json)
{
    int ret = 0;

    if (json) {
        return rows_json(asked->traces, asked->trace_count, "OutOfMemory",
                         ntk_rows_system_out_of_memory, json);
    }
    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        const struct ntk_system_trace *trace = asked->traces[t];
        struct ntk_out_of_memory memory;
        char process[NTK_SYSTEM_PROCESS_BYTES];

        ret = ntk_analysis_out_of_memory(trace, &memory);
        if (ret == 0 && memory.is_there) {
            oom_text(trace, &memory, text);
        } else if (ret == 0) {
            ntk_buf_add_format(
                text, "Process %s: %s\n", ntk_output_system_process(trace, process, sizeof process),
                trace->memories.count > 0 ? "no allocation of device memory failed"
                                          : "unknown: the trace does not record whether "
                                            "allocations of device memory failed");
        }
    }
    return ret;
}

/* ---- ranks ---- */

static void kind_text(const struct ntk_skew_kind *kind, struct ntk_buf *text)
{
    static const char *const heads[] = { "WORKER", "SPANS",     "TOTAL US",
                                         "LAST",   "BEHIND US", "WAITED US" };
    struct ntk_text_table table;
    char which[96] = "";

    if (kind->most_count > kind->step_count) {
        (void)snprintf(which, sizeof which, " (of up to %llu: the %s ones common to all workers)",
                       (unsigned long long)kind->most_count, kind->is_from_end ? "last" : "first");
    }
    ntk_buf_add_format(text,
                       "%s: %llu steps%s of %zu workers; last start - first start: median %.1f us, "
                       "maximum %.1f us\n",
                       kind->type, (unsigned long long)kind->step_count, which, kind->rank_count,
                       (double)kind->median_ns / 1e3, (double)kind->greatest_ns / 1e3);
    ntk_text_table_init(&table, 6, 0, heads);
    for (size_t r = 0; r < kind->rank_count; r++) {
        const struct ntk_skew_rank *rank = &kind->ranks[r];

        ntk_cell_u64(&table, rank->worker);
        ntk_cell_u64(&table, rank->span_count);
        cell_ns(&table, rank->total_ns);
        ntk_cell_share(&table, (double)rank->late_count, (double)kind->step_count);
        cell_ns(&table, rank->behind_ns);
        cell_ns(&table, rank->waited_ns);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
}

static void kind_json(const struct ntk_skew_kind *kind, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "type", kind->type);
    ntk_json_key_u64(json, "step_count", kind->step_count);
    ntk_json_key_bool(json, "from_end", kind->is_from_end);
    ntk_json_key_u64(json, "skew_ns", kind->skew_ns);
    ntk_json_key_u64(json, "median_ns", kind->median_ns);
    ntk_json_key_u64(json, "greatest_ns", kind->greatest_ns);
    ntk_json_key_u64(json, "greatest_at_ns", kind->greatest_at_ns);
    ntk_json_key_array_begin(json, "workers");
    for (size_t r = 0; r < kind->rank_count; r++) {
        const struct ntk_skew_rank *rank = &kind->ranks[r];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "worker_gid", rank->worker);
        ntk_json_key_u64(json, "span_count", rank->span_count);
        ntk_json_key_u64(json, "total_ns", rank->total_ns);
        ntk_json_key_u64(json, "last_count", rank->late_count);
        ntk_json_key_u64(json, "behind_ns", rank->behind_ns);
        ntk_json_key_u64(json, "waited_ns", rank->waited_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static int answer_ranks(const struct ntk_system_asked *asked, struct ntk_buf *text,
                        struct ntk_json *json)
{
    const struct ntk_system_trace *const *traces = asked->traces;
    size_t trace_count = asked->trace_count;
    struct ntk_rank_skew skew;
    int ret = ntk_analysis_rank_skew(traces, trace_count, &skew);

    if (ret < 0 || skew.kind_count == 0) {
        if (ret == 0) {
            ntk_rank_skew_fini(&skew);
        }
        return ret < 0 ? ret : -ENODATA;
    }
    if (json) {
        ntk_json_array_begin(json);
    }
    for (size_t k = 0; k < skew.kind_count; k++) {
        if (json) {
            kind_json(&skew.kinds[k], json);
        } else {
            kind_text(&skew.kinds[k], text);
        }
    }
    if (json) {
        ntk_json_array_end(json);
    }
    ntk_rank_skew_fini(&skew);
    return 0;
}

static const struct {
    struct ntk_analysis_info info;
    answer *run;
} analyses[] = {
    { { "host-gaps", "Host gaps", "activity of the host while a core is idle", NULL },
      answer_gaps },
    { { "host-threads", "Idle", "what host threads did while cores were idle",
        "requires a recording by neuron-profile idle --record, or trigger --idle" },
      ntk_output_host_threads },
    { { "memory", "Device memory", "device memory over time, its peak, and its use", NULL },
      answer_memory },
    { { "executions", "Executions", "submit, queue, device and host time of each execution", NULL },
      answer_executions },
    { { "startup", "Start-up", "time until a device starts working, and load times", NULL },
      answer_startup },
    { { "out-of-memory", "Out of memory", "which allocation failed, and what filled the memory",
        NULL },
      answer_out_of_memory },
    { { "ranks", "Ranks",
        "how far apart ranks start executions and collectives, and which rank is late",
        "requires executions by at least two workers" },
      answer_ranks },
    { { "joined", "Joined ranks",
        "compute, communication and wait time of ranks, and their critical path",
        "requires at least two workers with collectives" },
      ntk_output_joined },
};

size_t ntk_system_analyses_count(void)
{
    return sizeof analyses / sizeof *analyses;
}

const struct ntk_analysis_info *ntk_system_analyses_info(size_t index)
{
    return &analyses[index].info;
}

bool ntk_system_analyses_streams(size_t index)
{
    return analyses[index].run == ntk_output_joined;
}

int ntk_system_analyses_put(const struct ntk_system_asked *asked, size_t index,
                            struct ntk_buf *text, struct ntk_json *json)
{
    return analyses[index].run(asked, text, json);
}
