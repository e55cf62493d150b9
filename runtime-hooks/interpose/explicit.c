/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/explicit.h"

#include "runtime-hooks/interpose/collectives.h"

void explicit_execution_scheduled(struct interpose_execution *execution,
                                  const struct explicit_form *form, uint32_t unit, int queue,
                                  void *outcome, NRT_STATUS status, uint64_t sequence)
{
    struct pending_place place = {
        .key = PENDING_EXPLICIT(sequence),
        .latest = form->latest,
        .vnc = execution->vnc,
        .unit = unit,
        .queue = queue,
    };
    struct pending_request request = {
        .sequence = sequence,
        .generation = execution->scope->generation,
        .execution = execution->hook,
        .status_get = outcome ? form->status_get : NULL,
        .outcome = outcome,
    };

    if (status != NRT_SUCCESS) {
        interpose_execution_end(execution, status);
        return;
    }
    execution->is_open = false;
    pending_add(&place, &request);
}

void explicit_transfer_scheduled(const struct interpose_scope *scope,
                                 const struct explicit_form *form, uint32_t unit, int queue,
                                 void *outcome, const struct ntk_hooks_transfer *transfer,
                                 uint64_t sequence)
{
    struct pending_place place = {
        .key = PENDING_EXPLICIT(sequence),
        .latest = form->latest,
        .vnc = interpose_vnc_get(transfer->core),
        .unit = unit,
        .queue = queue,
    };
    struct pending_request request = {
        .sequence = sequence,
        .generation = scope->generation,
        .kind = PENDING_TRANSFER,
        .transfer = *transfer,
        .status_get = outcome ? form->status_get : NULL,
        .outcome = outcome,
    };

    pending_add(&place, &request);
}

void explicit_collective_scheduled(const struct interpose_scope *scope,
                                   const struct explicit_form *form, uint32_t unit, int queue,
                                   void *outcome, const void *context, uint64_t sequence)
{
    struct pending_place place = {
        .key = PENDING_EXPLICIT(sequence),
        .latest = form->latest,
        .unit = unit,
        .queue = queue,
    };
    struct pending_request request = {
        .sequence = sequence,
        .generation = scope->generation,
        .kind = PENDING_COLLECTIVE,
        .comm = interpose_prepared_begin(scope, context, queue, &place.vnc),
        .status_get = outcome ? form->status_get : NULL,
        .outcome = outcome,
    };

    if (request.comm) {
        pending_add(&place, &request);
    }
}

struct ntk_hooks_transfer explicit_transfer(const nrt_tensor_t *tensor, enum ntk_transfer direction,
                                            uint64_t start_ticks, uint64_t offset, uint64_t bytes)
{
    struct ntk_hooks_transfer transfer = {
        .start_ticks = start_ticks,
        .bytes = bytes,
        .offset = offset,
    };

    transfer.core = interpose_tensor_core_get(tensor, &transfer.name);
    transfer.direction =
        (uint16_t)(transfer.core != NTK_NO_CORE ? direction : NTK_TRANSFER_HOST_TO_HOST);
    return transfer;
}

struct ntk_hooks_transfer explicit_copy(const nrt_tensor_t *from, uint64_t from_offset,
                                        const nrt_tensor_t *to, uint64_t to_offset,
                                        uint64_t start_ticks, uint64_t bytes)
{
    uint32_t name;
    bool from_device = interpose_tensor_core_get(from, &name) != NTK_NO_CORE;

    if (interpose_tensor_core_get(to, &name) != NTK_NO_CORE) {
        return explicit_transfer(
            to, from_device ? NTK_TRANSFER_DEVICE_TO_DEVICE : NTK_TRANSFER_HOST_TO_DEVICE,
            start_ticks, to_offset, bytes);
    }
    return explicit_transfer(from, NTK_TRANSFER_DEVICE_TO_HOST, start_ticks, from_offset, bytes);
}
