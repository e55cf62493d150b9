/* SPDX-License-Identifier: MIT */
/*
 * How executions, loads and failed allocations are split. Method: a hand-made folder of the vendor
 * with chosen times and totals.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/memory_use.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/analysis/system_tables.h"
#include "profiler/output/answers/system_analyses.h"
#include "tests/profiler/vendor_fixture.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
    *state = fixture_create(3);
    return 0;
}

static struct ntk_system_trace *open_it(struct fixture *f)
{
    struct ntk_system_trace *trace = NULL;

    vendor_folder_write(&f->folder, f->path);
    assert_int_equal(ntk_system_trace_open(f->path, &trace, NULL), 0);
    return trace;
}

#define NC "nc_idx=0 worker_gid=0"

static size_t analysis_find(const char *name)
{
    size_t i = 0;

    while (strcmp(ntk_system_analyses_info(i)->name, name) != 0) {
        i++;
        assert_true(i < ntk_system_analyses_count());
    }
    return i;
}

static void span(struct fixture *f, const char *type, uint64_t start_ns, uint64_t end_ns,
                 const char *start_pairs)
{
    vendor_folder_span(&f->folder, type, 5, start_ns, end_ns, start_pairs, NC);
}

static void traces_put(const struct ntk_system_trace *const *traces, size_t count, const char *name,
                       struct ntk_buf *text)
{
    const struct ntk_system_asked asked = { .traces = traces, .trace_count = count };

    for (size_t i = 0; i < ntk_system_analyses_count(); i++) {
        if (strcmp(ntk_system_analyses_info(i)->name, name) == 0) {
            assert_int_equal(ntk_system_analyses_put(&asked, i, text, NULL), 0);
        }
    }
}

static void text_put(const struct ntk_system_trace *trace, const char *name, struct ntk_buf *text)
{
    traces_put(&trace, 1, name, text);
}

static void an_execution_is_split_at_its_recorded_events(void **state)
{
    struct fixture *f = *state;
    struct ntk_execution_split split;

    /* Execution 0 occupies the core while 7 waits for it. */
    span(f, "kbl_exec_pre", 1000, 1100, NC " exec_id=0 model_id=77");
    span(f, "nc_exec_running", 1200, 2500, NC " exec_id=0 device_core_idx=4");
    span(f, "kbl_exec_post", 2600, 2650, NC " exec_id=0 model_id=77");
    span(f, "kbl_exec_pre", 1300, 1400, NC " exec_id=7 model_id=77");
    span(f, "nc_model_switch", 2600, 2610, NC " exec_id=7 model_id=77 device_core_idx=4");
    span(f, "nc_model_switch", 2605, 2635, NC " exec_id=7 model_id=77 device_core_idx=5");
    span(f, "nc_exec_running", 2640, 2700, NC " exec_id=7 device_core_idx=4");
    span(f, "nc_exec_running", 2645, 2800, NC " exec_id=7 device_core_idx=5");
    span(f, "kbl_exec_wait", 1500, 2850, NC " exec_id=7 model_id=77");
    span(f, "kbl_exec_post", 2860, 2900, NC " exec_id=7 model_id=77");
    span(f, "kbl_exec_pre", 3000, 3100, NC " exec_id=9 model_id=77"); /* and no more of it */
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_execution_split(trace, &split), 0);
    assert_int_equal(split.count, 3);
    assert_int_equal(split.items[0].exec_id, 0);
    assert_string_equal(split.items[0].bound, "device");
    assert_true(split.items[0].switch_ns == NTK_SPLIT_ABSENT);
    assert_int_equal(split.items[0].queue_ns, 100); /* until it runs: no switch took place */
    const struct ntk_split_execution *seven = &split.items[1];
    assert_int_equal(seven->exec_id, 7);
    assert_int_equal(seven->submit_ns, 100);
    assert_int_equal(seven->queue_ns, 1200);
    assert_int_equal(seven->queue_busy_ns, 1100);
    assert_int_equal(seven->switch_ns, 30);
    assert_int_equal(seven->device_ns, 155);
    assert_int_equal(seven->notify_ns, 50);
    assert_int_equal(seven->post_ns, 40);
    assert_int_equal(seven->total_ns, 1600);
    assert_int_equal(seven->host_ns, 1600 - 155 - 30 - 1100);
    assert_string_equal(seven->bound, "queue");
    assert_false(seven->is_partial);
    assert_true(split.items[2].is_partial);
    assert_null(split.items[2].bound);
    assert_true(split.items[2].total_ns == NTK_SPLIT_ABSENT);
    ntk_execution_split_fini(&split);
    ntk_system_trace_close(trace);
}

