/* SPDX-License-Identifier: MIT */
/* Names suggested for an unknown word. */
#include <string.h>

#include "shared/base/suggest.h"
#include "tests/support/unit.h"

#define NAMES "capture view query analyze lines diff baseline show-session inspect trigger"

static void expect(const char *word, const char *text)
{
    struct ntk_suggest near = ntk_suggest_begin(word);

    ntk_suggest_add_words(&near, NAMES);
    assert_string_equal(ntk_suggest_text(&near), text);
}

static void the_nearest_name_is_suggested_for_a_misspelled_word(void **state)
{
    expect("lins", " (did you mean 'lines'?)");        /* a missing letter */
    expect("linees", " (did you mean 'lines'?)");      /* an additional letter */
    expect("veiw", " (did you mean 'view'?)");         /* two letters swapped */
    expect("captore", " (did you mean 'capture'?)");   /* a wrong letter */
    expect("BaseLine", " (did you mean 'baseline'?)"); /* case does not count */
    expect("ana", " (did you mean 'analyze'?)");       /* a prefix */
}

static void no_name_is_suggested_for_a_dissimilar_word(void **state)
{
    expect("foo", "");
    expect("", "");
    expect("vxyz", "");
    expect("diff", " (did you mean 'diff'?)"); /* callers ask only about unknown words */
}

static void no_name_is_suggested_for_dashes_alone(void **state)
{
    struct ntk_suggest near = ntk_suggest_begin("--"); /* the part of "--=value" before '=' */

    ntk_suggest_add_words(&near, "--x --verbose");
    assert_string_equal(ntk_suggest_text(&near), "");
    near = ntk_suggest_begin("--v");
    ntk_suggest_add_words(&near, "--x --verbose");
    assert_string_equal(ntk_suggest_text(&near), " (did you mean '--x'?)");
}

static void the_first_of_the_nearest_names_is_suggested(void **state)
{
    struct ntk_suggest near = ntk_suggest_begin("core-x");

    ntk_suggest_add_words(&near, "core-ab  core-a core-b ");
    assert_string_equal(ntk_suggest_text(&near), " (did you mean 'core-a'?)");
}

static void a_known_word_matches_a_name_exactly(void **state)
{
    struct ntk_suggest near = ntk_suggest_begin("View");

    ntk_suggest_add_words(&near, NAMES);
    assert_false(ntk_suggest_is_known(&near));
    near = ntk_suggest_begin("view");
    ntk_suggest_add(&near, "viewer");
    assert_false(ntk_suggest_is_known(&near));
    ntk_suggest_add_words(&near, NAMES);
    assert_true(ntk_suggest_is_known(&near));
}

static void words_and_names_of_any_length_are_handled(void **state)
{
    char word[1000] = "";

    memset(word, 'x', sizeof word - 1);
    struct ntk_suggest near = ntk_suggest_begin(word);
    ntk_suggest_add(&near, "x");
    ntk_suggest_add(&near, word);
    assert_string_equal(ntk_suggest_text(&near), "");
    assert_true(ntk_suggest_is_known(&near));
    word[NTK_SUGGEST_NAME_MAX - 1] = '\0'; /* the longest name that fits */
    near = ntk_suggest_begin(word);
    char name[NTK_SUGGEST_NAME_MAX + 1];
    memset(name, 'x', NTK_SUGGEST_NAME_MAX);
    name[NTK_SUGGEST_NAME_MAX] = '\0';
    ntk_suggest_add(&near, name);
    assert_non_null(strstr(ntk_suggest_text(&near), name));
    assert_non_null(strstr(ntk_suggest_text(&near), "'?)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_is_suggested_for_a_misspelled_word),
        cmocka_unit_test(no_name_is_suggested_for_a_dissimilar_word),
        cmocka_unit_test(no_name_is_suggested_for_dashes_alone),
        cmocka_unit_test(the_first_of_the_nearest_names_is_suggested),
        cmocka_unit_test(a_known_word_matches_a_name_exactly),
        cmocka_unit_test(words_and_names_of_any_length_are_handled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
