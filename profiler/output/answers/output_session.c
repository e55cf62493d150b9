/* SPDX-License-Identifier: MIT */
/* output_session - writes the content of a capture file, as a table and as JSON. */
#include "profiler/output/output.h"

#include <stdio.h>
#include <stdlib.h>

#include "profiler/analysis/executions.h"
#include "profiler/output/answers/output_cells.h"
#include "profiler/output/answers/output_records.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/units.h"

static void version_text(const struct ntk_ntff_version *version, char *buf, size_t buf_bytes)
{
    if (!version->present) {
        snprintf(buf, buf_bytes, "-");
        return;
    }
    snprintf(buf, buf_bytes, "%llu.%llu.%llu", (unsigned long long)version->major,
             (unsigned long long)version->minor, (unsigned long long)version->patch);
}

static uint64_t core_execution_ps(const struct ntk_trace *trace, const struct ntk_trace_core *core)
{
    return core->ntff->execution_ps ? core->ntff->execution_ps
                                    : (trace->has_total ? (uint64_t)trace->total_ps : 0);
}

static void add_cores(const struct ntk_trace *trace, const struct ntk_executions *executions,
                      struct ntk_buf *out)
{
    static const char *const heads[] = { "NODE ID",   "EXEC TIME (NS)", "EXECUTOR", "NAME",
                                         "TRACE",     "CYCLES",         "EVENTS",   "DMA",
                                         "THROTTLE",  "OUTSIDE",        "SKIPPED",  "DMA QUEUES",
                                         "EXECUTIONS" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1U << 2 | 1U << 3, heads);
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        uint64_t ps = core_execution_ps(trace, core);
        ntk_cell_u64(&table, c);
        ntk_cell_u64_or_dash(&table, ps / 1000, ps > 0);
        ntk_text_table_format(&table, "NC %u", core->ntff->core);
        ntk_text_table_format(&table, "%.60s", core->ntff->name);
        ntk_cell_u64(&table, core->instruction_count);
        ntk_cell_u64_or_dash(&table, ps, ps > 0);
        ntk_cell_u64(&table, core->event_count);
        ntk_cell_u64(&table, core->packet_count);
        ntk_cell_u64(&table, core->throttle_count);
        ntk_cell_u64(&table, core->outside_window);
        ntk_cell_u64(&table, core->outside_code + core->unpaired + core->unknown);
        ntk_cell_u64(&table, core->ntff->queue_count);
        ntk_cell_u64_or_dash(&table, executions[c].count, executions[c].count > 0);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_buf_add_text(out, "CYCLES: the execution time in ps, as in the vendor's tool\n");
}

/* Lists the executions of cores with several executions. Numbers are those of --execution: of all
 * models on the core. */
static void add_executions(const struct ntk_trace *trace, const struct ntk_executions *executions,
                           const struct ntk_execution_borders *borders, struct ntk_buf *out)
{
    static const char *const heads[] = { "EXECUTOR", "EXECUTION", "START (NS)", "TIME (NS)" };
    struct ntk_text_table table;
    bool has_any = false;

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1U << 0, heads);
    for (size_t c = 0; c < trace->core_count; c++) {
        bool is_listed = executions[c].count > 1 || borders->count > 1;
        for (size_t i = 0; i < executions[c].count && is_listed; i++) {
            const struct ntk_execution *execution = &executions[c].items[i];
            size_t number = borders->count ? ntk_execution_of(borders, execution->start_ps) : i;

            has_any = true;
            ntk_text_table_format(&table, "NC %u", trace->cores[c].ntff->core);
            ntk_cell_u64(&table, number + 1);
            ntk_text_table_format(&table, "%lld", (long long)(execution->start_ps / 1000));
            ntk_text_table_format(&table, "%lld",
                                  (long long)((execution->end_ps - execution->start_ps) / 1000));
        }
    }
    if (has_any) {
        ntk_text_table_put(&table, out);
        ntk_buf_add_char(out, '\n');
    }
    ntk_text_table_fini(&table);
}

