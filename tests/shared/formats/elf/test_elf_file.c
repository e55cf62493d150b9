/* SPDX-License-Identifier: MIT */
/*
 * Method: small real files (tests/corpus/elf, made with gcc and -nostdlib) as they are, truncated,
 * and with one number changed. They are for x86-64; a copy claims to be for the machine of this
 * test.
 */
#include "shared/formats/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/unit.h"

#define LIBRARY "library_gnu" /* versions, GNU hash, RUNPATH */
#define PLAIN "library_sysv"  /* neither */

static const char *const samples[] = { LIBRARY, PLAIN, "program", "static" };

struct sample {
    uint8_t *bytes;
    size_t size;
    int fd;
    struct ntk_elf_file file;
};

static struct sample begin(const char *name)
{
    char path[4096];
    struct sample sample = { .fd = memfd_create(name, MFD_CLOEXEC) };

    assert_true(sample.fd >= 0);
    (void)snprintf(path, sizeof path, "%s/tests/corpus/elf/%s", getenv("NTK_SOURCE_DIR"), name);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &sample.bytes, &sample.size, NULL), 0);
#if defined(__aarch64__)
    ((Elf64_Ehdr *)(void *)sample.bytes)->e_machine = EM_AARCH64;
#endif
    return sample;
}

static int look(struct sample *sample, size_t size)
{
    ntk_elf_file_close(&sample->file);
    assert_int_equal(ftruncate(sample->fd, 0), 0);
    assert_int_equal(ntk_fs_pwrite(sample->fd, sample->bytes, size, 0), 0);
    return ntk_elf_file_open_fd(&sample->file, sample->fd);
}

static void end(struct sample *sample)
{
    ntk_elf_file_close(&sample->file);
    close(sample->fd);
    free(sample->bytes);
}

static Elf64_Ehdr *header(struct sample *sample)
{
    return (void *)sample->bytes;
}

static Elf64_Phdr *segment(struct sample *sample, uint32_t type)
{
    Elf64_Phdr *segments = (void *)(sample->bytes + header(sample)->e_phoff);

    for (size_t i = 0; i < header(sample)->e_phnum; i++) {
        if (segments[i].p_type == type) {
            return &segments[i];
        }
    }
    fail();
    return NULL;
}

static Elf64_Dyn *entry(struct sample *sample, int64_t tag)
{
    Elf64_Dyn *entries = (void *)(sample->bytes + segment(sample, PT_DYNAMIC)->p_offset);

    for (size_t i = 0; entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == tag) {
            return &entries[i];
        }
    }
    fail();
    return NULL;
}

/* The bytes of a table; in these files tables lie where their addresses say. */
static void *table(struct sample *sample, int64_t tag)
{
    return sample->bytes + entry(sample, tag)->d_un.d_ptr;
}

/* ---- contents of files ---- */

