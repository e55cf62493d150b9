/* SPDX-License-Identifier: MIT */
/* Compiling this file is the test. */
#include "tests/abi/cnrt/layout_3.h"

int cnrt_layout_3(void);
int cnrt_layout_3(void)
{
    return 0;
}
