/* SPDX-License-Identifier: MIT */
/* The states of cores at a past moment: working, stuck in an execution, failing. */
#include <string.h>

#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/store_fixture.h"
#include "tests/support/unit.h"

#define CORE 4u
#define HANG_AT 4u  /* the second in which the execution hangs */
#define FAIL_AT 20u /* the second in which it ends as timed out */
#define SECONDS 24u

/* What the agent stored for a hanging execution: an error without a class when the runtime detected
 * it, with a class when the execution ended. */
static struct ntk_snapshot *second(struct test_period *period, unsigned int s)
{
    bool is_hanging = s >= HANG_AT && s < FAIL_AT;

    period->time_ns = T0 + s * SECOND;
    period->completed = s < HANG_AT ? 2 : 0;
    period->with_events = s == HANG_AT || s == FAIL_AT;
    struct ntk_snapshot *snapshot = test_make_snapshot(period);
    struct ntk_core_sample *core = &snapshot->runtimes[0].cores[0];

    assert_int_equal(core->core, CORE);
    core->in_flight = is_hanging;
    core->outcome[NTK_OUTCOME_TIMED_OUT].period = s == FAIL_AT;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        struct ntk_event_sample *event = &snapshot->events[i];

        if (event->kind == NTK_EVENT_ERROR) {
            event->core = CORE;
            event->status = 5;
            event->error_class = s == HANG_AT ? NTK_ERROR_CLASS_NONE : NTK_ERROR_RUNTIME;
            event->realtime_ns = period->time_ns - SECOND / 2;
        }
    }
    return snapshot;
}

/* The state of the core in the recording at that second. */
static struct ntk_core_sample state_at(struct ntk_store_reader *reader, unsigned int s)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_core_sample core;

    assert_int_equal(ntk_store_reader_snapshot_at(reader, T0 + s * SECOND, &snapshot, NULL), 0);
    assert_int_equal(ntk_store_reader_load_failing(reader, snapshot, NULL), 0);
    assert_int_equal(snapshot->runtime_count, 1);
    core = snapshot->runtimes[0].cores[0];
    assert_int_equal(core.core, CORE);
    assert_int_equal(snapshot->runtimes[0].cores[1].running_ns, 0);
    assert_int_equal(snapshot->runtimes[0].cores[1].failing_since_ns, 0);
    ntk_snapshot_destroy(snapshot);
    return core;
}

static void a_running_execution_is_not_yet_reported_as_failed(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { .latency_ns = 1000000 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader = NULL;
    struct ntk_core_sample core;

    for (unsigned int s = 1; s <= SECONDS; s++) {
        test_store_put(store, second(&period, s));
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);

    core = state_at(reader, HANG_AT - 1);
    assert_int_equal(core.running_ns, 0);
    assert_int_equal(core.failing_since_ns, 0);
    for (unsigned int s = HANG_AT; s < FAIL_AT; s += 5) {
        core = state_at(reader, s);
        assert_int_equal(core.in_flight, 1);
        assert_int_equal(core.running_ns, (s - HANG_AT + 1) * SECOND);
        assert_int_equal(core.failing_since_ns, 0);
    }
    core = state_at(reader, SECONDS);
    assert_int_equal(core.running_ns, 0);
    assert_int_equal(core.failing_since_ns, T0 + FAIL_AT * SECOND - SECOND / 2);
    ntk_store_reader_close(reader);
}

/* Method: the first stored second has an execution in flight already. */
static void running_time_includes_time_before_the_recording(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { .latency_ns = 1000000 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader = NULL;

    for (unsigned int s = HANG_AT + 1; s < FAIL_AT; s++) {
        test_store_put(store, second(&period, s));
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(state_at(reader, FAIL_AT - 1).running_ns, (FAIL_AT - 1 - HANG_AT) * SECOND);
    ntk_store_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_running_execution_is_not_yet_reported_as_failed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(running_time_includes_time_before_the_recording, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
