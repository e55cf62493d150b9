/* SPDX-License-Identifier: MIT */
/* isa_check - checks that all instructions must pass: operands, semaphores, fields. isa_shapes.c
 * checks shapes. */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

static const char *const role_names[NTK_ISA_OPERAND_COUNT] = { "destination",        "source 0",
                                                               "source 1",           "source 2",
                                                               "second destination", "source 3" };

/* Limits for one operand in a variable, far below what could overflow an int64_t. */
#define OFFSET_MAX (UINT64_C(1) << 46)
#define COUNT_MAX (UINT32_C(1) << 24)
#define ELEMENTS_MAX (UINT64_C(1) << 32)

/* Cannot overflow, because counts of dims are at most COUNT_MAX. */
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
        return BAD("%s: %s has an unknown space (%d)", info->name, what, (int)operand->space);
    }
    if (ntk_dtype_bytes((unsigned)operand->dtype) == 0) {
        return BAD("%s: %s has an unknown dtype (%d)", info->name, what, (int)operand->dtype);
    }
    if (operand->dim_count < 1 || operand->dim_count > NTK_ISA_DIMS_MAX) {
        return BAD("%s: %s has %u dimensions, which is not supported", info->name, what,
                   operand->dim_count);
    }
    for (int i = 0; i < NTK_ISA_DIMS_MAX; i++) {
        if (i >= operand->dim_count && (operand->dim[i].step != 0 || operand->dim[i].count != 0)) {
            return BAD("%s: %s uses dimension %d, which it does not have", info->name, what, i);
        }
        if (i < operand->dim_count &&
            (operand->dim[i].count < 1 || operand->dim[i].count > COUNT_MAX)) {
            return BAD("%s: %s has %u elements in dimension %d, which is not supported", info->name,
                       what, operand->dim[i].count, i);
        }
    }
    if (!elements_fit(operand)) {
        return BAD("%s: %s has too many elements", info->name, what);
    }
    if (operand->offset > OFFSET_MAX) {
        return BAD("%s: the offset of %s exceeds every memory", info->name, what);
    }

    ntk_isa_operand_extent(operand, &low, &high);
    if (operand->space == NTK_ISA_SPACE_VAR) {
        if (operand->var_id == NTK_ISA_NO_VAR) {
            return BAD("%s: %s does not name a variable", info->name, what);
        }
        if (operand->partition_start != 0 || operand->partition_count != 0 ||
            operand->partition_step != 0) {
            return BAD("%s: %s is a variable, but has partitions", info->name, what);
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
            return BAD("%s: %s is a pattern, but has an address", info->name, what);
        }
        return 0;
    }
    if (operand->var_id != NTK_ISA_NO_VAR) {
        return BAD("%s: %s is on the core, but names a variable", info->name, what);
    }
    if (operand->partition_count < 1 || operand->partition_count > NTK_ISA_PARTITIONS ||
        operand->partition_step > NTK_ISA_PARTITIONS ||
        operand->partition_start + (operand->partition_count - 1) * operand->partition_step >=
            NTK_ISA_PARTITIONS) {
        return BAD("%s: %s has invalid partitions %u + %u * %u", info->name, what,
                   operand->partition_start, operand->partition_count, operand->partition_step);
    }
    limit = operand->space == NTK_ISA_SPACE_SBUF ? NTK_ISA_SBUF_PARTITION_BYTES_MAX
                                                 : NTK_ISA_PSUM_PARTITION_BYTES;
    if (low < 0 || high > limit) {
        return BAD("%s: %s covers bytes %lld to %lld, but a partition has %lld bytes", info->name,
                   what, (long long)low, (long long)high, (long long)limit);
    }
    return 0;
}
static int check_sync(const struct ntk_isa_op_info *info, const char *what, uint16_t number,
                      uint16_t value, bool is_event, struct ntk_err *err)
{
    if (number == NTK_ISA_NO_SEMAPHORE) {
        return value == 0 ? 0 : BAD("%s: a %s value is set, but no semaphore", info->name, what);
    }
    if (number >= (is_event ? NTK_ISA_EVENTS : NTK_ISA_SEMAPHORES)) {
        return BAD("%s: %s uses invalid %s %u", info->name, what, is_event ? "event" : "semaphore",
                   number);
    }
    if (is_event && value > 1) {
        return BAD("%s: %s uses the invalid event value %u", info->name, what, value);
    }
    return 0;
}

/* The head fields that an operation reads; everything else must be zero. */
enum field {
    OP0 = 1 << 0,
    OP1 = 1 << 1,
    FOLD = 1 << 2,
    ACT = 1 << 3,
    AXIS = 1 << 4,
    GROUP = 1 << 5,
    TARGET = 1 << 6,
    REG_TO = 1 << 7,
    REG_A = 1 << 8,
    REG_B = 1 << 9,
};

