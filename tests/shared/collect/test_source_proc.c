/* SPDX-License-Identifier: MIT */
/* Facts from /proc: a made-up /proc in a scratch folder. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/collect/source.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

struct fixture {
    char *folder;
    struct ntk_aggregate *aggregate;
    struct ntk_collector_options options;
    struct ntk_collect_source source;
    struct ntk_ring_process process;
    bool ended;
    struct ntk_snapshot *snapshot;
    uint64_t now;
};

static void put(struct fixture *f, const char *name, const char *text)
{
    char *path = test_scratch_path(f->folder, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    *slash = '/';
    /* in place: files stay open, like those of /proc */
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static struct ntk_snapshot *sample(struct fixture *f)
{
    struct ntk_runtime_reading reading = { .key = "7-900",
                                           .process = &f->process,
                                           .ended = f->ended };
    struct ntk_err err = { 0 };

    if (f->process.pid) {
        if (!ntk_aggregate_knows(f->aggregate, reading.key)) {
            assert_int_equal(ntk_aggregate_runtime_first(f->aggregate, &reading), 0);
        }
        assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
    }
    assert_int_equal(f->source.ops->sample(f->source.state, f->aggregate, f->now, &err), 0);
    ntk_snapshot_destroy(f->snapshot);
    f->now += SECOND;
    assert_int_equal(ntk_aggregate_finish(f->aggregate, f->now, f->now, &f->snapshot), 0);
    return f->snapshot;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_aggregate_options options = { .begin_monotonic_ns = SECOND,
                                             .ticks_per_second = 100,
                                             .page_bytes = 4096 };

    if (!f || ntk_aggregate_create(&options, &f->aggregate) < 0) {
        return -1;
    }
    f->now = SECOND;
    f->folder = test_scratch_create();
    f->options.proc_root = f->folder;
    f->options.command_lines = true;
    f->process.start_time = 900;
    f->process.uid = 12;
    *state = f;
    return ntk_source_proc_open(&f->options, &f->source, NULL);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_aggregate_destroy(f->aggregate);
    f->source.ops->destroy(f->source.state);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void stat_and_meminfo_are_read_as_cpu_shares_and_bytes(void **state)
{
    struct fixture *f = *state;

    put(f, "meminfo",
        "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"
        "SwapCached: 1 kB\nSwapTotal:        50 kB\nSwapFree:         20 kB\n");
    put(f, "stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\nctxt 1000\n");
    sample(f);
    put(f, "stat", "cpu  150 10 120 900 5 4 3 8 0 0\ncpu0 150 10 120 900 5 4 3 8 0 0\nctxt 1300\n");
    sample(f);
    assert_int_equal(f->snapshot->system.has, NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY |
                                                  NTK_SYSTEM_HAS_CONTEXT_SWITCHES |
                                                  NTK_SYSTEM_HAS_SELF);
    assert_true(f->snapshot->system.self_memory_bytes > 0);
    assert_true(f->snapshot->system.average[NTK_CPU_USER] == 0.25);
    assert_true(f->snapshot->system.average[NTK_CPU_NICE] == 0.05);
    assert_true(f->snapshot->system.average[NTK_CPU_SYSTEM] == 0.1);
    assert_true(f->snapshot->system.average[NTK_CPU_IDLE] == 0.5);
    assert_true(f->snapshot->system.average[NTK_CPU_IO_WAIT] == 0.025);
    assert_true(f->snapshot->system.average[NTK_CPU_IRQ] == 0.02);
    assert_true(f->snapshot->system.average[NTK_CPU_SOFT_IRQ] == 0.015);
    assert_true(f->snapshot->system.cpus[0].share[NTK_CPU_USER] == 0.25);
    assert_int_equal(f->snapshot->system.context_switches, 300);
    assert_int_equal(f->snapshot->system.memory_total_bytes, 1000 * 1024);
    assert_int_equal(f->snapshot->system.memory_used_bytes, 600 * 1024);
    assert_int_equal(f->snapshot->system.swap_used_bytes, 30 * 1024);
}

static void figures_from_missing_or_invalid_files_are_absent_with_an_error(void **state)
{
    struct fixture *f = *state;

    sample(f);
    assert_int_equal(f->snapshot->system.has, NTK_SYSTEM_HAS_SELF); /* of this process */
    assert_non_null(strstr(f->snapshot->system.cpu_error, "/stat: No such file"));
    assert_non_null(strstr(f->snapshot->system.memory_error, "/meminfo: No such file"));
    put(f, "stat", "cpu  x\ncpu0\nctxt\n");
    put(f, "meminfo", "garbage");
    sample(f);
    assert_int_equal(f->snapshot->system.has & (NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY), 0);
}

#define STAT(name, start)                                                   \
    "7 (" name ") S 1 7 7 0 -1 4194560 100 0 0 0 %u %u 0 0 20 0 1 0 " start \
    " 1000000 %u 18446744073709551615 1 1\n"

static void put_stat(struct fixture *f, const char *format, unsigned int user, unsigned int system,
                     unsigned int rss)
{
    char text[512];

    snprintf(text, sizeof text, format, user, system, rss);
    put(f, "7/stat", text);
}

static void cpu_time_memory_command_and_container_of_a_process_are_read(void **state)
{
    struct fixture *f = *state;
    const struct ntk_runtime_sample *runtime;

    put(f, "stat", "cpu  0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n");
    put(f, "7/cgroup",
        "0::/kubepods.slice/cri-containerd-"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n");
    f->process.pid = 7;
    {
        char *path = test_scratch_path(f->folder, "7/cmdline");
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        assert_int_equal(fwrite("python3\0train.py\0", 1, 17, file), 17);
        fclose(file);
        free(path);
    }
    /* a name that contains the characters after a name */
    put_stat(f, STAT("evil) R 9 9 (", "900"), 10, 5, 3);
    sample(f);
    put_stat(f, STAT("evil) R 9 9 (", "900"), 60, 15, 4);
    runtime = &sample(f)->runtimes[0];
    assert_true(runtime->has & NTK_RUNTIME_HAS_CPU);
    assert_true(runtime->vcpu_user == 0.25);
    assert_true(runtime->vcpu_system == 0.05);
    assert_int_equal(runtime->rss_bytes, 4 * 4096);
    assert_string_equal(runtime->command, "python3 train.py");
    assert_string_equal(runtime->container_id,
                        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    assert_string_not_equal(runtime->user, "");
}

static void command_arguments_are_shown_only_on_request(void **state)
{
    struct fixture *f = *state;

    f->source.ops->destroy(f->source.state);
    f->options.command_lines = false;
    assert_int_equal(ntk_source_proc_open(&f->options, &f->source, NULL), 0);
    put(f, "7/cmdline", "serve --token=s3cret");
    put_stat(f, STAT("serve", "900"), 10, 5, 3);
    f->process.pid = 7;
    snprintf(f->process.command, sizeof f->process.command, "serve");
    sample(f);
    assert_string_equal(f->snapshot->runtimes[0].command, "serve");
}

static void the_cpu_time_of_a_process_counts_from_its_first_sample(void **state)
{
    struct fixture *f = *state;
    struct ntk_runtime_reading reading = { .key = "7-900", .process = &f->process };

    put(f, "stat", "cpu  0 0 0 0\ncpu0 0 0 0 0\n");
    f->process.pid = 7;
    assert_int_equal(ntk_aggregate_runtime_first(f->aggregate, &reading), 0);
    put_stat(f, STAT("early", "900"), 10, 5, 3);
    assert_int_equal(f->source.ops->drain(f->source.state, f->aggregate, f->now), 0);
    put_stat(f, STAT("early", "900"), 20, 6, 3);
    assert_int_equal(f->source.ops->drain(f->source.state, f->aggregate, f->now), 0);
    put_stat(f, STAT("early", "900"), 60, 15, 4);
    sample(f);
    assert_true(f->snapshot->runtimes[0].vcpu_user == 0.5);
    assert_true(f->snapshot->runtimes[0].vcpu_system == 0.1);
}

/* Method: the process is known for two periods before its usage is needed, in the middle of the
 * third; it uses CPU all the time. Then its file disappears, which only a reading can notice. */
static void process_usage_is_read_only_while_requested(void **state)
{
    struct fixture *f = *state;
    const uint32_t usage = NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS;

    put(f, "stat", "cpu  0 0 0 0\ncpu0 0 0 0 0\n");
    put(f, "7/cmdline", "serve");
    put_stat(f, STAT("serve", "900"), 100, 0, 3);
    f->process.pid = 7;
    ntk_source_proc_read_usage(&f->source, f->aggregate, false);
    for (unsigned int period = 0; period < 2; period++) {
        put_stat(f, STAT("serve", "900"), 200 + 100 * period, 0, 3);
        sample(f);
        assert_int_equal(f->snapshot->runtimes[0].has & usage, 0);
        assert_string_equal(f->snapshot->runtimes[0].cpu_error, "");
    }
    assert_string_equal(f->snapshot->runtimes[0].command, "serve");

    put_stat(f, STAT("serve", "900"), 350, 0, 3);
    ntk_source_proc_read_usage(&f->source, f->aggregate, true);
    put_stat(f, STAT("serve", "900"), 400, 0, 4);
    sample(f); /* for a part of the period, so its share of the whole is unknown */
    assert_int_equal(f->snapshot->runtimes[0].has & usage, NTK_RUNTIME_HAS_RSS);
    assert_int_equal(f->snapshot->runtimes[0].rss_bytes, 4 * 4096);
    put_stat(f, STAT("serve", "900"), 425, 25, 4);
    sample(f);
    assert_int_equal(f->snapshot->runtimes[0].has & usage, usage);
    assert_true(f->snapshot->runtimes[0].vcpu_user == 0.25);
    assert_true(f->snapshot->runtimes[0].vcpu_system == 0.25);

    put(f, "7/stat", "");
    ntk_source_proc_read_usage(&f->source, f->aggregate, false);
    sample(f);
    assert_int_equal(f->snapshot->runtimes[0].has & usage, 0);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, "");
    ntk_source_proc_read_usage(&f->source, f->aggregate, true);
    assert_string_not_equal(sample(f)->runtimes[0].cpu_error, "");
}

static void the_usage_of_this_process_is_not_read_if_unwanted(void **state)
{
    struct fixture *f = *state;

    sample(f);
    assert_true(f->snapshot->system.has & NTK_SYSTEM_HAS_SELF);
    f->source.ops->destroy(f->source.state);
    f->options.no_self = true;
    assert_int_equal(ntk_source_proc_open(&f->options, &f->source, NULL), 0);
    sample(f);
    sample(f);
    assert_false(f->snapshot->system.has & NTK_SYSTEM_HAS_SELF);
    assert_int_equal(f->snapshot->system.self_memory_bytes, 0);
}

/* A process that had exited before it was seen has no folder with an owner. */
static void the_user_of_an_exited_process_is_reported(void **state)
{
    struct fixture *f = *state;
    const struct passwd *root = getpwuid(0);

    if (!root) {
        skip();
    }
    f->process.pid = 7;
    f->process.uid = 0;
    f->ended = true;
    assert_string_equal(sample(f)->runtimes[0].user, root->pw_name);
}

/* Method: the highest user id that no entry of the user database has. */
static void a_user_without_a_name_is_shown_by_number(void **state)
{
    struct fixture *f = *state;
    uint32_t uid = UINT32_C(4000000000);
    char expected[16];

    while (getpwuid(uid)) {
        uid--;
    }
    (void)snprintf(expected, sizeof expected, "%u", uid);
    f->process.pid = 7;
    f->process.uid = uid;
    f->ended = true;
    assert_string_equal(sample(f)->runtimes[0].user, expected);
}

/* Method: the pid belongs to another process by now, so its figures are absent. */
static void a_reused_pid_yields_no_figures(void **state)
{
    struct fixture *f = *state;
    char expected[1024];

    f->process.pid = 7;
    put_stat(f, STAT("other", "901"), 10, 5, 3);
    sample(f);
    snprintf(expected, sizeof expected, "open %s/7/stat: no such file or directory", f->folder);
    assert_int_equal(f->snapshot->runtimes[0].has & (NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS), 0);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, expected);
    assert_string_equal(f->snapshot->runtimes[0].command, "");

    put_stat(f, "7 (x) S 1 2", 0, 0, 0);
    sample(f);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, expected);
    put(f, "7/stat", "");
    sample(f);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, expected);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(stat_and_meminfo_are_read_as_cpu_shares_and_bytes),
        TEST(figures_from_missing_or_invalid_files_are_absent_with_an_error),
        TEST(cpu_time_memory_command_and_container_of_a_process_are_read),
        TEST(command_arguments_are_shown_only_on_request),
        TEST(the_cpu_time_of_a_process_counts_from_its_first_sample),
        TEST(process_usage_is_read_only_while_requested),
        TEST(the_usage_of_this_process_is_not_read_if_unwanted),
        TEST(the_user_of_an_exited_process_is_reported),
        TEST(a_user_without_a_name_is_shown_by_number),
        TEST(a_reused_pid_yields_no_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
