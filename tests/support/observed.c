/* SPDX-License-Identifier: MIT */
#include "tests/support/observed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/process.h"

static void give_up(const char *what)
{
    (void)fprintf(stderr, "observed: %s\n", what);
    abort();
}

struct observed observed_start(const char *folder, int (*fn)(struct observed *child, void *ctx),
                               void *ctx)
{
    struct observed parent;
    int down[2];
    int up[2];

    if (pipe(down) != 0 || pipe(up) != 0) {
        give_up("no pipe");
    }
    parent.pid = fork();
    if (parent.pid < 0) {
        give_up("no fork");
    }
    if (parent.pid == 0) {
        struct observed child = { 0, down[0], up[1] };

        close(down[1]);
        close(up[0]);
        if (folder != NULL) {
            setenv("NEURON_HOOKS_DIR", folder, 1);
        }
        _exit(fn(&child, ctx));
    }
    close(down[0]);
    close(up[1]);
    parent.in = up[0];
    parent.out = down[1];
    return parent;
}

void observed_send(struct observed *side, uint64_t value)
{
    ssize_t bytes;

    do {
        bytes = write(side->out, &value, sizeof value);
    } while (bytes < 0 && errno == EINTR);
    if (bytes != (ssize_t)sizeof value) {
        give_up("cannot send");
    }
}

uint64_t observed_receive(struct observed *side)
{
    struct pollfd descriptor = { side->in, POLLIN, 0 };
    uint64_t value = 0;
    int ready;

    do {
        ready = poll(&descriptor, 1, (int)(test_patience_ns() / NTK_NS_PER_MS));
    } while (ready < 0 && errno == EINTR);
    if (ready != 1 || read(side->in, &value, sizeof value) != (ssize_t)sizeof value) {
        give_up("nothing to receive");
    }
    return value;
}

int observed_finish(struct observed *child, int signal_number)
{
    int status = 0;

    if (signal_number != 0) {
        (void)kill(child->pid, signal_number);
    }
    while (waitpid(child->pid, &status, 0) < 0) {
        if (errno != EINTR) {
            give_up("no child to wait for");
        }
    }
    close(child->in);
    close(child->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
