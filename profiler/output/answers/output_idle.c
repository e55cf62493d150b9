/* SPDX-License-Identifier: MIT */
/* output_idle - writes idle_reasons.h as text and JSON. */
#include <stdio.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define REASON_BYTES 400
#define WAITS_SHOWN 6 /* maximum per engine; JSON has all */

/* Writes a reason such as "semaphore 5, changed by Tensor MATMUL". */
static void reason_text(const struct ntk_idle_row *row, char *buf, size_t buf_bytes)
{
    char opcode_bytes[16];
    char of_core[32] = "";
    char queue[NTK_NTFF_NAME_BYTES];
    const char *what = row->is_event ? "event" : "semaphore";
    const char *opcode = row->has_opcode
                             ? ntk_ntff_opcode_name(row->opcode, opcode_bytes, sizeof opcode_bytes)
                             : "(unknown instruction)";

    if (row->is_other_core) {
        snprintf(of_core, sizeof of_core, " of core %u", row->core);
    }
    switch (row->reason) {
    case NTK_IDLE_ENGINE:
        snprintf(buf, buf_bytes, "%s %u, changed by %s %s%s", what, row->number,
                 ntk_ntff_source_title(row->source), opcode, of_core);
        break;
    case NTK_IDLE_DMA:
        if (row->is_foreign) {
            snprintf(buf, buf_bytes, "%s %u, changed by %s", what, row->number,
                     row->is_not_captured ? "another core, not captured"
                                          : "DMA that no captured instruction started");
        } else if (row->queue) {
            snprintf(buf, buf_bytes, "%s %u, changed by DMA queue %s%s", what, row->number,
                     ntk_queue_shown(row->queue, queue, sizeof queue), of_core);
        } else {
            snprintf(buf, buf_bytes, "%s %u, changed by DMA%s", what, row->number, of_core);
        }
        break;
    default:
        snprintf(buf, buf_bytes, "%s", ntk_idle_reason_text(row->reason));
        break;
    }
}

/* Writes a chain such as "DMA queue qSyncIO0 (40.0 %) > Vector ACTIVATE (60.0 %)". */
static void chain_text(const struct ntk_wait_chain *chain, struct ntk_buf *out)
{
    for (size_t i = 0; i < chain->link_count; i++) {
        char name[REASON_BYTES];
        ntk_chain_link_name(&chain->links[i], name, sizeof name);
        ntk_buf_add_format(out, "%s%s (%.1f%%)", i ? " > " : "", name,
                           100 * (double)chain->links[i].part_ps / (double)chain->idle_ps);
    }
    if (chain->is_unknown) {
        ntk_buf_add_text(out, chain->link_count ? " > unknown" : "unknown");
    }
}

/* Writes chains of at least two links; shorter chains are the direct causes. */
static void chains_text(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                        struct ntk_buf *out)
{
    static const char *const heads[] = {
        "CORE", "ENGINE", "IDLE US", "SHARE", "WAITS", "ROOT", "CHAIN (PART OF THE IDLE TIME)"
    };
    struct ntk_text_table table;
    size_t shown = 0;

    ntk_text_table_init(&table, 7, 1u << 1 | 1u << 5 | 1u << 6, heads);
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        size_t of_engine = 0;
        for (size_t c = 0; c < engine->chains.count && of_engine < WAITS_SHOWN; c++) {
            const struct ntk_wait_chain *chain = &engine->chains.chains[c];
            char root[REASON_BYTES] = "unknown";
            struct ntk_buf text = { 0 };
            if (chain->link_count < 2 && !chain->is_unknown) {
                continue;
            }
            chain_text(chain, &text);
            const struct ntk_chain_link *largest = ntk_wait_chain_root(chain);
            if (largest) {
                ntk_chain_link_name(largest, root, sizeof root);
            }
            ntk_cell_u64(&table, program->trace->cores[engine->core].ntff->core);
            ntk_text_table_text(&table, ntk_ntff_source_title(engine->engine));
            ntk_cell_us(&table, chain->idle_ps);
            ntk_cell_share(&table, (double)chain->idle_ps, (double)idle->total_ps);
            ntk_cell_u64(&table, chain->count);
            ntk_text_table_text(&table, root);
            ntk_text_table_text(&table, ntk_buf_ok(&text) ? ntk_buf_text_get(&text) : "-");
            ntk_buf_fini(&text);
            of_engine++;
            shown++;
        }
    }
    if (shown) {
        ntk_buf_add_text(out, "\nCauses of waits: each element of a chain waited for the next; the "
                              "largest part is the root cause\n");
        ntk_text_table_put(&table, out);
    }
    ntk_text_table_fini(&table);
}

