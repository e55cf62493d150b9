/* SPDX-License-Identifier: MIT */
/* Method: hand-made periods, merged: which figures are added, weighted, or taken from the newer
 * one. */
#include "shared/metrics/snapshot_merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot_idle.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9) {
        fail_msg("%.12g is not %.12g", a, b);
    }
}

static void merged_counts_and_histograms_are_summed(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);
    newer->runtimes[0].outcome[0].total = 1000;
    for (size_t i = 0; i < older->runtime_count; i++) {
        for (size_t m = 0; m < older->runtimes[i].model_count; m++) {
            struct ntk_model_sample *model = &older->runtimes[i].models[m];

            model->node_switches = (struct ntk_count){ 5, 5 };
            model->starts = (struct ntk_count){ 3, 3 };
            model->stops = (struct ntk_count){ 2, 2 };
            newer->runtimes[i].models[m].node_switches = (struct ntk_count){ 4, 9 };
            newer->runtimes[i].models[m].starts = (struct ntk_count){ 1, 4 };
        }
    }
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    const struct ntk_runtime_sample *runtime = &both->runtimes[0];

    assert_int_equal(both->period_ns, 2 * older->period_ns);
    assert_int_equal(both->runtime_count, 2);
    assert_int_equal(runtime->start_time, 77); /* by start time */
    runtime = &both->runtimes[1];
    assert_int_equal(runtime->outcome[0].period, 140);
    assert_int_equal(runtime->outcome[0].total, 1000);
    assert_int_equal(runtime->error_class[5].period, 10);
    assert_int_equal(runtime->total_latency.count, 140);
    assert_int_equal(runtime->total_latency.entry_count, 2);
    assert_int_equal(runtime->total_latency.sum_ns, 142ull * 1048576);
    assert_int_equal(runtime->cores[1].busy_ns.period, 750000000);
    assert_int_equal(runtime->cores[1].engine_busy_ns[3].period, 24000000);
    assert_int_equal(runtime->models[0].executions.period, 80);
    assert_int_equal(runtime->models[0].errors.period, 4);
    assert_int_equal(runtime->models[0].effective_flops.period, 18000);
    assert_int_equal(runtime->models[0].node_switches.period, 9);
    assert_int_equal(runtime->models[0].node_switches.total, 9);
    assert_int_equal(runtime->models[0].starts.period, 4);
    assert_int_equal(runtime->models[0].stops.period, 2);
    assert_int_equal(runtime->models[0].total_latency.count, 80);
    assert_int_equal(both->devices[0].ecc[NTK_ECC_MEM_REPAIRABLE].period, 10);
    assert_int_equal(both->outcome[0].period, 154);
    assert_int_equal(both->events_lost.period, 4);
    assert_int_equal(both->system.context_switches, 40834);
    assert_int_equal(both->cores[0].busy_ns.period, 1000000000);
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
}

static void merged_shares_are_weighted_by_period_length(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);

    older->period_ns = 3000;
    newer->period_ns = 1000;
    older->runtimes[0].cores[0].utilization = 1;
    newer->runtimes[0].cores[0].utilization = 0;
    older->runtimes[0].vcpu_user = 0;
    newer->runtimes[0].vcpu_user = 0.8;
    older->system.average[NTK_CPU_IDLE] = 0.4;
    newer->system.average[NTK_CPU_IDLE] = 0.8;
    older->system.cpus[10].share[NTK_CPU_IDLE] = 0;
    newer->system.cpus[10].share[NTK_CPU_IDLE] = 1;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    assert_near(both->runtimes[1].cores[0].utilization, 0.75);
    assert_near(both->runtimes[1].vcpu_user, 0.2);
    assert_near(both->system.average[NTK_CPU_IDLE], 0.5);
    assert_near(both->system.cpus[10].share[NTK_CPU_IDLE], 0.25);
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
}

