/* SPDX-License-Identifier: MIT */
/*
 * The collector on unusual days: clocks that jump, machines that sleep, readers that were stopped,
 * thousands of periods, folders full of other files, segments that are damaged while they are read.
 * Method: a clock of the test, and an observed child process that is in step with the test.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/points/points_page.h"
#include "shared/base/buf.h"
#include "shared/collect/collect.h"
#include "shared/report/report_json.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/support/observed.h"
#include "tests/support/observed_mlp.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define BEGAN (1000000 * SECOND) /* of the test's realtime clock */

/* ---- the observed process: executes as often as requested, and reports when it is done ---- */

#define ORDER_END 0

static int run_observed(struct observed *child, void *ctx)
{
    struct ntk_hooks_model_ref ref;
    uint64_t executions = 0;
    uint64_t order;

    (void)ctx;
    if (observed_mlp_begin(&ref) < 0) {
        return 3;
    }
    observed_send(child, 0);
    while ((order = observed_receive(child)) != ORDER_END) {
        for (uint64_t i = 0; i < order; i++) {
            observed_mlp_execute(ref, ++executions, 0);
        }
        observed_send(child, executions);
    }
    ntk_hooks_detach();
    return 0;
}

static void tell(struct observed *child, uint64_t executions)
{
    observed_send(child, executions);
    (void)observed_receive(child);
}

static void finish(struct observed *child)
{
    observed_send(child, ORDER_END);
    assert_int_equal(observed_finish(child, 0), 0);
}

/* ---- a collector with the test's clock ---- */

struct fixture {
    char *folder;
    char *no_sysfs;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    struct ntk_clock clock;
    struct ntk_collector *collector;
    struct ntk_snapshot *snapshot;
    uint64_t completed; /* periods added up */
    uint64_t latencies;
};

static uint64_t monotonic_get(void *ctx)
{
    return ((struct fixture *)ctx)->monotonic_ns;
}

static uint64_t realtime_get(void *ctx)
{
    return ((struct fixture *)ctx)->realtime_ns;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_err err = { 0 };

    f->folder = test_scratch_create();
    setenv("NEURON_PROCESS_TAG", "job", 1); /* totals are kept by tag, otherwise by pid */
    /* Small, so that a thousand segments are made quickly. */
    setenv("NEURON_HOOKS_MEMORY", "64K", 1);
    f->no_sysfs = test_scratch_path(f->folder, "nothing");
    f->monotonic_ns = ntk_clock_monotonic_ns(); /* segments carry times of the real clock */
    f->realtime_ns = BEGAN;
    f->clock = (struct ntk_clock){ monotonic_get, realtime_get, f };
    const struct ntk_collector_options options = {
        .clock = &f->clock, .hooks_dir = f->folder, .driver_sysfs = f->no_sysfs, .reap = true
    };

    assert_int_equal(ntk_collector_create(&options, &f->collector, &err), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_collector_destroy(f->collector);
    free(f->no_sysfs);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

/* The next period; asserts that its figures are plausible. */
static const struct ntk_snapshot *period(struct fixture *f)
{
    struct ntk_err err = { 0 };

    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = NULL;
    assert_int_equal(ntk_collector_poll(f->collector, &f->snapshot, &err), 0);
    for (size_t i = 0; i < f->snapshot->core_count; i++) {
        assert_true(f->snapshot->cores[i].utilization >= 0);
        assert_true(f->snapshot->cores[i].utilization <= 1);
    }
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &f->snapshot->runtimes[i];

        f->completed += runtime->outcome[NTK_OUTCOME_COMPLETED].period;
        f->latencies += runtime->total_latency.count;
        for (size_t k = 0; k < runtime->core_count; k++) {
            assert_true(runtime->cores[k].utilization >= 0);
            assert_true(runtime->cores[k].utilization <= 1);
        }
    }
    return f->snapshot;
}

/* ---- clocks ---- */

static void a_wall_clock_jump_does_not_change_the_period_length(void **state)
{
    static const int64_t jumps_ns[] = { 3600 * (int64_t)SECOND, -7200 * (int64_t)SECOND,
                                        -(int64_t)SECOND / 2, 86400 * (int64_t)SECOND };
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, run_observed, NULL);

    (void)observed_receive(&child);
    period(f);
    for (size_t i = 0; i < sizeof jumps_ns / sizeof *jumps_ns; i++) {
        f->realtime_ns += SECOND + (uint64_t)jumps_ns[i];
        f->monotonic_ns += SECOND;
        tell(&child, 10);
        assert_int_equal(period(f)->period_ns, SECOND);
        assert_int_equal(f->snapshot->realtime_ns, f->realtime_ns);
        assert_int_equal(f->completed, 10 * (i + 1));
    }
    assert_int_equal(f->latencies, f->completed);
    finish(&child);
}

