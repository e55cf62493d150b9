/* SPDX-License-Identifier: MIT */
/*
 * Constants that are inflated directly to where the caller needs them, and the hash that is
 * computed in the same pass.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_layout.h"
#include "tests/support/unit.h"

#define MIB ((size_t)1 << 20)
#define MEMBERS_MAX 32

/* Requests of the reader and the memory that it received. */
struct ground {
    struct {
        char name[64];
        uint64_t bytes_count;
        uint64_t alignment;
        uint8_t *bytes;
    } asked[MEMBERS_MAX];
    size_t count;
    const char *refused; /* a member that gets no memory */
    const char *there;   /* a member with its content already in `content` */
    uint8_t *content;
};

static void *ground_take(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                         bool *out_is_there)
{
    struct ground *ground = ctx;
    size_t i = ground->count++;

    assert_in_range(i, 0, MEMBERS_MAX - 1);
    (void)snprintf(ground->asked[i].name, sizeof ground->asked[i].name, "%s", member);
    ground->asked[i].bytes_count = bytes_count;
    ground->asked[i].alignment = alignment;
    if (ground->refused && strcmp(member, ground->refused) == 0) {
        return NULL;
    }
    if (ground->there && strcmp(member, ground->there) == 0) {
        *out_is_there = true;
        return ground->content;
    }
    ground->asked[i].bytes = malloc(bytes_count);
    return ground->asked[i].bytes;
}

static void ground_fini(struct ground *ground)
{
    for (size_t i = 0; i < ground->count; i++) {
        free(ground->asked[i].bytes);
    }
    *ground = (struct ground){ 0 };
}

static int open_on(struct ground *ground, const uint8_t *bytes, size_t count, bool check_hash,
                   struct ntk_neff **out_neff, struct ntk_err *err)
{
    struct ntk_neff_landing landing = { ground_take, 4096, ground };
    struct ntk_neff_open_options options = { &landing, check_hash };

    return ntk_neff_open_with(bytes, count, &options, out_neff, err);
}

/* A model with the constants "a" (.npy), "w" (.npy), "raw" and the small "z"; "a" comes before
 * def.json in the archive, the others after it. */
