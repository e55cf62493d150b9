/* SPDX-License-Identifier: MIT */
/* neuron-graph segments: the fused operators, one per line or as JSON. */
#include <stdio.h>

#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"
#include "runtime-hooks/mlugraph/neuron_graph.h"
#include "shared/base/json.h"
#include "shared/base/log.h"

static bool as_json;

static const struct ntk_opt options[] = {
    { 'j', "json", 0, NTK_OPT_FLAG, &as_json, "print a JSON object" },
    NEURON_GRAPH_DEVICE_OPTIONS,
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-graph segments",
    .usage = "[OPTION]... FILE",
    .summary = "Shows which operators in a symbol file are fused, one fused operator per line. "
               "Operators in the file are numbered from 0.",
    .options = options,
};

static void put_list(struct ntk_buf *text, const char *key, const uint32_t *list, uint32_t count)
{
    ntk_buf_add_format(text, " %s=", key);
    for (uint32_t i = 0; i < count; i++) {
        ntk_buf_add_format(text, i > 0 ? ",%u" : "%u", list[i]);
    }
}

static void put_text(struct ntk_buf *text, const struct ntk_vec *segments)
{
    char device[MLU_DEVICE_NAME_BYTES];

    ntk_vec_each(struct mlu_segment, segment, segments) {
        ntk_buf_add_format(text, "device=%s", mlu_device_name(segment->device, device));
        put_list(text, "ops", segment->ops, segment->op_count);
        put_list(text, "inputs", segment->inputs, segment->input_count);
        put_list(text, "outputs", segment->outputs, segment->output_count);
        ntk_buf_add_format(text, " fire=%u\n", segment->fire);
    }
}

static void put_json_list(struct ntk_json *json, const char *key, const uint32_t *list,
                          uint32_t count)
{
    ntk_json_key_array_begin(json, key);
    for (uint32_t i = 0; i < count; i++) {
        ntk_json_u64(json, list[i]);
    }
    ntk_json_array_end(json);
}

/* Writes JSON with the segment in each operator's name, so that no second file is needed. */
static void put_json(struct ntk_buf *text, const struct mlu_symbol *symbol,
                     const struct ntk_vec *segments)
{
    char device[MLU_DEVICE_NAME_BYTES];
    struct ntk_json json;

    ntk_json_init(&json, text, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "operators");
    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[i]];

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", node->name);
        ntk_json_key_text(&json, "op", node->op->name);
        ntk_json_key_text(&json, "device", mlu_device_name(node->device, device));
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "segments");
    ntk_vec_each(struct mlu_segment, segment, segments) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "device", mlu_device_name(segment->device, device));
        put_json_list(&json, "ops", segment->ops, segment->op_count);
        put_json_list(&json, "inputs", segment->inputs, segment->input_count);
        put_json_list(&json, "outputs", segment->outputs, segment->output_count);
        ntk_json_key_u64(&json, "fire", segment->fire);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(text, '\n');
}

static void say_unknown(const struct mlu_symbol *symbol)
{
    const struct mlu_node *first = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[i]];

        first = first ? first : node->unknown ? node : NULL;
        count += node->unknown != NULL;
    }
    if (first) {
        ntk_log_warn(NULL, "unknown operators run on the CPU: %u; the first is '%s' (%s)", count,
                     first->name, first->op->name);
    }
}

int neuron_graph_segments(int argc, char **argv)
{
    struct mlu_fuse_symbol fuse = { 0 };
    struct mlu_symbol symbol = { 0 };
    struct ntk_vec segments = NTK_VEC_INIT(struct mlu_segment);
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int code = 0;
    const char *path = neuron_graph_parse_file(&program, argc, argv, &code);

    if (!path) {
        return code;
    }
    code = neuron_graph_read(path, true, &symbol);
    if (code != 0) {
        return code;
    }
    say_unknown(&symbol);
    if (mlu_fuse_symbol_init(&symbol, &fuse, &err) < 0 ||
        mlu_segments_find(&fuse.graph, &segments, &err) < 0) {
        ntk_err_prefix(&err, "%s", path);
        code = neuron_graph_fail(&err);
    } else {
        if (as_json) {
            put_json(&text, &symbol, &segments);
        } else {
            put_text(&text, &segments);
        }
        code = neuron_graph_print(&text);
    }
    mlu_segments_fini(&segments);
    mlu_fuse_symbol_fini(&fuse);
    mlu_symbol_fini(&symbol);
    return code;
}
