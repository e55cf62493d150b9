/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made programs of hardware. Tensor runs instruction k from 100 k to 100 k + 50 ns,
 * and each adds 1 to semaphore 5; the record of the change comes 10 ns later. Some records are
 * missing: which ones, and the times of the changes, are known by construction.
 */
#include "profiler/analysis/lost_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define SP NTK_ISA_ENGINE_SP
#define DELAY_NS 10
#define SIGNAL_INC 0x13
#define SIGNAL_ADD 0x15
#define WAIT_AT_LEAST 5

/* NOP of hardware; 0: no wait, or no change. */
static uint32_t nop(struct hand_trace *h, unsigned engine, uint8_t wait, uint8_t wait_value,
                    uint8_t how, uint8_t signal)
{
    const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_NOP,
                                                [1] = 0x10,
                                                [4] = wait ? WAIT_AT_LEAST : 0,
                                                [5] = wait,
                                                [6] = how,
                                                [7] = signal,
                                                [8] = wait_value };

    return hand_trace_slot(h, 0, engine, slot);
}

static void put_instructions(struct hand_trace *h, int count, uint8_t how)
{
    for (int k = 1; k <= count; k++) {
        hand_trace_run(h, 0, PE, nop(h, PE, 0, 0, how, 5), 100 * k, 100 * k + 50);
    }
}

/* "1 3 =0 1+5": values; =0: a write, 20 ns after the previous change; +5: 5 ns later. Times are
 * those of the n-th change. */
static void put_records(struct hand_trace *h, const char *values)
{
    int64_t at_ns = 0;
    int before = 0; /* changes up to the last write */
    int last = 0;

    for (const char *at = values; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        int value = 0;
        int later = 0;
        if (*at == '=') {
            before += last;
            hand_trace_change(h, 0, NTK_NTFF_ENGINE_SYNC, 5, 0, at_ns + 20);
            h->cores[0].events[h->cores[0].event_count - 1].mode = NTK_NTFF_MODE_SEMAPHORE_WRITE;
            continue;
        }
        assert_true(sscanf(at, "%d+%d", &value, &later) >= 1);
        last = value;
        at_ns = 100 * (before + value) + 50 + DELAY_NS + later;
        hand_trace_change(h, 0, NTK_NTFF_ENGINE_TENSOR, 5, (uint32_t)value, at_ns);
    }
}

static void derived_changes_have_the_times_of_their_instructions(void **state)
{
    static const struct {
        const char *what;
        int instructions;
        uint8_t how;
        const char *recorded, *lost; /* value@ns */
    } rows[] = {
        { "complete", 4, SIGNAL_INC, "1 2 3 4", "" },
        { "one is missing", 4, SIGNAL_INC, "1 3 4", "2@260" },
        { "two in a row", 5, SIGNAL_INC, "1 4 5", "2@260 3@360" },
        { "two apart", 5, SIGNAL_INC, "1 3 5", "2@260 4@460" },
        { "the first and the last ones", 6, SIGNAL_INC, "2 4 5", "1@160 3@360 6@660" },
        { "as late as its neighbours, in between", 4, SIGNAL_INC, "1+30 3+10 4+30", "2@280" },
        { "in a backlog", 8, SIGNAL_INC, "1 2 3 5+500 6+420 8+230", "4@710 7@1085" },
        { "in a long backlog", 8, SIGNAL_INC, "1 2 5+500 6+405 8+210", "3@527 4@794 7@1068" },
        { "with a delay of 100 ns", 4, SIGNAL_INC, "1+90 3+90 4+90", "2@350" },
        { "after a write of 0 they restart", 6, SIGNAL_INC, "1 3 =0 1 3", "2@260 2@560" },
        { "more records than instructions", 2, SIGNAL_INC, "1 3 4", "" },
        { "records at other times than the instructions", 4, SIGNAL_INC, "1+2000 3+2000 4+2000",
          "" },
        { "instructions that add another number", 4, SIGNAL_ADD, "1 3 4", "" },
        { "values in another order", 5, SIGNAL_INC, "1 4 3+150 5", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hand_trace h;
        struct hand_answers a;
        char lost[100] = "";

        hand_trace_begin(&h, 1, "trn2.3xlarge", 5000);
        put_instructions(&h, rows[i].instructions, rows[i].how);
        put_records(&h, rows[i].recorded);
        hand_answers_ask(&h, &a);
        const struct ntk_lost_changes *found = &a.dependencies.cores[0].lost;
        for (size_t n = 0; n < found->count; n++) {
            size_t used = strlen(lost);
            snprintf(lost + used, sizeof lost - used, "%s%u@%lld", n ? " " : "",
                     found->events[n].value, (long long)(found->events[n].time_ps + 999) / 1000);
            assert_int_equal(found->events[n].source, NTK_NTFF_ENGINE_TENSOR);
        }
        if (strcmp(lost, rows[i].lost) != 0) {
            fail_msg("%s: '%s'", rows[i].what, lost);
        }
        hand_answers_done(&h, &a);
    }
}

/* ACT works 260 to 360 ns, after an unrecorded change: it waited for instructions 1 and 2 of
 * Tensor. */
static void a_wait_for_a_lost_change_has_a_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    put_instructions(&h, 4, SIGNAL_INC);
    put_records(&h, "1 3 4");
    hand_trace_run(&h, 0, ACT, nop(&h, ACT, 5, 2, 0, 0), 265, 1000);
    hand_answers_ask(&h, &a);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(15));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_INSTRUCTION], NS(50 + 50 + 735));
    for (size_t i = 0; i < a.idle.engine_count; i++) {
        const struct ntk_idle_engine *engine = &a.idle.engines[i];
        assert_int_equal(engine->reasons_ps[NTK_IDLE_UNKNOWN], 0);
        assert_int_equal(engine->reasons_ps[NTK_IDLE_ENGINE], engine->engine == ACT ? NS(260) : 0);
    }
    hand_answers_done(&h, &a);
}

