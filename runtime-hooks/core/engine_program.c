/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/engine_program.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/cost_model.h"
#include "runtime-hooks/core/engine_opaque.h"
#include "runtime-hooks/core/kernel_select.h"

static_assert((int)NTK_ENGINE_PE == NTK_ISA_ENGINE_PE && (int)NTK_ENGINE_SP == NTK_ISA_ENGINE_SP,
              "engine ids of the instruction set are those of the event ABI");

/* Bounds that keep a hostile program from asking for absurd work or memory. */
#define VARIABLES_MAX (1u << 20)
#define NOP_CYCLES_MAX (UINT64_C(1) << 36) /* about 50 s: longer than any execution may take */
#define DMA_STARTS_MAX (1u << 22)
#define TILE_ELEMENTS_MAX NTK_ISA_SBUF_PARTITION_BYTES_MAX

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define NO_MEMORY() ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory")

static const char *const engine_names[NTK_ENGINE_SEQUENCER_COUNT] = { "PE", "Activation", "Pool",
                                                                      "DVE", "SP" };

struct builder {
    struct ntk_engine_program *program;
    const struct ntk_neff_subgraph *subgraph;
    const struct ntk_engine_core_spec *spec;
    enum ntk_isa_engine engine;
    /* Group of the engine -> index into dmas + 1, filled as triggers ask. */
    uint32_t *group_dma;
};

static ptrdiff_t sbuf_pitch(const struct ntk_engine_core_spec *spec)
{
    return (ptrdiff_t)spec->sbuf_partition_bytes + NTK_ENGINE_PITCH_EXTRA;
}

static ptrdiff_t psum_pitch(const struct ntk_engine_core_spec *spec)
{
    return (ptrdiff_t)spec->psum_partition_bytes + NTK_ENGINE_PITCH_EXTRA;
}

/* --- tiles ----------------------------------------------------------------------------------------- */

static int tile_prepare(const struct builder *b, const char *what,
                        const struct ntk_isa_operand *operand, struct ntk_engine_tile *out,
                        struct ntk_err *err)
{
    bool in_sbuf = operand->space == NTK_ISA_SPACE_SBUF;
    uint32_t partition_bytes =
        in_sbuf ? b->spec->sbuf_partition_bytes : b->spec->psum_partition_bytes;
    ptrdiff_t pitch = in_sbuf ? sbuf_pitch(b->spec) : psum_pitch(b->spec);
    ptrdiff_t width = (ptrdiff_t)ntk_dtype_bytes(operand->dtype);
    uint64_t elements = ntk_isa_operand_partition_elements(operand);
    struct ntk_dma_walk walk = { .dtype = operand->dtype, .dim_count = operand->dim_count };
    int64_t low;
    int64_t high;

    ntk_isa_operand_extent(operand, &low, &high);
    if (low < 0 || high > (int64_t)partition_bytes) {
        return BAD("%s: reaches byte %lld of a partition of %u bytes", what, (long long)high,
                   partition_bytes);
    }
    if (elements > TILE_ELEMENTS_MAX) {
        return BAD("%s: %llu elements in a partition", what, (unsigned long long)elements);
    }
    for (unsigned d = 0; d < operand->dim_count; d++) {
        walk.count[d] = operand->dim[d].count;
        walk.step[d] = (int64_t)operand->dim[d].step * width;
    }
    ntk_dma_walk_normalise(&walk);

    memset(out, 0, sizeof *out);
    out->is_present = true;
    out->region = in_sbuf ? NTK_ENGINE_REGION_SBUF : NTK_ENGINE_REGION_PSUM;
    out->offset = (size_t)(operand->partition_start * pitch) + (size_t)operand->offset;
    out->tile.pitch = operand->partition_step * pitch;
    out->tile.dtype = operand->dtype;
    out->tile.partitions = operand->partition_count;
    out->tile.elements = (uint32_t)elements;
    out->tile.dim_count = walk.dim_count;
    for (unsigned d = 0; d < walk.dim_count; d++) {
        out->tile.count[d] = (uint32_t)walk.count[d];
        out->tile.step[d] = (ptrdiff_t)walk.step[d];
    }
    out->tile.is_dense = walk.dim_count == 1 && (walk.step[0] == width || walk.count[0] == 1);
    return 0;
}

/* True when the two share bytes, or may. */
static bool overlaps(const struct ntk_isa_operand *to, const struct ntk_isa_operand *from)
{
    int64_t to_low;
    int64_t to_high;
    int64_t from_low;
    int64_t from_high;
    unsigned to_last = to->partition_start + (to->partition_count - 1u) * to->partition_step;
    unsigned from_last =
        from->partition_start + (from->partition_count - 1u) * from->partition_step;

    if (to->space != from->space || to->space == NTK_ISA_SPACE_NONE ||
        to->space == NTK_ISA_SPACE_PATTERN || to_last < from->partition_start ||
        from_last < to->partition_start) {
        return false;
    }
    ntk_isa_operand_extent(to, &to_low, &to_high);
    ntk_isa_operand_extent(from, &from_low, &from_high);
    return to_high > from_low && from_high > to_low;
}

/* True when writing the destination could change what a source still has to give. Inside one partition
 * kernels read first, so tiles that go through the same partitions in step are fine. */
static bool disturbs(const struct ntk_isa_operand *to, const struct ntk_isa_operand *from,
                     bool crosses)
{
    if (!overlaps(to, from)) {
        return false;
    }
    return crosses || to->partition_start != from->partition_start ||
           to->partition_step != from->partition_step || to->partition_step == 0;
}

/* --- compute instructions --------------------------------------------------------------------------- */

static bool is_bits(enum ntk_isa_alu op)
{
    return ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC;
}

