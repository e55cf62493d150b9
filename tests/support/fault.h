/* SPDX-License-Identifier: MIT */
/*
 * fault - an operation whose k-th allocation or file call fails, for all k.
 *
 * The test program's own malloc(), open(), read(), write(), mmap(), fsync(), rename() ... stand in
 * for those of the C library, also for the libraries it loads. So faults reach every thread of the
 * process, and leaks show in what was not returned. What the C library does inside itself does
 * not fail. For every system call of one thread, or a kill, see syscall_fault.h.
 *
 * Link tests_fault into programs that need it only: it replaces functions of the C library.
 */
#ifndef NTK_TESTS_SUPPORT_FAULT_H
#define NTK_TESTS_SUPPORT_FAULT_H

#include <stdbool.h>

#include "shared/base/err.h"

enum fault_kind {
    FAULT_ALLOCATION = 1,
    FAULT_FILE = 2, /* open, read, write, map, sync, rename ...; a new thread */
    FAULT_ALL = 3,
};

struct fault_operation {
    unsigned kinds; /* enum fault_kind */
    /* Allocations of shared libraries succeed: some end the process without memory. */
    bool own_allocations_only;
    /* How many faults are tried at most, spread over all calls; 0: every one. In the environment
     * NTK_FAULTS=all tries every one, NTK_FAULTS=N the call N alone. */
    unsigned rounds_max;
    /* The world from which run() starts; NULL: nothing to do. */
    void (*before)(void *ctx);
    /* The operation, and the release of what it made: 0 or more, or -errno and a message. */
    int (*run)(void *ctx, struct ntk_err *err);
    /* NULL, or what is wrong with what run() left, in a few words. */
    const char *(*after)(void *ctx, int ret);
};

/* Fails the test when a round does not end well: a fault without a message, memory, descriptors or
 * mappings that were not returned, or what after() says. Each call fails once alone, and once
 * together with all of its kind that follow. Returns how many calls one run makes. */
unsigned fault_everywhere(const struct fault_operation *operation, void *ctx);

/* Within after(): the errno of the fault, 0 when there was none. */
int fault_error(void);

/* Within run(): no faults between the two, for what the test does itself. They nest. */
void fault_pause(void);
void fault_resume(void);

#endif
