/* SPDX-License-Identifier: MIT */
/* The same checks, compiled as C++17. */
#include "tests/abi/libnrt/calls.c"
