/* SPDX-License-Identifier: MIT */
/*
 * engine_writes - which parts of state buffer and PSUM a program may write.
 *
 * This is known when the program is created, because addresses in these memories do not depend on
 * data. Rows at indices may be anywhere, so they count as all of the memory. A core that starts
 * another program clears the parts that earlier programs may have written, and skips the rest,
 * which is still zero.
 *
 * Private to the engine.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_WRITES_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_WRITES_H

#include <stdint.h>

#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_ENGINE_WRITES_COLUMN_BYTES 1024 /* width of a column, in bytes of a partition */
#define NTK_ENGINE_WRITES_SBUF_COLUMNS \
    (NTK_ISA_SBUF_PARTITION_BYTES_MAX / NTK_ENGINE_WRITES_COLUMN_BYTES)
#define NTK_ENGINE_WRITES_PSUM_COLUMNS \
    (NTK_ISA_PSUM_PARTITION_BYTES / NTK_ENGINE_WRITES_COLUMN_BYTES)

struct ntk_engine_program;
struct ntk_engine_core_spec;
struct ntk_engine_side;

/* For each column, the number of partitions, from the first one on, that may be written. */
struct ntk_engine_writes {
    uint8_t sbuf[NTK_ENGINE_WRITES_SBUF_COLUMNS];
    uint8_t psum[NTK_ENGINE_WRITES_PSUM_COLUMNS];
};

/* Computes the area that a whole program may write from its decoded instructions and transfers. */
void ntk_engine_writes_of(const struct ntk_engine_program *program,
                          struct ntk_engine_writes *out_writes);

/* Adds the area of another program. */
void ntk_engine_writes_join(struct ntk_engine_writes *writes, const struct ntk_engine_writes *more);

/* Computes the bytes [*out_low, *out_high) of partitions that a side of a transfer in the state
 * buffer or PSUM may touch; bounds outside of a partition mean the whole partition. */
void ntk_engine_side_extent(const struct ntk_engine_core_spec *spec,
                            const struct ntk_engine_side *side, int64_t *out_low,
                            int64_t *out_high);

#ifdef __cplusplus
}
#endif
#endif
