/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

#define VERSION_HIDDEN 0x8000u

/* What the file has at an address of its image, with so many bytes there; NULL. *out_rest: bytes
 * that follow in the segment. */
static const uint8_t *at(const struct elf_file *file, uint64_t address, size_t bytes,
                         size_t *out_rest)
{
    const Elf64_Ehdr *header = (const void *)file->bytes;
    const Elf64_Phdr *segment = (const void *)(file->bytes + header->e_phoff);

    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && address >= segment[i].p_vaddr &&
            address - segment[i].p_vaddr < segment[i].p_filesz) {
            uint64_t offset = address - segment[i].p_vaddr;
            uint64_t rest = segment[i].p_filesz - offset;

            if (segment[i].p_offset > file->size ||
                segment[i].p_filesz > file->size - segment[i].p_offset || rest < bytes) {
                return NULL;
            }
            if (out_rest) {
                *out_rest = rest;
            }
            return file->bytes + segment[i].p_offset + offset;
        }
    }
    return NULL;
}

/* How many symbols a GNU hash table reaches: it says so nowhere. */
static size_t gnu_hash_symbols(const struct elf_file *file, uint64_t address)
{
    size_t rest = 0;
    const uint32_t *table = (const void *)at(file, address, 16, &rest);

    if (!table) {
        return 0;
    }
    uint64_t buckets_at = 16 + (uint64_t)table[2] * 8;
    uint64_t chains_at = buckets_at + (uint64_t)table[0] * 4;
    uint32_t first = table[1];
    uint32_t last = 0;
    if (chains_at > rest) {
        return 0;
    }
    const uint32_t *bucket = table + buckets_at / 4;
    const uint32_t *chain = table + chains_at / 4;
    size_t chain_count = (rest - chains_at) / 4;
    for (uint32_t i = 0; i < table[0]; i++) {
        last = bucket[i] > last ? bucket[i] : last;
    }
    if (last < first) {
        return first;
    }
    while (last - first < chain_count && (chain[last - first] & 1) == 0) {
        last++;
    }
    return last - first < chain_count ? (size_t)last + 1 : 0;
}

static bool tables_find(struct elf_file *file, const Elf64_Dyn *dynamic, size_t count)
{
    uint64_t symbols = 0;
    uint64_t strings = 0;
    uint64_t hash = 0;
    uint64_t gnu_hash = 0;
    uint64_t versions = 0;
    uint64_t definitions = 0;

    for (size_t i = 0; i < count && dynamic[i].d_tag != DT_NULL; i++) {
        switch (dynamic[i].d_tag) {
        case DT_SYMTAB:
            symbols = dynamic[i].d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = dynamic[i].d_un.d_ptr;
            break;
        case DT_SONAME:
            file->soname = dynamic[i].d_un.d_val;
            break;
        case DT_STRSZ:
            file->string_bytes = dynamic[i].d_un.d_val;
            break;
        case DT_HASH:
            hash = dynamic[i].d_un.d_ptr;
            break;
        case DT_GNU_HASH:
            gnu_hash = dynamic[i].d_un.d_ptr;
            break;
        case DT_VERSYM:
            versions = dynamic[i].d_un.d_ptr;
            break;
        case DT_VERDEF:
            definitions = dynamic[i].d_un.d_ptr;
            break;
        default:
            break;
        }
    }
    const uint32_t *table = hash ? (const void *)at(file, hash, 8, NULL) : NULL;
    file->symbol_count = table ? table[1] : gnu_hash ? gnu_hash_symbols(file, gnu_hash) : 0;
    file->symbols = (const void *)at(file, symbols, file->symbol_count * sizeof(Elf64_Sym), NULL);
    file->strings = (const void *)at(file, strings, file->string_bytes, NULL);
    if (versions && definitions) {
        file->versions =
            (const void *)at(file, versions, file->symbol_count * sizeof(uint16_t), NULL);
        file->definitions = at(file, definitions, sizeof(Elf64_Verdef), &file->definition_bytes);
    }
    return file->symbol_count > 0 && file->symbols && file->strings && file->string_bytes > 0 &&
           file->strings[file->string_bytes - 1] == '\0' &&
           (!definitions || !versions || (file->versions && file->definitions));
}

