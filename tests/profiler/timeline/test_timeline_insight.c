/* SPDX-License-Identifier: MIT */
/*
 * Method: a hand-made trace. PE runs 100-300 and signals semaphore 9 at 300; ACT waits
 * for it and runs 310-500, then PE again 350-400. The execution takes 1000 ns; its timeline starts
 * 50 ns earlier.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline_flame.h"
#include "tests/profiler/timeline/hand_timeline.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define TENSOR 0 /* tracks */
#define SCALAR 1
#define SEMAPHORE 2
#define SHIFT_NS 50 /* the offset of the second source is 0, where the first one begins */

static int setup(void **state)
{
    struct hand_timeline *f = calloc(1, sizeof *f);
    uint32_t pe, act, last;

    assert_non_null(f);
    hand_trace_begin(&f->h, 1, "trn2.3xlarge", 1000);
    pe = hand_trace_nop(&f->h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    last = hand_trace_nop(&f->h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    act = hand_trace_nop(&f->h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_PE, pe, 100, 300);
    hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_ACT, act, 310, 500);
    hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_PE, last, 350, 400);
    hand_trace_change(&f->h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 300);
    hand_timeline_open(f, 150); /* PE starts at -50 */
    assert_int_equal(f->timeline->begin_ps, -NS(SHIFT_NS));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct hand_timeline *f = *state;

    hand_timeline_close(f);
    free(f);
    return 0;
}

static json_t *flows_of(const struct hand_timeline *f, uint64_t track, uint64_t slice)
{
    struct ntk_buf out = { 0 };

    assert_int_equal(
        ntk_timeline_put_flows(f->timeline, f->analyses, NULL, track, slice, &out, NULL), 0);
    return json_of(&out);
}

static void expect_place(const json_t *place, json_int_t track, json_int_t slice,
                         json_int_t start_ns)
{
    assert_true(json_is_object(place));
    assert_int_equal(number(place, "track"), track);
    assert_int_equal(number(place, "slice"), slice);
    assert_int_equal(number(place, "start"), NS(start_ns));
}

/* Times below count from the start of the timeline: 100 ns less. */
static void details_of_a_wait_show_its_cause(void **state)
{
    json_t *flows = flows_of(*state, SCALAR, 0);
    const json_t *wait = json_object_get(flows, "wait");

    assert_int_equal(number(wait, "number"), 9);
    assert_int_equal(number(wait, "value"), 1);
    assert_string_equal(text(wait, "relation"), ">=");
    assert_true(json_is_false(json_object_get(wait, "by_transfer")));
    expect_place(json_object_get(wait, "by"), TENSOR, 0, 0);
    expect_place(json_object_get(wait, "change"), SEMAPHORE, 0, 200);
    assert_true(json_is_null(json_object_get(flows, "previous")));
    assert_int_equal(number(flows, "release_count"), 0);
    json_decref(flows);
}

static void details_of_a_signal_show_the_released_instruction(void **state)
{
    json_t *flows = flows_of(*state, TENSOR, 0);

    assert_true(json_is_null(json_object_get(flows, "wait")));
    assert_true(json_is_true(json_object_get(flows, "is_wait_known")));
    assert_int_equal(number(flows, "release_count"), 1);
    expect_place(json_array_get(json_object_get(flows, "releases"), 0), SCALAR, 0, 210);
    json_decref(flows);
    flows = flows_of(*state, TENSOR, 1);
    expect_place(json_object_get(flows, "previous"), TENSOR, 0, 0);
    assert_int_equal(number(flows, "release_count"), 0);
    json_decref(flows);
}

static void details_of_a_change_show_its_source_and_the_released_instruction(void **state)
{
    json_t *flows = flows_of(*state, SEMAPHORE, 0);

    expect_place(json_object_get(flows, "by"), TENSOR, 0, 0);
    expect_place(json_array_get(json_object_get(flows, "releases"), 0), SCALAR, 0, 210);
    json_decref(flows);
}

/* A program of a machine with unknown instructions. */
static void an_unknown_wait_is_not_shown_as_no_wait(void **state)
{
    static const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { NTK_NTFF_OPCODE_MATMUL, 0x10 };
    struct ntk_buf out = { 0 };
    struct hand_timeline t;

    hand_trace_begin(&t.h, 1, "inf1.xlarge", 1000);
    hand_trace_run(&t.h, 0, NTK_ISA_ENGINE_PE, hand_trace_slot(&t.h, 0, NTK_ISA_ENGINE_PE, slot),
                   100, 300);
    hand_timeline_open(&t, 0);
    assert_int_equal(ntk_timeline_put_flows(t.timeline, t.analyses, NULL, 0, 0, &out, NULL), 0);
    json_t *flows = json_of(&out);
    assert_true(json_is_false(json_object_get(flows, "is_wait_known")));
    assert_true(json_is_null(json_object_get(flows, "wait")));
    json_decref(flows);
    hand_timeline_close(&t);
}

