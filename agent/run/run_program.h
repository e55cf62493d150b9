/* SPDX-License-Identifier: MIT */
/*
 * run_program - finds the file that a command runs, and checks if a library can be loaded into its
 * process.
 *
 * Owner:   the caller provides the storage.
 * Threads: one at a time.
 */
#ifndef NTK_AGENT_RUN_RUN_PROGRAM_H
#define NTK_AGENT_RUN_RUN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "shared/base/err.h"

#define NTK_RUN_NAME_BYTES 128

struct ntk_run_program {
    char path[PATH_MAX];                /* path of the program; for a script, of its interpreter */
    bool is_elf;                        /* a valid ELF file that this user may read */
    bool is_ours;                       /* same class and machine as this program */
    char loader[PATH_MAX];              /* "" for a static program without loader */
    char paths[PATH_MAX];               /* folders in DT_RUNPATH, else DT_RPATH; else "" */
    bool paths_come_first;              /* true for a DT_RPATH: before LD_LIBRARY_PATH */
    char sanitizer[NTK_RUN_NAME_BYTES]; /* soname of the address sanitizer that it needs; else "" */
};

/* Searches like execvp(). -ENOENT, -EACCES. A file that is neither ELF nor a script is run by the
 * shell. */
int ntk_run_program_find(const char *name, struct ntk_run_program *out, struct ntk_err *err);
/* Returns true for the dynamic loader. */
bool ntk_run_program_is_loader(const struct ntk_run_program *program);
/* Returns the reason why no library can be loaded into its process or its children, such as "is a
 * program of another machine"; NULL if it can. */
const char *ntk_run_program_obstacle(const struct ntk_run_program *program);

#endif
