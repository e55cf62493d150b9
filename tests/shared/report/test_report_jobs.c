/* SPDX-License-Identifier: MIT */
/* Method: jobs put into a snapshot, written as a line and read back; then lines with invalid
 * claims. */
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot_merge.h"
#include "shared/report/report_json.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static const struct ntk_report_options plain;

static char *write_line(const struct ntk_snapshot *snapshot)
{
    struct ntk_buf line = { 0 };

    assert_int_equal(ntk_report_write(snapshot, &plain, &line, NULL), 0);
    return ntk_buf_take(&line, NULL);
}

static struct ntk_snapshot *read_line(const char *line)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_report_read(line, strlen(line), &snapshot, &err), 0);
    return snapshot;
}

static void set_two_jobs(struct ntk_snapshot *snapshot)
{
    struct ntk_job rows[] = {
        { .id = "42",
          .user = "alice",
          .name = "train",
          .partition = "trn",
          .cluster = "main",
          .since_ns = 7000,
          .cores = (uint32_t[]){ 0, 1, 3 },
          .core_count = 3,
          .devices = (uint32_t[]){ 0 },
          .device_count = 1 },
        { .id = "43", .user = "", .name = "", .partition = "", .cluster = "" },
    };

    ntk_snapshot_set_jobs(snapshot, &(struct ntk_jobs){ .is_asked = true,
                                                        .error = "/run/jobs/7: not a regular file",
                                                        .rows = rows,
                                                        .count = 2 });
}

static void assert_two_jobs(const struct ntk_snapshot *snapshot)
{
    const struct ntk_jobs *jobs = &snapshot->jobs;

    assert_true(jobs->is_asked);
    assert_string_equal(jobs->error, "/run/jobs/7: not a regular file");
    assert_int_equal(jobs->count, 2);
    assert_string_equal(jobs->rows[0].id, "42");
    assert_string_equal(jobs->rows[0].user, "alice");
    assert_string_equal(jobs->rows[0].name, "train");
    assert_string_equal(jobs->rows[0].partition, "trn");
    assert_string_equal(jobs->rows[0].cluster, "main");
    assert_int_equal(jobs->rows[0].since_ns, 7000);
    assert_int_equal(jobs->rows[0].core_count, 3);
    assert_int_equal(jobs->rows[0].cores[2], 3);
    assert_int_equal(jobs->rows[0].device_count, 1);
    assert_string_equal(jobs->rows[1].id, "43");
    assert_string_equal(jobs->rows[1].user, "");
    assert_int_equal(jobs->rows[1].core_count, 0);
}

static void jobs_in_a_report_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    set_two_jobs(snapshot);
    char *line = write_line(snapshot);
    struct ntk_snapshot *back = read_line(line);
    assert_two_jobs(back);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void unrequested_jobs_are_distinguished_from_an_empty_list(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot);
    struct ntk_snapshot *back = read_line(line);

    assert_null(strstr(line, "job_mapping"));
    assert_false(back->jobs.is_asked);
    ntk_snapshot_destroy(back);
    free(line);
    snapshot->jobs.is_asked = true;
    line = write_line(snapshot);
    back = read_line(line);
    assert_true(back->jobs.is_asked);
    assert_int_equal(back->jobs.count, 0);
    ntk_snapshot_destroy(back);
    free(line);
    ntk_snapshot_destroy(snapshot);
}

/* The parts are freed before the result is read. */
static void merged_snapshots_have_the_jobs_of_the_newer_period(void **state)
{
    struct ntk_snapshot *older = test_sample_snapshot(1);
    struct ntk_snapshot *newer = test_sample_snapshot(1);

    older->jobs.is_asked = true;
    set_two_jobs(newer);
    struct ntk_snapshot *merged = ntk_snapshot_merge(older, newer);
    struct ntk_snapshot *unasked = test_sample_snapshot(1);
    struct ntk_snapshot *again = ntk_snapshot_merge(merged, unasked);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    assert_two_jobs(merged);
    ntk_snapshot_destroy(merged);
    ntk_snapshot_destroy(unasked);
    assert_two_jobs(again);
    ntk_snapshot_destroy(again);
}

static void invalid_job_list_entries_are_dropped(void **state)
{
    struct ntk_snapshot *back =
        read_line("{\"neuron_runtime_data\":[],\"neuron_ext\":{\"job_mapping\":{\"jobs\":["
                  "{\"job_id\":\"\",\"neuroncores\":[0]},7,"
                  "{\"job_id\":\"9\",\"neuroncores\":[5,4,5,-1,99999,\"x\",6],"
                  "\"neuron_devices\":[64,1.5]}]}}}");

    assert_int_equal(back->jobs.count, 1);
    assert_string_equal(back->jobs.rows[0].id, "9");
    assert_int_equal(back->jobs.rows[0].core_count, 2);
    assert_int_equal(back->jobs.rows[0].cores[0], 5);
    assert_int_equal(back->jobs.rows[0].cores[1], 6);
    assert_int_equal(back->jobs.rows[0].device_count, 0);
    ntk_snapshot_destroy(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_in_a_report_are_read_back_unchanged),
        cmocka_unit_test(unrequested_jobs_are_distinguished_from_an_empty_list),
        cmocka_unit_test(merged_snapshots_have_the_jobs_of_the_newer_period),
        cmocka_unit_test(invalid_job_list_entries_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
