/* SPDX-License-Identifier: MIT */
/* The list widget: order, filter, search, selection and its boxes. */
#include <stdlib.h>
#include <string.h>

#include "top/base/keys.h"
#include "top/base/table.h"
#include "top/screen/screen.h"
#include "tests/support/unit.h"

enum { NAME, SIZE, SHARE, HIDDEN };

static const struct ntk_top_column items[] = {
    [NAME] = { "NAME", "", NTK_TOP_AS_TEXT, 8, 0, 0 },
    [SIZE] = { "SIZE", "", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [SHARE] = { "SHARE", "", NTK_TOP_AS_PERCENT, 6, 0, NTK_TOP_COLUMN_ASCENDING },
    [HIDDEN] = { "HIDDEN", "", NTK_TOP_AS_TEXT, 6, 0, NTK_TOP_COLUMN_HIDDEN },
};
static const struct ntk_top_columns columns = { items, 4, NAME };

struct thing {
    uint64_t key;
    const char *name;
    double size; /* negative: unknown */
};

static const struct thing things[] = {
    { 7, "beta", 2048 }, { 8, "Alpha", -1 }, { 9, "gamma", 0 }, { 10, "delta", 1048576 }
};

static void fill(struct ntk_top_table *table, const struct thing *from, size_t count)
{
    ntk_top_table_begin(table);
    for (size_t i = 0; i < count; i++) {
        struct ntk_top_cell *cells = ntk_top_table_add(table, from[i].key, NTK_TOP_ROW_NORMAL);

        assert_non_null(cells);
        cells[NAME] = ntk_top_cell_text(ntk_top_table_text(table, "%s", from[i].name));
        cells[SIZE] = ntk_top_cell_if(from[i].size >= 0, from[i].size);
        cells[HIDDEN] = ntk_top_cell_text("secret");
    }
    assert_int_equal(ntk_top_table_end(table), 0);
}

static int set_up(void **state)
{
    struct ntk_top_table *table = malloc(sizeof *table);

    assert_non_null(table);
    ntk_top_table_init(table, &columns);
    fill(table, things, 4);
    *state = table;
    return 0;
}

static int tear_down(void **state)
{
    ntk_top_table_fini(*state);
    free(*state);
    return 0;
}

/* The first letters of the rows as shown, upper case for the selected one. */
static const char *shown(const struct ntk_top_table *table)
{
    static char text[16];
    size_t i;

    for (i = 0; i < table->order.count && i + 1 < sizeof text; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);

        text[i] = (char)(ntk_top_table_cell_get(table, row, NAME)->text[0] | 0x20);
        text[i] = (char)(i == table->cursor_index ? text[i] - 0x20 : text[i]);
    }
    text[i] = '\0';
    return text;
}

static void type(struct ntk_top_table *table, const char *text)
{
    for (; *text; text++) {
        assert_true(ntk_top_table_key(table, (unsigned char)*text));
    }
}

static void rows_can_be_sorted_by_any_column_in_both_orders(void **state)
{
    struct ntk_top_table *table = *state;

    assert_string_equal(shown(table), "Abdg"); /* texts from a to z, ignoring case */
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_REVERSE, 0);
    assert_string_equal(shown(table), "Gdba");
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_NEXT, 0);
    assert_string_equal(shown(table), "Dbga"); /* largest first, unknown last */
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_REVERSE, 0);
    assert_string_equal(shown(table), "Gbda"); /* unknown is last in this order too */
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_NEXT, 0);
    /* All unknown: in the order in which they were added. */
    assert_string_equal(shown(table), "Bagd");
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_NEXT, 0);
    assert_int_equal(table->sort_column, NAME); /* skips the hidden one */
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_PREVIOUS, 0);
    assert_int_equal(table->sort_column, SHARE);
}

static void the_selection_stays_on_its_row_until_it_is_removed(void **state)
{
    struct ntk_top_table *table = *state;
    const struct thing without[] = { things[1], things[2], things[3] };

    ntk_top_table_act(table, NTK_TOP_ACTION_CURSOR_DOWN, 0);
    assert_string_equal(shown(table), "aBdg");
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_NEXT, 0);
    assert_string_equal(shown(table), "dBga");
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_REVERSE, 0);
    assert_string_equal(shown(table), "gBda");
    fill(table, without, 3); /* it exited: its replacement is selected, and stays so */
    assert_string_equal(shown(table), "gDa");
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_REVERSE, 0);
    assert_string_equal(shown(table), "Dga");
    ntk_top_table_act(table, NTK_TOP_ACTION_CURSOR_LAST, 0);
    fill(table, without + 1, 1);
    assert_string_equal(shown(table), "G");
    fill(table, NULL, 0);
    assert_null(ntk_top_table_cursor_get(table));
    for (int action = 0; action < NTK_TOP_ACTION_COUNT; action++) {
        ntk_top_table_act(table, action, 0);
        while (ntk_top_table_key(table, NTK_SCREEN_KEY_ESCAPE)) {
        }
    }
    fill(table, things, 4);
    assert_non_null(ntk_top_table_cursor_get(table));
}

