/* SPDX-License-Identifier: MIT */
/* neuron-top as a program without a terminal, on a private machine: an empty hooks folder. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
    char hooks[512];
    const char *environment[4];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->folder = test_scratch_create();
    (void)snprintf(f->hooks, sizeof f->hooks, "NEURON_HOOKS_DIR=%s", f->folder);
    f->environment[0] = f->hooks;
    f->environment[1] = "COLUMNS=80";
    f->environment[2] = "NO_COLOR=";
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static struct test_run run(const struct fixture *f, const char *a, const char *b, const char *c,
                           const char *d)
{
    const char *argv[] = { "neuron-top", a, b, c, d, NULL };

    return test_run_program(argv, f->environment);
}

static void option_once_prints_one_frame(void **state)
{
    struct fixture *f = *state;
    struct test_run r = run(f, "--once", "-d", "200ms", NULL);

    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, "");
    assert_non_null(strstr(r.out, "neuron-top " NTK_VERSION " running on "));
    assert_non_null(strstr(r.out, "\nvCPU Utilization\nSystem vCPU Usage "));
    assert_non_null(strstr(r.out, "\nNeuron Apps  >[1]:all<\n"));
    for (const char *line = r.out; *line;) { /* no line is wider than $COLUMNS */
        size_t length = strcspn(line, "\n");

        assert_in_range(length, 0, 80);
        line += length + (line[length] == '\n');
    }
    test_run_fini(&r);
}

static void top_without_devices_shows_the_reason_and_continues(void **state)
{
    struct fixture *f = *state;
    char *missing = test_scratch_path(f->folder, "no-such-tree");
    struct test_run r = run(f, "--once", "--delay=200ms", "--sysfs-root", missing);

    assert_int_equal(r.exit_code, 0);
    char reason[61]; /* a line is truncated at the width of the screen */
    (void)snprintf(reason, sizeof reason, "\nno device tree below '%s", missing);
    assert_non_null(strstr(r.out, reason));
    assert_non_null(strstr(r.out, "\nno Neuron device\n"));
    assert_null(strstr(r.out, "neuron-bench machine")); /* it would not be created in that folder */
    assert_non_null(strstr(r.out, "no Neuron application is running"));
    test_run_fini(&r);
    free(missing);
}

static void batch_mode_prints_the_requested_number_of_frames(void **state)
{
    struct fixture *f = *state;
    struct test_run r = run(f, "--batch", "-n3", "--delay=100ms", NULL);
    int frames = 0;

    assert_int_equal(r.exit_code, 0);
    for (const char *at = r.out; (at = strstr(at, "Neuron Apps")) != NULL; at++) {
        frames++;
    }
    assert_int_equal(frames, 3);
    test_run_fini(&r);
}

static void a_usage_error_prints_one_message_and_exits_with_2(void **state)
{
    static const struct {
        const char *a, *b;
        const char *says;
    } rows[] = { { "--bogus", NULL, "--bogus" },
                 { "-Z", NULL, "-Z" },
                 { "unix:/run/neuron.sock", NULL, "unexpected argument" },
                 { "--delay", "never", "delay" },
                 { "--delay", "1ms", "between 100ms and 1h" },
                 { "--count", "3", "requires --batch" },
                 { "--once", "--sysfs-root", "sysfs-root" } };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct test_run r = run(f, rows[i].a, rows[i].b, NULL, NULL);

        assert_int_equal(r.exit_code, 2);
        assert_string_equal(r.out, "");
        assert_non_null(strstr(r.err, rows[i].says));
        test_run_fini(&r);
    }
}

static void help_and_version_are_printed_on_stdout(void **state)
{
    struct fixture *f = *state;
    struct test_run r = run(f, "--help", NULL, NULL, NULL);

    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "--sysfs-root"));
    for (const char *line = r.out; *line;) {
        size_t length = strcspn(line, "\n");

        assert_in_range(length, 0, 80);
        line += length + (line[length] == '\n');
    }
    test_run_fini(&r);
    r = run(f, "--version", NULL, NULL, NULL);
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, NTK_VERSION));
    test_run_fini(&r);
}

static void without_a_terminal_an_error_suggests_batch_mode(void **state)
{
    struct fixture *f = *state;
    struct test_run r = run(f, NULL, NULL, NULL, NULL);

    assert_int_equal(r.exit_code, 1);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "neuron-top: stdout is not a terminal: use --once or --batch to "
                               "print the screen as text\n");
    test_run_fini(&r);
}

static void a_full_disk_for_the_output_of_top_is_reported_once(void **state)
{
    struct fixture *f = *state;
    const char *argv[] = { "/bin/sh", "-c", "exec \"$NTK_BIN_DIR/neuron-top\" --once >/dev/full",
                           NULL };
    struct test_run r = test_run_program(argv, f->environment);

    assert_int_equal(r.exit_code, 1);
    assert_string_equal(r.err, "neuron-top: cannot write to stdout: No space left on device\n");
    test_run_fini(&r);
}

static int has_output(void *ctx)
{
    struct stat status;

    return stat(ctx, &status) == 0 && status.st_size > 0;
}

static void a_closed_reader_or_a_signal_ends_top_cleanly(void **state)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    struct fixture *f = *state;
    const char *pipe[] = {
        "/bin/sh", "-c", "{ \"$NTK_BIN_DIR/neuron-top\" --batch -d 100ms; echo $? >&2; } | head -1",
        NULL
    };
    struct test_run r = test_run_program(pipe, f->environment);

    assert_string_equal(r.err, "0\n");
    test_run_fini(&r);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const char *argv[] = { "neuron-top", "--batch", "-d", "500ms", NULL };
        char *out = test_scratch_path(f->folder, "out");
        pid_t pid;

        (void)remove(out);
        pid = test_start_program(argv, f->environment, out);
        assert_true(test_wait_until(has_output, out));
        assert_int_equal(test_stop_program(pid, signals[i]), 0);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(option_once_prints_one_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(top_without_devices_shows_the_reason_and_continues, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(batch_mode_prints_the_requested_number_of_frames, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_usage_error_prints_one_message_and_exits_with_2, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(help_and_version_are_printed_on_stdout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_terminal_an_error_suggests_batch_mode, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_for_the_output_of_top_is_reported_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_closed_reader_or_a_signal_ends_top_cleanly, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
