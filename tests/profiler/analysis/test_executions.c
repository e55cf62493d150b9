/* SPDX-License-Identifier: MIT */
/* Method: hand-made instructions of two engines, one execution after another. */
#include "profiler/analysis/executions.h"

#include <stdlib.h>

#include "tests/support/unit.h"

#define PASS_PS 1000

static struct ntk_trace_instruction list[256];
static struct ntk_trace_core core = { .instructions = list };

static void add(uint8_t engine, uint32_t slot, int64_t start_ps)
{
    list[core.instruction_count++] = (struct ntk_trace_instruction){
        .start_ps = start_ps, .end_ps = start_ps + 10, .slot = slot, .engine = engine
    };
}

/* A program with a loop of `turns` on engine 0, and three instructions on engine 4. */
static void run(int64_t at_ps, unsigned turns)
{
    add(0, 100, at_ps);
    add(4, 7, at_ps + 5);
    for (unsigned turn = 0; turn < turns; turn++) {
        add(0, 101, at_ps + 20 + 40 * turn);
        add(0, 102, at_ps + 40 + 40 * turn);
    }
    add(4, 8, at_ps + 500);
    add(0, 103, at_ps + 600);
    add(4, 9, at_ps + 700);
}

static struct ntk_executions find(void)
{
    struct ntk_executions executions;

    assert_int_equal(ntk_analysis_executions(&core, &executions), 0);
    return executions;
}

static void consecutive_executions_are_distinguished(void **state)
{
    (void)state;
    core.instruction_count = 0;
    for (int i = 0; i < 12; i++) {
        run(i * PASS_PS, 3);
    }
    struct ntk_executions executions = find();

    assert_int_equal(executions.count, 12);
    assert_int_equal(executions.items[0].start_ps, 0);
    assert_int_equal(executions.items[0].end_ps, 710);
    assert_int_equal(executions.items[11].start_ps, 11 * PASS_PS);
    assert_int_equal(executions.items[11].end_ps, 11 * PASS_PS + 710);
    ntk_executions_fini(&executions);
}

/* "0a 4x": engine 0 runs slot a, then engine 4 slot x. */
static void read_script(const char *script)
{
    core.instruction_count = 0;
    for (const char *at = script; *at; at += 2, at += *at == ' ') {
        add((uint8_t)(at[0] - '0'), (uint32_t)at[1], 20 * (int64_t)core.instruction_count);
    }
}

