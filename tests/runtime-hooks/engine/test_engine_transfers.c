/* SPDX-License-Identifier: MIT */
/* Transfers of a DMA group that compute: sums, casts, transposes. */
#include <math.h>
#include <string.h>

#include "tests/runtime-hooks/engine/ops_fixture.h"
#include "tests/support/unit.h"

static struct ntk_neff_pattern row(uint32_t var, uint64_t offset, enum ntk_dtype dtype,
                                   uint64_t bytes)
{
    return (struct ntk_neff_pattern){ .var = var,
                                      .dtype = dtype,
                                      .offset = offset,
                                      .dim_count = 1,
                                      .steps = { 1 },
                                      .sizes = { bytes } };
}

/* One group, triggered once; d initially holds 1, 2, 3 ... */
static struct ntk_neff_transfer *transfer_begin(struct ops *s, enum ntk_neff_transfer_op op,
                                                uint64_t bytes)
{
    struct ntk_neff_transfer *t;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    float *d = engine_fixture_memory(&s->f, s->d);

    for (int i = 0; i < 64; i++) {
        d[i] = (float)(i + 1);
    }
    ops_whole_numbers(s, s->a, 1, 64, -9, 9);
    ops_whole_numbers(s, s->b, 1, 64, -9, 9);
    engine_fixture_clear(&s->f);
    t = engine_fixture_group(&s->f, NTK_ISA_ENGINE_POOL, s->queue, 7, 0xffff);
    t->op = op;
    t->to = row(s->d, 0, NTK_DTYPE_FLOAT32, bytes);
    t->from[0] = row(s->a, 0, NTK_DTYPE_FLOAT32, bytes);
    trigger.queue = (uint16_t)s->queue;
    trigger.group_id = 7;
    engine_fixture_emit(&s->f, NTK_ISA_ENGINE_POOL, &trigger);
    return t;
}

static void a_single_source_is_added_to_the_destination(void **state)
{
    struct ops *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t;

    transfer_begin(s, NTK_NEFF_TRANSFER_ADD, 256);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i + 1) + a[i]);
    }
    assert_int_equal(s->f.result.hbm_read_bytes, 512); /* the destination is read too */
    assert_int_equal(s->f.result.hbm_write_bytes, 256);
    t = transfer_begin(s, NTK_NEFF_TRANSFER_FMA, 256);
    t->scales[0] = 2.5F;
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i + 1) + 2.5F * a[i]);
    }
    transfer_begin(s, NTK_NEFF_TRANSFER_MIN, 256);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == fminf((float)(i + 1), a[i]));
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_MAX, 256);
    t->has_constant = true;
    t->constant_dtype = NTK_DTYPE_FLOAT32;
    t->constant = 2.0;
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == fmaxf(2.0F, a[i]));
    }
}

static void a_list_of_sources_is_reduced_into_the_destination(void **state)
{
    struct ops *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *b = engine_fixture_memory(&s->f, s->b);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_FMA, 256);

    t->has_source_array = true;
    t->source_count = 16;
    for (int k = 0; k < 16; k++) {
        t->from[k] = row(k % 2 ? s->b : s->a, 0, NTK_DTYPE_FLOAT32, 256);
        t->scales[k] = (float)k;
    }
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == 56 * a[i] + 64 * b[i]); /* 0 + 2 + .. + 14, 1 + 3 + .. + 15 */
    }
}

static void a_transfer_can_cast_and_transpose(void **state)
{
    struct ops *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const void *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_CAST, 256);

    t->to = row(s->d, 1, NTK_DTYPE_INT8, 64); /* from byte 1, so nothing is aligned */
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(((const int8_t *)d)[i + 1], (int)a[i]);
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_TRANSPOSE, 256);
    t->transpose_shape[0] = t->transpose_shape[1] = 1;
    t->transpose_shape[2] = 4;
    t->transpose_shape[3] = 16;
    t->transpose_element_bytes = 4;
    memcpy(t->transpose_order, "WZXY", 5);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 16; x++) {
            assert_true(((const float *)d)[x * 4 + y] == a[y * 16 + x]);
        }
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_TRANSPOSE, 256);
    t->transpose_shape[0] = t->transpose_shape[1] = 1;
    t->transpose_shape[2] = 4;
    t->transpose_shape[3] = 8; /* two tiles */
    t->transpose_element_bytes = 4;
    memcpy(t->transpose_order, "WZXY", 5);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int n = 0; n < 64; n++) {
        assert_true(((const float *)d)[n] == a[n / 32 * 32 + n % 4 * 8 + n % 32 / 4]);
    }
}

/* Method: a rotation of a row within one variable, as two overlapping dimensions that no memmove
 * can copy. */
static void a_transfer_onto_its_source_reads_before_it_writes(void **state)
{
    struct ops *s = *state;
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_COPY, 256);
    const float *d = engine_fixture_memory(&s->f, s->d);

    t->from[0] = row(s->d, 0, NTK_DTYPE_UINT8, 4);
    t->from[0].dim_count = 2;
    t->from[0].steps[1] = 8;
    t->from[0].sizes[1] = 30;
    t->to = row(s->d, 16, NTK_DTYPE_UINT8, 120);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i < 4 || i >= 34 ? i + 1 : 2 * (i - 4) + 1));
    }
}

/* One of many sources overlaps: only that one is copied first, and the buffer has no room for more.
 * */
static void a_sum_may_be_written_to_one_of_its_sources(void **state)
{
    struct ops *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_ADD, 128);

    t->has_source_array = true;
    t->source_count = 16;
    for (int k = 0; k < 15; k++) {
        t->from[k] = row(s->a, 0, NTK_DTYPE_FLOAT32, 128);
    }
    t->from[15] = row(s->d, 0, NTK_DTYPE_FLOAT32, 128);
    t->to = row(s->d, 4, NTK_DTYPE_FLOAT32, 128); /* shifted by one element */
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 32; i++) {
        assert_true(d[i + 1] == 15 * a[i] + (float)(i + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(a_single_source_is_added_to_the_destination),
        OPS_TEST(a_list_of_sources_is_reduced_into_the_destination),
        OPS_TEST(a_transfer_can_cast_and_transpose),
        OPS_TEST(a_transfer_onto_its_source_reads_before_it_writes),
        OPS_TEST(a_sum_may_be_written_to_one_of_its_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
