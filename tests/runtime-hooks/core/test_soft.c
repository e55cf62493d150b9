/* SPDX-License-Identifier: MIT */
/*
 * soft.state and soft.lock in unusual hands: another version, a process that does not release them,
 * another user, and a nearly full file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime-hooks/core/core_soft.h"
#include "tests/support/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SKIPPED 77
#define OTHER_USER 4321

static char *folder;

static int setup(void **state)
{
    test_scratch_in_memory();
    folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", folder, 1);
    return 0;
}

static int teardown(void **state)
{
    test_scratch_destroy(folder);
    return 0;
}

static int machine_open(struct ntk_core_soft **out_soft)
{
    static const struct ntk_core_soft_options options = { .instance = "trn1.2xlarge",
                                                          .as_process = true };

    return ntk_core_soft_open(&options, out_soft, NULL);
}

/* Counts in the state that it mapped, once at the start and once on request. */
static int job(struct observed *parent, void *ctx)
{
    struct ntk_core_soft *soft = NULL;
    int ret = machine_open(&soft);

    (void)ctx;
    observed_send(parent, (uint64_t)-ret);
    (void)observed_receive(parent);
    ntk_abi_add_shared(&soft->state->core[1].inference_count.total, 1);
    ntk_core_soft_memory_add(soft, 0, 0, 4096);
    ntk_core_soft_memory_remove(soft, 0, 0, 4096);
    ntk_core_soft_close(soft);
    return 0;
}

static void state_spoil(void)
{
    char *path = test_scratch_path(folder, NTK_SOFT_STATE_NAME);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint32_t version = 99;

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &version, sizeof version, 8), sizeof version);
    close(fd);
    free(path);
}

static void machine_state_of_another_version_is_kept_while_in_use(void **state)
{
    struct observed other = observed_start(folder, job, NULL);
    struct ntk_core_soft *soft = NULL;

    assert_int_equal(observed_receive(&other), 0);
    state_spoil();
    assert_int_equal(machine_open(&soft), -EBUSY);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
    /* Now it is unused. */
    assert_int_equal(machine_open(&soft), 0);
    assert_true(soft->is_new);
    ntk_core_soft_close(soft);
}

/* Its locks are gone, as in a program that closes all descriptors it does not know. */
static int job_without_locks(struct observed *parent, void *ctx)
{
    struct ntk_core_soft *soft = NULL;
    int ret = machine_open(&soft);

    (void)ctx;
    close(soft->lock_fd);
    observed_send(parent, (uint64_t)-ret);
    (void)observed_receive(parent);
    for (size_t i = 0; i < sizeof soft->process->bytes / sizeof soft->process->bytes[0]; i++) {
        soft->process->bytes[i][0]++;
    }
    ntk_abi_add_shared(&soft->state->core[1].inference_count.total, 1);
    return 0;
}

static void a_job_without_locks_does_not_write_to_a_rebuilt_machine(void **state)
{
    struct observed other = observed_start(folder, job_without_locks, NULL);
    struct ntk_core_soft *soft = NULL;

    assert_int_equal(observed_receive(&other), 0);
    const struct ntk_core_soft_options larger = { .instance = "trn1.32xlarge", .as_process = true };
    assert_int_equal(ntk_core_soft_open(&larger, &soft, NULL), 0);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
    assert_int_equal(soft->state->core[1].inference_count.total, 0);
    ntk_core_soft_close(soft);
}

static int holder_of_setup(struct observed *parent, void *ctx)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = NTK_SOFT_LOCK_SETUP, .l_len = 1
    };
    int fd = open(ctx, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    observed_send(parent, fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
    (void)observed_receive(parent);
    return 0;
}

static void opening_waits_for_a_hanging_setup_until_the_limit(void **state)
{
    char *path = test_scratch_path(folder, NTK_SOFT_LOCK_NAME);
    struct observed other = observed_start(folder, holder_of_setup, path);
    struct ntk_core_soft *soft = NULL;
    struct ntk_err err = { 0 };
    struct test_clock clock;
    char pid[32];

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_int_equal(observed_receive(&other), 1);
    const struct ntk_core_soft_options any = { .as_process = true, .clock = &clock.clock };
    assert_int_equal(ntk_core_soft_open(&any, &soft, &err), -EBUSY);
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_CORE_SOFT_WAIT_NS);
    (void)snprintf(pid, sizeof pid, "process %d ", (int)other.pid);
    assert_non_null(strstr(err.text, pid));
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
    test_clock_fini(&clock);
    free(path);
}

