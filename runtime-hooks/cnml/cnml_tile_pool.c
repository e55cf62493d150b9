/* SPDX-License-Identifier: MIT */
/*
 * cnml_tile_pool - computes windows on the vector engine, one tap after the other, in float32; and
 * padding, as a window of one element over a larger input.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "runtime-hooks/cnml/cnml_program.h"

struct pool {
    struct cnml_writer *w;
    const struct cnmlBaseOp *op;
    struct cnml_value *in, *out;
    struct cnml_frame frame;
    uint32_t shares_var; /* variable with the inverse number of elements in each window, [h, w] */
    int channels;        /* channels of the block */
};

static const struct cnml_scalar nothing = { NTK_ISA_ALU_NONE, NULL, 0 };

static bool fits(const struct cnml_block *block, void *ctx)
{
    const struct pool *p = ctx;
    int64_t elements = cnml_block_elements(block);

    return cnml_frame_elements(&p->frame, block) *
                   (int64_t)ntk_dtype_bytes((unsigned)p->in->dtype) <=
               CNML_STAGE_IN_BYTES &&
           elements * 4 <= CNML_STAGE_SUM_BYTES &&
           elements * (int64_t)ntk_dtype_bytes((unsigned)p->out->dtype) <= CNML_STAGE_OUT_BYTES;
}

/* The number of input elements in a window along one axis. */
static int inside(int place, int stride, int before, int window, int dilation, int length)
{
    int count = 0;

    for (int i = 0; i < window; i++) {
        int at = place * stride - before + i * dilation;

        count += at >= 0 && at < length;
    }
    return count;
}

static int rows_inside(const struct pool *p, int row)
{
    const struct cnml_param *param = &p->op->work.param;

    return inside(row, param->stride_h, param->top, param->window_h, param->dilation_h,
                  p->in->dims[CNML_H]);
}

static int columns_inside(const struct pool *p, int column)
{
    const struct cnml_param *param = &p->op->work.param;

    return inside(column, param->stride_w, param->left, param->window_w, param->dilation_w,
                  p->in->dims[CNML_W]);
}

/* Sets the result of windows entirely beyond the edge to 0. */
static void clear_empty(struct pool *p, const struct cnml_block *block,
                        const struct ntk_isa_operand *tile, struct cnml_zone *zone)
{
    uint64_t size = ntk_dtype_bytes((unsigned)tile->dtype);
    bool is_there = p->out->is_resident;
    int64_t row = is_there ? p->out->dims[CNML_W] : block->columns;
    struct cnml_steps steps = { 1, row, row * (is_there ? p->out->dims[CNML_H] : block->rows) };

    for (int i = 0; i < block->rows; i++) {
        struct cnml_block part = *block;
        struct ntk_isa_operand empty;

        if (rows_inside(p, block->row + i) > 0) {
            continue;
        }
        part.rows = 1;
        empty = cnml_tile(NTK_ISA_SPACE_SBUF, tile->offset + (uint64_t)(i * row) * size,
                          p->channels, tile->dtype, &part, steps);
        cnml_fill(p->w, &empty, 0, &(struct cnml_touch){ .writes = { zone } });
    }
    for (int i = 0; i < block->columns; i++) {
        struct cnml_block part = *block;
        struct ntk_isa_operand empty;

        if (columns_inside(p, block->column + i) > 0) {
            continue;
        }
        part.columns = 1;
        empty = cnml_tile(NTK_ISA_SPACE_SBUF, tile->offset + (uint64_t)i * size, p->channels,
                          tile->dtype, &part, steps);
        cnml_fill(p->w, &empty, 0, &(struct cnml_touch){ .writes = { zone } });
    }
}