/* As above with a backlog: ACT is free from 100 ns on and starts at 330, when the change occurred.
 * */
static void a_lost_change_has_the_start_time_of_the_waiting_instruction(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    put_instructions(&h, 4, SIGNAL_INC);
    put_records(&h, "1 3 4");
    hand_trace_run(&h, 0, ACT, nop(&h, ACT, 0, 0, 0, 0), 0, 100);
    hand_trace_run(&h, 0, ACT, nop(&h, ACT, 5, 2, 0, 0), 330, 1000);
    hand_answers_ask(&h, &a);
    assert_int_equal(a.dependencies.cores[0].lost.count, 1);
    assert_int_equal(a.dependencies.cores[0].lost.events[0].time_ps, NS(330));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(80));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);
    hand_answers_done(&h, &a);
}

/* The change to 6 comes 5 us after instruction 6: the instructions that end nearest to it did not
 * cause it. */
static void a_delayed_change_is_assigned_to_its_instruction(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 10000);
    put_instructions(&h, 8, SIGNAL_INC);
    put_records(&h, "1 2 3 5 6+5000");
    hand_trace_run(&h, 0, ACT, nop(&h, ACT, 5, 6, 0, 0), 5700, 6000);
    hand_answers_ask(&h, &a);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(5700 - 650));
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);
    hand_answers_done(&h, &a);
}

/* Loads k = 1 to 4 start at 100 k; their data arrives 50 ns later and the packet that writes
 * semaphore 20 ends 5 ns after that. The records of 2 and 3 are missing. */
static void changes_by_transfers_have_the_times_of_their_packets(void **state)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr load = hand_trace_load(&h, 0, 4);
    h.subgraphs[0].queues = &queue;
    h.subgraphs[0].queue_count = 1;
    for (int k = 1; k <= 4; k++) {
        hand_trace_run(&h, 0, SP, hand_trace_open(&h, 0, SP, &load), 100 * k, 100 * k + 10);
        hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 2048, 100 * k + 20, 100 * k + 50);
        hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 4, 100 * k + 50, 100 * k + 55);
        if (k == 1 || k == 4) {
            hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, (uint32_t)k, 100 * k + 57);
        }
    }
    hand_trace_run(&h, 0, ACT, nop(&h, ACT, 20, 3, 0, 0), 360, 1000);
    hand_answers_ask(&h, &a);
    const struct ntk_lost_changes *found = &a.dependencies.cores[0].lost;
    assert_int_equal(found->count, 2);
    assert_int_equal(found->events[0].time_ps, NS(257));
    assert_int_equal(found->events[1].time_ps, NS(357));
    assert_int_equal(found->events[1].source, NTK_NTFF_ENGINE_AXI);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], 0);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_TRANSFER], NS(47));
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derived_changes_have_the_times_of_their_instructions),
        cmocka_unit_test(a_wait_for_a_lost_change_has_a_cause),
        cmocka_unit_test(a_lost_change_has_the_start_time_of_the_waiting_instruction),
        cmocka_unit_test(a_delayed_change_is_assigned_to_its_instruction),
        cmocka_unit_test(changes_by_transfers_have_the_times_of_their_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
