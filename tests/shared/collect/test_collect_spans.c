/* SPDX-License-Identifier: MIT */
/* Spans of processes with real segments: which are chosen, and which trace they belong to. */
#include <string.h>

#include "shared/metrics/spans.h"
#include "tests/shared/collect/collect_fixture.h"
#include "tests/support/unit.h"

#define TRACE_HIGH UINT64_C(0x0af7651916cd43dd)
#define TRACE_LOW UINT64_C(0x8448eb211c80319c)
#define CALLER UINT64_C(0xb7ad6b7169203331)

static void open_with(struct fixture *f, struct ntk_span_rules rules)
{
    collector_open(f, (struct ntk_collector_options){ .reap = true, .span_rules = &rules });
}

static const struct ntk_span *execution_at(const struct fixture *f, size_t index)
{
    for (size_t i = 0; i < f->snapshot->span_count; i++) {
        if (f->snapshot->spans[i].kind == NTK_EVENT_EXEC && index-- == 0) {
            return &f->snapshot->spans[i];
        }
    }
    return NULL;
}

static bool is_child(const struct ntk_span *span)
{
    return span && span->parent.trace_high == TRACE_HIGH && span->parent.trace_low == TRACE_LOW &&
           span->parent.span == CALLER;
}

static bool is_root(const struct ntk_span *span)
{
    return span && span->parent.trace_high == 0 && span->parent.trace_low == 0 &&
           span->parent.span == 0 && span->parent.flags == 0;
}

static void model_loads_and_sampled_executions_are_spans(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_span *load = NULL;

    open_with(f, (struct ntk_span_rules){ .failed = true, .every = 4 });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 6);
    child_tell(&child, COMMAND_FAIL, 1);
    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->span_count; i++) {
        load = f->snapshot->spans[i].kind == NTK_EVENT_MODEL_LOAD ? &f->snapshot->spans[i] : load;
    }
    assert_int_equal(f->snapshot->span_count, 4);
    assert_non_null(load);
    assert_string_equal(load->model_name, "mlp");
    assert_int_equal(load->bytes, 4096);
    assert_true(load->why & NTK_SPAN_LOAD);
    const struct ntk_span *span = execution_at(f, 1);
    assert_int_equal(span->number, 5);
    assert_int_equal(span->why, NTK_SPAN_EVERY);
    assert_int_equal(span->status, 0);
    assert_int_equal(span->core, 3);
    assert_int_equal(span->pid, child.pid);
    assert_int_equal(span->tid, child.pid);
    assert_int_equal(span->key.start_time, f->snapshot->runtimes[0].start_time);
    assert_string_equal(span->model_name, "mlp");
    assert_true(span->start_ns + span->duration_ns <= f->snapshot->realtime_ns + NTK_NS_PER_SECOND);
    assert_true(is_root(span));
    span = execution_at(f, 2);
    assert_int_equal(span->why, NTK_SPAN_FAILED);
    assert_int_equal(span->status, 1003);
    poll_collector(f);
    assert_int_equal(f->snapshot->span_count, 0); /* each once */
    child_end(&child, 0);
}

static void without_span_rules_no_span_is_created(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_TRACE, TRACE_SAMPLED);
    child_tell(&child, COMMAND_FAIL, 3);
    poll_collector(f);
    assert_int_equal(f->snapshot->span_count + f->snapshot->spans_lost, 0);
    child_end(&child, 0);
}

static void executions_after_a_traceparent_have_it_as_parent_span(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    open_with(f, (struct ntk_span_rules){ .every = 1 });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 1);
    child_tell(&child, COMMAND_TRACE, TRACE_SAMPLED);
    poll_collector(f); /* a trace continues over polls */
    assert_true(is_root(execution_at(f, 0)));
    child_tell(&child, COMMAND_EXECUTE, 2);
    poll_collector(f);
    assert_true(is_child(execution_at(f, 0)) && is_child(execution_at(f, 1)));
    assert_int_equal(execution_at(f, 0)->parent.flags, 1);
    child_tell(&child, COMMAND_TRACE, TRACE_NONE);
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    assert_true(is_root(execution_at(f, 0)));
    child_end(&child, 0);
}

