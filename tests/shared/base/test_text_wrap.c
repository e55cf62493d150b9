/* SPDX-License-Identifier: MIT */
/* Method: wraps a text at a width, and compares the lines. */
#include <stdlib.h>

#include "shared/base/text_wrap.h"
#include "tests/support/unit.h"

static void expect(const char *text, size_t indent, size_t width, const char *wanted)
{
    struct ntk_buf out = { 0 };

    ntk_text_wrap(&out, text, indent, width);
    assert_true(ntk_buf_ok(&out));
    assert_string_equal(ntk_buf_text_get(&out), wanted);
    ntk_buf_fini(&out);
}

static void lines_break_at_blanks_before_the_width(void **state)
{
    (void)state;
    expect("one two three", 0, 80, "one two three\n");
    expect("one two three", 0, 7, "one two\nthree\n");
    expect("one two three", 0, 6, "one\ntwo\nthree\n");
    expect("  one   two ", 0, 80, "one two\n");
    expect("", 0, 80, "\n");
}

static void continuation_lines_are_indented(void **state)
{
    (void)state;
    expect("one two three", 4, 11, "one two\n    three\n");
}

static void a_word_longer_than_the_width_is_placed_on_its_own_line(void **state)
{
    (void)state;
    expect("a incomprehensible b", 2, 10, "a\n  incomprehensible\n  b\n");
}

static void a_number_is_not_separated_from_its_unit(void **state)
{
    (void)state;
    expect("at most 12.5 % of it", 0, 12, "at most\n12.5 % of it\n");
    expect("12 us (82.7 %).", 0, 12, "12 us\n(82.7 %).\n");
    expect("at most 3 us", 0, 10, "at most\n3 us\n");
    expect("it ends with 3", 0, 80, "it ends with 3\n");
    expect("v6 works", 0, 4, "v6\nworks\n");
}

static void text_width_is_measured_in_characters(void **state)
{
    (void)state;
    expect("\xc2\xb5 \xc2\xb5 more", 0, 8, "\xc2\xb5 \xc2\xb5 more\n");
    expect("\xc2\xb5 \xc2\xb5 more", 0, 7, "\xc2\xb5 \xc2\xb5\nmore\n");
}

/* Tests do not have a terminal as stdout. */
static void the_text_width_is_columns_within_bounds(void **state)
{
    static const struct {
        const char *columns;
        size_t width;
    } cases[] = { { "132", 132 }, { "20", 40 }, { "0", 80 }, { "many", 80 }, { "99999999", 80 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("COLUMNS", cases[i].columns, 1);
        size_t width = ntk_text_width();
        assert_true(width == cases[i].width || (cases[i].columns[0] == '0' && width >= 40) ||
                    (cases[i].columns[0] == 'm' && width >= 40));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_break_at_blanks_before_the_width),
        cmocka_unit_test(continuation_lines_are_indented),
        cmocka_unit_test(a_word_longer_than_the_width_is_placed_on_its_own_line),
        cmocka_unit_test(a_number_is_not_separated_from_its_unit),
        cmocka_unit_test(text_width_is_measured_in_characters),
        cmocka_unit_test(the_text_width_is_columns_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
