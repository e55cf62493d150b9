/* SPDX-License-Identifier: MIT */
/* Tests of the views beside the vendor's screen: whole screens as text,
 * golden/<view>_<scene>.txt. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/mixed_snapshot.h"
#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "top/model_hbm.h"
#include "top/model_topology.h"
#include "top/model_errors.h"
#include "top/model_graphs.h"
#include "top/model_processes.h"
#include "top/view.h"
#include "top/views.h"

#define ONE_MACHINE_COUNT NTK_TOP_VIEW_HOSTS /* the last is of several machines */

static struct ntk_top_model *open_view(const struct scene *scene, enum ntk_top_view_id view)
{
    struct ntk_top_model *model = scene_model(scene);

    ntk_top_model_set_view(model, view);
    return model;
}

static void press(struct ntk_top_model *model, int key)
{
    int argument = 0;
    enum ntk_top_action action;

    if (!ntk_top_model_key(model, key)) {
        action = ntk_top_keys_find(key, &argument);
        ntk_top_model_act(model, action, argument);
    }
}

static void type(struct ntk_top_model *model, const char *text)
{
    for (; *text; text++) {
        press(model, *text);
    }
}

static void golden(struct ntk_top_model *model, int columns, int rows, const char *what)
{
    char name[128];

    (void)snprintf(name, sizeof name, "%s_%s_%dx%d", ntk_top_views_text_get(model->view)->name,
                   what, columns, rows);
    scene_assert_screen(model, rows, columns, true, name);
}

/* Method: the usual sizes, sixteen devices; ASCII and colours apart; then what may be missing. */
static void every_view_fits_every_usual_terminal(void **state)
{
    struct scene several = scene_trn1;
    struct scene absent = scene_small;
    struct scene driver_only = scene_trn1;

    several.runtime_count = 4;
    several.cores_per_runtime = 4;
    driver_only.no_flops = driver_only.driver = true;
    driver_only.runtime_count = 0;
    absent.no_busy = absent.no_cpu = absent.no_memory = absent.no_flops = true;
    for (int i = 1; i < ONE_MACHINE_COUNT; i++) {
        enum ntk_top_view_id view = (enum ntk_top_view_id)i;
        const char *name = ntk_top_views_text_get(view)->name;
        struct ntk_top_model *model = open_view(&several, view);
        char golden_name[64];

        golden(model, 80, 24, "trn1");
        golden(model, 200, 50, "trn1");
        golden(model, 40, 10, "trn1");
        (void)snprintf(golden_name, sizeof golden_name, "%s_trn1_ascii", name);
        scene_assert_ascii(model, 24, 100, golden_name);
        (void)snprintf(golden_name, sizeof golden_name, "%s_trn1_styles", name);
        scene_assert_styles(model, 24, 100, golden_name);
        ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2);
        golden(model, 100, 24, "tab");
        ntk_top_model_destroy(model);

        model = open_view(&scene_no_device, view);
        golden(model, 80, 24, "no_device");
        ntk_top_model_destroy(model);
        model = open_view(&driver_only, view);
        golden(model, 100, 14, "driver");
        ntk_top_model_destroy(model);
        model = open_view(&absent, view);
        golden(model, 120, 12, "absent");
        ntk_top_model_destroy(model);
    }
}

static void assert_no_poison(struct ntk_top_model *model, int rows, int columns, const char *what)
{
    for (int i = 0; i < rows; i++) {
        char *text = scene_row(model, rows, columns, i);

        if (strstr(text, "666") || strstr(text, "66.6%") || strstr(text, "66.60%")) {
            fail_msg("%s, tab %zu, %dx%d: %s", what, model->tab_index, columns, rows, text);
        }
        free(text);
    }
}

/* Method: three processes at once, watched in three ways; what nobody knows of two of them is
 * poison in the snapshot, and no view, page or tab of any size shows it. */
static void no_view_shows_what_nobody_knows(void **state)
{
    static const int sizes[][2] = { { 24, 80 }, { 50, 200 }, { 10, 40 }, { 40, 120 } };

    (void)state;
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        enum ntk_top_view_id view = (enum ntk_top_view_id)i;
        const char *name = ntk_top_views_text_get(view)->name;
        struct ntk_top_model *model = NULL;

        assert_int_equal(ntk_top_model_create(&model, NULL), 0);
        model->version = "1.2.3";
        assert_int_equal(ntk_top_model_update(model, test_mixed_snapshot(), NULL), 0);
        ntk_top_model_set_view(model, view);
        golden(model, 100, 24, "mixed");
        for (int tab = 1; tab <= 1 + MIXED_COUNT; tab++) {
            ntk_top_model_act(model, NTK_TOP_ACTION_TAB, tab);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                assert_no_poison(model, sizes[s][0], sizes[s][1], name);
            }
            press(model, 'f');
            assert_no_poison(model, 50, 200, name);
            press(model, 'f');
            press(model, '\n');
            assert_no_poison(model, 60, 120, name);
            press(model, NTK_SCREEN_KEY_ESCAPE);
            ntk_top_model_set_view(model, view);
        }
        ntk_top_model_destroy(model);
    }
}

