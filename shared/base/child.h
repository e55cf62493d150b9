/* SPDX-License-Identifier: MIT */
/*
 * child - other programs, started with the signals of a fresh program whatever this one has
 * blocked or ignores.
 *
 * Owner:   the caller waits for what it started.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_CHILD_H
#define NTK_SHARED_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

/* The path of a program of ours beside this one, or its name alone where none is there. */
void ntk_child_program_beside(const char *name, char *buf, size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
