/* SPDX-License-Identifier: MIT */
/*
 * syscall_fault - a child with a k-th system call between two marks that fails, or is its last.
 *
 * The parent traces the first thread of the child (ptrace), so nothing is preloaded and no call is
 * missed. A call that fails is not made, except close(): the kernel releases the descriptor
 * whatever it returns. Linux on x86-64 and AArch64, where a process may trace its children;
 * elsewhere syscall_fault_works() is false.
 */
#ifndef NTK_TESTS_SUPPORT_SYSCALL_FAULT_H
#define NTK_TESTS_SUPPORT_SYSCALL_FAULT_H

#include <stdbool.h>

struct syscall_fault {
    unsigned at;      /* which call, from 0; beyond the last: none */
    unsigned variant; /* which of the plausible errors of the call, from 0 */
    bool lasts;       /* later calls with the same number fail too, as on a full disk */
    bool kills;       /* SIGKILL instead of the call */
};

struct syscall_fault_result {
    unsigned calls; /* between the marks, up to the one that failed */
    long number;    /* of the failed call; -1: none failed, or it cannot fail */
    int error;      /* its errno */
    int status;     /* from waitpid() */
};

bool syscall_fault_works(void);
/* In the child: calls between the two count. */
void syscall_fault_begin(void);
void syscall_fault_end(void);
/* Runs body in a forked child; its result is the exit code. */
struct syscall_fault_result syscall_fault_run(int (*body)(void *ctx), void *ctx,
                                              struct syscall_fault fault);

#endif
