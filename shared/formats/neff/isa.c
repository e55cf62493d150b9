/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/isa.h"

#include <errno.h>
#include <string.h>

#include "shared/formats/neff/isa_private.h"

/*
 *   head slot                                  operand slot
 *   offset size field                          offset size field
 *        0    1 opcode                              0    1 0x00
 *        1    1 0x10                                1    1 role + 1
 *        2    1 slots - 1                           2    1 space
 *        3    1 flags                               3    1 dtype
 *        4    2 wait semaphore                      4    4 var_id
 *        6    2 wait value                          8    8 offset
 *        8    2 signal semaphore                   16    2 partition start
 *       10    2 signal value                       18    2 partition count
 *       12    4 name id                            20    2 partition step
 *       16    2 operation (dma_copy: see below)    22    1 dims
 *       18    1 op0                                23    1 zero
 *       19    1 op1                                24   16 steps, i32 each
 *       20    1 reduce op                          40   16 counts, u32 each
 *       21    1 reduce cmd                         56    8 zero
 *       22    1 activation function
 *       23    1 axis count
 *       24    1 operation flags
 *       25    1 operand mask
 *       26    6 PE: columns moved, 1, 1
 *       32    1 1 + register written (dma_copy: see below)
 *       33    1 1 + register a
 *       34    1 nc_transpose: 1
 *       35    1 1 + register b
 *       36    4 group id; compare_branch, call: target slot
 *       40   16 imm
 *       56    2 queue
 *       58    2 done semaphore
 *       60    2 done value
 *       62    2 zero
 */
enum { HEAD_MARK = 0x10, OPCODE_DMA_COPY = 0xb8 };

/* ---- small constructors ---- */

struct ntk_isa_instr ntk_isa_instr_make(enum ntk_isa_op op)
{
    struct ntk_isa_instr instr = { .op = op,
                                   .wait_semaphore = NTK_ISA_NO_SEMAPHORE,
                                   .signal_semaphore = NTK_ISA_NO_SEMAPHORE,
                                   .done_semaphore = NTK_ISA_NO_SEMAPHORE };

    for (int i = 0; i < NTK_ISA_OPERAND_COUNT; i++) {
        instr.operand[i].var_id = NTK_ISA_NO_VAR;
    }
    return instr;
}

static struct ntk_isa_operand tile(enum ntk_isa_space space, uint64_t offset,
                                   unsigned partition_count, uint32_t elements,
                                   enum ntk_dtype dtype)
{
    return (struct ntk_isa_operand){ .space = space,
                                     .dtype = dtype,
                                     .var_id = NTK_ISA_NO_VAR,
                                     .offset = offset,
                                     .partition_count = (uint16_t)partition_count,
                                     .partition_step = 1,
                                     .dim_count = 1,
                                     .dim = { { 1, elements } } };
}

struct ntk_isa_operand ntk_isa_sbuf(uint64_t offset, unsigned partition_count, uint32_t elements,
                                    enum ntk_dtype dtype)
{
    return tile(NTK_ISA_SPACE_SBUF, offset, partition_count, elements, dtype);
}

struct ntk_isa_operand ntk_isa_psum(uint64_t offset, unsigned partition_count, uint32_t elements,
                                    enum ntk_dtype dtype)
{
    return tile(NTK_ISA_SPACE_PSUM, offset, partition_count, elements, dtype);
}

struct ntk_isa_operand ntk_isa_var(uint32_t var_id, uint64_t offset, uint32_t rows,
                                   int32_t row_step, uint32_t columns, enum ntk_dtype dtype)
{
    return (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_VAR,
                                     .dtype = dtype,
                                     .var_id = var_id,
                                     .offset = offset,
                                     .dim_count = 2,
                                     .dim = { { 1, columns }, { row_step, rows } } };
}

uint32_t ntk_isa_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float ntk_isa_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t ntk_isa_imm_u64(const struct ntk_isa_instr *instr)
{
    return (uint64_t)instr->imm[1] << 32 | instr->imm[0];
}

