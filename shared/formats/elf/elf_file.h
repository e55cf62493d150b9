/* SPDX-License-Identifier: MIT */
/*
 * elf_file - what a program or a shared library on disk says to the loader: its loader, the
 * libraries and folders it names, what it exports and under which versions; nothing is loaded.
 *
 * The file is untrusted: every number in it is bounded before use, and its tables are copied, so
 * that a file which is truncated meanwhile does no harm. Hooks read with this inside a job, at
 * times when its memory may not be allocated from: it makes system calls and uses no heap, lock,
 * log or errno of its own (errno may change).
 *
 * Owner:   caller's storage between _open() and _close(); texts live as long.
 * Threads: any; opened and closed by one at a time per struct.
 */
#ifndef NTK_SHARED_FORMATS_ELF_ELF_FILE_H
#define NTK_SHARED_FORMATS_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_ELF_TABLES 7

struct ntk_elf_file {
    bool is_ours;        /* 64 bits, and of the machine of this program */
    bool is_library;     /* a shared object; a program may be one too */
    bool is_versioned;   /* its exports have versions */
    const char *loader;  /* "" when it names none: it is static, or no program */
    size_t symbol_count; /* exports and imports, from 0 */
    /* ---- for elf_file.c ---- */
    struct ntk_elf_table {
        const void *bytes; /* NULL: absent */
        size_t size;
    } tables[NTK_ELF_TABLES];
};

/* 0; -ENOEXEC when it is not an ELF file, -EBADMSG when it is a damaged one, another -errno when it
 * cannot be read. For a file that is not ours there may be nothing but that. */
int ntk_elf_file_open(struct ntk_elf_file *file, const char *path);
/* The same of a descriptor, which remains the caller's; its position does not move. */
int ntk_elf_file_open_fd(struct ntk_elf_file *file, int fd);
void ntk_elf_file_close(struct ntk_elf_file *file);

/* The text of an entry of the dynamic section (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH), the
 * first for nth 0; NULL: there are no more. */
const char *ntk_elf_file_text(const struct ntk_elf_file *file, int64_t tag, size_t nth);

struct ntk_elf_export {
    const char *name;
    const char *version; /* "" when the library has none */
    uint64_t address;    /* in the image */
    bool is_function;
    bool is_indirect; /* a function that says which function it is */
};

/* The symbol with that index; false when it is not an export. */
bool ntk_elf_file_export(const struct ntk_elf_file *file, size_t index,
                         struct ntk_elf_export *out_export);
/* The export with that name and version; NULL for any version. A library without versions has all
 * names under any. */
bool ntk_elf_file_find(const struct ntk_elf_file *file, const char *name, const char *version,
                       struct ntk_elf_export *out_export);
/* Where the file has the code at an address of the image; false: it has none there. */
bool ntk_elf_file_code_offset(const struct ntk_elf_file *file, uint64_t address,
                              uint64_t *out_offset);

#endif
