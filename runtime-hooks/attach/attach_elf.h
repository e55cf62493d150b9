/* SPDX-License-Identifier: MIT */
/*
 * attach_elf - finds the exports of a shared library as file offsets, which uprobes require.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_ELF_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#define NTK_ATTACH_PLACES 2 /* places per name, because a name may be in two version nodes */

struct ntk_attach_export {
    uint64_t offset[NTK_ATTACH_PLACES];
    uint32_t count; /* 0 if the library lacks it */
};

/* Fills out_exports[i] for names[i]. Returns -EBADMSG with a message if it is not a library for
 * this machine. */
int ntk_attach_elf_find(int fd, const char *const *names, size_t count,
                        struct ntk_attach_export *out_exports, struct ntk_err *err);
/* Returns true if the file is one of our libraries, which write their own segment. */
bool ntk_attach_elf_has_hooks(int fd);

#endif
