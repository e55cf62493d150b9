/* SPDX-License-Identifier: MIT */
/*
 * Fusions: their results are the same bytes as those of the separate operators, and they move less
 * device memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/segment_abi.h"
#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

struct moved {
    uint64_t device; /* bytes to and from device memory, by executions */
    uint64_t host;   /* bytes from the host to devices */
};

/* Bytes moved by this process, according to its mapped segment. */
static struct moved moved_bytes(const char *folder)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    struct moved sum = { 0 };
    char line[512];

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        char *end;
        uintptr_t at = (uintptr_t)strtoull(line, &end, 16);
        const struct ntk_segment_header *header;

        if (!strstr(line, folder) || strstr(line, "soft") || !strstr(line, " 00000000 ")) {
            continue;
        }
        memcpy(&header, &at, sizeof header); /* an address that was read */
        if (header->magic != NTK_SEGMENT_MAGIC) {
            continue;
        }
        for (unsigned i = 0; i < NTK_SEGMENT_CORES; i++) {
            const struct ntk_segment_core *core =
                (const struct ntk_segment_core *)(const void *)((const char *)header +
                                                                header->section[NTK_SECTION_CORES]
                                                                    .offset) +
                i;

            sum.device += core->hbm_read_bytes + core->hbm_written_bytes;
            sum.host += core->host_to_device_bytes;
        }
        break;
    }
    (void)fclose(maps);
    return sum;
}
enum { OPS_MAX = 12 };

/* A chain of operators over tensors of one graph, which can run fused or separately. */
struct graph {
    struct data tensors[OPS_MAX + 1];
    int tensor_count;
    struct data consts[2 * OPS_MAX];
    int const_count;
    cnmlBaseOp_t ops[OPS_MAX];
    struct {
        int in[2], out;
        int kind; /* of the forward call */
    } edges[OPS_MAX];
    int op_count;
};

typedef cnmlStatus_t forward_one(cnmlBaseOp_t, void *, void *, cnrtInvokeFuncParam_t *,
                                 cnrtQueue_t);
enum { CONV, ACTIVE, POOL, SOFTMAX, MLP, SCALE, ADD, RESHAPE };
static forward_one *const forwards[] = {
    cnmlComputeConvOpForward,
    cnmlComputeActiveOpForward,
    cnmlComputePoolOpForward,
    cnmlComputeSoftmaxOpForward,
    cnmlComputeMlpOpForward,
    cnmlComputeScaleOpForward,
    NULL,
    cnmlComputeReshapeOpForward,
};

static int tensor_add(struct graph *g, struct shape shape, double *values)
{
    g->tensors[g->tensor_count] = data_make(CNML_TENSOR, F16, shape, values);
    return g->tensor_count++;
}

static cnmlTensor_t const_add(struct graph *g, cnmlTensorType_t type, struct shape shape)
{
    g->consts[g->const_count] =
        data_const(type, F16, shape, numbers(shape_elements(shape), (unsigned)g->const_count + 7));
    return g->consts[g->const_count++].tensor;
}

static cnmlBaseOp_t *op_add(struct graph *g, int kind, int a, int b, int out)
{
    g->edges[g->op_count].in[0] = a;
    g->edges[g->op_count].in[1] = b;
    g->edges[g->op_count].out = out;
    g->edges[g->op_count].kind = kind;
    return &g->ops[g->op_count++];
}

static int conv_add(struct graph *g, int from, int outputs, int kernel, int stride)
{
    struct shape in = g->tensors[from].shape;
    int pad = kernel - 1;
    int to = tensor_add(g,
                        (struct shape){ in.n, outputs, (in.h + pad - kernel) / stride + 1,
                                        (in.w + pad - kernel) / stride + 1 },
                        NULL);
    cnmlConvOpParam_t param = NULL;

    OK(cnmlCreateConvOpParam(&param, stride, stride, 1, 1, pad, pad, CNML_NoSparse));
    OK(cnmlCreateConvOp(op_add(g, CONV, from, -1, to), param, g->tensors[from].tensor,
                        g->tensors[to].tensor,
                        const_add(g, CNML_FILTER, (struct shape){ outputs, in.c, kernel, kernel }),
                        const_add(g, CNML_CONST, (struct shape){ 1, outputs, 1, 1 })));
    OK(cnmlDestroyConvOpParam(&param));
    return to;
}

