/* SPDX-License-Identifier: MIT */
/* The window of a query: where the stored data begins, and what --last covers. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tests/agent/query/query_fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

/* Two executions on each of two cores, in the second that ends at each of the times. */
static void store(const struct fixture *f, const uint64_t *times_ns, size_t count)
{
    struct test_period period = { .latency_ns = 2000000, .completed = 2 };
    struct ntk_store *writer = open_store(f->path);

    for (size_t i = 0; i < count; i++) {
        period.time_ns = times_ns[i];
        test_store_put(writer, test_make_snapshot(&period));
    }
    close_store(writer);
}

/* Returns the number of rows; the first one belongs to the caller. */
static size_t ask(const struct fixture *f, const char *const *options, json_t **out_first)
{
    const char *argv[16] = { "neuron-monitor", "query", "executions", "--json", "--db", f->path };
    size_t count = 6;

    while (*options) {
        argv[count++] = *options++;
    }
    struct test_run run = test_run_program(argv, NULL);
    json_t *rows = json_loads(run.out, 0, NULL);
    size_t row_count = json_array_size(rows);

    *out_first = json_incref(json_array_get(rows, 0));
    json_decref(rows);
    test_run_fini(&run);
    return row_count;
}

static void option_last_covers_the_same_rows_for_any_row_jitter(void **state)
{
    static const int64_t jitter_ns[] = { -400000, -1, 0, 1, 50000, 3000000 };

    for (size_t j = 0; j < sizeof jitter_ns / sizeof *jitter_ns; j++) {
        uint64_t times_ns[20];
        json_t *row;

        for (uint64_t i = 0; i < 20; i++) {
            times_ns[i] = T0 + i * SECOND + (i == 14 ? (uint64_t)jitter_ns[j] : 0);
        }
        store(*state, times_ns, 20);
        assert_int_equal(ask(*state, (const char *[]){ "--last", "5s", NULL }, &row), 1);
        assert_int_equal(json_integer_value(json_object_get(row, "completed")), 5 * 4);
        assert_true(json_number_value(json_object_get(row, "watched_seconds")) > 4.99);
        json_decref(row);
        destroy_fixture(state);
        create_fixture(state);
    }
}

static void the_query_window_begins_with_the_first_second_row_not_the_hour_row(void **state)
{
    uint64_t times_ns[300];
    json_t *row;

    for (uint64_t i = 0; i < 300; i++) {
        times_ns[i] = T0 + 10 * i * SECOND;
    }
    store(*state, times_ns, 300); /* until 23:03:50 */
    assert_int_equal(ask(*state, (const char *[]){ NULL }, &row), 1);
    assert_string_equal(json_string_value(json_object_get(row, "from")), "2023-11-14T22:13:59Z");
    assert_int_equal(json_integer_value(json_object_get(row, "completed")), 300 * 4);
    json_decref(row);
    /* Steps without data are not listed. */
    assert_int_equal(ask(*state, (const char *[]){ "--step", "1m", NULL }, &row), 51);
    assert_string_equal(json_string_value(json_object_get(row, "from")), "2023-11-14T22:13:00Z");
    json_decref(row);
}

static void an_answer_without_rows_has_a_reason_on_stderr(void **state)
{
    const struct fixture *f = *state;
    static const char *const rows[][2] = {
        { "idle", "no causes in the window: the agent records them with --idle" },
        { "ranks", "no process was a rank of a communicator in the window" },
        { "verdicts", "no rank hung, broke or was slow in the window" },
    };

    store(f, (const uint64_t[]){ T0 }, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const table[] = {
            "neuron-monitor", "query", rows[i][0], "--db", f->path, NULL
        };
        const char *const json[] = { "neuron-monitor", "query",  rows[i][0], "--db",
                                     f->path,          "--json", NULL };
        struct test_run run = test_run_program(table, NULL);
        char expected[160];

        (void)snprintf(expected, sizeof expected, "neuron-monitor query: %s\n", rows[i][1]);
        assert_string_equal(run.err, expected);
        assert_int_equal(run.exit_code, 0);
        test_run_fini(&run);
        run = test_run_program(json, NULL);
        assert_string_equal(run.err, "");
        test_run_fini(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(option_last_covers_the_same_rows_for_any_row_jitter,
                                        create_fixture, destroy_fixture),
        cmocka_unit_test_setup_teardown(
            the_query_window_begins_with_the_first_second_row_not_the_hour_row, create_fixture,
            destroy_fixture),
        cmocka_unit_test_setup_teardown(an_answer_without_rows_has_a_reason_on_stderr,
                                        create_fixture, destroy_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
