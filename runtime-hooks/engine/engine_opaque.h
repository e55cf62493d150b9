/* SPDX-License-Identifier: MIT */
/*
 * engine_opaque - estimates the time of a program that cannot be executed.
 *
 * A vendor's engine binaries cannot be decoded, but their sizes and their DMA descriptors are
 * known. docs/cost-model.md, "Opaque programs", has the rule.
 *
 * Threads: any; no state.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_OPAQUE_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_OPAQUE_H

#include <stdint.h>

#include "runtime-hooks/engine/engine.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The device time of one execution, which saturates. *out_descriptors is the number of descriptors
 * in all DMA groups. */
uint64_t ntk_engine_opaque_ps(const struct ntk_engine_core_spec *spec,
                              const struct ntk_neff_subgraph *subgraph, uint64_t *out_descriptors);

#ifdef __cplusplus
}
#endif
#endif