/* A software core: it executes for 31 ns of its clock, and the host, which computes them, notices
 * the end 32,769 ns later. The next execution waits meanwhile. */
static void the_end_of_a_run_is_measured_with_the_core_clock(void **state)
{
    struct fixture *f = *state;
    struct ntk_execution_split split;
    struct ntk_load_split load;

    span(f, "kbl_exec_pre", 1000, 1100, NC " exec_id=1 model_id=77");
    vendor_folder_span(&f->folder, "nc_exec_running", 5, 1200, 34000,
                       NC " exec_id=1 device_core_idx=4 nc_timestamp_ns=50",
                       NC " nc_timestamp_ns=81");
    span(f, "kbl_exec_wait", 1150, 34009, NC " exec_id=1 model_id=77");
    span(f, "kbl_exec_post", 34009, 34020, NC " exec_id=1 model_id=77");
    span(f, "kbl_exec_pre", 1110, 1120, NC " exec_id=2 model_id=77");
    span(f, "nc_exec_running", 34100, 34200, NC " exec_id=2 device_core_idx=4");
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_execution_split(trace, &split), 0);
    assert_int_equal(split.count, 2);
    const struct ntk_split_execution *one = &split.items[0];
    assert_int_equal(one->queue_ns, 100);
    assert_int_equal(one->device_ns, 31);
    assert_int_equal(one->notify_ns, 34009 - 1231);
    assert_int_equal(one->total_ns, one->submit_ns + one->queue_ns + one->device_ns +
                                        one->notify_ns + one->post_ns);
    assert_int_equal(split.items[1].queue_busy_ns, 31);
    ntk_execution_split_fini(&split);
    assert_int_equal(ntk_analysis_load_split(trace, &load), 0);
    assert_int_equal(load.device_ns, 31 + 100);
    ntk_load_split_fini(&load);
    ntk_system_trace_close(trace);
}

/* A core that ran and switched for 584 years each. */
static void durations_are_limited_to_the_maximum(void **state)
{
    struct fixture *f = *state;
    struct ntk_execution_split split;

    span(f, "kbl_exec_pre", 1000, 1100, NC " exec_id=1 model_id=77");
    span(f, "kbl_exec_post", 2600, 2650, NC " exec_id=1 model_id=77");
    for (int i = 0; i < 3; i++) {
        vendor_folder_span(&f->folder, i ? "nc_exec_running" : "nc_model_switch", 5, 1200, 2500,
                           NC " exec_id=1 device_core_idx=4 nc_timestamp_ns=1",
                           NC " nc_timestamp_ns=18446744073709540000");
    }
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_execution_split(trace, &split), 0);
    assert_int_equal(split.count, 1);
    assert_true(split.items[0].device_ns == INT64_MAX);
    assert_true(split.items[0].switch_ns == INT64_MAX);
    assert_int_equal(split.items[0].total_ns, 1650);
    assert_int_equal(split.items[0].host_ns, 0);
    ntk_execution_split_fini(&split);
    ntk_system_trace_close(trace);
}

