/* SPDX-License-Identifier: MIT */
/*
 * nrt_dump - writes the inputs of a failed execution to files (NEURON_RT_DBG_DUMP_INPUTS_ON_ERR).
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_DUMP_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_DUMP_H

#include "runtime-hooks/libnrt/nrt_front.h"

/* Writes the inputs if `status` is the status in the variable. tensors has one entry per input and
 * output. */
void nrt_dump_inputs(struct nrt_model *model, struct ntk_core_tensor *const *tensors, size_t count,
                     NRT_STATUS status);

#endif
