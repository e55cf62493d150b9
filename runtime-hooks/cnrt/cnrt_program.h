/* SPDX-License-Identifier: MIT */
/*
 * cnrt_program - the program of tasks: a kernel of the core, or a file with a model for each
 * cluster that ran it.
 *
 * Owner:   references; the last one frees. While the library is closed a program has no models.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_PROGRAM_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_PROGRAM_H

#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/core/core_kernel.h"

/* Used inside a call; ntk_cnrt_program_create() adds the gate. */
int cnrt_program_make(const struct ntk_cnrt_program_options *options,
                      struct ntk_cnrt_program **out_program);
/* False if its library was closed. */
bool cnrt_program_hold(struct ntk_cnrt_program *program);
/* Inside a call or a task. */
void cnrt_program_drop(struct ntk_cnrt_program *program);

/* For a file: its inputs, then its outputs, valid while the program is held. For a function:
 * NULL. */
const struct ntk_core_io *cnrt_program_io_get(const struct ntk_cnrt_program *program,
                                              size_t *out_count);
/* Only for functions. */
struct ntk_core_kernel *cnrt_program_kernel_get(const struct ntk_cnrt_program *program);
/* For a file: runs it on a cluster of the process, which the caller holds. Of *queued, code_bytes
 * is set by the program. */
int cnrt_program_run(struct ntk_cnrt_program *program, uint32_t nc,
                     struct ntk_core_tensor *const *tensors, size_t tensor_count,
                     const struct ntk_core_queued *queued, enum ntk_core_outcome *out_outcome,
                     struct ntk_err *err);

#endif
