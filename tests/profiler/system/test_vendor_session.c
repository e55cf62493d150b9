/* SPDX-License-Identifier: MIT */
/*
 * From the vendor's files of an inspection to spans, accounts and samples. Method: a folder built
 * record by record, in both known versions, and every kind of damage to it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/output/answers/output_system.h"
#include "profiler/system/session_find.h"
#include "profiler/system/system_trace.h"
#include "tests/profiler/vendor_fixture.h"
#include "tests/support/unit.h"

static int setup(void **state)
{
    *state = fixture_create(2);
    return 0;
}

static struct ntk_system_trace *reopen(struct fixture *f)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_system_trace_open(f->path, &trace, &err), 0);
    return trace;
}

static struct ntk_system_trace *open_it(struct fixture *f)
{
    vendor_folder_write(&f->folder, f->path);
    return reopen(f);
}

static const struct ntk_system_span *span_of(const struct ntk_system_trace *trace, const char *type)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        if (strcmp(trace->spans[i].type, type) == 0) {
            return &trace->spans[i];
        }
    }
    fail_msg("no %s", type);
    return NULL;
}

static bool has_note(const struct ntk_system_trace *trace, const char *words)
{
    ntk_vec_each(const struct ntk_system_note, note, &trace->notes) {
        if (strstr(note->text, words)) {
            return true;
        }
    }
    return false;
}

static bool has_warning(const struct ntk_system_trace *trace, const char *words)
{
    ntk_vec_each(char *, warning, &trace->warnings) {
        if (strstr(*warning, words)) {
            return true;
        }
    }
    return false;
}

static char *json_of(const struct ntk_system_trace *trace)
{
    struct ntk_system_tables tables;
    struct ntk_buf text = { 0 };

    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    struct ntk_system_view view = { trace, &tables, NULL, 0 };
    assert_int_equal(ntk_output_system_json(&view, 1, &text, NULL), 0);
    ntk_system_tables_fini(&tables);
    assert_true(ntk_buf_ok(&text));
    return ntk_buf_take(&text, NULL);
}

#define BASE "nc_idx=1 worker_gid=9"

/* ---- valid files ---- */

static void records_become_spans_in_time_order(void **state)
{
    struct fixture *f = *state;

    for (unsigned version = 2; version <= 3; version++) {
        vendor_folder_fini(&f->folder);
        vendor_folder_init(&f->folder, version);
        /* The device's span is written after the call that collects it, with earlier times. */
        vendor_folder_span(&f->folder, "kbl_exec_wait", 12, 5000, 9000,
                           BASE " exec_id=0 model_id=77", BASE);
        vendor_folder_span(&f->folder, "nc_exec_running", 12, 3000, 8000,
                           BASE " exec_id=0 device_core_idx=4 nc_timestamp_ns=700",
                           BASE " nc_timestamp_ns=5700");
        vendor_folder_add(&f->folder,
                          &(struct vendor_moment){ "timestamp_sync_point", 3, 9100, 0, 0, 12, 0,
                                                   BASE " exec_id=0 x=0x1 y=" });
        struct ntk_system_trace *trace = open_it(f);

        assert_true(trace->is_vendor);
        assert_int_equal(trace->warnings.count + trace->notes.count, 0);
        assert_int_equal(trace->span_count, 3);
        const struct ntk_system_span *running = &trace->spans[0];
        assert_string_equal(running->type, "nc_exec_running");
        assert_int_equal(running->end_ns - running->start_ns, 5000);
        assert_int_equal(running->device_start_ns, 700);
        assert_int_equal(running->device_end_ns, 5700);
        assert_int_equal(running->device_core, 4);
        assert_int_equal(running->nc, 1);
        assert_int_equal(running->worker, 9);
        assert_int_equal(running->thread_id, 12);
        assert_true(ntk_system_span_has_exec(running)); /* execution 0 is valid */
        const struct ntk_system_span *wait = span_of(trace, "kbl_exec_wait");
        assert_int_equal(wait->model_id, 77);
        assert_string_equal(wait->name, "model.neff"); /* the last part of the path */
        assert_true(wait->parent == NTK_SYSTEM_NO_PARENT);
        assert_true(span_of(trace, "timestamp_sync_point")->is_instant);
        assert_int_equal(trace->info->process_id, 41);
        assert_int_equal(trace->info->core_count, 2);
        assert_int_equal(trace->info->lnc, 2);
        assert_int_equal(trace->begin_ns, 1000);
        assert_int_equal(trace->end_ns, 100000);
        ntk_system_trace_close(trace);
    }
}

