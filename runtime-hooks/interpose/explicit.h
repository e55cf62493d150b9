/* SPDX-License-Identifier: MIT */
/*
 * explicit - common code for both forms of the explicit interface (nrta_*).
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EXPLICIT_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EXPLICIT_H

#include "runtime-hooks/interpose/execute.h"
#include "runtime-hooks/interpose/pending.h"

/* How a form queries the runtime, and where its requests report their result. */
struct explicit_form {
    pending_latest_function *latest;
    pending_status_function *status_get;
};

/* Called after the schedule call, with its status and the sequence of the request. */
void explicit_execution_scheduled(struct interpose_execution *execution,
                                  const struct explicit_form *form, uint32_t unit, int queue,
                                  void *outcome, NRT_STATUS status, uint64_t sequence);
void explicit_transfer_scheduled(const struct interpose_scope *scope,
                                 const struct explicit_form *form, uint32_t unit, int queue,
                                 void *outcome, const struct ntk_hooks_transfer *transfer,
                                 uint64_t sequence);
/* context has the value from before the call, which consumed it. */
void explicit_collective_scheduled(const struct interpose_scope *scope,
                                   const struct explicit_form *form, uint32_t unit, int queue,
                                   void *outcome, const void *context, uint64_t sequence);
/* Describes a transfer between host and device; core, name and direction come from the
 * tensor. */
struct ntk_hooks_transfer explicit_transfer(const nrt_tensor_t *tensor, enum ntk_transfer direction,
                                            uint64_t start_ticks, uint64_t offset, uint64_t bytes);
struct ntk_hooks_transfer explicit_copy(const nrt_tensor_t *from, uint64_t from_offset,
                                        const nrt_tensor_t *to, uint64_t to_offset,
                                        uint64_t start_ticks, uint64_t bytes);

#endif
