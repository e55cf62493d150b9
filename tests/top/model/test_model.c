/* SPDX-License-Identifier: MIT */
/* What keys and snapshots change in the model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "top/model/model_alerts.h"
#include "top/model/model_engines.h"
#include "top/model/model_graphs.h"
#include "top/model/model_topology.h"
#include "top/model/samples.h"
#include "top/screen/screen.h"
#include "top/view/views.h"

static const struct ntk_top_node *node_at(const struct ntk_top_model *model, size_t index)
{
    assert_in_range(index, 0, model->nodes.count - 1);
    return ntk_vec_at(&model->nodes, index);
}

static const char *cursor_text(const struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);

    return node ? node->text : "";
}

static enum ntk_top_result press(struct ntk_top_model *model, int key)
{
    int argument = 0;
    enum ntk_top_action action = ntk_top_keys_find(key, &argument);

    return ntk_top_model_act(model, action, argument);
}

static void every_key_in_the_table_runs_its_action(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);
    int argument = -1;

    assert_int_equal(ntk_top_keys_find('7', &argument), NTK_TOP_ACTION_TAB);
    assert_int_equal(argument, 7);
    assert_int_equal(ntk_top_keys_find('F', &argument), NTK_TOP_ACTION_FLOPS);
    assert_int_equal(ntk_top_keys_find(NTK_SCREEN_KEY_UP, &argument), NTK_TOP_ACTION_CURSOR_UP);
    assert_int_equal(ntk_top_keys_find(0x6df1, &argument), NTK_TOP_ACTION_NONE);
    assert_int_equal(ntk_top_keys_find(NTK_SCREEN_KEY_OTHER, &argument), NTK_TOP_ACTION_NONE);
    assert_int_equal(press(model, 'q'), NTK_TOP_QUIT);
    assert_int_equal(press(model, 3), NTK_TOP_QUIT);
    assert_int_equal(press(model, 0x6df1), NTK_TOP_NOTHING);
    assert_int_equal(press(model, NTK_SCREEN_KEY_ESCAPE), NTK_TOP_NOTHING);
    assert_int_equal(press(model, 'f'), NTK_TOP_REDRAW);
    assert_true(model->with_flops);
    ntk_top_model_destroy(model);
}

static void arrow_keys_and_enter_move_and_collapse_the_tree(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    assert_string_equal(cursor_text(model), "ND 0");
    press(model, NTK_SCREEN_KEY_UP);
    assert_string_equal(cursor_text(model), "ND 0");
    press(model, NTK_SCREEN_KEY_DOWN);
    assert_string_equal(cursor_text(model), "NC 0");
    press(model, NTK_SCREEN_KEY_RIGHT); /* it is open: moves into it */
    assert_string_equal(cursor_text(model), "mlp.neff");
    assert_int_equal(ntk_top_model_cursor_get(model)->model_id, 10006);
    press(model, NTK_SCREEN_KEY_RIGHT); /* opens it */
    press(model, NTK_SCREEN_KEY_RIGHT);
    assert_string_equal(cursor_text(model), "Constants");
    assert_int_equal(ntk_top_model_cursor_get(model)->depth, 3);
    press(model, NTK_SCREEN_KEY_RIGHT); /* a leaf */
    assert_string_equal(cursor_text(model), "Constants");
    press(model, NTK_SCREEN_KEY_LEFT);
    assert_string_equal(cursor_text(model), "mlp.neff");
    press(model, NTK_SCREEN_KEY_LEFT); /* closes it */
    assert_false(ntk_top_model_cursor_get(model)->is_expanded);
    press(model, NTK_SCREEN_KEY_LEFT);
    press(model, NTK_SCREEN_KEY_LEFT);
    press(model, NTK_SCREEN_KEY_LEFT);
    assert_string_equal(cursor_text(model), "ND 0");
    press(model, '\n'); /* not the raw key: the screen turns it into ENTER */
    press(model, NTK_SCREEN_KEY_ENTER);
    assert_int_equal(model->nodes.count, 9); /* 8 devices in use and the host */
    press(model, NTK_SCREEN_KEY_END);
    assert_string_equal(cursor_text(model), "Host");
    press(model, NTK_SCREEN_KEY_DOWN);
    assert_string_equal(cursor_text(model), "Host");
    press(model, NTK_SCREEN_KEY_HOME);
    assert_string_equal(cursor_text(model), "ND 0");
    ntk_top_model_destroy(model);
}

