/* SPDX-License-Identifier: MIT */
/* Parsing of user input. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "tests/support/unit.h"

static void durations_follow_go_syntax_and_plain_numbers_are_seconds(void **state)
{
    static const struct {
        const char *text;
        int ret;
        uint64_t ns;
    } rows[] = {
        { "5s", 0, UINT64_C(5000000000) },
        { "500ms", 0, UINT64_C(500000000) },
        { "1m30s", 0, UINT64_C(90000000000) },
        { "1.5h", 0, UINT64_C(5400000000000) },
        { "10us", 0, 10000 },
        { "2", 0, UINT64_C(2000000000) },
        { "0.25", 0, UINT64_C(250000000) },
        { "", -EINVAL, 0 },
        { "s", -EINVAL, 0 },
        { "5 s", -EINVAL, 0 },
        { "-1s", -EINVAL, 0 },
        { "1s5", -EINVAL, 0 },
        { "1x", -EINVAL, 0 },
        { "99999999999h", -ERANGE, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t ns = 0;
        assert_int_equal(ntk_str_parse_duration_ns(rows[i].text, &ns), rows[i].ret);
        assert_true(ns == rows[i].ns);
    }
}

static void sizes_accept_binary_suffixes(void **state)
{
    static const struct {
        const char *text;
        int ret;
        uint64_t bytes;
    } rows[] = {
        { "0", 0, 0 },          { "64K", 0, 65536 },    { "32M", 0, 33554432 },
        { "1GiB", 0, 1 << 30 }, { "5B", 0, 5 },         { "2kb", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },   { "1KK", -EINVAL, 0 },  { "99999999999T", -ERANGE, 0 },
        { "", -EINVAL, 0 },     { "0x10", -EINVAL, 0 }, { "99999999999999999999", -ERANGE, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 0;
        assert_int_equal(ntk_str_parse_bytes(rows[i].text, &bytes), rows[i].ret);
        assert_true(bytes == rows[i].bytes);
    }
}

static void numbers_followed_by_other_text_are_rejected(void **state)
{
    uint64_t u = 7;
    int64_t i = 7;
    double d = 7;

    assert_int_equal(ntk_str_parse_u64("12x", &u), -EINVAL);
    assert_int_equal(ntk_str_parse_u64(" 12", &u), -EINVAL);
    assert_int_equal(ntk_str_parse_u64("18446744073709551616", &u), -ERANGE);
    assert_true(u == 7);
    assert_int_equal(ntk_str_parse_u64("0x1f", &u), 0);
    assert_true(u == 31);
    assert_int_equal(ntk_str_parse_i64("-12", &i), 0);
    assert_true(i == -12);
    assert_int_equal(ntk_str_parse_i64("--1", &i), -EINVAL);
    assert_int_equal(ntk_str_parse_double("1e3", &d), 0);
    assert_true(d == 1000);
    assert_int_equal(ntk_str_parse_double("nan", &d), -EINVAL);
    assert_int_equal(ntk_str_parse_double("1e999", &d), -EINVAL);
}

static void booleans_are_0_1_false_or_true_in_any_case(void **state)
{
    static const struct {
        const char *text;
        int ret;
        bool value, is_true;
    } rows[] = {
        { "1", 0, true, false },      { "true", 0, true, true },
        { "TRUE", 0, true, true },    { "0", 0, false, false },
        { "False", 0, false, false }, { "yes", -EINVAL, true, false },
        { "", -EINVAL, true, false }, { "10", -EINVAL, true, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool value = true;
        assert_int_equal(ntk_str_parse_bool(rows[i].text, &value), rows[i].ret);
        assert_int_equal(value, rows[i].value);
        assert_int_equal(ntk_str_is_true(rows[i].text), rows[i].is_true);
    }
    assert_false(ntk_str_is_true(NULL));
}

static void number_lists_with_ranges_are_parsed_within_bounds(void **state)
{
    uint32_t values[4];
    size_t count = 4;

    assert_int_equal(ntk_str_parse_list("0-2,7", 100, values, &count), 0);
    assert_int_equal(count, 4);
    assert_int_equal(values[2], 2);
    assert_int_equal(values[3], 7);
    count = 4;
    assert_int_equal(ntk_str_parse_list("0-4", 100, values, &count), -ENOSPC);
    assert_int_equal(ntk_str_parse_list("5-3", 100, values, &count), -EINVAL);
    assert_int_equal(ntk_str_parse_list("1,,2", 100, values, &count), -EINVAL);
    assert_int_equal(ntk_str_parse_list("1,", 100, values, &count), -EINVAL);
    assert_int_equal(ntk_str_parse_list("101", 100, values, &count), -ERANGE);
    assert_int_equal(ntk_str_parse_list("4294967295", UINT32_MAX, values, &count), 0);
}

static void sanitized_copies_replace_non_text_bytes(void **state)
{
    char to[32];

    ntk_str_copy_clean(to, sizeof to, "a\x01\xff", 3);
    assert_string_equal(to, "a\xef\xbf\xbd\xef\xbf\xbd");
    ntk_str_copy_clean(to, sizeof to, "\xed\xa0\x80", 3); /* a surrogate */
    assert_string_equal(to, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    ntk_str_copy_clean(to, 4, "ab\xc3\xa4", 4); /* no room for the last character */
    assert_string_equal(to, "ab");
    ntk_str_copy_clean(to, sizeof to, "\xe6\x97", 2); /* truncated inside a character */
    assert_string_equal(to, "\xef\xbf\xbd\xef\xbf\xbd");
    ntk_str_copy_clean(to, sizeof to, "\x7f\xc2\x9b", 3); /* DEL and CSI would control a terminal */
    assert_string_equal(to, "\xef\xbf\xbd\xef\xbf\xbd");
    ntk_str_copy_clean(to, sizeof to,
                       "a\xe2\x80\xae"
                       "b",
                       5); /* the following text would be reversed */
    assert_string_equal(to, "a\xef\xbf\xbd"
                            "b");
}

