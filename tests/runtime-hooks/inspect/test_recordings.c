/* SPDX-License-Identifier: MIT */
/*
 * Sessions and continuous profiling as any front may request them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/inspect/continuous.h"
#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/inspect/session.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const struct ntk_core_recorder_bounds bounds = { .instruction_bytes_max = 1 << 20,
                                                        .event_bytes_max = 1 << 20,
                                                        .dma_bytes_max = 1 << 20,
                                                        .throttle_bytes_max = 1 << 20 };

/* The shutdown of a front. */
static int teardown(void **state)
{
    struct core_fixture *f = *state;

    if (f->core) {
        ntk_inspect_closing(f->core);
    }
    return core_fixture_teardown(state);
}

static void a_session_keeps_executions_from_start_to_stop_until_dropped(void **state)
{
    struct core_fixture *f = *state;
    char *path = test_scratch_path(f->folder, "session.ntff");
    struct core_adder adder;
    uint64_t id = 0;

    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(ntk_session_stop(f->core, 0, &id, &f->err), -ENOENT);
    assert_int_equal(ntk_session_start(f->core, 2, &bounds, &f->err), -EINVAL);
    assert_int_equal(ntk_session_start(f->core, 0, &bounds, &f->err), 0);
    assert_int_equal(ntk_session_start(f->core, 0, &bounds, &f->err), -EALREADY);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    assert_int_equal(ntk_session_stop(f->core, 0, &id, &f->err), 0);
    assert_true(id > 0);
    for (int i = 0; i < 2; i++) { /* any number of times */
        assert_int_equal(ntk_session_save(id, path, &f->err), 0);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(ntk_session_save(id + 1, path, &f->err), -ENOENT);
    assert_int_equal(ntk_session_drop(id, NTK_CORE_ANY), 1);
    assert_int_equal(ntk_session_drop(id, NTK_CORE_ANY), 0);
    assert_int_equal(ntk_session_save(id, path, &f->err), -ENOENT);
    assert_int_equal(access(path, F_OK), -1);
    core_adder_fini(&adder);
    free(path);
}

static void stopped_sessions_are_limited_and_dropped_by_core_or_on_close(void **state)
{
    struct core_fixture *f = *state;
    uint64_t id = 0;
    uint64_t last = 0;

    for (uint32_t i = 0; i < NTK_SESSIONS_MAX; i++) {
        assert_int_equal(ntk_session_start(f->core, i % 2, &bounds, &f->err), 0);
        assert_int_equal(ntk_session_stop(f->core, i % 2, &id, &f->err), 0);
        assert_true(id > last);
        last = id;
    }
    assert_int_equal(ntk_session_start(f->core, 0, &bounds, &f->err), 0);
    assert_int_equal(ntk_session_stop(f->core, 0, &id, &f->err), -ENOMEM);
    assert_int_equal(ntk_session_drop(0, 1), NTK_SESSIONS_MAX / 2);
    assert_int_equal(ntk_session_stop(f->core, 0, &id, &f->err), 0); /* it was still running */
    ntk_inspect_closing(f->core);
    assert_int_equal(ntk_session_drop(0, NTK_CORE_ANY), 0);
}

static void the_latest_recorded_execution_is_available_on_request(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;
    char folder[512];
    char path[640];

    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(ntk_continuous_save(f->core, 0, f->folder, &f->err), -EINVAL);
    assert_int_equal(ntk_continuous_stop(f->core, &f->err), -ENOENT);
    assert_int_equal(ntk_continuous_start(f->core, &bounds, &f->err), 0);
    assert_int_equal(ntk_continuous_start(f->core, &bounds, &f->err), -EINVAL);
    assert_int_equal(ntk_continuous_save(f->core, 0, f->folder, &f->err), -ENODATA);
    for (uint32_t i = 0; i <= NTK_CONTINUOUS_FILES; i++) {
        assert_int_equal(core_adder_run(f, &adder, (float)i), NTK_CORE_COMPLETED);
        assert_int_equal(ntk_continuous_save(f->core, 0, f->folder, &f->err), 0);
    }
    assert_int_equal(ntk_inspect_instance_folder(f->folder, folder, sizeof folder), 0);
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_1.ntff", folder);
    assert_int_equal(access(path, F_OK), -1); /* the oldest one was removed */
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_%u.ntff", folder,
                   NTK_CONTINUOUS_FILES + 1);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(ntk_continuous_stop(f->core, &f->err), 0);
    core_adder_fini(&adder);
}

static void a_device_recorded_by_an_inspection_cannot_be_profiled(void **state)
{
    struct core_fixture *f = *state;
    static struct ntk_inspect_options options = { .session_id = 1,
                                                  .activities = NTK_INSPECT_DEVICE_PROFILE,
                                                  .device = NTK_INSPECT_BY_MODEL,
                                                  .records = true };

    options.folder = f->folder;
    assert_int_equal(ntk_inspect_begin(f->core, &options, &f->err), 0);
    assert_int_equal(ntk_continuous_start(f->core, &bounds, &f->err), -EINVAL);
    assert_string_equal(f->err.text, "an inspection is recording the device");
    assert_int_equal(ntk_inspect_stop(f->core), 0);
    assert_int_equal(ntk_continuous_start(f->core, &bounds, &f->err), 0);
}

static void closing_the_machine_ends_continuous_and_session_profiles(void **state)
{
    const struct ntk_core_options options = { .lnc = 1 };
    struct core_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(ntk_continuous_start(f->core, &bounds, &f->err), 0);
        assert_int_equal(ntk_session_start(f->core, 1, &bounds, &f->err), 0);
        ntk_inspect_closing(f->core);
        core_fixture_close(f);
        core_fixture_open(f, &options);
        assert_int_equal(ntk_continuous_stop(f->core, &f->err), -ENOENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, teardown)
        TEST(a_session_keeps_executions_from_start_to_stop_until_dropped),
        TEST(stopped_sessions_are_limited_and_dropped_by_core_or_on_close),
        TEST(the_latest_recorded_execution_is_available_on_request),
        TEST(a_device_recorded_by_an_inspection_cannot_be_profiled),
        TEST(closing_the_machine_ends_continuous_and_session_profiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
