/* SPDX-License-Identifier: MIT */
/* Prints what the loader was asked to load; one variant is linked statically. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const char *preload = getenv("LD_PRELOAD");

    (void)printf("%s\n", preload ? preload : "nothing");
    return 7;
}
