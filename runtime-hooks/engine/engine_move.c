/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/engine_move.h"

#include <assert.h>
#include <string.h>

/* The memory of a run. */
struct memory {
    const struct ntk_engine_core *core;
    const struct ntk_engine_program *program;
    const struct ntk_engine_binding *bindings;
    uint64_t bounce_used;
};

static uint8_t *side_memory(const struct memory *m, const struct ntk_engine_side *side)
{
    uint8_t *base = NULL;

    switch (side->region) {
    case NTK_ENGINE_REGION_VAR:
        base = m->bindings[side->var_id].bytes;
        break;
    case NTK_ENGINE_REGION_SBUF:
        base = m->core->sbuf;
        break;
    case NTK_ENGINE_REGION_PSUM:
        base = m->core->psum;
        break;
    case NTK_ENGINE_REGION_POINTER:
        base = (uint8_t *)m->core->cells;
        break;
    }
    return base + side->offset;
}

/* Takes bounce memory. The program has computed the size for each transfer (bounce_bytes). */
static void *bounce_take(struct memory *m, uint64_t bytes)
{
    uint8_t *taken = m->core->bounce + m->bounce_used;

    m->bounce_used += (bytes + 7) / 8 * 8;
    assert(m->bounce_used <= m->core->bounce_bytes);
    return taken;
}

/* A walk over adjacent elements of the same kind. */
static struct ntk_dma_walk dense(const struct ntk_dma_walk *like, uint64_t elements)
{
    struct ntk_dma_walk walk = { .dtype = like->dtype, .fp8 = like->fp8, .dim_count = 1 };

    walk.count[0] = elements;
    walk.step[0] = (int64_t)ntk_dtype_bytes(like->dtype);
    return walk;
}

/* Copies a side densely into the bounce buffer and makes it the new source. */
static const uint8_t *bounce_side(struct memory *m, const struct ntk_engine_side *side,
                                  struct ntk_dma_walk *out_walk)
{
    uint64_t elements = 0;
    uint8_t *copy;

    ntk_dma_walk_elements(&side->walk, &elements);
    *out_walk = dense(&side->walk, elements);
    copy = bounce_take(m, elements * (uint64_t)out_walk->step[0]);
    ntk_dma_copy(out_walk, copy, &side->walk, side_memory(m, side));
    return copy;
}

/* --- indirect --------------------------------------------------------------------------------- */

/* One side of an indirect move: rows with separate addresses, or all rows in one walk. */
struct rows {
    const struct ntk_dma_walk *walk; /* walk over one row, if there are addresses */
    uint8_t **at;  /* NULL: one walk over all rows; a NULL address skips the row */
    uint8_t *base; /* with one walk: its first element */
};

/* Returns true if the index is within the bounds that the program specifies. */
static bool is_in_bounds(const struct ntk_engine_indirect *indirect,
                         const struct ntk_engine_index *index, int64_t value)
{
    return !indirect->has_bounds || (value >= 0 && (uint64_t)value <= index->index_max);
}

/* The address of the row with this index; NULL if it is outside of the variable or table. */
static uint8_t *row_address(const struct memory *m, const struct ntk_engine_side *side,
                            const struct ntk_engine_index *index, int64_t value)
{
    uint32_t var_id = side->var_id;
    int64_t move = 0;
    int64_t first;

    if (index->entry_count > 0) {
        if (value < 0 || value >= (int64_t)index->entry_count) {
            return NULL;
        }
        var_id =
            *(const uint32_t *)ntk_vec_at(&m->program->entries, index->first_entry + (size_t)value);
    } else {
        /* the factors have 32 bits each, so the product cannot overflow */
        move = value * (int64_t)index->row_step;
    }
    if (__builtin_add_overflow(side->offset, move, &first) || first < -index->row_low ||
        index->row_high > INT64_MAX - (first > 0 ? first : 0) ||
        first + index->row_high > (int64_t)m->program->variables[var_id].bytes_count) {
        return NULL;
    }
    return (uint8_t *)m->bindings[var_id].bytes + first;
}

/* Fills rows->at; returns false if an index is out of bounds and not skipped. */
static bool rows_resolve(struct memory *m, const struct ntk_engine_indirect *indirect,
                         const struct ntk_engine_index *index, const struct ntk_engine_side *side,
                         struct rows *rows)
{
    const struct ntk_dma_walk integers = { .dtype = NTK_DTYPE_INT64 };
    struct ntk_dma_walk wide = dense(&integers, indirect->rows);
    int64_t *values;

    rows->walk = &side->walk;
    if (!index->is_present) {
        rows->at = NULL;
        rows->base = side_memory(m, side);
        return true;
    }
    rows->base = NULL;
    rows->at = bounce_take(m, indirect->rows * sizeof *rows->at);
    values = bounce_take(m, indirect->rows * sizeof *values);
    ntk_dma_cast(&wide, (uint8_t *)values, &index->indices.walk, side_memory(m, &index->indices));
    for (uint64_t r = 0; r < indirect->rows; r++) {
        if (!is_in_bounds(indirect, index, values[r])) {
            if (!indirect->skips) {
                return false;
            }
            rows->at[r] = NULL;
            continue;
        }
        rows->at[r] = row_address(m, side, index, values[r]);
        if (!rows->at[r]) {
            return false;
        }
    }
    return true;
}

static bool is_skipped(const struct rows *rows, uint64_t r)
{
    return rows->at && !rows->at[r];
}

static void row_move(const struct rows *to, const struct rows *from, uint64_t r, uint64_t elements)
{
    ntk_dma_cast_part(to->walk, to->at ? to->at[r] : to->base, to->at ? 0 : r * elements,
                      from->walk, from->at ? from->at[r] : from->base, from->at ? 0 : r * elements,
                      elements);
}

