/* SPDX-License-Identifier: MIT */
/*
 * engine_move - carrying out one transfer of a program on the memory of a run.
 *
 * Everything but indices was bounded when the program was made (engine_dma.c); indices are checked
 * here, all of them before the first byte moves.
 *
 * Threads: works on the core's buffers, so the thread of the run.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_MOVE_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_MOVE_H

#include "runtime-hooks/engine/engine_core.h"
#include "runtime-hooks/engine/engine_program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Call it before writing a side: invalidates cached tiles. */
void ntk_engine_written(const struct ntk_engine_core *core, const struct ntk_engine_side *to);

/* False if an index is out of bounds and not to be skipped: then nothing was moved. */
bool ntk_engine_move(const struct ntk_engine_core *core, const struct ntk_engine_program *program,
                     const struct ntk_engine_binding *bindings,
                     const struct ntk_engine_transfer *transfer);

#ifdef __cplusplus
}
#endif
#endif
