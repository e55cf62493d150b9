/* SPDX-License-Identifier: MIT */
/* To compile is all. */
#include "tests/abi/cnrt/layout_2.h"

int cnrt_layout_2(void);
int cnrt_layout_2(void)
{
    return 0;
}
