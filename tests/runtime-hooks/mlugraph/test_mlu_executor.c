/* SPDX-License-Identifier: MIT */
/* Numbered graphs, run operator by operator, in segments, and without any MLU: equal bytes. */
#include "runtime-hooks/mlugraph/mlu_fuse_graph_executor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/mlugraph/random_symbol.h"
#include "tests/support/unit.h"

/* ---- a counting device ---- */

static struct {
    uint32_t forwards;
    uint32_t fusion_forwards;
    uint32_t compiles;
    uint32_t tensors; /* currently allocated */
    uint32_t ops;
    uint32_t fusions;
    uint32_t streams;
    int open;
} counted;

static int count_open(struct ntk_err *err)
{
    counted.open++;
    return mlu_device_host.open(err);
}
static void count_close(void)
{
    counted.open--;
}
static int count_stream(int32_t device, void **out_stream, struct ntk_err *err)
{
    counted.streams++;
    return mlu_device_host.stream_open(device, out_stream, err);
}
static void count_no_stream(void *stream)
{
    counted.streams--;
    mlu_device_host.stream_close(stream);
}
static int count_tensor(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                        void **out_tensor, struct ntk_err *err)
{
    counted.tensors++;
    return mlu_device_host.tensor_create(stream, kind, type, out_tensor, err);
}
static void count_no_tensor(void *tensor)
{
    counted.tensors -= tensor ? 1 : 0;
    mlu_device_host.tensor_destroy(tensor);
}
static int count_op(void *stream, const struct mlu_node *node, const struct mlu_op_param *param,
                    void *const *in, void *const *out, void **out_op, struct ntk_err *err)
{
    counted.ops++;
    return mlu_device_host.op_create(stream, node, param, in, out, out_op, err);
}
static void count_no_op(void *op)
{
    counted.ops -= op ? 1 : 0;
    mlu_device_host.op_destroy(op);
}
static int count_compile(void *op, struct ntk_err *err)
{
    counted.compiles++;
    return mlu_device_host.op_compile(op, err);
}
static int count_forward(void *op, struct ntk_err *err)
{
    counted.forwards++;
    return mlu_device_host.op_forward(op, err);
}
static int count_fusion(void *stream, void **out_fusion, struct ntk_err *err)
{
    counted.fusions++;
    return mlu_device_host.fusion_create(stream, out_fusion, err);
}
static void count_no_fusion(void *fusion)
{
    counted.fusions -= fusion ? 1 : 0;
    mlu_device_host.fusion_destroy(fusion);
}
static int count_fusion_forward(void *fusion, struct ntk_err *err)
{
    counted.fusion_forwards++;
    return mlu_device_host.fusion_forward(fusion, err);
}

static struct mlu_device_ops counting;

static int set_up(void **state)
{
    counting = mlu_device_host;
    counting.open = count_open;
    counting.close = count_close;
    counting.stream_open = count_stream;
    counting.stream_close = count_no_stream;
    counting.tensor_create = count_tensor;
    counting.tensor_destroy = count_no_tensor;
    counting.op_create = count_op;
    counting.op_destroy = count_no_op;
    counting.op_compile = count_compile;
    counting.op_forward = count_forward;
    counting.fusion_create = count_fusion;
    counting.fusion_destroy = count_no_fusion;
    counting.fusion_forward = count_fusion_forward;
    return 0;
}

static void assert_nothing_is_left(void)
{
    assert_int_equal(counted.tensors, 0);
    assert_int_equal(counted.ops, 0);
    assert_int_equal(counted.fusions, 0);
    assert_int_equal(counted.streams, 0);
    assert_int_equal(counted.open, 0);
}

/* ---- comparisons ---- */

