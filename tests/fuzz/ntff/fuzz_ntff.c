/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ntff - any bytes as a capture: opened, paired, summarised, analysed, printed and exported.
 * Lists are sorted, and are the same when they do not fit in memory.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_records.h"
#include "profiler/output/export_to.h"
#include "profiler/output/output.h"
#include "profiler/output/tables/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void compare(const struct ntk_trace_core *a, const struct ntk_trace_core *b)
{
    require(a->instruction_count == b->instruction_count && a->packet_count == b->packet_count &&
            a->event_count == b->event_count && a->throttle_count == b->throttle_count &&
            a->unpaired == b->unpaired && a->outside_window == b->outside_window &&
            a->end_ps == b->end_ps);
    for (size_t i = 0; i < a->instruction_count; i++) {
        require(a->instructions[i].start_ps == b->instructions[i].start_ps &&
                a->instructions[i].end_ps == b->instructions[i].end_ps &&
                a->instructions[i].slot == b->instructions[i].slot);
        require(i == 0 || a->instructions[i - 1].start_ps <= a->instructions[i].start_ps);
        require(a->instructions[i].start_ps <= a->instructions[i].end_ps);
    }
    for (size_t i = 0; i < a->packet_count; i++) {
        require(a->packets[i].start_ps == b->packets[i].start_ps &&
                a->packets[i].end_ps == b->packets[i].end_ps);
        require(i == 0 || a->packets[i - 1].start_ps <= a->packets[i].start_ps);
        require(a->packets[i].start_ps <= a->packets[i].end_ps);
    }
    for (size_t i = 0; i < a->event_count; i++) {
        require(a->events[i].time_ps == b->events[i].time_ps &&
                a->events[i].value == b->events[i].value);
        require(i == 0 || a->events[i - 1].time_ps <= a->events[i].time_ps);
    }
}

static void compare_bounded(const struct ntk_ntff *ntff, const struct ntk_trace *trace)
{
    struct ntk_trace_options options = { .list_bytes = 1 };
    struct ntk_trace *bounded = NULL;

    if (ntk_trace_create(ntff, NULL, &options, &bounded, NULL) == 0) {
        for (size_t c = 0; c < trace->core_count; c++) {
            compare(&trace->cores[c], &bounded->cores[c]);
        }
        ntk_trace_destroy(bounded);
    }
}

static void print_records(const struct ntk_trace *trace)
{
    struct ntk_sink sink = { 0 };

    if (ntk_sink_open(&sink, "/dev/null", NULL) == 0) {
        (void)ntk_output_instructions(trace, &sink);
        (void)ntk_output_records(trace->ntff, NTK_RECORDS_ALL, &sink);
        ntk_sink_abort(&sink);
    }
}

/* The steps of the critical path are contiguous for any times. */
static void analyse(const struct ntk_trace *trace)
{
    struct ntk_analyses *analyses = NULL;
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    if (ntk_analyses_create(trace, &analyses) < 0) {
        return;
    }
    for (size_t i = 1; analyses->has_path && i < analyses->path.step_count; i++) {
        require(analyses->path.steps[i].start_ps == analyses->path.steps[i - 1].end_ps);
    }
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        (void)ntk_analyses_put(analyses, i, &out, NULL);
        ntk_buf_reset(&out);
        ntk_json_init(&json, &out, false);
        (void)ntk_analyses_put(analyses, i, NULL, &json);
        ntk_buf_reset(&out);
    }
    /* The largest possible times, with faster and slower parts at once. */
    require(ntk_what_if_changes_add(&analyses->changes,
                                    "dma=0.001,engines=0.001,latency=1000000,wait:3,tensor,"
                                    "dma-latency=0.001,transposes=0.5",
                                    NULL) == 0);
    (void)ntk_analyses_put(analyses, (size_t)ntk_analyses_find("what-if"), &out, NULL);
    ntk_buf_fini(&out);
    ntk_analyses_destroy(analyses);
}

/* A column that a table promises for every row is present in every row. */
static int check_row(void *ctx, const void *row)
{
    const struct ntk_table *table = ctx;

    for (size_t i = 0; i < table->column_count; i++) {
        union ntk_cell cell;
        require(ntk_cell_get(&table->columns[i], row, &cell) ||
                table->columns[i].presence != NTK_COLUMN_ALWAYS);
    }
    return 0;
}

static void write_out(const struct ntk_trace *trace)
{
    static const char *const formats[] = { "json", "perfetto", "chrome" };
    struct ntk_export *export = NULL;
    struct ntk_err err = { 0 };
    size_t count;
    const struct ntk_table *tables = ntk_tables_schema(&count);

    if (ntk_export_create(trace, "fuzz", "fuzz.ntff", &export) < 0) {
        return;
    }
    for (size_t t = 0; t < count; t++) {
        (void)tables[t].rows(export, check_row, (void *)(uintptr_t)&tables[t]);
    }
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        require(ntk_export_format_find(formats[f])->write(export, "/dev/null", &err) == 0);
    }
    ntk_export_destroy(export);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_summary summary;
    struct ntk_opcode_table opcodes;
    struct ntk_buf text = { 0 };

    if (ntk_ntff_open_bytes(data, size, &ntff, NULL) < 0) {
        return 0;
    }
    if (ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL) == 0) {
        if (ntk_analysis_summary(trace, &summary) == 0) {
            ntk_output_summary_text(&summary, false, &text);
            ntk_output_summary_json(&summary, "fuzz", &text);
            ntk_summary_fini(&summary);
        }
        if (ntk_analysis_opcode_table(trace, &opcodes) == 0) {
            ntk_output_session_text(trace, &opcodes, &text);
            ntk_output_session_json(trace, &opcodes, true, &text);
            ntk_opcode_table_fini(&opcodes);
        }
        for (size_t c = 0; c < trace->core_count; c++) {
            const struct ntk_trace_core *core = &trace->cores[c];
            for (size_t i = 0; i < core->instruction_count; i++) {
                ntk_ntff_compiler_pc(core->ntff, core->instructions[i].engine,
                                     core->instructions[i].slot);
            }
        }
        compare_bounded(ntff, trace);
        print_records(trace);
        analyse(trace);
        write_out(trace);
        ntk_trace_destroy(trace);
    }
    ntk_buf_fini(&text);
    ntk_ntff_close(ntff);
    return 0;
}