static void make_shares(struct pool *p)
{
    enum { WIDEST = 4096 };
    int height = p->out->dims[CNML_H];
    int width = p->out->dims[CNML_W];
    float row[WIDEST];
    float *shares = NULL;

    if (height > WIDEST || width > WIDEST) {
        p->w->status = CNML_STATUS_UNSUPPORT;
        return;
    }
    shares = malloc((size_t)height * (size_t)width * sizeof *shares);
    if (!shares) {
        p->w->status = CNML_STATUS_BADALLOC;
        return;
    }
    for (int x = 0; x < width; x++) {
        row[x] = (float)columns_inside(p, x);
    }
    for (int y = 0; y < height; y++) {
        float rows = (float)rows_inside(p, y);

        for (int x = 0; x < width; x++) {
            float count = rows * row[x];

            shares[(size_t)y * (size_t)width + (size_t)x] = count > 0 ? 1 / count : 0;
        }
    }
    p->shares_var =
        cnml_constant(p->w, NTK_DTYPE_FLOAT32, (uint64_t)height, (uint64_t)width, shares);
    free(shares);
}

/* Loads the divisors of the block's windows, the same for all channels and images. */
static struct ntk_isa_operand load_shares(struct pool *p, const struct cnml_block *block,
                                          struct cnml_zone **out_zone)
{
    uint64_t at = cnml_stage_next(&p->w->weight, out_zone);
    int width = p->out->dims[CNML_W];
    struct ntk_isa_operand from = ntk_isa_var(
        p->shares_var, ((uint64_t)block->row * (uint64_t)width + (uint64_t)block->column) * 4,
        (uint32_t)block->rows, width, (uint32_t)block->columns, NTK_DTYPE_FLOAT32);
    struct ntk_isa_operand to =
        ntk_isa_sbuf(at, 1, (uint32_t)(block->rows * block->columns), NTK_DTYPE_FLOAT32);
    struct ntk_isa_operand seen;

    cnml_dma(p->w, CNML_QUEUE_CONST, &to, &from, &(struct cnml_touch){ .writes = { *out_zone } });
    seen = cnml_tile(NTK_ISA_SPACE_SBUF, at, p->channels, NTK_DTYPE_FLOAT32, block,
                     (struct cnml_steps){ 1, block->columns, 0 });
    seen.partition_step = 0;
    return seen;
}

static struct ntk_isa_operand tap_of(const struct pool *p, const struct cnml_block *block, int tap)
{
    int width = p->op->work.param.window_w;

    return cnml_frame_tap(&p->frame, block, p->channels, 0, tap / width, tap % width);
}

static int taps(const struct pool *p)
{
    return p->op->work.param.window_h * p->op->work.param.window_w;
}

static struct ntk_isa_operand sums(struct pool *p, const struct cnml_block *block,
                                   struct cnml_zone **out_zone)
{
    uint64_t at = cnml_stage_next(&p->w->sum, out_zone);

    return ntk_isa_sbuf(at, (unsigned)p->channels, (uint32_t)cnml_block_elements(block),
                        NTK_DTYPE_FLOAT32);
}

/* Computes the maximum or sum of all taps, which are squared first on request. */
static struct ntk_isa_operand fold(struct pool *p, const struct cnml_block *block,
                                   enum ntk_isa_alu op, bool squares, struct cnml_zone **out_zone)
{
    struct ntk_isa_operand sum = sums(p, block, out_zone);
    struct cnml_zone *other_zone;
    struct ntk_isa_operand other = sums(p, block, &other_zone);

    for (int t = 0; t < taps(p); t++) {
        struct ntk_isa_operand tap = tap_of(p, block, t);
        struct cnml_touch first = { .reads = { p->frame.zone }, .writes = { *out_zone } };

        if (t == 0 && squares) {
            cnml_pair(p->w, NTK_ISA_ALU_MULTIPLY, &sum, &tap, &tap, &first);
        } else if (t == 0) {
            cnml_copy(p->w, NTK_ISA_ENGINE_DVE, &sum, &tap, &first);
        } else if (squares) {
            cnml_pair(p->w, NTK_ISA_ALU_MULTIPLY, &other, &tap, &tap,
                      &(struct cnml_touch){ .reads = { p->frame.zone }, .writes = { other_zone } });
            cnml_pair(p->w, op, &sum, &sum, &other,
                      &(struct cnml_touch){ .reads = { *out_zone, other_zone },
                                            .writes = { *out_zone } });
        } else {
            cnml_pair(p->w, op, &sum, &sum, &tap,
                      &(struct cnml_touch){ .reads = { p->frame.zone, *out_zone },
                                            .writes = { *out_zone } });
        }
    }
    return sum;
}

