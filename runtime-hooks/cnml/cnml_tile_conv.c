/* SPDX-License-Identifier: MIT */
/*
 * cnml_tile_conv - computes convolutions, their transposes and dense layers as matrix products.
 *
 * Input channels are the rows of the tensor engine, 128 at a time; each tap of the windows is a
 * product of its weights with the shifted input, and all are added in PSUM. A dense layer is a
 * convolution with the whole image as one window; a transposed one reads the input spread out with
 * zeros, with the filter rotated. Groups are filters with zeros, and blocks without any weight are
 * omitted.
 *
 * Weights that fit their part of the state buffer are loaded once. Otherwise they are loaded in
 * pieces, each for up to four blocks of results.
 */
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "runtime-hooks/cnml/cnml_program.h"

enum { GROUP_BANKS = 4, TARGETS = 2, COLUMNS_MAX = NTK_ISA_MOVING_MAX };
enum { SCALE_SLOT, BIAS_SLOT, MEAN_SLOT, STD_SLOT };

struct conv {
    struct cnml_writer *w;
    const struct cnmlBaseOp *op;
    struct cnml_value *in, *out;
    struct cnml_frame frame;

    int channels, outputs; /* total numbers of input and output channels */
    int taps;
    int in_blocks, out_blocks;
    int unit_width; /* outputs per unit of weights; a unit is one tap of a pair of blocks */

    enum ntk_dtype dtype; /* dtype of the products' operands: the input's, or int8 */
    enum ntk_dtype weight_dtype;
    float quantise; /* factor to convert the input to int8; 0: unchanged */
    float scale;    /* factor for all sums */
    bool has_channel_scale;
    bool has_bias;

    uint8_t *is_pair; /* [out block][in block]: whether it has weights */
    int *unit_first;  /* first unit of each output block, and the total at the end */
    uint32_t weights_var;
    bool is_loaded;      /* whether all weights are in the state buffer */
    int piece_units;     /* units per piece, if they are loaded in pieces */
    uint64_t unit_bytes; /* bytes in a partition */
};

/* --- weights --------------------------------------------------------------------------------- */

static int outputs_per_group(const struct conv *c)
{
    return c->outputs / c->op->work.group;
}

static int depth(const struct conv *c)
{
    return c->channels / c->op->work.group;
}

/* The weight of output k for input channel n at a tap; 0 outside of the group. */
static float weight_at(const struct conv *c, int k, int n, int tap)
{
    int first = k / outputs_per_group(c) * depth(c);

    if (n < first || n >= first + depth(c)) {
        return 0;
    }
    if (c->op->work.id == CNML_OP_DECONV) {
        tap = c->taps - 1 - tap;
    }
    return c->op->consts[CNML_FILTER_OF]
        ->values[((size_t)k * (size_t)depth(c) + (size_t)(n - first)) * (size_t)c->taps +
                 (size_t)tap];
}

static bool meets(const struct conv *c, int out_block, int in_block)
{
    int first = out_block * NTK_ISA_PARTITIONS / outputs_per_group(c) * depth(c);
    int last_output = out_block * NTK_ISA_PARTITIONS + cnml_channels_of(c->outputs, out_block) - 1;
    int end = (last_output / outputs_per_group(c) + 1) * depth(c);
    int begin = in_block * NTK_ISA_PARTITIONS;

    return begin < end && begin + NTK_ISA_PARTITIONS > first;
}

static bool plan_units(struct conv *c)
{
    int units = 0;

    c->in_blocks = cnml_channel_blocks(c->channels);
    c->out_blocks = cnml_channel_blocks(c->outputs);
    c->unit_width = c->outputs < NTK_ISA_PARTITIONS ? c->outputs : NTK_ISA_PARTITIONS;
    c->is_pair = calloc((size_t)c->in_blocks * (size_t)c->out_blocks, 1);
    c->unit_first = calloc((size_t)c->out_blocks + 1, sizeof *c->unit_first);
    if (!c->is_pair || !c->unit_first) {
        return false;
    }
    for (int k = 0; k < c->out_blocks; k++) {
        c->unit_first[k] = units;
        for (int n = 0; n < c->in_blocks; n++) {
            if (meets(c, k, n)) {
                c->is_pair[k * c->in_blocks + n] = 1;
                units += c->taps;
            }
        }
    }
    c->unit_first[c->out_blocks] = units;
    return true;
}

