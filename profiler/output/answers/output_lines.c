/* SPDX-License-Identifier: MIT */
/* output_lines - writes source_lines.h as text. */
#include "profiler/output/answers/output_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/incomplete.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/formats/neff/source_text.h"

#define BAR_CELLS 16
#define TEXT_BYTES 400

static const char *const order_names[] = {
    [NTK_SOURCE_BY_COST] = "stall and time",
    [NTK_SOURCE_BY_STALL] = "stall",
    [NTK_SOURCE_BY_IDLE] = "idle time",
    [NTK_SOURCE_BY_TIME] = "time",
    [NTK_SOURCE_BY_BYTES] = "device memory traffic",
};

/* Writes a bar; any value above 0 is visible. */
static void cell_bar(struct ntk_text_table *table, int64_t value, int64_t largest)
{
    double share = largest > 0 ? (double)value / (double)largest : 0;
    int count = (int)(share * BAR_CELLS + 0.5);

    count = count == 0 && value > 0 ? 1 : count;
    ntk_text_table_format(table, "%.*s", count, "################");
}

/* Writes a line such as "attn.py:278". */
static void cell_line(struct ntk_text_table *table, const char *file, uint32_t line)
{
    ntk_text_table_format(table, "%s:%u", ntk_str_base_name(file), line);
}

/* Writes the source text; the last column is omitted if no line has a text. */
static bool cell_text(struct ntk_text_table *table, const struct ntk_export *export,
                      const char *file, uint32_t line)
{
    const char *text = ntk_source_text_line(export->source_text, file, line);

    ntk_text_table_text(table, text ? text : "");
    return text != NULL;
}

static const char *file_of(const struct ntk_source_lines *lines, uint32_t file)
{
    return lines->program->positions->files.entries[file - 1].key;
}

/* Writes the share of the execution that lines explain. */
static void put_head(const struct ntk_source_lines *lines, enum ntk_source_order order,
                     bool is_of_loops, struct ntk_buf *out)
{
    int64_t rows[NTK_SOURCE_REASON_COUNT] = { 0 };
    int64_t all = 0;
    double time_ns = 0;
    double of_lines_ns = 0;

    for (size_t i = 0; i < lines->line_count; i++) {
        const struct ntk_source_line *line = &lines->lines[i];

        rows[line->reason] += line->sums.instruction_count;
        all += line->sums.instruction_count;
        time_ns += (double)line->sums.duration_ns;
        of_lines_ns += line->reason == NTK_SOURCE_HAS_LINE ? (double)line->sums.duration_ns : 0;
    }
    ntk_buf_add_format(out, "%lld of %lld instructions have a source line", (long long)rows[0],
                       (long long)all);
    if (rows[NTK_SOURCE_HAS_LINE] && time_ns > 0) {
        ntk_buf_add_format(out, " (%.1f%% of the instruction time)", 100 * of_lines_ns / time_ns);
    }
    for (unsigned r = 1; r < NTK_SOURCE_REASON_COUNT; r++) {
        static const char *const of[] = { "", "from the runtime", "from the compiler",
                                          "without debug information" };
        if (rows[r]) {
            ntk_buf_add_format(out, "; %lld %s", (long long)rows[r], of[r]);
        }
    }
    ntk_buf_add_char(out, '\n');
    if (!lines->has_lines) {
        ntk_buf_add_text(out, lines->program->trace->neff
                                  ? "No source lines: the compiler did not record any in the NEFF\n"
                                  : "No source lines: pass the NEFF that contains them with -n\n");
        return;
    }
    ntk_buf_add_format(out,
                       "Sorted by %s%s. Stall and time are sums over engines, which work at the "
                       "same time; %s is wall-clock time\n"
                       "Stall adds the waits of all instructions, which overlap if an engine "
                       "queues several; idle counts overlapping waits of an engine once\n",
                       order_names[order], is_of_loops ? ", including inner loops" : "",
                       is_of_loops ? "span" : "active");
    if (lines->long_wait_count) {
        uint64_t count = lines->long_wait_count;
        ntk_buf_add_format(
            out,
            "%llu wait%s longer than the %lld ns that a record can hold, so the stall is too low\n",
            (unsigned long long)count, count == 1 ? " is" : "s are",
            (long long)ntk_source_wait_max_ns(lines->program->trace));
    }
}

/* Returns the text for a reason from ntk_source_blocker_reason(). */
static const char *blocker_text(const char *reason)
{
    return strcmp(reason, "no_condition") == 0    ? "no semaphore"
           : strcmp(reason, "no_debug_info") == 0 ? "no debug information"
                                                  : reason;
}