static void a_load_includes_only_steps_within_it_on_its_core(void **state)
{
    struct fixture *f = *state;
    struct ntk_load_split split;

    vendor_folder_span(&f->folder, "nrt_load", 5, 2000, 9000, NC, NC " model_id=77");
    span(f, "nrt_dma_mem_alloc", 2100, 2200, NC " size=10");
    span(f, "dmem_buf_copyin", 2150, 2400, NC " size=20");
    span(f, "dmem_buf_copyin", 2300, 2500, NC " size=30");      /* overlapping: 350 of both */
    span(f, "dmem_buf_copyin", 8900, 9100, NC " size=40");      /* not inside */
    span(f, "dmem_buf_copyin", 3000, 3500, "nc_idx=1 size=50"); /* another core */
    span(f, "nc_exec_running", 9500, 9900, NC " exec_id=1 device_core_idx=4");
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_load_split(trace, &split), 0);
    assert_int_equal(split.count, 1);
    assert_string_equal(split.items[0].model, "model.neff");
    assert_int_equal(split.items[0].alloc_count, 1);
    assert_int_equal(split.items[0].alloc_ns, 100);
    assert_int_equal(split.items[0].copy_count, 2);
    assert_int_equal(split.items[0].copy_bytes, 50);
    assert_int_equal(split.items[0].copy_ns, 350);
    assert_int_equal(split.items[0].rest_ns, 7000 - 400);
    assert_int_equal(split.first_event_ns, 1000);
    assert_int_equal(split.loads_ns, 7000);
    assert_int_equal(split.first_device_ns, 7500);
    assert_int_equal(split.device_ns, 400);
    assert_int_equal(split.events_ns, 7900);
    ntk_load_split_fini(&split);

    struct ntk_buf text = { 0 };
    struct ntk_json json;
    const struct ntk_system_asked asked = { .traces =
                                                (const struct ntk_system_trace *const *)&trace,
                                            .trace_count = 1 };
    ntk_json_init(&json, &text, false);
    assert_int_equal(ntk_system_analyses_put(&asked, analysis_find("startup"), NULL, &json), 0);
    assert_non_null(strstr(ntk_buf_text_get(&text), "\"load_count\":1,"));
    assert_non_null(strstr(ntk_buf_text_get(&text),
                           "\"loads\":[{\"nc_idx\":0,\"model_id\":77,\"model_name\":\"model.neff\","
                           "\"timestamp\":2000,\"duration\":7000,\"alloc_count\":1,"));
    ntk_buf_fini(&text);

    trace->begin_ns += 500; /* as for a part */
    assert_int_equal(ntk_analysis_load_split(trace, &split), 0);
    assert_false(split.has_begin);
    ntk_load_split_fini(&split);
    ntk_system_trace_close(trace);
}

static void allocate(struct fixture *f, uint64_t at_ns, const char *usage, const char *stop)
{
    char pairs[128];

    (void)snprintf(pairs, sizeof pairs, NC " usage_type=%s hbm_idx=1 mla_idx=0 is_nc_hbm=1", usage);
    vendor_folder_span(&f->folder, "nrt_dma_mem_alloc", 5, at_ns, at_ns + 10, pairs, stop);
}