static void exported_symbols_of_a_library_have_versions(void **state)
{
    struct sample s = begin(LIBRARY);
    struct ntk_elf_export two;
    struct ntk_elf_export three;
    uint64_t offset = 0;
    size_t exports = 0;

    (void)state;
    assert_int_equal(look(&s, s.size), 0);
    assert_true(s.file.is_ours && s.file.is_library && s.file.is_versioned);
    assert_string_equal(s.file.loader, "");
    assert_string_equal(ntk_elf_file_text(&s.file, DT_SONAME, 0), "libnrt.so.1");
    assert_string_equal(ntk_elf_file_text(&s.file, DT_RUNPATH, 0), "$ORIGIN/a:/b");
    assert_null(ntk_elf_file_text(&s.file, DT_RPATH, 0));
    assert_null(ntk_elf_file_text(&s.file, DT_SONAME, 1));
    for (size_t i = 0; i < s.file.symbol_count; i++) {
        exports += ntk_elf_file_export(&s.file, i, &two);
    }
    assert_int_equal(exports, 6); /* imports, and the versions themselves, do not count */
    assert_false(ntk_elf_file_export(&s.file, s.file.symbol_count, &two));

    assert_true(ntk_elf_file_find(&s.file, "nrta_read", "NRT_2.0.0", &two));
    assert_true(ntk_elf_file_find(&s.file, "nrta_read", "NRT_3.0.0", &three));
    assert_true(two.address != three.address && two.is_function && !two.is_indirect);
    assert_string_equal(three.version, "NRT_3.0.0");
    assert_true(ntk_elf_file_code_offset(&s.file, two.address, &offset));
    assert_true(offset == two.address);
    assert_true(ntk_elf_file_find(&s.file, "nrt_ask", NULL, &two));
    assert_true(two.is_indirect && !two.is_function);
    assert_true(ntk_elf_file_find(&s.file, "a_mark", "MARK_1", &two));
    assert_false(two.is_function);
    assert_false(ntk_elf_file_find(&s.file, "nrt_init", "NRT_3.0.0", &two));
    assert_false(ntk_elf_file_find(&s.file, "other", NULL, &two));
    assert_false(ntk_elf_file_find(&s.file, "NRT_2.0.0", NULL, &two));
    end(&s);
}

static void symbols_of_an_unversioned_library_match_any_version(void **state)
{
    struct sample s = begin(PLAIN);
    struct ntk_elf_export export;

    (void)state;
    assert_int_equal(look(&s, s.size), 0);
    assert_false(s.file.is_versioned);
    assert_true(ntk_elf_file_find(&s.file, "nrt_init", "NRT_2.0.0", &export));
    assert_string_equal(export.version, "");
    assert_false(ntk_elf_file_find(&s.file, "nrt_other", NULL, &export));
    end(&s);
}

static void loader_libraries_and_rpath_of_a_program_are_read(void **state)
{
    struct sample s = begin("program");

    (void)state;
    assert_int_equal(look(&s, s.size), 0);
    assert_true(s.file.is_ours && !s.file.is_library);
    assert_string_equal(s.file.loader, "/lib64/ld-linux-x86-64.so.2");
    assert_string_equal(ntk_elf_file_text(&s.file, DT_NEEDED, 0), "libplain.so");
    assert_null(ntk_elf_file_text(&s.file, DT_NEEDED, 1));
    assert_string_equal(ntk_elf_file_text(&s.file, DT_RPATH, 0), "/opt/a");
    end(&s);
}

static void a_static_program_has_no_loader_and_no_exports(void **state)
{
    struct sample s = begin("static");

    (void)state;
    assert_int_equal(look(&s, s.size), 0);
    assert_true(s.file.is_ours);
    assert_string_equal(s.file.loader, "");
    assert_int_equal(s.file.symbol_count, 0);
    assert_null(ntk_elf_file_text(&s.file, DT_NEEDED, 0));
    end(&s);
}

static void elf_files_of_other_architectures_and_non_elf_files_are_distinguished(void **state)
{
    struct sample s = begin(LIBRARY);
    struct ntk_elf_file file;

    (void)state;
    header(&s)->e_machine = EM_PPC64;
    assert_int_equal(look(&s, s.size), 0);
    assert_false(s.file.is_ours);
    header(&s)->e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(look(&s, s.size), 0);
    assert_false(s.file.is_ours);
    memcpy(s.bytes, "#!/bin/sh -e", 12);
    assert_int_equal(look(&s, s.size), -ENOEXEC);
    assert_int_equal(ntk_elf_file_open(&file, "/"), -ENOEXEC);
    assert_int_equal(ntk_elf_file_open(&file, "/dev/zero"), -ENOEXEC);
    assert_int_equal(ntk_elf_file_open(&file, "/no/such/file"), -ENOENT);
    ntk_elf_file_close(&file);
    end(&s);
}

/* ---- invalid contents of files ---- */

