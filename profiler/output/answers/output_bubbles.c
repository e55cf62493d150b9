/* SPDX-License-Identifier: MIT */
/* output_bubbles - writes bubbles.h as text and JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define CAUSE_BYTES 160

/* Returns a text such as "waits for Vector ACTIVATE" or "issue". */
static const char *cause_text(const struct ntk_bubble_cause *cause, char *buf, size_t buf_bytes)
{
    const char *plain = ntk_idle_reason_text(cause->reason);
    char name[CAUSE_BYTES - 16];

    if (plain) {
        snprintf(buf, buf_bytes, "%s", plain);
    } else {
        ntk_chain_link_name(&cause->maker, name, sizeof name);
        snprintf(buf, buf_bytes, "waits for %s", name);
    }
    return buf;
}

static void root_text(const struct ntk_bubble *bubble, char *buf, size_t buf_bytes)
{
    if (bubble->is_root_unknown) {
        snprintf(buf, buf_bytes, "unknown");
    } else if (bubble->has_root) {
        ntk_chain_link_name(&bubble->root, buf, buf_bytes);
    } else {
        snprintf(buf, buf_bytes, "-");
    }
}

/* Returns the instruction after the gap; NULL if the execution ended. */
static const struct ntk_trace_instruction *next_of(const struct ntk_program *program,
                                                   const struct ntk_bubble *bubble)
{
    return bubble->next == NTK_NO_INDEX
               ? NULL
               : &program->trace->cores[bubble->core].instructions[bubble->next];
}