/* Method: every view, its page, its box of columns and the help on a machine whose memory is
 * another one, with errors of it. */
static void memory_has_the_word_of_its_machine(void **state)
{
    static const int sizes[][2] = { { 24, 80 }, { 50, 200 }, { 60, 160 } };
    struct scene scene = scene_trn1;
    size_t words = 0;

    (void)state;
    scene.instance_type = "inf1.24xlarge";
    scene.runtime_count = 2;
    scene.ecc = 3;
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        struct ntk_top_model *model = open_view(&scene, (enum ntk_top_view_id)i);

        for (int picture = 0; picture < 3; picture++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                for (int row = 0; row < sizes[s][0]; row++) {
                    char *text = scene_row(model, sizes[s][0], sizes[s][1], row);

                    if (strstr(text, "HBM")) {
                        fail_msg("view %d, picture %d: %s", i, picture, text);
                    }
                    words += strstr(text, "DRAM") != NULL;
                    free(text);
                }
            }
            if (picture == 0) {
                press(model, 'c');
            } else {
                press(model, NTK_SCREEN_KEY_ESCAPE);
                press(model, '?');
            }
        }
        ntk_top_model_destroy(model);
    }
    assert_true(words > 20);
}

static void keys_open_views_and_lead_back(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_small);

    press(model, 'e');
    assert_int_equal(model->view, NTK_TOP_VIEW_ENGINES);
    press(model, 'e');
    assert_int_equal(model->view, NTK_TOP_VIEW_MAIN);
    press(model, 'e');
    press(model, NTK_SCREEN_KEY_ESCAPE);
    assert_int_equal(model->view, NTK_TOP_VIEW_MAIN);
    press(model, NTK_SCREEN_KEY_TAB_BACK);
    assert_int_equal(model->view, ONE_MACHINE_COUNT - 1);
    press(model, '\t');
    assert_int_equal(model->view, NTK_TOP_VIEW_MAIN);
    for (int i = 0; i < ONE_MACHINE_COUNT; i++) {
        assert_int_equal(model->view, i);
        press(model, '\t');
    }
    press(model, 'e');
    press(model, 'o');
    assert_int_equal(model->view, NTK_TOP_VIEW_MAIN);
    ntk_top_model_destroy(model);
}

static void no_two_keys_are_the_same(void **state)
{
    static const int keys[] = {
#define NTK_TOP_KEY(code, id, argument) code,
#include "top/keys.def"
#define NTK_TOP_VIEW(id, name, key, shown, title, help) key,
#include "top/views.def"
    };
    size_t count = sizeof keys / sizeof *keys;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            assert_int_not_equal(keys[i], keys[k]);
        }
    }
}

/* Method: the tree of the first screen has its own selection; keys of a view must not move it. */
static void what_happens_in_a_view_leaves_the_first_screen_alone(void **state)
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

static void the_application_of_a_row_is_followed(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_PROCESSES);
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
    scene.runtime_count = 1; /* it ends: back to all */
    scene_update(model, &scene);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_int_equal(table->order.count, 1);
    ntk_top_model_destroy(model);
}

/* Method: its own page from the list, and back by each of the two keys; the list is as it was. */
static void enter_opens_the_page_of_a_row_and_leaves_it(void **state)
{
    static const int keys[] = { NTK_SCREEN_KEY_ESCAPE, NTK_SCREEN_KEY_ENTER };
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_PROCESSES);
    struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    char *text;

    press(model, NTK_SCREEN_KEY_DOWN);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        press(model, NTK_SCREEN_KEY_ENTER);
        assert_true(model->page.is_open);
        assert_false(model->page.is_of_model);
        text = scene_row(model, 24, 80, 4); /* below the alert and the label of software cores */
        assert_non_null(strstr(text, "Application 7287"));
        free(text);
        press(model, '/'); /* boxes of the list, which is not seen, stay closed */
        assert_int_equal(table->input, NTK_TOP_INPUT_NONE);
        press(model, keys[i]);
        assert_false(model->page.is_open);
        assert_int_equal(model->view, NTK_TOP_VIEW_PROCESSES);
        assert_int_equal(table->cursor_index, 1);
    }
    /* What is signalled is what is seen, also where the list has moved on to a neighbour. */
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

