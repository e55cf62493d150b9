/* SPDX-License-Identifier: MIT */
/* asleep - waits until a thread of this process sleeps, as the kernel reports it. */
#ifndef NTK_TESTS_SUPPORT_ASLEEP_H
#define NTK_TESTS_SUPPORT_ASLEEP_H

#include <stdatomic.h>
#include <stdio.h>

#include "tests/support/process.h"
#include "tests/support/unit.h"

static inline int test_is_asleep(void *ctx)
{
    const _Atomic int *tid = ctx;
    char path[64];
    char state = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(tid));
    FILE *file = atomic_load(tid) ? fopen(path, "re") : NULL;
    if (file) {
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        (void)fclose(file);
    }
    return state == 'S';
}

/* tid: 0 until the thread has set it to the result of gettid(). */
static inline void test_wait_asleep(_Atomic int *tid)
{
    assert_true(test_wait_until(test_is_asleep, tid));
}

#endif
