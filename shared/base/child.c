/* SPDX-License-Identifier: MIT */
#include "shared/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"

#define STOP_MAX 64                       /* maximum children per call */
#define STOP_STEP_NS (10 * NTK_NS_PER_MS) /* pause between two checks */
/* Wait after SIGKILL. A child that is stuck on a dead mount takes longer. */
#define KILL_NS (500 * NTK_NS_PER_MS)

extern char **environ;

int ntk_child_start(const struct ntk_child *child, pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t defaults;
    sigset_t none;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* our programs ignore SIGPIPE */
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    if (child->has_files) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, child->output, STDOUT_FILENO);
    }
    if (child->takes_errors) {
        posix_spawn_file_actions_adddup2(&files, child->output, STDERR_FILENO);
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    flags |= child->has_own_group ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(&attributes, flags);
    int code = posix_spawnp(out_pid, child->program ? child->program : child->argv[0], &files,
                            &attributes, child->argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -code;
}

pid_t ntk_child_fork(int end_signal)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, end_signal);
        if (getppid() != parent) {
            _exit(1); /* the parent exited before the call above */
        }
    }
    return pid;
}

struct leaving {
    const pid_t *pids;
    size_t count;
    bool is_gone[STOP_MAX];
};

/* Returns true if all children have exited. */
static int leaving_look(void *ctx)
{
    struct leaving *leaving = ctx;
    size_t left = 0;

    for (size_t i = 0; i < leaving->count; i++) {
        leaving->is_gone[i] = leaving->is_gone[i] || leaving->pids[i] <= 0 ||
                              waitpid(leaving->pids[i], NULL, WNOHANG) != 0;
        left += !leaving->is_gone[i];
    }
    return left == 0;
}

void ntk_child_stop(const struct ntk_clock *clock, const pid_t *pids, size_t count,
                    uint64_t grace_ns)
{
    struct leaving leaving = { .pids = pids, .count = count < STOP_MAX ? count : STOP_MAX };

    for (size_t i = 0; i < leaving.count; i++) {
        if (pids[i] > 0) {
            (void)kill(pids[i], SIGTERM);
        }
    }
    if (ntk_cond_rounds(clock, grace_ns, STOP_STEP_NS, leaving_look, &leaving)) {
        return;
    }
    for (size_t i = 0; i < leaving.count; i++) {
        if (!leaving.is_gone[i]) {
            (void)kill(pids[i], SIGKILL);
        }
    }
    (void)ntk_cond_rounds(clock, KILL_NS, STOP_STEP_NS, leaving_look, &leaving);
}

void ntk_child_program_next_to(const char *name, char *buf, size_t buf_bytes)
{
    char own[PATH_MAX] = "";
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    const char *slash = bytes > 0 ? strrchr(own, '/') : NULL;

    (void)snprintf(buf, buf_bytes, "%.*s/%s", slash ? (int)(slash - own) : 0, own, name);
    if (!slash || access(buf, X_OK) != 0) {
        (void)snprintf(buf, buf_bytes, "%s", name);
    }
}

int ntk_child_tied_start(char *const *argv, struct ntk_child_tied *out_child, struct ntk_err *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int ends[2];
    sigset_t none;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a pipe: %s",
                           strerror(errno));
    }
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    /* Signals are blocked in the parent's threads, but must not be in the child. Ctrl-C is handled
     * by the parent, which stops the child. */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (code != 0) {
        close(ends[1]);
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot start '%s' again: %s", argv[0],
                           strerror(code));
    }
    *out_child = (struct ntk_child_tied){ pid, ends[1] };
    return 0;
}

void ntk_child_tied_stop(struct ntk_child_tied *child)
{
    if (child->pid > 0) {
        close(child->lifeline); /* the child exits at the end of its standard input */
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        child->pid = 0;
    }
}