static void the_first_row_is_selected_until_the_cursor_is_moved(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_NEXT, 0);
    assert_string_equal(shown(table), "Dbga");
    ntk_top_table_act(table, NTK_TOP_ACTION_CURSOR_LAST, 0);
    assert_string_equal(shown(table), "dbgA");
    ntk_top_table_act(table, NTK_TOP_ACTION_CURSOR_FIRST, 0); /* free again */
    ntk_top_table_act(table, NTK_TOP_ACTION_SORT_REVERSE, 0);
    assert_string_equal(shown(table), "Gbda");
}

static void a_filter_accepts_strings_and_expressions_while_typing(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_FILTER, 0);
    type(table, "a$");
    assert_string_equal(shown(table), "Abdg");
    type(table, "|(");
    assert_false(table->filter.is_regex); /* not a valid expression: matches the plain text */
    assert_string_equal(shown(table), "");
    for (int i = 0; i < 4; i++) {
        ntk_top_table_key(table, NTK_SCREEN_KEY_BACKSPACE);
    }
    assert_string_equal(table->filter.text, "");
    assert_string_equal(shown(table), "Abdg");
    type(table, "^[ad]");
    assert_string_equal(shown(table), "Ad");
    assert_true(ntk_top_table_key(table, NTK_SCREEN_KEY_ENTER));
    assert_false(ntk_top_table_key(table, 'x')); /* closed */
    fill(table, things, 4);
    assert_string_equal(shown(table), "Ad"); /* also for new rows */
    ntk_top_table_act(table, NTK_TOP_ACTION_FILTER, 0);
    type(table, "zzz");
    assert_string_equal(shown(table), "");
    ntk_top_table_key(table, NTK_SCREEN_KEY_ESCAPE); /* back to the previous filter */
    assert_string_equal(table->filter.text, "^[ad]");
    assert_string_equal(shown(table), "Ad");
    assert_true(ntk_top_table_act(table, NTK_TOP_ACTION_BACK, 0));
    assert_string_equal(shown(table), "Abdg");
    assert_false(ntk_top_table_act(table, NTK_TOP_ACTION_BACK, 0));
}

static void a_filter_matches_only_displayed_text(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_FILTER, 0);
    type(table, "secret");
    assert_string_equal(shown(table), "");
    ntk_top_table_key(table, NTK_SCREEN_KEY_ESCAPE);
    ntk_top_table_act(table, NTK_TOP_ACTION_FILTER, 0);
    type(table, "1.0MB"); /* a number as it is shown */
    assert_string_equal(shown(table), "D");
}

static void a_search_wraps_around_at_the_last_row(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH_NEXT, 0); /* no search text */
    assert_string_equal(shown(table), "Abdg");
    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH, 0);
    type(table, "mm|el");
    assert_string_equal(shown(table), "abDg");
    ntk_top_table_key(table, NTK_SCREEN_KEY_ENTER);
    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH_NEXT, 0);
    assert_string_equal(shown(table), "abdG");
    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH_NEXT, 0);
    assert_string_equal(shown(table), "abDg");
    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH_PREVIOUS, 0);
    assert_string_equal(shown(table), "abdG");
    ntk_top_table_act(table, NTK_TOP_ACTION_SEARCH, 0);
    type(table, "nowhere");
    assert_string_equal(shown(table), "abdG");
}

static void input_boxes_accept_whole_characters_up_to_a_limit(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_FILTER, 0);
    ntk_top_table_key(table, 0xe9);
    ntk_top_table_key(table, 0x6df1);
    ntk_top_table_key(table, 0x1f600);
    assert_string_equal(table->filter.text, "\xc3\xa9\xe6\xb7\xb1\xf0\x9f\x98\x80");
    ntk_top_table_key(table, NTK_SCREEN_KEY_BACKSPACE);
    ntk_top_table_key(table, NTK_SCREEN_KEY_BACKSPACE);
    assert_string_equal(table->filter.text, "\xc3\xa9");
    for (int i = 0; i < 200; i++) {
        ntk_top_table_key(table, 0x6df1);
    }
    /* 2 + 20 * 3: half a character does not fit. */
    assert_int_equal(strlen(table->filter.text), 62);
    ntk_top_table_key(table, 21);
    assert_string_equal(table->filter.text, "");
    assert_false(ntk_top_table_key(table, 3));     /* ctrl-c leaves from anywhere */
    ntk_top_table_key(table, NTK_SCREEN_KEY_DOWN); /* walks the rows */
    assert_string_equal(shown(table), "aBdg");
    assert_int_equal(table->input, NTK_TOP_INPUT_FILTER);
}

