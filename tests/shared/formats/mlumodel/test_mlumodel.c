/* SPDX-License-Identifier: MIT */
#include "shared/formats/mlumodel/mlumodel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct ntk_mlumodel_function three[] = {
    { .symbol = "subnet0", .program = "program one", .program_bytes = 11, .parallelism = 1 },
    { .symbol = "b", .program = "2", .program_bytes = 1, .parallelism = 16 },
    { .symbol = "third", .program = "program three", .program_bytes = 13, .parallelism = 4 },
};

/* The bytes in memory of exactly their size, freed with free(): a read beyond them is detected. */
static uint8_t *made(size_t *out_bytes)
{
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_mlumodel_write(three, 3, &buf, NULL), 0);
    return (uint8_t *)ntk_buf_take(&buf, out_bytes);
}

static void a_written_model_is_read_back_unchanged(void **state)
{
    struct ntk_mlumodel model = { 0 };
    size_t bytes = 0;
    uint8_t *file = made(&bytes);
    uint64_t size = 0;

    assert_int_equal(ntk_mlumodel_size(file, &size, NULL), 0);
    assert_int_equal(size, bytes);
    assert_int_equal(ntk_mlumodel_read(file, bytes, &model, NULL), 0);
    assert_int_equal(model.bytes, bytes);
    assert_int_equal(model.function_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ntk_mlumodel_function *found = ntk_mlumodel_find(&model, three[i].symbol);

        assert_non_null(found);
        assert_int_equal(found->program_bytes, three[i].program_bytes);
        assert_memory_equal(found->program, three[i].program, three[i].program_bytes);
        assert_int_equal((uintptr_t)((const uint8_t *)found->program - file) % 64, 0);
        assert_int_equal(found->parallelism, three[i].parallelism);
    }
    assert_null(ntk_mlumodel_find(&model, "subnet"));
    ntk_mlumodel_fini(&model);
    free(file);
}

static void bytes_after_the_file_are_ignored(void **state)
{
    struct ntk_mlumodel model = { 0 };
    size_t bytes = 0;
    uint8_t *file = made(&bytes);
    uint8_t *more = calloc(1, bytes + 100);

    assert_non_null(more);
    memcpy(more, file, bytes);
    assert_int_equal(ntk_mlumodel_read(more, bytes + 100, &model, NULL), 0);
    assert_int_equal(model.bytes, bytes);
    ntk_mlumodel_fini(&model);
    free(more);
    free(file);
}

static void every_truncated_file_is_rejected(void **state)
{
    struct ntk_mlumodel model = { 0 };
    size_t bytes = 0;
    uint8_t *file = made(&bytes);

    for (size_t cut = 0; cut < bytes; cut++) {
        uint8_t *part = malloc(cut > 0 ? cut : 1);
        struct ntk_err err = { 0 };

        assert_non_null(part);
        memcpy(part, file, cut);
        assert_int_equal(ntk_mlumodel_read(part, cut, &model, &err), -EBADMSG);
        assert_true(err.text[0] != '\0');
        assert_null(model.functions);
        free(part);
    }
    free(file);
}

