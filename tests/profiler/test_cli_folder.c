/* SPDX-License-Identifier: MIT */
/* Method: runs the program as a user does, on a hand-made folder of the vendor's inspection: cores
 * 0 and 1, a load 2 us and an execution 5 us after the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/profiler/vendor_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
    struct fixture *f = fixture_create(2);

    vendor_folder_span(&f->folder, "nrt_load", 7, 3000, 5000, "nc_idx=0 worker_gid=0",
                       "nc_idx=0 worker_gid=0 model_id=77");
    vendor_folder_span(&f->folder, "kbl_exec_pre", 7, 6000, 7000,
                       "nc_idx=1 worker_gid=1 model_id=77 exec_id=3", "nc_idx=1 worker_gid=1");
    vendor_folder_write(&f->folder, f->path);
    *state = f;
    return 0;
}

static struct test_run run(const char *const *arguments)
{
    const char *argv[16] = { "neuron-profile" };
    size_t count = 1;

    while (*arguments && count < 15) {
        argv[count++] = *arguments++;
    }
    return test_run_program(argv, (const char *const[]){ NULL });
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

/* The exit code, and text contained in stdout if it is 0, else in one message on stderr. */
static void expect(struct test_run run, int exit_code, const char *text)
{
    if (run.exit_code != exit_code || !strstr(exit_code ? run.err : run.out, text) ||
        (exit_code && run.out[0])) {
        fail_msg("exit code %d (wanted %d), stdout: %s, stderr: %s", run.exit_code, exit_code,
                 run.out, run.err);
    }
    test_run_fini(&run);
}

static void an_unknown_core_of_a_folder_is_rejected(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "neuron-profile: unknown core: the folder has 0,1\n";

    expect(RUN("view", "-d", f->path, "--core", "17"), 1, text);
    expect(RUN("view", "-d", f->path, "--system-trace-filter-neuron-core", "4,5"), 0,
           "\nEvents    0");
    expect(RUN("analyze", "-d", f->path, "--core", "2-9", "startup"), 1, text);
    expect(RUN("query", "-d", f->path, "--core", "17", "SELECT 1"), 1, text);
    expect(RUN("view", "-d", f->path, "--core", "1,17"), 0, "kbl_exec_pre");
}

static void tables_and_options_use_the_same_time_origin(void **state)
{
    struct fixture *f = *state;

    expect(RUN("analyze", "-d", f->path, "startup"), 0, " model.neff    0.0      2.0 ");
    expect(RUN("view", "-d", f->path), 0, "\n   3  model.neff   1       7         3.0 ");
    /* The execution begins in this window, which starts at time 0. */
    expect(RUN("view", "-d", f->path, "--from", "2500ns", "--to", "1"), 0,
           "\n   3  model.neff   1       7         0.5 ");
    expect(RUN("view", "-d", f->path, "--from", "2500ns"), 0,
           "Only a part of the trace is shown: 2.50us to 97.0us after the first event");
    expect(RUN("view", "-d", f->path, "--from", "10"), 1,
           "both are relative to the first event, and the last event ends 4.00us after it");
}

static void an_invalid_option_value_is_rejected_with_the_expected_form(void **state)
{
    struct fixture *f = *state;

    expect(RUN("view", "-d", f->path, "--from", "x"), 2,
           "invalid value 'x' for --from: expected a duration after the start, such as 300ns, "
           "20us, 1.5ms or 2s (a plain number is in seconds), or, with -d, a point in time, such "
           "as 2026-11-21T07:30:00Z\n");
    expect(RUN("view", "-d", f->path, "--from", "2us", "--to", "2us"), 2,
           "--to must be after --from");
    expect(RUN("view", "-d", f->path, "--core", "0;1"), 2,
           "expected core numbers, such as 0,2-4 (at most 128, each at most 65535)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_unknown_core_of_a_folder_is_rejected, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_and_options_use_the_same_time_origin, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_invalid_option_value_is_rejected_with_the_expected_form,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
