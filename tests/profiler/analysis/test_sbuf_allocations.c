/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made hardware copies and loads of the open encoding, with values that are known
 * without a program; and random ones, checked byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/sbuf_allocations.h"
#include "tests/profiler/analysis/hand_copies.h"
#include "tests/support/unit.h"

#define ROWS_MAX 8192

struct rows {
    size_t count;
    struct ntk_sbuf_allocation rows[ROWS_MAX];
    bool is_known;
};

static int keep(void *ctx, const struct ntk_sbuf_allocation *allocation)
{
    struct rows *rows = ctx;

    assert_true(rows->count < ROWS_MAX);
    rows->rows[rows->count++] = *allocation;
    return 0;
}

static struct rows *ask(struct hand_trace *h)
{
    struct rows *rows = calloc(1, sizeof *rows);
    struct ntk_program *program;
    struct ntk_transfers transfers;

    assert_non_null(rows);
    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &program), 0);
    assert_int_equal(ntk_transfers_init(&transfers, program), 0);
    assert_int_equal(ntk_analysis_sbuf_allocations(&transfers, 0, keep, rows), 0);
    assert_int_equal(ntk_sbuf_allocations_are_known(program, 0, &rows->is_known), 0);
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    return rows;
}

/* Checks the next row for each partition in the bit mask. */
static void expect(const struct rows *r, size_t *row, unsigned partitions, uint32_t low,
                   uint32_t high, int64_t start_ns, int64_t end_ns, uint32_t instruction)
{
    for (unsigned p = 0; p < 4; p++) {
        const struct ntk_sbuf_allocation *is = &r->rows[*row];
        if (!(partitions >> p & 1)) {
            continue;
        }
        assert_true(*row < r->count);
        assert_int_equal(is->start_ps, NS(start_ns));
        assert_int_equal(is->end_ps, NS(end_ns));
        assert_int_equal(is->low, low);
        assert_int_equal(is->high, high);
        assert_int_equal(is->partition, 32 * p);
        assert_int_equal(is->instruction, instruction);
        ++*row;
    }
}

/* 256 bytes (0-100), with the first half read (300-400) before they are written again: two values;
 * without a read a value ends with its write. */
static void an_sbuf_allocation_ends_with_its_last_read(void **state)
{
    struct hand_trace h;
    size_t row = 0;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    copy(&h, 0x1000, PSUM, 64, 0, 100);
    copy(&h, 0x2000, 0x1000, 32, 300, 400);
    copy(&h, 0x1000, 0x8000, 64, 500, 510);
    copy(&h, PSUM, 0x1000, 64, 600, 700);
    copy(&h, PSUM, 0x1000, 64, 800, 900);
    struct rows *r = ask(&h);

    assert_true(r->is_known);
    expect(r, &row, 15, 0x1000, 0x1080, 0, 400, 0);
    expect(r, &row, 15, 0x1080, 0x1100, 0, 100, 0);
    expect(r, &row, 15, 0x2000, 0x2080, 300, 400, 1);
    expect(r, &row, 15, 0x1000, 0x1100, 500, 900, 2);
    assert_int_equal(r->count, row);
    free(r);
    hand_trace_fini(&h);
}

static struct ntk_isa_instr make_load(struct hand_trace *h)
{
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    load.done_semaphore = 20;
    load.done_value = 1;
    load.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 64, 64, 64, NTK_DTYPE_FLOAT32);
    load.operand[NTK_ISA_DST] = ntk_isa_sbuf(4096, 64, 64, NTK_DTYPE_FLOAT32);
    hand_trace_queue(h, 0, "qSPIO0", 20);
    return load;
}

/* A load of partitions 0 to 63 started at 0-10 with packets from 20 to 60, read at 100-200. */
static void an_allocation_by_a_load_starts_with_its_first_packet(void **state)
{
    static struct ntk_ntff_queue queue = { .name = "qSPIO0", .engine = 0, .queue = 3 };

    for (int has_packets = 0; has_packets < 2; has_packets++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
        struct hand_trace h;
        size_t row = 0;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        struct ntk_isa_instr load = make_load(&h);
        instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 64, 64, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(4096, 64, 64, NTK_DTYPE_FLOAT32);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &load),
                       0, 10);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE,
                       hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &instr), 100, 200);
        if (has_packets) {
            h.subgraphs[0].queues = &queue;
            h.subgraphs[0].queue_count = 1;
            hand_trace_packet(&h, 0, 0, 3, NTK_TRACE_DMA_INPUT, 64 * 256, 20, 60);
            hand_trace_packet(&h, 0, 0, 3, NTK_TRACE_DMA_INPUT, 4, 60, 61);
        }
        struct rows *r = ask(&h);
        expect(r, &row, 3, 4096, 4096 + 256, has_packets ? 20 : 0, 200, 0);
        expect(r, &row, 3, 0, 256, 100, 200, 1);
        assert_int_equal(r->count, row);
        free(r);
        hand_trace_fini(&h);
    }
}

/* A DMA_DIRECT2D to partitions 32 to 95, and one with steps that do not show its partitions: all.
 * */
