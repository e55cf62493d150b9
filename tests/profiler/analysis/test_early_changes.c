/* SPDX-License-Identifier: MIT */
/*
 * Changes recorded before the instruction that makes them begins. Method: hand-made programs of
 * hardware. Instructions that add 1 to semaphore 5 take 30 ns; when each starts, and when its
 * change is recorded, is written in the row.
 */
#include "profiler/analysis/early_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SIGNAL_INC 0x13
#define SIGNAL_WRITE 0x19

struct row {
    const char *what;
    const char *starts, *changes;           /* of Tensor, in ns */
    const char *more_starts, *more_changes; /* of Scalar */
    unsigned version;                       /* 0: 4 */
    bool is_part, is_cut;
    const char *wanted; /* value@ps of those that were corrected */
};

static const struct row rows[] = {
    { .what = "all come after the start", .starts = "100 200", .changes = "120 235", .wanted = "" },
    { .what = "each is 20 ns early",
      .starts = "100 200 300",
      .changes = "80 180 280",
      .wanted = "1@100001 2@200001 3@300001" },
    { .what = "one is early",
      .starts = "100 200 300",
      .changes = "110 170 320",
      .wanted = "2@200001" },
    { .what = "at the start itself",
      .starts = "100 200",
      .changes = "100 210",
      .wanted = "1@100001" },
    { .what = "100 ns early", .starts = "200", .changes = "100", .wanted = "1@200001" },
    { .what = "101 ns early: not its own", .starts = "201", .changes = "100", .wanted = "" },
    { .what = "one of them is too early: none is trusted",
      .starts = "100 300 500",
      .changes = "90 290 390",
      .wanted = "" },
    { .what = "fewer changes than instructions",
      .starts = "100 200 300",
      .changes = "80 180",
      .wanted = "" },
    { .what = "more changes than instructions",
      .starts = "100 200",
      .changes = "80 180 280",
      .wanted = "" },
    { .what = "two engines: each is compared with its own",
      .starts = "100 300",
      .changes = "90 290",
      .more_starts = "200",
      .more_changes = "190",
      .wanted = "1@100001 3@300001 2@200001" },
    { .what = "a corrected change stays before the next one",
      .starts = "100",
      .changes = "80",
      .more_starts = "60",
      .more_changes = "95",
      .wanted = "1@100001 2@100002" },
    { .what = "another version", .starts = "100", .changes = "80", .version = 5, .wanted = "" },
    { .what = "a part of the execution",
      .starts = "100",
      .changes = "80",
      .is_part = true,
      .wanted = "" },
    { .what = "a truncated file", .starts = "100", .changes = "80", .is_cut = true, .wanted = "" },
};

/* EVENT_SEMAPHORE of the runtime: waits inside until semaphore 5 is `wait` (0: not), then changes
 * it. */
static uint32_t event_semaphore(struct hand_trace *h, unsigned engine, uint8_t wait, uint8_t how)
{
    const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_EVENT_SEMAPHORE,
                                                [1] = 0x10,
                                                [32] = wait ? 1 : 0,
                                                [33] = wait ? 5 : 0,
                                                [34] = how,
                                                [35] = 5,
                                                [36] = wait,
                                                [40] = 1 };

    return hand_trace_slot(h, 0, engine, slot);
}

static const char *next_number(const char *at, int64_t *out_number)
{
    char *end = NULL;

    if (!at || !*at) {
        return NULL;
    }
    *out_number = strtoll(at, &end, 10);
    return end;
}

/* Values count the changes of all engines in time order. */
static void put(struct hand_trace *h, unsigned engine, const char *starts, const char *changes)
{
    uint32_t slot = event_semaphore(h, engine, 0, SIGNAL_INC);
    int64_t at_ns = 0;

    for (const char *at = starts; (at = next_number(at, &at_ns));) {
        hand_trace_run(h, 0, engine, slot, at_ns, at_ns + 30);
    }
    for (const char *at = changes; (at = next_number(at, &at_ns));) {
        hand_trace_change(h, 0, engine, 5, 0, at_ns);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct ntk_trace_event *x = a;
    const struct ntk_trace_event *y = b;

    return (x->time_ps > y->time_ps) - (x->time_ps < y->time_ps);
}

static void count_values(struct hand_trace *h)
{
    struct ntk_trace_core *core = &h->cores[0];

    qsort(core->events, core->event_count, sizeof *core->events, by_time);
    for (size_t i = 0; i < core->event_count; i++) {
        core->events[i].value = (uint32_t)i + 1;
    }
}

static int by_source(const void *a, const void *b)
{
    const struct ntk_trace_event *x = a;
    const struct ntk_trace_event *y = b;

    return x->source != y->source ? (int)x->source - (int)y->source : by_time(a, b);
}

static void early_semaphore_changes_are_moved_to_the_instruction_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct ntk_lost_changes found;
        struct ntk_trace_event sorted[8];
        struct ntk_program *program = NULL;
        struct hand_trace h;
        char text[100] = "";

        hand_trace_begin(&h, 1, "trn1.2xlarge", 1000);
        h.ntff.version = row->version ? row->version : 4;
        put(&h, PE, row->starts, row->changes);
        put(&h, ACT, row->more_starts, row->more_changes);
        count_values(&h);
        h.trace.is_part = row->is_part;
        h.cores[0].is_cut.events = row->is_cut;
        hand_trace_end(&h);
        assert_int_equal(ntk_program_create(&h.trace, &program), 0);
        program->dropped.changes.lost = 0; /* the subject of test_lost_changes */
        assert_int_equal(ntk_lost_changes_find(program, 0, NULL, &found), 0);

        assert_true(found.count <= 8);
        if (found.count) {
            memcpy(sorted, found.events, found.count * sizeof *sorted);
        }
        qsort(sorted, found.count, sizeof *sorted, by_source);
        for (size_t n = 0; n < found.count; n++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%u@%lld", n ? " " : "", sorted[n].value,
                     (long long)sorted[n].time_ps);
        }
        if (strcmp(text, row->wanted) != 0) {
            fail_msg("%s: '%s', not '%s'", row->what, text, row->wanted);
        }
        assert_int_equal(found.replaced.count, found.count);
        for (uint32_t n = 0; n < found.count; n++) {
            uint32_t event = (uint32_t)h.cores[0].event_count + n;
            uint32_t recorded = ntk_early_changes_recorded(&found, &h.cores[0], event);
            assert_int_equal(ntk_early_changes_index(&found, &h.cores[0], recorded), event);
        }
        ntk_lost_changes_fini(&found);
        ntk_program_destroy(program);
        hand_trace_fini(&h);
    }
}

