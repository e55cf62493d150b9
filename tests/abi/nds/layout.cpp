/* SPDX-License-Identifier: MIT */
/* The same checks, compiled as C++17. */
#define main nds_layout_main
#include "tests/abi/nds/test_layout.c"
