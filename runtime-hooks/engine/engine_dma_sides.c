/* SPDX-License-Identifier: MIT */
/* engine_dma_sides - converts patterns and operands to bounded walks, and computes their costs. */
#include "runtime-hooks/engine/engine_dma.h"

#include <string.h>

#include "runtime-hooks/engine/cost_model.h"

/* --- sides of transfers ----------------------------------------------------------------------- */

static int variable_use(const struct ntk_engine_builder *b, uint32_t var_id, uint64_t *out_bytes,
                        struct ntk_err *err)
{
    struct ntk_engine_variable *variable;

    if (var_id >= b->program->info.variable_count) {
        return BAD("variable %u is not declared", var_id);
    }
    variable = &b->program->variables[var_id];
    if (!variable->is_bound) {
        return BAD("variable %u is a pointer or a table, which a transfer cannot move", var_id);
    }
    variable->is_used = true;
    *out_bytes = variable->bytes_count;
    return 0;
}

/* Follows a pointer variable to its target; other variables are returned unchanged. */
static int pointer_follow(const struct ntk_engine_builder *b, uint32_t *var_id, struct ntk_err *err)
{
    const struct ntk_engine_variable *variable;

    if (*var_id >= b->program->info.variable_count) {
        return BAD("variable %u is not declared", *var_id);
    }
    variable = &b->program->variables[*var_id];
    if (variable->is_pointer) {
        if (variable->refers_to == NTK_NEFF_NONE) {
            return BAD("pointer %u refers to an object without memory", *var_id);
        }
        *var_id = variable->refers_to;
    }
    return 0;
}

/* Marks all variables in a table as used, following pointers. */
static int table_use(struct ntk_engine_builder *b, uint32_t var_id, struct ntk_err *err)
{
    struct ntk_engine_variable *table = &b->program->variables[var_id];

    if (table->entry_count == 0) {
        return BAD("table %u is empty", var_id);
    }
    for (uint32_t i = 0; !table->is_checked && i < table->entry_count; i++) {
        uint32_t *entry = ntk_vec_at(&b->program->entries, table->first_entry + i);
        uint64_t bytes;
        int ret = pointer_follow(b, entry, err);

        if (ret == 0) {
            ret = variable_use(b, *entry, &bytes, err);
        }
        if (ret < 0) {
            ntk_err_prefix(err, "table %u, entry %u", var_id, i);
            return ret;
        }
    }
    table->is_checked = true;
    return 0;
}

/* Checks that a walk from offset stays inside `bytes`; sets its extent. */
static int side_bound(const struct ntk_dma_walk *walk, uint64_t offset, uint64_t bytes,
                      struct ntk_err *err)
{
    int64_t low;
    int64_t high;

    if (!ntk_dma_walk_extent(walk, &low, &high) || offset > bytes ||
        low < -(int64_t)(offset < INT64_MAX ? offset : INT64_MAX) ||
        high > (int64_t)(bytes - offset < INT64_MAX ? bytes - offset : INT64_MAX)) {
        return BAD("exceeds its variable of %llu bytes", (unsigned long long)bytes);
    }
    return 0;
}

static void side_finish(struct ntk_engine_side *side)
{
    ntk_dma_walk_normalise(&side->walk);
    side->run_bytes = ntk_dma_walk_run_bytes(&side->walk);
}

