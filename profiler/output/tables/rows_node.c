/* SPDX-License-Identifier: MIT */
/*
 * rows_node - creates rows for costs by parts of a framework's names: "Model/Layer[0]/dot" creates
 * a node Model with all rows below it, which contains Layer[0], which contains dot.
 */
#include "profiler/output/tables/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "profiler/output/tables/level_sums.h"
#include "shared/base/json.h"
#include "shared/base/map.h"
#include "shared/formats/neff/vendor_slot.h"

#define DEPTH_MAX 64 /* maximum number of parts in a name; the last part has the rest */
#define NO_NODE SIZE_MAX

struct node {
    size_t parent;                               /* index of the parent; NO_NODE if none */
    char *name;                                  /* one part of a name */
    struct ntk_buf children, children_json, ids; /* lists without brackets */
    struct ntk_level_sums sums;
    int64_t first_ps[NTK_NTFF_ENGINE_COUNT], last_ps[NTK_NTFF_ENGINE_COUNT];
    uint64_t channels[NTK_NTFF_ENGINE_COUNT];
};

struct nodes {
    const struct ntk_export *export;
    size_t core_index;
    struct ntk_vec list;    /* elements are struct node; a parent is before its children */
    struct ntk_map indices; /* maps "<index of the parent>/<name>" to index + 1 */
    struct ntk_map leaves;  /* maps framework id + 1 to index + 1 */
};

static struct node *node_at(const struct nodes *nodes, size_t index)
{
    return ntk_vec_at(&nodes->list, index);
}

static void add_item(struct ntk_buf *list, const char *text, bool is_quoted)
{
    ntk_buf_add_text(list, list->bytes_count ? ", " : "");
    if (is_quoted) {
        ntk_json_add_quoted(list, text);
    } else {
        ntk_buf_add_text(list, text);
    }
}

/* Finds the child with this name, added if new. Returns 0 or -ENOMEM. */
static int find_node(struct nodes *nodes, const char *name, size_t parent, size_t *out_index)
{
    struct node node = { .parent = parent };
    char *key = NULL;
    int ret = 0;

    if (asprintf(&key, "%zu/%s", parent, name) < 0) {
        return -ENOMEM;
    }
    uintptr_t number = (uintptr_t)ntk_map_get(&nodes->indices, key);
    if (!number) {
        node.name = strdup(name);
        ret = node.name ? ntk_vec_push(&nodes->list, &node) : -ENOMEM;
        if (ret < 0) {
            free(node.name);
        }
        number = nodes->list.count;
        ret = ret ? ret : ntk_map_put(&nodes->indices, key, (void *)number);
        if (ret == 0 && parent != NO_NODE) {
            add_item(&node_at(nodes, parent)->children, name, false);
            add_item(&node_at(nodes, parent)->children_json, name, true);
        }
    }
    free(key);
    *out_index = (size_t)number - 1;
    return ret;
}

/* Finds the node for a whole name. Two consecutive slashes count as one. */
static int find_path(struct nodes *nodes, const char *framework, size_t *out_index)
{
    char *name = strdup(framework);
    char *part = name;
    int ret = name ? 0 : -ENOMEM;

    *out_index = NO_NODE;
    for (size_t depth = 1; ret == 0; depth++) {
        part += strspn(part, "/");
        if (!*part && *out_index != NO_NODE) {
            break;
        }
        size_t length = depth < DEPTH_MAX ? strcspn(part, "/") : strlen(part);
        bool is_last = part[length] == '\0';
        part[length] = '\0';
        ret = find_node(nodes, part, *out_index, out_index);
        if (is_last) {
            break;
        }
        part += length + 1;
    }
    free(name);
    return ret;
}

static int leaf_of(struct nodes *nodes, const struct ntk_slot_fact *fact, size_t *out_index)
{
    uint64_t id = fact->hlo->framework_id;
    uint64_t subgraph = (uint64_t)nodes->export->program->names[nodes->core_index]->subgraph
                        << NTK_NEFF_DEBUG_ID_BITS;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&nodes->leaves, id + 1);

    if (number) {
        *out_index = (size_t)number - 1;
        return 0;
    }
    int ret = find_path(nodes, fact->hlo->framework, out_index);
    for (size_t n = *out_index; ret == 0 && n != NO_NODE; n = node_at(nodes, n)->parent) {
        struct ntk_buf *ids = &node_at(nodes, n)->ids;
        ntk_buf_add_text(ids, ids->bytes_count ? ", " : "");
        ntk_buf_add_i64(ids, ntk_rows_i64(subgraph | id));
    }
    return ret ? ret
               : ntk_map_put_number(&nodes->leaves, id + 1, (void *)(uintptr_t)(*out_index + 1));
}

/* Returns the number of channels that work on an instruction of the scalar or vector engine; 0 if
 * unknown. */
