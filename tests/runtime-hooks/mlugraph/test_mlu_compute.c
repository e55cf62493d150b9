/* SPDX-License-Identifier: MIT */
/* Every operator on numbers small enough to work out by hand. */
#include "runtime-hooks/mlugraph/mlu_compute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/graph_executor.h"
#include "tests/runtime-hooks/mlugraph/mlu_machine.h"
#include "tests/support/unit.h"

#define INPUTS_MAX 5

/* "(1,2):3 4": a shape, then its numbers. */
static void make_array(const char *text, struct mlu_array *array)
{
    struct mlu_shape shape = { 0 };
    char *at;

    for (text++; *text != ')'; text += *text == ',') {
        shape.dims[shape.dim_count++] = strtoull(text, &at, 10);
        text = at;
    }
    text += 2;
    assert_int_equal(mlu_array_init(array, MLU_DTYPE_FLOAT32, &shape, NULL), 0);
    for (size_t i = 0; i < array->count; i++) {
        mlu_array_set(array, i, strtod(text, &at));
        assert_ptr_not_equal(at, text);
        text = at;
    }
}

struct row {
    const char *op;
    const char *attrs;
    const char *inputs[INPUTS_MAX];
    const char *output; /* of output `index` */
    uint32_t index;
};

/* Returns how many operators ran on the CPU because the MLU does not have them. */
static uint32_t check(const struct row *row, const struct mlu_device_ops *ops, double tolerance)
{
    struct mlu_array values[INPUTS_MAX];
    const struct mlu_array *args[INPUTS_MAX + 1] = { 0 };
    const struct mlu_symbol_options options = { ops ? 0 : MLU_DEVICE_CPU, NULL };
    struct graph_executor graph = { 0 };
    struct mlu_symbol symbol;
    struct mlu_array want;
    struct ntk_err err = { 0 };
    uint32_t count = 0;
    char inputs[128] = "";
    char text[2048] = "";
    char got_shape[MLU_SHAPE_TEXT_BYTES];
    char want_shape[MLU_SHAPE_TEXT_BYTES];

    for (; count < INPUTS_MAX && row->inputs[count]; count++) {
        make_array(row->inputs[count], &values[count]);
        args[count] = &values[count];
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{'op':'null','name':'i%u','inputs':[]},", count);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s[%u,0]",
                 count > 0 ? "," : "", count);
    }
    char json[4096];
    snprintf(json, sizeof json,
             "{'nodes':[%s{'op':'%s','name':'n','attrs':{%s},'inputs':[%s]}],'heads':[[%u,%u]]}",
             text, row->op, row->attrs, inputs, count, row->index);
    for (char *at = json; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    if (mlu_symbol_parse(json, strlen(json), &options, &symbol, &err) != 0 ||
        graph_executor_bind(&graph, &symbol, ops, args, &err) != 0 ||
        graph_executor_forward(&graph, &err) != 0) {
        fail_msg("%s %s: %s", row->op, row->attrs, err.text);
    }
    const struct mlu_array *got = graph_executor_output(&graph, 0, &err);
    uint32_t on_cpu = graph.op_nodes[0].why_on_cpu ? 1 : 0;
    assert_non_null(got);
    make_array(row->output, &want);
    if (!mlu_shape_equal(&got->shape, &want.shape)) {
        fail_msg("%s %s: %s, not %s", row->op, row->attrs, mlu_shape_text(&got->shape, got_shape),
                 mlu_shape_text(&want.shape, want_shape));
    }
    for (size_t i = 0; i < want.count; i++) {
        double difference = fabs(mlu_array_get(got, i) - mlu_array_get(&want, i));

        if (!(difference <= tolerance * (1 + fabs(mlu_array_get(&want, i))))) {
            fail_msg("%s %s: element %zu is %g, not %g", row->op, row->attrs, i,
                     mlu_array_get(got, i), mlu_array_get(&want, i));
        }
    }
    mlu_array_fini(&want);
    graph_executor_fini(&graph);
    mlu_symbol_fini(&symbol);
    for (uint32_t i = 0; i < count; i++) {
        mlu_array_fini(&values[i]);
    }
    return on_cpu;
}

#define NINE "(1,1,3,3):1 2 3 4 5 6 7 8 9"
#define SIX "(2,3):1 2 3 4 5 6"
#define ONES "(1,1,2,2):1 1 1 1"