static void assert_same_heads(struct graph_executor *a, struct graph_executor *b, uint64_t seed)
{
    for (uint32_t h = 0; h < a->symbol->head_count; h++) {
        const struct mlu_array *x = graph_executor_output(a, h, NULL);
        const struct mlu_array *y = graph_executor_output(b, h, NULL);

        assert_non_null(x);
        assert_non_null(y);
        assert_int_equal(x->count, y->count);
        if (memcmp(x->data, y->data, x->count * mlu_dtype_bytes(x->dtype)) != 0) {
            fail_msg("seed %llu: head %u differs", (unsigned long long)seed, h);
        }
    }
}

static void fused_segments_output_the_same_values_as_separate_operators(void **state)
{
    uint32_t fused = 0;

    for (uint64_t seed = 1; seed <= 1500; seed++) {
        uint32_t operators = 2 + (uint32_t)(seed % 19);
        struct random_symbol random;
        struct random_symbol on_cpu;
        struct graph_executor imperative = { 0 };
        struct graph_executor cpu = { 0 };
        struct mlu_fuse_graph_executor symbolic = { 0 };
        struct ntk_err err = { 0 };

        random_symbol_make(&random, seed, operators, NULL);
        random_symbol_make(&on_cpu, seed, operators, "cpu");
        if (graph_executor_bind(&imperative, &random.symbol, &counting, random.args, &err) != 0 ||
            graph_executor_forward(&imperative, &err) != 0 ||
            mlu_fuse_bind(&symbolic, &random.symbol, &counting, random.args, &err) != 0 ||
            mlu_run_ops(&symbolic, &err) != 0 ||
            graph_executor_bind(&cpu, &on_cpu.symbol, &counting, on_cpu.args, &err) != 0 ||
            graph_executor_forward(&cpu, &err) != 0) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        }
        assert_int_equal(cpu.stream_count, 0);
        assert_same_heads(&imperative, &symbolic.graph, seed);
        assert_same_heads(&imperative, &cpu, seed);
        fused += (uint32_t)symbolic.segments.count;

        /* The second time nothing is compiled, and a different input yields a different output. */
        struct mlu_array other;
        assert_int_equal(mlu_array_copy(&other, random.args[0], NULL), 0);
        mlu_array_set(&other, 0, 3);
        uint32_t compiles = counted.compiles;
        assert_int_equal(graph_executor_set_arg(&imperative, 0, &other, NULL), 0);
        assert_int_equal(graph_executor_set_arg(&symbolic.graph, 0, &other, NULL), 0);
        assert_int_equal(graph_executor_forward(&imperative, NULL), 0);
        assert_int_equal(mlu_run_ops(&symbolic, NULL), 0);
        assert_int_equal(counted.compiles, compiles);
        assert_same_heads(&imperative, &symbolic.graph, seed);
        mlu_array_fini(&other);

        graph_executor_fini(&imperative);
        graph_executor_fini(&cpu);
        mlu_fuse_graph_executor_fini(&symbolic);
        random_symbol_fini(&random);
        random_symbol_fini(&on_cpu);
        assert_nothing_is_left();
    }
    assert_true(fused > 1000);
}

/* ---- by hand ---- */

static const struct mlu_symbol_options defaults = { 0, NULL };

