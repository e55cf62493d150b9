/* SPDX-License-Identifier: MIT */
/* A statically linked program, into which no library can be loaded. */
#include <stdio.h>

int main(void)
{
    return puts("still here") < 0;
}
