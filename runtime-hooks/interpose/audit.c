/* SPDX-License-Identifier: MIT */
/*
 * audit - libneuron-hooks-audit.so, for LD_AUDIT with the preloaded libneuron-hooks.so: bindings to
 * a runtime opened by path, or in another namespace, are redirected to the observing functions. The
 * state is in the preloaded library, independent of the runtime's namespace.
 *
 * Owner:   data about an object lives until the process exits; cookies point to it.
 * Threads: as called by the loader.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/marker.h"
#include "runtime-hooks/nrt/nrt_search.h"
#include "shared/formats/elf/elf_file.h"

struct runtime {
    struct ntk_elf_file file;
    const char *path; /* owned by the loader while the object is loaded */
    uintptr_t base;
};

/* Cookies of the hooks and of another object; the cookie of a runtime is the address of its struct
 * runtime. */
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

/* Notes the hooks, which must be in the program's namespace. */
static void hooks_found(const struct link_map *map, Lmid_t space, const struct ntk_elf_file *file)
{
    struct ntk_elf_export export;

    if (space == LM_ID_BASE &&
        ntk_elf_file_find(file, INTERPOSE_WRAPPER_NAME, INTERPOSE_MARKER_NODE, &export)) {
        uintptr_t address = map->l_addr + export.address;

        memcpy(&wrapper, &address, sizeof wrapper);
    }
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    const char *file_name = strrchr(map->l_name, '/');
    struct ntk_elf_export export;
    struct runtime *runtime;
    const char *soname;

    *cookie = COOKIE_OTHER;
    if (!file_name || !(strstr(file_name, "nrt") || strstr(file_name, "neuron-hooks"))) {
        return LA_FLG_BINDFROM;
    }
    runtime = calloc(1, sizeof *runtime);
    if (!runtime || ntk_elf_file_open(&runtime->file, map->l_name) < 0) {
        free(runtime);
        return LA_FLG_BINDFROM;
    }
    soname = ntk_elf_file_text(&runtime->file, DT_SONAME, 0);
    if (ntk_elf_file_find(&runtime->file, NTK_NRT_HOOKS_MARKER, INTERPOSE_MARKER_NODE, &export)) {
        hooks_found(map, space, &runtime->file);
        *cookie = COOKIE_HOOKS;
    } else if (soname && strcmp(soname, NTK_NRT_SONAME) == 0) {
        runtime->path = map->l_name;
        runtime->base = map->l_addr;
        *cookie = (uintptr_t)runtime;
        return LA_FLG_BINDTO;
    }
    ntk_elf_file_close(&runtime->file);
    free(runtime);
    return *cookie == COOKIE_HOOKS ? 0 : LA_FLG_BINDFROM;
}

unsigned int la_objclose(uintptr_t *cookie)
{
    if (*cookie != COOKIE_OTHER && *cookie != COOKIE_HOOKS) {
        struct runtime *runtime = (struct runtime *)*cookie;

        *cookie = COOKIE_OTHER;
        ntk_elf_file_close(&runtime->file);
        free(runtime);
    }
    return 0;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
                       unsigned int *flags, const char *name)
{
    const struct runtime *runtime;
    struct ntk_elf_export export;
    const void *function;

    (void)flags;
    if (!wrapper || *from != COOKIE_OTHER || *to == COOKIE_OTHER || *to == COOKIE_HOOKS) {
        return symbol->st_value;
    }
    runtime = (const struct runtime *)*to;
    function = ntk_elf_file_export(&runtime->file, index, &export)
                   ? wrapper(runtime->path, runtime->base, name, export.version)
                   : NULL;
    return function ? (uintptr_t)function : symbol->st_value;
}
