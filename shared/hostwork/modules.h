/* SPDX-License-Identifier: MIT */
/*
 * modules - the code that a process has mapped: its files, held open so that they can be read after
 * the process has ended, and the map file of a just-in-time compiler (/tmp/perf-PID.map).
 *
 * All of it is written by the process: each number is bounded, each text is cut and cleaned later.
 * Only regular files are opened. Processes of a job map the same files: each is open once.
 *
 * Owner:   caller's storage, zeroed before the first _read(); _fini() closes and frees.
 * Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_MODULES_H
#define NTK_SHARED_HOSTWORK_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_HOST_MODULES_MAX 2048u
#define NTK_HOST_MODULE_NAME_BYTES 128
#define NTK_HOST_FILES_MAX 8192u /* code of later ones has no names */
#define NTK_HOST_MAP_SYMBOLS_MAX (1u << 19)
#define NTK_HOST_MAP_BYTES_MAX (64u << 20)

struct ntk_host_module {
    uint64_t start, end; /* of the mapping that holds code */
    uint64_t base;       /* address of the file's first byte, even if it is not mapped */
    uint64_t device, inode;
    uint64_t load;  /* the start of the mapping with offset 0, if known; else base */
    int fd;         /* of the files; -1: not open */
    bool is_looked; /* for an interpreter, by python_join */
    char name[NTK_HOST_MODULE_NAME_BYTES]; /* base name, unchanged */
};

struct ntk_host_map_symbol {
    uint64_t start, end;
    const char *name; /* NUL-ended, in text */
};

struct ntk_host_modules {
    uint32_t pid;
    struct ntk_vec modules; /* struct ntk_host_module, by start */
    struct ntk_vec symbols; /* struct ntk_host_map_symbol, by start */
    char *text;             /* of the map file */
};

/* Files that are open, by device and inode. */
struct ntk_host_files {
    struct ntk_map fds;
};
void ntk_host_files_fini(struct ntk_host_files *files);

/* Adds new entries of /proc/PID/maps, and opens files with a wanted base name (NULL: all). */
void ntk_host_modules_read(struct ntk_host_modules *modules, uint32_t pid,
                           struct ntk_host_files *files, bool (*is_wanted)(const char *name));
/* Same, for one line; false: the line does not describe code. Opens no file. */
bool ntk_host_modules_take_line(struct ntk_host_modules *modules, char *line,
                                struct ntk_host_module *before);
/* Reads the map file of the process, if it belongs to the process's user. */
void ntk_host_modules_read_map(struct ntk_host_modules *modules);
/* Same, for its text, which is taken over (malloc) and has a NUL after its bytes. */
void ntk_host_modules_take_map(struct ntk_host_modules *modules, char *text);
const struct ntk_host_module *ntk_host_modules_at(const struct ntk_host_modules *modules,
                                                  uint64_t address);
const char *ntk_host_modules_symbol(const struct ntk_host_modules *modules, uint64_t address);
void ntk_host_modules_fini(struct ntk_host_modules *modules);

#endif