/* Method: usual sizes with everything known; then what no source tells. */
static void pages_fit_every_usual_terminal(void **state)
{
    static const enum ntk_top_view_id views[] = { NTK_TOP_VIEW_PROCESSES, NTK_TOP_VIEW_MODELS };
    struct scene known = scene_trn1;
    struct scene absent = scene_small;

    known.spread = true;
    absent.no_busy = absent.no_cpu = absent.no_memory = absent.no_flops = absent.no_in_flight =
        true;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct ntk_top_model *model = open_view(&known, views[i]);
        char name[64];

        press(model, NTK_SCREEN_KEY_ENTER);
        golden(model, 80, 24, "page");
        golden(model, 120, 40, "page");
        golden(model, 40, 10, "page");
        (void)snprintf(name, sizeof name, "%s_page_ascii", ntk_top_views_text_get(views[i])->name);
        scene_assert_ascii(model, 40, 120, name);
        press(model, NTK_SCREEN_KEY_END);
        golden(model, 80, 24, "page_end");
        ntk_top_model_destroy(model);

        model = open_view(&absent, views[i]);
        press(model, NTK_SCREEN_KEY_ENTER);
        golden(model, 80, 24, "page_absent");
        ntk_top_model_destroy(model);
    }
}

static void a_process_that_dies_under_the_cursor_leaves_it_on_a_neighbour(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model;
    const struct ntk_top_table *table;

    scene.runtime_count = 3;
    scene.cores_per_runtime = 4;
    model = open_view(&scene, NTK_TOP_VIEW_PROCESSES);
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
    press(model, 'i'); /* nothing to follow, nothing to open */
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_false(model->page.is_open);
    ntk_top_model_destroy(model);
}

static void wide_characters_keep_the_columns(void **state)
{
    struct ntk_top_model *model = open_view(&scene_wide, NTK_TOP_VIEW_PROCESSES);

    golden(model, 80, 10, "wide");
    press(model, 'm');
    golden(model, 80, 10, "wide");
    press(model, '/');
    press(model, 0x30e2); /* the first character of the name */
    golden(model, 80, 10, "wide_search");
    ntk_top_model_destroy(model);
}

static void the_log_goes_on_over_snapshots_and_starts_anew_when_time_goes_back(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_EVENTS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_EVENTS];

    assert_true(model->wants_events);
    assert_int_equal(table->order.count, 10);
    scene.realtime_ns += 1000000000;
    scene.lost = 5;
    scene_update(model, &scene);
    assert_int_equal(table->order.count, 20);
    assert_int_equal(ntk_top_table_cursor_get(table)->key, 20); /* the newest stays selected */
    press(model, NTK_SCREEN_KEY_DOWN);
    scene.realtime_ns += 1000000000;
    scene_update(model, &scene);
    assert_int_equal(ntk_top_table_cursor_get(table)->key, 19); /* ... until the user moves */
    golden(model, 120, 20, "lost");
    press(model, '\\');
    type(model, "error|load$");
    assert_int_equal(table->order.count, 15);
    press(model, NTK_SCREEN_KEY_ENTER);
    golden(model, 120, 20, "filtered");
    press(model, NTK_SCREEN_KEY_ESCAPE);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 3);
    assert_int_equal(table->order.count, 0); /* nothing happened in the other one */
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2);
    assert_int_equal(table->order.count, 30);
    scene.realtime_ns -= 1500000000;
    scene.lost = 0;
    scene_update(model, &scene);
    assert_int_equal(table->order.count, 10);
    assert_int_equal(model->events.lost, 0);
    ntk_top_model_destroy(model);
}

/* Method: more events than are kept; a frozen screen sees them later, and nothing of what it shows
 * changes. */
static void the_log_is_bounded_and_not_stopped_by_freezing(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_EVENTS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_EVENTS];
    char *before = scene_row(model, 24, 120, 5);
    char *after;

    for (int i = 0; i < NTK_TOP_EVENTS_MAX / 10; i++) {
        scene.realtime_ns += 1000000;
        assert_int_equal(ntk_top_model_observe(model, scene_snapshot(&scene), NULL), 0);
    }
    after = scene_row(model, 24, 120, 5);
    assert_string_equal(before, after);
    scene_update(model, &scene);
    assert_int_equal(table->order.count, NTK_TOP_EVENTS_MAX);
    golden(model, 100, 10, "bounded");
    free(before);
    free(after);
    ntk_top_model_destroy(model);
}

