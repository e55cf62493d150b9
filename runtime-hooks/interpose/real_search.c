/* SPDX-License-Identifier: MIT */
/*
 * real_search - finds the path of the wrapped library: the places of ld.so(8), in order, and the
 * vendor's folder before the default folders.
 */
#include "runtime-hooks/interpose/real.h"

#include <link.h>

#include "runtime-hooks/interpose/marker.h"
#include "runtime-hooks/nrt/nrt_search.h"
#include "shared/formats/elf/elf_file.h"
#include "shared/formats/elf/ld_cache.h"

#include "runtime-hooks/interpose/early.h"

/* Returns true if the file is a runtime, and neither this library nor a copy. */
static bool is_runtime(const char *path)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    bool is_good = ntk_elf_file_open(&file, path) == 0 && file.is_ours && file.is_library &&
                   ntk_elf_file_find(&file, "nrt_init", INTERPOSE_NODE_2, &export) &&
                   !ntk_elf_file_find(&file, NTK_NRT_HOOKS_MARKER, INTERPOSE_MARKER_NODE, &export);

    ntk_elf_file_close(&file);
    return is_good;
}

static bool text_copy(char to[PATH_MAX], const char *text)
{
    size_t bytes = strlen(text);

    if (bytes >= PATH_MAX) {
        return false;
    }
    memcpy(to, text, bytes + 1);
    return true;
}

/* Looks for the library in a folder; an empty name is the working folder. */
static bool folder_has(const char *folder, size_t bytes, char path[PATH_MAX])
{
    static const char name[] = "/" NTK_NRT_SONAME;
    size_t skipped = bytes == 0; /* skips the slash */

    if (bytes > PATH_MAX - sizeof name) {
        return false;
    }
    memcpy(path, folder, bytes);
    memcpy(path + bytes, name + skipped, sizeof name - skipped);
    return is_runtime(path);
}

/* ---- paths of loaded objects ---- */

/* Defined by the linker: the start of the image that contains this code. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct object {
    const char *path; /* "" for the program */
    const char *soname;
    const char *rpath;
    const char *runpath;
    bool needs_us;
    bool is_of_name; /* the object is another libnrt.so.1 */
};

/* Reads the dynamic section of a loaded object; false if it has none. */
static bool object_read(const char *path, uintptr_t base, const ElfW(Dyn) * dynamic,
                        struct object *out_object)
{
    const char *strings = NULL;

    *out_object = (struct object){ .path = path ? path : "" };
    for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB) {
            /* The loader has relocated the address, except in the vDSO. */
            strings = (const char *)entry->d_un.d_ptr;
        }
    }
    if (!strings || (uintptr_t)strings < base) {
        return false;
    }
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
        const char *text = strings + entry->d_un.d_val;

        if (entry->d_tag == DT_SONAME) {
            out_object->soname = text;
        } else if (entry->d_tag == DT_RPATH) {
            out_object->rpath = text;
        } else if (entry->d_tag == DT_RUNPATH) {
            out_object->runpath = text;
        } else if (entry->d_tag == DT_NEEDED && strcmp(text, NTK_NRT_SONAME) == 0) {
            out_object->needs_us = true;
        }
    }
    out_object->is_of_name = out_object->soname &&
                             strcmp(out_object->soname, NTK_NRT_SONAME) == 0 &&
                             base != (uintptr_t)&__ehdr_start;
    return true;
}

/* Returns the folder of the object, for $ORIGIN. */
static size_t origin_get(const struct object *object, char origin[PATH_MAX])
{
    if (object->path[0] != '\0') {
        if (!text_copy(origin, object->path)) {
            return 0;
        }
    } else {
        ssize_t bytes = readlink("/proc/self/exe", origin, PATH_MAX - 1);

        if (bytes <= 0) {
            return 0;
        }
        origin[bytes] = '\0';
    }
    char *slash = strrchr(origin, '/');
    if (!slash) {
        return text_copy(origin, ".");
    }
    *slash = '\0';
    return (size_t)(slash - origin);
}

/* Expands one folder of a list, with $ORIGIN and $LIB replaced; false if it is too long. */
static bool folder_expand(const struct object *object, const char *text, size_t bytes,
                          char folder[PATH_MAX])
{
    char origin[PATH_MAX];
    size_t used = 0;

    for (size_t i = 0; i < bytes;) {
        static const struct {
            const char *name;
            const char *value; /* NULL for the folder of the object */
        } tokens[] = {
            { "$ORIGIN", NULL }, { "${ORIGIN}", NULL }, { "$LIB", "lib64" }, { "${LIB}", "lib64" }
        };
        const char *value = NULL;
        size_t value_bytes = 1;
        size_t taken = 1;

        for (size_t t = 0; object && t < sizeof tokens / sizeof *tokens; t++) {
            size_t name_bytes = strlen(tokens[t].name);

            if (bytes - i >= name_bytes && memcmp(text + i, tokens[t].name, name_bytes) == 0) {
                value = tokens[t].value ? tokens[t].value : origin;
                value_bytes = tokens[t].value ? strlen(value) : origin_get(object, origin);
                taken = name_bytes;
            }
        }
        if (value_bytes >= PATH_MAX - used) {
            return false;
        }
        memcpy(folder + used, value ? value : text + i, value_bytes);
        used += value_bytes;
        i += taken;
    }
    folder[used] = '\0';
    return true;
}

