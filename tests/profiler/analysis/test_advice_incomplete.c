/* SPDX-License-Identifier: MIT */
/*
 * Method: one program with a transfer and waits; its records are removed kind by kind. Tensor
 * works 0 to 200 ns and 700 to 1000, after a load that Sync starts at 0.
 */
#include <string.h>

#include "profiler/analysis/advice.h"
#include "profiler/analysis/incomplete.h"
#include "profiler/analysis/summary.h"
#include "profiler/output/answers/output_analysis.h"
#include "shared/formats/neff/vendor_slot.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE

enum lack {
    COMPLETE,
    NO_EVENTS,
    NO_PACKETS,
    CUT_EVENTS,
    CUT_PACKETS,
    CUT_INSTRUCTIONS,
    UNPAIRED,
    NO_CHANGE,
    DROPPED_CHANGES,
    DROPPED_PACKETS,
    DROPPED_FEW_PACKETS,
    DROPPED_INSTRUCTIONS
};

/* How often each slot ran: the slot between the two of Tensor did not. */
static uint64_t pe_counts[] = { 1, 0, 1 };
static uint64_t sp_counts[] = { 1, 0, 0 };

struct made {
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_advice advice;
};

static void ask(struct made *m, enum lack lack, bool is_part)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    struct hand_trace *h = &m->h;
    struct ntk_tensor_row row = { .name = "x",
                                  .kind = "input",
                                  .size_bytes = 1024,
                                  .read_bytes = 4096,
                                  .has_reload = true,
                                  .reload_ratio = 4 };
    struct ntk_tensor_traffic tensors = { 1, &row };

    hand_trace_begin(h, 2, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(h, 0, 4);
    h->subgraphs[0].queues = &queue;
    h->subgraphs[0].queue_count = 1;
    uint32_t load = hand_trace_open(h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t before = hand_trace_nop(h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    if (lack == DROPPED_INSTRUCTIONS) {
        hand_trace_nop(h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        h->cores[0].has_slot_counts = true;
        h->cores[0].slot_counts[NTK_NTFF_ENGINE_TENSOR] = pe_counts;
        h->cores[0].slot_counts[NTK_NTFF_ENGINE_SYNC] = sp_counts;
    }
    uint32_t after = hand_trace_nop(h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    uint32_t other = hand_trace_nop(h, 1, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, before, 0, 200);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, after, 700, 1000);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_PE, other, 0, 100);
    /* The load is 2048 bytes. */
    uint32_t packet_bytes = lack == DROPPED_FEW_PACKETS ? 1015 : 1024;
    if (lack != NO_PACKETS && lack != DROPPED_PACKETS) {
        hand_trace_packet(h, 0, 0, 1, NTK_TRACE_DMA_IO, packet_bytes, 50, 370);
    }
    if (lack != NO_PACKETS) {
        hand_trace_packet(h, 0, 0, 1, NTK_TRACE_DMA_IO, packet_bytes, 370, 690);
    }
    if (lack == NO_CHANGE) { /* a different one is present */
        hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 30, 1, 150);
    } else if (lack != NO_EVENTS) {
        hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 700);
    }
    if (lack == DROPPED_CHANGES) { /* of a semaphore that a hardware instruction increments */
        const uint8_t slot[NTK_NTFF_SLOT_BYTES] = {
            [0] = NTK_NTFF_OPCODE_NOP, [1] = 0x10, [6] = NTK_VENDOR_SIGNAL_INC, [7] = 40
        };
        uint32_t increment = hand_trace_slot(h, 0, NTK_ISA_ENGINE_POOL, slot);
        hand_trace_run(h, 0, NTK_ISA_ENGINE_POOL, increment, 0, 10);
        hand_trace_change(h, 0, NTK_NTFF_ENGINE_GPSIMD, 40, 1, 10);
        hand_trace_change(h, 0, NTK_NTFF_ENGINE_GPSIMD, 40, 4, 900);
    }
    h->trace.is_part = is_part;
    h->trace.is_cut.events = h->cores[0].is_cut.events = lack == CUT_EVENTS;
    h->trace.is_cut.packets = h->cores[0].is_cut.packets = lack == CUT_PACKETS;
    h->trace.is_cut.instructions = h->cores[0].is_cut.instructions = lack == CUT_INSTRUCTIONS;
    h->cores[0].unpaired = lack == UNPAIRED ? 3 : 0;
    hand_answers_ask(h, &m->a);
    struct ntk_advice_input input = { m->a.program, &m->a.idle, &m->a.path, &m->a.costs,
                                      &m->a.dma,    NULL,       &tensors,   &m->a.transfers };
    assert_int_equal(ntk_analysis_advice(&input, &m->advice), 0);
}