/* ---- extents ---- */

uint64_t ntk_isa_operand_partition_elements(const struct ntk_isa_operand *operand)
{
    uint64_t elements = 1;

    for (int i = 0; i < operand->dim_count; i++) {
        elements *= operand->dim[i].count;
    }
    return elements;
}

uint64_t ntk_isa_operand_elements(const struct ntk_isa_operand *operand)
{
    uint64_t elements = ntk_isa_operand_partition_elements(operand);

    return operand->partition_count == 0 ? elements : elements * operand->partition_count;
}

void ntk_isa_operand_extent(const struct ntk_isa_operand *operand, int64_t *out_low,
                            int64_t *out_high)
{
    int64_t size = (int64_t)ntk_dtype_bytes(operand->dtype);
    int64_t low = (int64_t)operand->offset;
    int64_t high = (int64_t)operand->offset + size;

    for (int i = 0; i < operand->dim_count; i++) {
        int64_t reach = (int64_t)operand->dim[i].step * ((int64_t)operand->dim[i].count - 1) * size;

        if (reach < 0) {
            low += reach;
        } else {
            high += reach;
        }
    }
    *out_low = low;
    *out_high = high;
}

bool ntk_isa_is_dma(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_DMA_TRIGGER || op == NTK_ISA_OP_DMA_COPY ||
           op == NTK_ISA_OP_DMA_INDIRECT_COPY || op == NTK_ISA_OP_DMA_TRANSPOSE ||
           op == NTK_ISA_OP_DMA_COMPUTE || op == NTK_ISA_OP_SENDRECV;
}

/* ---- bytes ---- */

static void put16(uint8_t *bytes, unsigned value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *bytes, uint32_t value)
{
    put16(bytes, value & 0xffff);
    put16(bytes + 2, value >> 16);
}

static void put64(uint8_t *bytes, uint64_t value)
{
    put32(bytes, (uint32_t)value);
    put32(bytes + 4, (uint32_t)(value >> 32));
}

static uint16_t get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)get16(bytes) | (uint32_t)get16(bytes + 2) << 16;
}

static uint64_t get64(const uint8_t *bytes)
{
    return (uint64_t)get32(bytes) | (uint64_t)get32(bytes + 4) << 32;
}

/* The address that a profiler finds in the head of dma_copy: state-buffer addresses have bit 37
 * set, PSUM addresses also bit 36; entries of the variable table have 0x20 in the top byte. */
static uint64_t profile_address(const struct ntk_isa_operand *operand)
{
    if (operand->space == NTK_ISA_SPACE_VAR) {
        return UINT64_C(0x20) << 56 | operand->var_id;
    }
    return UINT64_C(1) << 37 | (uint64_t)(operand->space == NTK_ISA_SPACE_PSUM) << 36 |
           (uint64_t)operand->partition_start * NTK_ISA_SBUF_PARTITION_BYTES_MAX | operand->offset;
}

/* Writes the number of bytes moved as a product of three u16, or zeros if it does not fit. */
static void put_profile_shape(uint8_t *head, const struct ntk_isa_operand *dst)
{
    uint64_t inner = dst->dim[0].count;
    uint64_t outer = ntk_isa_operand_elements(dst) / inner;

    if (inner <= UINT16_MAX && outer <= UINT16_MAX) {
        put16(head + 32, (unsigned)inner);
        put16(head + 34, (unsigned)outer);
        put16(head + 36, (unsigned)ntk_dtype_bytes(dst->dtype));
    }
}

static void encode_operand(uint8_t *slot, int role, const struct ntk_isa_operand *operand)
{
    slot[1] = (uint8_t)(role + 1);
    slot[2] = (uint8_t)operand->space;
    slot[3] = (uint8_t)operand->dtype;
    put32(slot + 4, operand->var_id);
    put64(slot + 8, operand->offset);
    put16(slot + 16, operand->partition_start);
    put16(slot + 18, operand->partition_count);
    put16(slot + 20, operand->partition_step);
    slot[22] = operand->dim_count;
    for (int i = 0; i < NTK_ISA_DIMS_MAX; i++) {
        put32(slot + 24 + 4 * i, (uint32_t)operand->dim[i].step);
        put32(slot + 40 + 4 * i, operand->dim[i].count);
    }
}

