/* SPDX-License-Identifier: MIT */
/*
 * elf_file - which names a shared library on disk exports, and under which versions, without
 * loading it.
 *
 * What answers dlsym() may run while the loader relocates other objects, where nothing may be
 * opened through it; so this reads the file itself, and uses system calls and the caller's memory
 * only.
 *
 * Owner:   caller's storage between _open() and _close().
 * Threads: one struct belongs to one thread; no state of its own.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_ELF_FILE_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file {
    const uint8_t *bytes; /* the mapped file */
    size_t size;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *strings;
    size_t string_bytes;
    const uint16_t *versions; /* one per symbol; NULL: the library has none */
    const uint8_t *definitions;
    size_t definition_bytes;
    uint64_t soname; /* in strings; 0: it has none */
    dev_t device;
    ino_t inode;
};

/* A shared library of this machine; false: there is none at path, or it is damaged. */
bool elf_file_open(struct elf_file *file, const char *path);
void elf_file_close(struct elf_file *file);
/* Whether it exports the name under the version. A library without versions has all names under
 * any. */
bool elf_file_exports(const struct elf_file *file, const char *name, const char *version);
/* Its address in the image; 0 when it exports no such name or lets the loader ask for it. */
uint64_t elf_file_value(const struct elf_file *file, const char *name, const char *version);
bool elf_file_soname_is(const struct elf_file *file, const char *soname);
/* The version of the symbol with that index; "" when it has none. */
void elf_file_version_get(const struct elf_file *file, size_t index, char *version, size_t bytes);

#endif
