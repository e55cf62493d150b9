/* SPDX-License-Identifier: MIT */
/* Copies and transposes by DMA, compared with the model. */
#include <string.h>

#include "tests/runtime-hooks/engine/dma_model.h"
#include "tests/support/unit.h"

static void a_copy_between_any_two_memories_equals_a_naive_implementation(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_UINT8, NTK_DTYPE_BFLOAT16, NTK_DTYPE_INT32,
                                             NTK_DTYPE_UINT64 };
    struct engine_fixture *f = *state;
    struct dma_model m;

    for (int round = 0; round < 400; round++) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
        enum ntk_dtype dtype = dtypes[dma_pick(4)];
        uint32_t count = dma_any_count();

        copy.queue = (uint16_t)dma_pick(2);
        copy.operand[NTK_ISA_DST] = dma_any_operand(dma_any_space(), count, dtype);
        copy.operand[NTK_ISA_SRC0] = dma_any_operand(dma_any_space(), count, dtype);
        dma_model_fill(f, &m);
        assert_int_equal(dma_run(f, &copy), NTK_RUN_OK);
        dma_model_copy(&m, &copy.operand[NTK_ISA_DST], &copy.operand[NTK_ISA_SRC0], NULL);
        dma_model_expect(f, &m, &copy);
    }
}

static void a_copy_converts_from_every_dtype_to_every_other(void **state)
{
    struct engine_fixture *f = *state;
    struct dma_model m;

    for (unsigned a = 0; a < DMA_FORMATS; a++) {
        for (unsigned b = 0; b < DMA_FORMATS; b++) {
            struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
            struct ntk_isa_operand *to = &copy.operand[NTK_ISA_DST];
            struct ntk_isa_operand *from = &copy.operand[NTK_ISA_SRC0];

            *to = ntk_isa_psum(8, 8, 8, dma_formats[b].dtype);
            *from = ntk_isa_sbuf(16, 64, 1, dma_formats[a].dtype);
            dma_model_fill(f, &m);
            for (unsigned n = 0; n < 64; n++) {
                dma_put(dma_model_element(&m, from, n), a, n * 5 % 8);
            }
            memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
            assert_int_equal(dma_run(f, &copy), NTK_RUN_OK);
            for (unsigned n = 0; n < 64; n++) {
                dma_put(dma_model_element(&m, to, n), b, n * 5 % 8);
            }
            dma_model_expect(f, &m, &copy);
        }
    }
}

static void a_transpose_of_any_order_equals_a_naive_implementation(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_INT8, NTK_DTYPE_FLOAT16, NTK_DTYPE_FLOAT32 };
    struct engine_fixture *f = *state;
    struct dma_model m;
    static uint32_t order[ELEMENTS_MAX];

    for (int round = 0; round < 300; round++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRANSPOSE);
        struct ntk_isa_operand *from = &instr.operand[NTK_ISA_SRC0];
        enum ntk_dtype dtype = dtypes[dma_pick(3)];
        uint32_t count = dma_any_count();
        unsigned shape[4] = { 0 };
        unsigned axis[4] = { 0, 1, 2, 3 };
        unsigned rank;

        do {
            *from = dma_any_operand(dma_any_space(), count, dtype);
            rank = ntk_isa_transpose_rank(from);
        } while (rank > 4);
        for (unsigned d = 0; d < rank; d++) { /* outermost first */
            shape[d] = d == 0 && rank > from->dim_count ? from->partition_count
                                                        : from->dim[rank - 1 - d].count;
        }
        for (unsigned d = rank; d-- > 1;) {
            unsigned other = dma_pick(d + 1);
            unsigned kept = axis[d];

            axis[d] = axis[other];
            axis[other] = kept;
        }
        for (unsigned d = 0; d < rank; d++) {
            instr.imm[0] |= axis[d] << (8 * d);
        }
        /* The n-th element of the result, by its indices. */
        for (uint32_t n = 0; n < count; n++) {
            unsigned index[4] = { 0 };
            uint32_t rest = n;

            for (unsigned d = rank; d-- > 0;) {
                index[axis[d]] = rest % shape[axis[d]];
                rest /= shape[axis[d]];
            }
            order[n] = 0;
            for (unsigned d = 0; d < rank; d++) {
                order[n] = order[n] * shape[d] + index[d];
            }
        }
        instr.operand[NTK_ISA_DST] = dma_any_operand(dma_any_space(), count, dtype);
        dma_model_fill(f, &m);
        assert_int_equal(dma_run(f, &instr), NTK_RUN_OK);
        dma_model_copy(&m, &instr.operand[NTK_ISA_DST], from, order);
        dma_model_expect(f, &m, &instr);
    }
}

static void a_dma_transpose_runs_at_90_percent_of_copy_speed(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    uint64_t copy_ns;

    f->queue_sets[QUEUE].queue_count = 1;
    instr.operand[NTK_ISA_DST] = ntk_isa_var(Y, 0, 1, 0, VAR_BYTES / 2, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 64, 32, 32, NTK_DTYPE_BFLOAT16);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    copy_ns = f->result.duration_ns - 1300 - 54; /* latency; 64 cycles to start it */
    engine_fixture_clear(f);
    instr.op = NTK_ISA_OP_DMA_TRANSPOSE;
    instr.imm[0] = 0x0001;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_in_range((f->result.duration_ns - 1300 - 54) * 9, copy_ns * 10 - 20, copy_ns * 10 + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DMA_TEST(a_copy_between_any_two_memories_equals_a_naive_implementation),
        DMA_TEST(a_copy_converts_from_every_dtype_to_every_other),
        DMA_TEST(a_transpose_of_any_order_equals_a_naive_implementation),
        DMA_TEST(a_dma_transpose_runs_at_90_percent_of_copy_speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
