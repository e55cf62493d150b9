/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/isa.h"

#include <assert.h>
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
 *       32    2 zero (dma_copy: see below)
 *       34    1 nc_transpose: 1
 *       35    1 zero
 *       36    4 group id
 *       40   16 imm
 *       56    2 queue
 *       58    2 done semaphore
 *       60    2 done value
 *       62    2 zero
 */
static_assert(NTK_ISA_ENGINE_COUNT == 5, "the engine mask of isa.def has five bits");

enum { HEAD_MARK = 0x10, OPCODE_DMA_COPY = 0xb8 };

enum {
    PE = 1 << NTK_ISA_ENGINE_PE,
    ACT = 1 << NTK_ISA_ENGINE_ACT,
    POOL = 1 << NTK_ISA_ENGINE_POOL,
    DVE = 1 << NTK_ISA_ENGINE_DVE,
    SP = 1 << NTK_ISA_ENGINE_SP,
    ALL = PE | ACT | POOL | DVE | SP,
    D = 1 << NTK_ISA_DST,
    A = 1 << NTK_ISA_SRC0,
    B = 1 << NTK_ISA_SRC1,
    C = 1 << NTK_ISA_SRC2,
    E = 1 << NTK_ISA_DST2,
};

static const struct ntk_isa_op_info ops[] = {
#define NTK_ISA_OP(number, id, name, opcode, engines, required, optional, implemented) \
    { (number), (opcode), (engines), (required), (optional), (implemented), (name) },
#include "shared/formats/neff/isa.def"
#undef NTK_ISA_OP
};

enum { OP_COUNT = sizeof ops / sizeof ops[0], OP_NUMBER_MAX = 255 };

#define NTK_ISA_OP(number, id, name, opcode, engines, required, optional, implemented) \
    static_assert((number) > 0 && (number) <= OP_NUMBER_MAX, name);
#include "shared/formats/neff/isa.def"
#undef NTK_ISA_OP

/* Rows of ops[] by name of the operation, and the row of each number + 1. */
enum {
#define NTK_ISA_OP(number, id, name, opcode, engines, required, optional, implemented) ROW_##id,
#include "shared/formats/neff/isa.def"
#undef NTK_ISA_OP
};

static const uint8_t row_of_number[OP_NUMBER_MAX + 1] = {
#define NTK_ISA_OP(number, id, name, opcode, engines, required, optional, implemented) \
    [number] = ROW_##id + 1,
#include "shared/formats/neff/isa.def"
#undef NTK_ISA_OP
};

struct alu_row {
    const char *name;
    enum ntk_isa_alu_kind kind;
    bool reduces;
};

