/* SPDX-License-Identifier: MIT */
/*
 * isa - the open instruction set of the software NeuronCores: instructions as structs and as bytes.
 *
 * An engine binary is a sequence of 64-byte slots. An instruction is one head slot, followed by one
 * slot per operand. docs/isa.md is the authority on layout and meaning; isa.def, alu.def,
 * activation.def and dtype.def are the tables of numbers. Decoding accepts only the encoder's
 * output: a set reserved bit is an error, so other code may trust the struct. The code that has the
 * variables, queues and groups checks references to them.
 *
 * Owner: plain data, nothing is allocated. Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_ISA_H
#define NTK_SHARED_FORMATS_NEFF_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_ISA_VERSION 1 /* value of "nsx": {"version": 1} in an engine JSON */
#define NTK_ISA_SLOT_BYTES 64
#define NTK_ISA_OPERAND_COUNT 6
#define NTK_ISA_SLOTS_MAX (1 + NTK_ISA_OPERAND_COUNT)
#define NTK_ISA_INSTR_BYTES_MAX (NTK_ISA_SLOTS_MAX * NTK_ISA_SLOT_BYTES)
#define NTK_ISA_DIMS_MAX 4
#define NTK_ISA_PARTITIONS 128
#define NTK_ISA_SEMAPHORES 256
#define NTK_ISA_EVENTS 256
#define NTK_ISA_SEMAPHORES_RESERVED 8 /* 0-7 belong to the runtime and the builder */
#define NTK_ISA_SEMAPHORE_END 7       /* the builder's semaphore: all other engines have ended */
#define NTK_ISA_NO_SEMAPHORE UINT16_MAX
#define NTK_ISA_REGISTERS 64 /* 32-bit registers in each engine's sequencer */
#define NTK_ISA_BARRIERS 16  /* number of core_barrier numbers */
#define NTK_ISA_PIPES 16     /* number of sendrecv numbers */
#define NTK_ISA_NO_VAR UINT32_MAX
/* The largest SBUF partition of any generation; the core checks its generation's size. */
#define NTK_ISA_SBUF_PARTITION_BYTES_MAX 262144
#define NTK_ISA_PSUM_PARTITION_BYTES 16384
#define NTK_ISA_PSUM_BANK_BYTES 2048
#define NTK_ISA_STATIONARY_MAX 128 /* columns of the stationary tile */
#define NTK_ISA_MOVING_MAX 512     /* columns of the moving tile */

/* The five engines that have an instruction stream; the numbers are used everywhere. */
enum ntk_isa_engine {
    NTK_ISA_ENGINE_PE = 0,
    NTK_ISA_ENGINE_ACT = 1,
    NTK_ISA_ENGINE_POOL = 2,
    NTK_ISA_ENGINE_DVE = 3,
    NTK_ISA_ENGINE_SP = 4,
    NTK_ISA_ENGINE_COUNT = 5,
};

enum ntk_dtype {
    NTK_DTYPE_NONE = 0,
#define NTK_DTYPE(number, id, name, bytes) NTK_DTYPE_##id = (number),
#include "shared/formats/neff/dtype.def"
#undef NTK_DTYPE
    NTK_DTYPE_COUNT
};

enum ntk_isa_op {
    NTK_ISA_OP_NONE = 0,
#define NTK_ISA_OP(number, id, name, opcode, engines, required, optional, implemented) \
    NTK_ISA_OP_##id = (number),
#include "shared/formats/neff/isa.def"
#undef NTK_ISA_OP
};

enum ntk_isa_alu {
#define NTK_ISA_ALU(number, id, name, kind, reduces) NTK_ISA_ALU_##id = (number),
#include "shared/formats/neff/alu.def"
#undef NTK_ISA_ALU
    NTK_ISA_ALU_COUNT
};

enum ntk_isa_alu_kind { NTK_ISA_ALU_KIND_BITVEC, NTK_ISA_ALU_KIND_ARITH, NTK_ISA_ALU_KIND_UNARY };

