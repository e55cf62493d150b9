/* SPDX-License-Identifier: MIT */
/*
 * Which parts of an archive are in memory: all of a small one, and only the named members of one
 * that inflates to far more than its size.
 *
 * Method: the members of a built model, packed again with padding and with unnamed members.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/support/unit.h"

#define MIB ((size_t)1 << 20)
#define MEMBERS_MAX 64

struct archive {
    struct ntk_neff_header header;
    struct ntk_tar tar;
    struct ntk_neff_pack_member members[MEMBERS_MAX];
    size_t count;
    char *padded; /* a JSON member after blanks */
};

/* A model with a constant "w" of zeros. */
static void archive_make(struct archive *a, size_t constant_bytes)
{
    static const struct ntk_tar_limits limits = { 1 << 30, MEMBERS_MAX, 256 };
    struct ntk_neff_build_options options = { .name = "members", .uncompressed = true };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "members");
    uint64_t shape[1] = { constant_bytes };
    uint8_t *zeros = calloc(1, constant_bytes);
    uint8_t *bytes;
    size_t count;

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    (void)ntk_neff_kernel_constant(kernel, "w", NTK_DTYPE_UINT8, 1, shape, zeros);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, NULL), 0);
    ntk_neff_build_destroy(build);
    free(zeros);
    assert_int_equal(ntk_neff_read_header(bytes, count, &a->header, NULL), 0);
    assert_int_equal(
        ntk_tar_read(bytes + a->header.header_size, a->header.data_size, &limits, &a->tar, NULL),
        0);
    free(bytes);
    for (size_t i = 0; i < a->tar.member_count; i++) {
        a->members[a->count++] =
            (struct ntk_neff_pack_member){ a->tar.members[i].name, a->tar.members[i].bytes,
                                           a->tar.members[i].bytes_count };
    }
}

/* Members of zeros before all others, so that those find no room left. */
static void put_zeros_first(struct archive *a, const char *const *names, size_t name_count,
                            const char *zeros, size_t bytes_count)
{
    memmove(a->members + name_count, a->members, a->count * sizeof a->members[0]);
    a->count += name_count;
    for (size_t i = 0; i < name_count; i++) {
        a->members[i] = (struct ntk_neff_pack_member){ names[i], zeros, bytes_count };
    }
}

static void pad(struct archive *a, const char *name, size_t blanks)
{
    for (size_t i = 0; i < a->count; i++) {
        struct ntk_neff_pack_member *member = &a->members[i];

        if (strcmp(member->name, name) == 0) {
            a->padded = malloc(blanks + member->bytes_count);
            memset(a->padded, ' ', blanks);
            memcpy(a->padded + blanks, member->bytes, member->bytes_count);
            member->bytes = a->padded;
            member->bytes_count += blanks;
            return;
        }
    }
    fail_msg("no member %s", name);
}

static uint8_t *archive_pack(struct archive *a, size_t *out_count)
{
    uint8_t *bytes = NULL;

    assert_int_equal(ntk_neff_pack(&a->header, a->members, a->count, true, &bytes, out_count, NULL),
                     0);
    ntk_tar_fini(&a->tar);
    free(a->padded);
    *a = (struct archive){ .count = 0 };
    return bytes;
}

static const struct ntk_neff_var *constant_of(const struct ntk_neff *neff)
{
    return ntk_neff_var_by_name(&neff->kelfs[0].subgraphs[0], "w");
}

static long peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Method: in a child process, which has its own peak of memory. */
static int in_child(int (*check)(const uint8_t *bytes, size_t count), const uint8_t *bytes,
                    size_t count)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        _exit(check(bytes, count));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int opens_in_little_memory(const uint8_t *bytes, size_t count)
{
    long before = peak_kib();
    struct ntk_neff *neff = NULL;
    int ret = ntk_neff_open_bytes(bytes, count, &neff, NULL);
    int bad = ret != 0 || peak_kib() - before > (long)(4 * count / 1024 + 64 * 1024);

    if (neff) {
        const struct ntk_neff_member *bomb = ntk_neff_member_get(neff, "sg00/bomb0.bin");

        bad |= !bomb || bomb->bytes || !bomb->is_omitted || bomb->bytes_count != 32 * MIB;
        bad |= !constant_of(neff)->data;
    }
    ntk_neff_close(neff);
    return bad;
}

static void unreferenced_members_are_not_loaded_into_memory(void **state)
{
    static const char *const names[] = { "sg00/bomb0.bin", "bomb1.json", "sg00/bomb2.npy" };
    struct archive a = { .count = 0 };
    char *zeros = calloc(1, 32 * MIB);
    uint8_t *bytes;
    size_t count;

    archive_make(&a, 4096);
    put_zeros_first(&a, names, 3, zeros, 32 * MIB);
    bytes = archive_pack(&a, &count);
    free(zeros);
    assert_int_equal(in_child(opens_in_little_memory, bytes, count), 0);
    free(bytes);
}

