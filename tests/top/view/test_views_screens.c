/* SPDX-License-Identifier: MIT */
/* Views as whole screens: every usual terminal, any size, and no unknown values. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/mixed_snapshot.h"
#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_hbm.h"
#include "top/model/model_processes.h"
#include "top/view/view.h"
#include "top/view/views.h"

/* Method: the usual sizes with sixteen devices; ASCII and colours separately; then without optional
 * data. */
static void every_view_fits_common_terminal_sizes(void **state)
{
    struct scene several = scene_trn1;
    struct scene absent = scene_small;
    struct scene driver_only = scene_trn1;

    several.runtime_count = 4;
    several.cores_per_runtime = 4;
    driver_only.no_flops = driver_only.driver = true;
    driver_only.runtime_count = 0;
    absent.no_busy = absent.no_cpu = absent.no_memory = absent.no_flops = true;
    for (int i = 0; i < ONE_MACHINE_COUNT; i++) {
        enum ntk_top_view_id view = (enum ntk_top_view_id)i;
        if (view == NTK_TOP_VIEW_TREE) {
            continue; /* covered by test_view.c */
        }
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

/* Method: three processes at once, watched in three ways; the unknown values of two of them are
 * poison in the snapshot, and no view, page or tab of any size shows it. */
static void unknown_values_are_absent_in_every_view(void **state)
{
    static const int sizes[][2] = { { 24, 80 }, { 50, 200 }, { 10, 40 }, { 40, 120 } };

    (void)state;
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        enum ntk_top_view_id view = (enum ntk_top_view_id)i;
        const char *name = ntk_top_views_text_get(view)->name;
        struct ntk_top_model *model = NULL;

        assert_int_equal(ntk_top_model_create(ntk_top_views, &model, NULL), 0);
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

/* Method: every view, its page, its column box and the help, on a machine with another kind of
 * memory and with errors of it. */
static void inf1_memory_is_labelled_dram_not_hbm(void **state)
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

/* Method: usual sizes with all data; then without the data of missing sources. */
static void detail_pages_fit_common_terminal_sizes(void **state)
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

static void columns_stay_aligned_with_wide_characters(void **state)
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

/* Method: every size, each view with rows and without; nothing may exceed the frame or crash. */
static void any_terminal_size_has_a_valid_screen(void **state)
{
    /* A report may contain anything, such as half a logical core in a device. */
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
        cmocka_unit_test(every_view_fits_common_terminal_sizes),
        cmocka_unit_test(unknown_values_are_absent_in_every_view),
        cmocka_unit_test(inf1_memory_is_labelled_dram_not_hbm),
        cmocka_unit_test(detail_pages_fit_common_terminal_sizes),
        cmocka_unit_test(columns_stay_aligned_with_wide_characters),
        cmocka_unit_test(any_terminal_size_has_a_valid_screen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
