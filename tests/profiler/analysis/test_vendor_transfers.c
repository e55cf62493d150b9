/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made programs of hardware, on a core with queues of two rings. Static:
 * a queue qSPIO0 with three groups of 8192, 8192 and 4096 bytes that WRITEs start at 0, 100 and 200
 * ns. Generated: a queue qPoolDynamic with two DMA_DIRECT2D of 8192 bytes at 0 and 100 ns, one from
 * a table of descriptors, one from a variable, which casts. The packets of each transfer are known
 * by construction.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/transfers.h"
#include "profiler/analysis/tensor_traffic.h"
#include "shared/formats/neff/vendor_slot.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define SP NTK_ISA_ENGINE_SP
#define POOL NTK_ISA_ENGINE_POOL
#define GROUPS 3
#define SLOTS 3
#define SEMAPHORE 8

static struct ntk_ntff_queue static_queues[] = {
    { .name = "qSPIO0", .engine = 0, .queue = 3 },
    { .name = "qSPIO0", .engine = 1, .queue = 3 },
};
static struct ntk_ntff_queue generated_queues[] = {
    { .name = "qPoolDynamic", .engine = 0, .queue = 3 },
    { .name = "qPoolDynamic", .engine = 1, .queue = 3 },
};

struct made {
    struct hand_trace h;
    struct ntk_neff_var vars[5];
    struct ntk_neff_dma_group groups[GROUPS];
    struct ntk_neff_transfer transfers[GROUPS];
    struct ntk_neff_pattern from[GROUPS];
    uint32_t table[3];
    uint8_t code[SLOTS * NTK_NTFF_SLOT_BYTES]; /* what the compiler wrote */
    struct ntk_program *program;
    struct ntk_transfers transfers_of;
};

static void begin(struct made *m, struct ntk_ntff_queue *queues)
{
    memset(m, 0, sizeof *m);
    hand_trace_begin(&m->h, 1, "trn2.3xlarge", 1000);
    (void)hand_trace_queue(&m->h, 0, queues[0].name, SEMAPHORE);
    m->h.subgraphs[0].queues = queues;
    m->h.subgraphs[0].queue_count = 2;
    m->vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    m->vars[1] = (struct ntk_neff_var){
        .name = "a", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 8192
    };
    m->vars[2] = (struct ntk_neff_var){
        .name = "out", .type = NTK_NEFF_VAR_OUTPUT, .var_id = 2, .bytes_count = 4096
    };
    m->table[2] = 1;
    m->vars[3] = (struct ntk_neff_var){ .name = "DGETable0",
                                        .type = NTK_NEFF_VAR_DGE_TABLE,
                                        .var_id = 3,
                                        .list = m->table,
                                        .list_count = 3 };
    m->h.neff_subgraphs[0].vars = m->vars;
    m->h.neff_subgraphs[0].var_count = 4;
}

static void set_compiler_slot(struct made *m, unsigned engine, uint32_t at, const uint8_t *slot)
{
    struct ntk_neff_engine *of = &m->h.neff_subgraphs[0].engines[engine];

    memcpy(m->code + (size_t)at * NTK_NTFF_SLOT_BYTES, slot, NTK_NTFF_SLOT_BYTES);
    of->code = m->code;
    of->code_bytes = sizeof m->code;
}