static const struct row windows[] = {
    { "Convolution",
      "'kernel':'(2,2)','num_filter':'1'",
      { NINE, ONES, "(1):1" },
      "(1,1,2,2):13 17 25 29" },
    { "Convolution",
      "'kernel':'(2, 2)','num_filter':'1','stride':'(2, 2)','pad':'(1, 1)','no_bias':'True'",
      { NINE, ONES },
      "(1,1,2,2):1 5 11 28" },
    { "Convolution",
      "'kernel':'(2,2)','num_filter':'1','dilate':'(2,2)','no_bias':'1'",
      { NINE, ONES },
      "(1,1,1,1):20" },
    { "Convolution",
      "'kernel':'(1,1)','num_filter':'2','num_group':'2','no_bias':'True'",
      { "(1,2,1,1):3 5", "(2,1,1,1):10 100" },
      "(1,2,1,1):30 500" },
    { "Convolution",
      "'kernel':'(1,1)','num_filter':'1','no_bias':'True'",
      { "(2,2,1,1):1 2 3 4", "(1,2,1,1):10 1" },
      "(2,1,1,1):12 34" },
    { "Convolution",
      "'kernel':'(1,2)','num_filter':'1','no_bias':'True'",
      { "(1,1,1,3):1 2 3", "(1,1,1,2):1 10" },
      "(1,1,1,2):21 32" },
    { "Deconvolution",
      "'kernel':'(2,2)','num_filter':'1','stride':'(2,2)'",
      { "(1,1,2,2):1 2 3 4", "(1,1,2,2):1 10 100 1000" },
      "(1,1,4,4):1 10 2 20 100 1000 200 2000 3 30 4 40 300 3000 400 4000" },
    { "Deconvolution",
      "'kernel':'(2,2)','num_filter':'1','stride':'(2,2)','pad':'(1,1)'",
      { "(1,1,2,2):1 2 3 4", "(1,1,2,2):1 10 100 1000" },
      "(1,1,2,2):1000 200 30 4" },
    { "Deconvolution",
      "'kernel':'(1,2)','num_filter':'1'",
      { "(1,1,1,2):1 2", "(1,1,1,2):1 10" },
      "(1,1,1,3):1 12 20" },
    { "Deconvolution",
      "'kernel':'(1,2)','num_filter':'1','adj':'(0,1)','no_bias':'False'",
      { "(1,1,1,2):1 2", "(1,1,1,2):1 10", "(1):5" },
      "(1,1,1,4):6 17 25 5" },
    { "Deconvolution",
      "'kernel':'(1,1)','num_filter':'2'",
      { "(1,2,1,1):1 2", "(2,2,1,1):1 10 100 1000" },
      "(1,2,1,1):201 2010" },
    { "Deconvolution",
      "'kernel':'(1,1)','num_filter':'2','num_group':'2'",
      { "(1,2,1,1):3 5", "(2,1,1,1):10 100" },
      "(1,2,1,1):30 500" },
    { "FullyConnected",
      "'num_hidden':'1'",
      { "(1,2,1,2):1 2 3 4", "(1,4):1 10 100 1000", "(1):0.5" },
      "(1,1):4321.5" },
    { "FullyConnected",
      "'num_hidden':'2','no_bias':'True','flatten':'False'",
      { "(1,2,2):1 2 3 4", "(2,2):1 0 1 1" },
      "(1,2,2):1 3 3 7" },
    { "Pooling", "'kernel':'(2,2)'", { NINE }, "(1,1,2,2):5 6 8 9" },
    { "Pooling", "'kernel':'(2,2)','pool_type':'avg'", { NINE }, "(1,1,2,2):3 4 6 7" },
    { "Pooling", "'kernel':'(2,2)','pool_type':'sum'", { NINE }, "(1,1,2,2):12 16 24 28" },
    { "Pooling", "'kernel':'(2,2)','stride':'(2,2)'", { NINE }, "(1,1,1,1):5" },
    { "Pooling",
      "'kernel':'(2,2)','stride':'(2,2)','pooling_convention':'full'",
      { NINE },
      "(1,1,2,2):5 6 8 9" },
    { "Pooling",
      "'kernel':'(2,2)','stride':'(2,2)','pooling_convention':'full','pool_type':'avg'",
      { NINE },
      "(1,1,2,2):3 4.5 7.5 9" },
    { "Pooling",
      "'kernel':'(2,2)','stride':'(2,2)','pad':'(1,1)','pool_type':'avg'",
      { NINE },
      "(1,1,2,2):0.25 1.25 2.75 7" },
    { "Pooling",
      "'kernel':'(2,2)','stride':'(2,2)','pad':'(1,1)','pool_type':'avg',"
      "'count_include_pad':'False'",
      { NINE },
      "(1,1,2,2):1 2.5 5.5 7" },
    { "Pooling", "'kernel':'(2,2)','pad':'(1,1)'", { "(1,1,1,1):-3" }, "(1,1,2,2):-3 -3 -3 -3" },
    { "Pooling", "'global_pool':'True','pool_type':'avg'", { NINE }, "(1,1,1,1):5" },
    { "Pooling", "'global_pool':'True','kernel':'(7,7)'", { NINE }, "(1,1,1,1):9" },
};

