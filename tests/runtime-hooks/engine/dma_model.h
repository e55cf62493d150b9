/* SPDX-License-Identifier: MIT */
/*
 * dma_model - every memory that DMA reaches, twice. Both are filled with random bytes; an
 * instruction changes one on the engine, and a simple model changes the other element by element,
 * without walks and runs. Then all bytes of all memories must be equal.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_DMA_MODEL_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_DMA_MODEL_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

enum {
    X = 1, /* variables */
    Y = 2,
    SB = 3, /* copied into the state buffer and back */
    PS = 4, /* the same for PSUM */
    TABLE = 5,
    POINTER = 6,
    VAR_BYTES = 4096,
    ROW_BYTES = 96, /* used bytes of a partition */
    PARTITIONS = NTK_ISA_PARTITIONS,
    QUEUE = 0,   /* for loads and stores */
    DYNAMIC = 1, /* for the tested instructions */
    ELEMENTS_MAX = 2048,
};

struct dma_model {
    uint8_t x[VAR_BYTES], y[VAR_BYTES];
    uint8_t sbuf[PARTITIONS][ROW_BYTES], psum[PARTITIONS][ROW_BYTES];
};

#define DMA_TEST(name) cmocka_unit_test_setup_teardown(name, dma_setup, dma_teardown)

/* Every dtype. */
enum { DMA_FORMATS = NTK_DTYPE_COUNT - 1 };
extern const struct dma_format {
    enum ntk_dtype dtype;
    unsigned exponent_bias, mantissa_bits; /* 0: integer */
} dma_formats[DMA_FORMATS];

uint32_t dma_pick(uint32_t below);
int dma_setup(void **state);
int dma_teardown(void **state);

/* The n-th element of an operand, partitions outermost, dim[0] innermost. */
uint8_t *dma_model_element(struct dma_model *m, const struct ntk_isa_operand *operand, uint64_t n);
void dma_model_fill(struct engine_fixture *f, struct dma_model *m);

/* Copies all memories in, runs the instruction, copies all memories back. */
enum ntk_engine_outcome dma_run(struct engine_fixture *f, const struct ntk_isa_instr *instr);
void dma_model_expect(struct engine_fixture *f, const struct dma_model *m,
                      const struct ntk_isa_instr *instr);

/* An operand of this number of elements somewhere in the space, in dimensions with any steps. */
struct ntk_isa_operand dma_any_operand(enum ntk_isa_space space, uint32_t elements,
                                       enum ntk_dtype dtype);
enum ntk_isa_space dma_any_space(void);
uint32_t dma_any_count(void);
void dma_put(uint8_t *at, unsigned format, unsigned value);
void dma_model_copy(struct dma_model *m, const struct ntk_isa_operand *to,
                    const struct ntk_isa_operand *from, const uint32_t *order);

#endif