static void the_map_shows_what_is_told_of_each_device(void **state)
{
    struct scene chain = scene_trn1;
    struct scene no_memory = scene_trn1;
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_TOPOLOGY);

    press(model, 'v');
    golden(model, 80, 24, "hbm");
    press(model, 'v');
    golden(model, 80, 24, "power"); /* of every second device */
    press(model, 'V');
    press(model, 'V');
    assert_int_equal(model->heat, NTK_TOP_HEAT_BUSY);
    ntk_top_model_destroy(model);
    chain.instance_type = "inf2.24xlarge";
    chain.device_count = 6;
    model = open_view(&chain, NTK_TOP_VIEW_TOPOLOGY);
    assert_int_equal(ntk_top_model_topology_shape(model), NTK_TOPOLOGY_CHAIN);
    golden(model, 80, 24, "chain");
    golden(model, 40, 12, "chain"); /* turned round at the edge */
    ntk_top_model_destroy(model);
    no_memory.no_memory = true; /* no device sample at all: no links are known */
    model = open_view(&no_memory, NTK_TOP_VIEW_TOPOLOGY);
    assert_int_equal(ntk_top_model_topology_shape(model), NTK_TOPOLOGY_OTHER);
    assert_true(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_BUSY, 0).present);
    assert_false(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_HBM, 0).present);
    assert_false(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_POWER, 0).present);
    ntk_top_model_destroy(model);
}

static const struct ntk_top_row *find_row(const struct ntk_top_table *table, const char *where,
                                          const char *what)
{
    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);

        if (strcmp(ntk_top_table_cell_get(table, row, NTK_TOP_ERRORS_WHERE)->text, where) == 0 &&
            strcmp(ntk_top_table_cell_get(table, row, NTK_TOP_ERRORS_WHAT)->text, what) == 0) {
            return row;
        }
    }
    return NULL;
}

static double error_value(const struct ntk_top_table *table, const struct ntk_top_row *row,
                          size_t column)
{
    const struct ntk_top_cell *cell = ntk_top_table_cell_get(table, row, column);

    return cell->present ? cell->value : -1;
}

/* Method: bits are corrected in one second, then time goes on; the application that failed ends. */
static void errors_stand_out_while_they_are_new_and_are_remembered(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_ERRORS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_ERRORS];
    const struct ntk_top_row *row;

    assert_int_equal(find_row(table, "ND3", "HBM ECC corrected")->kind, NTK_TOP_ROW_NORMAL);
    assert_null(find_row(table, "ND0", "HBM ECC corrected")); /* nobody counts: no zero */
    scene.realtime_ns += 1000000000;
    scene.ecc = 4;
    scene_update(model, &scene);
    golden(model, 100, 16, "grown");
    row = find_row(table, "ND3", "HBM ECC corrected");
    assert_int_equal(row->kind, NTK_TOP_ROW_WARNING);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_NEW) == 4);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_TOTAL) == 21);
    row = find_row(table, "7287", "timed out executions");
    assert_int_equal(row->kind, NTK_TOP_ROW_ERROR);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_SEEN) == 2);
    scene.ecc = 0;
    scene.runtime_count = 1;
    for (int s = 0; s < 12; s++) {
        scene.realtime_ns += 1000000000;
        scene_update(model, &scene);
    }
    row = find_row(table, "ND3", "HBM ECC corrected");
    assert_int_equal(row->kind, NTK_TOP_ROW_NORMAL);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_NEW) == 0);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_SEEN) == 4);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_AGO) == 12e9);
    row = find_row(table, "7287", "timed out executions");
    assert_non_null(row); /* it ended */
    assert_true(error_value(table, row, NTK_TOP_ERRORS_NEW) == -1);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_SEEN) == 2);
    golden(model, 100, 16, "later");
    scene.realtime_ns -= 5000000000;
    scene_update(model, &scene); /* rewound: nothing counts twice */
    assert_null(find_row(table, "7287", "timed out executions"));
    assert_true(
        error_value(table, find_row(table, "ND3", "HBM ECC corrected"), NTK_TOP_ERRORS_SEEN) == 0);
    ntk_top_model_destroy(model);
}

static void a_recording_has_no_totals_of_ecc_instead_of_zeros(void **state)
{
    struct scene scene = scene_trn1;
    scene.no_ecc_total = true;
    scene.ecc = 4;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_ERRORS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_ERRORS];
    const struct ntk_top_row *row = find_row(table, "ND3", "HBM ECC corrected");

    assert_non_null(row);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_SEEN) == 4);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_TOTAL) == -1);
    ntk_top_model_destroy(model);
}