static void merged_core_utilization_is_at_most_one(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_runtime_sample older = snapshot->runtimes[0];
    struct ntk_runtime_sample both;

    snapshot->runtimes[0].cores[0].utilization = 0.7;
    ntk_snapshot_merge_runtime(snapshot, &both, &older, &snapshot->runtimes[0]);
    assert_near(both.cores[0].utilization, 1);
    snapshot->runtimes[0].cores[0].utilization = 0.3;
    ntk_snapshot_merge_runtime(snapshot, &both, &older, &snapshot->runtimes[0]);
    assert_near(both.cores[0].utilization, 0.6);
    ntk_snapshot_destroy(snapshot);
}

static void merged_states_are_taken_from_the_newer_snapshot(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);

    newer->runtimes[0].memory[2].current_bytes = 5;
    newer->runtimes[0].models[0].is_running = false;
    newer->system.memory_used_bytes = 77;
    newer->realtime_ns = 99;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    assert_int_equal(both->runtimes[1].memory[2].current_bytes, 5);
    assert_true(both->runtimes[1].models[0].is_running); /* it ran in the older period */
    assert_int_equal(both->system.memory_used_bytes, 77);
    assert_int_equal(both->realtime_ns, 99);
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
}

/* Method: the parts are freed first, so that asan detects a borrowed byte. */
static void a_runtime_in_only_one_snapshot_keeps_its_own_values(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(2);
    struct ntk_snapshot *newer = test_idle_snapshot();

    older->period_ns = newer->period_ns = 1000;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    assert_int_equal(both->runtime_count, 2);
    assert_string_equal(both->runtimes[1].tag, "bert \"serve\"");
    assert_int_equal(both->runtimes[1].outcome[0].period, 70);
    assert_near(both->runtimes[1].cores[0].utilization, 0.25); /* idle half of the time */
    assert_string_equal(both->runtimes[1].models[0].name, "bert_base.neff");
    assert_int_equal(both->runtimes[1].total_latency.entries[0].count, 69);
    assert_int_equal(both->runtimes[1].memory_count, 8);
    assert_true(both->runtimes[0].ended);
    ntk_snapshot_destroy(both);
}

/* Method: one core with unwatched time only in the older part, and one in both; then the parts are
 * freed. */
static void unwatched_time_accumulates_and_is_copied(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);
    struct ntk_core_sample *part = ntk_snapshot_alloc(older, 1, sizeof *part);
    struct ntk_core_sample *more = ntk_snapshot_alloc(newer, 1, sizeof *more);

    part->busy_ns.period = 70;
    part->total_latency = older->runtimes[0].total_latency;
    more->busy_ns.period = 5;
    older->runtimes[0].cores[0].unwatched = part;
    older->runtimes[0].cores[1].unwatched = part;
    newer->runtimes[0].cores[1].unwatched = more;
    uint64_t count = part->total_latency.count;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    const struct ntk_core_sample *cores = both->runtimes[1].cores;
    assert_int_equal(cores[0].unwatched->busy_ns.period, 70);
    assert_int_equal(cores[0].unwatched->total_latency.count, count);
    assert_true(cores[0].unwatched->total_latency.entries[0].count > 0);
    assert_int_equal(cores[1].unwatched->busy_ns.period, 75);
    assert_null(both->runtimes[0].cores[0].unwatched);
    ntk_snapshot_destroy(both);
}

/* Method: the newer period has only the first of two cores. */
static void a_released_core_keeps_its_totals(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);

    older->runtimes[0].cores[0].outcome[0] = (struct ntk_count){ 3, 30 };
    older->runtimes[0].cores[1].outcome[0] = (struct ntk_count){ 4, 40 };
    newer->runtimes[0].cores[0].outcome[0] = (struct ntk_count){ 5, 35 };
    newer->runtimes[0].core_count = 1;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    const struct ntk_runtime_sample *runtime = &both->runtimes[1];
    assert_int_equal(runtime->core_count, 2);
    assert_int_equal(runtime->cores[0].outcome[0].period, 8);
    assert_int_equal(runtime->cores[0].outcome[0].total, 35);
    assert_int_equal(runtime->cores[1].outcome[0].period, 4);
    assert_int_equal(runtime->cores[1].outcome[0].total, 40);
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
}

static void begin_core(struct ntk_core_sample *core, uint64_t began_ns, uint64_t period,
                       uint64_t total)
{
    core->began_ns = began_ns;
    core->outcome[0] = (struct ntk_count){ period, total };
}