/* Finds the window index of the first maximum. */
static struct ntk_isa_operand find(struct pool *p, const struct cnml_block *block,
                                   struct cnml_zone **out_zone)
{
    struct cnml_zone *best_zone;
    struct ntk_isa_operand best = sums(p, block, &best_zone);
    struct ntk_isa_operand place = sums(p, block, out_zone);
    struct cnml_zone *mask_zone = &p->w->weight.zone[0];
    struct cnml_zone *number_zone = &p->w->weight.zone[1];
    struct ntk_isa_operand mask = best;
    struct ntk_isa_operand number = best;

    mask.offset = p->w->weight.at[0];
    number.offset = p->w->weight.at[1];
    for (int t = 0; t < taps(p); t++) {
        struct ntk_isa_operand tap = tap_of(p, block, t);
        struct ntk_isa_instr choose = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY_PREDICATED);

        if (t == 0) {
            cnml_copy(p->w, NTK_ISA_ENGINE_DVE, &best, &tap,
                      &(struct cnml_touch){ .reads = { p->frame.zone }, .writes = { best_zone } });
            cnml_fill(p->w, &place, 0, &(struct cnml_touch){ .writes = { *out_zone } });
            continue;
        }
        cnml_pair(
            p->w, NTK_ISA_ALU_GREATER, &mask, &tap, &best,
            &(struct cnml_touch){ .reads = { p->frame.zone, best_zone }, .writes = { mask_zone } });
        cnml_fill(p->w, &number, (float)t, &(struct cnml_touch){ .writes = { number_zone } });
        choose.operand[NTK_ISA_DST] = place;
        choose.operand[NTK_ISA_SRC0] = number;
        choose.operand[NTK_ISA_SRC1] = mask;
        cnml_emit(p->w, NTK_ISA_ENGINE_DVE, &choose,
                  &(struct cnml_touch){ .reads = { mask_zone, number_zone, *out_zone },
                                        .writes = { *out_zone } });
        cnml_pair(
            p->w, NTK_ISA_ALU_MAXIMUM, &best, &best, &tap,
            &(struct cnml_touch){ .reads = { p->frame.zone, best_zone }, .writes = { best_zone } });
    }
    return place;
}

static void write_block(struct pool *p, const struct cnml_block *block)
{
    const struct cnml_param *param = &p->op->work.param;
    bool is_l2 = p->op->work.id == CNML_OP_L2_POOL;
    struct cnml_zone *zone;
    struct ntk_isa_operand out = cnml_block_out(p->w, p->out, block, &zone);
    struct cnml_zone *sum_zone;
    struct ntk_isa_operand sum;
    struct cnml_scalar share = { NTK_ISA_ALU_MULTIPLY, NULL, 1.0F / (float)taps(p) };

    if (is_l2) {
        sum = fold(p, block, NTK_ISA_ALU_ADD, true, &sum_zone);
        cnml_act(p->w, NTK_ISA_ACT_SQRT, &out, &sum,
                 param->mode == CNML_POOL_AVG ? share.number : 1.0F, NULL,
                 &(struct cnml_touch){ .reads = { sum_zone }, .writes = { zone } });
    } else if (param->mode == CNML_POOL_AVG && param->real) {
        struct cnml_zone *shares_zone;
        struct ntk_isa_operand shares = load_shares(p, block, &shares_zone);

        sum = fold(p, block, NTK_ISA_ALU_ADD, false, &sum_zone);
        cnml_pair(p->w, NTK_ISA_ALU_MULTIPLY, &out, &sum, &shares,
                  &(struct cnml_touch){ .reads = { sum_zone, shares_zone }, .writes = { zone } });
    } else if (param->mode == CNML_POOL_AVG) {
        sum = fold(p, block, NTK_ISA_ALU_ADD, false, &sum_zone);
        cnml_scalars(p->w, &out, &sum, share, nothing,
                     &(struct cnml_touch){ .reads = { sum_zone }, .writes = { zone } });
    } else {
        sum = param->mode == CNML_POOL_MAX ? fold(p, block, NTK_ISA_ALU_MAXIMUM, false, &sum_zone)
              : param->mode == CNML_POOL_MAXINDEX
                  ? find(p, block, &sum_zone)
                  : fold(p, block, NTK_ISA_ALU_ADD, false, &sum_zone);
        cnml_copy(p->w, NTK_ISA_ENGINE_ACT, &out, &sum,
                  &(struct cnml_touch){ .reads = { sum_zone }, .writes = { zone } });
        if (param->mode == CNML_POOL_MAX || param->mode == CNML_POOL_MAXINDEX) {
            clear_empty(p, block, &out, zone);
        }
    }
    cnml_block_done(p->w, p->out, block, &out, zone);
}

