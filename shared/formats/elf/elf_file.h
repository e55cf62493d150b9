/* SPDX-License-Identifier: MIT */
/*
 * elf_file - the facts for the loader in a program or a shared library on disk: its loader, the
 * libraries and folders that it names, its exports and their versions. The file is not loaded.
 *
 * The file is untrusted: every number in it is bounded before use, and its tables are copied, so
 * that truncating the file does no harm. Hooks use this inside a job, where memory allocation may
 * not be allowed: it makes system calls and uses no heap, lock or log (errno may change).
 *
 * Owner:   the caller's storage between _open() and _close(); texts live as long.
 * Threads: any; opened and closed by one at a time per struct.
 */
#ifndef NTK_SHARED_FORMATS_ELF_ELF_FILE_H
#define NTK_SHARED_FORMATS_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_ELF_TABLES 7
#define NTK_ELF_VERSION_HIDDEN 0x8000u /* in the table of versions: only for old programs */

struct ntk_elf_file {
    bool is_ours;        /* 64 bits, and for the machine of this program */
    bool is_library;     /* a shared object; a program may be one, too */
    bool is_versioned;   /* its exports have versions */
    const char *loader;  /* "" if it names none: it is static, or not a program */
    size_t symbol_count; /* exports and imports, from 0 */
    /* ---- for elf_file.c ---- */
    struct ntk_elf_table {
        const void *bytes; /* NULL: absent */
        size_t size;
    } tables[NTK_ELF_TABLES];
};

/* 0; -ENOEXEC if it is not an ELF file, -EBADMSG if it is damaged, another -errno if it cannot be
 * read. For a file that is not ours nothing else may be set. */
int ntk_elf_file_open(struct ntk_elf_file *file, const char *path);
/* Same, for a descriptor, which the caller keeps; its position does not change. */
int ntk_elf_file_open_fd(struct ntk_elf_file *file, int fd);
void ntk_elf_file_close(struct ntk_elf_file *file);

/* The text of an entry of the dynamic section (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH), the
 * first for nth 0; NULL: no more. */
const char *ntk_elf_file_text(const struct ntk_elf_file *file, int64_t tag, size_t nth);

struct ntk_elf_export {
    const char *name;
    const char *version; /* "" when the library has none */
    uint64_t address;    /* in the image */
    bool is_function;
    bool is_indirect; /* an indirect function (IFUNC) */
};

/* The symbol with that index; false when it is not an export. */
bool ntk_elf_file_export(const struct ntk_elf_file *file, size_t index,
                         struct ntk_elf_export *out_export);
/* The export with that name and version; NULL for any version. A library without versions has all
 * names under any. */
bool ntk_elf_file_find(const struct ntk_elf_file *file, const char *name, const char *version,
                       struct ntk_elf_export *out_export);
/* The file position of the code at an address of the image; false: there is none. */
bool ntk_elf_file_code_offset(const struct ntk_elf_file *file, uint64_t address,
                              uint64_t *out_offset);

#endif
