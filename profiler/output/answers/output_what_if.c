/* SPDX-License-Identifier: MIT */
/* output_what_if - writes what_if.h as text and JSON. */
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/incomplete.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

/* Size for as many changes as allowed, each with a name. */
#define TEXT_BYTES (NTK_WHAT_IF_CHANGES_MAX * (NTK_WHAT_IF_NAME_BYTES + 64))
#define NAME_BYTES 400
/* Number of parts of a new path that fit in a row. */
#define PATH_PARTS 2
#define LIMITS                                                                                \
    "The estimate keeps the order of instructions and transfers on each engine, and the time" \
    " that no dependency explains. It ignores contention for memory and changes to the program"
#define SEVERAL                                                                           \
    ". Each execution is estimated separately, and the time between two executions stays" \
    " as measured (--execution N estimates one of them)"
#define PARTS                                                                                      \
    ". The part of each execution in the window is estimated separately, and the time between two" \
    " executions stays as measured"
#define ONE ". The capture counts as one execution"

static const char *limits_text(const struct ntk_program *program)
{
    if (program->borders.count) {
        return ntk_trace_has_window(program->trace) ? LIMITS PARTS : LIMITS SEVERAL;
    }
    return program->execution_count > 1 ? LIMITS ONE : LIMITS;
}

/* Writes parts such as "tensor 61%, dma 30%". */
static void path_cell(struct ntk_text_table *table, const struct ntk_what_if_row *row)
{
    bool is_shown[NTK_WHAT_IF_ON_COUNT] = { false };
    char text[128] = "";
    size_t used = 0;

    for (unsigned p = 0; p < PATH_PARTS; p++) {
        unsigned longest = NTK_WHAT_IF_ON_COUNT;
        for (unsigned on = 0; on < NTK_WHAT_IF_ON_COUNT; on++) {
            if (!is_shown[on] && row->path_ps[on] > 0 &&
                (longest == NTK_WHAT_IF_ON_COUNT || row->path_ps[on] > row->path_ps[longest])) {
                longest = on;
            }
        }
        if (longest == NTK_WHAT_IF_ON_COUNT) {
            break;
        }
        is_shown[longest] = true;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.0f%%", p ? ", " : "",
                                 ntk_what_if_on_name(longest),
                                 100.0 * (double)row->path_ps[longest] / (double)row->total_ps);
    }
    ntk_text_table_text(table, used ? text : "-");
}

static void row_text(struct ntk_text_table *table, const struct ntk_what_if *what_if,
                     const struct ntk_what_if_row *row)
{
    char text[TEXT_BYTES];
    int64_t gain_ps = what_if->as_is.total_ps - row->total_ps;

    ntk_what_if_changes_text(&row->changes, text, sizeof text);
    ntk_text_table_text(table, row->changes.count ? text : "(none)");
    ntk_cell_us(table, row->total_ps);
    ntk_cell_us(table, gain_ps);
    ntk_cell_share(table, (double)gain_ps, (double)what_if->as_is.total_ps);
    ntk_cell_us(table, row->bound_ps);
    ntk_text_table_text(table, ntk_what_if_on_name(row->bound_by));
    path_cell(table, row);
}

#define MAKER_QUEUES_MAX 3

/* Appends what changes the semaphore of a row, such as "Tensor, DMA queue qSyncIO0", "the runtime"
 * or "unknown". Returns false if the row is not about a single semaphore. */
static bool add_makers(const struct ntk_program *program, const struct ntk_what_if_row *row,
                       struct ntk_buf *out)
{
    const struct ntk_what_if_change *change = row->changes.list;
    const char *queues[MAKER_QUEUES_MAX] = { NULL };
    size_t queue_count = 0;
    unsigned engines = 0;
    bool has_runtime = false;
    const char *between = "";