static void the_x_key_expands_then_collapses_the_whole_tree(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    press(model, 'x');
    /* a device has 2 cores, a core a model with 2 groups and 4 groups; the host has one group */
    assert_int_equal(model->nodes.count, 8 * (1 + 2 * (1 + 3 + 4)) + 2);
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, NTK_SCREEN_KEY_DOWN);
    assert_string_equal(cursor_text(model), "mlp.neff");
    press(model, 'x');
    assert_int_equal(model->nodes.count, 9);
    assert_string_equal(cursor_text(model), "ND 0"); /* the parent of the selected item */
    ntk_top_model_destroy(model);
}

static void tree_values_are_sums_of_children_and_match_the_summary(void **state)
{
    const struct scene *scenes[] = { &scene_trn1, &scene_trn2_lnc2, &scene_small };

    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        struct ntk_top_model *model = scene_model(scenes[s]);
        uint64_t device_bytes = 0;
        uint64_t host_bytes = 0;

        ntk_top_model_expand_all(model, true);
        for (size_t i = 0; i < model->nodes.count; i++) {
            const struct ntk_top_node *node = node_at(model, i);
            uint64_t below = 0;

            for (size_t k = i + 1; k < model->nodes.count; k++) {
                const struct ntk_top_node *child = node_at(model, k);

                if (child->depth <= node->depth) {
                    break;
                }
                below += child->depth == node->depth + 1 ? child->device_bytes.value : 0;
            }
            if (node->can_expand) {
                assert_int_equal(below, node->device_bytes.value);
            }
            if (node->depth == 0) {
                device_bytes += node->device_bytes.value;
                host_bytes += node->host_bytes.value;
            }
        }
        assert_int_equal(device_bytes, model->memory.device_total.value);
        assert_int_equal(host_bytes, model->memory.host_total.value);
        ntk_top_model_destroy(model);
    }
}

static void a_tab_shows_the_share_of_one_application(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    assert_int_equal(model->tabs.count, 3);
    press(model, 'd');
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7286");
    assert_int_equal(model->cores[0].busy_percent.value, 100);
    assert_int_equal(model->cores[8].busy_percent.value,
                     0); /* belongs to the other one: known to be zero */
    assert_true(model->cores[8].busy_percent.present);
    press(model, '3');
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    assert_int_equal(model->cores[0].busy_percent.value, 0);
    assert_string_equal(cursor_text(model), "ND 4");
    press(model, '4'); /* there is none */
    assert_int_equal(model->tab_index, 2);
    press(model, 'd');
    assert_int_equal(model->tab_index, 0);
    press(model, 'a');
    assert_int_equal(model->tab_index, 2);
    ntk_top_model_destroy(model);
}

static void the_selection_is_kept_over_refreshes_and_tab_changes(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);
    struct scene later = scene_trn1;

    press(model, NTK_SCREEN_KEY_END);
    press(model, NTK_SCREEN_KEY_UP);
    assert_string_equal(cursor_text(model), "ND 7");
    press(model, NTK_SCREEN_KEY_ENTER);
    scene_update(model, &later);
    assert_string_equal(cursor_text(model), "ND 7");
    assert_true(ntk_top_model_cursor_get(model)->is_expanded);
    press(model, '2'); /* uses only devices 0 to 3 */
    assert_string_equal(cursor_text(model), "ND 0");
    press(model, '1');
    assert_string_equal(cursor_text(model), "ND 7");
    assert_true(ntk_top_model_cursor_get(model)->is_expanded);
    ntk_top_model_destroy(model);
}

static void the_cursor_moves_to_an_adjacent_row_if_its_process_exits(void **state)
{
    struct ntk_top_model *model;
    struct scene scene = scene_small;

    scene.runtime_count = 2;
    scene.cores_per_runtime = 1;
    model = scene_model(&scene);
    press(model, '3');
    press(model, 'x');
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, NTK_SCREEN_KEY_DOWN);
    assert_string_equal(cursor_text(model), "mlp.neff");
    assert_int_equal(ntk_top_model_cursor_get(model)->core_index, 1);
    scene.runtime_count = 1; /* its tab, core and model are gone */
    scene_update(model, &scene);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    assert_string_equal(cursor_text(model), "ND 0");
    scene.runtime_count = 0;
    scene_update(model, &scene);
    assert_null(ntk_top_model_cursor_get(model));
    press(model, NTK_SCREEN_KEY_DOWN);
    press(model, NTK_SCREEN_KEY_LEFT);
    press(model, NTK_SCREEN_KEY_RIGHT);
    press(model, NTK_SCREEN_KEY_ENTER);
    press(model, NTK_SCREEN_KEY_END);
    press(model, 'x');
    assert_null(ntk_top_model_cursor_get(model));
    ntk_top_model_destroy(model);
}

