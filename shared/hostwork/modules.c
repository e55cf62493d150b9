/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/modules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/bisect.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/hostwork/process.h"

#define LINES_MAX 65536u

/* ---- mappings ---- */

bool ntk_host_modules_take_line(struct ntk_host_modules *modules, char *line,
                                struct ntk_host_module *before)
{
    struct ntk_process_mapping mapping;

    if (!ntk_process_mapping_parse(line, &mapping) || mapping.end <= mapping.start ||
        mapping.offset > mapping.start) {
        return false;
    }
    struct ntk_host_module module = { .start = mapping.start,
                                      .end = mapping.end,
                                      .base = mapping.start - mapping.offset,
                                      .device = mapping.device,
                                      .inode = mapping.inode,
                                      .fd = -1,
                                      .round = modules->round };
    ntk_str_copy(module.name, sizeof module.name, ntk_str_base_name(mapping.path));
    if (mapping.offset == 0 && module.inode != 0) {
        *before = module;
    }
    bool is_same = before->inode == module.inode && before->device == module.device;
    module.load = is_same && module.inode != 0 ? before->start : module.base;
    if (strlen(mapping.flags) < 3 || mapping.flags[2] != 'x' ||
        (module.inode == 0 && module.name[0] != '[')) {
        return false;
    }
    if (modules->modules.count >= NTK_HOST_MODULES_MAX) {
        return false;
    }
    ntk_vec_each(struct ntk_host_module, known, &modules->modules) {
        if (known->start == module.start && known->end == module.end &&
            known->inode == module.inode && known->device == module.device) {
            known->round = modules->round;
            return false;
        }
    }
    return ntk_vec_push(&modules->modules, &module) == 0;
}

/* ---- files ---- */

/* Opens a path below the process's root without following symbolic links; for fstat() only. Returns
 * -1 if there is none. */
static int find_below_root(uint32_t pid, const char *path)
{
    char root_path[64];

    (void)snprintf(root_path, sizeof root_path, "/proc/%u/root", pid);
    int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int at = root >= 0 ? ntk_fs_open_below(root, path, O_PATH) : -1;
    if (root >= 0) {
        close(root);
    }
    return at;
}

/* Takes ownership of the found file, and reopens it for reading if it is a regular file; opening
 * any other file may block or have side effects. */
static int open_found(int at, struct stat *out_status)
{
    char path[64];
    int fd = -1;

    if (at >= 0 && fstat(at, out_status) == 0 && S_ISREG(out_status->st_mode)) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", at);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (at >= 0) {
        close(at);
    }
    return fd;
}

/* Opens a module through the mapping itself, or else by its path as the process sees it, if that is
 * the same file. */
