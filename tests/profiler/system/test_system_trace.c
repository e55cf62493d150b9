/* SPDX-License-Identifier: MIT */
/*
 * From the events of a folder to spans and tables. Method: a trace with chosen times, written to a
 * file and read back.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/answers/output_system.h"
#include "profiler/system/session_find.h"
#include "tests/support/ntff_big.h" /* NTFF_BIG_HAS_SHADOWS */
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

enum type {
    EXECUTE,
    PRE,
    DISPATCH,
    WAIT,
    POST,
    RUNNING,
    SYNC,
    WRITE,
    COPY,
    TYPES,
};

static char *types[TYPES] = { "nrt_execute",          "kbl_exec_pre",     "kmgr_exec_core",
                              "kbl_exec_wait",        "kbl_exec_post",    "nc_exec_running",
                              "timestamp_sync_point", "nrt_tensor_write", "dmem_buf_copyin" };
static char *names[] = { "model", "weights" };

#define EVENTS_MAX 64U

struct made {
    char *folder, *path;
    NtkNtracePb__Trace file;
    NtkNtracePb__Core core;
    NtkNtracePb__Core *list[1];
    uint64_t tracking_id[EVENTS_MAX], timestamp_ns[EVENTS_MAX], exec_id[EVENTS_MAX],
        nc_timestamp_ns[EVENTS_MAX], size[EVENTS_MAX];
    uint32_t model_id[EVENTS_MAX], name[EVENTS_MAX], thread_id[EVENTS_MAX], device_core[EVENTS_MAX],
        hbm_idx[EVENTS_MAX], event_type[EVENTS_MAX], phase[EVENTS_MAX];
    size_t count;
};

struct event {
    enum type type;
    uint32_t phase; /* 0 start, 1 stop, 2 instant */
    uint64_t tracking_id, time_ns, exec_id, device_ns;
    uint32_t thread, device_core;
    uint64_t bytes;
};

static void add(struct made *made, struct event event)
{
    size_t i = made->count++;

    assert_true(i < EVENTS_MAX);
    made->tracking_id[i] = event.tracking_id;
    made->timestamp_ns[i] = event.time_ns;
    made->exec_id[i] = event.exec_id;
    made->nc_timestamp_ns[i] = event.device_ns;
    made->size[i] = event.bytes;
    made->model_id[i] = event.exec_id ? 10001 : 0;
    made->name[i] = event.exec_id ? 1 : 2;
    made->thread_id[i] = event.thread;
    made->device_core[i] = event.device_core;
    made->event_type[i] = event.type;
    made->phase[i] = event.phase;
}

static int setup(void **state)
{
    struct made *made = calloc(1, sizeof *made);

    made->folder = test_scratch_create();
    made->path = test_scratch_path(made->folder, "ntrace.pb");
    *state = made;
    return 0;
}

static int teardown(void **state)
{
    struct made *made = *state;

    test_scratch_destroy(made->folder);
    free(made->path);
    free(made);
    return 0;
}

static struct ntk_system_trace *finish(struct made *made, uint64_t lost)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    made->file = (NtkNtracePb__Trace)NTK_NTRACE_PB__TRACE__INIT;
    made->core = (NtkNtracePb__Core)NTK_NTRACE_PB__CORE__INIT;
    made->list[0] = &made->core;
    made->file.version = NTK_NTRACE_VERSION;
    made->file.event_types = types;
    made->file.n_event_types = TYPES;
    made->file.names = names;
    made->file.n_names = 2;
    made->file.cores = made->list;
    made->file.n_cores = 1;
    made->core.nc_idx = 3;
    made->core.worker_gid = 7;
    made->core.lost = lost;
#define COLUMN(column, values)        \
    made->core.column = made->values; \
    made->core.n_##column = made->count
    COLUMN(tracking_id, tracking_id);
    COLUMN(timestamp_ns, timestamp_ns);
    COLUMN(exec_id, exec_id);
    COLUMN(nc_timestamp_ns, nc_timestamp_ns);
    COLUMN(size, size);
    COLUMN(model_id, model_id);
    COLUMN(name, name);
    COLUMN(thread_id, thread_id);
    COLUMN(device_core_idx, device_core);
    COLUMN(hbm_idx, hbm_idx);
    COLUMN(event_type, event_type);
    COLUMN(phase, phase);