static bool has(const struct made *m, enum ntk_advice_rule rule)
{
    for (size_t i = 0; i < m->advice.count; i++) {
        if (m->advice.items[i].rule == rule) {
            return true;
        }
    }
    return false;
}

static void done(struct made *m)
{
    ntk_advice_fini(&m->advice);
    hand_answers_done(&m->h, &m->a);
}

static void missing_record_kinds_are_listed_first_without_dependent_advice(void **state)
{
    static const struct {
        enum lack lack;
        const char *text; /* NULL: complete */
        bool path, wait, small, reload, idle_core, gain;
    } cases[] = {
        { COMPLETE, NULL, true, true, true, true, true, true },
        { NO_EVENTS, "incomplete: semaphore records are missing", false, false, true, true, true,
          false },
        { CUT_EVENTS, "incomplete: semaphore records are truncated", false, false, true, true, true,
          false },
        { NO_PACKETS, "incomplete: DMA records are missing", true, true, false, true, true, true },
        { CUT_PACKETS, "incomplete: DMA records are truncated", true, true, false, false, true,
          true },
        { CUT_INSTRUCTIONS, "incomplete: instruction records are truncated", false, false, true,
          false, false, false },
        { NO_CHANGE, "incomplete: the critical path waits for unrecorded changes for 50.0%", false,
          false, false, false, true, true },
        { DROPPED_CHANGES, "incomplete: at least 2 of 4 semaphore changes were not recorded", true,
          true, true, true, true, true },
        { DROPPED_PACKETS, "incomplete: DMA records of at least 1.0KB of 2.0KB were dropped", true,
          true, false, false, true, true },
        { DROPPED_FEW_PACKETS, "incomplete: DMA records of at least 18B of 2.0KB were dropped",
          true, true, true, true, true, true },
        { DROPPED_INSTRUCTIONS, "incomplete: at least 1 of 4 instructions were not recorded", false,
          false, true, false, false, false },
        { UNPAIRED, NULL, true, true, true, true, true, true }, /* as in every capture */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;

        ask(&m, cases[i].lack, false);
        assert_true(m.advice.count > 0);
        const struct ntk_advice_item *first = &m.advice.items[0];
        if (cases[i].text) { /* a few records are a note at the end */
            first += cases[i].lack == DROPPED_FEW_PACKETS ? m.advice.count - 1 : 0;
            assert_int_equal(first->rule, NTK_ADVICE_INCOMPLETE);
            assert_non_null(strstr(first->text, cases[i].text));
        }
        assert_int_equal(has(&m, NTK_ADVICE_INCOMPLETE), cases[i].text != NULL);
        assert_int_equal(has(&m, NTK_ADVICE_PATH_DMA), cases[i].path);
        assert_int_equal(has(&m, NTK_ADVICE_WAIT), cases[i].wait);
        assert_int_equal(has(&m, NTK_ADVICE_SMALL_PACKETS), cases[i].small);
        assert_int_equal(has(&m, NTK_ADVICE_RELOAD), cases[i].reload);
        assert_int_equal(has(&m, NTK_ADVICE_IDLE_CORE), cases[i].idle_core);
        bool has_gain = false;
        for (size_t n = 0; n < m.advice.count; n++) {
            has_gain = has_gain || m.advice.items[n].has_gain;
        }
        assert_int_equal(has_gain, cases[i].gain);
        done(&m);
    }
}

