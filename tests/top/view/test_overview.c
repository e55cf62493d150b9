/* SPDX-License-Identifier: MIT */
/* The overview as whole screens, and the contents of its head. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_hbm.h"
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

/* Returns the position after a text; the text must be in the row. */
static const char *after(const char *row, const char *text)
{
    const char *at = strstr(row, text);

    if (!at) {
        fail_msg("no '%s' in: %s", text, row);
    }
    return at + strlen(text);
}

/* Checks the first line of the tab; returns the number of rows of devices. */
static unsigned check_application(struct ntk_top_model *model, int rows, int columns, double busy)
{
    char owner[64];
    unsigned devices = 0;
    bool is_found = false;

    (void)snprintf(owner, sizeof owner, "%s: busy ", ntk_top_model_tab_get(model)->tag);
    for (int row = 0; row < rows; row++) {
        char *text = scene_row(model, rows, columns, row);

        assert_null(strstr(text, "POWER"));
        devices += text[0] == 'N' && text[1] == 'D' && text[2] >= '0' && text[2] <= '9';
        if (strncmp(text, owner, strlen(owner)) == 0) {
            const char *machine = after(text, "machine: health ");

            is_found = true;
            assert_true(fabs(strtod(text + strlen(owner), NULL) - busy) < 0.051);
            assert_true(after(text, "HBM ") < machine && after(text, "CPU ") < machine);
            assert_true(columns < 120 || after(text, "TF ") < machine);
            assert_null(strstr(text, " of 512")); /* the capacity is the machine's */
        }
        free(text);
    }
    assert_true(is_found);
    return devices;
}

/* Method: three applications with three cores each on devices of eight: the first two on one
 * device, the third on two. */
static void figures_of_one_application_come_before_those_of_the_machine(void **state)
{
    static const unsigned devices[] = { 1, 1, 2 };
    struct scene scene = scene_trn2_lnc1;
    struct ntk_top_model *model;

    (void)state;
    scene.runtime_count = 3;
    scene.cores_per_runtime = 3;
    model = open_view(&scene, NTK_TOP_VIEW_OVERVIEW);
    for (int i = 0; i < 3; i++) {
        struct ntk_top_hbm_sum memory;

        ntk_top_model_act(model, NTK_TOP_ACTION_TAB, i + 2);
        const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_OVERVIEW];
        const struct ntk_top_row *row = ntk_top_table_row_get(table, 0);
        double busy = ntk_top_table_cell_get(table, row, NTK_TOP_PROCESSES_BUSY)->value;
        double used = ntk_top_table_cell_get(table, row, NTK_TOP_PROCESSES_HBM)->value;

        assert_int_equal(check_application(model, 24, 80, busy), devices[i]);
        assert_int_equal(check_application(model, 40, 120, busy), devices[i]);
        ntk_top_model_hbm_sum(model, &memory);
        assert_int_equal(memory.device_count, devices[i]);
        assert_true((double)memory.used.value == used);
        if (devices[i] == 1) {
            assert_true(fabs(ntk_top_model_device_busy(model, 0).value - busy) < 1e-9);
        }
    }
    golden(model, 120, 40, "application");
    golden(model, 80, 24, "application");
    ntk_top_model_act(model, NTK_TOP_ACTION_TAB, 1);
    for (int row = 0; row < 24; row++) { /* again all: nothing is marked */
        char *text = scene_row(model, 24, 80, row);

        assert_null(strstr(text, "machine:"));
        free(text);
    }
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_overview_of_every_machine_fits_common_terminal_sizes),
        cmocka_unit_test(faulty_devices_are_marked),
        cmocka_unit_test(omitted_devices_and_processes_are_counted),
        cmocka_unit_test(the_cores_of_the_selected_process_are_marked),
        cmocka_unit_test(figures_of_one_application_come_before_those_of_the_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