static uint64_t channels_of(const struct nodes *nodes, const struct ntk_slot_fact *fact,
                            const struct ntk_trace_instruction *row)
{
    const struct ntk_trace_core *core = &nodes->export->trace->cores[nodes->core_index];
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, row->engine, row->slot);
    struct ntk_isa_instr open;

    if (row->engine != NTK_NTFF_ENGINE_SCALAR && row->engine != NTK_NTFF_ENGINE_VECTOR) {
        return 0;
    }
    if (fact->code->is_open) {
        return ntk_open_slot_decode(core, row, &open) ? open.operand[NTK_ISA_DST].partition_count
                                                      : 0;
    }
    const struct ntk_trace *trace = nodes->export->trace;
    return slot && !fact->code->is_transfer && trace->has_chip &&
                   ntk_vendor_slot_has_layout(trace->chip.generation)
               ? ntk_vendor_slot_channels(slot)
               : 0;
}

static int add_row(struct nodes *nodes, size_t leaf, const struct ntk_slot_fact *fact,
                   const struct ntk_trace_instruction *row)
{
    uint64_t channels = channels_of(nodes, fact, row);
    unsigned e = row->engine;

    for (size_t n = leaf; n != NO_NODE; n = node_at(nodes, n)->parent) {
        struct node *node = node_at(nodes, n);
        bool is_first = node->sums.engine_counts[e] == 0;
        if (ntk_level_sums_add(&node->sums, nodes->export->trace, fact, row) < 0) {
            return -ENOMEM;
        }
        node->first_ps[e] = is_first ? row->start_ps : node->first_ps[e];
        node->last_ps[e] =
            is_first || row->end_ps > node->last_ps[e] ? row->end_ps : node->last_ps[e];
        node->channels[e] += channels;
    }
    return 0;
}

