/* SPDX-License-Identifier: MIT */
#include "agent/run/elf_look.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define SEGMENTS_MAX 128
#define DYNAMIC_MAX 4096
#define SECTIONS_MAX 4096
#define TABLE_BYTES_MAX (64U << 20)

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct file {
    int fd;
    Elf64_Phdr segments[SEGMENTS_MAX];
    size_t segment_count;
};

/* A text that ends within the buffer; "" when it cannot be read. */
static void text_read(const struct file *file, uint64_t offset, char *text, size_t text_bytes)
{
    ssize_t bytes = pread(file->fd, text, text_bytes - 1, (off_t)offset);

    text[bytes > 0 ? bytes : 0] = '\0';
}

/* Where the file has an address of the image; 0: nowhere. */
static uint64_t offset_of(const struct file *file, uint64_t address)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment->p_offset + (address - segment->p_vaddr);
        }
    }
    return 0;
}

static void needed_look(const char *name, struct ntk_elf_look *out)
{
    if (ntk_str_starts_with(name, "libasan.so") || ntk_str_starts_with(name, "libclang_rt.asan")) {
        (void)ntk_str_copy(out->sanitizer, sizeof out->sanitizer, name);
    }
}

static void dynamic_look(const struct file *file, const Elf64_Phdr *dynamic,
                         struct ntk_elf_look *out)
{
    static Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = dynamic->p_filesz / sizeof *entries;
    uint64_t strings = 0;

    count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
    if (ntk_fs_pread(file->fd, entries, count * sizeof *entries, dynamic->p_offset) < 0) {
        return;
    }
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB) {
            strings = offset_of(file, entries[i].d_un.d_ptr);
        }
    }
    for (size_t i = 0; strings > 0 && i < count && entries[i].d_tag != DT_NULL; i++) {
        char name[NTK_ELF_LOOK_NAME_BYTES];
        uint64_t at = strings + entries[i].d_un.d_val;

        if (entries[i].d_tag == DT_NEEDED) {
            text_read(file, at, name, sizeof name);
            needed_look(name, out);
        } else if (entries[i].d_tag == DT_RUNPATH ||
                   (entries[i].d_tag == DT_RPATH && out->paths[0] == '\0')) {
            text_read(file, at, out->paths, sizeof out->paths);
            out->paths_come_first = entries[i].d_tag == DT_RPATH;
        }
    }
}

static void image_look(struct file *file, const Elf64_Ehdr *header, struct ntk_elf_look *out)
{
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX ||
        ntk_fs_pread(file->fd, file->segments, header->e_phnum * sizeof(Elf64_Phdr),
                     header->e_phoff) < 0) {
        return;
    }
    file->segment_count = header->e_phnum;
    for (size_t i = 0; i < file->segment_count; i++) {
        if (file->segments[i].p_type == PT_INTERP) {
            text_read(file, file->segments[i].p_offset, out->loader, sizeof out->loader);
        } else if (file->segments[i].p_type == PT_DYNAMIC) {
            dynamic_look(file, &file->segments[i], out);
        }
    }
}

int ntk_elf_look(const char *path, struct ntk_elf_look *out, struct ntk_err *err)
{
    static struct file file;
    Elf64_Ehdr header;

    *out = (struct ntk_elf_look){ 0 };
    file = (struct file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (file.fd < 0) {
        int error = errno;
        return ntk_err_set(err, -error, NTK_ERR_NO_OFFSET, "%s: %s", path, strerror(error));
    }
    ssize_t bytes = pread(file.fd, &header, sizeof header, 0);
    out->is_elf = bytes >= (ssize_t)EI_NIDENT && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    out->is_ours = out->is_elf && bytes == (ssize_t)sizeof header &&
                   header.e_ident[EI_CLASS] == ELFCLASS64 &&
                   header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == MACHINE;
    if (out->is_ours) {
        out->is_library = header.e_type == ET_DYN;
        image_look(&file, &header, out);
    }
    close(file.fd);
    return 0;
}

/* ---- what a library exports ---- */

/* The bytes of a section and a NUL; freed by the caller, NULL when they cannot be read. */
static void *section_read(int fd, const Elf64_Shdr *section)
{
    char *bytes = section->sh_size <= TABLE_BYTES_MAX ? malloc(section->sh_size + 1) : NULL;

    if (bytes && ntk_fs_pread(fd, bytes, section->sh_size, section->sh_offset) < 0) {
        free(bytes);
        return NULL;
    }
    if (bytes) {
        bytes[section->sh_size] = '\0';
    }
    return bytes;
}

static bool names_tell(int fd, const Elf64_Shdr *symbol_section, const Elf64_Shdr *string_section,
                       bool (*fn)(const char *name, void *ctx), void *ctx)
{
    Elf64_Sym *symbols = section_read(fd, symbol_section);
    char *strings = section_read(fd, string_section);
    bool is_over = false;

    for (size_t i = 1;
         symbols && strings && !is_over && i < symbol_section->sh_size / sizeof *symbols; i++) {
        is_over = symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_shndx != SHN_ABS &&
                  symbols[i].st_name < string_section->sh_size &&
                  fn(strings + symbols[i].st_name, ctx);
    }
    free(strings);
    free(symbols);
    return is_over;
}

bool ntk_elf_look_exports(const char *path, bool (*fn)(const char *name, void *ctx), void *ctx)
{
    Elf64_Shdr *sections = NULL;
    Elf64_Ehdr header;
    bool is_over = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return false;
    }
    if (ntk_fs_pread(fd, &header, sizeof header, 0) == 0 &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == MACHINE &&
        header.e_shentsize == sizeof *sections && header.e_shnum <= SECTIONS_MAX) {
        sections = calloc((size_t)header.e_shnum + 1, sizeof *sections);
    }
    if (sections &&
        ntk_fs_pread(fd, sections, header.e_shnum * sizeof *sections, header.e_shoff) == 0) {
        for (size_t i = 0; i < header.e_shnum && !is_over; i++) {
            if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header.e_shnum) {
                is_over = names_tell(fd, &sections[i], &sections[sections[i].sh_link], fn, ctx);
            }
        }
    }
    free(sections);
    close(fd);
    return is_over;
}