static void every_record_key_is_kept(void **state)
{
    struct fixture *f = *state;

    vendor_folder_span(&f->folder, "dmem_buf_copyin", 5, 2000, 3000,
                       BASE " size=4 mem_handle=632292976 offset=0 colour=red id=5",
                       BASE " done=0x10");
    vendor_folder_span(&f->folder, "nrta_execute_schedule", 5, 4000, 4500,
                       BASE " model_id=77 queue=0", BASE);
    struct ntk_system_trace *trace = open_it(f);
    char *json = json_of(trace);

    assert_non_null(strstr(json, "\"size\":4"));
    assert_non_null(strstr(json, "\"mem_handle\":632292976"));
    assert_non_null(strstr(json, "\"offset\":0"));
    assert_non_null(strstr(json, "\"colour\":\"red\""));
    assert_non_null(strstr(json, "\"x_id\":5")); /* not mistaken for that of the row */
    assert_non_null(strstr(json, "\"done\":\"0x10\""));
    assert_non_null(strstr(json, "\"queue\":0"));
    assert_non_null(strstr(json, "\"model_id\":77,\"model_name\":\"model.neff\""));
    assert_null(strstr(json, "secret-host"));
    assert_null(strstr(json, "192.0.2.7"));
    free(json);
    ntk_system_trace_close(trace);
}

static void a_sequence_number_belongs_to_its_span(void **state)
{
    struct fixture *f = *state;
    uint64_t sequence = UINT64_C(1) << 48 | 3;
    uint64_t start =
        vendor_folder_add(&f->folder, &(struct vendor_moment){ "nrta_execute_schedule", 1, 2000, 0,
                                                               0, 7, 0, BASE " model_id=77" });

    vendor_folder_add(&f->folder, &(struct vendor_moment){ "nrta_execute_schedule", 2, 2500, start,
                                                           sequence, 7, 0, BASE });
    struct ntk_system_trace *trace = open_it(f);

    assert_true(span_of(trace, "nrta_execute_schedule")->sequence == sequence);
    ntk_system_trace_close(trace);
}

static void the_stop_record_of_a_span_may_precede_its_start(void **state)
{
    struct fixture *f = *state;

    vendor_folder_add(&f->folder, &(struct vendor_moment){ "nrt_execute", 2, 6000, 9, 0, 4, 0,
                                                           BASE " model_id=77" });
    vendor_folder_add(&f->folder,
                      &(struct vendor_moment){ "nrt_execute", 1, 5000, 9, 0, 3, 0, BASE " a=b" });
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->span_count, 1);
    assert_int_equal(trace->spans[0].start_ns, 5000);
    assert_int_equal(trace->spans[0].end_ns, 6000);
    assert_int_equal(trace->spans[0].thread_id, 3);
    assert_int_equal(trace->spans[0].model_id, 77);
    assert_false(trace->spans[0].is_partial);
    assert_false(trace->spans[0].is_instant);
    ntk_system_trace_close(trace);
}