    if (row->changes.count != 1 || change->part != NTK_WHAT_IF_WAIT) {
        return false;
    }
    for (size_t i = 0; i < program->code_count; i++) {
        const struct ntk_slot_code *code = ntk_program_code(program, i);
        bool signals = !code->signals_event && code->signal_number == change->number;
        bool is_queue = code->is_transfer && !code->done_is_event && code->queue &&
                        code->done_number == change->number;
        if (code->is_runtime) {
            has_runtime = has_runtime || signals;
            continue;
        }
        engines |= signals ? 1u << code->engine : 0;
        for (size_t q = 0; is_queue && q < queue_count; q++) {
            is_queue = strcmp(queues[q], code->queue) != 0;
        }
        if (is_queue && queue_count < MAKER_QUEUES_MAX) {
            queues[queue_count++] = code->queue;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (engines >> e & 1) {
            ntk_buf_add_format(out, "%s%s", between, ntk_ntff_engine_title(e));
            between = ", ";
        }
    }
    for (size_t q = 0; q < queue_count; q++) {
        char shown[NAME_BYTES];
        ntk_buf_add_format(out, "%sDMA queue %s", between,
                           ntk_queue_shown(queues[q], shown, sizeof shown));
        between = ", ";
    }
    if (!*between) {
        ntk_buf_add_text(out, has_runtime ? "the runtime" : "unknown");
    }
    return true;
}

/* Lists what changes the semaphores of the table. */
static void makers_text(const struct ntk_program *program, const struct ntk_what_if *what_if,
                        struct ntk_buf *out)
{
    for (size_t i = 0; i < what_if->row_count; i++) {
        struct ntk_buf makers = { 0 };
        if (add_makers(program, &what_if->rows[i], &makers)) {
            ntk_buf_add_format(out, "wait:%u is for the semaphore changed by %s\n",
                               what_if->rows[i].changes.list[0].number, ntk_buf_text_get(&makers));
        }
        ntk_buf_fini(&makers);
    }
}

/* Returns a name such as "Tensor pc 12 MATMUL attention.py:31" or "DMA queue qSyncIO0". */
static const char *item_name(const struct ntk_program *program, const struct ntk_what_if_item *item,
                             char *buf, size_t buf_bytes)
{
    const struct ntk_trace_instruction *one =
        &program->trace->cores[item->core].instructions[item->example];
    const struct ntk_neff_position *at = ntk_program_position(program, item->core, one);
    const char *file = at ? ntk_neff_position_file(program->positions, at) : NULL;
    char queue[NAME_BYTES];
    char opcode[16];

    if (item->on == NTK_WHAT_IF_ON_DMA && item->queue) {
        snprintf(buf, buf_bytes, "DMA queue %s", ntk_queue_shown(item->queue, queue, sizeof queue));
        return buf;
    }
    snprintf(buf, buf_bytes, "%s%s pc %u %s%s%.*s", ntk_ntff_source_title(one->engine),
             item->on == NTK_WHAT_IF_ON_DMA ? " transfer," : "", one->slot,
             ntk_ntff_opcode_name(one->opcode, opcode, sizeof opcode), file ? " " : "",
             (int)(file ? NTK_WHAT_IF_NAME_BYTES : 0), file ? file : "");
    if (file) {
        size_t used = strlen(buf);
        snprintf(buf + used, buf_bytes - used, ":%u", at->line);
    }
    return buf;
}

/* Writes the parts of the path after the change. */
static void items_text(const struct ntk_program *program, const struct ntk_what_if_row *row,
                       struct ntk_buf *out)
{
    static const char *const heads[] = { "THEN ON THE CRITICAL PATH", "US", "SHARE" };
    struct ntk_text_table table;

