/* SPDX-License-Identifier: MIT */
/*
 * elf_file - reads the facts that a loader needs from a program or shared library on disk: its
 * loader, the libraries and folders that it names, its exports and their versions. The file is not
 * loaded.
 *
 * The file is untrusted: every number in it is bounded before use, and its tables are copied, so
 * that truncating the file does no harm. Hooks use this inside a job, where memory allocation may
 * not be allowed: it makes system calls and uses no heap, lock or log (errno may change).
 *
 * Owner:   the caller's storage between _open() and _close(); texts are valid as long.
 * Threads: any may read; one at a time opens or closes a struct.
 */
#ifndef NTK_SHARED_FORMATS_ELF_ELF_FILE_H
#define NTK_SHARED_FORMATS_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_ELF_TABLES 7
/* in the version table: only old programs may use the symbol */
#define NTK_ELF_VERSION_HIDDEN 0x8000u

struct ntk_elf_file {
    bool is_ours;        /* a 64-bit file for this program's machine */
    bool is_library;     /* a shared object; a program may be one, too */
    bool is_versioned;   /* its exports have versions */
    const char *loader;  /* path of its loader; "" for a static program or a library */
    size_t symbol_count; /* number of exports and imports, which are indexed from 0 */
    /* ---- private to elf_file.c ---- */
    struct ntk_elf_table {
        const void *bytes; /* NULL: absent */
        size_t size;
    } tables[NTK_ELF_TABLES];
};

/* Returns 0, -ENOEXEC if it is not an ELF file, -EBADMSG if it is damaged, or another -errno if it
 * cannot be read. If the file is not ours, nothing else may be set. */
int ntk_elf_file_open(struct ntk_elf_file *file, const char *path);
/* Same, for a descriptor, which the caller keeps; its position does not change. */
int ntk_elf_file_open_fd(struct ntk_elf_file *file, int fd);
void ntk_elf_file_close(struct ntk_elf_file *file);

/* The text of an entry of the dynamic section (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH); nth
 * counts from 0. NULL after the last. */
const char *ntk_elf_file_text(const struct ntk_elf_file *file, int64_t tag, size_t nth);

struct ntk_elf_export {
    const char *name;
    const char *version; /* "" if the library has no versions */
    uint64_t address;    /* address in the image */
    bool is_function;
    bool is_indirect; /* an indirect function (IFUNC) */
};

/* Gets the symbol with that index; false if it is not an export. */
bool ntk_elf_file_export(const struct ntk_elf_file *file, size_t index,
                         struct ntk_elf_export *out_export);
/* Finds the export with that name and version; version NULL: any. In a library without versions, a
 * name matches any version. */
bool ntk_elf_file_find(const struct ntk_elf_file *file, const char *name, const char *version,
                       struct ntk_elf_export *out_export);
/* Gets the file position of the code at an address of the image; false if there is none. */
bool ntk_elf_file_code_offset(const struct ntk_elf_file *file, uint64_t address,
                              uint64_t *out_offset);

#endif