/* The quantisation of a filter: integers are used unchanged, with a scale per output. */
static struct cnml_quant filter_quant(const struct conv *c, int k)
{
    const struct cnmlTensor *filter = c->op->consts[CNML_FILTER_OF];

    if (c->op->has_filter_quant) {
        return c->op->filter_quant;
    }
    return filter->quants.by_channel && k < filter->quants.channel_count
               ? filter->quants.by_channel[k]
               : filter->quants.one;
}

static float factor_of(struct cnml_quant quant)
{
    return ldexpf(1.0F, quant.position) / quant.scale;
}

static void store(enum ntk_dtype dtype, float value, uint8_t *to)
{
    static const struct cnml_quant plain = { 0, 1 };

    cnml_from_float(dtype == NTK_DTYPE_INT8      ? CNML_DATA_FIX8
                    : dtype == NTK_DTYPE_FLOAT16 ? CNML_DATA_FLOAT16
                                                 : CNML_DATA_FLOAT32,
                    plain, &value, to, 1);
}

/* Makes the weights. Rows are the input channels of a block; each row has all units, with a unit's
 * outputs adjacent. */
static bool make_weights(struct conv *c)
{
    size_t size = ntk_dtype_bytes((unsigned)c->weight_dtype);
    int rows = c->channels < NTK_ISA_PARTITIONS ? c->channels : NTK_ISA_PARTITIONS;
    size_t row_bytes = (size_t)c->unit_first[c->out_blocks] * (size_t)c->unit_width * size;
    uint8_t *bytes = row_bytes > 0 ? calloc((size_t)rows, row_bytes) : NULL;

    if (!bytes) {
        return false;
    }
    for (int kb = 0; kb < c->out_blocks; kb++) {
        int unit = c->unit_first[kb];

        for (int nb = 0; nb < c->in_blocks; nb++) {
            if (!c->is_pair[kb * c->in_blocks + nb]) {
                continue;
            }
            for (int tap = 0; tap < c->taps; tap++, unit++) {
                for (int r = 0; r < cnml_channels_of(c->channels, nb); r++) {
                    uint8_t *to =
                        bytes + (size_t)r * row_bytes + (size_t)unit * (size_t)c->unit_width * size;

                    for (int k = 0; k < cnml_channels_of(c->outputs, kb); k++) {
                        int output = kb * NTK_ISA_PARTITIONS + k;
                        float value = weight_at(c, output, nb * NTK_ISA_PARTITIONS + r, tap);

                        if (c->weight_dtype == NTK_DTYPE_INT8) {
                            value /= factor_of(filter_quant(c, output));
                        }
                        store(c->weight_dtype, value, to + (size_t)k * size);
                    }
                }
            }
        }
    }
    c->weights_var =
        cnml_constant(c->w, c->weight_dtype, (uint64_t)rows,
                      (uint64_t)c->unit_first[c->out_blocks] * (uint64_t)c->unit_width, bytes);
    free(bytes);
    c->unit_bytes = (uint64_t)c->unit_width * size;
    c->is_loaded = row_bytes <= CNML_WEIGHT_BYTES;
    c->piece_units = (int)(CNML_WEIGHT_BYTES / 2 / c->unit_bytes);
    return true;
}

static void load_units(struct conv *c, int first, int count, uint64_t at, struct cnml_zone *zone,
                       struct cnml_zone *other)
{
    uint64_t rows = (uint64_t)(c->channels < NTK_ISA_PARTITIONS ? c->channels : NTK_ISA_PARTITIONS);
    int64_t row = (int64_t)c->unit_first[c->out_blocks] * c->unit_width;
    struct ntk_isa_operand from =
        ntk_isa_var(c->weights_var, (uint64_t)first * c->unit_bytes, (uint32_t)rows, (int32_t)row,
                    (uint32_t)(count * c->unit_width), c->weight_dtype);
    struct ntk_isa_operand to =
        ntk_isa_sbuf(at, (unsigned)rows, (uint32_t)(count * c->unit_width), c->weight_dtype);

