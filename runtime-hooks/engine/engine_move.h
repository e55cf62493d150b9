/* SPDX-License-Identifier: MIT */
/*
 * engine_move - carries out one transfer of a program on the memory of a run.
 *
 * Everything except indices was checked when the program was made (engine_dma.c); all indices are
 * checked here before the first byte moves.
 *
 * Threads: only the thread of the run, because it uses the core's buffers.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_MOVE_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_MOVE_H

#include "runtime-hooks/engine/engine_core.h"
#include "runtime-hooks/engine/engine_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called before a side is written: invalidates cached tiles. */
void ntk_engine_written(const struct ntk_engine_core *core, const struct ntk_engine_side *to);

/* Returns false if an index is out of bounds and must not be skipped: then nothing was moved. */
bool ntk_engine_move(const struct ntk_engine_core *core, const struct ntk_engine_program *program,
                     const struct ntk_engine_binding *bindings,
                     const struct ntk_engine_transfer *transfer);

#ifdef __cplusplus
}
#endif
#endif