/* A sleeping machine stops the monotonic clock of Linux or, in a virtual machine, advances it by a
 * step. */
static void executions_are_counted_once_when_the_machine_sleeps(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, run_observed, NULL);

    (void)observed_receive(&child);
    period(f);
    tell(&child, 7);
    f->realtime_ns += 8 * 3600 * SECOND; /* asleep: only the wall clock continued */
    f->monotonic_ns += SECOND;
    assert_int_equal(period(f)->period_ns, SECOND);
    assert_int_equal(f->completed, 7);
    tell(&child, 5);
    f->realtime_ns += 8 * 3600 * SECOND; /* the machine stood still: both clocks leapt */
    f->monotonic_ns += 8 * 3600 * SECOND;
    assert_int_equal(period(f)->period_ns, 8 * 3600 * SECOND);
    assert_int_equal(f->completed, 12);
    tell(&child, 2);
    assert_int_equal(period(f)->period_ns,
                     0); /* no time has passed: shares are 0, but counts are not lost */
    tell(&child, 1);
    f->monotonic_ns -= SECOND; /* backwards, which must never happen */
    assert_int_equal(period(f)->period_ns, 0);
    assert_int_equal(f->completed, 15);
    f->monotonic_ns += 3 * SECOND;
    tell(&child, 1);
    assert_true(period(f)->period_ns <= 3 * SECOND);
    assert_int_equal(f->completed, 16);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 16);
    finish(&child);
}

/* The sum of the samples of a family with this label. */
static uint64_t sum_of_page(struct ntk_points_page *page, const char *family, const char *label)
{
    struct ntk_buf buf = { 0 };
    uint64_t sum = 0;

    ntk_prometheus_encode(page, NTK_PROMETHEUS_TEXT_0_0_4, false, &buf);
    char *text = ntk_buf_take(&buf, NULL);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, family, strlen(family)) == 0 && line[strlen(family)] == '{' &&
            strstr(line, label)) {
            sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
        }
    }
    free(text);
    return sum;
}

static int add_executions(const struct ntk_store_executions *step, void *ctx)
{
    *(uint64_t *)ctx += step->completed;
    assert_int_equal(step->unwatched, 0);
    return 0;
}

/* The total in the database, over all tiers. */
static void check_store(const char *path, uint64_t completed)
{
    static const uint64_t steps_ns[] = { 0, 60 * SECOND, 3600 * SECOND };
    const struct ntk_store_filter all = { 0 };
    struct ntk_store_window window = { BEGAN - 86400 * SECOND, BEGAN + 3 * 86400 * SECOND, 0 };
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_reader_open(path, &reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
        struct ntk_store_point *points = NULL;
        uint64_t sum = 0;
        size_t count = 0;

        window.step_ns = steps_ns[i];
        assert_int_equal(
            ntk_store_reader_executions(reader, &all, &window, add_executions, &sum, &err), 0);
        assert_int_equal(sum, completed);
        assert_int_equal(ntk_store_reader_series(reader, NTK_STORE_UTILIZATION, &all, &window,
                                                 &points, &count, &err),
                         0);
        for (size_t k = 0; k < count; k++) {
            assert_true(points[k].covered_ns <= points[k].end_ns - points[k].start_ns);
            assert_true(!points[k].has_value || (points[k].value >= 0 && points[k].value <= 1));
        }
        free(points);
    }
    ntk_store_reader_close(reader);
}