/* Splits a step of a state-buffer address into a number of partitions and of bytes. */
static bool sbuf_split(const struct ntk_engine_builder *b, const struct ntk_neff_pattern *pattern,
                       const struct ntk_dma_walk *walk, bool nearest, struct ntk_engine_side *side)
{
    const int64_t unit = (int64_t)NTK_NEFF_SBUF_PARTITION_STEP;
    int64_t first = (int64_t)(pattern->offset / NTK_NEFF_SBUF_PARTITION_STEP);
    int64_t byte = (int64_t)(pattern->offset % NTK_NEFF_SBUF_PARTITION_STEP);
    __int128 low_partition = first;
    __int128 high_partition = first;
    __int128 low = byte;
    __int128 high = byte + (__int128)ntk_dtype_bytes(walk->dtype);

    side->walk = *walk;
    for (unsigned d = 0; d < walk->dim_count; d++) {
        int64_t partitions = walk->step[d] / unit;
        int64_t bytes = walk->step[d] % unit;
        __int128 reach;

        if (nearest && bytes > unit / 2) {
            partitions++;
            bytes -= unit;
        } else if (nearest && bytes < -unit / 2) {
            partitions--;
            bytes += unit;
        }
        reach = (__int128)partitions * (int64_t)(walk->count[d] - 1);
        *(reach < 0 ? &low_partition : &high_partition) += reach;
        reach = (__int128)bytes * (int64_t)(walk->count[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
        if (partitions > NTK_ISA_PARTITIONS || partitions < -NTK_ISA_PARTITIONS) {
            if (walk->count[d] > 1) {
                return false;
            }
            partitions = 0;
        }
        side->walk.step[d] = partitions * ntk_engine_sbuf_pitch(b->spec) + bytes;
    }
    side->offset = first * ntk_engine_sbuf_pitch(b->spec) + byte;
    return low_partition >= 0 && high_partition < (__int128)b->spec->partition_count && low >= 0 &&
           high <= (__int128)b->spec->sbuf_partition_bytes;
}

/* Makes a side from a pattern. width 0: the width of the pattern's dtype; otherwise, raw elements
 * of this size. may_point: pointers may be followed. */
static int side_from_pattern(struct ntk_engine_builder *b, const char *what,
                             const struct ntk_neff_pattern *pattern, size_t width, bool may_point,
                             struct ntk_engine_side *out, struct ntk_err *err)
{
    static const enum ntk_dtype raw[9] = { [1] = NTK_DTYPE_UINT8,
                                           [2] = NTK_DTYPE_UINT16,
                                           [4] = NTK_DTYPE_UINT32,
                                           [8] = NTK_DTYPE_UINT64 };
    const struct ntk_neff_var *var;
    struct ntk_dma_walk walk = { .dtype = width ? raw[width] : pattern->dtype, .fp8 = b->fp8 };
    uint64_t bytes = 0;
    uint64_t elements;
    int ret;

    if (pattern->var >= b->subgraph->var_count) {
        return BAD("%s: unknown variable", what);
    }
    var = &b->subgraph->vars[pattern->var];
    width = ntk_dtype_bytes(walk.dtype);
    if (width == 0 || pattern->dim_count < 1 || pattern->dim_count > NTK_NEFF_TRANSFER_DIMS_MAX) {
        return BAD("%s: unknown dtype, or invalid number of dimensions", what);
    }
    if (pattern->sizes[0] % width != 0) {
        return BAD("%s: %llu bytes are not a whole number of elements", what,
                   (unsigned long long)pattern->sizes[0]);
    }
    walk.dim_count = (uint8_t)pattern->dim_count;
    for (unsigned d = 0; d < pattern->dim_count; d++) {
        walk.count[d] = d == 0 ? pattern->sizes[0] / width : pattern->sizes[d];
        walk.step[d] = d == 0 && pattern->steps[0] == 1 ? (int64_t)width : pattern->steps[d];
        if (walk.count[d] == 0) {
            return BAD("%s: dimension %u is empty", what, d);
        }
    }
    if (!ntk_dma_walk_elements(&walk, &elements)) {
        return BAD("%s: too many elements: the size exceeds the address space", what);
    }

    memset(out, 0, sizeof *out);
    out->var_id = var->var_id;
    out->address = pattern->offset;
    if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
        out->region = NTK_ENGINE_REGION_SBUF;
        if (pattern->offset >= (uint64_t)b->spec->partition_count * NTK_NEFF_SBUF_PARTITION_STEP ||
            (!sbuf_split(b, pattern, &walk, false, out) &&
             !sbuf_split(b, pattern, &walk, true, out))) {
            return BAD("%s: exceeds the state buffer or one of its partitions", what);
        }
    } else if (var->type == NTK_NEFF_VAR_POINTER) {
        const struct ntk_engine_variable *pointer = &b->program->variables[var->var_id];
        uint32_t target = var->var_id;

        if (!may_point) {
            return BAD("%s: pointer %u is not writable", what, var->var_id);
        }
        out->region = NTK_ENGINE_REGION_POINTER;
        if ((ret = pointer_follow(b, &target, err)) < 0 ||
            (ret = variable_use(b, target, &bytes, err)) < 0 ||
            (ret = side_bound(&walk, pattern->offset, NTK_ENGINE_POINTER_BYTES, err)) < 0) {
            ntk_err_prefix(err, "%s", what);
            return ret;
        }
        out->walk = walk;
        out->offset =
            (int64_t)(pointer->cell * (uint64_t)NTK_ENGINE_POINTER_BYTES + pattern->offset);
    } else {
        out->region = NTK_ENGINE_REGION_VAR;
        ret = variable_use(b, var->var_id, &bytes, err);
        if (ret == 0) {
            ret = side_bound(&walk, pattern->offset, bytes, err);
        }
        if (ret < 0) {
            ntk_err_prefix(err, "%s", what);
            return ret;
        }
        out->walk = walk;
        out->offset = (int64_t)pattern->offset;
    }
    side_finish(out);
    return 0;
}

/* Makes a side in a variable, following pointers. If table is not NULL, the operand may also name a
 * table, which is stored in *table; out is then the row in its first entry, unchecked. */
static int side_in_variable(struct ntk_engine_builder *b, const struct ntk_isa_operand *operand,
                            const struct ntk_engine_variable **table, struct ntk_engine_side *out,
                            struct ntk_err *err)
{
    uint64_t bytes = 0;
    int ret;

    out->region = NTK_ENGINE_REGION_VAR;
    out->var_id = operand->var_id;
    out->offset = (int64_t)operand->offset;
    out->address = operand->offset;
    if (operand->var_id < b->program->info.variable_count &&
        b->program->variables[operand->var_id].is_table) {
        const struct ntk_engine_variable *variable = &b->program->variables[operand->var_id];

        if (!table) {
            return BAD("table %u can only be accessed with an index", operand->var_id);
        }
        ret = table_use(b, operand->var_id, err);
        if (ret == 0) {
            *table = variable;
            out->var_id = *(uint32_t *)ntk_vec_at(&b->program->entries, variable->first_entry);
        }
        return ret;
    }
    if ((ret = pointer_follow(b, &out->var_id, err)) < 0 ||
        (ret = variable_use(b, out->var_id, &bytes, err)) < 0) {
        return ret;
    }
    return side_bound(&out->walk, operand->offset, bytes, err);
}

int engine_dma_side_from_operand(struct ntk_engine_builder *b, const char *what,
                                 const struct ntk_isa_operand *operand,
                                 const struct ntk_engine_variable **table,
                                 struct ntk_engine_side *out, struct ntk_err *err)
{
    int64_t width = (int64_t)ntk_dtype_bytes(operand->dtype);
    struct ntk_engine_tile tile = { 0 };
    int ret;

    memset(out, 0, sizeof *out);
    out->walk.dtype = operand->dtype;
    out->walk.fp8 = b->fp8;
    out->walk.dim_count = operand->dim_count;
    for (unsigned d = 0; d < operand->dim_count; d++) {
        out->walk.count[d] = operand->dim[d].count;
        out->walk.step[d] = (int64_t)operand->dim[d].step * width;
    }
    if (operand->space == NTK_ISA_SPACE_VAR) {
        ret = side_in_variable(b, operand, table, out, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", what);
            return ret;
        }
    } else {
        ret = ntk_engine_tile_prepare(b, what, operand, &tile, err);
        if (ret < 0) {
            return ret;
        }
        out->region = tile.region;
        out->var_id = b->program->sbuf_var_id;
        out->offset = (int64_t)tile.offset;
        out->address = operand->partition_start * NTK_NEFF_SBUF_PARTITION_STEP + operand->offset;
        out->walk.count[out->walk.dim_count] = operand->partition_count;
        out->walk.step[out->walk.dim_count] = tile.tile.pitch;
        out->walk.dim_count++;
    }
    side_finish(out);
    return 0;
}

uint64_t engine_dma_side_bytes(const struct ntk_engine_side *side)
{
    uint64_t elements = 0;

    ntk_dma_walk_elements(&side->walk, &elements);
    return elements * ntk_dtype_bytes(side->walk.dtype);
}

bool engine_dma_sides_meet(const struct ntk_engine_side *a, const struct ntk_engine_side *b)
{
    int64_t a_low;
    int64_t a_high;
    int64_t b_low;
    int64_t b_high;

    /* Two variables may be bound to the same memory, but only if the caller binds both. */
    if (a->region != b->region || (a->region == NTK_ENGINE_REGION_VAR && a->var_id != b->var_id)) {
        return false;
    }
    ntk_dma_walk_extent(&a->walk, &a_low, &a_high);
    ntk_dma_walk_extent(&b->walk, &b_low, &b_high);
    return a->offset + a_low < b->offset + b_high && b->offset + b_low < a->offset + a_high;
}

uint64_t engine_dma_memory_bytes(const struct ntk_engine_builder *b,
                                 const struct ntk_engine_side *side)
{
    switch (side->region) {
    case NTK_ENGINE_REGION_VAR:
        return b->program->variables[side->var_id].bytes_count;
    case NTK_ENGINE_REGION_PSUM:
        return (uint64_t)b->spec->partition_count * b->spec->psum_partition_bytes;
    case NTK_ENGINE_REGION_POINTER:
        return NTK_ENGINE_POINTER_BYTES;
    default:
        return (uint64_t)b->spec->partition_count * b->spec->sbuf_partition_bytes;
    }
}

int engine_dma_memory_bound(const struct ntk_engine_builder *b, const struct ntk_engine_side *to,
                            struct ntk_err *err)
{
    uint64_t limit = engine_dma_memory_bytes(b, to);

    if (engine_dma_side_bytes(to) > limit) {
        return BAD("moves %llu bytes to memory of %llu bytes",
                   (unsigned long long)engine_dma_side_bytes(to), (unsigned long long)limit);
    }
    return 0;
}

bool engine_dma_side_is_hbm(const struct ntk_engine_side *side)
{
    return side->region == NTK_ENGINE_REGION_VAR || side->region == NTK_ENGINE_REGION_POINTER;
}

void engine_dma_transfer_finish(struct ntk_engine_builder *b, struct ntk_engine_transfer *transfer)
{
    const struct ntk_engine_side *sources =
        (const struct ntk_engine_side *)b->program->sources.items + transfer->first_source;
    uint64_t largest;
    uint64_t rows;

    transfer->write_bytes = engine_dma_side_bytes(&transfer->to);
    transfer->run_bytes = transfer->to.run_bytes;
    if (transfer->to.region == NTK_ENGINE_REGION_VAR) {
        transfer->hbm_write_bytes = transfer->write_bytes;
    }
    for (uint32_t s = 0; s < transfer->source_count; s++) {
        uint64_t bytes = engine_dma_side_bytes(&sources[s]);

        transfer->read_bytes += bytes;
        if (engine_dma_side_is_hbm(&sources[s])) {
            transfer->hbm_read_bytes += bytes;
        }
        if (sources[s].run_bytes < transfer->run_bytes) {
            transfer->run_bytes = sources[s].run_bytes;
        }
    }
    if (transfer->accumulates && transfer->to.region == NTK_ENGINE_REGION_VAR) {
        transfer->hbm_read_bytes += transfer->write_bytes;
    }
    /* One descriptor per row; rows longer than an efficient payload are split. */
    largest =
        transfer->write_bytes > transfer->read_bytes ? transfer->write_bytes : transfer->read_bytes;
    rows = transfer->write_bytes / transfer->to.run_bytes;
    transfer->descriptors = rows > largest / 4096 ? rows : largest / 4096;
    if (transfer->descriptors == 0) {
        transfer->descriptors = 1;
    }
    if (transfer->bounce_bytes > b->program->bounce_bytes_max) {
        b->program->bounce_bytes_max = transfer->bounce_bytes;
    }
}

static int transpose_prepare(const struct ntk_neff_transfer *from,
                             struct ntk_engine_transfer *transfer, uint64_t elements,
                             struct ntk_err *err)
{
    static const char letters[] = "WZYX"; /* outermost dimension first */
    uint64_t product = 1;
    unsigned seen = 0;

    for (int d = 0; d < 4; d++) {
        const char *at =
            from->transpose_order[d] ? strchr(letters, from->transpose_order[d]) : NULL;

        if (!at) {
            return BAD("invalid transpose_op '%.8s': expected an order of W, Z, Y, X",
                       from->transpose_order);
        }
        transfer->order[d] = (uint8_t)(at - letters);
        seen |= 1u << transfer->order[d];
        transfer->shape[d] = from->transpose_shape[d];
        if (from->transpose_shape[d] == 0 ||
            __builtin_mul_overflow(product, (uint64_t)from->transpose_shape[d], &product)) {
            return BAD("transpose_shape is empty or too large");
        }
    }
    if (seen != 15 || from->transpose_order[4] != 0) {
        return BAD("invalid transpose_op '%.8s': expected an order of W, Z, Y, X",
                   from->transpose_order);
    }
    if (elements % product != 0) {
        return BAD("a tile of transpose_shape has %llu elements, but the transfer has %llu, which "
                   "is not a multiple",
                   (unsigned long long)product, (unsigned long long)elements);
    }
    return 0;
}

/* Sets how the elements move. *out_width: the bytes of an element, or 0: those of its type. */
static int move_prepare(const struct ntk_neff_transfer *from, struct ntk_engine_transfer *transfer,
                        size_t *out_width, struct ntk_err *err)
{
    static const struct {
        enum ntk_engine_move move;
        enum ntk_dma_fold fold;
    } moves[] = {
        [NTK_NEFF_TRANSFER_COPY] = { .move = NTK_ENGINE_MOVE_COPY },
        [NTK_NEFF_TRANSFER_CAST] = { .move = NTK_ENGINE_MOVE_CAST },
        [NTK_NEFF_TRANSFER_ADD] = { NTK_ENGINE_MOVE_COMPUTE, NTK_DMA_ADD },
        [NTK_NEFF_TRANSFER_MIN] = { NTK_ENGINE_MOVE_COMPUTE, NTK_DMA_MIN },
        [NTK_NEFF_TRANSFER_MAX] = { NTK_ENGINE_MOVE_COMPUTE, NTK_DMA_MAX },
        [NTK_NEFF_TRANSFER_FMA] = { NTK_ENGINE_MOVE_COMPUTE, NTK_DMA_FMA },
        [NTK_NEFF_TRANSFER_TRANSPOSE] = { .move = NTK_ENGINE_MOVE_TRANSPOSE },
    };
    size_t width = from->transpose_element_bytes;

    transfer->move = moves[from->op].move;
    transfer->fold = moves[from->op].fold;
    *out_width = transfer->move == NTK_ENGINE_MOVE_COPY;
    if (transfer->move == NTK_ENGINE_MOVE_TRANSPOSE) {
        *out_width = width;
        if (width != 1 && width != 2 && width != 4 && width != 8) {
            return BAD("cannot transpose elements of %zu bytes", width);
        }
    }
    if (transfer->move != NTK_ENGINE_MOVE_COMPUTE) {
        return from->source_count == 1 ? 0
                                       : BAD("expected one source, found %u", from->source_count);
    }
    /* Several sources are combined and written to the destination; a single source is combined
     * with the old content, unless min and max have a start value. */
    transfer->has_start =
        from->has_constant && transfer->fold != NTK_DMA_ADD && transfer->fold != NTK_DMA_FMA;
    transfer->start = from->constant;
    transfer->accumulates = !from->has_source_array && !transfer->has_start;
    return 0;
}

static int source_prepare(struct ntk_engine_builder *b, const struct ntk_neff_transfer *from,
                          uint32_t source, size_t width, uint64_t to_elements,
                          struct ntk_engine_transfer *transfer, struct ntk_err *err)
{
    struct ntk_engine_side *side = ntk_vec_add(&b->program->sources);
    uint64_t elements;

    if (!side) {
        return NO_MEMORY();
    }
    int ret = side_from_pattern(b, "from", &from->from[source], width, true, side, err);
    if (ret < 0) {
        return ret;
    }
    side->scale = from->scales ? from->scales[source] : 1.0F;
    ntk_dma_walk_elements(&side->walk, &elements);
    if (elements != to_elements) {
        return BAD("a source has %llu elements, but the destination has %llu",
                   (unsigned long long)elements, (unsigned long long)to_elements);
    }
    side->bounces =
        engine_dma_sides_meet(&transfer->to, side) || transfer->move == NTK_ENGINE_MOVE_TRANSPOSE;
    transfer->bounce_bytes += side->bounces ? engine_dma_side_bytes(side) + 64 : 0;
    return 0;
}

int engine_dma_transfer_prepare(struct ntk_engine_builder *b, const struct ntk_neff_transfer *from,
                                struct ntk_err *err)
{
    struct ntk_engine_transfer *transfer = ntk_vec_add(&b->program->transfers);
    size_t width;
    uint64_t to_elements;

    if (!transfer) {
        return NO_MEMORY();
    }
    if (from->source_count < 1 || from->source_count > NTK_DMA_SOURCES_MAX) {
        return BAD("a transfer must have 1 to %d sources, got %u", NTK_DMA_SOURCES_MAX,
                   from->source_count);
    }
    int ret = move_prepare(from, transfer, &width, err);
    ret = ret < 0 ? ret : side_from_pattern(b, "to", &from->to, width, false, &transfer->to, err);
    ret = ret < 0 ? ret : engine_dma_memory_bound(b, &transfer->to, err);
    if (ret < 0) {
        return ret;
    }
    ntk_dma_walk_elements(&transfer->to.walk, &to_elements);
    transfer->first_source = (uint32_t)b->program->sources.count;
    transfer->source_count = from->source_count;
    for (uint32_t s = 0; s < from->source_count && ret == 0; s++) {
        ret = source_prepare(b, from, s, width, to_elements, transfer, err);
    }
    if (ret == 0 && transfer->move == NTK_ENGINE_MOVE_TRANSPOSE) {
        ret = transpose_prepare(from, transfer, to_elements, err);
    }
    if (ret == 0) {
        engine_dma_transfer_finish(b, transfer);
    }
    return ret;
}