static int open_module(uint32_t pid, const struct ntk_host_module *module, const char *path_of_line)
{
    struct stat status;
    char path[96];

    (void)snprintf(path, sizeof path, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, module->start,
                   module->end);
    int fd = open_found(open(path, O_PATH | O_CLOEXEC), &status);
    if (fd < 0 && path_of_line[0] == '/') {
        fd = open_found(find_below_root(pid, path_of_line + 1), &status);
    }
    if (fd >= 0 && status.st_ino != module->inode) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The descriptor of a module's file; the map stores 2 + the descriptor. */
static int fd_of(struct ntk_host_files *files, uint32_t pid, const struct ntk_host_module *module,
                 const char *path_of_line)
{
    char key[48];

    (void)snprintf(key, sizeof key, "%" PRIx64 ":%" PRIx64, module->device, module->inode);
    void *known = ntk_map_get(&files->fds, key);
    if (known || files->fds.count >= NTK_HOST_FILES_MAX) {
        return known ? (int)((intptr_t)known - 2) : -1;
    }
    int fd = open_module(pid, module, path_of_line);
    if (ntk_map_put(&files->fds, key, (void *)((intptr_t)fd + 2)) < 0 && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void ntk_host_files_fini(struct ntk_host_files *files)
{
    ntk_map_each(entry, &files->fds) {
        int fd = (int)((intptr_t)entry->value - 2);
        if (fd >= 0) {
            close(fd);
        }
    }
    ntk_map_fini(&files->fds);
}

/* Notes whether the process executes another program: its interpreter may be in a file at the same
 * addresses as before. */
static void note_image(struct ntk_host_modules *modules)
{
    uint64_t image = ntk_host_process_image(modules->pid);

    if (image == 0 || image == modules->image) {
        return;
    }
    modules->image = image;
    ntk_vec_each(struct ntk_host_module, module, &modules->modules) {
        module->is_looked = false;
    }
}

NTK_ORDER(by_start, struct ntk_host_module, NTK_UP(start));

void ntk_host_modules_read(struct ntk_host_modules *modules, uint32_t pid,
                           struct ntk_host_files *files, bool (*is_wanted)(const char *name))
{
    struct ntk_host_module before = { 0 };
    size_t line_bytes = 0;
    char *line = NULL;
    char path[64];

    modules->pid = pid;
    if (modules->modules.item_bytes == 0) {
        ntk_vec_init(&modules->modules, sizeof(struct ntk_host_module));
        ntk_vec_init(&modules->symbols, sizeof(struct ntk_host_map_symbol));
    }
    modules->round++;
    note_image(modules);
    (void)snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    for (size_t i = 0; file && i < LINES_MAX && getline(&line, &line_bytes, file) > 0; i++) {
        if (ntk_host_modules_take_line(modules, line, &before)) {
            struct ntk_host_module *module =
                ntk_vec_at(&modules->modules, modules->modules.count - 1);
            const char *slash = strchr(line, '/');
            if (module->inode != 0 && (!is_wanted || is_wanted(module->name))) {
                module->fd = fd_of(files, pid, module, slash ? slash : "");
            }
        }
    }
    if (file) {
        (void)fclose(file);
    }
    free(line);
    ntk_vec_sort(&modules->modules, by_start);
}

const struct ntk_host_module *ntk_host_modules_at(const struct ntk_host_modules *modules,
                                                  uint64_t address)
{
    const struct ntk_host_module *all = modules->modules.items;
    size_t low = 0;

    NTK_BISECT(low, modules->modules.count, i, all[i].start <= address);
    const struct ntk_host_module *module = low > 0 ? ntk_vec_at(&modules->modules, low - 1) : NULL;
    return module && address < module->end ? module : NULL;
}

/* ---- the map file ---- */

NTK_ORDER(by_symbol, struct ntk_host_map_symbol, NTK_UP(start));

/* Parses "START SIZE name" with hexadecimal numbers. */
static void take_symbol(struct ntk_host_modules *modules, char *line)
{
    char *end;
    uint64_t start = strtoull(line, &end, 16);
    uint64_t size = *end == ' ' ? strtoull(end + 1, &end, 16) : 0;
    struct ntk_host_map_symbol symbol = { start, start + size, end + 1 };

    if (size > 0 && symbol.end > start && *end == ' ' && end[1] != '\0' &&
        isxdigit((unsigned char)line[0]) && modules->symbols.count < NTK_HOST_MAP_SYMBOLS_MAX) {
        (void)ntk_vec_push(&modules->symbols, &symbol);
    }
}

void ntk_host_modules_take_map(struct ntk_host_modules *modules, char *text)
{
    if (modules->symbols.item_bytes == 0) {
        ntk_vec_init(&modules->symbols, sizeof(struct ntk_host_map_symbol));
    }
    free(modules->text);
    modules->text = text;
    ntk_vec_clear(&modules->symbols);
    for (char *line = text; line && *line;) {
        char *next = line + strcspn(line, "\n");
        bool has_more = *next == '\n';
        *next = '\0';
        take_symbol(modules, line);
        line = has_more ? next + 1 : NULL;
    }
    ntk_vec_sort(&modules->symbols, by_symbol);
}

void ntk_host_modules_read_map(struct ntk_host_modules *modules)
{
    struct stat process;
    struct stat status;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%u", modules->pid);
    if (stat(path, &process) < 0) {
        return;
    }
    /* the number in the map file's name */
    uint32_t own_pid = ntk_host_process_inner_tid(modules->pid, modules->pid);
    (void)snprintf(path, sizeof path, "tmp/perf-%u.map", own_pid ? own_pid : modules->pid);
    int fd = open_found(find_below_root(modules->pid, path), &status);
    if (fd < 0) {
        return;
    }
    if (status.st_uid == process.st_uid && status.st_size > 0 &&
        status.st_size <= NTK_HOST_MAP_BYTES_MAX) {
        char *text = calloc(1, (size_t)status.st_size + 1);
        if (text && ntk_fs_pread(fd, text, (size_t)status.st_size, 0) == 0) {
            ntk_host_modules_take_map(modules, text);
        } else {
            free(text);
        }
    }
    close(fd);
}

const char *ntk_host_modules_symbol(const struct ntk_host_modules *modules, uint64_t address)
{
    const struct ntk_host_map_symbol *all = modules->symbols.items;
    size_t low = 0;

    NTK_BISECT(low, modules->symbols.count, i, all[i].start <= address);
    const struct ntk_host_map_symbol *symbol =
        low > 0 ? ntk_vec_at(&modules->symbols, low - 1) : NULL;
    return symbol && address < symbol->end ? symbol->name : NULL;
}

void ntk_host_modules_fini(struct ntk_host_modules *modules)
{
    ntk_vec_fini(&modules->modules);
    ntk_vec_fini(&modules->symbols);
    free(modules->text);
    *modules = (struct ntk_host_modules){ 0 };
}
