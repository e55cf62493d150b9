/* SPDX-License-Identifier: MIT */
/* Errors of a program: each gets its status, and has no other effect. */
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

#define IS(call, status) assert_int_equal((call), CNML_STATUS_##status)

static const struct shape shape = { 1, 4, 3, 3 };

struct relu {
    struct data in, out;
    cnmlBaseOp_t op;
    cnrtQueue_t queue;
};

static struct relu relu_make(void)
{
    struct relu relu = { .in = data_make(CNML_TENSOR, CNML_DATA_FLOAT16, shape, numbers(36, 1)),
                         .out = data_result(CNML_DATA_FLOAT16, shape) };

    OK(cnmlCreateActiveOp(&relu.op, CNML_ACTIVE_RELU, relu.in.tensor, relu.out.tensor));
    assert_int_equal(cnrtCreateQueue(&relu.queue), CNRT_RET_SUCCESS);
    return relu;
}

static void relu_free(struct relu *relu)
{
    if (relu->op) {
        OK(cnmlDestroyBaseOp(&relu->op));
    }
    assert_int_equal(cnrtDestroyQueue(relu->queue), CNRT_RET_SUCCESS);
    data_free(&relu->in);
    data_free(&relu->out);
}

static void invalid_tensors_are_rejected(void **state)
{
    cnmlTensor_t tensor = NULL;
    cnmlCpuTensor_t cpu = NULL;
    int dims[5] = { 1, 2, 3, 4, 5 };

    IS(cnmlCreateTensor(NULL, CNML_TENSOR, CNML_DATA_FLOAT16, 1, 1, 1, 1), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, CNML_DATA_FLOAT16, 1, 0, 1, 1), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, CNML_DATA_FLOAT16, 1, -4, -4, 1), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, CNML_DATA_FLOAT16, 65536, 65536, 2, 2), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, (cnmlTensorType_t)7, CNML_DATA_FLOAT16, 1, 1, 1, 1), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, CNML_DATA_INVALID, 1, 1, 1, 1), INVALIDARG);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, (cnmlDataType_t)14, 1, 1, 1, 1), UNSUPPORT);
    IS(cnmlCreateTensor(&tensor, CNML_TENSOR, (cnmlDataType_t)99, 1, 1, 1, 1), INVALIDARG);
    IS(cnmlCreateCpuTensor(&cpu, CNML_TENSOR, CNML_DATA_FLOAT32, (cnmlDataOrder_t)24, 1, 1, 1, 1),
       INVALIDARG);
    assert_null(tensor);
    assert_null(cpu);
    IS(cnmlDestroyTensor(&tensor), INVALIDARG);
    IS(cnmlDestroyTensor(NULL), INVALIDARG);
    IS(cnmlDestroyCpuTensor(&cpu), INVALIDARG);
    assert_int_equal(cnmlGetTensorSize(NULL), 0);
    assert_int_equal(cnmlGetTensorDataType(NULL), CNML_DATA_INVALID);
    cnmlGetTensorShape(NULL, dims);
    IS(cnmlSetFix8Position(NULL, 0), INVALIDARG);
    OK(cnmlCreateTensor(&tensor, CNML_TENSOR, CNML_DATA_FIX8, 1, 1, 1, 1));
    IS(cnmlSetFix8Position(tensor, 1000), OUTOFRANGE);
    IS(cnmlSetQuantizedScale(tensor, 0), OUTOFRANGE);
    IS(cnmlSetQuantizedPositionByChannel(tensor, dims, 1), INVALIDARG);
    OK(cnmlDestroyTensor(&tensor));
}

