/* SPDX-License-Identifier: MIT */
/* A program that prints what the loader was asked to load; linked statically in one of its
 * forms. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const char *preload = getenv("LD_PRELOAD");

    (void)printf("%s\n", preload ? preload : "nothing");
    return 7;
}
