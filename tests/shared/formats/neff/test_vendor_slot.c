/* SPDX-License-Identifier: MIT */
/*
 * Slots of hardware as text and as work. Method: slots put together field by field, beside the text
 * that the original tool shows for such fields (docs/formats/vendor-slots.md).
 */
#include "shared/formats/neff/vendor_slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/vendor_names.h"
#include "tests/support/unit.h"

struct field {
    unsigned offset, bytes;
    uint64_t value;
};

struct row {
    const char *name;
    const char *text;
    struct field fields[24]; /* the first with 0 bytes ends them; byte 1 is set for all */
};

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
/* Steps and counts as one little-endian number, the first the lowest. */
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

enum { BF16 = 6, FP16, I32, U32, FP32 };

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
    { "LDWEIGHTS, codes that nobody knows",
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
    { "TENSOR_REDUCE, codes that nobody knows",
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
    { "DRAIN, waits and changes that nobody knows",
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
    { "NOTIFY, codes that nobody knows",
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
    { "COMPARE_BRANCH, a comparison that nobody knows",
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
    { "an opcode that nobody knows",
      "$S[9]>=1 bytes=0102000000ff ",
      { OP(0x95), WAIT(5, 9, 1), { 12, 2, 0x0201 }, { 17, 1, 0xff } } },
    { "nothing but an opcode that nobody knows", " ", { OP(0x95) } },
};

static void make_slot(const struct row *row, uint8_t slot[NTK_VENDOR_SLOT_BYTES])
{
    memset(slot, 0, NTK_VENDOR_SLOT_BYTES);
    slot[1] = 0x10;
    for (const struct field *f = row->fields; f->bytes; f++) {
        for (unsigned i = 0; i < f->bytes; i++) {
            slot[f->offset + i] = (uint8_t)(f->value >> (8 * i));
        }
    }
}

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void show(const char *name, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "q%s", name);
}

/* Names as a NEFF gives them: a queue, a set of functions. */
static void take_names(struct ntk_vendor_names *names)
{
    static const char set[] =
        "{\"profile_meta_data\": [{\"func_id\": 7, \"func_name\": \"exp_400p\"},"
        " {\"func_id\": 8, \"func_name\": \"_2p\"}, {\"func_id\": 9, \"func_name\":"
        " \"map\"}, {\"func_id\": 10, \"func_name\": \"leaky_relu_p\"},"
        " {\"func_id\": 256, \"func_name\": \"x\"}, {\"func_id\": -1,"
        " \"func_name\": \"x\"}, {\"func_id\": \"7\"}, 5]}";
    struct ntk_neff_queue_set queue = { .name = "GpSimdDynamic",
                                        .semaphore_count = 1,
                                        .semaphores = { 8 } };
    struct ntk_neff_subgraph subgraph = {
        .name = "sg00", .folder = "sg00", .queue_set_count = 1, .queue_sets = &queue
    };

    assert_int_equal(ntk_vendor_names_init(names, NULL, &subgraph, show), 0);
    assert_int_equal(ntk_vendor_names_add_set(names, "{", 1), 0); /* names nothing */
    assert_int_equal(ntk_vendor_names_add_set(names, set, sizeof set - 1), 0);
}

static void every_layout_has_its_text(void **state)
{
    struct ntk_vendor_names names;

    take_names(&names);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t slot[NTK_VENDOR_SLOT_BYTES];
        struct ntk_buf text = { 0 };

        make_slot(&rows[i], slot);
        ntk_vendor_slot_print(slot, &names, &text);
        if (strcmp(ntk_buf_text_get(&text), rows[i].text) != 0) {
            fail_msg("%s:\n%s\nnot\n%s", rows[i].name, ntk_buf_text_get(&text), rows[i].text);
        }
        ntk_buf_fini(&text);
    }
    ntk_vendor_names_fini(&names);
}

static void any_bytes_have_a_text(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    for (unsigned opcode = 0; opcode < 256; opcode++) {
        struct ntk_buf text = { 0 };
        memset(slot, 0xff, sizeof slot);
        slot[0] = (uint8_t)opcode;
        ntk_vendor_slot_print(slot, NULL, &text);
        ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
        assert_true(ntk_buf_ok(&text));
        assert_true(text.bytes_count > 0 && text.bytes_count < 1024);
        ntk_buf_fini(&text);
    }
}

static void names_come_from_the_files_queues_and_sets(void **state)
{
    struct ntk_vendor_names names;

    take_names(&names);
    assert_string_equal(names.semaphores[8], "qGpSimdDynamic");
    assert_string_equal(names.semaphores[3], "GpSimd");
    assert_string_equal(names.semaphores[6], "Vector");
    assert_null(names.semaphores[7]);
    assert_string_equal(names.functions[7], "EXP");
    assert_string_equal(names.functions[8], "_2P"); /* nothing would be left */
    assert_string_equal(names.functions[9], "MAP");
    assert_string_equal(names.functions[10], "LEAKY_RELU_P");
    assert_null(names.functions[0]);
    ntk_vendor_names_fini(&names);
    ntk_vendor_names_fini(&names); /* a zeroed struct */

    assert_int_equal(ntk_vendor_names_init(&names, NULL, NULL, show), 0);
    assert_string_equal(names.semaphores[5], "Tensor");
    assert_null(names.semaphores[8]);
    ntk_vendor_names_fini(&names);
}

static void only_an_activate_has_a_function(void **state)
{
    struct ntk_vendor_names names;
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_buf text = { 0 };

    take_names(&names);
    make_slot(row_of("COPY"), slot);
    ntk_vendor_slot_print_function(slot, &names, &text);
    assert_int_equal(text.bytes_count, 0);
    make_slot(row_of("ACTIVATE"), slot);
    ntk_vendor_slot_print_function(slot, &names, &text);
    assert_string_equal(ntk_buf_text_get(&text), "EXP");
    ntk_buf_fini(&text);
    ntk_vendor_names_fini(&names);
}

static struct ntk_vendor_work work_by(const char *name, enum ntk_metrics_version version)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of(name), slot);
    ntk_vendor_slot_work(slot, version, &work);
    return work;
}