/* Two physical cores per logical core: their totals alternate. */
static void allocations_belong_to_the_account_of_their_physical_core(void **state)
{
    struct fixture *f = *state;
    static const char alloc[] = "nrt_dma_mem_alloc";

    vendor_folder_span(&f->folder, alloc, 5, 2000, 2100,
                       BASE " usage_type=tensor hbm_idx=2 mla_idx=0 is_nc_hbm=1",
                       BASE " allocated_bytes=10 total_bytes=1010 usage_type_total_bytes=510 "
                            "physical_address=0x800 return_code=0");
    vendor_folder_span(&f->folder, alloc, 5, 2200, 2300,
                       BASE " usage_type=tensor hbm_idx=2 mla_idx=0 is_nc_hbm=1",
                       BASE " allocated_bytes=4 total_bytes=24 usage_type_total_bytes=4 "
                            "physical_address=0x900 return_code=2"); /* a success */
    vendor_folder_span(&f->folder, alloc, 5, 2400, 2500,
                       BASE " usage_type=weight hbm_idx=2 mla_idx=0 is_nc_hbm=1",
                       BASE " allocated_bytes=100 total_bytes=1110 usage_type_total_bytes=150 "
                            "physical_address=0xa00 return_code=0");
    vendor_folder_span(&f->folder, alloc, 5, 2600, 2700, /* of the host */
                       BASE " usage_type=generic hbm_idx=2 mla_idx=0 is_nc_hbm=0",
                       BASE " allocated_bytes=16 total_bytes=1110 usage_type_total_bytes=5 "
                            "physical_address=0xb00 return_code=0");
    vendor_folder_span(&f->folder, "nrt_dma_mem_dealloc", 5, 2800, 2900,
                       BASE " usage_type=tensor hbm_idx=2 mla_idx=0 is_nc_hbm=1 "
                            "physical_address=0x800",
                       BASE " freed_bytes=10 total_bytes=1100 usage_type_total_bytes=500");
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->memories.count, 5);
    assert_int_equal(trace->accounts.count, 2);
    const struct ntk_system_account *first = ntk_vec_at(&trace->accounts, 0);
    const struct ntk_system_account *second = ntk_vec_at(&trace->accounts, 1);
    assert_int_equal(first->base_bytes, 1000);
    assert_int_equal(first->total_bytes, 1100);
    assert_int_equal(first->usage_count, 2);
    assert_int_equal(first->usages[0].base_bytes, 500);
    assert_int_equal(first->usages[1].bytes, 150);
    assert_int_equal(second->base_bytes, 20);
    assert_int_equal(second->total_bytes, 24);
    char *json = json_of(trace);
    /* Both accounts of the memory, including earlier use: 1100 + 24; 500 + 4 of it are tensors, 150
     * are weights. */
    assert_non_null(strstr(json, "\"timestamp\":2900,\"total_bytes\":1124"));
    assert_non_null(strstr(json, "\"tensors_bytes\":504"));
    assert_non_null(strstr(json, "\"weights_bytes\":150"));
    assert_non_null(strstr(json, "\"unknown_bytes\":470,\"device_idx\":0,\"hbm_idx\":2"));
    assert_null(strstr(json, "\"timestamp\":2700,\"total_bytes\"")); /* no change */
    assert_non_null(strstr(json, "\"allocated_bytes\":4,\"total_bytes\":24,"
                                 "\"usage_type_total_bytes\":4,\"physical_address\":\"0x900\","
                                 "\"return_code\":2"));
    free(json);
    ntk_system_trace_close(trace);
}

static void host_samples_are_grouped_into_rounds(void **state)
{
    struct fixture *f = *state;

    for (uint64_t p = 0; p < 2; p++) { /* no earlier values to compare with */
        vendor_folder_cpu(&f->folder, 1000, p, 0);
    }
    vendor_folder_cpu(&f->folder, 2000, 0, 30);
    vendor_folder_cpu(&f->folder, 2000, 1, 10);
    for (uint64_t p = 0; p < 2; p++) { /* both idle: a round like any other */
        vendor_folder_cpu(&f->folder, 3000, p, 0);
    }
    vendor_folder_memory(&f->folder, 1000, 1000);
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->cpu->n_timestamp_ns, 2);
    assert_int_equal(trace->cpu->n_cpus, 2);
    assert_true(fabs(trace->cpu->cpus[0]->percent[0] - 30) < 1e-6);
    assert_int_equal(trace->memory->used_bytes[0], 1000);
    assert_int_equal(trace->memory->total_bytes[0], 4000);
    assert_int_equal(trace->memory->n_process_bytes, 0); /* not 0 bytes */
    char *json = json_of(trace);
    assert_non_null(strstr(json, "\"cpu_id\":\"average\",\"util\":20"));
    assert_non_null(strstr(json, "\"percent_usage\":25"));
    free(json);
    ntk_system_trace_close(trace);
}

