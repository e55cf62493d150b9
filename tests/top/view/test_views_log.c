/* SPDX-License-Identifier: MIT */
/* The log of events and the view of errors, over many snapshots. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/mixed_snapshot.h"
#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_errors.h"
#include "top/model/model_events.h"
#include "top/model/model_hbm.h"
#include "top/view/view.h"
#include "top/view/views.h"

static void the_event_log_restarts_if_time_is_set_back(void **state)
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
    assert_int_equal(ntk_top_table_cursor_get(table)->key, 20); /* the newest one stays selected */
    press(model, NTK_SCREEN_KEY_DOWN);
    scene.realtime_ns += 1000000000;
    scene_update(model, &scene);
    assert_int_equal(ntk_top_table_cursor_get(table)->key,
                     19); /* until the user moves the cursor */
    golden(model, 120, 20, "lost");
    press(model, '\\');
    type(model, "error|load$");
    assert_int_equal(table->order.count, 15);
    press(model, NTK_SCREEN_KEY_ENTER);
    golden(model, 120, 20, "filtered");
    press(model, NTK_SCREEN_KEY_ESCAPE);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 3);
    assert_int_equal(table->order.count, 0); /* the other application has no events */
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2);
    assert_int_equal(table->order.count, 30);
    scene.realtime_ns -= 1500000000;
    scene.lost = 0;
    scene_update(model, &scene);
    assert_int_equal(table->order.count, 10);
    assert_int_equal(model->events.lost, 0);
    ntk_top_model_destroy(model);
}

/* Method: more events than are kept; a frozen screen gets them later, and its contents do not
 * change. */
static void the_event_log_is_limited_and_grows_while_the_screen_is_frozen(void **state)
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

/* Method: bits are corrected in one second, then time passes; the application that failed exits. */
static void new_errors_are_highlighted_and_old_ones_stay_listed(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = open_view(&scene, NTK_TOP_VIEW_ERRORS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_ERRORS];
    const struct ntk_top_row *row;

    assert_int_equal(find_row(table, "ND3", "HBM ECC corrected")->kind, NTK_TOP_ROW_NORMAL);
    assert_null(find_row(table, "ND0", "HBM ECC corrected")); /* not counted: not zero */
    scene.realtime_ns += 1000000000;
    scene.ecc = 4;
    scene_update(model, &scene);
    golden(model, 100, 16, "grown");
    row = find_row(table, "ND3", "HBM ECC corrected");
    assert_int_equal(row->kind, NTK_TOP_ROW_WARNING);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_NEW) == 4);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_TOTAL) == 21);
    row = find_row(table, "7287", "timed-out executions");
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
    row = find_row(table, "7287", "timed-out executions");
    assert_non_null(row); /* it exited */
    assert_true(error_value(table, row, NTK_TOP_ERRORS_NEW) == -1);
    assert_true(error_value(table, row, NTK_TOP_ERRORS_SEEN) == 2);
    golden(model, 100, 16, "later");
    scene.realtime_ns -= 5000000000;
    scene_update(model, &scene); /* rewound: no event counts twice */
    assert_null(find_row(table, "7287", "timed-out executions"));
    assert_true(
        error_value(table, find_row(table, "ND3", "HBM ECC corrected"), NTK_TOP_ERRORS_SEEN) == 0);
    ntk_top_model_destroy(model);
}

static void unknown_ecc_totals_of_a_recording_are_absent_rather_than_zero(void **state)
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

/* Method: more applications than are remembered, with one failure each. */
static void the_number_of_listed_errors_is_limited(void **state)
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
    assert_int_equal(model->watch.errors.counters.count, NTK_TOP_ERRORS_MAX);
    assert_in_range(model->tables[NTK_TOP_VIEW_ERRORS].order.count, NTK_TOP_ERRORS_MAX / 2,
                    NTK_TOP_ERRORS_MAX);
    ntk_top_model_destroy(model);
}

static void log_push(struct ntk_top_model *model, uint16_t kind, const char *tag, uint64_t bytes)
{
    struct ntk_top_event_log *log = &model->events;
    struct ntk_top_event *event = &log->events[log->count % NTK_TOP_EVENTS_MAX];

    *event = (struct ntk_top_event){ .number = ++log->count };
    event->sample.kind = kind;
    event->sample.core = NTK_NO_CORE;
    event->sample.bytes = bytes;
    event->sample.realtime_ns = log->count * 1000000000;
    (void)strcpy(event->tag, tag);
}