void ntk_output_idle_text(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE", "ENGINE", "INSTR",   "BUSY US", "BUSY", "ENGINES",
                                         "DMA",  "ISSUE",  "RUNTIME", "UNKNOWN", "END" };
    static const char *const row_heads[] = { "CORE",  "ENGINE",     "IDLE US", "SHARE",
                                             "WAITS", "LONGEST US", "AT US",   "FOR" };
    struct ntk_text_table table;

    ntk_buf_add_text(out, "Share of the execution by core and engine: busy, then idle by reason\n");
    ntk_text_table_init(&table, 11, 1u << 1, heads);
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        ntk_cell_u64(&table, program->trace->cores[engine->core].ntff->core);
        ntk_text_table_text(&table, ntk_ntff_source_title(engine->engine));
        /* Without records in a truncated file, the engine is unknown, not idle. */
        if (program->trace->cores[engine->core].is_cut.instructions && !engine->instruction_count) {
            ntk_cell_dashes(&table, 3);
        } else {
            ntk_cell_u64(&table, engine->instruction_count);
            ntk_cell_us(&table, engine->busy_ps);
            ntk_cell_share(&table, (double)engine->busy_ps, (double)idle->total_ps);
        }
        for (unsigned r = 0; r < NTK_IDLE_REASON_COUNT; r++) {
            ntk_cell_share(&table, (double)engine->reasons_ps[r], (double)idle->total_ps);
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);

    ntk_buf_add_text(out, "\nWhat each engine waited for\n");
    ntk_text_table_init(&table, 8, 1u << 1 | 1u << 7, row_heads);
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        for (size_t r = 0; r < engine->row_count && r < WAITS_SHOWN; r++) {
            const struct ntk_idle_row *row = &engine->rows[r];
            char text[REASON_BYTES];
            reason_text(row, text, sizeof text);
            ntk_cell_u64(&table, program->trace->cores[engine->core].ntff->core);
            ntk_text_table_text(&table, ntk_ntff_source_title(engine->engine));
            ntk_cell_us(&table, row->idle_ps);
            ntk_cell_share(&table, (double)row->idle_ps, (double)idle->total_ps);
            ntk_cell_u64(&table, row->count);
            ntk_cell_us(&table, row->longest_ps);
            ntk_cell_us(&table, row->longest_at_ps);
            ntk_text_table_text(&table, text);
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    chains_text(program, idle, out);
}

void ntk_output_other_core(struct ntk_json *json, const struct ntk_chain_link *link)
{
    if (link->is_other_core) {
        ntk_json_key_u64(json, "by_core", link->core);
    }
    if (link->is_foreign) {
        ntk_json_key_text(json, "by_outside", link->is_not_captured ? "core" : "unknown");
    }
}