/* Only a truncated file needs disk space. Causes are uncertain without half of the changes. */
static void advice_for_lost_records_depends_on_where_they_were_lost(void **state)
{
    static const struct {
        enum lack lack;
        const char *what;
        bool is_uncertain;
    } cases[] = {
        { NO_PACKETS, "record again, with all kinds", false },
        { CUT_PACKETS, "free disk space", false },
        { DROPPED_CHANGES, "the file is not truncated", true },
        { DROPPED_FEW_PACKETS, "the file is not truncated", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m;

        ask(&m, cases[i].lack, false);
        for (size_t n = 0; n < m.advice.count; n++) {
            const struct ntk_advice_item *item = &m.advice.items[n];
            bool is_cause = item->rule == NTK_ADVICE_PATH_DMA || item->rule == NTK_ADVICE_WAIT;
            bool is_marked = strstr(item->text, "uncertain: 50% of the semaphore changes");
            assert_int_equal(is_marked, is_cause && cases[i].is_uncertain);
            if (item->rule == NTK_ADVICE_INCOMPLETE) {
                assert_non_null(strstr(item->what, cases[i].what));
                assert_int_equal(strstr(item->what, "disk") != NULL, cases[i].lack == CUT_PACKETS);
            }
        }
        done(&m);
    }
}

/* Single changes are derived from their makers, whole kinds are not. */
static void the_note_on_missing_records_states_whether_they_are_derived(void **state)
{
    static const struct {
        enum lack lack;
        const char *text; /* NULL: no note */
    } cases[] = {
        { COMPLETE, NULL },
        { NO_EVENTS, "records are missing; the missing records are not estimated" },
        { CUT_EVENTS, "records are truncated; the missing records are not estimated" },
        { DROPPED_PACKETS, "dropped; the missing records are not estimated" },
        { DROPPED_CHANGES, "not recorded; missing changes with a known origin are reconstructed" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_buf out = { 0 };
        struct made m;

        ask(&m, cases[i].lack, false);
        ntk_output_incomplete_text(m.a.program, NTK_LACK_ANY, &out);
        if (cases[i].text) {
            assert_non_null(strstr(ntk_buf_text_get(&out), cases[i].text));
        } else {
            assert_string_equal(ntk_buf_text_get(&out), "");
        }
        ntk_buf_fini(&out);
        done(&m);
    }
}

static void a_window_without_records_is_accepted(void **state)
{
    struct made m;

    ask(&m, NO_PACKETS, true);
    assert_false(has(&m, NTK_ADVICE_INCOMPLETE));
    done(&m);
}

/* Absent is not zero: no advice of the kind that lacks records, and none about collectives in a
 * truncated file, which may lack theirs. */
static void the_summary_omits_metrics_of_missing_records(void **state)
{
    static const struct {
        enum lack lack;
        bool is_part, dma, collectives;
    } cases[] = {
        { COMPLETE, false, true, true },          { NO_EVENTS, false, true, true },
        { NO_PACKETS, false, false, true },       { NO_PACKETS, true, true, true },
        { CUT_EVENTS, false, true, false },       { CUT_PACKETS, false, false, false },
        { CUT_INSTRUCTIONS, false, true, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_summary summary;
        struct made m;

        ask(&m, cases[i].lack, cases[i].is_part);
        assert_int_equal(ntk_analysis_summary_of(m.a.program, &summary), 0);
        assert_int_equal(ntk_program_lacks_packets(m.a.program), !cases[i].dma);
        assert_int_equal(summary.values[NTK_SUMMARY_dma_active_time].is_present, cases[i].dma);
        assert_int_equal(summary.values[NTK_SUMMARY_cc_op_active_time_percent].is_present,
                         cases[i].collectives);
        assert_int_equal(summary.values[NTK_SUMMARY_cc_op_count].is_present, cases[i].collectives);
        ntk_summary_fini(&summary);
        done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_record_kinds_are_listed_first_without_dependent_advice),
        cmocka_unit_test(advice_for_lost_records_depends_on_where_they_were_lost),
        cmocka_unit_test(the_note_on_missing_records_states_whether_they_are_derived),
        cmocka_unit_test(a_window_without_records_is_accepted),
        cmocka_unit_test(the_summary_omits_metrics_of_missing_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