static void a_failed_allocation_shows_the_memory_contents(void **state)
{
    struct fixture *f = *state;
    struct ntk_out_of_memory memory;
    struct ntk_memory_use use;
    struct ntk_buf text = { 0 };

    vendor_folder_span(&f->folder, "nrt_load", 5, 1500, 9000, NC, NC " model_id=77");
    allocate(f, 2000, "weight",
             NC " allocated_bytes=300 total_bytes=1300 usage_type_total_bytes=700 "
                "physical_address=0x10 return_code=0");
    allocate(f, 2100, "tensor",
             NC " allocated_bytes=50 total_bytes=1350 usage_type_total_bytes=50 "
                "physical_address=0x20 return_code=2");
    vendor_folder_span(&f->folder, "nrt_dma_mem_dealloc", 5, 2200, 2210,
                       NC " usage_type=tensor hbm_idx=1 mla_idx=0 is_nc_hbm=1 "
                          "physical_address=0x20",
                       NC " freed_bytes=50 total_bytes=1300 usage_type_total_bytes=0");
    allocate(f, 3000, "tensor",
             NC " allocated_bytes=99 total_bytes=1300 usage_type_total_bytes=0 "
                "physical_address=0x0 return_code=12");
    allocate(f, 4000, "tensor",
             NC " allocated_bytes=1 total_bytes=1301 usage_type_total_bytes=1 "
                "physical_address=0x30 return_code=0"); /* after it */
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->accounts.count, 1);
    assert_int_equal(ntk_analysis_out_of_memory(trace, &memory), 0);
    assert_true(memory.is_there);
    assert_int_equal(memory.time_ns, 3010);
    assert_string_equal(memory.usage, "tensors"); /* the same name for every spelling in a file */
    assert_int_equal(memory.size, 99);
    assert_int_equal(memory.code, 12);
    assert_int_equal(memory.hbm, 1);
    assert_string_equal(memory.call, "nrt_load");
    assert_string_equal(memory.model, "model.neff");
    assert_int_equal(memory.total_bytes, 1300);
    assert_true(memory.capacity_bytes == UINT64_C(24) << 30);
    assert_true(memory.is_fragmented); /* 24 GiB exist, 1300 bytes are used */
    assert_int_equal(memory.usage_count, 3);
    assert_string_equal(memory.usages[0].usage, "weights");
    assert_int_equal(memory.usages[0].bytes, 700);
    assert_string_equal(memory.usages[1].usage, "unknown");
    assert_int_equal(memory.usages[1].bytes, 600);
    assert_int_equal(memory.usages[2].bytes, 0);
    assert_int_equal(memory.usages[2].peak_bytes, 50);
    assert_int_equal(memory.largest_count, 1);
    assert_int_equal(memory.largest[0].address, 0x10);
    assert_int_equal(memory.freed_count, 1);
    assert_int_equal(memory.freed_bytes, 50);
    assert_int_equal(memory.kept_bytes, 300);
    assert_int_equal(memory.failed_count, 1);

    assert_int_equal(ntk_analysis_memory_use(trace, &use), 0);
    assert_int_equal(use.end_bytes, 1301); /* with the earlier use, without the failed one */
    assert_int_equal(use.peak_bytes, 1350);
    ntk_memory_use_fini(&use);

    text_put(trace, "out-of-memory", &text);
    assert_non_null(strstr(ntk_buf_text_get(&text),
                           "Process 41: an allocation of 99B for tensors failed at 1.5 us on core "
                           "0, memory 0:1 (code 12, OUT_OF_MEMORY) in nrt_load model.neff\n"
                           "Memory use reached 1.3KB of "
                           "24.0GB: the rest is fragmented, or another process holds it\n"));
    text_put(trace, "startup", &text);
    assert_non_null(
        strstr(ntk_buf_text_get(&text), "to the first event, no run on a device; loads"));
    ntk_buf_fini(&text);
    ntk_system_trace_close(trace);
}

/* 23 executions in one folder, read as two processes. */
/* The file has the maximum number of names, each for a different use. */
static void memory_uses_beyond_the_limit_are_reported_as_other(void **state)
{
    struct fixture *f = *state;
    struct ntk_out_of_memory memory;
    char stop[160];
    char use[16];
    uint64_t sum = 0;
    uint64_t other = 0;

    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(use, sizeof use, "use%u", i);
        (void)snprintf(stop, sizeof stop,
                       NC " allocated_bytes=%u total_bytes=%u usage_type_total_bytes=%u "
                          "physical_address=0x%x return_code=0",
                       i + 1, (i + 1) * (i + 2) / 2, i + 1, i + 1);
        allocate(f, 2000 + 20 * i, use, stop);
    }
    allocate(f, 5000, "use3",
             NC " allocated_bytes=7 total_bytes=820 usage_type_total_bytes=4 return_code=12");
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_out_of_memory(trace, &memory), 0);
    assert_int_equal(memory.usage_count, NTK_OOM_USAGES_MAX);
    for (size_t u = 0; u < memory.usage_count; u++) {
        unsigned number = 0;

        sum += memory.usages[u].bytes;
        if (sscanf(memory.usages[u].usage, "use%u", &number) == 1) {
            assert_int_equal(memory.usages[u].bytes, number + 1);
        } else if (strcmp(memory.usages[u].usage, "other") == 0) {
            other = memory.usages[u].bytes;
        } else {
            assert_string_equal(memory.usages[u].usage, "unknown");
        }
    }
    assert_int_equal(sum, 820);
    assert_int_equal(memory.total_bytes, 820);
    assert_int_equal(other, 33 + 34 + 35 + 36 + 37 + 38 + 39 + 40);
    ntk_system_trace_close(trace);
}

