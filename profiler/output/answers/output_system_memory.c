/* SPDX-License-Identifier: MIT */
/* output_system_memory - writes device memory over time, and the reason for a failed allocation. */
#include "profiler/output/answers/system_answers.h"

#include "profiler/analysis/memory_use.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/output/tables/rows_split.h"
#include "shared/base/units.h"

/* Returns true if memory is known; a recording of a running process, or without these events, lacks
 * it. */
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
            text, "Process %s: unknown (the trace contains no device memory allocations)\n",
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
    ntk_output_process_begin(trace, json);
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

int ntk_output_device_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
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

/* ---- out of memory ---- */

/* Writes a text such as "memory 0:1 (code 12, OUT_OF_MEMORY) in nrt_load model.neff". */
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
        ntk_buf_add_format(text, "Memory use reached %s",
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
        ntk_cell_host_at(&table, trace, memory->largest[i].time_ns);
    }
    if (memory->largest_count > 0) {
        ntk_buf_add_text(text, "The largest allocations that were not freed:\n");
        ntk_text_table_put(&table, text);
    }
    ntk_text_table_fini(&table);
}

int ntk_output_out_of_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
                             struct ntk_json *json)
{
    int ret = 0;

    if (json) {
        return ntk_output_rows_json(asked->traces, asked->trace_count, "OutOfMemory",
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
                trace->memories.count > 0 ? "no device memory allocation failed"
                                          : "unknown: the trace does not record whether "
                                            "device memory allocations failed");
        }
    }
    return ret;
}
