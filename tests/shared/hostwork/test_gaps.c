/* SPDX-License-Identifier: MIT */
/*
 * Method: a child process has the hooks and executes on request. It notes the time around each
 * call, so that the gaps have limits that hold on any machine.
 */
#include "shared/hostwork/gaps.h"

#include <errno.h>
#include <string.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define CLOCK_SLACK_NS UINT64_C(1000000) /* of converting ticks, measured for 5 ms */

enum { CORE = 5, RUNS = 4 };
enum { STOP, RUN, BURST, ENTER, LEAVE }; /* commands of a test to the child */
#define BURST_RUNS 40000u                /* more than a ring holds */

static struct ntk_hooks_model_ref model_ref;

static void claim(uint16_t width)
{
    struct ntk_hooks_config config = {
        .instance_type = "trn1.2xlarge", .lnc = 1, .device_count = 1, .cores_per_device = 8
    };
    struct ntk_hooks_model model = { .id = 10001, .name = "m", .core = CORE, .core_count = width };
    char note[256];

    if (ntk_hooks_attach(&config, note, sizeof note) != 0) {
        _Exit(3);
    }
    for (uint16_t i = 0; i < width; i++) {
        ntk_hooks_core_claim(CORE + i, CORE + i, 1);
    }
    ntk_hooks_model_begin(&model, &model_ref);
    ntk_hooks_model_loaded(model_ref, ntk_hooks_now(), 0, 0);
}

/* Sends the time before and after the begin, and before and after the end. */
static void execute(struct observed *child, uint16_t width)
{
    struct ntk_hooks_exec exec = {
        .model = model_ref, .execution_id = 1, .core = CORE, .core_count = width
    };

    observed_send(child, ntk_clock_monotonic_ns());
    exec.call_start_ticks = ntk_hooks_now();
    exec.core_start_ticks = ntk_hooks_exec_begin(model_ref, CORE, width);
    observed_send(child, ntk_clock_monotonic_ns());
    (void)observed_receive(child);
    observed_send(child, ntk_clock_monotonic_ns());
    ntk_hooks_exec_end(&exec);
    observed_send(child, ntk_clock_monotonic_ns());
}

static void execute_often(void)
{
    for (unsigned i = 0; i < BURST_RUNS; i++) {
        struct ntk_hooks_exec exec = { .model = model_ref, .core = CORE, .core_count = 1 };

        exec.call_start_ticks = ntk_hooks_now();
        exec.core_start_ticks = ntk_hooks_exec_begin(model_ref, CORE, 1);
        ntk_hooks_exec_end(&exec);
    }
}

/* Enters a collective operation, or leaves the one that it is in. */
static void meet(struct observed *child, bool is_entering)
{
    static const struct ntk_hooks_rank rank = { .rendezvous = "gaps", .world_count = 2 };
    static ntk_hooks_comm comm;

    comm = comm ? comm : ntk_hooks_comm_join(&rank, CORE);
    observed_send(child, ntk_clock_monotonic_ns());
    if (is_entering) {
        (void)ntk_hooks_collective_begin(comm, NTK_COLLECTIVE_ALL_GATHER, 0, 64);
    } else {
        ntk_hooks_collective_end(comm, 0, 0);
    }
    observed_send(child, ntk_clock_monotonic_ns());
}

static int child_works(struct observed *child, void *ctx)
{
    uint16_t width = ctx ? *(const uint16_t *)ctx : 1;
    uint64_t order;

    claim(width);
    observed_send(child, 1);
    while ((order = observed_receive(child)) != STOP) {
        if (order == BURST) {
            execute_often();
            observed_send(child, 2);
            continue;
        }
        if (order == ENTER || order == LEAVE) {
            meet(child, order == ENTER);
            continue;
        }
        uint64_t began = ntk_hooks_mark_begin();
        execute(child, width);
        ntk_hooks_mark_text("step", began, 42);
        observed_send(child, 2);
    }
    ntk_hooks_detach();
    return 0;
}

struct observation {
    char *folder;
    struct observed child;
    bool has_ended;
    struct ntk_ring_registry *registry;
    struct ntk_host_records records;
    struct ntk_core_gaps gaps;
};

static int begin_with(void **state, uint16_t *width)
{
    static struct observation observation;
    struct ntk_err err = { 0 };

    memset(&observation, 0, sizeof observation);
    observation.folder = test_scratch_create();
    observation.child = observed_start(observation.folder, child_works, width);
    (void)observed_receive(&observation.child);
    struct ntk_ring_options options = { .folder = observation.folder };
    assert_int_equal(ntk_ring_registry_open(&options, &observation.registry, &err), 0);
    assert_int_equal(ntk_ring_registry_poll(observation.registry, NULL, &err), 0);
    assert_int_equal(ntk_ring_registry_count(observation.registry), 1);
    ntk_host_records_init(&observation.records);
    assert_int_equal(ntk_core_gaps_begin(&observation.gaps,
                                         ntk_ring_registry_get(observation.registry, 0),
                                         &observation.records, ntk_clock_monotonic_ns(), &err),
                     0);
    *state = &observation;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, NULL);
}

