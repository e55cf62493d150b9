/* SPDX-License-Identifier: MIT */
/* attach_child - the command as a child of the agent: a program of its own, which nothing in the
 * agent waits for. */
#include "runtime-hooks/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime-hooks/attach/attach_options.h"

extern char **environ;

int ntk_attach_child_start(struct ntk_attach_child *out_child, struct ntk_err *err)
{
    char *const argv[] = { (char *)"neuron-monitor", (char *)"attach", (char *)"--all",
                           (char *)"--" NTK_ATTACH_CHILD_OPTION, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int ends[2];
    sigset_t none;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot make a pipe: %s",
                           strerror(errno));
    }
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    /* Signals are blocked in the agent's threads; ctrl-c is the agent's, which ends the child. */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (code != 0) {
        close(ends[1]);
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot start the attacher: %s",
                           strerror(code));
    }
    *out_child = (struct ntk_attach_child){ pid, ends[1] };
    return 0;
}

void ntk_attach_child_stop(struct ntk_attach_child *child)
{
    if (child->pid > 0) {
        close(child->lifeline); /* the end of its standard input ends it */
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        child->pid = 0;
    }
}