#undef COLUMN
    assert_int_equal(ntk_ntrace_write(made->path, &made->file.base, NULL), 0);
    assert_int_equal(ntk_system_trace_open(made->folder, &trace, &err), 0);
    return trace;
}

/* Execution 5 in thread 11: the call takes from 1000 to 9000, checks take 500, waiting for the core
 * 1500, running on it 5000, and the rest 700; the device needs 4000 and 4200 on its two physical
 * cores. */
static void execution_add(struct made *made)
{
    add(made, (struct event){ EXECUTE, 0, 1, 1000, 5, 0, 11, 0, 0 });
    add(made, (struct event){ PRE, 0, 2, 1100, 5, 0, 11, 0, 0 });
    add(made, (struct event){ PRE, 1, 2, 1600, 5, 0, 11, 0, 0 });
    add(made, (struct event){ DISPATCH, 0, 3, 1600, 5, 0, 11, 0, 0 });
    add(made, (struct event){ DISPATCH, 1, 3, 3100, 5, 0, 11, 0, 0 });
    add(made, (struct event){ WAIT, 0, 4, 3100, 5, 0, 11, 0, 0 });
    add(made, (struct event){ SYNC, 2, 5, 3200, 5, 50000, 11, 0, 0 });
    add(made, (struct event){ RUNNING, 0, 6, 3200, 5, 50000, 11, 0, 0 });
    add(made, (struct event){ RUNNING, 0, 7, 3200, 5, 50000, 11, 1, 0 });
    add(made, (struct event){ RUNNING, 1, 6, 8000, 5, 54000, 11, 0, 0 });
    add(made, (struct event){ RUNNING, 1, 7, 8000, 5, 54200, 11, 1, 0 });
    add(made, (struct event){ WAIT, 1, 4, 8100, 5, 0, 11, 0, 0 });
    add(made, (struct event){ POST, 0, 8, 8200, 5, 0, 11, 0, 0 });
    add(made, (struct event){ POST, 1, 8, 8900, 5, 0, 11, 0, 0 });
    add(made, (struct event){ EXECUTE, 1, 1, 9000, 5, 0, 11, 0, 0 });
}

static const struct ntk_system_span *span_by_id(const struct ntk_system_trace *trace, uint64_t id)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace->spans[i].tracking_id == id) {
            return &trace->spans[i];
        }
    }
    fail_msg("no span %llu", (unsigned long long)id);
    return NULL;
}

static void start_and_stop_records_become_nested_spans(void **state)
{
    struct made *made = *state;

    execution_add(made);
    add(made,
        (struct event){ WRITE, 0, 9, 4000, 0, 0, 12, 0, 64 }); /* at the same time, elsewhere */
    add(made, (struct event){ COPY, 0, 10, 4100, 0, 0, 12, 0, 64 });
    add(made, (struct event){ COPY, 1, 10, 4500, 0, 0, 12, 0, 64 });
    add(made, (struct event){ WRITE, 1, 9, 4700, 0, 0, 12, 0, 64 });
    struct ntk_system_trace *trace = finish(made, 0);

    assert_int_equal(trace->span_count, 10);
    assert_int_equal(trace->partial_count, 0);
    const struct ntk_system_span *execute = span_by_id(trace, 1);
    assert_string_equal(execute->type, "nrt_execute");
    assert_string_equal(execute->name, "model");
    assert_int_equal(execute->end_ns - execute->start_ns, 8000);
    assert_true(execute->parent == NTK_SYSTEM_NO_PARENT);
    assert_int_equal(execute->nc, 3);
    assert_int_equal(execute->worker, 7);
    assert_ptr_equal(&trace->spans[span_by_id(trace, 4)->parent], execute);
    assert_int_equal(trace->spans[span_by_id(trace, 6)->parent].tracking_id, 4);
    assert_int_equal(trace->spans[span_by_id(trace, 5)->parent].tracking_id, 4);
    assert_int_equal(trace->spans[span_by_id(trace, 8)->parent].tracking_id, 1);
    assert_true(span_by_id(trace, 9)->parent == NTK_SYSTEM_NO_PARENT); /* another thread */
    assert_int_equal(trace->spans[span_by_id(trace, 10)->parent].tracking_id, 9);
    for (size_t i = 1; i < trace->span_count; i++) {
        assert_true(trace->spans[i - 1].start_ns <= trace->spans[i].start_ns);
    }
    ntk_system_trace_close(trace);
}

