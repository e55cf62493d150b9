/* SPDX-License-Identifier: MIT */
/*
 * nrt_execute - holds the tensors of one execution while it waits and runs.
 *
 * Owner:   the caller provides the storage, which must not move; nrt_execute_call_fini() drops the
 *          tensors.
 * Threads: one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_EXECUTE_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_EXECUTE_H

#include "runtime-hooks/libnrt/nrt_front.h"

#define NRT_EXECUTE_TENSORS_INLINE 32U

/* Holds one tensor per input and output of the model. */
struct nrt_execute_call {
    struct nrt_tensor *tensors_inline[NRT_EXECUTE_TENSORS_INLINE];
    struct ntk_core_tensor *cores_inline[NRT_EXECUTE_TENSORS_INLINE];
    struct nrt_tensor **tensors;
    struct ntk_core_tensor **cores;
    size_t count;
};

/* NRT_INVALID, logged, if the sets lack a tensor of the model. The caller must call
 * nrt_execute_call_fini() even after a failure. */
NRT_STATUS nrt_execute_call_init(struct nrt_execute_call *call, struct nrt_model *model,
                                 struct nrt_set *input, struct nrt_set *output);
void nrt_execute_call_fini(struct nrt_execute_call *call);
/* Runs repeat_count times, with outputs fed to inputs. */
NRT_STATUS nrt_execute_call_run(const struct nrt_execute_call *call, struct nrt_model *model,
                                int repeat_count);

#endif
