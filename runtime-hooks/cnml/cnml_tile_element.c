/* SPDX-License-Identifier: MIT */
/*
 * cnml_tile_element - computes element-wise operators. If all operands are in device memory and
 * have the same shape, a tensor is one row of numbers, divided among the partitions; otherwise it
 * is processed in channel blocks.
 */
#include <math.h>

#include "runtime-hooks/cnml/cnml_program.h"

enum { ALPHA_SLOT, BETA_SLOT };

struct element {
    struct cnml_writer *w;
    const struct cnmlBaseOp *op;
    const struct cnml_values *values;
};

/* Tiles of one step: [0] and [1] are sources, the last one is the destination. */
struct tiles {
    struct ntk_isa_operand from[2];
    struct ntk_isa_operand to;
    struct cnml_zone *from_zone[2];
    struct cnml_zone *zone;
    int channel_block; /* -1 without constants per channel */
};

static const struct cnml_scalar nothing = { NTK_ISA_ALU_NONE, NULL, 0 };

static struct cnml_scalar number(enum ntk_isa_alu op, float value)
{
    return (struct cnml_scalar){ op, NULL, value };
}

static void active(struct element *e, const struct tiles *t)
{
    struct cnml_touch touch = { .reads = { t->from_zone[0] }, .writes = { t->zone } };
    struct cnml_zone *between_zone;
    struct ntk_isa_operand between;

    switch (e->op->work.selector) {
    case CNML_ACTIVE_SIGMOID:
        cnml_act(e->w, NTK_ISA_ACT_SIGMOID, &t->to, &t->from[0], 1, NULL, &touch);
        break;
    case CNML_ACTIVE_TANH:
        cnml_act(e->w, NTK_ISA_ACT_TANH, &t->to, &t->from[0], 1, NULL, &touch);
        break;
    case CNML_ACTIVE_RELU:
        cnml_act(e->w, NTK_ISA_ACT_RELU, &t->to, &t->from[0], 1, NULL, &touch);
        break;
    case CNML_ACTIVE_RELU1:
    case CNML_ACTIVE_RELU6:
        cnml_scalars(
            e->w, &t->to, &t->from[0], number(NTK_ISA_ALU_MAXIMUM, 0),
            number(NTK_ISA_ALU_MINIMUM, e->op->work.selector == CNML_ACTIVE_RELU1 ? 1.0F : 6.0F),
            &touch);
        break;
    case CNML_HARD_SIGMOID:
        between =
            ntk_isa_sbuf(cnml_stage_next(&e->w->sum, &between_zone), t->to.partition_count,
                         (uint32_t)ntk_isa_operand_partition_elements(&t->to), NTK_DTYPE_FLOAT32);
        cnml_scalars(
            e->w, &between, &t->from[0], number(NTK_ISA_ALU_MULTIPLY, 0.2F),
            number(NTK_ISA_ALU_ADD, 0.5F),
            &(struct cnml_touch){ .reads = { t->from_zone[0] }, .writes = { between_zone } });
        cnml_scalars(e->w, &t->to, &between, number(NTK_ISA_ALU_MAXIMUM, 0),
                     number(NTK_ISA_ALU_MINIMUM, 1),
                     &(struct cnml_touch){ .reads = { between_zone }, .writes = { t->zone } });
        break;
    default:
        cnml_copy(e->w, NTK_ISA_ENGINE_DVE, &t->to, &t->from[0], &touch);
    }
}

static void pair(struct element *e, const struct tiles *t, enum ntk_isa_alu op)
{
    cnml_pair(e->w, op, &t->to, &t->from[0], &t->from[1],
              &(struct cnml_touch){ .reads = { t->from_zone[0], t->from_zone[1] },
                                    .writes = { t->zone } });
}

static void divide(struct element *e, const struct tiles *t)
{
    struct ntk_isa_instr inverse = ntk_isa_instr_make(NTK_ISA_OP_RECIPROCAL);
    struct cnml_zone *zone;
    struct ntk_isa_operand inverted =
        ntk_isa_sbuf(cnml_stage_next(&e->w->sum, &zone), t->to.partition_count,
                     (uint32_t)ntk_isa_operand_partition_elements(&t->to), NTK_DTYPE_FLOAT32);

    inverse.operand[NTK_ISA_DST] = inverted;
    inverse.operand[NTK_ISA_SRC0] = t->from[1];
    cnml_emit(e->w, NTK_ISA_ENGINE_DVE, &inverse,
              &(struct cnml_touch){ .reads = { t->from_zone[1] }, .writes = { zone } });
    cnml_pair(e->w, NTK_ISA_ALU_MULTIPLY, &t->to, &t->from[0], &inverted,
              &(struct cnml_touch){ .reads = { t->from_zone[0], zone }, .writes = { t->zone } });
}

