/* SPDX-License-Identifier: MIT */
/* How long a burn-in runs, by a clock of the test. Method: the rounds are functions of the test,
 * not programs on a core, and take the time that the test sets. */
#include <string.h>
#include <unistd.h>

#include "agent/diag/diag_worker.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define ROUND_NS (600 * NTK_NS_PER_SECOND)

static struct test_clock burn_clock;
static uint64_t round_ns;
static uint32_t bad_from;  /* from this round on every result fails; 0: never */
static uint32_t dead_from; /* the core dies in this round; 0: never */
static uint32_t round_last;

static void pass_round(struct ntk_diag_worker *worker, uint32_t number)
{
    assert_true(worker->is_quiet);
    assert_int_equal(number, round_last + 1);
    round_last = number;
    test_clock_advance(&burn_clock, round_ns);
    worker->bad_count += bad_from > 0 && number >= bad_from ? 8 : 0;
    worker->is_dead = dead_from > 0 && number >= dead_from;
}

static struct ntk_diag_result burn(uint64_t duration_ns)
{
    const struct ntk_diag_plan plan = { .duration_ns = duration_ns, .cores_per_device = 2 };
    const struct ntk_diag_work work = { .job = NTK_DIAG_JOB_BURN, .core = 3 };
    struct ntk_diag_message message = { .kind = NTK_DIAG_RESULT };
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    struct ntk_diag_worker worker = {
        .plan = &plan, .work = &work, .fd = ends[1], .clock = &burn_clock.clock
    };
    test_clock_init(&burn_clock);
    round_last = 0;
    ntk_diag_burn(&worker, pass_round);
    assert_false(worker.is_quiet);
    assert_int_equal(read(ends[0], &message, sizeof message), sizeof message);
    assert_int_equal(message.kind, NTK_DIAG_BEGINS);
    assert_int_equal(read(ends[0], &message, sizeof message), sizeof message);
    assert_int_equal(message.kind, NTK_DIAG_RESULT);
    assert_int_equal(message.result.test, NTK_DIAG_BURN_IN_TEST);
    close(ends[0]);
    close(ends[1]);
    test_clock_fini(&burn_clock);
    return message.result;
}

static void burn_in_rounds_start_until_the_duration_is_reached(void **state)
{
    static const struct {
        uint64_t duration_ns;
        uint32_t rounds;
    } rows[] = {
        { 0, 1 }, /* at least one */
        { 1, 1 },
        { ROUND_NS - 1, 1 },
        { ROUND_NS, 1 },
        { ROUND_NS + 1, 2 },
        { 12 * ROUND_NS - 1, 12 },
        { 12 * ROUND_NS, 12 },
        { 12 * ROUND_NS + 1, 13 },
    };

    (void)state;
    round_ns = ROUND_NS;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_diag_result result = burn(rows[i].duration_ns);

        assert_int_equal(round_last, rows[i].rounds);
        assert_int_equal(result.verdict, NTK_DIAG_PASS);
        assert_int_equal(result.took_ns, rows[i].rounds * ROUND_NS);
        assert_true(result.figure == rows[i].rounds);
        assert_non_null(strstr(result.reason, rows[i].rounds == 1 ? "1 round without errors"
                                                                  : " rounds without errors"));
    }
}

/* The burn-in stops at 16 failed results, here after two rounds. */
static void burn_in_stops_after_16_failures(void **state)
{
    (void)state;
    round_ns = ROUND_NS;
    bad_from = 3;
    struct ntk_diag_result result = burn(100 * ROUND_NS);
    bad_from = 0;
    assert_int_equal(round_last, 4);
    assert_int_equal(result.verdict, NTK_DIAG_FAIL);
    assert_string_equal(result.reason, "16 tests failed in 4 rounds; stopped");

    bad_from = 100;
    result = burn(100 * ROUND_NS);
    bad_from = 0;
    assert_int_equal(round_last, 100);
    assert_string_equal(result.reason, "8 tests failed in 100 rounds");
}

static void the_burn_in_stops_at_a_dead_core(void **state)
{
    (void)state;
    round_ns = ROUND_NS;
    dead_from = 2;
    bad_from = 2;
    struct ntk_diag_result result = burn(100 * ROUND_NS);
    dead_from = bad_from = 0;
    assert_int_equal(round_last, 2);
    assert_string_equal(result.reason, "8 tests failed in 2 rounds; stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burn_in_rounds_start_until_the_duration_is_reached),
        cmocka_unit_test(burn_in_stops_after_16_failures),
        cmocka_unit_test(the_burn_in_stops_at_a_dead_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
