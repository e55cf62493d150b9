/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/exports.h"

#include <link.h>
#include <stddef.h>

#include "shared/formats/elf/elf_file.h"

#include "runtime-hooks/interpose/early.h"

/* Defined by the linker: the image of this library. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* The entries of a call in the symbol and version tables. */
struct entry {
    ElfW(Sym) * symbol; /* NULL if the call has none */
    ElfW(Half) * version;
    bool is_old;         /* in the 2.x form, if the 3.0 form is the default of the name */
    uint32_t newer_call; /* the call in the 3.0 form */
};
static struct entry entries[INTERPOSE_CALLS];
static struct interpose_absent shown;

static uintptr_t image_base(void)
{
    return (uintptr_t)&__ehdr_start;
}

static void *dynamic_get(ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *at = _DYNAMIC; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == tag) {
            uintptr_t value = at->d_un.d_ptr;

            /* glibc may have relocated it. */
            return (void *)(value < image_base() ? value + image_base() : value);
        }
    }
    return NULL;
}

static uintptr_t address_get(interpose_function function)
{
    uintptr_t address;

    memcpy(&address, &function, sizeof address);
    return address;
}

static const struct interpose_export *export_get(uint32_t call)
{
    return interpose_exports_2[call].forward ? &interpose_exports_2[call]
                                             : &interpose_exports_3[call];
}

/* Finds the entries of all calls; the address of a symbol identifies its call. */
static void entries_find(ElfW(Sym) * symbols, ElfW(Half) * versions, uint32_t count)
{
    for (uint32_t s = 0; s < count; s++) {
        uintptr_t address = symbols[s].st_value + image_base();

        if (symbols[s].st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbols[s].st_info) != STT_FUNC) {
            continue;
        }
        for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
            if (address_get(export_get(i)->forward) == address) {
                entries[i] = (struct entry){
                    .symbol = &symbols[s],
                    .version = &versions[s],
                    .is_old = (versions[s] & NTK_ELF_VERSION_HIDDEN) != 0,
                };
                break;
            }
        }
    }
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        for (uint32_t n = 0; entries[i].is_old && n < INTERPOSE_CALLS; n++) {
            if (interpose_exports_3[n].forward &&
                strcmp(interpose_calls[n].name, interpose_calls[i].name) == 0) {
                entries[i].newer_call = n;
            }
        }
    }
}

/* Returns the access rights that the file has for the memory at an address, and its alignment, at
 * least a page. */
static uintptr_t segment_get(uintptr_t address, int *out_access)
{
    const ElfW(Phdr) *segment = (const void *)(image_base() + __ehdr_start.e_phoff);

    for (uint32_t i = 0; i < __ehdr_start.e_phnum; i++) {
        uintptr_t offset = address - image_base() - segment[i].p_vaddr;

        if (segment[i].p_type == PT_LOAD && offset < segment[i].p_memsz) {
            *out_access = ((segment[i].p_flags & PF_R) != 0 ? PROT_READ : 0) |
                          ((segment[i].p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                          ((segment[i].p_flags & PF_X) != 0 ? PROT_EXEC : 0);
            return segment[i].p_align;
        }
    }
    return 1;
}

/* Writes with single stores of a byte or word: a concurrent lookup either finds the name or does
 * not. */
static void entry_write(const struct entry *entry, uint32_t call, bool is_absent, bool is_hidden,
                        bool is_certain)
{
    uintptr_t pick = address_get(export_get(call)->pick) - image_base();
    uint8_t info = ELF64_ST_INFO(is_absent && is_certain ? STB_LOCAL : STB_GLOBAL, STT_GNU_IFUNC);

    __atomic_store_n(&entry->symbol->st_value, pick, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->symbol->st_info, info, __ATOMIC_RELEASE);
    __atomic_store_n(entry->version,
                     (ElfW(Half))((*entry->version & ~NTK_ELF_VERSION_HIDDEN) |
                                  (is_absent || is_hidden ? NTK_ELF_VERSION_HIDDEN : 0)),
                     __ATOMIC_RELEASE);
}

void interpose_exports_show(const struct interpose_absent *absent, bool is_certain)
{
    ElfW(Sym) *symbols = dynamic_get(DT_SYMTAB);
    ElfW(Half) *versions = dynamic_get(DT_VERSYM);
    const uint32_t *hash = dynamic_get(DT_HASH); /* number of buckets, then of symbols */

    if (!symbols || !versions || !hash) {
        return;
    }
    uint32_t count = hash[1];
    uintptr_t tables[2][2] = { { (uintptr_t)symbols, (uintptr_t)(symbols + count) },
                               { (uintptr_t)versions, (uintptr_t)(versions + count) } };
    bool is_swapped = tables[1][0] < tables[0][0];
    uintptr_t from = tables[is_swapped][0];
    uintptr_t to = tables[!is_swapped][1];
    int protection = PROT_READ;

    uintptr_t unit = segment_get(from, &protection);

    from = image_base() + (from - image_base()) / unit * unit;
    if (mprotect((void *)from, to - from, protection | PROT_WRITE) != 0) {
        return;
    }
    if (!entries[0].symbol) {
        entries_find(symbols, versions, count);
    }
    for (uint32_t i = 0; i < INTERPOSE_CALLS; i++) {
        const struct entry *entry = &entries[i];

        if (entry->symbol) {
            entry_write(entry, i, interpose_absent_has(absent, i),
                        entry->is_old && !interpose_absent_has(absent, entry->newer_call),
                        is_certain);
        }
    }
    (void)mprotect((void *)from, to - from, protection);
    for (size_t i = 0; i < sizeof shown.words / sizeof *shown.words; i++) {
        __atomic_store_n(&shown.words[i], absent->words[i], __ATOMIC_RELAXED);
    }
}

bool interpose_exports_lack(enum interpose_call call)
{
    return interpose_absent_has(&shown, call);
}