static void missing_and_invalid_constants_are_rejected(void **state)
{
    struct data in = data_make(CNML_TENSOR, CNML_DATA_FLOAT16, shape, numbers(36, 1));
    struct data out = data_result(CNML_DATA_FLOAT16, (struct shape){ 1, 2, 3, 3 });
    struct data filter =
        data_make(CNML_FILTER, CNML_DATA_FLOAT16, (struct shape){ 2, 4, 1, 1 }, numbers(8, 2));
    cnmlConvOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    IS(cnmlBindConstData(NULL, filter.cpu, filter.host), INVALIDPARAM);
    IS(cnmlBindConstData(filter.tensor, NULL, filter.host), INVALIDPARAM);
    IS(cnmlBindConstData(filter.tensor, filter.cpu, NULL), INVALIDPARAM);
    IS(cnmlBindConstData(in.tensor, in.cpu, in.host), INVALIDPARAM);     /* not a constant */
    IS(cnmlBindConstData(filter.tensor, in.cpu, in.host), INVALIDPARAM); /* another shape */
    OK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 0, 0, CNML_NoSparse));
    IS(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, NULL, NULL), INVALIDPARAM);
    IS(cnmlCreateConvOp(&op, NULL, in.tensor, out.tensor, filter.tensor, NULL), INVALIDARG);
    IS(cnmlCreateConvOp(&op, param, NULL, out.tensor, filter.tensor, NULL), INVALIDPARAM);
    IS(cnmlCreateConvOp(NULL, param, in.tensor, out.tensor, filter.tensor, NULL), INVALIDARG);
    IS(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, in.tensor, NULL), INVALIDPARAM);
    OK(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, filter.tensor, NULL));
    IS(cnmlCompileBaseOp(op, CNML_MLU270, 1), INVALIDPARAM);
    OK(cnmlBindConstData(filter.tensor, filter.cpu, filter.host));
    OK(cnmlCompileBaseOp(op, CNML_MLU270, 1));
    IS(cnmlBindConstData(filter.tensor, filter.cpu, filter.host), INVALIDPARAM); /* too late */
    OK(cnmlDestroyBaseOp(&op));
    OK(cnmlDestroyConvOpParam(&param));
    IS(cnmlDestroyConvOpParam(&param), INVALIDARG);
    data_free(&in);
    data_free(&out);
    data_free(&filter);
}