/* Finds the first folder of a list with the library. */
static bool list_has(const struct object *object, const char *list, const char *separators,
                     char path[PATH_MAX])
{
    char folder[PATH_MAX];

    while (list) {
        size_t bytes = strcspn(list, separators);

        if (folder_expand(object, list, bytes, folder) &&
            folder_has(folder, strlen(folder), path)) {
            return true;
        }
        list = list[bytes] != '\0' ? list + bytes + 1 : NULL;
    }
    return false;
}

enum where {
    WHERE_LOADED,  /* already loaded, after this library */
    WHERE_RPATH,   /* searched by the loader before LD_LIBRARY_PATH */
    WHERE_RUNPATH, /* searched after LD_LIBRARY_PATH */
};

struct walk {
    enum where where;
    bool needs_us; /* true: only objects that need the library; false: only the others */
    char *path;
};

/* Calls the function for each loaded object until it returns true. */
struct visit {
    bool (*fn)(const struct object *object, const struct walk *walk);
    const struct walk *walk;
};

static int info_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    const struct visit *visit = context;
    const ElfW(Dyn) *dynamic = NULL;
    struct object object;

    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    return object_read(info->dlpi_name, info->dlpi_addr, dynamic, &object) &&
           visit->fn(&object, visit->walk);
}

static bool objects_visit(bool (*fn)(const struct object *, const struct walk *),
                          const struct walk *walk)
{
    struct visit visit = { fn, walk };
    struct object object;

    if (early_is_over()) {
        return dl_iterate_phdr(info_visit, &visit) != 0;
    }
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (object_read(map->l_name, map->l_addr, map->l_ld, &object) && fn(&object, walk)) {
            return true;
        }
    }
    return false;
}

static bool object_visit(const struct object *object, const struct walk *walk)
{
    if (walk->where == WHERE_LOADED) {
        return object->is_of_name && is_runtime(object->path) &&
               text_copy(walk->path, object->path);
    }
    if (object->needs_us != walk->needs_us) {
        return 0;
    }
    const char *list = walk->where == WHERE_RUNPATH ? object->runpath
                       : object->runpath            ? NULL
                                                    : object->rpath;
    return list && list_has(object, list, ":", walk->path);
}

static bool objects_have(enum where where, char path[PATH_MAX])
{
    struct walk walk = { .where = where, .needs_us = true, .path = path };

    if (objects_visit(object_visit, &walk)) {
        return true;
    }
    walk.needs_us = false;
    return where != WHERE_LOADED && objects_visit(object_visit, &walk);
}

static bool need_visit(const struct object *object, const struct walk *walk)
{
    (void)walk;
    return object->needs_us || object->is_of_name;
}

bool interpose_real_is_needed(void)
{
    return objects_visit(need_visit, NULL);
}

/* ---- the loader's cache ---- */

static bool cache_has(char path[PATH_MAX])
{
    struct ntk_ld_cache cache;
    uint32_t cursor = 0;
    const char *entry;
    bool is_found = false;

    (void)ntk_ld_cache_open(&cache, NTK_LD_CACHE_FILE);
    while (!is_found && (entry = ntk_ld_cache_next(&cache, NTK_NRT_SONAME, &cursor)) != NULL) {
        is_found = text_copy(path, entry) && is_runtime(path);
    }
    ntk_ld_cache_close(&cache);
    return is_found;
}

/* ---- all of them ---- */

bool interpose_real_find(char path[PATH_MAX], bool *out_is_certain)
{
    static const struct object program = { .path = "" };
    const char *named = early_getenv("NEURON_HOOKS_LIBNRT");
    const char *library_path = early_getenv("LD_LIBRARY_PATH");

    *out_is_certain = true;
    if (named && named[0] != '\0' && is_runtime(named)) {
        return text_copy(path, named);
    }
    *out_is_certain = interpose_real_is_needed();
    return objects_have(WHERE_LOADED, path) || objects_have(WHERE_RPATH, path) ||
           (library_path && library_path[0] != '\0' &&
            list_has(&program, library_path, ":;", path)) ||
           objects_have(WHERE_RUNPATH, path) ||
           folder_has(NTK_NRT_VENDOR_FOLDER, sizeof NTK_NRT_VENDOR_FOLDER - 1, path) ||
           cache_has(path) || list_has(NULL, NTK_NRT_LOADER_FOLDERS, ":", path);
}
