/* SPDX-License-Identifier: MIT */
/* How a collector handles segments: running, ended, rejected, full, and none at all. */

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/collect/collect.h"
#include "tests/shared/collect/collect_fixture.h"
#include "tests/shared/collect/exits.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Method: an execution begins and the process is killed during it; its file is removed only after
 * the collector has reported the end. */
static void a_killed_process_is_reported_once_with_its_last_counts(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 1);
    child_tell(&child, COMMAND_EXECUTE, 17);
    child_tell(&child, COMMAND_ALLOC, 4096);
    child_tell(&child, COMMAND_BEGIN, 0);
    child_end(&child, SIGKILL);

    /* the last counts are in the snapshot with `ended`, whenever the drains happen */
    assert_true(test_wait_until(drained_until_ended, f));
    runtime = &f->snapshot->runtimes[0];
    assert_true(runtime->ended);
    assert_true(runtime->killed);
    assert_int_equal(runtime->exit.kind,
                     test_kernel_keeps_exits() ? NTK_EXIT_SIGNAL : NTK_EXIT_UNKNOWN);
    assert_int_equal(runtime->exit.value, test_kernel_keeps_exits() ? SIGKILL : 0);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    assert_int_equal(runtime->in_flight, 0);
    assert_int_equal(runtime->memory_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 17);
    assert_int_equal(f->allocs, 1); /* exactly once, in one of the snapshots */
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 0);
}

static void a_collector_that_does_not_clean_up_reports_a_clean_exit(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ 0 });
    child = child_start();
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    child_tell(&child, COMMAND_EXECUTE, 5);
    child_end(&child, 0);
    assert_true(test_wait_until(drained_until_ended, f));
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].total, 5);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
}

/* Two clocks, and the time between the readings of a short period: not exactly 1, and less if this
 * process gets no processor between them. */
static int is_busy_for_most_of_a_period(void *ctx)
{
    struct fixture *f = ctx;

    poll_collector(f);
    assert_int_equal(f->snapshot->runtimes[0].in_flight, 1);
    assert_true(f->snapshot->cores[3].busy_ns.period > 0);
    assert_true(f->snapshot->cores[3].utilization <= 1);
    return f->snapshot->cores[3].utilization > 0.5;
}

/* Method: the execution never ends in this test; every period must be busy from end to end. */
static void a_running_execution_shows_a_busy_core(void **state)
{
    struct fixture *f = *state;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    child_tell(&child, COMMAND_BEGIN, 0);
    poll_collector(f);
    for (int i = 0; i < 5; i++) {
        assert_true(test_wait_until(is_busy_for_most_of_a_period, f));
    }
    child_end(&child, SIGKILL);
}

/* Method: two collectors, like the agent and neuron-top; one of them only watches. */
static void two_collectors_report_the_same_counts(void **state)
{
    struct fixture *f = *state;
    struct fixture other = *f;
    struct observed child;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    collector_open(&other, (struct ntk_collector_options){ .no_events = true });
    child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 9);
    poll_collector(f);
    poll_collector(&other);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 9);
    assert_int_equal(other.snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 9);
    assert_int_equal(other.snapshot->event_count, 0);
    ntk_snapshot_destroy(other.snapshot);
    ntk_collector_destroy(other.collector);
    child_end(&child, 0);
}

static void a_machine_without_devices_reports_only_host_figures(void **state)
{
    struct fixture *f = *state;

    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->device_count, 0);
    assert_string_not_equal(f->snapshot->hardware.error, "");
    assert_true(f->snapshot->system.has & NTK_SYSTEM_HAS_CPU);
    assert_true(f->snapshot->system.has & NTK_SYSTEM_HAS_MEMORY);
    assert_true(f->snapshot->system.memory_total_bytes > 0);
    assert_string_not_equal(f->snapshot->host_name, "");
    assert_string_equal(ntk_collector_note(f->collector), "");
}