int ntk_isa_encode(const struct ntk_isa_instr *instr, enum ntk_isa_engine engine, uint8_t *bytes,
                   size_t *out_slots, struct ntk_err *err)
{
    const struct ntk_isa_op_info *info;
    size_t slots = 1;
    unsigned mask = 0;
    int ret = ntk_isa_check(instr, engine, err);

    if (ret < 0) {
        return ret;
    }
    info = ntk_isa_op_info_get((unsigned)instr->op);
    memset(bytes, 0, NTK_ISA_SLOT_BYTES);
    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        if (instr->operand[role].space != NTK_ISA_SPACE_NONE) {
            memset(bytes + slots * NTK_ISA_SLOT_BYTES, 0, NTK_ISA_SLOT_BYTES);
            encode_operand(bytes + slots * NTK_ISA_SLOT_BYTES, role, &instr->operand[role]);
            mask |= 1U << role;
            slots++;
        }
    }

    bytes[0] = info->opcode;
    bytes[1] = HEAD_MARK;
    bytes[2] = (uint8_t)(slots - 1);
    bytes[3] = instr->flags;
    put16(bytes + 4, instr->wait_semaphore);
    put16(bytes + 6, instr->wait_value);
    put16(bytes + 8, instr->signal_semaphore);
    put16(bytes + 10, instr->signal_value);
    put32(bytes + 12, instr->name_id);
    bytes[24] = instr->op_flags;
    bytes[25] = (uint8_t)mask;
    put16(bytes + 56, instr->queue);
    put16(bytes + 58, instr->done_semaphore);
    put16(bytes + 60, instr->done_value);
    if (instr->op == NTK_ISA_OP_DMA_COPY) {
        put64(bytes + 16, profile_address(&instr->operand[NTK_ISA_SRC0]));
        put64(bytes + 40, profile_address(&instr->operand[NTK_ISA_DST]));
        put_profile_shape(bytes, &instr->operand[NTK_ISA_DST]);
        *out_slots = slots;
        return 0;
    }

    put16(bytes + 16, info->number);
    bytes[18] = (uint8_t)instr->op0;
    bytes[19] = (uint8_t)instr->op1;
    bytes[20] = (uint8_t)instr->reduce_op;
    bytes[21] = (uint8_t)instr->reduce_cmd;
    bytes[22] = (uint8_t)instr->act;
    bytes[23] = instr->axis_count;
    if (instr->op == NTK_ISA_OP_NC_MATMUL || instr->op == NTK_ISA_OP_NC_TRANSPOSE) {
        put16(bytes + 26,
              (unsigned)ntk_isa_operand_partition_elements(&instr->operand[NTK_ISA_DST]));
        put16(bytes + 28, 1);
        put16(bytes + 30, 1);
        bytes[34] = instr->op == NTK_ISA_OP_NC_TRANSPOSE;
    }
    bytes[32] = instr->reg_to;
    bytes[33] = instr->reg_a;
    bytes[35] = instr->reg_b;
    put32(bytes + 36, ntk_isa_jumps(instr->op) ? instr->target : instr->group_id);
    for (int i = 0; i < 4; i++) {
        put32(bytes + 40 + 4 * i, instr->imm[i]);
    }
    *out_slots = slots;
    return 0;
}

static struct ntk_isa_operand decode_operand(const uint8_t *slot)
{
    struct ntk_isa_operand operand = { .space = (enum ntk_isa_space)slot[2],
                                       .dtype = (enum ntk_dtype)slot[3],
                                       .var_id = get32(slot + 4),
                                       .offset = get64(slot + 8),
                                       .partition_start = get16(slot + 16),
                                       .partition_count = get16(slot + 18),
                                       .partition_step = get16(slot + 20),
                                       .dim_count = slot[22] };