/* Method: unnamed members use up the room; in turn, each kind of JSON is larger than it. */
static void referenced_members_are_read_at_any_position(void **state)
{
    static const char *const names[] = { "bomb0", "bomb1", "bomb2" };
    static const char *const large[] = { "neff.json", "kelf-0.json", "sg00/def.json" };
    char *zeros = calloc(1, 8 * MIB);

    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        struct archive a = { .count = 0 };
        struct ntk_neff *neff = NULL;
        struct ntk_err err = { 0 };
        uint8_t *bytes;
        size_t count;

        archive_make(&a, 26 * MIB);
        put_zeros_first(&a, names, 3, zeros, 8 * MIB);
        pad(&a, large[i], 12 * MIB);
        bytes = archive_pack(&a, &count);
        if (ntk_neff_open_bytes(bytes, count, &neff, &err) != 0) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(constant_of(neff)->data_bytes, 26 * MIB);
        assert_memory_equal(constant_of(neff)->data + 25 * MIB, zeros, MIB);
        assert_non_null(neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_PE].code);
        ntk_neff_close(neff);
        free(bytes);
    }
    free(zeros);
}

static void *land(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                  bool *out_is_there)
{
    void **memory = ctx;

    (void)alignment;
    (void)out_is_there;
    assert_null(*memory);
    assert_non_null(strstr(member, "w"));
    *memory = malloc(bytes_count);
    return *memory;
}

/* Method: no room for the definition, so the first pass cannot know that the constant is one. */
static void a_constant_read_in_the_second_pass_is_stored_in_caller_memory(void **state)
{
    static const char *const names[] = { "bomb0", "bomb1", "bomb2" };
    struct archive a = { .count = 0 };
    void *memory = NULL;
    struct ntk_neff_landing landing = { land, 4096, &memory };
    struct ntk_neff_open_options options = { .landing = &landing, .check_hash = true };
    struct ntk_neff *neff = NULL;
    char *zeros = calloc(1, 8 * MIB);
    uint8_t *bytes;
    size_t count;

    archive_make(&a, 26 * MIB);
    put_zeros_first(&a, names, 3, zeros, 8 * MIB);
    pad(&a, "sg00/def.json", 12 * MIB);
    bytes = archive_pack(&a, &count);
    assert_int_equal(ntk_neff_open_with(bytes, count, &options, &neff, NULL), 0);
    assert_int_equal(neff->hash, NTK_NEFF_HASH_MATCHES);
    assert_ptr_equal(constant_of(neff)->data, memory);
    assert_memory_equal((char *)memory + 25 * MIB, zeros, MIB);
    ntk_neff_close(neff);
    free(memory);
    free(bytes);
    free(zeros);
}

static void constants_are_skipped_if_requested(void **state)
{
    struct ntk_neff_open_options options = { .leave_constants = true };

    for (size_t constant_bytes = 4096; constant_bytes <= 26 * MIB; constant_bytes *= 10240) {
        struct archive a = { .count = 0 };
        struct ntk_neff *neff = NULL;
        uint8_t *bytes;
        size_t count;

        archive_make(&a, constant_bytes);
        bytes = archive_pack(&a, &count);
        assert_int_equal(ntk_neff_open_with(bytes, count, &options, &neff, NULL), 0);
        assert_null(constant_of(neff)->data);
        assert_int_equal(constant_of(neff)->data_bytes, constant_bytes);
        ntk_neff_close(neff);
        free(bytes);
    }
}

static int is_refused_for_memory(const uint8_t *bytes, size_t count)
{
    struct rlimit limit = { 0, 0 };
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    int ret;

    if (!file || fscanf(file, "%lu", &pages) != 1) {
        return 1;
    }
    (void)fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + 72 * MIB;
    (void)setrlimit(RLIMIT_AS, &limit);
    ret = ntk_neff_open_bytes(bytes, count, &neff, &err);
    if (ret != -ENOMEM || neff || !strstr(err.text, "memory")) {
        (void)fprintf(stderr, "%d: %s\n", ret, err.text);
        return 1;
    }
    return 0;
}

/* Method: a child that may allocate little more; a constant, then a named list of empty objects. */
static void neffs_that_exceed_the_memory_limit_are_rejected(void **state)
{
    struct archive a = { .count = 0 };
    uint8_t *bytes;
    size_t count;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers reserve address space */
#endif
    archive_make(&a, 100 * MIB);
    bytes = archive_pack(&a, &count);
    assert_int_equal(in_child(is_refused_for_memory, bytes, count), 0);
    free(bytes);

    archive_make(&a, 64);
    pad(&a, "info.json", 8 * MIB);
    memset(a.padded, ',', 8 * MIB);
    bytes = archive_pack(&a, &count);
    assert_int_equal(in_child(is_refused_for_memory, bytes, count), 0);
    free(bytes);
}