static struct ntk_vendor_work work_of(const char *name)
{
    return work_by(name, NTK_METRICS_2_28);
}

static void an_instruction_moves_the_bytes_of_its_tiles(void **state)
{
    struct ntk_vendor_work work = work_of("LDWEIGHTS, columns reversed");

    assert_true(work.is_known);
    assert_int_equal(work.sbuf_read_bytes, 2 * 128);
    assert_int_equal(work.sbuf_write_bytes + work.psum_write_bytes + work.psum_read_bytes, 0);

    work = work_of("MATMUL");
    assert_int_equal(work.sbuf_read_bytes, 2 * 512);
    assert_int_equal(work.psum_write_bytes, 2 * 512); /* as many as its source's type has */

    work = work_of("ACTIVATE"); /* without the bias */
    assert_int_equal(work.sbuf_read_bytes, 2 * 512);
    assert_int_equal(work.sbuf_write_bytes, 4 * 512);
    assert_false(work.is_psum_to_sbuf);

    work = work_of("TENSOR_REDUCE, negated");
    assert_int_equal(work.sbuf_read_bytes, 4 * 512 * 4);
    assert_int_equal(work.sbuf_write_bytes, 4);

    work = work_of("CAST with an update and no wait");
    assert_int_equal(work.psum_read_bytes, 2 * 4);
    assert_int_equal(work.sbuf_write_bytes, 4 * 4);
    assert_true(work.is_psum_to_sbuf);
    assert_int_equal(work.psum_to_sbuf_bytes, 4 * 4);
}

static void a_transfer_that_casts_writes_what_its_destination_says(void **state)
{
    struct ntk_vendor_work work = work_of("DMA_DIRECT2D that casts, from a table");

    assert_true(work.is_known);
    assert_int_equal(work.hbm_read_bytes, 2048);
    assert_int_equal(work.sbuf_write_bytes, 1024);
    assert_int_equal(work.hbm_write_bytes + work.sbuf_read_bytes, 0);

    work = work_of("DMA_DIRECT2D");
    assert_int_equal(work.hbm_read_bytes, 65536);
    assert_int_equal(work.sbuf_write_bytes, 65536);
}

static void what_nobody_knows_has_no_bytes(void **state)
{
    assert_false(work_of("an opcode that nobody knows").is_known);
    assert_false(work_of("LDWEIGHTS, codes that nobody knows").is_known); /* nor the type */
    assert_true(work_of("DRAIN").is_known);
    assert_true(work_of("NOTIFY").is_known);
    assert_int_equal(work_of("DRAIN").sbuf_read_bytes, 0);
}

/* The sums of the original come out without it, whatever it moves. */
static void what_the_original_does_not_count_is_known_to_be_none(void **state)
{
    struct ntk_vendor_work work = work_of("TENSOR_TENSOR");

    assert_true(work.is_known);
    assert_int_equal(work.sbuf_read_bytes + work.sbuf_write_bytes, 0);
    assert_int_equal(work.psum_read_bytes + work.psum_write_bytes, 0);
    assert_true(work_of("TENSOR_STORE").is_known);
}

