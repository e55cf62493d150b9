/* SPDX-License-Identifier: MIT */
/*
 * kernel_tile - operations of the compute engines on tiles of state buffer and PSUM.
 *
 * docs/isa.md describes what each operation computes. A kernel reads one row (= partition) after
 * the other into float32, computes, and writes back rounded values; a dense float32 row is used in
 * place. The caller first copies sources that overlap a destination in another partition
 * (engine_program.c finds them at load); within one partition a kernel reads everything before it
 * writes.
 *
 * Every kernel returns true if it wrote a NaN to a float destination.
 *
 * Threads: any; only accesses the caller's memory; scratch belongs to one call at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_TILE_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/engine/kernel_random.h"
#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_tile {
    uint8_t *base;   /* first element of the first partition; NULL: no tile */
    ptrdiff_t pitch; /* distance to the tile's next partition in bytes; 0 repeats the partition */
    enum ntk_dtype dtype;
    uint8_t fp8;           /* enum ntk_kernel_fp8 */
    struct ntk_rng *noise; /* for stochastic rounding of written floats; NULL: round to nearest */
    uint32_t partitions;
    uint32_t elements; /* per partition: the product of the counts */
    uint8_t dim_count; /* after merging dense dimensions */
    uint32_t count[NTK_ISA_DIMS_MAX];
    ptrdiff_t step[NTK_ISA_DIMS_MAX]; /* in bytes */
    bool is_dense;                    /* all elements of a partition are contiguous */
};

/* Memory for rows of 8-byte elements and for the packed tiles of a matmul. */
#define NTK_TILE_SCRATCH_ROWS 4
struct ntk_tile_scratch {
    void *row[NTK_TILE_SCRATCH_ROWS]; /* row_elements x 8 bytes each */
    uint32_t row_elements;
    float *stationary; /* 128 x 128 */
    float *moving;     /* 128 x 512 */
    float *product;    /* 128 x 512 */
};

/* A scalar operand: one value per partition, or the same immediate for all. */
struct ntk_tile_scalar {
    struct ntk_tile column; /* base NULL: use the immediate */
    float f32;
    int64_t bits;
};

/* Read or write one row as numbers; there must be room for all of its elements. Writing floats
 * returns whether there was a NaN. */
void ntk_tile_read_f32(const struct ntk_tile *tile, uint32_t partition, float *to);
bool ntk_tile_write_f32(const struct ntk_tile *tile, uint32_t partition, const float *from);
void ntk_tile_read_i64(const struct ntk_tile *tile, uint32_t partition, int64_t *to);
void ntk_tile_write_i64(const struct ntk_tile *tile, uint32_t partition, const int64_t *from);
void ntk_tile_write_bits(const struct ntk_tile *tile, uint32_t partition, const int64_t *from);

struct ntk_tile_reduce { /* done after an element-wise operation; column.base NULL: none */
    struct ntk_tile column;
    enum ntk_isa_alu op;
    bool from_old; /* start from the column's old value */
};

bool ntk_tile_activation(const struct ntk_tile *to, const struct ntk_tile *from,
                         enum ntk_isa_act function, const struct ntk_tile_scalar *scale,
                         const struct ntk_tile_scalar *bias, float alpha,
                         const struct ntk_tile_reduce *reduce,
                         const struct ntk_tile_scratch *scratch);
bool ntk_tile_tensor_tensor(const struct ntk_tile *to, enum ntk_isa_alu op,
                            const struct ntk_tile *a, const struct ntk_tile *b,
                            const struct ntk_tile_scratch *scratch);

struct ntk_tile_stage { /* computes t op scalar, or scalar op t */
    enum ntk_isa_alu op;
    bool reverse;
    struct ntk_tile_scalar scalar;
};

/* Computes f((from first scalar) second scalar). A stage with op NONE is skipped; the operators
 * work on numbers. */
bool ntk_tile_activate2(const struct ntk_tile *to, const struct ntk_tile *from,
                        enum ntk_isa_act function, float alpha, const struct ntk_tile_stage *first,
                        const struct ntk_tile_stage *second, const struct ntk_tile_reduce *reduce,
                        const struct ntk_tile_scratch *scratch);

/* second.op NONE: only one stage. */
bool ntk_tile_tensor_scalar(const struct ntk_tile *to, const struct ntk_tile *from,
                            const struct ntk_tile_stage *first, const struct ntk_tile_stage *second,
                            const struct ntk_tile_reduce *reduce,
                            const struct ntk_tile_scratch *scratch);
/* Computes (a op0 scalar) op1 b, each with reversed operands if its flag is set. */
bool ntk_tile_scalar_tensor_tensor(const struct ntk_tile *to, const struct ntk_tile *a,
                                   const struct ntk_tile_stage *first, enum ntk_isa_alu op1,
                                   bool reverse1, const struct ntk_tile *b,
                                   const struct ntk_tile_scratch *scratch);
/* Reduces to->elements groups of group elements each. */
bool ntk_tile_tensor_reduce(const struct ntk_tile *to, const struct ntk_tile *from,
                            enum ntk_isa_alu op, uint32_t group, bool negate,
                            const struct ntk_tile_scratch *scratch);
bool ntk_tile_copy(const struct ntk_tile *to, const struct ntk_tile *from,
                   const struct ntk_tile_scratch *scratch);
bool ntk_tile_memset(const struct ntk_tile *to, float f32, uint64_t bits,
                     const struct ntk_tile_scratch *scratch);
/* Computes value(p, i) = base + p x multiplier + index of the pattern; counts and steps are
 * innermost first. */
bool ntk_tile_iota(const struct ntk_tile *to, int64_t base, int64_t multiplier,
                   const uint32_t *counts, const int32_t *steps, unsigned dim_count,
                   const struct ntk_tile_scratch *scratch);
bool ntk_tile_reciprocal(const struct ntk_tile *to, const struct ntk_tile *from,
                         const struct ntk_tile_scratch *scratch);
bool ntk_tile_max8(const struct ntk_tile *to, const struct ntk_tile *from,
                   const struct ntk_tile_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
