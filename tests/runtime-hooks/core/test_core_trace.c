/* SPDX-License-Identifier: MIT */
/*
 * The rings of the system trace on their own: which events share a time, who gets which event,
 * names, and the content of a full ring.
 */
#include "runtime-hooks/core/core_trace.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define ALL_KINDS ((UINT64_C(1) << NTK_CORE_TRACE_KINDS) - 1)
#define CORES 20U /* more than there are locks */

static void start(enum ntk_core_trace_sink sink, uint64_t kinds, uint64_t events_per_core)
{
    struct ntk_core_trace_options options = { .core_count = CORES,
                                              .kinds = kinds,
                                              .events_per_core = events_per_core };
    struct ntk_err err = { 0 };

    if (ntk_core_trace_start(sink, &options, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static size_t take(enum ntk_core_trace_sink sink, uint32_t nc, struct ntk_ntrace_event *events,
                   size_t count)
{
    return ntk_core_trace_take(sink, nc, events, count, NULL);
}

static int stop_all(void **state)
{
    for (int sink = 0; sink < NTK_CORE_TRACE_SINKS; sink++) {
        (void)ntk_core_trace_stop((enum ntk_core_trace_sink)sink);
    }
    return 0;
}

static void trace_events_recorded_together_have_equal_times_and_keep_order(void **state)
{
    struct ntk_core_trace_span whole = { 0 };
    struct ntk_core_trace_span first = { 0 };
    struct ntk_core_trace_span second = { 0 };
    const struct ntk_core_trace_note begins[] = {
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXECUTE, &whole },
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXEC_PRE, &first },
    };
    const struct ntk_core_trace_note turns[] = {
        { .phase = NTK_NTRACE_STOP, .span = &first },
        { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SYNC, NULL },
        { NTK_NTRACE_START, NTK_CORE_TRACE_EXEC_WAIT, &second },
    };
    const struct ntk_core_trace_data data = { .execution_id = 7, .model_id = 10001, .name = "m" };
    struct ntk_ntrace_event events[8];

    start(NTK_CORE_TRACE_API, ALL_KINDS, 16);
    ntk_core_trace_moment(17, &data, begins, 2);
    ntk_core_trace_moment(17, &data, turns, 3);
    assert_int_equal(take(NTK_CORE_TRACE_API, 1, events, 8), 0); /* the same lock, another core */
    assert_int_equal(take(NTK_CORE_TRACE_API, 17, events, 8), 5);
    assert_int_equal(events[0].kind, NTK_CORE_TRACE_EXECUTE);
    assert_int_equal(events[1].kind, NTK_CORE_TRACE_EXEC_PRE);
    assert_int_equal(events[1].time_ns, events[0].time_ns);
    assert_int_equal(events[2].kind, NTK_CORE_TRACE_EXEC_PRE);
    assert_int_equal(events[2].phase, NTK_NTRACE_STOP);
    assert_int_equal(events[2].tracking_id, events[1].tracking_id);
    assert_int_equal(events[3].phase, NTK_NTRACE_INSTANT);
    assert_int_equal(events[4].kind, NTK_CORE_TRACE_EXEC_WAIT);
    assert_int_equal(events[4].phase, NTK_NTRACE_START);
    assert_true(events[2].time_ns >= events[1].time_ns);
    assert_int_equal(events[3].time_ns, events[2].time_ns);
    assert_int_equal(events[4].time_ns, events[2].time_ns);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(events[i].execution_id, 7);
        assert_int_equal(events[i].thread_id, (uint32_t)gettid());
        assert_string_equal(ntk_core_trace_name(events[i].name), "m");
        for (size_t k = 0; k < i; k++) {
            assert_true((events[k].tracking_id == events[i].tracking_id) == (k == 1 && i == 2));
        }
    }
}

static void a_span_end_is_sent_only_to_sinks_with_its_start(void **state)
{
    struct ntk_core_trace_span before = { 0 };
    struct ntk_core_trace_span between = { 0 };
    const struct ntk_core_trace_note end = { .phase = NTK_NTRACE_STOP, .span = &before };
    const struct ntk_core_trace_data data = { .name = "" };
    struct ntk_ntrace_event events[4];

    start(NTK_CORE_TRACE_API, ALL_KINDS, 16);
    ntk_core_trace_moment(0, &data, &end, 1); /* it has no start */
    ntk_core_trace_span_end(&before, &data);
    ntk_core_trace_span_begin(&between, NTK_CORE_TRACE_LOAD, 0, &data);
    start(NTK_CORE_TRACE_WHOLE, ALL_KINDS, 16);
    start(NTK_CORE_TRACE_INSPECT, UINT64_C(1) << NTK_CORE_TRACE_SYNC, 16);
    ntk_core_trace_span_end(&between, &data);
    ntk_core_trace_point(NTK_CORE_TRACE_SYNC, 0, &data);
    assert_int_equal(take(NTK_CORE_TRACE_API, 0, events, 4), 3);
    assert_int_equal(events[0].phase, NTK_NTRACE_START);
    assert_int_equal(events[1].phase, NTK_NTRACE_STOP);
    assert_int_equal(events[1].kind, NTK_CORE_TRACE_LOAD);
    assert_int_equal(take(NTK_CORE_TRACE_WHOLE, 0, events, 4), 1);
    assert_int_equal(events[0].kind, NTK_CORE_TRACE_SYNC);
    assert_int_equal(take(NTK_CORE_TRACE_INSPECT, 0, events, 4), 1);
    assert_int_equal(events[0].kind, NTK_CORE_TRACE_SYNC);
}