    cnml_dma(c->w, CNML_QUEUE_CONST, &to, &from, &(struct cnml_touch){ .writes = { zone, other } });
}

/* --- one block ------------------------------------------------------------------------------- */

struct bank {
    struct cnml_block block;
    struct ntk_isa_operand psum;
    struct cnml_zone *zone;
};

/* Multiplies `count` units of an output block from `first` on; they are stored at `at`. */
static void multiply(struct conv *c, int out_block, int first, int count, uint64_t at,
                     struct cnml_zone *weights, const struct bank *bank)
{
    int unit = c->unit_first[out_block];

    for (int nb = 0; nb < c->in_blocks; nb++) {
        int rows = cnml_channels_of(c->channels, nb);

        if (!c->is_pair[out_block * c->in_blocks + nb]) {
            continue;
        }
        for (int tap = 0; tap < c->taps; tap++, unit++) {
            struct ntk_isa_operand moving;
            struct ntk_isa_operand stationary;

            if (unit < first || unit >= first + count) {
                continue;
            }
            moving = cnml_frame_tap(&c->frame, &bank->block, rows, nb, tap / c->frame.kernel_w,
                                    tap % c->frame.kernel_w);
            stationary =
                ntk_isa_sbuf(at + (uint64_t)(unit - first) * c->unit_bytes, (unsigned)rows,
                             (uint32_t)cnml_channels_of(c->outputs, out_block), c->weight_dtype);
            cnml_product(c->w, &bank->psum, &stationary, &moving, unit > c->unit_first[out_block],
                         &(struct cnml_touch){ .reads = { weights, c->frame.zone },
                                               .writes = { bank->zone } });
        }
    }
}

/* Moves the result from PSUM to the block's tile, scaled and with its bias. */
static void finish(struct conv *c, int out_block, const struct bank *bank,
                   const struct cnml_block *block, const struct ntk_isa_operand *out,
                   struct cnml_zone *zone)
{
    int count = cnml_channels_of(c->outputs, out_block);
    struct ntk_isa_operand scale = cnml_column(c->w, SCALE_SLOT, out_block, count);
    struct ntk_isa_operand bias = cnml_column(c->w, BIAS_SLOT, out_block, count);
    struct ntk_isa_operand to = *out;
    struct cnml_touch touch = { .reads = { bank->zone, &c->w->columns_zone }, .writes = { zone } };

    if (c->out->is_resident) {
        struct cnml_block part = bank->block;

        part.channel_block = out_block;
        to = cnml_value_tile(c->out, &part);
    } else {
        int64_t row = block->columns;
        int64_t image = row * block->rows;
        int64_t first = (bank->block.image - block->image) * image +
                        (bank->block.row - block->row) * row + (bank->block.column - block->column);

        to = cnml_tile(NTK_ISA_SPACE_SBUF,
                       out->offset + (uint64_t)first * ntk_dtype_bytes((unsigned)out->dtype), count,
                       out->dtype, &bank->block, (struct cnml_steps){ 1, row, image });
    }
    if (c->has_channel_scale) {
        cnml_scalars(
            c->w, &to, &bank->psum, (struct cnml_scalar){ NTK_ISA_ALU_MULTIPLY, &scale, 0 },
            (struct cnml_scalar){ c->has_bias ? NTK_ISA_ALU_ADD : NTK_ISA_ALU_NONE, &bias, 0 },
            &touch);
    } else {
        cnml_act(c->w, NTK_ISA_ACT_COPY, &to, &bank->psum, c->scale, c->has_bias ? &bias : NULL,
                 &touch);
    }
}

/* The place for incomplete results of an output block of 128 channels. */
struct target {
    struct cnml_block block;
    struct ntk_isa_operand out;
    struct cnml_zone *zone;
};

static struct target target_begin(struct conv *c, const struct cnml_block *block, int out_block)
{
    struct target target = { .block = *block };