/* Three points of one core, 2 us off a line in the middle; the host's clock is 2 ppm fast. */
static void sync_points_have_the_clock_difference(void **state)
{
    struct fixture *f = *state;
    static const uint64_t points[][2] = { /* device, host */
                                          { 1000000000, 5000000000 },
                                          { 2000000000, 6000005000 },
                                          { 3000000000, 7000004000 }
    };

    for (uint64_t i = 0; i < 3; i++) {
        char pairs[160];

        (void)snprintf(pairs, sizeof pairs,
                       BASE " exec_id=%llu nc_timestamp_ns=%llu cpu_timestamp_ns=%llu",
                       (unsigned long long)i, (unsigned long long)points[i][0],
                       (unsigned long long)points[i][1]);
        vendor_folder_add(&f->folder, &(struct vendor_moment){ "timestamp_sync_point", 3,
                                                               2000 + 100 * i, 0, 0, 3, 0, pairs });
        (void)snprintf(pairs, sizeof pairs, BASE " exec_id=%llu device_core_idx=6",
                       (unsigned long long)i);
        vendor_folder_span(&f->folder, "nc_exec_running", 3, 2010 + 100 * i, 2050 + 100 * i, pairs,
                           BASE);
    }
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(span_of(trace, "timestamp_sync_point")->device_core, 6);
    assert_int_equal(trace->sync_points.count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        const struct ntk_system_sync *sync = ntk_vec_at(&trace->sync_points, i);
        assert_int_equal(sync->nc, 1);
        assert_int_equal(sync->core, 6);
        assert_int_equal(sync->device_ns, points[i][0]);
        assert_int_equal(sync->host_ns, points[i][1]);
    }
    assert_true(has_note(trace,
                         "core 1 (physical core 6): 3 synchronisation points of its clock and the "
                         "host's clock are up to 2.0 us off a straight line"));
    ntk_system_trace_close(trace);
}

/* An execution on core 1, physical core 6: its point and its run. */
static void execution_at(struct fixture *f, uint64_t exec, uint64_t host_ns, uint64_t device_ns,
                         bool has_clock)
{
    char pairs[160];
    char stop[64] = BASE;

    (void)snprintf(
        pairs, sizeof pairs, BASE " exec_id=%llu nc_timestamp_ns=%llu cpu_timestamp_ns=%llu",
        (unsigned long long)exec, (unsigned long long)device_ns, (unsigned long long)host_ns);
    if (has_clock) {
        vendor_folder_add(&f->folder, &(struct vendor_moment){ "timestamp_sync_point", 3,
                                                               host_ns + 900, 0, 0, 3, 0, pairs });
        (void)snprintf(stop, sizeof stop, BASE " nc_timestamp_ns=%llu",
                       (unsigned long long)device_ns + 600);
        *strstr(pairs, " cpu_") = '\0';
    } else {
        *strstr(pairs, " nc_t") = '\0';
    }
    (void)strcat(pairs, " device_core_idx=6");
    vendor_folder_span(&f->folder, "nc_exec_running", 3, host_ns, host_ns + 600, pairs, stop);
}

static const char *reason_of(const struct ntk_system_trace *trace, uint64_t window_ns,
                             uint64_t exec_id)
{
    struct ntk_system_captured captured = {
        .nc = 1, .has_window = true, .start_ns = window_ns, .end_ns = window_ns + 700
    };
    struct ntk_system_tables tables;
    const char *reason = NULL;

    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    const struct ntk_system_execution *found =
        ntk_system_tables_captured(&tables, &captured, &reason);
    assert_true(exec_id ? found && found->exec_id == exec_id && !reason : !found && reason);
    ntk_system_tables_fini(&tables);
    return reason;
}

/* After a reset the clock restarts: a time that occurs in both lives belongs to neither. */
static void a_core_reset_starts_a_new_clock_period(void **state)
{
    struct fixture *f = *state;

    execution_at(f, 1, 10000, 0, true);
    execution_at(f, 2, 20000, 10000, true);
    execution_at(f, 3, 30000, 5000000, true);
    execution_at(f, 4, 40000, 9900, true); /* reset */
    execution_at(f, 5, 50000, 7000000, true);
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->sync_points.count, 5);
    for (uint64_t i = 0; i < 5; i++) {
        const struct ntk_system_sync *sync = ntk_vec_at(&trace->sync_points, i);
        assert_int_equal(sync->life, i >= 3);
    }
    assert_null(reason_of(trace, 0, 1));
    assert_null(reason_of(trace, 4999500, 3));
    assert_null(reason_of(trace, 7000000, 5));
    assert_string_equal(
        reason_of(trace, 9800, 0),
        "the core was reset, and several executions start at the time of the capture");
    assert_string_equal(reason_of(trace, 8000000, 0),
                        "the trace contains no execution that starts at the time of the capture");
    char *json = json_of(trace);
    assert_non_null(strstr(json, "\"nc_timestamp_ns\":0,")); /* 0 is a time like any other */
    free(json);
    ntk_system_trace_close(trace);
}

