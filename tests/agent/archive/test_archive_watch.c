/* SPDX-License-Identifier: MIT */
/* When the agent checks for data to archive, by a clock that the test moves. */
#include "agent/archive/archive_watch.h"

#include "shared/base/log.h"
#include "tests/support/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void advance_by(struct test_clock *clock, uint64_t ns)
{
    assert_int_equal(test_clock_await(clock), ns);
    test_clock_advance(clock, ns);
}

/* Method: a missing database. The interval is checked before the first search and after each failed
 * search. */
static void a_missing_database_is_searched_for_at_growing_intervals(void **state)
{
    static const uint64_t pauses[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600 };
    char *db_path = test_scratch_path(test_scratch_folder, "none.db");
    char *destination = test_scratch_path(test_scratch_folder, "archive");
    struct test_clock clock;
    const struct ntk_archive_options options = { .target.destination = destination,
                                                 .clock = &clock.clock };
    struct ntk_archive_watch *watch = NULL;
    struct ntk_err err = { 0 };

    test_clock_init(&clock);
    ntk_log_set_level(NTK_LOG_ERROR);
    assert_int_equal(ntk_archive_watch_create(db_path, &options, &watch, &err), 0);
    for (uint64_t ns = 0; ns < NTK_ARCHIVE_WATCH_FIRST_NS; ns += NTK_ARCHIVE_WATCH_STEP_NS) {
        advance_by(&clock, NTK_ARCHIVE_WATCH_STEP_NS);
    }
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        advance_by(&clock, pauses[i] * NTK_NS_PER_SECOND);
    }
    ntk_archive_watch_destroy(watch); /* in the middle of a pause */
    test_clock_fini(&clock);
    free(destination);
    free(db_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_database_is_searched_for_at_growing_intervals),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
