/* SPDX-License-Identifier: MIT */
/* A program that no library can be put into: linked statically. */
#include <stdio.h>

int main(void)
{
    return puts("still here") < 0;
}