/* Method: the wall clock jumps forward and back by a minute, an hour and half a second; the machine
 * sleeps and hangs, and in one period no time passes. Each snapshot is passed to the outputs of the
 * agent. */
static void executions_during_clock_jumps_are_stored_and_exported(void **state)
{
    static const struct {
        int64_t wall_ns;
        int64_t monotonic_ns;
    } jumps[] = {
        { SECOND, SECOND },
        { 3600 * (int64_t)SECOND, SECOND },
        { -7200 * (int64_t)SECOND, SECOND },
        { -(int64_t)SECOND / 2, SECOND },
        { 8 * 3600 * (int64_t)SECOND, SECOND },
        { 8 * 3600 * (int64_t)SECOND, 8 * 3600 * (int64_t)SECOND },
        { 7, 0 },
        { -90 * (int64_t)SECOND, SECOND },
        { 61 * (int64_t)SECOND, SECOND },
    };
    struct fixture *f = *state;
    struct ntk_points_page *page = calloc(1, sizeof *page);
    char *db = test_scratch_path(f->folder, "odd.db");
    struct ntk_store *store = NULL;
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX } };
    struct ntk_err err = { 0 };
    struct observed child = observed_start(f->folder, run_observed, NULL);
    uint64_t executions = 0;

    (void)observed_receive(&child);
    assert_int_equal(ntk_store_open(db, &options, &store, &err), 0);
    period(f);
    ntk_store_put(store, f->snapshot);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
            uint64_t wall_ns = f->realtime_ns;

            f->realtime_ns += (uint64_t)jumps[i].wall_ns;
            f->monotonic_ns += (uint64_t)jumps[i].monotonic_ns;
            assert_true(jumps[i].wall_ns < 0 ? f->realtime_ns < wall_ns : f->realtime_ns > wall_ns);
            tell(&child, 10 + i);
            executions += 10 + i;
            period(f);
            assert_int_equal(f->completed, executions);
            ntk_store_put(store, f->snapshot);
            assert_int_equal(ntk_points_page_update(page, f->snapshot), 0);
            assert_int_equal(
                sum_of_page(page, "execution_status_total", "status_type=\"completed\""),
                executions);
        }
    }
    assert_int_equal(ntk_store_close(store, &err), 0);
    check_store(db, executions);
    /* The next agent finds an intact file, and continues with the tiers. */
    assert_int_equal(ntk_store_open(db, &options, &store, &err), 0);
    f->realtime_ns += 2 * 3600 * SECOND;
    f->monotonic_ns += SECOND;
    tell(&child, 1);
    period(f);
    ntk_store_put(store, f->snapshot);
    assert_int_equal(ntk_store_close(store, &err), 0);
    check_store(db, executions + 1);
    finish(&child);
    ntk_points_page_fini(page);
    free(page);
    free(db);
}

/* ---- a reader that falls behind ---- */

static void a_slow_reader_counts_lost_events_and_all_executions(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, run_observed, NULL);
    const uint64_t executions =
        100000; /* a ring holds 1,024 records, an execution is at least one */

    (void)observed_receive(&child);
    period(f);
    tell(&child, executions);
    f->monotonic_ns += SECOND;
    f->realtime_ns += SECOND;
    period(f);
    assert_int_equal(f->completed, executions);
    assert_int_equal(f->latencies, executions);
    assert_true(f->snapshot->events_lost.period > 0);
    assert_int_equal(f->snapshot->events_lost.period, f->snapshot->runtimes[0].events_lost.period);
    /* each record was read or is known to be lost */
    assert_true(f->snapshot->events_read.total + f->snapshot->events_lost.total >= executions);
    assert_true(f->snapshot->events_read.total < executions);

    uint64_t lost = f->snapshot->events_lost.total;
    tell(&child, 100);
    period(f);
    assert_int_equal(f->completed, executions + 100);
    assert_int_equal(f->snapshot->events_lost.total, lost); /* it has caught up */
    finish(&child);
}

/* ---- long runs ---- */

