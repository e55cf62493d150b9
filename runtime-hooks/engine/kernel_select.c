/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_select.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "runtime-hooks/engine/kernel_ops.h"
#include "runtime-hooks/engine/kernel_select_private.h"

#define QUADRANT 32 /* number of partitions that nc_stream_shuffle permutes */
#define SHUFFLE_KEEP 255

/* --- rows ------------------------------------------------------------------------------------- */

float ntk_select_column(const struct ntk_tile *tile, uint32_t partition, uint32_t immediate)
{
    float value = ntk_isa_bits_float(immediate);

    if (tile->base) {
        ntk_tile_read_f32(tile, partition, &value);
    }
    return value;
}

static bool is_integers(const struct ntk_select_work *w)
{
    return !ntk_dtype_is_float(w->to->dtype) && !ntk_dtype_is_float(w->a->dtype);
}

bool ntk_select_place(const struct ntk_select_work *w, uint32_t partition, uint32_t from,
                      float fill)
{
    if (is_integers(w)) {
        int64_t *values = (void *)w->x;
        int64_t *out = (void *)w->out;
        int64_t whole;

        ntk_kernel_cast(NTK_DTYPE_FLOAT32, &fill, sizeof fill, NTK_DTYPE_INT64, &whole,
                        sizeof whole, 1);
        ntk_tile_read_i64(w->a, from, values);
        ntk_tile_read_i64(w->to, partition, out);
        for (uint32_t i = 0; i < w->to->elements; i++) {
            if (w->map[i] >= 0) {
                out[i] = values[w->map[i]];
            } else if (w->map[i] == NTK_SELECT_FILL) {
                out[i] = whole;
            }
        }
        ntk_tile_write_i64(w->to, partition, out);
        return false;
    }
    ntk_tile_read_f32(w->a, from, w->x);
    ntk_tile_read_f32(w->to, partition, w->out);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        if (w->map[i] >= 0) {
            w->out[i] = w->x[w->map[i]];
        } else if (w->map[i] == NTK_SELECT_FILL) {
            w->out[i] = fill;
        }
    }
    return ntk_tile_write_f32(w->to, partition, w->out);
}

static float apply(enum ntk_isa_alu op, bool reverse, float a, float b)
{
    float out;

    ntk_kernel_alu_f32(op, reverse ? &b : &a, reverse ? &a : &b, 0, 1, &out);
    return out;
}

/* Writes the second destination: a reduction of the row that was just written. */
static bool fold_second(const struct ntk_select_work *w, uint32_t partition)
{
    const struct ntk_isa_instr *instr = w->instr;
    float result;

    if (!w->second->base) {
        return false;
    }
    if (instr->reduce_cmd == NTK_ISA_REDUCE_REDUCE) {
        ntk_tile_read_f32(w->second, partition, &result);
        result = ntk_kernel_reduce_f32(instr->reduce_op, result, w->out, w->to->elements);
    } else {
        result =
            ntk_kernel_reduce_f32(instr->reduce_op, w->out[0], w->out + 1, w->to->elements - 1);
    }
    return ntk_tile_write_f32(w->second, partition, &result);
}

/* --- scans ------------------------------------------------------------------------------------ */

