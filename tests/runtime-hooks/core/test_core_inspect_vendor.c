/* SPDX-License-Identifier: MIT */
/*
 * One recording in our layout and in the vendor's, read back: the same rows. Method: the records
 * that a core makes of executions, and one event of every kind with all of its fields. Times of the
 * device follow the rule of the vendor's files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "profiler/analysis/host_gaps.h"
#include "profiler/analysis/rank_ops.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/system/system_trace.h"
#include "runtime-hooks/core/core_inspect_vendor.h"
#include "shared/base/fs.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"
#include "tests/support/vendor_clock_rule.h"

#define ALL_KINDS ((UINT64_C(1) << NTK_CORE_TRACE_KINDS) - 1)

static const char *const kind_names[NTK_CORE_TRACE_KINDS] = {
    [NTK_CORE_TRACE_RUNNING] = "nc_exec_running",
    [NTK_CORE_TRACE_CC] = "cc_running",
    [NTK_CORE_TRACE_BARRIER] = "cc_exec_barrier",
    [NTK_CORE_TRACE_NUMERICAL] = "numerical_err",
    [NTK_CORE_TRACE_SWITCH] = "nrt_model_switch",
    [NTK_CORE_TRACE_SYNC] = "timestamp_sync_point",
    [NTK_CORE_TRACE_LOAD] = "nrt_load",
    [NTK_CORE_TRACE_UNLOAD] = "nrt_unload",
    [NTK_CORE_TRACE_EXECUTE] = "nrt_execute",
    [NTK_CORE_TRACE_SCHEDULE] = "nrta_execute_schedule",
    [NTK_CORE_TRACE_SUBMIT] = "nrt_model_submit",
    [NTK_CORE_TRACE_EXEC_PRE] = "kbl_exec_pre",
    [NTK_CORE_TRACE_EXEC_DISPATCH] = "kmgr_exec_core",
    [NTK_CORE_TRACE_EXEC_WAIT] = "kbl_exec_wait",
    [NTK_CORE_TRACE_EXEC_POST] = "kbl_exec_post",
    [NTK_CORE_TRACE_TENSOR_ALLOCATE] = "nrt_tensor_allocate",
    [NTK_CORE_TRACE_TENSOR_FREE] = "nrt_tensor_free",
    [NTK_CORE_TRACE_TENSOR_READ] = "nrt_tensor_read",
    [NTK_CORE_TRACE_TENSOR_WRITE] = "nrt_tensor_write",
    [NTK_CORE_TRACE_TENSOR_COPY] = "nrt_tensor_copy",
    [NTK_CORE_TRACE_COPY_IN] = "dmem_buf_copyin",
    [NTK_CORE_TRACE_COPY_OUT] = "dmem_buf_copyout",
    [NTK_CORE_TRACE_MEMORY_ALLOC] = "nrt_dma_mem_alloc",
    [NTK_CORE_TRACE_MEMORY_FREE] = "nrt_dma_mem_dealloc",
    [NTK_CORE_TRACE_MARK] = "mark",
};

/* All fields of every kind of event, in both phases. */
static void everything_note(uint32_t nc)
{
    for (int kind = 0; kind < NTK_CORE_TRACE_KINDS; kind++) {
        bool is_memory = kind == NTK_CORE_TRACE_MEMORY_ALLOC || kind == NTK_CORE_TRACE_MEMORY_FREE;
        bool is_instant = is_memory || kind == NTK_CORE_TRACE_NUMERICAL ||
                          kind == NTK_CORE_TRACE_SWITCH || kind == NTK_CORE_TRACE_SYNC;
        bool is_execution = kind == NTK_CORE_TRACE_RUNNING ||
                            (kind >= NTK_CORE_TRACE_EXECUTE && kind <= NTK_CORE_TRACE_EXEC_POST);
        bool has_model = kind <= NTK_CORE_TRACE_EXEC_POST && kind != NTK_CORE_TRACE_CC &&
                         kind != NTK_CORE_TRACE_BARRIER;
        struct ntk_core_trace_data data = {
            .execution_id = kind <= NTK_CORE_TRACE_SYNC || is_execution ? 5 : 0,
            .device_ns = kind <= NTK_CORE_TRACE_SYNC ? 7000 : 0,
            .bytes = kind >= NTK_CORE_TRACE_TENSOR_ALLOCATE ? 64 : 0,
            .model_id = has_model ? 20002 : 0,
            .device_core = kind <= NTK_CORE_TRACE_SYNC ? 1 : 0,
            .queue = is_execution ? 3 : 0,
            .name = is_memory                     ? "tensors"
                    : has_model                   ? "a model"
                    : kind == NTK_CORE_TRACE_CC   ? "comm 00f1d2c3b4a59687 rank 1 of 2, 3 of 8 "
                                                    "in all"
                    : kind == NTK_CORE_TRACE_MARK ? "step"
                                                  : "weights",
        };
        struct ntk_core_trace_span span = { 0 };

        if (is_instant) {
            ntk_core_trace_point((enum ntk_core_trace_kind)kind, nc, &data);
        } else {
            ntk_core_trace_span_begin(&span, (enum ntk_core_trace_kind)kind, nc, &data);
            data.device_ns += data.device_ns ? 500 : 0;
            ntk_core_trace_span_end(&span, &data);
        }
    }
}

