/* SPDX-License-Identifier: MIT */
/* Method: snapshots at chosen times; checks the reported runtimes, the due groups and the sums. */
#include "agent/report/monitor_schedule.h"

#include <string.h>

#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND

static struct ntk_monitor_config config;

static void configure(const char *text)
{
    struct ntk_err err = { 0 };

    if (ntk_monitor_config_parse(&config, text, strlen(text), &err) < 0) {
        fail_msg("%s", err.text);
    }
}

/* Gives the schedule one period of the sample machine; returns what put() returns. */
static int put(struct ntk_monitor_schedule *schedule, uint64_t now_ns, uint64_t period_ns,
               enum ntk_monitor_urgency urgency)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->period_ns = period_ns;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] = 0;
    int ret = ntk_monitor_schedule_put(schedule, snapshot, now_ns, urgency);
    ntk_snapshot_destroy(snapshot);
    return ret;
}

static const struct ntk_runtime_sample *runtime_of(const struct ntk_snapshot *report, uint32_t pid)
{
    for (size_t i = 0; i < report->runtime_count; i++) {
        if (report->runtimes[i].pid == pid) {
            return &report->runtimes[i];
        }
    }
    return NULL;
}

static void with_a_single_period_each_snapshot_is_a_complete_report(void **state)
{
    ntk_monitor_config_default(&config, 5 * SECOND);
    struct ntk_monitor_schedule *schedule =
        ntk_monitor_schedule_create(&config, 0, 0, 100 * SECOND, false);

    uint64_t first = 100 * SECOND + NTK_MONITOR_SHORTEST_NS;
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), first);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(put(schedule, first + 5 * i * SECOND, 5 * SECOND, NTK_MONITOR_ON_TIME), 1);
        const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
        const struct ntk_runtime_sample *runtime = runtime_of(report, 41210);
        assert_int_equal(report->sequence, i + 1);
        assert_int_equal(report->runtime_count, 2);
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            assert_int_equal(runtime->group_period_ns[k], 5 * SECOND);
        }
        assert_int_equal(runtime->outcome[0].period, 70);
        assert_int_equal(report->every_ns, 5 * SECOND);
        assert_int_equal(ntk_monitor_schedule_next_ns(schedule), first + 5 * (i + 1) * SECOND);
    }
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

static void report_times_stay_on_the_grid_after_a_late_wakeup(void **state)
{
    ntk_monitor_config_default(&config, SECOND);
    struct ntk_monitor_schedule *schedule =
        ntk_monitor_schedule_create(&config, 0, 0, 9 * SECOND, true);

    put(schedule, 10 * SECOND + SECOND / 4, SECOND, NTK_MONITOR_ON_TIME);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 11 * SECOND);
    put(schedule, 14 * SECOND + SECOND / 2, SECOND,
        NTK_MONITOR_ON_TIME); /* suspended: the points are omitted */
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 15 * SECOND);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