/* Method: an application that allocates and frees 62 times, then an event of another kind, then the
 * same pair from another application: rows, counts and sums are known by construction. */
static void repeated_events_share_a_row_until_expanded(void **state)
{
    struct ntk_top_model *model = open_view(&scene_small, NTK_TOP_VIEW_EVENTS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_EVENTS];
    const struct ntk_top_row *row;

    (void)state;
    ntk_top_event_log_fini(&model->events);
    model->events = (struct ntk_top_event_log){ 0 };
    model->events.events = calloc(NTK_TOP_EVENTS_MAX, sizeof *model->events.events);
    assert_non_null(model->events.events);
    for (int i = 0; i < 62; i++) {
        log_push(model, NTK_EVENT_MEM_ALLOC, "train", 4096);
        log_push(model, NTK_EVENT_MEM_FREE, "train", 1024);
    }
    log_push(model, NTK_EVENT_MARK, "train", 0);
    log_push(model, NTK_EVENT_MEM_ALLOC, "other", 1);
    ntk_top_model_project_view(model);
    assert_int_equal(table->order.count, 4);

    row = ntk_top_table_row_get(table, 0);
    assert_string_equal(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_APP)->text, "other");
    assert_false(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_TIMES)->present);
    row = ntk_top_table_row_get(table, 2);
    assert_string_equal(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_KIND)->text, "free");
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_TIMES)->value == 62);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_BYTES)->value == 62 * 1024);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_TIME)->value == 124e9);
    assert_int_equal(row->key, 2); /* the oldest: it stays while others arrive */
    row = ntk_top_table_row_get(table, 3);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_EVENTS_BYTES)->value == 62 * 4096);
    assert_true(ntk_top_table_is_shown(table, NTK_TOP_EVENTS_TIMES));

    press(model, 'x');
    assert_int_equal(table->order.count, 126);
    assert_false(ntk_top_table_is_shown(table, NTK_TOP_EVENTS_TIMES));
    press(model, 'x');
    assert_int_equal(table->order.count, 4);
    ntk_top_model_destroy(model);
}

/* Returns the number of listed cores; those of other applications than the tab's are none. */
static size_t count_cores(const struct ntk_top_model *model)
{
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_ERRORS];
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);
    size_t count = 0;

    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);
        const char *where = ntk_top_table_cell_get(table, row, NTK_TOP_ERRORS_WHERE)->text;
        unsigned device;
        unsigned core;

        if (sscanf(where, "ND%u NC%u", &device, &core) == 2) {
            uint32_t logical = device * model->cores_per_device + core;
            assert_true(!runtime || ntk_top_model_core_of(model, runtime, logical));
            count++;
        }
    }
    return count;
}

/* Method: three applications, two of them with a dead core. */
static void errors_of_one_application_include_only_its_own_cores(void **state)
{
    struct ntk_top_model *model = NULL;
    size_t sum = 0;

    (void)state;
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    assert_int_equal(ntk_top_model_update(model, test_mixed_snapshot(), NULL), 0);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_ERRORS);
    size_t all = count_cores(model);
    assert_true(all > 0);
    for (int tab = 2; tab <= 1 + MIXED_COUNT; tab++) {
        ntk_top_model_act(model, NTK_TOP_ACTION_TAB, tab);
        assert_int_equal(model->tab_index, tab - 1);
        sum += count_cores(model);
        for (int row = 0; row < 24; row++) {
            char *text = scene_row(model, 24, 100, row);
            assert_null(strstr(text, "ECC uncorrected:"));
            free(text);
        }
    }
    assert_int_equal(sum, all);
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_event_log_restarts_if_time_is_set_back),
        cmocka_unit_test(the_event_log_is_limited_and_grows_while_the_screen_is_frozen),
        cmocka_unit_test(new_errors_are_highlighted_and_old_ones_stay_listed),
        cmocka_unit_test(unknown_ecc_totals_of_a_recording_are_absent_rather_than_zero),
        cmocka_unit_test(the_number_of_listed_errors_is_limited),
        cmocka_unit_test(repeated_events_share_a_row_until_expanded),
        cmocka_unit_test(errors_of_one_application_include_only_its_own_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