    target.block.channel_block = out_block;
    target.out = cnml_block_out(c->w, c->out, &target.block, &target.zone);
    return target;
}

static void bank_take(struct conv *c, struct bank *bank, const struct cnml_block *part,
                      int out_block)
{
    uint64_t at = cnml_bank_next(c->w, &bank->zone);

    bank->block = *part;
    bank->psum = ntk_isa_psum(at, (unsigned)cnml_channels_of(c->outputs, out_block),
                              (uint32_t)cnml_block_elements(part), NTK_DTYPE_FLOAT32);
}

/* Uses weights in pieces: as many parts of the block as there are banks share each piece. */
static void write_in_pieces(struct conv *c, const struct cnml_block *block,
                            const struct cnml_block *plan, int out_block)
{
    struct target target = target_begin(c, block, out_block);
    int end = c->unit_first[out_block + 1];
    struct cnml_block part = { 0 };
    bool more = cnml_block_next(block, plan, &part);

    while (more) {
        struct bank banks[GROUP_BANKS];
        int count = 0;

        while (more && count < GROUP_BANKS) {
            bank_take(c, &banks[count++], &part, out_block);
            more = cnml_block_next(block, plan, &part);
        }
        for (int unit = c->unit_first[out_block]; unit < end; unit += c->piece_units) {
            int units = end - unit < c->piece_units ? end - unit : c->piece_units;
            struct cnml_zone *piece;
            uint64_t at = cnml_stage_next(&c->w->weight, &piece);

            load_units(c, unit, units, at, piece, NULL);
            for (int b = 0; b < count; b++) {
                multiply(c, out_block, unit, units, at, piece, &banks[b]);
            }
        }
        for (int b = 0; b < count; b++) {
            finish(c, out_block, &banks[b], block, &target.out, target.zone);
        }
    }
    cnml_block_done(c->w, c->out, &target.block, &target.out, target.zone);
}

/* Used if all weights are loaded: computes output blocks in pairs, so that the input is read half
 * as often. */
static void write_pair(struct conv *c, const struct cnml_block *block,
                       const struct cnml_block *plan, int first, int count)
{
    struct target targets[TARGETS];
    struct cnml_block part = { 0 };

    for (int k = 0; k < count; k++) {
        targets[k] = target_begin(c, block, first + k);
    }
    while (cnml_block_next(block, plan, &part)) {
        struct bank banks[TARGETS];
        int units = 0;

        for (int k = 0; k < count; k++) {
            int all = c->unit_first[first + k + 1] - c->unit_first[first + k];

            bank_take(c, &banks[k], &part, first + k);
            units = all > units ? all : units;
        }
        for (int unit = 0; unit < units; unit++) {
            for (int k = 0; k < count; k++) {
                int at = c->unit_first[first + k] + unit;

                if (at < c->unit_first[first + k + 1]) {
                    multiply(c, first + k, at, 1, c->w->weight.at[0] + (uint64_t)at * c->unit_bytes,
                             &c->w->weight.zone[0], &banks[k]);
                }
            }
        }
        for (int k = 0; k < count; k++) {
            finish(c, first + k, &banks[k], block, &targets[k].out, targets[k].zone);
        }
    }
    for (int k = 0; k < count; k++) {
        cnml_block_done(c->w, c->out, &targets[k].block, &targets[k].out, targets[k].zone);
    }
}

/* Computes all outputs of a block from a loaded frame. */
static void write_block(struct conv *c, const struct cnml_block *block,
                        const struct cnml_block *plan)
{
    for (int kb = 0; kb < c->out_blocks; kb += c->is_loaded ? TARGETS : 1) {
        if (c->is_loaded) {
            write_pair(c, block, plan, kb,
                       c->out_blocks - kb < TARGETS ? c->out_blocks - kb : TARGETS);
        } else {
            write_in_pieces(c, block, plan, kb);
        }
    }
}