/* Bit operators take and give integers, in every stage or in none. */
static int check_operators(const struct ntk_isa_instr *instr, struct ntk_err *err)
{
    bool bits = is_bits(instr->op0);
    bool has_op1 = false;
    bool has_reduce = false;

    switch (instr->op) {
    case NTK_ISA_OP_TENSOR_SCALAR:
        has_op1 = instr->op1 != NTK_ISA_ALU_NONE;
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        has_op1 = true;
        break;
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        has_reduce = true;
        break;
    case NTK_ISA_OP_ACTIVATION_REDUCE:
        bits = false;
        has_reduce = true;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
    case NTK_ISA_OP_TENSOR_REDUCE:
        break;
    default:
        return 0;
    }
    if ((has_op1 && is_bits(instr->op1) != bits) ||
        (has_reduce && is_bits(instr->reduce_op) != bits)) {
        return BAD("operators on bits and on numbers in one instruction");
    }
    for (int r = 0; bits && r < NTK_ISA_OPERAND_COUNT; r++) {
        if (instr->operand[r].space != NTK_ISA_SPACE_NONE &&
            ntk_dtype_is_float(instr->operand[r].dtype)) {
            return BAD("operator %s on %s", ntk_isa_alu_name(instr->op0),
                       ntk_dtype_name(instr->operand[r].dtype));
        }
    }
    if (has_reduce && instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
        instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
        return BAD("reduce command %d is reserved", (int)instr->reduce_cmd);
    }
    return 0;
}

static bool all_bf16(const struct ntk_isa_instr *instr)
{
    for (int r = NTK_ISA_DST; r <= NTK_ISA_SRC1; r++) {
        if (instr->operand[r].space != NTK_ISA_SPACE_NONE &&
            instr->operand[r].dtype != NTK_DTYPE_BFLOAT16) {
            return false;
        }
    }
    return true;
}

static bool all_unit_step_in_sbuf(const struct ntk_isa_instr *instr)
{
    for (int r = NTK_ISA_DST; r <= NTK_ISA_SRC1; r++) {
        const struct ntk_isa_operand *operand = &instr->operand[r];

        if (operand->space != NTK_ISA_SPACE_SBUF ||
            (operand->dim[0].step != 1 && operand->dim[0].count > 1)) {
            return false;
        }
    }
    return true;
}

/* docs/cost-model.md, section "Operations". */
static uint64_t compute_cycles(const struct builder *b, const struct ntk_isa_instr *instr)
{
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *a = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *second = &instr->operand[NTK_ISA_SRC1];
    uint64_t n = ntk_isa_operand_partition_elements(to);
    enum ntk_cost_rule rule = NTK_COST_ELEMENT;

    switch (instr->op) {
    case NTK_ISA_OP_NC_MATMUL:
        return ntk_cost_matmul_cycles(ntk_isa_operand_partition_elements(a), n,
                                      a->dtype == NTK_DTYPE_FLOAT32 ||
                                          second->dtype == NTK_DTYPE_FLOAT32);
    case NTK_ISA_OP_NC_TRANSPOSE:
        return ntk_cost_pe_transpose_cycles(a->partition_count,
                                            ntk_isa_operand_partition_elements(a));
    case NTK_ISA_OP_ACTIVATION_REDUCE:
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        rule = NTK_COST_ELEMENT_REDUCE;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
        if (b->engine == NTK_ISA_ENGINE_DVE &&
            (a->space == NTK_ISA_SPACE_PSUM) + (second->space == NTK_ISA_SPACE_PSUM) != 1 &&
            !(all_bf16(instr) && all_unit_step_in_sbuf(instr) &&
              (instr->op0 == NTK_ISA_ALU_ADD || instr->op0 == NTK_ISA_ALU_MULTIPLY ||
               instr->op0 == NTK_ISA_ALU_SUBTRACT))) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        if (!(all_bf16(instr) && n % 2 == 0 &&
              (instr->op1 == NTK_ISA_ALU_MULTIPLY || instr->op1 == NTK_ISA_ALU_SUBTRACT))) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        n = ntk_isa_operand_partition_elements(a);
        if (all_bf16(instr) &&
            (instr->op0 == NTK_ISA_ALU_ADD || instr->op0 == NTK_ISA_ALU_MAXIMUM)) {
            rule = NTK_COST_ELEMENT_HALF;
        }
        break;
    case NTK_ISA_OP_DEVICE_PRINT:
    case NTK_ISA_OP_MAX8:
    case NTK_ISA_OP_BN_STATS:
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
    case NTK_ISA_OP_SET_RNG_SEED:
    case NTK_ISA_OP_RAND_SET_STATE:
        n = ntk_isa_operand_partition_elements(a);
        break;
    case NTK_ISA_OP_BN_AGGR:
        n = ntk_isa_operand_partition_elements(a);
        rule = NTK_COST_BN_AGGR;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
        rule = NTK_COST_ELEMENT_DOUBLE;
        break;
    case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
        if ((a->space == NTK_ISA_SPACE_PSUM) + (second->space == NTK_ISA_SPACE_PSUM) != 1) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_AFFINE_SELECT:
        rule = NTK_COST_POOL_INDEX;
        break;
    case NTK_ISA_OP_LOCAL_GATHER:
        return ntk_cost_local_gather_cycles(n, instr->imm[0], ntk_dtype_bytes(a->dtype));
    case NTK_ISA_OP_MEMSET:
        if (to->dtype == NTK_DTYPE_BFLOAT16 && instr->imm[0] == 0) {
            rule = NTK_COST_ELEMENT_HALF;
        }
        break;
    case NTK_ISA_OP_RECIPROCAL:
        rule = NTK_COST_RECIPROCAL;
        break;
    case NTK_ISA_OP_IOTA:
        rule = NTK_COST_POOL_INDEX;
        break;
    default:
        break;
    }
    return ntk_cost_cycles(rule, n);
}

static int compute_prepare(struct builder *b, const struct ntk_isa_instr *instr,
                           struct ntk_engine_instr *out, struct ntk_err *err)
{
    static const char *const roles[NTK_ISA_OPERAND_COUNT] = { "destination", "source 0", "source 1",
                                                              "source 2", "second destination" };
    struct ntk_engine_program *program = b->program;
    struct ntk_engine_compute *compute;
    uint64_t bounce = 0;
    bool crosses = ntk_select_crosses(instr->op);
    int ret = check_operators(instr, err);