static void see_all(struct ntk_elf_file *file)
{
    struct ntk_elf_export export;
    uint64_t offset;

    for (size_t i = 0; i < file->symbol_count; i++) {
        if (ntk_elf_file_export(file, i, &export)) {
            assert_true(strlen(export.name) > 0);
            assert_true(strlen(export.version) < 64);
            (void)ntk_elf_file_code_offset(file, export.address, &offset);
        }
    }
}

static void a_truncated_elf_file_is_rejected_or_read_within_its_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct sample s = begin(samples[i]);

        for (size_t size = 0; size < s.size; size++) {
            int ret = look(&s, size);

            assert_int_equal(ret, size < EI_NIDENT ? -ENOEXEC : ret == 0 ? 0 : -EBADMSG);
            assert_true(size >= sizeof(Elf64_Ehdr) || ret < 0);
            see_all(&s.file);
        }
        end(&s);
    }
}

static void an_elf_file_truncated_in_its_string_table_is_rejected(void **state)
{
    struct sample s = begin(LIBRARY);

    (void)state;
    assert_int_equal(look(&s, entry(&s, DT_STRTAB)->d_un.d_ptr + 10), -EBADMSG);
    end(&s);
}

/* One number in the file is changed; each such file is rejected. */
static void spoil_phoff(struct sample *s)
{
    header(s)->e_phoff = UINT64_MAX - 8;
}
static void spoil_phnum(struct sample *s)
{
    header(s)->e_phnum = PN_XNUM;
}
static void spoil_phentsize(struct sample *s)
{
    header(s)->e_phentsize = 1;
}
static void spoil_dynamic_offset(struct sample *s)
{
    segment(s, PT_DYNAMIC)->p_offset = INT64_MAX;
}
static void spoil_dynamic_size(struct sample *s)
{
    segment(s, PT_DYNAMIC)->p_filesz = (uint64_t)1 << 32;
}
static void spoil_two_dynamics(struct sample *s)
{
    *segment(s, PT_GNU_STACK) = *segment(s, PT_DYNAMIC);
}
static void spoil_image(struct sample *s)
{
    segment(s, PT_LOAD)->p_offset = UINT64_MAX;
}
static void spoil_strings(struct sample *s)
{
    entry(s, DT_STRTAB)->d_un.d_ptr = UINT64_MAX;
}
static void spoil_string_bytes(struct sample *s)
{
    entry(s, DT_STRSZ)->d_un.d_val = UINT64_MAX;
}
static void spoil_string_bytes_a_little(struct sample *s)
{
    entry(s, DT_STRSZ)->d_un.d_val += s->size;
}
static void spoil_symbols(struct sample *s)
{
    entry(s, DT_SYMTAB)->d_un.d_ptr = segment(s, PT_LOAD)->p_filesz - 1;
}
static void spoil_hash(struct sample *s)
{
    entry(s, DT_GNU_HASH)->d_un.d_ptr = segment(s, PT_LOAD)->p_filesz - 4;
}
static void spoil_bucket_count(struct sample *s)
{
    ((uint32_t *)table(s, DT_GNU_HASH))[0] = UINT32_MAX;
}
static void spoil_first_symbol(struct sample *s)
{
    ((uint32_t *)table(s, DT_GNU_HASH))[1] = UINT32_MAX;
}
static void spoil_filter(struct sample *s)
{
    ((uint32_t *)table(s, DT_GNU_HASH))[2] = UINT32_MAX;
}
static void spoil_bucket(struct sample *s)
{
    uint32_t *hash = table(s, DT_GNU_HASH);

    hash[4 + 2 * hash[2]] = UINT32_MAX;
}
/* No chain ends: even words up to the end of the segment. */
static void spoil_chains(struct sample *s)
{
    uint32_t *hash = table(s, DT_GNU_HASH);
    uint8_t *chains = (uint8_t *)(hash + 4 + 2 * hash[2] + hash[0]);

    for (uint8_t *at = chains; at < s->bytes + segment(s, PT_LOAD)->p_filesz; at += 4) {
        *at &= 0xfe;
    }
}
static void spoil_versions(struct sample *s)
{
    entry(s, DT_VERSYM)->d_un.d_ptr = segment(s, PT_LOAD)->p_filesz - 1;
}
static void spoil_definitions(struct sample *s)
{
    entry(s, DT_VERDEF)->d_un.d_ptr = UINT64_MAX - 3;
}
static void spoil_definition_name(struct sample *s)
{
    ((Elf64_Verdef *)table(s, DT_VERDEF))->vd_aux = UINT32_MAX;
}
/* The next entry is the same one, due to the width of addresses. */
static void spoil_definitions_loop(struct sample *s)
{
    Elf64_Phdr *image = segment(s, PT_LOAD);

    ((Elf64_Verdef *)table(s, DT_VERDEF))->vd_next = UINT32_MAX;
    image->p_filesz = image->p_memsz = UINT64_MAX;
}

