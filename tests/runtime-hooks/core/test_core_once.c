/* SPDX-License-Identifier: MIT */
/*
 * Two fronts in one process: this program has one core, libnrt.so.1 brings another. The second one
 * is rejected, and the first is not affected.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/paths.h"
#include "shared/base/fs.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SUCCESS 0
#define FAILURE 1

static const struct ntk_core_options both_cores = { .lnc = 1, .core_count = 2 };
static const struct ntk_core_options one_core = { .lnc = 1, .core_count = 1 };

static struct {
    int (*init)(int framework, const char *framework_version, const char *fal_version);
    int (*close)(void);
} library;

static int setup(void **state)
{
    char *path = test_scratch_path(getenv("NTK_LIB_DIR"), "libnrt.so.1");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    free(path);
    if (!handle) {
        fail_msg("%s", dlerror());
    }
    *(void **)&library.init = dlsym(handle, "nrt_init");
    *(void **)&library.close = dlsym(handle, "nrt_close");
    (void)core_fixture_prepare(state);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    return 0;
}

/* The error code with which another process fails to get both cores. */
static int stranger(struct observed *parent, void *ctx)
{
    struct ntk_core *core = NULL;

    (void)ctx;
    observed_send(parent, (uint64_t)-ntk_core_open(&both_cores, &core, NULL));
    return 0;
}

static int error_of_a_stranger(const char *folder)
{
    struct observed other = observed_start(folder, stranger, NULL);
    int error = (int)observed_receive(&other);

    assert_int_equal(observed_finish(&other, 0), 0);
    return error;
}

static size_t segments_count(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    unsigned long long start_time = 0;
    unsigned int pid = 0;
    size_t count = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        count += ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time) == 1;
    }
    (void)closedir(folder);
    return count;
}

static void a_second_runtime_library_in_one_process_is_rejected(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;
    char *log = test_scratch_path(f->folder, "log");
    char text[4096];

    setenv("NEURON_RT_LOG_LOCATION", log, 1);
    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    core_fixture_open(f, &both_cores);
    core_adder_init(f, &adder, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(library.init(1, "", ""), FAILURE);
    }
    assert_true(ntk_fs_read_text(log, text, sizeof text) > 0);
    assert_non_null(strstr(text, "this process already has a software machine"));
    /* Its locks, its segment and its models are unchanged. */
    assert_int_equal(error_of_a_stranger(f->folder), EBUSY);
    assert_int_equal(segments_count(f->folder), 1);
    assert_int_equal(core_adder_run(f, &adder, 3), NTK_CORE_COMPLETED);
    assert_int_equal(core_adder_right(f, &adder, 3), TEST_MODEL_ELEMENTS);
    core_adder_fini(&adder);
    core_fixture_close(f);
    free(log);
}

static void one_library_can_open_the_machine_after_the_other_closed_it(void **state)
{
    struct core_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(library.init(1, "", ""), SUCCESS);
        assert_int_equal(ntk_core_open(&both_cores, &f->core, &f->err), -EALREADY);
        assert_null(f->core);
        assert_int_equal(error_of_a_stranger(f->folder), EBUSY);
        assert_int_equal(library.close(), SUCCESS);
        core_fixture_open(f, &both_cores);
        assert_int_equal(library.init(1, "", ""), FAILURE);
        core_fixture_close(f);
        assert_int_equal(error_of_a_stranger(f->folder), 0);
    }
}

/* The parent's mark does not count for the child. */
static int child_opens(struct observed *parent, void *ctx)
{
    struct core_fixture *f = ctx;
    struct ntk_core *core = NULL;

    ntk_core_forget_after_fork(f->core);
    int first = ntk_core_open(&one_core, &core, NULL);
    struct ntk_core *second = NULL;
    int again = ntk_core_open(&one_core, &second, NULL);
    observed_send(parent, first == 0 && again == -EALREADY);
    ntk_core_close(core);
    return 0;
}

static void a_forked_child_may_open_its_own_machine(void **state)
{
    struct core_fixture *f = *state;

#ifdef __SANITIZE_THREAD__ /* it does not support threads started in a forked child */
    skip();
#endif
    core_fixture_open(f, &one_core);
    struct observed child = observed_start(f->folder, child_opens, f);
    assert_int_equal(observed_receive(&child), 1);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(library.init(1, "", ""), FAILURE);
}

/* Building a machine opens it for a moment, which would also drop the locks. */
static void an_open_machine_cannot_be_rebuilt_or_removed(void **state)
{
    const struct ntk_core_machine_options same = { .new_tree = false };
    struct core_fixture *f = *state;

    core_fixture_open(f, &both_cores);
    assert_int_equal(ntk_core_machine_build(&same, &f->err), -EALREADY);
    assert_int_equal(ntk_core_machine_remove(&f->err), -EALREADY);
    assert_int_equal(error_of_a_stranger(f->folder), EBUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, core_fixture_teardown)
        TEST(a_second_runtime_library_in_one_process_is_rejected),
        TEST(one_library_can_open_the_machine_after_the_other_closed_it),
        TEST(a_forked_child_may_open_its_own_machine),
        TEST(an_open_machine_cannot_be_rebuilt_or_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
