/* SPDX-License-Identifier: MIT */
/*
 * The explicit interface in its 3.0 form: a status of the caller's per request, written at its
 * completion.
 *
 * A library without versions may have the 2.x form behind the same names. Its callers pass fewer
 * parameters, so those of the tensor calls are taken as whole registers and passed on as they came.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime-hooks/interpose/collectives.h"
#include "runtime-hooks/interpose/explicit.h"

#define NRT_ASYNC_3 1
#include "nrt/nrt_async.h"

#define REAL_3(name) ((__typeof__(&name))interpose_real_get(CALL_3_##name))

static bool latest_get(uint32_t vnc, uint32_t unit, int queue, uint64_t *out_sequence)
{
    return REAL_3(nrta_get_sequence)(vnc, (nrta_xu_t)unit, queue, out_sequence) == NRT_SUCCESS;
}

/* The caller keeps its status until completion, and that has ended: it may be gone. What is not a
 * status is none. */
static NRT_STATUS status_get(const struct pending_request *request)
{
    NRT_STATUS status = NRT_SUCCESS;
    struct iovec to = { &status, sizeof status };
    struct iovec from = { request->outcome, sizeof status };

    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof status) {
        return NRT_SUCCESS;
    }
    switch ((int)status) {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) case (status):
#include "shared/abi/result.def"
        return status;
    default:
        return NRT_SUCCESS;
    }
}

static const struct explicit_form form = { latest_get, status_get };

__typeof__(nrta_execute_schedule) observed_3_nrta_execute_schedule;
__typeof__(nrta_cc_prepare) observed_3_nrta_cc_prepare;
__typeof__(nrta_cc_schedule) observed_3_nrta_cc_schedule;
__typeof__(nrta_is_completed) observed_3_nrta_is_completed;
__typeof__(nrta_get_sequence) observed_3_nrta_get_sequence;

/* Of async_2.c: their parameters are those of here, or fewer registers of the same width. */
uint64_t observed_2_nrta_execute_schedule(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                          uint64_t);
__typeof__(nrta_cc_prepare) observed_2_nrta_cc_prepare;
uint64_t observed_2_nrta_cc_schedule(uint64_t, uint64_t, uint64_t, uint64_t);
uint64_t observed_2_nrta_is_completed(uint64_t, uint64_t);
uint64_t observed_2_nrta_get_sequence(uint64_t, uint64_t, uint64_t, uint64_t);
typedef uint64_t tensor_function_2(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                   uint64_t);
typedef uint64_t copy_function_2(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t);
tensor_function_2 observed_2_nrta_tensor_write;
tensor_function_2 observed_2_nrta_tensor_read;
copy_function_2 observed_2_nrta_tensor_copy;
typedef uint64_t tensor_function_3(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                   uint64_t, uint64_t);
typedef uint64_t copy_function_3(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t);
tensor_function_3 observed_3_nrta_tensor_write;
tensor_function_3 observed_3_nrta_tensor_read;
copy_function_3 observed_3_nrta_tensor_copy;

/* Known once the library is open. */
static bool is_form_2(enum interpose_call call)
{
    (void)interpose_real_get(call);
    return interpose_real_is_form_2;
}

NRT_STATUS observed_3_nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                            nrt_tensor_set_t *output, int queue, NRT_STATUS *ret,
                                            nrta_seq_t *req_sequence)
{
    if (is_form_2(CALL_3_nrta_execute_schedule)) {
        return (NRT_STATUS)observed_2_nrta_execute_schedule(
            (uintptr_t)model, (uintptr_t)input, (uintptr_t)output, (uint64_t)queue, (uintptr_t)ret,
            (uintptr_t)req_sequence);
    }
    INTERPOSE_SCOPE;
    INTERPOSE_EXECUTION;

    if (!req_sequence || !interpose_execution_begin(&execution, model)) {
        return REAL_3(nrta_execute_schedule)(model, input, output, queue, ret, req_sequence);
    }
    NRT_STATUS status =
        REAL_3(nrta_execute_schedule)(model, input, output, queue, ret, req_sequence);
    explicit_execution_scheduled(&execution, &form, NRTA_XU_COMPUTE, queue, ret, status,
                                 *req_sequence);
    return status;
}

NRT_STATUS observed_3_nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
                                      nrt_tensor_list_t *output, nrt_dtype_t dtype,
                                      nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                                      nrt_cc_context_t **cc_ctx)
{
    if (is_form_2(CALL_3_nrta_cc_prepare)) {
        return observed_2_nrta_cc_prepare(comm, input, output, dtype, op, cc_op, cc_ctx);
    }
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_3(nrta_cc_prepare)(comm, input, output, dtype, op, cc_op, cc_ctx);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        interpose_prepared_add(&scope, comm, input, dtype, cc_op, *cc_ctx);
    }
    return status;
}

