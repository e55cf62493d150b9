/* SPDX-License-Identifier: MIT */
/* Numbers as text: widths never change while a number changes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "top/base/format.h"
#include "tests/support/unit.h"

static void percents_are_six_cells_wide(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = { { 0, " 0.00%" },       { 0.004, " 0.00%" }, { 0.005001, " 0.01%" },
                 { 9.996, "10.00%" },   { 71.19, "71.19%" }, { 99.994, "99.99%" },
                 { 99.996, "  100%" },  { 100, "  100%" },   { 250, "  100%" },
                 { -0.0001, " 0.00%" }, { -7, " 0.00%" } };
    char text[NTK_TOP_FORMAT_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_top_number number = { rows[i].value, true };

        assert_string_equal(ntk_top_format_percent(text, number), rows[i].text);
    }
    assert_string_equal(ntk_top_format_percent(text, (struct ntk_top_number){ 0 }), "     -");
}

static void teraflops_are_ten_cells_wide(void **state)
{
    char text[NTK_TOP_FORMAT_BYTES];

    assert_string_equal(ntk_top_format_teraflops(text, (struct ntk_top_number){ 9.8484, true }),
                        "   9.848TF");
    assert_string_equal(ntk_top_format_teraflops(text, (struct ntk_top_number){ 318.278, true }),
                        " 318.278TF");
    assert_string_equal(ntk_top_format_teraflops(text, (struct ntk_top_number){ 0 }), "         -");
}

static void short_percents_keep_their_decimals(void **state)
{
    static const struct {
        int width;
        double value;
        const char *text;
    } rows[] = { { 3, 0, "  0" },       { 3, 99.4, " 99" },     { 3, 99.6, "100" },
                 { 4, 7.6, "  8%" },    { 4, 100, "100%" },     { 5, 7.66, " 7.7%" },
                 { 5, 71.19, "71.2%" }, { 6, 71.19, "71.19%" }, { 6, 100, "  100%" } };
    char text[NTK_TOP_FORMAT_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_top_number number = { rows[i].value, true };

        assert_string_equal(ntk_top_format_percent_short(text, rows[i].width, number),
                            rows[i].text);
    }
    assert_string_equal(ntk_top_format_percent_short(text, 3, (struct ntk_top_number){ 0 }), "  -");
}

/* Percentages are rounded like printf() does, also next to the middle of two values. */
static void short_numbers_are_rounded_like_printf(void **state)
{
    static const struct {
        int width;
        int decimals;
    } rows[] = { { 6, 2 }, { 5, 1 }, { 4, 0 } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 3 * 9950; k++) {
            double value = k % 3 == 0   ? k / 300.0
                           : k % 3 == 1 ? k / 600.0
                                        : nextafter(k / 600.0, 0);
            char text[NTK_TOP_FORMAT_BYTES];
            char number[NTK_TOP_FORMAT_BYTES];
            char expected[2 * NTK_TOP_FORMAT_BYTES];

            (void)snprintf(number, sizeof number, "%.*f%%", rows[i].decimals, value);
            (void)snprintf(expected, sizeof expected, "%*s", rows[i].width, number);
            assert_string_equal(ntk_top_format_percent_short(
                                    text, rows[i].width, (struct ntk_top_number){ value, true }),
                                expected);
        }
    }
}

static void short_teraflops_fit_their_cell(void **state)
{
    static const double values[] = { 0, 0.0004, 9.8484, 10.004, 99.99, 666.6, 999 };
    char text[NTK_TOP_FORMAT_BYTES];

    for (int width = 3; width <= 12; width++) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            struct ntk_top_number number = { values[i], true };

            assert_int_equal(strlen(ntk_top_format_teraflops_short(text, width, number)), width);
        }
    }
    assert_string_equal(
        ntk_top_format_teraflops_short(text, 6, (struct ntk_top_number){ 9.8484, true }), "9.848T");
    assert_string_equal(ntk_top_format_teraflops_short(text, 4, (struct ntk_top_number){ 0 }),
                        "   -");
}

static void bytes_have_one_decimal_and_a_unit_that_fits_the_cell(void **state)
{
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = { { 0, "0.0B" },
                 { 1023, "1023.0B" },
                 { 1024, "1.0KB" },
                 { 1048575, "1.0MB" },
                 { UINT64_C(512) << 20, "512.0MB" },
                 { UINT64_C(96) << 30, "96.0GB" },
                 { UINT64_MAX, "16.0EB" } };
    char text[NTK_TOP_FORMAT_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(
            ntk_top_format_bytes(text, (struct ntk_top_bytes){ rows[i].value, true }),
            rows[i].text);
    }
    assert_string_equal(ntk_top_format_bytes(text, (struct ntk_top_bytes){ 0 }), "-");
}

static void a_delay_is_shown_in_the_largest_unit_without_a_fraction(void **state)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = { { 100, "100ms" }, { 1000, "1s" },    { 1500, "1500ms" }, { 60000, "1m" },
                 { 90000, "90s" }, { 3600000, "1h" }, { 0, "0ms" } };
    char text[NTK_TOP_FORMAT_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(ntk_top_format_delay(text, rows[i].ms * 1000000), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percents_are_six_cells_wide),
        cmocka_unit_test(teraflops_are_ten_cells_wide),
        cmocka_unit_test(short_percents_keep_their_decimals),
        cmocka_unit_test(short_numbers_are_rounded_like_printf),
        cmocka_unit_test(short_teraflops_fit_their_cell),
        cmocka_unit_test(bytes_have_one_decimal_and_a_unit_that_fits_the_cell),
        cmocka_unit_test(a_delay_is_shown_in_the_largest_unit_without_a_fraction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
