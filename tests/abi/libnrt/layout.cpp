/* SPDX-License-Identifier: MIT */
/* The same checks, compiled as C++17. */
#define main libnrt_layout_main
#include "tests/abi/libnrt/test_layout.c"