/* Every code point: Unicode's categories Cc, Zl, Zp, the annotations, Bidi_Control and
 * Default_Ignorable_Code_Point, nothing else. */
static void control_and_invisible_characters_are_unsafe(void **state)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {
        { 0, 0x1f },          { 0x7f, 0x9f }, { 0x2028, 0x2029 },
        { 0x202a, 0x202e },   { 0xad, 0xad }, /* soft hyphen */
        { 0x34f, 0x34f },                     /* grapheme joiner */
        { 0x61c, 0x61c },                     /* Arabic letter mark */
        { 0x115f, 0x1160 },                   /* Hangul fillers */
        { 0x17b4, 0x17b5 },                   /* Khmer inherent vowels */
        { 0x180b, 0x180f },                   /* Mongolian selectors */
        { 0x200b, 0x200f },                   /* zero width space to right-to-left mark */
        { 0x2060, 0x206f },                   /* word joiner, invisible operators, isolates */
        { 0x3164, 0x3164 },                   /* Hangul filler */
        { 0xfe00, 0xfe0f },                   /* variation selectors */
        { 0xfeff, 0xfeff },                   /* byte order mark */
        { 0xffa0, 0xffa0 },                   /* Hangul filler of half width */
        { 0xfff0, 0xfffb },                   /* unassigned, annotations */
        { 0x1bca0, 0x1bca3 },                 /* shorthand */
        { 0x1d173, 0x1d17a },                 /* music */
        { 0xe0000, 0xe0fff },                 /* tags, selectors */
    };

    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool expected = false;

        for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
            expected = expected || (code >= ranges[i].first && code <= ranges[i].last);
        }
        assert_int_equal(ntk_str_is_unsafe(code), expected);
    }
}

static void sanitizing_in_place_keeps_the_length(void **state)
{
    char text[] = "a\x1b[2J\n\xc2\x9b\xe2\x80\xaez\xff\xc3\xa4\xe2\x80";
    char field[4] = { 'a', '\t', 'b', 'c' }; /* without a NUL */
    char ended[4] = { 'a', '\0', '\t', 'c' };

    assert_int_equal(ntk_str_clean(text, sizeof text), sizeof text - 1);
    assert_string_equal(text, "a?[2J??\?\?\?\?z?\xc3\xa4\?\?");
    assert_int_equal(ntk_str_clean(field, sizeof field), 4);
    assert_memory_equal(field, "a?bc", 4);
    assert_int_equal(ntk_str_clean(ended, sizeof ended), 1);
    assert_int_equal(ended[2], '\t');
}