static void mismatched_shapes_are_rejected(void **state)
{
    struct data in = data_make(CNML_TENSOR, CNML_DATA_FLOAT16, shape, numbers(36, 1));
    struct data small = data_result(CNML_DATA_FLOAT16, (struct shape){ 1, 4, 2, 3 });
    struct data filter =
        data_const(CNML_FILTER, CNML_DATA_FLOAT16, (struct shape){ 4, 4, 3, 3 }, numbers(144, 2));
    struct data bytes = data_result(CNML_DATA_UINT8, shape);
    cnmlConvOpParam_t conv = NULL;
    cnmlPoolOpParam_t pool = NULL;
    cnmlBaseOp_t op = NULL;
    cnmlTensor_t none[2] = { NULL, NULL };
    cnmlConcatOpParam_t concat = NULL;
    int dims[4];

    OK(cnmlCreateActiveOp(&op, CNML_ACTIVE_RELU, in.tensor, small.tensor));
    IS(cnmlCheckBaseOpRunnable(op, CNML_MLU270), INVALIDPARAM);
    IS(cnmlCompileBaseOp(op, CNML_MLU270, 1), INVALIDPARAM);
    OK(cnmlDestroyBaseOp(&op));
    OK(cnmlCreateConvOpParam(&conv, 1, 1, 1, 1, 0, 0, CNML_NoSparse));
    OK(cnmlCreateConvOp(&op, conv, in.tensor, small.tensor, filter.tensor, NULL));
    IS(cnmlCompileBaseOp(op, CNML_MLU270, 1), INVALIDPARAM);
    OK(cnmlDestroyBaseOp(&op));
    OK(cnmlCreatePoolOpParam(&pool, 5, 5, 1, 1, 0, 0, 0, 0, CNML_POOL_MAX, CNML_POOL_KFULL, false));
    IS(cnmlGetPoolOpOutputDim(in.tensor, pool, &dims[0], &dims[1], &dims[2], &dims[3]),
       INVALIDPARAM); /* the window is larger than the input */
    IS(cnmlGetPoolOpOutputDim(in.tensor, NULL, &dims[0], &dims[1], &dims[2], &dims[3]), INVALIDARG);
    OK(cnmlDestroyPoolOpParam(&pool));
    IS(cnmlCreatePoolOpParam(&pool, 2, 2, 0, 1, 0, 0, 0, 0, CNML_POOL_MAX, CNML_POOL_KFULL, false),
       INVALIDARG);
    IS(cnmlCreatePoolOpParam(&pool, 2, 2, 1, 1, 0, 0, 0, 0, (cnmlPoolMode_t)4, CNML_POOL_KFULL,
                             false),
       UNSUPPORT);
    IS(cnmlCreateConvOpParam(&conv, 1, 1, 1 << 30, 1, 0, 0, CNML_NoSparse), INVALIDARG);
    IS(cnmlCreateConvOpParam(&conv, 1, 1, 1, 1, -2, 0, CNML_NoSparse), INVALIDARG);
    IS(cnmlCreateConvOpParam(&conv, 1, 1, 1, 1, 0, 0, (cnmlSparseMode_t)2), INVALIDARG);
    IS(cnmlCreateActiveOp(&op, (cnmlActiveFunction_t)7, in.tensor, small.tensor), INVALIDARG);
    IS(cnmlCreateSoftmaxOp(&op, (cnmlSoftmaxDim_t)0, in.tensor, small.tensor), INVALIDARG);
    IS(cnmlCreateCastOp(&op, CNML_CAST_FLOAT16_TO_FLOAT32, in.tensor, bytes.tensor), BADCAST);
    IS(cnmlCreateCastOp(&op, (cnmlCastType_t)50, in.tensor, bytes.tensor), INVALIDARG);
    IS(cnmlCreateConcatOpParam(&concat, 2, 2, CNML_CONCAT_FEAT), INVALIDARG);
    OK(cnmlCreateConcatOpParam(&concat, 2, 1, CNML_CONCAT_FEAT));
    IS(cnmlCreateConcatOp(&op, concat, none, 2, &small.tensor, 1), INVALIDPARAM);
    IS(cnmlCreateConcatOp(&op, concat, NULL, 2, &small.tensor, 1), INVALIDARG);
    IS(cnmlCreateConcatOp(&op, concat, none, 3, &small.tensor, 1), INVALIDARG);
    assert_null(op);
    OK(cnmlDestroyConcatOpParam(&concat));
    OK(cnmlDestroyConvOpParam(&conv));
    data_free(&in);
    data_free(&small);
    data_free(&filter);
    data_free(&bytes);
}

static void calls_in_the_wrong_order_are_rejected(void **state)
{
    struct relu relu = relu_make();
    int64_t sizes[3];

    assert_null(cnmlMallocBuffer(relu.in.tensor));
    IS(cnmlComputeActiveOpForward(relu.op, &sizes, &sizes, NULL, relu.queue), INVALIDPARAM);
    IS(cnmlGetMaxMemUsed(relu.op, &sizes[0], &sizes[1], &sizes[2]), INVALIDPARAM);
    IS(cnmlCompileBaseOp(relu.op, (cnmlCoreVersion_t)0, 1), INVALIDARG);
    IS(cnmlCompileBaseOp(relu.op, CNML_MLU270, 0), INVALIDPARAM);
    IS(cnmlCompileBaseOp(NULL, CNML_MLU270, 1), INVALIDARG);
    OK(cnmlCompileBaseOp(relu.op, CNML_MLU270, 1));
    OK(cnmlCompileBaseOp(relu.op, CNML_MLU270, 1)); /* again: no effect */
    OK(cnmlGetMaxMemUsed(relu.op, &sizes[0], &sizes[1], &sizes[2]));
    assert_true(sizes[0] == sizes[1] + sizes[2] && sizes[1] > 0 && sizes[2] == 2 * 36 * 2);
    IS(cnmlSetFix8Position(relu.in.tensor, 1), INVALIDPARAM);
    IS(cnmlEnableConvOpFix8Mode(relu.op), INVALIDPARAM);
    IS(cnmlEnableConvOpFix8Mode(NULL), INVALIDARG);
    relu_free(&relu);
}

