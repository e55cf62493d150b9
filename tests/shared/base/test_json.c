/* SPDX-License-Identifier: MIT */
/* The JSON writer; jansson must be able to read its output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "shared/base/json.h"
#include "tests/support/unit.h"

static void nested_values_are_written_with_commas_and_escapes(void **state)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "a\"b", "line\nend\\ \x01 \xc3\xa4");
    ntk_json_key_array_begin(&json, "list");
    ntk_json_u64(&json, 1);
    ntk_json_array_begin(&json);
    ntk_json_array_end(&json);
    ntk_json_null(&json);
    ntk_json_bool(&json, true);
    ntk_json_array_end(&json);
    ntk_json_key_object_begin(&json, "empty");
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
    assert_string_equal(buf.bytes, "{\"a\\\"b\":\"line\\nend\\\\ \\u0001 \xc3\xa4\","
                                   "\"list\":[1,[],null,true],\"empty\":{}}");
    ntk_buf_fini(&buf);
}

static void pretty_output_has_line_breaks_and_indentation(void **state)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "a", 1);
    ntk_json_key_array_begin(&json, "b");
    ntk_json_u64(&json, 2);
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    assert_string_equal(buf.bytes, "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}");
    ntk_buf_fini(&buf);
}

struct taken {
    struct ntk_buf buf, given;
    int count;
};

static void give_away(void *ctx)
{
    struct taken *taken = ctx;

    ntk_buf_add(&taken->given, taken->buf.bytes, taken->buf.bytes_count);
    ntk_buf_reset(&taken->buf);
    taken->count++;
}

/* The output is taken out at the end of each object and array; the parts together are the same
 * text. */
static void finished_json_parts_can_be_taken_from_the_buffer(void **state)
{
    struct taken taken = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &taken.buf, false);
    json.ended = give_away;
    json.ended_ctx = &taken;
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "list");
    for (int i = 0; i < 3; i++) {
        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "a", 1);
        ntk_json_object_end(&json);
        assert_int_equal(taken.buf.bytes_count, 0);
    }
    ntk_json_array_end(&json);
    ntk_json_key_bool(&json, "last", true);
    ntk_json_object_end(&json);
    assert_string_equal(taken.given.bytes,
                        "{\"list\":[{\"a\":1},{\"a\":1},{\"a\":1}],\"last\":true}");
    assert_int_equal(taken.count, 5);
    ntk_buf_fini(&taken.buf);
    ntk_buf_fini(&taken.given);
}

static void doubles_are_written_as_shortest_text_in_the_format_of_go(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 100, "100" },
        { 0.1, "0.1" },
        { 1.000113182, "1.000113182" },
        { 0.00006103515625, "0.00006103515625" },
        { 1e-6, "0.000001" },
        { 1e-7, "1e-07" },
        { 1.5e-9, "1.5e-09" },
        { 1e20, "100000000000000000000" },
        { 1e21, "1e+21" },
        { -2.5, "-2.5" },
        { 1.0 / 3, "0.3333333333333333" },
        { 5e-324, "5e-324" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { 123456789.125, "123456789.125" },
        { 9007199254740993.0, "9007199254740992" },
    };
    char text[64];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ntk_json_format_double(text, sizeof text, rows[i].value);
        assert_string_equal(text, rows[i].text);
    }
    ntk_json_format_double(text, sizeof text, NAN);
    assert_string_equal(text, "null");
}

static void every_written_double_is_read_back_unchanged(void **state)
{
    uint64_t bits = 1;

    for (int i = 0; i < 20000; i++) {
        double value;
        char text[64];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        ntk_json_format_double(text, sizeof text, value);
        assert_true(strtod(text, NULL) == value);
    }
}

/* Whole nanoseconds, their neighbours, which have 16 and 17 digits, and shares. */
static void seconds_and_ratios_are_written_as_shortest_text(void **state)
{
    uint64_t bits = 1;

    for (int i = 0; i < 60000; i++) {
        char text[64];
        char expected[64] = "";
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double value = (double)(bits % 1000000000000000) / (i % 2 ? 1e9 : 1e6);
        value = i % 3 == 0   ? nextafter(value, i % 4 ? 0 : INFINITY)
                : i % 3 == 1 ? (double)(bits >> 40) / (double)(bits % 100003 + 1)
                             : value;
        for (int digits = 1; strtod(expected, NULL) != value; digits++) {
            snprintf(expected, sizeof expected, "%.*g", digits, value);
        }
        ntk_json_format_double(text, sizeof text, value);
        assert_true(strtod(text, NULL) == value);
        if (!strchr(expected, 'e')) {
            assert_string_equal(text, expected);
        }
    }
}

