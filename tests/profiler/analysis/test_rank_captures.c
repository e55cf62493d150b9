/* SPDX-License-Identifier: MIT */
/*
 * Captures next to our trace are placed under the execution that they show.
 *
 * Method: a trace built span by span, two successive executions of one model on the clock of the
 * core, and capture files from the writer of our runtime.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/rank_ops.h"
#include "profiler/system/session_find.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define PROCESS 41
#define MODEL 10001
#define HOST UINT64_C(1700000000000000000)

enum { CALL_1, RUN_1, CALL_2, RUN_2, SPANS };

struct fixture {
    struct ntk_system_span spans[SPANS];
    NtkNtracePb__Info info;
    struct ntk_system_trace trace;
    struct ntk_rank_list list;
};

static struct ntk_system_span span_of(const char *type, uint64_t exec_id, uint64_t start_ns,
                                      uint64_t device_ns, uint64_t length_ns)
{
    return (struct ntk_system_span){ .type = type,
                                     .name = "net",
                                     .start_ns = start_ns,
                                     .end_ns = start_ns + length_ns,
                                     .exec_id = exec_id,
                                     .model_id = MODEL,
                                     .device_start_ns = device_ns,
                                     .device_end_ns = device_ns + length_ns,
                                     .has_clock_zero = device_ns == 0,
                                     .nc = 1,
                                     .worker = 5,
                                     .parent = NTK_SYSTEM_NO_PARENT };
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->spans[CALL_1] = span_of("nrt_execute", 1, HOST, 0, 3000);
    f->spans[RUN_1] = span_of("nc_exec_running", 1, HOST + 1000, 0, 700);
    f->spans[CALL_2] = span_of("nrt_execute", 2, HOST + 50000, 0, 3000);
    f->spans[RUN_2] = span_of("nc_exec_running", 2, HOST + 51000, 700, 900);
    ntk_ntrace_pb__info__init(&f->info);
    f->info.process_id = PROCESS;
    f->info.first_core = 4;
    f->info.core_count = 2;
    f->trace.spans = f->spans;
    f->trace.span_count = SPANS;
    f->trace.info = &f->info;
    ntk_vec_init(&f->trace.captures, sizeof(char *));
    ntk_rank_list_init(&f->list);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_session_paths_fini(&f->trace.captures);
    ntk_rank_list_fini(&f->list);
    free(f);
    return 0;
}

/* Next to the trace; the window is on the clock of the core. */
static void capture_add(struct fixture *f, const char *name, uint64_t process_id, uint64_t model_id,
                        uint64_t start_ns, uint64_t end_ns)
{
    static const uint8_t code[64];
    static const struct ntk_ntff_capture_subgraph subgraph = {
        .name = "sg00", .core = 5, .engines = { { code, sizeof code, 0x10000 } }
    };
    const struct ntk_ntff_capture capture = { .neff_name = "net",
                                              .model_id = model_id,
                                              .process_id = process_id,
                                              .instance_type = "trn1.2xlarge",
                                              .base_clock_mhz = 1400,
                                              .subgraph_count = 1,
                                              .subgraphs = &subgraph };
    char *path = test_scratch_path(test_scratch_folder, name);
    struct ntk_ntff_writer *writer = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_writer_create(path, &capture, &writer, &err), 0);
    ntk_ntff_writer_set_execution(writer, start_ns * 1000, end_ns * 1000);
    assert_int_equal(ntk_ntff_writer_commit(writer, &err), 0);
    ntk_ntff_writer_destroy(writer);
    assert_int_equal(ntk_vec_push(&f->trace.captures, &path), 0);
}

static const struct ntk_rank_capture *placed(struct fixture *f, size_t index)
{
    struct ntk_err err = { 0 };

    if (f->list.captures.count == 0) {
        assert_int_equal(ntk_rank_list_add(&f->list, &f->trace, &err), 0);
    }
    assert_int_equal(f->list.captures.count, f->trace.captures.count);
    return ntk_vec_at(&f->list.captures, index);
}

static void a_capture_is_assigned_to_the_execution_of_its_time_window(void **state)
{
    struct fixture *f = *state;

    capture_add(f, "a_instid_0_vnc_1.ntff", PROCESS, MODEL, 0, 700);
    capture_add(f, "a_instid_0_vnc_1_failed.ntff", PROCESS, MODEL, 700, 1600);
    assert_null(placed(f, 0)->omitted_reason);
    assert_int_equal(placed(f, 0)->start_ns, HOST + 1000);
    assert_int_equal(placed(f, 0)->worker, 5);
    assert_null(placed(f, 1)->omitted_reason);
    assert_int_equal(placed(f, 1)->start_ns, HOST + 51000);
}

/* An execution that fails before its first instruction takes no time on the core, so the next one
 * starts at the same time. */
static void executions_with_equal_start_are_distinguished_by_duration(void **state)
{
    struct fixture *f = *state;

    f->spans[RUN_1] = span_of("nc_exec_running", 1, HOST + 1000, 700, 0);
    capture_add(f, "b_instid_0_vnc_1.ntff", PROCESS, MODEL, 700, 1600);
    capture_add(f, "b_instid_0_vnc_1_failed.ntff", PROCESS, MODEL, 700, 700);
    assert_int_equal(placed(f, 0)->start_ns, HOST + 51000);
    assert_int_equal(placed(f, 1)->start_ns, HOST + 1000);
}