static void forward_calls_with_invalid_memory_are_rejected(void **state)
{
    struct relu relu = relu_make();
    cnrtInvokeFuncParam_t how = { .end = CNRT_PARAM_END };
    int parts = 2;
    unsigned clusters = 1U << 30;
    void *small = NULL;
    float host[64];

    OK(cnmlCompileBaseOp(relu.op, CNML_MLU270, 1));
    data_send(&relu.in);
    data_place(&relu.out);
    IS(cnmlComputeActiveOpForward(relu.op, NULL, relu.out.device, NULL, relu.queue), INVALIDPARAM);
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, NULL, NULL, relu.queue), INVALIDPARAM);
    IS(cnmlComputeActiveOpForward(NULL, relu.in.device, relu.out.device, NULL, relu.queue),
       INVALIDPARAM);
    IS(cnmlComputeActiveOpForward(relu.op, host, relu.out.device, NULL, relu.queue), INVALIDARG);
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, relu.out.device, NULL, NULL), NODEVICE);
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, relu.out.device, NULL,
                                  (cnrtQueue_t)(void *)host),
       NODEVICE);
    IS(cnmlComputeAddOpForward(relu.op, relu.in.device, relu.in.device, relu.out.device, NULL,
                               relu.queue),
       INVALIDPARAM); /* an operator of one input */
    assert_int_equal(cnrtMalloc(&small, 8), CNRT_RET_SUCCESS);
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, small, NULL, relu.queue), INVALIDARG);
    how.data_parallelism = &parts; /* the buffers have room for one */
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, relu.out.device, &how, relu.queue),
       INVALIDARG);
    parts = 0;
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, relu.out.device, &how, relu.queue),
       INVALIDARG);
    how.data_parallelism = NULL;
    how.affinity = &clusters; /* a cluster that is not present */
    IS(cnmlComputeActiveOpForward(relu.op, relu.in.device, relu.out.device, &how, relu.queue),
       INVALIDARG);
    IS(cnmlMemcpyTensorToDevice(relu.in.cpu, relu.in.host, relu.in.tensor, host), INVALIDARG);
    IS(cnmlMemcpyTensorToDevice(relu.in.cpu, relu.in.host, relu.in.tensor, small), OUTOFRANGE);
    IS(cnmlMemcpyTensorToHost(relu.out.tensor, NULL, relu.out.cpu, relu.out.host), INVALIDARG);
    IS(cnmlMemcpyBatchTensorToHost(relu.out.tensor, relu.out.device, relu.out.cpu, relu.out.host,
                                   0),
       INVALIDARG);
    IS(cnmlFreeBuffer(host), INVALIDARG);
    OK(cnmlFreeBuffer(NULL));
    OK(cnmlFreeBuffer(small));
    relu_free(&relu);
}