static void captures_without_a_core_clock_are_not_joined(void **state)
{
    struct fixture *f = *state;

    execution_at(f, 1, 10000, 0, false);
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->sync_points.count, 0);
    assert_string_equal(reason_of(trace, 0, 0), "the trace contains no clock times for its core");
    ntk_system_trace_close(trace);
}

/* Version 2 is in the folder of the process, version 3 a level below. */
static void folders_of_several_processes_are_found(void **state)
{
    struct fixture *f = *state;
    static const char *const levels[] = { "i-test_pid_41", "i-test_pid_42", "i-test_pid_42/1000" };
    struct ntk_vec paths;
    char *folders[3];

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    for (size_t i = 0; i < 3; i++) {
        folders[i] = test_scratch_path(f->path, levels[i]);
        assert_int_equal(mkdir(folders[i], 0755), 0);
    }
    vendor_folder_write(&f->folder, folders[0]);
    vendor_folder_write(&f->folder, folders[2]); /* the same process and time, but another source */
    for (size_t i = 0; i < 4; i++) {
        const char *from = i == 3 ? f->path : folders[i];

        assert_int_equal(ntk_session_find(from, &paths, NULL), 0);
        assert_int_equal(paths.count, i == 3 ? 2 : 1);
        ntk_vec_each(char *, path, &paths) {
            struct ntk_system_trace *trace = NULL;

            assert_int_equal(ntk_system_trace_open(*path, &trace, NULL), 0);
            assert_int_equal(trace->span_count, 1);
            ntk_system_trace_close(trace);
        }
        ntk_session_paths_fini(&paths);
    }
    for (size_t i = 0; i < 3; i++) {
        free(folders[i]);
    }
}

/* ---- invalid files ---- */

static void incomplete_and_duplicate_records_are_counted(void **state)
{
    struct fixture *f = *state;
    uint64_t start;

    vendor_folder_add(&f->folder, &(struct vendor_moment){ "nrt_load", 1, 4000, 0, 0, 3, 0, BASE });
    vendor_folder_add(&f->folder,
                      &(struct vendor_moment){ "nrt_execute", 2, 4000, 700, 0, 3, 0, BASE });
    start = vendor_folder_add(&f->folder,
                              &(struct vendor_moment){ "nrt_execute", 1, 5000, 0, 0, 3, 0, BASE });
    vendor_folder_add(&f->folder,
                      &(struct vendor_moment){ "nrt_load", 2, 6000, start, 0, 3, 0, BASE });
    vendor_folder_span(&f->folder, "nrt_tensor_read", 3, 8000, 7000, BASE " size=many size=2",
                       BASE);
    vendor_folder_span(&f->folder, "nrt_tensor_write", 3, 8000, 0, BASE " size=many", BASE);
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->span_count, 3);
    const struct ntk_system_span *load = span_of(trace, "nrt_load");
    assert_true(load->is_partial);
    assert_int_equal(load->end_ns, 100000); /* until the end of the trace */
    assert_true(has_note(trace, "1 stops without a start"));
    assert_true(has_note(trace, "1 spans with different types at start and stop"));
    assert_true(has_note(trace, "1 spans stop before they start"));
    assert_true(has_note(trace, "1 records have no time"));
    const struct ntk_system_span *read = span_of(trace, "nrt_tensor_read");
    assert_int_equal(read->end_ns, read->start_ns);
    assert_int_equal(read->bytes, 2); /* the later of two */
    assert_int_equal(span_of(trace, "nrt_tensor_write")->bytes, 0);
    char *json = json_of(trace);
    assert_non_null(strstr(json, "\"x_size\":\"many\""));
    free(json);
    ntk_system_trace_close(trace);
}

static void lost_trace_records_are_counted_per_ring(void **state)
{
    struct fixture *f = *state;

    f->folder.next[0] = 5; /* the first five were overwritten */
    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    f->folder.next[0] += 2;
    vendor_folder_span(&f->folder, "nrt_load", 3, 4000, 5000, BASE, BASE);
    vendor_folder_add(&f->folder,
                      &(struct vendor_moment){ "hw_notify", 3, 2000, 0, 0, 3, 4, BASE });
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->lost, 7);
    assert_true(has_note(trace, "ring 0 lost 7 records, 5 of them before the first one it kept"));
    assert_false(has_note(trace, "ring 4"));
    ntk_system_trace_close(trace);
}