static int find_nodes(struct nodes *nodes)
{
    ntk_trace_each_instruction(&nodes->export->trace->cores[nodes->core_index], row) {
        const struct ntk_slot_fact *fact =
            ntk_program_fact(nodes->export->program, nodes->core_index, row);
        size_t leaf = NO_NODE;

        if (!fact->hlo || !fact->hlo->framework || !fact->hlo->framework[0]) {
            continue;
        }
        int ret = leaf_of(nodes, fact, &leaf);
        ret = ret ? ret : add_row(nodes, leaf, fact, row);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* ---- rows ---- */

enum share { SHARE_HFU, SHARE_MFU, SHARE_MBU, SHARE_COUNT };

struct node_texts {
    struct ntk_level_texts level;
    struct ntk_buf shares[SHARE_COUNT], times[NTK_NTFF_ENGINE_COUNT];
    struct ntk_buf children, children_json, ids;
};

/* Returns the list in brackets. */
static const char *list_text(struct ntk_buf *text, const struct ntk_buf *items)
{
    ntk_buf_reset(text);
    ntk_buf_add_char(text, '[');
    ntk_buf_add(text, items->bytes, items->bytes_count);
    ntk_buf_add_char(text, ']');
    return ntk_buf_text_get(text);
}

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Fills shares of the peak of the tensor engine and of the memory, interval by interval. */
static void fill_shares(struct node_texts *texts, const struct ntk_chip *chip,
                        const struct ntk_level_sums *sums)
{
    char number[32];

    for (unsigned s = 0; s < SHARE_COUNT; s++) {
        ntk_buf_reset(&texts->shares[s]);
        ntk_buf_add_char(&texts->shares[s], '[');
    }
    ntk_vec_each(const struct ntk_level_interval, interval, &sums->intervals) {
        double seconds = (double)(interval->end_ps - interval->start_ps) / 1e12;
        const double shares[SHARE_COUNT] = {
            share_of((double)interval->peak_flops, chip->core_flops_per_second * seconds),
            share_of((double)interval->useful_flops, chip->core_flops_per_second * seconds),
            share_of((double)interval->hbm_bytes, chip->hbm_bytes_per_second * seconds),
        };
        for (unsigned s = 0; s < SHARE_COUNT; s++) {
            struct ntk_buf *list = &texts->shares[s];
            ntk_buf_add_text(list, list->bytes_count > 1 ? ", " : "");
            ntk_buf_add(list, number, ntk_json_format_double(number, sizeof number, shares[s]));
        }
    }
    for (unsigned s = 0; s < SHARE_COUNT; s++) {
        ntk_buf_add_char(&texts->shares[s], ']');
    }
}

static void fill_whole_shares(const struct ntk_trace *trace, const struct ntk_level_sums *sums,
                              struct ntk_node_row *row)
{
    double whole = trace->chip.core_flops_per_second * (double)sums->covered_ps / 1e12;
    uint64_t peak_flops = 0;
    uint64_t useful_flops = 0;

    ntk_vec_each(const struct ntk_level_interval, interval, &sums->intervals) {
        peak_flops += interval->peak_flops;
        useful_flops += interval->useful_flops;
    }
    row->hfu = share_of((double)peak_flops, whole);
    row->mfu = share_of((double)useful_flops, whole);
}

static int put_node(const struct nodes *nodes, const struct node *node, struct node_texts *texts,
                    ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = nodes->export->trace;
    const struct ntk_level_sums *sums = &node->sums;
    const struct ntk_level_interval *first = sums->intervals.items;
    bool has_flops = trace->has_chip && !sums->lacks_flops;
    struct ntk_node_row row = {
        .name = node->name,
        .parent_name = node->parent == NO_NODE ? "" : node_at(nodes, node->parent)->name,
        .children = list_text(&texts->children, &node->children),
        .children_json = list_text(&texts->children_json, &node->children_json),
        .ids = list_text(&texts->ids, &node->ids),
        .core_index = (int64_t)ntk_trace_core_number(trace, nodes->core_index),
        .start_ns = ntk_rows_ns(first->start_ps),
        .end_ns = ntk_rows_ns(sums->end_ps),
        .hbm_read_bytes = ntk_rows_i64(sums->hbm_read_bytes),
        .hbm_write_bytes = ntk_rows_i64(sums->hbm_write_bytes),
        .sbuf_read_bytes = ntk_rows_i64(sums->sbuf_read_bytes),
        .sbuf_write_bytes = ntk_rows_i64(sums->sbuf_write_bytes),
        .weight_bytes = ntk_rows_i64(sums->weight_bytes),
        .hfu = NTK_ABSENT_F64,
        .mfu = NTK_ABSENT_F64,
    };
    int ret = ntk_level_texts_fill(&texts->level, sums);

    row.intervals = ntk_buf_text_get(&texts->level.lists[NTK_LEVEL_TIMES]);
    row.elements = ntk_buf_text_get(&texts->level.lists[NTK_LEVEL_ELEMENTS]);
    row.transposed = ntk_buf_text_get(&texts->level.lists[NTK_LEVEL_TRANSPOSED]);
    row.hbm_bytes = ntk_buf_text_get(&texts->level.lists[NTK_LEVEL_HBM]);
    if (trace->has_chip) {
        fill_shares(texts, &trace->chip, sums);
        row.mbu_list = ntk_buf_text_get(&texts->shares[SHARE_MBU]);
    }
    if (has_flops) {
        fill_whole_shares(trace, sums, &row);
        row.hfu_list = ntk_buf_text_get(&texts->shares[SHARE_HFU]);
        row.mfu_list = ntk_buf_text_get(&texts->shares[SHARE_MFU]);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        struct ntk_buf *times = &texts->times[e];
        ntk_buf_reset(times);
        if (sums->engine_counts[e]) {
            ntk_buf_add_format(times, "[%" PRId64 ", %" PRId64 "]", ntk_rows_ns(node->first_ps[e]),
                               ntk_rows_ns(node->last_ps[e]));
        } else {
            ntk_buf_add_text(times, "[]");
        }
        row.engine_counts[e] = sums->engine_counts[e];
        row.engine_times[e] = ntk_buf_text_get(times);
        row.engine_channels[e] = ntk_rows_i64(node->channels[e]);
        ret = ntk_buf_ok(times) ? ret : -ENOMEM;
    }
    for (unsigned s = 0; s < SHARE_COUNT; s++) {
        ret = ntk_buf_ok(&texts->shares[s]) ? ret : -ENOMEM;
    }
    ret = ntk_buf_ok(&texts->children) && ntk_buf_ok(&texts->children_json) &&
                  ntk_buf_ok(&texts->ids) && ntk_buf_ok(&node->ids) &&
                  ntk_buf_ok(&node->children) && ntk_buf_ok(&node->children_json)
              ? ret
              : -ENOMEM;
    return ret ? ret : put(ctx, &row);
}

static void nodes_fini(struct nodes *nodes)
{
    ntk_vec_each(struct node, node, &nodes->list) {
        free(node->name);
        ntk_buf_fini(&node->children);
        ntk_buf_fini(&node->children_json);
        ntk_buf_fini(&node->ids);
        ntk_level_sums_fini(&node->sums);
    }
    ntk_vec_fini(&nodes->list);
    ntk_map_fini(&nodes->indices);
    ntk_map_fini(&nodes->leaves);
}

static void texts_fini(struct node_texts *texts)
{
    ntk_level_texts_fini(&texts->level);
    for (unsigned s = 0; s < SHARE_COUNT; s++) {
        ntk_buf_fini(&texts->shares[s]);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_buf_fini(&texts->times[e]);
    }
    ntk_buf_fini(&texts->children);
    ntk_buf_fini(&texts->children_json);
    ntk_buf_fini(&texts->ids);
}

int ntk_rows_framework_nodes(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct node_texts texts = { 0 };
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        struct nodes nodes = { .export = export,
                               .core_index = c,
                               .list = NTK_VEC_INIT(struct node) };
        if (!export->program->names[c]) {
            continue;
        }
        ret = find_nodes(&nodes);
        ntk_vec_each(const struct node, node, &nodes.list) {
            ret = ret ? ret : put_node(&nodes, node, &texts, put, ctx);
        }
        nodes_fini(&nodes);
    }
    texts_fini(&texts);
    return ret;
}
