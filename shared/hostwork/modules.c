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
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define LINES_MAX 65536u
#define STATUS_BYTES 4096

/* ---- mappings ---- */

bool ntk_host_modules_take_line(struct ntk_host_modules *modules, char *line,
                                struct ntk_host_module *before)
{
    struct ntk_host_module module = { .fd = -1 };
    unsigned major_number;
    unsigned minor_number;
    uint64_t offset;
    char flags[8];
    int used = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &module.start,
               &module.end, flags, &offset, &major_number, &minor_number, &module.inode,
               &used) < 7 ||
        used == 0 || module.end <= module.start || offset > module.start) {
        return false;
    }
    module.device = makedev(major_number, minor_number);
    module.base = module.start - offset;
    ntk_str_copy(module.name, sizeof module.name, ntk_str_base_name(line + used));
    if (offset == 0 && module.inode != 0) {
        *before = module;
    }
    bool is_same = before->inode == module.inode && before->device == module.device;
    module.load = is_same && module.inode != 0 ? before->start : module.base;
    if (strlen(flags) < 3 || flags[2] != 'x' || (module.inode == 0 && module.name[0] != '[')) {
        return false;
    }
    ntk_vec_each(const struct ntk_host_module, known, &modules->modules) {
        if (known->start == module.start && known->end == module.end &&
            known->inode == module.inode && known->device == module.device) {
            return false;
        }
    }
    return modules->modules.count < NTK_HOST_MODULES_MAX &&
           ntk_vec_push(&modules->modules, &module) == 0;
}

/* Through the mapping itself, else by its path as the process sees it: then it must be that file. */
static int open_module(uint32_t pid, const struct ntk_host_module *module, const char *path_of_line)
{
    struct stat status;
    char path[4096 + 64];
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, module->start,
                   module->end);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && path_of_line[0] == '/') {
        (void)snprintf(path, sizeof path, "/proc/%u/root%s", pid, path_of_line);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (fd >= 0 &&
        (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_ino != module->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int by_start(const void *a, const void *b)
{
    const struct ntk_host_module *x = a;
    const struct ntk_host_module *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

void ntk_host_modules_read(struct ntk_host_modules *modules, uint32_t pid)
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
    (void)snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    for (size_t i = 0; file && i < LINES_MAX && getline(&line, &line_bytes, file) > 0; i++) {
        if (ntk_host_modules_take_line(modules, line, &before)) {
            struct ntk_host_module *module =
                ntk_vec_at(&modules->modules, modules->modules.count - 1);
            const char *slash = strchr(line, '/');
            module->fd = module->inode != 0 ? open_module(pid, module, slash ? slash : "") : -1;
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
    size_t low = 0;
    size_t high = modules->modules.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ntk_host_module *module = ntk_vec_at(&modules->modules, middle);
        if (module->start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct ntk_host_module *module = low > 0 ? ntk_vec_at(&modules->modules, low - 1) : NULL;
    return module && address < module->end ? module : NULL;
}

/* ---- the map file ---- */

static int by_symbol(const void *a, const void *b)
{
    const struct ntk_host_map_symbol *x = a;
    const struct ntk_host_map_symbol *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

/* "START SIZE name" in hexadecimal. */
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

/* The pid that the process has in its own namespace: the file is named after it. */
static uint32_t own_pid(uint32_t pid)
{
    char path[64];
    char text[STATUS_BYTES];

    (void)snprintf(path, sizeof path, "/proc/%u/status", pid);
    const char *at =
        ntk_fs_read_text(path, text, sizeof text) > 0 ? strstr(text, "\nNSpid:") : NULL;
    if (!at) {
        return pid;
    }
    size_t length = strcspn(at + 1, "\n");
    const char *last = at + 1 + length;
    while (last > at && isdigit((unsigned char)last[-1])) {
        last--;
    }
    uint64_t number = strtoull(last, NULL, 10);
    return number > 0 && number <= UINT32_MAX ? (uint32_t)number : pid;
}

void ntk_host_modules_read_map(struct ntk_host_modules *modules)
{
    struct stat process;
    struct stat status;
    char path[96];

    (void)snprintf(path, sizeof path, "/proc/%u", modules->pid);
    if (stat(path, &process) < 0) {
        return;
    }
    (void)snprintf(path, sizeof path, "/proc/%u/root/tmp/perf-%u.map", modules->pid,
                   own_pid(modules->pid));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == process.st_uid &&
        status.st_size > 0 && status.st_size <= NTK_HOST_MAP_BYTES_MAX) {
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
    size_t low = 0;
    size_t high = modules->symbols.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ntk_host_map_symbol *symbol = ntk_vec_at(&modules->symbols, middle);
        if (symbol->start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct ntk_host_map_symbol *symbol =
        low > 0 ? ntk_vec_at(&modules->symbols, low - 1) : NULL;
    return symbol && address < symbol->end ? symbol->name : NULL;
}

void ntk_host_modules_fini(struct ntk_host_modules *modules)
{
    ntk_vec_each(const struct ntk_host_module, module, &modules->modules) {
        if (module->fd >= 0) {
            close(module->fd);
        }
    }
    ntk_vec_fini(&modules->modules);
    ntk_vec_fini(&modules->symbols);
    free(modules->text);
    *modules = (struct ntk_host_modules){ 0 };
}
