/* SPDX-License-Identifier: MIT */
/*
 * Hostile programs. Method: every byte of the binaries and every field of the descriptors of valid
 * programs is changed to many values. A damaged program is rejected with a message, or it runs to
 * some end: never outside of its memory (asan and the guard pages around the state buffer detect
 * that), and never forever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/hostile_program.h"
#include "tests/support/unit.h"

#define TIMEOUT_NS 10000000 /* a damaged program may jump back forever */

static const uint8_t spoils[] = { 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07, 0x08, 0x0a, 0x0f, 0x10,
                                  0x20, 0x2a, 0x3f, 0x40, 0x50, 0x58, 0x5d, 0x6e, 0x76, 0x7f, 0x80,
                                  0x81, 0xa4, 0xb8, 0xc0, 0xc2, 0xc6, 0xe0, 0xfe, 0xff };

static size_t refused;
static size_t ran;

/* Loads the program of the fixture and, if that succeeds, runs it. */
static void attempt(struct engine_fixture *f)
{
    int ret = engine_fixture_make(f);

    if (ret < 0) {
        assert_true(ret == -EBADMSG || ret == -ENOTSUP);
        assert_true(strlen(f->err.text) > 0);
        assert_null(f->program);
        refused++;
    } else {
        engine_fixture_run(f, NULL, TIMEOUT_NS);
        ran++;
    }
}

static int set_up(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    engine_fixture_queue(f, 16);
    engine_fixture_queue(f, 1);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 8192);
    engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 8192);
    engine_fixture_var(f, NTK_NEFF_VAR_POINTER, 8);
    *state = f;
    refused = ran = 0;
    return 0;
}

static int tear_down(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

static void a_program_with_any_corrupted_byte_ends_or_is_rejected(void **state)
{
    struct engine_fixture *f = *state;
    size_t sound = 0;

    for (size_t part = 0; part < HOSTILE_PARTS; part++) {
        hostile_make(f, part);
        sound = ran;
        attempt(f);
        assert_int_equal(ran, sound + 1); /* valid before it is damaged */
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            for (size_t at = 0; at < f->subgraph.engines[e].code_bytes; at++) {
                uint8_t keep = f->code[e][at];

                for (size_t s = 0; s < sizeof spoils; s++) {
                    f->code[e][at] = spoils[s];
                    attempt(f);
                }
                f->code[e][at] = keep;
            }
        }
    }
    assert_true(refused > 10000 && ran > 100);
}

static void a_slot_with_several_corrupted_bytes_ends_or_is_rejected(void **state)
{
    struct engine_fixture *f = *state;
    uint64_t random = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        if (i % (20000 / HOSTILE_PARTS) == 0) {
            hostile_make(f, (size_t)i / (20000 / HOSTILE_PARTS));
        }
        int e = (int)(engine_fixture_random(&random) % NTK_ISA_ENGINE_COUNT);
        size_t bytes = f->subgraph.engines[e].code_bytes;
        uint8_t keep[3];
        size_t at[3];

        if (bytes == 0) {
            continue;
        }
        at[0] = engine_fixture_random(&random) % bytes;
        at[1] = at[0] / 64 * 64 + engine_fixture_random(&random) % 64;
        at[2] = at[0] / 64 * 64 + engine_fixture_random(&random) % 64;
        for (int k = 0; k < 3; k++) {
            keep[k] = f->code[e][at[k]];
            f->code[e][at[k]] = (uint8_t)(engine_fixture_random(&random) >> 9);
        }
        attempt(f);
        for (int k = 3; k-- > 0;) {
            f->code[e][at[k]] = keep[k];
        }
    }
    assert_true(refused > 1000);
}

static void a_truncated_program_is_rejected_or_ends_early(void **state)
{
    struct engine_fixture *f = *state;

    for (size_t part = 0; part < HOSTILE_PARTS; part++) {
        hostile_make(f, part);
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            size_t whole = f->subgraph.engines[e].code_bytes;

            for (size_t bytes = 0; bytes <= whole; bytes++) {
                f->subgraph.engines[e].code_bytes = bytes;
                f->subgraph.engines[e].is_empty = bytes == 0;
                attempt(f);
                if (bytes % 64 != 0) {
                    assert_null(f->program);
                }
            }
            f->subgraph.engines[e].is_empty = whole == 0;
        }
    }
}

static const uint64_t numbers[] = { 0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    7,
                                    8,
                                    9,
                                    15,
                                    63,
                                    64,
                                    127,
                                    128,
                                    129,
                                    255,
                                    256,
                                    4095,
                                    8191,
                                    8192,
                                    65536,
                                    131072,
                                    196607,
                                    196608,
                                    262143,
                                    262144,
                                    262145,
                                    33292288,
                                    33554432,
                                    INT32_MAX,
                                    UINT32_MAX,
                                    (uint64_t)UINT32_MAX + 1,
                                    INT64_MAX,
                                    (uint64_t)INT64_MAX + 1,
                                    UINT64_MAX - 4095,
                                    UINT64_MAX - 262143,
                                    UINT64_MAX - 1,
                                    UINT64_MAX };
