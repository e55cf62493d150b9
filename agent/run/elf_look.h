/* SPDX-License-Identifier: MIT */
/*
 * elf_look - what the loader will do with a program, read from its file.
 *
 * Owner:   caller's storage. The file is anyone's: every offset is bounded.
 * Threads: any.
 */
#ifndef NTK_AGENT_RUN_ELF_LOOK_H
#define NTK_AGENT_RUN_ELF_LOOK_H

#include <limits.h>
#include <stdbool.h>

#include "shared/base/err.h"

#define NTK_ELF_LOOK_NAME_BYTES 128

struct ntk_elf_look {
    bool is_elf;
    bool is_ours;                            /* the class and the machine of this program */
    bool is_library;                         /* shared object */
    char loader[PATH_MAX];                   /* PT_INTERP; "": none, it is static */
    char paths[PATH_MAX];                    /* DT_RUNPATH or DT_RPATH; "" */
    bool paths_come_first;                   /* DT_RPATH: before LD_LIBRARY_PATH */
    char sanitizer[NTK_ELF_LOOK_NAME_BYTES]; /* soname of the address sanitizer that it needs; "" */
};

/* 0, is_elf false for any other file; -errno when it cannot be read. */
int ntk_elf_look(const char *path, struct ntk_elf_look *out, struct ntk_err *err);

/*
 * Calls fn with each name that a library of this machine exports, until it returns true; what it
 * returned last. False too when the file has no sections that tell.
 */
bool ntk_elf_look_exports(const char *path, bool (*fn)(const char *name, void *ctx), void *ctx);

#endif