static size_t descriptors_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PERIODS_PER_GUEST 40 /* fork is slow there */
#else
#define PERIODS_PER_GUEST 2
#endif

struct backlog {
    struct fixture *f;
    uint64_t reported;
    size_t descriptors;
};

/* A fast machine creates more guests per second than the limit of segments that a reader opens for
 * a user; the rest waits. */
static int is_caught_up(void *ctx)
{
    struct backlog *backlog = ctx;

    backlog->f->monotonic_ns += SECOND;
    period(backlog->f);
    return backlog->f->completed >= backlog->reported && descriptors_open() <= backlog->descriptors;
}

/* Method: a process that works all the time, and a thousand others that come and go; after the
 * first hundred periods the allocated memory does not grow. */
static void memory_and_descriptors_do_not_grow_over_two_thousand_periods(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, run_observed, NULL);
    const uint64_t reported = 2000 * 2 + 2000 / PERIODS_PER_GUEST * 3;
    size_t heap_bytes = 0;
    size_t descriptors = 0;

    (void)observed_receive(&child);
    for (size_t i = 0; i < 2000; i++) {
        if (i % PERIODS_PER_GUEST == 1) {
            struct observed guest = observed_start(f->folder, run_observed, NULL);

            (void)observed_receive(&guest);
            tell(&guest, 3);
            finish(&guest);
        }
        tell(&child, 2);
        f->monotonic_ns += SECOND;
        f->realtime_ns += SECOND;
        assert_true(ntk_collector_drain(f->collector) >= 0);
        period(f);
        if (i == 100) {
            ntk_snapshot_destroy(f->snapshot);
            f->snapshot = NULL;
            heap_bytes = mallinfo2().uordblks;
            descriptors = descriptors_open();
        }
    }
    assert_true(test_wait_until(is_caught_up, &(struct backlog){ f, reported, descriptors }));
    /* The memory of the last guest is freed one period after its end, like that of the others. */
    period(f);
    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = NULL;
    assert_int_equal(f->completed, reported);
    assert_int_equal(descriptors_open(), descriptors);
    /* allowance for hash tables and lists, which round up */
    assert_true(mallinfo2().uordblks <= heap_bytes + 16384);
    finish(&child);
}

/* ---- the folder ---- */

static void make_file(const struct fixture *f, const char *name, off_t bytes)
{
    char *path = test_scratch_path(f->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
    free(path);
}

static void segments_are_found_among_unrelated_files(void **state)
{
    struct fixture *f = *state;
    char *fifo = test_scratch_path(f->folder, "11-11");
    char *link = test_scratch_path(f->folder, "12-12");
    char *loop = test_scratch_path(f->folder, "13-13");
    char *dir = test_scratch_path(f->folder, "14-14");
    struct observed child = observed_start(f->folder, run_observed, NULL);

    (void)observed_receive(&child);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("/dev/zero", link), 0);
    assert_int_equal(symlink("13-13", loop), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    make_file(f, "15-15", 0);
    make_file(f, "16-16", (off_t)1 << 40); /* sparse */
    for (unsigned i = 0; i < 500; i++) {
        char name[32];

        snprintf(name, sizeof name, "%u-%u", 1000 + i, i);
        make_file(f, name, 100);
    }
    period(f);
    tell(&child, 4);
    f->monotonic_ns += SECOND;
    period(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 4);
    assert_string_not_equal(ntk_collector_note(f->collector), "");
    /* none of it was removed, because it was not ours */
    assert_int_equal(access(fifo, F_OK), 0);
    assert_int_equal(access(dir, F_OK), 0);
    finish(&child);
    free(fifo);
    free(link);
    free(loop);
    free(dir);
}

/* ---- a damaged segment ---- */

/* Writes random words all over the segment, or from its tables on, until this process is killed. */
static void spoil(const char *path, size_t from)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    uint64_t random = 88172645463325252u;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails meanwhile */
    if (fd < 0 || fstat(fd, &status) < 0) {
        _exit(3);
    }
    uint8_t *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        _exit(4);
    }
    for (;;) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t at = from + (size_t)(random >> 20) % ((size_t)status.st_size - from - 8);
        /* mostly into the first pages, where the counters are */
        at = random % 3 ? from + (at - from) % 65536 : at;
        memcpy(bytes + at, &random, random % 2 ? 1 : 8);
    }
}

