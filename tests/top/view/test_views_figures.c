/* SPDX-License-Identifier: MIT */
/* Figures in views: maps, graphs, peaks, memory, and unwatched time. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_graphs.h"
#include "top/model/model_hbm.h"
#include "top/model/model_processes.h"
#include "top/model/model_topology.h"
#include "top/view/view.h"
#include "top/view/views.h"

static void the_topology_map_shows_the_figures_of_each_device(void **state)
{
    struct scene chain = scene_trn1;
    struct scene no_memory = scene_trn1;
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_TOPOLOGY);

    press(model, 'v');
    golden(model, 80, 24, "hbm");
    press(model, 'v');
    golden(model, 80, 24, "power"); /* every second device has it */
    press(model, 'V');
    press(model, 'V');
    assert_int_equal(model->heat, NTK_TOP_HEAT_BUSY);
    ntk_top_model_destroy(model);
    chain.instance_type = "inf2.24xlarge";
    chain.device_count = 6;
    model = open_view(&chain, NTK_TOP_VIEW_TOPOLOGY);
    assert_int_equal(ntk_top_model_topology_shape(model), NTK_TOPOLOGY_CHAIN);
    golden(model, 80, 24, "chain");
    golden(model, 40, 12, "chain"); /* the chain turns at the edge */
    ntk_top_model_destroy(model);
    no_memory.no_memory = true; /* no device samples at all: no links are known */
    model = open_view(&no_memory, NTK_TOP_VIEW_TOPOLOGY);
    assert_int_equal(ntk_top_model_topology_shape(model), NTK_TOPOLOGY_OTHER);
    assert_true(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_BUSY, 0).present);
    assert_false(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_HBM, 0).present);
    assert_false(ntk_top_model_topology_heat(model, NTK_TOP_HEAT_POWER, 0).present);
    ntk_top_model_destroy(model);
}

/* Method: six minutes in which the second application's cores go up and down; one minute has no
 * measurements. */
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
    /* A frozen screen does not change, and the data that it misses is not lost. */
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

/* Method: goes back and forward in a recording; data after the shown moment is never shown. */
static void graphs_end_at_the_shown_time(void **state)
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

static void numbers_next_to_graphs_match_the_snapshot(void **state)
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
    scene.lnc = 1; /* another machine has another history */
    model = open_view(&scene, NTK_TOP_VIEW_GRAPHS);
    for (int q = 0; q <= NTK_TOP_QUANTITY_EXECUTIONS; q++) {
        number = ntk_top_model_graphs_now(model, (enum ntk_top_quantity)q, NTK_TOP_GRAPHS_TOTAL);
        assert_false(number.present);
    }
    assert_int_equal(ntk_top_model_graphs_cores(model, cores), 128);
    ntk_top_model_destroy(model);
}

static void the_peak_of_a_device_is_its_highest_value(void **state)
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
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2); /* not kept for a single application */
    row = ntk_top_table_row_get(table, 0);
    assert_false(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_PEAK)->present);
    /* Back in a recording, the time after the shown moment is unknown. */
    scene.realtime_ns -= 60000000000;
    scene_update(model, &scene);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 1);
    row = ntk_top_table_row_get(table, 0);
    assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_HBM_PEAK)->value == (double)usual);
    ntk_top_model_destroy(model);
}

static void memory_can_be_listed_by_core(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn2_lnc2, NTK_TOP_VIEW_HBM);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_HBM];
    double device_bytes = 0;

    assert_int_equal(table->order.count, 16);
    press(model, 'x');
    assert_int_equal(table->order.count, 64); /* logical cores, two physical ones each */
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

/* Method: three days of work that an agent found when it came back; every rate is the same as
 * without them. */
static void unwatched_work_is_excluded_from_application_rates(void **state)
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

/* Method: the machine's cores have the counts of the applications, and their unwatched part. */
static void unwatched_work_is_excluded_from_machine_rates(void **state)
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

static void an_unreported_queue_length_is_absent(void **state)
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

/* The map shows the activity of one application, but the memory of all. */
static void the_title_of_the_map_names_whose_figures_it_shows(void **state)
{
    static const char *const titles[][2] = {
        { "Busy (host time) of each device,", "Busy (host time) of 7286 on each device," },
        { "HBM used of each device,", "HBM used of each device by all applications," },
        { "Power in the last minute of each device,", "Power in the last minute of each device," },
    };
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_TOPOLOGY);

    (void)state;
    for (int tab = 0; tab < 2; tab++) {
        ntk_top_model_act(model, NTK_TOP_ACTION_TAB, tab + 1);
        for (int heat = 0; heat < 3; heat++) {
            bool is_found = false;

            for (int row = 0; row < 4; row++) {
                char *text = scene_row(model, 30, 120, row);
                is_found = is_found || strstr(text, titles[heat][tab]);
                free(text);
            }
            assert_true(is_found);
            press(model, 'v');
        }
    }
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_title_of_the_map_names_whose_figures_it_shows),
        cmocka_unit_test(the_topology_map_shows_the_figures_of_each_device),
        cmocka_unit_test(graphs_show_the_last_minutes),
        cmocka_unit_test(graphs_end_at_the_shown_time),
        cmocka_unit_test(numbers_next_to_graphs_match_the_snapshot),
        cmocka_unit_test(the_peak_of_a_device_is_its_highest_value),
        cmocka_unit_test(memory_can_be_listed_by_core),
        cmocka_unit_test(unwatched_work_is_excluded_from_application_rates),
        cmocka_unit_test(unwatched_work_is_excluded_from_machine_rates),
        cmocka_unit_test(an_unreported_queue_length_is_absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
