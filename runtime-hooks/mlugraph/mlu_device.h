/* SPDX-License-Identifier: MIT */
/*
 * mlu_device - the operations of MLUs for executors, implemented by libcnml or on the host.
 *
 * An operator is used as in the vendor's interface: create, compile (which consumes bound
 * constants), run. The buffer of a tensor exists once an operator that uses the tensor is compiled.
 * Running queues work in a stream and returns; stream_wait() waits for all queued work. Operators
 * in a fusion operator are only compiled with it; tensors inside it have no buffers.
 *
 * Owner:   the matching _destroy or _close, which accept NULL, undo _create and _open. Destroy
 *          operators before their tensors, and all objects of a stream before the stream.
 * Threads: a stream and all objects created with it belong to one thread at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_DEVICE_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_DEVICE_H

#include "runtime-hooks/mlugraph/mlu_infer.h"

/* The role of a tensor on the device. */
enum mlu_tensor_kind {
    MLU_TENSOR_DATA,
    MLU_TENSOR_FILTER, /* weight of a product */
    MLU_TENSOR_CONST,  /* any other constant */
};

struct mlu_device_ops {
    const char *name;

    /* Initialises the vendor's library; each open needs a close. */
    int (*open)(struct ntk_err *err);
    void (*close)(void);
    int (*stream_open)(int32_t device, void **out_stream, struct ntk_err *err);
    void (*stream_close)(void *stream);
    int (*stream_wait)(void *stream, struct ntk_err *err);

    int (*tensor_create)(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                         void **out_tensor, struct ntk_err *err);
    void (*tensor_destroy)(void *tensor);
    /* Called for FILTER and CONST before an operator that uses the tensor is compiled; the array
     * may then be freed. */
    int (*tensor_bind)(void *tensor, const struct mlu_array *array, struct ntk_err *err);
    /* Called for DATA after an operator that uses the tensor was compiled. */
    int (*tensor_allocate)(void *tensor, struct ntk_err *err);
    int (*tensor_upload)(void *tensor, const struct mlu_array *from, struct ntk_err *err);
    int (*tensor_download)(void *tensor, struct mlu_array *to, struct ntk_err *err);

    /* Creates one operator of MXNet, which may be several operators of the device. in: NULL for
     * ignored inputs. -ENOTSUP: the device does not support it. The node must outlive the
     * operator. */
    int (*op_create)(void *stream, const struct mlu_node *node, const struct mlu_op_param *param,
                     void *const *in, void *const *out, void **out_op, struct ntk_err *err);
    void (*op_destroy)(void *op);
    int (*op_compile)(void *op, struct ntk_err *err);
    int (*op_forward)(void *op, struct ntk_err *err);

    int (*fusion_create)(void *stream, void **out_fusion, struct ntk_err *err);
    void (*fusion_destroy)(void *fusion);
    int (*fusion_add)(void *fusion, void *op, struct ntk_err *err);
    int (*fusion_set_io)(void *fusion, void *const *in, uint32_t in_count, void *const *out,
                         uint32_t out_count, struct ntk_err *err);
    int (*fusion_compile)(void *fusion, struct ntk_err *err);
    int (*fusion_forward)(void *fusion, struct ntk_err *err);
};

/* Uses the host instead of MLUs: computes with mlu_compute() and enforces the rules above. */
extern const struct mlu_device_ops mlu_device_host;

/* Uses MLUs through libcnml (mlu_cnml_library.h). Float32 remains float32 on the device. */
extern const struct mlu_device_ops mlu_device_cnml;

#endif
