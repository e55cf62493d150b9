/* SPDX-License-Identifier: MIT */
/* A moment of the past of a live display: everything is as it was then. */

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_alerts.h"
#include "top/model/model_errors.h"
#include "top/model/model_events.h"
#include "top/model/model_hbm.h"
#include "top/model/model_watch.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define SECOND UINT64_C(1000000000)
#define BAD_CORE 3u

/* The snapshot of second s: from second 5 on, a core is dead, and each second has an event and four
 * corrected bits; the memory of device 0 grows. */
static const struct ntk_snapshot *moment(uint64_t s)
{
    struct scene scene = scene_trn1;

    scene.realtime_ns += s * SECOND;
    scene.ecc = s >= 5 ? 4 : 0;
    scene.events = false;
    struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene);
    if (s >= 5) {
        struct ntk_event_sample *event = ntk_snapshot_alloc(snapshot, 1, sizeof *event);

        assert_non_null(event);
        *event = (struct ntk_event_sample){ .kind = NTK_EVENT_ERROR,
                                            .core = BAD_CORE,
                                            .status = 5,
                                            .pid = snapshot->runtimes[0].pid,
                                            .realtime_ns = scene.realtime_ns - 1 };
        snapshot->events = event;
        snapshot->event_count = 1;
        for (size_t r = 0; r < snapshot->runtime_count; r++) {
            for (size_t c = 0; c < snapshot->runtimes[r].core_count; c++) {
                struct ntk_core_sample *core = &snapshot->runtimes[r].cores[c];

                core->failing_since_ns =
                    core->core == BAD_CORE ? scene_trn1.realtime_ns + 5 * SECOND : 0;
            }
        }
        snapshot->cores[BAD_CORE].failing_since_ns = scene_trn1.realtime_ns + 5 * SECOND;
    }
    for (uint32_t i = 0; i < snapshot->devices[0].stack_count; i++) {
        snapshot->devices[0].memory_used_bytes[i] = i == 0 ? (s + 8) << 30 : 0;
    }
    return snapshot;
}

/* As run.c does. */
static void arrive(struct ntk_top_model *model, struct ntk_top_past *past, uint64_t s,
                   bool is_frozen)
{
    const struct ntk_snapshot *snapshot = moment(s);

    ntk_top_past_add(past, snapshot);
    if (is_frozen) {
        assert_int_equal(ntk_top_model_observe(model, snapshot, NULL), 0);
    } else {
        assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    }
}

static void show(struct ntk_top_model *model, const struct ntk_top_past *past, size_t index)
{
    assert_int_equal(ntk_top_model_show_past(model, past, index, NULL), 0);
}

static const struct ntk_top_table *list(struct ntk_top_model *model, enum ntk_top_view_id id)
{
    ntk_top_model_project_list(model, id);
    return &model->tables[id];
}

/* The cell of the row with where in its first cell, and what in its second (NULL: any); -1 without.
 */
static double value(const struct ntk_top_table *table, const char *where, const char *what,
                    size_t column)
{
    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);
        const struct ntk_top_cell *cell = ntk_top_table_cell_get(table, row, column);

        if (strcmp(ntk_top_table_cell_get(table, row, 0)->text, where) == 0 &&
            (!what || strcmp(ntk_top_table_cell_get(table, row, 1)->text, what) == 0)) {
            return cell->present ? cell->value : -1;
        }
    }
    return -1;
}

/* What a reader sees at second s of a run that began at second 0. */
static void assert_moment(struct ntk_top_model *model, uint64_t s)
{
    const struct ntk_top_table *errors = list(model, NTK_TOP_VIEW_ERRORS);
    const struct ntk_top_table *events = list(model, NTK_TOP_VIEW_EVENTS);
    const struct ntk_top_table *hbm = list(model, NTK_TOP_VIEW_HBM);
    bool is_bad = s >= 5;

    assert_true(model->snapshot->realtime_ns == scene_trn1.realtime_ns + s * SECOND);
    assert_int_equal(model->cores[BAD_CORE].state, is_bad ? NTK_TOP_CORE_DEAD : NTK_TOP_CORE_GOOD);
    assert_int_equal(strstr(model->alert, "dead") != NULL, is_bad);
    assert_true(value(errors, "ND1 NC1", "core is dead", NTK_TOP_ERRORS_AGO) ==
                (is_bad ? (double)((s - 5) * SECOND) : -1));
    assert_true(value(errors, "7287", "timed-out executions", NTK_TOP_ERRORS_SEEN) ==
                (double)(s + 1));
    assert_true(value(errors, "7287", "timed-out executions", NTK_TOP_ERRORS_AGO) == 0);
    assert_true(value(errors, "ND3", "HBM ECC corrected", NTK_TOP_ERRORS_SEEN) ==
                (is_bad ? 4 * (double)(s - 4) : 0));
    assert_int_equal(events->order.count, is_bad ? s - 4 : 0);
    assert_int_equal(ntk_top_model_events_count(model), events->order.count);
    assert_true(value(hbm, "ND0", NULL, NTK_TOP_HBM_PEAK) == (double)((s + 8) << 30));
}