static uint8_t *model_make(size_t constant_bytes, bool uncompressed, size_t *out_count)
{
    struct ntk_neff_build_options options = { .name = "landing", .uncompressed = uncompressed };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "landing");
    uint64_t shape[1] = { constant_bytes };
    uint8_t *content = malloc(constant_bytes);
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    for (size_t i = 0; i < constant_bytes; i++) {
        content[i] = (uint8_t)(i >> 4 ^ i >> 13);
    }
    (void)ntk_neff_kernel_constant(kernel, "a", NTK_DTYPE_UINT8, 1, shape, content);
    content[0] ^= 0xff;
    (void)ntk_neff_kernel_constant(kernel, "w", NTK_DTYPE_UINT8, 1, shape, content);
    (void)ntk_neff_kernel_raw_constant(kernel, "raw", content, constant_bytes);
    shape[0] = 64;
    (void)ntk_neff_kernel_constant(kernel, "z", NTK_DTYPE_UINT8, 1, shape, content);
    ntk_neff_build_member(build, "sg00/table_of_something_else.bin", content, constant_bytes);
    if (ntk_neff_build_bytes(build, &bytes, out_count, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    free(content);
    return bytes;
}

static const struct ntk_neff_var *var_of(const struct ntk_neff *neff, const char *name)
{
    return ntk_neff_var_by_name(&neff->kelfs[0].subgraphs[0], name);
}

static const uint8_t *asked_bytes(const struct ground *ground, const char *name)
{
    for (size_t i = 0; i < ground->count; i++) {
        if (strcmp(ground->asked[i].name, name) == 0) {
            return ground->asked[i].bytes;
        }
    }
    return NULL;
}

static void large_constants_are_stored_in_memory_of_the_caller(void **state)
{
    static const char *const names[] = { "a", "w", "raw", "z" };

    for (int uncompressed = 0; uncompressed < 2; uncompressed++) {
        struct ground ground = { 0 };
        struct ntk_neff *landed = NULL;
        struct ntk_neff *plain = NULL;
        struct ntk_err err = { 0 };
        size_t count;
        uint8_t *bytes = model_make(100000, uncompressed, &count);

        assert_int_equal(ntk_neff_open_bytes(bytes, count, &plain, &err), 0);
        assert_int_equal(open_on(&ground, bytes, count, false, &landed, &err), 0);
        /* Only large constants are requested. */
        assert_int_equal(ground.count, 3);
        for (size_t i = 0; i < 4; i++) {
            const struct ntk_neff_var *var = var_of(landed, names[i]);
            const struct ntk_neff_var *expected = var_of(plain, names[i]);

            assert_int_equal(var->data_bytes, expected->data_bytes);
            assert_memory_equal(var->data, expected->data, expected->data_bytes);
            if (i < 3) {
                assert_ptr_equal(var->data, asked_bytes(&ground, var->member));
            }
        }
        ntk_neff_close(landed);
        ntk_neff_close(plain);
        free(bytes);
        ground_fini(&ground);
    }
}

static void the_first_definition_of_a_constant_determines_its_alignment(void **state)
{
    struct ground ground = { 0 };
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    static const char def[] =
        "{\"version\":\"1\",\"var\":{"
        "\"w\":{\"type\":\"file\",\"var_id\":0,\"size\":8192,\"alignment\":1024,"
        "\"file_name\":\"w.data\"}},\"dma_queue\":{}}";
    uint8_t *content = calloc(1, 8192);
    struct ntk_neff_pack_member members[] = {
        { "sg00/def.json", def, sizeof def - 1 },
        { "sg00/w.data", content, 8192 },
        { "sg00/x.data", content, 8192 },
    };
    struct ntk_neff_header header = { .pkg_version = 2 };
    uint8_t *bytes;
    size_t count;

    assert_int_equal(ntk_neff_pack(&header, members, 3, true, &bytes, &count, &err), 0);
    assert_int_equal(open_on(&ground, bytes, count, false, &neff, &err), -EBADMSG);
    assert_string_equal(err.text, "the archive has no neff.json");
    assert_int_equal(ground.count, 1);
    assert_string_equal(ground.asked[0].name, "sg00/w.data");
    assert_int_equal(ground.asked[0].bytes_count, 8192);
    assert_int_equal(ground.asked[0].alignment, 1024);
    free(bytes);
    free(content);
    ground_fini(&ground);
}

static void constants_are_read_without_landing_memory_or_if_already_present(void **state)
{
    struct ground ground = { .refused = "sg00/w.npy", .there = "sg00/raw.bin" };
    struct ntk_neff *neff = NULL;
    struct ntk_neff *plain = NULL;
    struct ntk_err err = { 0 };
    size_t count;
    uint8_t *bytes = model_make(100000, false, &count);
    uint8_t *content = malloc(100000);

    assert_int_equal(ntk_neff_open_bytes(bytes, count, &plain, &err), 0);
    ground.refused = var_of(plain, "w")->member;
    ground.there = var_of(plain, "raw")->member;
    ground.content = content;
    memset(content, 0x5a, 100000);
    assert_int_equal(open_on(&ground, bytes, count, false, &neff, &err), 0);
    assert_memory_equal(var_of(neff, "w")->data, var_of(plain, "w")->data, 100000);
    assert_memory_equal(var_of(neff, "a")->data, var_of(plain, "a")->data, 100000);
    /* The existing content was not overwritten. */
    assert_ptr_equal(var_of(neff, "raw")->data, content);
    assert_int_equal(content[0], 0x5a);
    assert_int_equal(content[99999], 0x5a);
    ntk_neff_close(neff);
    ntk_neff_close(plain);
    ground_fini(&ground);
    free(content);
    free(bytes);
}

/* Memory used by the reader, except names and arrays. */
static size_t held_bytes(const struct ntk_neff *neff)
{
    size_t held = 0;

    for (uint32_t i = 0; i < neff->member_count; i++) {
        held += neff->members[i].head_bytes;
        held += neff->members[i].is_landed ? 0 : neff->members[i].bytes_count;
    }
    return held;
}

static void the_reader_keeps_no_copy_of_stored_constants(void **state)
{
    struct ground ground = { 0 };
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    struct ntk_neff_build_options options = { .name = "big" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "big");
    uint64_t shape[1] = { 8 * MIB };
    uint8_t *content = calloc(1, shape[0]);
    uint8_t *bytes = NULL;
    size_t count;
    uint64_t landed = 0;

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    for (int i = 0; i < 8; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "%c", "abcdstuv"[i]);
        (void)ntk_neff_kernel_constant(kernel, name, NTK_DTYPE_UINT8, 1, shape, content);
    }
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, &err), 0);
    ntk_neff_build_destroy(build);
    free(content);
    assert_int_equal(open_on(&ground, bytes, count, true, &neff, &err), 0);
    for (size_t i = 0; i < ground.count; i++) {
        landed += ground.asked[i].bytes_count;
    }
    assert_int_equal(landed, 64 * MIB);
    assert_in_range(held_bytes(neff), 1, 64 * MIB / 1000);
    ntk_neff_close(neff);
    free(bytes);
    ground_fini(&ground);
}