/* Adds a part of the line's waits, such as ":385 31%". */
static void add_blocker(const struct ntk_source_lines *lines, const struct ntk_source_line *line,
                        const struct ntk_source_blocker *blocker, struct ntk_buf *out)
{
    const struct ntk_source_line *by = &lines->lines[blocker->line];
    const char *reason = ntk_source_blocker_reason(lines, blocker);

    if (reason) {
        ntk_buf_add_text(out, blocker_text(reason));
    } else {
        ntk_buf_add_format(
            out, "%s:%u", by->file == line->file ? "" : ntk_str_base_name(file_of(lines, by->file)),
            by->line);
    }
    ntk_buf_add_format(out, " %.0f%%",
                       100.0 * (double)blocker->wait_ns / (double)line->sums.wait_ns);
}

/* Writes the main cause of the line's waits. If it is not a line, also writes the first line. */
static void cell_blocker(struct ntk_text_table *table, const struct ntk_source_lines *lines,
                         const struct ntk_source_line *line)
{
    const struct ntk_source_blocker *all = line->blockers;
    size_t second = 1;
    struct ntk_buf text = { 0 };

    if (!line->blocker_count || line->sums.wait_ns == 0) {
        ntk_text_table_text(table, "-");
        return;
    }
    add_blocker(lines, line, &all[0], &text);
    while (second < line->blocker_count && ntk_source_blocker_reason(lines, &all[second])) {
        second++;
    }
    if (ntk_source_blocker_reason(lines, &all[0]) && second < line->blocker_count) {
        ntk_buf_add_text(&text, ", ");
        add_blocker(lines, line, &all[second], &text);
    }
    ntk_text_table_text(table, ntk_buf_text_get(&text));
    ntk_buf_fini(&text);
}

int ntk_output_lines_text(const struct ntk_export *export, enum ntk_source_order order,
                          struct ntk_buf *out)
{
    static const char *const heads[] = { "LINE",      "",      "STALL US", "IDLE US",   "TIME US",
                                         "ACTIVE US", "COUNT", "HBM",      "WAITS FOR", "TEXT" };
    const struct ntk_source_lines *lines = NULL;
    struct ntk_text_table table;
    size_t shown = 0;
    bool has_text = false;
    int ret = ntk_export_source_lines(export, &lines);

    if (ret < 0) {
        return ret;
    }
    ntk_output_several_text(export->program, out);
    ntk_output_incomplete_text(export->program, NTK_LACK_ANY, out);
    put_head(lines, order, false, out);
    ntk_text_table_init(&table, 10, 1u << 0 | 1u << 1 | 1u << 8 | 1u << 9, heads);
    for (; shown < lines->line_count && lines->lines[shown].file && shown < NTK_OUTPUT_ROWS_MAX;
         shown++) {
        const struct ntk_source_line *line = &lines->lines[shown];
        const struct ntk_source_sums *sums = &line->sums;
        cell_line(&table, file_of(lines, line->file), line->line);
        cell_bar(&table, line->rank, lines->lines[0].rank);
        ntk_cell_us(&table, sums->wait_ns * NTK_TRACE_PS_PER_NS);
        ntk_cell_us(&table, sums->idle_ps);
        ntk_cell_us(&table, sums->duration_ps);
        ntk_cell_us(&table, sums->active.covered_ps);
        ntk_cell_u64(&table, (uint64_t)sums->instruction_count);
        ntk_cell_bytes_or_dash(&table, (uint64_t)ntk_source_sums_by(sums, NTK_SOURCE_BY_BYTES));
        cell_blocker(&table, lines, line);
        has_text |= cell_text(&table, export, file_of(lines, line->file), line->line);
    }
    table.hidden = has_text ? 0 : 1u << 9;
    if (shown) {
        ntk_text_table_put(&table, out);
    }
    ntk_text_table_fini(&table);
    size_t count = 0;
    while (count < lines->line_count && lines->lines[count].file) {
        count++;
    }
    ntk_output_more(out, count);
    return 0;
}

/* Returns the next line by idle time (by active time if no line waits) after `before`; NULL if
 * there is none. */