static const struct alu_row alus[NTK_ISA_ALU_COUNT] = {
#define NTK_ISA_ALU(number, id, name, kind, reduces) \
    [number] = { (name), NTK_ISA_ALU_KIND_##kind, (reduces) != 0 },
#include "shared/formats/neff/alu.def"
#undef NTK_ISA_ALU
};

static const char *const act_names[NTK_ISA_ACT_COUNT] = {
#define NTK_ISA_ACT(number, id, name, low, high, range) [number] = (name),
#include "shared/formats/neff/activation.def"
#undef NTK_ISA_ACT
};

struct dtype_row {
    const char *name;
    uint8_t bytes;
};

static const struct dtype_row dtypes[NTK_DTYPE_COUNT] = {
#define NTK_DTYPE(number, id, name, bytes) [number] = { (name), (bytes) },
#include "shared/formats/neff/dtype.def"
#undef NTK_DTYPE
};

/* ---- tables ---- */

const struct ntk_isa_op_info *ntk_isa_op_info_get(unsigned number)
{
    if (number > OP_NUMBER_MAX || row_of_number[number] == 0) {
        return NULL;
    }
    return &ops[row_of_number[number] - 1];
}

const struct ntk_isa_op_info *ntk_isa_op_info_find(const char *name)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

const struct ntk_isa_op_info *ntk_isa_op_info_at(size_t index)
{
    return index < OP_COUNT ? &ops[index] : NULL;
}

const char *ntk_isa_alu_name(unsigned alu)
{
    return alu < NTK_ISA_ALU_COUNT ? alus[alu].name : "?";
}

enum ntk_isa_alu_kind ntk_isa_alu_kind_get(enum ntk_isa_alu alu)
{
    assert((unsigned)alu < NTK_ISA_ALU_COUNT);
    return alus[alu].kind;
}

bool ntk_isa_alu_reduces(enum ntk_isa_alu alu)
{
    return (unsigned)alu < NTK_ISA_ALU_COUNT && alus[alu].reduces;
}

const char *ntk_isa_act_name(unsigned act)
{
    return act < NTK_ISA_ACT_COUNT ? act_names[act] : "?";
}

const char *ntk_dtype_name(unsigned dtype)
{
    return dtype < NTK_DTYPE_COUNT && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

size_t ntk_dtype_bytes(unsigned dtype)
{
    return dtype < NTK_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

bool ntk_dtype_is_float(unsigned dtype)
{
    switch (dtype) {
    case NTK_DTYPE_BFLOAT16:
    case NTK_DTYPE_FLOAT16:
    case NTK_DTYPE_FLOAT32:
    case NTK_DTYPE_FLOAT32R:
    case NTK_DTYPE_FLOAT8E3:
    case NTK_DTYPE_FLOAT8E4:
    case NTK_DTYPE_FLOAT8E5:
        return true;
    default:
        return false;
    }
}

enum ntk_dtype ntk_dtype_find(const char *name)
{
    for (unsigned i = 1; i < NTK_DTYPE_COUNT; i++) {
        if (dtypes[i].name && strcmp(dtypes[i].name, name) == 0) {
            return (enum ntk_dtype)i;
        }
    }
    return NTK_DTYPE_NONE;
}

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

/* ---- checks ---- */

static const char *const role_names[NTK_ISA_OPERAND_COUNT] = { "destination", "source 0",
                                                               "source 1", "source 2",
                                                               "second destination" };

/* Bounds of one operand of a variable: far below what could overflow an int64_t. */
#define OFFSET_MAX (UINT64_C(1) << 46)
#define COUNT_MAX (UINT32_C(1) << 24)
#define ELEMENTS_MAX (UINT64_C(1) << 32)

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

/* dim counts are at most COUNT_MAX. */
static bool elements_fit(const struct ntk_isa_operand *operand)
{
    uint64_t elements = 1;

    for (int i = 0; i < operand->dim_count; i++) {
        elements *= operand->dim[i].count;
        if (elements > ELEMENTS_MAX) {
            return false;
        }
    }
    return true;
}

static int check_operand(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *operand,
                         int role, struct ntk_err *err)
{
    const char *what = role_names[role];
    int64_t low;
    int64_t high;
    int64_t limit;

    if ((unsigned)operand->space >= NTK_ISA_SPACE_COUNT) {
        return BAD("%s: %s is in no known space (%d)", info->name, what, (int)operand->space);
    }
    if (ntk_dtype_bytes((unsigned)operand->dtype) == 0) {
        return BAD("%s: %s has no known dtype (%d)", info->name, what, (int)operand->dtype);
    }
    if (operand->dim_count < 1 || operand->dim_count > NTK_ISA_DIMS_MAX) {
        return BAD("%s: %s has %u dimensions", info->name, what, operand->dim_count);
    }
    for (int i = 0; i < NTK_ISA_DIMS_MAX; i++) {
        if (i >= operand->dim_count && (operand->dim[i].step != 0 || operand->dim[i].count != 0)) {
            return BAD("%s: %s fills dimension %d, which it does not have", info->name, what, i);
        }
        if (i < operand->dim_count &&
            (operand->dim[i].count < 1 || operand->dim[i].count > COUNT_MAX)) {
            return BAD("%s: %s counts %u elements in dimension %d", info->name, what,
                       operand->dim[i].count, i);
        }
    }
    if (!elements_fit(operand)) {
        return BAD("%s: %s has too many elements", info->name, what);
    }
    if (operand->offset > OFFSET_MAX) {
        return BAD("%s: %s lies beyond every memory", info->name, what);
    }

    ntk_isa_operand_extent(operand, &low, &high);
    if (operand->space == NTK_ISA_SPACE_VAR) {
        if (operand->var_id == NTK_ISA_NO_VAR) {
            return BAD("%s: %s names no variable", info->name, what);
        }
        if (operand->partition_start != 0 || operand->partition_count != 0 ||
            operand->partition_step != 0) {
            return BAD("%s: %s is a variable with partitions", info->name, what);
        }
        if (low < 0) {
            return BAD("%s: %s starts before its variable", info->name, what);
        }
        return 0;
    }

    if (operand->space == NTK_ISA_SPACE_PATTERN) {
        if (operand->var_id != NTK_ISA_NO_VAR || operand->partition_start != 0 ||
            operand->partition_count != 0 || operand->partition_step != 0 || operand->offset != 0 ||
            operand->dtype != NTK_DTYPE_INT32) {
            return BAD("%s: %s is a pattern and has a place", info->name, what);
        }
        return 0;
    }
    if (operand->var_id != NTK_ISA_NO_VAR) {
        return BAD("%s: %s names a variable and lies on the core", info->name, what);
    }
    if (operand->partition_count < 1 || operand->partition_count > NTK_ISA_PARTITIONS ||
        operand->partition_step > NTK_ISA_PARTITIONS ||
        operand->partition_start + (operand->partition_count - 1) * operand->partition_step >=
            NTK_ISA_PARTITIONS) {
        return BAD("%s: %s takes partitions %u + %u * %u", info->name, what,
                   operand->partition_start, operand->partition_count, operand->partition_step);
    }
    limit = operand->space == NTK_ISA_SPACE_SBUF ? NTK_ISA_SBUF_PARTITION_BYTES_MAX
                                                 : NTK_ISA_PSUM_PARTITION_BYTES;
    if (low < 0 || high > limit) {
        return BAD("%s: %s reaches bytes %lld to %lld of a partition of %lld", info->name, what,
                   (long long)low, (long long)high, (long long)limit);
    }
    return 0;
}

static bool is_dma(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_DMA_TRIGGER || op == NTK_ISA_OP_DMA_COPY ||
           op == NTK_ISA_OP_DMA_INDIRECT_COPY || op == NTK_ISA_OP_DMA_TRANSPOSE ||
           op == NTK_ISA_OP_DMA_COMPUTE || op == NTK_ISA_OP_SENDRECV;
}

static int check_sync(const struct ntk_isa_op_info *info, const char *what, uint16_t number,
                      uint16_t value, bool is_event, struct ntk_err *err)
{
    if (number == NTK_ISA_NO_SEMAPHORE) {
        return value == 0 ? 0 : BAD("%s: a %s value without a semaphore", info->name, what);
    }
    if (number >= (is_event ? NTK_ISA_EVENTS : NTK_ISA_SEMAPHORES)) {
        return BAD("%s: %s of %s %u", info->name, what, is_event ? "event" : "semaphore", number);
    }
    if (is_event && value > 1) {
        return BAD("%s: %s of an event with value %u", info->name, what, value);
    }
    return 0;
}

/* Which head fields an operation reads; everything else must be zero. */
enum field {
    FIELD_OP0 = 1 << 0,
    FIELD_OP1 = 1 << 1,
    FIELD_REDUCE = 1 << 2,
    FIELD_ACT = 1 << 3,
    FIELD_AXIS = 1 << 4,
    FIELD_GROUP = 1 << 5,
};

struct field_use {
    unsigned fields;
    unsigned op_flags;
    unsigned imm; /* bit i: imm[i] */
};

static struct field_use fields_of(enum ntk_isa_op op)
{
    switch (op) {
    case NTK_ISA_OP_NOP:
        return (struct field_use){ 0, 0, 3 };
    case NTK_ISA_OP_EVENT_SEMAPHORE:
        return (struct field_use){ 0, 0, 7 };
    case NTK_ISA_OP_NOTIFY:
        return (struct field_use){ 0, 0, 1 };
    case NTK_ISA_OP_DRAIN:
        return (struct field_use){ 0, 0, 0 };
    case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
        return (struct field_use){ 0, 0, 3 };
    case NTK_ISA_OP_DEVICE_PRINT:
        return (struct field_use){ 0, 0, 1 };
    case NTK_ISA_OP_ACT_TABLE_LOAD:
        return (struct field_use){ 0, 0, 1 };
    case NTK_ISA_OP_DMA_TRIGGER:
        return (struct field_use){ FIELD_GROUP, 0, 0 };
    case NTK_ISA_OP_DMA_COPY:
        return (struct field_use){ 0, 0, 0 };
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
        return (struct field_use){ 0, NTK_ISA_OPF_BOUNDS | NTK_ISA_OPF_OOB_SKIP, 3 };
    case NTK_ISA_OP_NC_MATMUL:
        return (struct field_use){ 0, NTK_ISA_OPF_ACCUMULATE, 0 };
    case NTK_ISA_OP_NC_TRANSPOSE:
    case NTK_ISA_OP_TENSOR_COPY:
    case NTK_ISA_OP_TENSOR_CAST:
    case NTK_ISA_OP_RECIPROCAL:
    case NTK_ISA_OP_MAX8:
        return (struct field_use){ 0, 0, 0 };
    case NTK_ISA_OP_ACTIVATION:
        return (struct field_use){ FIELD_ACT, 0, 7 };
    case NTK_ISA_OP_ACTIVATION_REDUCE:
        return (struct field_use){ FIELD_ACT | FIELD_REDUCE, 0, 7 };
    case NTK_ISA_OP_TENSOR_TENSOR:
        return (struct field_use){ FIELD_OP0, 0, 0 };
    case NTK_ISA_OP_TENSOR_SCALAR:
        return (struct field_use){ FIELD_OP0 | FIELD_OP1,
                                   NTK_ISA_OPF_REVERSE0 | NTK_ISA_OPF_REVERSE1, 3 };
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        return (struct field_use){ FIELD_OP0 | FIELD_REDUCE, NTK_ISA_OPF_REVERSE0, 1 };
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        return (struct field_use){ FIELD_OP0 | FIELD_OP1,
                                   NTK_ISA_OPF_REVERSE0 | NTK_ISA_OPF_REVERSE1, 1 };
    case NTK_ISA_OP_TENSOR_REDUCE:
        return (struct field_use){ FIELD_OP0 | FIELD_AXIS, NTK_ISA_OPF_NEGATE, 0 };
    case NTK_ISA_OP_MEMSET:
        return (struct field_use){ 0, 0, 3 };
    case NTK_ISA_OP_IOTA:
        return (struct field_use){ 0, 0, 3 };
    case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
        return (struct field_use){ 0, NTK_ISA_OPF_REVERSE0, 0 };
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
        return (struct field_use){ FIELD_OP0 | FIELD_OP1,
                                   NTK_ISA_OPF_REVERSE0 | NTK_ISA_OPF_REVERSE1, 1 };
    case NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE:
        return (struct field_use){ FIELD_OP0 | FIELD_OP1,
                                   NTK_ISA_OPF_REVERSE0 | NTK_ISA_OPF_REVERSE1, 3 };
    case NTK_ISA_OP_TENSOR_PARTITION_REDUCE:
        return (struct field_use){ FIELD_OP0, 0, 0 };
    case NTK_ISA_OP_EXPONENTIAL:
        return (struct field_use){ FIELD_REDUCE, 0, 1 };
    case NTK_ISA_OP_AFFINE_SELECT:
        return (struct field_use){ FIELD_OP0, 0, 7 };
    case NTK_ISA_OP_RANGE_SELECT:
        return (struct field_use){ FIELD_OP0 | FIELD_OP1 | FIELD_REDUCE, 0, 3 };
    case NTK_ISA_OP_SELECT_REDUCE:
        return (struct field_use){ FIELD_REDUCE, NTK_ISA_OPF_REVERSE0, 1 };
    case NTK_ISA_OP_LOCAL_GATHER:
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
    case NTK_ISA_OP_RAND2:
        return (struct field_use){ 0, 0, 3 };
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
    case NTK_ISA_OP_DROPOUT:
        return (struct field_use){ 0, 0, 1 };
    case NTK_ISA_OP_NC_N_GATHER:
    case NTK_ISA_OP_NC_STREAM_SHUFFLE:
    case NTK_ISA_OP_BN_STATS:
    case NTK_ISA_OP_BN_AGGR:
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
    case NTK_ISA_OP_RNG:
    case NTK_ISA_OP_SET_RNG_SEED:
    case NTK_ISA_OP_RAND_SET_STATE:
    case NTK_ISA_OP_RAND_GET_STATE:
        return (struct field_use){ 0, 0, 0 };
    default:
        return (struct field_use){ ~0U, ~0U, ~0U };
    }
}

static int check_fields(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    struct field_use use = fields_of(instr->op);
    bool completes = instr->op != NTK_ISA_OP_DMA_TRIGGER && is_dma(instr->op);

    if ((instr->op0 != 0 && !(use.fields & FIELD_OP0)) ||
        (instr->op1 != 0 && !(use.fields & FIELD_OP1)) ||
        ((instr->reduce_op != 0 || instr->reduce_cmd != 0) && !(use.fields & FIELD_REDUCE)) ||
        (instr->act != 0 && !(use.fields & FIELD_ACT)) ||
        (instr->axis_count != 0 && !(use.fields & FIELD_AXIS)) ||
        (instr->group_id != 0 && !(use.fields & FIELD_GROUP)) ||
        (instr->queue != 0 && !is_dma(instr->op)) ||
        ((instr->done_semaphore != NTK_ISA_NO_SEMAPHORE || instr->done_value != 0) && !completes) ||
        (instr->op_flags & ~use.op_flags & 0xffU) != 0) {
        return BAD("%s: a field is set that it does not use", info->name);
    }
    for (int i = 0; i < 4; i++) {
        if (instr->imm[i] != 0 && !(use.imm >> i & 1)) {
            return BAD("%s: immediate %d is set and not used", info->name, i);
        }
    }
    if ((unsigned)instr->op0 >= NTK_ISA_ALU_COUNT || (unsigned)instr->op1 >= NTK_ISA_ALU_COUNT ||
        (unsigned)instr->reduce_op >= NTK_ISA_ALU_COUNT) {
        return BAD("%s: unknown operator", info->name);
    }
    if ((unsigned)instr->reduce_cmd > NTK_ISA_REDUCE_LOAD_REDUCE) {
        return BAD("%s: unknown reduce command %d", info->name, (int)instr->reduce_cmd);
    }
    if ((unsigned)instr->act >= NTK_ISA_ACT_COUNT) {
        return BAD("%s: unknown activation function %d", info->name, (int)instr->act);
    }
    if (instr->axis_count > NTK_ISA_DIMS_MAX) {
        return BAD("%s: reduces %u dimensions", info->name, instr->axis_count);
    }
    return 0;
}

static int check_matmul(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    uint64_t rows = ntk_isa_operand_partition_elements(src0);
    int64_t low;
    int64_t high;

    if (dst->space != NTK_ISA_SPACE_PSUM) {
        return BAD("%s: the destination is not in PSUM", info->name);
    }
    ntk_isa_operand_extent(dst, &low, &high);
    if (low / NTK_ISA_PSUM_BANK_BYTES != (high - 1) / NTK_ISA_PSUM_BANK_BYTES) {
        return BAD("%s: the destination crosses a PSUM bank", info->name);
    }
    if (src0->space != NTK_ISA_SPACE_SBUF) {
        return BAD("%s: source 0 is not in SBUF", info->name);
    }
    if (rows > NTK_ISA_STATIONARY_MAX || rows != dst->partition_count) {
        return BAD("%s: %llu columns of source 0 for %u partitions of the destination", info->name,
                   (unsigned long long)rows, dst->partition_count);
    }
    if (instr->op == NTK_ISA_OP_NC_TRANSPOSE) {
        if (ntk_isa_operand_partition_elements(dst) != src0->partition_count) {
            return BAD("%s: %u partitions do not become %llu columns", info->name,
                       src0->partition_count,
                       (unsigned long long)ntk_isa_operand_partition_elements(dst));
        }
        return 0;
    }
    if (src1->space != NTK_ISA_SPACE_SBUF) {
        return BAD("%s: source 1 is not in SBUF", info->name);
    }
    if (src0->partition_count != src1->partition_count) {
        return BAD("%s: %u rows of the stationary, %u of the moving tile", info->name,
                   src0->partition_count, src1->partition_count);
    }
    if (ntk_isa_operand_partition_elements(src1) > NTK_ISA_MOVING_MAX ||
        ntk_isa_operand_partition_elements(src1) != ntk_isa_operand_partition_elements(dst)) {
        return BAD("%s: %llu columns moved into %llu", info->name,
                   (unsigned long long)ntk_isa_operand_partition_elements(src1),
                   (unsigned long long)ntk_isa_operand_partition_elements(dst));
    }
    return 0;
}

/* Shapes that must fit, operation by operation. */
static int check_shapes(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    const struct ntk_isa_operand *src2 = &instr->operand[NTK_ISA_SRC2];
    const struct ntk_isa_operand *dst2 = &instr->operand[NTK_ISA_DST2];
    uint64_t rest = 1;

    switch (instr->op) {
    case NTK_ISA_OP_NC_MATMUL:
    case NTK_ISA_OP_NC_TRANSPOSE:
        return check_matmul(info, instr, err);
    case NTK_ISA_OP_TENSOR_COPY:
    case NTK_ISA_OP_TENSOR_CAST:
    case NTK_ISA_OP_RECIPROCAL:
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE) {
            return BAD("%s: no operator", info->name);
        }
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (src2->space != NTK_ISA_SPACE_NONE && !ntk_isa_is_column(src2, dst)) {
            return BAD("%s: source 2 is not one value per partition", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE || instr->op1 == NTK_ISA_ALU_NONE) {
            return BAD("%s: needs two operators", info->name);
        }
        break;
    case NTK_ISA_OP_ACTIVATION:
    case NTK_ISA_OP_ACTIVATION_REDUCE:
    case NTK_ISA_OP_TENSOR_SCALAR:
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        if (src1->space != NTK_ISA_SPACE_NONE && !ntk_isa_is_column(src1, dst)) {
            return BAD("%s: source 1 is not one value per partition", info->name);
        }
        if (src2->space != NTK_ISA_SPACE_NONE && !ntk_isa_is_column(src2, dst)) {
            return BAD("%s: source 2 is not one value per partition", info->name);
        }
        if (dst2->space != NTK_ISA_SPACE_NONE && !ntk_isa_is_column(dst2, dst)) {
            return BAD("%s: the second destination is not one value per partition", info->name);
        }
        if (dst2->space != NTK_ISA_SPACE_NONE && instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
            instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
            return BAD("%s: reduce command %d", info->name, (int)instr->reduce_cmd);
        }
        if (dst2->space != NTK_ISA_SPACE_NONE && !ntk_isa_alu_reduces(instr->reduce_op)) {
            return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->reduce_op));
        }
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        if (instr->axis_count < 1 || instr->axis_count > src0->dim_count) {
            return BAD("%s: %u dimensions of %u are reduced", info->name, instr->axis_count,
                       src0->dim_count);
        }
        for (int i = instr->axis_count; i < src0->dim_count; i++) {
            rest *= src0->dim[i].count;
        }
        if (dst->partition_count != src0->partition_count ||
            ntk_isa_operand_partition_elements(dst) != rest) {
            return BAD("%s: the destination has not the shape that is left", info->name);
        }
        if (!ntk_isa_alu_reduces(instr->op0)) {
            return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->op0));
        }
        return 0;
    case NTK_ISA_OP_IOTA:
        if (ntk_isa_operand_partition_elements(src0) != ntk_isa_operand_partition_elements(dst)) {
            return BAD("%s: the pattern and the destination differ in shape", info->name);
        }
        return 0;
    case NTK_ISA_OP_MAX8:
        if (dst->partition_count != src0->partition_count ||
            ntk_isa_operand_partition_elements(dst) != 8 ||
            ntk_isa_operand_partition_elements(src0) < 8 ||
            ntk_isa_operand_partition_elements(src0) > 16384) {
            return BAD("%s: 8 of %llu elements into %llu", info->name,
                       (unsigned long long)ntk_isa_operand_partition_elements(src0),
                       (unsigned long long)ntk_isa_operand_partition_elements(dst));
        }
        return 0;
    case NTK_ISA_OP_DMA_COPY:
        if (ntk_isa_operand_elements(dst) != ntk_isa_operand_elements(src0)) {
            return BAD("%s: %llu elements to %llu", info->name,
                       (unsigned long long)ntk_isa_operand_elements(src0),
                       (unsigned long long)ntk_isa_operand_elements(dst));
        }
        return 0;
    case NTK_ISA_OP_DMA_INDIRECT_COPY: {
        bool gathers = src0->space == NTK_ISA_SPACE_VAR && dst->space == NTK_ISA_SPACE_SBUF;
        bool scatters = src0->space == NTK_ISA_SPACE_SBUF && dst->space == NTK_ISA_SPACE_VAR;
        const struct ntk_isa_operand *row = gathers ? src0 : dst;
        const struct ntk_isa_operand *core = gathers ? dst : src0;

        if (!gathers && !scatters) {
            return BAD("%s: moves between a variable and SBUF only", info->name);
        }
        if (src1->space != NTK_ISA_SPACE_SBUF || !ntk_isa_is_column(src1, core) ||
            (src1->dtype != NTK_DTYPE_INT32 && src1->dtype != NTK_DTYPE_UINT32)) {
            return BAD("%s: source 1 is not one 32-bit index per partition in SBUF", info->name);
        }
        if (ntk_isa_operand_elements(row) != ntk_isa_operand_partition_elements(core)) {
            return BAD("%s: %llu elements of a row for %llu of a partition", info->name,
                       (unsigned long long)ntk_isa_operand_elements(row),
                       (unsigned long long)ntk_isa_operand_partition_elements(core));
        }
        return 0;
    }
    default:
        return ntk_isa_check_select(info, instr, err);
    }
    if (!ntk_isa_same_shape(dst, src0)) {
        return BAD("%s: source 0 and the destination differ in shape", info->name);
    }
    return 0;
}

