/* SPDX-License-Identifier: MIT */
/* The overview as whole screens, and the contents of its head. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_processes.h"
#include "top/view/view.h"
#include "top/view/view_overview.h"

static void shows(const struct scene *scene, const char *what)
{
    struct ntk_top_model *model = open_view(scene, NTK_TOP_VIEW_OVERVIEW);

    golden(model, 80, 24, what);
    golden(model, 120, 40, what);
    golden(model, 200, 60, what);
    ntk_top_model_destroy(model);
}

/* Method: machines of four types, idle and busy, with one process and with 120. */
static void the_overview_of_every_machine_fits_common_terminal_sizes(void **state)
{
    struct scene inf1 = scene_trn1;
    struct scene idle = scene_trn2_lnc1;
    struct scene crowd = scene_trn2_lnc1;

    (void)state;
    inf1.instance_type = "inf1.6xlarge";
    inf1.core_version = "v1";
    inf1.device_count = 4;
    inf1.cores_per_device = 4;
    idle.idle = true;
    idle.runtime_count = 0;
    crowd.runtime_count = 120;
    crowd.cores_per_runtime = 1;
    shows(&scene_small, "small");
    shows(&inf1, "inf1");
    shows(&scene_trn2_lnc1, "trn2_lnc1");
    shows(&scene_trn2_lnc2, "trn2_lnc2");
    shows(&idle, "idle");
    shows(&crowd, "crowd");
}

/* Method: one unhealthy device, and two of unknown health. */
static void faulty_devices_are_marked(void **state)
{
    static struct ntk_health_sample fault = { .reason = NTK_HEALTH_REASON_HBM_REPAIRABLE };
    struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene_trn2_lnc2);
    struct ntk_top_model *model = scene_model(&scene_trn2_lnc2);

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < snapshot->device_count; i++) {
        struct ntk_device_sample *device = &snapshot->devices[i];

        device->has |= NTK_DEVICE_HAS_HEALTH;
        device->verdict = i == 3              ? NTK_HEALTH_UNHEALTHY
                          : i == 9 || i == 10 ? NTK_HEALTH_UNKNOWN
                                              : NTK_HEALTH_HEALTHY;
        device->verdict_since_ns = snapshot->realtime_ns;
        device->health = &fault;
        device->health_count = device->verdict != NTK_HEALTH_HEALTHY;
    }
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    ntk_top_model_set_view(model, NTK_TOP_VIEW_OVERVIEW);
    golden(model, 80, 24, "faults");
    golden(model, 120, 40, "faults");
    golden(model, 200, 60, "faults");
    ntk_top_model_destroy(model);
}

/* Method: every height at 80 columns: devices or processes without room are counted, and the list
 * of processes keeps its title and two rows. */
static void omitted_devices_and_processes_are_counted(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn2_lnc1, NTK_TOP_VIEW_OVERVIEW);

    (void)state;
    for (int rows = 12; rows < 40; rows++) {
        int head = ntk_top_view_overview_rows(model, rows - 4, 80);
        int devices = 0;
        int more = 0;

        assert_in_range(head, 1, rows - 4 - 3);
        for (int row = 0; row < rows; row++) {
            char *text = scene_row(model, rows, 80, row);

            for (const char *at = text; (at = strstr(at, "ND")); at++) {
                devices += at[2] >= '0' && at[2] <= '9';
            }
            if (strstr(text, "more devices")) {
                assert_int_equal(sscanf(strstr(text, "and "), "and %d more devices (t)", &more), 1);
            }
            free(text);
        }
        assert_true(head == 1 || devices + more == 16);
    }
    ntk_top_model_destroy(model);
}

/* Method: the letters of the styles: upper case is the colour of the selection. */
static void the_cores_of_the_selected_process_are_marked(void **state)
{
    struct scene scene = scene_trn1;
    struct ntk_top_model *model;

    (void)state;
    scene.runtime_count = 4;
    scene.cores_per_runtime = 4;
    model = open_view(&scene, NTK_TOP_VIEW_OVERVIEW);
    scene_assert_styles(model, 24, 80, "overview_selected_first_styles");
    press(model, NTK_SCREEN_KEY_DOWN);
    scene_assert_styles(model, 24, 80, "overview_selected_second_styles");
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_overview_of_every_machine_fits_common_terminal_sizes),
        cmocka_unit_test(faulty_devices_are_marked),
        cmocka_unit_test(omitted_devices_and_processes_are_counted),
        cmocka_unit_test(the_cores_of_the_selected_process_are_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
