/* SPDX-License-Identifier: MIT */
/* Compiling this file is the test. */
#include "tests/abi/cnrt/layout_1.h"

int cnrt_layout_1(void);
int cnrt_layout_1(void)
{
    return 0;
}
