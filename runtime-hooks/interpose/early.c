/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/early.h"

uint32_t interpose_started;

/* The stack of the program as the kernel created it: the number of arguments, the arguments, NULL,
 * the environment, NULL, the auxiliary vector. Not every C library provides its address. */
extern void *__libc_stack_end __attribute__((weak));
extern char **environ; /* NULL until the C library is ready */

static char **stack_environment(void)
{
    const long *count = &__libc_stack_end ? __libc_stack_end : NULL;

    return count ? (char **)(count + 1) + *count + 1 : NULL;
}

static bool is_privileged(char **environment)
{
    while (*environment) {
        environment++;
    }
    for (const Elf64_auxv_t *row = (const void *)(environment + 1); row->a_type != AT_NULL; row++) {
        if (row->a_type == AT_SECURE) {
            return row->a_un.a_val != 0;
        }
    }
    return false;
}

const char *early_getenv(const char *name)
{
    char **first = stack_environment();
    size_t bytes = strlen(name);

    if (!first) {
        return secure_getenv(name);
    }
    if (is_privileged(first)) {
        return NULL;
    }
    for (char **variable = environ ? environ : first; *variable; variable++) {
        if (strlen(*variable) > bytes && memcmp(*variable, name, bytes) == 0 &&
            (*variable)[bytes] == '=') {
            return *variable + bytes + 1;
        }
    }
    return NULL;
}