static void a_tab_stays_on_its_process_when_others_start_and_exit(void **state)
{
    struct scene scene = scene_small;
    struct ntk_top_model *model;

    scene.runtime_count = 2;
    scene.cores_per_runtime = 1;
    model = scene_model(&scene);
    press(model, '3');
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    scene.first_pid = 7287; /* 7286 disappeared, 7288 appeared */
    scene_update(model, &scene);
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    assert_int_equal(model->tab_index, 1);
    scene.ended = 1;
    scene_update(model, &scene);
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    assert_true(ntk_top_model_tab_get(model)->ended);
    assert_int_equal(model->memory.device_total.value, 0);
    scene.first_pid = 7288;
    scene_update(model, &scene);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    ntk_top_model_destroy(model);
}

static void a_reused_pid_is_a_different_application(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model = scene_model(&scene);

    press(model, '3');
    scene_update(model, &scene);
    assert_string_equal(ntk_top_model_tab_get(model)->tag, "7287");
    scene.started_later = 1;
    scene_update(model, &scene);
    assert_true(ntk_top_model_tab_get(model)->is_all);
    ntk_top_model_destroy(model);
}

static void logical_core_busy_time_is_a_mean_and_flops_are_a_sum(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn2_lnc2);
    double sum = 0;

    assert_int_equal(model->cores_per_device, 4);
    assert_true(fabs(model->cores[0].busy_percent.value - 50.002) < 1e-9);
    assert_true(fabs(model->cores[0].teraflops.value - 14.00056) < 1e-6);
    for (int i = 0; i < 64; i++) {
        sum += model->cores[i].teraflops.value;
    }
    assert_true(fabs(sum - model->teraflops_total.value) < 1e-6);
    assert_true(fabs(sum / 64 - model->teraflops_mean.value) < 1e-6);
    ntk_top_model_destroy(model);
}

static void absent_values_are_distinguished_from_zero(void **state)
{
    struct scene scene = scene_small;
    struct ntk_top_model *model;

    scene.no_busy = scene.no_flops = scene.no_cpu = scene.no_memory = true;
    model = scene_model(&scene);
    assert_false(model->busy_percent_mean.present);
    assert_false(model->teraflops_total.present);
    assert_false(model->system_vcpu.user_percent.present);
    assert_false(model->runtime_vcpu.user_percent.present);
    assert_false(model->memory.host_total.present);
    assert_false(node_at(model, 0)->device_bytes.present);
    ntk_top_model_destroy(model);
    model = scene_model(&scene_no_device); /* no process exists: a true zero */
    assert_true(model->runtime_vcpu.user_percent.present);
    assert_true(model->memory.device_total.present);
    assert_int_equal(model->memory.device_total.value, 0);
    assert_string_not_equal(model->notice, "");
    ntk_top_model_destroy(model);
}

/* The core did nothing and counts in the mean, in every view of cores. */
static void assert_idle_in_all_views(struct ntk_top_model *model, uint32_t core, double mean)
{
    struct ntk_buf csv = { 0 };
    struct ntk_core_sample sample;
    char line[64];
    size_t length = (size_t)snprintf(line, sizeof line, ",%u,%u,%u,0,0,", core, core / 2, core % 2);
    struct ntk_top_number graph;

    assert_true(ntk_top_model_core_find(model, core, &sample));
    assert_true(sample.has & NTK_CORE_HAS_BUSY && sample.busy_ns.period == 0);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_ENGINES);
    assert_true(ntk_top_table_row_get(&model->tables[NTK_TOP_VIEW_ENGINES], core));
    ntk_top_model_set_view(model, NTK_TOP_VIEW_GRAPHS);
    graph = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_BUSY, core);
    assert_true(graph.present && graph.value == 0);
    graph = ntk_top_model_graphs_now(model, NTK_TOP_QUANTITY_BUSY, NTK_TOP_GRAPHS_TOTAL);
    assert_true(fabs(graph.value - mean) < 1e-3);
    assert_true(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_BUSY, core / 2).value == 0);
    ntk_top_samples_csv(model, ntk_top_samples_table_find("cores"), false, &csv);
    assert_non_null(memmem(csv.bytes, csv.bytes_count, line, length));
    ntk_buf_fini(&csv);
}