/* Makes a copy of the loaded frame as integers, next to it. */
static void quantise_frame(struct conv *c, const struct cnml_block *block)
{
    struct cnml_frame *frame = &c->frame;
    struct cnml_zone *zone;
    uint64_t at = cnml_stage_next(&c->w->sum, &zone);
    struct cnml_block whole = { .images = block->images,
                                .rows = frame->height,
                                .columns = frame->width };
    struct cnml_steps dense = { 1, frame->width, (int64_t)frame->width * frame->height };
    int64_t plane = dense.image * block->images;

    for (int k = 0; k < c->in_blocks; k++) {
        int count = cnml_channels_of(c->channels, k);
        struct ntk_isa_operand from =
            cnml_tile(NTK_ISA_SPACE_SBUF,
                      frame->at + (uint64_t)(k * frame->channel_block_step) *
                                      ntk_dtype_bytes((unsigned)frame->dtype),
                      count, frame->dtype, &whole, frame->steps);
        struct ntk_isa_operand to = cnml_tile(NTK_ISA_SPACE_SBUF, at + (uint64_t)(k * plane), count,
                                              NTK_DTYPE_INT8, &whole, dense);

        cnml_scalars(c->w, &to, &from,
                     (struct cnml_scalar){ NTK_ISA_ALU_MULTIPLY, NULL, c->quantise },
                     (struct cnml_scalar){ NTK_ISA_ALU_NONE, NULL, 0 },
                     &(struct cnml_touch){ .reads = { frame->zone }, .writes = { zone } });
    }
    frame->at = at;
    frame->zone = zone;
    frame->dtype = NTK_DTYPE_INT8;
    frame->steps = dense;
    frame->channel_block_step = plane;
}

/* --- the operator ---------------------------------------------------------------------------- */

static bool fits(const struct cnml_block *block, void *ctx)
{
    const struct conv *c = ctx;
    int64_t frame = cnml_frame_elements(&c->frame, block) * c->in_blocks;

    return frame * (int64_t)ntk_dtype_bytes((unsigned)c->in->dtype) <= CNML_STAGE_IN_BYTES &&
           (c->quantise == 0 || frame <= CNML_STAGE_SUM_BYTES) &&
           cnml_block_elements(block) * (int64_t)ntk_dtype_bytes((unsigned)c->out->dtype) <=
               CNML_STAGE_OUT_BYTES;
}

/* Chooses the number format and the scale of the sums. */
static int plan_numbers(struct conv *c)
{
    const struct cnmlBaseOp *op = c->op;
    const struct cnmlTensor *in = op->inputs[0];
    const struct cnmlTensor *filter = op->consts[CNML_FILTER_OF];
    bool in_integers = cnml_dtype_is_quantised(in->dtype);
    bool filter_integers = cnml_dtype_is_quantised(filter->dtype) || op->is_quantised;
    float in_factor = 1;

    c->dtype = c->in->dtype;
    if (in_integers || op->is_quantised) {
        if (!in_integers && !op->has_input_quant && !in->has_quant) {
            return CNML_STATUS_INVALIDPARAM; /* the range of a float input is unknown */
        }
        in_factor =
            factor_of(op->has_input_quant && !in_integers ? op->input_quant : in->quants.one);
        if (!in_integers) {
            c->quantise = 1 / in_factor;
            c->dtype = NTK_DTYPE_INT8;
        }
    }
    c->weight_dtype = filter_integers                      ? NTK_DTYPE_INT8
                      : filter->dtype == CNML_DATA_FLOAT32 ? NTK_DTYPE_FLOAT32
                                                           : NTK_DTYPE_FLOAT16;
    c->scale = in_factor;
    if (filter_integers && !filter->quants.by_channel) {
        c->scale *= factor_of(filter_quant(c, 0));
    }
    c->has_channel_scale = filter_integers && filter->quants.by_channel && !op->has_filter_quant;
    if (c->has_channel_scale) {
        float *scales = malloc((size_t)c->outputs * sizeof *scales);

        if (!scales) {
            return CNML_STATUS_BADALLOC;
        }
        for (int k = 0; k < c->outputs; k++) {
            scales[k] = in_factor * factor_of(filter_quant(c, k));
        }
        cnml_columns_load(c->w, SCALE_SLOT, scales, c->outputs);
        free(scales);
    }
    return CNML_STATUS_SUCCESS;
}