static const struct ntk_source_line *next_line(const struct ntk_source_lines *lines,
                                               const struct ntk_source_line *before)
{
    const struct ntk_source_line *most = NULL;
    int64_t idle_ps = 0;

    for (size_t i = 0; i < lines->line_count && lines->lines[i].file; i++) {
        idle_ps = lines->lines[i].sums.idle_ps > idle_ps ? lines->lines[i].sums.idle_ps : idle_ps;
    }
    for (size_t i = 0; i < lines->line_count && lines->lines[i].file; i++) {
        const struct ntk_source_line *line = &lines->lines[i];
        int64_t cost = idle_ps ? line->sums.idle_ps : line->sums.active.covered_ps;
        int64_t limit = !before   ? INT64_MAX
                        : idle_ps ? before->sums.idle_ps
                                  : before->sums.active.covered_ps;
        bool is_later = cost < limit || (cost == limit && before && line > before);
        if (cost > 0 && is_later &&
            (!most || cost > (idle_ps ? most->sums.idle_ps : most->sums.active.covered_ps))) {
            most = line;
        }
    }
    return most;
}

/* Writes the cost of a line and its cause; returns the line that it waits for, or NULL. */
static const struct ntk_source_line *put_line(const struct ntk_source_lines *lines,
                                              const struct ntk_source_line *line,
                                              struct ntk_buf *out)
{
    ntk_buf_add_format(out, "- %s:%u ", ntk_str_base_name(file_of(lines, line->file)), line->line);
    if (line->sums.idle_ps == 0) {
        ntk_buf_add_format(out, "executes for %.3f us\n",
                           (double)line->sums.active.covered_ps / 1e6);
        return NULL;
    }
    unsigned engine = 0;
    unsigned engine_count = 0; /* that execute the line */
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        engine = line->sums.engine_counts[e] ? e : engine;
        engine_count += line->sums.engine_counts[e] > 0;
    }
    ntk_buf_add_format(out, "leaves %s idle for %.3f us%s",
                       engine_count == 1 ? ntk_ntff_engine_title(engine) : "engines",
                       (double)line->sums.idle_ps / 1e6, engine_count == 1 ? "" : " in total");
    for (size_t i = 0; i < line->blocker_count && line->sums.wait_ns > 0; i++) {
        const struct ntk_source_blocker *blocker = &line->blockers[i];
        const struct ntk_source_line *by = &lines->lines[blocker->line];
        if (!ntk_source_blocker_reason(lines, blocker)) {
            ntk_buf_add_format(out, ", waiting mostly for %s:%u (%.0f%% of its stall)\n",
                               ntk_str_base_name(file_of(lines, by->file)), by->line,
                               100.0 * (double)blocker->wait_ns / (double)line->sums.wait_ns);
            return by;
        }
    }
    ntk_buf_add_text(out, ", and no line is known that it waits for\n");
    return NULL;
}

void ntk_output_lines_next(const struct ntk_source_lines *lines, const char *files,
                           struct ntk_buf *out)
{
    const struct ntk_source_line *first = next_line(lines, NULL);
    const struct ntk_source_line *second = first ? next_line(lines, first) : NULL;

    if (!first) {
        ntk_buf_add_format(out,
                           "Next: neuron-profile analyze %s top regions (the cost of operations "
                           "and of repeated parts, without lines)\n",
                           files);
        return;
    }
    ntk_buf_add_text(out, "\nThe lines that cost most:\n");
    const struct ntk_source_line *cause = put_line(lines, first, out);
    if (second) {
        put_line(lines, second, out);
    }
    ntk_buf_add_format(out, "Next: neuron-profile analyze %s what-if --what-if ", files);
    if (cause) {
        ntk_buf_add_format(out, "wait:%s:%u", ntk_str_base_name(file_of(lines, first->file)),
                           first->line);
        ntk_buf_add_text(out, " (estimates the time without these waits)\n");
    } else {
        ntk_buf_add_format(out, "line:%s:%u=2", ntk_str_base_name(file_of(lines, first->file)),
                           first->line);
        ntk_buf_add_text(out, " (estimates the time if this line is twice as fast)\n");
    }
}

/* ---- loops ---- */

struct ranked_loop {
    int64_t rank;
    size_t loop;
};

NTK_ORDER(compare_loops, struct ranked_loop, NTK_DOWN(rank) NTK_UP(loop));

