/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/fs.h"

#define SECTIONS_MAX 4096u
#define SEGMENTS_MAX 256u
#define SYMBOLS_MAX (1u << 18)
#define NAMES_BYTES_MAX (16u << 20)
#define SCAN_BYTES_MAX (32u << 20) /* libraries of ours are far smaller */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* A table of the file; NULL when it is empty, too large, not there, or there is no memory. */
static void *read_table(int fd, uint64_t offset, uint64_t bytes, uint64_t bytes_max)
{
    void *table = bytes > 0 && bytes <= bytes_max ? malloc(bytes + 1) : NULL;

    if (table && (offset > INT64_MAX - bytes || ntk_fs_pread(fd, table, bytes, offset) < 0)) {
        free(table);
        return NULL;
    }
    if (table) {
        ((char *)table)[bytes] = '\0'; /* names end, whatever the file says */
    }
    return table;
}

static bool file_offset(const Elf64_Phdr *segments, size_t count, uint64_t address,
                        uint64_t *out_offset)
{
    for (size_t i = 0; i < count; i++) {
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0 &&
            address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz) {
            *out_offset = address - segments[i].p_vaddr + segments[i].p_offset;
            return true;
        }
    }
    return false;
}

static void add_place(struct ntk_attach_export *export, uint64_t offset)
{
    for (uint32_t i = 0; i < export->count; i++) {
        if (export->offset[i] == offset) {
            return;
        }
    }
    if (export->count < NTK_ATTACH_PLACES) {
        export->offset[export->count++] = offset;
    }
}

int ntk_attach_elf_find(int fd, const char *const *names, size_t count,
                        struct ntk_attach_export *out_exports, struct ntk_err *err)
{
    Elf64_Shdr *sections = NULL;
    Elf64_Phdr *segments = NULL;
    const Elf64_Shdr *table = NULL;
    Elf64_Sym *symbols = NULL;
    char *texts = NULL;
    Elf64_Ehdr header;
    int ret = -EBADMSG;

    memset(out_exports, 0, count * sizeof *out_exports);
    if (ntk_fs_pread(fd, &header, sizeof header, 0) < 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != MACHINE || header.e_type != ET_DYN ||
        header.e_shentsize != sizeof *sections || header.e_phentsize != sizeof *segments ||
        header.e_shnum > SECTIONS_MAX || header.e_phnum > SEGMENTS_MAX) {
        ret = ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "is no shared library of this machine");
        goto out;
    }
    sections = read_table(fd, header.e_shoff, header.e_shnum * sizeof *sections,
                          SECTIONS_MAX * sizeof *sections);
    segments = read_table(fd, header.e_phoff, header.e_phnum * sizeof *segments,
                          SEGMENTS_MAX * sizeof *segments);
    for (size_t i = 0; sections && i < header.e_shnum; i++) {
        if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header.e_shnum) {
            table = &sections[i];
        }
    }
    if (table) {
        symbols = read_table(fd, table->sh_offset, table->sh_size, SYMBOLS_MAX * sizeof *symbols);
        texts = read_table(fd, sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size,
                           NAMES_BYTES_MAX);
    }
    if (!segments || !symbols || !texts) {
        ret = ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "has no table of exports");
        goto out;
    }
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        uint64_t offset;

        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
            symbol->st_name >= sections[table->sh_link].sh_size) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            if (strcmp(texts + symbol->st_name, names[k]) == 0 &&
                file_offset(segments, header.e_phnum, symbol->st_value, &offset)) {
                add_place(&out_exports[k], offset);
            }
        }
    }
    ret = 0;

out:
    free(texts);
    free(symbols);
    free(segments);
    free(sections);
    return ret;
}

/* How our runtime calls itself (nrt_get_version), a number behind it; one without hooks calls
 * itself something else. */
static bool holds_identity(const char *bytes, size_t count)
{
    static const char mark[] = "software NeuronCores ";
    const char *end = bytes + count;

    while ((bytes = memmem(bytes, (size_t)(end - bytes), mark, sizeof mark - 1)) != NULL) {
        bytes += sizeof mark - 1;
        if (*bytes >= '0' && *bytes <= '9') { /* a NUL stands behind the last byte */
            return true;
        }
    }
    return false;
}

bool ntk_attach_elf_has_hooks(int fd)
{
    static const char marker[] = "neuron_hooks_marker"; /* runtime-hooks/interpose/marker.h */
    struct stat status;
    bool found = false;

    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        char *bytes = read_table(fd, 0, (uint64_t)status.st_size, SCAN_BYTES_MAX);
        found = bytes && (holds_identity(bytes, (size_t)status.st_size) ||
                          memmem(bytes, (size_t)status.st_size, marker, sizeof marker));
        free(bytes);
    }
    return found;
}