static void a_truncated_file_is_read_up_to_its_end(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->path, "ntrace.pb");

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    size_t whole = f->folder.records.bytes_count;
    vendor_folder_span(&f->folder, "nrt_load", 3, 4000, 5000, BASE, BASE);
    size_t all = f->folder.records.bytes_count;
    for (size_t bytes = 0; bytes < all; bytes++) {
        vendor_folder_write(&f->folder, f->path);
        assert_int_equal(truncate(path, (off_t)bytes), 0);
        struct ntk_system_trace *trace = reopen(f);

        assert_true(trace->span_count <= 2);
        assert_true(bytes < whole || trace->span_count >= 1);
        if (bytes > whole && bytes < whole + 20) {
            assert_true(has_warning(trace, "ntrace.pb is truncated: "));
        }
        ntk_system_trace_close(trace);
    }
    free(path);
}

static void append(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "ab");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void an_incomplete_record_is_omitted(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->path, "ntrace.pb");
    static const uint8_t empty[] = { 0, 0, 0, 0 };
    static const uint8_t broken[] = { 3, 0, 0, 0, 0x10, 0xff, 0xff };
    static const uint8_t other_kind[] = { 7, 0, 0, 0, 0x12, 1, 'x', 0x10, 5, 0x70, 3 };
    static const uint8_t huge[] = { 0, 0, 0, 1, 0x10 };

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    vendor_folder_write(&f->folder, f->path);
    append(path, empty, sizeof empty);
    append(path, broken, sizeof broken);
    append(path, other_kind, sizeof other_kind);
    append(path, huge, sizeof huge);
    struct ntk_system_trace *trace = reopen(f);

    assert_int_equal(trace->span_count, 2);
    assert_true(has_note(trace, "1 incomplete records"));
    assert_true(has_note(trace, "1 fields of an unexpected kind"));
    assert_true(has_warning(trace, "has a record of more than 1 MiB"));
    assert_string_equal(span_of(trace, "type0")->type, "type0");
    ntk_system_trace_close(trace);
    free(path);
}