static void a_file_that_is_not_a_segment_is_reported(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "123-456");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < 5000; i++) {
        fputs("nonsense", file);
    }
    fclose(file);
    chmod(path, 0600);
    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_non_null(strstr(ntk_collector_note(f->collector), "123-456"));
    free(path);
}

static void set_refused(const char *path, size_t offset, uint64_t count)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &count, sizeof count, (off_t)offset), sizeof count);
    close(fd);
}

/* Method: the test writes the number of lost table entries into the file. */
static void a_full_segment_is_reported(void **state)
{
    static const struct {
        size_t offset;
        const char *what;
    } rows[] = {
        { offsetof(struct ntk_segment_header, models_refused), "models or memory categories than" },
        { offsetof(struct ntk_segment_header, memory_rows_refused),
          "models or memory categories than" },
        { offsetof(struct ntk_segment_header, names_refused), "names than" },
        { offsetof(struct ntk_segment_header, threads_refused), "threads than" },
        { offsetof(struct ntk_segment_header, histograms_refused), "latencies than" },
    };
    struct fixture *f = *state;
    struct observed child = child_start();
    char expected[96];
    glob_t found;

    child_tell(&child, COMMAND_ALLOC, 4096);
    collector_open(f, (struct ntk_collector_options){ 0 });
    poll_collector(f);
    assert_string_equal(ntk_collector_note(f->collector), "");

    char *pattern = test_scratch_path(f->folder, "[0-9]*");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_refused(found.gl_pathv[0], rows[i].offset, 7);
        poll_collector(f);
        assert_int_equal(f->snapshot->runtime_count, 1);
        snprintf(expected, sizeof expected, "application %d has more %s",
                 (int)f->snapshot->runtimes[0].pid, rows[i].what);
        assert_int_equal(strncmp(ntk_collector_note(f->collector), expected, strlen(expected)), 0);
        set_refused(found.gl_pathv[0], rows[i].offset, 0);
    }
    /* It does not hide an ignored file, nor is it hidden. */
    char *path = test_scratch_path(f->folder, "123-456");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(pwrite(fd, "nonsense", 8, 0), 8);
    close(fd);
    set_refused(found.gl_pathv[0], rows[0].offset, 7);
    poll_collector(f);
    assert_non_null(strstr(ntk_collector_note(f->collector), "123-456: is not a segment; "));
    assert_non_null(strstr(ntk_collector_note(f->collector), rows[0].what));
    assert_int_equal(unlink(path), 0);
    free(path);
    globfree(&found);
    free(pattern);
    child_end(&child, 0);
    poll_collector(f);
    poll_collector(f);
    assert_string_equal(ntk_collector_note(f->collector), "");
}

/* Method: forty processes one after another, half of them killed; all counts of each process are
 * reported, in any period. */
static void counts_of_short_lived_processes_are_complete(void **state)
{
    struct fixture *f = *state;
    uint64_t expected = 0;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    for (uint32_t i = 0; i < 40; i++) {
        struct observed child = child_start();

        ntk_collector_drain(f->collector);
        poll_collector(f); /* has seen it */
        child_tell(&child, COMMAND_EXECUTE, i);
        expected += i;
        child_end(&child, i % 2 ? SIGKILL : 0);
        assert_true(test_wait_until(drained_until_ended, f));
        assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, expected);
    }
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    poll_collector(f);
    assert_int_equal(files_in_folder(f), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, collect_setup, collect_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_process_is_reported_once_with_its_last_counts),
        TEST(a_collector_that_does_not_clean_up_reports_a_clean_exit),
        TEST(a_running_execution_shows_a_busy_core),
        TEST(two_collectors_report_the_same_counts),
        TEST(a_machine_without_devices_reports_only_host_figures),
        TEST(a_file_that_is_not_a_segment_is_reported),
        TEST(a_full_segment_is_reported),
        TEST(counts_of_short_lived_processes_are_complete),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
