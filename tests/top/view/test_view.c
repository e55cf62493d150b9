/* SPDX-License-Identifier: MIT */
/* Whole screens as text: golden/<name>.txt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "top/source/hosts.h"
#include "top/view/view.h"

static void shows(const struct scene *scene, int rows, int columns, const char *golden_name)
{
    struct ntk_top_model *model = scene_model(scene);

    scene_assert_screen(model, rows, columns, true, golden_name);
    ntk_top_model_destroy(model);
}

static void sixteen_devices_fit_common_terminal_sizes(void **state)
{
    shows(&scene_trn1, 24, 80, "trn1_80x24");
    shows(&scene_trn1, 40, 120, "trn1_120x40");
    shows(&scene_trn1, 50, 168, "trn1_168x50");
    shows(&scene_trn1, 50, 200, "trn1_200x50");
}

/* Below the cores of the vendor's screen, if it has rows to spare; --once never shows it. */
static void a_tall_terminal_shows_applications_and_the_last_minute(void **state)
{
    struct scene crowd = scene_trn2_lnc1;
    struct ntk_top_model *model = scene_model(&scene_trn1);
    struct ntk_top_layout layout;

    shows(&scene_trn1, 70, 80, "trn1_80x70");
    shows(&scene_trn2_lnc1, 50, 200, "trn2_lnc1_200x50");
    shows(&scene_trn2_lnc1, 70, 80, "trn2_lnc1_80x70");
    crowd.runtime_count = 120;
    crowd.cores_per_runtime = 1;
    shows(&crowd, 50, 200, "crowd_200x50");
    ntk_top_view_layout(model, 24, 80, true, &layout);
    assert_true(layout.more_row < 0 && !layout.has_hbm);
    ntk_top_view_layout(model, 50, 200, false, &layout);
    assert_true(layout.more_row < 0 && !layout.has_hbm);
    ntk_top_model_destroy(model);
}

/* Title and cores as text; the caller frees it. */
static char *text_above_vcpu(struct ntk_top_model *model, int rows, int columns)
{
    struct ntk_screen *screen = NULL;
    struct ntk_buf buf = { 0 };
    const char *end;
    char *text;

    assert_int_equal(ntk_screen_text_create(rows, columns, &screen, NULL), 0);
    ntk_top_view_draw(model, screen, true);
    ntk_screen_text_write(screen, &buf);
    end = strstr(ntk_buf_text_get(&buf), "vCPU Utilization");
    assert_non_null(end);
    text = strndup(ntk_buf_text_get(&buf), (size_t)(end - ntk_buf_text_get(&buf)));
    assert_non_null(text);
    ntk_buf_fini(&buf);
    ntk_screen_destroy(screen);
    return text;
}

static size_t times_in(const char *text, const char *part)
{
    size_t times = 0;

    while ((text = strstr(text, part))) {
        times++;
        text++;
    }
    return times;
}

/* Each device has its label, each core of a device its title in every group of adjacent devices,
 * and each core its cell. */
static void assert_cores_are_shown(const struct ntk_machine *machine, uint32_t lnc, int rows,
                                   int columns)
{
    struct scene scene = { .instance_type = machine->instance_type,
                           .core_version =
                               lnc == 2 ? machine->core_version_lnc2 : machine->core_version,
                           .device_count = machine->device_count,
                           .cores_per_device = machine->cores_per_device,
                           .lnc = lnc,
                           .runtime_count = 1,
                           .cores_per_runtime = machine->device_count * machine->cores_per_device };
    struct ntk_top_model *model = scene_model(&scene);
    uint32_t cores = machine->cores_per_device / lnc;
    char *screen = text_above_vcpu(model, rows, columns);
    size_t groups = times_in(screen, " NC0 ");
    char text[64];

    (void)snprintf(text, sizeof text, "NeuronCore %s Utilization (Avg: ", scene.core_version);
    assert_int_equal(times_in(screen, text), 1);
    (void)snprintf(text, sizeof text, "(%s)", machine->instance_type);
    assert_int_equal(times_in(screen, text), 1);
    assert_true(groups >= 1);
    for (uint32_t c = 1; c < cores; c++) {
        (void)snprintf(text, sizeof text, " NC%u", c);
        assert_int_equal(times_in(screen, text), groups);
    }
    for (uint32_t d = 0; d < machine->device_count; d++) {
        (void)snprintf(text, sizeof text, "ND%u ", d);
        assert_int_equal(times_in(screen, text), 1);
    }
    if (columns >= 300) { /* bars: the numbers in their brackets */
        assert_int_equal(times_in(screen, "%]"), (size_t)machine->device_count * cores);
    }
    free(screen);
    ntk_top_model_destroy(model);
}

