/* SPDX-License-Identifier: MIT */
/*
 * modules - the code that a process has mapped: its files, kept open so that they can be read after
 * the process has ended, and a just-in-time compiler's map file (/tmp/perf-PID.map).
 *
 * The process controls all of this data, so each number is bounded, and each text is truncated and
 * later cleaned. Only regular files are opened. Processes of a job map the same files, so each file
 * is opened once.
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
#define NTK_HOST_FILES_MAX 8192u /* maximum open files; code in later files has no names */
#define NTK_HOST_MAP_SYMBOLS_MAX (1u << 19)
#define NTK_HOST_MAP_BYTES_MAX (64u << 20)

struct ntk_host_module {
    uint64_t start, end; /* range of the mapping that contains code */
    uint64_t base;       /* address of the file's first byte, even if that is not mapped */
    uint64_t device, inode;
    uint64_t load;  /* start of the mapping with file offset 0, if known; otherwise base */
    int fd;         /* descriptor, owned by the files; -1: not open */
    uint32_t round; /* the last call of _read() that found the mapping */
    bool is_looked; /* python_join has searched it for an interpreter */
    char name[NTK_HOST_MODULE_NAME_BYTES]; /* base name, not cleaned */
};

struct ntk_host_map_symbol {
    uint64_t start, end;
    const char *name; /* NUL-ended, points into text */
};

struct ntk_host_modules {
    uint32_t pid;
    uint32_t round;         /* number of calls of _read() */
    uint64_t image;         /* ntk_host_process_image() at the last call; 0: unknown */
    struct ntk_vec modules; /* elements are struct ntk_host_module, sorted by start; mappings that
                             * are gone stay, for stacks from before */
    struct ntk_vec symbols; /* elements are struct ntk_host_map_symbol, sorted by start */
    char *text;             /* content of the map file */
};

/* Open files, by device and inode. */
struct ntk_host_files {
    struct ntk_map fds;
};
void ntk_host_files_fini(struct ntk_host_files *files);

/* Adds new entries of /proc/PID/maps, and opens files with a wanted base name (NULL: all). */
void ntk_host_modules_read(struct ntk_host_modules *modules, uint32_t pid,
                           struct ntk_host_files *files, bool (*is_wanted)(const char *name));
/* Same, for one line; false if the line does not describe code. Opens no file. */
bool ntk_host_modules_take_line(struct ntk_host_modules *modules, char *line,
                                struct ntk_host_module *before);
/* Reads the map file of the process, if it belongs to the process's user. */
void ntk_host_modules_read_map(struct ntk_host_modules *modules);
/* Same, for the map file's text, which must come from malloc(); takes ownership. A NUL follows its
 * bytes. */
void ntk_host_modules_take_map(struct ntk_host_modules *modules, char *text);
const struct ntk_host_module *ntk_host_modules_at(const struct ntk_host_modules *modules,
                                                  uint64_t address);
const char *ntk_host_modules_symbol(const struct ntk_host_modules *modules, uint64_t address);
void ntk_host_modules_fini(struct ntk_host_modules *modules);

#endif
