/* SPDX-License-Identifier: MIT */
/*
 * The runtime's load of a program. Method: a hand-made prologue. Tensor writes a number
 * of descriptors to the tail of a ring at 50 ns, and waits for event 4, which DMA sets at 900. It
 * resumes at 950. The packets until then differ from row to row.
 */
#include "profiler/analysis/code_load.h"

#include <stdio.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define TAIL UINT64_C(0xffff026f038)

struct row {
    const char *what;
    unsigned written; /* descriptors */
    struct {
        unsigned engine, queue, count, bytes;
        int64_t from_ns; /* one every 10 ns */
    } moved[3];
    uint64_t address; /* 0: TAIL */
    bool is_program;  /* not code of the runtime */
    bool is_unset;    /* no change of the event is recorded */
    bool is_found;
};

static const struct row rows[] = {
    { .what = "as many as written",
      .written = 65,
      .moved = { { 9, 14, 65, 4, 100 } },
      .is_found = true },
    { .what = "one", .written = 1, .moved = { { 9, 14, 1, 4, 100 } }, .is_found = true },
    { .what = "one fewer", .written = 65, .moved = { { 9, 14, 64, 4, 100 } } },
    { .what = "one more", .written = 65, .moved = { { 9, 14, 66, 4, 100 } } },
    { .what = "next to another ring with another number",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 }, { 10, 14, 3, 4, 100 } },
      .is_found = true },
    { .what = "two rings with this number",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 }, { 10, 14, 2, 4, 100 } } },
    { .what = "two queues of one DMA engine with this number",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 }, { 9, 13, 2, 4, 100 } } },
    { .what = "large packets do not count",
      .written = 2,
      .moved = { { 9, 14, 2, 8, 100 }, { 10, 14, 2, 16384, 100 } },
      .is_found = true },
    { .what = "some were moved before the write", .written = 3, .moved = { { 9, 14, 3, 4, 30 } } },
    { .what = "some were moved after the change", .written = 3, .moved = { { 9, 14, 3, 4, 875 } } },
    { .what = "not to the tail of a ring",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 } },
      .address = TAIL + 4 },
    { .what = "a program's own write",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 } },
      .is_program = true },
    { .what = "the event was not recorded",
      .written = 2,
      .moved = { { 9, 14, 2, 4, 100 } },
      .is_unset = true },
};

static void put(struct hand_trace *h, const struct row *row, struct ntk_ntff_insertion *inserted)
{
    uint8_t write[NTK_NTFF_SLOT_BYTES] = {
        [0] = NTK_NTFF_OPCODE_WRITE, [1] = 0x10, [12] = 4, [13] = 4, [32] = (uint8_t)row->written,
        [40] = (uint8_t)row->written
    };
    const uint8_t wait[NTK_NTFF_SLOT_BYTES] = {
        [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10, [4] = 7, [5] = 4
    };

    for (unsigned b = 0; b < 8; b++) {
        write[16 + b] = (uint8_t)((row->address ? row->address : TAIL) >> (8 * b));
        write[24 + b] = (uint8_t)((TAIL - 0x20000) >> (8 * b));
    }
    *inserted = (struct ntk_ntff_insertion){ NTK_NTFF_ENGINE_TENSOR, 0, 2, 0 };
    h->subgraphs[0].insertions = inserted;
    h->subgraphs[0].insertion_count = row->is_program ? 0 : 1;
    hand_trace_run(h, 0, PE, hand_trace_slot(h, 0, PE, write), 50, 90);
    hand_trace_run(h, 0, PE, hand_trace_slot(h, 0, PE, wait), 950, 1000);
    for (size_t m = 0; m < 3; m++) {
        for (unsigned p = 0; p < row->moved[m].count; p++) {
            int64_t at_ns = row->moved[m].from_ns + 10 * p;
            hand_trace_packet(h, 0, row->moved[m].engine, row->moved[m].queue,
                              NTK_TRACE_DMA_INSTRUCTION, row->moved[m].bytes, at_ns, at_ns + 8);
        }
    }
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 4, 1, 900);
    h->cores[0].events[0].is_semaphore = false;
    h->cores[0].events[0].mode = NTK_NTFF_MODE_EVENT_SET;
    h->cores[0].event_count = row->is_unset ? 0 : 1;
}

static void a_code_load_is_recognized_by_its_packet_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct ntk_ntff_queue queue = { .engine = 9, .queue = 14, .name = "ioqb" };
        struct ntk_ntff_insertion inserted;
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn1.2xlarge", 1000);
        put(&h, &rows[i], &inserted);
        h.subgraphs[0].queues = &queue;
        h.subgraphs[0].queue_count = 1;
        hand_answers_ask(&h, &a);
        const struct ntk_code_load *load = &a.dependencies.cores[0].code_load;
        if ((load->queue != NULL) != rows[i].is_found) {
            fail_msg("%s: found %s", rows[i].what, load->queue ? load->queue : "none");
        }
        /* From the end of the write to the change: 810 ns, or a wait for an unknown cause. */
        assert_int_equal(a.path.kinds_ps[NTK_PATH_TRANSFER], rows[i].is_found ? NS(810) : 0);
        struct ntk_buf out = { 0 };
        ntk_output_path_text(a.program, &a.path, &out);
        bool is_named =
            strstr(ntk_buf_text_get(&out), "runtime: load of the program by DMA queue ioqb");
        assert_int_equal(is_named, rows[i].is_found);
        ntk_buf_fini(&out);
        hand_answers_done(&h, &a);
    }
}

/* Method: before the pair of write and wait, others with a wrong number of descriptors. */
static void only_the_first_sixteen_waits_are_checked_for_a_code_load(void **state)
{
    static const struct {
        unsigned others;
        bool is_found;
    } cases[] = { { 0, true }, { 15, true }, { 16, false }, { 100, false } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct row row = { .written = 65, .moved = { { 9, 14, 65, 4, 100 } } };
        uint8_t write[NTK_NTFF_SLOT_BYTES];
        uint8_t wait[NTK_NTFF_SLOT_BYTES];
        struct ntk_ntff_insertion inserted;
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn1.2xlarge", 1000);
        put(&h, &row, &inserted);
        inserted.count += 2 * (uint64_t)cases[i].others;
        memcpy(write, h.code[0][PE], sizeof write);
        memcpy(wait, h.code[0][PE] + sizeof write, sizeof wait);
        write[32] = write[40] = 64;
        /* They run before the ring moves anything; instructions are in time order. */
        h.cores[0].instruction_count = 0;
        for (unsigned k = 0; k < cases[i].others; k++) {
            hand_trace_run(&h, 0, PE, hand_trace_slot(&h, 0, PE, write), 0, 0);
            hand_trace_run(&h, 0, PE, hand_trace_slot(&h, 0, PE, wait), 0, 0);
        }
        hand_trace_run(&h, 0, PE, 0, 50, 90);
        hand_trace_run(&h, 0, PE, 1, 950, 1000);
        hand_answers_ask(&h, &a);
        const struct ntk_code_load *load = &a.dependencies.cores[0].code_load;
        if ((load->queue != NULL) != cases[i].is_found) {
            fail_msg("after %u others: found %s", cases[i].others,
                     load->queue ? load->queue : "none");
        }
        hand_answers_done(&h, &a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_code_load_is_recognized_by_its_packet_count),
        cmocka_unit_test(only_the_first_sixteen_waits_are_checked_for_a_code_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
