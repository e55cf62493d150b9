/* SPDX-License-Identifier: MIT */
/*
 * child - starts other programs with default signal handling, whatever this program blocks or
 * ignores.
 *
 * Owner:   the caller waits for the children that it started.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_CHILD_H
#define NTK_SHARED_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_child {
    const char *program; /* without a slash, searched in PATH like in a shell; NULL: argv[0] */
    char *const *argv;
    /* Standard input is /dev/null and standard output is this descriptor; otherwise both are
     * inherited. */
    bool has_files;
    bool takes_errors; /* standard error is also written to that descriptor */
    /* a separate process group, so that the child can be killed with all processes that it
     * starts */
    bool has_own_group;
    int output;
};

/* Returns 0 or -errno. */
int ntk_child_start(const struct ntk_child *child, pid_t *out_pid);

/* As fork(), but the kernel sends end_signal to the child when the calling thread exits for any
 * reason. */
pid_t ntk_child_fork(int end_signal);

struct ntk_clock;
/* Sends SIGTERM to each (0: none) and, after grace_ns, SIGKILL to those that remain; waits for
 * them to exit, except a process stuck in the kernel (uninterruptible sleep). clock NULL: the
 * system's. */
void ntk_child_stop(const struct ntk_clock *clock, const pid_t *pids, size_t count,
                    uint64_t grace_ns);

/* This program started again for a separate task. The child exits at the end of its standard input,
 * so it ends with its parent for whatever reason. Its messages go to the parent's stderr. */
struct ntk_child_tied {
    pid_t pid; /* 0: none */
    int lifeline;
};
/* argv[0] is the child's name. Returns 0, or -errno with a message. */
int ntk_child_tied_start(char *const *argv, struct ntk_child_tied *out_child, struct ntk_err *err);
/* Stops the child and waits for it; does nothing for a zeroed struct. */
void ntk_child_tied_stop(struct ntk_child_tied *child);

/* The path of one of our programs in the folder of this one, or just its name if it is not
 * there. */
void ntk_child_program_next_to(const char *name, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
