/* SPDX-License-Identifier: MIT */
/* Drawing on a grid: clipping, wide characters, cleaning. */
#include <locale.h>

#include "top/screen/screen.h"
#include "tests/support/unit.h"

static int open_screen(void **state)
{
    struct ntk_screen *screen = NULL;

    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(ntk_screen_text_create(3, 10, &screen, NULL), 0);
    screen->is_utf8 = true;
    *state = screen;
    return 0;
}

static int close_screen(void **state)
{
    ntk_screen_destroy(*state);
    return 0;
}

static void assert_shows(const struct ntk_screen *screen, const char *expected)
{
    struct ntk_buf buf = { 0 };

    ntk_screen_text_write(screen, &buf);
    assert_string_equal(ntk_buf_text_get(&buf), expected);
    ntk_buf_fini(&buf);
}

static void text_is_clipped_at_every_screen_edge(void **state)
{
    struct ntk_screen *screen = *state;

    ntk_screen_begin(screen);
    assert_int_equal(ntk_screen_put(screen, 0, 7, 100, 0, "abcdef"), 3);
    assert_int_equal(ntk_screen_put(screen, 1, 0, 4, 0, "abcdef"), 4);
    assert_int_equal(ntk_screen_put(screen, 2, 10, 4, 0, "abc"), 0);
    assert_int_equal(ntk_screen_put(screen, 3, 0, 4, 0, "abc"), 0);
    assert_int_equal(ntk_screen_put(screen, -1, 0, 4, 0, "abc"), 0);
    assert_int_equal(ntk_screen_put(screen, 2, -1, 4, 0, "abc"), 0);
    assert_int_equal(ntk_screen_put(screen, 2, 0, -5, 0, "abc"), 0);
    ntk_screen_put_right(screen, 2, 0, 8, 0, "xyz");
    assert_shows(screen, "       abc\nabcd\n     xyz\n");
}

static void a_wide_character_is_never_split(void **state)
{
    struct ntk_screen *screen = *state;

    ntk_screen_begin(screen);
    assert_int_equal(ntk_screen_width(screen, "深い学習"), 8);
    assert_int_equal(ntk_screen_put(screen, 0, 0, 5, 0, "深い学習"), 4);
    assert_int_equal(ntk_screen_put(screen, 1, 7, 9, 0, "深い"), 2);
    assert_int_equal(ntk_screen_put(screen, 2, 0, 9, 0, "深い"), 4);
    ntk_screen_put(screen, 2, 1, 1, 0, "|"); /* over the right half of the first */
    assert_shows(screen, "深い\n       深\n |い\n");
}

static void combining_marks_stay_on_their_character(void **state)
{
    struct ntk_screen *screen = *state;

    ntk_screen_begin(screen);
    assert_int_equal(ntk_screen_put(screen, 0, 0, 10, 0, "e\xcc\x81z"), 2);
    assert_int_equal(ntk_screen_put(screen, 1, 0, 10, 0, "\xcc\x81z"), 1);
    assert_shows(screen, "e\xcc\x81z\nz\n\n");
}

static void control_characters_and_invalid_bytes_become_question_marks(void **state)
{
    struct ntk_screen *screen = *state;

    ntk_screen_begin(screen);
    ntk_screen_put(screen, 0, 0, 10, 0, "a\x1b[2J\nb");
    ntk_screen_put(screen, 1, 0, 10, 0, "\xff\xc3(\xed\xa0\x80\xe6\xb7");
    ntk_screen_put(screen, 2, 0, 10, 0,
                   "\xc2\x9b"
                   "1m"); /* an 8-bit control character */
    assert_shows(screen, "a?[2J?b\n"
                         "?\?(?\?\?\n?1m\n");
}

static void an_ascii_screen_shows_other_characters_as_question_marks(void **state)
{
    struct ntk_screen *screen = *state;

    screen->is_utf8 = false;
    ntk_screen_begin(screen);
    assert_int_equal(ntk_screen_put(screen, 0, 0, 10, 0, "a深b"), 3);
    assert_shows(screen, "a?b\n\n\n");
}

static void each_screen_cell_has_a_separate_style(void **state)
{
    struct ntk_screen *screen = *state;
    struct ntk_buf buf = { 0 };

    ntk_screen_begin(screen);
    ntk_screen_fill(screen, 0, 0, 4, NTK_STYLE_TITLE, ' ');
    ntk_screen_put(screen, 1, 1, 4, NTK_STYLE_BAR_USER | NTK_STYLE_SELECTED, "||");
    ntk_screen_put(screen, 2, 0, 4, NTK_STYLE_WARNING, "深");
    ntk_screen_text_write_styles(screen, &buf);
    assert_string_equal(ntk_buf_text_get(&buf), "tttt......\n.UU.......\nww........\n");
    ntk_buf_fini(&buf);
}

static void a_terminal_resize_takes_effect_with_the_next_frame(void **state)
{
    struct ntk_screen *screen = *state;

    ntk_screen_text_resize(screen, 1, 2);
    assert_int_equal(screen->columns, 10);
    ntk_screen_begin(screen);
    ntk_screen_fill(screen, 0, 0, 1000, 0, 'x');
    assert_shows(screen, "xx\n");
    ntk_screen_text_resize(screen, 0, -3);
    ntk_screen_begin(screen);
    assert_shows(screen, "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_clipped_at_every_screen_edge, open_screen,
                                        close_screen),
        cmocka_unit_test_setup_teardown(a_wide_character_is_never_split, open_screen, close_screen),
        cmocka_unit_test_setup_teardown(combining_marks_stay_on_their_character, open_screen,
                                        close_screen),
        cmocka_unit_test_setup_teardown(control_characters_and_invalid_bytes_become_question_marks,
                                        open_screen, close_screen),
        cmocka_unit_test_setup_teardown(an_ascii_screen_shows_other_characters_as_question_marks,
                                        open_screen, close_screen),
        cmocka_unit_test_setup_teardown(each_screen_cell_has_a_separate_style, open_screen,
                                        close_screen),
        cmocka_unit_test_setup_teardown(a_terminal_resize_takes_effect_with_the_next_frame,
                                        open_screen, close_screen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
