/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"
#include "shared/base/buf.h"
#include "tests/support/unit.h"

static const struct mlu_symbol_options defaults = { 0, NULL };

static void parse(const char *text, struct mlu_symbol *symbol)
{
    struct ntk_err err = { 0 };

    if (mlu_symbol_parse(text, strlen(text), &defaults, symbol, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
}

/* The text with ' replaced by double quotes, which C would have to escape. */
static char *quoted(const char *text)
{
    char *copy = strdup(text);

    for (char *at = copy; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    return copy;
}

/* Three layers as three generations of MXNet wrote them. */
static const char *const generations[] = {
    /* before 0.9: param and attr, entries of two numbers, no states */
    "{'nodes': ["
    "{'op': 'null', 'param': {}, 'name': 'data', 'inputs': [], 'backward_source_id': -1},"
    "{'op': 'null', 'param': {}, 'name': 'w', 'inputs': [], 'backward_source_id': -1},"
    "{'op': 'Convolution', 'param': {'kernel': '(3, 3)', 'num_filter': '8', 'no_bias': 'True'},"
    " 'name': 'c', 'inputs': [[0, 0], [1, 0]], 'backward_source_id': -1,"
    " 'attr': {'ctx_group': 'mlu1'}},"
    "{'op': 'null', 'param': {}, 'name': 'b_gamma', 'inputs': [], 'backward_source_id': -1},"
    "{'op': 'null', 'param': {}, 'name': 'b_beta', 'inputs': [], 'backward_source_id': -1},"
    "{'op': 'BatchNorm', 'param': {'eps': '0.001'}, 'name': 'b',"
    " 'inputs': [[2, 0], [3, 0], [4, 0]], 'backward_source_id': -1,"
    " 'attr': {'ctx_group': 'mlu1'}}"
    "], 'arg_nodes': [0, 1, 3, 4], 'heads': [[5, 0]]}",
    /* 0.9 to 0.12: attr has both, entries have a version */
    "{'nodes': ["
    "{'op': 'null', 'name': 'data', 'inputs': []}, {'op': 'null', 'name': 'w', 'inputs': []},"
    "{'op': 'Convolution', 'name': 'c', 'inputs': [[0, 0, 0], [1, 0, 0]],"
    " 'attr': {'__ctx_group__': 'mlu1', 'kernel': '(3, 3)', 'num_filter': '8', 'no_bias': 'True'}},"
    "{'op': 'null', 'name': 'b_gamma', 'inputs': []},"
    "{'op': 'null', 'name': 'b_beta', 'inputs': []},"
    "{'op': 'null', 'name': 'b_moving_mean', 'inputs': []},"
    "{'op': 'null', 'name': 'b_moving_var', 'inputs': []},"
    "{'op': 'BatchNorm', 'name': 'b', 'attr': {'eps': '0.001', '__ctx_group__': 'mlu1'},"
    " 'inputs': [[2, 0, 0], [3, 0, 0], [4, 0, 0], [5, 0, 1], [6, 0, 1]]}"
    "], 'arg_nodes': [0, 1, 3, 4, 5, 6], 'node_row_ptr': [0, 1, 2, 3, 4, 5, 6, 7, 10],"
    " 'heads': [[7, 0, 0]], 'attrs': {'mxnet_version': ['int', 905]}}",
    /* 1.x: attrs, numbers as texts or not */
    "{'nodes': ["
    "{'op': 'null', 'name': 'data', 'inputs': []}, {'op': 'null', 'name': 'w', 'inputs': []},"
    "{'op': 'Convolution', 'name': 'c', 'attrs': {'ctx': 'mlu(1)', 'kernel': '(3, 3)',"
    " 'num_filter': 8, 'no_bias': true}, 'inputs': [[0, 0, 0], [1, 0, 0]]},"
    "{'op': 'null', 'name': 'b_gamma', 'inputs': []},"
    "{'op': 'null', 'name': 'b_beta', 'inputs': []},"
    "{'op': 'null', 'name': 'b_moving_mean', 'attrs': {'__init__': 'zeros'}, 'inputs': []},"
    "{'op': 'null', 'name': 'b_moving_var', 'inputs': []},"
    "{'op': 'BatchNorm', 'name': 'b', 'attrs': {'eps': '0.001', 'ctx': 'mlu1'},"
    " 'inputs': [[2, 0, 0], [3, 0, 0], [4, 0, 0], [5, 0, 1], [6, 0, 1]]}"
    "], 'arg_nodes': [0, 1, 3, 4, 5, 6], 'node_row_ptr': [0, 1, 2, 3, 4, 5, 6, 7, 10],"
    " 'heads': [[7, 0, 0]], 'attrs': {'mxnet_version': ['int', 10300]}}",
};

static void every_file_generation_yields_the_same_symbol(void **state)
{
    static const int32_t versions[] = { 0, 905, 10300 };

    for (size_t g = 0; g < 3; g++) {
        char *text = quoted(generations[g]);
        struct mlu_symbol symbol;

        parse(text, &symbol);
        assert_int_equal(symbol.operator_count, 2);
        assert_int_equal(symbol.mxnet_version, versions[g]);
        const struct mlu_node *conv = &symbol.nodes[symbol.operators[0]];
        const struct mlu_node *norm = &symbol.nodes[symbol.operators[1]];

        assert_string_equal(conv->op->name, "Convolution");
        assert_int_equal(conv->device, 1);
        assert_string_equal(mlu_node_attr_get(conv, "kernel"), "(3, 3)");
        assert_string_equal(mlu_node_attr_get(conv, "num_filter"), "8");
        assert_string_equal(mlu_node_attr_get(conv, "no_bias"), "True");
        assert_null(mlu_node_attr_get(conv, "stride"));
        assert_int_equal(norm->device, 1);
        assert_int_equal(norm->order, 1);
        assert_int_equal(norm->input_count, 5);
        assert_string_equal(symbol.nodes[norm->inputs[3].node].name, "b_moving_mean");
        assert_string_equal(symbol.nodes[norm->inputs[4].node].name, "b_moving_var");
        assert_int_equal(symbol.head_count, 1);
        assert_ptr_equal(&symbol.nodes[symbol.heads[0].node], norm);
        mlu_symbol_fini(&symbol);
        free(text);
    }
}

static void mlu_devices_can_be_specified_in_several_ways(void **state)
{
    static const struct {
        const char *attrs;
        int32_t device;
    } rows[] = {
        { "", 0 },
        { "'ctx': 'mlu0'", 0 },
        { "'ctx': 'mlu'", 0 },
        { "'ctx': 'mlu(2)'", 2 },
        { "'ctx': 'mlu:3'", 3 },
        { "'ctx': 'cpu'", MLU_DEVICE_CPU },
        { "'ctx': 'cpu(0)'", MLU_DEVICE_CPU },
        { "'ctx': 'cpu_pinned(0)'", MLU_DEVICE_CPU },
        { "'ctx': 'gpu1'", MLU_DEVICE_CPU },
        { "'__ctx__': 'mlu4'", 4 },
        { "'ctx_group': 'mlu5'", 5 },
        { "'__ctx_group__': 'cpu'", MLU_DEVICE_CPU },
        { "'__ctx_group__': 'stage'", 7 }, /* mapped by the caller */
        { "'ctx_group': 'stage', 'ctx': 'mlu6'", 6 },
        { "'ctx_group': 'unheard of'", 0 },
    };
    struct ntk_map groups = { 0 };
    const struct mlu_symbol_options options = { 0, &groups };

    assert_int_equal(ntk_map_put(&groups, "stage", "mlu7"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ntk_buf text = { 0 };
        struct mlu_symbol symbol;
        struct ntk_err err = { 0 };

        ntk_buf_add_format(&text,
                           "{'nodes': [{'op': 'null', 'name': 'x', 'inputs': []}, {'op': 'relu', "
                           "'name': 'r', 'attrs': {%s}, 'inputs': [[0, 0]]}], 'heads': [[1, 0]]}",
                           rows[i].attrs);
        char *json = quoted(ntk_buf_text_get(&text));
        if (mlu_symbol_parse(json, strlen(json), &options, &symbol, &err) != 0 ||
            symbol.nodes[1].device != rows[i].device) {
            fail_msg("%s: %s", rows[i].attrs, err.text);
        }
        mlu_symbol_fini(&symbol);
        ntk_buf_fini(&text);
        free(json);
    }
    ntk_map_fini(&groups);
}

#define X "{'op': 'null', 'name': 'x', 'inputs': []}"

static void invalid_symbols_are_rejected_with_a_message(void **state)
{
    static const struct {
        const char *text;
        const char *sentence;
    } rows[] = {
        { "", "the file is empty" },
        { "{", "line 1, column 1" },
        { "[]", "not a JSON object" },
        { "{}", "no array \"nodes\"" },
        { "{'nodes': 7, 'heads': []}", "no array \"nodes\"" },
        { "{'nodes': [], 'heads': []}", "no nodes" },
        { "{'nodes': [" X "]}", "no array \"heads\"" },
        { "{'nodes': [7], 'heads': []}", "node 0 is not an object" },
        { "{'nodes': [{'name': 'x'}], 'heads': []}", "node 0 'x': no \"op\"" },
        { "{'nodes': [{'op': 'Teleport', 'name': 't', 'inputs': []}], 'heads': []}",
          "node 0 't': unknown operator 'Teleport'" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[5, 0]]}], 'heads': []}",
          "node 1 'r': input 0 refers to a missing node; the file has only 2" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[-1, 0]]}], 'heads': []}",
          "node 1 'r': input 0 refers to a missing node" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[18446744073, 0]]}],"
          " 'heads': []}",
          "node 1 'r': input 0 refers to a missing node" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[0, 1]]}], 'heads': []}",
          "input 0 refers to a missing output of node 0 'x', which has only 1" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [0]}], 'heads': []}",
          "input 0 is not [node, output]" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [['0', 0]]}], 'heads': []}",
          "input 0 is not [node, output]" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': 'x'}], 'heads': []}",
          "its inputs are not an array" },
        { "{'nodes': [{'op': 'relu', 'name': 'r', 'inputs': [[0, 0]]}], 'heads': []}",
          "node 0 'r': depends on itself" },
        { "{'nodes': [{'op': 'relu', 'name': 'r', 'inputs': [[1, 0]]},"
          " {'op': 'relu', 'name': 's', 'inputs': [[0, 0]]}], 'heads': []}",
          "node 0 'r': depends on itself" },
        { "{'nodes': [{'op': 'relu', 'name': 'r', 'inputs': [[1, 0]]}, " X "], 'heads': []}",
          "input 0 comes from the later node 1" },
        { "{'nodes': [{'op': 'null', 'name': 'x', 'inputs': []},"
          " {'op': 'null', 'name': 'y', 'inputs': [[0, 0]]}], 'heads': []}",
          "node 1 'y': a variable cannot have inputs" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': []}], 'heads': []}",
          "relu has 0 inputs: expected 1" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[0,0],[0,0]]}], 'heads': []}",
          "relu has 2 inputs: expected 1" },
        { "{'nodes': [" X ", {'op': 'FullyConnected', 'name': 'f', 'inputs': [[0,0]]}],"
          " 'heads': []}",
          "FullyConnected has 1 inputs: expected at least 2" },
        { "{'nodes': [" X ", {'op': 'Concat', 'name': 'c', 'attrs': {'num_args': '3'},"
          " 'inputs': [[0,0],[0,0]]}], 'heads': []}",
          "num_args is 3, but there are 2 inputs" },
        { "{'nodes': [" X ", {'op': 'split', 'name': 's', 'inputs': [[0,0]]}], 'heads': []}",
          "split requires attribute 'num_outputs'" },
        { "{'nodes': [" X ", {'op': 'split', 'name': 's', 'attrs': {'num_outputs': '99999999999'},"
          " 'inputs': [[0,0]]}], 'heads': []}",
          "num_outputs is 99999999999: expected 1 to 1024" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'attrs': {'ctx': 'moon'},"
          " 'inputs': [[0,0]]}], 'heads': []}",
          "unknown device 'moon'" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'attrs': {'ctx': 'mlu99999'},"
          " 'inputs': [[0,0]]}], 'heads': []}",
          "unknown device 'mlu99999'" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'attrs': [], 'inputs': [[0,0]]}],"
          " 'heads': []}",
          "its attrs is not an object" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'attrs': {'a': {}}, 'inputs': [[0,0]]}],"
          " 'heads': []}",
          "attribute 'a' is not a string" },
        { "{'nodes': [" X "], 'heads': [[1, 0]]}", "head 0 refers to a missing node" },
        { "{'nodes': [" X "], 'heads': [[0, 3]]}",
          "head 0 refers to a missing output of node 0 'x'" },
        { "{'nodes': [" X "], 'heads': [0]}", "head 0 is not [node, output]" },
        { "{'nodes': [" X "], 'heads': [[0, 0]], 'arg_nodes': [4]}",
          "arg_nodes 0 refers to a missing node" },
        { "{'nodes': [" X ", {'op': 'relu', 'name': 'r', 'inputs': [[0,0]]}], 'heads': [],"
          " 'arg_nodes': [0, 1]}",
          "arg_nodes 1 is node 1 'r', which is an operator" },
        { "{'nodes': [" X "], 'nodes': [" X "], 'heads': []}", "duplicate" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = quoted(rows[i].text);
        struct mlu_symbol symbol;
        struct ntk_err err = { 0 };

        if (mlu_symbol_parse(text, strlen(text), &defaults, &symbol, &err) >= 0) {
            fail_msg("%s was read", rows[i].text);
        }
        if (!strstr(err.text, rows[i].sentence)) {
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].text, err.text, rows[i].sentence);
        }
        free(text);
    }
}