static void an_elf_file_with_an_invalid_number_is_rejected(void **state)
{
    static void (*const spoils[])(struct sample *) = {
        spoil_phoff,
        spoil_phnum,
        spoil_phentsize,
        spoil_dynamic_offset,
        spoil_dynamic_size,
        spoil_two_dynamics,
        spoil_image,
        spoil_strings,
        spoil_string_bytes,
        spoil_string_bytes_a_little,
        spoil_symbols,
        spoil_hash,
        spoil_bucket_count,
        spoil_first_symbol,
        spoil_filter,
        spoil_bucket,
        spoil_chains,
        spoil_versions,
        spoil_definitions,
        spoil_definition_name,
        spoil_definitions_loop,
    };

    (void)state;
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        struct sample s = begin(LIBRARY);

        spoils[i](&s);
        if (look(&s, s.size) != -EBADMSG) {
            fail_msg("damage %zu is accepted", i);
        }
        assert_int_equal(s.file.symbol_count, 0);
        end(&s);
    }
}

static void a_table_of_four_billion_symbols_is_rejected(void **state)
{
    struct sample s = begin(PLAIN);

    (void)state;
    ((uint32_t *)table(&s, DT_HASH))[1] = UINT32_MAX;
    assert_int_equal(look(&s, s.size), -EBADMSG);
    end(&s);
}

static void thousands_of_elf_version_definitions_are_rejected(void **state)
{
    struct sample s = begin(LIBRARY);
    Elf64_Phdr *image;
    const size_t more = 4096 * sizeof(Elf64_Verdef);

    (void)state;
    /* After the end of the file: each entry has a next one, and its name in itself. */
    uint8_t *bytes = calloc(1, s.size + more);
    memcpy(bytes, s.bytes, s.size);
    free(s.bytes);
    s.bytes = bytes;
    image = segment(&s, PT_LOAD);
    image->p_filesz = image->p_memsz = s.size + more;
    entry(&s, DT_VERDEF)->d_un.d_ptr = s.size;
    for (size_t i = 0; i < 4096; i++) {
        Elf64_Verdef definition = { .vd_ndx = (uint16_t)i,
                                    .vd_next = i < 4095 ? sizeof definition : 0 };

        memcpy(bytes + s.size + i * sizeof definition, &definition, sizeof definition);
    }
    assert_int_equal(look(&s, s.size + more), -EBADMSG);
    end(&s);
}

/* A file of 1 TiB, nearly all of it a hole. */
static void a_huge_file_takes_no_memory_for_its_claimed_sizes(void **state)
{
    struct sample s = begin(LIBRARY);

    (void)state;
    entry(&s, DT_STRSZ)->d_un.d_val = (uint64_t)1 << 39;
    segment(&s, PT_LOAD)->p_filesz = (uint64_t)1 << 39;
    segment(&s, PT_LOAD)->p_memsz = (uint64_t)1 << 39;
    (void)look(&s, s.size);
    assert_int_equal(ftruncate(s.fd, (off_t)1 << 40), 0);
    assert_int_equal(ntk_elf_file_open_fd(&s.file, s.fd), -EBADMSG);
    end(&s);
}

