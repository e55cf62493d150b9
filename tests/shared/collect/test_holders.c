/* SPDX-License-Identifier: MIT */
/* Method: a hand-made /proc with open device nodes, and a lock file with locks that a child process
 * holds. */
#include "shared/collect/holders.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/device/node_holder.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

static const struct ntk_device_tree tree = { .device_count = 2, .cores_per_device = 2 };

static void process_make(const char *proc, unsigned int pid, unsigned int uid, const char *file)
{
    char path[512];
    FILE *status;

    (void)snprintf(path, sizeof path, "%s/%u", proc, pid);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%u/fd", proc, pid);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%u/fd/3", proc, pid);
    assert_int_equal(symlink(file, path), 0);
    (void)snprintf(path, sizeof path, "%s/%u/status", proc, pid);
    status = fopen(path, "w");
    assert_non_null(status);
    (void)fprintf(status, "Name:\tjob\nUid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
    assert_int_equal(fclose(status), 0);
}

static void a_process_holds_the_cores_of_its_open_devices(void **state)
{
    const char *proc = test_scratch_folder;
    struct ntk_holders holders;

    process_make(proc, 10, 1000, "/dev/neuron1");
    process_make(proc, 11, 1000, "/dev/null");
    ntk_holders_init(&holders, proc, NULL);
    assert_true(ntk_holders_has(&holders, &tree, false, 10, 1000, 2, SECOND));
    assert_true(ntk_holders_has(&holders, &tree, false, 10, 1000, 3, SECOND));
    assert_false(ntk_holders_has(&holders, &tree, false, 10, 1000, 1, SECOND));
    assert_false(ntk_holders_has(&holders, &tree, false, 10, 1000, 4, SECOND));
    assert_false(ntk_holders_has(&holders, &tree, false, 11, 1000, 2, SECOND));
    assert_false(ntk_holders_has(&holders, &tree, false, 12, 1000, 2, SECOND));
    /* A segment of root: of a process that has dropped its privileges since, or written by
     * neuron-monitor attach. */
    assert_true(ntk_holders_has(&holders, &tree, false, 10, 0, 2, SECOND));
    /* A segment of another user that names this process. */
    assert_false(ntk_holders_has(&holders, &tree, false, 10, 1001, 2, SECOND));
    ntk_holders_fini(&holders);
}

/* Method: the simulated kernel lists only the number of /dev/null, as device 1. One process has an
 * open file with the name of a node, as a user with a private /dev could. */
static void a_device_node_is_identified_by_its_device_number(void **state)
{
    static struct ntk_device_tree numbered = { .device_count = 2, .cores_per_device = 2 };
    const char *proc = test_scratch_folder;
    int dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ntk_holders holders;
    char path[512];

    (void)state;
    (void)snprintf(numbered.root, sizeof numbered.root, "%s/sys", proc);
    assert_int_equal(mkdir(numbered.root, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/dev", numbered.root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/dev/char", numbered.root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/dev/char/1:3", numbered.root);
    assert_int_equal(symlink("../../devices/virtual/neuron_device/neuron1", path), 0);
    process_make(proc, 30, 1000, "/dev/neuron0");
    ntk_holders_init(&holders, proc, NULL);
    assert_false(ntk_holders_has(&holders, &numbered, false, 30, 1000, 0, SECOND));
    ntk_holders_fini(&holders);
    assert_int_equal(ntk_device_node_of(numbered.root, dev, "null", "/dev/neuron0"), 1);
    assert_int_equal(ntk_device_node_of(numbered.root, dev, "zero", "/dev/neuron0"),
                     NTK_DEVICES_MAX);
    assert_int_equal(ntk_device_node_of(numbered.root, dev, "null", "/dev/null"), NTK_DEVICES_MAX);
    close(dev);
}

static void a_device_opened_later_is_detected(void **state)
{
    const char *proc = test_scratch_folder;
    struct ntk_holders holders;
    char path[512];

    process_make(proc, 20, 1000, "/dev/null");
    ntk_holders_init(&holders, proc, NULL);
    assert_false(ntk_holders_has(&holders, &tree, false, 20, 1000, 0, SECOND));
    (void)snprintf(path, sizeof path, "%s/20/fd/4", proc);
    assert_int_equal(symlink("/dev/neuron0", path), 0);
    assert_true(ntk_holders_has(&holders, &tree, false, 20, 1000, 0, 2 * SECOND));
    ntk_holders_fini(&holders);
}

static void a_core_of_the_software_machine_belongs_to_the_process_that_locked_it(void **state)
{
    const char *folder = test_scratch_folder;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 2 };
    struct ntk_holders holders;
    char path[512];
    int ready[2];
    char word;

    (void)snprintf(path, sizeof path, "%s/" NTK_SOFT_LOCK_NAME, folder);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        bool is_locked = fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0 && write(ready[1], "", 1) == 1;

        while (is_locked) {
            pause();
        }
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    ntk_holders_init(&holders, "/proc", folder);
    /* The owner of the lock file owns the machine. */
    assert_true(ntk_holders_has(&holders, &tree, true, (uint32_t)child, getuid(), 3, SECOND));
    ntk_holders_fini(&holders);
    if (chown(path, getuid() + 1, (gid_t)-1) == 0) { /* requires root */
        ntk_holders_init(&holders, "/proc", folder);
        for (uint32_t core = 0; core < 4; core++) {
            assert_int_equal(
                ntk_holders_has(&holders, &tree, true, (uint32_t)child, getuid(), core, SECOND),
                core == 1 || core == 2);
            assert_false(
                ntk_holders_has(&holders, &tree, true, (uint32_t)getpid(), getuid(), core, SECOND));
        }
        assert_false(
            ntk_holders_has(&holders, &tree, true, (uint32_t)child, getuid() + 2, 1, SECOND));
    }
    ntk_holders_fini(&holders);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_holds_the_cores_of_its_open_devices),
        cmocka_unit_test(a_device_node_is_identified_by_its_device_number),
        cmocka_unit_test(a_device_opened_later_is_detected),
        cmocka_unit_test(a_core_of_the_software_machine_belongs_to_the_process_that_locked_it),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
