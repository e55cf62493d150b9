/* SPDX-License-Identifier: MIT */
/* The growing buffer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "tests/support/unit.h"

static void a_growing_buffer_always_ends_with_nul(void **state)
{
    struct ntk_buf buf = { 0 };

    assert_string_equal(ntk_buf_text_get(&buf), "");
    for (int i = 0; i < 1000; i++) {
        ntk_buf_add_format(&buf, "%d,", i);
        assert_int_equal(buf.bytes[buf.bytes_count], '\0');
    }
    assert_int_equal(buf.bytes_count, 10 * 2 + 90 * 3 + 900 * 4);
    ntk_buf_reset(&buf);
    ntk_buf_add_u64(&buf, UINT64_MAX);
    ntk_buf_add_char(&buf, ' ');
    ntk_buf_add_i64(&buf, INT64_MIN);
    assert_string_equal(buf.bytes, "18446744073709551615 -9223372036854775808");
    ntk_buf_fini(&buf);
}

static void an_impossible_size_is_a_permanent_failure(void **state)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, "kept");
    assert_null(ntk_buf_extend(&buf, SIZE_MAX - 2));
    assert_false(ntk_buf_ok(&buf));
    ntk_buf_add_text(&buf, "lost");
    assert_null(ntk_buf_take(&buf, NULL));
    assert_true(ntk_buf_ok(&buf));
}

static void integers_are_appended_in_little_endian_order(void **state)
{
    struct ntk_buf buf = { 0 };
    const uint8_t expected[] = { 1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8 };
    size_t bytes_count;

    ntk_buf_put_u8(&buf, 1);
    ntk_buf_put_u16(&buf, 0x0203);
    ntk_buf_put_u32(&buf, 0x04050607);
    ntk_buf_put_u64(&buf, UINT64_C(0x08090a0b0c0d0e0f));
    char *bytes = ntk_buf_take(&buf, &bytes_count);
    assert_int_equal(bytes_count, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    free(bytes);
}

static void a_csv_field_is_quoted_if_necessary(void **state)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_csv(&buf, "plain text;");
    ntk_buf_add_char(&buf, ' ');
    ntk_buf_add_csv(&buf, "a,b");
    ntk_buf_add_char(&buf, ' ');
    ntk_buf_add_csv(&buf, "say \"no\"\n");
    assert_string_equal(ntk_buf_text_get(&buf),
                        "plain text; \"a,b\" \"say \"\"no\"\"\xef\xbf\xbd\"");
    ntk_buf_fini(&buf);
}

static void csv_fields_are_never_formulas_and_numbers_are_unchanged(void **state)
{
    static const struct {
        const char *text;
        const char *field;
    } rows[] = {
        { "=1+1", "'=1+1" },
        { "=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"" },
        { "@sum", "'@sum" },
        { "+1-2", "'+1-2" },
        { "-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0" },
        { "-1.5e3", "-1.5e3" },
        { "+7", "+7" },
        { "-", "-" },
        { "a=b", "a=b" },
        { "\x1b[2J\xc2\x9b\xe2\x80\xae\xff",
          "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ntk_buf buf = { 0 };

        ntk_buf_add_csv(&buf, rows[i].text);
        assert_string_equal(ntk_buf_text_get(&buf), rows[i].field);
        ntk_buf_fini(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growing_buffer_always_ends_with_nul),
        cmocka_unit_test(an_impossible_size_is_a_permanent_failure),
        cmocka_unit_test(integers_are_appended_in_little_endian_order),
        cmocka_unit_test(a_csv_field_is_quoted_if_necessary),
        cmocka_unit_test(csv_fields_are_never_formulas_and_numbers_are_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
