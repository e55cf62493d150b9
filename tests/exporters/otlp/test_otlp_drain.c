/* SPDX-License-Identifier: MIT */
/*
 * The exporter with two signals, while the disk is full and at its end.
 *
 * Method: no collector, so both signals wait in their spools. A limit on the size of files
 * simulates a full disk.
 */
#include "exporters/otlp/otlp.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "exporters/transport/output_counts.h"
#include "shared/base/clock.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/process.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void *create(const char *spool)
{
    const struct ntk_exporter_options options = { 0 };
    struct ntk_err err = { 0 };
    void *otlp = NULL;

    ntk_otlp_target.url = "http://127.0.0.1:1";
    ntk_otlp_target.spool_folder = spool;
    ntk_otlp_target.has_logs = true;
    assert_int_equal(ntk_exporter_otlp.create(&options, &otlp, &err), 0);
    return otlp;
}

static void put_at(void *otlp, uint64_t seconds)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_err err = { 0 };

    snapshot->realtime_ns = seconds * NTK_NS_PER_SECOND;
    assert_int_equal(ntk_exporter_otlp.put(otlp, snapshot, &err), 0);
    ntk_snapshot_destroy(snapshot);
}

static int is_there(void *pattern)
{
    glob_t found;
    int ret = glob(pattern, 0, NULL, &found);

    if (ret == 0) {
        globfree(&found);
    }
    return ret == 0;
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_signal_failure_is_reported_after_other_signals_are_drained(void **state)
{
    char *metrics = test_scratch_path(test_scratch_folder, "*.msg");
    char *logs = test_scratch_path(test_scratch_folder, "logs/*.msg");
    struct ntk_err err = { 0 };
    void *otlp;

    (void)state;
    setenv("OTEL_METRIC_EXPORT_INTERVAL", "60000", 1);
    otlp = create(test_scratch_folder);
    put_at(otlp, 1000);
    assert_true(test_wait_until(is_there, metrics));
    assert_true(test_wait_until(is_there, logs));
    put_at(otlp, 1001); /* held back: the interval is not over */
    limit_files(0);
    int ret = ntk_exporter_otlp.drain(otlp, false, &err);
    limit_files(RLIM_INFINITY);
    assert_int_equal(ret, 0); /* the logs wait */
    assert_int_equal(ntk_exporter_otlp.drain(otlp, true, &err), -EFBIG);
    assert_non_null(strstr(err.text, "File too large"));
    ntk_exporter_otlp.destroy(otlp);
    free(metrics);
    free(logs);
}

static void queued_data_in_a_spool_is_not_counted_as_lost_at_exit(void **state)
{
    struct ntk_err err = { 0 };
    void *otlp = create(test_scratch_folder);

    (void)state;
    put_at(otlp, 2000);
    assert_int_equal(ntk_exporter_otlp.drain(otlp, true, &err), 1);
    ntk_exporter_otlp.destroy(otlp);
}

static struct ntk_output_counts log_counts(void)
{
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];
    size_t count = ntk_output_counts_read(rows);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, "otlp logs") == 0) {
            return rows[i];
        }
    }
    fail_msg("the output of logs has no counts");
    return (struct ntk_output_counts){ 0 };
}

/* Devices keep the first reasons of the sample. */
static int put_reasons(void *otlp, size_t reasons_max)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < snapshot->device_count; i++) {
        struct ntk_device_sample *device = &snapshot->devices[i];
        device->health_count =
            device->health_count < reasons_max ? device->health_count : reasons_max;
    }
    int ret = ntk_exporter_otlp.put(otlp, snapshot, &err);
    ntk_snapshot_destroy(snapshot);
    return ret;
}

static void log_records_delayed_by_a_full_disk_are_not_lost(void **state)
{
    char *logs = test_scratch_path(test_scratch_folder, "logs/*.msg");
    struct ntk_err err = { 0 };

    (void)state;
    setenv("OTEL_METRICS_EXPORTER", "none", 1);
    void *otlp = create(test_scratch_folder);
    assert_int_equal(put_reasons(otlp, 0), 0);
    assert_true(test_wait_until(is_there, logs));
    struct ntk_output_counts before = log_counts();
    limit_files(0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put_reasons(otlp, 1), -EFBIG);
    }
    assert_int_equal(put_reasons(otlp, 2), -EFBIG);
    assert_int_equal(log_counts().lost_items, 0);
    limit_files(RLIM_INFINITY);
    assert_int_equal(put_reasons(otlp, 2), 0);
    struct ntk_output_counts after = log_counts();
    assert_int_equal(after.lost_items, 0);
    assert_int_equal(after.memory_items + after.spool_items,
                     before.memory_items + before.spool_items + 2);
    assert_int_equal(ntk_exporter_otlp.drain(otlp, true, &err), 1);
    ntk_exporter_otlp.destroy(otlp);
    unsetenv("OTEL_METRICS_EXPORTER");
    free(logs);
}

static void records_dropped_during_a_full_disk_are_counted_once(void **state)
{
    char *logs = test_scratch_path(test_scratch_folder, "logs/*.msg");
    struct ntk_err err = { 0 };

    (void)state;
    setenv("OTEL_METRICS_EXPORTER", "none", 1);
    void *otlp = create(test_scratch_folder);
    assert_int_equal(put_reasons(otlp, 1), 0);
    assert_true(test_wait_until(is_there, logs));
    limit_files(0);
    assert_int_equal(put_reasons(otlp, 2), -EFBIG); /* a reason started */
    assert_int_equal(put_reasons(otlp, 2), -EFBIG);
    assert_int_equal(put_reasons(otlp, 0), -EFBIG); /* two reasons ended */
    assert_int_equal(log_counts().lost_items, 0);
    limit_files(RLIM_INFINITY);
    assert_int_equal(put_reasons(otlp, 0), 0); /* one reason, which has a record, has ended */
    assert_int_equal(log_counts().lost_items, 2);
    assert_int_equal(put_reasons(otlp, 0), 0);
    assert_int_equal(log_counts().lost_items, 2);
    assert_int_equal(ntk_exporter_otlp.drain(otlp, true, &err), 1);
    ntk_exporter_otlp.destroy(otlp);
    unsetenv("OTEL_METRICS_EXPORTER");
    free(logs);
}

static void log_records_still_delayed_at_exit_are_counted_as_lost(void **state)
{
    char *logs = test_scratch_path(test_scratch_folder, "logs/*.msg");
    struct ntk_err err = { 0 };

    (void)state;
    setenv("OTEL_METRICS_EXPORTER", "none", 1);
    void *otlp = create(test_scratch_folder);
    assert_int_equal(put_reasons(otlp, 0), 0);
    assert_true(test_wait_until(is_there, logs));
    limit_files(0);
    assert_int_equal(put_reasons(otlp, 1), -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(log_counts().lost_items, 0);
    assert_int_equal(ntk_exporter_otlp.drain(otlp, true, &err), -EIO);
    assert_string_equal(err.text, "otlp logs: 1 delayed log records lost");
    assert_int_equal(log_counts().lost_items, 1);
    ntk_exporter_otlp.destroy(otlp);
    unsetenv("OTEL_METRICS_EXPORTER");
    free(logs);
}

int main(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_failure_is_reported_after_other_signals_are_drained),
        cmocka_unit_test(queued_data_in_a_spool_is_not_counted_as_lost_at_exit),
        cmocka_unit_test(log_records_delayed_by_a_full_disk_are_not_lost),
        cmocka_unit_test(records_dropped_during_a_full_disk_are_counted_once),
        cmocka_unit_test(log_records_still_delayed_at_exit_are_counted_as_lost),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