/* A member with an additional key, which has a list of this number of elements. */
static void add_list(struct archive *a, const char *name, const char *key, const char *element,
                     size_t count)
{
    size_t element_bytes = strlen(element);
    char *to;

    pad(a, name, count * element_bytes + 64);
    to = a->padded + sprintf(a->padded, "{\"%s\":[%s", key, element + 1);
    for (size_t k = 1; k < count; k++) {
        memcpy(to, element, element_bytes);
        to += element_bytes;
    }
    memcpy(to, "],", 2);
    *strchr(to + 2, '{') = ' ';
}

static const struct ntk_neff_open_options look_only = { .leave_constants = true,
                                                        .leave_code = true };

static int is_refused_in_little_memory(const uint8_t *bytes, size_t count)
{
    struct ntk_err err = { 0 };
    struct ntk_neff *neff = NULL;
    long before = peak_kib();
    int ret = ntk_neff_open_with(bytes, count, &look_only, &neff, &err);
    long grown = peak_kib() - before;

    ntk_neff_close(neff);
    if (ret != -ENOMEM || !strstr(err.text, NTK_NEFF_MEMORY_TEXT) ||
        grown > (long)(4 * count / 1024 + 64 * 1024)) {
        (void)fprintf(stderr, "%d: %s; %ld KiB for a file of %zu bytes\n", ret, err.text, grown,
                      count);
        return 1;
    }
    return 0;
}

/* Method: a list of small values that compresses a thousandfold, in each JSON member that is
 * read. */
static void json_memory_is_limited_by_the_size_of_the_file(void **state)
{
    static const struct {
        const char *member, *key, *element;
    } bombs[] = {
        { "neff.json", "a", ",[]" },      { "info.json", "a", ",{}" },
        { "kelf-0.json", "a", ",0" },     { "sg00/def.json", "a", ",\"\"" },
        { "sg00/PE.json", "dma", ",{}" }, { "sg00/PE.json", "a", ",[0]" },
    };

    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct archive a = { .count = 0 };
        uint8_t *bytes;
        size_t count;

        archive_make(&a, 64);
        add_list(&a, bombs[i].member, bombs[i].key, bombs[i].element,
                 4 * MIB / strlen(bombs[i].element));
        bytes = archive_pack(&a, &count);
        if (in_child(is_refused_in_little_memory, bytes, count) != 0) {
            fail_msg("%s", bombs[i].member);
        }
        free(bytes);
    }
}

static int looks_at_code_in_little_memory(const uint8_t *bytes, size_t count)
{
    struct ntk_neff *neff = NULL;
    long before = peak_kib();
    int ret = ntk_neff_open_with(bytes, count, &look_only, &neff, NULL);
    int bad = ret != 0 || peak_kib() - before > (long)(4 * count / 1024 + 64 * 1024);

    if (neff) {
        const struct ntk_neff_engine *pe = &neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_PE];

        bad |= pe->code || pe->code_bytes != 80 * MIB || pe->is_empty;
    }
    ntk_neff_close(neff);
    return bad;
}

/* Method: code that compresses a thousandfold, with only the last byte not zero. */
static void engine_code_is_skipped_if_requested(void **state)
{
    struct archive a = { .count = 0 };
    char *code = calloc(1, 80 * MIB);
    uint8_t *bytes;
    size_t count;

    code[80 * MIB - 1] = 1;
    archive_make(&a, 64);
    for (size_t i = 0; i < a.count; i++) {
        if (strcmp(a.members[i].name, "sg00/PE.bin") == 0) {
            a.members[i].bytes = code;
            a.members[i].bytes_count = 80 * MIB;
        }
    }
    bytes = archive_pack(&a, &count);
    free(code);
    assert_int_equal(in_child(looks_at_code_in_little_memory, bytes, count), 0);
    free(bytes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_memory_is_limited_by_the_size_of_the_file),
        cmocka_unit_test(engine_code_is_skipped_if_requested),
        cmocka_unit_test(unreferenced_members_are_not_loaded_into_memory),
        cmocka_unit_test(referenced_members_are_read_at_any_position),
        cmocka_unit_test(a_constant_read_in_the_second_pass_is_stored_in_caller_memory),
        cmocka_unit_test(constants_are_skipped_if_requested),
        cmocka_unit_test(neffs_that_exceed_the_memory_limit_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