static void invalid_fusions_are_rejected(void **state)
{
    struct relu first = relu_make();
    struct data end = data_result(CNML_DATA_FLOAT16, shape);
    cnmlBaseOp_t second = NULL;
    cnmlFusionOp_t fusion = NULL;
    cnmlFusionOp_t other = NULL;

    OK(cnmlCreateActiveOp(&second, CNML_ACTIVE_SIGMOID, first.out.tensor, end.tensor));
    OK(cnmlCreateFusionOp(&fusion));
    OK(cnmlCreateFusionOp(&other));
    IS(cnmlCreateFusionOp(NULL), INVALIDARG);
    IS(cnmlCompileFusionOp(fusion, CNML_MLU270, 1), INVALIDPARAM); /* empty */
    OK(cnmlFuseOp(second, fusion));
    IS(cnmlFuseOp(second, fusion), INVALIDARG);
    IS(cnmlFuseOp(second, other), INVALIDARG); /* belongs to one already */
    IS(cnmlFuseOp(NULL, fusion), INVALIDARG);
    IS(cnmlCompileBaseOp(second, CNML_MLU270, 1), INVALIDPARAM);
    OK(cnmlSetFusionIO(fusion, &first.in.tensor, 1, &end.tensor, 1));
    /* No operator produces its input. */
    IS(cnmlCompileFusionOp(fusion, CNML_MLU270, 1), INVALIDPARAM);
    OK(cnmlFuseOp(first.op, fusion));
    IS(cnmlCompileFusionOp(fusion, CNML_MLU270, 1), INVALIDPARAM); /* it is produced too late */
    OK(cnmlDestroyFusionOp(&fusion));

    /* Their fusion is gone, so they can be used in the next one. */
    OK(cnmlFuseOp(first.op, other));
    OK(cnmlFuseOp(second, other));
    IS(cnmlSetFusionIO(other, &first.in.tensor, 1, &end.tensor, 0), INVALIDARG);
    OK(cnmlAddFusionInput(other, first.in.tensor));
    IS(cnmlAddFusionInput(other, first.in.tensor), INVALIDARG);
    OK(cnmlAddFusionOutput(other, end.tensor));
    IS(cnmlComputeFusionOpForward(other, &first.in.device, 1, &end.device, 1, NULL, first.queue),
       INVALIDPARAM); /* not compiled */
    OK(cnmlCompileFusionOp(other, CNML_MLU270, 1));
    OK(cnmlCompileFusionOp(other, CNML_MLU270, 1));
    IS(cnmlAddFusionOutput(other, first.out.tensor), INVALIDPARAM);
    IS(cnmlSetFusionIO(other, &first.in.tensor, 1, &end.tensor, 1), INVALIDPARAM);
    data_send(&first.in);
    data_place(&end);
    IS(cnmlComputeFusionOpForward(other, &first.in.device, 2, &end.device, 1, NULL, first.queue),
       INVALIDARG);
    IS(cnmlComputeFusionOpForward(other, &first.in.device, 1, &end.device, 0, NULL, first.queue),
       INVALIDARG);
    IS(cnmlComputeFusionOpForward(other, NULL, 1, &end.device, 1, NULL, first.queue), INVALIDPARAM);
    OK(cnmlDestroyFusionOp(&other));
    IS(cnmlDestroyFusionOp(&other), INVALIDARG);
    OK(cnmlDestroyBaseOp(&second));
    data_free(&end);
    relu_free(&first);
}

/* Method: destroys everything that a client may destroy after compilation, then calls the
 * forward. */
static void compiled_operators_run_after_their_inputs_are_destroyed(void **state)
{
    struct data in = data_make(CNML_TENSOR, CNML_DATA_FLOAT16, shape, numbers(36, 1));
    struct data filter =
        data_const(CNML_FILTER, CNML_DATA_FLOAT16, (struct shape){ 2, 4, 1, 1 }, numbers(8, 2));
    struct data out = data_result(CNML_DATA_FLOAT16, (struct shape){ 1, 2, 3, 3 });
    struct ref_conv ref = { 1, 1, 1, 1, 0, 0, 1, 1, 1 };
    cnmlConvOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;
    cnrtQueue_t queue = NULL;
    double expected[18];

    ref_conv(&ref, in.shape, in.values, out.shape, expected, filter.values, NULL);
    OK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 0, 0, CNML_NoSparse));
    OK(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, filter.tensor, NULL));
    OK(cnmlDestroyConvOpParam(&param));
    OK(cnmlCompileBaseOp(op, CNML_MLU270, 1));
    data_send(&in);
    data_place(&out);
    memset(filter.host, 0, 8 * sizeof *filter.host);
    data_free(&filter);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    OK(cnmlComputeConvOpForward(op, in.device, out.device, NULL, queue));
    OK(cnmlDestroyBaseOp(&op)); /* the task may not have run yet */
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    data_fetch(&out);
    expect_near(&out, expected, 1e-3);
    assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
    data_free(&in);
    data_free(&out);
}

/* Method: saved to memory, loaded by the runtime, invoked there: the same result as the
 * operator. */
