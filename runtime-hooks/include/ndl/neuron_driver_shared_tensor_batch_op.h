/* SPDX-License-Identifier: MIT */
/*
 * One transfer of a batch between host memory and a tensor.
 */
#ifndef NDL_NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H
#define NDL_NEURON_DRIVER_SHARED_TENSOR_BATCH_OP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nrt_tensor_batch_op {
    uint64_t offset; /* in the tensor, bytes */
    uint64_t size;   /* bytes */
    void *buffer;    /* host memory of the caller */
} nrt_tensor_batch_op_t;

#ifdef __cplusplus
}
#endif
#endif
