/* SPDX-License-Identifier: MIT */
/*
 * collectives - observes operations of ranks that are prepared first and queued later (nrta_cc_*).
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_COLLECTIVES_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_COLLECTIVES_H

#include "runtime-hooks/interpose/observe.h"

/* Reports that the runtime prepared `context`. */
void interpose_prepared_add(const struct interpose_scope *scope, const nrt_cc_comm_t *comm,
                            const nrt_tensor_list_t *input, nrt_dtype_t dtype,
                            nrt_cc_op_type_t operation, const void *context);
/* Reports that the runtime has queued the context: the operation has started, or waits for earlier
 * operations of the returned communicator on core *out_vnc. Returns 0 if unknown. */
ntk_hooks_comm interpose_prepared_begin(const struct interpose_scope *scope, const void *context,
                                        int queue, uint32_t *out_vnc);

#endif
