/* SPDX-License-Identifier: MIT */
/* Segments of several users: none can impersonate another one, take its room or hide it. */

#include <dirent.h>
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

#include "runtime-hooks/hooks/hooks.h"
#include "shared/abi/paths.h"
#include "shared/ring/ring_registry.h"
#include "tests/shared/ring/ring_registry_fixture.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Copies the file of a child as if another user had written it, under another name: any process
 * could do that. Returns it open. */
static int forge(const struct fixture *f, const struct observed *child, const char *name,
                 uint32_t uid)
{
    enum { TABLES = 2 << 20, PAGE = 4096 }; /* the rest are holes, like most of the tables */
    static const char hole[PAGE];
    uint64_t pid_and_uid = (uint64_t)uid << 32 | (uint32_t)child->pid;
    char *path = test_scratch_path(f->folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *bytes = malloc(TABLES);
    DIR *dir = opendir(f->folder);
    const struct dirent *entry;
    struct stat status;
    int from = -1;

    while (dir && from < 0 && (entry = readdir(dir))) {
        if (strtol(entry->d_name, NULL, 10) == child->pid) {
            from = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        }
    }
    assert_true(fd >= 0 && from >= 0 && bytes && fstat(from, &status) == 0);
    assert_int_equal(pread(from, bytes, TABLES, 0), TABLES);
    for (off_t at = 0; at < TABLES; at += PAGE) {
        if (memcmp(bytes + at, hole, PAGE) != 0) {
            assert_int_equal(pwrite(fd, bytes + at, PAGE, at), PAGE);
        }
    }
    assert_int_equal(ftruncate(fd, status.st_size), 0);
    assert_int_equal(fchown(fd, uid, (gid_t)-1), 0);
    poke(path, offsetof(struct ntk_segment_process, pid), pid_and_uid);
    close(from);
    free(bytes);
    free(path);
    closedir(dir);
    return fd;
}

/* If a writer claims to be attached to another process, the owner of that process is checked; if
 * that is impossible, only root is trusted. */
static void no_process_can_claim_to_be_attached_to_another_users_process(void **state)
{
    static const struct {
        uint64_t namespace; /* 0: unchanged */
        const char *reason;
    } claims[] = {
        { 0, "(user 65534) describes process" },
        { 1,
          "(user 65534) describes a process in another PID namespace, which cannot be verified" },
    };
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    char *path = test_scratch_path(f->folder, "4242-1");

    (void)observed_receive(&child);
    if (geteuid() != 0) {
        print_message("only root can act as two users\n");
    } else {
        close(forge(f, &child, "4242-1", 65534));
        poke(path, offsetof(struct ntk_segment_process, flags), NTK_PROCESS_ATTACHED);
        for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
            struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
            struct ntk_ring_poll poll;

            if (claims[i].namespace != 0) {
                poke(path, offsetof(struct ntk_segment_process, pid_namespace),
                     claims[i].namespace);
            }
            poll = poll_once(registry);
            assert_int_equal(poll.segments, 1); /* the child's own */
            assert_non_null(strstr(poll.reasons[0].text, claims[i].reason));
            ntk_ring_registry_close(registry);
        }
    }
    free(path);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void no_process_can_report_for_another_users_process(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_poll poll;
    char *path;

    (void)observed_receive(&child);
    if (geteuid() != 0) {
        print_message("only root can act as two users\n");
    } else {
        close(forge(f, &child, "4242-1", 65534));
        path = test_scratch_path(f->folder, "4242-1");
        poll = poll_once(registry);
        assert_int_equal(poll.segments, 1); /* the child's own */
        assert_non_null(strstr(poll.reasons[0].text, "(user 65534) describes process"));
        /* It cannot claim that the process ended, either. */
        poke(path, offsetof(struct ntk_segment_process, ended), 1);
        ntk_ring_registry_close(registry);
        registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
        poll = poll_once(registry);
        assert_int_equal(poll.segments, 1);
        assert_int_equal(poll.ended, 0);
        assert_non_null(strstr(poll.reasons[0].text, "(user 65534) describes process"));
        free(path);
    }
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

#define OTHER_USER 65534
#define SKIPPED 77

/* A process of that user, with its folder wherever it finds one; it lives until the pipe is
 * closed. */
static pid_t start_as_other_user(int pipe_fd[2])
{
    struct ntk_hooks_config config = { .lnc = 1 };
    int ready[2];
    char byte = 0;

    if (pipe(ready) != 0 || pipe(pipe_fd) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[1]);
        unsetenv("NEURON_HOOKS_DIR");
        if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0 ||
            ntk_hooks_attach(&config, NULL, 0) != 0 || write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        (void)!read(pipe_fd[0], &byte, 1);
        _exit(0);
    }
    close(pipe_fd[0]);
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    return byte == 'r' ? pid : -1;
}

/* In a private mount namespace, in which another process took the user's name first. Returns 0 if
 * root sees the process. */
static int look_for_user_behind_a_taken_name(void)
{
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_poll poll;
    int pipe_fd[2];

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", NTK_HOOKS_PARENT, "tmpfs", 0, "mode=1777") != 0) {
        return SKIPPED;
    }
    unsetenv("NEURON_HOOKS_DIR");
    if (mkdir(NTK_HOOKS_PARENT "/neuron-65534", 0755) != 0) {
        return 2;
    }
    pid_t pid = start_as_other_user(pipe_fd);
    if (pid < 0) {
        return 3;
    }
    bool seen = ntk_ring_registry_open(NULL, &registry, NULL) == 0 &&
                ntk_ring_registry_poll(registry, &poll, NULL) == 0 && poll.segments == 1 &&
                strstr(poll.reasons[0].text, "neuron-65534 is not a folder owned by user 65534");
    ntk_ring_registry_close(registry);
    close(pipe_fd[1]);
    (void)waitpid(pid, NULL, 0);
    return seen ? 0 : 4;
}

