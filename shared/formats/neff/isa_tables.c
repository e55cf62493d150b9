/* SPDX-License-Identifier: MIT */
/* isa_tables - tables of numbers and names: operations, operator words, functions, element
 * types. */
#include <assert.h>
#include <string.h>

#include "shared/formats/neff/isa.h"

static_assert(NTK_ISA_ENGINE_COUNT == 5, "the engine mask of isa.def has five bits");

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
    F = 1 << NTK_ISA_SRC3,
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

/* Positions of the operations' rows in ops[], and the table from a number to its row + 1. */
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