static void partitions_of_a_hardware_transfer_follow_from_its_addresses(void **state)
{
    static const struct {
        uint64_t step, partitions;
    } cases[] = { { 262144, 6 }, { 262144 + 4, 15 } };

    for (size_t i = 0; i < 2; i++) {
        uint8_t slot[64] = { 0xb8, 0x10 };
        struct hand_trace h;
        size_t row = 0;

        put(slot, 16, 8, 0x8005c03b0000);
        put(slot, 32, 2, 1);
        put(slot, 34, 2, 64);
        put(slot, 36, 2, 512);
        put(slot, 40, 8, 0x802000001000 + 32 * 262144);
        put(slot, 48, 4, 1);
        put(slot, 52, 4, cases[i].step);
        put(slot, 56, 2, 1);
        put(slot, 58, 2, 64);
        put(slot, 60, 2, 512);
        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        run(&h, NTK_NTFF_ENGINE_SYNC, slot, 0, 10);
        struct rows *r = ask(&h);
        expect(r, &row, (unsigned)cases[i].partitions, 0x1000, 0x1200, 0, 10, 0);
        assert_int_equal(r->count, row);
        free(r);
        hand_trace_fini(&h);
    }
}

/* The vendor tool's view of memory does not know MEMSET and TENSOR_TENSOR; their places are
 * known. */
static void instructions_with_only_known_addresses_are_included(void **state)
{
    uint8_t slot[64];
    struct hand_trace h;
    size_t row = 0;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    make_copy(slot, MEMSET, 0x1000, 0, 16, FP32);
    run(&h, NTK_NTFF_ENGINE_GPSIMD, slot, 0, 10);
    memset(slot, 0, sizeof slot);
    slot[0] = 0x41;
    slot[1] = 0x10;
    slot[12] = FP32 << 4 | FP32;
    slot[13] = FP32;
    slot[15] = 128;
    for (unsigned at = 16; at <= 48; at += 16) {
        put(slot, at, 4, at == 48 ? 0x3000 : at == 16 ? 0x5000 : 0x1000);
        for (unsigned d = 0; d < 3; d++) {
            put(slot, at + 4 + 2 * d, 2, 1);
            put(slot, at + 10 + 2 * d, 2, d ? 1 : 16);
        }
    }
    run(&h, NTK_NTFF_ENGINE_VECTOR, slot, 20, 40);
    struct rows *r = ask(&h);

    expect(r, &row, 15, 0x1000, 0x1040, 0, 40, 0);
    expect(r, &row, 15, 0x3000, 0x3040, 20, 40, 1);
    assert_int_equal(r->count, row);
    free(r);
    hand_trace_fini(&h);
}

static void an_unknown_slot_yields_no_allocation_rows(void **state)
{
    for (int program = 0; program < UNKNOWN_PROGRAMS; program++) {
        struct hand_trace h;

        begin_unknown(&h, program, 0x92);
        struct rows *r = ask(&h);
        assert_int_equal(r->count, 0);
        assert_false(r->is_known);
        free(r);
        hand_trace_fini(&h);
    }
}

/* ---- byte by byte ---- */

static void random_programs_match_a_byte_by_byte_simulation(void **state)
{
    struct execution *all = calloc(RUNS, sizeof *all);
    bool(*seen)[BYTES] = calloc(RUNS, sizeof *seen);
    unsigned seed = 5;

    assert_true(all && seen);
    for (int round = 0; round < 10; round++) {
        struct hand_trace h;

        memset(seen, 0, RUNS * sizeof *seen);
        begin_random(&h, &seed, 3, all);
        h.trace.list_bytes = round % 2; /* 0: that of its own trace; otherwise in files */
        struct rows *r = ask(&h);
        for (size_t i = 0; i < r->count; i++) {
            const struct ntk_sbuf_allocation *is = &r->rows[i];
            const struct execution *by = &all[is->instruction];
            assert_true(i == 0 || r->rows[i - 1].start_ps <= is->start_ps);
            assert_int_equal(is->partition, 32 * (i % 4));
            assert_int_equal(is->start_ps, NS(by->start));
            assert_true(is->low >= by->to && is->high <= by->to + by->count);
            for (unsigned b = is->low; b < is->high && is->partition == 0; b++) {
                assert_false(seen[is->instruction][b]);
                seen[is->instruction][b] = true;
                assert_int_equal(is->end_ps, NS(end_of(all, is->instruction, b)));
            }
        }
        for (size_t i = 0; i < RUNS; i++) { /* each byte that was written, once */
            for (unsigned b = 0; b < BYTES; b++) {
                assert_int_equal(seen[i][b], writes(&all[i], b));
            }
        }
        free(r);
        hand_trace_fini(&h);
    }
    free(seen);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_sbuf_allocation_ends_with_its_last_read),
        cmocka_unit_test(an_allocation_by_a_load_starts_with_its_first_packet),
        cmocka_unit_test(partitions_of_a_hardware_transfer_follow_from_its_addresses),
        cmocka_unit_test(instructions_with_only_known_addresses_are_included),
        cmocka_unit_test(an_unknown_slot_yields_no_allocation_rows),
        cmocka_unit_test(random_programs_match_a_byte_by_byte_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
