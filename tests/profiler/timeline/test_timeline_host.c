/* SPDX-License-Identifier: MIT */
/* Method: hand-made spans and samples of a process, with known times. */
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_tile.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ZERO_NS UINT64_C(1766072157000000000)
#define NS 1000
#define NO_PARENT NTK_SYSTEM_NO_PARENT

/* Thread 7 executes 100-500 and waits in it 150-450, meanwhile its core runs 200-400; thread 8
 * writes a tensor at -50 to -10; 4 MiB are allocated at 120 and freed at 480; one span is decades
 * away. */
static struct ntk_system_span spans[] = {
    { .type = "nrt_tensor_write",
      .name = "x",
      .start_ns = ZERO_NS - 50,
      .end_ns = ZERO_NS - 10,
      .thread_id = 8,
      .bytes = 4096,
      .parent = NO_PARENT },
    { .type = "nrt_execute",
      .name = "model",
      .start_ns = ZERO_NS + 100,
      .end_ns = ZERO_NS + 500,
      .thread_id = 7,
      .exec_id = 3,
      .model_id = 10001,
      .parent = NO_PARENT },
    { .type = "nrt_dma_mem_alloc",
      .name = "tensor",
      .start_ns = ZERO_NS + 120,
      .end_ns = ZERO_NS + 120,
      .is_instant = true,
      .thread_id = 7,
      .bytes = 4194304,
      .parent = 1 },
    { .type = "kbl_exec_wait",
      .name = "model",
      .start_ns = ZERO_NS + 150,
      .end_ns = ZERO_NS + 450,
      .thread_id = 7,
      .parent = 1 },
    { .type = "nc_exec_running",
      .name = "model",
      .start_ns = ZERO_NS + 200,
      .end_ns = ZERO_NS + 400,
      .thread_id = 7,
      .device_start_ns = 1000,
      .device_end_ns = 1150,
      .parent = 3 },
    { .type = "nrt_dma_mem_dealloc",
      .name = "tensor",
      .start_ns = ZERO_NS + 480,
      .end_ns = ZERO_NS + 480,
      .is_instant = true,
      .thread_id = 7,
      .bytes = 4194304,
      .parent = 1 },
    { .type = "nrt_execute",
      .name = "",
      .start_ns = 5,
      .end_ns = 6,
      .thread_id = 9,
      .parent = NO_PARENT },
};

static uint64_t sample_ns[] = { ZERO_NS, ZERO_NS + 300,
                                ZERO_NS + 250 }; /* the last: a clock set back */
static uint64_t process_bytes[] = { 1 << 20, 3 << 20, UINT64_C(1) << 50 };
static double percent[2][3] = { { 0, 100, 50 }, { 50, 50, 50 } };
static NtkNtracePb__Cpu cpus[2];
static NtkNtracePb__Cpu *cpu_list[] = { &cpus[0], &cpus[1] };
static NtkNtracePb__HostSamples memory, cpu;

static struct ntk_timeline *make(struct ntk_system_trace *trace)
{
    struct ntk_timeline *timeline = NULL;
    struct ntk_timeline_host host = { .trace = trace, .name = "Process 41", .zero_ns = ZERO_NS };

    ntk_ntrace_pb__host_samples__init(&memory);
    ntk_ntrace_pb__host_samples__init(&cpu);
    for (size_t c = 0; c < 2; c++) {
        ntk_ntrace_pb__cpu__init(&cpus[c]);
        cpus[c].percent = percent[c];
        cpus[c].n_percent = 3;
    }
    memory.n_timestamp_ns = memory.n_process_bytes = cpu.n_timestamp_ns = 3;
    memory.timestamp_ns = cpu.timestamp_ns = sample_ns;
    memory.process_bytes = process_bytes;
    cpu.cpus = cpu_list;
    cpu.n_cpus = 2;
    *trace = (struct ntk_system_trace){
        .spans = spans, .span_count = sizeof spans / sizeof *spans, .memory = &memory, .cpu = &cpu
    };
    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .hosts = &host, .host_count = 1 },
                            &timeline, NULL),
        0);
    return timeline;
}