static void assert_life(const struct ntk_core_sample *core, size_t index, uint64_t began_ns,
                        uint64_t period, uint64_t total, uint64_t latency_count)
{
    const struct ntk_core_sample *life = &core->lives[index];

    assert_true(index < core->life_count);
    assert_int_equal(life->core, core->core);
    assert_int_equal(life->began_ns, began_ns);
    assert_int_equal(life->outcome[0].period, period);
    assert_int_equal(life->outcome[0].total, total);
    assert_int_equal(life->total_latency.count, latency_count);
    assert_true(latency_count == 0 || life->total_latency.entries[0].count > 0);
    assert_null(life->lives);
}

/* Method: a process that started twice in the older period and continues in the newer one; then the
 * parts are freed. */
static void totals_of_each_process_life_are_kept(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);
    uint64_t latency_count = older->runtimes[0].total_latency.count;

    older->runtimes[0].cores[0].total_latency = older->runtimes[0].total_latency;
    newer->runtimes[0].cores[0].total_latency = newer->runtimes[0].total_latency;
    struct ntk_runtime_sample first = older->runtimes[0];
    first.cores = ntk_snapshot_alloc(older, 2, sizeof *first.cores);
    memcpy(first.cores, older->runtimes[0].cores, 2 * sizeof *first.cores);
    begin_core(&first.cores[0], 100, 3, 7);
    begin_core(&first.cores[1], 100, 1, 2);
    begin_core(&older->runtimes[0].cores[0], 200, 1, 1);
    older->runtimes[0].core_count = 1;
    ntk_snapshot_merge_runtime(older, &older->runtimes[0], &first, &older->runtimes[0]);
    assert_int_equal(older->runtimes[0].cores[0].life_count, 2);
    begin_core(&newer->runtimes[0].cores[0], 200, 4, 5);
    newer->runtimes[0].core_count = 1;
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    assert_true(ntk_snapshot_ok(both));
    const struct ntk_core_sample *core = &both->runtimes[1].cores[0];
    assert_int_equal(core->outcome[0].period, 8);
    assert_int_equal(core->outcome[0].total, 5);
    assert_int_equal(core->began_ns, 200);
    assert_int_equal(core->total_latency.count, 3 * latency_count);
    assert_int_equal(core->life_count, 2);
    assert_life(core, 0, 100, 3, 7, latency_count);
    assert_life(core, 1, 200, 5, 5, 2 * latency_count);
    /* The second life never had the other core. */
    assert_int_equal(core[1].outcome[0].total, 2);
    assert_int_equal(core[1].began_ns, 100);
    assert_null(core[1].lives);
    ntk_snapshot_destroy(both);
}