    if (ret < 0) {
        return ret;
    }
    compute = ntk_vec_add(&program->computes);
    if (!compute) {
        return NO_MEMORY();
    }
    compute->instr = *instr;
    if (instr->op == NTK_ISA_OP_DEVICE_PRINT && instr->name_id > 0) {
        compute->prefix = strdup(b->subgraph->engines[b->engine].names[instr->name_id - 1]);
        if (!compute->prefix) {
            return NO_MEMORY();
        }
    }
    for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
        const struct ntk_isa_operand *operand = &instr->operand[r];
        struct ntk_engine_tile *tile = &compute->operand[r];

        if (operand->space == NTK_ISA_SPACE_NONE || operand->space == NTK_ISA_SPACE_PATTERN) {
            continue;
        }
        ret = tile_prepare(b, roles[r], operand, tile, err);
        if (ret < 0) {
            return ret;
        }
        if (tile->tile.elements > program->row_elements_max) {
            program->row_elements_max = tile->tile.elements;
        }
        /* What is printed is copied to be dense, the others where a destination would change them. */
        if (instr->op == NTK_ISA_OP_DEVICE_PRINT ||
            (r != NTK_ISA_DST && r != NTK_ISA_DST2 &&
             (disturbs(&instr->operand[NTK_ISA_DST], operand, crosses) ||
              disturbs(&instr->operand[NTK_ISA_DST2], operand, crosses)))) {
            compute->bounce_mask |= (uint8_t)(1u << r);
            bounce += ntk_isa_operand_elements(operand) * ntk_dtype_bytes(operand->dtype) + 64;
        }
    }
    if (bounce > program->bounce_bytes_max) {
        program->bounce_bytes_max = bounce;
    }
    if (instr->op == NTK_ISA_OP_NC_MATMUL || instr->op == NTK_ISA_OP_NC_TRANSPOSE) {
        uint64_t columns = ntk_isa_operand_partition_elements(&instr->operand[NTK_ISA_SRC0]);
        uint64_t depth = instr->operand[NTK_ISA_SRC0].partition_count;

        if (columns > b->spec->pe_columns) {
            return BAD("%llu columns for a tensor engine of %u", (unsigned long long)columns,
                       b->spec->pe_columns);
        }
        program->has_matmul = true;
        out->is_transpose = instr->op == NTK_ISA_OP_NC_TRANSPOSE;
        out->flops =
            2 * depth * columns * ntk_isa_operand_partition_elements(&instr->operand[NTK_ISA_DST]);
    }
    program->has_random = program->has_random || (instr->op >= NTK_ISA_OP_DROPOUT &&
                                                  instr->op <= NTK_ISA_OP_RAND_GET_STATE);
    out->kind = NTK_ENGINE_KIND_COMPUTE;
    out->first = (uint32_t)(program->computes.count - 1);
    out->duration_ps =
        ntk_cost_cycles_to_ps(b->spec, (enum ntk_engine)b->engine, compute_cycles(b, instr));
    return 0;
}

/* --- sides of transfers ----------------------------------------------------------------------------- */

static int variable_use(const struct builder *b, uint32_t var_id, uint64_t *out_bytes,
                        struct ntk_err *err)
{
    struct ntk_engine_variable *variable;

    if (var_id >= b->program->info.variable_count) {
        return BAD("variable %u is not declared", var_id);
    }
    variable = &b->program->variables[var_id];
    if (!variable->is_bound) {
        return BAD("variable %u has no memory of its own to move", var_id);
    }
    variable->is_used = true;
    *out_bytes = variable->bytes_count;
    return 0;
}

/* Checks that a walk from offset stays inside bytes; gives its extent. */
static int side_bound(const char *what, const struct ntk_dma_walk *walk, uint64_t offset,
                      uint64_t bytes, struct ntk_err *err)
{
    int64_t low;
    int64_t high;

    if (!ntk_dma_walk_extent(walk, &low, &high) || offset > bytes ||
        low < -(int64_t)(offset < INT64_MAX ? offset : INT64_MAX) ||
        high > (int64_t)(bytes - offset < INT64_MAX ? bytes - offset : INT64_MAX)) {
        return BAD("%s: leaves its variable of %llu bytes", what, (unsigned long long)bytes);
    }
    return 0;
}

static void side_finish(struct ntk_engine_side *side)
{
    ntk_dma_walk_normalise(&side->walk);
    side->run_bytes = ntk_dma_walk_run_bytes(&side->walk);
}

/* A step of a state-buffer address is so many partitions and so many bytes. */
static bool sbuf_split(const struct builder *b, const struct ntk_neff_pattern *pattern,
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
        side->walk.step[d] = partitions * sbuf_pitch(b->spec) + bytes;
    }
    side->offset = first * sbuf_pitch(b->spec) + byte;
    return low_partition >= 0 && high_partition < (__int128)b->spec->partition_count && low >= 0 &&
           high <= (__int128)b->spec->sbuf_partition_bytes;
}

/* width 0: that of the pattern's dtype; else raw elements of so many bytes. */
static int side_from_pattern(struct builder *b, const char *what,
                             const struct ntk_neff_pattern *pattern, size_t width,
                             struct ntk_engine_side *out, struct ntk_err *err)
{
    static const enum ntk_dtype raw[9] = { [1] = NTK_DTYPE_UINT8,
                                           [2] = NTK_DTYPE_UINT16,
                                           [4] = NTK_DTYPE_UINT32,
                                           [8] = NTK_DTYPE_UINT64 };
    const struct ntk_neff_var *var;
    struct ntk_dma_walk walk = { .dtype = width ? raw[width] : pattern->dtype };
    uint64_t bytes = 0;
    uint64_t elements;
    int ret;