enum ntk_isa_act {
#define NTK_ISA_ACT(number, id, name, low, high, range) NTK_ISA_ACT_##id = (number),
#include "shared/formats/neff/activation.def"
#undef NTK_ISA_ACT
    NTK_ISA_ACT_COUNT
};

enum ntk_isa_space {
    NTK_ISA_SPACE_NONE = 0,
    NTK_ISA_SPACE_VAR = 1,  /* a variable of def.json in HBM, by var_id; only for DMA operations */
    NTK_ISA_SPACE_SBUF = 2, /* the state buffer */
    NTK_ISA_SPACE_PSUM = 3, /* the accumulation buffer of the tensor engine */
    NTK_ISA_SPACE_PATTERN = 4, /* no memory: dims describe the steps of a value (iota) */
    NTK_ISA_SPACE_COUNT
};

enum ntk_isa_reduce_cmd {
    NTK_ISA_REDUCE_IDLE = 0,
    NTK_ISA_REDUCE_RESET = 1,
    NTK_ISA_REDUCE_REDUCE = 2,
    NTK_ISA_REDUCE_RESET_REDUCE = 3,
    NTK_ISA_REDUCE_LOAD_REDUCE = 4,
};

/* Byte 3 of a head: flags of the wait and the signal. */
enum ntk_isa_flag {
    NTK_ISA_FLAG_WAIT_EQUAL = 0x01,   /* wait until the semaphore equals the value, not >= */
    NTK_ISA_FLAG_WAIT_CONSUME = 0x02, /* then subtract the value from the semaphore */
    /* The wait names an event: wait until it is set (value 0: cleared). */
    NTK_ISA_FLAG_WAIT_EVENT = 0x04,
    NTK_ISA_FLAG_SIGNAL_EVENT = 0x08, /* the signal names an event: set it (value 0: clear it) */
};

/* Byte 24 of a head: flags of the operation. */
enum ntk_isa_op_flag {
    NTK_ISA_OPF_ACCUMULATE = 0x01, /* nc_matmul: add to the destination instead of overwriting it */
    NTK_ISA_OPF_REVERSE0 = 0x02, /* tensor_scalar*, scalar_tensor_tensor: compute scalar op0 data */
    NTK_ISA_OPF_REVERSE1 = 0x04, /* tensor_scalar*, scalar_tensor_tensor: compute scalar op1 data */
    NTK_ISA_OPF_NEGATE = 0x08,   /* tensor_reduce: negate the result */
    NTK_ISA_OPF_BOUNDS = 0x10,   /* dma_indirect_copy: indices above imm[1] are out of bounds */
    /* dma_indirect_copy: skip rows out of bounds; otherwise the execution fails */
    NTK_ISA_OPF_OOB_SKIP = 0x20,
    NTK_ISA_OPF_DGE = 0xc0, /* dma_*: two bits, enum ntk_isa_dge */
};

#define NTK_ISA_DGE_SHIFT 6

/* The part that writes the descriptors of a dma_* instruction. */
enum ntk_isa_dge {
    NTK_ISA_DGE_UNKNOWN = 0,  /* not specified: any part that can */
    NTK_ISA_DGE_SOFTWARE = 1, /* the POOL engine, while the instruction runs */
    NTK_ISA_DGE_HARDWARE = 2, /* the DMA engines */
    NTK_ISA_DGE_NONE = 3,     /* no engine: the descriptors exist before the run */
};

/* Mode of event_semaphore, in imm[0]; the values are the bytes in hardware traces. */
enum ntk_isa_sync_mode {
    NTK_ISA_SYNC_NONE = 0x00, /* only the wait and signal in the head */
    NTK_ISA_SYNC_EVENT_CLEAR = 0x07,
    NTK_ISA_SYNC_EVENT_SET = 0xf1,
    NTK_ISA_SYNC_SEMAPHORE_ADD = 0xf3,
    NTK_ISA_SYNC_SEMAPHORE_SUB = 0xf4,
    NTK_ISA_SYNC_SEMAPHORE_WRITE = 0xf9,
};

struct ntk_isa_dim {
    int32_t step;   /* step in elements; 0 repeats the element */
    uint32_t count; /* at least 1 */
};

