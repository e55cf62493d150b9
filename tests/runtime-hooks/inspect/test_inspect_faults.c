/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn between the start and the stop of an
 * inspection. The job continues, and every file that exists can be read. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/inspect/inspect.h"
#include "shared/formats/ntff/ntff.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/fault.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ROUNDS 60
#define FILES 5 /* of an inspection without faults */

static const char *kind_names[NTK_CORE_TRACE_KINDS];

struct world {
    struct core_fixture *f;
    struct core_adder adder;
    char *folder; /* of all inspections */
    unsigned nameless;
    char reported[NTK_ERR_TEXT_BYTES];
};

static struct world world;

static void tell(enum ntk_inspect_step step, int error, const char *sentence)
{
    (void)step;
    world.nameless += sentence[0] == '\0';
    if (error < 0 && !world.reported[0]) {
        (void)snprintf(world.reported, sizeof world.reported, "%s", sentence);
    }
}

static void an_empty_folder(void *ctx)
{
    (void)ctx;
    test_scratch_destroy(world.folder);
    world.folder = test_scratch_create();
    world.nameless = 0;
    world.reported[0] = '\0';
}

static int inspect(void *ctx, struct ntk_err *err)
{
    static struct ntk_inspect_options options = { .session_id = 1,
                                                  .activities = NTK_INSPECT_ALL_ACTIVITIES,
                                                  .device = NTK_INSPECT_BY_SESSION,
                                                  .records = true,
                                                  .core_enabled = { true },
                                                  .trace_kinds = UINT64_MAX,
                                                  .events_per_core = 64,
                                                  .bounds = { 1 << 16, 1 << 16, 1 << 16, 1 << 16 },
                                                  .kind_names = kind_names,
                                                  .runtime_version = "1",
                                                  .tell = tell };
    struct core_fixture *f = world.f;

    (void)ctx;
    options.folder = world.folder;
    int ret = ntk_inspect_begin(f->core, &options, err);

    fault_pause();
    assert_int_equal(core_adder_run(f, &world.adder, 1), NTK_CORE_COMPLETED);
    fault_resume();
    if (ret >= 0) {
        ret = ntk_inspect_stop(f->core);
        if (ret < 0) {
            (void)ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s", world.reported);
        }
    }
    ntk_inspect_closing(f->core);
    return ret;
}

/* Whether the content of the file matches its name. */
static bool can_be_read(const char *path)
{
    const char *end = strrchr(path, '.');
    int ret = -1;

    if (strcmp(end, ".ntff") == 0) {
        struct ntk_ntff *ntff = NULL;

        ret = ntk_ntff_open(path, &ntff, NULL);
        ret = ret == 0 && ntff->warning_count > 0 ? -1 : ret;
        ntk_ntff_close(ntff);
    } else if (strstr(path, "trace_info.pb")) {
        NtkNtracePb__Info *info = NULL;

        ret = ntk_ntrace_read_info(path, &info, NULL);
        ntk_ntrace_pb__info__free_unpacked(info, NULL);
    } else if (strstr(path, "ntrace.pb")) {
        NtkNtracePb__Trace *trace = NULL;

        ret = ntk_ntrace_read(path, &trace, NULL);
        ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    } else if (strcmp(end, ".pb") == 0) {
        NtkNtracePb__HostSamples *samples = NULL;

        ret = ntk_ntrace_read_host(path, &samples, NULL);
        ntk_ntrace_pb__host_samples__free_unpacked(samples, NULL);
    }
    return ret == 0;
}

/* Counts the files below a folder; those that cannot be read are counted in *bad. */
static unsigned files_look(const char *folder, unsigned *bad)
{
    DIR *list = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;

    while (list && (entry = readdir(list)) != NULL) {
        char path[1024];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_type == DT_DIR) {
            count += files_look(path, bad);
            continue;
        }
        count++;
        *bad += !can_be_read(path);
    }
    if (list) {
        closedir(list);
    }
    return count;
}

static const char *leaves_sound_files(void *ctx, int ret)
{
    unsigned bad = 0;
    unsigned count = files_look(world.folder, &bad);

    (void)ctx;
    if (bad > 0) {
        return "a file cannot be read";
    }
    if (world.nameless > 0) {
        return "an error is reported without a sentence";
    }
    return ret >= 0 && count < FILES && !world.reported[0] ? "a file is missing without an error"
                                                           : NULL;
}

static void a_failing_inspection_writes_only_complete_files(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .rounds_max = ROUNDS,
                                                      .before = an_empty_folder,
                                                      .run = inspect,
                                                      .after = leaves_sound_files };

    for (size_t i = 0; i < NTK_CORE_TRACE_KINDS; i++) {
        kind_names[i] = "kind";
    }
    world.f = *state;
    world.folder = test_scratch_create();
    core_adder_init(world.f, &world.adder, NULL, NULL);
    assert_true(fault_everywhere(&operation, NULL) > 50);
    core_adder_fini(&world.adder);
    test_scratch_destroy(world.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failing_inspection_writes_only_complete_files,
                                        core_fixture_setup, core_fixture_teardown),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