static int active_add(struct graph *g, int from, cnmlActiveFunction_t function)
{
    int to = tensor_add(g, g->tensors[from].shape, NULL);

    OK(cnmlCreateActiveOp(op_add(g, ACTIVE, from, -1, to), function, g->tensors[from].tensor,
                          g->tensors[to].tensor));
    return to;
}

static int pool_add(struct graph *g, int from, cnmlPoolMode_t mode)
{
    struct shape in = g->tensors[from].shape;
    int to = tensor_add(g, (struct shape){ in.n, in.c, (in.h + 1) / 2, (in.w + 1) / 2 }, NULL);
    cnmlPoolOpParam_t param = NULL;

    OK(cnmlCreatePoolOpParam(&param, 2, 2, 2, 2, 0, 0, 0, 0, mode, CNML_POOL_KFULL, true));
    OK(cnmlCreatePoolOp(op_add(g, POOL, from, -1, to), param, g->tensors[from].tensor,
                        g->tensors[to].tensor));
    OK(cnmlDestroyPoolOpParam(&param));
    return to;
}

static int scale_add(struct graph *g, int from)
{
    struct shape in = g->tensors[from].shape;
    int to = tensor_add(g, in, NULL);

    OK(cnmlCreateScaleOp(op_add(g, SCALE, from, -1, to), g->tensors[from].tensor,
                         g->tensors[to].tensor,
                         const_add(g, CNML_CONST, (struct shape){ 1, in.c, 1, 1 }),
                         const_add(g, CNML_CONST, (struct shape){ 1, in.c, 1, 1 })));
    return to;
}

static int sum_add(struct graph *g, int a, int b)
{
    int to = tensor_add(g, g->tensors[a].shape, NULL);

    OK(cnmlCreateAddOp(op_add(g, ADD, a, b, to), g->tensors[a].tensor, g->tensors[b].tensor,
                       g->tensors[to].tensor));
    return to;
}

static int mlp_add(struct graph *g, int from, int outputs)
{
    struct shape in = g->tensors[from].shape;
    int to = tensor_add(g, (struct shape){ in.n, outputs, 1, 1 }, NULL);

    OK(cnmlCreateMlpOp(op_add(g, MLP, from, -1, to), g->tensors[from].tensor, g->tensors[to].tensor,
                       const_add(g, CNML_FILTER, (struct shape){ outputs, in.c, in.h, in.w }),
                       const_add(g, CNML_CONST, (struct shape){ 1, outputs, 1, 1 }),
                       CNML_NoSparse));
    return to;
}

static int softmax_add(struct graph *g, int from)
{
    int to = tensor_add(g, g->tensors[from].shape, NULL);

    OK(cnmlCreateSoftmaxOp(op_add(g, SOFTMAX, from, -1, to), CNML_SOFTMAX_DIM_C,
                           g->tensors[from].tensor, g->tensors[to].tensor));
    return to;
}

