/* SPDX-License-Identifier: MIT */
/* Guarantees of the writer that readers.sh cannot check in its files. */
#include "shared/parquet/parquet.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct ntk_parquet_column columns[] = {
    { "time", NTK_PARQUET_TIME_US, false, false },
    { "name", NTK_PARQUET_TEXT, true, true },
};

struct taken {
    size_t bytes_count;
    size_t call_count;
    size_t largest;
    size_t fails_after; /* calls; 0: never */
};

static int take(void *ctx, const void *bytes, size_t bytes_count)
{
    struct taken *taken = ctx;

    (void)bytes;
    taken->call_count++;
    taken->bytes_count += bytes_count;
    taken->largest = bytes_count > taken->largest ? bytes_count : taken->largest;
    return taken->fails_after && taken->call_count > taken->fails_after ? -ENOSPC : 0;
}

static struct ntk_parquet_options options_of(struct taken *taken)
{
    return (struct ntk_parquet_options){ .name = "test",
                                         .columns = columns,
                                         .column_count = 2,
                                         .codec = NTK_PARQUET_ZSTD,
                                         .created_by = "test",
                                         .write = take,
                                         .ctx = taken };
}

static int put(struct ntk_parquet *parquet, int64_t time_us, const char *name)
{
    struct ntk_parquet_value values[2] = { { .is_present = true, .i64 = time_us },
                                           { .is_present = name != NULL } };

    values[1].bytes = name;
    values[1].bytes_count = name ? (uint32_t)strlen(name) : 0;
    return ntk_parquet_put(parquet, values);
}

static void a_missing_required_value_is_rejected(void **state)
{
    struct taken taken = { 0 };
    const struct ntk_parquet_options options = options_of(&taken);
    struct ntk_parquet *parquet = ntk_parquet_create(&options);
    struct ntk_parquet_value values[2] = { { 0 } };

    (void)state;
    assert_int_equal(ntk_parquet_put(parquet, values), -EINVAL);
    ntk_parquet_destroy(parquet);
}

static void an_error_of_the_receiver_is_returned(void **state)
{
    for (size_t calls = 1; calls < 12; calls++) {
        struct taken taken = { .fails_after = calls };
        const struct ntk_parquet_options options = options_of(&taken);
        struct ntk_parquet *parquet = ntk_parquet_create(&options);
        int ret = 0;

        for (int i = 0; i < 10 && ret == 0; i++) {
            ret = put(parquet, i, i % 2 ? "a" : NULL);
        }
        ret = ret < 0 ? ret : ntk_parquet_finish(parquet);
        assert_int_equal(ret, taken.call_count > calls ? -ENOSPC : 0);
        ntk_parquet_destroy(parquet);
    }
    (void)state;
}

static void a_row_group_ends_at_its_row_limit_or_byte_limit(void **state)
{
    struct taken taken = { 0 };
    struct ntk_parquet_options options = options_of(&taken);
    const size_t name_bytes = (size_t)1 << 16;
    char *name = calloc(1, name_bytes + 1);

    (void)state;
    assert_non_null(name);
    options.group_rows_max = 100;
    struct ntk_parquet *parquet = ntk_parquet_create(&options);
    for (int i = 0; i < 99; i++) {
        assert_int_equal(put(parquet, i, "a"), 0);
    }
    assert_int_equal(taken.bytes_count, 4); /* the magic */
    assert_int_equal(put(parquet, 99, "a"), 0);
    assert_true(taken.bytes_count > 4);
    ntk_parquet_destroy(parquet);

    /* Texts that are all different: no dictionary, and the size in bytes ends the group. */
    options.group_rows_max = 0;
    taken = (struct taken){ 0 };
    parquet = ntk_parquet_create(&options);
    size_t rows = 0;
    for (; taken.bytes_count <= 4 && rows < 10000; rows++) {
        memset(name, 'a' + (int)(rows % 26), name_bytes);
        name[rows % name_bytes] = 'A';
        assert_int_equal(put(parquet, (int64_t)rows, name), 0);
    }
    assert_in_range(rows, NTK_PARQUET_GROUP_BYTES / name_bytes - 20,
                    NTK_PARQUET_GROUP_BYTES / name_bytes + 20);
    assert_int_equal(ntk_parquet_finish(parquet), 0);
    assert_int_equal(ntk_parquet_row_count(parquet), rows);
    assert_int_equal(ntk_parquet_byte_count(parquet), taken.bytes_count);
    ntk_parquet_destroy(parquet);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_required_value_is_rejected),
        cmocka_unit_test(an_error_of_the_receiver_is_returned),
        cmocka_unit_test(a_row_group_ends_at_its_row_limit_or_byte_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
