/* SPDX-License-Identifier: MIT */
/*
 * The source of kernels on the page.
 *
 * Method: a hand-made trace with hand-made positions of slots: slot s has line
 * 1 + s of a file, slots 1 and 2 of PE are in the iterations h=0,t=0 and h=0,t=1 of a kernel. PE
 * runs from 100 ns on, where the timeline starts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/timeline/timeline_source.h"
#include "tests/profiler/timeline/hand_timeline.h"
#include "tests/support/hand_positions.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define SLOTS 4
#define FILE_NAME "/build/k/a.py"

struct fixture {
    struct hand_timeline t;
    struct ntk_source_lines *lines;
    struct ntk_source_text *text;
};

static struct ntk_neff_positions *make_positions(void)
{
    struct ntk_neff_positions *p = hand_positions(FILE_NAME, 1, SLOTS, 1);
    struct ntk_neff_kernel *kernel = &p->kernel;

    HAND_POSITIONS_PUSH(&kernel->functions, struct ntk_neff_function, .name = "m.f",
                        .file = FILE_NAME);
    HAND_POSITIONS_PUSH(&kernel->loops, struct ntk_neff_loop, .variable = "h", .function = "f",
                        .file = FILE_NAME);
    HAND_POSITIONS_PUSH(&kernel->loops, struct ntk_neff_loop, .variable = "t", .function = "f",
                        .file = FILE_NAME, .parent = 1, .depth = 1);
    HAND_POSITIONS_PUSH(&kernel->iterations, struct ntk_neff_iteration, .variable = "h",
                        .function = 1);
    for (int64_t i = 0; i < 2; i++) {
        HAND_POSITIONS_PUSH(&kernel->iterations, struct ntk_neff_iteration, .variable = "t",
                            .function = 1, .value = i, .parent = 1, .loop = 1, .depth = 1);
        HAND_POSITIONS_PUSH(&kernel->instructions, struct ntk_neff_kernel_instruction,
                            .number = (uint64_t)i, .line = 2, .function = 1,
                            .iteration = (uint32_t)(i + 2));
    }
    for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        p->cores[0].slots[e][SLOTS - 1] = (struct ntk_neff_position){ 0 };
    }
    for (uint32_t s = 1; s < SLOTS - 1; s++) {
        p->cores[0].slots[NTK_ISA_ENGINE_PE][s].instruction = s;
    }
    return p;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    hand_trace_begin(&f->t.h, 1, "trn2.3xlarge", 1000);
    for (int s = 0; s < SLOTS; s++) {
        hand_trace_nop(&f->t.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        hand_trace_nop(&f->t.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    }
    hand_trace_run(&f->t.h, 0, NTK_ISA_ENGINE_PE, 1, 100, 200);
    hand_trace_run(&f->t.h, 0, NTK_ISA_ENGINE_DVE, 1, 150, 250); /* the same line, in no loop */
    hand_trace_run(&f->t.h, 0, NTK_ISA_ENGINE_PE, 2, 300, 600);
    hand_trace_run(&f->t.h, 0, NTK_ISA_ENGINE_PE, 3, 700, 720); /* no line */
    hand_timeline_open(&f->t, 100);
    ntk_neff_positions_destroy(f->t.analyses->program->positions);
    f->t.analyses->program->positions = make_positions();
    assert_int_equal(ntk_timeline_lines_create(f->t.analyses, &f->lines), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_source_text_destroy(f->text);
    ntk_source_lines_destroy(f->lines);
    hand_timeline_close(&f->t);
    free(f);
    return 0;
}

static void source_lines_and_loops_have_costs(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf out = { 0 };

    ntk_timeline_put_lines(f->t.timeline, 0, f->lines, NULL, &out);
    json_t *answer = json_of(&out);
    const json_t *file = json_array_get(json_object_get(answer, "files"), 0);
    assert_string_equal(text(file, "path"), FILE_NAME);
    assert_true(json_is_false(json_object_get(file, "has_text")));
    const json_t *lines = json_object_get(answer, "lines");
    assert_int_equal(json_array_size(lines), 3);
    const json_t *first = json_array_get(lines, 0);
    assert_int_equal(number(first, "line"), 3);
    assert_int_equal(number(first, "duration"), 300);
    assert_string_equal(text(first, "function"), "m.f");
    assert_int_equal(number(json_array_get(lines, 1), "count"), 2);
    assert_string_equal(text(json_array_get(lines, 2), "reason"), "compiler");
    const json_t *inner = json_array_get(json_object_get(answer, "loops"), 1);
    assert_string_equal(text(inner, "variable"), "t");
    assert_int_equal(number(inner, "parent"), 0);
    assert_int_equal(number(inner, "iterations"), 2);
    assert_int_equal(number(inner, "start"), 0);
    assert_int_equal(number(inner, "end"), 500000);
    json_decref(answer);
}

/* Method: replaces the rows of the trace by more than an answer may have. The last one has no
 * line. */