/* Method: more applications than are remembered, each of which failed once. */
static void remembered_errors_are_bounded(void **state)
{
    struct scene scene = scene_small;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_ERRORS);

    scene.runtime_count = 2;
    scene.cores_per_runtime = 1;
    for (uint32_t i = 0; i < NTK_TOP_ERRORS_MAX + 100; i++) {
        scene.realtime_ns += 1000000000;
        scene.first_pid = 100 + 2 * i;
        assert_int_equal(ntk_top_model_observe(model, scene_snapshot(&scene), NULL), 0);
    }
    scene_update(model, &scene);
    assert_int_equal(model->errors.counters.count, NTK_TOP_ERRORS_MAX);
    assert_in_range(model->tables[NTK_TOP_VIEW_ERRORS].order.count, NTK_TOP_ERRORS_MAX / 2,
                    NTK_TOP_ERRORS_MAX);
    ntk_top_model_destroy(model);
}

/* Method: six minutes of the second application's cores going up and down; a minute in which nobody
 * measured. */
static void graphs_show_the_last_minutes(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model;
    char *before;
    char *after;

    scene.runtime_count = 2;
    scene.cores_per_runtime = 4;
    model = open_view(&scene, NTK_TOP_VIEW_GRAPHS);
    for (uint32_t s = 1; s <= 360; s++) {
        scene.realtime_ns += 1000000000;
        scene.phase = s / 5;
        scene.idle = s % 100 < 20;
        scene.no_busy = s >= 200 && s < 260;
        scene_update(model, &scene);
    }
    golden(model, 80, 24, "minutes");
    golden(model, 200, 50, "minutes");
    scene_assert_ascii(model, 30, 120, "graphs_minutes_ascii");
    scene_assert_styles(model, 24, 80, "graphs_minutes_styles");
    press(model, 'v');
    press(model, 'z');
    golden(model, 80, 24, "minute_of_hbm");
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 3);
    press(model, 'V');
    golden(model, 120, 30, "application");
    /* A frozen screen stays as it is, and what it misses is not lost. */
    before = scene_row(model, 30, 120, 4);
    for (int s = 0; s < 10; s++) {
        scene.realtime_ns += 1000000000;
        assert_int_equal(ntk_top_model_observe(model, scene_snapshot(&scene), NULL), 0);
    }
    after = scene_row(model, 30, 120, 4);
    assert_string_equal(before, after);
    free(after);
    scene.realtime_ns += 1000000000;
    scene_update(model, &scene);
    after = scene_row(model, 30, 120, 4);
    assert_string_not_equal(before, after);
    free(before);
    free(after);
    ntk_top_model_destroy(model);
}

/* Method: a recording is walked back and on again; what lies behind the moment that is shown is
 * not. */
static void graphs_end_at_the_moment_that_is_shown(void **state)
{
    struct scene scene = scene_small;
    struct ntk_top_model *model;
    float values[5];

    scene.realtime_ns = UINT64_C(1763697600000000000);
    model = open_view(&scene, NTK_TOP_VIEW_GRAPHS);
    for (uint32_t m = 0; m < 5; m++) {
        scene.idle = m >= 3;
        for (uint32_t s = 0; s < 60; s++) {
            scene.realtime_ns += 1000000000;
            scene_update(model, &scene);
        }
    }
    assert_int_equal(ntk_top_model_graphs_read(model, NTK_TOP_QUANTITY_BUSY, 0, 5, values), 0);
    assert_true(values[0] == 100 && values[2] == 100 && values[3] == 0 && values[4] == 0);
    scene.idle = false;
    scene.realtime_ns -= 3 * UINT64_C(60000000000);
    scene_update(model, &scene);
    assert_int_equal(ntk_top_model_graphs_read(model, NTK_TOP_QUANTITY_BUSY, 0, 5, values), 0);
    assert_true(isnan(values[0]) && isnan(values[1]) && values[3] == 100 && values[4] == 100);
    scene.realtime_ns += 3 * UINT64_C(60000000000);
    scene.idle = true;
    scene_update(model, &scene);
    assert_int_equal(ntk_top_model_graphs_read(model, NTK_TOP_QUANTITY_BUSY, 0, 5, values), 0);
    assert_true(values[2] == 100 && values[3] == 0);
    ntk_top_model_destroy(model);
}

