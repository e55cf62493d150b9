/* SPDX-License-Identifier: MIT */
/* vendor_slot_fixture - hand-made hardware slots with the text that the original tool shows. */
#include "tests/shared/formats/neff/vendor_slot_fixture.h"

#include <errno.h>
#include <string.h>

#include "tests/support/unit.h"

#define OP(opcode)     \
    {                  \
        0, 1, (opcode) \
    }
#define WAIT(mode, number, value)         \
    { 4, 1, (mode) }, { 5, 1, (number) }, \
    {                                     \
        8, 4, (value)                     \
    }
#define UPDATE(mode, number) \
    { 6, 1, (mode) },        \
    {                        \
        7, 1, (number)       \
    }
/* Steps and counts as one little-endian number, the first one lowest. */
#define LIST(a, b, c) \
    ((uint64_t)(uint16_t)(a) | (uint64_t)(uint16_t)(b) << 16 | (uint64_t)(c) << 32)
#define LIST4(a, b, c, d) (LIST(a, b, c) | (uint64_t)(uint16_t)(d) << 48)
#define AP3(at, address, steps, counts)             \
    { (at), 4, (address) }, { (at) + 4, 6, steps }, \
    {                                               \
        (at) + 10, 6, counts                        \
    }
#define AP4(at, address, steps, counts)             \
    { (at), 4, (address) }, { (at) + 4, 8, steps }, \
    {                                               \
        (at) + 12, 8, counts                        \
    }