/* A report from another machine, with only the cores in use. */
static void cores_missing_from_a_report_are_shown_as_idle(void **state)
{
    struct ntk_snapshot *report = (struct ntk_snapshot *)scene_snapshot(&scene_trn1);
    struct ntk_top_model *model = NULL;
    double sum = 0;

    memset(&report->cores[16], 0, 16 * sizeof *report->cores);
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->is_report = true;
    assert_int_equal(ntk_top_model_update(model, report, NULL), 0);
    for (int i = 0; i < 32; i++) {
        assert_true(model->cores[i].busy_percent.present);
        assert_true(i < 16 || model->cores[i].busy_percent.value == 0);
        sum += model->cores[i].busy_percent.value;
    }
    assert_true(fabs(model->busy_percent_mean.value - sum / 32) < 1e-9);
    assert_idle_in_all_views(model, 31, sum / 32);

    /* A runtime that does not list its cores may use any of them. */
    report = (struct ntk_snapshot *)scene_snapshot(&scene_trn1);
    memset(&report->cores[16], 0, 16 * sizeof *report->cores);
    report->runtimes[1].error = "no permission";
    assert_int_equal(ntk_top_model_update(model, report, NULL), 0);
    assert_true(model->cores[0].busy_percent.present);
    assert_false(model->cores[31].busy_percent.present);
    ntk_top_model_destroy(model);
}

static const char *owner_text(const struct ntk_top_model *model, size_t core)
{
    const struct ntk_top_row *row =
        ntk_top_table_row_get(&model->tables[NTK_TOP_VIEW_ENGINES], core);

    assert_non_null(row);
    return ntk_top_table_cell_get(&model->tables[NTK_TOP_VIEW_ENGINES], row, NTK_TOP_ENGINES_OWNER)
        ->text;
}

static void a_held_idle_core_shows_its_idle_time(void **state)
{
    struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene_trn1);
    static const struct {
        uint64_t seconds;
        const char *text; /* after the tag */
    } cases[] = {
        { 59, "" }, { 60, " idle 1m" }, { 7199, " idle 119m" }, { 7200, " idle 2h" }, { 0, "" }
    };
    struct ntk_top_model *model = NULL;
    char wanted[64];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_core_sample *core = &snapshot->runtimes[0].cores[i];

        assert_int_equal(core->core, i);
        core->has |= NTK_CORE_HAS_HELD_IDLE;
        core->held_idle_ns = cases[i].seconds * NTK_NS_PER_SECOND;
    }
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_ENGINES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(wanted, sizeof wanted, "%s%s", snapshot->runtimes[0].tag, cases[i].text);
        assert_string_equal(owner_text(model, i), wanted);
    }
    assert_string_equal(owner_text(model, 5), snapshot->runtimes[0].tag); /* not reported */
    ntk_top_model_destroy(model);
}

/* Method: 16 cores of two applications, with a changed snapshot for two of them. */
static struct ntk_snapshot *snapshot_at(uint64_t second)
{
    struct scene scene = scene_trn1;
    struct ntk_snapshot *snapshot;

    scene.realtime_ns = UINT64_C(1700000000000000000) + second * NTK_NS_PER_SECOND;
    snapshot = (struct ntk_snapshot *)scene_snapshot(&scene);
    snapshot->runtimes[1].outcome[NTK_OUTCOME_TIMED_OUT].period = 0; /* otherwise good */
    snapshot->period_ns = NTK_NS_PER_SECOND;
    return snapshot;
}

static void nothing_ended(struct ntk_core_sample *core, uint64_t in_flight)
{
    memset(core->outcome, 0, sizeof core->outcome);
    core->in_flight = in_flight;
}