/* Computes (image - mean) * std in float32, through device memory. */
static void normalise(struct conv *c, struct cnml_value *to)
{
    const struct cnmlTensor *mean = c->op->consts[CNML_MEAN_OF];
    const struct cnmlTensor *std = c->op->consts[CNML_STD_OF];
    bool is_image = mean && cnml_elements(mean->dims) != (size_t)c->channels;
    struct cnml_room room = { CNML_STAGE_OUT_BYTES / 4 };
    struct cnml_block whole = cnml_block_all(c->in->dims);
    struct cnml_block plan;
    struct cnml_block block = { 0 };
    struct cnml_value means = { .dtype = NTK_DTYPE_FLOAT32 };

    *to = *c->in;
    memset(&to->zone, 0, sizeof to->zone);
    to->is_resident = false;
    to->dtype = NTK_DTYPE_FLOAT32;
    to->var = ntk_neff_kernel_tmp(c->w->kernel, "normalised", cnml_elements(to->dims) * 4);
    if (is_image) {
        size_t area = cnml_elements(to->dims) / (size_t)to->dims[CNML_N] / (size_t)c->channels;
        float *nhwc = malloc(area * (size_t)c->channels * sizeof *nhwc);

        if (!nhwc) {
            c->w->status = CNML_STATUS_BADALLOC;
            return;
        }
        for (size_t i = 0; i < area * (size_t)c->channels; i++) {
            nhwc[i % area * (size_t)c->channels + i / area] = mean->values[i];
        }
        memcpy(means.dims, to->dims, sizeof means.dims);
        means.dims[CNML_N] = 1;
        means.var = cnml_constant(c->w, NTK_DTYPE_FLOAT32, area, (uint64_t)c->channels, nhwc);
        free(nhwc);
    } else if (mean) {
        cnml_columns_load(c->w, MEAN_SLOT, mean->values, c->channels);
    }
    if (std) {
        cnml_columns_load(c->w, STD_SLOT, std->values, c->channels);
    }
    cnml_block_plan(to->dims, cnml_block_fits, &room, &plan);
    if (is_image) {
        plan.images = plan.images > 1 ? 1 : plan.images;
    }
    for (int b = 0; b < c->in_blocks; b++) {
        int count = cnml_channels_of(c->channels, b);
        struct ntk_isa_operand mean_column = cnml_column(c->w, MEAN_SLOT, b, count);
        struct ntk_isa_operand std_column = cnml_column(c->w, STD_SLOT, b, count);

        block.images = 0;
        block.channel_block = b;
        while (cnml_block_next(&whole, &plan, &block)) {
            struct cnml_zone *from_zone;
            struct cnml_zone *zone;
            struct ntk_isa_operand from = cnml_block_in(c->w, c->in, &block, &from_zone);
            struct ntk_isa_operand out = cnml_block_out(c->w, to, &block, &zone);
            struct cnml_touch touch = { .reads = { from_zone, &c->w->columns_zone },
                                        .writes = { zone } };
            struct cnml_scalar by = { std ? NTK_ISA_ALU_MULTIPLY : NTK_ISA_ALU_NONE, &std_column,
                                      0 };

            if (is_image) {
                struct cnml_block same = block;
                struct cnml_zone *mean_zone;
                struct ntk_isa_operand part;

                same.image = 0;
                part = cnml_block_in(c->w, &means, &same, &mean_zone);
                cnml_pair(
                    c->w, NTK_ISA_ALU_SUBTRACT, &out, &from, &part,
                    &(struct cnml_touch){ .reads = { from_zone, mean_zone }, .writes = { zone } });
                if (std) {
                    cnml_scalars(c->w, &out, &out, by,
                                 (struct cnml_scalar){ NTK_ISA_ALU_NONE, NULL, 0 }, &touch);
                }
            } else if (mean) {
                cnml_scalars(c->w, &out, &from,
                             (struct cnml_scalar){ NTK_ISA_ALU_SUBTRACT, &mean_column, 0 }, by,
                             &touch);
            } else {
                cnml_scalars(c->w, &out, &from, by,
                             (struct cnml_scalar){ NTK_ISA_ALU_NONE, NULL, 0 }, &touch);
            }
            cnml_block_done(c->w, to, &block, &out, zone);
        }
    }
}