/* Uses that the vendor combines into one. */
static void generic_note(uint32_t nc)
{
    static const char *const uses[] = { "runtime", "uncategorized", "runtime" };

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        struct ntk_core_trace_data data = { .bytes = 8 << i, .name = uses[i] };

        ntk_core_trace_point(NTK_CORE_TRACE_MEMORY_ALLOC, nc, &data);
    }
}

static json_t *rows_of(const char *folder, bool is_vendor)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_system_tables tables;
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    json_error_t error;

    assert_int_equal(ntk_system_trace_open(folder, &trace, &err), 0);
    assert_int_equal(trace->is_vendor, is_vendor);
    assert_int_equal(trace->warnings.count + trace->notes.count, 0);
    assert_int_equal(trace->partial_count + trace->lost, 0);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    struct ntk_system_view view = { trace, &tables, NULL, 0 };
    assert_int_equal(ntk_output_system_json(&view, 1, &text, NULL), 0);
    json_t *json = json_loadb(text.bytes, text.bytes_count, 0, &error);
    assert_non_null(json);
    ntk_buf_fini(&text);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
    return json;
}

/* Facts that only the vendor's layout has: its accounts, and both clocks at the same moment. */
static void vendor_keys_drop(json_t *json)
{
    static const char *const keys[] = {
        "allocated_bytes", "freed_bytes", "total_bytes", "usage_type_total_bytes",
        "return_code",     "mla_idx",     "is_nc_hbm",   "cpu_timestamp_ns",
        "usage_type",
    };
    size_t index;
    json_t *event;

    json_array_foreach(json_object_get(json, "trace_event"), index, event)
    {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            (void)json_object_del(event, keys[k]);
        }
    }
}

/* For each core and use in the vendor's terms: the total changes by what is allocated and freed. */
static void totals_check(const json_t *json)
{
    json_t *sums = json_object();
    size_t checked = 0;
    size_t index;
    const json_t *event;

    json_array_foreach(json_object_get(json, "trace_event"), index, event)
    {
        const char *usage = json_string_value(json_object_get(event, "usage_type"));
        char key[64];

        if (!usage) {
            continue;
        }
        (void)snprintf(key, sizeof key, "%lld %s",
                       (long long)json_integer_value(json_object_get(event, "nc_idx")), usage);
        long long sum = json_integer_value(json_object_get(sums, key)) +
                        json_integer_value(json_object_get(event, "allocated_bytes")) -
                        json_integer_value(json_object_get(event, "freed_bytes"));
        assert_int_equal(json_integer_value(json_object_get(event, "usage_type_total_bytes")), sum);
        json_object_set_new(sums, key, json_integer(sum));
        checked++;
    }
    assert_true(checked > 4);
    json_decref(sums);
}

