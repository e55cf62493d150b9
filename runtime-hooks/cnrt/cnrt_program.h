/* SPDX-License-Identifier: MIT */
/*
 * cnrt_program - the program of tasks: a kernel of the core, or a file with a model for each
 * cluster that ran it.
 *
 * Owner:   reference-counted; the last reference frees. While the library is closed, a program has
 *          no models.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_PROGRAM_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_PROGRAM_H

#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/core/core_kernel.h"

/* Same as ntk_cnrt_program_create(), but must be called inside a public call. */
int cnrt_program_make(const struct ntk_cnrt_program_options *options,
                      struct ntk_cnrt_program **out_program);
/* Takes a reference; false if the library was closed since it was created. */
bool cnrt_program_hold(struct ntk_cnrt_program *program);
/* Drops a reference; only inside a public call or a task. */
void cnrt_program_drop(struct ntk_cnrt_program *program);

/* For a file, its inputs, then its outputs, valid while a reference is held. NULL for a
 * function. */
const struct ntk_core_io *cnrt_program_io_get(const struct ntk_cnrt_program *program,
                                              size_t *out_count);
/* The kernel of a function. */
struct ntk_core_kernel *cnrt_program_kernel_get(const struct ntk_cnrt_program *program);
/* Runs a file on a cluster of the process that the caller holds. The program sets
 * queued->code_bytes. */
int cnrt_program_run(struct ntk_cnrt_program *program, uint32_t nc,
                     struct ntk_core_tensor *const *tensors, size_t tensor_count,
                     const struct ntk_core_queued *queued, enum ntk_core_outcome *out_outcome,
                     struct ntk_err *err);

#endif
