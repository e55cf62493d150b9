/* SPDX-License-Identifier: MIT */
/* Keys and clicks in views: opening, going back, selecting, filtering and hiding. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_hbm.h"
#include "top/model/model_processes.h"
#include "top/view/view.h"
#include "top/view/views.h"

static void a_view_key_opens_its_view_and_returns_to_the_first_view(void **state)
{
    static const enum ntk_top_view_id firsts[] = { NTK_TOP_VIEW_OVERVIEW, NTK_TOP_VIEW_TREE };

    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
        struct ntk_top_model *model = scene_model(&scene_small);

        model->first_view = firsts[f];
        ntk_top_model_set_view(model, firsts[f]);
        press(model, 'e');
        assert_int_equal(model->view, NTK_TOP_VIEW_ENGINES);
        press(model, 'e');
        assert_int_equal(model->view, firsts[f]);
        press(model, 'e');
        press(model, NTK_SCREEN_KEY_ESCAPE);
        assert_int_equal(model->view, firsts[f]);
        press(model, 'o');
        assert_int_equal(model->view, NTK_TOP_VIEW_OVERVIEW);
        press(model, NTK_SCREEN_KEY_TAB_BACK);
        assert_int_equal(model->view, ONE_MACHINE_COUNT - 1);
        press(model, '\t');
        for (int i = 0; i < ONE_MACHINE_COUNT; i++) {
            assert_int_equal(model->view, i);
            press(model, '\t');
        }
        press(model, 'T');
        assert_int_equal(model->view, NTK_TOP_VIEW_TREE);
        ntk_top_model_destroy(model);
    }
}

static void all_view_and_action_keys_are_unique(void **state)
{
    static const int keys[] = {
#define NTK_TOP_KEY(code, id, argument) code,
#include "top/base/keys.def"
#define NTK_TOP_VIEW(id, name, key, shown, title, help) key,
#include "top/base/views.def"
    };
    size_t count = sizeof keys / sizeof *keys;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            assert_int_not_equal(keys[i], keys[k]);
        }
    }
}

/* Method: the tree of the first screen has a separate selection; keys of a view must not move
 * it. */
static void actions_in_a_view_do_not_affect_the_first_screen(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);
    size_t nodes = model->nodes.count;

    press(model, 'e');
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, 'x');
    press(model, 'f');
    press(model, 'o');
    assert_int_equal(model->cursor_index, 0);
    assert_int_equal(model->nodes.count, nodes);
    ntk_top_model_destroy(model);
}

/* The list of processes in the order of their pids, as they started. */
static struct ntk_top_model *open_processes_by_pid(const struct scene *scene)
{
    struct ntk_top_model *model = open_view(scene, NTK_TOP_VIEW_PROCESSES);

    model->tables[NTK_TOP_VIEW_PROCESSES].sort_column = NTK_TOP_PROCESSES_PID;
    ntk_top_model_project_view(model);
    return model;
}

static void an_application_selected_in_one_view_filters_every_view(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_processes_by_pid(&scene);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];

    assert_int_equal(table->order.count, 2);
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, 'i');
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    assert_int_equal(table->order.count, 1);
    press(model, 'e');
    assert_int_equal(model->tables[NTK_TOP_VIEW_ENGINES].order.count, 8); /* its cores */
    press(model, 'm');
    assert_int_equal(model->tables[NTK_TOP_VIEW_MODELS].order.count, 1);
    press(model, 'i');
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_int_equal(model->tables[NTK_TOP_VIEW_MODELS].order.count, 2);
    press(model, 'p');
    press(model, 'i'); /* still on the second row */
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    scene.runtime_count = 1; /* it exits: back to all */
    scene_update(model, &scene);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_int_equal(table->order.count, 1);
    ntk_top_model_destroy(model);
}

/* Method: opens the page of a row of the list, and goes back with each of the two keys; the list is
 * unchanged. */
