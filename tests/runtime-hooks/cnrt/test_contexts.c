/* SPDX-License-Identifier: MIT */
/* Offline models in runtime contexts, as programs of the third generation run them. */
#include "neuware/g3/cnrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/runtime-hooks/cnrt/offline.h"
#include "tests/support/unit.h"

static cnrtFunction_t function_of(cnrtModel_t model, const char *symbol)
{
    cnrtFunction_t function = NULL;

    assert_int_equal(cnrtCreateFunction(&function), CNRT_RET_SUCCESS);
    cnrtFunction_t created = function;
    assert_int_equal(cnrtExtractFunction(&function, model, symbol), CNRT_RET_SUCCESS);
    assert_ptr_equal(function, created);
    return function;
}

static cnrtModel_t model_of(void **state)
{
    struct cards *cards = *state;
    char *path = offline_write(cards->folder, "adder.mlu");
    cnrtModel_t model = NULL;

    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_SUCCESS);
    free(path);
    return model;
}

static void a_runtime_context_runs_its_function_on_its_device(void **state)
{
    static float x[TEST_MODEL_ELEMENTS];
    static float y[TEST_MODEL_ELEMENTS];
    cnrtModel_t model = model_of(state);
    cnrtFunction_t function = function_of(model, "subnet0");
    cnrtRuntimeContext_t context = NULL;
    cnrtQueue_t queue = NULL;
    int64_t *inputs = NULL;
    int64_t *outputs = NULL;
    int input_count = 0;
    int output_count = 0;
    void *params[2] = { NULL, NULL };
    cnrtDev_t dev = 0;

    assert_int_equal(cnrtGetInputDataSize(&inputs, &input_count, function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetOutputDataSize(&outputs, &output_count, function), CNRT_RET_SUCCESS);
    assert_int_equal(input_count, 1);
    assert_int_equal(output_count, 1);
    assert_int_equal(inputs[0], TEST_MODEL_BYTES);
    assert_int_equal(outputs[0], TEST_MODEL_BYTES);
    assert_int_equal(cnrtCreateRuntimeContext(&context, function, NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtRuntimeContextCreateQueue(context, &queue), CNRT_RET_ERR_FUNC_CALL);
    assert_int_equal(cnrtSetRuntimeContextDeviceId(context, 4), CNRT_RET_ERR_NODEV);
    assert_int_equal(cnrtSetRuntimeContextDeviceId(context, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInitRuntimeContext(context, NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetRuntimeContextDeviceId(context, 0), CNRT_RET_ERR_FUNC_CALL);
    assert_int_equal(cnrtRuntimeContextCreateQueue(context, &queue), CNRT_RET_SUCCESS);
    /* A context no longer needs its function and model. */
    assert_int_equal(cnrtDestroyFunction(function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtUnloadModel(model), CNRT_RET_SUCCESS);

    assert_int_equal(cnrtGetDeviceHandle(&dev, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[0], sizeof x), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[1], sizeof y), CNRT_RET_SUCCESS);
    offline_input(x);
    assert_int_equal(cnrtMemcpyAsync(params[0], x, sizeof x, queue, CNRT_MEM_TRANS_DIR_HOST2DEV),
                     CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMemcpyAsync(y, params[1], sizeof y, queue, CNRT_MEM_TRANS_DIR_DEV2HOST),
                     CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    offline_check(y);
    assert_int_equal(cnrtDestroyRuntimeContext(context), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
}

static void an_invocation_with_mismatched_arguments_is_rejected(void **state)
{
    cnrtModel_t model = model_of(state);
    cnrtFunction_t function = function_of(model, "again");
    cnrtRuntimeContext_t context = NULL;
    cnrtQueue_t queue = NULL;
    void *params[2] = { NULL, NULL };
    int two = 2;
    int many = 1000;
    unsigned int nowhere = 0;
    unsigned int third = 4;
    cnrtInvokeFuncParam_t param = { .end = CNRT_PARAM_END };

    assert_int_equal(cnrtCreateRuntimeContext(&context, function, NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, NULL),
                     CNRT_RET_ERR_FUNC_CALL);
    assert_int_equal(cnrtInitRuntimeContext(context, NULL), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, NULL, queue, NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, NULL),
                     CNRT_RET_ERR_INVALID_POINTER);
    assert_int_equal(cnrtMalloc(&params[0], TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[1], TEST_MODEL_BYTES - 64), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, NULL), CNRT_RET_ERR_MEMCPY);
    assert_int_equal(cnrtFree(params[1]), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtMalloc(&params[1], TEST_MODEL_BYTES), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, NULL, NULL), CNRT_RET_ERR_QUEUE);

    param.data_parallelism = &many;
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, &param),
                     CNRT_RET_ERR_INVALID);
    param.data_parallelism = &two;
    param.affinity = &nowhere;
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, &param),
                     CNRT_RET_ERR_INVALID);
    param.affinity = &third;
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, &param), CNRT_RET_SUCCESS);
    param.end = NULL;
    assert_int_equal(cnrtInvokeRuntimeContext(context, params, queue, &param),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
}

