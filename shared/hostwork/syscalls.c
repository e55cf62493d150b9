/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/syscalls.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

#ifndef FUTEX_LOCK_PI2 /* missing in headers before Linux 5.14 */
#define FUTEX_LOCK_PI2 13
#endif

/* Value of a lock word in glibc's low-level lock while a thread waits. */
#define LOCKED_WITH_WAITERS 2

static const struct {
    int32_t number;
    const char *name;
    enum ntk_host_cause cause;
    bool has_descriptor;
} table[] = {
#define FD(call, cause) { SYS_##call, #call, NTK_HOST_##cause, true },
#define NO(call, cause) { SYS_##call, #call, NTK_HOST_##cause, false },
#include "shared/hostwork/syscalls.def"
};
#define CALLS (sizeof table / sizeof *table)

static size_t find(int32_t number)
{
    size_t i = 0;

    while (i < CALLS && table[i].number != number) {
        i++;
    }
    return i;
}

const char *ntk_host_syscall_name(int32_t number)
{
    size_t i = find(number);

    return i < CALLS ? table[i].name : NULL;
}

bool ntk_host_syscall_has_descriptor(int32_t number)
{
    size_t i = find(number);

    return i < CALLS && table[i].has_descriptor;
}

static enum ntk_host_cause futex_cause(const uint64_t argument[3])
{
    int operation = (int)argument[1] & FUTEX_CMD_MASK;

    if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 ||
        (operation == FUTEX_WAIT && (uint32_t)argument[2] == LOCKED_WITH_WAITERS)) {
        return NTK_HOST_LOCK;
    }
    return NTK_HOST_WAIT;
}

/* Returns true if the call only sleeps: without descriptors these calls just wait, which CPython
 * before 3.11 uses to sleep. */
static bool is_sleep(int32_t number, const uint64_t argument[3])
{
    switch (number) {
#ifdef SYS_poll
    case SYS_select:
        return argument[0] == 0;
    case SYS_poll:
        return argument[1] == 0;
#endif
    case SYS_pselect6:
        return argument[0] == 0;
    case SYS_ppoll:
        return argument[1] == 0;
    default:
        return false;
    }
}

enum ntk_host_cause ntk_host_syscall_cause(int32_t number, const uint64_t argument[3])
{
    size_t i = find(number);

    if (i == CALLS) {
        return NTK_HOST_OTHER;
    }
    return number == SYS_futex          ? futex_cause(argument)
           : is_sleep(number, argument) ? NTK_HOST_SLEEP
                                        : table[i].cause;
}
