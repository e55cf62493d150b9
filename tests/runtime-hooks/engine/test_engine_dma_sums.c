/* SPDX-License-Identifier: MIT */
/* Sums of several sources by DMA, compared with the model. */
#include <errno.h>
#include <string.h>

#include "tests/runtime-hooks/engine/dma_model.h"
#include "tests/support/unit.h"

static unsigned fold(enum ntk_isa_alu op, unsigned a, unsigned b)
{
    switch (op) {
    case NTK_ISA_ALU_MINIMUM:
        return a < b ? a : b;
    case NTK_ISA_ALU_MAXIMUM:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

/* Method: numbers so small that every sum of scaled sources is at most 7. */
static void sums_in_dma_equal_the_naive_sum_in_every_dtype(void **state)
{
    struct engine_fixture *f = *state;
    struct dma_model m;

    for (int round = 0; round < 400; round++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COMPUTE);
        struct ntk_isa_operand *to = &instr.operand[NTK_ISA_DST];
        unsigned to_format = dma_pick(DMA_FORMATS);
        uint32_t count = dma_any_count() / 4 + 1;
        int sources = 1 + (int)dma_pick(NTK_ISA_DMA_SOURCES);
        unsigned formats_of[NTK_ISA_DMA_SOURCES];
        unsigned result[128];

        instr.op0 = (enum ntk_isa_alu[]){ NTK_ISA_ALU_ADD, NTK_ISA_ALU_MINIMUM,
                                          NTK_ISA_ALU_MAXIMUM }[dma_pick(3)];
        instr.op_flags = dma_pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0;
        /* Sources in SBUF and X, one after another; the destination is elsewhere. */
        *to = ntk_isa_psum(8, count, 1, dma_formats[to_format].dtype);
        if (dma_pick(2)) {
            *to = ntk_isa_var(Y, 64, count, 2, 1, dma_formats[to_format].dtype);
        }
        dma_model_fill(f, &m);
        for (uint32_t n = 0; n < count; n++) {
            result[n] = dma_pick(2);
            dma_put(dma_model_element(&m, to, n), to_format, result[n]);
        }
        for (int s = 0; s < sources; s++) {
            struct ntk_isa_operand *from = &instr.operand[ntk_isa_dma_sources[s]];
            unsigned scale = instr.op0 == NTK_ISA_ALU_ADD && sources < 4 ? 1 + dma_pick(2) : 1;

            formats_of[s] = dma_pick(DMA_FORMATS);
            *from = s % 2 ? ntk_isa_var(X, (uint64_t)s * 1000, count, 1, 1,
                                        dma_formats[formats_of[s]].dtype)
                          : ntk_isa_sbuf((uint64_t)s * 8, 1, 1, dma_formats[formats_of[s]].dtype);
            if (s % 2 == 0) {
                from->partition_count = (uint16_t)count;
            }
            if (instr.op0 == NTK_ISA_ALU_ADD) {
                instr.imm[s] = ntk_isa_float_bits((float)scale);
            }
            for (uint32_t n = 0; n < count; n++) {
                unsigned value = dma_pick(2);

                dma_put(dma_model_element(&m, from, n), formats_of[s], value);
                result[n] = s == 0 && !instr.op_flags ? value * scale
                                                      : fold(instr.op0, result[n], value * scale);
            }
        }
        memcpy(engine_fixture_memory(f, X), m.x, VAR_BYTES);
        memcpy(engine_fixture_memory(f, Y), m.y, VAR_BYTES);
        memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
        memcpy(engine_fixture_memory(f, PS), m.psum, sizeof m.psum);
        assert_int_equal(dma_run(f, &instr), NTK_RUN_OK);
        for (uint32_t n = 0; n < count; n++) {
            dma_put(dma_model_element(&m, to, n), to_format, result[n]);
        }
        dma_model_expect(f, &m, &instr);
    }
}

static void descriptors_fold_up_to_sixteen_sources(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);

    for (uint32_t sources = 1; sources <= 17; sources++) {
        struct ntk_neff_transfer *t;
        float *x = engine_fixture_memory(f, X);
        const float *y = engine_fixture_memory(f, Y);

        engine_fixture_clear(f);
        t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);
        t->op = NTK_NEFF_TRANSFER_FMA;
        t->has_source_array = true;
        t->source_count = sources;
        t->to = (struct ntk_neff_pattern){
            .var = Y, .dtype = NTK_DTYPE_FLOAT32, .dim_count = 1, .steps = { 1 }, .sizes = { 40 }
        };
        for (uint32_t s = 0; s < sources && s < FIXTURE_SOURCES; s++) {
            t->from[s] = t->to;
            t->from[s].var = X;
            t->from[s].offset = s * 48;
            t->scales[s] = (float)(s + 1);
            for (uint32_t n = 0; n < 10; n++) {
                x[s * 12 + n] = (float)(n + s);
            }
        }
        trigger.group_id = 0;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
        if (sources > NTK_NEFF_TRANSFER_SOURCES_MAX) {
            assert_int_equal(engine_fixture_make(f), -EBADMSG);
            break;
        }
        assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
        for (uint32_t n = 0; n < 10; n++) {
            float sum = 0;

            for (uint32_t s = 0; s < sources; s++) {
                sum += (float)((n + s) * (s + 1));
            }
            assert_true(y[n] == sum);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DMA_TEST(sums_in_dma_equal_the_naive_sum_in_every_dtype),
        DMA_TEST(descriptors_fold_up_to_sixteen_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