static void every_catalogue_machine_fits_common_terminal_sizes(void **state)
{
    static const char *const types[] = {
#define NTK_MACHINE(type, ...) type,
#include "shared/abi/machine.def"
    };
    static const int sizes[][2] = { { 24, 80 }, { 40, 120 }, { 100, 300 }, { 100, 400 } };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct ntk_machine *machine = ntk_machine_find(types[i]);

        assert_non_null(machine);
        for (uint32_t lnc = 1; lnc <= machine->lnc_max; lnc++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                assert_cores_are_shown(machine, lnc, sizes[s][0], sizes[s][1]);
            }
        }
    }
}

static void a_logical_core_shows_the_mean_of_its_two_physical_cores(void **state)
{
    shows(&scene_trn2_lnc2, 24, 80, "trn2_lnc2_80x24");
    shows(&scene_trn2_lnc2, 45, 120, "trn2_lnc2_120x45");
}

static void a_screen_with_128_cores_is_readable(void **state)
{
    shows(&scene_trn2_lnc1, 24, 80, "trn2_lnc1_80x24");
    shows(&scene_trn2_lnc1, 40, 120, "trn2_lnc1_120x40");
}

static void one_device_is_shown_with_all_details(void **state)
{
    shows(&scene_small, 24, 80, "small_80x24");
    shows(&scene_small, 8, 40, "small_40x8");
    shows(&scene_small, 12, 60, "small_60x12");
}

static void a_terminal_below_the_minimum_shows_a_message(void **state)
{
    shows(&scene_small, 7, 80, "too_low");
    shows(&scene_small, 24, 39, "too_narrow");
    shows(&scene_small, 1, 1, "one_cell");
}

static void the_reason_is_shown_if_there_are_no_devices(void **state)
{
    shows(&scene_no_device, 24, 80, "no_device_80x24");
}

static void applications_determine_the_machine_without_a_device_tree(void **state)
{
    struct scene scene = scene_no_device;

    scene.runtime_instance_type = "trn1.2xlarge";
    scene.runtime_count = 1;
    scene.cores_per_runtime = 1;
    scene.lnc = 1;
    shows(&scene, 24, 80, "no_tree_80x24");
}

static void unmeasured_values_are_shown_as_a_dash(void **state)
{
    struct scene scene = scene_small;
    struct ntk_top_model *model;

    scene.no_busy = scene.no_cpu = scene.no_memory = scene.no_flops = true;
    shows(&scene, 24, 80, "absent_80x24");
    model = scene_model(&scene);
    ntk_top_model_act(model, NTK_TOP_ACTION_FLOPS, 0);
    scene_assert_screen(model, 24, 80, true, "absent_flops_80x24");
    ntk_top_model_destroy(model);
    scene = scene_small;
    scene.only_opaque = true;
    shows(&scene, 24, 80, "opaque_80x24");
}

static void tabs_of_many_applications_are_shown_in_pages(void **state)
{
    struct scene scene = scene_trn2_lnc1;
    struct ntk_top_model *model;

    scene.runtime_count = 128;
    scene.cores_per_runtime = 1;
    model = scene_model(&scene);
    scene_assert_screen(model, 30, 100, true, "many_first_100x30");
    for (int i = 0; i < 42; i++) {
        ntk_top_model_act(model, NTK_TOP_ACTION_TAB_NEXT, 0);
    }
    scene_assert_screen(model, 30, 100, true, "many_later_100x30");
    ntk_top_model_destroy(model);
}

static void columns_stay_aligned_with_wide_tags_and_hostile_names(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_wide);

    ntk_top_model_expand_all(model, true);
    scene_assert_screen(model, 30, 80, true, "wide_80x30");
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2);
    scene_assert_screen(model, 30, 80, true, "wide_selected_80x30");
    ntk_top_model_destroy(model);
}

static void showing_teraflops_changes_the_numbers_but_not_the_bars(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);

    ntk_top_model_act(model, NTK_TOP_ACTION_FLOPS, 0);
    scene_assert_screen(model, 40, 120, true, "trn1_flops_120x40");
    for (int row = 4; row < 20; row++) {
        char *flops = scene_row(model, 40, 120, row);
        char *percent;

        ntk_top_model_act(model, NTK_TOP_ACTION_FLOPS, 0);
        percent = scene_row(model, 40, 120, row);
        ntk_top_model_act(model, NTK_TOP_ACTION_FLOPS, 0);
        assert_int_equal(strcspn(flops, "["), strcspn(percent, "["));
        free(flops);
        free(percent);
    }
    ntk_top_model_destroy(model);
}