    if (pattern->var >= b->subgraph->var_count) {
        return BAD("%s: no such variable", what);
    }
    var = &b->subgraph->vars[pattern->var];
    width = ntk_dtype_bytes(walk.dtype);
    if (width == 0 || pattern->dim_count < 1 || pattern->dim_count > NTK_NEFF_TRANSFER_DIMS_MAX) {
        return BAD("%s: no known dtype or no dimensions", what);
    }
    if (pattern->sizes[0] % width != 0) {
        return BAD("%s: %llu bytes are no whole number of elements", what,
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
        return BAD("%s: more elements than any memory has", what);
    }

    memset(out, 0, sizeof *out);
    out->var_id = var->var_id;
    out->address = pattern->offset;
    if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
        out->region = NTK_ENGINE_REGION_SBUF;
        if (pattern->offset >= (uint64_t)b->spec->partition_count * NTK_NEFF_SBUF_PARTITION_STEP ||
            (!sbuf_split(b, pattern, &walk, false, out) &&
             !sbuf_split(b, pattern, &walk, true, out))) {
            return BAD("%s: leaves the state buffer or one of its partitions", what);
        }
    } else {
        out->region = NTK_ENGINE_REGION_VAR;
        ret = variable_use(b, var->var_id, &bytes, err);
        if (ret == 0) {
            ret = side_bound(what, &walk, pattern->offset, bytes, err);
        }
        if (ret < 0) {
            return ret;
        }
        out->walk = walk;
        out->offset = (int64_t)pattern->offset;
    }
    side_finish(out);
    return 0;
}

static int side_from_operand(struct builder *b, const char *what,
                             const struct ntk_isa_operand *operand, struct ntk_engine_side *out,
                             struct ntk_err *err)
{
    int64_t width = (int64_t)ntk_dtype_bytes(operand->dtype);
    struct ntk_engine_tile tile = { 0 };
    uint64_t bytes = 0;
    int ret;

    memset(out, 0, sizeof *out);
    out->walk.dtype = operand->dtype;
    out->walk.dim_count = operand->dim_count;
    for (unsigned d = 0; d < operand->dim_count; d++) {
        out->walk.count[d] = operand->dim[d].count;
        out->walk.step[d] = (int64_t)operand->dim[d].step * width;
    }
    if (operand->space == NTK_ISA_SPACE_VAR) {
        out->region = NTK_ENGINE_REGION_VAR;
        out->var_id = operand->var_id;
        out->offset = (int64_t)operand->offset;
        out->address = operand->offset;
        ret = variable_use(b, operand->var_id, &bytes, err);
        if (ret == 0) {
            ret = side_bound(what, &out->walk, operand->offset, bytes, err);
        }
        if (ret < 0) {
            return ret;
        }
    } else if (operand->space == NTK_ISA_SPACE_SBUF) {
        ret = tile_prepare(b, what, operand, &tile, err);
        if (ret < 0) {
            return ret;
        }
        out->region = NTK_ENGINE_REGION_SBUF;
        out->var_id = b->program->sbuf_var_id;
        out->offset = (int64_t)tile.offset;
        out->address = operand->partition_start * NTK_NEFF_SBUF_PARTITION_STEP + operand->offset;
        out->walk.count[out->walk.dim_count] = operand->partition_count;
        out->walk.step[out->walk.dim_count] = tile.tile.pitch;
        out->walk.dim_count++;
    } else {
        return BAD("%s: DMA reaches variables and the state buffer only", what);
    }
    side_finish(out);
    return 0;
}

static uint64_t side_bytes(const struct ntk_engine_side *side)
{
    uint64_t elements = 0;

    ntk_dma_walk_elements(&side->walk, &elements);
    return elements * ntk_dtype_bytes(side->walk.dtype);
}

/* Whether bytes of one side may also be bytes of the other (by their outermost bounds). */
static bool sides_meet(const struct ntk_engine_side *a, const struct ntk_engine_side *b)
{
    int64_t a_low;
    int64_t a_high;
    int64_t b_low;
    int64_t b_high;

    /* Two variables may be bound to the same memory, but only an input or output by the caller. */
    if (a->region != b->region || (a->region == NTK_ENGINE_REGION_VAR && a->var_id != b->var_id)) {
        return false;
    }
    ntk_dma_walk_extent(&a->walk, &a_low, &a_high);
    ntk_dma_walk_extent(&b->walk, &b_low, &b_high);
    return a->offset + a_low < b->offset + b_high && b->offset + b_low < a->offset + a_high;
}

static int memory_bound(const struct builder *b, const struct ntk_engine_side *to,
                        struct ntk_err *err)
{
    uint64_t limit = (uint64_t)b->spec->partition_count * b->spec->sbuf_partition_bytes;

    if (to->region == NTK_ENGINE_REGION_VAR) {
        limit = b->program->variables[to->var_id].bytes_count;
    }
    if (side_bytes(to) > limit) {
        return BAD("moves %llu bytes into memory of %llu", (unsigned long long)side_bytes(to),
                   (unsigned long long)limit);
    }
    return 0;
}