/*
 * A tile. In SBUF and PSUM, it covers `count` partitions: start, start + step, ...; in each, the
 * elements at offset + sum(index[i] * dim[i].step) * size of dtype. A variable has no
 * partitions, only dims. dim[0] is the innermost. The order of elements is partitions outermost,
 * then dim[dim_count - 1] ... dim[0]. A pattern has only dims, dtype int32 and offset 0.
 */
struct ntk_isa_operand {
    enum ntk_isa_space space; /* NONE: the operand is absent */
    enum ntk_dtype dtype;
    uint32_t var_id;          /* only for VAR, else NTK_ISA_NO_VAR */
    uint64_t offset;          /* byte offset inside each partition, or inside the variable */
    uint16_t partition_start; /* 0-127; 0 for VAR */
    uint16_t partition_count; /* 1-128; 0 for VAR */
    uint16_t partition_step;  /* normally 1; 0: all steps use the same partition; 0 for VAR */
    uint8_t dim_count;        /* 1-4 */
    struct ntk_isa_dim dim[NTK_ISA_DIMS_MAX];
};

/* Positions in operand[] (and bits of the operand masks below). */
enum ntk_isa_role {
    NTK_ISA_DST = 0,
    NTK_ISA_SRC0 = 1,
    NTK_ISA_SRC1 = 2,
    NTK_ISA_SRC2 = 3,
    NTK_ISA_DST2 = 4,
    NTK_ISA_SRC3 = 5,
};

/* An instruction. Fields that the operation does not use must be zero (semaphores:
 * NTK_ISA_NO_SEMAPHORE). */
struct ntk_isa_instr {
    enum ntk_isa_op op;
    uint8_t flags;    /* enum ntk_isa_flag */
    uint8_t op_flags; /* enum ntk_isa_op_flag */
    /* semaphore (or event) to wait for before the start; NTK_ISA_NO_SEMAPHORE = none */
    uint16_t wait_semaphore;
    uint16_t wait_value;
    uint16_t signal_semaphore; /* semaphore (or event) to signal after the end */
    uint16_t signal_value;     /* added to the semaphore */
    uint32_t name_id;          /* 1 + index in nsx.names of the engine JSON; 0 = no name */
    enum ntk_isa_alu op0;
    enum ntk_isa_alu op1;
    enum ntk_isa_alu reduce_op;
    enum ntk_isa_reduce_cmd reduce_cmd;
    enum ntk_isa_act act;
    uint8_t axis_count; /* tensor_reduce: how many dims, from the innermost, are reduced */
    uint16_t queue;     /* DMA: index of the queue set in def.json, in file order */
    uint32_t group_id;  /* dma_trigger: the group of transfers */
    uint32_t target;    /* compare_branch, call: the slot to jump to */
    uint8_t reg_to;     /* destination register: 1 + number; 0 none */
    uint8_t reg_a, reg_b;
    /* if ntk_isa_ends_later(): semaphore signalled when the data has arrived */
    uint16_t done_semaphore;
    uint16_t done_value;
    uint32_t imm[4]; /* immediate words: float32 bits or integers, depending on the operation */
    struct ntk_isa_operand operand[NTK_ISA_OPERAND_COUNT];
};

struct ntk_isa_op_info {
    uint16_t number;
    uint8_t opcode;
    uint8_t engines;  /* bit e: engine e may run it */
    uint8_t required; /* bit r: operand of role r must be present */
    uint8_t optional;
    bool implemented;
    const char *name;
};

/* An instruction without semaphores: only op is set. */
struct ntk_isa_instr ntk_isa_instr_make(enum ntk_isa_op op);

/* Checks fields, engine, operands and their extent. Returns 0, -EBADMSG, or -ENOTSUP for a known
 * operation that the software core does not execute yet. */
int ntk_isa_check(const struct ntk_isa_instr *instr, enum ntk_isa_engine engine,
                  struct ntk_err *err);
/* Checks the instruction, then writes *out_slots slots to bytes, which has room for
 * NTK_ISA_INSTR_BYTES_MAX. */
int ntk_isa_encode(const struct ntk_isa_instr *instr, enum ntk_isa_engine engine, uint8_t *bytes,
                   size_t *out_slots, struct ntk_err *err);