/* Method: groups of 1 s, 2 s and 3 s over 12 s; the counts of each group add up to the input. */
static void every_group_covers_exactly_its_configured_period(void **state)
{
    uint64_t executions = 0;
    uint64_t busy_ns = 0;
    uint64_t ecc = 0;
    uint64_t machine = 0;

    configure("{\"period\":\"1s\",\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"execution_stats\","
              "\"period\":\"2s\"},{\"type\":\"neuroncore_counters\",\"period\":\"3s\"},"
              "{\"type\":\"memory_used\"}]}],"
              "\"system_metrics\":[{\"type\":\"neuron_hw_counters\",\"period\":\"2s\"}]}");
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);
    for (uint64_t now = 1; now <= 12; now++) {
        assert_int_equal(put(schedule, now * SECOND, SECOND, NTK_MONITOR_ON_TIME), 1);
        const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
        const struct ntk_runtime_sample *runtime = runtime_of(report, 41210);
        assert_int_equal(runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS],
                         now % 2 ? NTK_GROUP_ABSENT : 2 * SECOND);
        assert_int_equal(runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES],
                         now % 3 ? NTK_GROUP_ABSENT : 3 * SECOND);
        assert_int_equal(runtime->group_period_ns[NTK_RUNTIME_GROUP_MEMORY], SECOND);
        assert_int_equal(runtime->group_period_ns[NTK_RUNTIME_GROUP_CPU], NTK_GROUP_ABSENT);
        assert_int_equal(report->group_period_ns[NTK_SYSTEM_GROUP_CPU], NTK_GROUP_ABSENT);
        if (runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] != NTK_GROUP_ABSENT) {
            executions += runtime->outcome[0].period;
            assert_int_equal(runtime->total_latency.count, 140);
        }
        if (runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES] != NTK_GROUP_ABSENT) {
            busy_ns += runtime->cores[0].busy_ns.period;
        }
        if (report->group_period_ns[NTK_SYSTEM_GROUP_ECC] != NTK_GROUP_ABSENT) {
            ecc += report->devices[0].ecc[0].period;
        }
        machine += report->outcome[0].period;
        assert_int_equal(report->period_ns, SECOND);
    }
    assert_int_equal(executions, 12 * 70);
    assert_int_equal(busy_ns, 12 * 500000000ull);
    assert_int_equal(ecc, 12);
    assert_int_equal(machine, 12 * 77);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

static void a_configuration_change_loses_no_counts(void **state)
{
    static struct ntk_monitor_config other;

    configure(
        "{\"period\":\"3s\",\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"execution_stats\"}]}]}");
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);
    assert_int_equal(put(schedule, 1 * SECOND, SECOND, NTK_MONITOR_ON_TIME), 0);
    assert_int_equal(put(schedule, 2 * SECOND, SECOND, NTK_MONITOR_NOW), 1);
    const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
    assert_int_equal(report->sequence, 1);
    assert_int_equal(runtime_of(report, 41210)->outcome[0].period, 2 * 70);

    ntk_monitor_config_default(&other, SECOND);
    ntk_monitor_schedule_configure(schedule, &other, 2 * SECOND);
    ntk_monitor_config_fini(&config);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 3 * SECOND);
    assert_int_equal(put(schedule, 3 * SECOND, SECOND, NTK_MONITOR_ON_TIME), 1);
    report = ntk_monitor_schedule_report_get(schedule);
    assert_int_equal(report->sequence, 2);
    assert_int_equal(runtime_of(report, 41210)->outcome[0].period, 70);
    assert_true(report->group_period_ns[NTK_SYSTEM_GROUP_CPU] != NTK_GROUP_ABSENT);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&other);
}

static void polls_for_other_readers_are_included_in_the_next_report(void **state)
{
    uint64_t executions = 0;

    ntk_monitor_config_default(&config, 5 * SECOND);
    struct ntk_monitor_schedule *schedule =
        ntk_monitor_schedule_create(&config, SECOND, 0, 0, true);
    for (uint64_t now = 1; now <= 11; now++) {
        int ret = put(schedule, now * SECOND, SECOND, NTK_MONITOR_ON_TIME);
        assert_int_equal(ret, now % 5 == 0);
        assert_int_equal(ntk_monitor_schedule_next_ns(schedule), (now + 1) * SECOND);
        if (ret == 1) {
            const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
            executions += runtime_of(report, 41210)->outcome[0].period;
            assert_int_equal(report->period_ns, 5 * SECOND);
        }
    }
    assert_int_equal(put(schedule, 11 * SECOND + SECOND / 2, SECOND / 2, NTK_MONITOR_NOW), 1);
    executions += runtime_of(ntk_monitor_schedule_report_get(schedule), 41210)->outcome[0].period;
    assert_int_equal(executions, 12 * 70);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

/* Method: in a report over almost no time, single executions and delays of reading would become
 * rates. */
static void the_first_period_is_long_enough_for_rates(void **state)
{
    ntk_monitor_config_default(&config, 5 * SECOND);
    struct ntk_monitor_schedule *schedule =
        ntk_monitor_schedule_create(&config, SECOND, 0, 100 * SECOND, false);
    uint64_t first = ntk_monitor_schedule_next_ns(schedule);
    assert_int_equal(first, 100 * SECOND + NTK_MONITOR_SHORTEST_NS);
    assert_int_equal(put(schedule, first, NTK_MONITOR_SHORTEST_NS, NTK_MONITOR_ON_TIME), 1);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), first + SECOND);
    ntk_monitor_schedule_destroy(schedule);

    schedule = ntk_monitor_schedule_create(&config, SECOND, 0, 100 * SECOND, true);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 101 * SECOND);
    assert_int_equal(put(schedule, 101 * SECOND, SECOND, NTK_MONITOR_ON_TIME), 0);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 102 * SECOND);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

