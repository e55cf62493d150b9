/* SPDX-License-Identifier: MIT */
/*
 * unit - cmocka, with the headers that it wants before it: setjmp, stdarg, stddef and stdint.
 *
 * cmocka gives every test a state; a test that has none says nothing of it.
 */
#ifndef NTK_TESTS_SUPPORT_UNIT_H
#define NTK_TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
