/* SPDX-License-Identifier: MIT */
/*
 * nrt_async - queues requests that complete later.
 *
 * Each core has execution units (XU) with queues; the requests of one queue complete in order of
 * submission. Tensors, models, buffers and statuses must stay valid until completion. If a queue is
 * full, the call returns NRT_QUEUE_FULL and the caller may retry.
 *
 * The eight calls common to both forms of this interface exist twice in the library. This header
 * declares the 2.x form, version NRT_2.0.0; if NRT_ASYNC_3 is defined, it declares the 3.0 form,
 * version NRT_3.0.0, which is also the default for programs that have their own declarations.
 */
#ifndef NRT_NRT_ASYNC_H
#define NRT_NRT_ASYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt.h"
#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The upper 16 bits are the XU id, the lower 48 bits the number of the request in its queue, from
 * 1; number 0 means that no request was made yet. */
typedef uint64_t nrta_seq_t;
typedef uint16_t nrta_xu_id_t;

/* A collective operation that is ready to be queued. */
typedef struct nrt_cc_context nrt_cc_context_t;

#define NRTA_SEQ_NUM_MAX ((UINT64_C(1) << 48) - 1)
#define NRTA_SEQ_NUM_MASK NRTA_SEQ_NUM_MAX
#define NRTA_SEQ_GET_SEQ_NUM(seq) ((seq)&NRTA_SEQ_NUM_MASK)
#define NRTA_SEQ_GET_XU_ID(seq) ((seq) >> 48)

#ifdef NRT_ASYNC_3

typedef enum {
    NRTA_XU_TENSOR_OP = 0,
    NRTA_XU_COMPUTE = 1,
    NRTA_XU_COLLECTIVES = 2,
    NRTA_XU_TYPE_NUM = 3,
} nrta_xu_t;

/* *ret (may be NULL) is written once, at completion. */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
                             int lnc_idx, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            int lnc_idx, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size, int lnc_idx, int queue,
                            NRT_STATUS *ret, nrta_seq_t *req_sequence);
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                 nrt_tensor_set_t *output, int queue, NRT_STATUS *ret,
                                 nrta_seq_t *req_sequence);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, NRT_STATUS *ret,
                            nrta_seq_t *req_sequence);

#else

typedef enum {
    NRTA_XU_TENSOR_READ = 0,
    NRTA_XU_TENSOR_WRITE = 1,
    NRTA_XU_TENSOR_OP = 2,
    NRTA_XU_COMPUTE = 3,
    NRTA_XU_COLLECTIVES = 4,
    NRTA_XU_TYPE_NUM = 5,
} nrta_xu_t;

typedef struct nrta_error_tracker nrta_error_tracker_t;

typedef struct nrta_error {
    nrta_seq_t seq_id;
    uint64_t error_code; /* NRT_STATUS */
} nrta_error_t;

/* err (may be NULL) collects failed requests. */
NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
                             int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size, int queue,
                            nrta_error_tracker_t *err, nrta_seq_t *req_sequence);
NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                 nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                 nrta_seq_t *req_sequence);
NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
                            nrta_seq_t *req_sequence);

/* Returns a file descriptor that becomes readable at completion; it may only be used with poll and
 * close. */
NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd);
NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker);
void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker);
/* Returns all errors so far, oldest first; the list is valid until the next call for this
 * tracker. */
NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                       const nrta_error_t **list, size_t *error_count);

#endif

/* Combines the i-th inputs into the i-th output. After scheduling, the library owns the context and
 * *cc_ctx is NULL; after a failure the caller still owns the context and may retry. The ranks of a
 * group schedule the same operations in the same order on the same queue. op must not be
 * NRT_OP_FMA; an all-gather ignores it. */
NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input, nrt_tensor_list_t *output,
                           nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                           nrt_cc_context_t **cc_ctx);

/* Returns NRT_INVALID for an unknown sequence. */
NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed);
/* Returns the latest completed sequence of the queue. */
NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq);

#ifdef NRT_ASYNC_3
/* fd is an eventfd. It is signalled when the request completes (immediately if it has completed),
 * or whenever a request of the queue completes; -1 ends the registration. */
NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd);
NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd);
#endif

#if defined(__GNUC__) && !defined(NRT_ASYNC_3)
/* The declarations above refer to versions of these names that are not the default. */
__asm__(".symver nrta_tensor_write,nrta_tensor_write@NRT_2.0.0");
__asm__(".symver nrta_tensor_read,nrta_tensor_read@NRT_2.0.0");
__asm__(".symver nrta_tensor_copy,nrta_tensor_copy@NRT_2.0.0");
__asm__(".symver nrta_execute_schedule,nrta_execute_schedule@NRT_2.0.0");
__asm__(".symver nrta_cc_prepare,nrta_cc_prepare@NRT_2.0.0");
__asm__(".symver nrta_cc_schedule,nrta_cc_schedule@NRT_2.0.0");
__asm__(".symver nrta_is_completed,nrta_is_completed@NRT_2.0.0");
__asm__(".symver nrta_get_sequence,nrta_get_sequence@NRT_2.0.0");
#endif

#ifdef __cplusplus
}
#endif
#endif
