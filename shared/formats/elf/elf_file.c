/* SPDX-License-Identifier: MIT */
#include "shared/formats/elf/elf_file.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* Limits far above real libraries: that of a C++ framework has 10^5 symbols and 20 MiB of names. */
#define SEGMENTS_MAX 256u
#define ENTRIES_MAX 65536u
#define STRING_BYTES_MAX (256u << 20)
#define SYMBOLS_MAX (1u << 21)
#define VERSIONS_MAX 1024u

enum { SEGMENTS, DYNAMIC, STRINGS, SYMBOLS, VERSIONS, VERSION_NAMES, LOADER };
static_assert(LOADER + 1 == NTK_ELF_TABLES, "each table has its place");

static int bytes_read(int fd, void *bytes, uint64_t count, uint64_t offset)
{
    if (offset > INT64_MAX - count) {
        return -EBADMSG;
    }
    for (uint64_t done = 0; done < count;) {
        ssize_t some = pread(fd, (char *)bytes + done, count - done, (off_t)(offset + done));

        if (some > 0) {
            done += (uint64_t)some;
        } else if (some == 0) {
            return -EBADMSG; /* the file ends before */
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* Allocates a zeroed table with a NUL after it. */
static void *table_make(struct ntk_elf_file *file, int which, uint64_t bytes)
{
    void *made = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED) {
        return NULL;
    }
    file->tables[which] = (struct ntk_elf_table){ made, bytes };
    return made;
}

static int table_read(struct ntk_elf_file *file, int which, int fd, uint64_t offset, uint64_t bytes)
{
    struct stat status;

    /* Reject more bytes than the file has, so that missing data takes no memory. */
    if (fstat(fd, &status) != 0 || bytes > (uint64_t)status.st_size) {
        return -EBADMSG;
    }
    void *made = table_make(file, which, bytes);
    return made ? bytes_read(fd, made, bytes, offset) : -ENOMEM;
}

static const void *table_get(const struct ntk_elf_file *file, int which)
{
    return file->tables[which].bytes;
}

/* The file position of this many bytes at an address of the image; all of them must be in one
 * segment. */
static bool offset_get(const struct ntk_elf_file *file, uint64_t address, uint64_t bytes,
                       uint32_t flags, uint64_t *out_offset)
{
    const Elf64_Phdr *segment = table_get(file, SEGMENTS);
    size_t count = file->tables[SEGMENTS].size / sizeof *segment;

    for (size_t i = 0; i < count; i++) {
        if (segment[i].p_type == PT_LOAD && (segment[i].p_flags & flags) == flags &&
            address >= segment[i].p_vaddr && address - segment[i].p_vaddr < segment[i].p_filesz) {
            uint64_t distance = address - segment[i].p_vaddr;

            *out_offset = segment[i].p_offset + distance;
            return bytes <= segment[i].p_filesz - distance && *out_offset >= distance &&
                   *out_offset <= INT64_MAX;
        }
    }
    return false;
}

static int image_read(const struct ntk_elf_file *file, int fd, uint64_t address, void *bytes,
                      uint64_t count)
{
    uint64_t offset;

    return offset_get(file, address, count, 0, &offset) ? bytes_read(fd, bytes, count, offset)
                                                        : -EBADMSG;
}

static int image_table_read(struct ntk_elf_file *file, int which, int fd, uint64_t address,
                            uint64_t bytes)
{
    uint64_t offset;

    return offset_get(file, address, bytes, 0, &offset) ? table_read(file, which, fd, offset, bytes)
                                                        : -EBADMSG;
}

/* ---- the number of symbols ---- */

struct words {
    const struct ntk_elf_file *file;
    int fd;
    uint64_t address;
    uint32_t next;
    uint32_t count;
    uint32_t words[256];
};

/* Reads the next word from an address; at most `left` more words follow it. */
static int word_next(struct words *words, uint64_t left, uint32_t *out_word)
{
    if (words->next == words->count) {
        uint64_t most = sizeof words->words / sizeof *words->words;
        uint32_t count = (uint32_t)(left < most ? left + 1 : most);
        int ret;

        /* The last block of a segment may be shorter. */
        while ((ret = image_read(words->file, words->fd, words->address, words->words,
                                 count * sizeof *words->words)) < 0 &&
               count > 1) {
            count /= 2;
        }
        if (ret < 0) {
            return ret;
        }
        words->address += count * sizeof *words->words;
        words->count = count;
        words->next = 0;
    }
    *out_word = words->words[words->next++];
    return 0;
}

/* A GNU hash table does not record the number of symbols: the last symbol ends the chain of the
 * last bucket. */
static int gnu_hash_count(const struct ntk_elf_file *file, int fd, uint64_t address,
                          uint32_t *out_count)
{
    uint32_t header[4]; /* buckets, first symbol, words of the filter, shift */
    uint32_t last = 0;
    uint32_t word = 0;
    int ret = image_read(file, fd, address, header, sizeof header);

    if (ret < 0) {
        return ret;
    }
    if (header[0] > SYMBOLS_MAX || header[1] > SYMBOLS_MAX) {
        return -EBADMSG;
    }
    struct words words = { .file = file, .fd = fd };
    words.address = address + sizeof header + (uint64_t)header[2] * sizeof(uint64_t);
    uint64_t chains = words.address + (uint64_t)header[0] * sizeof word;
    for (uint32_t i = 0; i < header[0]; i++) {
        ret = word_next(&words, header[0] - i - 1, &word);
        if (ret < 0) {
            return ret;
        }
        last = word > last ? word : last;
    }
    *out_count = header[1];
    if (last < header[1]) {
        return 0;
    }
    words = (struct words){ .file = file, .fd = fd };
    words.address = chains + (uint64_t)(last - header[1]) * sizeof word;
    do {
        ret = last < SYMBOLS_MAX ? word_next(&words, SYMBOLS_MAX, &word) : -EBADMSG;
        last++;
    } while (ret == 0 && (word & 1) == 0);
    *out_count = last;
    return ret;
}

/* ---- the dynamic section ---- */

/* The last entry with a tag, as the loader uses it; 0 if there is none. */
static uint64_t entry_get(const struct ntk_elf_file *file, int64_t tag)
{
    const Elf64_Dyn *entry = table_get(file, DYNAMIC);
    size_t count = file->tables[DYNAMIC].size / sizeof *entry;
    uint64_t value = 0;

    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++) {
        value = entry[i].d_tag == tag ? entry[i].d_un.d_val : value;
    }
    return value;
}

static const char *string_get(const struct ntk_elf_file *file, uint64_t at)
{
    const char *strings = table_get(file, STRINGS);

    return strings && at < file->tables[STRINGS].size ? strings + at : NULL;
}

static int symbols_read(struct ntk_elf_file *file, int fd)
{
    uint64_t hash = entry_get(file, DT_HASH);
    uint64_t gnu_hash = entry_get(file, DT_GNU_HASH);
    uint32_t counts[2] = { 0 }; /* number of buckets, number of symbols */
    int ret = 0;

    if (hash) {
        ret = image_read(file, fd, hash, counts, sizeof counts);
    } else if (gnu_hash) {
        ret = gnu_hash_count(file, fd, gnu_hash, &counts[1]);
    }
    if (ret == 0 && counts[1] > SYMBOLS_MAX) {
        ret = -EBADMSG;
    }
    if (ret == 0 && counts[1] > 0) {
        ret = image_table_read(file, SYMBOLS, fd, entry_get(file, DT_SYMTAB),
                               counts[1] * sizeof(Elf64_Sym));
        file->symbol_count = ret == 0 ? counts[1] : 0;
    }
    return ret;
}

/* Reads the names of versions by index, and the version index of each symbol. */
static int versions_read(struct ntk_elf_file *file, int fd)
{
    uint64_t indices = entry_get(file, DT_VERSYM);
    uint64_t address = entry_get(file, DT_VERDEF);
    uint32_t *names;

    if (!indices || !address || file->symbol_count == 0) {
        return 0;
    }
    int ret = image_table_read(file, VERSIONS, fd, indices, file->symbol_count * sizeof(uint16_t));
    if (ret < 0) {
        return ret;
    }
    names = table_make(file, VERSION_NAMES, VERSIONS_MAX * sizeof *names);
    if (!names) {
        return -ENOMEM;
    }
    file->is_versioned = true;
    for (uint32_t i = 0; i < VERSIONS_MAX; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux name = { 0 };

        ret = image_read(file, fd, address, &definition, sizeof definition);
        if (ret == 0) {
            ret = image_read(file, fd, address + definition.vd_aux, &name, sizeof name);
        }
        if (ret < 0) {
            return ret;
        }
        if (definition.vd_ndx < VERSIONS_MAX) {
            names[definition.vd_ndx] = name.vda_name;
        }
        if (definition.vd_next == 0) {
            return 0;
        }
        address += definition.vd_next;
    }
    return -EBADMSG;
}

static int dynamic_read(struct ntk_elf_file *file, int fd, const Elf64_Phdr *segment)
{
    uint64_t bytes = segment->p_filesz - segment->p_filesz % sizeof(Elf64_Dyn);

    if (table_get(file, DYNAMIC) || bytes > ENTRIES_MAX * sizeof(Elf64_Dyn)) {
        return -EBADMSG;
    }
    int ret = table_read(file, DYNAMIC, fd, segment->p_offset, bytes);
    uint64_t string_bytes = ret == 0 ? entry_get(file, DT_STRSZ) : 0;
    if (string_bytes > STRING_BYTES_MAX) {
        ret = -EBADMSG;
    }
    if (ret == 0 && string_bytes > 0) {
        ret = image_table_read(file, STRINGS, fd, entry_get(file, DT_STRTAB), string_bytes);
    }
    if (ret == 0) {
        ret = symbols_read(file, fd);
    }
    return ret == 0 ? versions_read(file, fd) : ret;
}

static int loader_read(struct ntk_elf_file *file, int fd, const Elf64_Phdr *segment)
{
    if (table_get(file, LOADER) || segment->p_filesz > PATH_MAX) {
        return -EBADMSG;
    }
    int ret = table_read(file, LOADER, fd, segment->p_offset, segment->p_filesz);
    file->loader = ret == 0 ? table_get(file, LOADER) : "";
    return ret;
}

static int image_look(struct ntk_elf_file *file, int fd, const Elf64_Ehdr *header)
{
    const Elf64_Phdr *segment;
    int ret = 0;

    if (header->e_phnum == 0) {
        return 0;
    }
    if (header->e_phentsize != sizeof *segment || header->e_phnum > SEGMENTS_MAX) {
        return -EBADMSG;
    }
    ret = table_read(file, SEGMENTS, fd, header->e_phoff, header->e_phnum * sizeof *segment);
    segment = table_get(file, SEGMENTS);
    for (size_t i = 0; ret == 0 && i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_INTERP) {
            ret = loader_read(file, fd, &segment[i]);
        } else if (segment[i].p_type == PT_DYNAMIC) {
            ret = dynamic_read(file, fd, &segment[i]);
        }
    }
    return ret;
}

