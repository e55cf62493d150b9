/* SPDX-License-Identifier: MIT */
/* Lines of a host trace: which events share one, and when they need another. */
#include <string.h>

#include "profiler/output/traces/system_lines.h"
#include "tests/support/unit.h"

static struct ntk_system_lines lines;

static int set_up(void **state)
{
    struct ntk_system_grouping grouping;

    assert_int_equal(ntk_system_grouping_set(&grouping, NULL, NULL, NULL), 0);
    ntk_system_lines_init(&lines, &grouping);
    return 0;
}

static int tear_down(void **state)
{
    ntk_system_lines_fini(&lines);
    return 0;
}

static struct ntk_system_event_row span(int64_t start_ns, int64_t end_ns)
{
    return (struct ntk_system_event_row){ .name = "nrt_execute",
                                          .source = "neuron_rt",
                                          .instance = "i-1",
                                          .process = 41,
                                          .thread = 42,
                                          .worker = 3,
                                          .nc = 1,
                                          .device_core = NTK_ABSENT_I64,
                                          .start_ns = start_ns,
                                          .end_ns = end_ns,
                                          .duration_ns = end_ns - start_ns };
}

/* The number of the lane below its line, from 0. */
static size_t lane_of(struct ntk_system_event_row row, struct ntk_system_place *place)
{
    assert_int_equal(ntk_system_lines_take(&lines, &row, place), 0);
    return (size_t)(place->lane - place->first);
}

static void nested_and_consecutive_spans_share_a_lane(void **state)
{
    struct ntk_system_place place;

    assert_int_equal(lane_of(span(0, 100), &place), 0);
    assert_int_equal(lane_of(span(10, 60), &place), 0);
    assert_int_equal(lane_of(span(20, 60), &place), 0);
    assert_int_equal(lane_of(span(60, 100), &place), 0);
    assert_int_equal(lane_of(span(100, 120), &place), 0);
    assert_int_equal(lines.lines.count, 1);
    assert_string_equal(place.process->name, "i-1 PID 41");
    assert_string_equal(place.line->name, "neuron_rt Worker 3 NC 1 TID 42");
}

static void a_partially_overlapping_span_is_placed_on_a_separate_lane(void **state)
{
    struct ntk_system_place place;

    assert_int_equal(lane_of(span(0, 100), &place), 0);
    assert_int_equal(lane_of(span(50, 150), &place), 1);
    assert_int_equal(lane_of(span(60, 90), &place), 0);
    assert_int_equal(lane_of(span(95, 130), &place), 1);
    assert_int_equal(lane_of(span(140, 160), &place), 0);
}

static void an_instant_event_occupies_no_time_on_a_lane(void **state)
{
    struct ntk_system_event_row instant = span(50, 50);
    struct ntk_system_place place;

    instant.is_instant = true;
    assert_int_equal(lane_of(span(0, 100), &place), 0);
    assert_int_equal(lane_of(instant, &place), 0);
    assert_int_equal(lane_of(span(60, 100), &place), 0);
}

static void core_work_has_one_line_per_physical_core(void **state)
{
    struct ntk_system_event_row device = span(0, 100);
    struct ntk_system_place place;

    device.source = "neuron_hw";
    device.device_core = 6;
    (void)lane_of(span(0, 100), &place);
    assert_int_equal(lane_of(device, &place), 0);
    assert_string_equal(place.line->name, "neuron_hw Worker 3 NC 1 core 6");
    device.device_core = 7;
    assert_int_equal(lane_of(device, &place), 0);
    assert_string_equal(place.line->name, "neuron_hw Worker 3 NC 1 core 7");
    assert_int_equal(lines.lines.count, 3);
    assert_int_equal(lines.processes.count, 1);
}

static void grouping_fields_select_processes_and_lines(void **state)
{
    struct ntk_system_place place;

    assert_int_equal(
        ntk_system_grouping_set(&lines.grouping, "worker_gid,instance_id", "thread_id", NULL), 0);
    (void)lane_of(span(0, 1), &place);
    assert_string_equal(place.process->name, "Worker 3 i-1");
    assert_string_equal(place.line->name, "neuron_rt TID 42");
}

static void an_unknown_grouping_field_is_rejected(void **state)
{
    struct ntk_err err = { 0 };

    assert_true(ntk_system_grouping_set(&lines.grouping, NULL, "thread_id,", &err) < 0);
    assert_true(ntk_system_grouping_set(&lines.grouping, "", NULL, &err) < 0);
    assert_true(ntk_system_grouping_set(&lines.grouping, "instance", NULL, &err) < 0);
    assert_true(ntk_system_grouping_set(&lines.grouping,
                                        "nc_idx,nc_idx,nc_idx,nc_idx,nc_idx,nc_idx,nc_idx,nc_idx,"
                                        "nc_idx",
                                        NULL, &err) < 0);
    assert_non_null(strstr(err.text, "cannot group events by 'nc_idx'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nested_and_consecutive_spans_share_a_lane, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_partially_overlapping_span_is_placed_on_a_separate_lane,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_instant_event_occupies_no_time_on_a_lane, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(core_work_has_one_line_per_physical_core, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(grouping_fields_select_processes_and_lines, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_grouping_field_is_rejected, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
