/* SPDX-License-Identifier: MIT */
/* Method: frames are drawn, and the changes are applied to a grid like a terminal's; it must show
 * what a screen in memory shows. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/screen/screen_changes.h"
#include "tests/support/unit.h"

#define ROWS 3
#define COLUMNS 10

struct fixture {
    struct ntk_screen_changes changes;
    struct ntk_screen *terminal; /* gets the changes; it is never cleared */
    struct ntk_screen *frame;    /* gets all text of a frame */
    char log[1024];              /* the changes of the last frame */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_non_null(f);
    assert_int_equal(ntk_screen_changes_resize(&f->changes, ROWS, COLUMNS), 0);
    assert_int_equal(ntk_screen_text_create(ROWS, COLUMNS, &f->terminal, NULL), 0);
    assert_int_equal(ntk_screen_text_create(ROWS, COLUMNS, &f->frame, NULL), 0);
    f->terminal->is_utf8 = f->frame->is_utf8 = true;
    ntk_screen_begin(f->terminal);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_screen_changes_fini(&f->changes);
    ntk_screen_destroy(f->terminal);
    ntk_screen_destroy(f->frame);
    free(f);
    return 0;
}

static void begin(struct fixture *f)
{
    ntk_screen_begin(f->frame);
    ntk_screen_changes_begin(&f->changes);
    f->log[0] = '\0';
}

static void put(struct fixture *f, int row, int column, int style, const char *text)
{
    ntk_screen_put(f->frame, row, column, COLUMNS, style, text);
    ntk_screen_changes_put(&f->changes, row, column, style, text, strlen(text));
}

static void apply(const struct ntk_screen_change *change, void *ctx)
{
    struct fixture *f = ctx;
    char text[NTK_SCREEN_CHANGE_BYTES + 1];
    size_t length = strlen(f->log);

    memcpy(text, change->text, change->bytes);
    text[change->bytes] = '\0';
    ntk_screen_put(f->terminal, change->row, change->column, COLUMNS, change->style, text);
    (void)snprintf(f->log + length, sizeof f->log - length, "%d,%d/%x:%s;", change->row,
                   change->column, (unsigned int)change->style, text);
}

static void assert_same(const struct ntk_screen *a, const struct ntk_screen *b)
{
    struct ntk_buf texts[2] = { { 0 }, { 0 } };

    ntk_screen_text_write(a, &texts[0]);
    ntk_screen_text_write(b, &texts[1]);
    assert_string_equal(ntk_buf_text_get(&texts[0]), ntk_buf_text_get(&texts[1]));
    ntk_buf_fini(&texts[0]);
    ntk_buf_fini(&texts[1]);
}

/* Ends the frame: the terminal must show it, after these changes. */
static void end(struct fixture *f, const char *log)
{
    ntk_screen_changes_take(&f->changes, apply, f);
    assert_string_equal(f->log, log);
    assert_same(f->terminal, f->frame);
}

static void only_changed_cells_are_written(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 0, 0, 1, "busy 10 %");
    put(f, 2, 3, 2, "x");
    end(f, "0,0/1:busy 10 %;2,3/2:x;");
    begin(f);
    put(f, 0, 0, 1, "busy 12 %");
    put(f, 2, 3, 2, "x");
    end(f, "0,6/1:2;");
    begin(f);
    put(f, 0, 0, 1, "busy 12 %");
    put(f, 2, 3, 2, "x");
    end(f, "");
}

static void removed_text_becomes_empty(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 1, 2, 1, "abc");
    end(f, "1,2/1:abc;");
    begin(f);
    put(f, 1, 3, 1, "b");
    end(f, "1,2/400: ;1,4/400: ;");
}

static void a_change_has_one_style(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 0, 0, 1, "ab");
    put(f, 0, 2, 2, "cd");
    end(f, "0,0/1:ab;0,2/2:cd;");
    begin(f);
    put(f, 0, 0, 1, "ab");
    put(f, 0, 2, 3, "cd"); /* the same text in another style */
    end(f, "0,2/3:cd;");
}

static void a_wide_character_is_written_as_a_whole(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 0, 0, 1, "深い学");
    end(f, "0,0/1:深い学;");
    begin(f);
    put(f, 0, 0, 1, "深a学");
    put(f, 0, 3, 1, "学");
    put(f, 0, 5, 1, "|");
    end(f, "0,2/1:a学|;");
    begin(f);
    put(f, 0, 0, 1, "深い学");
    put(f, 0, 3, 2, "|"); /* over the right half of the second */
    end(f, "0,2/1: ;0,3/2:|;0,4/1:学;");
    begin(f);
    put(f, 0, 0, 1, "深い学");
    put(f, 0, 2, 2, "|"); /* over its left half */
    end(f, "0,2/2:|;0,3/1: ;");
}

static void combining_marks_stay_with_their_character(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 1, 0, 1, "ae\xcc\x81o\xcc\x88\xcc\xa3z");
    end(f, "1,0/1:ae\xcc\x81o\xcc\x88\xcc\xa3z;");
    begin(f);
    put(f, 1, 0, 1, "aeoz");
    end(f, "1,1/1:eo;");
}

static void all_cells_are_written_after_the_terminal_was_cleared(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 0, 0, 1, "abc");
    end(f, "0,0/1:abc;");
    ntk_screen_begin(f->terminal);
    ntk_screen_changes_forget(&f->changes);
    begin(f);
    put(f, 0, 0, 1, "abc");
    end(f, "0,0/1:abc;");
}

static void text_ends_at_the_right_edge(void **state)
{
    struct fixture *f = *state;

    begin(f);
    put(f, 2, 8, 1, "abc");
    put(f, 1, 9, 1, "深");
    end(f, "2,8/1:ab;");
}

static void count_bytes(const struct ntk_screen_change *change, void *ctx)
{
    size_t *next = ctx;

    assert_int_equal(change->column, *next);
    *next += change->bytes;
}

static void a_long_change_is_split(void **state)
{
    struct fixture *f = *state;
    char text[3 * NTK_SCREEN_CHANGE_BYTES - 1];
    size_t next = 0;

    assert_int_equal(ntk_screen_changes_resize(&f->changes, 1, (int)sizeof text), 0);
    memset(text, 'a', sizeof text);
    ntk_screen_changes_put(&f->changes, 0, 0, 1, text, sizeof text);
    ntk_screen_changes_take(&f->changes, count_bytes, &next);
    assert_int_equal(next, sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_changed_cells_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removed_text_becomes_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_has_one_style, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wide_character_is_written_as_a_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(combining_marks_stay_with_their_character, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(all_cells_are_written_after_the_terminal_was_cleared,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_ends_at_the_right_edge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_change_is_split, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