int ntk_isa_check(const struct ntk_isa_instr *instr, enum ntk_isa_engine engine,
                  struct ntk_err *err)
{
    const struct ntk_isa_op_info *info = ntk_isa_op_info_get((unsigned)instr->op);
    int ret;

    if (!info) {
        return BAD("operation %d is unknown", (int)instr->op);
    }
    if ((unsigned)engine >= NTK_ISA_ENGINE_COUNT || !(info->engines >> engine & 1)) {
        return BAD("%s: not an operation of this engine", info->name);
    }
    if (!info->implemented) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: the software core does not execute it", info->name);
    }
    if (instr->flags & ~(NTK_ISA_FLAG_WAIT_EQUAL | NTK_ISA_FLAG_WAIT_CONSUME |
                         NTK_ISA_FLAG_WAIT_EVENT | NTK_ISA_FLAG_SIGNAL_EVENT)) {
        return BAD("%s: unknown flags 0x%02x", info->name, instr->flags);
    }
    if ((instr->wait_semaphore == NTK_ISA_NO_SEMAPHORE &&
         instr->flags &
             (NTK_ISA_FLAG_WAIT_EQUAL | NTK_ISA_FLAG_WAIT_CONSUME | NTK_ISA_FLAG_WAIT_EVENT)) ||
        (instr->signal_semaphore == NTK_ISA_NO_SEMAPHORE &&
         instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT)) {
        return BAD("%s: flags of a wait or signal that is not there", info->name);
    }
    ret = check_sync(info, "wait", instr->wait_semaphore, instr->wait_value,
                     (instr->flags & NTK_ISA_FLAG_WAIT_EVENT) != 0, err);
    if (ret < 0) {
        return ret;
    }
    ret = check_sync(info, "signal", instr->signal_semaphore, instr->signal_value,
                     (instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT) != 0, err);
    if (ret < 0) {
        return ret;
    }
    ret = check_sync(info, "completion", instr->done_semaphore, instr->done_value, false, err);
    if (ret < 0) {
        return ret;
    }

    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        const struct ntk_isa_operand *operand = &instr->operand[role];
        bool present = operand->space != NTK_ISA_SPACE_NONE;

        if (!present && info->required >> role & 1) {
            return BAD("%s: the %s is missing", info->name, role_names[role]);
        }
        if (present && !((info->required | info->optional) >> role & 1)) {
            return BAD("%s: takes no %s", info->name, role_names[role]);
        }
        if (present) {
            ret = check_operand(info, operand, role, err);
            if (ret < 0) {
                return ret;
            }
            if ((operand->space == NTK_ISA_SPACE_PATTERN) !=
                ((instr->op == NTK_ISA_OP_IOTA && role == NTK_ISA_SRC0) ||
                 (instr->op == NTK_ISA_OP_AFFINE_SELECT && role == NTK_ISA_SRC1))) {
                return BAD("%s: the %s is in the wrong space", info->name, role_names[role]);
            }
            if (operand->space == NTK_ISA_SPACE_VAR && !is_dma(instr->op)) {
                return BAD("%s: the %s is a variable; only DMA reaches those", info->name,
                           role_names[role]);
            }
        }
    }

    ret = check_fields(info, instr, err);
    if (ret < 0) {
        return ret;
    }
    if (instr->op == NTK_ISA_OP_EVENT_SEMAPHORE) {
        switch (instr->imm[0]) {
        case NTK_ISA_SYNC_NONE:
            if (instr->imm[1] != 0 || instr->imm[2] != 0) {
                return BAD("%s: a number or value without a mode", info->name);
            }
            break;
        case NTK_ISA_SYNC_EVENT_CLEAR:
        case NTK_ISA_SYNC_EVENT_SET:
            if (instr->imm[1] >= NTK_ISA_EVENTS || instr->imm[2] != 0) {
                return BAD("%s: event %u, value %u", info->name, instr->imm[1], instr->imm[2]);
            }
            break;
        case NTK_ISA_SYNC_SEMAPHORE_ADD:
        case NTK_ISA_SYNC_SEMAPHORE_SUB:
        case NTK_ISA_SYNC_SEMAPHORE_WRITE:
            if (instr->imm[1] >= NTK_ISA_SEMAPHORES) {
                return BAD("%s: semaphore %u", info->name, instr->imm[1]);
            }
            break;
        default:
            return BAD("%s: unknown mode 0x%x", info->name, instr->imm[0]);
        }
    }
    if (instr->op == NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR &&
        (instr->imm[1] < 1 || instr->imm[1] > NTK_ISA_SEMAPHORES ||
         instr->imm[0] > NTK_ISA_SEMAPHORES - instr->imm[1])) {
        return BAD("%s: %u semaphores from %u on", info->name, instr->imm[1], instr->imm[0]);
    }
    return check_shapes(info, instr, err);
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

