/* SPDX-License-Identifier: MIT */
/*
 * nrta_3 - the explicit interface in its 3.0 form: a status per request, eventfds of the caller.
 * Names common with the 2.x form are exported as name@@NRT_3.0.0.
 */
#include "runtime-hooks/libnrt/nrt_request.h"

#include "runtime-hooks/libnrt/nrt_cc.h"

#define NRT_ASYNC_3 1
#pragma GCC visibility push(default)
#include "nrt/nrt_async.h"

/* Defines the function of a versioned name, with the signature of the header. */
#define FORM_3(name)                              \
    extern __typeof__(nrta_##name) form_3_##name; \
    __asm__(".symver form_3_" #name ",nrta_" #name "@@NRT_3.0.0")

FORM_3(tensor_write);
FORM_3(tensor_read);
FORM_3(tensor_copy);
FORM_3(execute_schedule);
FORM_3(cc_prepare);
FORM_3(cc_schedule);
FORM_3(is_completed);
FORM_3(get_sequence);
#pragma GCC visibility pop

static struct nrt_request_place place_make(int lnc_idx, enum nrt_queue_unit unit, int queue,
                                           NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
    /* The call rejects an unknown core together with its queue. */
    return (struct nrt_request_place){ .core = lnc_idx < 0 ? NTK_CORE_ANY - 1 : (uint32_t)lnc_idx,
                                       .unit = unit,
                                       .queue = queue,
                                       .status = ret,
                                       .sequence = req_sequence };
}

/* Returns the number of a unit in this form; the invalid NRT_QUEUE_UNITS if unknown. */
static uint32_t unit_get(nrta_xu_t xu)
{
    switch (xu) {
    case NRTA_XU_TENSOR_OP:
        return NRT_QUEUE_OP;
    case NRTA_XU_COMPUTE:
        return NRT_QUEUE_COMPUTE;
    case NRTA_XU_COLLECTIVES:
        return NRT_QUEUE_COLLECTIVES;
    case NRTA_XU_TYPE_NUM:
        break;
    }
    return NRT_QUEUE_UNITS;
}

NRT_STATUS form_3_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
                               uint64_t size, int lnc_idx, int queue, NRT_STATUS *ret,
                               nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(lnc_idx, NRT_QUEUE_OP, queue, ret, req_sequence);

    return nrt_request_write(tensor, buf, offset, size, &place);
}

NRT_STATUS form_3_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                              int lnc_idx, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(lnc_idx, NRT_QUEUE_OP, queue, ret, req_sequence);

    return nrt_request_read(buf, tensor, offset, size, &place);
}

NRT_STATUS form_3_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                              uint64_t dst_offset, uint64_t size, int lnc_idx, int queue,
                              NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(lnc_idx, NRT_QUEUE_OP, queue, ret, req_sequence);

    return nrt_request_copy(src, src_offset, dst, dst_offset, size, &place);
}

NRT_STATUS form_3_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                   nrt_tensor_set_t *output, int queue, NRT_STATUS *ret,
                                   nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(0, NRT_QUEUE_COMPUTE, queue, ret, req_sequence);

    return nrt_request_execute(model, input, output, &place);
}

NRT_STATUS form_3_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
                             nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                             nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
    return nrt_cc_prepare(comm, input, output, dtype, op, cc_op, cc_ctx);
}

NRT_STATUS form_3_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, NRT_STATUS *ret,
                              nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(0, NRT_QUEUE_COLLECTIVES, queue, ret, req_sequence);

    return nrt_request_collective(cc_ctx, &place);
}

NRT_STATUS form_3_is_completed(nrta_seq_t seq, bool *is_completed)
{
    return nrt_request_is_completed(seq, is_completed);
}

NRT_STATUS form_3_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    return nrt_request_sequence_get(lnc, unit_get(xu), queue, seq);
}

NRT_STATUS nrta_event_register_seq_id_completion(nrta_seq_t seq, int fd)
{
    return nrt_request_watch(seq, fd);
}

NRT_STATUS nrta_event_register_xu_completion(int lnc, nrta_xu_t xu, int queue, int fd)
{
    return nrt_request_watch_queue(lnc, unit_get(xu), queue, fd);
}