/* A kept name has its text at one address; another text is written there. */
static void trace_names_are_compared_by_content_not_by_address(void **state)
{
    static const char *const texts[] = { "first", "second", "first", "", "secondary" };
    char place[16];
    struct ntk_core_trace_data data = { .name = place };
    struct ntk_ntrace_event events[5];

    for (int run = 0; run < 2; run++) { /* again, after all have stopped: no old events are left */
        start(NTK_CORE_TRACE_API, ALL_KINDS, 16);
        for (size_t i = 0; i < 5; i++) {
            (void)snprintf(place, sizeof place, "%s", texts[(i + (size_t)run) % 5]);
            ntk_core_trace_point(NTK_CORE_TRACE_SYNC, 0, &data);
        }
        assert_int_equal(take(NTK_CORE_TRACE_API, 0, events, 5), 5);
        for (size_t i = 0; i < 5; i++) {
            assert_string_equal(ntk_core_trace_name(events[i].name), texts[(i + (size_t)run) % 5]);
        }
        assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_API), 0);
    }
    assert_string_equal(ntk_core_trace_name(1), "");
}

/* A capacity that is not a power of two, wrapped several times. */
static void a_full_trace_ring_has_the_newest_events_in_order(void **state)
{
    struct ntk_ntrace_event events[8];
    uint64_t position = 0;
    uint64_t lost = 0;

    start(NTK_CORE_TRACE_API, ALL_KINDS, 7);
    for (uint64_t i = 1; i <= 30; i++) {
        struct ntk_core_trace_data data = { .execution_id = i };

        ntk_core_trace_point(NTK_CORE_TRACE_SYNC, 3, &data);
        if (i == 5) {
            assert_int_equal(ntk_core_trace_take(NTK_CORE_TRACE_API, 3, events, 3, &lost), 3);
            assert_int_equal(events[2].execution_id, 3);
            assert_int_equal(lost, 0);
        }
    }
    assert_int_equal(ntk_core_trace_copy(NTK_CORE_TRACE_API, 3, &position, events, 8, &lost), 7);
    assert_int_equal(lost, 20);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(events[i].execution_id, 24 + i);
    }
    assert_int_equal(take(NTK_CORE_TRACE_API, 3, events, 8), 7);
    assert_int_equal(events[6].execution_id, 30);
}

#define RACE_EVENTS 3000U

static void *records(void *ctx)
{
    uint32_t nc = *(const uint32_t *)ctx;

    for (uint64_t i = 1; i <= RACE_EVENTS; i++) {
        char name[2] = { (char)('a' + i % 26), '\0' };
        struct ntk_core_trace_data data = { .execution_id = i, .name = name };

        ntk_core_trace_point(NTK_CORE_TRACE_SYNC, nc, &data);
    }
    return NULL;
}

/* Two threads on one lock, and one on another; another sink starts and stops meanwhile. */
static void a_trace_sink_loses_no_events_while_another_starts_and_stops(void **state)
{
    uint32_t cores[] = { 0, 16, 1 };
    pthread_t threads[3];
    struct ntk_ntrace_event events[64];
    uint64_t seen[3] = { 0 };

    start(NTK_CORE_TRACE_API, ALL_KINDS, RACE_EVENTS);
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(pthread_create(&threads[t], NULL, records, &cores[t]), 0);
    }
    while (seen[0] + seen[1] + seen[2] < 3 * RACE_EVENTS) {
        start(NTK_CORE_TRACE_WHOLE, ALL_KINDS, 16);
        for (size_t t = 0; t < 3; t++) {
            size_t count = take(NTK_CORE_TRACE_API, cores[t], events, 64);

            for (size_t i = 0; i < count; i++) {
                const char name[2] = { (char)('a' + (seen[t] + 1) % 26), '\0' };

                assert_int_equal(events[i].execution_id, ++seen[t]);
                assert_string_equal(ntk_core_trace_name(events[i].name), name);
            }
        }
        assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_WHOLE), 0);
    }
    for (size_t t = 0; t < 3; t++) {
        pthread_join(threads[t], NULL);
    }
}

#define TEST(function) cmocka_unit_test_teardown(function, stop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trace_events_recorded_together_have_equal_times_and_keep_order),
        TEST(a_span_end_is_sent_only_to_sinks_with_its_start),
        TEST(trace_names_are_compared_by_content_not_by_address),
        TEST(a_full_trace_ring_has_the_newest_events_in_order),
        TEST(a_trace_sink_loses_no_events_while_another_starts_and_stops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