/* Method: the file is truncated at many points; memory that was filled belongs to the caller, who
 * frees it. */
static void a_file_that_ends_early_is_rejected(void **state)
{
    size_t count;
    uint8_t *bytes = model_make(20000, true, &count);
    struct ntk_neff_layout_header *header = (struct ntk_neff_layout_header *)bytes;

    for (size_t payload = 1; payload < count - NTK_NEFF_HEADER_BYTES - 20000; payload += 509) {
        struct ground ground = { 0 };
        struct ntk_neff *neff = NULL;
        struct ntk_err err = { 0 };

        header->data_size = payload;
        int ret = open_on(&ground, bytes, NTK_NEFF_HEADER_BYTES + payload, true, &neff, &err);

        /* A member claims more bytes than there are. */
        assert_true(ret == -EBADMSG || ret == -EFBIG);
        assert_null(neff);
        assert_true(err.text[0] != '\0');
        ground_fini(&ground);
    }
    free(bytes);
}

static void invalid_sizes_allocate_no_memory(void **state)
{
    struct ground ground = { 0 };
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    size_t count;
    uint8_t *bytes = model_make(100000, true, &count);
    uint8_t *shape = memmem(bytes, count, "(100000,)", 9);

    assert_non_null(shape);
    memmove(shape, (const char[]){ '(', '9', '9', '9', '9', '9', ',', ')', ' ' },
            9); /* of "a", which has a variable of 100000 bytes */
    assert_int_equal(open_on(&ground, bytes, count, false, &neff, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "constant 'a' has 100000 bytes, but its file has 99999"));
    assert_null(asked_bytes(&ground, "sg00/a.npy"));
    ground_fini(&ground);
    memmove(shape, (const char[]){ '(', '1', '0', '0', '0', '0', '1', ',', ')' }, 9);
    assert_int_equal(open_on(&ground, bytes, count, false, &neff, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "the array is truncated after 100000 bytes"));
    ground_fini(&ground);
    free(bytes);
}

/* Method: MD5 of the payload, of the payload without its zero tail, and of neither; the pass that
 * inflates and the one that only hashes must agree. */
static void the_hash_computed_while_reading_equals_that_of_a_separate_pass(void **state)
{
    for (int uncompressed = 0; uncompressed < 2; uncompressed++) {
        size_t count;
        uint8_t *bytes = model_make(300000, uncompressed, &count);

        for (int spoilt = 0; spoilt < 2; spoilt++) {
            struct ground ground = { 0 };
            struct ntk_neff *neff = NULL;
            struct ntk_err err = { 0 };
            enum ntk_neff_hash hash = NTK_NEFF_HASH_DIFFERS;

            bytes[172] ^= (uint8_t)spoilt;
            assert_int_equal(ntk_neff_hash_check(bytes, count, &hash, &err), 0);
            assert_int_equal(hash, spoilt ? NTK_NEFF_HASH_DIFFERS : NTK_NEFF_HASH_MATCHES);
            assert_int_equal(open_on(&ground, bytes, count, true, &neff, &err), 0);
            assert_int_equal(neff->hash, hash);
            ntk_neff_close(neff);
            ground_fini(&ground);
        }
        free(bytes);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_constants_are_stored_in_memory_of_the_caller),
        cmocka_unit_test(the_first_definition_of_a_constant_determines_its_alignment),
        cmocka_unit_test(constants_are_read_without_landing_memory_or_if_already_present),
        cmocka_unit_test(the_reader_keeps_no_copy_of_stored_constants),
        cmocka_unit_test(a_file_that_ends_early_is_rejected),
        cmocka_unit_test(invalid_sizes_allocate_no_memory),
        cmocka_unit_test(the_hash_computed_while_reading_equals_that_of_a_separate_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