/* Sums and cost figures once all sides are known. */
static void transfer_finish(struct builder *b, struct ntk_engine_transfer *transfer)
{
    const struct ntk_engine_side *sources =
        (const struct ntk_engine_side *)b->program->sources.items + transfer->first_source;
    uint64_t largest;
    uint64_t rows;

    transfer->write_bytes = side_bytes(&transfer->to);
    transfer->run_bytes = transfer->to.run_bytes;
    if (transfer->to.region == NTK_ENGINE_REGION_VAR) {
        transfer->hbm_write_bytes = transfer->write_bytes;
    }
    for (uint32_t s = 0; s < transfer->source_count; s++) {
        uint64_t bytes = side_bytes(&sources[s]);

        transfer->read_bytes += bytes;
        if (sources[s].region == NTK_ENGINE_REGION_VAR) {
            transfer->hbm_read_bytes += bytes;
        }
        if (sources[s].run_bytes < transfer->run_bytes) {
            transfer->run_bytes = sources[s].run_bytes;
        }
    }
    if (transfer->accumulates && transfer->to.region == NTK_ENGINE_REGION_VAR) {
        transfer->hbm_read_bytes += transfer->write_bytes;
    }
    /* One descriptor per row; a row that is longer than an efficient payload may be cut there. */
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
    static const char letters[] = "WZYX"; /* outermost first */
    uint64_t product = 1;
    unsigned seen = 0;

    for (int d = 0; d < 4; d++) {
        const char *at =
            from->transpose_order[d] ? strchr(letters, from->transpose_order[d]) : NULL;

        if (!at) {
            return BAD("transpose_op \"%.8s\" is no order of W, Z, Y, X", from->transpose_order);
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
        return BAD("transpose_op \"%.8s\" is no order of W, Z, Y, X", from->transpose_order);
    }
    if (product != elements) {
        return BAD("transpose_shape has %llu elements, the transfer %llu",
                   (unsigned long long)product, (unsigned long long)elements);
    }
    return 0;
}

static int transfer_prepare(struct builder *b, const struct ntk_neff_transfer *from,
                            struct ntk_err *err)
{
    struct ntk_engine_program *program = b->program;
    struct ntk_engine_transfer *transfer = ntk_vec_add(&program->transfers);
    size_t width = 0;
    uint64_t to_elements;
    int ret;

    if (!transfer) {
        return NO_MEMORY();
    }
    if (from->source_count < 1 || from->source_count > NTK_DMA_SOURCES_MAX) {
        return BAD("%u sources", from->source_count);
    }
    switch (from->op) {
    case NTK_NEFF_TRANSFER_COPY:
        transfer->move = NTK_ENGINE_MOVE_COPY;
        width = 1;
        break;
    case NTK_NEFF_TRANSFER_CAST:
        transfer->move = NTK_ENGINE_MOVE_CAST;
        break;
    case NTK_NEFF_TRANSFER_TRANSPOSE:
        transfer->move = NTK_ENGINE_MOVE_TRANSPOSE;
        width = from->transpose_element_bytes;
        if (width != 1 && width != 2 && width != 4 && width != 8) {
            return BAD("transpose of elements of %zu bytes", width);
        }
        break;
    case NTK_NEFF_TRANSFER_ADD:
        transfer->fold = NTK_DMA_ADD;
        transfer->move = NTK_ENGINE_MOVE_COMPUTE;
        break;
    case NTK_NEFF_TRANSFER_MIN:
        transfer->fold = NTK_DMA_MIN;
        transfer->move = NTK_ENGINE_MOVE_COMPUTE;
        break;
    case NTK_NEFF_TRANSFER_MAX:
        transfer->fold = NTK_DMA_MAX;
        transfer->move = NTK_ENGINE_MOVE_COMPUTE;
        break;
    case NTK_NEFF_TRANSFER_FMA:
        transfer->fold = NTK_DMA_FMA;
        transfer->move = NTK_ENGINE_MOVE_COMPUTE;
        break;
    }
    if (transfer->move != NTK_ENGINE_MOVE_COMPUTE && from->source_count != 1) {
        return BAD("%u sources of an operation that takes one", from->source_count);
    }
    if (transfer->move == NTK_ENGINE_MOVE_COMPUTE) {
        /* A list of sources is folded into the destination; a single source is folded with what
         * the destination holds, unless min and max bring their own start. */
        transfer->has_start =
            from->has_constant && transfer->fold != NTK_DMA_ADD && transfer->fold != NTK_DMA_FMA;
        transfer->start = from->constant;
        transfer->accumulates = !from->has_source_array && !transfer->has_start;
    }
    ret = side_from_pattern(b, "to", &from->to, width, &transfer->to, err);
    if (ret == 0) {
        ret = memory_bound(b, &transfer->to, err);
    }
    if (ret < 0) {
        return ret;
    }
    ntk_dma_walk_elements(&transfer->to.walk, &to_elements);
    transfer->first_source = (uint32_t)program->sources.count;
    transfer->source_count = from->source_count;
    for (uint32_t s = 0; s < from->source_count; s++) {
        struct ntk_engine_side *side = ntk_vec_add(&program->sources);
        uint64_t elements;

        if (!side) {
            return NO_MEMORY();
        }
        ret = side_from_pattern(b, "from", &from->from[s], width, side, err);
        if (ret < 0) {
            return ret;
        }
        side->scale = from->scales ? from->scales[s] : 1.0F;
        ntk_dma_walk_elements(&side->walk, &elements);
        if (elements != to_elements) {
            return BAD("%llu elements go to %llu", (unsigned long long)elements,
                       (unsigned long long)to_elements);
        }
        side->bounces =
            sides_meet(&transfer->to, side) || transfer->move == NTK_ENGINE_MOVE_TRANSPOSE;
        if (side->bounces) {
            transfer->bounce_bytes += side_bytes(side) + 64;
        }
    }
    if (transfer->move == NTK_ENGINE_MOVE_TRANSPOSE) {
        ret = transpose_prepare(from, transfer, to_elements, err);
        if (ret < 0) {
            return ret;
        }
    }
    transfer_finish(b, transfer);
    return 0;
}

/* --- DMA instructions ------------------------------------------------------------------------------- */

static int start_add(struct builder *b, uint32_t dma, struct ntk_engine_instr *out,
                     struct ntk_err *err)
{
    if (b->program->dma_start_count >= DMA_STARTS_MAX) {
        return BAD("starts more than %u transfers", DMA_STARTS_MAX);
    }
    if (ntk_vec_push(&b->program->starts, &dma) < 0) {
        return NO_MEMORY();
    }
    if (out->count == 0) {
        out->first = (uint32_t)(b->program->starts.count - 1);
    }
    out->count++;
    b->program->dma_start_count++;
    return 0;
}

/* What the first generation knows: copies of bytes, without functions, sections and queue instances. */
static bool group_is_plain(const struct ntk_neff_dma_group *group)
{
    bool is_plain = !group->instance && group->function_start[0] == '\0' && !group->section_start;

    for (uint32_t t = 0; t < group->transfer_count; t++) {
        const struct ntk_neff_transfer *transfer = &group->transfers[t];

        is_plain = is_plain && transfer->op == NTK_NEFF_TRANSFER_COPY &&
                   !transfer->has_source_array && !transfer->has_constant &&
                   transfer->to.dtype == NTK_DTYPE_UINT8 &&
                   transfer->from[0].dtype == NTK_DTYPE_UINT8;
    }
    return is_plain;
}

static int group_prepare(struct builder *b, uint32_t group_index, struct ntk_err *err)
{
    const struct ntk_neff_dma_group *group = &b->subgraph->engines[b->engine].groups[group_index];
    struct ntk_engine_dma *dma = ntk_vec_add(&b->program->dmas);
    uint32_t first = (uint32_t)b->program->transfers.count;

    if (!dma) {
        return NO_MEMORY();
    }
    b->group_dma[group_index] = (uint32_t)b->program->dmas.count;
    if (group->remote_semaphore_count > 0) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "DMA group %u signals the other core of its pair, which is not executed",
                           group->id);
    }
    if (b->spec->generation == 1 && !group_is_plain(group)) {
        return BAD("DMA group %u does more than copy, which NC-v1 cannot", group->id);
    }
    dma->queue_set = group->queue_set;
    dma->group_id = group->id;
    dma->first_transfer = first;
    dma->transfer_count = group->transfer_count;
    dma->semaphore = group->semaphore;
    dma->semaphore_value = b->program->queue_sets[group->queue_set].queue_count;
    dma->event = group->event;
    if ((group->semaphore != NTK_NEFF_NONE && group->semaphore >= NTK_ISA_SEMAPHORES) ||
        (group->event != NTK_NEFF_NONE && group->event >= NTK_ISA_EVENTS)) {
        return BAD("DMA group %u signals semaphore %u or event %u", group->id, group->semaphore,
                   group->event);
    }
    for (uint32_t t = 0; t < group->transfer_count; t++) {
        int ret = transfer_prepare(b, &group->transfers[t], err);

        if (ret < 0) {
            ntk_err_prefix(err, "DMA group %u, transfer %u", group->id, t);
            return ret;
        }
    }
    return 0;
}

