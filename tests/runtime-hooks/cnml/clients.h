/* SPDX-License-Identifier: MIT */
/*
 * clients - common steps of programs that call CNML: creating a machine, tensors with host data,
 * running one operator from compilation to its result, and comparing.
 *
 * Threads: one test at a time.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CNML_CLIENTS_H
#define NTK_TESTS_RUNTIME_HOOKS_CNML_CLIENTS_H

#include "neuware/g2/cnml.h"
#include "tests/runtime-hooks/cnml/references.h"

#define OK(call) assert_int_equal((call), CNML_STATUS_SUCCESS)
#define F16 CNML_DATA_FLOAT16
#define F32 CNML_DATA_FLOAT32

/* A private hooks folder with an mlu270x4, and the library initialised. */
int clients_setup(void **state);
int clients_teardown(void **state);
#define CLIENTS_TEST(name) cmocka_unit_test_setup_teardown(name, clients_setup, clients_teardown)

/* Numbers from -1 to 1, always the same; each of them can be represented as a float16. */
double *numbers(size_t count, unsigned seed);

/* A tensor of the device and the host (float32, NCHW) with data. */
struct data {
    struct shape shape;
    cnmlTensor_t tensor;
    cnmlCpuTensor_t cpu;
    double *values;
    float *host;
    void *device;
};
/* Creates input data. Takes ownership of values. */
struct data data_make(cnmlTensorType_t type, cnmlDataType_t dtype, struct shape shape,
                      double *values);
/* Creates a tensor for a result. */
struct data data_result(cnmlDataType_t dtype, struct shape shape);
/* A constant with its data bound. */
struct data data_const(cnmlTensorType_t type, cnmlDataType_t dtype, struct shape shape,
                       double *values);
void data_free(struct data *data);
/* Allocates memory on the device and copies the data there. After compilation. */
void data_send(struct data *data);
void data_place(struct data *data);
/* Copies from the device to host. */
void data_fetch(struct data *data);

/* The sum of differences over the sum of magnitudes is at most tolerance, and no difference is an
 * outlier. */
void expect_near(const struct data *result, const double *expected, double tolerance);

/* Compiles, runs on a separate queue, fetches. inputs: of CNML_TENSOR. */
void run_one(cnmlBaseOp_t op, struct data *in, struct data *out,
             cnmlStatus_t (*forward)(cnmlBaseOp_t, void *, void *, cnrtInvokeFuncParam_t *,
                                     cnrtQueue_t));
void run_two(cnmlBaseOp_t op, struct data *a, struct data *b, struct data *out,
             cnmlStatus_t (*forward)(cnmlBaseOp_t, void *, void *, void *, cnrtInvokeFuncParam_t *,
                                     cnrtQueue_t));

#endif
