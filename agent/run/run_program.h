/* SPDX-License-Identifier: MIT */
/*
 * run_program - the file that a command name runs, and whether a library can be put into its
 * process.
 *
 * Owner:   caller's storage.
 * Threads: one at a time.
 */
#ifndef NTK_AGENT_RUN_RUN_PROGRAM_H
#define NTK_AGENT_RUN_RUN_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "shared/base/err.h"

#define NTK_RUN_NAME_BYTES 128

struct ntk_run_program {
    char path[PATH_MAX];                /* the program to run; for a script its interpreter */
    bool is_elf;                        /* a valid ELF file that this user may read */
    bool is_ours;                       /* of the same class and machine as this program */
    char loader[PATH_MAX];              /* "": none, the program is static */
    char paths[PATH_MAX];               /* folders in DT_RUNPATH, else DT_RPATH; "" */
    bool paths_come_first;              /* from a DT_RPATH: before LD_LIBRARY_PATH */
    char sanitizer[NTK_RUN_NAME_BYTES]; /* soname of the address sanitizer that it needs; "" */
};

/* Searches like execvp(). -ENOENT, -EACCES. A file that is neither ELF nor script is for the
 * shell. */
int ntk_run_program_find(const char *name, struct ntk_run_program *out, struct ntk_err *err);
/* Whether it is the dynamic loader itself. */
bool ntk_run_program_is_loader(const struct ntk_run_program *program);
/* The reason why no library can be loaded into its process or its children, for example "is a
 * program of another machine"; NULL if it can. */
const char *ntk_run_program_obstacle(const struct ntk_run_program *program);

#endif