static void an_execution_is_shown_from_call_to_device(void **state)
{
    struct made *made = *state;
    struct ntk_system_tables tables;

    execution_add(made);
    struct ntk_system_trace *trace = finish(made, 0);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    assert_int_equal(tables.execution_count, 1);
    const struct ntk_system_execution *execution = &tables.executions[0];
    assert_int_equal(execution->exec_id, 5);
    assert_string_equal(execution->model, "model");
    assert_int_equal(execution->thread_id, 11);
    assert_int_equal(execution->nc, 3);
    assert_false(execution->is_partial);
    assert_int_equal(execution->start_ns, 1000);
    assert_int_equal(execution->host_ns, 8000);
    assert_int_equal(execution->check_ns, 500);
    assert_int_equal(execution->queue_ns, 1500);
    assert_int_equal(execution->wait_ns, 5000);
    assert_int_equal(execution->after_ns, 700);
    assert_int_equal(execution->device_core_count, 2);
    assert_int_equal(execution->device_ns, 4200); /* the longer of two in parallel */
    assert_int_equal(execution->device_start_ns, 50000);
    assert_int_equal(execution->sync_host_ns, 3200);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void system_trace_threads_are_summed_by_type(void **state)
{
    struct made *made = *state;
    struct ntk_system_tables tables;
    static const uint64_t durations[] = { 400, 100, 300, 200 };

    for (uint64_t i = 0; i < 4; i++) {
        add(made, (struct event){ WRITE, 0, 20 + i, 1000 * i, 0, 0, 12, 0, 8 });
        add(made, (struct event){ WRITE, 1, 20 + i, 1000 * i + durations[i], 0, 0, 12, 0, 8 });
    }
    add(made, (struct event){ WRITE, 0, 30, 9000, 0, 0, 12, 0, 8 }); /* still in progress */
    add(made, (struct event){ WRITE, 0, 31, 9000, 0, 0, 2, 0, 8 });
    add(made, (struct event){ WRITE, 1, 31, 9050, 0, 0, 2, 0, 8 });
    struct ntk_system_trace *trace = finish(made, 0);
    assert_int_equal(trace->partial_count, 1);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    assert_int_equal(tables.thread_row_count, 2);
    assert_int_equal(tables.thread_rows[0].thread_id, 2);
    const struct ntk_system_thread_row *row = &tables.thread_rows[1];
    assert_int_equal(row->thread_id, 12);
    assert_int_equal(row->count, 5);
    assert_int_equal(row->partial_count, 1);
    assert_int_equal(row->total_ns, 1000);
    assert_int_equal(row->median_ns, 200); /* of 100 200 300 400 */
    assert_int_equal(row->max_ns, 400);
    assert_false(row->is_hardware);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void incomplete_spans_of_an_overwritten_ring_are_marked(void **state)
{
    struct made *made = *state;
    struct ntk_system_tables tables;

    add(made, (struct event){ WAIT, 1, 4, 8100, 5, 0, 11, 0, 0 }); /* its start was overwritten */
    add(made, (struct event){ EXECUTE, 1, 1, 9000, 5, 0, 11, 0, 0 });
    add(made, (struct event){ EXECUTE, 0, 12, 9500, 6, 0, 11, 0, 0 }); /* still running */
    struct ntk_system_trace *trace = finish(made, 77);
    assert_int_equal(trace->lost, 77);
    assert_int_equal(trace->partial_count, 3);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    assert_int_equal(tables.execution_count, 2);
    assert_true(tables.executions[0].is_partial);
    assert_true(tables.executions[1].is_partial);
    assert_int_equal(tables.executions[0].host_ns, 0);
    assert_int_equal(tables.executions[0].wait_ns, 0);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void start_and_end_of_a_span_may_be_in_any_order_in_the_file(void **state)
{
    struct made *made = *state;

    add(made, (struct event){ EXECUTE, 1, 1, 9000, 5, 0, 11, 0, 0 }); /* in another core's ring */
    add(made, (struct event){ EXECUTE, 0, 1, 8000, 0, 0, 11, 0, 0 });
    add(made, (struct event){ WRITE, 0, 2, 8100, 0, 0, 12, 0, 0 });
    add(made, (struct event){ WRITE, 0, 2, 8200, 0, 0, 12, 0, 0 }); /* the number is taken */
    add(made, (struct event){ WRITE, 1, 2, 8300, 0, 0, 12, 0, 16 });
    struct ntk_system_trace *trace = finish(made, 0);
    assert_int_equal(trace->span_count, 3);
    assert_int_equal(trace->partial_count, 1);
    assert_int_equal(trace->spans[0].start_ns, 8000);
    assert_int_equal(trace->spans[0].end_ns, 9000);
    assert_int_equal(trace->spans[0].exec_id, 5);
    assert_int_equal(trace->spans[1].end_ns, 8300);
    assert_int_equal(trace->spans[1].bytes, 16);
    assert_true(trace->spans[2].is_partial);
    ntk_system_trace_close(trace);
}

#define PIECE_EVENTS 16384U
#define MIB ((uint64_t)1 << 20)

/* Executions of 100 ns, one after another, as our runtime writes them. */
static void write_long(const struct made *made, uint32_t pieces)
{
    NtkNtracePb__Trace head = NTK_NTRACE_PB__TRACE__INIT;
    struct ntk_ntrace_event *events = calloc(PIECE_EVENTS, sizeof *events);
    struct ntk_ntrace_writer writer;

    head.version = NTK_NTRACE_VERSION;
    head.event_types = types;
    head.n_event_types = TYPES;
    head.names = names;
    head.n_names = 2;
    assert_non_null(events);
    assert_int_equal(ntk_ntrace_writer_begin(&writer, made->path, NULL), 0);
    assert_int_equal(ntk_ntrace_writer_add(&writer, &head.base, NULL), 0);
    for (uint64_t i = 0; i < (uint64_t)pieces * PIECE_EVENTS; i++) {
        events[i % PIECE_EVENTS] = (struct ntk_ntrace_event){ .tracking_id = 1 + i / 2,
                                                              .time_ns = 100 * (1 + i),
                                                              .execution_id = 1 + i / 2,
                                                              .model_id = 10001,
                                                              .name = 1,
                                                              .thread_id = 11,
                                                              .phase = i % 2 };
        if ((i + 1) % PIECE_EVENTS == 0) {
            assert_int_equal(
                ntk_ntrace_writer_add_events(&writer, 0, 0, 0, events, PIECE_EVENTS, NULL), 0);
        }
    }
    assert_int_equal(ntk_ntrace_writer_commit(&writer, NULL), 0);
    free(events);
}

static bool writes_json(const struct ntk_system_view *view)
{
    struct ntk_sink sink;

    return freopen("/dev/null", "w", stdout) && ntk_sink_open(&sink, "-", NULL) == 0 &&
           ntk_output_system_json(view, 1, &sink.buf, &sink) == 0 &&
           sink.flushed_bytes > view->trace->span_count * 100 && ntk_sink_commit(&sink, NULL) == 0;
}

static bool shows(const struct ntk_system_trace *trace)
{
    struct ntk_system_tables tables;
    struct ntk_buf text = { 0 };
    bool is_good = ntk_analysis_system_tables(trace, &tables) == 0;

    if (is_good) {
        struct ntk_system_view view = { .trace = trace, .tables = &tables };

        ntk_output_system_text(&view, 10, &text);
        is_good = ntk_buf_ok(&text) && strstr(ntk_buf_text_get(&text), "nrt_execute") &&
                  writes_json(&view);
        ntk_buf_fini(&text);
        ntk_system_tables_fini(&tables);
    }
    return is_good;
}

/* The high-water mark of a process that opens the folder and shows it. */
static uint64_t memory_of_showing(const struct made *made, uint64_t spans)
{
    struct rusage usage;
    int status = 0;

    fflush(NULL);
    malloc_trim(0); /* memory freed by earlier tests does not count */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct ntk_system_trace *trace = NULL;
        bool is_good = ntk_system_trace_open(made->folder, &trace, NULL) == 0 &&
                       trace->span_count == spans && trace->partial_count == 0 &&
                       trace->spans[spans - 1].end_ns == 200 * spans && shows(trace);
        ntk_system_trace_close(trace);
        _exit(is_good ? 0 : 1);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static void memory_use_does_not_grow_with_the_system_trace(void **state)
{
    static const uint32_t pieces[] = { 24, 72 };
    struct made *made = *state;
    uint64_t used[2];

    (void)setenv("TMPDIR", made->folder, 1);
    for (size_t i = 0; i < 2; i++) {
        write_long(made, pieces[i]);
        used[i] = memory_of_showing(made, (uint64_t)pieces[i] * PIECE_EVENTS / 2);
        print_message("%u events: %llu MiB\n", pieces[i] * PIECE_EVENTS,
                      (unsigned long long)(used[i] / MIB));
    }
    (void)unsetenv("TMPDIR");
    if (!NTFF_BIG_HAS_SHADOWS) {
        assert_true(used[1] <= used[0] + 64 * MIB);
        assert_true(used[1] <= 128 * MIB);
    }
}

static void hostile_traces_are_read_without_overflow(void **state)
{
    struct made *made = *state;
    struct ntk_system_tables tables;

    for (size_t i = 0; i < 20; i++) { /* one number for everything; time and clocks run backwards */
        add(made, (struct event){ i % 2 ? RUNNING : EXECUTE, i % 3, 1, UINT64_MAX - i, UINT64_MAX,
                                  UINT64_MAX - i, UINT32_MAX, UINT32_MAX, UINT64_MAX });
    }
    struct ntk_system_trace *trace = finish(made, UINT64_MAX);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    for (size_t i = 0; i < trace->span_count; i++) {
        assert_true(trace->spans[i].end_ns >= trace->spans[i].start_ns);
        assert_true(trace->spans[i].parent == NTK_SYSTEM_NO_PARENT || trace->spans[i].parent < i);
    }
    struct ntk_system_view view = { trace, &tables, NULL, 0 };
    struct ntk_buf text = { 0 };
    ntk_output_system_text(&view, 5, &text);
    ntk_output_system_summary_json(&view, 1, &text);
    assert_int_equal(ntk_output_system_json(&view, 1, &text, NULL), 0);
    assert_true(ntk_buf_ok(&text));
    ntk_buf_fini(&text);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void a_truncated_trace_is_shown_with_a_warning(void **state)
{
    struct made *made = *state;
    struct ntk_system_trace *trace = NULL;

    execution_add(made);
    ntk_system_trace_close(finish(made, 0));
    assert_int_equal(truncate(made->path, 40), 0);
    assert_int_equal(ntk_system_trace_open(made->folder, &trace, NULL), 0);
    assert_int_equal(trace->warnings.count, 1);
    assert_non_null(strstr(*(char **)ntk_vec_at(&trace->warnings, 0), "ntrace.pb is truncated"));
    assert_int_equal(trace->span_count, 0);
    ntk_system_trace_close(trace);
}

static void a_folder_without_an_inspection_is_rejected(void **state)
{
    struct made *made = *state;
    struct ntk_vec paths;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_session_find(made->folder, &paths, &err), -ENOENT);
    assert_non_null(strstr(err.text, "not an inspection folder"));
    assert_int_equal(ntk_session_find("/nonexistent", &paths, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(start_and_stop_records_become_nested_spans),
        TEST(an_execution_is_shown_from_call_to_device),
        TEST(system_trace_threads_are_summed_by_type),
        TEST(incomplete_spans_of_an_overwritten_ring_are_marked),
        TEST(start_and_end_of_a_span_may_be_in_any_order_in_the_file),
        TEST(memory_use_does_not_grow_with_the_system_trace),
        TEST(hostile_traces_are_read_without_overflow),
        TEST(a_truncated_trace_is_shown_with_a_warning),
        TEST(a_folder_without_an_inspection_is_rejected),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
