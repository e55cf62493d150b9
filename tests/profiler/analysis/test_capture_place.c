/* SPDX-License-Identifier: MIT */
/* Method: one execution and hand-made sync points; checks where the window of a capture is
 * placed. */
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/capture_place.h"
#include "tests/support/unit.h"

#define HOST 1700000000000000000U /* host time of device time 0 */

struct made {
    struct ntk_system_trace trace;
    struct ntk_system_execution execution;
    struct ntk_system_tables tables;
    struct ntk_ntff_subgraph subgraph;
    struct ntk_ntff ntff;
};

static void begin(struct made *m, uint64_t window_ns)
{
    memset(m, 0, sizeof *m);
    m->trace.is_vendor = true;
    ntk_vec_init(&m->trace.sync_points, sizeof(struct ntk_system_sync));
    m->execution = (struct ntk_system_execution){ .nc = 1,
                                                  .device_ns = 1000,
                                                  .device_start_ns = window_ns + 400,
                                                  .has_clock = true,
                                                  .device_core = 6,
                                                  .sync_host_ns = HOST + window_ns + 400 };
    m->tables = (struct ntk_system_tables){ .executions = &m->execution,
                                            .execution_count = 1,
                                            .is_vendor = true };
    m->subgraph.core = 6;
    m->ntff.subgraphs = &m->subgraph;
    m->ntff.subgraph_count = 1;
    m->ntff.has_window = true;
    m->ntff.window_start_ps = window_ns * 1000;
    m->ntff.window_end_ps = (window_ns + 100000) * 1000;
}

static void point(struct made *m, uint32_t nc, uint32_t core, uint64_t device_ns, int64_t off_ns)
{
    const struct ntk_system_sync sync = { nc, core, 0, device_ns,
                                          HOST + device_ns + (uint64_t)off_ns };

    assert_int_equal(ntk_vec_push(&m->trace.sync_points, &sync), 0);
}

/* Host time of the window, minus what it would be without drift. */
static int64_t off_of(struct made *m, uint64_t window_ns)
{
    uint64_t host_ns = ntk_capture_place(&m->trace, &m->tables, &m->ntff, 1, NULL);

    ntk_vec_fini(&m->trace.sync_points);
    return (int64_t)(host_ns - HOST - window_ns);
}

static void between_close_sync_points_the_earlier_offset_is_used(void **state)
{
    struct made m;

    begin(&m, 500000000);
    point(&m, 1, 6, 100, 7);
    point(&m, 1, 6, 1000000100, 1007); /* a second later: no extrapolation */
    assert_int_equal(off_of(&m, 500000000), 7);
}

static void between_distant_sync_points_the_offset_is_interpolated(void **state)
{
    struct made m;

    begin(&m, 3000000000);
    point(&m, 1, 6, 0, 1000);
    point(&m, 1, 6, 2000000000, 2000);
    point(&m, 1, 6, 6000000000, -6000);
    point(&m, 1, 6, 9000000000, 0);
    assert_int_equal(off_of(&m, 3000000000), 0); /* a quarter of the way from 2000 to -6000 */
}

static void outside_the_sync_points_the_nearest_offset_is_used(void **state)
{
    struct made m;

    begin(&m, 9000000000);
    point(&m, 1, 6, 1000, 50);
    point(&m, 1, 6, 5000000000, 70);
    assert_int_equal(off_of(&m, 9000000000), 70);
    begin(&m, 500);
    point(&m, 1, 6, 1000, 50);
    point(&m, 1, 6, 5000000000, 70);
    assert_int_equal(off_of(&m, 500), 50);
}

static void sync_points_of_the_physical_core_are_used(void **state)
{
    struct made m;

    begin(&m, 5000);
    point(&m, 0, 6, 1000, 1);
    point(&m, 1, 5, 1000, 2);
    point(&m, 1, 6, 1000, 3);
    point(&m, 1, 7, 1000, 4);
    assert_int_equal(off_of(&m, 5000), 3);
    begin(&m, 5000);
    point(&m, 0, 6, 1000, 1);
    point(&m, 1, 5, 1000, 2); /* of the same logical core */
    point(&m, 1, 7, 1000, 4);
    assert_int_equal(off_of(&m, 5000), 2);
}

/* A clock that jumps is not interpolated. */
static void sync_points_with_a_large_difference_are_not_interpolated(void **state)
{
    struct made m;

    begin(&m, 3000000000);
    point(&m, 1, 6, 2000000000, 5);
    point(&m, 1, 6, 6000000000, 900000000);
    assert_int_equal(off_of(&m, 3000000000), 5);
}

/* After a reset the device clock passes the time of the window again; points of the other life are
 * not used. */
