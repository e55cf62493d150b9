/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/early.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What real_search.c, real.c, exports.c and shared/formats/elf call. */
#define CALL(name) ((uintptr_t)(name))
static const uintptr_t calls[] = {
    CALL(close),
    CALL(dl_iterate_phdr),
    CALL(fstat),
    CALL(getauxval),
    CALL(memcmp),
    CALL(memcpy),
    CALL(memset),
    CALL(mmap),
    CALL(mprotect),
    CALL(munmap),
    CALL(open),
    CALL(pread),
    CALL(pthread_mutex_lock),
    CALL(pthread_mutex_unlock),
    CALL(pthread_setcancelstate),
    CALL(readlink),
    CALL(secure_getenv),
    CALL(snprintf),
    CALL(strcmp),
    CALL(strcspn),
    CALL(strlen),
    CALL(strncmp),
    CALL(strrchr),
    CALL(sysconf),
};

/* Whether the image of the object holds the address. */
static bool object_has(const struct link_map *object, uintptr_t address)
{
    const ElfW(Ehdr) *header = (const void *)object->l_addr;
    const ElfW(Phdr) *segment = (const void *)(object->l_addr + header->e_phoff);

    for (uint32_t i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD &&
            address - object->l_addr - segment[i].p_vaddr < segment[i].p_memsz) {
            return true;
        }
    }
    return false;
}

bool interpose_early_is_safe(void)
{
    const struct link_map *library = _r_debug.r_map;

    while (library &&
           (library->l_addr == 0 || !object_has(library, (uintptr_t)gnu_get_libc_version))) {
        library = library->l_next;
    }
    for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++) {
        if (!object_has(library, calls[i])) {
            return false;
        }
    }
    return library != NULL;
}

/* The stack of the program as the kernel made it: the number of arguments, the arguments, NULL, the
 * environment. Not every C library says where it is. */
extern void *__libc_stack_end __attribute__((weak));
extern char **environ;

const char *interpose_early_getenv(const char *name)
{
    size_t bytes = strlen(name);

    if (environ) {
        return secure_getenv(name);
    }
    if (!&__libc_stack_end || getauxval(AT_SECURE) != 0) {
        return NULL;
    }
    const long *count = __libc_stack_end;
    char *const *variable = (char *const *)(count + 1) + *count + 1;
    for (; *variable; variable++) {
        if (strncmp(*variable, name, bytes) == 0 && (*variable)[bytes] == '=') {
            return *variable + bytes + 1;
        }
    }
    return NULL;
}