static void add_opcodes(const struct ntk_trace *trace, const struct ntk_opcode_table *opcodes,
                        struct ntk_buf *out)
{
    static const char *const heads[] = { "ENGINE",          "OPCODE",           "COUNT",
                                         "INSTR TIME (NS)", "ACTIVE TIME (NS)", "ACTIVE SHARE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1U << 0 | 1U << 1, heads);
    for (size_t i = 0; i < opcodes->row_count; i++) {
        const struct ntk_opcode_row *row = &opcodes->rows[i];
        char name[16];
        ntk_text_table_text(&table, ntk_ntff_engine_title(row->engine));
        ntk_text_table_text(&table, ntk_ntff_opcode_name(row->opcode, name, sizeof name));
        ntk_cell_u64(&table, row->instruction_count);
        ntk_cell_u64(&table, (uint64_t)row->instruction_ps / 1000);
        ntk_cell_u64(&table, (uint64_t)row->active_ps / 1000);
        if (trace->has_total && trace->total_ps > 0) {
            ntk_text_table_format(&table, "%.4f", (double)row->active_ps / (double)trace->total_ps);
        } else {
            ntk_text_table_text(&table, "-");
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

void ntk_output_session_text(const struct ntk_trace *trace, const struct ntk_opcode_table *opcodes,
                             struct ntk_buf *out)
{
    const struct ntk_ntff *ntff = trace->ntff;
    char uuid[NTK_NTFF_UUID_TEXT_BYTES];
    char runtime[64];
    char driver[64];

    ntk_ntff_uuid_text(ntff, uuid);
    version_text(&ntff->runtime, runtime, sizeof runtime);
    version_text(&ntff->driver, driver, sizeof driver);
    ntk_buf_add_format(out, "NTFF version   %u\n", ntff->version);
    ntk_buf_add_format(out, "NEFF           %s  uuid %s  model %llu\n",
                       ntff->neff_name[0] ? ntff->neff_name : "-", uuid,
                       (unsigned long long)ntff->model_id);
    ntk_buf_add_format(out, "Machine        %s  runtime %s  driver %s\n",
                       ntff->instance_type[0] ? ntff->instance_type : "-", runtime, driver);
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        uint64_t total = 0;
        char text[NTK_UNITS_TEXT_BYTES];
        for (size_t m = 0; m < subgraph->memory_count; m++) {
            total += subgraph->memory[m].bytes_count;
        }
        ntk_buf_add_format(out, "Memory         NC %u  total %s", subgraph->core,
                           ntk_units_bytes(text, sizeof text, total));
        for (size_t m = 0; m < subgraph->memory_count; m++) {
            if (subgraph->memory[m].bytes_count) {
                ntk_buf_add_format(
                    out, ", %s %s", subgraph->memory[m].name,
                    ntk_units_bytes(text, sizeof text, subgraph->memory[m].bytes_count));
            }
        }
        ntk_buf_add_char(out, '\n');
    }
    ntk_buf_add_char(out, '\n');
    struct ntk_executions *executions = calloc(trace->core_count + 1, sizeof *executions);
    struct ntk_execution_borders borders = { 0 };
    uint64_t count;
    out->failed =
        out->failed || !executions || ntk_execution_borders_find(trace, &count, &borders) < 0;
    for (size_t c = 0; executions && c < trace->core_count; c++) {
        if (ntk_executions_find(&trace->cores[c], &executions[c]) < 0) {
            out->failed = true;
        }
    }
    if (executions) {
        add_cores(trace, executions, out);
        ntk_buf_add_char(out, '\n');
        add_executions(trace, executions, &borders, out);
    }
    ntk_execution_borders_fini(&borders);
    for (size_t c = 0; executions && c < trace->core_count; c++) {
        ntk_executions_fini(&executions[c]);
    }
    free(executions);
    add_opcodes(trace, opcodes, out);
}

static void add_core_json(const struct ntk_trace *trace, size_t index, struct ntk_json *json)
{
    const struct ntk_trace_core *core = &trace->cores[index];
    uint64_t ps = core_execution_ps(trace, core);

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "NodeId", index);
    ntk_json_key_object_begin(json, "NodeInfo");
    ntk_json_key_array_begin(json, "Graphs");
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "Name", core->ntff->name);
    ntk_json_key_u64(json, "NC", core->ntff->core);
    ntk_json_key_u64(json, "NeuronCore", core->ntff->core);
    if (ps) {
        ntk_json_key_u64(json, "CycleCount", ps);
        ntk_json_key_u64(json, "ExecTimeNs", ps / 1000);
    }
    struct ntk_executions executions;
    if (ntk_executions_find(core, &executions) < 0) {
        json->buf->failed = true;
    }
    if (executions.count > 0) {
        ntk_json_key_u64(json, "ExecutionCount", executions.count);
        ntk_json_key_array_begin(json, "Executions");
        for (size_t i = 0; i < executions.count; i++) {
            const struct ntk_execution *execution = &executions.items[i];

            ntk_json_object_begin(json);
            ntk_json_key_i64(json, "StartNs", execution->start_ps / 1000);
            ntk_json_key_i64(json, "TimeNs", (execution->end_ps - execution->start_ps) / 1000);
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
    }
    ntk_executions_fini(&executions);
    ntk_json_key_u64(json, "TraceCount", core->instruction_count);
    ntk_json_key_u64(json, "EventCount", core->event_count);
    ntk_json_key_u64(json, "DmaCount", core->packet_count);
    ntk_json_key_u64(json, "ThrottleCount", core->throttle_count);
    ntk_json_key_u64(json, "RecordsOutsideExecution", core->outside_window);
    ntk_json_key_u64(json, "RecordsLeftOut", core->outside_code + core->unpaired + core->unknown);
    ntk_json_key_u64(json, "DmaQueueCount", core->ntff->queue_count);
    ntk_json_key_object_begin(json, "MemoryBytes");
    for (size_t m = 0; m < core->ntff->memory_count; m++) {
        ntk_json_key_u64(json, core->ntff->memory[m].name, core->ntff->memory[m].bytes_count);
    }
    ntk_json_object_end(json);
    ntk_json_object_end(json);
    ntk_json_array_end(json);
    ntk_json_object_end(json);
    ntk_json_object_end(json);
}

/* Hardware errors with an unknown record have only the key Raw. */
static void add_error_json(const struct ntk_ntff_section *section, uint64_t index, size_t node,
                           const struct ntk_ntff_record *record, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "NodeId", node);
    if (record->kind == NTK_NTFF_RECORD_ERROR) {
        ntk_json_key_i64(json, "TimePs", record->time_ps);
        ntk_json_key_text(json, "Source", ntk_ntff_source_title(record->engine));
        ntk_json_key_text(json, "Error", ntk_ntff_error_name(record->error));
        if (record->slot != NTK_NTFF_SLOT_OUTSIDE) {
            ntk_json_key_u64(json, "Pc", record->slot);
        }
    } else {
        const uint8_t *bytes = section->records + index * NTK_OUTPUT_RECORD_BYTES;
        char text[2 * NTK_OUTPUT_RECORD_BYTES + 1];

        for (size_t i = 0; i < NTK_OUTPUT_RECORD_BYTES; i++) {
            (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
        }
        ntk_json_key_text(json, "Raw", text);
    }
    ntk_json_object_end(json);
}

static void add_errors_json(const struct ntk_ntff *ntff, struct ntk_json *json)
{
    uint64_t count = 0;

    ntk_json_key_array_begin(json, "Errors");
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            const struct ntk_ntff_section *section = &ntff->subgraphs[g].sections[s];

            for (uint64_t i = 0;
                 section->type == NTK_NTFF_SECTION_ERROR && i < section->record_count; i++) {
                struct ntk_ntff_record record;

                if (++count <= NTK_OUTPUT_ERRORS_MAX) {
                    ntk_ntff_record_get(&ntff->subgraphs[g], section, i, &record);
                    add_error_json(section, i, g, &record, json);
                }
            }
        }
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, "ErrorCount", count);
}