static void every_truncated_file_is_rejected(void **state)
{
    for (size_t g = 0; g < 3; g++) {
        char *text = quoted(generations[g]);

        for (size_t bytes = 0; bytes < strlen(text); bytes++) {
            struct mlu_symbol symbol;
            struct ntk_err err = { 0 };

            assert_true(mlu_symbol_parse(text, bytes, &defaults, &symbol, &err) < 0);
            assert_true(err.text[0] != '\0');
        }
        free(text);
    }
}

/* A row of operators, or of variables. */
static void add_many(struct ntk_buf *text, const char *op, uint32_t count)
{
    ntk_buf_add_text(text, "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}");
    for (uint32_t i = 0; i < count; i++) {
        ntk_buf_add_format(text, ",{\"op\":\"%s\",\"name\":\"n\",\"inputs\":[%s]}", op,
                           strcmp(op, "null") == 0 ? "" : "[0,0]");
    }
    ntk_buf_add_text(text, "], \"heads\": [[0, 0]]}");
}

static void huge_counts_in_a_symbol_file_are_rejected(void **state)
{
    static const struct {
        const char *op;
        uint32_t count;
        int ret;
    } rows[] = {
        { "relu", MLU_SYMBOL_OPERATORS_MAX, 0 },
        { "relu", MLU_SYMBOL_OPERATORS_MAX + 1, -EFBIG },
        { "null", MLU_SYMBOL_NODES_MAX - 1, 0 },
        { "null", MLU_SYMBOL_NODES_MAX, -EFBIG },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ntk_buf text = { 0 };
        struct mlu_symbol symbol = { 0 };
        struct ntk_err err = { 0 };

        add_many(&text, rows[i].op, rows[i].count);
        assert_true(ntk_buf_ok(&text));
        assert_int_equal(mlu_symbol_parse(text.bytes, text.bytes_count, &defaults, &symbol, &err),
                         rows[i].ret);
        mlu_symbol_fini(&symbol);
        ntk_buf_fini(&text);
    }
}

