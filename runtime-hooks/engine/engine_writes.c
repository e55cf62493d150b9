/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/engine_writes.h"

#include <string.h>

#include "runtime-hooks/engine/engine_builder.h"

static ptrdiff_t pitch_of(const struct ntk_engine_core_spec *spec, enum ntk_engine_region region)
{
    return region == NTK_ENGINE_REGION_SBUF ? ntk_engine_sbuf_pitch(spec)
                                            : ntk_engine_psum_pitch(spec);
}

/* Adds bytes [low, high) of the first `partitions` partitions. */
static void add(struct ntk_engine_writes *writes, enum ntk_engine_region region, int64_t low,
                int64_t high, unsigned partitions)
{
    bool in_sbuf = region == NTK_ENGINE_REGION_SBUF;
    uint8_t *columns = in_sbuf ? writes->sbuf : writes->psum;
    int64_t bytes = in_sbuf ? NTK_ISA_SBUF_PARTITION_BYTES_MAX : NTK_ISA_PSUM_PARTITION_BYTES;

    if (low < 0 || high > bytes) {
        low = 0;
        high = bytes;
    }
    for (int64_t c = low / NTK_ENGINE_WRITES_COLUMN_BYTES;
         c * NTK_ENGINE_WRITES_COLUMN_BYTES < high; c++) {
        columns[c] = partitions > columns[c] ? (uint8_t)partitions : columns[c];
    }
}

static void add_operand(struct ntk_engine_writes *writes, const struct ntk_isa_operand *to)
{
    bool in_sbuf = to->space == NTK_ISA_SPACE_SBUF;
    int64_t low;
    int64_t high;

    if (in_sbuf || to->space == NTK_ISA_SPACE_PSUM) {
        ntk_isa_operand_extent(to, &low, &high);
        add(writes, in_sbuf ? NTK_ENGINE_REGION_SBUF : NTK_ENGINE_REGION_PSUM, low, high,
            to->partition_start + (to->partition_count - 1U) * to->partition_step + 1U);
    }
}

static void add_scalar(struct ntk_engine_writes *writes, const struct ntk_engine_core_spec *spec,
                       const struct ntk_engine_tile *tile)
{
    size_t pitch = (size_t)pitch_of(spec, tile->region);
    int64_t low = (int64_t)(tile->offset % pitch);

    add(writes, tile->region, low, low + (int64_t)ntk_dtype_bytes(tile->tile.dtype),
        (unsigned)(tile->offset / pitch) + 1);
}

/* Steps run along partitions or across them. A step that is mistaken for the other kind exceeds the
 * partition. */
void ntk_engine_side_extent(const struct ntk_engine_core_spec *spec,
                            const struct ntk_engine_side *side, int64_t *out_low, int64_t *out_high)
{
    int64_t pitch = pitch_of(spec, side->region);
    int64_t low = side->offset % pitch;
    int64_t high = low + (int64_t)ntk_dtype_bytes(side->walk.dtype);

    for (unsigned d = 0; d < side->walk.dim_count; d++) {
        int64_t rest = side->walk.step[d] % pitch;
        int64_t reach;

        rest += rest > pitch / 2 ? -pitch : rest < -pitch / 2 ? pitch : 0;
        reach = rest * (int64_t)(side->walk.count[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    *out_low = low;
    *out_high = high;
}

static void add_transfer(struct ntk_engine_writes *writes, const struct ntk_engine_program *program,
                         const struct ntk_engine_transfer *transfer)
{
    const struct ntk_engine_side *to = &transfer->to;
    int64_t low = -1;
    int64_t high = -1;

    if (to->region != NTK_ENGINE_REGION_SBUF && to->region != NTK_ENGINE_REGION_PSUM) {
        return;
    }
    if (transfer->move != NTK_ENGINE_MOVE_INDIRECT) {
        ntk_engine_side_extent(program->spec, to, &low, &high);
    }
    add(writes, to->region, low, high, program->spec->partition_count);
}

void ntk_engine_writes_of(const struct ntk_engine_program *program,
                          struct ntk_engine_writes *out_writes)
{
    memset(out_writes, 0, sizeof *out_writes);
    ntk_vec_each(const struct ntk_engine_compute, compute, &program->computes) {
        add_operand(out_writes, &compute->instr.operand[NTK_ISA_DST]);
        add_operand(out_writes, &compute->instr.operand[NTK_ISA_DST2]);
    }
    ntk_vec_each(const struct ntk_engine_tile, scalar, &program->scalars) {
        add_scalar(out_writes, program->spec, scalar);
    }
    ntk_vec_each(const struct ntk_engine_transfer, transfer, &program->transfers) {
        add_transfer(out_writes, program, transfer);
    }
}

void ntk_engine_writes_join(struct ntk_engine_writes *writes, const struct ntk_engine_writes *more)
{
    for (size_t c = 0; c < NTK_ENGINE_WRITES_SBUF_COLUMNS; c++) {
        writes->sbuf[c] = more->sbuf[c] > writes->sbuf[c] ? more->sbuf[c] : writes->sbuf[c];
    }
    for (size_t c = 0; c < NTK_ENGINE_WRITES_PSUM_COLUMNS; c++) {
        writes->psum[c] = more->psum[c] > writes->psum[c] ? more->psum[c] : writes->psum[c];
    }
}
