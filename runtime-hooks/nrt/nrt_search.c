/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/nrt/nrt_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/str.h"
#include "shared/formats/elf/elf_file.h"
#include "shared/formats/elf/ld_cache.h"

#define ORIGIN "$ORIGIN"
#define ORIGIN_BRACED "${ORIGIN}"

#define SOFTWARE_MARKER "neuron_soft_runtime" /* defined in runtime-hooks/libnrt/nrt_identity.c */

static bool is_same_file(const char *a, const char *b)
{
    struct stat status_a;
    struct stat status_b;

    return stat(a, &status_a) == 0 && stat(b, &status_b) == 0 &&
           status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

static bool has_export(const char *path, const char *name)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    bool is_there = ntk_elf_file_open(&file, path) == 0 && file.is_ours && file.is_library &&
                    ntk_elf_file_find(&file, name, NULL, &export);

    ntk_elf_file_close(&file);
    return is_there;
}

bool ntk_nrt_is_runtime(const char *path, const char *hooks)
{
    return has_export(path, "nrt_init") && !has_export(path, NTK_NRT_HOOKS_MARKER) &&
           !(hooks && is_same_file(path, hooks));
}

bool ntk_nrt_is_software(const char *path)
{
    return has_export(path, SOFTWARE_MARKER);
}

static bool is_wanted(const struct ntk_nrt_search *search, const char *path)
{
    return ntk_nrt_is_runtime(path, search->hooks) &&
           !(search->skips_software && ntk_nrt_is_software(path));
}

/* Looks in a folder of a list; $ORIGIN is the folder of the program. */
static bool folder_has(const struct ntk_nrt_search *search, const char *folder, size_t bytes,
                       char path[PATH_MAX])
{
    const char *rest = folder;
    size_t origin_bytes = 0;
    const char *slash = strrchr(search->program, '/');

    if (bytes >= sizeof ORIGIN - 1 && memcmp(folder, ORIGIN, sizeof ORIGIN - 1) == 0) {
        rest += sizeof ORIGIN - 1;
        origin_bytes = slash ? (size_t)(slash - search->program) : 0;
    } else if (bytes >= sizeof ORIGIN_BRACED - 1 &&
               memcmp(folder, ORIGIN_BRACED, sizeof ORIGIN_BRACED - 1) == 0) {
        rest += sizeof ORIGIN_BRACED - 1;
        origin_bytes = slash ? (size_t)(slash - search->program) : 0;
    }
    int length = snprintf(path, PATH_MAX, "%.*s%.*s/" NTK_NRT_SONAME, (int)origin_bytes,
                          search->program, (int)(bytes - (size_t)(rest - folder)), rest);
    return length > 0 && length < PATH_MAX && is_wanted(search, path);
}

static bool list_has(const struct ntk_nrt_search *search, const char *list, char path[PATH_MAX])
{
    while (list && *list) {
        size_t bytes = strcspn(list, ":;");
        if (bytes > 0 && folder_has(search, list, bytes, path)) {
            return true;
        }
        list += bytes + (list[bytes] != '\0');
    }
    return false;
}

static bool cache_has(const struct ntk_nrt_search *search, char path[PATH_MAX])
{
    struct ntk_ld_cache cache;
    uint32_t cursor = 0;
    const char *entry;
    bool is_there = false;

    (void)ntk_ld_cache_open(&cache, NTK_LD_CACHE_FILE);
    while (!is_there && (entry = ntk_ld_cache_next(&cache, NTK_NRT_SONAME, &cursor))) {
        is_there = ntk_str_copy(path, PATH_MAX, entry) && is_wanted(search, path);
    }
    ntk_ld_cache_close(&cache);
    return is_there;
}

bool ntk_nrt_search(const struct ntk_nrt_search *search, char out_path[PATH_MAX])
{
    const char *vendor = search->vendor_folder ? search->vendor_folder : NTK_NRT_VENDOR_FOLDER;

    return (search->paths_come_first && list_has(search, search->paths, out_path)) ||
           list_has(search, secure_getenv("LD_LIBRARY_PATH"), out_path) ||
           (!search->paths_come_first && list_has(search, search->paths, out_path)) ||
           (search->vendor_comes_first && list_has(search, vendor, out_path)) ||
           cache_has(search, out_path) || list_has(search, NTK_NRT_LOADER_FOLDERS, out_path) ||
           (!search->vendor_comes_first && list_has(search, vendor, out_path));
}

bool ntk_nrt_has_more(const char *path, const char *hooks)
{
    struct ntk_elf_export export;
    struct ntk_elf_export known;
    struct ntk_elf_file ours;
    struct ntk_elf_file file;
    bool has_more = false;

    /* An unreadable file has no known property. */
    if (ntk_elf_file_open(&file, path) == 0) {
        (void)ntk_elf_file_open(&ours, hooks);
        for (size_t i = 0; i < file.symbol_count && !has_more; i++) {
            has_more = ntk_elf_file_export(&file, i, &export) &&
                       (ntk_str_starts_with(export.name, "nrt_") ||
                        ntk_str_starts_with(export.name, "nrta_") ||
                        ntk_str_starts_with(export.name, "nec_")) &&
                       !ntk_elf_file_find(&ours, export.name, NULL, &known);
        }
        ntk_elf_file_close(&ours);
        ntk_elf_file_close(&file);
    }
    return has_more;
}