static void an_allocation_failure_for_another_reason_is_not_out_of_memory(void **state)
{
    struct fixture *f = *state;
    struct ntk_out_of_memory memory;
    struct ntk_buf text = { 0 };

    allocate(f, 2000, "tensor",
             NC " allocated_bytes=9 total_bytes=100 usage_type_total_bytes=0 return_code=5");
    allocate(f, 3000, "weight",
             NC " allocated_bytes=8 total_bytes=100 usage_type_total_bytes=0 return_code=6");
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(ntk_analysis_out_of_memory(trace, &memory), 0);
    assert_int_equal(memory.code, 6);
    assert_false(memory.is_fragmented);
    text_put(trace, "out-of-memory", &text);
    assert_non_null(
        strstr(ntk_buf_text_get(&text),
               "memory 0:1 (code 6)\nNo allocation failed with code 12 (out of memory): showing "
               "the last one that failed with a different code\nMemory use reached 100B of "
               "24.0GB\n"));
    ntk_buf_fini(&text);
    ntk_system_trace_close(trace);
}

/* Places that do not fit in 16 bits are still places; invalid ones are kept as the file has
 * them. */
static void memory_locations_are_complete_or_unknown(void **state)
{
    struct fixture *f = *state;
    struct ntk_out_of_memory memory;
    struct ntk_buf text = { 0 };

    vendor_folder_span(&f->folder, "nrt_dma_mem_alloc", 5, 2000, 2010,
                       NC " usage_type=tensor hbm_idx=65537 mla_idx=65536 is_nc_hbm=1",
                       NC " allocated_bytes=5 total_bytes=5 usage_type_total_bytes=5 "
                          "physical_address=0x10 return_code=0");
    vendor_folder_span(&f->folder, "nrt_dma_mem_alloc", 5, 2100, 2110,
                       NC " usage_type=tensor hbm_idx=4294967296 mla_idx=0 is_nc_hbm=1",
                       NC " allocated_bytes=6 total_bytes=6 usage_type_total_bytes=6 "
                          "physical_address=0x20 return_code=12");
    struct ntk_system_trace *trace = open_it(f);
    const struct ntk_system_memory *memories = trace->memories.items;
    const struct ntk_system_account *account = ntk_vec_at(&trace->accounts, 0);

    assert_int_equal(trace->accounts.count, 1);
    assert_int_equal(account->hbm, 65537);
    assert_int_equal(account->device, 65536);
    assert_int_equal(memories[1].account, NTK_SYSTEM_NO_ACCOUNT);
    assert_int_equal(trace->notes.count, 1);
    const struct ntk_system_note *note = ntk_vec_at(&trace->notes, 0);
    assert_non_null(
        strstr(note->text, "1 allocations and frees are missing from the device memory totals"));
    assert_int_equal(ntk_analysis_out_of_memory(trace, &memory), 0);
    assert_int_equal(memory.hbm, NTK_SYSTEM_NO_STACK);
    text_put(trace, "out-of-memory", &text);
    assert_non_null(
        strstr(ntk_buf_text_get(&text), "on core 0, unknown memory (code 12, OUT_OF_M"));
    assert_null(strstr(ntk_buf_text_get(&text), "It held"));
    ntk_buf_fini(&text);
    ntk_system_trace_close(trace);
}