static void events_of_both_snapshots_are_kept_up_to_the_limit(void **state)
{
    struct ntk_snapshot *older = ntk_snapshot_create();
    struct ntk_snapshot *newer = ntk_snapshot_create();
    const struct ntk_snapshot *both;
    struct ntk_event_sample *events;

    assert_non_null(older);
    assert_non_null(newer);
    events = ntk_snapshot_alloc_events(older, NTK_SNAPSHOT_JOINED_EVENTS_MAX);
    assert_non_null(events);
    for (size_t i = 0; i < older->event_count; i++) {
        events[i].kind = NTK_EVENT_MEM_FREE;
        events[i].name = ntk_snapshot_text(older, "tensor");
    }
    older->lists_events = true;
    older->events_unlisted = 3;
    events = ntk_snapshot_alloc_events(newer, 2);
    assert_non_null(events);
    events[0].kind = NTK_EVENT_ERROR;
    events[1].kind = NTK_EVENT_MARK;
    events[1].name = ntk_snapshot_text(newer, "here");
    both = ntk_snapshot_merge(older, newer);
    assert_non_null(both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    assert_true(both->lists_events);
    assert_int_equal(both->event_count, NTK_SNAPSHOT_JOINED_EVENTS_MAX);
    assert_int_equal(both->events_unlisted, 3 + 2);
    assert_string_equal(both->events[0].name, "tensor");
    assert_int_equal(both->events[both->event_count - 2].kind, NTK_EVENT_ERROR);
    assert_string_equal(both->events[both->event_count - 1].name, "here");
    ntk_snapshot_destroy(both);
}

/* If ranks are watched every second, a report merges several samples, which are freed by then. */
static void merged_lists_remain_valid_after_the_parts_are_freed(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(newer, 1);

    (void)state;
    lost->pid = 4711;
    lost->tag = ntk_snapshot_text(newer, "job-7");
    lost->command = ntk_snapshot_text(newer, "train");
    lost->rank.key = 5;
    lost->rank.rendezvous = ntk_snapshot_text(newer, "10.0.0.1:46820");
    lost->rank.members = ntk_snapshot_text(newer, "0,2");
    const struct ntk_adapter_port port = { .device = "rdmap0s6",
                                           .has = 1U << NTK_EFA_RX_DROPS,
                                           .counter = { [NTK_EFA_RX_DROPS] = 3 } };

    ntk_snapshot_set_ports(newer, &port, 1);
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    memset(newer->ports, 0, sizeof *newer->ports);
    memset(lost, 0, sizeof *lost); /* as if the freed memory of one were reused */
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);

    assert_int_equal(both->lost_rank_count, 1);
    assert_int_equal(both->lost_ranks[0].pid, 4711);
    assert_string_equal(both->lost_ranks[0].tag, "job-7");
    assert_string_equal(both->lost_ranks[0].command, "train");
    assert_string_equal(both->lost_ranks[0].rank.rendezvous, "10.0.0.1:46820");
    assert_string_equal(both->lost_ranks[0].rank.members, "0,2");
    assert_int_equal(both->port_count, 1);
    assert_string_equal(both->ports[0].device, "rdmap0s6");
    assert_int_equal(both->ports[0].has, 1U << NTK_EFA_RX_DROPS);
    assert_int_equal(both->ports[0].counter[NTK_EFA_RX_DROPS], 3);
    ntk_snapshot_destroy(both);
}

/* A rank that left and joined again within one part is listed there twice. */
static void work_of_a_rank_listed_twice_is_added_once(void **state)
{
    (void)state;
    for (size_t twice = 0; twice < 2; twice++) {
        struct ntk_snapshot *part[2] = { test_sample_snapshot(1), test_sample_snapshot(1) };

        for (size_t i = 0; i < 2; i++) {
            struct ntk_runtime_sample *runtime = &part[i]->runtimes[0];
            size_t count = i == twice ? 2 : 1;
            struct ntk_rank_sample *ranks = ntk_snapshot_alloc_ranks(part[i], runtime, count);

            for (size_t r = 0; r < count; r++) {
                ranks[r].key = 5;
                ranks[r].in_operations_ns.period = 100;
                ranks[r].core_busy_ns.period = 7;
            }
        }
        struct ntk_snapshot *both = ntk_snapshot_merge(part[0], part[1]);
        uint64_t time_ns = 0;

        for (size_t k = 0; k < both->runtime_count; k++) {
            for (size_t r = 0; r < both->runtimes[k].rank_count; r++) {
                time_ns += both->runtimes[k].ranks[r].in_operations_ns.period;
                assert_int_equal(both->runtimes[k].ranks[r].core_busy_ns.period, 14);
            }
        }
        assert_int_equal(time_ns, 300);
        ntk_snapshot_destroy(both);
        ntk_snapshot_destroy(part[0]);
        ntk_snapshot_destroy(part[1]);
    }
}