static void the_base_name_follows_the_last_slash_of_a_path(void **state)
{
    assert_string_equal(ntk_str_base_name("a/b.neff"), "b.neff");
    assert_string_equal(ntk_str_base_name("b.neff"), "b.neff");
    assert_string_equal(ntk_str_base_name("a/"), "");
}

static void every_code_point_round_trips_through_utf8(void **state)
{
    static const char *const unsound[] = {
        "\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80",
    };
    uint32_t got;

    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        size_t count = ntk_str_utf8(bytes, code);
        size_t read = ntk_str_utf8_read(bytes, count, &got);

        if (code >= 0xd800 && code < 0xe000) {
            assert_int_equal(read, 0);
        } else {
            assert_int_equal(read, count);
            assert_int_equal(got, code);
            assert_int_equal(ntk_str_utf8_read(bytes, count - 1, &got), 0);
        }
    }
    for (size_t i = 0; i < sizeof unsound / sizeof unsound[0]; i++) {
        assert_int_equal(ntk_str_utf8_read(unsound[i], strlen(unsound[i]), &got), 0);
    }
}

static void code_points_are_written_as_utf8(void **state)
{
    static const struct {
        uint32_t code;
        const char *bytes;
    } rows[] = {
        { 0x24, "$" },
        { 0x7f, "\x7f" },
        { 0x80, "\xc2\x80" },
        { 0x7ff, "\xdf\xbf" },
        { 0x800, "\xe0\xa0\x80" },
        { 0x28ff, "\xe2\xa3\xbf" },
        { 0xffff, "\xef\xbf\xbf" },
        { 0x10000, "\xf0\x90\x80\x80" },
        { 0x10ffff, "\xf4\x8f\xbf\xbf" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char bytes[4];
        size_t count = ntk_str_utf8(bytes, rows[i].code);
        assert_int_equal(count, strlen(rows[i].bytes));
        assert_memory_equal(bytes, rows[i].bytes, count);
    }
}

static void a_list_of_names_is_parsed_to_a_bit_mask(void **state)
{
    static const struct {
        const char *name;
        int other;
    } rows[] = { { "a", 1 }, { "ab", 2 }, { "c", 3 } };
    static const struct {
        const char *text;
        int bad; /* position; -1: none */
        uint32_t bits;
    } cases[] = { { "a", -1, 1 }, { "ab,c", -1, 6 }, { "c,a,c", -1, 5 }, { "", 0, 0 },
                  { "a,", 2, 0 }, { ",a", 0, 0 },    { "a,abc,c", 2, 0 } };
    uint32_t bits;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *bad = ntk_str_parse_names(cases[i].text, rows, sizeof *rows, 3, &bits);

        assert_int_equal(bad ? bad - cases[i].text : -1, cases[i].bad);
        assert_true(bad || bits == cases[i].bits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_names_is_parsed_to_a_bit_mask),
        cmocka_unit_test(durations_follow_go_syntax_and_plain_numbers_are_seconds),
        cmocka_unit_test(sizes_accept_binary_suffixes),
        cmocka_unit_test(numbers_followed_by_other_text_are_rejected),
        cmocka_unit_test(booleans_are_0_1_false_or_true_in_any_case),
        cmocka_unit_test(number_lists_with_ranges_are_parsed_within_bounds),
        cmocka_unit_test(sanitized_copies_replace_non_text_bytes),
        cmocka_unit_test(control_and_invisible_characters_are_unsafe),
        cmocka_unit_test(sanitizing_in_place_keeps_the_length),
        cmocka_unit_test(the_base_name_follows_the_last_slash_of_a_path),
        cmocka_unit_test(every_code_point_round_trips_through_utf8),
        cmocka_unit_test(code_points_are_written_as_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
