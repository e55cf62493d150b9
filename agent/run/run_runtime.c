/* SPDX-License-Identifier: MIT */
#include "agent/run/run_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/str.h"
#include "shared/formats/elf/elf_file.h"
#include "shared/formats/elf/ld_cache.h"

#define ORIGIN "$ORIGIN"
#define ORIGIN_BRACED "${ORIGIN}"

#define HOOKS_MARKER "neuron_hooks_marker" /* runtime-hooks/interpose/marker.h */

/* Folders that the loader knows without a list, and the vendor's: where the hooks look too. */
#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif
static const char default_folders[] =
    "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib:/opt/aws/neuron/lib";

static bool is_same_file(const char *a, const char *b)
{
    struct stat status_a;
    struct stat status_b;

    return stat(a, &status_a) == 0 && stat(b, &status_b) == 0 &&
           status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

bool ntk_run_runtime_is_one(const char *path, const char *hooks)
{
    struct ntk_elf_export export;
    struct ntk_elf_file file;
    bool is_one = ntk_elf_file_open(&file, path) == 0 && file.is_ours && file.is_library &&
                  ntk_elf_file_find(&file, "nrt_init", NULL, &export) &&
                  !ntk_elf_file_find(&file, HOOKS_MARKER, NULL, &export) &&
                  !is_same_file(path, hooks);

    ntk_elf_file_close(&file);
    return is_one;
}

/* A folder of a list, with the program's in place of $ORIGIN. */
static bool folder_has(const char *folder, size_t bytes, const char *program, const char *hooks,
                       char path[PATH_MAX])
{
    const char *rest = folder;
    size_t origin_bytes = 0;
    const char *slash = strrchr(program, '/');

    if (bytes >= sizeof ORIGIN - 1 && memcmp(folder, ORIGIN, sizeof ORIGIN - 1) == 0) {
        rest += sizeof ORIGIN - 1;
        origin_bytes = slash ? (size_t)(slash - program) : 0;
    } else if (bytes >= sizeof ORIGIN_BRACED - 1 &&
               memcmp(folder, ORIGIN_BRACED, sizeof ORIGIN_BRACED - 1) == 0) {
        rest += sizeof ORIGIN_BRACED - 1;
        origin_bytes = slash ? (size_t)(slash - program) : 0;
    }
    int length = snprintf(path, PATH_MAX, "%.*s%.*s/" NTK_RUN_RUNTIME_NAME, (int)origin_bytes,
                          program, (int)(bytes - (size_t)(rest - folder)), rest);
    return length > 0 && length < PATH_MAX && ntk_run_runtime_is_one(path, hooks);
}

static bool list_has(const char *list, const char *program, const char *hooks, char path[PATH_MAX])
{
    while (*list) {
        size_t bytes = strcspn(list, ":;");
        if (bytes > 0 && folder_has(list, bytes, program, hooks, path)) {
            return true;
        }
        list += bytes + (list[bytes] != '\0');
    }
    return false;
}

static bool cache_has(const char *hooks, char path[PATH_MAX])
{
    struct ntk_ld_cache cache;
    uint32_t cursor = 0;
    const char *entry;
    bool is_there = false;

    (void)ntk_ld_cache_open(&cache, NTK_LD_CACHE_FILE);
    while (!is_there && (entry = ntk_ld_cache_next(&cache, NTK_RUN_RUNTIME_NAME, &cursor))) {
        is_there = ntk_str_copy(path, PATH_MAX, entry) && ntk_run_runtime_is_one(path, hooks);
    }
    ntk_ld_cache_close(&cache);
    return is_there;
}

bool ntk_run_runtime_find(const struct ntk_run_program *program, const char *hooks,
                          char out_path[PATH_MAX])
{
    const char *library_path = getenv("LD_LIBRARY_PATH");

    return (program->paths_come_first &&
            list_has(program->paths, program->path, hooks, out_path)) ||
           (library_path && list_has(library_path, program->path, hooks, out_path)) ||
           (!program->paths_come_first &&
            list_has(program->paths, program->path, hooks, out_path)) ||
           cache_has(hooks, out_path) || list_has(default_folders, program->path, hooks, out_path);
}

bool ntk_run_runtime_has_more(const char *path, const char *hooks)
{
    struct ntk_elf_export export;
    struct ntk_elf_export known;
    struct ntk_elf_file ours;
    struct ntk_elf_file file;
    bool has_more = false;

    /* Ours that cannot be read knows nothing. */
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
