/* SPDX-License-Identifier: MIT */
/*
 * nrt_cc - runs collective operations that are prepared first and queued later.
 *
 * Owner:   nrt_cc_prepare() creates a context, which holds its tensors; it is freed after it was
 *          scheduled and run, at the latest by nrt_close().
 * Threads: any, between nrt_front_enter() and nrt_front_leave() unless a comment below differs.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_CC_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_CC_H

#include "runtime-hooks/core/core_collectives.h"
#include "runtime-hooks/core/core_trace.h"
#include "runtime-hooks/libnrt/nrt_front.h"
#include "shared/abi/event_abi.h"

struct nrt_cc_context;

/* Implements nrta_cc_prepare() in both forms; enters and leaves itself. */
NRT_STATUS nrt_cc_prepare(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
                          const nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                          nrt_cc_op_type_t cc_op, struct nrt_cc_context **cc_ctx);

/* Adds a reference to the context; NULL if invalid. */
struct nrt_cc_context *nrt_cc_take(const struct nrt_cc_context *context);
void nrt_cc_drop(struct nrt_cc_context *context);
/* Drops the reference of the caller. */
void nrt_cc_close(struct nrt_cc_context *context);
uint32_t nrt_cc_core(const struct nrt_cc_context *context);
/* Runs the operation; waits for the other ranks. */
NRT_STATUS nrt_cc_run(struct nrt_cc_context *context, uint32_t queue);

/* For nrt_close() and fork, with nothing queued: frees all contexts. */
void nrt_cc_close_all(void);
void nrt_cc_forget_after_fork(void);

/* The caller has set all options except rendezvous; joins as this rank, or logs an error. */
NRT_STATUS nrt_collectives_options_get(const char *function, uint32_t vnc,
                                       struct ntk_core_comm_options *options);

/* Starts a span in the system trace for a rank that transfers data or waits for others; if vnc is
 * -1, it is reported on the first core. */
void nrt_collectives_trace_begin(struct ntk_core_trace_span *span, enum ntk_collective operation,
                                 const struct ntk_core_comm *comm, int32_t vnc, uint64_t bytes);
void nrt_collectives_trace_end(const struct ntk_core_trace_span *span,
                               const struct ntk_core_comm *comm, uint64_t bytes);

#endif
