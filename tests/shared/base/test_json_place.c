/* SPDX-License-Identifier: MIT */
/* Method: one text over many lines, and positions in it. */
#include "shared/base/json_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static const char text[] = "\n"                                        /* 1 */
                           "{\n"                                       /* 2 */
                           "  \"a\\\"]\": \"}\\\\\",\n"                /* 3 */
                           "  \"list\": [\n"                           /* 4 */
                           "    { \"type\": \"x\", \"n\": -1.5e3 },\n" /* 5 */
                           "    [ 1, [ ], { } ],\n"                    /* 6 */
                           "    {\n"                                   /* 7 */
                           "      \"type\":\n"                         /* 8 */
                           "         null, \"odd.key[\": true\n"       /* 9 */
                           "    } ],\n"                                /* 10 */
                           "  \"last\": false }\n";                    /* 11 */

static void the_line_of_a_key_or_item_is_found(void **state)
{
    static const struct {
        const char *path;
        const char *key;
        unsigned int line;
    } rows[] = {
        { "", NULL, 2 },
        { "list", NULL, 4 },
        { "list[0]", NULL, 5 },
        { "list[0].n", NULL, 5 },
        { "list[1]", NULL, 6 },
        { "list[1][2]", NULL, 6 },
        { "list[2]", NULL, 7 },
        { "list[2].type", NULL, 8 },
        { "list[2]", "odd.key[", 9 },
        { "", "last", 11 },
        { "last", NULL, 11 },
        /* for missing values: the nearest one above */
        { "list[3]", NULL, 4 },
        { "list[2].wat.more", NULL, 7 },
        { "nothing[0]", NULL, 2 },
        { "last.deeper", "x", 11 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned int line = ntk_json_line_of(text, strlen(text), rows[i].path, rows[i].key);
        if (line != rows[i].line) {
            fail_msg("%s %s: line %u", rows[i].path, rows[i].key ? rows[i].key : "", line);
        }
    }
}

/* Method: every prefix of the text, in memory of exactly that size (for the sanitizers). */
static void a_truncated_text_yields_a_line_within_the_text(void **state)
{
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        char *cut = malloc(bytes + 1);
        assert_non_null(cut);
        memcpy(cut, text, bytes);
        assert_true(ntk_json_line_of(cut, bytes, "list[2].type", NULL) <= 11);
        assert_true(ntk_json_line_of(cut, bytes, "list[1][2].x[0]", "odd.key[") <= 11);
        free(cut);
    }
    assert_int_equal(ntk_json_line_of("]]}}\"\\", 6, "a[1].b", "c"), 1);
    assert_int_equal(ntk_json_line_of("{\"a\":}", 6, "a[1].b", "c"), 1);
}

/* The elements of the list "a", each after a bar. */
static const char *elements_of(const char *json)
{
    static char out[256];
    struct ntk_json_list list;
    const char *element;
    size_t bytes;
    size_t count = 0;
    size_t filled = 0;

    if (!ntk_json_list_find(json, strlen(json), "a", &list)) {
        return "none";
    }
    out[0] = '\0';
    while (ntk_json_list_next(&list, &element, &bytes)) {
        filled += (size_t)snprintf(out + filled, sizeof out - filled, "|%.*s", (int)bytes, element);
        count++;
    }
    assert_int_equal(ntk_json_list_count(&list), count);
    return out;
}

static void list_elements_are_returned_one_at_a_time(void **state)
{
    static const char *const texts[][2] = {
        { "{\"a\":[]}", "" },
        { "{\"b\":[9], \"a\" : [ {\"x\":[1,2]} , \"],\" ,3 ] }", "|{\"x\":[1,2]}|\"],\"|3" },
        { "{\"a\":[[1],[2]]}", "|[1]|[2]" },
        { "{\"b\":[1]}", "none" },
        { "{\"a\":{}}", "none" },
        { "{\"a\":[1", "none" },
        /* A missing element, or one without a comma, which no parser accepts. */
        { "{\"a\":[1,]}", "|1|" },
        { "{\"a\":[,1]}", "||1" },
        { "{\"a\":[1x 2]}", "|1x|" },
        { "{\"a\":[{}{}]}", "|{}|" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_string_equal(elements_of(texts[i][0]), texts[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_a_key_or_item_is_found),
        cmocka_unit_test(a_truncated_text_yields_a_line_within_the_text),
        cmocka_unit_test(list_elements_are_returned_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