static void enter_opens_and_closes_the_page_of_a_row(void **state)
{
    static const int keys[] = { NTK_SCREEN_KEY_ESCAPE, NTK_SCREEN_KEY_ENTER };
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_processes_by_pid(&scene);
    struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    char *text;

    press(model, NTK_SCREEN_KEY_DOWN);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        press(model, NTK_SCREEN_KEY_ENTER);
        assert_true(model->page.is_open);
        assert_false(model->page.is_of_model);
        text = scene_row(model, 24, 80, 3); /* below the alert and the label of software cores */
        assert_non_null(strstr(text, "Application 7287"));
        free(text);
        press(model, '/'); /* boxes of the hidden list stay closed */
        assert_int_equal(table->input, NTK_TOP_INPUT_NONE);
        press(model, keys[i]);
        assert_false(model->page.is_open);
        assert_int_equal(model->view, NTK_TOP_VIEW_PROCESSES);
        assert_int_equal(table->cursor_index, 1);
    }
    /* The signal goes to the application that is shown, even if the list has moved to a
     * neighbour. */
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_int_equal(ntk_top_model_selected(model)->pid, 7287);
    scene.runtime_count = 1;
    scene_update(model, &scene);
    assert_null(ntk_top_model_selected(model));
    golden(model, 80, 24, "page_gone");
    press(model, 'm');
    assert_false(model->page.is_open);
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_true(model->page.is_of_model);
    assert_int_equal(model->page.model_id, 10006);
    press(model, 'a'); /* another application */
    assert_false(model->page.is_open);
    ntk_top_model_destroy(model);
}

/* The first screen has no CPU time, but the page of an application does. */
static void page_values_are_read_only_while_the_page_is_open(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_OVERVIEW);

    (void)state;
    assert_false(ntk_top_model_shows_usage(model));
    assert_false(ntk_top_model_shows_model_latency(model));
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_true(model->page.is_open);
    assert_true(ntk_top_model_shows_usage(model));
    assert_true(ntk_top_model_shows_model_latency(model));
    press(model, NTK_SCREEN_KEY_ESCAPE);
    assert_false(ntk_top_model_shows_usage(model));
    ntk_top_model_destroy(model);
}

/* The first screen has the CPU time of an application only while it is selected. */
static void the_overview_reads_the_use_of_a_selected_application(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_OVERVIEW);

    (void)state;
    press(model, 'd');
    assert_non_null(ntk_top_model_tab_runtime(model));
    assert_true(ntk_top_model_shows_usage(model));
    press(model, 'a');
    assert_null(ntk_top_model_tab_runtime(model));
    assert_false(ntk_top_model_shows_usage(model));
    ntk_top_model_destroy(model);
}

static void the_cursor_moves_to_the_next_row_if_its_process_exits(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model;
    const struct ntk_top_table *table;

    scene.runtime_count = 3;
    scene.cores_per_runtime = 4;
    model = open_processes_by_pid(&scene);
    table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    press(model, NTK_SCREEN_KEY_END);
    scene.ended = 3;
    scene_update(model, &scene); /* their last snapshot */
    golden(model, 100, 10, "ended");
    scene.ended = 0;
    scene.runtime_count = 2;
    scene_update(model, &scene);
    assert_int_equal(table->cursor_index, 1);
    scene.runtime_count = 0;
    scene_update(model, &scene);
    golden(model, 100, 10, "none");
    press(model, 'i'); /* nothing to follow or open */
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_false(model->page.is_open);
    ntk_top_model_destroy(model);
}

static void mouse_clicks_select_sort_and_open(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_PROCESSES);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    struct ntk_screen *screen = NULL;
    const struct ntk_screen_spot *spot;

    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 5, 20);
    assert_non_null(spot); /* the second row */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(table->cursor_index, 1);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 5, 20);
    assert_non_null(spot); /* again: open it */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(model->page.is_open);
    press(model, NTK_SCREEN_KEY_ESCAPE);
    spot = ntk_screen_spot_find(screen, 3, 9);
    assert_non_null(spot); /* a title */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(table->sort_column, 1);
    assert_false(table->sort_reversed);
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(table->sort_reversed);
    spot = ntk_screen_spot_find(screen, 22, 1);
    assert_non_null(spot); /* a name in the strip */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(model->view, NTK_TOP_VIEW_OVERVIEW);
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