static void a_dead_or_stuck_core_is_reported_until_it_completes_work(void **state)
{
    struct ntk_top_model *model = NULL;
    struct ntk_snapshot *snapshot;

    setenv("TZ", "UTC", 1);
    tzset();
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->version = "1.2.3";
    assert_int_equal(ntk_top_model_update(model, snapshot_at(0), NULL), 0);
    assert_string_equal(model->alert, "");
    for (uint64_t second = 1; second <= 12; second++) {
        snapshot = snapshot_at(second);
        nothing_ended(&snapshot->cores[3], 1);
        nothing_ended(&snapshot->cores[5], 0);
        snapshot->cores[5].error_class[NTK_ERROR_HARDWARE].period = second == 2;
        assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
        assert_int_equal(model->cores[3].state,
                         second < 10 ? NTK_TOP_CORE_GOOD : NTK_TOP_CORE_STUCK);
        assert_int_equal(model->cores[5].state, second < 2 ? NTK_TOP_CORE_GOOD : NTK_TOP_CORE_DEAD);
    }
    assert_string_equal(model->alert, "ND2 NC1 dead since 22:13:22; ND1 NC1 stuck since 22:13:20");
    scene_assert_screen(model, 24, 80, true, "alert_80x24");
    assert_int_equal(press(model, 'e'), NTK_TOP_REDRAW);
    scene_assert_screen(model, 24, 120, true, "alert_engines_120x24");
    assert_int_equal(press(model, '!'), NTK_TOP_REDRAW);
    assert_int_equal(model->view, NTK_TOP_VIEW_ERRORS);
    assert_int_equal(model->tables[NTK_TOP_VIEW_ERRORS].cursor_index, 0);
    scene_assert_screen(model, 24, 120, true, "alert_errors_120x24");
    assert_int_equal(press(model, 't'), NTK_TOP_REDRAW);
    scene_assert_screen(model, 24, 120, true, "alert_topology_120x24");

    assert_int_equal(ntk_top_model_update(model, snapshot_at(13), NULL), 0);
    assert_string_equal(model->alert, "");
    /* An application reports since when it has been stuck, even before this viewer started. */
    snapshot = snapshot_at(14);
    nothing_ended(&snapshot->cores[3], 2);
    snapshot->cores[3].running_ns = 60 * NTK_NS_PER_SECOND;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "ND1 NC1 stuck since 22:12:34");
    /* The only process that reported the core as dead has exited. */
    snapshot = snapshot_at(15);
    snapshot->cores[5].outcome[NTK_OUTCOME_TIMED_OUT].period = 1;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "ND2 NC1 dead since 22:13:35");
    snapshot = snapshot_at(16);
    nothing_ended(&snapshot->cores[5], 0);
    snapshot->runtimes[0].ended = true;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "");
    /* The stuck process has exited too, and nothing more is reported for the core. */
    snapshot = snapshot_at(17);
    nothing_ended(&snapshot->cores[3], 1);
    snapshot->cores[3].running_ns = 60 * NTK_NS_PER_SECOND;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "ND1 NC1 stuck since 22:12:37");
    snapshot = snapshot_at(18);
    snapshot->cores[3].has = 0;
    snapshot->runtimes[0].ended = true;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "");
    ntk_top_model_destroy(model);
}

/* Method: two viewers; the second starts ten seconds after the first. */
static void every_viewer_shows_the_same_failure_time_of_a_core(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    for (uint64_t begin = 3; begin <= 13; begin += 10) {
        struct ntk_top_model *model = NULL;

        assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
        for (uint64_t second = begin; second < begin + 2; second++) {
            struct ntk_snapshot *snapshot = snapshot_at(second);

            nothing_ended(&snapshot->cores[0], 1);
            snapshot->cores[0].failing_since_ns = UINT64_C(1700000002000000000);
            assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
            assert_string_equal(model->alert, "ND0 NC0 dead since 22:13:22");
            assert_true(model->cores[0].busy_percent.present);
            /* Although it is busy with failing executions. */
            assert_true(model->cores[0].busy_percent.value == 0);
        }
        assert_int_equal(ntk_top_model_update(model, snapshot_at(begin + 2), NULL), 0);
        assert_string_equal(model->alert, "");
        assert_true(model->cores[0].busy_percent.value == 100);
        ntk_top_model_destroy(model);
    }
}

