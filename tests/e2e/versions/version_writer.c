/* SPDX-License-Identifier: MIT */
/*
 * version_writer - an application that executes until SIGTERM, and counts independently of agents:
 * version_writer FILE keeps two numbers of 64 bits in FILE, executions started and done.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/observed_mlp.h"

static volatile sig_atomic_t is_over;

static void end(int signal_number)
{
    (void)signal_number;
    is_over = 1;
}

int main(int argc, char **argv)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    struct ntk_hooks_model_ref ref;

    if (fd < 0 || ftruncate(fd, 2 * sizeof(uint64_t)) != 0) {
        (void)fprintf(stderr, "usage: version_writer FILE\n");
        return 2;
    }
    _Atomic uint64_t *counts =
        mmap(NULL, 2 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED || signal(SIGTERM, end) == SIG_ERR || observed_mlp_begin(&ref) < 0) {
        return 1;
    }
    for (uint64_t i = 1; !is_over; i++) {
        atomic_fetch_add(&counts[0], 1);
        observed_mlp_execute(ref, i, 0);
        atomic_fetch_add(&counts[1], 1);
        (void)nanosleep(&pause, NULL);
    }
    ntk_hooks_detach();
    return 0;
}
