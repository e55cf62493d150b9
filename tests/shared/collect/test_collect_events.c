/* SPDX-License-Identifier: MIT */
/* Events of processes with real segments: errors, and other events of a period. */

#include <glob.h>
#include <signal.h>

#include "shared/collect/collect.h"
#include "tests/shared/collect/collect_fixture.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

/* How far the clock of records may be from the wall clock: a process without a processor determines
 * their common moment less exactly. */
#define CLOCKS_NS NTK_NS_PER_SECOND

static void each_recorded_action_is_an_event_of_the_period(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_event_sample *load = NULL;
    const struct ntk_event_sample *alloc = NULL;
    const struct ntk_event_sample *start = NULL;
    const struct ntk_event_sample *stop = NULL;
    uint64_t begin_ns = ntk_clock_realtime_ns();

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_ALLOC, 12288);
    child_tell(&child, COMMAND_TURN, 0);
    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];

        start = event->kind == NTK_EVENT_MODEL_START ? event : start;
        stop = event->kind == NTK_EVENT_MODEL_STOP ? event : stop;
        load = event->kind == NTK_EVENT_MODEL_LOAD ? event : load;
        alloc = event->kind == NTK_EVENT_MEM_ALLOC ? event : alloc;
    }
    assert_non_null(load);
    assert_string_equal(load->name, "mlp");
    assert_int_equal(load->model_id, NTK_MODEL_ID_FIRST);
    assert_int_equal(load->bytes, 4096);
    assert_non_null(start);
    assert_string_equal(start->name, "mlp");
    assert_int_equal(start->value, 1); /* the first */
    assert_non_null(stop);
    assert_int_equal(stop->model_id, NTK_MODEL_ID_FIRST);
    assert_int_equal(stop->status, 1201);
    assert_true(stop->duration_ns > 0);
    assert_int_equal(f->snapshot->runtimes[0].models[0].starts.period, 1);
    assert_int_equal(f->snapshot->runtimes[0].models[0].stops.total, 1);
    assert_non_null(alloc);
    assert_string_equal(alloc->name, "input0");
    assert_int_equal(alloc->bytes, 12288);
    assert_int_equal(alloc->address, 0x1000);
    assert_int_equal(alloc->category, NTK_MEMORY_TENSORS);
    assert_int_equal(alloc->location, NTK_MEMORY_DEVICE);
    assert_int_equal(alloc->core, 3);
    assert_int_equal(alloc->pid, child.pid);
    assert_int_equal(alloc->tid, child.pid);
    assert_in_range(alloc->realtime_ns, begin_ns - CLOCKS_NS, f->snapshot->realtime_ns + CLOCKS_NS);
    {
        uint64_t device = 0;

        ntk_snapshot_memory_add(&f->snapshot->runtimes[0], 3, 0, NULL, NULL, &device);
        assert_int_equal(device, 12288);
    }
    poll_collector(f);
    assert_int_equal(f->snapshot->event_count, 0);
    child_end(&child, 0);
}

static size_t errors_listed(const struct fixture *f, uint64_t first_execution)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];

        if (event->kind == NTK_EVENT_ERROR) {
            assert_int_equal(event->execution_id, first_execution + count);
            assert_int_equal(event->error_class, NTK_ERROR_NUMERICAL);
            assert_int_equal(event->status, 1003);
            assert_int_equal(event->core, 3);
            assert_int_equal(event->model_id, NTK_MODEL_ID_FIRST);
            count++;
        }
    }
    return count;
}

static void the_newest_failed_executions_are_listed_and_the_rest_counted(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 7);
    child_tell(&child, COMMAND_FAIL, 3);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 8), 3);
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(f->snapshot->events_unlisted, 1000 - (NTK_COLLECT_FAILURES_MAX - 2));
    assert_int_equal(errors_listed(f, 1011 - (NTK_COLLECT_FAILURES_MAX - 2)),
                     NTK_COLLECT_FAILURES_MAX - 2); /* a period passed */
    assert_int_equal(f->snapshot->runtimes[0].error_class[NTK_ERROR_NUMERICAL].period, 1000);
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 2010), 1);
    assert_int_equal(f->snapshot->events_unlisted, 999);
    for (size_t i = 0; i < NTK_COLLECT_FAILURES_MAX; i++) {
        poll_collector(f);
        assert_int_equal(f->snapshot->event_count, 0);
    }
    child_tell(&child, COMMAND_FAIL, 1000);
    poll_collector(f);
    assert_int_equal(errors_listed(f, 3011 - NTK_COLLECT_FAILURES_MAX), NTK_COLLECT_FAILURES_MAX);
    child_end(&child, 0);
}

/* Method: a second collector starts while executions fail; both show the same time. */
static void all_readers_report_the_same_start_of_core_failures(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    uint64_t since_ns;
    uint64_t before_ns;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 1);
    child_tell(&child, COMMAND_FAIL, 1); /* a core with numerical errors is not dead */
    poll_collector(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].failing_since_ns, 0);
    before_ns = f->snapshot->realtime_ns;
    child_tell(&child, COMMAND_DIE, 1);
    poll_collector(f);
    since_ns = f->snapshot->runtimes[0].cores[0].failing_since_ns;
    assert_in_range(since_ns, before_ns - CLOCKS_NS, f->snapshot->realtime_ns + CLOCKS_NS);
    child_tell(&child, COMMAND_DIE, 5);
    ntk_collector_destroy(f->collector);
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    poll_collector(f);
    uint64_t again_ns = f->snapshot->runtimes[0].cores[0].failing_since_ns;
    assert_in_range(again_ns, since_ns - CLOCKS_NS, since_ns + CLOCKS_NS);
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].failing_since_ns, 0);
    child_end(&child, 0);
}

static size_t codes_listed(const struct fixture *f, uint16_t core, uint32_t code)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];
        count += event->core == core && event->error_code == code;
    }
    return count;
}

/* A memory that corrects a bit in each execution must not fill the lists; a rare event among them
 * is listed. */
static void hardware_errors_are_listed_up_to_a_limit_and_the_rest_counted(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_ECC, 100);
    poll_collector(f);
    assert_int_equal(codes_listed(f, 3, NTK_ERROR_CODE_ECC_MEM_CORRECTED),
                     NTK_COLLECT_FAILURES_MAX);
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_ECC_MEM_CORRECTED),
                     NTK_COLLECT_FAILURES_MAX);
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_RESET), 1);
    assert_int_equal(f->snapshot->events_unlisted, 2 * (100 - NTK_COLLECT_FAILURES_MAX));
    child_tell(&child, COMMAND_ECC, 100);
    poll_collector(f);
    assert_int_equal(codes_listed(f, 3, NTK_ERROR_CODE_ECC_MEM_CORRECTED), 1); /* a period passed */
    assert_int_equal(codes_listed(f, 0, NTK_ERROR_CODE_RESET), 1);
    assert_int_equal(f->snapshot->events_unlisted, 2 * 99);
    child_end(&child, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, collect_setup, collect_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_recorded_action_is_an_event_of_the_period),
        TEST(the_newest_failed_executions_are_listed_and_the_rest_counted),
        TEST(all_readers_report_the_same_start_of_core_failures),
        TEST(hardware_errors_are_listed_up_to_a_limit_and_the_rest_counted),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