static const struct ntk_timeline_track *named(const struct ntk_timeline *timeline, const char *name)
{
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        if (strcmp(ntk_timeline_track_get(timeline, t)->name, name) == 0) {
            return ntk_timeline_track_get(timeline, t);
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void threads_and_cores_are_rows_with_nested_spans(void **state)
{
    struct ntk_system_trace trace;
    struct ntk_timeline *timeline = make(&trace);
    const struct ntk_timeline_track *thread = named(timeline, "Thread 7");
    const struct ntk_timeline_track *core = named(timeline, "NC 0 on the device");

    assert_int_equal(timeline->begin_ps, -50 * NS);
    assert_int_equal(timeline->end_ps, 500 * NS);
    assert_int_equal(thread->slice_count, 4);
    assert_int_equal(thread->lane_count, 2);
    assert_int_equal(thread->slices[0].start_ps, 100 * NS);
    assert_int_equal(thread->slices[0].lane, 0);
    assert_int_equal(thread->slices[2].lane, 1);
    /* The core's span is inside two of the thread, and the only one of its row. */
    assert_int_equal(core->slice_count, 1);
    assert_int_equal(core->lane_count, 1);
    assert_int_equal(core->slices[0].end_ps, 400 * NS);
    assert_int_equal(named(timeline, "Thread 8")->slices[0].start_ps, -50 * NS);
    assert_int_equal(named(timeline, "Thread 9")->slice_count, 0); /* half a century away */
    ntk_timeline_destroy(timeline);
}

static void the_device_memory_row_follows_allocations(void **state)
{
    struct ntk_system_trace trace;
    struct ntk_timeline *timeline = make(&trace);
    const struct ntk_timeline_track *track = named(timeline, "Device memory");

    assert_int_equal(track->slice_count, 2);
    assert_int_equal(track->slices[0].start_ps, 120 * NS);
    assert_int_equal(track->slices[0].end_ps, 480 * NS);
    assert_int_equal(ntk_timeline_slice_value(track, &track->slices[0]), 4096); /* KiB */
    assert_int_equal(ntk_timeline_slice_value(track, &track->slices[1]), 0);
    assert_true(track->value_max == 4096.0);
    ntk_timeline_destroy(timeline);
}

static void host_sample_values_apply_until_the_next_sample(void **state)
{
    struct ntk_system_trace trace;
    struct ntk_timeline *timeline = make(&trace);
    const struct ntk_timeline_track *process = named(timeline, "Memory of the process");
    const struct ntk_timeline_track *load = named(timeline, "Processor load");

    assert_int_equal(process->slice_count, 3);
    assert_int_equal(ntk_timeline_slice_value(process, &process->slices[1]), 3072);
    assert_int_equal(process->slices[0].end_ps, 300 * NS);
    assert_int_equal(process->slices[2].start_ps, 300 * NS);
    assert_int_equal(ntk_timeline_slice_value(process, &process->slices[2]), UINT32_MAX);
    assert_int_equal(ntk_timeline_slice_value(load, &load->slices[0]), 25);
    assert_int_equal(ntk_timeline_slice_value(load, &load->slices[1]), 75);
    ntk_timeline_destroy(timeline);
}

static void a_host_span_is_reported_with_all_fields(void **state)
{
    struct ntk_system_trace trace;
    struct ntk_timeline *timeline = make(&trace);
    struct ntk_buf out = { 0 };

    for (size_t t = 0; t < timeline->tracks.count; t++) {
        if (ntk_timeline_track_get(timeline, t)->slice_count > 0) {
            assert_int_equal(ntk_timeline_put_slice(timeline, t, 0, &out, NULL), 0);
        }
    }
    const char *text = ntk_buf_text_get(&out);
    assert_non_null(strstr(text, "\"name\":\"nrt_execute\""));
    assert_non_null(strstr(text, "{\"name\":\"Model\",\"unit\":\"number\",\"value\":10001}"));
    assert_non_null(strstr(text, "{\"name\":\"On the device\",\"unit\":\"ps\",\"value\":150000}"));
    assert_non_null(strstr(text, "{\"name\":\"Bytes\",\"unit\":\"bytes\",\"value\":4194304}"));
    ntk_buf_reset(&out);
    ntk_timeline_put_meta(timeline, "host", &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "\"sources\":[]"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "\"unit\":\"KiB\""));
    ntk_buf_reset(&out);
    assert_int_equal(ntk_timeline_put_stats(timeline, 0, 600 * NS, &out), 0);
    assert_non_null(strstr(ntk_buf_text_get(&out), "\"count\":4"));
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
}

/* Three hours in ps do not fit the 53 bits of a double: the end and the moment after it become the
 * same number. */
static void the_end_of_a_long_run_is_in_the_last_bucket(void **state)
{
    const uint64_t long_ns = UINT64_C(3) * 3600 * 1000000000;
    struct ntk_system_span far[] = {
        { .type = "nrt_execute", .name = "", .start_ns = ZERO_NS, .end_ns = ZERO_NS + 10 },
        { .type = "nrt_execute",
          .name = "",
          .start_ns = ZERO_NS + long_ns,
          .end_ns = ZERO_NS + long_ns,
          .is_instant = true },
    };
    const bool is_wanted[] = { true };
    struct ntk_timeline *timeline = NULL;
    struct ntk_buf out = { 0 };

    far[0].parent = far[1].parent = NO_PARENT;
    struct ntk_system_trace trace = { .spans = far, .span_count = 2 };
    struct ntk_timeline_host host = { .trace = &trace, .name = "Process", .zero_ns = ZERO_NS };
    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .hosts = &host, .host_count = 1 },
                            &timeline, NULL),
        0);
    assert_int_equal(timeline->whats.count, 1);
    assert_int_equal(ntk_timeline_put_hits(timeline,
                                           &(struct ntk_timeline_wanted){ .whats = is_wanted }, 0,
                                           false, &out),
                     0);
    assert_non_null(strstr(ntk_buf_text_get(&out), ",1],\"total\":2,"));
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
}