/* A transfer from a, or to out for the last group, in 32 rows. */
static void add_group(struct made *m, uint32_t id, uint64_t bytes_count)
{
    static const char *const comments[GROUPS] = { "I-4-0", "I-4-1", "I-9-0" };
    static const char queue[] = "qSPIO0";
    bool is_store = id == GROUPS - 1;
    struct ntk_neff_pattern *from = &m->from[id];
    uint8_t loaded[NTK_NTFF_SLOT_BYTES] = { NTK_NTFF_OPCODE_WRITE, 0x10 };
    uint8_t made[NTK_NTFF_SLOT_BYTES] = { NTK_VENDOR_OPCODE_TRIGGER, 0x10 };

    *from = (struct ntk_neff_pattern){ .var = is_store ? 0 : 1,
                                       .dim_count = 2,
                                       .sizes = { bytes_count / 32, 32 } };
    m->transfers[id] = (struct ntk_neff_transfer){ .source_count = 1, .from = from, .to = *from };
    m->transfers[id].to.var = is_store ? 2 : 0;
    m->groups[id] = (struct ntk_neff_dma_group){ .id = id,
                                                 .transfer_count = 1,
                                                 .transfers = &m->transfers[id],
                                                 .semaphore = SEMAPHORE,
                                                 .event = NTK_NEFF_NONE,
                                                 .comment = comments[id] };
    memcpy(made + NTK_VENDOR_TRIGGER_NAME, queue, sizeof queue);
    made[NTK_VENDOR_TRIGGER_GROUP] = (uint8_t)id;
    set_compiler_slot(m, SP, id, made);
    m->h.neff_subgraphs[0].engines[SP].groups = m->groups;
    m->h.neff_subgraphs[0].engines[SP].group_count = GROUPS;
    hand_trace_run(&m->h, 0, SP, hand_trace_slot(&m->h, 0, SP, loaded), 100 * (int64_t)id,
                   100 * (int64_t)id + 10);
}

static void begin_static(struct made *m)
{
    begin(m, static_queues);
    add_group(m, 0, 8192);
    add_group(m, 1, 8192);
    add_group(m, 2, 4096);
}

static void packet(struct made *m, unsigned engine, uint32_t bytes, int64_t start_ns)
{
    hand_trace_packet(&m->h, 0, engine, 3, NTK_TRACE_DMA_INPUT, bytes, start_ns, start_ns + 5);
}

static void ask(struct made *m)
{
    hand_trace_end(&m->h);
    assert_int_equal(ntk_program_create(&m->h.trace, &m->program), 0);
    assert_int_equal(ntk_transfers_init(&m->transfers_of, m->program), 0);
}

static void done(struct made *m)
{
    ntk_transfers_fini(&m->transfers_of);
    ntk_program_destroy(m->program);
    hand_trace_fini(&m->h);
}

/* The transfer has this number of packets; the first starts and the last ends at these times. */
static void expect(const struct made *m, size_t index, uint32_t packet_count, uint64_t bytes_count,
                   int64_t start_ns, int64_t end_ns)
{
    const struct ntk_transfer *transfer = &m->transfers_of.cores[0].items[index];

    assert_true(index < m->transfers_of.cores[0].count);
    assert_int_equal(transfer->packet_count, packet_count);
    assert_int_equal(transfer->bytes_count, bytes_count);
    assert_int_equal(transfer->start_ps, start_ns * NTK_TRACE_PS_PER_NS);
    assert_int_equal(transfer->end_ps, end_ns * NTK_TRACE_PS_PER_NS);
}

static void expect_left(const struct made *m, uint64_t unknown_count, uint64_t left_count)
{
    assert_int_equal(m->transfers_of.cores[0].unknown_count, unknown_count);
    assert_int_equal(m->transfers_of.cores[0].left_count, left_count);
}

/* The semaphore write is a separate packet, part of the last one, or missing: one way in each
 * group. */
static void put_rings(struct made *m)
{
    for (unsigned ring = 0; ring < 2; ring++) {
        int64_t at_ns = 300 + 7 * (int64_t)ring;
        packet(m, ring, 2048, at_ns);
        packet(m, ring, 2048, at_ns + 10);
        packet(m, ring, 4, at_ns + 20);
        packet(m, ring, 4100, at_ns + 30);
        packet(m, ring, 2048, at_ns + 40);
    }
}