/* Returns the used share next to the cores of a device; -1 if it is not on the screen. */
static double memory_share(struct ntk_top_model *model, const char *device)
{
    double share = -1;

    for (int row = 0; row < 50 && share < 0; row++) {
        char *text = scene_row(model, 50, 200, row);
        const char *memory =
            strncmp(text, device, strlen(device)) == 0 ? strstr(text, "HBM") : NULL;

        share = memory ? strtod(memory + strlen("HBM"), NULL) : share;
        free(text);
    }
    return share;
}

/* Method: four applications of four cores; the first one uses 1.3 of 32 GB on devices 0 and 1. */
static void memory_next_to_the_cores_is_that_of_the_tab(void **state)
{
    struct scene several = scene_trn1;
    struct ntk_top_model *model;

    (void)state;
    several.runtime_count = 4;
    several.cores_per_runtime = 4;
    model = scene_model(&several);
    assert_true(memory_share(model, "ND0 ") > 0 && memory_share(model, "ND2 ") > 0);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 2);
    assert_true(memory_share(model, "ND0 ") > 3 && memory_share(model, "ND0 ") < 5);
    assert_true(memory_share(model, "ND1 ") > 3 && memory_share(model, "ND1 ") < 5);
    assert_true(memory_share(model, "ND2 ") == 0);
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 3);
    assert_true(memory_share(model, "ND0 ") == 0 && memory_share(model, "ND2 ") > 3);
    ntk_top_model_destroy(model);
}

static void screen_parts_have_different_styles(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_small);

    scene_assert_styles(model, 24, 80, "small_styles_80x24");
    ntk_top_model_act(model, NTK_TOP_ACTION_CURSOR_DOWN, 0); /* one core: one bar is highlighted */
    scene_assert_styles(model, 24, 80, "small_styles_core_80x24");
    ntk_top_model_destroy(model);
}

static void the_help_page_lists_every_key(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_small);

    ntk_top_model_act(model, NTK_TOP_ACTION_HELP, 0);
    scene_assert_screen(model, 24, 80, true, "help_80x24");
    scene_assert_screen(model, 8, 40, true, "help_40x8");
    scene_assert_screen(model, 34, 160, true, "help_160x34"); /* sections stay whole */
    ntk_top_model_act(model, NTK_TOP_ACTION_PAGE_DOWN, 0);
    assert_true(model->with_help);
    scene_assert_screen(model, 24, 80, true, "help_later_80x24");
    ntk_top_model_destroy(model);
}

static void a_frame_with_sufficient_height_shows_every_row(void **state)
{
    struct ntk_top_model *model = scene_model(&scene_trn1);
    int rows;

    ntk_top_model_expand_all(model, true);
    rows = ntk_top_view_natural_rows(model, 120, false);
    scene_assert_screen(model, rows, 120, false, "trn1_natural");
    ntk_top_model_destroy(model);
}

/* Method: every size, with the cursor at both ends; each row must stay inside, and the parts in
 * order. */
static void any_terminal_size_has_a_valid_layout(void **state)
{
    const struct scene *scenes[] = { &scene_small, &scene_trn1, &scene_trn2_lnc1,
                                     &scene_no_device };

    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        struct ntk_top_model *model = scene_model(scenes[s]);

        for (int rows = 1; rows <= 100; rows++) {
            for (int columns = 1; columns <= 400; columns += columns < 100 ? 1 : 13) {
                struct ntk_top_layout layout;

                ntk_top_view_layout(model, rows, columns, true, &layout);
                if (rows < NTK_TOP_ROWS_MIN || columns < NTK_TOP_COLUMNS_MIN) {
                    assert_true(layout.is_too_small);
                    continue;
                }
                assert_false(layout.is_too_small);
                assert_true(layout.core_rows >= 1 && layout.tree_rows >= 1);
                assert_true(layout.cores_row + 2 + layout.core_rows <= layout.tree_row);
                assert_int_equal(layout.tree_row + 1 + layout.tree_has_titles + layout.tree_rows,
                                 layout.tabs_row);
                assert_int_equal(layout.tabs_row + 1, layout.keys_row);
                assert_int_equal(layout.keys_row, rows - 1);
                assert_true(layout.vcpu_row < 0 || layout.vcpu_row + 3 <= layout.tree_row);
                assert_true(layout.summary_row < 0 || layout.summary_row + 3 <= layout.tree_row);
                assert_true(layout.more_row < 0 ||
                            (layout.more_row >= layout.cores_row + 2 + layout.core_rows &&
                             layout.more_row + layout.more_rows < layout.vcpu_row));
            }
        }
        ntk_top_model_destroy(model);
    }
}