    ntk_buf_add_char(out, '\n');
    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1u << 0, heads);
    for (size_t i = 0; i < row->item_count; i++) {
        char name[NAME_BYTES];
        ntk_text_table_text(&table, item_name(program, &row->items[i], name, sizeof name));
        ntk_cell_us(&table, row->items[i].path_ps);
        ntk_cell_share(&table, (double)row->items[i].path_ps, (double)row->total_ps);
    }
    for (unsigned on = NTK_WHAT_IF_ON_LATENCY; on < NTK_WHAT_IF_ON_COUNT; on++) {
        char name[32];
        if (row->path_ps[on] > 0) {
            snprintf(name, sizeof name, "(%s)", ntk_what_if_on_name(on));
            ntk_text_table_text(&table, name);
            ntk_cell_us(&table, row->path_ps[on]);
            ntk_cell_share(&table, (double)row->path_ps[on], (double)row->total_ps);
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

/* Describes what other cores decide, with bounds of the gain. */
static void outside_text(const struct ntk_what_if *what_if, struct ntk_buf *out)
{
    uint64_t count = what_if->outside_wait_count;
    uint64_t meetings = what_if->meeting_count;
    const struct ntk_what_if_row *row = what_if->rows;

    if (count) {
        ntk_buf_add_format(out, "%llu of %s for other cores or DMA outside the capture\n",
                           (unsigned long long)count,
                           count == 1 ? "these waits is" : "these waits are");
    }
    if (meetings) {
        ntk_buf_add_format(out, "%llu instruction%s\n", (unsigned long long)meetings,
                           meetings == 1 ? " is a barrier, an exchange or part of a collective: "
                                           "its wait for other cores keeps its length"
                                         : "s are barriers, exchanges or parts of collectives: "
                                           "their waits for other cores keep their length");
    }
    if (what_if->row_count == 1 && row->has_bounds) {
        ntk_buf_add_format(out,
                           "The gain is at least %.3f us if other cores keep their times, and at "
                           "most %.3f us if this core never waits for them\n",
                           (double)(what_if->as_is.total_ps - row->largest_total_ps) / 1e6,
                           (double)(what_if->as_is.total_ps - row->least_total_ps) / 1e6);
    } else if (count || meetings) {
        ntk_buf_add_text(out, "--what-if shows bounds on the gain\n");
    }
}

static double error_of(const struct ntk_what_if *what_if, int64_t ps)
{
    return (double)(ps - what_if->measured_ps) / (double)what_if->measured_ps;
}

void ntk_output_what_if_text(const struct ntk_program *program, const struct ntk_what_if *what_if,
                             struct ntk_buf *out)
{
    static const char *const heads[] = { "CHANGE",         "TOTAL US", "GAIN US", "GAIN",
                                         "LOWER BOUND US", "BOUND BY", "NEW PATH" };
    struct ntk_text_table table;

    ntk_buf_add_text(out, "The ");
    if (program->borders.count) {
        ntk_buf_add_format(out, "%zu executions", program->borders.count);
    } else {
        ntk_buf_add_text(out, "execution");
    }
    ntk_buf_add_format(out,
                       " took %.3f us. Estimated from dependencies: %.3f us (%+.1f%%); from "
                       "dependencies alone: %.3f us (%+.1f%%)\n",
                       (double)what_if->measured_ps / 1e6, (double)what_if->as_is.total_ps / 1e6,
                       100 * error_of(what_if, what_if->as_is.total_ps),
                       (double)what_if->tight_ps / 1e6, 100 * error_of(what_if, what_if->tight_ps));
    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1u << 0 | 1u << 5 | 1u << 6, heads);
    row_text(&table, what_if, &what_if->as_is);
    for (size_t i = 0; i < what_if->row_count; i++) {
        row_text(&table, what_if, &what_if->rows[i]);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    if (!what_if->is_standard && what_if->row_count == 1) {
        items_text(program, &what_if->rows[0], out);
    }
    ntk_buf_add_char(out, '\n');
    makers_text(program, what_if, out);
    if (what_if->unknown_wait_count) {
        bool is_one = what_if->unknown_wait_count == 1;
        ntk_buf_add_format(out, "%llu wait%s length: the capture does not contain %s cause\n",
                           (unsigned long long)what_if->unknown_wait_count,
                           is_one ? " keeps its" : "s keep their", is_one ? "its" : "their");
    }
    outside_text(what_if, out);
    if (what_if->unknown_transfer_count) {
        ntk_buf_add_format(out,
                           "%llu wait%s for transfers without packets: the change 'dma' applies to "
                           "all of %s time\n",
                           (unsigned long long)what_if->unknown_transfer_count,
                           what_if->unknown_transfer_count == 1 ? " is" : "s are",
                           what_if->unknown_transfer_count == 1 ? "its" : "their");
    }
    if (what_if->is_standard) {
        ntk_buf_add_text(out, "--what-if CHANGES estimates other changes\n");
    }
    ntk_buf_add_format(out, "%s\n", limits_text(program));
}

static void items_json(const struct ntk_program *program, const struct ntk_what_if_row *row,
                       struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "path");
    for (size_t i = 0; i < row->item_count; i++) {
        const struct ntk_what_if_item *item = &row->items[i];
        const struct ntk_trace_core *core = &program->trace->cores[item->core];
        const struct ntk_trace_instruction *one = &core->instructions[item->example];
        char name[NAME_BYTES];

        ntk_json_object_begin(json);
        ntk_json_key_text(json, "name", item_name(program, item, name, sizeof name));
        ntk_json_key_text(json, "kind",
                          item->on == NTK_WHAT_IF_ON_DMA ? "transfer" : "instruction");
        ntk_json_key_u64(json, "core", core->ntff->core);
        if (item->on == NTK_WHAT_IF_ON_DMA) {
            ntk_json_key_queue(json, "queue", item->queue);
        } else {
            ntk_json_key_text(json, "engine", ntk_ntff_engine_name(one->engine));
            ntk_json_key_u64(json, "pc", one->slot);
            ntk_json_key_opcode(json, "opcode", one->opcode);
        }
        ntk_json_key_ns(json, "path_ns", item->path_ps);
        ntk_json_key_share(json, "path_ratio", (double)item->path_ps, (double)row->total_ps);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void row_json(const struct ntk_program *program, const struct ntk_what_if *what_if,
                     const struct ntk_what_if_row *row, struct ntk_json *json)
{
    char text[TEXT_BYTES];

    ntk_json_object_begin(json);
    if (row->changes.count) {
        int64_t gain_ps = what_if->as_is.total_ps - row->total_ps;
        struct ntk_buf makers = { 0 };
        ntk_json_key_text(json, "change",
                          ntk_what_if_changes_text(&row->changes, text, sizeof text));
        if (add_makers(program, row, &makers)) {
            ntk_json_key_text(json, "semaphore_changed_by", ntk_buf_text_get(&makers));
        }
        ntk_buf_fini(&makers);
        ntk_json_key_ns(json, "gain_ns", gain_ps);
        ntk_json_key_share(json, "gain_ratio", (double)gain_ps, (double)what_if->as_is.total_ps);
        if (row->has_bounds) {
            ntk_json_key_ns(json, "least_gain_ns", what_if->as_is.total_ps - row->largest_total_ps);
            ntk_json_key_ns(json, "largest_gain_ns", what_if->as_is.total_ps - row->least_total_ps);
        }
    } else {
        ntk_json_key_double(json, "error_ratio", error_of(what_if, row->total_ps));
        ntk_json_key_ns(json, "dependencies_only_ns", what_if->tight_ps);
        ntk_json_key_double(json, "dependencies_only_error_ratio",
                            error_of(what_if, what_if->tight_ps));
    }
    ntk_json_key_ns(json, "total_ns", row->total_ps);
    ntk_json_key_ns(json, "least_ns", row->bound_ps);
    ntk_json_key_text(json, "bound", ntk_what_if_on_name(row->bound_by));
    ntk_json_key_object_begin(json, "path_by_part_ns");
    for (unsigned on = 0; on < NTK_WHAT_IF_ON_COUNT; on++) {
        ntk_json_key_ns(json, ntk_what_if_on_name(on), row->path_ps[on]);
    }
    ntk_json_object_end(json);
    items_json(program, row, json);
    ntk_json_object_end(json);
}

void ntk_output_what_if_json(const struct ntk_program *program, const struct ntk_what_if *what_if,
                             struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_ns(json, "measured_ns", what_if->measured_ps);
    ntk_json_key_bool(json, "is_partial",
                      program->trace->is_part || ntk_program_lacks(program) != 0);
    ntk_json_key(json, "baseline");
    row_json(program, what_if, &what_if->as_is, json);
    ntk_json_key_array_begin(json, "changes");
    for (size_t i = 0; i < what_if->row_count; i++) {
        row_json(program, what_if, &what_if->rows[i], json);
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, "unknown_waits", what_if->unknown_wait_count);
    ntk_json_key_u64(json, "outside_waits", what_if->outside_wait_count);
    ntk_json_key_u64(json, "meetings", what_if->meeting_count);
    ntk_json_key_u64(json, "unknown_transfers", what_if->unknown_transfer_count);
    ntk_json_key_text(json, "limits", limits_text(program));
    ntk_json_object_end(json);
}