static const struct row elements[] = {
    { "Activation", "'act_type':'relu'", { "(3):-1 0 2" }, "(3):0 0 2" },
    { "Activation", "'act_type':'sigmoid'", { "(2):0 -1000" }, "(2):0.5 0" },
    { "Activation", "'act_type':'tanh'", { "(2):0 1000" }, "(2):0 1" },
    { "relu", "", { "(1):-7" }, "(1):0" },
    { "sigmoid", "", { "(1):1.0986122887" }, "(1):0.75" },
    { "tanh", "", { "(1):0.5493061443" }, "(1):0.5" },
    { "BatchNorm",
      "'fix_gamma':'False'",
      { "(1,2,1,1):3 10", "(2):2 3", "(2):1 1", "(2):1 4", "(2):0.999 3.999" },
      "(1,2,1,1):5 10" },
    { "BatchNorm",
      "",
      { "(1,2,1,1):3 10", "(2):2 3", "(2):1 1", "(2):1 4", "(2):0.999 3.999" },
      "(1,2,1,1):3 4" },
    { "BatchNorm",
      "'axis':'-1','eps':'0'",
      { "(2,2):3 10 5 12", "(2):1 1", "(2):0 0", "(2):1 4", "(2):1 4" },
      "(2,2):2 3 4 4" },
    { "softmax", "", { "(2,2):0 1.0986122887 5 5" }, "(2,2):0.25 0.75 0.5 0.5" },
    { "softmax", "'axis':'0'", { "(2,2):0 5 1.0986122887 5" }, "(2,2):0.25 0.5 0.75 0.5" },
    { "softmax", "'temperature':'2'", { "(2):0 2.1972245773" }, "(2):0.25 0.75" },
    { "softmax", "", { "(2):1000 1000" }, "(2):0.5 0.5" },
    { "SoftmaxOutput", "", { "(1,2,2):1 1 1 1", "(1):0" }, "(1,2,2):0.25 0.25 0.25 0.25" },
    { "SoftmaxOutput",
      "'multi_output':'True'",
      { "(1,2,2):1 1 1 1", "(1):0" },
      "(1,2,2):0.5 0.5 0.5 0.5" },
    { "SoftmaxOutput",
      "'preserve_shape':'True'",
      { "(1,4,2):1 1 1 1 1 1 1 1" },
      "(1,4,2):0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5" },
    { "SoftmaxActivation", "'mode':'channel'", { "(1,2,1,1):1 1" }, "(1,2,1,1):0.5 0.5" },
    { "elemwise_add", "", { "(2):1 2", "(2):10 20" }, "(2):11 22" },
    { "_Plus", "", { "(2):1 2", "(2):10 20" }, "(2):11 22" },
    { "elemwise_sub", "", { "(2):1 2", "(2):10 20" }, "(2):-9 -18" },
    { "_mul", "", { "(2):1 2", "(2):10 20" }, "(2):10 40" },
    { "elemwise_div", "", { "(2):1 2", "(2):10 4" }, "(2):0.1 0.5" },
    { "broadcast_add", "", { "(2,1):1 2", "(1,3):10 20 30" }, "(2,3):11 21 31 12 22 32" },
    { "broadcast_mul", "", { "(1,2,1):3 4", "(2,1,2):1 2 3 4" }, "(2,2,2):3 6 4 8 9 12 12 16" },
    { "_plus_scalar", "'scalar':'0.5'", { "(2):1 2" }, "(2):1.5 2.5" },
    { "_MulScalar", "'scalar':'-2'", { "(2):1 2" }, "(2):-2 -4" },
    { "Cast", "'dtype':'int8'", { "(4):1.9 -1.9 300 -300" }, "(4):1 -1 127 -128" },
    { "Cast", "'dtype':'uint8'", { "(3):1.9 -1.9 300" }, "(3):1 0 255" },
    { "Cast", "'dtype':'float16'", { "(2):2049 0.5" }, "(2):2048 0.5" },
    { "Dropout", "'p':'0.5'", { "(2):1 2" }, "(2):1 2" },
    { "_CrossDeviceCopy", "", { "(2):1 2" }, "(2):1 2" },
};