static void the_column_box_hides_shows_and_sorts_columns(void **state)
{
    struct ntk_top_table *table = *state;

    ntk_top_table_act(table, NTK_TOP_ACTION_COLUMNS, 0);
    ntk_top_table_key(table, ' '); /* the first cannot be hidden */
    assert_true(ntk_top_table_is_shown(table, NAME));
    ntk_top_table_key(table, NTK_SCREEN_KEY_END);
    assert_false(ntk_top_table_is_shown(table, HIDDEN));
    ntk_top_table_key(table, ' ');
    assert_true(ntk_top_table_is_shown(table, HIDDEN));
    ntk_top_table_key(table, NTK_SCREEN_KEY_DOWN);
    ntk_top_table_key(table, NTK_SCREEN_KEY_UP);
    ntk_top_table_key(table, ' ');
    assert_false(ntk_top_table_is_shown(table, SHARE));
    ntk_top_table_key(table, NTK_SCREEN_KEY_UP);
    ntk_top_table_key(table, NTK_SCREEN_KEY_ENTER);
    assert_int_equal(table->sort_column, SIZE);
    assert_string_equal(shown(table), "Dbga");
    assert_int_equal(table->input, NTK_TOP_INPUT_NONE);
}

static void cell_strings_remain_valid_while_many_rows_are_added(void **state)
{
    struct ntk_top_table *table = *state;
    char name[300];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ntk_top_table_begin(table);
    for (uint64_t i = 0; i < 2000; i++) {
        struct ntk_top_cell *cells = ntk_top_table_add(table, i, NTK_TOP_ROW_NORMAL);

        cells[NAME] = ntk_top_cell_text(ntk_top_table_text(table, "%04d%s", (int)(1999 - i), name));
    }
    assert_int_equal(ntk_top_table_end(table), 0);
    for (size_t i = 0; i < 2000; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);
        const char *text = ntk_top_table_cell_get(table, row, NAME)->text;

        assert_int_equal(strtol(text, NULL, 10), (long)i);
        assert_int_equal(strlen(text), NTK_TOP_CELL_BYTES - 1); /* truncated, not wrapped */
    }
}

static void table_numbers_are_formatted_to_fit_their_columns(void **state)
{
    static const struct {
        enum ntk_top_format format;
        double value;
        const char *text;
    } rows[] = {
        { NTK_TOP_AS_ID, 4294967295.0, "4294967295" },
        { NTK_TOP_AS_COUNT, 99999, "99999" },
        { NTK_TOP_AS_COUNT, 100000, "100k" },
        { NTK_TOP_AS_PERCENT, 0.04, "0.0%" },
        { NTK_TOP_AS_PERCENT, 99.96, "100%" },
        { NTK_TOP_AS_BYTES, 1536, "1.5KB" },
        { NTK_TOP_AS_BYTES, 0x1p64, "16.0EB" },
        { NTK_TOP_AS_BYTES_PER_SECOND, 0, "0.0B/s" },
        { NTK_TOP_AS_TERAFLOPS, 10.004, "10.004TF" },
        { NTK_TOP_AS_DURATION, 4560000, "4.56ms" },
        { NTK_TOP_AS_RATE, 99.94, "99.9" },
        { NTK_TOP_AS_RATE, 99.96, "100" },
        { NTK_TOP_AS_RATE, 123456, "123k" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ntk_top_column column = { .format = rows[i].format };
        const struct ntk_top_cell cell = ntk_top_cell_number(rows[i].value);
        const struct ntk_top_cell absent = { 0 };
        char buf[NTK_TOP_CELL_BYTES];
        const char *text = ntk_top_table_cell_text(&column, &cell, buf);

        assert_string_equal(text + strspn(text, " "), rows[i].text);
        assert_string_equal(ntk_top_table_cell_text(&column, &absent, buf), "-");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_can_be_sorted_by_any_column_in_both_orders),
        TEST(the_selection_stays_on_its_row_until_it_is_removed),
        TEST(the_first_row_is_selected_until_the_cursor_is_moved),
        TEST(a_filter_accepts_strings_and_expressions_while_typing),
        TEST(a_filter_matches_only_displayed_text),
        TEST(a_search_wraps_around_at_the_last_row),
        TEST(input_boxes_accept_whole_characters_up_to_a_limit),
        TEST(the_column_box_hides_shows_and_sorts_columns),
        TEST(cell_strings_remain_valid_while_many_rows_are_added),
        TEST(table_numbers_are_formatted_to_fit_their_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