NRT_STATUS observed_3_nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, NRT_STATUS *ret,
                                       nrta_seq_t *req_sequence)
{
    if (is_form_2(CALL_3_nrta_cc_schedule)) {
        return (NRT_STATUS)observed_2_nrta_cc_schedule((uintptr_t)cc_ctx, (uint64_t)queue,
                                                       (uintptr_t)ret, (uintptr_t)req_sequence);
    }
    INTERPOSE_SCOPE;
    const nrt_cc_context_t *context = scope.generation && cc_ctx ? *cc_ctx : NULL;
    NRT_STATUS status = REAL_3(nrta_cc_schedule)(cc_ctx, queue, ret, req_sequence);

    if (status == NRT_SUCCESS && context && req_sequence && interpose_is_on(&scope)) {
        explicit_collective_scheduled(&scope, &form, NRTA_XU_COLLECTIVES, queue, ret, context,
                                      *req_sequence);
    }
    return status;
}

NRT_STATUS observed_3_nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
    if (is_form_2(CALL_3_nrta_is_completed)) {
        return (NRT_STATUS)observed_2_nrta_is_completed(seq, (uintptr_t)is_completed);
    }
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_3(nrta_is_completed)(seq, is_completed);

    if (status == NRT_SUCCESS && is_completed && *is_completed && interpose_is_on(&scope)) {
        pending_end_through(seq);
    }
    return status;
}

NRT_STATUS observed_3_nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    if (is_form_2(CALL_3_nrta_get_sequence)) {
        return (NRT_STATUS)observed_2_nrta_get_sequence(lnc, xu, (uint64_t)queue, (uintptr_t)seq);
    }
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_3(nrta_get_sequence)(lnc, xu, queue, seq);

    if (status == NRT_SUCCESS && seq && interpose_is_on(&scope)) {
        pending_end_through(*seq);
    }
    return status;
}

/* ---- tensors ---- */

/* Registers as what they are. */
#define POINTER(word) ((void *)(uintptr_t)(word))
#define INTEGER(word) ((int)(uint32_t)(word))

uint64_t observed_3_nrta_tensor_write(uint64_t tensor, uint64_t buf, uint64_t offset, uint64_t size,
                                      uint64_t lnc_idx, uint64_t queue, uint64_t ret,
                                      uint64_t req_sequence)
{
    if (is_form_2(CALL_3_nrta_tensor_write)) {
        return observed_2_nrta_tensor_write(tensor, buf, offset, size, lnc_idx, queue, ret);
    }
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        REAL_3(nrta_tensor_write)(POINTER(tensor), POINTER(buf), offset, size, INTEGER(lnc_idx),
                                  INTEGER(queue), POINTER(ret), POINTER(req_sequence));

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer = explicit_transfer(
            POINTER(tensor), NTK_TRANSFER_HOST_TO_DEVICE, start_ticks, offset, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, INTEGER(queue), POINTER(ret),
                                    &transfer, *(nrta_seq_t *)POINTER(req_sequence));
    }
    return (uint64_t)status;
}

uint64_t observed_3_nrta_tensor_read(uint64_t buf, uint64_t tensor, uint64_t offset, uint64_t size,
                                     uint64_t lnc_idx, uint64_t queue, uint64_t ret,
                                     uint64_t req_sequence)
{
    if (is_form_2(CALL_3_nrta_tensor_read)) {
        return observed_2_nrta_tensor_read(buf, tensor, offset, size, lnc_idx, queue, ret);
    }
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        REAL_3(nrta_tensor_read)(POINTER(buf), POINTER(tensor), offset, size, INTEGER(lnc_idx),
                                 INTEGER(queue), POINTER(ret), POINTER(req_sequence));

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer = explicit_transfer(
            POINTER(tensor), NTK_TRANSFER_DEVICE_TO_HOST, start_ticks, offset, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, INTEGER(queue), POINTER(ret),
                                    &transfer, *(nrta_seq_t *)POINTER(req_sequence));
    }
    return (uint64_t)status;
}

uint64_t observed_3_nrta_tensor_copy(uint64_t src, uint64_t src_offset, uint64_t dst,
                                     uint64_t dst_offset, uint64_t size, uint64_t lnc_idx,
                                     uint64_t queue, uint64_t ret, uint64_t req_sequence)
{
    if (is_form_2(CALL_3_nrta_tensor_copy)) {
        return observed_2_nrta_tensor_copy(src, src_offset, dst, dst_offset, size, lnc_idx, queue,
                                           ret);
    }
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL_3(nrta_tensor_copy)(POINTER(src), src_offset, POINTER(dst), dst_offset,
                                                 size, INTEGER(lnc_idx), INTEGER(queue),
                                                 POINTER(ret), POINTER(req_sequence));

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_copy(POINTER(src), src_offset, POINTER(dst), dst_offset, start_ticks, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, INTEGER(queue), POINTER(ret),
                                    &transfer, *(nrta_seq_t *)POINTER(req_sequence));
    }
    return (uint64_t)status;
}
