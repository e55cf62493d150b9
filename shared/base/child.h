/* SPDX-License-Identifier: MIT */
/*
 * child - other programs, started with the signals of a fresh program, independent of what this one
 * has blocked or ignores.
 *
 * Owner:   the caller waits for what it started.
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
    const char *program; /* without a slash: as the shell would find it; NULL: argv[0] */
    char *const *argv;
    bool has_files;     /* input from /dev/null, output to this descriptor; else this program's */
    bool takes_errors;  /* errors to it as well */
    bool has_own_group; /* so that all that it starts can be ended */
    int output;
};

/* 0 or -errno. */
int ntk_child_start(const struct ntk_child *child, pid_t *out_pid);

struct ntk_clock;
/* SIGTERM to each (0: none) and, to those that stay longer than grace_ns, SIGKILL; waits for them,
 * but not for one that the kernel keeps. clock NULL: the system's. */
void ntk_child_stop(const struct ntk_clock *clock, const pid_t *pids, size_t count,
                    uint64_t grace_ns);

/* This program once more, for its own task. It ends when its standard input does, and so with its
 * parent, whatever ends that; its messages go to the parent's stderr. */
struct ntk_child_tied {
    pid_t pid; /* 0: none */
    int lifeline;
};
/* argv[0] is its name. 0, or -errno with a message. */
int ntk_child_tied_start(char *const *argv, struct ntk_child_tied *out_child, struct ntk_err *err);
/* Ends it and waits; nothing for a zeroed one. */
void ntk_child_tied_stop(struct ntk_child_tied *child);

/* The path of a program of ours next to this one, or its name alone where none is there. */
void ntk_child_program_beside(const char *name, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