static void weights_and_labels_are_not_run_time_inputs(void **state)
{
    char *text =
        quoted("{'nodes': [" X ", {'op': 'null', 'name': 'w', 'inputs': []},"
               "{'op': 'FullyConnected', 'name': 'f', 'inputs': [[0,0],[1,0]]},"
               "{'op': 'FullyConnected', 'name': 'g', 'inputs': [[2,0],[2,0]]},"
               "{'op': 'null', 'name': 'label', 'inputs': []},"
               "{'op': 'SoftmaxOutput', 'name': 's', 'inputs': [[3,0],[4,0]]},"
               "{'op': 'elemwise_add', 'name': 'a', 'inputs': [[5,0],[1,0]]}], 'heads': [[6,0]]}");
    struct mlu_symbol symbol;
    struct mlu_fuse_symbol fuse;

    parse(text, &symbol);
    assert_int_equal(mlu_fuse_symbol_init(&symbol, &fuse, NULL), 0);
    assert_int_equal(fuse.graph.node_count, 4);
    assert_int_equal(fuse.nodes[0].input_count, 1);
    assert_int_equal(fuse.inputs[0].producer, MLU_FUSE_EXTERNAL);
    assert_int_equal(fuse.nodes[1].input_count, 2);
    assert_int_equal(fuse.nodes[2].input_count, 1);
    assert_int_equal(fuse.nodes[3].input_count, 2); /* here the same variable is data */
    assert_int_equal(fuse.inputs[5].producer, MLU_FUSE_EXTERNAL);
    assert_false(fuse.is_head[2]);
    assert_true(fuse.is_head[3]);
    mlu_fuse_symbol_fini(&fuse);
    mlu_symbol_fini(&symbol);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_generation_yields_the_same_symbol),
        cmocka_unit_test(mlu_devices_can_be_specified_in_several_ways),
        cmocka_unit_test(invalid_symbols_are_rejected_with_a_message),
        cmocka_unit_test(every_truncated_file_is_rejected),
        cmocka_unit_test(huge_counts_in_a_symbol_file_are_rejected),
        cmocka_unit_test(weights_and_labels_are_not_run_time_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