/* By 2.32: all partitions, four bytes of each sum, and TENSOR_TENSOR like all others. */
static void bytes_of_all_partitions_count(void **state)
{
    struct ntk_vendor_work work = work_by("LDWEIGHTS, columns reversed", NTK_METRICS_2_32);

    assert_int_equal(work.sbuf_read_bytes, 2 * 128 * 128);
    work = work_by("MATMUL", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, 2 * 512 * 128);
    assert_int_equal(work.psum_write_bytes, 4 * 512 * 128);
    work = work_by("ACTIVATE", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, 2 * 512 * 128);
    assert_int_equal(work.sbuf_write_bytes, 4 * 512 * 128);
    work = work_by("TENSOR_TENSOR", NTK_METRICS_2_32);
    assert_int_equal(work.sbuf_read_bytes, (4 + 2) * 8 * 128);
    assert_int_equal(work.sbuf_write_bytes, 2 * 8 * 128);
    assert_false(work.is_psum_to_sbuf);
    work = work_by("DMA_DIRECT2D", NTK_METRICS_2_32); /* the same in all versions */
    assert_int_equal(work.hbm_read_bytes, 65536);
}

/* Either source of a TENSOR_TENSOR may be in the accumulation buffer. */
static void a_second_source_is_a_source(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of("TENSOR_TENSOR"), slot);
    slot[35] = 0x02;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_int_equal(work.sbuf_read_bytes, 4 * 8 * 128);
    assert_int_equal(work.psum_read_bytes, 2 * 8 * 128);
    assert_true(work.is_psum_to_sbuf);
    assert_int_equal(work.psum_to_sbuf_bytes, 2 * 8 * 128);
}

static void a_byte_type_has_one_byte(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_work work;

    make_slot(row_of("ACTIVATE"), slot);
    slot[33] = 3;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_true(work.is_known);
    assert_int_equal(work.sbuf_write_bytes, 512 * 128);
}

static void operations_are_of_the_tile_and_weighted_by_type(void **state)
{
    static const struct {
        uint8_t dtype, mode;
        uint64_t flops; /* per element, times 2 */
        bool has_adjusted;
        uint64_t adjusted;
    } cases[] = {
        { BF16, 0, 4, true, 4 }, { FP16, 0, 4, true, 4 },  { FP32, 0, 4, true, 16 },
        { FP32, 1, 4, true, 4 }, { FP32, 2, 4, true, 4 },  { FP32, 3, 2, true, 8 },
        { 14, 0, 4, false, 0 },  { FP32, 9, 4, false, 0 },
    };
    const uint64_t half = UINT64_C(64) * 32 * 512 / 2;
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_flops flops;

    make_slot(row_of("MATMUL"), slot);
    slot[38] = 64;
    slot[39] = 32;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slot[32] = cases[i].dtype;
        slot[33] = cases[i].mode;
        assert_true(ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &flops));
        assert_int_equal(flops.elements, 2 * half);
        assert_int_equal(flops.flops, cases[i].flops * half);
        assert_int_equal(flops.has_adjusted, cases[i].has_adjusted);
        assert_int_equal(flops.adjusted_flops, cases[i].adjusted * half);
        assert_true(ntk_vendor_slot_flops(slot, NTK_METRICS_2_28, &flops));
        assert_int_equal(flops.flops, 2 * 128 * 128 * 512);
    }
    make_slot(row_of("COPY"), slot);
    assert_false(ntk_vendor_slot_flops(slot, NTK_METRICS_2_32, &flops));
}

/* Only an address of the accumulation buffer makes an unknown opcode touch it: a float does not. */
static void an_unknown_opcode_may_use_what_it_names(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0x95, 0x10 };
    struct ntk_vendor_work work;

    slot[46] = 0x80;
    slot[47] = 0x3f; /* 1.0 @44 */
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_false(work.is_known);
    assert_false(work.may_use_psum);
    slot[18] = 0x00;
    slot[19] = 0x02; /* 0x2000000 @16 */
    ntk_vendor_slot_work(slot, NTK_METRICS_2_32, &work);
    assert_true(work.may_use_psum);
}

static void more_elements_than_anybody_has_are_not_known(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0x46, 0x10 };
    struct ntk_vendor_work work;

    memset(slot + 24, 0xff, 8); /* the source's counts */
    slot[32] = slot[33] = FP32;
    ntk_vendor_slot_work(slot, NTK_METRICS_2_28, &work);

    assert_false(work.is_known);
    assert_int_equal(work.sbuf_read_bytes, 0);
}