int ntk_elf_file_open_fd(struct ntk_elf_file *file, int fd)
{
    struct stat status;
    Elf64_Ehdr header;

    *file = (struct ntk_elf_file){ .loader = "" };
    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return -ENOEXEC;
    }
    int ret = bytes_read(fd, header.e_ident, sizeof header.e_ident, 0);
    if (ret == -EBADMSG || (ret == 0 && memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)) {
        return -ENOEXEC;
    }
    if (ret < 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB) {
        return ret;
    }
    ret = bytes_read(fd, &header, sizeof header, 0);
    if (ret == 0) {
        file->is_ours = header.e_machine == MACHINE;
        file->is_library = header.e_type == ET_DYN;
        ret = image_look(file, fd, &header);
    }
    if (ret < 0) {
        ntk_elf_file_close(file);
    }
    return ret;
}

int ntk_elf_file_open(struct ntk_elf_file *file, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *file = (struct ntk_elf_file){ .loader = "" };
    if (fd < 0) {
        return -errno;
    }
    int ret = ntk_elf_file_open_fd(file, fd);
    (void)close(fd);
    return ret;
}

void ntk_elf_file_close(struct ntk_elf_file *file)
{
    for (int i = 0; i < NTK_ELF_TABLES; i++) {
        if (file->tables[i].bytes) {
            (void)munmap((void *)file->tables[i].bytes, file->tables[i].size + 1);
        }
    }
    *file = (struct ntk_elf_file){ .loader = "" };
}

