/* SPDX-License-Identifier: MIT */
/*
 * The folder of segments: missing, set by the user, owned by another user, relative. Method: a
 * forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <fcntl.h>
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

static void a_program_without_a_usable_folder_runs_unobserved(void **state)
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

/* A name that the toolkit would choose itself if another process owned the usual folder. */
static void a_folder_set_by_the_user_is_used_without_a_warning(void **state)
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

/* In a private mount namespace in which another user created this user's folder first. */
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

static void a_folder_owned_by_another_user_is_reported_with_its_replacement(void **state)
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

static void a_program_that_changes_its_working_folder_leaves_no_file(void **state)
{
    struct hooks_fixture *f = *state;
    char *here = test_scratch_path(f->folder, "here");
    struct observed child = observed_start(NULL, child_goes_elsewhere, f->folder);

    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(here), 0);
    free(here);
}

/* The mark of a reader, in a mount namespace in which the service runs as user SERVICE. */
struct mark_case {
    bool is_shared; /* in the folder of all users, otherwise in the user's own */
    uid_t service;  /* owner of the folder in /run; 0: no folder */
    uid_t owner;    /* of the mark */
    bool is_believed;
};

enum { SERVICE = 64901, STRANGER = 64902 };

static int child_ends_next_to_a_mark(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    const struct mark_case *row = ctx;
    char path[NTK_PATH_BYTES];
    char place[NTK_PATH_BYTES] = NTK_HOOKS_SHARED_DIR;
    char note[256];
    int fd;

    (void)child;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", NTK_HOOKS_PARENT, "tmpfs", 0, "mode=1777") != 0 ||
        mount("tmpfs", "/run", "tmpfs", 0, "mode=755") != 0) {
        return SKIPPED;
    }
    unsetenv("NEURON_HOOKS_DIR");
    if (row->service != 0) {
        CHECK(mkdir(NTK_SERVICE_FOLDER, 0755) == 0);
        CHECK(chown(NTK_SERVICE_FOLDER, row->service, row->service) == 0);
    }
    if (!row->is_shared) {
        CHECK(ntk_paths_user_hooks_dir(geteuid(), place, sizeof place) > 0);
    }
    CHECK(mkdir(place, 0700) == 0);
    CHECK(chmod(place, row->is_shared ? 01777 : 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/%s", place, NTK_READER_MARK_NAME);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, "1", 1) == 1 && fchown(fd, row->owner, row->owner) == 0);
    close(fd);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(strncmp(ntk_hooks_segment_path(), place, strlen(place)) == 0);
    (void)snprintf(path, sizeof path, "%s", ntk_hooks_segment_path());
    ntk_hooks_detach();
    CHECK((access(path, F_OK) == 0) == row->is_believed);
    return 0;
}

static void a_segment_is_kept_only_for_readers_that_can_remove_it(void **state)
{
    static const struct mark_case rows[] = {
        { true, SERVICE, SERVICE, true },   { true, SERVICE, 0, true },
        { true, SERVICE, STRANGER, false }, { true, 0, SERVICE, false },
        { false, 0, STRANGER, true }, /* no other user can create a file there */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mark_case row = rows[i];
        struct observed child = observed_start(NULL, child_ends_next_to_a_mark, &row);
        int result = observed_finish(&child, 0);

        if (result == SKIPPED) {
            skip();
        }
        assert_int_equal(result, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(a_program_without_a_usable_folder_runs_unobserved),
        HOOKS_TEST(a_folder_set_by_the_user_is_used_without_a_warning),
        HOOKS_TEST(a_folder_owned_by_another_user_is_reported_with_its_replacement),
        HOOKS_TEST(a_program_that_changes_its_working_folder_leaves_no_file),
        HOOKS_TEST(a_segment_is_kept_only_for_readers_that_can_remove_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
