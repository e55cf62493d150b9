/* SPDX-License-Identifier: MIT */
/*
 * neuron_driver_shared_tensor_batch_op - a transfer of a batch between host memory and a tensor.
 */
#ifndef NDL_NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H
#define NDL_NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_tensor_batch_op {
    uint64_t offset; /* offset in the tensor, in bytes */
    uint64_t size;   /* in bytes */
    void *buffer;    /* host memory, owned by the caller */
} nrt_tensor_batch_op_t;

#ifdef __cplusplus
}
#endif
#endif