static void equal(const json_t *own, const json_t *vendor, const char *key)
{
    const json_t *a = json_object_get(own, key);
    const json_t *b = json_object_get(vendor, key);

    if (json_array_size(a) != json_array_size(b)) {
        fail_msg("%s: %zu and %zu rows", key, json_array_size(a), json_array_size(b));
    }
    for (size_t i = 0; i < json_array_size(a); i++) {
        if (!json_equal(json_array_get(a, i), json_array_get(b, i))) {
            fail_msg("%s %zu: %s\n and %s", key, i, json_dumps(json_array_get(a, i), 0),
                     json_dumps(json_array_get(b, i), 0));
        }
    }
}

static void a_recording_has_the_same_rows_in_both_layouts(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_core_trace_options options = { .core_count = 2,
                                                    .kinds = ALL_KINDS,
                                                    .events_per_core = 1000 };
    struct ntk_core_vendor_trace trace = { 0 };
    struct ntk_core_inspect_info info = {
        .instance_id = "i-local", .runtime_version = "1", .session_id = 1, .begin_ns = 1
    };
    char *folders[2];
    char *paths[2][2];
    struct core_adder adder;

    for (size_t i = 0; i < 2; i++) {
        folders[i] = test_scratch_path(f->folder, i == 0 ? "own" : "vendor");
        assert_int_equal(mkdir(folders[i], 0755), 0);
        paths[i][0] = test_scratch_path(folders[i], "ntrace.pb");
        paths[i][1] = test_scratch_path(folders[i], "trace_info.pb");
    }
    assert_int_equal(ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &options, &f->err), 0);
    core_adder_init(f, &adder, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        (void)core_adder_run(f, &adder, 1);
    }
    everything_note(0);
    everything_note(1);
    generic_note(0);
    core_adder_fini(&adder);
    info.end_ns = UINT64_C(1) << 62;
    assert_int_equal(
        ntk_core_trace_save(f->core, NTK_CORE_TRACE_INSPECT, kind_names, paths[0][0], &f->err), 0);
    assert_int_equal(ntk_core_inspect_info_save(f->core, &info, paths[0][1], &f->err), 0);
    assert_int_equal(ntk_core_vendor_trace_save(f->core, NTK_CORE_TRACE_INSPECT, kind_names,
                                                paths[1][0], &trace, &f->err),
                     0);
    assert_int_equal(
        ntk_core_vendor_info_save(f->core, &info, kind_names, &trace, paths[1][1], &f->err), 0);
    ntk_core_vendor_trace_fini(&trace);
    assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_INSPECT), 0);

    json_t *own = rows_of(folders[0], false);
    json_t *vendor = rows_of(folders[1], true);
    totals_check(vendor);
    vendor_keys_drop(own);
    vendor_keys_drop(vendor);
    assert_true(json_array_size(json_object_get(own, "trace_event")) >= 2 * NTK_CORE_TRACE_KINDS);
    assert_true(json_array_size(json_object_get(own, "execution")) >= 3);
    assert_true(json_array_size(json_object_get(own, "device_mem_usage")) >= 4);
    equal(own, vendor, "trace_event");
    equal(own, vendor, "device_mem_usage");
    equal(own, vendor, "execution");
    equal(own, vendor, "load");
    json_decref(own);
    json_decref(vendor);
    for (size_t i = 0; i < 2; i++) {
        free(folders[i]);
        free(paths[i][0]);
        free(paths[i][1]);
    }
}

/* One step of an execution on both physical cores; the host notices its end late. The second
 * takes 50 ns more of device time, and the first fails. */
