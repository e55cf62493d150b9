/* SPDX-License-Identifier: MIT */
/*
 * The folder of an inspection on real hardware, inspect_trn2_rt230 in the folder that
 * NTK_VENDOR_CAPTURES names: totals of every type, of memory and of the host. Skipped if the
 * variable is not set.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/analysis/system_tables.h"
#include "profiler/output/tables/rows_system.h"
#include "tests/support/unit.h"
#include "tests/support/vendor_clock_rule.h"

static char folder[1024];

static int setup(void **state)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_system_trace_open(folder, (struct ntk_system_trace **)state, &err), 0);
    return 0;
}

static int teardown(void **state)
{
    ntk_system_trace_close(*state);
    return 0;
}

static const struct {
    const char *type;
    uint64_t count, duration_ns, bytes;
} totals[] = {
    { "dmem_buf_copyin", 398, 3427248, 2811224 },
    { "nrt_dma_mem_alloc", 395, 1081254, 3044208 },
    { "nrt_tensor_allocate", 9, 52321, 4128 },
    { "nrt_tensor_write", 8, 59805, 32 },
    { "nrt_dma_mem_dealloc", 5, 13139, 12336 },
    { "nrt_load", 4, 50269805, 0 },
    { "nrt_tensor_free", 2, 4711, 8192 },
    { "nc_exec_running", 2, 997353, 0 },
    { "nc_model_switch", 2, 16048, 0 },
    { "exec_consume_gpsimd_stdio", 2, 1332, 0 },
    { "notification_consume_errors", 2, 1894, 0 },
    { "timestamp_sync_point", 2, 0, 0 },
    { "nrt_execute", 1, 1240135, 0 },
    { "nrt_model_submit", 1, 166404, 0 },
    { "kmgr_exec_core", 1, 1129034, 0 },
    { "kbl_exec_pre", 1, 69349, 0 },
    { "kbl_exec_wait", 1, 1014957, 0 },
    { "kbl_exec_post", 1, 25566, 0 },
    { "nrt_tensor_read", 1, 14763, 4096 },
    { "dmem_buf_copyout", 1, 13137, 4096 },
};

static void every_event_type_has_the_expected_totals(void **state)
{
    const struct ntk_system_trace *trace = *state;
    uint64_t of_core[4] = { 0 };

    assert_int_equal(trace->span_count, 839);
    assert_int_equal(trace->partial_count + trace->lost + trace->notes.count, 0);
    assert_int_equal(trace->warnings.count, 0);
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++) {
        uint64_t count = 0;
        uint64_t duration_ns = 0;
        uint64_t bytes = 0;

        for (size_t i = 0; i < trace->span_count; i++) {
            const struct ntk_system_span *span = &trace->spans[i];

            if (strcmp(span->type, totals[t].type) == 0) {
                count++;
                duration_ns += span->end_ns - span->start_ns;
                bytes += span->bytes;
            }
        }
        if (count != totals[t].count || duration_ns != totals[t].duration_ns ||
            bytes != totals[t].bytes) {
            fail_msg("%s: %llu rows, %llu ns, %llu B", totals[t].type, (unsigned long long)count,
                     (unsigned long long)duration_ns, (unsigned long long)bytes);
        }
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        assert_true(trace->spans[i].nc < 4);
        of_core[trace->spans[i].nc]++;
    }
    assert_int_equal(of_core[0], 245);
    for (size_t c = 1; c < 4; c++) {
        assert_int_equal(of_core[c], 198);
    }
}

static void device_spans_have_one_length_on_both_clocks(void **state)
{
    const struct ntk_system_trace *trace = *state;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (span->device_end_ns > span->device_start_ns) {
            assert_true(span->end_ns - span->start_ns ==
                        span->device_end_ns - span->device_start_ns);
        }
    }
}

static void device_records_use_the_device_clock(void **state)
{
    (void)state;
    assert_int_equal(vendor_clock_rule_check(folder), 8);
}

static void sync_points_belong_to_the_cores_of_their_execution(void **state)
{
    const struct ntk_system_trace *trace = *state;
    uint32_t core = 4;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (strcmp(span->type, "timestamp_sync_point") == 0) {
            assert_int_equal(span->device_core, core++);
        }
    }
    assert_int_equal(core, 6);
}

static void every_device_memory_record_is_in_one_account(void **state)
{
    const struct ntk_system_trace *trace = *state;
    const struct ntk_system_memory *memories = trace->memories.items;
    uint64_t of_host = 0;
    uint64_t with_remark = 0;

    assert_int_equal(trace->memories.count, 400);
    assert_int_equal(trace->accounts.count, 8);
    for (size_t i = 0; i < trace->memories.count; i++) {
        of_host += memories[i].is_host;
        with_remark += memories[i].code == 2;
        assert_true(memories[i].is_host == (memories[i].account == NTK_SYSTEM_NO_ACCOUNT));
        assert_false(ntk_system_memory_failed(&memories[i]));
    }
    assert_int_equal(of_host, 2);
    assert_int_equal(with_remark, 8);
    ntk_vec_each(const struct ntk_system_account, account, &trace->accounts) {
        uint64_t known = 0;

        assert_true(account->base_bytes == 1861896 ||
                    account->base_bytes == (account->nc == 0 ? 404690520U : 2031128U));
        for (size_t u = 0; u < account->usage_count; u++) {
            known += account->usages[u].bytes;
        }
        assert_int_equal(account->total_bytes - known, 1745672);
    }
}

static void allocations_are_split_by_usage(void **state)
{
    static const struct {
        const char *usage;
        bool is_host;
        uint64_t count, bytes;
    } splits[] = {
        { "dma_rings_io", false, 250, 254720 },
        { "generic", false, 43, 221216 },
        { "dma_rings_runtime", false, 24, 24576 },
        { "scalar_table", false, 16, 335872 },
        { "tensors", false, 9, 4128 },
        { "scalar_instructions", false, 8, 174080 },
        { "vector_instructions", false, 8, 139008 },
        { "tensor_instructions", false, 8, 460288 },
        { "gpsimd_instructions", false, 8, 1260544 },
        { "sync_instructions", false, 8, 38656 },
        { "weights", false, 8, 131072 },
        { "io", false, 4, 32 },
        { "generic", true, 1, 16 },
    };
    const struct ntk_system_trace *trace = *state;
    const struct ntk_system_memory *memories = trace->memories.items;
    uint64_t all = 0;

    for (size_t s = 0; s < sizeof splits / sizeof *splits; s++) {
        uint64_t count = 0;
        uint64_t bytes = 0;

        for (size_t i = 0; i < trace->memories.count; i++) {
            bool is_of = !memories[i].is_free && memories[i].is_host == splits[s].is_host &&
                         strcmp(memories[i].usage, splits[s].usage) == 0;
            count += is_of;
            bytes += is_of ? memories[i].bytes : 0;
        }
        if (count != splits[s].count || bytes != splits[s].bytes) {
            fail_msg("%s: %llu allocations, %llu B", splits[s].usage, (unsigned long long)count,
                     (unsigned long long)bytes);
        }
        all += count;
    }
    assert_int_equal(all, 395);
}

static int last_take(void *ctx, const void *data)
{
    const struct ntk_hbm_row *row = data;

    ((int64_t *)ctx)[row->hbm] = row->total_bytes;
    ((int64_t *)ctx)[4]++;
    return 0;
}

static void final_memory_values_match_the_accounts(void **state)
{
    struct ntk_system_view view = { .trace = *state };
    struct ntk_export export = { .folders = &view, .folder_count = 1 };
    int64_t last[5] = { 0 };

    assert_int_equal(ntk_rows_system_hbm(&export, last_take, last), 0);
    assert_int_equal(last[4], 398);
    assert_int_equal(last[2], 407311728);
    assert_int_equal(last[0], 4650544);
    assert_int_equal(last[1], 4650544);
    assert_int_equal(last[3], 4650544);
}

static void host_samples_match_independent_sums(void **state)
{
    const struct ntk_system_trace *trace = *state;
    uint64_t sum = 0;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    double percent = 0;
    double greatest = 0;
    static const struct {
        size_t processor;
        double mean;
    } means[] = { { 0, 0.4931 }, { 1, 0.6059 }, { 11, 0.6165 } };

    assert_int_equal(trace->memory->n_timestamp_ns, 600);
    for (size_t i = 0; i < 600; i++) {
        uint64_t used = trace->memory->used_bytes[i];

        sum += used;
        least = used < least ? used : least;
        most = used > most ? used : most;
    }
    assert_true(sum == 9024008994816 && least == 14472425472 && most == 15042867200);
    assert_true(trace->memory->total_bytes[0] == 133975228416);
    assert_int_equal(trace->cpu->n_cpus * trace->cpu->n_timestamp_ns, 7188);
    for (size_t c = 0; c < trace->cpu->n_cpus; c++) {
        for (size_t i = 0; i < trace->cpu->n_timestamp_ns; i++) {
            double value = trace->cpu->cpus[c]->percent[i];

            percent += value;
            greatest = value > greatest ? value : greatest;
        }
    }
    assert_true(fabs(percent / 7188 - 0.485670) < 1e-6);
    assert_true(fabs(greatest - 73.7374) < 1e-4);
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        double of_one = 0;

        for (size_t i = 0; i < trace->cpu->n_timestamp_ns; i++) {
            of_one += trace->cpu->cpus[means[m].processor]->percent[i];
        }
        assert_true(fabs(of_one / (double)trace->cpu->n_timestamp_ns - means[m].mean) < 1e-4);
    }
}

static void a_vendor_execution_is_split_into_its_steps(void **state)
{
    struct ntk_execution_split split;
    struct ntk_system_tables tables;

    assert_int_equal(ntk_analysis_execution_split(*state, &split), 0);
    assert_int_equal(split.count, 1);
    const struct ntk_split_execution *one = &split.items[0];
    assert_int_equal(one->exec_id, 1);
    assert_int_equal(one->nc, 0);
    assert_true(one->model_id == 171450338541704);
    assert_string_equal(one->model, "model.MODULE_297095076442530781+fad94d7c.neff");
    assert_int_equal(one->submit_ns, 69349);
    assert_int_equal(one->queue_ns, 72894);
    assert_int_equal(one->queue_busy_ns, 0);
    assert_int_equal(one->switch_ns, 9025);
    assert_int_equal(one->device_ns, 982590);
    assert_int_equal(one->notify_ns, 42915);
    assert_int_equal(one->post_ns, 25566);
    assert_int_equal(one->total_ns, 1202942);
    assert_int_equal(one->host_ns, 211327);
    assert_string_equal(one->bound, "device");
    ntk_execution_split_fini(&split);

    assert_int_equal(ntk_analysis_system_tables(*state, &tables), 0);
    assert_int_equal(tables.execution_count, 1);
    assert_int_equal(tables.executions[0].host_ns, 1240135);
    assert_int_equal(tables.executions[0].device_ns, 982590);
    assert_int_equal(tables.executions[0].thread_id, 713744);
    assert_false(tables.executions[0].is_partial);
    ntk_system_tables_fini(&tables);
}

static void vendor_loads_and_startup_are_split_into_steps(void **state)
{
    struct ntk_load_split split;
    struct ntk_out_of_memory memory;
    static const uint64_t durations[] = { 13579085, 12779175, 13252714, 10658831 }; /* by core */
    static const double copies_ms[] = { 0.93, 0.96, 0.74, 0.69 };

    assert_int_equal(ntk_analysis_load_split(*state, &split), 0);
    assert_int_equal(split.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct ntk_split_load *load = &split.items[i];

        assert_int_equal(load->duration_ns, durations[load->nc]);
        assert_int_equal(load->alloc_count, 95);
        assert_int_equal(load->alloc_bytes, 757512);
        assert_int_equal(load->copy_count, 94);
        assert_int_equal(load->copy_bytes, 702464);
        assert_true(fabs((double)load->copy_ns / 1e6 - copies_ms[load->nc]) < 0.006);
        assert_true(load->rest_ns > load->duration_ns * 85 / 100);
    }
    assert_int_equal(split.first_event_ns / 1000000, 2233);
    assert_int_equal(split.loads_ns, 13665139);
    assert_int_equal(split.first_device_ns, 15021379);
    assert_int_equal(split.device_ns, 984438);
    assert_int_equal(split.events_ns, 16426871);
    ntk_load_split_fini(&split);
    assert_int_equal(ntk_analysis_out_of_memory(*state, &memory), 0);
    assert_false(memory.is_there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(every_event_type_has_the_expected_totals),
        TEST(device_spans_have_one_length_on_both_clocks),
        TEST(device_records_use_the_device_clock),
        TEST(sync_points_belong_to_the_cores_of_their_execution),
        TEST(every_device_memory_record_is_in_one_account),
        TEST(allocations_are_split_by_usage),
        TEST(final_memory_values_match_the_accounts),
        TEST(host_samples_match_independent_sums),
        TEST(a_vendor_execution_is_split_into_its_steps),
        TEST(vendor_loads_and_startup_are_split_into_steps),
#undef TEST
    };
    const char *captures = getenv("NTK_VENDOR_CAPTURES");

    (void)snprintf(folder, sizeof folder, "%s/inspect_trn2_rt230", captures ? captures : "");
    if (!captures || access(folder, R_OK) != 0) {
        printf("NTK_VENDOR_CAPTURES is not set: skipped\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
