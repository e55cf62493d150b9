/* SPDX-License-Identifier: MIT */
/* Compiling this file is the test. */
#include "tests/abi/cnrt/layout_2.h"

int cnrt_layout_2(void);
int cnrt_layout_2(void)
{
    return 0;
}