static void source_rows_beyond_the_limit_are_counted_with_their_reasons(void **state)
{
    struct fixture *f = *state;
    struct ntk_source_lines many = *f->lines;
    struct ntk_buf out = { 0 };

    many.line_count = NTK_TIMELINE_LINES_MAX + 3;
    many.lines = calloc(many.line_count, sizeof *many.lines);
    assert_non_null(many.lines);
    for (uint32_t i = 0; i < many.line_count; i++) {
        many.lines[i] = (struct ntk_source_line){ .file = 1, .line = 1 + i };
    }
    many.lines[many.line_count - 1] =
        (struct ntk_source_line){ .reason = f->lines->lines[2].reason };
    ntk_timeline_put_lines(f->t.timeline, 0, &many, NULL, &out);
    free(many.lines);

    json_t *answer = json_of(&out);
    const json_t *lines = json_object_get(answer, "lines");
    assert_int_equal(number(answer, "line_count"), NTK_TIMELINE_LINES_MAX + 3);
    assert_int_equal(json_array_size(lines), NTK_TIMELINE_LINES_MAX + 1);
    assert_int_equal(number(json_array_get(lines, NTK_TIMELINE_LINES_MAX - 1), "line"),
                     NTK_TIMELINE_LINES_MAX);
    assert_string_equal(text(json_array_get(lines, NTK_TIMELINE_LINES_MAX), "reason"), "compiler");
    json_decref(answer);
}

static void the_iterations_of_a_loop_are_in_time_order(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_timeline_put_iterations(f->t.timeline, 0, f->lines, 1, &out, &err), 0);
    json_t *answer = json_of(&out);
    const json_t *second = json_array_get(json_object_get(answer, "iterations"), 1);
    assert_int_equal(number(answer, "count"), 2);
    assert_string_equal(text(second, "values"), "0,1");
    assert_int_equal(number(second, "start"), 200000);
    assert_int_equal(number(second, "end"), 500000);
    json_decref(answer);
    assert_int_equal(ntk_timeline_put_iterations(f->t.timeline, 0, f->lines, 2, &out, &err),
                     -ENOENT);
    assert_string_equal(err.text, "unknown loop 2");
}

static void a_slice_is_reported_with_source_line_function_and_iteration(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_timeline_put_position(f->t.timeline, f->t.analyses, 0, 1, &out, &err), 0);
    json_t *place = json_of(&out);
    assert_int_equal(number(place, "file"), 0);
    assert_int_equal(number(place, "line"), 3);
    assert_string_equal(text(place, "path"), FILE_NAME);
    assert_string_equal(text(place, "function"), "m.f");
    assert_string_equal(text(place, "iteration"), "h=0 t=1");
    json_decref(place);
    assert_int_equal(ntk_timeline_put_position(f->t.timeline, f->t.analyses, 0, 2, &out, &err), 0);
    assert_string_equal(ntk_buf_text_get(&out), "null");
    ntk_buf_fini(&out);
    assert_int_equal(ntk_timeline_put_position(f->t.timeline, f->t.analyses, 0, 9, &out, &err),
                     -ENOENT);
}

static void a_source_line_selects_its_instructions_on_all_engines(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf out = { 0 };
    struct ntk_timeline_wanted wanted = { .program = f->t.analyses->program, .file = 1, .line = 2 };

    assert_int_equal(ntk_timeline_put_hits(f->t.timeline, &wanted, 0, false, &out), 0);
    json_t *answer = json_of(&out);
    assert_int_equal(number(answer, "total"), 2);
    assert_int_equal(number(json_array_get(json_object_get(answer, "hits"), 1), "start"), 50000);
    json_decref(answer);
}

static void source_text_is_returned_by_line_and_sanitized(void **state)
{
    static const char bytes[] = "def f():\r\n\tx = \xff\n\n  y";
    struct fixture *f = *state;
    struct ntk_source_text_options options = { .nki_root = test_scratch_folder };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    char *path = NULL;

    assert_true(asprintf(&path, "%s/a.py", test_scratch_folder) > 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes - 1, file), sizeof bytes - 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ntk_source_text_create(&options, &f->text, &err), 0);
    assert_int_equal(ntk_timeline_put_source_file(f->lines, f->text, 0, &out, &err), 0);
    json_t *answer = json_of(&out);
    const json_t *lines = json_object_get(answer, "lines");
    assert_int_equal(json_array_size(lines), 4);
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "def f():");
    assert_string_equal(json_string_value(json_array_get(lines, 1)), "    x = \xef\xbf\xbd");
    assert_string_equal(json_string_value(json_array_get(lines, 3)), "  y");
    json_decref(answer);
    assert_int_equal(ntk_timeline_put_source_file(f->lines, NULL, 0, &out, &err), 0);
    assert_string_equal(ntk_buf_text_get(&out), "null");
    ntk_buf_fini(&out);
    assert_int_equal(ntk_timeline_put_source_file(f->lines, f->text, 1, &out, &err), -ENOENT);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(source_lines_and_loops_have_costs, setup, teardown),
        cmocka_unit_test_setup_teardown(source_rows_beyond_the_limit_are_counted_with_their_reasons,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_iterations_of_a_loop_are_in_time_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_slice_is_reported_with_source_line_function_and_iteration,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_source_line_selects_its_instructions_on_all_engines,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(source_text_is_returned_by_line_and_sanitized, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