static void write_padding(struct pool *p, const struct cnml_block *block)
{
    struct cnml_zone *zone;
    struct ntk_isa_operand out = cnml_block_out(p->w, p->out, block, &zone);
    struct ntk_isa_operand seen = cnml_frame_tap(&p->frame, block, p->channels, 0, 0, 0);

    cnml_copy(p->w, NTK_ISA_ENGINE_ACT, &out, &seen,
              &(struct cnml_touch){ .reads = { p->frame.zone }, .writes = { zone } });
    cnml_block_done(p->w, p->out, block, &out, zone);
}

/* A value below every finite number. */
static float lowest(enum ntk_dtype dtype)
{
    return dtype == NTK_DTYPE_FLOAT16 ? -65504.0F : dtype == NTK_DTYPE_FLOAT32 ? -FLT_MAX : 0;
}

void cnml_write_pool(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values)
{
    const struct cnml_param *param = &op->work.param;
    bool is_padding = op->work.id == CNML_OP_ADD_PAD;
    bool is_greatest = op->work.id == CNML_OP_POOL &&
                       (param->mode == CNML_POOL_MAX || param->mode == CNML_POOL_MAXINDEX);
    struct pool p = { .w = w, .op = op, .in = values->in[0], .out = values->out[0] };
    struct cnml_block whole = cnml_block_all(p.out->dims);
    struct cnml_block block = { 0 };
    struct cnml_block plan;

    p.frame = (struct cnml_frame){ .kernel_h = is_padding ? 1 : param->window_h,
                                   .kernel_w = is_padding ? 1 : param->window_w,
                                   .stride_h = param->stride_h,
                                   .stride_w = param->stride_w,
                                   .dilation_h = param->dilation_h,
                                   .dilation_w = param->dilation_w,
                                   .top = param->top,
                                   .left = param->left,
                                   .up_h = 1,
                                   .up_w = 1,
                                   .fill = is_padding    ? param->value
                                           : is_greatest ? lowest(p.in->dtype)
                                                         : 0 };
    cnml_block_plan(p.out->dims, fits, &p, &plan);
    if (plan.images == 0) {
        w->status = CNML_STATUS_UNSUPPORT;
        return;
    }
    if (op->work.id == CNML_OP_POOL && param->mode == CNML_POOL_AVG && param->real) {
        make_shares(&p);
    }
    for (int b = 0; b < cnml_channel_blocks(p.in->dims[CNML_C]); b++) {
        block.images = 0;
        block.channel_block = b;
        p.channels = cnml_channels_of(p.in->dims[CNML_C], b);
        while (w->status == CNML_STATUS_SUCCESS && cnml_block_next(&whole, &plan, &block)) {
            cnml_frame_load(w, &p.frame, p.in, &block, b, 1);
            if (is_padding) {
                write_padding(&p, &block);
            } else {
                write_block(&p, &block);
            }
        }
    }
}
