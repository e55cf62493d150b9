/* SPDX-License-Identifier: MIT */
/*
 * async_3 - the explicit interface in its 3.0 form: each request has a status in the caller's
 * memory, written at completion.
 *
 * A library without versions may have the 2.x form with the same names. Its callers pass fewer
 * parameters, so the parameters of tensor calls are passed on unchanged as whole registers.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "runtime-hooks/interpose/collectives.h"
#include "runtime-hooks/interpose/explicit.h"

#define NRT_ASYNC_3 1
#include "nrt/nrt_async.h"

#define OWN(name) observed_3_##name
#define RUNTIME(name) ((__typeof__(&name))interpose_real_get(CALL_3_##name))
#define OUTCOME NRT_STATUS
#define PASS_ON(name, ...)                                     \
    do {                                                       \
        if (is_form_2(CALL_3_##name)) {                        \
            return (NRT_STATUS)observed_2_##name(__VA_ARGS__); \
        }                                                      \
    } while (0)

/* The caller may free the status after completion, so it may no longer exist. An invalid status
 * counts as none. */
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

__typeof__(nrta_execute_schedule) observed_3_nrta_execute_schedule;
__typeof__(nrta_cc_prepare) observed_3_nrta_cc_prepare;
__typeof__(nrta_cc_schedule) observed_3_nrta_cc_schedule;
__typeof__(nrta_is_completed) observed_3_nrta_is_completed;
__typeof__(nrta_get_sequence) observed_3_nrta_get_sequence;

/* In async_2.c: the same parameters, or fewer registers of the same width. */
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

#include "runtime-hooks/interpose/explicit_calls.def"

/* ---- tensors ---- */

/* Convert registers to the types of parameters. */
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
        RUNTIME(nrta_tensor_write)(POINTER(tensor), POINTER(buf), offset, size, INTEGER(lnc_idx),
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
        RUNTIME(nrta_tensor_read)(POINTER(buf), POINTER(tensor), offset, size, INTEGER(lnc_idx),
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
    NRT_STATUS status = RUNTIME(nrta_tensor_copy)(
        POINTER(src), src_offset, POINTER(dst), dst_offset, size, INTEGER(lnc_idx), INTEGER(queue),
        POINTER(ret), POINTER(req_sequence));

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_copy(POINTER(src), src_offset, POINTER(dst), dst_offset, start_ticks, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, INTEGER(queue), POINTER(ret),
                                    &transfer, *(nrta_seq_t *)POINTER(req_sequence));
    }
    return (uint64_t)status;
}