static bool read_tables(struct elf_file *file)
{
    const Elf64_Ehdr *header = (const void *)file->bytes;

    if (file->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_DYN || header->e_machine != MACHINE ||
        header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > file->size ||
        (file->size - header->e_phoff) / sizeof(Elf64_Phdr) < header->e_phnum) {
        return false;
    }
    const Elf64_Phdr *segment = (const void *)(file->bytes + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_DYNAMIC && segment[i].p_offset <= file->size &&
            segment[i].p_filesz <= file->size - segment[i].p_offset) {
            return tables_find(file, (const void *)(file->bytes + segment[i].p_offset),
                               segment[i].p_filesz / sizeof(Elf64_Dyn));
        }
    }
    return false;
}

bool elf_file_open(struct elf_file *file, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(file, 0, sizeof *file);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (bytes != MAP_FAILED) {
            file->bytes = bytes;
            file->size = (size_t)status.st_size;
            file->device = status.st_dev;
            file->inode = status.st_ino;
        }
    }
    (void)close(fd);
    if (file->bytes && !read_tables(file)) {
        elf_file_close(file);
    }
    return file->bytes != NULL;
}

void elf_file_close(struct elf_file *file)
{
    if (file->bytes) {
        (void)munmap((void *)file->bytes, file->size);
        file->bytes = NULL;
    }
}

/* The name of the version that the symbol has; NULL. */
static const char *version_name(const struct elf_file *file, size_t symbol)
{
    uint16_t index = (uint16_t)(file->versions[symbol] & ~VERSION_HIDDEN);
    size_t at_byte = 0;

    while (file->definition_bytes >= sizeof(Elf64_Verdef) &&
           at_byte <= file->definition_bytes - sizeof(Elf64_Verdef)) {
        const Elf64_Verdef *definition = (const void *)(file->definitions + at_byte);
        size_t name_at = at_byte + definition->vd_aux;

        if (definition->vd_ndx == index && name_at <= file->definition_bytes &&
            file->definition_bytes - name_at >= sizeof(Elf64_Verdaux)) {
            const Elf64_Verdaux *name = (const void *)(file->definitions + name_at);

            return name->vda_name < file->string_bytes ? file->strings + name->vda_name : NULL;
        }
        if (definition->vd_next == 0) {
            break;
        }
        at_byte += definition->vd_next;
    }
    return NULL;
}

static const Elf64_Sym *symbol_find(const struct elf_file *file, const char *name,
                                    const char *version)
{
    for (size_t i = 1; i < file->symbol_count; i++) {
        const Elf64_Sym *symbol = &file->symbols[i];

        if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < file->string_bytes &&
            strcmp(file->strings + symbol->st_name, name) == 0) {
            const char *own = file->versions ? version_name(file, i) : version;

            if (own && strcmp(own, version) == 0) {
                return symbol;
            }
        }
    }
    return NULL;
}

bool elf_file_exports(const struct elf_file *file, const char *name, const char *version)
{
    return symbol_find(file, name, version) != NULL;
}

uint64_t elf_file_value(const struct elf_file *file, const char *name, const char *version)
{
    const Elf64_Sym *symbol = symbol_find(file, name, version);

    return symbol && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC ? symbol->st_value : 0;
}

bool elf_file_soname_is(const struct elf_file *file, const char *soname)
{
    return file->soname != 0 && file->soname < file->string_bytes &&
           strcmp(file->strings + file->soname, soname) == 0;
}

void elf_file_version_get(const struct elf_file *file, size_t index, char *version, size_t bytes)
{
    const char *name =
        file->versions && index < file->symbol_count ? version_name(file, index) : NULL;
    size_t length = name ? strnlen(name, bytes - 1) : 0;

    memcpy(version, name ? name : "", length);
    version[length] = '\0';
}
