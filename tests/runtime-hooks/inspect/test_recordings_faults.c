/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn while the recording of an execution is
 * saved. Under its name there is either the earlier file or a complete capture. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/inspect/session.h"
#include "shared/base/fs.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define EARLIER "not a capture"

static const struct ntk_core_recorder_bounds bounds = { .instruction_bytes_max = 1 << 20,
                                                        .event_bytes_max = 1 << 20,
                                                        .dma_bytes_max = 1 << 20,
                                                        .throttle_bytes_max = 1 << 20 };

struct world {
    struct core_fixture *f;
    struct core_adder adder;
    char *path;
    uint64_t session;
};

static void an_earlier_file(void *ctx)
{
    const struct world *world = ctx;

    assert_int_equal(ntk_fs_write(world->path, EARLIER, strlen(EARLIER), NULL), 0);
}

static int save(void *ctx, struct ntk_err *err)
{
    const struct world *world = ctx;

    return ntk_session_save(world->session, world->path, err);
}

static const char *holds_either(void *ctx, int ret)
{
    const struct world *world = ctx;
    struct ntk_ntff *ntff = NULL;
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;
    const char *wrong = NULL;

    assert_int_equal(ntk_fs_read(world->path, 1 << 24, &bytes, &bytes_count, NULL), 0);
    bool is_earlier = bytes_count == strlen(EARLIER) && memcmp(bytes, EARLIER, bytes_count) == 0;

    if (ret < 0) {
        wrong = is_earlier ? NULL : "the earlier file is gone";
    } else if (ntk_ntff_open_bytes(bytes, bytes_count, &ntff, NULL) < 0) {
        wrong = "the capture cannot be read";
    } else if (ntff->warning_count > 0 || ntff->subgraph_count == 0) {
        wrong = "the capture is damaged";
    }
    ntk_ntff_close(ntff);
    free(bytes);
    return wrong;
}

static void a_failing_save_writes_a_complete_recording_or_none(void **state)
{
    static const struct fault_operation operation = {
        .kinds = FAULT_ALL, .before = an_earlier_file, .run = save, .after = holds_either
    };
    struct core_fixture *f = *state;
    struct world world = { .f = f, .path = test_scratch_path(f->folder, "session.ntff") };

    core_adder_init(f, &world.adder, NULL, NULL);
    assert_int_equal(ntk_session_start(f->core, 0, &bounds, &f->err), 0);
    assert_int_equal(core_adder_run(f, &world.adder, 1), NTK_CORE_COMPLETED);
    assert_int_equal(ntk_session_stop(f->core, 0, &world.session, &f->err), 0);
    assert_true(fault_everywhere(&operation, &world) > 10);
    assert_int_equal(ntk_session_drop(world.session, NTK_CORE_ANY), 1);
    core_adder_fini(&world.adder);
    ntk_inspect_closing(f->core);
    free(world.path);
}

/* From its start to its end: the job continues if the recording fails. */
static int record(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct core_fixture *f = world->f;
    int ret = ntk_session_start(f->core, 0, &bounds, err);

    if (ret >= 0) {
        fault_pause(); /* the core's own recording in between also gets faults */
        (void)core_adder_run(f, &world->adder, 1);
        fault_resume();
        ret = ntk_session_stop(f->core, 0, &world->session, err);
    }
    if (ret >= 0) {
        ret = ntk_session_save(world->session, world->path, err);
        (void)ntk_session_drop(world->session, NTK_CORE_ANY);
    }
    ntk_inspect_closing(f->core); /* including those that could not be stopped */
    return ret;
}

static void a_failed_session_leaks_no_resources(void **state)
{
    static const struct fault_operation operation = {
        .kinds = FAULT_ALL, .before = an_earlier_file, .run = record, .after = holds_either
    };
    struct core_fixture *f = *state;
    struct world world = { .f = f, .path = test_scratch_path(f->folder, "session.ntff") };

    core_adder_init(f, &world.adder, NULL, NULL);
    assert_true(fault_everywhere(&operation, &world) > 10);
    core_adder_fini(&world.adder);
    free(world.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)
        TEST(a_failing_save_writes_a_complete_recording_or_none),
        TEST(a_failed_session_leaks_no_resources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