static void ranges_go_from_the_lowest_byte_to_the_highest(void **state)
{
    static const struct {
        const char *name;
        int count;
        struct ntk_vendor_range ranges[2];
    } expected[] = {
        { "LDWEIGHTS, columns reversed", 1, { { false, false, 0x37afe - 2 * 128, 0x37afe } } },
        { "MATMUL",
          2,
          { { false, false, 0x37600, 0x37600 + 2 * 512 },
            { true, true, 0x800, 0x800 + 4 * 512 } } },
        { "ACTIVATE", /* without the bias */
          2,
          { { false, false, 0x36200, 0x36200 + 2 * 512 },
            { false, true, 0x6020, 0x6020 + 4 * 512 } } },
        { "DRAIN", 0, { { false, false, 0, 0 } } },
        { "TENSOR_TENSOR", -EINVAL, { { false, false, 0, 0 } } },
        { "an opcode that nobody knows", -EINVAL, { { false, false, 0, 0 } } },
        { "LDWEIGHTS, codes that nobody knows", -EINVAL, { { false, false, 0, 0 } } },
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint8_t slot[NTK_VENDOR_SLOT_BYTES];
        struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
        make_slot(row_of(expected[i].name), slot);
        assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges), expected[i].count);
        for (int r = 0; r < expected[i].count; r++) {
            assert_int_equal(ranges[r].is_psum, expected[i].ranges[r].is_psum);
            assert_int_equal(ranges[r].is_write, expected[i].ranges[r].is_write);
            assert_int_equal(ranges[r].low, expected[i].ranges[r].low);
            assert_int_equal(ranges[r].high, expected[i].ranges[r].high);
        }
    }
}

/* Weights are read from the address backwards, the element at it too; a bias is read; a MATMUL that
 * begins no sum goes on with one. */
static void what_is_differs_from_what_the_original_tells(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES];
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];

    make_slot(row_of("LDWEIGHTS, columns reversed"), slot);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 1);
    assert_int_equal(ranges[0].low, 0x37afe - 2 * 31 - 2 * 32 * 3);
    assert_int_equal(ranges[0].high, 0x37afe + 2);
    make_slot(row_of("ACTIVATE"), slot);
    assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 3);
    assert_false(ranges[1].is_write); /* the bias */
    assert_int_equal(ranges[1].low, 0x6010);
    assert_int_equal(ranges[1].high, 0x6010 + 4);
    assert_true(ranges[2].is_write);
    for (unsigned flags = 0; flags < 4; flags++) {
        make_slot(row_of("MATMUL"), slot);
        slot[43] = (uint8_t)flags;
        assert_int_equal(ntk_vendor_slot_ranges(slot, false, ranges), 2);
        assert_int_equal(ranges[1].adds, (flags & 1) == 0);
        assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges), 2);
        assert_false(ranges[1].adds);
    }
}

/* Four rows of 512 bytes behind each other in each of 128 partitions. */
static void a_transfer_touches_the_same_bytes_of_each_partition(void **state)
{
    uint8_t slot[NTK_VENDOR_SLOT_BYTES] = { 0xb8, 0x10 };
    struct ntk_vendor_range ranges[NTK_VENDOR_RANGES_MAX];
    static const struct field fields[] = {
        { 16, 8, 0x802000008850 },
        { 24, 4, 512 },
        { 28, 4, 262144 },
        { 32, 2, 4 },
        { 34, 2, 128 },
        { 36, 2, 512 },
        { 40, 8, 0x8005c0000 },
        { 56, 2, 1 },
        { 58, 2, 1 },
        { 60, 2, 4 },
    };

    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        for (unsigned b = 0; b < fields[f].bytes; b++) {
            slot[fields[f].offset + b] = (uint8_t)(fields[f].value >> (8 * b));
        }
    }
    assert_int_equal(ntk_vendor_slot_ranges(slot, true, ranges),
                     1); /* device memory is no part of it */
    assert_false(ranges[0].is_write);
    assert_false(ranges[0].is_psum);
    assert_int_equal(ranges[0].low, 0x8850);
    assert_int_equal(ranges[0].high, 0x8850 + 2048);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_has_its_text),
        cmocka_unit_test(any_bytes_have_a_text),
        cmocka_unit_test(names_come_from_the_files_queues_and_sets),
        cmocka_unit_test(only_an_activate_has_a_function),
        cmocka_unit_test(an_instruction_moves_the_bytes_of_its_tiles),
        cmocka_unit_test(a_transfer_that_casts_writes_what_its_destination_says),
        cmocka_unit_test(what_nobody_knows_has_no_bytes),
        cmocka_unit_test(what_the_original_does_not_count_is_known_to_be_none),
        cmocka_unit_test(bytes_of_all_partitions_count),
        cmocka_unit_test(a_second_source_is_a_source),
        cmocka_unit_test(a_byte_type_has_one_byte),
        cmocka_unit_test(operations_are_of_the_tile_and_weighted_by_type),
        cmocka_unit_test(an_unknown_opcode_may_use_what_it_names),
        cmocka_unit_test(more_elements_than_anybody_has_are_not_known),
        cmocka_unit_test(ranges_go_from_the_lowest_byte_to_the_highest),
        cmocka_unit_test(what_is_differs_from_what_the_original_tells),
        cmocka_unit_test(a_transfer_touches_the_same_bytes_of_each_partition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
