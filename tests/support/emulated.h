/* SPDX-License-Identifier: MIT */
/*
 * emulated - whether a test runs on an emulated processor (preset aarch64 on another machine).
 *
 * qemu-user shows a program another start time of itself in /proc/self/stat than others see, delays
 * signals, and calls the system on its own account.
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