static void prepared_groups_have_a_share_of_each_ring(void **state)
{
    const struct ntk_slot_fact *fact;
    struct made m;

    begin_static(&m);
    put_rings(&m);
    ask(&m);
    expect_left(&m, 0, 0);
    expect(&m, 0, 6, 8192 + 8, 300, 332);
    expect(&m, 1, 2, 8192 + 8, 330, 342);
    expect(&m, 2, 2, 4096, 340, 352);
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[0]);
    assert_string_equal(fact->code->queue, "qSPIO0");
    assert_int_equal(fact->code->done_number, SEMAPHORE);
    assert_string_equal(fact->code->moves->name, "I-4-0");
    assert_string_equal(fact->code->moves->op, "copy");
    assert_string_equal(fact->code->moves->variable, "a");
    assert_string_equal(fact->code->moves->sides[NTK_MOVES_SOURCE], "a");
    assert_string_equal(fact->code->moves->sides[NTK_MOVES_DEST], "SB");
    assert_string_equal(fact->code->moves->json[NTK_MOVES_SOURCE], "[[\"a\"]]");
    assert_string_equal(fact->code->moves->json[NTK_MOVES_DEST], "[\"SB\"]");
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[2]);
    assert_string_equal(fact->code->moves->variable, "out");
    assert_true(fact->code->has_bytes);
    assert_int_equal(fact->code->write_bytes, 4096);
    done(&m);
}

/* One row: the first ring moves it, the other only writes the semaphore. The groups before and
 * after it have many rows, which are divided. */
static void put_undivided(struct made *m)
{
    m->from[1].sizes[0] = 8192;
    m->from[1].sizes[1] = 1;
    m->transfers[1].to.sizes[0] = 8192;
    m->transfers[1].to.sizes[1] = 1;
    for (unsigned ring = 0; ring < 2; ring++) {
        int64_t at_ns = 300 + 7 * (int64_t)ring;
        packet(m, ring, 4096, at_ns);
        packet(m, ring, 4, at_ns + 10);
        packet(m, ring, ring == 0 ? 8192 + 4 : 4, at_ns + 20);
        packet(m, ring, 2048 + 4, at_ns + 30);
    }
}

static void a_transfer_to_one_row_is_assigned_to_the_first_ring(void **state)
{
    struct made m;

    begin_static(&m);
    put_undivided(&m);
    ask(&m);
    expect_left(&m, 0, 0);
    expect(&m, 0, 4, 8192 + 8, 300, 322);
    expect(&m, 1, 2, 8192 + 8, 320, 332);
    expect(&m, 2, 2, 4096 + 8, 330, 342);
    done(&m);
}

/* Divided, or moved by a ring other than the first: the whole group is rejected. */
static void a_single_row_transfer_with_unexpected_packets_is_not_matched(void **state)
{
    for (int other = 0; other < 2; other++) {
        struct made m;

        begin_static(&m);
        put_undivided(&m);
        m.h.cores[0].packets[2].bytes_count = other ? 4 : 4096 + 4;
        m.h.cores[0].packets[6].bytes_count = other ? 8192 + 4 : 4096 + 4;
        ask(&m);
        expect_left(&m, 2, 4);
        expect(&m, 0, 4, 8192 + 8, 300, 322);
        done(&m);
    }
}

/* A packet crosses the end of a share; from there on, packets of both rings are not matched. */
static void transfers_after_a_mismatched_packet_are_not_matched(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    m.h.cores[0].packets[3].bytes_count = 4104;
    ask(&m);
    expect_left(&m, 2, 4);
    expect(&m, 0, 6, 8192 + 8, 300, 332);
    expect(&m, 1, 0, 0, 0, 0);
    expect(&m, 2, 0, 0, 0, 0);
    done(&m);
}

/* As in a transposing group, the packets have more bytes than the group writes. */
static void dma_operations_other_than_copies_are_not_matched_to_packets(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    m.transfers[1].op = NTK_NEFF_TRANSFER_TRANSPOSE;
    ask(&m);
    expect_left(&m, 2, 4);
    expect(&m, 0, 6, 8192 + 8, 300, 332);
    done(&m);
}

static void an_empty_packet_ends_the_matched_part(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    packet(&m, 1, 0, 345); /* of the third group, after 2048 bytes of the second */
    ask(&m);
    expect_left(&m, 1, 3);
    expect(&m, 1, 2, 8192 + 8, 330, 342);
    done(&m);
}

