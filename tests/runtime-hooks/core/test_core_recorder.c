/* SPDX-License-Identifier: MIT */
/* Which executions are in a recording on request: all requested ones, or an immediate error that it
 * is too late. */
#include <errno.h>
#include <string.h>

#include "shared/formats/ntff/ntff.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int start(struct core_fixture *f, uint64_t first, uint64_t count)
{
    const struct ntk_core_recorder_options options = { .keeps = NTK_CORE_KEEPS_ALL,
                                                       .first_execution = first,
                                                       .execution_count = count,
                                                       .folder = f->folder };

    return ntk_core_recorder_start(f->core, 0, NTK_CORE_RECORDER_TRIGGER, &options, &f->err);
}

static void a_recording_has_the_requested_executions(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;
    struct ntk_core_recording *recording = NULL;
    uint64_t lowest = 0;
    uint64_t highest = 0;

    core_adder_init(f, &adder, NULL, NULL);
    (void)core_adder_run(f, &adder, 1);
    assert_int_equal(start(f, 3, 2), 0);
    for (int i = 0; i < 5; i++) {
        (void)core_adder_run(f, &adder, 1);
    }
    assert_int_equal(
        ntk_core_recorder_stop(f->core, 0, NTK_CORE_RECORDER_TRIGGER, &recording, &f->err), 0);
    ntk_core_recording_range(recording, &lowest, &highest);
    assert_int_equal(lowest, 3);
    assert_int_equal(highest, 4);
    ntk_core_recording_destroy(recording);
    core_adder_fini(&adder);
}

/* A trace uses this clock to find the execution. */
static void a_recording_window_has_timestamps_of_the_core_clock(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;
    struct ntk_core_recording *recording = NULL;
    struct ntk_ntff *ntff = NULL;
    char *path = test_scratch_path(f->folder, "third.ntff");

    core_adder_init(f, &adder, NULL, NULL);
    (void)core_adder_run(f, &adder, 1);
    assert_int_equal(start(f, 3, 1), 0);
    (void)core_adder_run(f, &adder, 1);
    uint64_t begin_ns = ntk_core_device_clock_ns(f->core, 0);
    (void)core_adder_run(f, &adder, 1);
    uint64_t end_ns = ntk_core_device_clock_ns(f->core, 0);
    (void)core_adder_run(f, &adder, 1);
    assert_true(begin_ns > 0 && end_ns > begin_ns);
    assert_int_equal(
        ntk_core_recorder_stop(f->core, 0, NTK_CORE_RECORDER_TRIGGER, &recording, &f->err), 0);
    assert_int_equal(ntk_core_recording_save(recording, path, &f->err), 0);
    assert_int_equal(ntk_ntff_open(path, &ntff, &f->err), 0);
    assert_true(ntff->has_window);
    assert_int_equal(ntff->window_start_ps, begin_ns * 1000);
    assert_int_equal(ntff->window_end_ps, end_ns * 1000);
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];

        for (uint64_t i = 0; i < section->record_count; i++) {
            struct ntk_ntff_record record;

            ntk_ntff_record_get(&ntff->subgraphs[0], section, i, &record);
            assert_in_range(record.time_ps, begin_ns * 1000, end_ns * 1000);
        }
    }
    ntk_ntff_close(ntff);
    ntk_core_recording_destroy(recording);
    core_adder_fini(&adder);
    free(path);
}

static void recording_an_execution_that_already_started_fails(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    (void)core_adder_run(f, &adder, 1);
    (void)core_adder_run(f, &adder, 1);
    assert_int_equal(start(f, 1, 1), -EAGAIN);
    assert_int_equal(start(f, 2, 3), -EAGAIN);
    assert_string_equal(f->err.text, "execution 2 has already started on core 0");
    assert_int_equal(start(f, 3, 1), 0); /* the slot is free */
    assert_int_equal(start(f, 3, 1), -EALREADY);
    assert_int_equal(ntk_core_recorder_stop(f->core, 0, NTK_CORE_RECORDER_TRIGGER, NULL, &f->err),
                     0);
    assert_int_equal(start(f, 0, 0), 0); /* any executions */
    assert_int_equal(ntk_core_recorder_stop(f->core, 0, NTK_CORE_RECORDER_TRIGGER, NULL, &f->err),
                     0);
    core_adder_fini(&adder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_recording_has_the_requested_executions,
                                        core_fixture_setup, core_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_recording_window_has_timestamps_of_the_core_clock,
                                        core_fixture_setup, core_fixture_teardown),
        cmocka_unit_test_setup_teardown(recording_an_execution_that_already_started_fails,
                                        core_fixture_setup, core_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
