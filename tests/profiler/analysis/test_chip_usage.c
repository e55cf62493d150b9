/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made hardware slots and copies of the open encoding between places, with uses that
 * are known without a program; and random ones, checked byte by byte.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/chip_usage.h"
#include "tests/profiler/analysis/hand_copies.h"
#include "tests/support/unit.h"

#define SBUF_BYTES 229376 /* of a partition of NC-v3 */
#define BOTH (1U << NTK_CHIP_SBUF | 1U << NTK_CHIP_PSUM)
#define ROWS_MAX 4096

struct rows {
    size_t count;
    struct ntk_chip_usage rows[ROWS_MAX];
};

static int keep(void *ctx, const struct ntk_chip_usage *usage)
{
    struct rows *rows = ctx;

    assert_true(rows->count < ROWS_MAX);
    rows->rows[rows->count++] = *usage;
    return 0;
}

static struct rows *ask(struct hand_trace *h, unsigned spaces)
{
    struct rows *rows = calloc(1, sizeof *rows);
    struct ntk_program *program;

    assert_non_null(rows);
    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &program), 0);
    assert_int_equal(ntk_analysis_chip_usage(program, 0, spaces, keep, rows), 0);
    ntk_program_destroy(program);
    return rows;
}

static void expect_sbuf(const struct ntk_chip_usage *row, int64_t time_ns, unsigned bytes)
{
    float share = (float)bytes * (1.0F / SBUF_BYTES);

    assert_int_equal(row->space, NTK_CHIP_SBUF);
    assert_int_equal(row->time_ps, NS(time_ns));
    assert_int_equal(row->place_count, 4);
    assert_true(row->mean == share);
    for (unsigned p = 0; p < 4; p++) {
        assert_true(row->places[p] == share);
    }
}

static void expect_psum(const struct ntk_chip_usage *row, int64_t time_ns, unsigned banks)
{
    assert_int_equal(row->space, NTK_CHIP_PSUM);
    assert_int_equal(row->time_ps, NS(time_ns));
    assert_int_equal(row->place_count, 8);
    assert_true(row->mean == (float)__builtin_popcount(banks) / 8);
    for (unsigned b = 0; b < 8; b++) {
        assert_true(row->places[b] == (float)(banks >> b & 1));
    }
}

/* 256 bytes at 0x1000, written (0-100), read (300-400) by an instruction that writes 128 bytes
 * without readers; a third instruction reads bytes that were never written. */
static void a_written_value_is_in_use_until_its_last_read(void **state)
{
    struct hand_trace h;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    copy(&h, 0x1000, PSUM, 64, 0, 100);
    copy(&h, 0x2000, 0x1000, 32, 300, 400);
    copy(&h, 0x1000, 0x8000, 64, 500, 510); /* again */
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 6);
    expect_sbuf(&r->rows[0], 0, 256);
    expect_sbuf(&r->rows[1], 100, 128); /* half of it is never read */
    expect_sbuf(&r->rows[2], 300, 256);
    expect_sbuf(&r->rows[3], 400, 0);
    expect_sbuf(&r->rows[4], 500, 256);
    expect_sbuf(&r->rows[5], 510, 0);
    free(r);
    hand_trace_fini(&h);
}

/* Written (0-100), read (50-300), overwritten at 200: the uses are adjacent. */
static void adjacent_uses_are_merged_and_each_write_has_a_row(void **state)
{
    struct hand_trace h;
    uint8_t slot[64];

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    copy(&h, 0x1000, 0x8000, 16, 0, 100);
    /* The last element of bank 0, and bank 1. */
    make_copy(slot, COPY, PSUM + 2048 - 4, 0x1000, 16, FP32);
    run(&h, NTK_NTFF_ENGINE_SCALAR, slot, 50, 300);
    copy(&h, 0x1000, 0x8000, 16, 200, 250);
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 5);
    expect_sbuf(&r->rows[0], 0, 64);
    expect_psum(&r->rows[1], 50, 3);
    expect_sbuf(&r->rows[2], 200, 64);
    expect_sbuf(&r->rows[3], 300, 0);
    expect_psum(&r->rows[4], 300, 0);
    free(r);
    r = ask(&h, 1U << NTK_CHIP_PSUM);
    assert_int_equal(r->count, 2);
    expect_psum(&r->rows[0], 50, 3);
    free(r);
    hand_trace_fini(&h);
}