static void a_killed_application_is_in_the_alert_line_for_a_minute(void **state)
{
    struct ntk_top_model *model = NULL;
    struct ntk_snapshot *snapshot;

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->version = "1.2.3";
    snapshot = snapshot_at(0);
    snapshot->runtimes[1].ended = true; /* it closed its runtime */
    snapshot->runtimes[0].ended = snapshot->runtimes[0].killed = true;
    snapshot->runtimes[0].exit.kind =
        NTK_EXIT_CODE; /* 0: no failure, even if resources are still open */
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "");
    snapshot = snapshot_at(1);
    snapshot->runtimes[0].ended = snapshot->runtimes[0].killed = true;
    snapshot->runtimes[0].exit = (struct ntk_exit){ NTK_EXIT_SIGNAL, 9 };
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "7286 (pid 7286) killed by SIGKILL at 22:13:21");
    snapshot = snapshot_at(60);
    snapshot->runtimes[1].ended = snapshot->runtimes[1].killed = true;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert, "7287 (pid 7287) killed or crashed at 22:14:20 and 1 more");
    assert_int_equal(press(model, 'l'), NTK_TOP_REDRAW);
    scene_assert_screen(model, 24, 100, true, "events_killed_100x24");
    assert_int_equal(press(model, '!'), NTK_TOP_REDRAW);
    scene_assert_screen(model, 24, 100, true, "errors_killed_100x24");
    snapshot = snapshot_at(61);
    snapshot->hardware.device_count = 0; /* only the application reported the machine */
    snapshot->runtime_count = 0;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_non_null(strstr(model->alert, "killed or crashed"));
    assert_int_equal(ntk_top_model_update(model, snapshot_at(120), NULL), 0);
    assert_string_equal(model->alert, "");
    ntk_top_model_destroy(model);
}

/* Method: two unhealthy devices, one of them with only a note, and a healthy one. */
static void an_unhealthy_device_is_reported_with_its_action(void **state)
{
    static struct ntk_health_sample faults[] = {
        { .reason = NTK_HEALTH_REASON_HBM_REPAIRABLE, .core = NTK_NO_CORE },
        { .reason = NTK_HEALTH_REASON_HEARTBEAT_STILL, .core = NTK_NO_CORE },
        { .reason = NTK_HEALTH_REASON_NO_SIGNALS, .core = NTK_NO_CORE },
    };
    static const uint32_t verdicts[] = { NTK_HEALTH_UNHEALTHY, NTK_HEALTH_UNKNOWN,
                                         NTK_HEALTH_UNKNOWN };
    struct ntk_top_model *model = NULL;
    struct ntk_snapshot *snapshot = snapshot_at(0);

    setenv("TZ", "UTC", 1);
    tzset();
    assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
    model->version = "1.2.3";
    for (size_t i = 0; i < 3; i++) {
        struct ntk_device_sample *device = &snapshot->devices[3 + i];
        device->has |= NTK_DEVICE_HAS_HEALTH;
        device->verdict = verdicts[i];
        device->verdict_since_ns = snapshot->realtime_ns;
        device->health = &faults[i];
        device->health_count = 1;
    }
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_string_equal(model->alert,
                        "ND3 unhealthy since 22:13:20 (hbm_repairable: reload the driver or reboot "
                        "the instance) and 1 more device");
    assert_string_equal(ntk_top_model_alerts_mark(model, 2), "");
    assert_string_equal(ntk_top_model_alerts_mark(model, 3), "!");
    assert_string_equal(ntk_top_model_alerts_mark(model, 4), "?");
    assert_string_equal(ntk_top_model_alerts_mark(model, 5), ""); /* no action required */
    assert_int_equal(press(model, 't'), NTK_TOP_REDRAW);
    scene_assert_screen(model, 24, 120, true, "alert_health_120x24");
    assert_int_equal(ntk_top_model_update(model, snapshot_at(1), NULL), 0);
    assert_string_equal(model->alert, "");
    ntk_top_model_destroy(model);
}