void ntk_output_session_json(const struct ntk_trace *trace, const struct ntk_opcode_table *opcodes,
                             bool has_errors, struct ntk_buf *out)
{
    const struct ntk_ntff *ntff = trace->ntff;
    struct ntk_json json;
    char text[64];

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "NtffVersion", ntff->version);
    ntk_json_key_text(&json, "NeffName", ntff->neff_name);
    ntk_ntff_uuid_text(ntff, text);
    ntk_json_key(&json, "NeffUuid");
    ntk_json_text(&json, ntff->neff_uuid_known_bytes == NTK_NTFF_UUID_BYTES ? text : NULL);
    ntk_json_key_u64(&json, "ModelId", ntff->model_id);
    ntk_json_key_text(&json, "InstanceType", ntff->instance_type);
    version_text(&ntff->runtime, text, sizeof text);
    ntk_json_key_text(&json, "RuntimeVersion", text);
    version_text(&ntff->driver, text, sizeof text);
    ntk_json_key_text(&json, "DriverVersion", text);
    ntk_json_key_array_begin(&json, "NeffNodes");
    for (size_t c = 0; c < trace->core_count; c++) {
        add_core_json(trace, c, &json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "Opcodes");
    for (size_t i = 0; i < opcodes->row_count; i++) {
        const struct ntk_opcode_row *row = &opcodes->rows[i];
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "engine", ntk_ntff_engine_name(row->engine));
        ntk_json_key_text(&json, "opcode", ntk_ntff_opcode_name(row->opcode, text, sizeof text));
        ntk_json_key_u64(&json, "instruction_count", row->instruction_count);
        ntk_json_key_i64(&json, "instruction_time_ns", row->instruction_ps / 1000);
        ntk_json_key_i64(&json, "active_time_ns", row->active_ps / 1000);
        if (trace->has_total && trace->total_ps > 0) {
            ntk_json_key_double(&json, "active_time_percent",
                                (double)row->active_ps / (double)trace->total_ps);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    if (has_errors) {
        add_errors_json(ntff, &json);
    }
    ntk_json_key_array_begin(&json, "Warnings");
    for (size_t i = 0; i < ntff->warning_count; i++) {
        ntk_json_text(&json, ntff->warnings[i]);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
