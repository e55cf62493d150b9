/* SPDX-License-Identifier: MIT */
/*
 * unit - cmocka, with the headers that it needs before it: setjmp, stdarg, stddef and stdint.
 *
 * cmocka gives every test a state; a test that has none ignores it.
 */
#ifndef NTK_TESTS_SUPPORT_UNIT_H
#define NTK_TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The exit code of a test program that cannot run here; ./dev test prints the reason at its end. */
static inline int test_skip(const char *reason)
{
    (void)fprintf(stderr, "skipped: %s\n", reason);
    return 77;
}

/* A job that preloads our library, or loads one that is not its first, cannot run with a
 * sanitizer. */
static inline int test_is_sanitized(void)
{
    const char *sanitizer = getenv("NTK_SANITIZE");

    return sanitizer && sanitizer[0];
}

#endif
