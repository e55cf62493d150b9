/* SPDX-License-Identifier: MIT */
/*
 * observed - a forked child in the role of the observed process, in step with its test through two
 * pipes.
 *
 * The child gets $NEURON_HOOKS_DIR = folder and runs fn; it never returns into the test program.
 */
#ifndef NTK_TESTS_SUPPORT_OBSERVED_H
#define NTK_TESTS_SUPPORT_OBSERVED_H

#include <stdint.h>
#include <sys/types.h>

struct observed {
    pid_t pid;
    int in;  /* read end of this side */
    int out; /* write end of this side */
};

/* fn's return value is the exit code of the child. */
struct observed observed_start(const char *folder, int (*fn)(struct observed *child, void *ctx),
                               void *ctx);
/* Both sides: send a value, and receive one (aborts after a minute, or if the other side is
 * gone). */
void observed_send(struct observed *side, uint64_t value);
uint64_t observed_receive(struct observed *side);
/* Parent: sends the signal (0: none) and waits for the exit; returns the exit code, or 128 +
 * signal. */
int observed_finish(struct observed *child, int signal_number);

#endif