/* Another rank may use its slot in the segment by then. */
static void merged_snapshots_keep_the_counts_of_a_rank_that_left(void **state)
{
    (void)state;
    static const uint64_t keys[2][2] = { { 5, 6 }, { 6, 7 } };
    static const uint64_t joins[2][2] = { { 1, 1 }, { 2, 1 } };
    struct ntk_snapshot *part[2] = { test_sample_snapshot(1), test_sample_snapshot(1) };

    for (size_t i = 0; i < 2; i++) {
        struct ntk_rank_sample *ranks = ntk_snapshot_alloc_ranks(part[i], &part[i]->runtimes[0], 2);

        for (size_t r = 0; r < 2; r++) {
            ranks[r].key = keys[i][r];
            ranks[r].join_timestamp_ns = joins[i][r];
            ranks[r].in_operations_ns.period = 100;
            ranks[r].core_busy_ns.period = 7;
        }
    }
    struct ntk_snapshot *both = ntk_snapshot_merge(part[0], part[1]);
    const struct ntk_runtime_sample *runtime = &both->runtimes[0];

    while (runtime->rank_count == 0) { /* runtimes without ranks may come first */
        runtime++;
        assert_true(runtime < &both->runtimes[both->runtime_count]);
    }
    assert_int_equal(runtime->rank_count, 3);
    for (size_t r = 0; r < 3; r++) {
        const struct ntk_rank_sample *rank = &runtime->ranks[r];

        assert_int_equal(rank->in_operations_ns.period, rank->key == 6 ? 200 : 100);
        assert_int_equal(rank->core_busy_ns.period, rank->key == 6 ? 14 : 7);
        assert_int_equal(rank->state, rank->key == 5 ? NTK_RANK_LEFT : NTK_RANK_JOINED);
    }
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(part[0]);
    ntk_snapshot_destroy(part[1]);
}

static void idle_time_of_both_snapshots_is_copied(void **state)
{
    struct ntk_snapshot *part[2];
    char text[] = "read";
    const struct ntk_idle_cause cause = { text, text, text, text, text, text, 5, 1, 5 };
    struct ntk_idle_sample many[NTK_SNAPSHOT_IDLE_MAX];

    (void)state;
    memset(many, 0, sizeof many);
    for (size_t i = 0; i < NTK_SNAPSHOT_IDLE_MAX; i++) {
        many[i].realtime_ns = i;
    }
    for (size_t i = 0; i < 2; i++) {
        struct ntk_idle_sample sample = {
            .realtime_ns = 100 + i, .idle_ns = 7, .causes = &cause, .cause_count = 1
        };
        part[i] = test_sample_snapshot(1);
        ntk_snapshot_join_idle(part[i], NULL, 0, &sample, 1);
    }
    struct ntk_snapshot *both = ntk_snapshot_merge(part[0], part[1]);
    ntk_snapshot_destroy(part[0]);
    ntk_snapshot_destroy(part[1]);
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(both->idle_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both->idle[i].realtime_ns, 100 + i);
        assert_int_equal(both->idle[i].cause_count, 1);
        assert_string_equal(both->idle[i].causes[0].cause, "read");
        assert_string_equal(both->idle[i].causes[0].object, "read");
        assert_int_equal(both->idle[i].causes[0].idle_ns, 5);
    }
    struct ntk_snapshot *full = ntk_snapshot_create();
    ntk_snapshot_join_idle(full, many, NTK_SNAPSHOT_IDLE_MAX, both->idle, both->idle_count);
    assert_int_equal(full->idle_count, NTK_SNAPSHOT_IDLE_MAX);
    assert_int_equal(full->idle[0].realtime_ns, 2); /* the oldest ones are gone */
    assert_int_equal(full->idle[NTK_SNAPSHOT_IDLE_MAX - 1].realtime_ns, 101);
    ntk_snapshot_destroy(full);
    ntk_snapshot_destroy(both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_both_snapshots_are_kept_up_to_the_limit),
        cmocka_unit_test(unwatched_time_accumulates_and_is_copied),
        cmocka_unit_test(merged_counts_and_histograms_are_summed),
        cmocka_unit_test(merged_shares_are_weighted_by_period_length),
        cmocka_unit_test(merged_core_utilization_is_at_most_one),
        cmocka_unit_test(merged_states_are_taken_from_the_newer_snapshot),
        cmocka_unit_test(a_released_core_keeps_its_totals),
        cmocka_unit_test(totals_of_each_process_life_are_kept),
        cmocka_unit_test(a_runtime_in_only_one_snapshot_keeps_its_own_values),
        cmocka_unit_test(merged_lists_remain_valid_after_the_parts_are_freed),
        cmocka_unit_test(work_of_a_rank_listed_twice_is_added_once),
        cmocka_unit_test(merged_snapshots_keep_the_counts_of_a_rank_that_left),
        cmocka_unit_test(idle_time_of_both_snapshots_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
