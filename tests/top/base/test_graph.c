/* SPDX-License-Identifier: MIT */
/* Drawing of values: dots, signs, gaps, colours, round numbers. */
#include <locale.h>
#include <math.h>

#include "top/base/graph.h"
#include "tests/support/unit.h"

/* Draws values to a whole new screen and compares it. */
static void assert_drawn(int rows, int columns, bool is_utf8, const float *values,
                         const char *expected)
{
    struct ntk_screen *screen = NULL;
    struct ntk_buf buf = { 0 };
    struct ntk_top_graph graph = { .rows = rows, .columns = columns, .max = 8 };

    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(ntk_screen_text_create(rows, columns, &screen, NULL), 0);
    screen->is_utf8 = is_utf8;
    ntk_top_graph_draw(screen, &graph, values);
    ntk_screen_text_write(screen, &buf);
    assert_string_equal(ntk_buf_text_get(&buf), expected);
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
}

static void graph_columns_are_filled_from_the_bottom(void **state)
{
    static const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

    assert_drawn(2, 4, true, values, "  ⣠⣾\n⣠⣾⣿⣿\n");
    assert_drawn(2, 8, false, values, "    .-+#\n.-+#####\n");
}

static void zero_is_drawn_as_a_line_and_absent_values_as_a_gap(void **state)
{
    static const float values[] = { 0, 0, NAN, NAN, NAN, 0.001f, 8, NAN };

    assert_drawn(1, 4, true, values, "⣀ ⢀⡇\n");
    assert_drawn(1, 8, false, values, "__   _#\n");
}

static void graph_values_beyond_the_scale_are_drawn_at_its_end(void **state)
{
    static const float values[] = { 1e30f, INFINITY, -5, -INFINITY };

    assert_drawn(1, 2, true, values, "⣿⣀\n");
}

/* Method: few rows are coloured by value, many by height. */
static void graph_colours_follow_the_value_or_the_height_of_the_row(void **state)
{
    static const float values[] = { 0, 0, 8, 8 };
    struct ntk_screen *screen = NULL;
    struct ntk_top_graph graph = { .rows = 1, .columns = 2, .max = 8, .is_heat = true };
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_screen_text_create(8, 2, &screen, NULL), 0);
    screen->is_utf8 = true;
    ntk_top_graph_draw(screen, &graph, values);
    graph.row = 1;
    graph.rows = 2;
    ntk_top_graph_draw(screen, &graph, values);
    graph.row = 3;
    graph.rows = 5;
    ntk_top_graph_draw(screen, &graph, values);
    ntk_screen_text_write_styles(screen, &buf);
    assert_string_equal(ntk_buf_text_get(&buf), "gr\ngr\ngr\nrr\nqq\noo\njj\ngg\n");
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
}

static void graph_scales_end_at_round_numbers(void **state)
{
    assert_true(ntk_top_graph_round_up(0, false) == 1);
    assert_true(ntk_top_graph_round_up(NAN, true) == 1);
    assert_true(ntk_top_graph_round_up(1, false) == 1);
    assert_true(ntk_top_graph_round_up(1.2, false) == 2);
    assert_true(ntk_top_graph_round_up(37, false) == 50);
    assert_true(ntk_top_graph_round_up(501, false) == 1000);
    assert_true(fabs(ntk_top_graph_round_up(0.03, false) - 0.05) < 1e-12);
    assert_true(ntk_top_graph_round_up(4096, true) == 4096);
    assert_true(ntk_top_graph_round_up(4097, true) == 8192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_columns_are_filled_from_the_bottom),
        cmocka_unit_test(zero_is_drawn_as_a_line_and_absent_values_as_a_gap),
        cmocka_unit_test(graph_values_beyond_the_scale_are_drawn_at_its_end),
        cmocka_unit_test(graph_colours_follow_the_value_or_the_height_of_the_row),
        cmocka_unit_test(graph_scales_end_at_round_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