static int trigger_prepare(struct builder *b, const struct ntk_isa_instr *instr,
                           struct ntk_engine_instr *out, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &b->subgraph->engines[b->engine];

    for (uint32_t g = 0; g < engine->group_count; g++) {
        int ret = 0;

        if (engine->groups[g].id != instr->group_id ||
            engine->groups[g].queue_set != instr->queue) {
            continue;
        }
        if (b->group_dma[g] == 0) {
            ret = group_prepare(b, g, err);
        }
        if (ret == 0) {
            ret = start_add(b, b->group_dma[g] - 1, out, err);
        }
        if (ret < 0) {
            return ret;
        }
    }
    if (out->count == 0) {
        return BAD("queue set %u has no DMA group %u", instr->queue, instr->group_id);
    }
    return 0;
}

static int indirect_prepare(struct builder *b, const struct ntk_isa_instr *instr,
                            struct ntk_engine_transfer *transfer, struct ntk_engine_side *source,
                            struct ntk_err *err)
{
    bool gathers = instr->operand[NTK_ISA_DST].space == NTK_ISA_SPACE_SBUF;
    struct ntk_engine_side *core = gathers ? &transfer->to : source;
    struct ntk_engine_side *row = gathers ? source : &transfer->to;
    const struct ntk_isa_operand *tile = &instr->operand[gathers ? NTK_ISA_DST : NTK_ISA_SRC0];
    uint64_t rows = tile->partition_count;
    int ret = tile_prepare(b, "indices", &instr->operand[NTK_ISA_SRC1], &transfer->indices, err);

    if (ret < 0) {
        return ret;
    }
    transfer->move = gathers ? NTK_ENGINE_MOVE_GATHER : NTK_ENGINE_MOVE_SCATTER;
    transfer->row_step = instr->imm[0];
    transfer->index_max = instr->imm[1];
    transfer->has_bounds = (instr->op_flags & NTK_ISA_OPF_BOUNDS) != 0;
    transfer->skips = (instr->op_flags & NTK_ISA_OPF_OOB_SKIP) != 0;
    transfer->core_pitch = tile->partition_step * sbuf_pitch(b->spec);
    ntk_dma_walk_extent(&row->walk, &transfer->row_low, &transfer->row_high);

    /* The core's side is walked row by row: without its partitions. */
    {
        int64_t width = (int64_t)ntk_dtype_bytes(tile->dtype);

        core->walk.dim_count = tile->dim_count;
        for (unsigned d = 0; d < tile->dim_count; d++) {
            core->walk.count[d] = tile->dim[d].count;
            core->walk.step[d] = (int64_t)tile->dim[d].step * width;
        }
        side_finish(core);
    }
    transfer->write_bytes = side_bytes(&transfer->to) * rows;
    transfer->read_bytes = side_bytes(source) * rows;
    if (gathers) {
        transfer->hbm_read_bytes = transfer->read_bytes;
    } else {
        transfer->hbm_write_bytes = transfer->write_bytes;
    }
    transfer->run_bytes = core->run_bytes < row->run_bytes ? core->run_bytes : row->run_bytes;
    transfer->descriptors = rows;
    return 0;
}

static int copy_prepare(struct builder *b, const struct ntk_isa_instr *instr,
                        struct ntk_engine_instr *out, struct ntk_err *err)
{
    struct ntk_engine_program *program = b->program;
    struct ntk_engine_dma *dma = ntk_vec_add(&program->dmas);
    struct ntk_engine_transfer *transfer = ntk_vec_add(&program->transfers);
    struct ntk_engine_side *source = ntk_vec_add(&program->sources);
    int ret;