static void an_invalid_slice_is_rejected(void **state)
{
    const struct hand_timeline *f = *state;
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_timeline_put_flows(f->timeline, f->analyses, NULL, 0, 2, &out, &err),
                     -ENOENT);
    assert_string_equal(err.text, "track 0 has no slice 2");
    assert_int_equal(ntk_timeline_put_flows(f->timeline, f->analyses, NULL, 3, 0, &out, &err),
                     -ENOENT);
    assert_int_equal(out.bytes_count, 0);
}

static void the_critical_path_is_clipped_to_the_window(void **state)
{
    const struct hand_timeline *f = *state;
    struct ntk_buf out = { 0 };
    json_int_t end = -NS(100); /* the execution starts before the timeline does */
    size_t i;
    json_t *step;

    ntk_timeline_put_path(f->timeline, 0, f->analyses, -NS(100), NS(1000), &out);
    json_t *path = json_of(&out);
    json_t *steps = json_object_get(path, "steps");
    assert_true(json_array_size(steps) >= 4);
    json_array_foreach(steps, i, step)
    {
        assert_int_equal(number(step, "start"), end);
        end = number(step, "end");
    }
    assert_int_equal(end, NS(900));
    size_t all = json_array_size(steps);
    json_decref(path);

    ntk_timeline_put_path(f->timeline, 0, f->analyses, NS(250), NS(260), &out);
    path = json_of(&out); /* ACT alone */
    steps = json_object_get(path, "steps");
    assert_int_equal(json_array_size(steps), 1);
    assert_true(all > 1);
    expect_place(json_object_get(json_array_get(steps, 0), "at"), SCALAR, 0, 210);
    json_decref(path);
}

static void the_flame_graph_is_clipped_to_the_range(void **state)
{
    const struct hand_timeline *f = *state;
    struct ntk_buf out = { 0 };

    /* From 150 to 220: 0-200 of PE and 210-400 of ACT. */
    ntk_timeline_put_flame(f->timeline, 0, f->analyses, NS(150), NS(220), &out);
    json_t *rows = json_of(&out);
    assert_int_equal(json_array_size(rows), 2);
    const json_t *pe = json_array_get(rows, 0);
    const json_t *act = json_array_get(rows, 1);
    assert_string_equal(text(pe, "engine"), "Tensor");
    assert_int_equal(number(pe, "sum"), NS(50));
    assert_int_equal(number(pe, "count"), 1);
    assert_string_equal(text(act, "engine"), "Scalar");
    assert_int_equal(number(act, "sum"), NS(10));
    json_decref(rows);
}

/* A ring without a name in the capture. */
static void rows_and_analyses_use_the_same_name_for_an_unnamed_queue(void **state)
{
    struct hand_timeline t;
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    hand_trace_begin(&t.h, 1, "trn2.3xlarge", 1000);
    hand_trace_packet(&t.h, 0, 3, 14, NTK_TRACE_DMA_INSTRUCTION, 64, 100, 200);
    hand_timeline_open(&t, 0);
    assert_string_equal(ntk_timeline_track_get(t.timeline, 0)->name, "(instruction)");
    ntk_json_init(&json, &out, false);
    assert_int_equal(ntk_analyses_put(t.analyses, (size_t)ntk_analyses_find("dma"), NULL, &json),
                     0);
    json_t *dma = json_of(&out);
    const json_t *queue = json_array_get(json_object_get(dma, "queues"), 0);
    assert_string_equal(text(queue, "queue"), "(instruction)");
    json_decref(dma);
    hand_timeline_close(&t);
}

static void the_compiler_name_of_an_instruction_is_shown(void **state)
{
    struct hand_timeline *f = *state;
    const struct ntk_neff_debug_instruction named = { .name = "I-1-0",
                                                      .penguin_text = "float32<2> $1[i]" };

    json_t *flows = flows_of(f, TENSOR, 0);
    assert_null(json_object_get(flows, "name"));
    json_decref(flows);
    f->analyses->program->facts[NTK_ISA_ENGINE_PE][0].named = &named;
    flows = flows_of(f, TENSOR, 0);
    assert_string_equal(text(flows, "name"), "I-1-0");
    assert_string_equal(text(flows, "tensor"), "float32<2> $1[i]");
    json_decref(flows);
    f->analyses->program->facts[NTK_ISA_ENGINE_PE][0].named = NULL;
}