const char *ntk_elf_file_text(const struct ntk_elf_file *file, int64_t tag, size_t nth)
{
    const Elf64_Dyn *entry = table_get(file, DYNAMIC);
    size_t count = file->tables[DYNAMIC].size / sizeof *entry;

    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++) {
        if (entry[i].d_tag == tag && nth-- == 0) {
            return string_get(file, entry[i].d_un.d_val);
        }
    }
    return NULL;
}

static const char *version_get(const struct ntk_elf_file *file, size_t index)
{
    const uint16_t *versions = table_get(file, VERSIONS);
    const uint32_t *names = table_get(file, VERSION_NAMES);

    if (!file->is_versioned) {
        return "";
    }
    uint32_t version = versions[index] & ~NTK_ELF_VERSION_HIDDEN;
    const char *name =
        version < VERSIONS_MAX && names[version] ? string_get(file, names[version]) : NULL;
    return name ? name : "";
}

bool ntk_elf_file_export(const struct ntk_elf_file *file, size_t index,
                         struct ntk_elf_export *out_export)
{
    const Elf64_Sym *symbol = table_get(file, SYMBOLS);

    if (index >= file->symbol_count) {
        return false;
    }
    symbol += index;
    const char *name = string_get(file, symbol->st_name);
    /* Skip the version itself, which is an absolute symbol. */
    if (!name || name[0] == '\0' || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
        ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) {
        return false;
    }
    *out_export = (struct ntk_elf_export){
        .name = name,
        .version = version_get(file, index),
        .address = symbol->st_value,
        .is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC,
        .is_indirect = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
    };
    return true;
}

bool ntk_elf_file_find(const struct ntk_elf_file *file, const char *name, const char *version,
                       struct ntk_elf_export *out_export)
{
    struct ntk_elf_export found;

    for (size_t i = 0; i < file->symbol_count; i++) {
        if (ntk_elf_file_export(file, i, &found) && strcmp(found.name, name) == 0 &&
            (!version || !file->is_versioned || strcmp(found.version, version) == 0)) {
            *out_export = found;
            return true;
        }
    }
    return false;
}

bool ntk_elf_file_code_offset(const struct ntk_elf_file *file, uint64_t address,
                              uint64_t *out_offset)
{
    return offset_get(file, address, 1, PF_X, out_offset);
}