static void elf_names_and_versions_outside_their_tables_are_ignored(void **state)
{
    struct sample s = begin(LIBRARY);
    struct ntk_elf_export export;
    Elf64_Sym *symbols = table(&s, DT_SYMTAB);
    uint16_t *versions = table(&s, DT_VERSYM);

    (void)state;
    assert_int_equal(look(&s, s.size), 0);
    for (size_t i = 0; i < s.file.symbol_count; i++) {
        versions[i] = 0x7fff;
    }
    assert_int_equal(look(&s, s.size), 0);
    assert_true(ntk_elf_file_find(&s.file, "nrt_init", NULL, &export));
    assert_string_equal(export.version, "");
    assert_false(ntk_elf_file_find(&s.file, "nrt_init", "NRT_2.0.0", &export));
    for (size_t i = 0; i < s.file.symbol_count; i++) {
        symbols[i].st_name = UINT32_MAX;
    }
    entry(&s, DT_SONAME)->d_un.d_val = UINT64_MAX;
    assert_int_equal(look(&s, s.size), 0);
    for (size_t i = 0; i < s.file.symbol_count; i++) {
        assert_false(ntk_elf_file_export(&s.file, i, &export));
    }
    assert_null(ntk_elf_file_text(&s.file, DT_SONAME, 0));
    end(&s);
}

/* The last name of the table is followed by bytes outside the file. */
static void an_elf_name_is_truncated_at_the_end_of_its_string_table(void **state)
{
    struct sample s = begin(LIBRARY);
    const char *soname;

    (void)state;
    entry(&s, DT_STRSZ)->d_un.d_val = entry(&s, DT_SONAME)->d_un.d_val + 3;
    assert_int_equal(look(&s, s.size), 0);
    soname = ntk_elf_file_text(&s.file, DT_SONAME, 0);
    assert_string_equal(soname, "lib");
    end(&s);
}

static void an_elf_file_with_any_flipped_bit_is_read_or_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct sample s = begin(samples[i]);

        for (size_t at = 0; at < s.size; at++) {
            uint8_t bit = (uint8_t)(1u << at % 8);

            s.bytes[at] ^= bit;
            if (look(&s, s.size) == 0) {
                see_all(&s.file);
            }
            s.bytes[at] ^= bit;
        }
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exported_symbols_of_a_library_have_versions),
        cmocka_unit_test(symbols_of_an_unversioned_library_match_any_version),
        cmocka_unit_test(loader_libraries_and_rpath_of_a_program_are_read),
        cmocka_unit_test(a_static_program_has_no_loader_and_no_exports),
        cmocka_unit_test(elf_files_of_other_architectures_and_non_elf_files_are_distinguished),
        cmocka_unit_test(a_truncated_elf_file_is_rejected_or_read_within_its_bounds),
        cmocka_unit_test(an_elf_file_truncated_in_its_string_table_is_rejected),
        cmocka_unit_test(an_elf_file_with_an_invalid_number_is_rejected),
        cmocka_unit_test(a_table_of_four_billion_symbols_is_rejected),
        cmocka_unit_test(thousands_of_elf_version_definitions_are_rejected),
        cmocka_unit_test(a_huge_file_takes_no_memory_for_its_claimed_sizes),
        cmocka_unit_test(elf_names_and_versions_outside_their_tables_are_ignored),
        cmocka_unit_test(an_elf_name_is_truncated_at_the_end_of_its_string_table),
        cmocka_unit_test(an_elf_file_with_any_flipped_bit_is_read_or_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