/* 512 elements of bfloat16 are 2048 bytes there: one bank and one element of the next. */
static void matmul_writes_four_bytes_per_element(void **state)
{
    uint8_t slot[64] = { 0x02, 0x10 };
    struct hand_trace h;

    slot[32] = BFLOAT16;
    put(slot, 16, 4, 0x100);
    put(slot, 48, 4, PSUM + 4);
    for (unsigned d = 0; d < 3; d++) {
        for (unsigned at = 16; at <= 48; at += 32) {
            put(slot, at + 4 + 2 * d, 2, 1);
            put(slot, at + 10 + 2 * d, 2, d ? 1 : 512);
        }
    }
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    run(&h, NTK_NTFF_ENGINE_TENSOR, slot, 10, 20);
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 2);
    expect_psum(&r->rows[0], 10, 3);
    expect_psum(&r->rows[1], 20, 0);
    free(r);
    hand_trace_fini(&h);
}

/* Columns of weights are read backwards: as in the vendor's tool the range ends at the address. */
static void ldweights_reads_backwards_from_its_address(void **state)
{
    uint8_t slot[64] = { 0x01, 0x10 };
    struct hand_trace h;

    slot[32] = BFLOAT16;
    put(slot, 16, 4, 0x1000 + 2 * 64);
    put(slot, 20, 2, 0xffff);
    put(slot, 26, 2, 32);
    put(slot, 28, 2, 1);
    put(slot, 30, 2, 1);
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    copy(&h, 0x1000, 0x8000, 64, 0, 10);
    run(&h, NTK_NTFF_ENGINE_TENSOR, slot, 100, 200);
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 3);
    expect_sbuf(&r->rows[0], 0, 256);
    expect_sbuf(&r->rows[1], 10, 64); /* 0x1040 to 0x1080 */
    expect_sbuf(&r->rows[2], 200, 0);
    free(r);
    hand_trace_fini(&h);
}

static void dma_in_a_hardware_program_is_not_counted(void **state)
{
    uint8_t slot[64] = { 0xb8, 0x10 };
    struct hand_trace h;

    put(slot, 16, 8, 0x8005c03b0000);
    put(slot, 40, 8, 0x802000001000); /* the state buffer, 0x1000 of partition 0 */
    for (unsigned at = 32; at <= 56; at += 24) {
        put(slot, at, 2, 128);
        put(slot, at + 2, 2, 1);
        put(slot, at + 4, 2, 512);
    }
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    run(&h, NTK_NTFF_ENGINE_SYNC, slot, 0, 10);
    copy(&h, 0x2000, 0x1000, 64, 100, 200);
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 2);
    expect_sbuf(&r->rows[0], 100, 256);
    free(r);
    hand_trace_fini(&h);
}