static void the_numbers_beside_graphs_are_those_of_the_snapshot(void **state)
{
    struct scene scene = scene_trn2_lnc2;
    struct ntk_top_model *model;
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    struct ntk_top_number number;

    scene.realtime_ns = UINT64_C(1763697600000000000);
    model = open_view(&scene, NTK_TOP_VIEW_GRAPHS);
    assert_int_equal(ntk_top_model_graphs_cores(model, cores), 64);
    number = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_BUSY, 5);
    assert_true(number.present && fabs(number.value - model->cores[5].busy_percent.value) < 1e-3);
    number = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_BUSY, NTK_TOP_GRAPHS_TOTAL);
    assert_true(fabs(number.value - model->busy_percent_mean.value) < 1e-3);
    number = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_TERAFLOPS, NTK_TOP_GRAPHS_TOTAL);
    assert_true(fabs(number.value / model->teraflops_total.value - 1) < 1e-6);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 3);
    assert_int_equal(ntk_top_model_graphs_cores(model, cores), 16);
    assert_int_equal(cores[0], 16);
    number = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_HBM, NTK_TOP_GRAPHS_TOTAL);
    assert_true(fabs(number.value / (double)model->memory.device_total.value - 1) < 1e-6);
    ntk_top_model_destroy(model);
    scene.no_busy = scene.no_memory = true;
    scene.lnc = 1; /* another machine: another history */
    model = open_view(&scene, NTK_TOP_VIEW_GRAPHS);
    for (int q = 0; q <= NTK_TOP_QUANTITY_EXECUTIONS; q++) {
        number = ntk_top_model_graphs_now(model, (enum ntk_top_quantity)q, NTK_TOP_GRAPHS_TOTAL);
        assert_false(number.present);
    }
    assert_int_equal(ntk_top_model_graphs_cores(model, cores), 128);
    ntk_top_model_destroy(model);
}

static void a_click_selects_sorts_and_opens(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_PROCESSES);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    struct ntk_screen *screen = NULL;
    const struct ntk_screen_spot *spot;

    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 6, 20);
    assert_non_null(spot); /* the second row */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(table->cursor_index, 1);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 6, 20);
    assert_non_null(spot); /* again: open it */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(model->page.is_open);
    press(model, NTK_SCREEN_KEY_ESCAPE);
    spot = ntk_screen_spot_find(screen, 4, 9);
    assert_non_null(spot); /* a title */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(table->sort_column, 1);
    assert_false(table->sort_reversed);
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(table->sort_reversed);
    spot = ntk_screen_spot_find(screen, 1, 5);
    assert_non_null(spot); /* a name in the strip */
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_int_equal(model->view, NTK_TOP_VIEW_ENGINES);
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

static void the_peak_of_a_device_is_the_most_seen(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = scene_model(&scene);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_HBM];
    const uint64_t usual = 2 * UINT64_C(700) << 20; /* two stacks of the first device */
    const struct ntk_top_row *row;

    scene.phase = 100;
    scene_update(model, &scene); /* seen while another view is open */
    scene.phase = 0;
    scene_update(model, &scene);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_HBM);
    row = ntk_top_table_row_get(table, 0);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_USED)->value == (double)usual);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_PEAK)->value ==
                (double)(usual + (UINT64_C(200) << 20)));
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2); /* of one application nobody kept it */
    row = ntk_top_table_row_get(table, 0);
    assert_false(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_PEAK)->present);
    /* Back in a recording it is not known what comes. */
    scene.realtime_ns -= 60000000000;
    scene_update(model, &scene);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 1);
    row = ntk_top_table_row_get(table, 0);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_PEAK)->value == (double)usual);
    ntk_top_model_destroy(model);
}

/* Method: each view at 80 columns, also where the place in a long list takes some of them. */
static void the_strip_has_the_names_around_the_open_view_and_every_key(void **state)
{
    struct ntk_screen *screen = NULL;
    struct ntk_top_model *model = scene_model(&scene_trn1);

    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    for (int view = 1; view < ONE_MACHINE_COUNT; view++) {
        struct ntk_buf text = { 0 };
        const char *strip;

        ntk_top_model_set_view(model, (enum ntk_top_view_id)view);
        ntk_top_view_draw(model, screen, true);
        ntk_screen_text_write(screen, &text);
        strip = strchr(ntk_buf_text_get(&text), '\n');
        assert_non_null(strip);
        *strchr(strip + 1, '\n') = '\0';
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

static void memory_is_listed_by_core_too(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn2_lnc2, NTK_TOP_VIEW_HBM);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_HBM];
    double device_bytes = 0;

    assert_int_equal(table->order.count, 16);
    press(model, 'x');
    assert_int_equal(table->order.count, 64); /* logical ones: of two each */
    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);

        assert_false(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_CAPACITY)->present);
        device_bytes += ntk_top_table_cell_get(table, row, NTK_TOP_HBM_USED)->value;
    }
    assert_true(device_bytes == (double)model->memory.device_total.value);
    golden(model, 100, 16, "cores");
    press(model, 'x');
    assert_int_equal(table->order.count, 16);
    ntk_top_model_destroy(model);
}