/* More executions than lists keep on the heap, each in its own thread; the last one is written
 * first. */
static void executions_of_a_long_trace_are_split_in_time_order(void **state)
{
    enum { COUNT = 70000 };
    struct ntk_system_span *spans = calloc(COUNT, sizeof *spans);
    struct ntk_system_trace trace = { .span_count = COUNT, .spans = spans, .is_vendor = true };
    struct ntk_execution_split split;
    struct ntk_system_tables tables;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        spans[i] = (struct ntk_system_span){ .type = "nc_exec_running",
                                             .name = "",
                                             .start_ns = 1000 + 10 * i,
                                             .end_ns = 1005 + 10 * i,
                                             .exec_id = COUNT - i,
                                             .thread_id = (uint32_t)i,
                                             .device_core = 4,
                                             .parent = NTK_SYSTEM_NO_PARENT };
    }
    assert_int_equal(ntk_analysis_execution_split(&trace, &split), 0);
    assert_int_equal(split.count, COUNT);
    assert_int_equal(ntk_analysis_system_tables(&trace, &tables), 0);
    assert_int_equal(tables.execution_count, COUNT);
    assert_true(split.list.is_mapped && tables.execution_list.is_mapped);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(split.items[i].exec_id, i + 1);
        assert_int_equal(split.items[i].device_ns, 5);
        assert_int_equal(tables.executions[i].exec_id, i + 1);
    }
    assert_int_equal(tables.thread_row_count, 65536);
    assert_int_equal(tables.thread_rows_omitted, COUNT - 65536);
    assert_int_equal(tables.thread_rows[1].thread_id, 1);
    assert_int_equal(tables.thread_rows[1].total_ns, 5);
    ntk_execution_split_fini(&split);
    ntk_system_tables_fini(&tables);
    free(spans);
}

static void omitted_executions_are_counted_over_all_processes(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    for (int i = 0; i < 23; i++) {
        char pairs[64];
        (void)snprintf(pairs, sizeof pairs, NC " exec_id=%d", i);
        span(f, "kbl_exec_pre", 1000, 1100, pairs);
    }
    struct ntk_system_trace *trace = open_it(f);
    const struct ntk_system_trace *const traces[] = { trace, trace };

    traces_put(traces, 2, "executions", &text);
    assert_non_null(strstr(ntk_buf_text_get(&text), "... and 6 more\n"));
    ntk_buf_fini(&text);
    ntk_system_trace_close(trace);
}

static void an_unknown_start_time_is_not_shown_as_zero(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    span(f, "nrt_load", 2000, 3000, NC);
    vendor_folder_write(&f->folder, f->path);
    char *path = test_scratch_path(f->path, "trace_info.pb");
    struct ntk_system_trace *trace = NULL;
    assert_int_equal(unlink(path), 0);
    free(path);
    assert_int_equal(ntk_system_trace_open(f->path, &trace, NULL), 0);

    text_put(trace, "startup", &text);
    assert_non_null(
        strstr(ntk_buf_text_get(&text), "Process unknown: no run on a device; loads took"));
    ntk_buf_fini(&text);
    ntk_system_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(an_execution_is_split_at_its_recorded_events),
        TEST(the_end_of_a_run_is_measured_with_the_core_clock),
        TEST(durations_are_limited_to_the_maximum),
        TEST(a_load_includes_only_steps_within_it_on_its_core),
        TEST(a_failed_allocation_shows_the_memory_contents),
        TEST(memory_uses_beyond_the_limit_are_reported_as_other),
        TEST(an_allocation_failure_for_another_reason_is_not_out_of_memory),
        TEST(memory_locations_are_complete_or_unknown),
        TEST(executions_of_a_long_trace_are_split_in_time_order),
        TEST(omitted_executions_are_counted_over_all_processes),
        TEST(an_unknown_start_time_is_not_shown_as_zero),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
