/* SPDX-License-Identifier: MIT */
/*
 * cnml_tile_softmax - computes softmax along any dimension: 128 lines at a time, each in a separate
 * partition, from device memory and back.
 */
#include "runtime-hooks/cnml/cnml_program.h"

struct lines {
    int64_t length; /* number of elements of a line, and their distance */
    int64_t step;
    int64_t inner; /* number of adjacent lines (inner), and of their groups (outer) */
    int64_t outer;
};

static struct lines lines_of(const int dims[CNML_DIMS], int axis)
{
    size_t strides[CNML_DIMS];
    struct lines lines;

    cnml_order_strides(CNML_NHWC, dims, strides);
    lines.length = dims[axis];
    lines.step = (int64_t)strides[axis];
    lines.inner = lines.step;
    lines.outer = (int64_t)cnml_elements(dims) / (lines.inner * lines.length);
    return lines;
}

static struct ntk_isa_operand where(const struct cnml_value *value, const struct lines *lines,
                                    int64_t first_outer, int64_t outer, int64_t first_inner,
                                    int64_t inner)
{
    uint64_t size = ntk_dtype_bytes((unsigned)value->dtype);

    return (struct ntk_isa_operand){
        .space = NTK_ISA_SPACE_VAR,
        .dtype = value->dtype,
        .var_id = value->var,
        .offset = (uint64_t)(first_outer * lines->inner * lines->length + first_inner) * size,
        .dim_count = 3,
        .dim = { { (int32_t)lines->step, (uint32_t)lines->length },
                 { 1, (uint32_t)inner },
                 { (int32_t)(lines->inner * lines->length), (uint32_t)outer } }
    };
}

static void write_lines(struct cnml_writer *w, const struct cnml_values *values,
                        const struct lines *lines, const struct ntk_isa_operand *from,
                        const struct ntk_isa_operand *to, unsigned count)
{
    uint32_t length = (uint32_t)lines->length;
    struct ntk_isa_operand in = ntk_isa_sbuf(w->in.at[0], count, length, values->in[0]->dtype);
    struct ntk_isa_operand power = ntk_isa_sbuf(w->weight.at[0], count, length, NTK_DTYPE_FLOAT32);
    struct ntk_isa_operand out = ntk_isa_sbuf(w->out.at[0], count, length, values->out[0]->dtype);
    struct ntk_isa_operand greatest = ntk_isa_sbuf(w->sum.at[0], count, 1, NTK_DTYPE_FLOAT32);
    struct ntk_isa_operand total = ntk_isa_sbuf(w->sum.at[0] + 4, count, 1, NTK_DTYPE_FLOAT32);
    struct ntk_isa_instr reduce = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_REDUCE);
    struct ntk_isa_instr exponential = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION_REDUCE);
    struct ntk_isa_instr inverse = ntk_isa_instr_make(NTK_ISA_OP_RECIPROCAL);

    cnml_dma(w, CNML_QUEUE_IN, &in, from,
             &(struct cnml_touch){ .reads = { &values->in[0]->zone },
                                   .writes = { &w->in.zone[0], &w->in.zone[1] } });
    reduce.op0 = NTK_ISA_ALU_MAXIMUM;
    reduce.axis_count = 1;
    reduce.op_flags = NTK_ISA_OPF_NEGATE;
    reduce.operand[NTK_ISA_DST] = greatest;
    reduce.operand[NTK_ISA_SRC0] = in;
    cnml_emit(w, NTK_ISA_ENGINE_DVE, &reduce,
              &(struct cnml_touch){ .reads = { &w->in.zone[0] }, .writes = { &w->sum.zone[0] } });
    exponential.act = NTK_ISA_ACT_EXP;
    exponential.imm[0] = ntk_isa_float_bits(1);
    exponential.reduce_op = NTK_ISA_ALU_ADD;
    exponential.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
    exponential.operand[NTK_ISA_DST] = power;
    exponential.operand[NTK_ISA_SRC0] = in;
    exponential.operand[NTK_ISA_SRC1] = greatest;
    exponential.operand[NTK_ISA_DST2] = total;
    /* Uses whole buffers, both halves. */
    cnml_emit(w, NTK_ISA_ENGINE_ACT, &exponential,
              &(struct cnml_touch){
                  .reads = { &w->in.zone[0], &w->in.zone[1], &w->sum.zone[0] },
                  .writes = { &w->weight.zone[0], &w->weight.zone[1], &w->sum.zone[0] } });
    inverse.operand[NTK_ISA_DST] = total;
    inverse.operand[NTK_ISA_SRC0] = total;
    cnml_emit(w, NTK_ISA_ENGINE_DVE, &inverse,
              &(struct cnml_touch){ .reads = { &w->sum.zone[0] }, .writes = { &w->sum.zone[0] } });
    cnml_scalars(
        w, &out, &power, (struct cnml_scalar){ NTK_ISA_ALU_MULTIPLY, &total, 0 },
        (struct cnml_scalar){ NTK_ISA_ALU_NONE, NULL, 0 },
        &(struct cnml_touch){ .reads = { &w->sum.zone[0], &w->weight.zone[0], &w->weight.zone[1] },
                              .writes = { &w->out.zone[0], &w->out.zone[1] } });
    cnml_dma(w, CNML_QUEUE_OUT, to, &out,
             &(struct cnml_touch){ .reads = { &w->out.zone[0], &w->out.zone[1] },
                                   .writes = { &values->out[0]->zone } });
}

void cnml_write_softmax(struct cnml_writer *w, const struct cnmlBaseOp *op,
                        const struct cnml_values *values)
{
    const struct cnml_value *in = values->in[0];
    const struct cnml_value *out = values->out[0];
    struct lines lines = lines_of(in->dims, op->work.selector);

    if (lines.length * 4 > CNML_WEIGHT_BYTES ||
        lines.length * (int64_t)ntk_dtype_bytes((unsigned)in->dtype) > 2 * CNML_STAGE_IN_BYTES ||
        lines.length * (int64_t)ntk_dtype_bytes((unsigned)out->dtype) > 2 * CNML_STAGE_OUT_BYTES) {
        w->status = CNML_STATUS_UNSUPPORT;
        return;
    }
    for (int64_t o = 0; o < lines.outer;) {
        int64_t outer = lines.inner < NTK_ISA_PARTITIONS ? NTK_ISA_PARTITIONS / lines.inner : 1;

        if (outer > lines.outer - o) {
            outer = lines.outer - o;
        }
        for (int64_t i = 0; i < lines.inner; i += NTK_ISA_PARTITIONS) {
            int64_t inner =
                lines.inner - i < NTK_ISA_PARTITIONS ? lines.inner - i : NTK_ISA_PARTITIONS;
            struct ntk_isa_operand from = where(in, &lines, o, outer, i, inner);
            struct ntk_isa_operand to = where(out, &lines, o, outer, i, inner);

            write_lines(w, values, &lines, &from, &to, (unsigned)(inner * outer));
        }
        o += outer;
    }
}