static void sync_points_before_and_after_a_reset_are_separate(void **state)
{
    const int64_t later_ns = 10000000000;
    struct made m;

    for (uint32_t life = 0; life < 2; life++) {
        begin(&m, 3000);
        m.execution.sync_host_ns += life ? (uint64_t)later_ns : 0;
        point(&m, 1, 6, 2000, 5);
        point(&m, 1, 6, 4000000000, 5);
        point(&m, 1, 6, 1000, later_ns);
        point(&m, 1, 6, 6000000000, later_ns);
        for (size_t i = 2; i < 4; i++) {
            ((struct ntk_system_sync *)ntk_vec_at(&m.trace.sync_points, i))->life = 1;
        }
        assert_int_equal(off_of(&m, 3000), life ? later_ns : 5);
    }
}

static void without_sync_points_the_device_run_determines_the_offset(void **state)
{
    struct made m;

    begin(&m, 5000);
    assert_int_equal(off_of(&m, 5000), 0); /* the window starts 400 ns before the run */
    begin(&m, 5000);
    m.trace.is_vendor = false; /* a capture there starts with the run */
    m.tables.is_vendor = false;
    m.ntff.model_id = m.execution.model_id;
    assert_int_equal(off_of(&m, 5000), 400);
    begin(&m, 5000);
    m.execution.device_start_ns = 4999; /* the run started before the window: another execution */
    assert_int_equal(ntk_capture_place(&m.trace, &m.tables, &m.ntff, 1, NULL), 0);
}

/* Without a file, only the name is read. */
static struct ntk_capture_located locate(const char *path, struct ntk_system_trace **traces,
                                         size_t count)
{
    struct ntk_system_tables tables = { 0 };
    struct ntk_vec all = { .items = traces, .count = count };

    return ntk_capture_locate(path, traces[0], &tables, &all);
}

/* Process 7 of two machines: core 3 is its second. Method: the traces in both orders, and a capture
 * in either folder. */
static void a_triggered_capture_belongs_to_the_process_of_its_own_machine(void **state)
{
    static const char *const machines[] = { "out/a", "out/b" };
    NtkNtracePb__Info info = NTK_NTRACE_PB__INFO__INIT;
    struct ntk_system_span spans[2] = { 0 };
    struct ntk_system_trace traces[2] = { 0 };
    char folders[2][32];

    (void)state;
    info.process_id = 7;
    info.first_core = 2;
    for (size_t m = 0; m < 2; m++) {
        (void)snprintf(folders[m], sizeof folders[m], "%s/i-local_pid_7/now", machines[m]);
        spans[m] = (struct ntk_system_span){ .type = "nc_exec_running",
                                             .exec_id = 20,
                                             .start_ns = HOST + 1000 * m };
        traces[m] = (struct ntk_system_trace){
            .folder = folders[m], .info = &info, .spans = &spans[m], .span_count = 1
        };
    }
    for (size_t m = 0; m < 4; m++) {
        struct ntk_system_trace *order[] = { &traces[m / 2], &traces[1 - m / 2] };
        char path[64];
        (void)snprintf(path, sizeof path, "%s/pid_7_nc_3_exec_20.ntff", machines[m % 2]);
        struct ntk_capture_located found = locate(path, order, 2);
        assert_int_equal(found.pid, 7);
        assert_int_equal(found.execution, 20);
        assert_int_equal(found.nc, 1);
        assert_int_equal(found.start_ns, HOST + 1000 * (m % 2));
    }
    struct ntk_system_trace *elsewhere[] = { &traces[0] };
    assert_int_equal(locate("moved/pid_7_nc_3_exec_20.ntff", elsewhere, 1).start_ns, HOST);
    struct ntk_capture_located other = locate("moved/pid_8_nc_3_exec_20.ntff", elsewhere, 1);
    assert_true(other.pid == 8 && other.start_ns == 0 && other.nc == UINT32_MAX);
    assert_int_equal(locate("moved/profile.ntff", elsewhere, 1).pid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_close_sync_points_the_earlier_offset_is_used),
        cmocka_unit_test(between_distant_sync_points_the_offset_is_interpolated),
        cmocka_unit_test(outside_the_sync_points_the_nearest_offset_is_used),
        cmocka_unit_test(sync_points_of_the_physical_core_are_used),
        cmocka_unit_test(sync_points_with_a_large_difference_are_not_interpolated),
        cmocka_unit_test(sync_points_before_and_after_a_reset_are_separate),
        cmocka_unit_test(without_sync_points_the_device_run_determines_the_offset),
        cmocka_unit_test(a_triggered_capture_belongs_to_the_process_of_its_own_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
