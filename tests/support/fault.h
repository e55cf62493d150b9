/* SPDX-License-Identifier: MIT */
/*
 * fault - an operation with a failing k-th allocation or file call, for all k.
 *
 * The test program's own malloc(), open(), read(), write(), mmap(), fsync(), rename() ... replace
 * those of the C library, even in the libraries that it loads. So faults reach every thread of the
 * process, and leaks show as unreturned objects. Calls within the C library do not fail. For every
 * system call of one thread, or a kill, see syscall_fault.h.
 *
 * Link tests_fault only into programs that need it: it replaces functions of the C library.
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
    /* Allocations of shared libraries succeed, because some exit the process without memory. */
    bool own_allocations_only;
    /* The maximum number of faults, spread over all calls; 0: every call. The environment variable
     * NTK_FAULTS=all tries every call, NTK_FAULTS=N only call N. */
    unsigned rounds_max;
    /* Prepares the state from which run() starts; NULL: nothing to do. */
    void (*before)(void *ctx);
    /* The operation, including freeing what it made: 0 or more, or -errno and a message. */
    int (*run)(void *ctx, struct ntk_err *err);
    /* Returns NULL, or a short text about an error in the state after run(). */
    const char *(*after)(void *ctx, int ret);
};

/* Fails the test if a round does not end well: a fault without a message, unreturned memory,
 * descriptors or mappings, or an error from after(). Each call fails once alone, and once together
 * with all following ones of its kind. Returns how many calls one run makes. */
unsigned fault_everywhere(const struct fault_operation *operation, void *ctx);

/* Within after(): the errno of the fault, or 0 if there was none. */
int fault_error(void);

/* Within run(): no faults between the two calls, for the test's own work. They nest. */
void fault_pause(void);
void fault_resume(void);

#endif