/* What a profiler finds in the head of dma_copy: state-buffer addresses have bit 37 set, entries of
 * the table of variables have 0x20 in the top byte. */
static uint64_t profile_address(const struct ntk_isa_operand *operand)
{
    if (operand->space == NTK_ISA_SPACE_VAR) {
        return UINT64_C(0x20) << 56 | operand->var_id;
    }
    return UINT64_C(1) << 37 |
           (uint64_t)operand->partition_start * NTK_ISA_SBUF_PARTITION_BYTES_MAX | operand->offset;
}

/* Bytes moved as a product of three u16; zeros when they do not fit. */
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
    put32(bytes + 36, instr->group_id);
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
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NONE);
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
        return BAD("not the head of an instruction: bytes 0x%02x 0x%02x", bytes[0], bytes[1]);
    }
    number = bytes[0] == OPCODE_DMA_COPY ? NTK_ISA_OP_DMA_COPY : get16(bytes + 16);
    info = ntk_isa_op_info_get(number);
    if (!info || info->opcode != bytes[0]) {
        return BAD("opcode 0x%02x with operation %u is unknown", bytes[0], number);
    }
    slots = (size_t)bytes[2] + 1;
    if (slots > NTK_ISA_SLOTS_MAX || slots * NTK_ISA_SLOT_BYTES > bytes_count) {
        return BAD("%s: %zu slots, %zu bytes are left", info->name, slots, bytes_count);
    }

    instr.op = (enum ntk_isa_op)number;
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
        instr.group_id = get32(bytes + 36);
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
                return BAD("%s: an operand slot without a space", info->name);
            }
            next++;
        }
    }

    /* Whatever this function overlooked, a reserved byte for example, differs from the original. */
    ret = ntk_isa_encode(&instr, engine, again, &slots_again, err);
    if (ret < 0) {
        return ret;
    }
    if (slots_again != slots || memcmp(again, bytes, slots * NTK_ISA_SLOT_BYTES) != 0) {
        return BAD("%s: reserved bytes are not zero", info->name);
    }
    *out_instr = instr;
    *out_slots = slots;
    return 0;
}
