/* SPDX-License-Identifier: MIT */
/*
 * emulated - whether a test runs on an emulated processor (preset aarch64 on another machine).
 *
 * Under qemu-user, a program sees a different start time of itself in /proc/self/stat than others
 * do, signals are delayed, and there are additional system calls. The memory of a program includes
 * that of the emulator.
 */
#ifndef NTK_TESTS_SUPPORT_EMULATED_H
#define NTK_TESTS_SUPPORT_EMULATED_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool test_is_emulated(void)
{
    return getenv("NTK_EMULATED") != NULL;
}

#endif