/* Reads the instruction at bytes. Returns -EBADMSG if it is not our encoding, is truncated, or
 * differs from the encoder's output; -ENOTSUP for a known operation that is not executed yet. */
int ntk_isa_decode(const uint8_t *bytes, size_t bytes_count, enum ntk_isa_engine engine,
                   struct ntk_isa_instr *out_instr, size_t *out_slots, struct ntk_err *err);

/* Returns NULL for numbers that are not in the table. */
const struct ntk_isa_op_info *ntk_isa_op_info_get(unsigned number);
const struct ntk_isa_op_info *ntk_isa_op_info_find(const char *name);
/* The row at an index, in table order; NULL after the last. */
const struct ntk_isa_op_info *ntk_isa_op_info_at(size_t index);

const char *ntk_isa_alu_name(unsigned alu);
enum ntk_isa_alu_kind ntk_isa_alu_kind_get(enum ntk_isa_alu alu);
bool ntk_isa_alu_reduces(enum ntk_isa_alu alu);
const char *ntk_isa_act_name(unsigned act);

/* The sources of dma_compute, in the order of their scales imm[0] .. imm[3]. */
#define NTK_ISA_DMA_SOURCES 4
extern const enum ntk_isa_role ntk_isa_dma_sources[NTK_ISA_DMA_SOURCES];

/* Returns true if the data arrives after the instruction has ended: dma_copy and related
 * operations. */
bool ntk_isa_ends_later(enum ntk_isa_op op);
enum ntk_isa_dge ntk_isa_dge_get(const struct ntk_isa_instr *instr);
/* Number of dimensions of an operand of dma_transpose, including the partitions. */
unsigned ntk_isa_transpose_rank(const struct ntk_isa_operand *operand);

/* The operands of a dma_indirect_copy that contain the indices of each side; NULL if that side has
 * none. For the source, imm[0] is the step from row to row and imm[1] the greatest index; for the
 * destination, imm[destination_imm] and the next one. */
struct ntk_isa_indexing {
    const struct ntk_isa_operand *of_source;
    const struct ntk_isa_operand *of_destination;
    unsigned destination_imm;
};
struct ntk_isa_indexing ntk_isa_indexing_get(const struct ntk_isa_instr *instr);

/* Return "?" or 0 for unknown numbers. */
const char *ntk_dtype_name(unsigned dtype);
size_t ntk_dtype_bytes(unsigned dtype);
bool ntk_dtype_is_float(unsigned dtype);
enum ntk_dtype ntk_dtype_find(const char *name); /* NTK_DTYPE_NONE when unknown */

/* The number of elements of the tile (all partitions) and of one partition, and the lowest and
 * one-past-highest byte that it touches inside a partition or variable. Extents of a checked
 * operand do not overflow. */
uint64_t ntk_isa_operand_elements(const struct ntk_isa_operand *operand);
uint64_t ntk_isa_operand_partition_elements(const struct ntk_isa_operand *operand);
void ntk_isa_operand_extent(const struct ntk_isa_operand *operand, int64_t *out_low,
                            int64_t *out_high);

/* Make dense tiles: partitions [start, start + count), elements without gaps. */
struct ntk_isa_operand ntk_isa_sbuf(uint64_t offset, unsigned partition_count, uint32_t elements,
                                    enum ntk_dtype dtype);
struct ntk_isa_operand ntk_isa_psum(uint64_t offset, unsigned partition_count, uint32_t elements,
                                    enum ntk_dtype dtype);
/* Makes a tile of rows x columns elements; rows are row_step elements apart. */
struct ntk_isa_operand ntk_isa_var(uint32_t var_id, uint64_t offset, uint32_t rows,
                                   int32_t row_step, uint32_t columns, enum ntk_dtype dtype);

uint32_t ntk_isa_float_bits(float value);
float ntk_isa_bits_float(uint32_t bits);
/* Combines imm[0] (low word) and imm[1] (high word). */
uint64_t ntk_isa_imm_u64(const struct ntk_isa_instr *instr);

#ifdef __cplusplus
}
#endif
#endif
