/* SPDX-License-Identifier: MIT */
/*
 * nrt_inspect - what the rest of the library tells an inspection.
 *
 * Threads: any; all calls between nrt_front_enter() and _leave() or under the gate.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* At the end of nrt_init() and the begin of nrt_close(). */
void nrt_inspect_opened(struct ntk_core *core);
void nrt_inspect_closing(struct ntk_core *core);
/* In the child of a fork. */
void nrt_inspect_forget(void);
/* neff: the caller's bytes, for a copy in the folder. */
void nrt_inspect_model_loaded(struct ntk_core_model *model, const void *neff, size_t bytes);
void nrt_inspect_model_unloading(struct ntk_core_model *model);
/* Its execution did not end well. */
void nrt_inspect_execution_failed(struct ntk_core_model *model);
/* Whether an inspection records the device now. */
bool nrt_inspect_records_device(void);

#endif