/* Each span is inside the previous one, every other one on a core. A walk from each to the
 * outermost would be about 25,000,000,000 steps, and take minutes. */
static void deeply_nested_spans_are_placed_in_linear_time(void **state)
{
    enum { SPANS = 400000, CORES = 2000 };
    struct ntk_system_span *deep = calloc(SPANS, sizeof *deep);
    struct ntk_system_trace trace = { .spans = deep, .span_count = SPANS };
    struct ntk_timeline_host host = { .trace = &trace, .name = "Deep", .zero_ns = ZERO_NS };
    struct ntk_timeline *timeline = NULL;

    assert_non_null(deep);
    for (uint32_t i = 0; i < SPANS; i++) {
        deep[i] = (struct ntk_system_span){ .type = i < 40 ? "nrt_execute" : "nc_exec_running",
                                            .name = "",
                                            .start_ns = ZERO_NS + i,
                                            .end_ns = ZERO_NS + 2 * SPANS - i,
                                            .thread_id = 7,
                                            .nc = i % CORES,
                                            .parent = i ? i - 1 : NO_PARENT };
    }
    deep[20].parent = 18; /* a sibling of 19, which contains nothing */
    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .hosts = &host, .host_count = 1 },
                            &timeline, NULL),
        0);
    const struct ntk_timeline_track *thread = named(timeline, "Thread 7");
    assert_int_equal(thread->slice_count, 40);
    assert_int_equal(thread->slices[19].lane, 19);
    assert_int_equal(thread->slices[20].lane, 19);
    assert_int_equal(thread->slices[21].lane, 20);
    assert_int_equal(thread->slices[39].lane, NTK_TIMELINE_LANES_MAX - 1);
    const struct ntk_timeline_track *core = named(timeline, "NC 77 on the device");
    assert_int_equal(core->slice_count, SPANS / CORES);
    assert_int_equal(core->slices[0].lane, 0);
    assert_int_equal(core->slices[5].lane, 5);
    assert_int_equal(core->slices[100].lane, NTK_TIMELINE_LANES_MAX - 1);
    ntk_timeline_destroy(timeline);
    free(deep);
}

static void a_single_file_page_has_host_rows(void **state)
{
    struct ntk_timeline_html_extent extent = { 0 };
    struct ntk_system_trace trace;
    struct ntk_timeline *timeline = make(&trace);
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "page.html");

    assert_int_equal(
        ntk_timeline_html_write(timeline,
                                &(struct ntk_timeline_html_options){ .title = "run", .path = path },
                                &extent, NULL),
        0);
    free(path);
    test_scratch_destroy(folder);
    ntk_timeline_destroy(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_cores_are_rows_with_nested_spans),
        cmocka_unit_test(the_device_memory_row_follows_allocations),
        cmocka_unit_test(host_sample_values_apply_until_the_next_sample),
        cmocka_unit_test(deeply_nested_spans_are_placed_in_linear_time),
        cmocka_unit_test(a_host_span_is_reported_with_all_fields),
        cmocka_unit_test(a_single_file_page_has_host_rows),
        cmocka_unit_test(the_end_of_a_long_run_is_in_the_last_bucket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
