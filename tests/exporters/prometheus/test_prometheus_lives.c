/* SPDX-License-Identifier: MIT */
/* Series of machines and runtimes that appear, disappear and return. */

#include <stdlib.h>
#include <string.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/base/map.h"
#include "tests/exporters/prometheus/prometheus_fixture.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

/* Method: an agent that started before the software machine, which the first application
 * creates. */
static void series_without_machine_labels_end_when_the_machine_is_known(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->hardware.instance_type = "";
    snapshot->hardware.device_count = 0;
    snapshot->runtime_count = 0;
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "system_vcpu_count{availability_zone=\"\",instance_id=\"\",instance_name=\"\","
                "instance_type=\"\",region=\"\",subnet_id=\"\"} 12");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_no(text, "instance_type=\"\"");
    assert_line(text, "system_vcpu_count{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 12");
    free(text);
}

static void an_exited_runtime_has_last_counts_but_no_gauges(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    page.last_looks = 2;
    update(sample(1));
    snapshot->runtime_count = 1;
    snapshot->runtimes[0].ended = true;
    update(snapshot);
    char *text = encode(false);
    assert_no(text, "neuroncore_utilization_ratio{");
    assert_no(text, "neuron_runtime_memory_used_bytes{");
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

/* A job shorter than a period would otherwise be in no page. */
static void a_runtime_seen_in_only_one_report_has_gauges(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    update(sample(1)); /* an earlier one with the same tag */
    snapshot->runtimes[0].ended = true;
    snapshot->runtimes[0].first = true;
    update(snapshot);
    char *text = encode(false);
    assert_non_null(strstr(text, "neuroncore_utilization_ratio{"));
    free(text);
    update(sample_without_runtimes());
    text = encode(false);
    assert_no(text, "neuroncore_utilization_ratio{");
    free(text);
}

static void counters_of_a_removed_runtime_continue_with_its_tag(void **state)
{
    page.last_looks = 2;
    update(sample(1));
    update(sample_without_runtimes());
    char *text = encode(false);
    /* Gauges are gone; the last counts stay until two scrapes have delivered them. */
    assert_no(text, "neuroncore_utilization_ratio{");
    assert_no(text, "neuron_runtime_memory_used_bytes{");
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_non_null(strstr(text, "neuron_execution_latency_seconds_count{"));
    free(text);
    /* Scrapes of a stale page do not count, as it does not contain them. */
    page.age = (struct ntk_points_age){ .is_known = true, .is_stale = true };
    for (int scrape = 0; scrape < 3; scrape++) {
        assert_false(ntk_points_page_delivered(&page));
    }
    page.age.is_stale = false;
    for (int scrape = 0; scrape < 2; scrape++) {
        update(sample_without_runtimes());
        text = encode(false);
        assert_non_null(strstr(text, "runtime_tag"));
        free(text);
        assert_int_equal(ntk_points_page_delivered(&page), scrape == 1);
    }
    update(sample_without_runtimes());
    text = encode(false);
    assert_no(text, "runtime_tag");
    assert_line(text, "neuron_executions_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",status_type=\"completed\",subnet_id=\"\"} 77");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

static void earlier_counts_of_a_tag_are_shown_when_a_process_uses_it(void **state)
{
    struct ntk_snapshot *totals = sample(1);

    page.last_looks = 2;
    assert_int_equal(ntk_points_page_resume(&page, totals), 0);
    ntk_snapshot_destroy(totals);
    update(sample_without_runtimes());
    char *text = encode(false);
    assert_no(text, "runtime_tag");
    assert_line(text, "neuron_executions_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",status_type=\"completed\",subnet_id=\"\"} 77");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

/* Method: tags that come and go fill the tag table beyond its limit. */
static void totals_of_ended_tags_are_dropped_oldest_first(void **state)
{
    for (int i = 0; i < NTK_POINTS_TAGS_MAX + 10; i++) {
        struct ntk_snapshot *snapshot = test_idle_snapshot();
        struct ntk_runtime_sample *runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
        runtime->has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtime->tag = ntk_snapshot_format(snapshot, "tag-%d", i);
        update(snapshot);
    }
    assert_int_equal(page.tags.count, NTK_POINTS_TAGS_MAX);
    assert_null(ntk_map_get(&page.tags, "tag-9\n\n\n\n\n0"));
    assert_non_null(ntk_map_get(&page.tags, "tag-10\n\n\n\n\n0"));
}

/* An update with one process, or none (pid 0), without a name. */
static void update_unnamed(uint32_t pid, bool has_ended)
{
    struct ntk_snapshot *snapshot = test_idle_snapshot();

    if (pid) {
        struct ntk_runtime_sample *runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
        runtime->has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtime->pid = pid;
        runtime->tag = ntk_snapshot_format(snapshot, "%u", pid);
        runtime->ended = has_ended;
        runtime->outcome[NTK_OUTCOME_COMPLETED].period = 5;
    }
    update(snapshot);
}

static void an_untagged_process_is_removed_after_its_last_counts(void **state)
{
    page.last_looks = 1;
    for (uint32_t pid = 100; pid < 110; pid++) {
        update_unnamed(pid, false);
        update_unnamed(pid, true);
        char *text = encode(false);
        assert_non_null(strstr(text, "status_type=\"completed\",subnet_id=\"\"} 10"));
        free(text);
        (void)ntk_points_page_delivered(&page);
    }
    update_unnamed(0, false);
    assert_int_equal(page.tags.count, 0);
}

/* It was not in a report, perhaps because its period is longer: its counter must continue. */
static void a_running_untagged_process_keeps_its_totals(void **state)
{
    page.last_looks = 1;
    update_unnamed(100, false);
    update_unnamed(0, false);
    (void)ntk_points_page_delivered(&page);
    update_unnamed(0, false);
    assert_int_equal(page.tags.count, 1);
    update_unnamed(100, false);
    char *text = encode(false);
    assert_non_null(
        strstr(text, "runtime_tag=\"100\",status_type=\"completed\",subnet_id=\"\"} 10"));
    free(text);
}

static void restored_totals_of_exited_untagged_processes_are_dropped(void **state)
{
    struct ntk_snapshot *totals = test_idle_snapshot();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(totals, 3);

    for (uint32_t i = 0; i < 3; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].pid = 100 + i;
        runtimes[i].tag = i == 2 ? "named" : ntk_snapshot_format(totals, "%u", 100 + i);
        runtimes[i].outcome[NTK_OUTCOME_COMPLETED].period = 7;
    }
    assert_int_equal(ntk_points_page_resume(&page, totals), 0);
    ntk_snapshot_destroy(totals);
    assert_int_equal(page.tags.count, 3);
    update_unnamed(101, false);
    assert_int_equal(page.tags.count, 2);
    assert_non_null(ntk_map_get(&page.tags, "named\n\n\n\n\n0"));
    char *text = encode(false);
    assert_non_null(
        strstr(text, "runtime_tag=\"101\",status_type=\"completed\",subnet_id=\"\"} 12"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(series_without_machine_labels_end_when_the_machine_is_known),
        CASE(an_exited_runtime_has_last_counts_but_no_gauges),
        CASE(a_runtime_seen_in_only_one_report_has_gauges),
        CASE(counters_of_a_removed_runtime_continue_with_its_tag),
        CASE(earlier_counts_of_a_tag_are_shown_when_a_process_uses_it),
        CASE(totals_of_ended_tags_are_dropped_oldest_first),
        CASE(an_untagged_process_is_removed_after_its_last_counts),
        CASE(a_running_untagged_process_keeps_its_totals),
        CASE(restored_totals_of_exited_untagged_processes_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