/* Writes variables such as "kv_h > s_t", outermost first. */
static void cell_variables(struct ntk_text_table *table, const struct ntk_neff_loop *loops,
                           size_t loop)
{
    const char *parts[NTK_NEFF_KERNEL_DEPTH_MAX];
    char text[TEXT_BYTES];
    size_t count = 0;
    size_t bytes = 0;

    for (uint32_t at = (uint32_t)loop + 1; at && count < NTK_NEFF_KERNEL_DEPTH_MAX;
         at = loops[at - 1].parent) {
        parts[count++] = loops[at - 1].variable;
    }
    text[0] = '\0';
    while (count > 0 && bytes < sizeof text) {
        int added = snprintf(text + bytes, sizeof text - bytes, "%s%s", parts[count - 1],
                             count > 1 ? " > " : "");
        bytes += added > 0 ? (size_t)added : 0;
        count--;
    }
    ntk_text_table_text(table, text);
}

/* Writes a text such as "12.345 at 0,3". */
static void cell_slowest(struct ntk_text_table *table, const struct ntk_source_lines *lines,
                         const struct ntk_source_loop *loop)
{
    struct ntk_buf text = { 0 };

    ntk_buf_add_format(&text, "%.3f at ", (double)loop->span_max_ns / 1e3);
    ntk_source_values_add(lines, loop->slowest, &text);
    ntk_text_table_text(table, ntk_buf_text_get(&text));
    ntk_buf_fini(&text);
}

static bool put_loop(struct ntk_text_table *table, const struct ntk_export *export,
                     const struct ntk_source_lines *lines, const struct ranked_loop *ranked,
                     int64_t largest)
{
    const struct ntk_neff_loop *loops = export->program->positions->kernel.loops.items;
    const struct ntk_neff_loop *from = &loops[ranked->loop];
    const struct ntk_source_loop *loop = &lines->loops[ranked->loop];

    cell_line(table, from->file, from->line);
    cell_variables(table, loops, ranked->loop);
    cell_bar(table, ranked->rank, largest);
    ntk_cell_us(table, loop->totals.wait_ns * NTK_TRACE_PS_PER_NS);
    ntk_cell_us(table, loop->totals.idle_ps);
    ntk_cell_us(table, loop->totals.duration_ps);
    ntk_cell_bytes_or_dash(table, (uint64_t)ntk_source_sums_by(&loop->totals, NTK_SOURCE_BY_BYTES));
    ntk_cell_us(table, loop->end_ps - loop->start_ps);
    ntk_cell_u64(table, (uint64_t)loop->iteration_count);
    ntk_text_table_format(table, "%.3f",
                          (double)loop->span_sum_ns / (double)loop->iteration_count / 1e3);
    cell_slowest(table, lines, loop);
    ntk_text_table_format(table, "%.2f", ntk_source_loop_overlap(loop));
    return cell_text(table, export, from->file, from->line);
}

int ntk_output_loops_text(const struct ntk_export *export, enum ntk_source_order order,
                          struct ntk_buf *out)
{
    static const char *const heads[] = { "LOOP",       "VARIABLES", "",           "STALL US",
                                         "IDLE US",    "TIME US",   "HBM",        "SPAN US",
                                         "ITERATIONS", "MEAN US",   "SLOWEST US", "OVERLAP",
                                         "TEXT" };
    const struct ntk_source_lines *lines = NULL;
    struct ntk_text_table table;
    size_t count = 0;
    bool has_text = false;
    int ret = ntk_export_source_lines(export, &lines);
    struct ranked_loop *ranked = ret == 0 ? calloc(lines->loop_count + 1, sizeof *ranked) : NULL;

    if (!ranked) {
        return ret < 0 ? ret : -ENOMEM;
    }
    for (size_t i = 0; i < lines->loop_count; i++) {
        if (lines->loops[i].iteration_count) {
            ranked[count++] =
                (struct ranked_loop){ ntk_source_sums_by(&lines->loops[i].totals, order), i };
        }
    }
    qsort(ranked, count, sizeof *ranked, compare_loops);
    ntk_output_several_text(export->program, out);
    ntk_output_incomplete_text(export->program, NTK_LACK_ANY, out);
    put_head(lines, order, true, out);
    ntk_text_table_init(&table, 13, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 10 | 1u << 12, heads);
    for (size_t i = 0; i < count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        has_text |= put_loop(&table, export, lines, &ranked[i], ranked[0].rank);
    }
    table.hidden = has_text ? 0 : 1u << 12;
    if (count) {
        ntk_text_table_put(&table, out);
    } else {
        ntk_buf_add_text(out,
                         "No loops: the NEFF has no kernel tree for the executed code (compile "
                         "the kernel with NKI_DEBUG_INFO=True)\n");
    }
    ntk_text_table_fini(&table);
    ntk_output_more(out, count);
    free(ranked);
    return 0;
}