static float factor_of(const struct cnmlTensor *tensor)
{
    return cnml_dtype_is_quantised(tensor->dtype)
               ? ldexpf(1.0F, tensor->quants.one.position) / tensor->quants.one.scale
               : 1.0F;
}

static void with_columns(struct element *e, const struct tiles *t)
{
    int count = t->to.partition_count;
    struct ntk_isa_operand alpha = cnml_column(e->w, ALPHA_SLOT, t->channel_block, count);
    struct ntk_isa_operand beta = cnml_column(e->w, BETA_SLOT, t->channel_block, count);
    bool is_norm = e->op->work.id == CNML_OP_BATCH_NORM;
    bool has_beta = e->op->consts[CNML_BETA_OF] != NULL;

    cnml_scalars(
        e->w, &t->to, &t->from[0],
        (struct cnml_scalar){ is_norm ? NTK_ISA_ALU_SUBTRACT : NTK_ISA_ALU_MULTIPLY, &alpha, 0 },
        (struct cnml_scalar){ is_norm    ? NTK_ISA_ALU_MULTIPLY
                              : has_beta ? NTK_ISA_ALU_ADD
                                         : NTK_ISA_ALU_NONE,
                              &beta, 0 },
        &(struct cnml_touch){ .reads = { t->from_zone[0], &e->w->columns_zone },
                              .writes = { t->zone } });
}

static void compute(struct element *e, const struct tiles *t)
{
    switch (e->op->work.id) {
    case CNML_OP_ACTIVE:
        active(e, t);
        break;
    case CNML_OP_ADD:
    case CNML_OP_BROADCAST_ADD:
    case CNML_OP_CYCLE_ADD:
        pair(e, t, NTK_ISA_ALU_ADD);
        break;
    case CNML_OP_SUB:
    case CNML_OP_BROADCAST_SUB:
    case CNML_OP_CYCLE_SUB:
        pair(e, t, NTK_ISA_ALU_SUBTRACT);
        break;
    case CNML_OP_MULT:
    case CNML_OP_BROADCAST_MULT:
    case CNML_OP_CYCLE_MULT:
        pair(e, t, NTK_ISA_ALU_MULTIPLY);
        break;
    case CNML_OP_REAL_DIV:
        divide(e, t);
        break;
    case CNML_OP_CAST:
        cnml_scalars(e->w, &t->to, &t->from[0],
                     number(NTK_ISA_ALU_MULTIPLY,
                            factor_of(e->op->inputs[0]) / factor_of(e->op->outputs[0])),
                     nothing,
                     &(struct cnml_touch){ .reads = { t->from_zone[0] }, .writes = { t->zone } });
        break;
    default:
        with_columns(e, t);
    }
}

static int64_t room(const struct element *e)
{
    int64_t elements = CNML_STAGE_SUM_BYTES / 4;
    int64_t size = (int64_t)ntk_dtype_bytes((unsigned)e->values->out[0]->dtype);

    if (elements > CNML_STAGE_OUT_BYTES / size) {
        elements = CNML_STAGE_OUT_BYTES / size;
    }
    for (int i = 0; i < e->op->input_count; i++) {
        size = (int64_t)ntk_dtype_bytes((unsigned)e->values->in[i]->dtype);
        if (elements > CNML_STAGE_IN_BYTES / size) {
            elements = CNML_STAGE_IN_BYTES / size;
        }
    }
    return elements;
}

/* --- one row of numbers ---------------------------------------------------------------------- */

static void flat_step(struct element *e, uint64_t first, uint32_t rows, uint32_t columns)
{
    struct tiles t = { .channel_block = -1 };
    struct cnml_value *out = e->values->out[0];
    uint64_t size = ntk_dtype_bytes((unsigned)out->dtype);
    struct ntk_isa_operand to =
        ntk_isa_var(out->var, first * size, rows, (int32_t)columns, columns, out->dtype);

    for (int i = 0; i < e->op->input_count; i++) {
        struct cnml_value *in = e->values->in[i];
        struct ntk_isa_operand from =
            ntk_isa_var(in->var, first * ntk_dtype_bytes((unsigned)in->dtype), rows,
                        (int32_t)columns, columns, in->dtype);

        t.from[i] =
            ntk_isa_sbuf(cnml_stage_next(&e->w->in, &t.from_zone[i]), rows, columns, in->dtype);
        cnml_dma(e->w, CNML_QUEUE_IN, &t.from[i], &from,
                 &(struct cnml_touch){ .reads = { &in->zone }, .writes = { t.from_zone[i] } });
    }
    t.to = ntk_isa_sbuf(cnml_stage_next(&e->w->out, &t.zone), rows, columns, out->dtype);
    compute(e, &t);
    cnml_dma(e->w, CNML_QUEUE_OUT, &to, &t.to,
             &(struct cnml_touch){ .reads = { t.zone }, .writes = { &out->zone } });
}