    for (int i = 0; i < NTK_ISA_DIMS_MAX; i++) {
        operand.dim[i].step = (int32_t)get32(slot + 24 + 4 * i);
        operand.dim[i].count = get32(slot + 40 + 4 * i);
    }
    return operand;
}

int ntk_isa_decode(const uint8_t *bytes, size_t bytes_count, enum ntk_isa_engine engine,
                   struct ntk_isa_instr *out_instr, size_t *out_slots, struct ntk_err *err)
{
    struct ntk_isa_instr instr;
    uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
    const struct ntk_isa_op_info *info;
    unsigned number;
    size_t slots;
    size_t slots_again;
    size_t next = 1;
    int ret;

    if (bytes_count < NTK_ISA_SLOT_BYTES) {
        return BAD("the program ends inside a slot");
    }
    if (bytes[1] != HEAD_MARK) {
        return BAD("not the start of an instruction: bytes 0x%02x 0x%02x", bytes[0], bytes[1]);
    }
    number = bytes[0] == OPCODE_DMA_COPY ? NTK_ISA_OP_DMA_COPY : get16(bytes + 16);
    info = ntk_isa_op_info_get(number);
    if (!info || info->opcode != bytes[0]) {
        return BAD("unknown opcode 0x%02x with operation %u", bytes[0], number);
    }
    slots = (size_t)bytes[2] + 1;
    if (slots > NTK_ISA_SLOTS_MAX || slots * NTK_ISA_SLOT_BYTES > bytes_count) {
        return BAD("%s: invalid number of slots %zu with %zu bytes left", info->name, slots,
                   bytes_count);
    }

    instr = ntk_isa_instr_make((enum ntk_isa_op)number);
    instr.flags = bytes[3];
    instr.wait_semaphore = get16(bytes + 4);
    instr.wait_value = get16(bytes + 6);
    instr.signal_semaphore = get16(bytes + 8);
    instr.signal_value = get16(bytes + 10);
    instr.name_id = get32(bytes + 12);
    instr.op_flags = bytes[24];
    instr.queue = get16(bytes + 56);
    instr.done_semaphore = get16(bytes + 58);
    instr.done_value = get16(bytes + 60);
    if (number != NTK_ISA_OP_DMA_COPY) {
        instr.op0 = (enum ntk_isa_alu)bytes[18];
        instr.op1 = (enum ntk_isa_alu)bytes[19];
        instr.reduce_op = (enum ntk_isa_alu)bytes[20];
        instr.reduce_cmd = (enum ntk_isa_reduce_cmd)bytes[21];
        instr.act = (enum ntk_isa_act)bytes[22];
        instr.axis_count = bytes[23];
        instr.reg_to = bytes[32];
        instr.reg_a = bytes[33];
        instr.reg_b = bytes[35];
        *(ntk_isa_jumps(instr.op) ? &instr.target : &instr.group_id) = get32(bytes + 36);
        for (int i = 0; i < 4; i++) {
            instr.imm[i] = get32(bytes + 40 + 4 * i);
        }
    }
    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        if (bytes[25] >> role & 1) {
            if (next >= slots) {
                return BAD("%s: fewer operand slots than operands", info->name);
            }
            instr.operand[role] = decode_operand(bytes + next * NTK_ISA_SLOT_BYTES);
            if (instr.operand[role].space == NTK_ISA_SPACE_NONE) {
                return BAD("%s: an operand slot has no memory space", info->name);
            }
            next++;
        }
    }

    /* Encoding again must give the same bytes: data that this function overlooked, such as a
     * reserved byte, would differ. */
    ret = ntk_isa_encode(&instr, engine, again, &slots_again, err);
    if (ret < 0) {
        return ret;
    }
    if (slots_again != slots || memcmp(again, bytes, slots * NTK_ISA_SLOT_BYTES) != 0) {
        return BAD("%s: reserved bytes must be zero", info->name);
    }
    *out_instr = instr;
    *out_slots = slots;
    return 0;
}
