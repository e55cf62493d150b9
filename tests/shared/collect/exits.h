/* SPDX-License-Identifier: MIT */
/* exits - whether the kernel of this machine reports how a process that is gone exited. */
#ifndef NTK_TESTS_SHARED_COLLECT_EXITS_H
#define NTK_TESTS_SHARED_COLLECT_EXITS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

static inline bool test_kernel_keeps_exits(void)
{
    struct utsname name;
    int major = 0;
    int minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 15));
}

#endif