static void generated_executions_are_counted_correctly(void **state)
{
    static const struct {
        const char *what, *script;
        size_t count; /* 0: unknown */
    } rows[] = {
        { "one", "0a 0b 0c", 1 },
        { "two", "0a 0b 0a 0b", 2 },
        { "two of two engines", "0a 4x 0b 4y 0a 4x 0b 4y", 2 },
        { "three of three engines", "0a 1m 4x 0b 0a 1m 4x 0b 0a 1m 4x 0b", 3 },
        { "the next one starts on one engine before it ends on another", "0a 0b 4x 0a 4y 0b 4x 4y",
          2 },
        { "a loop", "0a 0b 0c 0b 0c 0d", 1 },
        { "a loop from the first instruction on: not distinguished", "0a 0b 0a 0b 0c", 0 },
        { "a loop with the last instruction", "0a 0b 0c 0b 0c", 1 },
        { "two with loops of other lengths", "0a 0b 0c 0a 0b 0b 0b 0c", 2 },
        { "two with another branch each", "0a 0b 0d 0a 0c 0d", 2 },
        { "an engine that ran more often", "0a 4x 0a 4x 0a", 0 },
        { "an engine that ran once only", "0a 0b 4x 4y 0a 0b", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_script(rows[i].script);
        struct ntk_executions executions = find();
        if (executions.count != rows[i].count) {
            fail_msg("%s: %zu, not %zu", rows[i].what, executions.count, rows[i].count);
        }
        ntk_executions_fini(&executions);
    }
}

static void repeated_loop_instructions_are_counted_as_one_execution(void **state)
{
    (void)state;
    core.instruction_count = 0;
    run(0, 9);
    struct ntk_executions executions = find();

    assert_int_equal(executions.count, 1);
    ntk_executions_fini(&executions);
}

static void executions_with_inconsistent_parts_are_not_counted(void **state)
{
    (void)state;
    core.instruction_count = 0;
    assert_int_equal(find().count, 0); /* no instructions */

    run(0, 1);
    add(0, 100, 2000); /* starts again, and ends elsewhere than before */
    add(0, 102, 2010);
    assert_int_equal(find().count, 0);

    core.instruction_count = 0;
    run(0, 1);
    add(4, 7, 2000); /* only one engine continued */
    add(4, 8, 2010);
    add(4, 9, 2020);
    assert_int_equal(find().count, 0);

    core.instruction_count = 0;
    run(0, 1);
    core.is_cut.instructions = true;
    assert_int_equal(find().count, 0);
    core.is_cut.instructions = false;
}

static void captures_that_start_or_end_within_an_execution_have_parts(void **state)
{
    static const struct {
        const char *what, *script;
        size_t count; /* 0: unknown */
    } rows[] = {
        { "it starts within", "0b 4x 0c 4y 0a 4x 0b 0c 4y", 2 },
        { "it ends within", "0a 4x 0b 0c 4y 0a 4x 0b", 2 },
        { "both", "0c 4y 0a 4x 0b 0c 4y 0a 4x 0b", 3 },
        { "a loop inside", "0c 4y 0a 0b 0b 4x 0c 4y 0a 4x", 3 },
        { "a loop at the lowest slot", "0b 0c 0a 0b 0a 0c", 0 },
        { "one engine has not continued", "0b 4x 0c 4y 0a 0b", 0 },
        { "an engine with one slot", "0b 0c 4x 0a 0b 4x", 0 },
        { "only within", "0b 0c 4x 4y", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_executions parts;

        read_script(rows[i].script);
        assert_int_equal(ntk_analysis_execution_parts(&core, &parts), 0);
        if (parts.count != rows[i].count) {
            fail_msg("%s: %zu, not %zu", rows[i].what, parts.count, rows[i].count);
        }
        ntk_executions_fini(&parts);
    }
}

/* Three executions at 0, 1000 and 2000 ps with instructions at 0 to 710. */
static void a_window_has_the_executions_with_an_instruction_in_it(void **state)
{
    static const struct {
        const char *what;
        int64_t from_ps, to_ps;
        size_t count;
        int64_t starts_ps[3];
    } rows[] = {
        { "all but the first instructions", 100, 3000, 3, { 0, 900, 1900 } },
        { "parts of two", 400, 1100, 2, { 0, 600 } },
        { "all of the second and parts of the others", 300, 2300, 3, { 0, 700, 1700 } },
        { "the start of an execution", 1000, 2300, 2, { 0, 1000 } },
        { "the pause before an execution", 800, 2300, 2, { 200, 1200 } },
        { "up to the start of the next", 1000, 2000, 0, { 0 } },
        { "a pause and one execution", 800, 1900, 0, { 0 } },
        { "within one", 1100, 1300, 0, { 0 } },
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ntk_execution_borders borders = { .items = calloc(3, sizeof *borders.items),
                                                 .count = 3 };
        struct ntk_trace trace = { .core_count = 1, .cores = &core, .is_part = true };
        size_t kept = 0;

        core.instruction_count = 0;
        for (int i = 0; i < 3; i++) {
            run(i * PASS_PS, 3);
            borders.items[i].start_ps = i * PASS_PS;
        }
        for (size_t i = 0; i < core.instruction_count; i++) { /* as the reader cuts them */
            if (list[i].end_ps > rows[r].from_ps && list[i].start_ps < rows[r].to_ps) {
                list[kept] = list[i];
                list[kept].start_ps -= rows[r].from_ps;
                list[kept++].end_ps -= rows[r].from_ps;
            }
        }
        core.instruction_count = kept;
        trace.part.from_ps = rows[r].from_ps;
        trace.part.to_ps = rows[r].to_ps;
        ntk_execution_borders_cut(&trace, &borders);
        if (borders.count != rows[r].count) {
            fail_msg("%s: %zu, not %zu", rows[r].what, borders.count, rows[r].count);
        }
        for (size_t i = 0; i < borders.count; i++) {
            assert_int_equal(borders.items[i].start_ps, rows[r].starts_ps[i]);
            assert_true(borders.items[i].end_ps > borders.items[i].start_ps);
        }
        ntk_execution_borders_fini(&borders);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_that_start_or_end_within_an_execution_have_parts),
        cmocka_unit_test(a_window_has_the_executions_with_an_instruction_in_it),
        cmocka_unit_test(consecutive_executions_are_distinguished),
        cmocka_unit_test(generated_executions_are_counted_correctly),
        cmocka_unit_test(repeated_loop_instructions_are_counted_as_one_execution),
        cmocka_unit_test(executions_with_inconsistent_parts_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
