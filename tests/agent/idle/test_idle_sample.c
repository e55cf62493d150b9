/* SPDX-License-Identifier: MIT */
/* Method: a result with rows in order, as attribution leaves it. */
#include "agent/idle/idle_sample.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

#define MS UINT64_C(1000000)

struct observed {
    struct ntk_host_records records;
    struct ntk_host_result result;
};

static int begin(void **state)
{
    static struct observed o;

    memset(&o, 0, sizeof o);
    ntk_host_records_init(&o.records);
    o.records.start_ns = 1000 * MS;
    o.records.end_ns = 61000 * MS;
    o.records.lost = 3;
    struct ntk_host_thread *thread = ntk_host_records_thread_add(&o.records, 70, 71);
    memcpy(thread->name, "loader", sizeof "loader");
    ntk_vec_init(&o.result.rows, sizeof(struct ntk_host_row));
    o.result.held_ns = 120000 * MS;
    o.result.idle_ns = 50000 * MS;
    o.result.gap_count = 9;
    o.result.longest_ns = 700 * MS;
    *state = &o;
    return 0;
}

static int end(void **state)
{
    struct observed *o = *state;

    ntk_host_result_fini(&o->result);
    ntk_host_records_fini(&o->records);
    return 0;
}

static void add_rows(struct observed *o, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ntk_host_row row = { .share = { (100 - i) * MS, 2, (50 - i) * MS },
                                    .cause = NTK_HOST_READ,
                                    .tid = 71,
                                    .function = "load",
                                    .module = "loader.py",
                                    .object = i == 0 ? "/data/a" : NULL,
                                    .syscall = i == 0 ? "read" : NULL };
        assert_int_equal(ntk_vec_push(&o->result.rows, &row), 0);
    }
}

static void idle_rows_have_thread_function_and_file(void **state)
{
    struct ntk_idle_cause causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX];
    struct observed *o = *state;
    struct ntk_idle_sample sample = { 0 };

    add_rows(o, 2);
    ntk_idle_sample_make(&o->records, &o->result, &sample, causes);
    assert_int_equal(sample.period_ns, 60000 * MS);
    assert_int_equal(sample.held_ns, 120000 * MS);
    assert_int_equal(sample.idle_ns, 50000 * MS);
    assert_int_equal(sample.gaps, 9);
    assert_int_equal(sample.longest_ns, 700 * MS);
    assert_int_equal(sample.lost, 3);
    assert_int_equal(sample.cause_count, 2);
    assert_string_equal(causes[0].cause, "read");
    assert_string_equal(causes[0].thread, "loader");
    assert_string_equal(causes[0].function, "load");
    assert_string_equal(causes[0].module, "loader.py");
    assert_string_equal(causes[0].syscall, "read");
    assert_string_equal(causes[0].object, "/data/a");
    assert_int_equal(causes[0].idle_ns, 100 * MS);
    assert_int_equal(causes[0].gaps, 2);
    assert_int_equal(causes[0].longest_ns, 50 * MS);
    assert_string_equal(causes[1].object, "");
    assert_string_equal(causes[1].syscall, "");
}

static void idle_rows_beyond_the_limit_are_merged_into_one(void **state)
{
    struct ntk_idle_cause causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX];
    const struct ntk_idle_cause *rest = &causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX - 1];
    struct observed *o = *state;
    struct ntk_idle_sample sample = { 0 };

    add_rows(o, NTK_SNAPSHOT_IDLE_CAUSES_MAX + 1);
    ntk_idle_sample_make(&o->records, &o->result, &sample, causes);
    assert_int_equal(sample.cause_count, NTK_SNAPSHOT_IDLE_CAUSES_MAX);
    assert_string_equal(rest[-1].cause, "read");
    assert_string_equal(rest->cause, NTK_IDLE_REST);
    assert_string_equal(rest->function, "");
    assert_int_equal(rest->idle_ns, (81 + 80) * MS);
    assert_int_equal(rest->gaps, 4);
    assert_int_equal(rest->longest_ns, 31 * MS);
}

static void idle_rows_up_to_the_limit_are_listed_individually(void **state)
{
    struct ntk_idle_cause causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX];
    struct observed *o = *state;
    struct ntk_idle_sample sample = { 0 };

    add_rows(o, NTK_SNAPSHOT_IDLE_CAUSES_MAX);
    ntk_idle_sample_make(&o->records, &o->result, &sample, causes);
    assert_int_equal(sample.cause_count, NTK_SNAPSHOT_IDLE_CAUSES_MAX);
    assert_string_equal(causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX - 1].cause, "read");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(idle_rows_have_thread_function_and_file),
        TEST(idle_rows_beyond_the_limit_are_merged_into_one),
        TEST(idle_rows_up_to_the_limit_are_listed_individually),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