static char *only_segment(const struct fixture *f)
{
    DIR *dir = opendir(f->folder);
    struct dirent *entry;
    char *path = NULL;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strchr(entry->d_name, '-')) {
            assert_null(path);
            path = test_scratch_path(f->folder, entry->d_name);
        }
    }
    closedir(dir);
    assert_non_null(path);
    return path;
}

/* Method: two processes; the segment of one is overwritten while it is read, finally including its
 * header. The figures of the other one stay exact, and reports and database can still be made. */
static void a_segment_corrupted_while_read_does_not_affect_others(void **state)
{
    struct fixture *f = *state;
    const struct ntk_store_options store_options = { .keep_ns = { UINT64_MAX, UINT64_MAX,
                                                                  UINT64_MAX } };
    const struct ntk_report_options report_options = { 0 };
    char *db = test_scratch_path(f->folder, "odd.db");
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    struct ntk_buf line = { 0 };
    uint64_t completed = 0;
    size_t seen = 0;

    setenv("NEURON_PROCESS_TAG", "bad", 1);
    struct observed bad = observed_start(f->folder, run_observed, NULL);
    (void)observed_receive(&bad);
    char *path = only_segment(f);
    setenv("NEURON_PROCESS_TAG", "good", 1);
    struct observed good = observed_start(f->folder, run_observed, NULL);
    (void)observed_receive(&good);
    assert_int_equal(ntk_store_open(db, &store_options, &store, &err), 0);
    period(f);
    assert_int_equal(f->snapshot->runtime_count, 2);
    for (size_t round = 0; round < 2; round++) {
        pid_t spoiler = fork();

        if (spoiler == 0) {
            spoil(path, round == 0 ? 4096 : 0);
        }
        for (size_t i = 0; i < 100; i++) {
            tell(&good, 3);
            f->monotonic_ns += SECOND;
            f->realtime_ns += SECOND;
            assert_true(ntk_collector_drain(f->collector) >= 0);
            period(f);
            for (size_t k = 0; k < f->snapshot->runtime_count; k++) {
                const struct ntk_runtime_sample *runtime = &f->snapshot->runtimes[k];

                if (strcmp(runtime->tag, "good") == 0) {
                    seen++;
                    completed += runtime->outcome[NTK_OUTCOME_COMPLETED].period;
                    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
                    assert_int_equal(runtime->total_latency.count, 3);
                    assert_int_equal(runtime->events_lost.total, 0);
                }
            }
            ntk_store_put(store, f->snapshot);
            ntk_buf_reset(&line);
            assert_int_equal(ntk_report_write(f->snapshot, &report_options, &line, NULL), 0);
            struct ntk_snapshot *back = NULL;
            assert_int_equal(
                ntk_report_read(ntk_buf_text_get(&line), line.bytes_count, &back, &err), 0);
            ntk_snapshot_destroy(back);
        }
        assert_int_equal(kill(spoiler, SIGKILL), 0);
        assert_int_equal(waitpid(spoiler, NULL, 0), spoiler);
    }
    assert_int_equal(seen, 200);
    assert_int_equal(completed, 600);
    assert_int_equal(ntk_store_close(store, &err), 0);
    assert_int_equal(observed_finish(&bad, SIGKILL), 128 + SIGKILL);
    finish(&good);
    ntk_buf_fini(&line);
    free(path);
    free(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_wall_clock_jump_does_not_change_the_period_length),
        TEST(executions_are_counted_once_when_the_machine_sleeps),
        TEST(executions_during_clock_jumps_are_stored_and_exported),
        TEST(a_slow_reader_counts_lost_events_and_all_executions),
        TEST(memory_and_descriptors_do_not_grow_over_two_thousand_periods),
        TEST(segments_are_found_among_unrelated_files),
        TEST(a_segment_corrupted_while_read_does_not_affect_others),
    };

    signal(SIGPIPE, SIG_IGN);
    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
