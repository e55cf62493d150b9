/* SPDX-License-Identifier: MIT */
/*
 * The folder of segments: missing, named by the user, taken by another user, relative. Method: a
 * forked child attaches in its own folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "shared/abi/paths.h"
#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int child_has_no_folder(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char note[256];

    (void)child;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) < 0);
    CHECK(strncmp(note, "cannot create '/proc/none'", 26) == 0);
    CHECK(ntk_hooks_segment_path() == NULL);
    ntk_hooks_core_claim(0, 0, 1);
    observed_execute(observed_load(10001, 0), 0, 0, 1);
    CHECK(ntk_hooks_memory_alloc(&(struct ntk_hooks_memory){ .bytes = 1 }) == 0);
    ntk_hooks_detach();
    return 0;
}

static void a_program_without_a_folder_goes_on_unobserved(void **state)
{
    char nowhere[] = "/proc/none";
    struct observed child = observed_start(NULL, child_has_no_folder, nowhere);

    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_gets_no_note(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char note[256];

    (void)child;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(note[0] == '\0');
    ntk_hooks_detach();
    return 0;
}

/* Such as the toolkit itself would choose next to a folder that another process took. */
static void a_folder_that_the_user_names_is_used_by_no_other(void **state)
{
    char folder[NTK_PATH_BYTES];

    (void)snprintf(folder, sizeof folder, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u.test-%d",
                   (unsigned)geteuid(), (int)getpid());
    struct observed child = observed_start(NULL, child_gets_no_note, folder);
    int result = observed_finish(&child, 0);
    (void)rmdir(folder);
    assert_int_equal(result, 0);
}

#define SKIPPED 77

/* In its own mount namespace, where another user made the folder of this one first. */
static int child_has_a_taken_folder(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    char usual[NTK_PATH_BYTES];
    char expected[NTK_PATH_BYTES];
    char note[256];

    (void)child;
    (void)ctx;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", NTK_HOOKS_PARENT, "tmpfs", 0, "mode=1777") != 0) {
        return SKIPPED;
    }
    unsetenv("NEURON_HOOKS_DIR");
    (void)snprintf(usual, sizeof usual, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u",
                   (unsigned)geteuid());
    CHECK(mkdir(usual, 0755) == 0 && chown(usual, 65534, 65534) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    (void)snprintf(expected, sizeof expected, "%s belongs to another user; using %s.", usual,
                   usual);
    CHECK(strncmp(note, expected, strlen(expected)) == 0);
    CHECK(strncmp(ntk_hooks_segment_path(), note + strlen(expected) - strlen(usual) - 1,
                  strlen(usual) + 1) == 0);
    ntk_hooks_detach();
    return 0;
}

static void a_folder_of_another_user_is_named_with_the_one_used_instead(void **state)
{
    struct observed child = observed_start(NULL, child_has_a_taken_folder, NULL);
    int result = observed_finish(&child, 0);

    if (result == SKIPPED) {
        skip();
    }
    assert_int_equal(result, 0);
}

static int child_goes_elsewhere(struct observed *child, void *ctx)
{
    (void)child;
    CHECK(chdir(ctx) == 0 && mkdir("here", 0700) == 0);
    setenv("NEURON_HOOKS_DIR", "here", 1);
    observed_attach(0);
    CHECK(chdir("/") == 0);
    ntk_hooks_detach();
    return 0;
}

static void a_program_that_changes_its_folder_leaves_no_file(void **state)
{
    struct hooks_fixture *f = *state;
    char *here = test_scratch_path(f->folder, "here");
    struct observed child = observed_start(NULL, child_goes_elsewhere, f->folder);

    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(here), 0);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(a_program_without_a_folder_goes_on_unobserved),
        HOOKS_TEST(a_folder_that_the_user_names_is_used_by_no_other),
        HOOKS_TEST(a_folder_of_another_user_is_named_with_the_one_used_instead),
        HOOKS_TEST(a_program_that_changes_its_folder_leaves_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
