/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/ops_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "tests/support/unit.h"

int ops_setup(void **state)
{
    struct ops *s = calloc(1, sizeof *s);

    assert_non_null(s);
    engine_fixture_init(&s->f, 2);
    s->queue = engine_fixture_queue(&s->f, 16);
    s->a = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->b = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->c = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->d = engine_fixture_var(&s->f, NTK_NEFF_VAR_OUTPUT, PARTITIONS * ROW_BYTES);
    s->e = engine_fixture_var(&s->f, NTK_NEFF_VAR_OUTPUT, PARTITIONS * ROW_BYTES);
    s->random = 88172645463325252u;
    *state = s;
    return 0;
}

int ops_teardown(void **state)
{
    struct ops *s = *state;

    engine_fixture_fini(&s->f);
    free(s);
    return 0;
}

double ops_uniform(struct ops *s, double low, double high)
{
    return low +
           (high - low) * ((double)(engine_fixture_random(&s->random) >> 11) / 9007199254740992.0);
}

void ops_fill(struct ops *s, uint32_t var, enum ntk_dtype dtype, unsigned rows, uint32_t n,
              uint32_t row_bytes, double low, double high)
{
    uint8_t *memory = engine_fixture_memory(&s->f, var);

    for (unsigned p = 0; p < rows; p++) {
        for (uint32_t i = 0; i < n; i++) {
            float value = (float)ops_uniform(s, low, high);

            ntk_kernel_from_f32(dtype, &value, 1,
                                memory + (size_t)p * row_bytes + i * ntk_dtype_bytes(dtype), 8);
        }
    }
}

double ops_value(struct ops *s, uint32_t var, enum ntk_dtype dtype, unsigned row, uint32_t index,
                 uint32_t row_bytes)
{
    const uint8_t *memory = engine_fixture_memory(&s->f, var);
    float value;

    ntk_kernel_to_f32(dtype, memory + (size_t)row * row_bytes + index * ntk_dtype_bytes(dtype), 8,
                      1, &value);
    return value;
}

void ops_whole_numbers(struct ops *s, uint32_t var, unsigned rows, uint32_t n, double low,
                       double high)
{
    float *memory = engine_fixture_memory(&s->f, var);

    for (size_t i = 0; i < (size_t)rows * n; i++) {
        memory[i] = (float)floor(ops_uniform(s, low, high + 0.999));
    }
}

void ops_near(double actual, double expected, double relative, double absolute, const char *what,
              double x)
{
    if (isnan(expected) ? !isnan(actual)
                        : !(fabs(actual - expected) <= relative * fabs(expected) + absolute) &&
                              actual != expected) {
        fail_msg("%s of %.9g is %.9g, not %.9g", what, x, expected, actual);
    }
}

enum ntk_engine_outcome ops_run(struct ops *s, const struct work *w)
{
    engine_fixture_clear(&s->f);
    if (w->bytes_a) {
        engine_fixture_load(&s->f, s->queue, s->a, A_AT, w->rows_a, w->bytes_a);
    }
    if (w->bytes_b) {
        engine_fixture_load(&s->f, s->queue, s->b, B_AT, w->rows_b, w->bytes_b);
    }
    if (w->bytes_c) {
        engine_fixture_load(&s->f, s->queue, s->c, C_AT, w->rows_c, w->bytes_c);
    }
    engine_fixture_step(&s->f, w->engine, w->instr);
    if (w->instr.operand[NTK_ISA_DST].space == NTK_ISA_SPACE_PSUM) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

        copy.operand[NTK_ISA_SRC0] = w->instr.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST] = w->instr.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST].space = NTK_ISA_SPACE_SBUF;
        copy.operand[NTK_ISA_DST].offset = D_AT;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    }
    engine_fixture_store(&s->f, s->queue, s->d, D_AT, w->rows_d, w->bytes_d);
    if (w->bytes_e) {
        engine_fixture_store(&s->f, s->queue, s->e, E_AT, w->rows_e, w->bytes_e);
    }
    return engine_fixture_run(&s->f, NULL, 0);
}

void work_element_wise(struct work *w, enum ntk_isa_op op, enum ntk_isa_engine engine,
                       unsigned rows, uint32_t n, enum ntk_dtype from, enum ntk_dtype to)
{
    memset(w, 0, sizeof *w);
    w->engine = engine;
    w->instr = ntk_isa_instr_make(op);
    w->instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, n, to);
    w->instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows, n, from);
    w->rows_a = w->rows_b = w->rows_c = w->rows_d = w->rows_e = rows;
    w->bytes_a = n * (uint32_t)ntk_dtype_bytes(from);
    w->bytes_d = n * (uint32_t)ntk_dtype_bytes(to);
}
