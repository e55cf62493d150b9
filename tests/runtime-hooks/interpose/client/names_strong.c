/* SPDX-License-Identifier: MIT */
/* Calls a name that one stand-in lacks. */
#include <stdio.h>

#include "nrt/nrt.h"

int main(void)
{
    printf("nrt_tensor_memset %d\n", nrt_tensor_memset(NULL, 0, 0, 0) != NRT_SUCCESS);
    return 0;
}
