/* SPDX-License-Identifier: MIT */
/* Method: hand-made periods of a process with two minutes of idle time, stored and read back. */
#include <string.h>

#include "shared/base/clock.h"
#include "shared/metrics/snapshot_idle.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define MINUTE (60 * SECOND)
#define BEGAN (UINT64_C(1800000000) * SECOND)

static const struct ntk_idle_cause causes[] = {
    { "read", "loader", "load", "loader.py", "read", "/data/a", 30 * SECOND, 100, SECOND },
    { "running", "loader", "decode", "loader.py", "", "", 10 * SECOND, 50, 2 * SECOND },
};

/* A minute of the process: it holds two cores, which are idle for a third. */
static void put_minute(struct ntk_store *store, struct test_period *period, uint64_t end_ns,
                       size_t cause_count)
{
    period->time_ns = end_ns;
    struct ntk_snapshot *snapshot = test_make_snapshot(period);
    const struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
    struct ntk_idle_sample sample = { .key = ntk_runtime_key(runtime),
                                      .realtime_ns = end_ns - SECOND / 2,
                                      .period_ns = MINUTE,
                                      .held_ns = 2 * MINUTE,
                                      .idle_ns = cause_count > 0 ? 40 * SECOND : 0,
                                      .gaps = 150,
                                      .longest_ns = 2 * SECOND,
                                      .lost = 7,
                                      .causes = causes,
                                      .cause_count = cause_count };
    ntk_snapshot_join_idle(snapshot, NULL, 0, &sample, 1);
    test_store_put(store, snapshot);
}

struct answer {
    struct ntk_store_idle rows[8];
    char texts[8][64]; /* cause, function and file */
    size_t count;
};

static int take(const struct ntk_store_idle *idle, void *ctx)
{
    struct answer *answer = ctx;

    assert_in_range(answer->count, 0, 7);
    (void)snprintf(answer->texts[answer->count], sizeof answer->texts[0], "%s %s %s",
                   idle->cause ? idle->cause : "none", idle->function ? idle->function : "",
                   idle->object ? idle->object : "");
    answer->rows[answer->count++] = *idle;
    return 0;
}

static struct answer ask(const struct fixture *f, const char *process, uint64_t step_ns)
{
    const struct ntk_store_filter filter = { .process = process };
    const struct ntk_store_window window = { BEGAN, BEGAN + 10 * MINUTE, step_ns };
    struct ntk_store_reader *reader = NULL;
    struct answer answer = { .count = 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_store_reader_open(f->path, &reader, &err), 0);
    int ret = ntk_store_reader_idle(reader, &filter, &window, take, &answer, &err);
    if (ret < 0) {
        fail_msg("%s", err.text);
    }
    ntk_store_reader_close(reader);
    return answer;
}

static void fill(const struct fixture *f)
{
    struct test_period period = { .time_ns = BEGAN };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(f->path, NULL, &store, NULL), 0);
    put_minute(store, &period, BEGAN + MINUTE, 2);
    put_minute(store, &period, BEGAN + 2 * MINUTE, 1);
    put_minute(store, &period, BEGAN + 3 * MINUTE, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void idle_causes_in_a_window_sum_to_its_idle_time(void **state)
{
    const struct fixture *f = *state;

    fill(f);
    struct answer answer = ask(f, NULL, 0);
    assert_int_equal(answer.count, 2);
    assert_string_equal(answer.texts[0], "read load /data/a");
    assert_string_equal(answer.texts[1], "running decode ");
    assert_int_equal(answer.rows[0].idle_ns, 60 * SECOND);
    assert_int_equal(answer.rows[0].gaps, 200);
    assert_int_equal(answer.rows[0].longest_ns, SECOND);
    assert_int_equal(answer.rows[1].idle_ns, 10 * SECOND);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(answer.rows[i].period_ns, 3 * MINUTE);
        assert_int_equal(answer.rows[i].held_ns, 6 * MINUTE);
        assert_int_equal(answer.rows[i].all_idle_ns, 80 * SECOND);
        assert_int_equal(answer.rows[i].lost, 21);
    }
}

static void each_training_step_has_separate_idle_causes(void **state)
{
    const struct fixture *f = *state;

    fill(f);
    struct answer answer = ask(f, NULL, MINUTE);
    assert_int_equal(answer.count, 4);
    assert_string_equal(answer.texts[0], "read load /data/a");
    assert_string_equal(answer.texts[1], "running decode ");
    assert_string_equal(answer.texts[2], "read load /data/a");
    assert_int_equal(answer.rows[2].start_ns, BEGAN + MINUTE);
    assert_int_equal(answer.rows[2].end_ns, BEGAN + 2 * MINUTE);
    assert_int_equal(answer.rows[2].idle_ns, 30 * SECOND);
    assert_string_equal(answer.texts[3], "none  "); /* observed, and busy */
    assert_int_equal(answer.rows[3].held_ns, 2 * MINUTE);
    assert_int_equal(answer.rows[3].all_idle_ns, 0);
}

static void unrelated_processes_are_omitted(void **state)
{
    const struct fixture *f = *state;

    fill(f);
    assert_int_equal(ask(f, "stranger", 0).count, 0);
    assert_int_equal(ask(f, "trainer", 0).count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(idle_causes_in_a_window_sum_to_its_idle_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_training_step_has_separate_idle_causes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unrelated_processes_are_omitted, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
