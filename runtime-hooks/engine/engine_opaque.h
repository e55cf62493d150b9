/* SPDX-License-Identifier: MIT */
/*
 * engine_opaque - how long a program may take that cannot be executed.
 *
 * A vendor's engine binaries cannot be decoded, but their sizes and their DMA descriptors are
 * known. docs/cost-model.md, "Opaque programs", is the rule.
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

/* Device time of one execution; *out_descriptors: number in all DMA groups. Saturates. */
uint64_t ntk_engine_opaque_ps(const struct ntk_engine_core_spec *spec,
                              const struct ntk_neff_subgraph *subgraph, uint64_t *out_descriptors);

#ifdef __cplusplus
}
#endif
#endif