/* Method: something urgent just before a report is due, and just after one. */
static void urgent_changes_are_reported_after_a_minimum_period(void **state)
{
    ntk_monitor_config_default(&config, 5 * SECOND);
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);

    assert_int_equal(put(schedule, 4990 * NTK_NS_PER_MS, 4990 * NTK_NS_PER_MS, NTK_MONITOR_SOON),
                     1);
    /* The grid point that follows within 10 ms is skipped. */
    assert_int_equal(put(schedule, 5 * SECOND, 10 * NTK_NS_PER_MS, NTK_MONITOR_ON_TIME), 0);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 10 * SECOND);
    assert_int_equal(put(schedule, 5100 * NTK_NS_PER_MS, 100 * NTK_NS_PER_MS, NTK_MONITOR_SOON), 0);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 5240 * NTK_NS_PER_MS);
    assert_int_equal(put(schedule, 5240 * NTK_NS_PER_MS, 140 * NTK_NS_PER_MS, NTK_MONITOR_ON_TIME),
                     1);
    const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
    assert_int_equal(report->period_ns, NTK_MONITOR_SHORTEST_NS);
    assert_int_equal(runtime_of(report, 41210)->outcome[0].period, 3 * 70);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), 10 * SECOND);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

/* Method: hourly reports; pages are made by themselves and on request, and all pages together count
 * the same as all reports. */