enum op_flag {
    ACCUMULATE = NTK_ISA_OPF_ACCUMULATE,
    REVERSE0 = NTK_ISA_OPF_REVERSE0,
    REVERSE1 = NTK_ISA_OPF_REVERSE1,
    NEGATE = NTK_ISA_OPF_NEGATE,
    BOUNDS = NTK_ISA_OPF_BOUNDS,
    OOB_SKIP = NTK_ISA_OPF_OOB_SKIP,
    DGE = NTK_ISA_OPF_DGE,
};

struct field_use {
    uint16_t fields;
    uint8_t op_flags;
    uint8_t imm; /* bit i: imm[i] */
    bool is_known;
};

static const struct field_use field_uses[] = {
#define NTK_ISA_FIELDS(id, fields, op_flags, imm) \
    [NTK_ISA_OP_##id] = { (fields), (op_flags), (imm), true },
#include "shared/formats/neff/isa_fields.def"
#undef NTK_ISA_FIELDS
};

static struct field_use fields_of(enum ntk_isa_op op)
{
    if ((size_t)op < sizeof field_uses / sizeof field_uses[0] && field_uses[op].is_known) {
        return field_uses[op];
    }
    return (struct field_use){ UINT16_MAX, UINT8_MAX, UINT8_MAX, false };
}

static int check_fields(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    struct field_use use = fields_of(instr->op);
    bool completes = instr->op != NTK_ISA_OP_DMA_TRIGGER && ntk_isa_is_dma(instr->op);

    if ((instr->op0 != 0 && !(use.fields & OP0)) || (instr->op1 != 0 && !(use.fields & OP1)) ||
        ((instr->reduce_op != 0 || instr->reduce_cmd != 0) && !(use.fields & FOLD)) ||
        (instr->act != 0 && !(use.fields & ACT)) ||
        (instr->axis_count != 0 && !(use.fields & AXIS)) ||
        (instr->group_id != 0 && !(use.fields & GROUP)) ||
        (instr->target != 0 && !(use.fields & TARGET)) ||
        (instr->reg_to != 0 && !(use.fields & REG_TO)) ||
        (instr->reg_a != 0 && !(use.fields & REG_A)) ||
        (instr->reg_b != 0 && !(use.fields & REG_B)) ||
        (instr->queue != 0 && !ntk_isa_is_dma(instr->op)) ||
        ((instr->done_semaphore != NTK_ISA_NO_SEMAPHORE || instr->done_value != 0) && !completes) ||
        (instr->op_flags & ~use.op_flags & 0xffU) != 0) {
        return BAD("%s: an unused field is set", info->name);
    }
    for (int i = 0; i < 4; i++) {
        if (instr->imm[i] != 0 && !(use.imm >> i & 1)) {
            return BAD("%s: immediate %d is set, but not used", info->name, i);
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
        return BAD("%s: cannot reduce %u dimensions", info->name, instr->axis_count);
    }
    return 0;
}

int ntk_isa_check(const struct ntk_isa_instr *instr, enum ntk_isa_engine engine,
                  struct ntk_err *err)
{
    const struct ntk_isa_op_info *info = ntk_isa_op_info_get((unsigned)instr->op);
    int ret;

    if (!info) {
        return BAD("unknown operation %d", (int)instr->op);
    }
    if ((unsigned)engine >= NTK_ISA_ENGINE_COUNT || !(info->engines >> engine & 1)) {
        return BAD("%s: not an operation of this engine", info->name);
    }
    if (!info->implemented) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET, "%s: software cores do not support it",
                           info->name);
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
        return BAD("%s: wait or signal flags are set, but no wait or signal", info->name);
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
            return BAD("%s: missing %s", info->name, role_names[role]);
        }
        if (present && !((info->required | info->optional) >> role & 1)) {
            return BAD("%s: %s not allowed", info->name, role_names[role]);
        }
        if (present) {
            ret = check_operand(info, operand, role, err);
            if (ret < 0) {
                return ret;
            }
            if ((operand->space == NTK_ISA_SPACE_PATTERN) !=
                ((instr->op == NTK_ISA_OP_IOTA && role == NTK_ISA_SRC0) ||
                 (instr->op == NTK_ISA_OP_AFFINE_SELECT && role == NTK_ISA_SRC1))) {
                return BAD("%s: %s is in the wrong space", info->name, role_names[role]);
            }
            if (operand->space == NTK_ISA_SPACE_VAR && !ntk_isa_is_dma(instr->op)) {
                return BAD("%s: %s is a variable, which only DMA can access", info->name,
                           role_names[role]);
            }
        }
    }

    ret = check_fields(info, instr, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_isa_check_flow(info, instr, err);
    if (ret < 0) {
        return ret;
    }
    return ntk_isa_check_shapes(info, instr, engine, err);
}