static void trace_files_may_be_missing_or_empty(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "cpu_util.pb", "host_mem.pb", "ntrace.pb" };

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE " model_id=5");
    struct ntk_system_trace *trace = open_it(f); /* it has no samples */
    assert_int_equal(trace->warnings.count, 0);
    assert_null(trace->cpu);
    assert_string_equal(trace->spans[0].name, ""); /* the table has no such model */
    ntk_system_trace_close(trace);

    char *path = test_scratch_path(f->path, "trace_info.pb");
    assert_int_equal(unlink(path), 0);
    trace = reopen(f);
    assert_true(trace->is_vendor);
    assert_null(trace->info);
    assert_int_equal(trace->span_count, 1);
    assert_string_equal(trace->spans[0].type, "type1");
    assert_int_equal(trace->end_ns, 3000);
    ntk_system_trace_close(trace);
    free(path);

    vendor_folder_write(&f->folder, f->path);
    for (size_t i = 0; i < 3; i++) {
        path = test_scratch_path(f->path, names[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    trace = reopen(f);
    assert_int_equal(trace->warnings.count, 0);
    assert_int_equal(trace->span_count, 0);
    assert_int_equal(trace->info->process_id, 41);
    ntk_system_trace_close(trace);
}

/* Records are complete; only events are missing. */
static void missing_events_are_reported(void **state)
{
    struct fixture *f = *state;
    char *info = test_scratch_path(f->path, "trace_info.pb");
    char *records = test_scratch_path(f->path, "ntrace.pb");

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE " model_id=5");
    f->folder.info.record_count = 2;
    struct ntk_system_trace *trace = open_it(f);
    assert_int_equal(trace->warnings.count + trace->notes.count, 0);
    ntk_system_trace_close(trace);

    f->folder.info.record_count = 7;
    trace = open_it(f);
    assert_int_equal(trace->warnings.count, 1);
    assert_true(has_warning(trace, "/ntrace.pb has 2 records, but trace_info.pb counts 7"));
    ntk_system_trace_close(trace);

    assert_int_equal(truncate(records, 0), 0);
    trace = reopen(f);
    assert_true(has_warning(trace, "/ntrace.pb has 0 records, but trace_info.pb counts 7"));
    ntk_system_trace_close(trace);

    assert_int_equal(unlink(info), 0);
    trace = reopen(f);
    assert_true(has_warning(
        trace,
        "/ntrace.pb is empty: the process recorded no events, or exited before it wrote them"));
    ntk_system_trace_close(trace);

    f->folder.info.record_count = 7;
    vendor_folder_write_info(&f->folder, f->path);
    assert_int_equal(unlink(records), 0);
    trace = reopen(f);
    assert_true(has_warning(trace, "/ntrace.pb is missing, but trace_info.pb counts 7 records"));
    ntk_system_trace_close(trace);

    vendor_folder_write(&f->folder, f->path);
    assert_int_equal(truncate(info, 0), 0);
    trace = reopen(f);
    assert_int_equal(trace->warnings.count, 1);
    assert_true(has_warning(trace, "/trace_info.pb is empty"));
    ntk_system_trace_close(trace);

    assert_int_equal(unlink(info), 0);
    trace = reopen(f);
    assert_int_equal(trace->warnings.count, 0);
    assert_true(has_note(trace, "trace_info.pb is missing: event types, model names, the "
                                "process and the machine are unknown"));
    ntk_system_trace_close(trace);
    free(info);
    free(records);
}

static void a_process_without_a_pid_is_shown_as_unknown(void **state)
{
    struct fixture *f = *state;

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE " model_id=5");
    f->folder.info.process_id = 0;
    struct ntk_system_trace *trace = open_it(f);
    struct ntk_system_view view = { trace, NULL, NULL, 0 };
    struct ntk_system_tables tables;
    struct ntk_buf text = { 0 };
    char *json = json_of(trace);

    assert_null(strstr(json, "process_id"));
    free(json);
    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    view.tables = &tables;
    ntk_output_system_text(&view, 5, &text);
    assert_non_null(strstr(ntk_buf_text_get(&text), "\nProcess   unknown on trn2.3xlarge, cores "));
    ntk_buf_fini(&text);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void memory_share_is_absent_without_the_memory_size(void **state)
{
    struct fixture *f = *state;

    vendor_folder_memory(&f->folder, 1000, 1000);
    vendor_folder_write(&f->folder, f->path);
    char *path = test_scratch_path(f->path, "trace_info.pb");
    assert_int_equal(unlink(path), 0);
    free(path);
    struct ntk_system_trace *trace = reopen(f);
    char *json = json_of(trace);

    assert_non_null(strstr(json, "\"usage\":1000"));
    assert_null(strstr(json, "percent_usage"));
    free(json);
    ntk_system_trace_close(trace);
}

static void the_ultraserver_of_the_machine_is_shown(void **state)
{
    struct fixture *f = *state;
    struct ntk_system_tables tables;
    struct ntk_buf text = { 0 };

    f->folder.info.ultraserver_id = "us-77";
    f->folder.info.ultraserver_size = 4;
    f->folder.info.ultraserver_index = 2;
    struct ntk_system_trace *trace = open_it(f);
    struct ntk_system_view view = { .trace = trace, .tables = &tables };

    assert_int_equal(ntk_analysis_system_tables(trace, &tables), 0);
    ntk_output_system_summary_json(&view, 1, &text);
    assert_non_null(strstr(ntk_buf_text_get(&text), "\"ultraserver_id\": \"us-77\","));
    assert_non_null(strstr(ntk_buf_text_get(&text), "\"ultraserver_type\": \"Switch\","));
    assert_non_null(strstr(ntk_buf_text_get(&text), "\"ultraserver_size\": 4,"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "\"ultraserver_instance_index\": 2,"));
    ntk_buf_fini(&text);
    ntk_system_tables_fini(&tables);
    ntk_system_trace_close(trace);
}

static void a_later_trace_version_is_read_with_a_note(void **state)
{
    struct fixture *f = *state;

    f->folder.info.version = 9;
    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->span_count, 1);
    assert_true(has_note(trace, "has version 9"));
    ntk_system_trace_close(trace);
}