static void a_saved_operator_runs_without_the_library(void **state)
{
    struct relu relu = relu_make();
    cnmlModel_t model = NULL;
    cnrtModel_t loaded = NULL;
    cnrtFunction_t function = NULL;
    uint64_t size = 0;
    char *memory;
    void *params[2];
    cnrtDim3_t dim = { 1, 1, 1 };
    double expected[36];

    IS(cnmlCreateModel(NULL, "net"), INVALIDARG);
    OK(cnmlCreateModel(&model, "net"));
    IS(cnmlSaveModelToMem(model, NULL, 0, &size), INVALIDARG); /* empty */
    IS(cnmlAddBaseOpToModel(model, relu.op, "relu"), INVALIDPARAM);
    IS(cnmlAddBaseOpToModel(model, NULL, "relu"), INVALIDARG);
    OK(cnmlCompileBaseOp(relu.op, CNML_MLU270, 1));
    IS(cnmlAddBaseOpToModel(model, relu.op, ""), INVALIDARG);
    OK(cnmlAddBaseOpToModel(model, relu.op, "relu"));
    OK(cnmlAddBaseOpToModel(model, relu.op, NULL));
    IS(cnmlSaveModelToMem(model, NULL, 0, &size), LENGTHERR);
    assert_true(size > 0);
    memory = malloc(size); /* NOLINT(*UnixAPI): above 0 */
    assert_non_null(memory);
    IS(cnmlSaveModelToMem(model, memory, size - 1, &size), LENGTHERR);
    OK(cnmlSaveModelToMem(model, memory, size, &size));
    IS(cnmlSaveModel(model, "/nowhere/at/all"), INVALIDARG);
    OK(cnmlAddBaseOpToModel(model, relu.op, "relu"));
    IS(cnmlSaveModelToMem(model, memory, size, &size), INVALIDARG); /* the same name twice */
    OK(cnmlDestroyModel(model));

    assert_int_equal(cnrtLoadModelFromMem(&loaded, memory), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateFunction(&function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtExtractFunction(&function, loaded, "relu"), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitFunctionMemory_V2(function, NULL), CNRT_RET_SUCCESS);
    data_send(&relu.in);
    data_place(&relu.out);
    params[0] = relu.in.device;
    params[1] = relu.out.device;
    assert_int_equal(
        cnrtInvokeFunction_V2(function, dim, params, CNRT_FUNC_TYPE_BLOCK, relu.queue, NULL),
        CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncQueue(relu.queue), CNRT_RET_SUCCESS);
    data_fetch(&relu.out);
    for (int i = 0; i < 36; i++) {
        expected[i] = relu.in.values[i] > 0 ? relu.in.values[i] : 0;
    }
    expect_near(&relu.out, expected, 0);
    assert_int_equal(cnrtDestroyFunction(function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtUnloadModel(loaded), CNRT_RET_SUCCESS);
    free(memory);
    relu_free(&relu);
}

static void calls_before_initialisation_report_no_device(void **state)
{
    struct data in;
    struct data out;
    cnmlBaseOp_t op = NULL;

    OK(cnmlExit());
    in = data_make(CNML_TENSOR, CNML_DATA_FLOAT16, shape, numbers(36, 1));
    out = data_result(CNML_DATA_FLOAT16, shape);
    OK(cnmlCreateActiveOp(&op, CNML_ACTIVE_RELU, in.tensor, out.tensor));
    IS(cnmlCompileBaseOp(op, CNML_MLU270, 1), NODEVICE);
    IS(cnmlInit(3), INVALIDARG);
    OK(cnmlInit(0));
    OK(cnmlInit(0));
    OK(cnmlCompileBaseOp(op, CNML_MLU270, 1));
    OK(cnmlDestroyBaseOp(&op));
    data_free(&in);
    data_free(&out);
    OK(cnmlExit());
    OK(cnmlExit());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(invalid_tensors_are_rejected),
        CLIENTS_TEST(missing_and_invalid_constants_are_rejected),
        CLIENTS_TEST(mismatched_shapes_are_rejected),
        CLIENTS_TEST(calls_in_the_wrong_order_are_rejected),
        CLIENTS_TEST(forward_calls_with_invalid_memory_are_rejected),
        CLIENTS_TEST(invalid_fusions_are_rejected),
        CLIENTS_TEST(compiled_operators_run_after_their_inputs_are_destroyed),
        CLIENTS_TEST(a_saved_operator_runs_without_the_library),
        CLIENTS_TEST(calls_before_initialisation_report_no_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