/* Method: each view at 80 columns, even if the position in a long list takes some of them. */
static void the_view_strip_has_every_key_and_the_adjacent_view_names(void **state)
{
    struct ntk_screen *screen = NULL;
    struct ntk_top_model *model = scene_model(&scene_trn1);

    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    for (int view = 0; view < ONE_MACHINE_COUNT; view++) {
        struct ntk_buf text = { 0 };
        const char *strip;

        ntk_top_model_set_view(model, (enum ntk_top_view_id)view);
        if (view == NTK_TOP_VIEW_TREE) {
            continue; /* it has the vendor's two rows */
        }
        ntk_top_view_draw(model, screen, true);
        ntk_screen_text_write(screen, &text);
        strip = ntk_buf_text_get(&text);
        for (int line = 0; line < 22; line++) {
            strip = strchr(strip, '\n') + 1;
        }
        *strchr(strip, '\n') = '\0';
        for (int i = 0; i < ONE_MACHINE_COUNT; i++) {
            const struct ntk_top_view_text *of = ntk_top_views_text_get((enum ntk_top_view_id)i);
            bool is_near = i >= view - 1 && i <= view + 1;
            char name[64];

            (void)snprintf(name, sizeof name,
                           i == view ? " %s>%s<"
                           : is_near ? " %s:%s"
                                     : " %s",
                           of->keys, of->title);
            assert_non_null(strstr(strip, name));
        }
        ntk_buf_fini(&text);
    }
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

static void a_click_in_the_column_box_hides_and_shows_a_column(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_PROCESSES);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    struct ntk_screen *screen = NULL;
    const struct ntk_screen_spot *spot;

    press(model, 'c');
    assert_int_equal(ntk_screen_text_create(30, 100, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 5, 60); /* the third column */
    assert_non_null(spot);
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_false(ntk_top_table_is_chosen(table, 2));
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(ntk_top_table_is_chosen(table, 2));
    assert_int_equal(table->cursor_index, 0); /* the row below is not clicked */
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

/* Method: the use of a device is the sum of its columns: nothing is counted twice or omitted. */
static void memory_categories_sum_to_the_total(void **state)
{
    const struct scene *scenes[] = { &scene_trn1, &scene_trn2_lnc2, &scene_small };

    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        for (int tab = 1; tab <= 2; tab++) {
            struct ntk_top_model *model = open_view(scenes[s], NTK_TOP_VIEW_HBM);
            const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_HBM];
            double device_bytes = 0;

            ntk_top_model_act(model, NTK_TOP_ACTION_TAB, tab);
            assert_true(table->order.count > 0);
            for (size_t i = 0; i < table->order.count; i++) {
                const struct ntk_top_row *row = ntk_top_table_row_get(table, i);
                double sum = ntk_top_table_cell_get(table, row, NTK_TOP_HBM_OTHER)->value;

                device_bytes -= sum;
                for (int c = 0; c < NTK_TOP_HBM_CATEGORY_COUNT; c++) {
                    sum +=
                        ntk_top_table_cell_get(table, row, NTK_TOP_HBM_CATEGORY_COLUMN(c))->value;
                }
                assert_true(sum == ntk_top_table_cell_get(table, row, NTK_TOP_HBM_USED)->value);
                device_bytes += sum;
            }
            /* ... and the first screen shows the reports of applications. */
            assert_true(device_bytes == (double)model->memory.device_total.value);
            ntk_top_model_destroy(model);
        }
    }
}

static void a_typed_filter_is_shown_and_applied(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_ENGINES);

    press(model, '\\');
    type(model, "nd1[0-5q");
    golden(model, 80, 24, "filter_text");
    press(model, NTK_SCREEN_KEY_BACKSPACE);
    type(model, "]");
    assert_int_equal(model->tables[NTK_TOP_VIEW_ENGINES].order.count, 12);
    golden(model, 80, 24, "filter_regex");
    press(model, NTK_SCREEN_KEY_ENTER);
    press(model, 's'); /* the key again */
    golden(model, 80, 24, "filter_sorted");
    press(model, NTK_SCREEN_KEY_ESCAPE);
    assert_int_equal(model->tables[NTK_TOP_VIEW_ENGINES].order.count, 32);
    assert_int_equal(model->view, NTK_TOP_VIEW_ENGINES);
    ntk_top_model_destroy(model);
}

static void columns_are_selected_in_the_column_box(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_ENGINES);

    press(model, 'c');
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, ' ');
    golden(model, 80, 24, "chooser");
    golden(model, 40, 8, "chooser");
    press(model, NTK_SCREEN_KEY_ESCAPE);
    golden(model, 80, 24, "chosen");
    for (int i = 0; i < 30; i++) {               /* to the last column and no further */
        char *row = scene_row(model, 24, 80, 2); /* drawing determines how many fit */

        free(row);
        press(model, NTK_SCREEN_KEY_RIGHT);
    }
    golden(model, 80, 24, "scrolled");
    ntk_top_model_destroy(model);
}