static const struct row moves[] = {
    { "Concat", "'num_args':'2'", { "(2,1):1 2", SIX }, "(2,4):1 1 2 3 2 4 5 6" },
    { "Concat", "'num_args':'2','dim':'0'", { "(1,3):7 8 9", SIX }, "(3,3):7 8 9 1 2 3 4 5 6" },
    { "Concat", "'num_args':'3','dim':'-1'", { "(1):1", "(2):2 3", "(1):4" }, "(4):1 2 3 4" },
    { "SliceChannel", "'num_outputs':'3'", { SIX }, "(2,1):2 5", 1 },
    { "split", "'num_outputs':'2','axis':'0'", { SIX }, "(1,3):4 5 6", 1 },
    { "split", "'num_outputs':'2','axis':'0','squeeze_axis':'True'", { SIX }, "(3):1 2 3", 0 },
    { "Flatten", "", { "(2,1,3):1 2 3 4 5 6" }, "(2,3):1 2 3 4 5 6" },
    { "Flatten", "", { "(2):1 2" }, "(2,1):1 2" },
    { "Reshape", "'shape':'(3,2)'", { SIX }, "(3,2):1 2 3 4 5 6" },
    { "Reshape", "'shape':'(0,-1,1)'", { SIX }, "(2,3,1):1 2 3 4 5 6" },
    { "Reshape", "'shape':'(-1,)'", { SIX }, "(6):1 2 3 4 5 6" },
    { "Reshape", "'shape':'(1,-2)'", { "(1,2,3):1 2 3 4 5 6" }, "(1,2,3):1 2 3 4 5 6" },
    { "Reshape", "'shape':'(-3,1)'", { SIX }, "(6,1):1 2 3 4 5 6" },
    { "Reshape", "'shape':'(0,-4,-1,1)'", { SIX }, "(2,3,1):1 2 3 4 5 6" },
    { "Reshape",
      "'shape':'(-1,0)','reverse':'True'",
      { "(2,1,3):1 2 3 4 5 6" },
      "(2,3):1 2 3 4 5 6" },
    { "Reshape", "'target_shape':'(2,0)'", { "(2,1,3):1 2 3 4 5 6" }, "(2,3):1 2 3 4 5 6" },
    { "transpose", "", { SIX }, "(3,2):1 4 2 5 3 6" },
    { "transpose", "'axes':'(0,2,1)'", { "(1,2,3):1 2 3 4 5 6" }, "(1,3,2):1 4 2 5 3 6" },
    { "transpose", "'axes':'(1,2,0)'", { "(2,1,3):1 2 3 4 5 6" }, "(1,3,2):1 4 2 5 3 6" },
    { "Pad",
      "'mode':'constant','constant_value':'9','pad_width':'(0,0,1,2)'",
      { "(1,2):1 2" },
      "(1,5):9 1 2 9 9" },
    { "Pad",
      "'mode':'edge','pad_width':'(1,0,0,1)'",
      { "(2,2):1 2 3 4" },
      "(3,3):1 2 2 1 2 2 3 4 4" },
    { "Pad", "'mode':'reflect','pad_width':'(2,2)'", { "(3):1 2 3" }, "(7):3 2 1 2 3 2 1" },
};

static const struct {
    const struct row *rows;
    size_t count;
} tables[] = {
    { windows, sizeof windows / sizeof windows[0] },
    { elements, sizeof elements / sizeof elements[0] },
    { moves, sizeof moves / sizeof moves[0] },
};

static uint32_t check_all(const struct mlu_device_ops *ops, double tolerance)
{
    uint32_t on_cpu = 0;

    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            on_cpu += check(&tables[t].rows[i], ops, tolerance);
        }
    }
    return on_cpu;
}

static void cpu_operators_match_the_reference(void **state)
{
    check_all(NULL, 1e-6);
}

static void emulated_mlu_operators_match_the_reference(void **state)
{
    assert_int_equal(check_all(&mlu_device_host, 1e-6), 0);
}

static void mlu_operators_match_the_reference_except_unsupported_ones(void **state)
{
    /* The number of operators that CNML lacks (docs/graph.md); a higher one means that support was
     * lost. */
    assert_int_equal(check_all(&mlu_device_cnml, 1e-4), 17);
}

static int set_up(void **state)
{
    return mlu_machine_set_up(state, "mlu270");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_operators_match_the_reference),
        cmocka_unit_test(emulated_mlu_operators_match_the_reference),
        cmocka_unit_test(mlu_operators_match_the_reference_except_unsupported_ones),
    };

    return cmocka_run_group_tests(tests, set_up, mlu_machine_tear_down);
}