static void the_parent_rule_selects_executions_with_the_sampled_flag(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    open_with(f, (struct ntk_span_rules){ .parent = true });
    child = child_start();
    child_tell(&child, COMMAND_TRACE, TRACE_UNSAMPLED);
    child_tell(&child, COMMAND_EXECUTE, 2);
    child_tell(&child, COMMAND_TRACE, TRACE_SAMPLED);
    child_tell(&child, COMMAND_EXECUTE, 1);
    child_tell(&child, COMMAND_TRACE, TRACE_NONE);
    child_tell(&child, COMMAND_EXECUTE, 2);
    poll_collector(f);
    assert_null(execution_at(f, 1));
    assert_int_equal(execution_at(f, 0)->number, 3);
    assert_int_equal(execution_at(f, 0)->why, NTK_SPAN_PARENT);
    child_end(&child, 0);
}

/* The end of a trace may be among lost records: rather no parent than a wrong one. */
static void spans_after_lost_records_have_no_parent(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    open_with(f, (struct ntk_span_rules){ .every = 1 });
    child = child_start();
    child_tell(&child, COMMAND_TRACE, TRACE_SAMPLED);
    poll_collector(f);
    child_tell(&child, COMMAND_MARKS, 40000); /* more than a ring has room for */
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    assert_true(f->snapshot->events_lost.period > 0);
    assert_true(is_root(execution_at(f, 0)));
    child_tell(&child, COMMAND_TRACE, TRACE_SAMPLED); /* the next one counts again */
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    assert_true(is_child(execution_at(f, 0)));
    child_end(&child, 0);
}

static void a_trace_applies_to_one_thread_until_its_exit(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    size_t children = 0;
    size_t roots = 0;
    const char *sanitizer = getenv("NTK_SANITIZE");

    if (sanitizer && strcmp(sanitizer, "thread") == 0) {
        skip(); /* it allows no new threads in a child of a process with threads */
    }
    open_with(f, (struct ntk_span_rules){ .every = 1 });
    child = child_start();
    /* Threads in turn: each second one names a trace and executes, the others only execute. */
    child_tell(&child, COMMAND_TRACE_THREADS, 600);
    child_tell(&child, COMMAND_EXECUTE, 1);
    poll_collector(f);
    for (size_t i = 0; execution_at(f, i); i++) {
        const struct ntk_span *span = execution_at(f, i);

        assert_true(is_child(span) || is_root(span));
        assert_true(span->number % 2 == 1 || is_root(span)); /* see run_child() */
        children += is_child(span);
        roots += is_root(span);
    }
    assert_int_equal(children + roots, 601);
    assert_true(children > 0 && roots >= 301);
    child_end(&child, 0);
}

static void spans_beyond_the_limit_are_counted_as_lost(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    uint64_t all = 0;

    open_with(f, (struct ntk_span_rules){ .failed = true, .every = 1 });
    child = child_start();
    /* Without a poll in between. Each drain reads the new records, so none is overwritten. */
    for (size_t i = 0; i < 12; i++) {
        child_tell(&child, COMMAND_EXECUTE, 500);
        assert_true(ntk_collector_drain(f->collector) >= 0);
    }
    for (size_t i = 0; i < 6; i++) { /* samples leave room for these */
        child_tell(&child, COMMAND_FAIL, 500);
        assert_true(ntk_collector_drain(f->collector) >= 0);
    }
    poll_collector(f);
    assert_int_equal(f->snapshot->events_lost.period, 0);
    all = f->snapshot->span_count + f->snapshot->spans_lost;
    assert_int_equal(all, 1 + 6000 + 3000);
    assert_true(f->snapshot->spans_lost > 0);
    /* One user has at most three quarters. */
    assert_int_equal(f->snapshot->span_count, NTK_SNAPSHOT_SPANS_MAX / 4 * 3);
    poll_collector(f);
    assert_int_equal(f->snapshot->spans_lost, 0);
    child_end(&child, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, collect_setup, collect_teardown)
        CASE(model_loads_and_sampled_executions_are_spans),
        CASE(without_span_rules_no_span_is_created),
        CASE(executions_after_a_traceparent_have_it_as_parent_span),
        CASE(the_parent_rule_selects_executions_with_the_sampled_flag),
        CASE(spans_after_lost_records_have_no_parent),
        CASE(a_trace_applies_to_one_thread_until_its_exit),
        CASE(spans_beyond_the_limit_are_counted_as_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