static void floats_are_written_as_shortest_text_for_24_bits(void **state)
{
    static const struct {
        float value;
        const char *text;
    } rows[] = {
        { 0, "0" },
        { 0.1F, "0.1" },
        { 16777216.0F, "16777216" },
        { 16777217.0F, "16777216" },
        { 25229131776.0F, "25229132000" }, /* steps of 2048 */
        { -25229131776.0F, "-25229132000" },
        { 1133305088.0F, "1133305100" },
        { 0.22451173F, "0.22451173" },
        { 1e21F, "1e+21" },
        { 3.4028235e38F, "3.4028235e+38" },
        { 1e-7F, "1e-07" },
        { 1e-45F, "1e-45" }, /* the smallest */
        { 5e-38F, "5e-38" },
    };
    char text[64];
    uint32_t bits = 1;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ntk_json_format_float(text, sizeof text, rows[i].value);
        assert_string_equal(text, rows[i].text);
    }
    ntk_json_format_float(text, sizeof text, NAN);
    assert_string_equal(text, "null");
    for (int i = 0; i < 20000; i++) {
        float value;
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            ntk_json_format_float(text, sizeof text, value);
            assert_true(strtof(text, NULL) == value);
        }
    }
}

static void strings_are_utf8_without_terminal_controls(void **state)
{
    struct ntk_buf buf = { 0 };

    ntk_json_add_quoted(&buf, "\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa9\xff\xe2\x80");
    assert_string_equal(ntk_buf_text_get(&buf),
                        "\"\\u001b[2J\\u007f\\u009b\\u202e\\u2069\\ufffd\\ufffd\\ufffd\"");
    ntk_buf_reset(&buf);
    ntk_json_add_quoted(&buf, "a\xe2\x80\x8b"
                              "b\xf3\xa0\x80\xa1"); /* U+200B, U+E0021 */
    assert_string_equal(ntk_buf_text_get(&buf), "\"a\\u200bb\\udb40\\udc21\"");
    ntk_buf_reset(&buf);
    ntk_json_add_quoted(&buf, "\t\xc3\xa4\xf0\x9f\x98\x80\xe2\x82\xac");
    assert_string_equal(ntk_buf_text_get(&buf), "\"\\t\xc3\xa4\xf0\x9f\x98\x80\xe2\x82\xac\"");
    ntk_buf_fini(&buf);
}

/* Texts are scanned eight bytes at a time, so a character must be handled alike at every
 * position. */
static void a_character_is_quoted_the_same_way_at_every_position(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        struct ntk_buf alone = { 0 };

        ntk_json_add_quoted(&alone, (char[]){ (char)c, '\0' });
        for (size_t length = 1; length <= 25; length++) {
            for (size_t at = 0; at < length; at++) {
                struct ntk_buf quoted = { 0 };
                struct ntk_buf expected = { 0 };
                char text[32];

                memset(text, '~', length);
                text[at] = (char)c;
                text[length] = '\0';
                ntk_json_add_quoted(&quoted, text);
                ntk_buf_add_char(&expected, '"');
                ntk_buf_add_fill(&expected, '~', at);
                ntk_buf_add(&expected, alone.bytes + 1, alone.bytes_count - 2);
                ntk_buf_add_fill(&expected, '~', length - at - 1);
                ntk_buf_add_char(&expected, '"');
                assert_string_equal(ntk_buf_text_get(&quoted), ntk_buf_text_get(&expected));
                ntk_buf_fini(&quoted);
                ntk_buf_fini(&expected);
            }
        }
        ntk_buf_fini(&alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_values_are_written_with_commas_and_escapes),
        cmocka_unit_test(a_character_is_quoted_the_same_way_at_every_position),
        cmocka_unit_test(strings_are_utf8_without_terminal_controls),
        cmocka_unit_test(pretty_output_has_line_breaks_and_indentation),
        cmocka_unit_test(finished_json_parts_can_be_taken_from_the_buffer),
        cmocka_unit_test(doubles_are_written_as_shortest_text_in_the_format_of_go),
        cmocka_unit_test(every_written_double_is_read_back_unchanged),
        cmocka_unit_test(seconds_and_ratios_are_written_as_shortest_text),
        cmocka_unit_test(floats_are_written_as_shortest_text_for_24_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