static uint8_t *raw(const struct data *data, size_t *out_bytes)
{
    uint8_t *bytes;

    *out_bytes = shape_elements(data->shape) * 2;
    bytes = malloc(*out_bytes);
    assert_non_null(bytes);
    assert_int_equal(cnrtMemcpy(bytes, data->device, *out_bytes, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_SUCCESS);
    return bytes;
}

static void run_one_by_one(struct graph *g, cnrtQueue_t queue)
{
    for (int i = 0; i < g->op_count; i++) {
        OK(cnmlCompileBaseOp(g->ops[i], CNML_MLU270, 1));
    }
    data_send(&g->tensors[0]);
    for (int i = 1; i < g->tensor_count; i++) {
        data_place(&g->tensors[i]);
    }
    for (int i = 0; i < g->op_count; i++) {
        void *a = g->tensors[g->edges[i].in[0]].device;
        void *out = g->tensors[g->edges[i].out].device;

        if (g->edges[i].kind == ADD) {
            OK(cnmlComputeAddOpForward(g->ops[i], a, g->tensors[g->edges[i].in[1]].device, out,
                                       NULL, queue));
        } else {
            OK(forwards[g->edges[i].kind](g->ops[i], a, out, NULL, queue));
        }
    }
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
}

static void graph_free(struct graph *g)
{
    for (int i = 0; i < g->op_count; i++) {
        OK(cnmlDestroyBaseOp(&g->ops[i]));
    }
    for (int i = 0; i < g->const_count; i++) {
        data_free(&g->consts[i]);
    }
    for (int i = 0; i < g->tensor_count; i++) {
        data_free(&g->tensors[i]);
    }
}

static void small(struct graph *g)
{
    int x = tensor_add(g, (struct shape){ 1, 16, 12, 12 }, numbers(16 * 144, 1));

    (void)active_add(g, conv_add(g, x, 24, 3, 1), CNML_ACTIVE_SIGMOID);
}

/* Two paths that meet, then a classifier: everything that can be in the state buffer. */
static void residual(struct graph *g)
{
    int x = tensor_add(g, (struct shape){ 2, 130, 14, 14 }, numbers(2 * 130 * 196, 1));
    int a = active_add(g, scale_add(g, conv_add(g, x, 130, 3, 1)), CNML_ACTIVE_RELU);
    int b = sum_add(g, conv_add(g, a, 130, 1, 1), x);

    (void)softmax_add(
        g, mlp_add(g, pool_add(g, active_add(g, b, CNML_ACTIVE_RELU6), CNML_POOL_AVG), 40));
}

/* More between two operators than fits into the state buffer. */
static void large(struct graph *g)
{
    int x = tensor_add(g, (struct shape){ 1, 3, 224, 224 }, numbers(3 * 224 * 224, 1));
    int a = active_add(g, conv_add(g, x, 32, 3, 1), CNML_ACTIVE_RELU);
    int b = active_add(g, conv_add(g, pool_add(g, a, CNML_POOL_MAX), 64, 3, 2), CNML_ACTIVE_TANH);

    (void)pool_add(g, b, CNML_POOL_MAX);
}

static void fused_operators_match_separate_operators(void **state)
{
    void (*const builds[])(struct graph *) = { small, residual, large };

    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        struct graph apart = { 0 };
        struct graph fused = { 0 };
        struct data *last;
        cnrtQueue_t queue = NULL;
        cnmlFusionOp_t fusion = NULL;
        uint8_t *expected;
        uint8_t *got;
        size_t bytes;
        uint64_t before;
        uint64_t apart_bytes;
        uint64_t fused_bytes;
        int64_t sizes[3];

        assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
        builds[i](&apart);
        builds[i](&fused);
        before = moved_bytes(*state).device;
        run_one_by_one(&apart, queue);
        apart_bytes = moved_bytes(*state).device - before;
        expected = raw(&apart.tensors[apart.tensor_count - 1], &bytes);
        /* The result is not constant. */
        assert_true(memcmp(expected, expected + 2, bytes - 2) != 0);

        last = &fused.tensors[fused.tensor_count - 1];
        OK(cnmlCreateFusionOp(&fusion));
        for (int k = 0; k < fused.op_count; k++) {
            OK(cnmlFuseOp(fused.ops[k], fusion));
        }
        OK(cnmlSetFusionIO(fusion, &fused.tensors[0].tensor, 1, &last->tensor, 1));
        OK(cnmlCompileFusionOp(fusion, CNML_MLU270, 1));
        OK(cnmlGetFusionMaxMemUsed(fusion, &sizes[0], &sizes[1], &sizes[2]));
        data_send(&fused.tensors[0]);
        data_place(last);
        OK(cnmlComputeFusionOpForward(fusion, &fused.tensors[0].device, 1, &last->device, 1, NULL,
                                      queue));
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        fused_bytes = moved_bytes(*state).device - before - apart_bytes;
        got = raw(last, &bytes);
        print_message("  %llu bytes one by one, %llu fused\n", (unsigned long long)apart_bytes,
                      (unsigned long long)fused_bytes);
        assert_true(fused_bytes > 0 && fused_bytes < apart_bytes);
        assert_memory_equal(got, expected, bytes);
        free(got);
        free(expected);
        OK(cnmlDestroyFusionOp(&fusion));
        graph_free(&apart);
        graph_free(&fused);
        assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
    }
}