static const struct row rows[] = {
    { "LDWEIGHTS, columns reversed",
      "S[8] (qGpSimdDynamic)>=16 transpose_mode=DISABLED src=bfloat16@0x37afe[-1,0,-32][32,1,4] "
      "128*128 ",
      { OP(0x01),
        WAIT(5, 8, 16),
        AP3(16, 0x37afe, LIST(-1, 0, (uint16_t)-32), LIST(32, 1, 4)),
        { 32, 1, BF16 },
        { 38, 1, 128 },
        { 39, 1, 128 },
        { 44, 2, 0x0f0f } } },
    { "LDWEIGHTS, fp32 that transposes",
      "S[8] (qGpSimdDynamic)>=16 fp32_mode=LOW transpose_mode=ENABLED "
      "src=fp32@0x369f4[-1,0,0][128,1,1] 64*32 ",
      { OP(0x01),
        WAIT(5, 8, 16),
        AP3(16, 0x369f4, LIST(-1, 0, 0), LIST(128, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, 1 },
        { 34, 1, 1 },
        { 38, 1, 64 },
        { 39, 1, 32 } } },
    { "LDWEIGHTS, unknown codes",
      " fp32_mode=mode<9> transpose_mode=mode<2> src=dtype<200>@0x0[0,0,0][0,0,0] 0*0 ",
      { OP(0x01), { 32, 1, 200 }, { 33, 1, 9 }, { 34, 1, 2 } } },
    { "MATMUL",
      "S[5] (Tensor)++@complete acc_flags=3 src=bfloat16@0x37600[1,0,0][512,1,1] "
      "dst=0x2000800[1,0,0][512,1,1] 128*128 ",
      { OP(0x02),
        UPDATE(0x13, 5),
        AP3(16, 0x37600, LIST(1, 0, 0), LIST(512, 1, 1)),
        { 32, 1, BF16 },
        { 38, 1, 128 },
        { 39, 1, 128 },
        { 43, 1, 3 },
        AP3(48, 0x2000800, LIST(1, 0, 0), LIST(512, 1, 1)) } },
    { "MATMUL with wait and update, fp32",
      "S[6] (Vector)>=2 S[5] (Tensor)++@complete acc_flags=1 fp32_mode=LOW_HIGH "
      "src=fp32@0x10[1,0,0][128,1,1] dst=0x2000000[1,0,0][128,1,1] 128*128 ",
      { OP(0x02),
        WAIT(5, 6, 2),
        UPDATE(0x13, 5),
        AP3(16, 0x10, LIST(1, 0, 0), LIST(128, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, 3 },
        { 34, 1, 1 },
        { 38, 1, 128 },
        { 39, 1, 128 },
        { 43, 1, 1 },
        AP3(48, 0x2000000, LIST(1, 0, 0), LIST(128, 1, 1)) } },
    { "MATMUL, fp32 mode HIGH",
      " acc_flags=0 fp32_mode=HIGH src=fp32@0x0[0,0,0][1,1,1] dst=0x2000000[0,0,0][1,1,1] 1*1 ",
      { OP(0x02),
        AP3(16, 0, 0, LIST(1, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, 2 },
        { 38, 1, 1 },
        { 39, 1, 1 },
        AP3(48, 0x2000000, 0, LIST(1, 1, 1)) } },
    { "ACTIVATE",
      "S[6] (Vector)>=7 S[4] (Scalar)++@complete EXP bias_ptr=fp32@0x6010 "
      "src=bfloat16@0x36200[1,1,1][512,1,1] dst=fp32@0x6020[1,1,1][512,1,1] channels=128 "
      "scale=1.000000 imm=-0.500000 accumulator_cmd=IDLE",
      { OP(0x21),
        WAIT(5, 6, 7),
        UPDATE(0x13, 4),
        AP3(16, 0x36200, LIST(1, 1, 1), LIST(512, 1, 1)),
        { 32, 1, FP32 << 4 | BF16 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        { 35, 1, 7 },
        { 36, 4, 0x3f800000 },
        { 40, 4, 0x6010 },
        { 44, 4, 0xbf000000 },
        AP3(48, 0x6020, LIST(1, 1, 1), LIST(512, 1, 1)) } },
    { "ACTIVATE, a function without a name",
      " func<99> bias_ptr=dtype<0>@0x0 src=int32@0x0[0,0,0][0,0,0] dst=uint32@0x0[0,0,0][0,0,0] "
      "channels=0 scale=0.000000 imm=0.000000 accumulator_cmd=IDLE",
      { OP(0x21), { 32, 1, I32 }, { 33, 1, U32 }, { 35, 1, 99 } } },
    { "ACT_TABLE_LOAD", " table_sel=3 ", { OP(0x23), { 12, 4, 3 } } },
    { "TENSOR_TENSOR",
      " op=ADD src0=fp32@0x10[1,1,1][8,1,1] src1=fp16@0x20[1,1,1][8,1,1] "
      "dst=bfloat16@0x30[1,1,1][8,1,1] channels=128 ",
      { OP(0x41),
        { 12, 1, FP16 << 4 | FP32 },
        { 13, 1, BF16 },
        { 14, 1, 4 },
        { 15, 1, 128 },
        AP3(16, 0x10, LIST(1, 1, 1), LIST(8, 1, 1)),
        AP3(32, 0x20, LIST(1, 1, 1), LIST(8, 1, 1)),
        AP3(48, 0x30, LIST(1, 1, 1), LIST(8, 1, 1)) } },
    { "TENSOR_REDUCE over two dimensions",
      " op=ADD dim=XY src=fp32@0x0[1,2,1,1][2,4,1,1] dst=fp32@0x8[1,1,1,1][1,1,1,1] channels=64 ",
      { OP(0x42),
        AP4(12, 0, LIST4(1, 2, 1, 1), LIST4(2, 4, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 64 },
        { 36, 1, 4 },
        { 37, 1, 3 },
        AP4(44, 8, LIST4(1, 1, 1, 1), LIST4(1, 1, 1, 1)) } },
    { "TENSOR_REDUCE, negated",
      " op=MAX dim=X negated=1 src=fp32@0x36200[1,2,1,1][512,4,1,1] "
      "dst=fp32@0x6000[1,1,1,1][1,1,1,1] channels=128 ",
      { OP(0x42),
        AP4(12, 0x36200, LIST4(1, 2, 1, 1), LIST4(512, 4, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        { 35, 1, 1 },
        { 36, 1, 8 },
        { 37, 1, 2 },
        AP4(44, 0x6000, LIST4(1, 1, 1, 1), LIST4(1, 1, 1, 1)) } },
    { "TENSOR_REDUCE, unknown codes",
      " op=op<77> dim=dim<9> src=dtype<0>@0x0[0,0,0,0][0,0,0,0] "
      "dst=dtype<0>@0x0[0,0,0,0][0,0,0,0] channels=0 ",
      { OP(0x42), { 36, 1, 77 }, { 37, 1, 9 } } },
    { "TENSOR_SCALAR",
      " ops=MULTIPLY,BYPASS imm=0x8040,0 imm_src=PTR,INSTRUCTION src=fp32@0x6020[1,1,1][512,1,1] "
      "dst=fp32@0x8050[1,1,1][512,1,1] channels=128 ",
      { OP(0x43),
        AP3(16, 0x6020, LIST(1, 1, 1), LIST(512, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        { 35, 1, 1 },
        { 36, 1, 6 },
        { 40, 4, 0x8040 },
        AP3(48, 0x8050, LIST(1, 1, 1), LIST(512, 1, 1)) } },
    { "TENSOR_SCALAR, the other one a pointer",
      " ops=ADD,MAX imm=1.5,0x10 imm_src=INSTRUCTION,PTR src=fp32@0x0[0,0,0][1,1,1] "
      "dst=fp32@0x0[0,0,0][1,1,1] channels=1 ",
      { OP(0x43),
        AP3(16, 0, 0, LIST(1, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 1 },
        { 35, 1, 2 },
        { 36, 1, 4 },
        { 37, 1, 8 },
        { 40, 4, 0x3fc00000 },
        { 44, 4, 0x10 },
        AP3(48, 0, 0, LIST(1, 1, 1)) } },
    { "COPY",
      " src=fp32@0x2000800[1,1,1,1][512,1,1,1] dst=fp32@0x4000[1,1,1,1][512,1,1,1] channels=128 ",
      { OP(0x46),
        AP4(12, 0x2000800, LIST4(1, 1, 1, 1), LIST4(512, 1, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        AP4(44, 0x4000, LIST4(1, 1, 1, 1), LIST4(512, 1, 1, 1)) } },
    { "CAST with an update and no wait",
      "S[4] (Scalar)++@complete src=bfloat16@0x2002000[1,1,1,1][4,1,1,1] "
      "dst=fp32@0xa050[1,1,1,1][4,1,1,1] channels=128 ",
      { OP(0x47),
        UPDATE(0x13, 4),
        AP4(12, 0x2002000, LIST4(1, 1, 1, 1), LIST4(4, 1, 1, 1)),
        { 32, 1, BF16 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        AP4(44, 0xa050, LIST4(1, 1, 1, 1), LIST4(4, 1, 1, 1)) } },
    { "RECIPROCAL",
      " src=fp32@0x8030[1,1,1,1][4,1,1,1] dst=fp32@0x8040[1,1,1,1][4,1,1,1] channels=128 ",
      { OP(0x48),
        AP4(12, 0x8030, LIST4(1, 1, 1, 1), LIST4(4, 1, 1, 1)),
        { 32, 1, FP32 },
        { 33, 1, FP32 },
        { 34, 1, 128 },
        AP4(44, 0x8040, LIST4(1, 1, 1, 1), LIST4(4, 1, 1, 1)) } },
    { "EVENT_SEMAPHORE that adds",
      " setter=0  $S[2]+=1@complete ",
      { OP(0xa0), { 34, 1, 0x15 }, { 35, 1, 2 }, { 40, 4, 1 } } },
    { "EVENT_SEMAPHORE that waits twice",
      "$E[4]==1- setter=0 $S[1]>=1 $S[1]--@complete ",
      { OP(0xa0),
        WAIT(7, 4, 0),
        { 32, 1, 5 },
        { 33, 1, 1 },
        { 36, 4, 1 },
        { 34, 1, 0x14 },
        { 35, 1, 1 } } },
    { "EVENT_SEMAPHORE that writes",
      " setter=0 $S[2]==4 $S[2]=0@complete ",
      { OP(0xa0), { 32, 1, 1 }, { 33, 1, 2 }, { 36, 4, 4 }, { 34, 1, 0x19 }, { 35, 1, 2 } } },
    { "EVENT_SEMAPHORE without any", " setter=0   ", { OP(0xa0) } },
    { "DRAIN", " ", { OP(0xa2), { 40, 1, 1 } } },
    { "DRAIN that sets an event", "$E[9]+@complete ", { OP(0xa2), UPDATE(0x11, 9) } },
    { "DRAIN at the read", "$S[9]++@read ", { OP(0xa2), UPDATE(0x03, 9) } },
    { "DRAIN, unknown waits and changes",
      "wait<0x42>[3]7 update<0x77>[2]7 ",
      { OP(0xa2), WAIT(0x42, 3, 7), UPDATE(0x77, 2) } },
    { "NOP", "$E[4]==1- cycle=1 ", { OP(0xa4), WAIT(7, 4, 0), { 12, 4, 1 } } },
    { "WRITE of one",
      " data=0x41 size=4 dst=0x80100252f038 ",
      { OP(0xa5), { 12, 1, 4 }, { 16, 8, 0x80100252f038 }, { 32, 8, 0x41 } } },
    { "WRITE of two",
      " data=0x2,0x3 size=4,8 dst=0x80100252f038,0x80100250f038 ",
      { OP(0xa5),
        { 12, 1, 4 },
        { 13, 1, 8 },
        { 16, 8, 0x80100252f038 },
        { 24, 8, 0x80100250f038 },
        { 32, 8, 2 },
        { 40, 8, 3 } } },
    { "NOTIFY",
      "  hint=2 notification=EXPLICIT  trace=START ",
      { OP(0xa6), { 2, 1, 9 }, { 36, 3, 2 }, { 39, 1, 1 } } },
    { "NOTIFY, unknown codes",
      "  hint=0 notification=kind<0>  trace=trace<7> ",
      { OP(0xa6), { 39, 1, 7 } } },
    { "COMPARE_BRANCH always",
      " cmp_op=ALWAYS label_id=4294964480 debugHint=2",
      { OP(0xa9), { 3, 1, 2 }, { 14, 1, 3 }, { 48, 4, 4294964480 } } },
    { "COMPARE_BRANCH equal",
      " cmp_op=EQ dtype=int32 cmp0=$R[1] cmp1=5 label_id=896 ",
      { OP(0xa9),
        { 12, 1, 3 },
        { 13, 1, I32 },
        { 14, 1, 3 },
        { 16, 4, 1 },
        { 20, 4, 5 },
        { 48, 4, 896 } } },
    { "COMPARE_BRANCH, an unknown comparison",
      " cmp_op=cmp<8> dtype=dtype<0> cmp0=$R[0] cmp1=0 label_id=0 ",
      { OP(0xa9), { 12, 1, 8 } } },
    { "TENSOR_LOAD",
      " addr=uint32@0x8005c035e000[1,0][2,1] data=$R[3],$R[4] ",
      { OP(0xaa),
        { 12, 1, U32 },
        { 14, 1, 2 },
        { 15, 1, 1 },
        { 16, 8, 0x8005c035e000 },
        { 24, 2, 1 },
        { 32, 1, 3 },
        { 33, 1, 4 } } },
    { "TENSOR_STORE", /* as a capture of a trn1.2xlarge has it */
      " addr=uint32@0xffff0fa00c8[0,0][1,1] data=$R[0] ",
      { OP(0xab), { 12, 1, U32 }, { 14, 1, 1 }, { 15, 1, 1 }, { 16, 8, 0xffff0fa00c8 } } },
    { "EVENT_SEMAPHORE_RANGE_CLEAR",
      " mode=SEMAPHORE_ZERO first=207 last=255 ",
      { OP(0xb0), { 12, 1, 1 }, { 13, 1, 207 }, { 14, 1, 255 } } },
    { "SET_ORDERING_MODE relaxed", " ordering_mode=relaxed ", { OP(0xb1) } },
    { "SET_ORDERING_MODE strict", " ordering_mode=strict ", { OP(0xb1), { 12, 1, 1 } } },
    { "DMA_DIRECT2D",
      " semaphore=24 sem_increment=16  src_elem_size=512 dst_elem_size=512 "
      "src_pattern=[512,1][128,1] dst_pattern=[262144,1][128,1] src_addr_imm=0x8005c03b0000 "
      "src_shape_reg=0 dst_addr_imm=0x802000033000 dst_shape_reg=0 compute_op=NONE ",
      { OP(0xb8),
        { 13, 1, 24 },
        { 14, 1, 16 },
        { 16, 8, 0x8005c03b0000 },
        { 24, 4, 512 },
        { 28, 4, 1 },
        { 32, 2, 128 },
        { 34, 2, 1 },
        { 36, 2, 512 },
        { 40, 8, 0x802000033000 },
        { 48, 4, 262144 },
        { 52, 4, 1 },
        { 56, 2, 128 },
        { 58, 2, 1 },
        { 60, 2, 512 },
        { 62, 1, BF16 },
        { 63, 1, BF16 } } },
    { "DMA_DIRECT2D that casts, from a table",
      " semaphore=8 sem_increment=16  src_elem_size=2048 dst_elem_size=1024 "
      "src_pattern=[1,1][1,1] dst_pattern=[1,1][1,1] src_table_offset_imm=0x40 "
      "src_table_index=2 src_shape_reg=0 dst_addr_imm=0x802000000000 dst_shape_reg=0 "
      "in_dtype=fp32 out_dtype=bfloat16 compute_op=NONE ",
      { OP(0xb8),
        { 13, 1, 8 },
        { 14, 1, 16 },
        { 16, 8, 0x2000000200000040 },
        { 24, 4, 1 },
        { 28, 4, 1 },
        { 32, 4, 0x10001 },
        { 36, 2, 2048 },
        { 40, 8, 0x802000000000 },
        { 48, 4, 1 },
        { 52, 4, 1 },
        { 56, 4, 0x10001 },
        { 60, 2, 1024 },
        { 62, 1, FP32 },
        { 63, 1, BF16 } } },
    { "PSEUDO_DMA_DIRECT2D",
      " dge_op=DIRECT2D semaphore=24 sem_increment=16  src_elem_size=512 dst_elem_size=512 "
      "src_pattern=[0,0][0,0] dst_pattern=[0,0][0,0] src_var_id=5 src_var_offset=0 "
      "src_shape_reg=0 dst_var_id=0 dst_var_offset=208896 dst_shape_reg=0   ",
      { OP(0xd4),
        { 13, 1, 24 },
        { 14, 1, 16 },
        { 16, 8, 0x1000000500000000 },
        { 36, 2, 512 },
        { 40, 8, 0x1000000000033000 },
        { 60, 2, 512 } } },
    { "PSEUDO_DMA_DIRECT2D that casts, to a table",
      " dge_op=DIRECT2D semaphore=24 sem_increment=16  src_elem_size=512 dst_elem_size=256 "
      "src_pattern=[0,0][0,0] dst_pattern=[0,0][0,0] src_var_id=5 src_var_offset=0 "
      "src_shape_reg=0 dst_table_offset_imm=64 dst_table_index=1 dst_shape_reg=0 in_dtype=fp32 "
      "out_dtype=bfloat16   ",
      { OP(0xd4),
        { 13, 1, 24 },
        { 14, 1, 16 },
        { 16, 8, 0x1000000500000000 },
        { 36, 2, 512 },
        { 40, 8, 0x2000000100000040 },
        { 60, 2, 256 },
        { 62, 1, FP32 },
        { 63, 1, BF16 } } },
    { "PSEUDO_DMA_TRIGGER",
      " queue=qSyIO0 group=7 ",
      { OP(0xc1), { 12, 6, 0x304f49795371 }, { 48, 4, 7 } } },
    { "an unknown opcode",
      "$S[9]>=1 bytes=0102000000ff ",
      { OP(0x95), WAIT(5, 9, 1), { 12, 2, 0x0201 }, { 17, 1, 0xff } } },
    { "nothing but an unknown opcode", " ", { OP(0x95) } },
};

void make_slot(const struct row *row, uint8_t slot[NTK_VENDOR_SLOT_BYTES])
{
    memset(slot, 0, NTK_VENDOR_SLOT_BYTES);
    slot[1] = 0x10;
    for (const struct field *f = row->fields; f->bytes; f++) {
        for (unsigned i = 0; i < f->bytes; i++) {
            slot[f->offset + i] = (uint8_t)(f->value >> (8 * i));
        }
    }
}

const struct row *row_at(size_t index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}