static void a_click_in_the_box_of_columns_hides_and_shows(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_PROCESSES);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    struct ntk_screen *screen = NULL;
    const struct ntk_screen_spot *spot;

    press(model, 'c');
    assert_int_equal(ntk_screen_text_create(30, 100, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    spot = ntk_screen_spot_find(screen, 6, 60); /* the third column */
    assert_non_null(spot);
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_false(ntk_top_table_is_shown(table, 2));
    ntk_top_model_act(model, (enum ntk_top_action)spot->action, spot->argument);
    assert_true(ntk_top_table_is_shown(table, 2));
    assert_int_equal(table->cursor_index, 0); /* what lies below it is not clicked */
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

/* Method: what the device holds is the sum of its columns: nothing is counted twice or left out. */
static void categories_of_memory_add_up(void **state)
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
            /* ... and what applications tell is what the first screen says of them. */
            assert_true(device_bytes == (double)model->memory.device_total.value);
            ntk_top_model_destroy(model);
        }
    }
}

/* Method: three days of work that an agent found when it came back; every rate is as without
 * them. */
static void what_nobody_watched_is_in_no_rate_of_an_application(void **state)
{
    static const size_t columns[] = { NTK_TOP_PROCESSES_RATE, NTK_TOP_PROCESSES_ERROR_RATE,
                                      NTK_TOP_PROCESSES_FLOPS };
    struct scene scene = scene_trn1;
    struct ntk_top_model *models[2];
    const struct ntk_top_cell *cells[2];

    for (int i = 0; i < 2; i++) {
        models[i] = open_view(&scene, NTK_TOP_VIEW_PROCESSES);
        cells[i] = models[i]->tables[NTK_TOP_VIEW_PROCESSES].cells.items;
        scene.unwatched = UINT64_C(1000000000000);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        assert_true(cells[0][columns[i]].present);
        assert_true(cells[1][columns[i]].value == cells[0][columns[i]].value);
    }
    ntk_top_model_destroy(models[0]);
    ntk_top_model_destroy(models[1]);
}

/* Method: the machine's cores have the counts of the applications, and what of them nobody
 * watched. */
static void what_nobody_watched_is_in_no_rate_of_the_machine(void **state)
{
    struct scene scene = scene_trn1;
    double teraflops[2];

    for (int i = 0; i < 2; i++) {
        struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene);
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
        struct ntk_top_model *model = scene_model(&scene);
        struct ntk_err err;

        snapshot->cores = ntk_snapshot_alloc(snapshot, runtime->core_count, sizeof *runtime->cores);
        assert_non_null(snapshot->cores);
        snapshot->core_count = runtime->core_count;
        for (size_t c = 0; c < runtime->core_count; c++) {
            snapshot->cores[c] = runtime->cores[c];
        }
        assert_int_equal(ntk_top_model_update(model, snapshot, &err), 0);
        assert_true(model->teraflops_total.present);
        teraflops[i] = model->teraflops_total.value;
        ntk_top_model_destroy(model);
        scene.unwatched = UINT64_C(1000000000000);
    }
    assert_true(teraflops[0] == teraflops[1]);
}

static void a_queue_that_is_not_told_is_not_empty(void **state)
{
    struct scene scene = scene_trn1;

    for (int i = 0; i < 2; i++) {
        struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_PROCESSES);
        const struct ntk_top_cell *cells = model->tables[NTK_TOP_VIEW_PROCESSES].cells.items;

        assert_int_equal(cells[NTK_TOP_PROCESSES_QUEUE].present, i == 0);
        assert_true(cells[NTK_TOP_PROCESSES_RATE].present);
        ntk_top_model_destroy(model);
        scene.no_in_flight = true;
    }
}

static void a_filter_is_typed_and_shown(void **state)
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
    press(model, 's'); /* a key again */
    golden(model, 80, 24, "filter_sorted");
    press(model, NTK_SCREEN_KEY_ESCAPE);
    assert_int_equal(model->tables[NTK_TOP_VIEW_ENGINES].order.count, 32);
    assert_int_equal(model->view, NTK_TOP_VIEW_ENGINES);
    ntk_top_model_destroy(model);
}

