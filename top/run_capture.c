/* SPDX-License-Identifier: MIT */
/*
 * run_capture - P: the terminal goes to neuron-profile, which records an application for ten
 * seconds and shows the profile; then the screen is back.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "top/run.h"

extern char **environ;

#define SAY(run, ...) (void)snprintf((run)->message, sizeof(run)->message, __VA_ARGS__)

/* Beside this program, else where the shell would find it. */
static void program_find(char *buf, size_t buf_bytes)
{
    char path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *slash;

    path[bytes > 0 ? bytes : 0] = '\0';
    slash = strrchr(path, '/');
    (void)snprintf(buf, buf_bytes, "%.*s/neuron-profile", slash ? (int)(slash - path) : 0, path);
    if (access(buf, X_OK) != 0) {
        (void)snprintf(buf, buf_bytes, "neuron-profile");
    }
}

/* The end of a descriptor, a key or a signal: false when the signal ends this program too. Ctrl-c
 * and what the terminal sends with it are for the child alone. */
static bool wait_for(const struct ntk_top_run *run, int fd, pid_t child)
{
    for (;;) {
        struct pollfd fds[] = { { run->signal_fd, POLLIN, 0 }, { fd, POLLIN, 0 } };
        struct signalfd_siginfo info;

        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return true;
        }
        while (read(run->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP) {
                if (child > 0) {
                    (void)kill(child, SIGTERM);
                }
                return false;
            }
            if (child == 0 && info.ssi_signo != SIGWINCH) {
                return true; /* ctrl-c at the question: none */
            }
        }
        if (fds[1].revents) {
            return true;
        }
    }
}

/* The exit code of a program on the terminal; -1 when it could not run or this program shall
 * end. */
static int program_run(const struct ntk_top_run *run, char *const *argv, bool *out_ends)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigset_t none;
    pid_t pid = 0;
    int status = 0;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* main() ignores it */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        printf("cannot run %s: %s\n", argv[0], strerror(error));
        return -1;
    }
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    *out_ends = fd >= 0 && !wait_for(run, fd, pid);
    if (fd >= 0) {
        close(fd);
    }
    pid_t ended;

    while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the person types, a line; 0 for nothing. */
static char ask(const struct ntk_top_run *run, const char *question, bool *out_ends)
{
    char line[256] = "";

    printf("%s", question);
    (void)fflush(stdout);
    *out_ends = !wait_for(run, run->key_fd, 0);
    if (*out_ends) {
        return 0;
    }
    struct pollfd keys = { run->key_fd, POLLIN, 0 };

    if (poll(&keys, 1, 0) > 0 && read(run->key_fd, line, sizeof line - 1) <= 0) {
        *out_ends = true; /* the terminal is gone */
    }
    return line[0];
}

/* True: go on. */
static bool record(struct ntk_top_run *run, uint32_t pid, const char *tag)
{
    char program[PATH_MAX];
    char number[16];
    char folder[PATH_MAX];
    bool ends = false;
    int code;

    (void)snprintf(folder, sizeof folder, "%s/neuron-top-XXXXXX", ntk_fs_temporary_folder());
    if (!mkdtemp(folder)) {
        SAY(run, "cannot make a folder for the profile in %s: %s", ntk_fs_temporary_folder(),
            strerror(errno));
        return true;
    }
    program_find(program, sizeof program);
    (void)snprintf(number, sizeof number, "%u", pid);
    char *const inspect[] = { program, "inspect", "--pid", number, "--duration",
                              "10s",   "-o",      folder,  NULL };
    char *const text[] = { program, "view", "-d", folder, "--output-format", "summary-text", NULL };
    char *const page[] = { program, "view", "-d", folder, "--output-format", "page", NULL };

    ntk_screen_suspend(run->screen);
    printf("Ten seconds of %s (%u); ctrl-c ends it earlier.\n", tag, pid);
    (void)fflush(stdout);
    code = program_run(run, inspect, &ends);
    code = code == 0 && !ends ? program_run(run, text, &ends) : code;
    if (code == 0) {
        SAY(run, "the profile of %s is in %s", tag, folder);
    } else if (rmdir(folder) == 0) { /* with nothing in it */
        SAY(run, "no profile of %s", tag);
    } else {
        SAY(run, "no profile of %s; what was recorded is in %s", tag, folder);
    }
    if (ends && access(folder, F_OK) == 0) {
        printf("neuron-top: what was recorded of %s is in %s\n", tag, folder);
    }
    if (!ends &&
        ask(run,
            code == 0 ? "\nenter: back to neuron-top; p and enter: the page in a browser "
                      : "\nenter: back to neuron-top ",
            &ends) == 'p' &&
        code == 0) {
        (void)program_run(run, page, &ends);
    }
    ntk_screen_resume(run->screen);
    return !ends;
}

bool ntk_top_run_capture(struct ntk_top_run *run)
{
    const struct ntk_runtime_sample *runtime = ntk_top_run_choose(run, "recorded");
    char tag[64];

    if (!runtime) {
        return true;
    }
    ntk_str_copy_clean(tag, sizeof tag, runtime->tag, strlen(runtime->tag));
    bool goes_on = record(run, runtime->pid, tag);
    run->next_ns = 0; /* what is on the screen is old */
    return goes_on;
}