/* Method: a process of this user among those of others, in the lists of processes and models. */
static void the_mine_filter_lists_only_entries_of_this_user(void **state)
{
    static const enum ntk_top_view_id views[] = { NTK_TOP_VIEW_PROCESSES, NTK_TOP_VIEW_OVERVIEW,
                                                  NTK_TOP_VIEW_MODELS };

    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct ntk_top_model *model = open_view(&scene_trn1, views[i]);
        const struct ntk_top_table *table = &model->tables[views[i]];
        size_t all = table->order.count;
        char *strip;
        char *keys = scene_row(model, 24, 120, 23);

        assert_true(all > 1);
        assert_non_null(strstr(keys, "u: mine"));
        free(keys);
        (void)snprintf(model->my_user, sizeof model->my_user, "bob");
        press(model, 'u');
        assert_in_range(table->order.count, 1, all - 1);
        assert_int_equal(ntk_top_model_selected(model)->pid, 7287);
        strip = scene_row(model, 24, 120, 22);
        assert_non_null(strstr(strip, " mine"));
        free(strip);
        press(model, 'u');
        assert_int_equal(table->order.count, all);
        ntk_top_model_destroy(model);
    }
}

/* Method: a user without processes: the list shows the reason why it is empty. */
static void the_mine_filter_reports_an_empty_result(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_PROCESSES);
    char *row;

    (void)snprintf(model->my_user, sizeof model->my_user, "4711");
    press(model, 'u');
    row = scene_row(model, 12, 80, 4);
    assert_non_null(strstr(row, "none of these belongs to you (u: all users)"));
    free(row);
    ntk_top_model_destroy(model);
}

/* Method: views with rows that belong to no process: their bar lacks the key, and it does
 * nothing. */
static void the_mine_filter_is_unavailable_in_views_without_processes(void **state)
{
    for (int view = 0; view < NTK_TOP_VIEW_COUNT; view++) {
        struct ntk_top_model *model;
        char *keys;
        char *strip;

        if (view == NTK_TOP_VIEW_TREE || view == NTK_TOP_VIEW_HOSTS ||
            view == NTK_TOP_VIEW_OVERVIEW || view == NTK_TOP_VIEW_PROCESSES ||
            view == NTK_TOP_VIEW_MODELS) {
            continue;
        }
        model = open_view(&scene_trn1, (enum ntk_top_view_id)view);
        press(model, 'u');
        assert_false(model->only_mine);
        model->only_mine = true; /* set in another view */
        keys = scene_row(model, 24, 200, 23);
        strip = scene_row(model, 24, 200, 22);
        assert_null(strstr(keys, "u: mine"));
        assert_null(strstr(strip, " mine"));
        free(keys);
        free(strip);
        ntk_top_model_destroy(model);
    }
}

/* Method: a tag that equals the pid is not shown; a tag set by the user gets a column. */
static void the_tag_column_is_shown_while_a_process_has_a_tag(void **state)
{
    static const char *const tags[] = { "7286", "train" };
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_OVERVIEW);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_OVERVIEW];

    assert_false(ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_TAG));
    scene.tags = tags;
    scene_update(model, &scene);
    assert_true(ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_TAG));
    assert_false(ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_STATE));
    scene.ended = 1;
    scene_update(model, &scene);
    assert_true(ntk_top_table_is_shown(table, NTK_TOP_PROCESSES_STATE));
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_key_opens_its_view_and_returns_to_the_first_view),
        cmocka_unit_test(all_view_and_action_keys_are_unique),
        cmocka_unit_test(actions_in_a_view_do_not_affect_the_first_screen),
        cmocka_unit_test(an_application_selected_in_one_view_filters_every_view),
        cmocka_unit_test(enter_opens_and_closes_the_page_of_a_row),
        cmocka_unit_test(page_values_are_read_only_while_the_page_is_open),
        cmocka_unit_test(the_overview_reads_the_use_of_a_selected_application),
        cmocka_unit_test(the_cursor_moves_to_the_next_row_if_its_process_exits),
        cmocka_unit_test(mouse_clicks_select_sort_and_open),
        cmocka_unit_test(the_view_strip_has_every_key_and_the_adjacent_view_names),
        cmocka_unit_test(a_click_in_the_column_box_hides_and_shows_a_column),
        cmocka_unit_test(memory_categories_sum_to_the_total),
        cmocka_unit_test(a_typed_filter_is_shown_and_applied),
        cmocka_unit_test(columns_are_selected_in_the_column_box),
        cmocka_unit_test(the_mine_filter_lists_only_entries_of_this_user),
        cmocka_unit_test(the_mine_filter_reports_an_empty_result),
        cmocka_unit_test(the_mine_filter_is_unavailable_in_views_without_processes),
        cmocka_unit_test(the_tag_column_is_shown_while_a_process_has_a_tag),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