/* More packets than groups: any of them may be the extra one. */
static void leftover_packets_invalidate_all_matches(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    packet(&m, 0, 2048, 600);
    ask(&m);
    expect_left(&m, 3, 11);
    done(&m);
}

static void a_ring_that_ends_early_is_not_matched(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    m.h.cores[0].packets[9].bytes_count = 1024;
    ask(&m);
    expect_left(&m, 1, 2);
    done(&m);
}

static void a_transfer_does_not_start_before_its_instruction(void **state)
{
    struct made m;

    begin_static(&m);
    put_rings(&m);
    for (size_t i = 0; i < m.h.cores[0].instruction_count; i++) {
        /* Starts at 345, but a packet starts at 340. */
        m.h.cores[0].instructions[i].start_ps += i == 2 ? 145000 : 0;
    }
    ask(&m);
    expect(&m, 1, 2, 8192 + 8, 330, 342);
    expect_left(&m, 1, 2);
    done(&m);
}

/* ---- generated descriptors ---- */

static void put_u64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* 32 rows to the state buffer; the second casts from 2 bytes to 4. */
static void add_generated(struct made *m, uint32_t at, uint64_t source, bool is_cast)
{
    uint8_t loaded[NTK_NTFF_SLOT_BYTES] = { NTK_NTFF_OPCODE_DMA_DIRECT2D, 0x10 };
    uint8_t made[NTK_NTFF_SLOT_BYTES];

    loaded[NTK_VENDOR_SLOT_DMA_SEMAPHORE] = SEMAPHORE;
    put_u64(loaded + 16, UINT64_C(0x20) << 56);
    loaded[32] = 32;
    loaded[34] = 1;
    loaded[37] = is_cast ? 0x00 : 0x01;
    loaded[36] = is_cast ? 0x80 : 0x00; /* 128 or 256 bytes */
    put_u64(loaded + 40, UINT64_C(0x2000000000));
    loaded[56] = 32;
    loaded[58] = 1;
    loaded[61] = 0x01;
    loaded[62] = is_cast ? 6 : 10;
    loaded[63] = 10;
    memcpy(made, loaded, sizeof made);
    made[0] = NTK_VENDOR_OPCODE_PSEUDO_TRANSFER;
    put_u64(made + 16, source);
    put_u64(made + 40, UINT64_C(0x10) << 56);
    set_compiler_slot(m, POOL, at, made);
    hand_trace_run(&m->h, 0, POOL, hand_trace_slot(&m->h, 0, POOL, loaded), 100 * (int64_t)at,
                   100 * (int64_t)at + 10);
}

static void begin_generated(struct made *m)
{
    begin(m, generated_queues);
    add_generated(m, 0, UINT64_C(0x20) << 56 | UINT64_C(2) << 32, false);
    add_generated(m, 1, UINT64_C(0x10) << 56 | UINT64_C(1) << 32, true);
}

/* The packets of this casting transfer have the size of its source. */
static void put_generated(struct made *m)
{
    for (unsigned ring = 0; ring < 2; ring++) {
        int64_t at_ns = 300 + 7 * (int64_t)ring;
        packet(m, ring, 4096, at_ns);
        packet(m, ring, 4, at_ns + 10);
        packet(m, ring, 2048, at_ns + 20);
        packet(m, ring, 4, at_ns + 30);
    }
}

static void a_transfer_with_generated_descriptors_ends_at_a_semaphore_write(void **state)
{
    struct ntk_tensor_traffic tensors;
    const struct ntk_slot_fact *fact;
    struct made m;

    begin_generated(&m);
    put_generated(&m);
    ask(&m);
    expect_left(&m, 0, 0);
    expect(&m, 0, 4, 8192 + 8, 300, 322);
    expect(&m, 1, 4, 4096 + 8, 320, 342);
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[0]);
    assert_string_equal(fact->code->moves->variable, "a"); /* table[2] is variable 1 */
    assert_string_equal(fact->code->moves->op, "copy");
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[1]);
    assert_string_equal(fact->code->moves->variable, "a");
    assert_string_equal(fact->code->moves->op, "cast");
    assert_string_equal(fact->code->moves->sides[NTK_MOVES_DEST], "SB");
    assert_int_equal(ntk_analysis_tensor_traffic(m.program, &tensors), 0);
    assert_int_equal(tensors.row_count, 1);
    assert_int_equal(tensors.rows[0].read_count, 2);
    assert_int_equal(tensors.rows[0].read_bytes, 8192 + 4096);
    assert_true(tensors.rows[0].reload_ratio == 1.5);
    ntk_tensor_traffic_fini(&tensors);
    done(&m);
}