/* Without an application, zero is certain only if none can exist unseen. */
static void uncounted_executions_are_absent_rather_than_zero(void **state)
{
    struct scene idle = scene_trn1;
    struct ntk_top_model *model;
    struct ntk_snapshot *with_driver;

    idle.runtime_count = 0;
    model = scene_model(&idle);
    assert_true(ntk_top_model_has_no_application(model));
    assert_true(model->memory.device_total.present);
    assert_true(model->runtime_vcpu.user_percent.present);

    model->is_partial = true; /* one could not be read */
    scene_update(model, &idle);
    assert_false(ntk_top_model_has_no_application(model));
    assert_false(model->memory.device_total.present);
    assert_false(model->memory.host_total.present);
    assert_false(model->runtime_vcpu.user_percent.present);

    model->is_partial = false;
    with_driver = (struct ntk_snapshot *)scene_snapshot(&idle);
    with_driver->hardware.software = false;
    assert_int_equal(ntk_top_model_update(model, with_driver, NULL), 0);
    assert_false(model->memory.device_total.present);
    ntk_top_model_destroy(model);
}

static void keys_on_the_help_page_have_no_effect_on_the_tree(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    press(model, '?');
    assert_true(model->with_help);
    press(model, 'j');
    assert_true(model->with_help);
    press(model, 'f');
    assert_false(model->with_help);
    assert_false(model->with_flops);
    press(model, 'h');
    press(model, NTK_SCREEN_KEY_ESCAPE);
    assert_false(model->with_help);
    press(model, 'h');
    assert_int_equal(press(model, 'q'), NTK_TOP_QUIT);
    ntk_top_model_destroy(model);
}

static void the_visible_page_follows_the_cursor(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    ntk_top_model_set_page(model, 5);
    press(model, NTK_SCREEN_KEY_PAGE_DOWN);
    assert_int_equal(model->cursor_index, 4);
    ntk_top_model_set_page(model, 5);
    assert_int_equal(model->tree_first, 0);
    press(model, NTK_SCREEN_KEY_PAGE_DOWN);
    ntk_top_model_set_page(model, 5);
    assert_int_equal(model->cursor_index, 8);
    assert_int_equal(model->tree_first, 4);
    press(model, NTK_SCREEN_KEY_END);
    ntk_top_model_set_page(model, 5);
    assert_int_equal(model->tree_first, model->nodes.count - 5);
    press(model, NTK_SCREEN_KEY_HOME);
    ntk_top_model_set_page(model, 100);
    assert_int_equal(model->tree_first, 0);
    ntk_top_model_destroy(model);
}

static void actions_before_the_first_snapshot_are_accepted(void **state)
{
    for (int action = 0; action < NTK_TOP_ACTION_COUNT; action++) {
        struct ntk_top_model *model = NULL;

        assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
        for (int argument = 0; argument < 10; argument++) {
            ntk_top_model_act(model, (enum ntk_top_action)action, argument);
        }
        ntk_top_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_in_the_table_runs_its_action),
        cmocka_unit_test(arrow_keys_and_enter_move_and_collapse_the_tree),
        cmocka_unit_test(the_x_key_expands_then_collapses_the_whole_tree),
        cmocka_unit_test(tree_values_are_sums_of_children_and_match_the_summary),
        cmocka_unit_test(a_tab_shows_the_share_of_one_application),
        cmocka_unit_test(the_selection_is_kept_over_refreshes_and_tab_changes),
        cmocka_unit_test(the_cursor_moves_to_an_adjacent_row_if_its_process_exits),
        cmocka_unit_test(a_tab_stays_on_its_process_when_others_start_and_exit),
        cmocka_unit_test(a_reused_pid_is_a_different_application),
        cmocka_unit_test(logical_core_busy_time_is_a_mean_and_flops_are_a_sum),
        cmocka_unit_test(absent_values_are_distinguished_from_zero),
        cmocka_unit_test(cores_missing_from_a_report_are_shown_as_idle),
        cmocka_unit_test(a_held_idle_core_shows_its_idle_time),
        cmocka_unit_test(a_dead_or_stuck_core_is_reported_until_it_completes_work),
        cmocka_unit_test(every_viewer_shows_the_same_failure_time_of_a_core),
        cmocka_unit_test(a_killed_application_is_in_the_alert_line_for_a_minute),
        cmocka_unit_test(an_unhealthy_device_is_reported_with_its_action),
        cmocka_unit_test(uncounted_executions_are_absent_rather_than_zero),
        cmocka_unit_test(keys_on_the_help_page_have_no_effect_on_the_tree),
        cmocka_unit_test(the_visible_page_follows_the_cursor),
        cmocka_unit_test(actions_before_the_first_snapshot_are_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
