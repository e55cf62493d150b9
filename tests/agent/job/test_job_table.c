/* SPDX-License-Identifier: MIT */
/* Method: jobs made by hand; rows and sums appear in the CSV with figures that are known in
 * advance. */
#include <stdlib.h>
#include <string.h>

#include "agent/job/job.h"
#include "shared/base/clock.h"
#include "tests/support/unit.h"

#define HOUR (3600 * NTK_NS_PER_SECOND)

/* Eight hours of cores, six of them watched; the cores were busy for half of that time. */
static struct ntk_store_job job_make(void)
{
    return (struct ntk_store_job){
        .id = "42",
        .user = "alice",
        .name = "a,b",
        .partition = "",
        .cluster = "",
        .runs = 1,
        .from_ns = UINT64_C(1800000000) * NTK_NS_PER_SECOND,
        .to_ns = UINT64_C(1800003600) * NTK_NS_PER_SECOND,
        .is_ended = true,
        .lnc = 2,
        .core_count = 16,
        .held_ns = 8 * HOUR,
        .watched_ns = 6 * HOUR,
        .has_used = true,
        .used_ns = 4 * HOUR,
        .used_watched_ns = 3 * HOUR,
        .has_executions = true,
        .outcome = { [NTK_OUTCOME_COMPLETED] = 90, [NTK_OUTCOME_TIMED_OUT] = 10 },
        .error_class = { [NTK_ERROR_TRANSIENT] = 10 },
        .ecc_has = 1u << NTK_ECC_MEM_UNCORRECTED | 1u << NTK_ECC_SRAM_UNCORRECTED,
        .ecc = { [NTK_ECC_MEM_UNCORRECTED] = 1, [NTK_ECC_SRAM_UNCORRECTED] = 2 },
        .has_memory = true,
        .memory_bytes_max = 4096,
        .has_flops = true,
        .effective_flops = 25,
        .has_peak = true,
        .peak_flops = 100,
        .has_power = true,
        .full_power_ns = 1 * HOUR,
        .power_known_ns = 2 * HOUR,
    };
}

static void assert_csv(enum ntk_job_view view, const struct ntk_job_row *row, const char *wanted)
{
    struct ntk_query_table table;
    struct ntk_buf out = { 0 };

    ntk_query_table_init(&table);
    ntk_job_table_begin(&table, view);
    ntk_job_table_add(&table, view, row);
    ntk_query_table_write(&table, NTK_QUERY_FORM_CSV, &out);
    assert_string_equal(strchr(ntk_buf_text_get(&out), '\n') + 1, wanted);
    ntk_buf_fini(&out);
    ntk_query_table_fini(&table);
}

static void the_job_table_lists_sums_and_shares_of_a_job(void **state)
{
    struct ntk_job_row row = { .job = job_make(), .jobs = 1, .device_watts = 500 };

    (void)state;
    assert_csv(NTK_JOB_VIEW_JOBS, &row,
               "42,alice,\"a,b\",,,2027-01-15T08:00:00Z,2027-01-15T09:00:00Z,1,8,8,0.75,4,0.5,"
               "false,100,10,3,,4096,0.25,0.5,1,0.5\r\n");
    row.device_watts = 0;
    row.job.is_ended = false;
    row.job.is_coarse = true;
    assert_csv(NTK_JOB_VIEW_JOBS, &row,
               "42,alice,\"a,b\",,,2027-01-15T08:00:00Z,,1,8,8,0.75,4,0.5,"
               "true,100,10,3,,4096,0.25,0.5,1,\r\n");
}

static void unknown_job_values_are_empty(void **state)
{
    struct ntk_job_row row = { .job = job_make(), .jobs = 1, .device_watts = 500 };

    (void)state;
    row.job.watched_ns = 0;
    row.job.has_used = row.job.has_executions = row.job.has_memory = false;
    row.job.has_flops = row.job.has_peak = row.job.has_power = false;
    row.job.ecc_has = 0;
    assert_csv(NTK_JOB_VIEW_JOBS, &row,
               "42,alice,\"a,b\",,,2027-01-15T08:00:00Z,2027-01-15T09:00:00Z,1,8,8,0,,,"
               "false,,,,,,,,,\r\n");
    row = (struct ntk_job_row){ .job = job_make(), .jobs = 1 };
    row.job.peak_flops = 0;
    row.job.effective_flops = 0;
    assert_csv(NTK_JOB_VIEW_SHORT, &row,
               "42,alice,\"a,b\",2027-01-15T08:00:00Z,2027-01-15T09:00:00Z,8,8,0.5,"
               "false,100,10,3,4096,,0.5,\r\n");
}

static void user_figures_are_sums_and_maxima_of_their_jobs(void **state)
{
    struct ntk_job_row row = { .job.user = "alice", .device_watts = 100 };
    struct ntk_store_job job = job_make();

    (void)state;
    ntk_job_row_add(&row, &job);
    job.memory_bytes_max = 100;
    job.effective_flops = 75;
    ntk_job_row_add(&row, &job);
    assert_csv(NTK_JOB_VIEW_USERS, &row,
               "alice,2,16,0.75,8,0.5,false,200,20,6,,4096,0.5,0.5,2,0.2\r\n");
    job.has_flops = false; /* missing in one job: missing in the sum */
    job.has_executions = false;
    job.ecc_has = 0;
    ntk_job_row_add(&row, &job);
    assert_csv(NTK_JOB_VIEW_USERS, &row, "alice,3,24,0.75,12,0.5,false,,,,,4096,,0.5,3,0.3\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_table_lists_sums_and_shares_of_a_job),
        cmocka_unit_test(unknown_job_values_are_empty),
        cmocka_unit_test(user_figures_are_sums_and_maxima_of_their_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
