/* SPDX-License-Identifier: MIT */
/*
 * The explicit interface in its 2.x form: failed requests are in the list of an error tracker.
 */
#include <stdlib.h>

#include "runtime-hooks/interpose/collectives.h"
#include "runtime-hooks/interpose/explicit.h"

#include "nrt/nrt_async.h"

#define OBSERVED(name)
#define OBSERVED_2(name) extern __typeof__(name) observed_2_##name;
#define OBSERVED_3(name)
#include "runtime-hooks/interpose/interpose.def"

#define REAL_2(name) ((__typeof__(&name))interpose_real_get(CALL_2_##name))

static bool latest_get(uint32_t vnc, uint32_t unit, int queue, uint64_t *out_sequence)
{
    return REAL_2(nrta_get_sequence)(vnc, (nrta_xu_t)unit, queue, out_sequence) == NRT_SUCCESS;
}

/* The list is good until the next call for the tracker: where the client may hold one, it is not
 * requested. */
static NRT_STATUS status_get(const struct pending_request *request)
{
    const nrta_error_t *list = NULL;
    size_t count = 0;

    if (!request->was_listed &&
        REAL_2(nrta_error_tracker_get_list)(request->outcome, &list, &count) == NRT_SUCCESS) {
        for (size_t i = 0; i < count; i++) {
            if (list[i].seq_id == request->sequence) {
                return (NRT_STATUS)list[i].error_code;
            }
        }
    }
    return NRT_SUCCESS;
}

static const struct explicit_form form = { latest_get, status_get };

NRT_STATUS observed_2_nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                            nrt_tensor_set_t *output, int queue,
                                            nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    INTERPOSE_EXECUTION;

    if (!req_sequence || !interpose_execution_begin(&execution, model)) {
        return REAL_2(nrta_execute_schedule)(model, input, output, queue, err, req_sequence);
    }
    NRT_STATUS status =
        REAL_2(nrta_execute_schedule)(model, input, output, queue, err, req_sequence);
    explicit_execution_scheduled(&execution, &form, NRTA_XU_COMPUTE, queue, err, status,
                                 *req_sequence);
    return status;
}

NRT_STATUS observed_2_nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
                                      nrt_tensor_list_t *output, nrt_dtype_t dtype,
                                      nrt_op_type_t op, nrt_cc_op_type_t cc_op,
                                      nrt_cc_context_t **cc_ctx)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_2(nrta_cc_prepare)(comm, input, output, dtype, op, cc_op, cc_ctx);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        interpose_prepared_add(&scope, comm, input, dtype, cc_op, *cc_ctx);
    }
    return status;
}

NRT_STATUS observed_2_nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue,
                                       nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    const nrt_cc_context_t *context = scope.generation && cc_ctx ? *cc_ctx : NULL;
    NRT_STATUS status = REAL_2(nrta_cc_schedule)(cc_ctx, queue, err, req_sequence);

    if (status == NRT_SUCCESS && context && req_sequence && interpose_is_on(&scope)) {
        explicit_collective_scheduled(&scope, &form, NRTA_XU_COLLECTIVES, queue, err, context,
                                      *req_sequence);
    }
    return status;
}

NRT_STATUS observed_2_nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
                                        uint64_t size, int queue, nrta_error_tracker_t *err,
                                        nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        REAL_2(nrta_tensor_write)(tensor, buf, offset, size, queue, err, req_sequence);

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_transfer(tensor, NTK_TRANSFER_HOST_TO_DEVICE, start_ticks, offset, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_WRITE, queue, err, &transfer,
                                    *req_sequence);
    }
    return status;
}

NRT_STATUS observed_2_nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset,
                                       uint64_t size, int queue, nrta_error_tracker_t *err,
                                       nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        REAL_2(nrta_tensor_read)(buf, tensor, offset, size, queue, err, req_sequence);

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_transfer(tensor, NTK_TRANSFER_DEVICE_TO_HOST, start_ticks, offset, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_READ, queue, err, &transfer,
                                    *req_sequence);
    }
    return status;
}

NRT_STATUS observed_2_nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                                       uint64_t dst_offset, uint64_t size, int queue,
                                       nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        REAL_2(nrta_tensor_copy)(src, src_offset, dst, dst_offset, size, queue, err, req_sequence);

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_copy(src, src_offset, dst, dst_offset, start_ticks, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, queue, err, &transfer,
                                    *req_sequence);
    }
    return status;
}

NRT_STATUS observed_2_nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_2(nrta_is_completed)(seq, is_completed);

    if (status == NRT_SUCCESS && is_completed && *is_completed && interpose_is_on(&scope)) {
        pending_end_through(seq);
    }
    return status;
}

NRT_STATUS observed_2_nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_2(nrta_get_sequence)(lnc, xu, queue, seq);

    if (status == NRT_SUCCESS && seq && interpose_is_on(&scope)) {
        pending_end_through(*seq);
    }
    return status;
}

NRT_STATUS observed_2_nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                                  const nrta_error_t **list, size_t *error_count)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL_2(nrta_error_tracker_get_list)(error_tracker, list, error_count);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        for (size_t i = 0; i == 0 || i < *error_count; i++) {
            uint64_t sequence = i < *error_count ? (*list)[i].seq_id : 0;
            NRT_STATUS error = i < *error_count ? (NRT_STATUS)(*list)[i].error_code : NRT_SUCCESS;

            pending_listed(error_tracker, &sequence, &error, 1);
        }
    }
    return status;
}