/* Method: sizes change as when a user drags a window, with keys and snapshots in between. */
static void the_cursor_remains_valid_during_rapid_terminal_resizes(void **state)
{
    struct scene scene = scene_trn2_lnc2;
    struct ntk_top_model *model = scene_model(&scene);
    struct ntk_screen *screen = NULL;
    uint32_t random = 12345;

    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    for (int i = 0; i < 600; i++) {
        random = random * 1664525 + 1013904223;
        ntk_screen_text_resize(screen, (int)(random >> 8 & 0xffff) % 100,
                               (int)(random >> 4 & 0xffff) % 400);
        ntk_top_model_act(model, (enum ntk_top_action)(2 + random % (NTK_TOP_ACTION_COUNT - 2)),
                          (int)(random >> 16) % 10);
        if (i % 7 == 0) {
            scene.runtime_count = random >> 20 & 3;
            scene_update(model, &scene);
        }
        ntk_top_view_draw(model, screen, true);
        assert_true(model->nodes.count == 0 || model->cursor_index < model->nodes.count);
    }
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

/* Method: the model that opens a host, in every view, before the host has opened. */
static void a_host_that_was_never_reached_is_unreachable_in_every_view(void **state)
{
    struct ntk_top_host host = { .state = { .silent_ns = 12 * NTK_NS_PER_SECOND,
                                            .trouble = "connection refused" } };
    struct ntk_top_model *model = scene_model(&scene_no_device);
    struct ntk_screen *screen = NULL;
    char *text = NULL;

    (void)state;
    model->host = &host;
    snprintf(model->host_name, sizeof model->host_name, "node7:9000");
    assert_int_equal(ntk_screen_text_create(24, 80, &screen, NULL), 0);
    for (int view = 0; view < NTK_TOP_VIEW_COUNT; view++) {
        struct ntk_buf buf = { 0 };

        model->view = view;
        ntk_top_view_draw(model, screen, true);
        ntk_screen_text_write(screen, &buf);
        text = strdup(ntk_buf_text_get(&buf));
        assert_non_null(strstr(text, "running on node7:9000 (unreachable)"));
        assert_non_null(strstr(text, "no response since the first request, 12s ago"));
        assert_non_null(strstr(text, "connection refused"));
        assert_null(strstr(text, "0.0B"));
        assert_null(strstr(text, "no Neuron"));
        free(text);
        ntk_buf_fini(&buf);
    }
    ntk_screen_destroy(screen);
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_devices_fit_common_terminal_sizes),
        cmocka_unit_test(a_tall_terminal_shows_applications_and_the_last_minute),
        cmocka_unit_test(every_catalogue_machine_fits_common_terminal_sizes),
        cmocka_unit_test(a_logical_core_shows_the_mean_of_its_two_physical_cores),
        cmocka_unit_test(a_screen_with_128_cores_is_readable),
        cmocka_unit_test(one_device_is_shown_with_all_details),
        cmocka_unit_test(a_terminal_below_the_minimum_shows_a_message),
        cmocka_unit_test(the_reason_is_shown_if_there_are_no_devices),
        cmocka_unit_test(applications_determine_the_machine_without_a_device_tree),
        cmocka_unit_test(unmeasured_values_are_shown_as_a_dash),
        cmocka_unit_test(tabs_of_many_applications_are_shown_in_pages),
        cmocka_unit_test(columns_stay_aligned_with_wide_tags_and_hostile_names),
        cmocka_unit_test(showing_teraflops_changes_the_numbers_but_not_the_bars),
        cmocka_unit_test(memory_next_to_the_cores_is_that_of_the_tab),
        cmocka_unit_test(screen_parts_have_different_styles),
        cmocka_unit_test(the_help_page_lists_every_key),
        cmocka_unit_test(a_frame_with_sufficient_height_shows_every_row),
        cmocka_unit_test(a_host_that_was_never_reached_is_unreachable_in_every_view),
        cmocka_unit_test(any_terminal_size_has_a_valid_layout),
        cmocka_unit_test(the_cursor_remains_valid_during_rapid_terminal_resizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