static int begin_wide(void **state)
{
    static uint16_t width = 3;

    return begin_with(state, &width);
}

static int end(void **state)
{
    struct observation *o = *state;

    if (!o->has_ended) {
        observed_send(&o->child, STOP);
        assert_int_equal(observed_finish(&o->child, 0), 0);
    }
    ntk_core_gaps_fini(&o->gaps);
    ntk_host_records_fini(&o->records);
    ntk_ring_registry_close(o->registry);
    test_scratch_destroy(o->folder);
    return 0;
}

struct stamps {
    uint64_t before_begin, after_begin, before_end, after_end;
};

static void run(struct observation *o, struct stamps *out)
{
    observed_send(&o->child, RUN);
    out->before_begin = observed_receive(&o->child);
    out->after_begin = observed_receive(&o->child);
    observed_send(&o->child, RUN);
    out->before_end = observed_receive(&o->child);
    out->after_end = observed_receive(&o->child);
    (void)observed_receive(&o->child);
}

static void assert_between(uint64_t value, uint64_t least, uint64_t most)
{
    assert_true(value + CLOCK_SLACK_NS >= least);
    assert_true(value <= most + CLOCK_SLACK_NS);
}

static void gaps_are_the_times_between_executions(void **state)
{
    struct observation *o = *state;
    struct stamps stamps[RUNS];
    uint32_t cores;

    for (size_t i = 0; i < RUNS; i++) {
        run(o, &stamps[i]);
    }
    uint64_t now_ns = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_gaps_end(&o->gaps, now_ns, &cores), 0);
    assert_int_equal(cores, 1);
    assert_int_equal(o->records.gaps.count, RUNS + 1);
    const struct ntk_host_gap *gaps = o->records.gaps.items;
    assert_int_equal(gaps[0].start_ns, o->records.start_ns);
    assert_between(gaps[0].end_ns, stamps[0].before_begin, stamps[0].after_begin);
    for (size_t i = 1; i < RUNS; i++) {
        assert_int_equal(gaps[i].core, CORE);
        assert_int_equal(gaps[i].tid, (uint32_t)o->child.pid);
        assert_between(gaps[i].start_ns, stamps[i - 1].before_end, stamps[i - 1].after_end);
        assert_between(gaps[i].end_ns, stamps[i].before_begin, stamps[i].after_begin);
    }
    assert_int_equal(gaps[RUNS].end_ns, now_ns);
}

static void an_execution_in_progress_at_the_end_is_not_a_gap(void **state)
{
    struct observation *o = *state;
    uint32_t cores;

    observed_send(&o->child, RUN);
    uint64_t least_ns = observed_receive(&o->child);
    uint64_t most_ns = observed_receive(&o->child);
    assert_false(ntk_core_gaps_follow(&o->gaps));
    assert_int_equal(ntk_core_gaps_end(&o->gaps, ntk_clock_monotonic_ns(), &cores), 0);
    assert_int_equal(o->records.gaps.count, 1);
    const struct ntk_host_gap *gap = o->records.gaps.items;
    assert_between(gap->end_ns, least_ns, most_ns);
    observed_send(&o->child, RUN);
    for (int i = 0; i < 3; i++) {
        (void)observed_receive(&o->child);
    }
}

static void step_marks_set_by_the_job_divide_the_result_into_steps(void **state)
{
    struct observation *o = *state;
    struct ntk_host_result result;
    struct stamps stamps;
    uint32_t cores;

    assert_true(ntk_core_gaps_follow(&o->gaps));
    run(o, &stamps);
    assert_int_equal(ntk_core_gaps_end(&o->gaps, ntk_clock_monotonic_ns(), &cores), 0);
    assert_int_equal(ntk_host_attribute(&o->records, cores, &result), 0);
    assert_int_equal(result.steps.count, 1);
    const struct ntk_host_step *step = ntk_vec_at(&result.steps, 0);
    assert_int_equal(step->mark->value, 42);
    assert_true(result.idle_ns < result.held_ns);
    ntk_host_result_fini(&result);
}

static void meet_at(struct observation *o, uint64_t order, uint64_t out_between[2])
{
    observed_send(&o->child, order);
    out_between[0] = observed_receive(&o->child);
    out_between[1] = observed_receive(&o->child);
}

static void collective_operations_have_thread_and_time(void **state)
{
    struct observation *o = *state;
    uint64_t enter[2][2];
    uint64_t leave[2];
    uint32_t cores;

    meet_at(o, ENTER, enter[0]);
    meet_at(o, LEAVE, leave);
    meet_at(o, ENTER, enter[1]);
    uint64_t now_ns = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_gaps_end(&o->gaps, now_ns, &cores), 0);
    assert_int_equal(o->records.collectives.count, 2);
    const struct ntk_host_collective *all = o->records.collectives.items;
    assert_between(all[0].start_ns, enter[0][0], enter[0][1]);
    assert_between(all[0].end_ns, leave[0], leave[1]);
    assert_between(all[1].start_ns, enter[1][0], ntk_clock_monotonic_ns());
    assert_int_equal(all[1].end_ns, now_ns);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(all[i].tid, (uint32_t)o->child.pid);
        assert_true(all[i].is_asynchronous); /* not our cores: it may be */
    }
}