static void run(struct conv *c)
{
    struct cnml_room columns = { COLUMNS_MAX };
    struct cnml_block whole = cnml_block_all(c->out->dims);
    struct cnml_block plan;
    struct cnml_block block = { 0 };

    cnml_block_plan(c->out->dims, fits, c, &plan);
    if (plan.images == 0) {
        c->w->status = CNML_STATUS_UNSUPPORT; /* even one window exceeds a buffer */
        return;
    }
    if (c->is_loaded) {
        load_units(c, 0, c->unit_first[c->out_blocks], c->w->weight.at[0], &c->w->weight.zone[0],
                   &c->w->weight.zone[1]);
    }
    while (cnml_block_next(&whole, &plan, &block)) {
        int dims[CNML_DIMS] = { block.images, 1, block.rows, block.columns };
        struct cnml_block parts;

        cnml_block_plan(dims, cnml_block_fits, &columns, &parts);
        cnml_frame_load(c->w, &c->frame, c->in, &block, 0, c->in_blocks);
        if (c->quantise != 0) {
            quantise_frame(c, &block);
        }
        write_block(c, &block, &parts);
    }
    if (c->is_loaded) {
        /* the next writer must also wait for users of the other half */
        c->w->weight.zone[1] = c->w->weight.zone[0];
    }
}

void cnml_write_conv(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values)
{
    const struct cnml_param *p = &op->work.param;
    const int *filter = op->consts[CNML_FILTER_OF]->dims;
    bool is_dense = op->work.id == CNML_OP_MLP;
    bool is_transposed = op->work.id == CNML_OP_DECONV;
    struct cnml_value normalised;
    struct conv c = {
        .w = w,
        .op = op,
        .in = values->in[0],
        .out = values->out[0],
        .channels = values->in[0]->dims[CNML_C],
        .outputs = values->out[0]->dims[CNML_C],
        .scale = 1,
        .frame = { .kernel_h = is_dense ? values->in[0]->dims[CNML_H] : filter[CNML_H],
                   .kernel_w = is_dense ? values->in[0]->dims[CNML_W] : filter[CNML_W],
                   .stride_h = is_transposed ? 1 : p->stride_h,
                   .stride_w = is_transposed ? 1 : p->stride_w,
                   .dilation_h = p->dilation_h,
                   .dilation_w = p->dilation_w,
                   .top = p->top,
                   .left = p->left,
                   .up_h = is_transposed ? p->stride_h : 1,
                   .up_w = is_transposed ? p->stride_w : 1 },
    };

    if (is_transposed) {
        c.frame.top = c.frame.kernel_h - 1 - p->top;
        c.frame.left = c.frame.kernel_w - 1 - p->left;
    }
    c.taps = c.frame.kernel_h * c.frame.kernel_w;
    c.has_bias = op->consts[CNML_BIAS_OF] != NULL;
    if (!plan_units(&c)) {
        w->status = CNML_STATUS_BADALLOC;
        goto out;
    }
    if (op->work.id == CNML_OP_CONV_FIRST &&
        (op->consts[CNML_MEAN_OF] || op->consts[CNML_STD_OF])) {
        normalise(&c, &normalised);
        c.in = &normalised;
    }
    if (w->status == CNML_STATUS_SUCCESS) {
        w->status = plan_numbers(&c);
    }
    if (w->status == CNML_STATUS_SUCCESS && !make_weights(&c)) {
        w->status = CNML_STATUS_BADALLOC;
    }
    if (c.has_bias && w->status == CNML_STATUS_SUCCESS) {
        cnml_columns_load(w, BIAS_SLOT, op->consts[CNML_BIAS_OF]->values, c.outputs);
    }
    if (w->status == CNML_STATUS_SUCCESS) {
        run(&c);
    }
out:
    free(c.is_pair);
    free(c.unit_first);
}
