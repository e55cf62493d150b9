/* SPDX-License-Identifier: MIT */
/* Method: one text over many lines, and places in it. */
#include "shared/base/json_place.h"

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

static void a_place_has_the_line_of_its_key_or_item(void **state)
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
        /* what is not there: the nearest above */
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

/* Method: every beginning of the text, in memory of exactly that size (for the sanitizers). */
static void any_bytes_have_some_line(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_has_the_line_of_its_key_or_item),
        cmocka_unit_test(any_bytes_have_some_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