static void step_note(uint64_t exec, uint64_t host_ns, uint64_t device_ns, uint64_t length_ns,
                      bool is_switch)
{
    struct ntk_core_trace_span spans[2];
    struct ntk_core_trace_data data = { .time_ns = host_ns,
                                        .execution_id = exec,
                                        .device_ns = device_ns };

    for (uint16_t i = 0; i < 2; i++) {
        const struct ntk_core_trace_note notes[] = {
            { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SYNC, NULL },
            { NTK_NTRACE_START, NTK_CORE_TRACE_RUNNING, &spans[i] },
            { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SWITCH, NULL },
        };

        data.device_core = 4 + i;
        ntk_core_trace_moment(0, &data, notes, i == 0 && is_switch ? 3 : 2);
    }
    data.time_ns += 1000 * length_ns;
    for (uint16_t i = 0; i < 2; i++) {
        data.device_core = 4 + i;
        data.device_ns = device_ns + length_ns + 50U * i;
        if (i == 0) {
            ntk_core_trace_point(NTK_CORE_TRACE_NUMERICAL, 0, &data);
        }
        ntk_core_trace_span_end(&spans[i], &data);
    }
}

/* Three steps of 350, 250 and 150 ns, on which host-gaps, ranks and joined are based. */
static void runs_check(const struct ntk_system_trace *trace, const char *folder, uint64_t base_ns)
{
    static const int64_t runs[][2] = { { 0, 350 }, { 1000000, 1000250 }, { 9000000, 9000150 } };
    struct ntk_host_gaps gaps;
    struct ntk_rank_list list;
    struct ntk_rank_cursor cursor;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_analysis_host_gaps(trace, &gaps), 0);
    assert_int_equal(gaps.core_count, 1);
    assert_int_equal(gaps.cores[0].run_count, 3);
    assert_int_equal(gaps.cores[0].run_ns, 350 + 250 + 150);
    assert_int_equal(gaps.cores[0].gap_ns, 9000150 - (350 + 250 + 150));
    ntk_host_gaps_fini(&gaps);

    ntk_rank_list_init(&list);
    assert_int_equal(ntk_rank_list_add_folder(&list, folder, &err), 0);
    assert_int_equal(ntk_rank_list_finish(&list), 0);
    assert_int_equal(list.ranks.count, 1);
    const struct ntk_rank_ops *rank = ntk_vec_at(&list.ranks, 0);
    assert_int_equal(rank->runs.count, 3);
    ntk_rank_cursor_init(&cursor, &list.store, rank->runs, sizeof(struct ntk_rank_run));
    for (size_t i = 0; i < 3; i++) {
        const struct ntk_rank_run *run = ntk_rank_cursor_at(&cursor, i);
        assert_int_equal(run->start_ns - (int64_t)base_ns, runs[i][0]);
        assert_int_equal(run->end_ns - (int64_t)base_ns, runs[i][1]);
    }
    ntk_rank_list_fini(&list);
}

