/* SPDX-License-Identifier: MIT */
/*
 * The stand-in's machine is in $VENDOR_MACHINE_DIR if it is set, because a real machine does not
 * depend on the folder of the hooks. Linked with --wrap=getenv.
 */
#include <stdlib.h>
#include <string.h>

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);

char *__wrap_getenv(const char *name)
{
    char *place =
        strcmp(name, "NEURON_HOOKS_DIR") == 0 ? __real_getenv("VENDOR_MACHINE_DIR") : NULL;

    return place ? place : __real_getenv(name);
}