static void parse(const char *text, struct mlu_symbol *symbol)
{
    char *json = strdup(text);
    struct ntk_err err = { 0 };

    for (char *at = json; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    if (mlu_symbol_parse(json, strlen(json), &defaults, symbol, &err) != 0) {
        fail_msg("%s", err.text);
    }
    free(json);
}

static void a_segment_runs_once_when_its_last_input_is_computed(void **state)
{
    /* relu, tanh on the MLU, sigmoid of another input on the CPU, a sum that needs both, relu. */
    struct mlu_symbol symbol;
    struct mlu_fuse_graph_executor executor = { 0 };
    const struct mlu_shape shape = { 1, { 2 } };
    struct mlu_array x;
    struct mlu_array y;

    parse("{'nodes':[{'op':'null','name':'x','inputs':[]},{'op':'null','name':'y','inputs':[]},"
          "{'op':'relu','name':'a','inputs':[[0,0]]},{'op':'tanh','name':'b','inputs':[[2,0]]},"
          "{'op':'sigmoid','name':'c','attrs':{'ctx':'cpu'},'inputs':[[1,0]]},"
          "{'op':'elemwise_add','name':'d','inputs':[[3,0],[4,0]]},"
          "{'op':'relu','name':'e','inputs':[[5,0]]}],'heads':[[6,0]]}",
          &symbol);
    assert_int_equal(mlu_array_init(&x, MLU_DTYPE_FLOAT32, &shape, NULL), 0);
    assert_int_equal(mlu_array_init(&y, MLU_DTYPE_FLOAT32, &shape, NULL), 0);
    mlu_array_set(&x, 1, 1e9);
    const struct mlu_array *args[7] = { &x, &y };
    memset(&counted, 0, sizeof counted);
    assert_int_equal(mlu_fuse_bind(&executor, &symbol, &counting, args, NULL), 0);
    assert_int_equal(executor.segments.count, 1);
    assert_int_equal(executor.fusions[0].input_count, 2);
    assert_ptr_equal(executor.fusions[0].inputs[0], graph_executor_entry(&executor.graph, 0, 0));
    assert_ptr_equal(executor.fusions[0].inputs[1], graph_executor_entry(&executor.graph, 4, 0));
    assert_int_equal(executor.fusions[0].output_count, 1);
    assert_int_equal(mlu_run_ops(&executor, NULL), 0);
    assert_int_equal(counted.fusion_forwards, 1);
    assert_int_equal(counted.forwards, 0);
    const struct mlu_array *out = graph_executor_output(&executor.graph, 0, NULL);
    assert_true(mlu_array_get(out, 0) == 0.5 && mlu_array_get(out, 1) == 1.5);
    mlu_fuse_graph_executor_fini(&executor);
    mlu_array_fini(&x);
    mlu_array_fini(&y);
    mlu_symbol_fini(&symbol);
    assert_nothing_is_left();
}

static void simple_bind_accepts_shapes_and_later_values(void **state)
{
    struct mlu_symbol symbol;
    struct mlu_fuse_graph_executor executor = { 0 };
    const struct mlu_type x = { MLU_DTYPE_FLOAT32, { 2, { 1, 3 } } };
    const struct mlu_type w = { MLU_DTYPE_FLOAT32, { 2, { 1, 3 } } };
    struct mlu_array value;

    parse("{'nodes':[{'op':'null','name':'x','inputs':[]},{'op':'null','name':'w','inputs':[]},"
          "{'op':'FullyConnected','name':'f','attrs':{'num_hidden':'1','no_bias':'True'},"
          "'inputs':[[0,0],[1,0]]},{'op':'relu','name':'r','inputs':[[2,0]]}],'heads':[[3,0]]}",
          &symbol);
    const struct mlu_type *types[4] = { &x, &w };
    assert_int_equal(mlu_fuse_simple_bind(&executor, &symbol, &counting, types, NULL), 0);
    assert_int_equal(mlu_array_init(&value, MLU_DTYPE_FLOAT32, &x.shape, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        mlu_array_set(&value, i, (double)i + 1);
    }
    assert_int_equal(graph_executor_set_arg(&executor.graph, 0, &value, NULL), 0);
    assert_int_equal(graph_executor_set_arg(&executor.graph, 1, &value, NULL), 0);
    assert_int_equal(mlu_run_ops(&executor, NULL), 0);
    assert_true(mlu_array_get(graph_executor_output(&executor.graph, 0, NULL), 0) == 14);
    mlu_array_fini(&value);
    mlu_fuse_graph_executor_fini(&executor);
    mlu_symbol_fini(&symbol);
    assert_nothing_is_left();
}

static void mismatched_nodes_are_rejected_with_a_message(void **state)
{
    static const struct {
        const char *op;
        const char *attrs;
        const char *inputs;
        const char *sentence;
    } rows[] = {
        /* x (1,4,3,3), w (4,4,3,3), v (4) */
        { "relu", "", "[3,0]", "node 'n' requires the variable 'none', which has no value" },
        { "Convolution", "", "[0,0],[1,0],[2,0]", "requires attribute 'num_filter'" },
        { "Convolution", "'num_filter':'4'", "[0,0],[1,0],[2,0]",
          "Convolution requires attribute 'kernel'" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3,3)'", "[0,0],[1,0],[2,0]",
          "only two-dimensional windows" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3'", "[0,0],[1,0],[2,0]",
          "attribute 'kernel' has the invalid value '(3,3'" },
        { "Convolution", "'num_filter':'4','kernel':'(0,3)'", "[0,0],[1,0],[2,0]",
          "attribute 'kernel' has the invalid value" },
        { "Convolution", "'num_filter':'5','kernel':'(3,3)'", "[0,0],[1,0],[2,0]",
          "the weight does not match" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3)'", "[0,0],[1,0],[0,0]",
          "expected one bias value per filter" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3)','dilate':'(9,9)'", "[0,0],[1,0],[2,0]",
          "the kernel is larger than the padded input" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3)','num_group':'3'", "[0,0],[1,0],[2,0]",
          "num_group must divide" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3)','no_bias':'True'", "[0,0],[1,0],[2,0]",
          "no_bias is True, but there are 3 inputs" },
        { "Convolution", "'num_filter':'4','kernel':'(3,3)','layout':'NHWC'", "[0,0],[1,0],[2,0]",
          "'NHWC', which is not supported" },
        { "FullyConnected", "'num_hidden':'4'", "[0,0],[1,0],[2,0]", "the weight does not match" },
        { "FullyConnected", "'num_hidden':'0'", "[0,0],[1,0],[2,0]",
          "'num_hidden' has the invalid value '0'" },
        { "Activation", "", "[0,0]", "requires attribute 'act_type'" },
        { "Activation", "'act_type':'softrelu'", "[0,0]", "not supported" },
        { "Pooling", "", "[0,0]", "requires attribute 'kernel'" },
        { "Pooling", "'kernel':'(4,4)'", "[0,0]", "the window is larger than the padded input" },
        { "Pooling", "'kernel':'(2,2)','pad':'(2,2)'", "[0,0]", "padding must be smaller" },
        { "Pooling", "'kernel':'(2,2)'", "[2,0]", "expected four dimensions" },
        { "elemwise_add", "", "[0,0],[2,0]", "expected the same shape as input 0" },
        { "broadcast_add", "", "[0,0],[2,0]", "expected as many dimensions" },
        { "Concat", "'dim':'0'", "[0,0],[2,0]", "differs from input 0 in rank or in an axis" },
        { "Concat", "'dim':'7'", "[0,0],[0,0]", "unknown axis" },
        { "split", "'num_outputs':'3'", "[0,0]", "must be a positive multiple of num_outputs" },
        { "split", "'num_outputs':'2','squeeze_axis':'1'", "[0,0]", "parts of length 1" },
        { "Reshape", "'shape':'(5,-1)'", "[0,0]", "does not divide the number of elements" },
        { "Reshape", "'shape':'(-1,-1)'", "[0,0]", "two -1" },
        { "Reshape", "'shape':'(37,)'", "[0,0]", "a different number of elements" },
        { "Reshape", "'shape':'(1,1,1,1,1,1,1,1,36)'", "[0,0]", "too many dimensions" },
        { "Reshape", "'shape':'(-7,)'", "[0,0]", "does not match 4 dimensions" },
        { "transpose", "'axes':'(0,1,1,2)'", "[0,0]", "axes must contain each" },
        { "transpose", "'axes':'(0,1)'", "[0,0]", "wrong number of axes" },
        { "Cast", "", "[0,0]", "Cast requires attribute 'dtype'" },
        { "Cast", "'dtype':'complex64'", "[0,0]", "'dtype' has the invalid value 'complex64'" },
        { "Pad", "'pad_width':'(0,0,1,1)'", "[0,0]", "two numbers per dimension" },
        { "Pad", "'pad_width':'(0,0,0,0,-1,1,0,0)'", "[0,0]", "'pad_width' has the invalid value" },
        { "Pad", "'pad_width':'(0,0,0,0,3,0,0,0)','mode':'reflect'", "[0,0]",
          "not enough elements to pad with" },
        { "Pad", "'pad_width':'(99999999,0,99999999,0,99999999,0,0,0)'", "[0,0]",
          "larger than 4 GiB" },
        { "softmax", "'axis':'4'", "[0,0]", "unknown axis" },
        { "_plus_scalar", "", "[0,0]", "requires attribute 'scalar'" },
        { "_plus_scalar", "'scalar':'much'", "[0,0]", "'scalar' has the invalid value 'much'" },
        { "BatchNorm", "'axis':'9'", "[0,0],[2,0],[2,0],[2,0],[2,0]",
          "attribute 'axis' has the invalid value '9'" },
        { "BatchNorm", "", "[0,0],[2,0],[0,0],[2,0],[2,0]", "input 2 has the shape (1,4,3,3)" },
    };
    const struct mlu_shape shapes[3] = { { 4, { 1, 4, 3, 3 } },
                                         { 4, { 4, 4, 3, 3 } },
                                         { 1, { 4 } } };
    const struct mlu_array *args[8] = { 0 };
    struct mlu_array values[3];

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mlu_array_init(&values[i], MLU_DTYPE_FLOAT32, &shapes[i], NULL), 0);
        args[i] = &values[i];
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mlu_fuse_graph_executor executor = { 0 };
        struct mlu_symbol symbol;
        struct ntk_err err = { 0 };
        char text[1024];

        snprintf(text, sizeof text,
                 "{'nodes':[{'op':'null','name':'x','inputs':[]},"
                 "{'op':'null','name':'w','inputs':[]},{'op':'null','name':'v','inputs':[]},"
                 "{'op':'null','name':'none','inputs':[]},"
                 "{'op':'%s','name':'n','attrs':{%s},'inputs':[%s]}],'heads':[[4,0]]}",
                 rows[i].op, rows[i].attrs, rows[i].inputs);
        parse(text, &symbol);
        if (mlu_fuse_bind(&executor, &symbol, &counting, args, &err) >= 0 ||
            !strstr(err.text, rows[i].sentence)) {
            fail_msg("%s %s: %s", rows[i].op, rows[i].attrs, err.text);
        }
        mlu_fuse_graph_executor_fini(&executor);
        mlu_symbol_fini(&symbol);
        assert_nothing_is_left();
    }
    for (size_t i = 0; i < 3; i++) {
        mlu_array_fini(&values[i]);
    }
}

