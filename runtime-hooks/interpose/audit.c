/* SPDX-License-Identifier: MIT */
/*
 * libneuron-hooks-audit.so, for LD_AUDIT beside the preloaded libneuron-hooks.so: bindings to a
 * runtime that was opened by its path, or in a namespace of its own, go to the functions that
 * observe. It has no state of a process: that is the preloaded library's, whatever namespace the
 * runtime is in.
 *
 * Owner:   what is known of an object lives until the process ends; cookies point to it.
 * Threads: as the loader calls.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/elf_file.h"
#include "runtime-hooks/interpose/marker.h"

#define SONAME "libnrt.so.1"
#define VERSION_BYTES 64

struct runtime {
    struct elf_file file;
    const char *path; /* the loader's, while it is loaded */
    uintptr_t base;
};

/* A cookie: of the hooks themselves, of another object, else the address of its struct runtime. */
#define COOKIE_HOOKS 1
#define COOKIE_OTHER 0

static neuron_hooks_wrapper_function *wrapper;

#pragma GCC visibility push(default)
unsigned int la_version(unsigned int version);
unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
unsigned int la_objclose(uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
                       unsigned int *flags, const char *name);
#pragma GCC visibility pop

unsigned int la_version(unsigned int version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* The hooks count in the namespace of the program. */
static void hooks_found(const struct link_map *map, Lmid_t space, const struct elf_file *file)
{
    uint64_t value = elf_file_value(file, INTERPOSE_WRAPPER_NAME, INTERPOSE_MARKER_NODE);
    uintptr_t address = map->l_addr + value;

    if (space == LM_ID_BASE && value != 0) {
        memcpy(&wrapper, &address, sizeof wrapper);
    }
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    const char *file_name = strrchr(map->l_name, '/');
    struct runtime *runtime;

    *cookie = COOKIE_OTHER;
    if (!file_name || !(strstr(file_name, "nrt") || strstr(file_name, "neuron-hooks"))) {
        return LA_FLG_BINDFROM;
    }
    runtime = calloc(1, sizeof *runtime);
    if (!runtime || !elf_file_open(&runtime->file, map->l_name)) {
        free(runtime);
        return LA_FLG_BINDFROM;
    }
    if (elf_file_value(&runtime->file, INTERPOSE_MARKER_NAME, INTERPOSE_MARKER_NODE) != 0) {
        hooks_found(map, space, &runtime->file);
        *cookie = COOKIE_HOOKS;
    } else if (elf_file_soname_is(&runtime->file, SONAME)) {
        runtime->path = map->l_name;
        runtime->base = map->l_addr;
        *cookie = (uintptr_t)runtime;
        return LA_FLG_BINDTO;
    }
    elf_file_close(&runtime->file);
    free(runtime);
    return *cookie == COOKIE_HOOKS ? 0 : LA_FLG_BINDFROM;
}

unsigned int la_objclose(uintptr_t *cookie)
{
    if (*cookie != COOKIE_OTHER && *cookie != COOKIE_HOOKS) {
        struct runtime *runtime = (struct runtime *)*cookie;

        *cookie = COOKIE_OTHER;
        elf_file_close(&runtime->file);
        free(runtime);
    }
    return 0;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
                       unsigned int *flags, const char *name)
{
    char version[VERSION_BYTES];
    const struct runtime *runtime;
    const void *function;

    (void)flags;
    if (!wrapper || *from != COOKIE_OTHER || *to == COOKIE_OTHER || *to == COOKIE_HOOKS) {
        return symbol->st_value;
    }
    runtime = (const struct runtime *)*to;
    elf_file_version_get(&runtime->file, index, version, sizeof version);
    function = wrapper(runtime->path, runtime->base, name, version);
    return function ? (uintptr_t)function : symbol->st_value;
}
