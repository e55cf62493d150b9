/* SPDX-License-Identifier: MIT */
/* cnml_tile_move - computes operators that only move data, by transfers within device memory. */
#include <stdio.h>
#include <string.h>

#include "runtime-hooks/cnml/cnml_program.h"

/* Makes an operand for elements of a variable with these dims and order, the first axis
 * outermost. */
static struct ntk_isa_operand pattern(uint32_t var, uint64_t first, enum ntk_dtype dtype,
                                      const int dims[CNML_DIMS], const size_t strides[CNML_DIMS])
{
    struct ntk_isa_operand operand = { .space = NTK_ISA_SPACE_VAR,
                                       .dtype = dtype,
                                       .var_id = var,
                                       .offset = first * ntk_dtype_bytes((unsigned)dtype),
                                       .dim_count = CNML_DIMS };

    for (int i = 0; i < CNML_DIMS; i++) {
        int axis = CNML_DIMS - 1 - i;

        operand.dim[i] = (struct ntk_isa_dim){ (int32_t)strides[axis], (uint32_t)dims[axis] };
    }
    return operand;
}

static void move(struct cnml_writer *w, struct cnml_zone *to_zone, const struct ntk_isa_operand *to,
                 struct cnml_zone *from_zone, const struct ntk_isa_operand *from)
{
    cnml_dma(w, CNML_QUEUE_OUT, to, from,
             &(struct cnml_touch){ .reads = { from_zone }, .writes = { to_zone } });
}

static void strides_of(const struct cnml_value *value, size_t strides[CNML_DIMS])
{
    cnml_order_strides(CNML_NHWC, value->dims, strides);
}

/* Copies in the device's order, up to the smaller of the two sizes. */
static void copy_all(struct cnml_writer *w, struct cnml_value *in, struct cnml_value *out)
{
    const int dims[CNML_DIMS] = { 1, 1, 1, (int)cnml_elements(in->dims) };
    const size_t strides[CNML_DIMS] = { 1, 1, 1, 1 };
    struct ntk_isa_operand from = pattern(in->var, 0, in->dtype, dims, strides);
    struct ntk_isa_operand to = pattern(out->var, 0, out->dtype, dims, strides);

    move(w, &out->zone, &to, &in->zone, &from);
}

/* Reshapes through a row of numbers in the order that the parameter specifies. */
static void reshape(struct cnml_writer *w, const struct cnmlBaseOp *op, struct cnml_value *in,
                    struct cnml_value *out)
{
    struct cnml_zone between_zone = { 0 };
    size_t plain[CNML_DIMS];
    size_t ordered[CNML_DIMS];
    char name[24];
    uint32_t between;
    struct ntk_isa_operand from;
    struct ntk_isa_operand to;

    if (op->work.param.order == CNML_NHWC) {
        copy_all(w, in, out);
        return;
    }
    (void)snprintf(name, sizeof name, "reshaped%d", w->tmp_count++);
    between = ntk_neff_kernel_tmp(w->kernel, name,
                                  cnml_elements(in->dims) * ntk_dtype_bytes((unsigned)in->dtype));
    strides_of(in, plain);
    cnml_order_strides(op->work.param.order, in->dims, ordered);
    from = pattern(in->var, 0, in->dtype, in->dims, plain);
    to = pattern(between, 0, in->dtype, in->dims, ordered);
    move(w, &between_zone, &to, &in->zone, &from);
    strides_of(out, plain);
    cnml_order_strides(op->work.param.order, out->dims, ordered);
    from = pattern(between, 0, in->dtype, out->dims, ordered);
    to = pattern(out->var, 0, out->dtype, out->dims, plain);
    move(w, &out->zone, &to, &between_zone, &from);
}

static void transpose(struct cnml_writer *w, struct cnml_value *in, struct cnml_value *out)
{
    size_t plain[CNML_DIMS];
    size_t turned[CNML_DIMS];
    size_t to_strides[CNML_DIMS];
    int axes[CNML_DIMS];
    struct ntk_isa_operand from;
    struct ntk_isa_operand to;

    cnml_transpose_axes(in->dims, out->dims, axes);
    strides_of(in, plain);
    strides_of(out, to_strides);
    for (int i = 0; i < CNML_DIMS; i++) {
        turned[i] = plain[axes[i]];
    }
    from = pattern(in->var, 0, in->dtype, out->dims, turned);
    to = pattern(out->var, 0, out->dtype, out->dims, to_strides);
    move(w, &out->zone, &to, &in->zone, &from);
}

/* Copies a part of a whole value, from its position along the axis on. */
static void part(struct cnml_writer *w, struct cnml_value *whole, struct cnml_value *piece,
                 int axis, int place, bool to_whole)
{
    size_t strides[CNML_DIMS];
    size_t piece_strides[CNML_DIMS];
    struct ntk_isa_operand a;
    struct ntk_isa_operand b;

    strides_of(whole, strides);
    strides_of(piece, piece_strides);
    a = pattern(whole->var, (uint64_t)place * strides[axis], whole->dtype, piece->dims, strides);
    b = pattern(piece->var, 0, piece->dtype, piece->dims, piece_strides);
    if (to_whole) {
        move(w, &whole->zone, &a, &piece->zone, &b);
    } else {
        move(w, &piece->zone, &b, &whole->zone, &a);
    }
}

void cnml_write_move(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values)
{
    int axis = cnml_list_axis(op->work.param.mode);
    int place = 0;

    switch (op->work.id) {
    case CNML_OP_CONCAT:
        for (int i = 0; i < op->input_count; i++) {
            part(w, values->out[0], values->in[i], axis, place, true);
            place += values->in[i]->dims[axis];
        }
        break;
    case CNML_OP_SPLIT:
        for (int i = 0; i < op->output_count; i++) {
            part(w, values->in[0], values->out[i], axis, place, false);
            place += values->out[i]->dims[axis];
        }
        break;
    case CNML_OP_RESHAPE:
        reshape(w, op, values->in[0], values->out[0]);
        break;
    case CNML_OP_TRANSPOSE:
        transpose(w, values->in[0], values->out[0]);
        break;
    default:
        copy_all(w, values->in[0], values->out[0]);
    }
}