static void inputs_of_different_types_are_rejected(void **state)
{
    struct mlu_symbol symbol;
    struct graph_executor graph = { 0 };
    const struct mlu_type x = { MLU_DTYPE_FLOAT32, { 1, { 3 } } };
    const struct mlu_type y = { MLU_DTYPE_FLOAT16, { 1, { 3 } } };
    const struct mlu_type *types[3] = { &x, &y };
    struct ntk_err err = { 0 };

    parse("{'nodes':[{'op':'null','name':'x','inputs':[]},{'op':'null','name':'y','inputs':[]},"
          "{'op':'elemwise_add','name':'a','inputs':[[0,0],[1,0]]}],'heads':[[2,0]]}",
          &symbol);
    assert_int_equal(graph_executor_simple_bind(&graph, &symbol, &counting, types, &err), -EINVAL);
    assert_non_null(strstr(err.text, "input 1 is float16, but input 0 is float32"));
    graph_executor_fini(&graph);
    mlu_symbol_fini(&symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_segments_output_the_same_values_as_separate_operators),
        cmocka_unit_test(a_segment_runs_once_when_its_last_input_is_computed),
        cmocka_unit_test(simple_bind_accepts_shapes_and_later_values),
        cmocka_unit_test(mismatched_nodes_are_rejected_with_a_message),
        cmocka_unit_test(inputs_of_different_types_are_rejected),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