    if (!dma || !transfer || !source) {
        return NO_MEMORY();
    }
    *dma = (struct ntk_engine_dma){ .queue_set = instr->queue,
                                    .group_id = NTK_NEFF_NONE,
                                    .first_transfer = (uint32_t)(program->transfers.count - 1),
                                    .transfer_count = 1,
                                    .semaphore = NTK_NEFF_NONE,
                                    .semaphore_value = instr->done_value,
                                    .event = NTK_NEFF_NONE };
    if (instr->done_semaphore != NTK_ISA_NO_SEMAPHORE) {
        dma->semaphore = instr->done_semaphore;
    }
    transfer->first_source = (uint32_t)(program->sources.count - 1);
    transfer->source_count = 1;
    ret = side_from_operand(b, "destination", &instr->operand[NTK_ISA_DST], &transfer->to, err);
    if (ret == 0) {
        ret = memory_bound(b, &transfer->to, err);
    }
    if (ret == 0) {
        ret = side_from_operand(b, "source 0", &instr->operand[NTK_ISA_SRC0], source, err);
    }
    if (ret < 0) {
        return ret;
    }
    if (instr->op == NTK_ISA_OP_DMA_INDIRECT_COPY) {
        ret = indirect_prepare(b, instr, transfer, source, err);
        if (ret < 0) {
            return ret;
        }
    } else {
        transfer->move = transfer->to.walk.dtype == source->walk.dtype ? NTK_ENGINE_MOVE_COPY
                                                                       : NTK_ENGINE_MOVE_CAST;
        source->bounces = sides_meet(&transfer->to, source);
        if (source->bounces) {
            transfer->bounce_bytes = side_bytes(source) + 64;
        }
        transfer_finish(b, transfer);
    }
    return start_add(b, (uint32_t)(program->dmas.count - 1), out, err);
}

/* --- instructions ----------------------------------------------------------------------------------- */

static int instr_prepare(struct builder *b, const struct ntk_isa_instr *instr,
                         struct ntk_engine_instr *out, struct ntk_err *err)
{
    uint64_t cycles = ntk_cost_cycles(NTK_COST_CONTROL, 0);

    out->wait_semaphore = instr->wait_semaphore;
    out->wait_value = instr->wait_value;
    out->signal_semaphore = instr->signal_semaphore;
    out->signal_value = instr->signal_value;
    out->flags = instr->flags;
    out->opcode = ntk_isa_op_info_get((unsigned)instr->op)->opcode;
    out->duration_ps = ntk_cost_cycles_to_ps(b->spec, (enum ntk_engine)b->engine, cycles);
    if (instr->name_id > b->subgraph->engines[b->engine].name_count) {
        return BAD("name %u of %u", instr->name_id, b->subgraph->engines[b->engine].name_count);
    }
    switch (instr->op) {
    case NTK_ISA_OP_NOP:
        cycles = ntk_isa_imm_u64(instr);
        if (cycles > NOP_CYCLES_MAX) {
            return BAD("a nop of %llu cycles", (unsigned long long)cycles);
        }
        out->duration_ps = ntk_cost_cycles_to_ps(b->spec, NTK_ENGINE_SP, cycles);
        return 0;
    case NTK_ISA_OP_DRAIN:
    case NTK_ISA_OP_NOTIFY:
    case NTK_ISA_OP_ACT_TABLE_LOAD:
        return 0;
    case NTK_ISA_OP_EVENT_SEMAPHORE:
        out->kind = NTK_ENGINE_KIND_SYNC;
        out->sync_mode = (uint8_t)instr->imm[0];
        out->sync_number = instr->imm[1];
        out->sync_value = instr->imm[2];
        return 0;
    case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
        out->kind = NTK_ENGINE_KIND_SYNC;
        out->sync_mode = NTK_ENGINE_SYNC_RANGE_CLEAR;
        out->sync_number = instr->imm[0];
        out->sync_value = instr->imm[1];
        return 0;
    case NTK_ISA_OP_DMA_TRIGGER:
    case NTK_ISA_OP_DMA_COPY:
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
        out->kind = NTK_ENGINE_KIND_DMA;
        if (instr->queue >= b->program->info.queue_count) {
            return BAD("queue set %u of %u", instr->queue, b->program->info.queue_count);
        }
        return instr->op == NTK_ISA_OP_DMA_TRIGGER ? trigger_prepare(b, instr, out, err)
                                                   : copy_prepare(b, instr, out, err);
    default:
        return compute_prepare(b, instr, out, err);
    }
}

static int engine_prepare(struct builder *b, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &b->subgraph->engines[b->engine];
    struct ntk_engine_program *program = b->program;
    size_t at = 0;
    int ret = 0;

    if (engine->is_empty || engine->code_bytes == 0) {
        program->info.slot_count[b->engine] = (uint32_t)(engine->code_bytes / NTK_ISA_SLOT_BYTES);
        return 0;
    }
    if (engine->nsx_version == 0) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: the engine binary is compiled for NeuronCores, not for software "
                           "cores",
                           engine_names[b->engine]);
    }
    if (engine->nsx_version != NTK_ISA_VERSION) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: instruction encoding version %u, this core knows %u",
                           engine_names[b->engine], engine->nsx_version, NTK_ISA_VERSION);
    }
    program->info.is_empty = false;
    program->info.slot_count[b->engine] = (uint32_t)(engine->code_bytes / NTK_ISA_SLOT_BYTES);
    free(b->group_dma);
    b->group_dma = calloc((size_t)engine->group_count + 1, sizeof *b->group_dma);
    if (!b->group_dma) {
        return NO_MEMORY();
    }
    while (at < engine->code_bytes && ret == 0) {
        struct ntk_isa_instr instr;
        struct ntk_engine_instr *out = ntk_vec_add(&program->instrs[b->engine]);
        size_t slots = 0;

        if (!out) {
            return NO_MEMORY();
        }
        out->slot = (uint32_t)(at / NTK_ISA_SLOT_BYTES);
        ret = ntk_isa_decode(engine->code + at, engine->code_bytes - at, b->engine, &instr, &slots,
                             err);
        if (ret == 0) {
            ret = instr_prepare(b, &instr, out, err);
        }
        if (ret < 0) {
            ntk_err_prefix(err, "%s slot %zu", engine_names[b->engine], at / NTK_ISA_SLOT_BYTES);
            if (err) {
                err->offset = at;
            }
        }
        at += slots * NTK_ISA_SLOT_BYTES;
    }
    program->info.instruction_count[b->engine] = (uint32_t)program->instrs[b->engine].count;
    return ret;
}