static void functions_and_sizes_of_a_model_can_be_queried(void **state)
{
    struct cards *cards = *state;
    cnrtModel_t model = model_of(state);
    cnrtFunction_t function = NULL;
    cnrtFunction_t copy = NULL;
    int count = 0;
    int size = 0;
    size_t bytes = 0;
    char *in_memory = offline_make(&bytes);
    char *path = offline_write(cards->folder, "again.mlu");
    int64_t *sizes = NULL;

    assert_int_equal(cnrtGetFunctionNumber(model, &count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(cnrtQueryModelParallelism(model, &count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 4);
    assert_int_equal(cnrtGetModelSize(path, &size), CNRT_RET_SUCCESS);
    assert_int_equal(size, bytes);
    assert_int_equal(cnrtExtractFunction(&function, model, "subnet7"), CNRT_RET_ERR_NO_EXIST);
    assert_null(function);
    assert_int_equal(cnrtUnloadModel(model), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtUnloadModel(model), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtExtractFunction(&function, model, "subnet0"), CNRT_RET_ERR_INVALID);

    assert_int_equal(cnrtLoadModelFromMem(&model, in_memory), CNRT_RET_SUCCESS);
    memset(in_memory, 0, bytes);
    free(in_memory);
    assert_int_equal(cnrtExtractFunction(&function, model, "again"), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCopyFunction(&copy, function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyFunction(function), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetInputDataSize(&sizes, &count, function), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetInputDataSize(&sizes, &count, copy), CNRT_RET_SUCCESS);
    assert_int_equal(sizes[0], TEST_MODEL_BYTES);
    free(path);
}

static void a_neff_file_loads_as_a_model_with_one_function(void **state)
{
    struct cards *cards = *state;
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&(struct test_model_options){ .rounds = 1 }, &bytes);
    char path[4096];
    cnrtModel_t model = NULL;
    int count = 0;

    (void)snprintf(path, sizeof path, "%s/adder.neff", cards->folder);
    assert_int_equal(ntk_fs_write(path, neff, bytes, NULL), 0);
    free(neff);
    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetFunctionNumber(model, &count), CNRT_RET_SUCCESS);
    assert_int_equal(count, 1);
    assert_non_null(function_of(model, "subnet0"));
}

static void a_file_that_is_not_a_model_is_rejected(void **state)
{
    struct cards *cards = *state;
    size_t bytes = 0;
    char *good = offline_make(&bytes);
    char path[4096];
    cnrtModel_t model = NULL;
    int size = 0;

    (void)snprintf(path, sizeof path, "%s/bad.mlu", cards->folder);
    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_ERR_NO_EXIST);
    assert_int_equal(cnrtGetModelSize(path, &size), CNRT_RET_ERR_NO_EXIST);
    assert_int_equal(ntk_fs_write(path, good, bytes - 1, NULL), 0);
    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_ERR_INVALID);
    good[0] ^= 1;
    assert_int_equal(ntk_fs_write(path, good, bytes, NULL), 0);
    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtLoadModelFromMem(&model, good), CNRT_RET_ERR_INVALID);
    good[0] ^= 1;
    good[8] = 9;
    assert_int_equal(ntk_fs_write(path, good, bytes, NULL), 0);
    assert_int_equal(cnrtLoadModel(&model, path), CNRT_RET_ERR_UNSUPPORTED);
    good[8] = 1;
    /* The table is valid but a program is not: found when the program is extracted. */
    memset(good + 320, 0x55, bytes - 320);
    assert_int_equal(cnrtLoadModelFromMem(&model, good), CNRT_RET_SUCCESS);
    cnrtFunction_t function = NULL;
    assert_int_not_equal(cnrtExtractFunction(&function, model, "subnet0"), CNRT_RET_SUCCESS);
    assert_null(function);
    assert_int_equal(cnrtLoadModel(NULL, path), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtLoadModel(&model, NULL), CNRT_RET_ERR_INVALID);
    free(good);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup_open, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(a_runtime_context_runs_its_function_on_its_device),
        CARDS(an_invocation_with_mismatched_arguments_is_rejected),
        CARDS(functions_and_sizes_of_a_model_can_be_queried),
        CARDS(a_neff_file_loads_as_a_model_with_one_function),
        CARDS(a_file_that_is_not_a_model_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
