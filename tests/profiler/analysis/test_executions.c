/* SPDX-License-Identifier: MIT */
/* Method: hand-made instructions of two engines, one execution after another. */
#include "profiler/analysis/executions.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consecutive_executions_are_distinguished),
        cmocka_unit_test(generated_executions_are_counted_correctly),
        cmocka_unit_test(repeated_loop_instructions_are_counted_as_one_execution),
        cmocka_unit_test(executions_with_inconsistent_parts_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