/* The instruction of ACT follows that of PE, and one that is not in any program. */
static void predecessors_are_shown_with_their_last_run(void **state)
{
    struct hand_timeline *f = *state;
    struct ntk_neff_predecessor before[] = { { 7, 4 }, { 9, 1 } };
    struct ntk_neff_debug_instruction list[] = {
        { .bir_id = 7, .name = "I-7" },
        { .bir_id = 8, .name = "I-8", .predecessor_count = 2 },
    };
    struct ntk_neff_debug names = { .instruction_count = 2,
                                    .instructions = list,
                                    .predecessors = before };
    struct ntk_program *program = f->analyses->program;

    program->names[0] = &names;
    program->facts[NTK_ISA_ENGINE_PE][0].named = &list[0];
    program->facts[NTK_ISA_ENGINE_ACT][0].named = &list[1];
    json_t *flows = flows_of(f, SCALAR, 0);
    const json_t *reported = json_object_get(flows, "predecessors");
    assert_int_equal(json_array_size(reported), 2);
    assert_int_equal(number(flows, "predecessor_count"), 2);
    const json_t *one = json_array_get(reported, 0);
    assert_string_equal(text(one, "kind"), "FLOW_DEPENDENCE");
    assert_string_equal(text(one, "name"), "I-7");
    expect_place(json_object_get(one, "last"), TENSOR, 0, 0);
    one = json_array_get(reported, 1);
    assert_true(json_is_null(json_object_get(one, "name")));
    assert_true(json_is_null(json_object_get(one, "last")));
    json_decref(flows);
    flows = flows_of(f, TENSOR, 0);
    assert_null(json_object_get(flows, "predecessors"));
    json_decref(flows);
    program->facts[NTK_ISA_ENGINE_PE][0].named = NULL;
    program->facts[NTK_ISA_ENGINE_ACT][0].named = NULL;
    program->names[0] = NULL;
}

static void readable_operands_of_hardware_instructions_are_shown(void **state)
{
    static const uint8_t nop[NTK_NTFF_SLOT_BYTES] = { 0xa4, 0x10, [12] = 7 };
    static const char *const machines[] = { "trn2.3xlarge", "inf1.xlarge" };

    for (int m = 0; m < 2; m++) {
        struct ntk_buf out = { 0 };
        struct hand_timeline t;

        hand_trace_begin(&t.h, 1, machines[m], 1000);
        hand_trace_run(&t.h, 0, NTK_ISA_ENGINE_PE, hand_trace_slot(&t.h, 0, NTK_ISA_ENGINE_PE, nop),
                       100, 300);
        hand_timeline_open(&t, 0);
        struct ntk_operands *operands = ntk_operands_create(&t.h.trace);
        assert_non_null(operands);
        assert_int_equal(ntk_timeline_put_flows(t.timeline, t.analyses, operands, 0, 0, &out, NULL),
                         0);
        json_t *flows = json_of(&out);
        const json_t *reported = json_object_get(flows, "operands");
        if (m == 0) {
            assert_string_equal(json_string_value(reported), "cycle=7 ");
        } else {
            assert_null(reported);
        }
        json_decref(flows);
        ntk_operands_destroy(operands);
        hand_timeline_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_of_a_wait_show_its_cause),
        cmocka_unit_test(details_of_a_signal_show_the_released_instruction),
        cmocka_unit_test(details_of_a_change_show_its_source_and_the_released_instruction),
        cmocka_unit_test(the_compiler_name_of_an_instruction_is_shown),
        cmocka_unit_test(predecessors_are_shown_with_their_last_run),
        cmocka_unit_test(readable_operands_of_hardware_instructions_are_shown),
        cmocka_unit_test(an_unknown_wait_is_not_shown_as_no_wait),
        cmocka_unit_test(an_invalid_slice_is_rejected),
        cmocka_unit_test(the_critical_path_is_clipped_to_the_window),
        cmocka_unit_test(the_flame_graph_is_clipped_to_the_range),
        cmocka_unit_test(rows_and_analyses_use_the_same_name_for_an_unnamed_queue),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
