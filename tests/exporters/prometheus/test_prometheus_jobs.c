/* SPDX-License-Identifier: MIT */
/* Method: snapshots with jobs to a page, and counts of its lines: a job adds its own series and no
 * others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static struct ntk_points_page page;

static int set_up(void **state)
{
    memset(&page, 0, sizeof page);
    return 0;
}

static int tear_down(void **state)
{
    ntk_points_page_fini(&page);
    return 0;
}

/* A machine of one device with four cores, and jobs on one core each, two of them on the last
 * core. */
static char *page_of(uint32_t job_count, uint32_t first_id)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_job rows[8];
    char ids[8][16];
    uint32_t cores[8];
    uint32_t device = 0;
    struct ntk_buf text = { 0 };

    for (uint32_t i = 0; i < job_count; i++) {
        snprintf(ids[i], sizeof ids[i], "%u", first_id + i);
        cores[i] = i < 4 ? i : 3;
        rows[i] = (struct ntk_job){ .id = ids[i],
                                    .user = i == 1 ? "bob" : "alice",
                                    .name = i == 0 ? "a \"b\"" : "",
                                    .partition = "trn",
                                    .cluster = "",
                                    .cores = &cores[i],
                                    .core_count = 1,
                                    .devices = &device,
                                    .device_count = 1 };
    }
    ntk_snapshot_set_jobs(
        snapshot,
        &(struct ntk_jobs){ .is_asked = true, .error = "", .rows = rows, .count = job_count });
    assert_int_equal(ntk_points_page_update(&page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
    ntk_prometheus_encode(&page, NTK_PROMETHEUS_TEXT_0_0_4, false, &text);
    return ntk_buf_take(&text, NULL);
}

/* Counts the series of the family with lines that contain part. */
static size_t count_lines(const char *text, const char *family, const char *part)
{
    size_t count = 0;

    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        size_t length = strcspn(at, "\n");
        const char *found = strstr(at, part);
        count +=
            *at != '#' && strncmp(at, family, strlen(family)) == 0 && found && found < at + length;
    }
    return count;
}

static size_t count_others(const char *text)
{
    return count_lines(text, "", "") - count_lines(text, "neuron_job_info{", "") -
           count_lines(text, "neuron_device_job_info{", "");
}

static void each_core_held_by_a_job_has_one_series(void **state)
{
    char *text = page_of(5, 100);

    assert_int_equal(count_lines(text, "neuron_job_info{", ""), 4);
    assert_int_equal(
        count_lines(text, "neuron_job_info{",
                    "job_id=\"100\",job_name=\"a \\\"b\\\"\",neuron_device_index=\"0\","
                    "neuroncore=\"0\",partition=\"trn\",region=\"\",subnet_id=\"\",user=\"alice\"} "
                    "1"),
        1);
    assert_int_equal(count_lines(text, "neuron_job_info{", "job_id=\"101\""), 1);
    assert_int_equal(count_lines(text, "neuron_job_info{", "user=\"bob\""), 1);
    assert_int_equal(count_lines(text, "neuron_job_info{",
                                 "job_id=\"103,104\",neuron_device_index=\"0\",neuroncore=\"3\""),
                     1);
    assert_int_equal(count_lines(text, "neuron_device_job_info{", ""), 1);
    assert_int_equal(count_lines(text, "neuron_device_job_info{", "job_id=\"100,101,102,103,104\""),
                     1);
    assert_int_equal(count_lines(text, "neuron_device_job_info{", "user=\"alice,bob\""), 1);
    free(text);
}

static void jobs_do_not_add_labels_to_other_series(void **state)
{
    char *without = page_of(0, 0);
    size_t others = count_others(without);

    assert_true(others > 50);
    assert_int_equal(count_lines(without, "", "job_id"), 0);
    for (uint32_t i = 1; i < 50; i++) {
        char *text = page_of(i % 6, i * 100);

        assert_int_equal(count_others(text), others);
        assert_int_equal(count_lines(text, "neuron_job_info{", ""), i % 6 < 4 ? i % 6 : 4);
        assert_int_equal(count_lines(text, "", "job_id") > 0, i % 6 > 0); /* removed with the job */
        free(text);
    }
    free(without);
}

/* Method: a rank of this machine, two that no process reports, and the sum of all ranks. */
static void a_rank_verdict_series_has_job_and_host(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    const struct ntk_rank_trouble troubles[] = {
        { .kind = NTK_TROUBLE_HANGS,
          .key = 7,
          .rank_count = 4,
          .has_rank = true,
          .rank = 2,
          .pid = 9,
          .tag = "train",
          .job_id = "17",
          .cause = "elsewhere",
          .since_ns = 1500000000 },
        { .kind = NTK_TROUBLE_HANGS,
          .key = 7,
          .rank_count = 4,
          .has_rank = true,
          .rank = 3,
          .cause = "unseen",
          .since_ns = 1500000000 },
        { .kind = NTK_TROUBLE_HANGS,
          .key = 7,
          .rank_count = 4,
          .has_rank = true,
          .rank = 3,
          .cause = "unseen",
          .since_ns = 1600000000 },
        { .kind = NTK_TROUBLE_SLOWER,
          .key = 8,
          .rank_count = 4,
          .cause = "outside",
          .since_ns = 2000000000 },
    };
    struct ntk_buf text = { 0 };

    (void)state;
    snapshot->host_name = "node-1";
    ntk_snapshot_set_troubles(snapshot, troubles, 4);
    assert_int_equal(ntk_points_page_update(&page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
    ntk_prometheus_encode(&page, NTK_PROMETHEUS_TEXT_0_0_4, false, &text);
    const char *lines = ntk_buf_text_get(&text);
    assert_int_equal(count_lines(lines, "neuron_rank_trouble_since_seconds{", ""), 3);
    assert_int_equal(
        count_lines(lines, "neuron_rank_trouble_since_seconds{",
                    "cause=\"elsewhere\",communicator=\"0000000000000007\",host_name=\"node-1\""),
        1);
    assert_int_equal(count_lines(lines, "neuron_rank_trouble_since_seconds{",
                                 "job_id=\"17\",kind=\"hangs\",rank=\"2\",region=\"\","
                                 "runtime_tag=\"train\",subnet_id=\"\"} 1.5"),
                     1);
    assert_int_equal(count_lines(lines, "neuron_rank_trouble_since_seconds{", "job_id="), 1);
    assert_int_equal(count_lines(lines, "neuron_rank_trouble_since_seconds{", "host_name="), 2);
    assert_int_equal(count_lines(lines, "neuron_rank_trouble_since_seconds{",
                                 "communicator=\"0000000000000007\",instance_id"),
                     1);
    assert_int_equal(
        count_lines(lines, "neuron_rank_trouble_since_seconds{", "kind=\"slower\",rank=\"all\""),
        1);
    ntk_buf_fini(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_rank_verdict_series_has_job_and_host),
        TEST(each_core_held_by_a_job_has_one_series),
        TEST(jobs_do_not_add_labels_to_other_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