/* Computes to += from, through two dense rows. */
static void row_add(const struct rows *to, const struct rows *from, uint64_t r, uint64_t elements,
                    uint8_t *fresh, uint8_t *sum)
{
    struct ntk_dma_walk fresh_walk = dense(from->walk, elements);
    struct ntk_dma_walk sum_walk = dense(to->walk, elements);
    struct ntk_dma_source source = { .walk = fresh_walk, .from = fresh, .scale = 1.0F };
    uint64_t to_first = to->at ? 0 : r * elements;
    uint8_t *target = to->at ? to->at[r] : to->base;

    ntk_dma_cast_part(&fresh_walk, fresh, 0, from->walk, from->at ? from->at[r] : from->base,
                      from->at ? 0 : r * elements, elements);
    ntk_dma_cast_part(&sum_walk, sum, 0, to->walk, target, to_first, elements);
    ntk_dma_compute(NTK_DMA_ADD, &sum_walk, sum, &source, 1, true, NULL);
    ntk_dma_cast_part(to->walk, target, to_first, &sum_walk, sum, 0, elements);
}

static bool indirect_move(struct memory *m, const struct ntk_engine_transfer *transfer,
                          const struct ntk_engine_side *source)
{
    const struct ntk_engine_indirect *indirect =
        ntk_vec_at(&m->program->indirects, transfer->indirect);
    uint64_t elements = indirect->row_elements;
    struct ntk_dma_walk copy_walk = dense(&source->walk, indirect->rows * elements);
    struct rows to;
    struct rows from;
    uint8_t *fresh = NULL;
    uint8_t *sum = NULL;

    if (!rows_resolve(m, indirect, &indirect->of_source, source, &from) ||
        !rows_resolve(m, indirect, &indirect->of_destination, &transfer->to, &to)) {
        return false;
    }
    if (source->bounces) {
        struct rows copy = { .walk = &copy_walk };

        copy.base = bounce_take(m, indirect->rows * elements * (uint64_t)copy_walk.step[0]);
        for (uint64_t r = 0; r < indirect->rows; r++) {
            if (is_skipped(&from, r)) {
                continue;
            }
            row_move(&copy, &from, r, elements);
            if (from.at) {
                from.at[r] = copy.base + r * elements * (uint64_t)copy_walk.step[0];
            }
        }
        if (from.at) {
            copy_walk.count[0] = elements; /* elements of one row from here on */
            from.walk = &copy_walk;
        } else {
            from = copy;
        }
    }
    if (transfer->accumulates) {
        fresh = bounce_take(m, elements * ntk_dtype_bytes(from.walk->dtype));
        sum = bounce_take(m, elements * ntk_dtype_bytes(to.walk->dtype));
    }
    for (uint64_t r = 0; r < indirect->rows; r++) {
        if (is_skipped(&from, r) || is_skipped(&to, r)) {
            continue;
        }
        if (transfer->accumulates) {
            row_add(&to, &from, r, elements, fresh, sum);
        } else {
            row_move(&to, &from, r, elements);
        }
    }
    return true;
}

/* --- notifications -------------------------------------------------------------------------- */

void ntk_engine_written(const struct ntk_engine_core *core, const struct ntk_engine_side *to)
{
    int64_t low;
    int64_t high;

    if (core->packs && to->region == NTK_ENGINE_REGION_SBUF) {
        ntk_engine_side_extent(core->spec, to, &low, &high);
        ntk_tile_packs_written(core->packs, low, high);
    }
}

/* --- any transfer
 * ------------------------------------------------------------------------------ */

bool ntk_engine_move(const struct ntk_engine_core *core, const struct ntk_engine_program *program,
                     const struct ntk_engine_binding *bindings,
                     const struct ntk_engine_transfer *transfer)
{
    struct memory m = { core, program, bindings, 0 };
    const struct ntk_engine_side *source =
        (const struct ntk_engine_side *)program->sources.items + transfer->first_source;
    struct ntk_dma_source sources[NTK_DMA_SOURCES_MAX];
    uint8_t *to;

    ntk_engine_written(core, &transfer->to);
    if (transfer->move == NTK_ENGINE_MOVE_INDIRECT) {
        return indirect_move(&m, transfer, source);
    }
    to = side_memory(&m, &transfer->to);
    if (transfer->move == NTK_ENGINE_MOVE_TRANSPOSE) {
        ntk_dma_transpose(&transfer->to.walk, to, &source->walk, side_memory(&m, source),
                          transfer->shape, transfer->order, core->bounce);
        return true;
    }
    assert(transfer->source_count >= 1);
    for (uint32_t s = 0; s < transfer->source_count; s++) {
        sources[s].walk = source[s].walk;
        sources[s].scale = source[s].scale;
        sources[s].from = source[s].bounces ? bounce_side(&m, &source[s], &sources[s].walk)
                                            : side_memory(&m, &source[s]);
    }
    switch (transfer->move) {
    case NTK_ENGINE_MOVE_COPY:
        ntk_dma_copy(&transfer->to.walk, to, &sources[0].walk, sources[0].from);
        break;
    case NTK_ENGINE_MOVE_CAST:
        ntk_dma_cast(&transfer->to.walk, to, &sources[0].walk, sources[0].from);
        break;
    default:
        ntk_dma_compute(transfer->fold, &transfer->to.walk, to, sources, transfer->source_count,
                        transfer->accumulates, transfer->has_start ? &transfer->start : NULL);
        break;
    }
    return true;
}