/* In earlier versions of our runtime, every window started at 0. */
static void a_capture_window_from_0_selects_the_first_execution_of_its_model(void **state)
{
    struct fixture *f = *state;

    f->spans[RUN_1] = span_of("nc_exec_running", 1, HOST + 1000, 0, 700);
    f->spans[CALL_2].model_id = f->spans[RUN_2].model_id = MODEL + 1;
    capture_add(f, "i_instid_0_vnc_1.ntff", PROCESS, MODEL + 1, 0, 900);
    assert_int_equal(placed(f, 0)->start_ns, HOST + 51000);
}

static void a_zero_length_capture_belongs_to_the_first_zero_length_execution(void **state)
{
    struct fixture *f = *state;

    f->spans[RUN_2] = span_of("nc_exec_running", 2, HOST + 51000, 700, 0);
    capture_add(f, "j_instid_0_vnc_1_failed.ntff", PROCESS, MODEL, 0, 0);
    assert_int_equal(placed(f, 0)->start_ns, HOST + 51000);
}

static void captures_of_another_process_or_model_are_omitted(void **state)
{
    struct fixture *f = *state;

    capture_add(f, "c_instid_0_vnc_1.ntff", PROCESS + 1, MODEL, 0, 700);
    capture_add(f, "d_instid_0_vnc_1.ntff", PROCESS, MODEL + 1, 0, 700);
    capture_add(f, "e_instid_0_vnc_0.ntff", PROCESS, MODEL, 0, 700);
    capture_add(f, "f_instid_0_vnc_1.ntff", PROCESS, MODEL, 2000, 2100);
    assert_string_equal(placed(f, 0)->omitted_reason, "it belongs to another process");
    for (size_t i = 1; i < 4; i++) {
        assert_non_null(placed(f, i)->omitted_reason);
        assert_int_equal(placed(f, i)->start_ns, 0);
    }
}

static void without_core_times_the_first_execution_of_the_model_is_used(void **state)
{
    struct fixture *f = *state;

    f->spans[RUN_1].has_clock_zero = false;
    for (size_t i = 0; i < SPANS; i++) {
        f->spans[i].device_start_ns = f->spans[i].device_end_ns = 0;
    }
    f->spans[CALL_1].has_clock_zero = f->spans[CALL_2].has_clock_zero = false;
    capture_add(f, "g_instid_0_vnc_1.ntff", PROCESS, MODEL, 700, 1600);
    assert_null(placed(f, 0)->omitted_reason);
    assert_int_equal(placed(f, 0)->start_ns, HOST + 1000);
}

/* Files may contain any number as a time. */
static void captures_are_omitted_if_execution_times_are_impossible(void **state)
{
    const uint64_t times_ns[] = { NTK_SYSTEM_TIME_NS_MAX + 1, INT64_MAX, UINT64_C(1) << 63,
                                  UINT64_MAX - 700 };
    struct fixture *f = *state;

    capture_add(f, "h_instid_0_vnc_1.ntff", PROCESS, MODEL, 0, 700);
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        f->spans[RUN_1].start_ns = times_ns[i];
        f->spans[RUN_1].end_ns = times_ns[i] + 700;
        assert_string_equal(placed(f, 0)->omitted_reason,
                            "the time of its execution in the trace is out of range");
        assert_int_equal(placed(f, 0)->start_ns, 0);
        ntk_rank_list_fini(&f->list);
        ntk_rank_list_init(&f->list);
    }
}

static void workers_of_one_process_are_limited(void **state)
{
    struct fixture *f = *state;
    enum { COUNT = 1500 };
    struct ntk_system_span *spans = calloc(COUNT, sizeof *spans);
    struct ntk_err err = { 0 };

    for (uint32_t i = 0; i < COUNT; i++) {
        spans[i] = f->spans[RUN_1];
        spans[i].worker = i;
    }
    f->trace.spans = spans;
    f->trace.span_count = COUNT;
    assert_int_equal(ntk_rank_list_add(&f->list, &f->trace, &err), 0);
    assert_int_equal(f->list.warnings.count, 1);
    assert_non_null(strstr(*(char **)ntk_vec_at(&f->list.warnings, 0), "too many workers"));
    assert_non_null(strstr(*(char **)ntk_vec_at(&f->list.warnings, 0), "ignoring 476 "));
    free(spans);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_capture_is_assigned_to_the_execution_of_its_time_window),
        TEST(executions_with_equal_start_are_distinguished_by_duration),
        TEST(a_capture_window_from_0_selects_the_first_execution_of_its_model),
        TEST(a_zero_length_capture_belongs_to_the_first_zero_length_execution),
        TEST(captures_of_another_process_or_model_are_omitted),
        TEST(without_core_times_the_first_execution_of_the_model_is_used),
        TEST(captures_are_omitted_if_execution_times_are_impossible),
        TEST(workers_of_one_process_are_limited),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
