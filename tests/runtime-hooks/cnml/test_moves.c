/* SPDX-License-Identifier: MIT */
/*
 * Operators that only move data: transposes, reshapes, splits and joins. Runs on the device, each
 * against its definition, implemented a second time in references.c, and against the library's own
 * host function if there is one to call.
 */
#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

static void transpose_and_reshape_operators_match_the_reference(void **state)
{
    struct shape shape = { 2, 3, 5, 7 };
    struct shape turned = { 2, 3, 7, 5 };
    struct shape reshaped = { 1, 15, 2, 7 };
    struct shape same = { 2, 3, 5, 7 };
    double expected[210];
    struct data in = data_make(CNML_TENSOR, F16, shape, numbers(210, 1));
    struct data out = data_result(F16, turned);
    cnmlReshapeOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    (void)state;
    for (int i = 0; i < 210; i++) {
        expected[i] = in.values[i / 35 * 35 + i % 5 * 7 + i / 5 % 7];
    }
    OK(cnmlCreateTransposeOp(&op, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeTransposeOpForward);
    expect_near(&out, expected, 0);
    OK(cnmlCpuComputeTransposeOpForward(in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, expected, 0);
    data_free(&out);
    OK(cnmlFreeBuffer(in.device));

    /* A reshape does not reorder the data on the host. */
    out = data_result(F16, reshaped);
    OK(cnmlCreateReshapeOpParam(&param, 1, 15, 2, 7, CNML_NCHW));
    OK(cnmlCreateReshapeOp(&op, param, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeReshapeOpForward);
    expect_near(&out, in.values, 0);
    OK(cnmlCpuComputeReshapeOpForward(param, in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, in.values, 0);
    OK(cnmlDestroyReshapeOpParam(&param));
    data_free(&out);
    OK(cnmlFreeBuffer(in.device));

    out = data_result(F16, same);
    OK(cnmlCreateDeviceMemcpyOp(&op, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeDeviceMemcpyOpForward);
    expect_near(&out, in.values, 0);
    data_free(&out);
    data_free(&in);
}

/* Method: concat restores what split took apart. */
static void concat_restores_the_input_of_split(void **state)
{
    static const struct {
        int mode;
        struct shape whole, parts[3];
    } cases[] = {
        { CNML_SPLIT_FEAT, { 2, 9, 3, 4 }, { { 2, 2, 3, 4 }, { 2, 4, 3, 4 }, { 2, 3, 3, 4 } } },
        { CNML_SPLIT_BATCH, { 6, 2, 3, 4 }, { { 1, 2, 3, 4 }, { 3, 2, 3, 4 }, { 2, 2, 3, 4 } } },
        { CNML_SPLIT_HIGHT, { 2, 2, 8, 4 }, { { 2, 2, 3, 4 }, { 2, 2, 1, 4 }, { 2, 2, 4, 4 } } },
        { CNML_SPLIT_WIDTH, { 2, 2, 3, 7 }, { { 2, 2, 3, 2 }, { 2, 2, 3, 4 }, { 2, 2, 3, 1 } } }
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape whole = cases[i].whole;
        struct data in = data_make(CNML_TENSOR, F16, whole, numbers(shape_elements(whole), 1));
        struct data out = data_result(F16, whole);
        struct data parts[3];
        cnmlTensor_t tensors[3];
        void *devices[3];
        cnmlSplitOpParam_t split = NULL;
        cnmlConcatOpParam_t concat = NULL;
        cnmlBaseOp_t apart = NULL;
        cnmlBaseOp_t together = NULL;
        cnrtQueue_t queue = NULL;

        for (int k = 0; k < 3; k++) {
            parts[k] = data_result(F16, cases[i].parts[k]);
            tensors[k] = parts[k].tensor;
        }
        OK(cnmlCreateSplitOpParam(&split, 1, 3, (cnmlSplitMode_t)cases[i].mode));
        OK(cnmlCreateConcatOpParam(&concat, 3, 1, (cnmlConcatMode_t)cases[i].mode));
        OK(cnmlCreateSplitOp(&apart, split, &in.tensor, 1, tensors, 3));
        OK(cnmlCreateConcatOp(&together, concat, tensors, 3, &out.tensor, 1));
        OK(cnmlCompileBaseOp(apart, CNML_MLU270, 1));
        OK(cnmlCompileBaseOp(together, CNML_MLU270, 1));
        data_send(&in);
        data_place(&out);
        for (int k = 0; k < 3; k++) {
            data_place(&parts[k]);
            devices[k] = parts[k].device;
        }
        assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
        OK(cnmlComputeSplitOpForward(apart, &in.device, 1, devices, 3, NULL, queue));
        OK(cnmlComputeConcatOpForward(together, devices, 3, &out.device, 1, NULL, queue));
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        data_fetch(&out);
        expect_near(&out, in.values, 0);
        /* The second part begins after the first. */
        data_fetch(&parts[1]);
        {
            struct shape p = cases[i].parts[0];
            size_t first = cases[i].mode == CNML_SPLIT_FEAT    ? (size_t)(p.c * whole.h * whole.w)
                           : cases[i].mode == CNML_SPLIT_BATCH ? shape_elements(p)
                           : cases[i].mode == CNML_SPLIT_HIGHT ? (size_t)(p.h * whole.w)
                                                               : (size_t)p.w;

            assert_true((double)parts[1].host[0] == in.values[first]);
        }
        assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
        OK(cnmlDestroyBaseOp(&apart));
        OK(cnmlDestroyBaseOp(&together));
        OK(cnmlDestroySplitOpParam(&split));
        OK(cnmlDestroyConcatOpParam(&concat));
        data_free(&in);
        data_free(&out);
        for (int k = 0; k < 3; k++) {
            data_free(&parts[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(transpose_and_reshape_operators_match_the_reference),
        CLIENTS_TEST(concat_restores_the_input_of_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