static void chain_json(const struct ntk_wait_chain *chain, int64_t total_ps, struct ntk_json *json)
{
    char name[REASON_BYTES];

    ntk_json_object_begin(json);
    const struct ntk_chain_link *root = ntk_wait_chain_root(chain);
    if (root) {
        ntk_chain_link_name(root, name, sizeof name);
        ntk_json_key_text(json, "root", name);
    }
    ntk_json_key_bool(json, "root_waited_for_unknown", chain->is_unknown);
    ntk_json_key_array_begin(json, "links");
    for (size_t i = 0; i < chain->link_count; i++) {
        const struct ntk_chain_link *link = &chain->links[i];
        ntk_json_object_begin(json);
        ntk_chain_link_name(link, name, sizeof name);
        ntk_json_key_text(json, "name", name);
        if (link->is_transfer) {
            ntk_json_key_queue(json, "queue", link->queue);
        } else {
            ntk_json_key_text(json, "engine", ntk_ntff_engine_name(link->engine));
            if (link->opcode) {
                ntk_json_key_opcode(json, "opcode", link->opcode);
            }
        }
        ntk_output_other_core(json, link);
        ntk_json_key_ns(json, "part_ns", link->part_ps);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, "count", chain->count);
    ntk_json_key_ns(json, "idle_ns", chain->idle_ps);
    ntk_json_key_share(json, "idle_ratio", (double)chain->idle_ps, (double)total_ps);
    ntk_json_key_ns(json, "longest_ns", chain->longest_ps);
    ntk_json_key_ns(json, "longest_at_ns", chain->longest_at_ps);
    ntk_json_object_end(json);
}

void ntk_output_idle_json(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_ns(json, "total_ns", idle->total_ps);
    ntk_json_key_array_begin(json, "engines");
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", program->trace->cores[engine->core].ntff->core);
        ntk_json_key_text(json, "engine", ntk_ntff_engine_name(engine->engine));
        ntk_json_key_u64(json, "instruction_count", engine->instruction_count);
        ntk_json_key_ns(json, "busy_ns", engine->busy_ps);
        ntk_json_key_share(json, "busy_ratio", (double)engine->busy_ps, (double)idle->total_ps);
        ntk_json_key_ns(json, "idle_ns", engine->idle_ps);
        ntk_json_key_object_begin(json, "idle_by_reason_ns");
        for (unsigned r = 0; r < NTK_IDLE_REASON_COUNT; r++) {
            ntk_json_key_ns(json, ntk_idle_reason_name(r), engine->reasons_ps[r]);
        }
        ntk_json_object_end(json);
        ntk_json_key_array_begin(json, "waits");
        for (size_t r = 0; r < engine->row_count; r++) {
            const struct ntk_idle_row *row = &engine->rows[r];
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "reason", ntk_idle_reason_name(row->reason));
            if (row->number != NTK_PROGRAM_NO_NUMBER) {
                ntk_json_key_u64(json, row->is_event ? "event" : "semaphore", row->number);
            }
            if (row->reason == NTK_IDLE_ENGINE) {
                ntk_json_key_text(json, "changed_by", ntk_ntff_engine_name(row->source));
            }
            if (row->reason == NTK_IDLE_DMA) {
                ntk_json_key_queue(json, "queue", row->queue);
            }
            if (row->has_opcode) {
                ntk_json_key_opcode(json, "opcode", row->opcode);
            }
            const struct ntk_chain_link by = { .is_other_core = row->is_other_core,
                                               .core = row->core,
                                               .is_foreign = row->is_foreign,
                                               .is_not_captured = row->is_not_captured };
            ntk_output_other_core(json, &by);
            ntk_json_key_u64(json, "count", row->count);
            ntk_json_key_ns(json, "idle_ns", row->idle_ps);
            ntk_json_key_share(json, "idle_ratio", (double)row->idle_ps, (double)idle->total_ps);
            ntk_json_key_ns(json, "longest_ns", row->longest_ps);
            ntk_json_key_ns(json, "longest_at_ns", row->longest_at_ps);
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
        ntk_json_key_array_begin(json, "chains");
        for (size_t c = 0; c < engine->chains.count; c++) {
            chain_json(&engine->chains.chains[c], idle->total_ps, json);
        }
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