static void a_packet_sequence_with_a_different_size_is_omitted(void **state)
{
    struct made m;

    begin_generated(&m);
    put_generated(&m);
    m.h.cores[0].packets[2].bytes_count = 1024;
    ask(&m);
    expect_left(&m, 1, 4);
    expect(&m, 0, 4, 8192 + 8, 300, 322);
    done(&m);
}

static void runs_are_omitted_if_their_count_differs_from_instructions(void **state)
{
    struct made m;

    begin_generated(&m);
    put_generated(&m);
    packet(&m, 0, 4, 500);
    ask(&m);
    expect_left(&m, 2, 9);
    done(&m);
}

/* Two tables: the slot does not show which one the index refers to. */
static void an_index_into_an_ambiguous_table_yields_no_tensor_name(void **state)
{
    const struct ntk_slot_fact *fact;
    struct made m;

    begin_generated(&m);
    put_generated(&m);
    m.vars[4] = m.vars[3];
    m.vars[4].var_id = 4;
    m.h.neff_subgraphs[0].var_count = 5;
    ask(&m);
    expect_left(&m, 0, 0);
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[0]);
    assert_null(fact->code->moves->variable);
    assert_null(fact->code->moves->sides[NTK_MOVES_SOURCE]);
    assert_string_equal(fact->code->moves->sides[NTK_MOVES_DEST], "SB");
    done(&m);
}

/* Without a NEFF names are missing, but the packets of each transfer are known. */
static void packets_are_matched_to_instructions_without_a_neff(void **state)
{
    const struct ntk_slot_fact *fact;
    struct made m;

    begin_generated(&m);
    put_generated(&m);
    m.h.trace.neff = NULL;
    hand_trace_end(&m.h);
    m.h.cores[0].neff = NULL;
    assert_int_equal(ntk_program_create(&m.h.trace, &m.program), 0);
    assert_int_equal(ntk_transfers_init(&m.transfers_of, m.program), 0);
    expect_left(&m, 0, 0);
    fact = ntk_transfer_fact(&m.transfers_of, 0, &m.transfers_of.cores[0].items[0]);
    assert_string_equal(fact->code->queue, "qPoolDynamic");
    assert_null(fact->code->moves->variable);
    done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_groups_have_a_share_of_each_ring),
        cmocka_unit_test(a_transfer_to_one_row_is_assigned_to_the_first_ring),
        cmocka_unit_test(a_single_row_transfer_with_unexpected_packets_is_not_matched),
        cmocka_unit_test(transfers_after_a_mismatched_packet_are_not_matched),
        cmocka_unit_test(dma_operations_other_than_copies_are_not_matched_to_packets),
        cmocka_unit_test(an_empty_packet_ends_the_matched_part),
        cmocka_unit_test(leftover_packets_invalidate_all_matches),
        cmocka_unit_test(a_ring_that_ends_early_is_not_matched),
        cmocka_unit_test(a_transfer_does_not_start_before_its_instruction),
        cmocka_unit_test(a_transfer_with_generated_descriptors_ends_at_a_semaphore_write),
        cmocka_unit_test(a_packet_sequence_with_a_different_size_is_omitted),
        cmocka_unit_test(runs_are_omitted_if_their_count_differs_from_instructions),
        cmocka_unit_test(an_index_into_an_ambiguous_table_yields_no_tensor_name),
        cmocka_unit_test(packets_are_matched_to_instructions_without_a_neff),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
