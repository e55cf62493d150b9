/* SPDX-License-Identifier: MIT */
/* Bounded reading. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/cursor.h"
#include "tests/support/unit.h"

static void little_endian_fields_are_read_in_order(void **state)
{
    const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct ntk_cursor cursor;

    ntk_cursor_init(&cursor, bytes, sizeof bytes);
    assert_int_equal(ntk_cursor_u8(&cursor), 1);
    assert_int_equal(ntk_cursor_u16(&cursor), 0x0302);
    assert_int_equal(ntk_cursor_u32(&cursor), 0x07060504);
    assert_true(ntk_cursor_u64(&cursor) == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_true(ntk_cursor_ok(&cursor));
    assert_int_equal(ntk_cursor_left(&cursor), 0);
}

static void a_read_beyond_the_end_fails_permanently_and_records_its_offset(void **state)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    struct ntk_cursor cursor;

    ntk_cursor_init(&cursor, bytes, sizeof bytes);
    assert_non_null(ntk_cursor_take(&cursor, 1));
    assert_int_equal(ntk_cursor_u32(&cursor), 0);
    assert_false(ntk_cursor_ok(&cursor));
    assert_int_equal(cursor.failed_at, 1);
    assert_int_equal(ntk_cursor_u8(&cursor), 0);
    assert_null(ntk_cursor_take(&cursor, 0));
    assert_int_equal(ntk_cursor_left(&cursor), 0);
}

static void a_huge_length_fails_instead_of_overflowing(void **state)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    struct ntk_cursor cursor;

    ntk_cursor_init(&cursor, bytes, sizeof bytes);
    assert_non_null(ntk_cursor_take(&cursor, 2));
    assert_null(ntk_cursor_take(&cursor, SIZE_MAX));
    assert_false(ntk_cursor_ok(&cursor));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_endian_fields_are_read_in_order),
        cmocka_unit_test(a_read_beyond_the_end_fails_permanently_and_records_its_offset),
        cmocka_unit_test(a_huge_length_fails_instead_of_overflowing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
