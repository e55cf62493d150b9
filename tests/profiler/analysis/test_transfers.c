/* SPDX-License-Identifier: MIT */
/*
 * Method: two hand-made loads of 32768 bytes by a queue of two rings: SP starts them at 0 and at
 * 100, PE waits for the first (semaphore 20) and ACT for the second (21). The packets of each are
 * known by construction.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/transfers.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define FIRST 0 /* instructions, sorted by start */
#define SECOND 1

static struct ntk_ntff_queue queues[] = {
    { .name = "qSPIO0", .engine = 0, .queue = 3 },
    { .name = "qSPIO0", .engine = 1, .queue = 3 },
    { .name = "qActIO0", .engine = 2, .queue = 3 },
};
static struct ntk_neff_var vars[2];

static void begin(struct hand_trace *h)
{
    hand_trace_begin(h, 1, "trn2.3xlarge", 1000);
    (void)hand_trace_queue(h, 0, "qSPIO0", 20);
    h->neff_subgraphs[0].queue_sets[0].semaphores[1] = 21;
    h->neff_subgraphs[0].queue_sets[0].semaphore_count = 2;
    vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    vars[1] = (struct ntk_neff_var){
        .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 32768
    };
    h->neff_subgraphs[0].vars = vars;
    h->neff_subgraphs[0].var_count = 2;
    h->subgraphs[0].queues = queues;
    h->subgraphs[0].queue_count = sizeof queues / sizeof *queues;
    for (unsigned i = 0; i < 2; i++) {
        struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
        load.done_semaphore = (uint16_t)(20 + i);
        load.done_value = 1;
        load.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_FLOAT32);
        load.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 128, 64, 64, NTK_DTYPE_FLOAT32);
        uint32_t slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_SP, &load);
        hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, slot, 100 * (int64_t)i, 100 * (int64_t)i + 50);
    }
}

static void packet(struct hand_trace *h, unsigned engine, uint32_t bytes, int64_t start_ns,
                   int64_t end_ns)
{
    hand_trace_packet(h, 0, engine, 3, NTK_TRACE_DMA_IO, bytes, start_ns, end_ns);
}

struct asked {
    struct ntk_program *program;
    struct ntk_transfers transfers;
};

static void ask(struct hand_trace *h, struct asked *asked)
{
    assert_int_equal(ntk_program_create(&h->trace, &asked->program), 0);
    assert_int_equal(ntk_transfers_init(&asked->transfers, asked->program), 0);
}

static void done(struct asked *asked)
{
    ntk_transfers_fini(&asked->transfers);
    ntk_program_destroy(asked->program);
}

/* The packets of the instruction's transfer start at these times (terminated by -1); these packets
 * have a known instruction, no other packet has one. */
static void expect(struct hand_trace *h, uint32_t instruction, const int64_t *starts_ns)
{
    const struct ntk_trace_core *core = &h->trace.cores[0];
    const struct ntk_transfer *transfer;
    struct asked asked;
    uint64_t bytes_count = 0;
    size_t count = 0;

    ask(h, &asked);
    transfer = ntk_transfer_of_instruction(&asked.transfers, 0, instruction);
    assert_non_null(transfer);
    assert_int_equal(transfer->instruction, instruction);
    assert_string_equal(ntk_transfer_fact(&asked.transfers, 0, transfer)->code->queue, "qSPIO0");
    for (uint32_t p = 0; p < core->packet_count; p++) {
        if (ntk_transfer_of_packet(&asked.transfers, 0, p) == transfer) {
            assert_true(starts_ns[count] >= 0);
            assert_int_equal(core->packets[p].start_ps, NS(starts_ns[count]));
            bytes_count += core->packets[p].bytes_count;
            count++;
        }
    }
    assert_int_equal(starts_ns[count], -1);
    assert_int_equal(transfer->packet_count, count);
    assert_int_equal(transfer->bytes_count, bytes_count);
    done(&asked);
}

static void expect_no_transfer(struct hand_trace *h, uint32_t packet)
{
    struct asked asked;

    ask(h, &asked);
    assert_null(ntk_transfer_of_packet(&asked.transfers, 0, packet));
    done(&asked);
}

/* This number of transfers has no packets, and this number of packets of their queues has no
 * transfer. */
static void expect_left(struct hand_trace *h, uint64_t unknown_count, uint64_t left_count)
{
    struct asked asked;

    ask(h, &asked);
    assert_int_equal(asked.transfers.cores[0].unknown_count, unknown_count);
    assert_int_equal(asked.transfers.cores[0].left_count, left_count);
    done(&asked);
}