static void a_model_file_with_invalid_sizes_is_rejected(void **state)
{
    static const struct {
        size_t at, bytes;
        uint64_t value;
        int ret;
        const char *sentence;
    } lies[] = {
        { 0, 1, 0, -EBADMSG, "not an offline model" },
        { 8, 4, 2, -ENOTSUP, "unsupported offline model version 2 (supported: 1)" },
        { 12, 4, 65, -EBADMSG,
          "the header of 65 bytes and the entries of 128 bytes do not match version 1" },
        { 16, 8, UINT64_MAX, -EBADMSG, "invalid offline model size: 18446744073709551615 bytes" },
        { 16, 8, 10, -EBADMSG, "invalid offline model size: 10 bytes" },
        { 24, 4, 0, -EBADMSG, "0 functions: expected 1 to 4096" },
        { 24, 4, UINT32_MAX, -EBADMSG, "4294967295 functions: expected 1 to 4096" },
        { 24, 4, 4, -EBADMSG, NULL },
        { 24, 4, 4096, -EBADMSG, NULL },
        { 28, 4, 0, -EBADMSG,
          "the header of 64 bytes and the entries of 0 bytes do not match version 1" },
        { 32, 8, UINT64_MAX, -EBADMSG, "the function table is outside the file" },
        { 32, 8, 300, -EBADMSG, NULL },
        { 64, 1, 0, -EBADMSG, "a function has no symbol, or its symbol is not terminated" },
        { 128, 8, UINT64_MAX, -EBADMSG,
          "the program of subnet0 is empty, misaligned or outside the file" },
        { 128, 8, 64, 0, NULL }, /* overlaps the table, which is harmless */
        { 128, 8, 0, -EBADMSG, "the program of subnet0 is empty, misaligned or outside the file" },
        { 128, 8, 449, -EBADMSG,
          "the program of subnet0 is empty, misaligned or outside the file" },
        { 136, 8, 0, -EBADMSG, "the program of subnet0 is empty, misaligned or outside the file" },
        { 136, 8, UINT64_MAX, -EBADMSG,
          "the program of subnet0 is empty, misaligned or outside the file" },
        { 144, 4, 0, -EBADMSG, "subnet0 is compiled for 0 cores" },
    };

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct ntk_mlumodel model = { 0 };
        struct ntk_err err = { 0 };
        size_t bytes = 0;
        uint8_t *file = made(&bytes);

        memcpy(file + lies[i].at, &lies[i].value, lies[i].bytes);
        assert_int_equal(ntk_mlumodel_read(file, bytes, &model, &err), lies[i].ret);
        if (lies[i].sentence) {
            assert_string_equal(err.text, lies[i].sentence);
        }
        ntk_mlumodel_fini(&model);
        free(file);
    }
}

static void two_functions_with_the_same_name_are_rejected(void **state)
{
    struct ntk_mlumodel_function twice[] = { three[0], three[1], three[0] };
    struct ntk_mlumodel model = { 0 };
    struct ntk_buf buf = { 0 };
    struct ntk_err err = { 0 };
    size_t bytes = 0;
    uint8_t *file = made(&bytes);

    assert_int_equal(ntk_mlumodel_write(twice, 3, &buf, &err), -EINVAL);
    assert_string_equal(err.text, "duplicate function 'subnet0'");
    memcpy(file + 64 + 2 * 128, "subnet0", 8);
    assert_int_equal(ntk_mlumodel_read(file, bytes, &model, &err), -EBADMSG);
    assert_string_equal(err.text, "duplicate function 'subnet0'");
    free(file);
}

static void invalid_contents_are_rejected_by_the_model_writer(void **state)
{
    struct ntk_mlumodel_function bad = three[0];
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_mlumodel_write(three, 0, &buf, NULL), -EINVAL);
    bad.symbol[0] = '\0';
    assert_int_equal(ntk_mlumodel_write(&bad, 1, &buf, NULL), -EINVAL);
    memset(bad.symbol, 'x', sizeof bad.symbol);
    assert_int_equal(ntk_mlumodel_write(&bad, 1, &buf, NULL), -EINVAL);
    bad = three[0];
    bad.program_bytes = 0;
    assert_int_equal(ntk_mlumodel_write(&bad, 1, &buf, NULL), -EINVAL);
    bad.program_bytes = NTK_MLUMODEL_BYTES_MAX;
    assert_int_equal(ntk_mlumodel_write(&bad, 1, &buf, NULL), -EINVAL);
    assert_int_equal(buf.bytes_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_model_is_read_back_unchanged),
        cmocka_unit_test(bytes_after_the_file_are_ignored),
        cmocka_unit_test(every_truncated_file_is_rejected),
        cmocka_unit_test(a_model_file_with_invalid_sizes_is_rejected),
        cmocka_unit_test(two_functions_with_the_same_name_are_rejected),
        cmocka_unit_test(invalid_contents_are_rejected_by_the_model_writer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
