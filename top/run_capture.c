/* SPDX-License-Identifier: MIT */
/*
 * run_capture - implements the key P: passes the terminal to neuron-profile, which records an
 * application for ten seconds and shows the profile; then the screen returns.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/child.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "top/run.h"

#define SAY(run, ...) (void)snprintf((run)->message, sizeof(run)->message, __VA_ARGS__)

/* Waits for the end of a descriptor, a key or a signal; returns false if the signal also ends this
 * program. Ctrl-c and other signals of the terminal only reach the child. */
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
                return true; /* ctrl-c at the prompt: no child */
            }
        }
        if (fds[1].revents) {
            return true;
        }
    }
}

/* Returns the exit code of a program on the terminal; -1 if it could not run or this program must
 * end. */
static int program_run(const struct ntk_top_run *run, char *const *argv, bool *out_ends)
{
    pid_t pid = 0;
    int status = 0;
    int ret = ntk_child_start(&(struct ntk_child){ .argv = argv }, &pid);

    if (ret < 0) {
        printf("cannot run '%s': %s\n", argv[0], strerror(-ret));
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

/* Returns the key in the line that the user types; 0 for nothing. */
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

/* Records; returns true to continue. */
static bool record(struct ntk_top_run *run, uint32_t pid, const char *name)
{
    char program[PATH_MAX];
    char number[16];
    char folder[PATH_MAX];
    bool ends = false;
    int code;

    (void)snprintf(folder, sizeof folder, "%s/neuron-top-XXXXXX", ntk_fs_temporary_folder());
    if (!mkdtemp(folder)) {
        SAY(run, "cannot create a folder for the profile in '%s': %s", ntk_fs_temporary_folder(),
            strerror(errno));
        return true;
    }
    ntk_child_program_next_to("neuron-profile", program, sizeof program);
    (void)snprintf(number, sizeof number, "%u", pid);
    char *const inspect[] = { program, "inspect", "--pid", number, "--duration",
                              "10s",   "-o",      folder,  NULL };
    char *const text[] = { program, "view", "-d", folder, "--output-format", "summary-text", NULL };
    char *const page[] = { program, "view", "-d", folder, "--output-format", "page", NULL };

    ntk_screen_suspend(run->screen);
    printf("Recording ten seconds of %s (%u); press ctrl-c to stop early.\n", name, pid);
    (void)fflush(stdout);
    code = program_run(run, inspect, &ends);
    code = code == 0 && !ends ? program_run(run, text, &ends) : code;
    if (code == 0) {
        SAY(run, "the profile of %s is in %s", name, folder);
    } else if (rmdir(folder) == 0) { /* the folder was empty */
        SAY(run, "no profile was written for %s", name);
    } else {
        SAY(run, "no profile was written for %s; the recorded files are in %s", name, folder);
    }
    if (ends && access(folder, F_OK) == 0) {
        printf("neuron-top: the recorded files of %s are in %s\n", name, folder);
    }
    if (!ends &&
        ask(run,
            code == 0 ? "\n"
                        "enter: back to neuron-top; p and enter: open the page in a browser "
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
    char name[NTK_TOP_RUN_NAME_BYTES];

    if (!runtime) {
        return true;
    }
    ntk_top_run_name_of(runtime, name);
    bool continues = record(run, runtime->pid, name);
    run->next_ns = 0; /* the screen is out of date */
    return continues;
}