/* In a child with a private mount namespace: opens a machine in a small file system of every
 * size. */
static int fill_up(const char *place)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return SKIPPED;
    }
    for (unsigned kib = 4; kib <= 1536; kib += 36) {
        struct ntk_core_soft *soft = NULL;
        char size[64];

        (void)snprintf(size, sizeof size, "size=%uk", kib);
        if (mount("tmpfs", place, "tmpfs", 0, size) != 0) {
            return SKIPPED;
        }
        for (int round = 0; round < 2; round++) {
            int ret = machine_open(&soft);

            if (ret == 0) {
                ntk_core_soft_memory_add(soft, 1, 0, 4096);
                ntk_core_soft_memory_remove(soft, 1, 0, 4096);
                ntk_core_soft_close(soft);
            } else if (ret != -ENOSPC && ret != -ENOMEM) {
                return 2;
            }
            if (kib > 512 && ret != 0) {
                return 3; /* there is room for one process */
            }
        }
        (void)umount2(place, MNT_DETACH);
    }
    return 0;
}

static void a_nearly_full_file_system_is_an_error_without_a_signal(void **state)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(fill_up(folder));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static int as_other_user(void)
{
    struct ntk_core_soft *soft = NULL;
    char expected[600];

    if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) != 0) {
        return SKIPPED;
    }
    (void)snprintf(expected, sizeof expected, "%s/neuron-%d", folder, OTHER_USER);
    if (machine_open(&soft) != 0 || strcmp(soft->folder, expected) != 0 || !soft->is_aside) {
        return 2;
    }
    ntk_core_soft_close(soft);
    /* The next process finds the folder there, and also uses the side folder. */
    if (machine_open(&soft) != 0 || strcmp(soft->folder, expected) != 0 || !soft->is_aside) {
        return 3;
    }
    ntk_core_soft_close(soft);
    return 0;
}

static void a_private_subfolder_is_created_for_a_second_user_of_a_folder(void **state)
{
    struct ntk_core_soft *soft = NULL;
    int status = 0;

    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(machine_open(&soft), 0);
    assert_false(soft->is_aside);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(as_other_user());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ntk_core_soft_close(soft);
}

/* Method: the name of a user that does not exist, made by root. */
static void folder_names_taken_by_another_user_are_not_used(void **state)
{
    char *prefix = test_scratch_path(folder, "neuron-");
    char path[600];
    char chosen[600];
    char expected[600];

    if (geteuid() != 0) {
        skip();
    }
    assert_true(ntk_paths_own_folder(prefix, OTHER_USER, chosen, sizeof chosen) > 0);
    (void)snprintf(expected, sizeof expected, "%s%d", prefix, OTHER_USER);
    assert_string_equal(chosen, expected);

    assert_int_equal(mkdir(expected, 0755), 0); /* owned by root */
    (void)snprintf(path, sizeof path, "%s%d.1", prefix, OTHER_USER);
    assert_int_equal(symlink(folder, path), 0);
    (void)snprintf(path, sizeof path, "%s%d.2", prefix, OTHER_USER);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    assert_int_equal(chmod(path, 0777), 0); /* owned by the user, but writable by all */
    (void)snprintf(path, sizeof path, "%s%d.3", prefix, OTHER_USER);
    assert_true(ntk_paths_own_folder(prefix, OTHER_USER, chosen, sizeof chosen) > 0);
    assert_string_equal(chosen, path);

    /* Once the user has a folder, it stays the user's even when the usual name is free again. */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
    assert_int_equal(rmdir(expected), 0);
    assert_true(ntk_paths_own_folder(prefix, OTHER_USER, chosen, sizeof chosen) > 0);
    assert_string_equal(chosen, path);
    free(prefix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(machine_state_of_another_version_is_kept_while_in_use),
        TEST(a_job_without_locks_does_not_write_to_a_rebuilt_machine),
        TEST(opening_waits_for_a_hanging_setup_until_the_limit),
        TEST(a_nearly_full_file_system_is_an_error_without_a_signal),
        TEST(a_private_subfolder_is_created_for_a_second_user_of_a_folder),
        TEST(folder_names_taken_by_another_user_are_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