/* Hooks around another runtime write one record, on the first core. */
static void a_model_on_several_cores_occupies_each_core(void **state)
{
    struct observation *o = *state;
    struct stamps stamps;
    uint32_t cores;

    run(o, &stamps);
    assert_int_equal(ntk_core_gaps_end(&o->gaps, ntk_clock_monotonic_ns(), &cores), 0);
    assert_int_equal(cores, 3);
    assert_int_equal(o->records.gaps.count, 6); /* before and after, on each */
    ntk_vec_each(const struct ntk_host_gap, gap, &o->records.gaps) {
        assert_true(gap->end_ns <= stamps.after_begin + CLOCK_SLACK_NS ||
                    gap->start_ns + CLOCK_SLACK_NS >= stamps.before_end);
    }
}

static void a_gap_without_executions_is_assigned_to_the_first_thread(void **state)
{
    struct observation *o = *state;
    uint32_t cores;

    assert_int_equal(ntk_core_gaps_end(&o->gaps, ntk_clock_monotonic_ns(), &cores), 0);
    assert_int_equal(o->records.gaps.count, 1);
    const struct ntk_host_gap *gap = o->records.gaps.items;
    assert_int_equal(gap->tid, (uint32_t)o->child.pid);
    assert_false(gap->is_unused);
}

static void a_core_without_executions_is_unused_if_other_cores_execute(void **state)
{
    struct observation *o = *state;
    struct stamps stamps;
    uint32_t cores;

    o->gaps.has_parts = true; /* the execution is on the first core only */
    run(o, &stamps);
    assert_int_equal(ntk_core_gaps_end(&o->gaps, ntk_clock_monotonic_ns(), &cores), 0);
    assert_int_equal(o->records.gaps.count, 4);
    const struct ntk_host_gap *gaps = o->records.gaps.items;
    assert_false(gaps[0].is_unused);
    assert_false(gaps[1].is_unused);
    assert_true(gaps[2].is_unused);
    assert_true(gaps[3].is_unused);
    assert_int_equal(gaps[2].tid, 0);
}

/* It releases its cores, or is killed: the answer covers the time until then. */
static void the_gaps_of_an_exited_process_end_at_its_exit(void **state)
{
    struct observation *o = *state;
    struct ntk_host_result result;
    struct ntk_err err = { 0 };
    struct stamps stamps;
    uint32_t cores;

    run(o, &stamps);
    observed_send(&o->child, STOP);
    assert_int_equal(observed_finish(&o->child, 0), 0);
    o->has_ended = true;
    assert_int_equal(ntk_ring_registry_poll(o->registry, NULL, &err), 0); /* it sees the end */
    uint64_t now_ns = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_gaps_end(&o->gaps, now_ns, &cores), 0);
    assert_int_equal(cores, 1);
    assert_between(o->records.end_ns, stamps.before_end, stamps.after_end);
    assert_int_equal(o->records.gaps.count, 1);
    assert_int_equal(ntk_host_attribute(&o->records, cores, &result), 0);
    assert_int_equal(result.held_ns, o->records.end_ns - o->records.start_ns);
    assert_true(result.idle_ns > 0);
    ntk_host_result_fini(&result);
}

static void time_of_lost_executions_is_neither_idle_nor_held(void **state)
{
    struct observation *o = *state;
    struct ntk_host_result result;
    struct stamps stamps;
    uint32_t cores;

    observed_send(&o->child, BURST);
    (void)observed_receive(&o->child);
    (void)ntk_core_gaps_follow(&o->gaps);
    uint64_t lost_until_ns = o->gaps.followed_ns;
    run(o, &stamps);
    uint64_t now_ns = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_gaps_end(&o->gaps, now_ns, &cores), 0);
    assert_true(o->records.lost > 0);
    assert_int_equal(o->records.unknown_ns, lost_until_ns - o->records.start_ns);
    assert_int_equal(o->records.gaps.count, 2); /* before and after the execution */
    const struct ntk_host_gap *first = o->records.gaps.items;
    assert_int_equal(first->start_ns, lost_until_ns);
    assert_int_equal(ntk_host_attribute(&o->records, cores, &result), 0);
    assert_int_equal(result.held_ns, now_ns - lost_until_ns);
    ntk_host_result_fini(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(gaps_are_the_times_between_executions),
        TEST(an_execution_in_progress_at_the_end_is_not_a_gap),
        TEST(step_marks_set_by_the_job_divide_the_result_into_steps),
        TEST(collective_operations_have_thread_and_time),
        TEST(the_gaps_of_an_exited_process_end_at_its_exit),
        TEST(time_of_lost_executions_is_neither_idle_nor_held),
        TEST(a_gap_without_executions_is_assigned_to_the_first_thread),
        cmocka_unit_test_setup_teardown(a_core_without_executions_is_unused_if_other_cores_execute,
                                        begin_wide, end),
        cmocka_unit_test_setup_teardown(a_model_on_several_cores_occupies_each_core, begin_wide,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