/* Ring 1 is slower: it starts the first load when ring 0 is already at the second. */
static void a_semaphore_write_marks_the_end_of_a_transfer(void **state)
{
    struct hand_trace h;
    struct asked asked;

    begin(&h);
    for (unsigned ring = 0; ring < 2; ring++) {
        int64_t at_ns = 200 + 110 * (int64_t)ring;
        packet(&h, ring, 16384, at_ns, at_ns + 90);
        packet(&h, ring, 4, at_ns + 91, at_ns + 95);
        packet(&h, ring, 16384, at_ns + 100, at_ns + 190);
        packet(&h, ring, 4, at_ns + 191, at_ns + 195);
    }
    packet(&h, 2, 512, 220, 230); /* of another queue */
    hand_trace_end(&h);
    expect(&h, FIRST, (int64_t[]){ 200, 291, 310, 401, -1 });
    expect(&h, SECOND, (int64_t[]){ 300, 391, 410, 501, -1 });
    expect_no_transfer(&h, 1);
    expect_left(&h, 0, 0);
    ask(&h, &asked);
    const struct ntk_transfer *transfer = ntk_transfer_of_instruction(&asked.transfers, 0, FIRST);
    assert_int_equal(transfer->bytes_count, 2 * 16384 + 2 * 4);
    assert_int_equal(transfer->start_ps, NS(200));
    assert_int_equal(transfer->end_ps, NS(405));
    assert_int_equal(h.trace.cores[0].packets[transfer->first].start_ps, NS(200));
    assert_int_equal(h.trace.cores[0].packets[transfer->last].start_ps, NS(401));
    done(&asked);
    hand_trace_fini(&h);
}

static void packets_are_assigned_to_transfers_by_bytes(void **state)
{
    struct hand_trace h;

    begin(&h);
    packet(&h, 0, 16384, 200, 260);
    packet(&h, 1, 16384, 200, 290);
    packet(&h, 0, 8192, 260, 280);
    packet(&h, 0, 8192, 280, 300);
    packet(&h, 1, 16384, 290, 350);
    hand_trace_end(&h);
    expect(&h, FIRST, (int64_t[]){ 200, 200, -1 });
    expect(&h, SECOND, (int64_t[]){ 260, 280, 290, -1 });
    hand_trace_fini(&h);
}

/* A packet that no instruction started makes the sum unknown; the changes still show which packets
 * belong together. */
static void semaphore_changes_delimit_a_complete_transfer(void **state)
{
    struct hand_trace h;

    begin(&h);
    packet(&h, 0, 16384, 200, 260);
    packet(&h, 1, 16384, 200, 290);
    packet(&h, 0, 16384, 295, 360);
    /* Half of what the second load requested: the rest is not in the file. */
    packet(&h, 1, 8192, 295, 380);
    packet(&h, 1, 4096, 800, 900);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 290);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 21, 1, 400);
    hand_trace_end(&h);
    expect(&h, FIRST, (int64_t[]){ 200, 200, -1 });
    expect(&h, SECOND, (int64_t[]){ -1 });
    expect_left(&h, 1, 3);
    expect_no_transfer(&h, 2);
    expect_no_transfer(&h, 4);
    hand_trace_fini(&h);
}

static void packets_without_evidence_are_not_assigned(void **state)
{
    struct hand_trace h;

    begin(&h);
    packet(&h, 0, 16384, 200, 260);
    hand_trace_end(&h);
    expect(&h, FIRST, (int64_t[]){ -1 });
    expect(&h, SECOND, (int64_t[]){ -1 });
    expect_left(&h, 2, 1);
    expect_no_transfer(&h, 0);
    hand_trace_fini(&h);
}

static void an_instruction_that_moves_no_bytes_has_no_transfer(void **state)
{
    struct hand_trace h;
    struct asked asked;

    begin(&h);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE),
                   500, 600);
    hand_trace_end(&h);
    ask(&h, &asked);
    assert_null(ntk_transfer_of_instruction(&asked.transfers, 0, 2));
    done(&asked);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_semaphore_write_marks_the_end_of_a_transfer),
        cmocka_unit_test(packets_are_assigned_to_transfers_by_bytes),
        cmocka_unit_test(semaphore_changes_delimit_a_complete_transfer),
        cmocka_unit_test(packets_without_evidence_are_not_assigned),
        cmocka_unit_test(an_instruction_that_moves_no_bytes_has_no_transfer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
