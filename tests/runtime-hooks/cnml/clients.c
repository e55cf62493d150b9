/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/cnml/clients.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int clients_setup(void **state)
{
    static const char *const unset[] = { "MLU_VISIBLE_DEVICES", "NEURON_SOFT_FAULT",
                                         "NEURON_SOFT_PACE",    "NEURON_SOFT_SYSFS",
                                         "NEURON_HOOKS",        "NEURON_PROCESS_TAG" };

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    test_scratch_in_memory();
    *state = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", *state, 1);
    setenv("NEURON_SOFT_INSTANCE", "mlu270x4", 1);
    return cnmlInit(0) == CNML_STATUS_SUCCESS ? 0 : -1;
}

int clients_teardown(void **state)
{
    (void)cnmlExit();
    test_scratch_destroy(*state);
    return 0;
}

double *numbers(size_t count, unsigned seed)
{
    double *made = malloc(count * sizeof *made);
    unsigned state = seed * 2654435761U + 1;

    assert_non_null(made);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        made[i] = (double)(int)(state >> 20) / 2048 - 1;
    }
    return made;
}

struct data data_make(cnmlTensorType_t type, cnmlDataType_t dtype, struct shape shape,
                      double *values)
{
    struct data data = { .shape = shape, .values = values };
    size_t count = shape_elements(shape);

    OK(cnmlCreateTensor(&data.tensor, type, dtype, shape.n, shape.c, shape.h, shape.w));
    OK(cnmlCreateCpuTensor(&data.cpu, type, CNML_DATA_FLOAT32, CNML_NCHW, shape.n, shape.c, shape.h,
                           shape.w));
    data.host = calloc(count, sizeof *data.host);
    assert_non_null(data.host);
    for (size_t i = 0; values && i < count; i++) {
        data.host[i] = (float)values[i];
    }
    return data;
}

struct data data_result(cnmlDataType_t dtype, struct shape shape)
{
    return data_make(CNML_TENSOR, dtype, shape, NULL);
}

struct data data_const(cnmlTensorType_t type, cnmlDataType_t dtype, struct shape shape,
                       double *values)
{
    struct data data = data_make(type, dtype, shape, values);

    OK(cnmlBindConstData(data.tensor, data.cpu, data.host));
    return data;
}

void data_free(struct data *data)
{
    if (data->device) {
        OK(cnmlFreeBuffer(data->device));
    }
    if (data->tensor) {
        OK(cnmlDestroyTensor(&data->tensor));
        OK(cnmlDestroyCpuTensor(&data->cpu));
    }
    free(data->values);
    free(data->host);
}

void data_place(struct data *data)
{
    data->device = cnmlMallocBuffer(data->tensor);
    assert_non_null(data->device);
}

void data_send(struct data *data)
{
    data_place(data);
    OK(cnmlMemcpyTensorToDevice(data->cpu, data->host, data->tensor, data->device));
}

void data_fetch(struct data *data)
{
    OK(cnmlMemcpyTensorToHost(data->tensor, data->device, data->cpu, data->host));
}

void expect_near(const struct data *result, const double *expected, double tolerance)
{
    double difference = 0;
    double magnitude = 0;
    double largest = 0;
    double worst = 0;
    size_t count = shape_elements(result->shape);
    size_t where = 0;

    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)result->host[i] - expected[i]);

        assert_false(isnan(result->host[i]));
        difference += off;
        magnitude += fabs(expected[i]);
        largest = fmax(largest, fabs(expected[i]));
        if (off > worst) {
            worst = off;
            where = i;
        }
    }
    if (difference > tolerance * (magnitude + 1e-9) || worst > 20 * tolerance * (largest + 1e-9)) {
        fail_msg("mean difference %g of %g, worst %g at %zu: %g instead of %g",
                 difference / (double)count, magnitude / (double)count, worst, where,
                 (double)result->host[where], expected[where]);
    }
}

static cnrtQueue_t compile_and_open(cnmlBaseOp_t op)
{
    cnrtQueue_t queue = NULL;

    OK(cnmlCompileBaseOp(op, CNML_MLU270, 1));
    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    return queue;
}

static void finish(cnmlBaseOp_t op, cnrtQueue_t queue, struct data *out)
{
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    data_fetch(out);
    assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
    OK(cnmlDestroyBaseOp(&op));
}

void run_one(cnmlBaseOp_t op, struct data *in, struct data *out,
             cnmlStatus_t (*forward)(cnmlBaseOp_t, void *, void *, cnrtInvokeFuncParam_t *,
                                     cnrtQueue_t))
{
    cnrtQueue_t queue = compile_and_open(op);

    data_send(in);
    data_place(out);
    OK(forward(op, in->device, out->device, NULL, queue));
    finish(op, queue, out);
}

void run_two(cnmlBaseOp_t op, struct data *a, struct data *b, struct data *out,
             cnmlStatus_t (*forward)(cnmlBaseOp_t, void *, void *, void *, cnrtInvokeFuncParam_t *,
                                     cnrtQueue_t))
{
    cnrtQueue_t queue = compile_and_open(op);

    data_send(a);
    data_send(b);
    data_place(out);
    OK(forward(op, a->device, b->device, out->device, NULL, queue));
    finish(op, queue, out);
}
