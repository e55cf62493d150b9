/* SPDX-License-Identifier: MIT */
/*
 * async_2 - the explicit interface in its 2.x form: an error tracker lists failed requests.
 */
#include <stdlib.h>

#include "runtime-hooks/interpose/collectives.h"
#include "runtime-hooks/interpose/explicit.h"

#include "nrt/nrt_async.h"

#define OBSERVED(name)
#define OBSERVED_2(name) extern __typeof__(name) observed_2_##name;
#define OBSERVED_3(name)
#include "runtime-hooks/interpose/interpose.def"

#define OWN(name) observed_2_##name
#define RUNTIME(name) ((__typeof__(&name))interpose_real_get(CALL_2_##name))
#define OUTCOME nrta_error_tracker_t
#define PASS_ON(name, ...)

/* The list is valid until the next call for the tracker; it is not requested while the client may
 * hold one. */
static NRT_STATUS status_get(const struct pending_request *request)
{
    const nrta_error_t *list = NULL;
    size_t count = 0;

    if (!request->was_listed &&
        RUNTIME(nrta_error_tracker_get_list)(request->outcome, &list, &count) == NRT_SUCCESS) {
        for (size_t i = 0; i < count; i++) {
            if (list[i].seq_id == request->sequence) {
                return (NRT_STATUS)list[i].error_code;
            }
        }
    }
    return NRT_SUCCESS;
}

#include "runtime-hooks/interpose/explicit_calls.def"

NRT_STATUS observed_2_nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
                                        uint64_t size, int queue, nrta_error_tracker_t *err,
                                        nrta_seq_t *req_sequence)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status =
        RUNTIME(nrta_tensor_write)(tensor, buf, offset, size, queue, err, req_sequence);

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
        RUNTIME(nrta_tensor_read)(buf, tensor, offset, size, queue, err, req_sequence);

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
        RUNTIME(nrta_tensor_copy)(src, src_offset, dst, dst_offset, size, queue, err, req_sequence);

    if (status == NRT_SUCCESS && req_sequence && interpose_is_on(&scope)) {
        struct ntk_hooks_transfer transfer =
            explicit_copy(src, src_offset, dst, dst_offset, start_ticks, size);

        explicit_transfer_scheduled(&scope, &form, NRTA_XU_TENSOR_OP, queue, err, &transfer,
                                    *req_sequence);
    }
    return status;
}

NRT_STATUS observed_2_nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                                  const nrta_error_t **list, size_t *error_count)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = RUNTIME(nrta_error_tracker_get_list)(error_tracker, list, error_count);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        for (size_t i = 0; i == 0 || i < *error_count; i++) {
            uint64_t sequence = i < *error_count ? (*list)[i].seq_id : 0;
            NRT_STATUS error = i < *error_count ? (NRT_STATUS)(*list)[i].error_code : NRT_SUCCESS;

            pending_listed(error_tracker, &sequence, &error, 1);
        }
    }
    return status;
}