/* A tensor that leaves the fusion and is also used inside; IO in the order of the client. */
static void intermediate_tensors_may_be_outputs_of_a_fusion(void **state)
{
    struct graph apart = { 0 };
    struct graph fused = { 0 };
    cnrtQueue_t queue = NULL;
    cnmlFusionOp_t fusion = NULL;
    cnmlTensor_t outputs[2];
    void *devices[2];
    int middle;
    int last;

    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    residual(&apart);
    residual(&fused);
    run_one_by_one(&apart, queue);
    last = fused.tensor_count - 1;
    middle = 3;
    OK(cnmlCreateFusionOp(&fusion));
    for (int k = 0; k < fused.op_count; k++) {
        OK(cnmlFuseOp(fused.ops[k], fusion));
    }
    outputs[0] = fused.tensors[last].tensor;
    outputs[1] = fused.tensors[middle].tensor;
    OK(cnmlSetFusionIO(fusion, &fused.tensors[0].tensor, 1, outputs, 2));
    OK(cnmlCompileFusionOp(fusion, CNML_MLU270, 1));
    data_send(&fused.tensors[0]);
    data_place(&fused.tensors[last]);
    data_place(&fused.tensors[middle]);
    devices[0] = fused.tensors[last].device;
    devices[1] = fused.tensors[middle].device;
    OK(cnmlComputeFusionOpForward(fusion, &fused.tensors[0].device, 1, devices, 2, NULL, queue));
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    for (int i = 0; i < 2; i++) {
        int which = i == 0 ? last : middle;
        size_t bytes;
        uint8_t *expected = raw(&apart.tensors[which], &bytes);
        uint8_t *got = raw(&fused.tensors[which], &bytes);

        assert_memory_equal(got, expected, bytes);
        free(got);
        free(expected);
    }
    OK(cnmlDestroyFusionOp(&fusion));
    graph_free(&apart);
    graph_free(&fused);
    assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
}

/* Compiled instructions are in host memory: each forward copies them to the device. */
static void every_forward_call_copies_its_instructions_to_the_device(void **state)
{
    struct graph g = { 0 };
    cnrtQueue_t queue = NULL;
    uint64_t before;
    int64_t sizes[3];

    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    small(&g);
    run_one_by_one(&g, queue);
    OK(cnmlGetMaxMemUsed(g.ops[0], &sizes[0], &sizes[1], &sizes[2]));
    for (int i = 0; i < 2; i++) {
        before = moved_bytes(*state).host;
        OK(cnmlComputeConvOpForward(g.ops[0], g.tensors[0].device, g.tensors[1].device, NULL,
                                    queue));
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        assert_true(moved_bytes(*state).host - before == (uint64_t)sizes[1]);
    }
    graph_free(&g);
    assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(intermediate_tensors_may_be_outputs_of_a_fusion),
        CLIENTS_TEST(every_forward_call_copies_its_instructions_to_the_device),
        CLIENTS_TEST(fused_operators_match_separate_operators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