static void write_flat(struct element *e)
{
    uint64_t left = cnml_elements(e->values->out[0]->dims);
    uint64_t most = (uint64_t)room(e);
    uint64_t first = 0;

    while (left > 0) {
        uint32_t rows = left < NTK_ISA_PARTITIONS ? (uint32_t)left : NTK_ISA_PARTITIONS;
        uint32_t columns = (uint32_t)(left / rows < most ? left / rows : most);

        flat_step(e, first, rows, columns);
        first += (uint64_t)rows * columns;
        left -= (uint64_t)rows * columns;
    }
}

/* --- blocks of channels ---------------------------------------------------------------------- */

/* The part of b that belongs to a block of a. */
static struct ntk_isa_operand repeated(struct element *e, const struct cnml_block *block,
                                       struct cnml_zone **out_zone)
{
    struct cnml_value *b = e->values->in[1];
    const int *a = e->values->in[0]->dims;
    struct cnml_block part = *block;
    bool one_channel = b->dims[CNML_C] == 1 && a[CNML_C] > 1;
    struct cnml_steps steps;
    struct ntk_isa_operand tile;

    if (cnml_same_dims(a, b->dims)) {
        return cnml_block_in(e->w, b, block, out_zone);
    }
    if (b->dims[CNML_N] == 1) {
        part.image = 0;
        part.images = 1;
    }
    if (b->dims[CNML_H] == 1) {
        part.row = 0;
        part.rows = 1;
    }
    if (b->dims[CNML_W] == 1) {
        part.column = 0;
        part.columns = 1;
    }
    if (one_channel) {
        part.channel_block = 0;
    }
    tile = cnml_block_in(e->w, b, &part, out_zone);
    steps =
        b->is_resident
            ? (struct cnml_steps){ 1, b->dims[CNML_W], (int64_t)b->dims[CNML_W] * b->dims[CNML_H] }
            : (struct cnml_steps){ 1, part.columns, (int64_t)part.columns * part.rows };
    if (part.images != block->images) {
        steps.image = 0;
    }
    if (part.rows != block->rows) {
        steps.row = 0;
    }
    if (part.columns != block->columns) {
        steps.column = 0;
    }
    tile = cnml_tile(NTK_ISA_SPACE_SBUF, tile.offset,
                     cnml_channels_of(a[CNML_C], block->channel_block), b->dtype, block, steps);
    if (one_channel) {
        tile.partition_step = 0;
    }
    return tile;
}

static void write_blocks(struct element *e)
{
    struct cnml_value *out = e->values->out[0];
    struct cnml_room bound = { room(e) };
    struct cnml_block whole = cnml_block_all(out->dims);
    struct cnml_block block = { 0 };
    struct cnml_block plan;

    cnml_block_plan(out->dims, cnml_block_fits, &bound, &plan);
    for (int b = 0; b < cnml_channel_blocks(out->dims[CNML_C]); b++) {
        block.images = 0;
        block.channel_block = b;
        while (cnml_block_next(&whole, &plan, &block)) {
            struct tiles t = { .channel_block = b };

            t.from[0] = cnml_block_in(e->w, e->values->in[0], &block, &t.from_zone[0]);
            if (e->op->input_count == 2) {
                t.from[1] = repeated(e, &block, &t.from_zone[1]);
            }
            t.to = cnml_block_out(e->w, out, &block, &t.zone);
            compute(e, &t);
            cnml_block_done(e->w, out, &block, &t.to, t.zone);
        }
    }
}

void cnml_write_element(struct cnml_writer *w, const struct cnmlBaseOp *op,
                        const struct cnml_values *values)
{
    struct element e = { .w = w, .op = op, .values = values };
    bool is_flat = !values->out[0]->is_resident && !op->consts[0];

    if (op->work.id == CNML_OP_CAST && op->work.selector == 9) {
        w->status = CNML_STATUS_UNSUPPORT; /* rounding towards zero is not supported */
        return;
    }
    for (int i = 0; i < op->input_count; i++) {
        is_flat = is_flat && !values->in[i]->is_resident &&
                  cnml_same_dims(values->in[i]->dims, values->out[0]->dims);
        for (int d = 0; d < CNML_DIMS; d++) {
            if (values->in[i]->dims[d] != 1 && values->in[i]->dims[d] != values->out[0]->dims[d]) {
                /* cycles of more than one element are not supported */
                w->status = CNML_STATUS_UNSUPPORT;
                return;
            }
        }
    }
    for (int i = ALPHA_SLOT; i <= BETA_SLOT; i++) {
        if (op->consts[i]) {
            cnml_columns_load(w, i, op->consts[i]->values, values->out[0]->dims[CNML_C]);
        }
    }
    if (is_flat) {
        write_flat(&e);
    } else {
        write_blocks(&e);
    }
}
