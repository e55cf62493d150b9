/* SPDX-License-Identifier: MIT */
/*
 * syscalls - explains why a thread is blocked in a system call.
 *
 * Numbers are those of the machine for which this program was built.
 */
#ifndef NTK_SHARED_HOSTWORK_SYSCALLS_H
#define NTK_SHARED_HOSTWORK_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/hostwork/hostwork.h"

/* The name of a system call; NULL if the number is not in the table. */
const char *ntk_host_syscall_name(int32_t number);
/* The cause of a wait in the call; its arguments show whether a futex is a lock. */
enum ntk_host_cause ntk_host_syscall_cause(int32_t number, const uint64_t argument[3]);
/* Returns true if the call's first argument is a descriptor. */
bool ntk_host_syscall_has_descriptor(int32_t number);

#endif
