/* SPDX-License-Identifier: MIT */
/* To compile is all. */
#include "tests/abi/cnrt/layout_3.h"

int cnrt_layout_3(void);
int cnrt_layout_3(void)
{
    return 0;
}