#define NUMBER_COUNT (sizeof numbers / sizeof numbers[0])

/* Writes every number to a field of any width, and restores it. */
static void spoil_field(struct engine_fixture *f, void *field, size_t bytes)
{
    uint8_t keep[8];

    memcpy(keep, field, bytes);
    for (size_t n = 0; n < NUMBER_COUNT; n++) {
        memcpy(field, &numbers[n], bytes); /* little-endian: the low bytes */
        attempt(f);
    }
    memcpy(field, keep, bytes);
}

static void spoil_pattern(struct engine_fixture *f, struct ntk_neff_pattern *p)
{
    spoil_field(f, &p->var, sizeof p->var);
    spoil_field(f, &p->dtype, sizeof p->dtype);
    spoil_field(f, &p->offset, sizeof p->offset);
    spoil_field(f, &p->dim_count, sizeof p->dim_count);
    for (int d = 0; d < NTK_NEFF_TRANSFER_DIMS_MAX; d++) {
        spoil_field(f, &p->steps[d], sizeof p->steps[d]);
        spoil_field(f, &p->sizes[d], sizeof p->sizes[d]);
    }
}

static void a_descriptor_with_any_corrupted_field_ends_or_is_rejected(void **state)
{
    static const enum ntk_neff_transfer_op ops[] = {
        NTK_NEFF_TRANSFER_COPY,      NTK_NEFF_TRANSFER_CAST, NTK_NEFF_TRANSFER_ADD,
        NTK_NEFF_TRANSFER_MIN,       NTK_NEFF_TRANSFER_MAX,  NTK_NEFF_TRANSFER_FMA,
        NTK_NEFF_TRANSFER_TRANSPOSE,
    };
    struct engine_fixture *f = *state;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_neff_transfer *t = hostile_group(f);
    struct ntk_neff_dma_group *group = &f->groups[NTK_ISA_ENGINE_PE][0];

    trigger.group_id = 3;
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &trigger);
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
        for (int direction = 0; direction < 3; direction++) {
            t->op = ops[o];
            t->from->dtype = t->to.dtype = NTK_DTYPE_FLOAT32;
            t->to.var = direction == 0 ? 0 : 2;
            t->from->var = direction == 1 ? 0 : direction == 2 ? 2 : 1;
            t->to.steps[1] = direction == 0 ? (int64_t)NTK_NEFF_SBUF_PARTITION_STEP : 128;
            t->from->steps[1] = direction == 1 ? (int64_t)NTK_NEFF_SBUF_PARTITION_STEP : 128;
            t->transpose_element_bytes = 4;
            memcpy(t->transpose_order, "WZXY", 5);
            t->transpose_shape[0] = 1;
            t->transpose_shape[1] = 2;
            t->transpose_shape[2] = 16;
            t->transpose_shape[3] = 4;
            t->has_source_array =
                ops[o] >= NTK_NEFF_TRANSFER_ADD && ops[o] <= NTK_NEFF_TRANSFER_FMA;
            t->source_count = t->has_source_array ? 3 : 1;
            t->from[1] = t->from[0]; /* a second source, and one that is the destination */
            t->from[2] = t->to;
            ran = 0;
            attempt(f);
            assert_int_equal(ran, 1);
            spoil_pattern(f, &t->to);
            spoil_pattern(f, t->from);
            spoil_pattern(f, &t->from[2]);
            spoil_field(f, &t->transpose_element_bytes, 4);
            for (int d = 0; d < 4; d++) {
                spoil_field(f, &t->transpose_shape[d], 4);
                spoil_field(f, &t->transpose_order[d], 1);
            }
            spoil_field(f, &t->scales[0], 4);
            t->has_constant = true;
            t->constant_dtype = NTK_DTYPE_FLOAT32;
            spoil_field(f, &t->constant, 8);
            t->has_constant = false;
        }
    }
    spoil_field(f, &group->id, 4);
    spoil_field(f, &group->semaphore, 4);
    spoil_field(f, &group->event, 4);
    t->source_count = 0;
    attempt(f);
    t->source_count = 17;
    attempt(f);
    assert_null(f->program);
}

static void a_pointer_to_an_object_without_memory_is_rejected(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 8, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(3, 0, 1, 8, 8, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: source 0: pointer 3 refers to an object without memory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_with_any_corrupted_byte_ends_or_is_rejected),
        TEST(a_slot_with_several_corrupted_bytes_ends_or_is_rejected),
        TEST(a_truncated_program_is_rejected_or_ends_early),
        TEST(a_descriptor_with_any_corrupted_field_ends_or_is_rejected),
        TEST(a_pointer_to_an_object_without_memory_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
