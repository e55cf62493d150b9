/* SPDX-License-Identifier: MIT */
/* Method: fills and prints a table, and compares the text. */
#include <locale.h>

#include "shared/base/text_table.h"
#include "tests/support/unit.h"

static void assert_put(struct ntk_text_table *table, const char *expected)
{
    struct ntk_buf out = { 0 };

    ntk_text_table_put(table, &out);
    assert_true(ntk_buf_ok(&out));
    assert_string_equal(ntk_buf_text_get(&out), expected);
    ntk_buf_fini(&out);
    ntk_text_table_fini(table);
}

static void strings_are_left_aligned_and_numbers_right_aligned(void **state)
{
    static const char *const heads[] = { "NAME", "N", "NOTE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 3, 0x5, heads);
    ntk_text_table_text(&table, "mlp");
    ntk_text_table_format(&table, "%d", 1234);
    ntk_text_table_text(&table, "a\033b"); /* control characters must not reach the terminal */
    ntk_text_table_text(&table, "attention");
    ntk_text_table_us(&table, 982590, true);
    ntk_text_table_us(&table, 0, false);
    assert_put(&table, "NAME           N  NOTE\n"
                       "mlp         1234  a\xef\xbf\xbd"
                       "b\n"
                       "attention  982.6  -\n");
}

static void a_framed_table_has_rules_at_the_requested_rows(void **state)
{
    struct ntk_text_table table;

    ntk_text_table_init(&table, 3, UINT32_MAX, NULL);
    table.framed = 1;
    table.hidden = 1 << 1;
    ntk_text_table_rule(&table);
    ntk_text_table_text(&table, "A");
    ntk_text_table_text(&table, "GONE");
    ntk_text_table_text(&table, "B");
    ntk_text_table_rule(&table);
    ntk_text_table_text(&table, "wide");
    ntk_text_table_text(&table, "x");
    ntk_text_table_text(&table, "");
    ntk_text_table_rule(&table);
    assert_put(&table, "+------+---+\n"
                       "|  A   | B |\n"
                       "+------+---+\n"
                       "| wide |   |\n"
                       "+------+---+\n");
}

static void column_width_is_measured_in_terminal_cells(void **state)
{
    struct ntk_text_table table;

    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        skip();
    }
    ntk_text_table_init(&table, 2, 0x3, NULL);
    ntk_text_table_text(&table, "\xc3\xa9t\xc3\xa9"); /* three cells wide, five bytes */
    ntk_text_table_text(&table, "x");
    ntk_text_table_text(&table, "\xe6\x97\xa5\xe6\x9c\xac"); /* four cells wide, six bytes */
    ntk_text_table_text(&table, "x");
    assert_put(&table, "\xc3\xa9t\xc3\xa9   x\n\xe6\x97\xa5\xe6\x9c\xac  x\n");
}

static void a_cell_colour_adds_no_width_and_is_reset_after_the_cell(void **state)
{
    struct ntk_text_table table;

    ntk_text_table_init(&table, 2, 0x3, NULL);
    ntk_text_table_colour(&table, "\033[1;31m", "FAIL");
    ntk_text_table_text(&table, "x");
    ntk_text_table_colour(&table, "", "PASSED");
    ntk_text_table_text(&table, "y");
    assert_put(&table, "\033[1;31mFAIL\033[0m    x\nPASSED  y\n");
}

static void a_long_cell_is_truncated(void **state)
{
    struct ntk_text_table table;

    ntk_text_table_init(&table, 1, 0, NULL);
    table.cell_bytes = 4;
    ntk_text_table_text(&table, "abcdef");
    assert_put(&table, "abc\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_left_aligned_and_numbers_right_aligned),
        cmocka_unit_test(a_framed_table_has_rules_at_the_requested_rows),
        cmocka_unit_test(column_width_is_measured_in_terminal_cells),
        cmocka_unit_test(a_cell_colour_adds_no_width_and_is_reset_after_the_cell),
        cmocka_unit_test(a_long_cell_is_truncated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