/* Computes state = (a[i] op0 state) op1 b[i]. */
static bool tensor_scan(const struct ntk_select_work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    bool reverse0 = (instr->op_flags & NTK_ISA_OPF_REVERSE0) != 0;
    bool reverse1 = (instr->op_flags & NTK_ISA_OPF_REVERSE1) != 0;
    float state = ntk_select_column(w->c, p, instr->imm[0]);

    ntk_tile_read_f32(w->a, p, w->x);
    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        state = apply(instr->op0, reverse0, w->x[i], state);
        state = apply(instr->op1, reverse1, state, w->y[i]);
        w->out[i] = state;
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* Computes state = state op1 (a[i] op0 scalar). */
static bool scalar_cumulative(const struct ntk_select_work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    bool reverse0 = (instr->op_flags & NTK_ISA_OPF_REVERSE0) != 0;
    bool reverse1 = (instr->op_flags & NTK_ISA_OPF_REVERSE1) != 0;
    float scalar = ntk_select_column(w->b, p, instr->imm[0]);
    float state = ntk_select_column(w->c, p, instr->imm[1]);

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        state = apply(instr->op1, reverse1, state, apply(instr->op0, reverse0, w->x[i], scalar));
        w->out[i] = state;
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

static bool partition_reduce(const struct ntk_select_work *w)
{
    enum ntk_isa_alu op = w->instr->op0;

    if (ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC) {
        int64_t *sum = (void *)w->out;
        int64_t *row = (void *)w->x;

        ntk_tile_read_i64(w->a, 0, sum);
        for (uint32_t p = 1; p < w->a->partitions; p++) {
            ntk_tile_read_i64(w->a, p, row);
            ntk_kernel_alu_bits(op, w->a->dtype, sum, row, 1, w->a->elements, sum);
        }
        ntk_tile_write_i64(w->to, 0, sum);
        return false;
    }
    ntk_tile_read_f32(w->a, 0, w->out);
    for (uint32_t p = 1; p < w->a->partitions; p++) {
        ntk_tile_read_f32(w->a, p, w->x);
        ntk_kernel_alu_f32(op, w->out, w->x, 1, w->a->elements, w->out);
    }
    return ntk_tile_write_f32(w->to, 0, w->out);
}

static bool exponential(const struct ntk_select_work *w, uint32_t p)
{
    float shift = ntk_select_column(w->b, p, w->instr->imm[0]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = expf(w->x[i] - shift);
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

/* --- selections ------------------------------------------------------------------------------- */

static bool copy_predicated(const struct ntk_select_work *w, uint32_t p)
{
    bool wanted = !(w->instr->op_flags & NTK_ISA_OPF_REVERSE0);

    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->map[i] = (w->y[i] != 0) == wanted ? (int64_t)i : NTK_SELECT_KEEP;
    }
    return ntk_select_place(w, p, p, 0);
}

static bool affine_select(const struct ntk_select_work *w, uint32_t p)
{
    const struct ntk_isa_operand *pattern = &w->instr->operand[NTK_ISA_SRC1];
    uint32_t index[NTK_ISA_DIMS_MAX] = { 0 };
    int64_t value = (int32_t)w->instr->imm[0] + (int64_t)p * (int64_t)(int32_t)w->instr->imm[1];

    for (uint32_t i = 0; i < w->to->elements; i++) {
        bool is_on;

        switch (w->instr->op0) {
        case NTK_ISA_ALU_EQUAL:
            is_on = value == 0;
            break;
        case NTK_ISA_ALU_NOT_EQUAL:
            is_on = value != 0;
            break;
        case NTK_ISA_ALU_GREATER_EQUAL:
            is_on = value >= 0;
            break;
        case NTK_ISA_ALU_GREATER:
            is_on = value > 0;
            break;
        case NTK_ISA_ALU_LESS_EQUAL:
            is_on = value <= 0;
            break;
        default:
            is_on = value < 0;
            break;
        }
        w->map[i] = is_on ? (int64_t)i : NTK_SELECT_FILL;
        for (unsigned d = 0; d < pattern->dim_count; d++) {
            value += pattern->dim[d].step;
            if (++index[d] < pattern->dim[d].count) {
                break;
            }
            value -= (int64_t)pattern->dim[d].count * pattern->dim[d].step;
            index[d] = 0;
        }
    }
    return ntk_select_place(w, p, p, ntk_isa_bits_float(w->instr->imm[2]));
}

static bool range_select(const struct ntk_select_work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    float low = ntk_select_column(w->b, p, 0);
    float high = ntk_select_column(w->c, p, 0);
    float off = ntk_isa_bits_float(instr->imm[0]);
    float start = ntk_isa_bits_float(instr->imm[1]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        float place_of = start + (float)i;
        bool is_on = apply(instr->op0, false, place_of, low) != 0 &&
                     apply(instr->op1, false, place_of, high) != 0;

        w->out[i] = is_on ? w->x[i] : off;
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

static bool select_reduce(const struct ntk_select_work *w, uint32_t p)
{
    bool wanted = !(w->instr->op_flags & NTK_ISA_OPF_REVERSE0);
    float off = ntk_select_column(w->c, p, w->instr->imm[0]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = (w->y[i] != 0) == wanted ? w->x[i] : off;
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

/* --- gathers ---------------------------------------------------------------------------------- */

/* Gathers; the indices of 16 partitions are numbered down the partitions first, then along the
 * row. */
static bool local_gather(const struct ntk_select_work *w, uint32_t p)
{
    uint32_t width = w->instr->imm[0];
    uint32_t count = w->instr->imm[1];
    uint32_t first = p / NTK_SELECT_GROUP * NTK_SELECT_GROUP;
    int64_t *indices = (void *)w->y;

    for (uint32_t q = 0; q < NTK_SELECT_GROUP; q++) {
        ntk_tile_read_i64(w->b, first + q, indices);
        for (uint32_t n = q; n < count;
             n += NTK_SELECT_GROUP) { /* index n is in column n / 16 of partition n % 16 */
            int64_t index = indices[n / NTK_SELECT_GROUP];

            for (uint32_t k = 0; k < width; k++) {
                bool is_inside = index >= 0 && index < (int64_t)w->a->elements &&
                                 index * width + k < (int64_t)w->a->elements;

                w->map[n * width + k] = is_inside ? index * width + k : NTK_SELECT_FILL;
            }
        }
    }
    return ntk_select_place(w, p, p, 0);
}

static bool n_gather(const struct ntk_select_work *w, uint32_t p)
{
    ntk_tile_read_i64(w->b, p, w->map);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        if (w->map[i] < 0 || w->map[i] >= (int64_t)w->a->elements) {
            w->map[i] = NTK_SELECT_FILL;
        }
    }
    return ntk_select_place(w, p, p, 0);
}

void ntk_latches_reset(struct ntk_latches *latches)
{
    memset(latches, 0, sizeof *latches);
    for (uint8_t p = 0; p < QUADRANT; p++) {
        latches->mask[p] = p;
    }
}

static bool load_mask_register(const struct ntk_select_work *w)
{
    int64_t mask[QUADRANT];

    ntk_tile_read_i64(w->a, 0, mask);
    for (int p = 0; p < QUADRANT; p++) {
        w->latches->mask[p] = (uint8_t)mask[p];
    }
    return false;
}

/* D has as many blocks as there are indices; block b is the row of A that starts at index b times
 * step. */
static bool copy_dynamic_src(const struct ntk_select_work *w, uint32_t p)
{
    const int64_t *indices = (void *)w->y;
    uint32_t length = w->to->elements / w->b->elements;

    ntk_tile_read_i64(w->b, 0, (void *)w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        int64_t from = indices[i / length] * (int64_t)w->instr->imm[0] + i % length;

        w->map[i] = from >= 0 && from < (int64_t)w->a->elements ? from : NTK_SELECT_FILL;
    }
    return ntk_select_place(w, p, p, 0);
}

/* The reverse: elements outside of D's row are omitted; of two elements for the same place, the
 * later one is kept. */
static bool copy_dynamic_dst(const struct ntk_select_work *w, uint32_t p)
{
    const int64_t *indices = (void *)w->y;
    uint32_t length = w->a->elements / w->b->elements;

    ntk_tile_read_i64(w->b, 0, (void *)w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->map[i] = NTK_SELECT_KEEP;
    }
    for (uint32_t i = 0; i < w->a->elements; i++) {
        int64_t to = indices[i / length] * (int64_t)w->instr->imm[0] + i % length;

        if (to >= 0 && to < (int64_t)w->to->elements) {
            w->map[to] = i;
        }
    }
    return ntk_select_place(w, p, p, 0);
}

static bool stream_shuffle(const struct ntk_select_work *w)
{
    int64_t mask[QUADRANT];
    bool nan = false;

    if (w->b->base) {
        ntk_tile_read_i64(w->b, 0, mask);
    }
    for (uint32_t p = 0; p < QUADRANT && !w->b->base; p++) {
        mask[p] = w->latches->mask[p];
    }
    for (uint32_t p = 0; p < w->to->partitions; p++) {
        int64_t from = mask[p % QUADRANT];

        if (from == SHUFFLE_KEEP) {
            continue;
        }
        for (uint32_t i = 0; i < w->to->elements; i++) {
            w->map[i] = (int64_t)i;
        }
        /* Masks above 31 use only their low five bits. */
        nan |=
            ntk_select_place(w, p, p / QUADRANT * QUADRANT + (uint32_t)(from & (QUADRANT - 1)), 0);
    }
    return nan;
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Computes count, mean, and sum of squared distances of every second element from `first` on. */
static void statistics(const float *values, uint32_t first, uint32_t count, float *out)
{
    uint32_t n = 0;
    double sum = 0;
    double squares = 0;
    double mean;

    for (uint32_t i = first; i < count; i += 2) {
        sum += (double)values[i];
        n++;
    }
    mean = n > 0 ? sum / n : 0;
    for (uint32_t i = first; i < count; i += 2) {
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    }
    out[0] = (float)n;
    out[1] = (float)mean;
    out[2] = (float)squares;
}

static bool bn_stats(const struct ntk_select_work *w, uint32_t p)
{
    ntk_tile_read_f32(w->a, p, w->x);
    statistics(w->x, 0, w->a->elements, w->out);
    statistics(w->x, 1, w->a->elements, w->out + 3);
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* Combines (count, mean, squares) by Chan's rule. */
static bool bn_aggr(const struct ntk_select_work *w, uint32_t p)
{
    double count = 0;
    double mean = 0;
    double squares = 0;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i + 2 < w->a->elements; i += 3) {
        double n = (double)w->x[i];
        double distance = (double)w->x[i + 1] - mean;

        if (!(n > 0)) {
            continue;
        }
        squares += (double)w->x[i + 2] + distance * distance * count * n / (count + n);
        mean += distance * n / (count + n);
        count += n;
    }
    w->out[0] = (float)mean;
    w->out[1] = count > 0 ? (float)(squares / count) : 0;
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
    enum ntk_isa_op op;
    bool (*row)(const struct ntk_select_work *w, uint32_t partition);
    bool (*whole)(const struct ntk_select_work *w); /* reads across partitions */
} kernels[] = {
    { NTK_ISA_OP_TENSOR_TENSOR_SCAN, tensor_scan, NULL },
    { NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE, scalar_cumulative, NULL },
    { NTK_ISA_OP_TENSOR_PARTITION_REDUCE, NULL, partition_reduce },
    { NTK_ISA_OP_TENSOR_COPY_PREDICATED, copy_predicated, NULL },
    { NTK_ISA_OP_EXPONENTIAL, exponential, NULL },
    { NTK_ISA_OP_AFFINE_SELECT, affine_select, NULL },
    { NTK_ISA_OP_RANGE_SELECT, range_select, NULL },
    { NTK_ISA_OP_SELECT_REDUCE, select_reduce, NULL },
    { NTK_ISA_OP_LOCAL_GATHER, local_gather, NULL },
    { NTK_ISA_OP_NC_N_GATHER, n_gather, NULL },
    { NTK_ISA_OP_BN_STATS, bn_stats, NULL },
    { NTK_ISA_OP_BN_AGGR, bn_aggr, NULL },
    { NTK_ISA_OP_NC_FIND_INDEX8, ntk_select_find_index8, NULL },
    { NTK_ISA_OP_NC_MATCH_REPLACE8, ntk_select_match_replace8, NULL },
    { NTK_ISA_OP_NONZERO_WITH_COUNT, ntk_select_nonzero_with_count, NULL },
    { NTK_ISA_OP_SEQUENCE_BOUNDS, ntk_select_sequence_bounds, NULL },
    { NTK_ISA_OP_NC_STREAM_SHUFFLE, NULL, stream_shuffle },
    { NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC, copy_dynamic_src, NULL },
    { NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST, copy_dynamic_dst, NULL },
    { NTK_ISA_OP_LOAD_MASK_REGISTER, NULL, load_mask_register },
    { NTK_ISA_OP_MATCH_VALUE_LOAD, ntk_select_match_value_load, NULL },
    { NTK_ISA_OP_TOPK, NULL, ntk_select_topk },
    { NTK_ISA_OP_DROPOUT, ntk_select_dropout, NULL },
    { NTK_ISA_OP_RNG, ntk_select_random_row, NULL },
    { NTK_ISA_OP_RAND2, ntk_select_random_row, NULL },
    { NTK_ISA_OP_SET_RNG_SEED, ntk_select_random_state, NULL },
    { NTK_ISA_OP_RAND_SET_STATE, ntk_select_random_state, NULL },
    { NTK_ISA_OP_RAND_GET_STATE, ntk_select_random_state, NULL },
};

enum { KERNEL_COUNT = sizeof kernels / sizeof kernels[0] };

bool ntk_select_crosses(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_TENSOR_PARTITION_REDUCE || op == NTK_ISA_OP_LOCAL_GATHER ||
           op == NTK_ISA_OP_NC_STREAM_SHUFFLE || op == NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC ||
           op == NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST || op == NTK_ISA_OP_DVE_TRANSPOSE ||
           op == NTK_ISA_OP_TOPK || op == NTK_ISA_OP_QUANTIZE_MX;
}

bool ntk_select_run(const struct ntk_isa_instr *instr, const struct ntk_tile *tiles,
                    struct ntk_rng *rng, struct ntk_latches *latches,
                    const struct ntk_tile_scratch *scratch)
{
    struct ntk_select_work w = { .instr = instr,
                                 .to = &tiles[NTK_ISA_DST],
                                 .a = &tiles[NTK_ISA_SRC0],
                                 .b = &tiles[NTK_ISA_SRC1],
                                 .c = &tiles[NTK_ISA_SRC2],
                                 .second = &tiles[NTK_ISA_DST2],
                                 .scratch = scratch,
                                 .rng = rng,
                                 .latches = latches,
                                 .x = scratch->row[0],
                                 .y = scratch->row[1],
                                 .out = scratch->row[2],
                                 .map = scratch->row[3] };
    uint32_t partitions = w.to->base ? w.to->partitions : w.a->partitions;
    bool nan = false;

    for (size_t k = 0; k < KERNEL_COUNT; k++) {
        if (kernels[k].op != instr->op) {
            continue;
        }
        if (kernels[k].whole) {
            return kernels[k].whole(&w);
        }
        for (uint32_t p = 0; p < partitions; p++) {
            nan |= kernels[k].row(&w, p);
        }
        return nan;
    }
    assert(!"an operation that engine_program.c let through");
    return false;
}