/* In our own programs: partitions 0 to 63 alone; and a load, which is DMA. */
static void partitions_are_distinguished_if_the_slots_contain_them(void **state)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    const float share = 256 * (1.0F / SBUF_BYTES);
    struct hand_trace h;

    instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 64, 64, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(4096, 64, 64, NTK_DTYPE_FLOAT32);
    load.done_semaphore = 20;
    load.done_value = 1;
    load.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 128, 64, 64, NTK_DTYPE_FLOAT32);
    load.operand[NTK_ISA_DST] = ntk_isa_sbuf(4096, 128, 64, NTK_DTYPE_FLOAT32);
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    hand_trace_queue(&h, 0, "qSPIO0", 20);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &load), 0,
                   10);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &instr),
                   100, 200);
    struct rows *r = ask(&h, BOTH);

    assert_int_equal(r->count, 4);
    expect_sbuf(&r->rows[0], 0, 256);
    const struct ntk_chip_usage *u = &r->rows[1];
    assert_int_equal(u->time_ps, NS(10)); /* partitions 64 and 96 have no reader */
    assert_true(u->places[0] == share && u->places[1] == share);
    assert_true(u->places[2] == 0 && u->places[3] == 0);
    assert_true(u->mean == share / 2);
    u = &r->rows[2];
    assert_int_equal(u->time_ps, NS(100));
    assert_true(u->places[0] == 2 * share && u->places[3] == 0);
    expect_sbuf(&r->rows[3], 200, 0);
    free(r);
    hand_trace_fini(&h);
}

static void a_program_with_an_unknown_slot_has_no_rows(void **state)
{
    for (int program = 0; program < UNKNOWN_PROGRAMS; program++) {
        struct hand_trace h;

        begin_unknown(&h, program, 0x41);
        struct rows *r = ask(&h, BOTH);
        assert_int_equal(r->count, 0);
        free(r);
        hand_trace_fini(&h);
    }
}

/* ---- byte by byte ---- */

struct reported {
    bool is_used[TIMES][BYTES];
    bool has_row[TIMES];
};

/* Intervals in which a byte is in use. */
static void tell_byte(struct reported *reported, const struct execution *all, unsigned byte)
{
    for (size_t w = 0; w < RUNS; w++) {
        int64_t end = writes(&all[w], byte) ? end_of(all, w, byte) : 0;

        for (int64_t t = all[w].start; t < end; t++) {
            reported->is_used[t][byte] = true;
        }
    }
}

static void random_programs_match_a_byte_by_byte_simulation(void **state)
{
    struct reported *reported = calloc(1, sizeof *reported);
    struct execution *all = calloc(RUNS, sizeof *all);
    unsigned seed = 5;

    assert_true(reported && all);
    for (int round = 0; round < 20; round++) {
        struct hand_trace h;

        memset(reported, 0, sizeof *reported);
        begin_random(&h, &seed, 4, all);
        h.trace.list_bytes = round % 2; /* 0: that of its own trace; otherwise in files */
        for (int i = 0; i < RUNS; i++) {
            reported->has_row[all[i].start] = true;
        }
        for (unsigned b = 0; b < BYTES; b++) {
            tell_byte(reported, all, b);
        }
        struct rows *r = ask(&h, BOTH);
        size_t row = 0;
        for (int t = 0; t < TIMES; t++) {
            unsigned bytes = 0;
            bool ends = false;
            for (unsigned b = 0; b < BYTES; b++) {
                bytes += reported->is_used[t][b];
                ends = ends || (t > 0 && reported->is_used[t - 1][b] && !reported->is_used[t][b]);
            }
            if (ends || reported->has_row[t]) {
                assert_true(row < r->count);
                expect_sbuf(&r->rows[row++], t, bytes);
            }
        }
        assert_int_equal(row, r->count);
        free(r);
        hand_trace_fini(&h);
    }
    free(all);
    free(reported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_value_is_in_use_until_its_last_read),
        cmocka_unit_test(adjacent_uses_are_merged_and_each_write_has_a_row),
        cmocka_unit_test(matmul_writes_four_bytes_per_element),
        cmocka_unit_test(ldweights_reads_backwards_from_its_address),
        cmocka_unit_test(dma_in_a_hardware_program_is_not_counted),
        cmocka_unit_test(partitions_are_distinguished_if_the_slots_contain_them),
        cmocka_unit_test(a_program_with_an_unknown_slot_has_no_rows),
        cmocka_unit_test(random_programs_match_a_byte_by_byte_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