static void root_finds_a_user_with_a_taken_folder_name(void **state)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(look_for_user_behind_a_taken_name());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void a_user_with_too_many_segments_does_not_displace_others(void **state)
{
    enum { MANY = 560, MOST = 512 };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    struct ntk_ring_poll poll;
    int fds[MANY];

    (void)observed_receive(&child);
    if (geteuid() == 0) {
        for (int i = 0; i < MANY; i++) {
            char name[32];
            char *path;

            (void)snprintf(name, sizeof name, "%d-1", 100000 + i);
            fds[i] = forge(f, &child, name, 65534);
            path = test_scratch_path(f->folder, name);
            poke(path, offsetof(struct ntk_segment_process, pid_namespace), 4242);
            assert_int_equal(fcntl(fds[i], F_OFD_SETLK, &lock), 0);
            free(path);
        }
        poll = poll_once(registry);
        assert_int_equal(poll.segments, MOST + 1);
        assert_int_equal(poll.ignored, MANY - MOST);
        assert_non_null(strstr(poll.reasons[0].text, "too many segments for user 65534"));
        for (int i = 0; i < MANY; i++) {
            close(fds[i]);
        }
    }
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* Method: thousands of another user's files with names like segments; each poll handles a part of
 * them, and opens few. */
static void a_folder_with_many_files_is_scanned_in_steps(void **state)
{
    enum { FILES = 6000 };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry;
    struct observed child;
    uint32_t most = 0;
    unsigned int polls = 0;

    if (geteuid() != 0) {
        print_message("only root can act as two users\n");
        return;
    }
    registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    for (int i = 0; i < FILES; i++) {
        char name[32];
        char *path;

        (void)snprintf(name, sizeof name, "%d-1", 100000 + i);
        write_file(f->folder, name, 600, 0600);
        path = test_scratch_path(f->folder, name);
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        free(path);
    }
    child = observed_start(f->folder, child_marks_on_demand, NULL);
    (void)observed_receive(&child);
    for (; polls < 9; polls++) {
        struct ntk_ring_poll poll = poll_once(registry);

        most = poll.ignored > most ? poll.ignored : most;
        if (poll.segments == 1) {
            break;
        }
    }
    assert_in_range(polls, 0, 8);
    assert_true(most <= 512);
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_process_can_claim_to_be_attached_to_another_users_process),
        TEST(no_process_can_report_for_another_users_process),
        cmocka_unit_test(root_finds_a_user_with_a_taken_folder_name),
        TEST(a_user_with_too_many_segments_does_not_displace_others),
        TEST(a_folder_with_many_files_is_scanned_in_steps),
    };

    test_scratch_in_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