/* The clock of a core stops between executions and may start at any number. */
static void device_events_use_the_clock_of_their_core(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_core_trace_options options = { .core_count = 2,
                                                    .kinds = ALL_KINDS,
                                                    .events_per_core = 1000 };
    const uint64_t base = UINT64_C(1700000000000000000);
    struct ntk_core_inspect_info info = { .instance_id = "i-local",
                                          .runtime_version = "1",
                                          .begin_ns = base,
                                          .end_ns = base + 100000000 };
    static const uint64_t clocks[] = { 0, 123456, UINT64_MAX - 100000 };
    char *path = test_scratch_path(f->folder, "ntrace.pb");
    char *info_path = test_scratch_path(f->folder, "trace_info.pb");

    for (size_t c = 0; c < 2 * sizeof clocks / sizeof *clocks; c++) {
        struct ntk_core_vendor_trace made = { 0 };
        struct ntk_system_trace *trace = NULL;
        uint64_t clock_ns = clocks[c / 2];
        bool is_vendor = c % 2;
        size_t runs = 0;
        size_t errors = 0;

        assert_int_equal(ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &options, &f->err), 0);
        step_note(1, base, clock_ns, 300, true);
        /* The next step of the same execution. */
        step_note(1, base + 1000000, clock_ns + 350, 200, false);
        step_note(2, base + 9000000, clock_ns + 600, 100, false);
        assert_int_equal(is_vendor ? ntk_core_vendor_trace_save(f->core, NTK_CORE_TRACE_INSPECT,
                                                                kind_names, path, &made, &f->err)
                                   : ntk_core_trace_save(f->core, NTK_CORE_TRACE_INSPECT,
                                                         kind_names, path, &f->err),
                         0);
        assert_int_equal(is_vendor ? ntk_core_vendor_info_save(f->core, &info, kind_names, &made,
                                                               info_path, &f->err)
                                   : ntk_core_inspect_info_save(f->core, &info, info_path, &f->err),
                         0);
        ntk_core_vendor_trace_fini(&made);
        assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_INSPECT), 0);
        if (is_vendor) {
            assert_int_equal(vendor_clock_rule_check(f->folder), 3 * 5 + 1);
        }
        assert_int_equal(ntk_system_trace_open(f->folder, &trace, &f->err), 0);
        for (size_t i = 0; i < trace->span_count; i++) {
            static const uint64_t starts_ns[] = { 0, 0, 1000000, 1000000, 9000000, 9000000 };
            static const uint64_t lengths_ns[] = { 300, 350, 200, 250, 100, 150 };
            const struct ntk_system_span *span = &trace->spans[i];

            assert_true(ntk_system_span_has_clock(span));
            if (strcmp(span->type, "nc_exec_running") == 0) {
                assert_int_equal(span->start_ns - base, starts_ns[runs]);
                assert_int_equal(span->end_ns - span->start_ns, lengths_ns[runs]);
                assert_int_equal(span->device_core, 4 + runs++ % 2);
            } else if (strcmp(span->type, "numerical_err") == 0) {
                assert_int_equal(span->start_ns - base,
                                 starts_ns[2 * errors] + lengths_ns[2 * errors]);
                errors++;
            } else if (strcmp(span->type, "timestamp_sync_point") == 0) {
                assert_true(span->device_core == 4 || span->device_core == 5);
            }
        }
        runs_check(trace, f->folder, base);
        assert_int_equal(runs, 6);
        assert_int_equal(errors, 3);
        ntk_system_trace_close(trace);
    }
    free(path);
    free(info_path);
}

/* Overwritten events show as missing numbers. */
static void lost_events_are_missing_in_both_layouts(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_core_trace_options options = { .core_count = 1,
                                                    .kinds = ALL_KINDS,
                                                    .events_per_core = 8 };
    struct ntk_core_vendor_trace trace = { 0 };
    struct ntk_system_trace *read = NULL;
    char *path = test_scratch_path(f->folder, "ntrace.pb");

    assert_int_equal(ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &options, &f->err), 0);
    everything_note(0);
    assert_int_equal(ntk_core_vendor_trace_save(f->core, NTK_CORE_TRACE_INSPECT, kind_names, path,
                                                &trace, &f->err),
                     0);
    assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_INSPECT), 0);
    assert_int_equal(ntk_system_trace_open(f->folder, &read, NULL), 0);
    assert_true(read->lost > 20);
    ntk_system_trace_close(read);
    ntk_core_vendor_trace_fini(&trace);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) \
    cmocka_unit_test_setup_teardown(function, core_fixture_setup, core_fixture_teardown)
        TEST(a_recording_has_the_same_rows_in_both_layouts),
        TEST(device_events_use_the_clock_of_their_core),
        TEST(lost_events_are_missing_in_both_layouts),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