static void columns_are_chosen_in_a_box(void **state)
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
        char *row = scene_row(model, 24, 80, 2); /* drawing says what has room */

        free(row);
        press(model, NTK_SCREEN_KEY_RIGHT);
    }
    golden(model, 80, 24, "scrolled");
    ntk_top_model_destroy(model);
}

/* Method: every size, each view with rows and without; nothing may leave the frame or crash. */
static void any_size_is_survived(void **state)
{
    /* A report may say anything: half a logical core in a device. */
    const struct scene odd = { .instance_type = "trn2.48xlarge",
                               .core_version = "",
                               .device_count = 3,
                               .cores_per_device = 1,
                               .lnc = 2,
                               .runtime_count = 2,
                               .cores_per_runtime = 1,
                               .events = true };
    const struct scene *scenes[] = { &scene_trn2_lnc2, &scene_no_device, &odd };
    uint32_t random = 4711;

    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        struct scene scene = *scenes[s];
        struct ntk_top_model *model = scene_model(&scene);
        struct ntk_screen *screen = NULL;

        assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
        for (int i = 0; i < 1500; i++) {
            random = random * 1664525 + 1013904223;
            ntk_screen_text_resize(screen, (int)(random >> 8 & 0xffff) % 60,
                                   (int)(random >> 4 & 0xffff) % 250);
            press(model, (int)(random >> 12) % 4 == 0
                             ? (int)(NTK_SCREEN_KEY_UP + (random >> 16) % 24)
                             : (int)(' ' + (random >> 16) % 96));
            if (i % 5 == 0) {
                ntk_top_model_set_view(model,
                                       (enum ntk_top_view_id)((random >> 9) % NTK_TOP_VIEW_COUNT));
            }
            if (i % 7 == 0) {
                scene.phase = random >> 20;
                scene.runtime_count = scenes[s]->runtime_count > 0 ? random >> 20 & 3 : 0;
                scene_update(model, &scene);
            }
            ntk_top_view_draw(model, screen, i % 3 != 0);
        }
        ntk_screen_destroy(screen);
        ntk_top_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_view_fits_every_usual_terminal),
        cmocka_unit_test(no_view_shows_what_nobody_knows),
        cmocka_unit_test(memory_has_the_word_of_its_machine),
        cmocka_unit_test(keys_open_views_and_lead_back),
        cmocka_unit_test(no_two_keys_are_the_same),
        cmocka_unit_test(what_happens_in_a_view_leaves_the_first_screen_alone),
        cmocka_unit_test(the_application_of_a_row_is_followed),
        cmocka_unit_test(enter_opens_the_page_of_a_row_and_leaves_it),
        cmocka_unit_test(pages_fit_every_usual_terminal),
        cmocka_unit_test(a_process_that_dies_under_the_cursor_leaves_it_on_a_neighbour),
        cmocka_unit_test(wide_characters_keep_the_columns),
        cmocka_unit_test(the_log_goes_on_over_snapshots_and_starts_anew_when_time_goes_back),
        cmocka_unit_test(the_log_is_bounded_and_not_stopped_by_freezing),
        cmocka_unit_test(the_map_shows_what_is_told_of_each_device),
        cmocka_unit_test(errors_stand_out_while_they_are_new_and_are_remembered),
        cmocka_unit_test(a_recording_has_no_totals_of_ecc_instead_of_zeros),
        cmocka_unit_test(remembered_errors_are_bounded),
        cmocka_unit_test(graphs_show_the_last_minutes),
        cmocka_unit_test(graphs_end_at_the_moment_that_is_shown),
        cmocka_unit_test(the_numbers_beside_graphs_are_those_of_the_snapshot),
        cmocka_unit_test(a_click_selects_sorts_and_opens),
        cmocka_unit_test(the_peak_of_a_device_is_the_most_seen),
        cmocka_unit_test(the_strip_has_the_names_around_the_open_view_and_every_key),
        cmocka_unit_test(categories_of_memory_add_up),
        cmocka_unit_test(memory_is_listed_by_core_too),
        cmocka_unit_test(a_click_in_the_box_of_columns_hides_and_shows),
        cmocka_unit_test(what_nobody_watched_is_in_no_rate_of_an_application),
        cmocka_unit_test(what_nobody_watched_is_in_no_rate_of_the_machine),
        cmocka_unit_test(a_queue_that_is_not_told_is_not_empty),
        cmocka_unit_test(a_filter_is_typed_and_shown),
        cmocka_unit_test(columns_are_chosen_in_a_box),
        cmocka_unit_test(any_size_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