static void pages_are_fresh_even_with_a_long_report_period(void **state)
{
    uint64_t executions = 0;

    configure("{\"period\":\"1h\",\"neuron_runtimes\":[{\"tag_filter\":\"^bert\",\"metrics\":["
              "{\"type\":\"execution_stats\"}]}],"
              "\"system_metrics\":[{\"type\":\"neuron_hw_counters\",\"period\":\"2h\"}]}");
    struct ntk_monitor_schedule *schedule =
        ntk_monitor_schedule_create(&config, 0, NTK_MONITOR_PAGE_NS, 0, true);
    assert_int_equal(ntk_monitor_schedule_next_ns(schedule), NTK_MONITOR_PAGE_NS);
    assert_null(ntk_monitor_schedule_page_take(schedule, 0, true));
    for (uint64_t now = 1; now <= 12; now++) {
        bool is_wanted = now == 7 || now == 11;
        bool is_due = now % 5 == 0 || is_wanted;
        assert_int_equal(put(schedule, now * SECOND, SECOND, NTK_MONITOR_ON_TIME), 0);
        const struct ntk_snapshot *page =
            ntk_monitor_schedule_page_take(schedule, now * SECOND, is_wanted);
        assert_int_equal(page != NULL, is_due);
        if (page) {
            executions += runtime_of(page, 41210)->outcome[0].period;
            assert_int_equal(page->runtime_count, 1); /* as the configuration has it */
            assert_int_equal(page->runtimes[0].has & NTK_RUNTIME_HAS_MEMORY, 0);
            assert_true(page->group_period_ns[NTK_SYSTEM_GROUP_ECC] != NTK_GROUP_ABSENT);
            assert_int_equal(page->every_ns, NTK_MONITOR_PAGE_NS);
        }
    }
    assert_int_equal(executions, 11 * 70);
    /* A page that is still fresh is served again. */
    assert_int_equal(put(schedule, 12100 * NTK_NS_PER_MS, 100 * NTK_NS_PER_MS, NTK_MONITOR_NOW), 1);
    assert_non_null(ntk_monitor_schedule_page_take(schedule, 12100 * NTK_NS_PER_MS, true));
    assert_int_equal(put(schedule, 12200 * NTK_NS_PER_MS, 100 * NTK_NS_PER_MS, NTK_MONITOR_ON_TIME),
                     0);
    assert_null(ntk_monitor_schedule_page_take(schedule, 12200 * NTK_NS_PER_MS, true));
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

static void only_applications_that_match_a_filter_are_listed(void **state)
{
    configure("{\"neuron_runtimes\":[{\"tag_filter\":\"^bert\",\"metrics\":["
              "{\"type\":\"execution_stats\"}]}]}");
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);
    assert_int_equal(put(schedule, 5 * SECOND, SECOND, NTK_MONITOR_ON_TIME), 1);
    const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
    assert_int_equal(report->runtime_count, 1);
    assert_int_equal(report->runtimes[0].pid, 41210);
    assert_int_equal(report->runtimes[0].has & NTK_RUNTIME_HAS_MEMORY, 0);
    assert_false(report->runtimes[0].by_address);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

static void a_daemon_is_listed_by_its_configured_address(void **state)
{
    configure("{\"neuron_runtimes\":[{\"address\":\"bert \\\"serve\\\"\",\"metrics\":["
              "{\"type\":\"execution_stats\"}]}]}");
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);
    assert_int_equal(put(schedule, 5 * SECOND, SECOND, NTK_MONITOR_ON_TIME), 1);
    const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
    assert_int_equal(report->runtime_count, 1);
    assert_true(report->runtimes[0].by_address);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

/* Method: a runtime that ends within a long period, after a report of a short one. */
static void last_counts_of_an_exited_runtime_are_in_the_next_report(void **state)
{
    configure("{\"period\":\"1s\",\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"execution_stats\","
              "\"period\":\"4s\"},{\"type\":\"memory_used\"}]}]}");
    struct ntk_monitor_schedule *schedule = ntk_monitor_schedule_create(&config, 0, 0, 0, true);
    put(schedule, 1 * SECOND, SECOND, NTK_MONITOR_ON_TIME);
    for (uint64_t now = 2; now <= 4; now++) {
        struct ntk_snapshot *idle = test_idle_snapshot();
        idle->period_ns = SECOND;
        assert_int_equal(
            ntk_monitor_schedule_put(schedule, idle, now * SECOND, NTK_MONITOR_ON_TIME), 1);
        ntk_snapshot_destroy(idle);
        const struct ntk_snapshot *report = ntk_monitor_schedule_report_get(schedule);
        assert_int_equal(report->runtime_count, now == 4 ? 2 : 0);
    }
    const struct ntk_runtime_sample *runtime =
        runtime_of(ntk_monitor_schedule_report_get(schedule), 99);
    assert_true(runtime->ended);
    assert_int_equal(runtime->outcome[0].period, 7);
    assert_int_equal(runtime->group_period_ns[NTK_RUNTIME_GROUP_MEMORY], NTK_GROUP_ABSENT);
    ntk_monitor_schedule_destroy(schedule);
    ntk_monitor_config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_single_period_each_snapshot_is_a_complete_report),
        cmocka_unit_test(report_times_stay_on_the_grid_after_a_late_wakeup),
        cmocka_unit_test(every_group_covers_exactly_its_configured_period),
        cmocka_unit_test(a_configuration_change_loses_no_counts),
        cmocka_unit_test(polls_for_other_readers_are_included_in_the_next_report),
        cmocka_unit_test(the_first_period_is_long_enough_for_rates),
        cmocka_unit_test(urgent_changes_are_reported_after_a_minimum_period),
        cmocka_unit_test(pages_are_fresh_even_with_a_long_report_period),
        cmocka_unit_test(only_applications_that_match_a_filter_are_listed),
        cmocka_unit_test(a_daemon_is_listed_by_its_configured_address),
        cmocka_unit_test(last_counts_of_an_exited_runtime_are_in_the_next_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