/* Tensor works until 500 and adds 1 in the last barrier (500-530, recorded at 485); Scalar waits
 * for 1 and adds 1 (until 560, recorded at 525), Vector waits for 2, until 600. Before version 4
 * was understood, nothing was known to have made the first change. */
static void the_critical_path_through_a_barrier_includes_the_last_busy_engine(void **state)
{
    static const struct {
        unsigned version;
        int64_t wait_ns, tensor_ns;
    } wanted[] = { { 4, 0, 500 }, { 6, 485, 0 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn1.2xlarge", 600);
        h.ntff.version = wanted[i].version;
        const uint8_t nop[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10 };
        hand_trace_run(&h, 0, PE, hand_trace_slot(&h, 0, PE, nop), 0, 500);
        hand_trace_run(&h, 0, PE, event_semaphore(&h, PE, 0, SIGNAL_INC), 500, 530);
        hand_trace_run(&h, 0, ACT, event_semaphore(&h, ACT, 1, SIGNAL_INC), 0, 560);
        hand_trace_run(&h, 0, DVE, event_semaphore(&h, DVE, 2, SIGNAL_INC), 0, 600);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 5, 1, 485);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 5, 2, 525);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 5, 3, 590);
        hand_answers_ask(&h, &a);
        int64_t tensor_ps = 0;
        for (size_t s = 0; s < a.path.step_count; s++) {
            const struct ntk_path_step *step = &a.path.steps[s];
            if (ntk_path_is_engine(step->kind) &&
                ntk_path_instruction(&h.trace, step)->engine == NTK_NTFF_ENGINE_TENSOR) {
                tensor_ps += step->end_ps - step->start_ps;
            }
        }
        assert_int_equal(a.path.kinds_ps[NTK_PATH_WAIT], NS(wanted[i].wait_ns));
        assert_int_equal((tensor_ps + 999) / 1000, wanted[i].tensor_ns + (wanted[i].tensor_ns > 0));
        hand_answers_done(&h, &a);
    }
}

/* An impossible file: two engines each wait for a change by the other, within 100 ns, for a hundred
 * rounds. Each walk along causes must end. */
static void the_analysis_of_a_cycle_of_early_changes_terminates(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn1.2xlarge", 10000);
    h.ntff.version = 4;
    for (uint8_t i = 0; i < 100; i++) {
        uint32_t one = event_semaphore(&h, PE, (uint8_t)(2 * i + 2), SIGNAL_INC);
        uint32_t other = event_semaphore(&h, ACT, (uint8_t)(2 * i + 1), SIGNAL_INC);
        hand_trace_run(&h, 0, PE, one, 100 * i, 100 * i + 90);
        hand_trace_run(&h, 0, ACT, other, 100 * i, 100 * i + 90);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 5, 2U * i + 1, 100 * i - 20);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 5, 2U * i + 2, 100 * i - 10);
    }
    hand_answers_ask(&h, &a);
    hand_answers_done(&h, &a);
}

/* "Event is set, and is cleared": Scalar waits for event 4, which DMA sets at 700. The wait clears
 * it at 705, and the instruction is recorded from 740 on. */
static void an_event_is_cleared_before_the_waiting_instruction_starts(void **state)
{
    static const uint8_t slot[NTK_NTFF_SLOT_BYTES] = {
        [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10, [4] = 7, [5] = 4
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.ntff.version = 6;
    hand_trace_run(&h, 0, ACT, hand_trace_slot(&h, 0, ACT, slot), 740, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 4, 1, 700);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 4, 0, 705);
    for (size_t i = 0; i < 2; i++) {
        h.cores[0].events[i].is_semaphore = false;
        h.cores[0].events[i].mode = i ? NTK_NTFF_MODE_EVENT_CLEAR : NTK_NTFF_MODE_EVENT_SET;
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(a.idle.engines[0].reasons_ps[NTK_IDLE_DMA], NS(700));
    assert_int_equal(a.idle.engines[0].reasons_ps[NTK_IDLE_ISSUE], NS(40));
    assert_int_equal(a.idle.engines[0].reasons_ps[NTK_IDLE_UNKNOWN], 0);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_semaphore_changes_are_moved_to_the_instruction_start),
        cmocka_unit_test(the_critical_path_through_a_barrier_includes_the_last_busy_engine),
        cmocka_unit_test(the_analysis_of_a_cycle_of_early_changes_terminates),
        cmocka_unit_test(an_event_is_cleared_before_the_waiting_instruction_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