static struct ntk_top_model *begin(void)
{
    struct ntk_top_model *model = NULL;

    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->each_event = true;
    ntk_top_model_set_view(model, NTK_TOP_VIEW_ERRORS);
    return model;
}

static void going_back_shows_the_state_at_the_selected_time(void **state)
{
    static struct ntk_top_past past;
    struct ntk_top_model *model = begin();

    (void)state;
    for (uint64_t s = 0; s < 9; s++) {
        arrive(model, &past, s, false);
        assert_moment(model, s);
    }
    show(model, &past, 3);
    assert_moment(model, 3);
    show(model, &past, 6);
    assert_moment(model, 6);
    show(model, &past, 1);
    assert_moment(model, 1);
    show(model, &past, 8); /* now */
    assert_moment(model, 8);
    assert_false(model->is_behind);
    ntk_top_past_fini(&past);
    ntk_top_model_destroy(model);
}

/* Method: snapshots arrive while an earlier one is shown, once frozen and once after a step
 * back. */
static void the_display_is_unchanged_while_an_earlier_time_is_shown(void **state)
{
    static struct ntk_top_past past;
    struct ntk_top_model *model = begin();

    (void)state;
    for (uint64_t s = 0; s < 4; s++) {
        arrive(model, &past, s, false);
    }
    for (uint64_t s = 4; s < 7; s++) {
        arrive(model, &past, s, true);
        assert_moment(model, 3);
    }
    show(model, &past, 5);
    assert_moment(model, 5);
    arrive(model, &past, 7, true);
    assert_moment(model, 5);
    show(model, &past, 7);
    assert_moment(model, 7);
    show(model, &past, 2);
    arrive(model, &past, 8, false); /* space, then the next snapshot */
    assert_moment(model, 8);
    ntk_top_past_fini(&past);
    ntk_top_model_destroy(model);
}

/* Method: the first snapshots leave the past; their counts are kept. */
static void counts_of_dropped_history_are_kept(void **state)
{
    static struct ntk_top_past past;
    struct ntk_top_model *model = begin();

    (void)state;
    for (uint64_t s = 0; s < 9; s++) {
        arrive(model, &past, s, false);
    }
    for (int i = 0; i < 6; i++) {
        ntk_top_model_leave(model, ntk_top_past_get(&past, 0));
        ntk_top_past_drop(&past);
    }
    assert_moment(model, 8);
    show(model, &past, 0);
    assert_moment(model, 6);
    show(model, &past, 1);
    assert_moment(model, 7);
    ntk_top_past_fini(&past);
    ntk_top_model_destroy(model);
}

/* Method: the snapshot that lists an event is newer than the shown one, the event is not. */
static void events_that_are_read_later_are_listed_at_their_time(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = begin();

    (void)state;
    assert_int_equal(ntk_top_model_update(model, moment(4), NULL), 0);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_EVENTS);
    scene.realtime_ns += 6 * SECOND;
    struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene);
    assert_int_equal(snapshot->event_count, 10);
    for (size_t i = 0; i < 7; i++) {
        ((struct ntk_event_sample *)snapshot->events)[i].realtime_ns -= 3 * SECOND;
    }
    assert_int_equal(ntk_top_model_observe(model, snapshot, NULL), 0);
    assert_int_equal(model->tables[NTK_TOP_VIEW_EVENTS].order.count, 7);
    ntk_top_model_destroy(model);
}

/* Whether the text frame of the view has the word. */
static bool has_word(struct ntk_top_model *model, const char *word)
{
    struct ntk_screen *screen = NULL;
    struct ntk_buf text = { 0 };

    assert_int_equal(ntk_screen_text_create(40, 120, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    ntk_screen_text_write(screen, &text);
    bool has = strstr(ntk_buf_text_get(&text), word) != NULL;
    ntk_buf_fini(&text);
    ntk_screen_destroy(screen);
    return has;
}

static void the_end_of_a_graph_is_now_only_at_the_newest_moment(void **state)
{
    struct ntk_top_past past = { 0 };
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_GRAPHS);

    (void)state;
    for (uint64_t s = 0; s < 10; s++) {
        arrive(model, &past, s, false);
    }
    assert_true(has_word(model, "now"));
    show(model, &past, 3);
    assert_false(has_word(model, "now"));
    assert_true(has_word(model, "0s"));
    show(model, &past, 9);
    assert_true(has_word(model, "now"));
    model->is_recording = true;
    assert_false(has_word(model, "now"));
    ntk_top_past_fini(&past);
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_graph_is_now_only_at_the_newest_moment),
        cmocka_unit_test(going_back_shows_the_state_at_the_selected_time),
        cmocka_unit_test(the_display_is_unchanged_while_an_earlier_time_is_shown),
        cmocka_unit_test(counts_of_dropped_history_are_kept),
        cmocka_unit_test(events_that_are_read_later_are_listed_at_their_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