static void causes_text(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                        struct ntk_buf *out)
{
    static const char *const heads[] = { "GAPS",       "TOTAL US", "OF IDLE", "DUE US", "MEAN US",
                                         "LONGEST US", "CORE",     "ENGINE",  "AT US",  "CAUSE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 10, 1u << 7 | 1u << 9, heads);
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        const struct ntk_bubble_cause *cause = &bubbles->causes[i];
        const struct ntk_bubble *longest = &cause->bubbles[0];
        char text[CAUSE_BYTES];
        ntk_cell_u64(&table, cause->count);
        ntk_cell_us(&table, cause->gaps_ps);
        ntk_cell_share(&table, (double)cause->gaps_ps, (double)bubbles->idle_ps);
        ntk_cell_us(&table, cause->cause_ps);
        ntk_cell_us(&table, cause->gaps_ps / (int64_t)cause->count);
        ntk_cell_us(&table, longest->end_ps - longest->start_ps);
        ntk_cell_u64(&table, program->trace->cores[longest->core].ntff->core);
        ntk_text_table_text(&table, ntk_ntff_source_title(longest->engine));
        ntk_cell_us(&table, longest->start_ps);
        ntk_text_table_text(&table, cause_text(cause, text, sizeof text));
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

/* A listed gap. */
struct listed {
    bool is_end; /* no work was left: listed last */
    const struct ntk_bubble *bubble;
};

static int compare(const void *a, const void *b)
{
    const struct listed *one = a;
    const struct listed *other = b;
    const struct ntk_bubble *x = one->bubble;
    const struct ntk_bubble *y = other->bubble;
    int64_t x_ps = x->end_ps - x->start_ps;
    int64_t y_ps = y->end_ps - y->start_ps;

    if (one->is_end != other->is_end) {
        return one->is_end ? 1 : -1;
    }

    if (x_ps != y_ps) {
        return x_ps > y_ps ? -1 : 1;
    }
    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    return x->core != y->core ? (x->core > y->core) - (x->core < y->core)
                              : (int)x->engine - (int)y->engine;
}

static void gap_cells(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                      const struct ntk_bubble *bubble, struct ntk_text_table *table)
{
    const struct ntk_trace_instruction *next = next_of(program, bubble);
    char text[CAUSE_BYTES];

    ntk_cell_u64(table, program->trace->cores[bubble->core].ntff->core);
    ntk_text_table_text(table, ntk_ntff_source_title(bubble->engine));
    ntk_cell_us(table, bubble->start_ps);
    ntk_cell_us(table, bubble->end_ps - bubble->start_ps);
    ntk_cell_us(table, bubble->cause_ps);
    ntk_text_table_text(table,
                        next ? ntk_ntff_opcode_name(next->opcode, text, sizeof text) : "(end)");
    root_text(bubble, text, sizeof text);
    ntk_text_table_text(table, text);
    ntk_text_table_text(table, cause_text(&bubbles->causes[bubble->cause], text, sizeof text));
}

/* Writes the longest gaps of all causes. */
static void gaps_text(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                      size_t limit, struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE",   "ENGINE", "AT US", "GAP US",
                                         "DUE US", "BEFORE", "ROOT",  "CAUSE" };
    struct ntk_text_table table;
    size_t count = 0;

    for (size_t i = 0; i < bubbles->cause_count; i++) {
        count += bubbles->causes[i].bubble_count;
    }
    struct listed *all = calloc(count + 1, sizeof *all);
    if (!all) {
        out->failed = true;
        return;
    }
    count = 0;
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        for (size_t b = 0; b < bubbles->causes[i].bubble_count; b++) {
            all[count++] = (struct listed){ bubbles->causes[i].reason == NTK_IDLE_END,
                                            &bubbles->causes[i].bubbles[b] };
        }
    }
    qsort(all, count, sizeof *all, compare);
    count = count < limit ? count : limit;
    ntk_buf_add_format(out,
                       count == bubbles->count
                           ? "\nAll gaps, longest first; gaps after the last work come last\n"
                           : "\nThe %zu longest gaps; gaps after the last work come last\n",
                       count);
    ntk_text_table_init(&table, 8, 1u << 1 | 1u << 5 | 1u << 6 | 1u << 7, heads);
    for (size_t i = 0; i < count; i++) {
        gap_cells(program, bubbles, all[i].bubble, &table);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    free(all);
}

void ntk_output_bubbles_text(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                             size_t limit, struct ntk_buf *out)
{
    ntk_buf_add_format(out,
                       "%llu gaps of %zu engines, %.3f us of idle time in an execution of %.3f us. "
                       "Grouped by the cause of the largest part of each gap\n",
                       (unsigned long long)bubbles->count, bubbles->engine_count,
                       (double)bubbles->idle_ps / 1e6, (double)bubbles->total_ps / 1e6);
    if (bubbles->count == 0) {
        return;
    }
    causes_text(program, bubbles, out);
    gaps_text(program, bubbles, limit ? limit : NTK_OUTPUT_ROWS_MAX, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void link_json(struct ntk_json *json, const char *key, const struct ntk_chain_link *link)
{
    char name[CAUSE_BYTES];

    ntk_chain_link_name(link, name, sizeof name);
    ntk_json_key_text(json, key, name);
}

static void gap_json(const struct ntk_program *program, const struct ntk_bubble *bubble,
                     struct ntk_json *json)
{
    const struct ntk_trace_instruction *next = next_of(program, bubble);

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "core", program->trace->cores[bubble->core].ntff->core);
    ntk_json_key_text(json, "engine", ntk_ntff_engine_name(bubble->engine));
    ntk_json_key_ns(json, "start_ns", bubble->start_ps);
    ntk_json_key_ns(json, "gap_ns", bubble->end_ps - bubble->start_ps);
    ntk_json_key_ns(json, "due_ns", bubble->cause_ps);
    if (next) {
        ntk_json_key_opcode(json, "before", next->opcode);
        ntk_json_key_u64(json, "pc", next->slot);
    }
    if (bubble->has_root && !bubble->is_root_unknown) {
        link_json(json, "root", &bubble->root);
    } else if (bubble->is_root_unknown) {
        ntk_json_key_text(json, "root", NULL);
    }
    ntk_json_object_end(json);
}

static void cause_json(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                       const struct ntk_bubble_cause *cause, struct ntk_json *json)
{
    char text[CAUSE_BYTES];

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "reason", ntk_idle_reason_name(cause->reason));
    ntk_json_key_text(json, "cause", cause_text(cause, text, sizeof text));
    if (cause->reason == NTK_IDLE_ENGINE) {
        ntk_json_key_text(json, "changed_by", ntk_ntff_engine_name(cause->maker.engine));
        if (cause->maker.opcode) {
            ntk_json_key_opcode(json, "opcode", cause->maker.opcode);
        }
    } else if (cause->reason == NTK_IDLE_DMA) {
        ntk_json_key_queue(json, "queue", cause->maker.queue);
    }
    ntk_output_other_core(json, &cause->maker);
    ntk_json_key_u64(json, "count", cause->count);
    ntk_json_key_ns(json, "gaps_ns", cause->gaps_ps);
    ntk_json_key_share(json, "idle_ratio", (double)cause->gaps_ps, (double)bubbles->idle_ps);
    ntk_json_key_ns(json, "due_ns", cause->cause_ps);
    ntk_json_key_ns(json, "longest_ns", cause->bubbles[0].end_ps - cause->bubbles[0].start_ps);
    ntk_json_key_array_begin(json, "gaps");
    for (size_t i = 0; i < cause->bubble_count; i++) {
        gap_json(program, &cause->bubbles[i], json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

void ntk_output_bubbles_json(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                             struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_ns(json, "total_ns", bubbles->total_ps);
    ntk_json_key_u64(json, "engine_count", bubbles->engine_count);
    ntk_json_key_u64(json, "count", bubbles->count);
    ntk_json_key_ns(json, "idle_ns", bubbles->idle_ps);
    ntk_json_key_array_begin(json, "causes");
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        cause_json(program, bubbles, &bubbles->causes[i], json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