static int variables_prepare(struct builder *b, struct ntk_err *err)
{
    const struct ntk_neff_subgraph *subgraph = b->subgraph;
    struct ntk_engine_program *program = b->program;
    uint32_t count = 0;

    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        if (subgraph->vars[v].var_id >= VARIABLES_MAX) {
            return BAD("variable \"%s\" has id %u", subgraph->vars[v].name,
                       subgraph->vars[v].var_id);
        }
        if (subgraph->vars[v].var_id >= count) {
            count = subgraph->vars[v].var_id + 1;
        }
    }
    program->variables = calloc((size_t)count + 1, sizeof *program->variables);
    program->queue_sets =
        calloc((size_t)subgraph->queue_set_count + 1, sizeof *program->queue_sets);
    if (!program->variables || !program->queue_sets) {
        return NO_MEMORY();
    }
    program->info.variable_count = count;
    program->info.queue_count = subgraph->queue_set_count;
    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        const struct ntk_neff_var *var = &subgraph->vars[v];
        struct ntk_engine_variable *variable = &program->variables[var->var_id];

        if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
            program->sbuf_var_id = var->var_id;
            continue;
        }
        variable->bytes_count = var->bytes_count;
        variable->is_output = var->type == NTK_NEFF_VAR_OUTPUT;
        variable->is_bound =
            var->type != NTK_NEFF_VAR_POINTER && var->type != NTK_NEFF_VAR_DGE_TABLE;
    }
    for (uint32_t q = 0; q < subgraph->queue_set_count; q++) {
        uint32_t queues = subgraph->queue_sets[q].queue_count;

        if (queues < 1 || queues > NTK_NEFF_QUEUES_MAX) {
            return BAD("queue set %u has %u queues", q, queues);
        }
        program->queue_sets[q].queue_count = queues;
    }
    return 0;
}

static uint64_t host_bytes(const struct ntk_engine_program *program)
{
    const struct ntk_vec *lists[] = { &program->computes, &program->starts, &program->dmas,
                                      &program->transfers, &program->sources };
    uint64_t bytes = sizeof *program +
                     (program->info.queue_count + 1ULL) * sizeof *program->queue_sets +
                     (program->info.variable_count + 1ULL) * sizeof *program->variables;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        bytes += (uint64_t)program->instrs[e].capacity * program->instrs[e].item_bytes;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        bytes += (uint64_t)lists[i]->capacity * lists[i]->item_bytes;
    }
    return bytes;
}

static int engines_prepare(struct builder *b, struct ntk_err *err)
{
    int ret = 0;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT && ret == 0; e++) {
        b->engine = (enum ntk_isa_engine)e;
        ret = engine_prepare(b, err);
    }
    for (size_t i = 0; i < b->program->dmas.count && ret == 0; i++) {
        const struct ntk_engine_dma *dma = ntk_vec_at(&b->program->dmas, i);

        for (uint32_t t = 0; t < dma->transfer_count; t++) {
            const struct ntk_engine_transfer *transfer =
                ntk_vec_at(&b->program->transfers, dma->first_transfer + t);

            b->program->info.descriptor_count += transfer->descriptors;
        }
    }
    return ret;
}

static void opaque_prepare(struct builder *b)
{
    struct ntk_engine_program *program = b->program;

    program->info.is_opaque = true;
    program->opaque_ps =
        ntk_engine_opaque_ps(b->spec, b->subgraph, &program->info.descriptor_count);
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        program->info.slot_count[e] =
            (uint32_t)(b->subgraph->engines[e].code_bytes / NTK_ISA_SLOT_BYTES);
    }
}

static int program_create(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                          bool is_opaque, struct ntk_engine_program **out_program,
                          struct ntk_err *err)
{
    struct builder b = { .subgraph = subgraph, .spec = ntk_engine_core_spec_get(generation) };
    int ret;

    if (!b.spec) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "no core generation %u", generation);
    }
    b.program = calloc(1, sizeof *b.program);
    if (!b.program) {
        return NO_MEMORY();
    }
    b.program->generation = generation;
    b.program->spec = b.spec;
    b.program->info.is_empty = true;
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        ntk_vec_init(&b.program->instrs[e], sizeof(struct ntk_engine_instr));
    }
    ntk_vec_init(&b.program->computes, sizeof(struct ntk_engine_compute));
    ntk_vec_init(&b.program->starts, sizeof(uint32_t));
    ntk_vec_init(&b.program->dmas, sizeof(struct ntk_engine_dma));
    ntk_vec_init(&b.program->transfers, sizeof(struct ntk_engine_transfer));
    ntk_vec_init(&b.program->sources, sizeof(struct ntk_engine_side));

    ret = variables_prepare(&b, err);
    if (ret == 0 && is_opaque) {
        opaque_prepare(&b);
    } else if (ret == 0) {
        ret = engines_prepare(&b, err);
    }
    if (ret == 0) {
        b.program->info.host_bytes = host_bytes(b.program);
        *out_program = b.program;
        b.program = NULL;
    }
    free(b.group_dma);
    ntk_engine_program_destroy(b.program);
    return ret;
}

int ntk_engine_program_create(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                              struct ntk_engine_program **out_program, struct ntk_err *err)
{
    return program_create(generation, subgraph, false, out_program, err);
}

int ntk_engine_program_create_opaque(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                                     struct ntk_engine_program **out_program, struct ntk_err *err)
{
    return program_create(generation, subgraph, true, out_program, err);
}

void ntk_engine_program_destroy(struct ntk_engine_program *program)
{
    if (!program) {
        return;
    }
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        ntk_vec_fini(&program->instrs[e]);
    }
    ntk_vec_each(struct ntk_engine_compute, compute, &program->computes) {
        free(compute->prefix);
    }
    ntk_vec_fini(&program->computes);
    ntk_vec_fini(&program->starts);
    ntk_vec_fini(&program->dmas);
    ntk_vec_fini(&program->transfers);
    ntk_vec_fini(&program->sources);
    free(program->queue_sets);
    free(program->variables);
    free(program);
}

void ntk_engine_program_info_get(const struct ntk_engine_program *program,
                                 struct ntk_engine_program_info *out_info)
{
    *out_info = program->info;
}