static void a_truncated_trace_info_still_reports_its_intact_fields(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->path, "trace_info.pb");

    vendor_folder_span(&f->folder, "nrt_load", 3, 2000, 3000, BASE, BASE);
    vendor_folder_write(&f->folder, f->path);
    assert_int_equal(truncate(path, 40), 0);
    struct ntk_system_trace *trace = reopen(f);

    assert_true(has_warning(trace, "trace_info.pb is truncated"));
    assert_int_equal(trace->info->process_id, 41);
    assert_int_equal(trace->span_count, 1);
    ntk_system_trace_close(trace);
    free(path);
}

/* More spans than fit on the heap; they use temporary files. */
static void a_long_trace_is_sorted_in_files(void **state)
{
    struct fixture *f = *state;
    enum { SPANS = 250000 };

    for (uint64_t i = 0; i < SPANS; i++) { /* two rings, one after the other */
        uint64_t at = 1000 + 2 * (i % (SPANS / 2)) + i / (SPANS / 2);
        uint64_t start = vendor_folder_add(
            &f->folder, &(struct vendor_moment){ "nrt_load", 1, at, 0, 0, 3, i < SPANS / 2 ? 0 : 4,
                                                 "nc_idx=0 k=v" });

        vendor_folder_add(&f->folder, &(struct vendor_moment){ "nrt_load", 2, at + 1, start, 0, 3,
                                                               i < SPANS / 2 ? 0 : 4, "" });
    }
    struct ntk_system_trace *trace = open_it(f);

    assert_int_equal(trace->span_count, SPANS);
    assert_true(trace->span_list.is_mapped);
    for (uint64_t i = 0; i < SPANS; i++) {
        if (trace->spans[i].start_ns != 1000 + i) {
            fail_msg("span %llu begins at %llu", (unsigned long long)i,
                     (unsigned long long)trace->spans[i].start_ns);
        }
    }
    assert_int_equal(trace->lost, 0);
    ntk_system_trace_close(trace);
}

/* The clock of a software core starts at 0, and executions there follow one another without a
 * gap. */
static void a_capture_is_shown_at_the_execution_in_its_time_window(void **state)
{
    (void)state;
    struct ntk_system_execution executions[] = {
        { .exec_id = 1, .device_ns = 100, .has_clock = true },
        { .exec_id = 2, .device_ns = 100, .device_start_ns = 100, .has_clock = true },
        { .exec_id = 3 }, /* not recorded on the device */
    };
    struct ntk_system_tables tables = { .executions = executions,
                                        .execution_count = 3,
                                        .is_vendor = true };
    struct ntk_system_captured captured = { .nc = UINT32_MAX, .has_window = true, .end_ns = 100 };

    assert_ptr_equal(ntk_system_tables_captured(&tables, &captured, NULL), &executions[0]);
    captured.start_ns = 100;
    captured.end_ns = 200;
    assert_ptr_equal(ntk_system_tables_captured(&tables, &captured, NULL), &executions[1]);
    executions[0].has_clock = false;
    captured.start_ns = 0;
    captured.end_ns = 100;
    assert_null(ntk_system_tables_captured(&tables, &captured, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(records_become_spans_in_time_order),
        TEST(every_record_key_is_kept),
        TEST(a_sequence_number_belongs_to_its_span),
        TEST(the_stop_record_of_a_span_may_precede_its_start),
        TEST(allocations_belong_to_the_account_of_their_physical_core),
        TEST(a_capture_is_shown_at_the_execution_in_its_time_window),
        TEST(host_samples_are_grouped_into_rounds),
        TEST(sync_points_have_the_clock_difference),
        TEST(a_core_reset_starts_a_new_clock_period),
        TEST(captures_without_a_core_clock_are_not_joined),
        TEST(folders_of_several_processes_are_found),
        TEST(incomplete_and_duplicate_records_are_counted),
        TEST(lost_trace_records_are_counted_per_ring),
        TEST(a_truncated_file_is_read_up_to_its_end),
        TEST(an_incomplete_record_is_omitted),
        TEST(trace_files_may_be_missing_or_empty),
        TEST(missing_events_are_reported),
        TEST(a_process_without_a_pid_is_shown_as_unknown),
        TEST(memory_share_is_absent_without_the_memory_size),
        TEST(the_ultraserver_of_the_machine_is_shown),
        TEST(a_later_trace_version_is_read_with_a_note),
        TEST(a_truncated_trace_info_still_reports_its_intact_fields),
        TEST(a_long_trace_is_sorted_in_files),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
