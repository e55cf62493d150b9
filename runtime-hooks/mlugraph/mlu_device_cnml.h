/* SPDX-License-Identifier: MIT */
/*
 * mlu_device_cnml - common parts of the libcnml device and its operators.
 *
 * An operator of MXNet becomes one or two operators of CNML (internal_ops in the proposal) with a
 * tensor between them (inter_data). Values with up to four dimensions become n, c, h, w; missing
 * dimensions are 1, and a single dimension is c. An operator that CNML computes differently returns
 * -ENOTSUP.
 *
 * Owner:   mlu_cnml_tensor_create() allocates, tensor_destroy of the device frees; an operator owns
 *          what it creates, and its destruction frees it.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_DEVICE_CNML_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_DEVICE_CNML_H

#include "runtime-hooks/mlugraph/mlu_cnml_library.h"
#include "runtime-hooks/mlugraph/mlu_device.h"
#include "shared/base/vec.h"

#define INTERNAL_OPS_MAX 2
#define CONSTANTS_MAX 4

extern struct mlu_cnml mlu_cnml; /* the library while a device is open */

struct mlu_cnml_op;

struct mlu_cnml_stream {
    cnrtDev_t device;
    cnrtQueue_t queue;
};

struct mlu_cnml_tensor {
    struct mlu_cnml_stream *stream;
    enum mlu_tensor_kind kind;
    struct mlu_type type;
    cnmlTensor_t handle;
    cnmlCpuTensor_t host;   /* tensor on the host, in MXNet's order */
    void *buffer;           /* buffer on the device */
    struct mlu_array value; /* value of a constant, until it is compiled */
};

/* A constant that differs from the bound constant: computed when the operator is compiled. */
struct mlu_cnml_derived {
    struct mlu_cnml_tensor *tensor;
    double (*value)(const struct mlu_cnml_op *op, size_t index);
};

/* Forms of a CNML operator: called with one input, with two, or with lists. */
enum mlu_cnml_form { FORM_ONE, FORM_TWO, FORM_LIST };

struct mlu_cnml_internal_op {
    cnmlBaseOp_t handle;
    enum mlu_cnml_form form;
    union {
        __typeof__(cnmlComputeActiveOpForward_V3) *one;
        __typeof__(cnmlComputeAddOpForward_V3) *two;
        __typeof__(cnmlComputeConcatOpForward_V3) *list;
    } forward;
    struct mlu_cnml_tensor **in; /* borrowed lists */
    int in_count;
    struct mlu_cnml_tensor **out;
    int out_count;
};

struct mlu_cnml_op {
    struct mlu_cnml_stream *stream;
    const struct mlu_node *node;
    const struct mlu_op_param *param;
    struct mlu_cnml_tensor **in; /* one per input of the node */
    struct mlu_cnml_tensor **out;
    struct mlu_cnml_internal_op internal_ops[INTERNAL_OPS_MAX];
    int internal_count;
    /* tensor between the two operators; NULL if there is only one operator */
    struct mlu_cnml_tensor *inter_data;
    struct mlu_cnml_derived derived[CONSTANTS_MAX];
    int derived_count;
    void **addresses; /* addresses for a forward call with lists */
};

struct mlu_cnml_fusion {
    struct mlu_cnml_stream *stream;
    cnmlFusionOp_t handle;
    struct ntk_vec ops; /* elements are struct mlu_cnml_op * */
    struct mlu_cnml_tensor **in;
    int in_count;
    struct mlu_cnml_tensor **out;
    int out_count;
    void **addresses;
};

#define UNSUPPORTED(...) ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET, __VA_ARGS__)

/* Returns 0, or the error of a call for the node `name`. */
int mlu_cnml_answer(cnmlStatus_t status, const char *what, const char *name, struct ntk_err *err);
int mlu_cnml_tensor_create(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                           void **out_tensor, struct ntk_err *err);
/* Returns false if there are more than four dimensions, or if one is too large. */
bool mlu_cnml_four_dims(const struct mlu_shape *shape, int dims[4]);

/* In mlu_cnml_ops.c: returns the handles of a list; the caller frees them with free(). NULL if out
 * of memory. */
cnmlTensor_t *mlu_cnml_handles(struct mlu_cnml_tensor *const *tensors, uint32_t count);
/* Fills internal_ops, inter_data and derived for the node. */
int mlu_cnml_ops_create(struct mlu_cnml_op *op, struct ntk_err *err);

#endif
