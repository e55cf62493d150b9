/* SPDX-License-Identifier: MIT */
/*
 * Method: captures of known content (support/ntff_big.h) with the lists of their traces in files,
 * and the high-water mark of a process that summarises them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/summary.h"
#include "profiler/trace/trace.h"
#include "tests/support/big_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LIST_BYTES ((size_t)1 << 20)

static const struct ntk_summary_value *value_of(const struct ntk_summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        if (strcmp(summary->values[i].name, name) == 0) {
            assert_true(summary->values[i].is_present);
            return &summary->values[i];
        }
    }
    fail_msg("no %s", name);
    return NULL;
}

static void check_summary(const struct ntk_trace *trace, const struct ntff_big *big)
{
    struct ntk_summary summary;
    uint64_t steps = big->steps;

    assert_int_equal(ntk_analysis_summary(trace, &summary), 0);
    assert_int_equal(value_of(&summary, "trace_count")->count,
                     big->instruction_count + big->packet_count + big->event_count +
                         value_of(&summary, "dma_transfer_count")->count);
    assert_int_equal(value_of(&summary, "event_count")->count, big->event_count);
    assert_true(value_of(&summary, "total_time")->number == (double)big->total_ps / 1e12);
    assert_int_equal(value_of(&summary, "matmul_instruction_count")->count, steps * big->cores);
    assert_int_equal(value_of(&summary, "hardware_flops")->count,
                     steps * big->cores * 2 * 128 * 128 * NTFF_BIG_MATMUL_COLUMNS);
    assert_true(value_of(&summary, "tensor_engine_active_time")->number ==
                (double)(steps * NTFF_BIG_TENSOR_PS + 5000) / 1e12);
    assert_true(value_of(&summary, "vector_engine_active_time")->number ==
                (double)((2 * steps - 1) * NTFF_BIG_STEP_PS) / 2e12);
    assert_true(value_of(&summary, "vector_engine_instruction_time")->number ==
                (double)((steps - 1) * NTFF_BIG_VECTOR_PS * big->cores) / 1e12);
    assert_int_equal(value_of(&summary, "software_dynamic_dma_size")->count,
                     steps * big->cores * NTFF_BIG_PACKETS * NTFF_BIG_PACKET_BYTES);
    /* The four packets of a step cover 0 to 800 ns of it. */
    assert_true(value_of(&summary, "dma_active_time")->number == (double)(steps * 800000) / 1e12);
    ntk_summary_fini(&summary);
}

static void compare_cores(const struct ntk_trace_core *a, const struct ntk_trace_core *b)
{
    assert_int_equal(a->instruction_count, b->instruction_count);
    assert_int_equal(a->packet_count, b->packet_count);
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->instruction_count; i++) {
        assert_int_equal(a->instructions[i].start_ps, b->instructions[i].start_ps);
        assert_int_equal(a->instructions[i].end_ps, b->instructions[i].end_ps);
        assert_int_equal(a->instructions[i].slot, b->instructions[i].slot);
        assert_int_equal(a->instructions[i].engine, b->instructions[i].engine);
        assert_int_equal(a->instructions[i].opcode, b->instructions[i].opcode);
    }
    for (size_t i = 0; i < a->packet_count; i++) {
        assert_int_equal(a->packets[i].start_ps, b->packets[i].start_ps);
        assert_int_equal(a->packets[i].end_ps, b->packets[i].end_ps);
        assert_int_equal(a->packets[i].engine, b->packets[i].engine);
    }
    for (size_t i = 0; i < a->event_count; i++) {
        assert_int_equal(a->events[i].time_ps, b->events[i].time_ps);
        assert_int_equal(a->events[i].value, b->events[i].value);
        assert_int_equal(a->events[i].number, b->events[i].number);
    }
    assert_int_equal(a->end_ps, b->end_ps);
    assert_int_equal(a->unpaired, b->unpaired);
}

static void a_trace_stored_in_files_equals_one_in_memory(void **state)
{
    struct ntff_big big = { .steps = 3000, .cores = 2 };
    struct big_trace opened[3] = { 0 };
    struct ntk_trace *traces[3] = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);

    for (size_t t = 0; t < 3; t++) {
        /* 1 is the minimum: later runs of few items */
        big_trace_open(path, (const size_t[]){ 0, 16384, 1 }[t], &opened[t]);
        traces[t] = opened[t].trace;
    }
    assert_false(traces[0]->cores[0].is_mapped.instructions);
    for (size_t t = 1; t < 3; t++) {
        assert_true(traces[t]->cores[0].is_mapped.instructions);
        assert_true(traces[t]->cores[1].is_mapped.packets);
        assert_true(traces[t]->cores[1].is_mapped.events);
        for (size_t c = 0; c < 2; c++) {
            compare_cores(&traces[0]->cores[c], &traces[t]->cores[c]);
        }
    }
    for (size_t t = 0; t < 3; t++) {
        check_summary(traces[t], &big);
        big_trace_close(&opened[t]);
    }
    free(path);
}

static size_t heap_bytes_of(const struct ntk_trace_core *core)
{
    return (core->is_mapped.instructions ? 0 : core->instruction_count * 32) +
           (core->is_mapped.packets ? 0 : core->packet_count * 32) +
           (core->is_mapped.events ? 0 : core->event_count * 16);
}

static void many_short_lists_do_not_accumulate_in_memory(void **state)
{
    struct ntff_big big = { .steps = 3000, .cores = 2 };
    struct big_trace opened[2] = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);

    big_trace_open(path, 0, &opened[0]);
    /* The longest list fits; the six of both cores are more than four times as long. */
    size_t list_bytes = opened[0].trace->cores[0].instruction_count * 32;
    big_trace_open(path, list_bytes, &opened[1]);
    const struct ntk_trace_core *cores = opened[1].trace->cores;
    assert_false(cores[0].is_mapped.instructions);
    assert_true(cores[1].is_mapped.packets || cores[1].is_mapped.events);
    assert_true(heap_bytes_of(&cores[0]) + heap_bytes_of(&cores[1]) <=
                NTK_TRACE_HEAP_LISTS * list_bytes);
    for (size_t c = 0; c < 2; c++) {
        compare_cores(&opened[0].trace->cores[c], &cores[c]);
    }
    big_trace_close(&opened[0]);
    big_trace_close(&opened[1]);
    free(path);
}

static void summarise(void *ctx)
{
    const struct big_trace_file *file = ctx;
    struct big_trace opened = { 0 };

    big_trace_open(file->path, LIST_BYTES, &opened);
    check_summary(opened.trace, file->big);
    big_trace_close(&opened);
}

static void trace_memory_does_not_grow_with_the_capture(void **state)
{
    static const uint64_t sizes[2] = { 26 * MIB, 52 * MIB };
    uint64_t used[2] = { 0 };

    big_trace_memory_of_sizes(sizes, (struct ntff_big){ .cores = 1 }, summarise, used);
    if (!NTFF_BIG_HAS_SHADOWS) {
        assert_true(used[1] <= used[0] + MIB);
        assert_true(used[1] <= 24 * MIB);
    }
}

static void a_missing_trace_folder_is_an_error(void **state)
{
    struct ntff_big big = { .steps = 3000, .cores = 1 };
    struct ntk_trace_options options = { .list_bytes = 1, .folder = "/nonexistent" };
    struct ntk_trace *trace = NULL;
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);

    assert_int_equal(ntk_ntff_open(path, &ntff, &err), 0);
    assert_int_equal(ntk_trace_create(ntff, NULL, &options, &trace, &err), -ENOENT);
    assert_string_equal(err.text,
                        "cannot keep records in a temporary file in /nonexistent: No such "
                        "file or directory (set TMPDIR to another folder)");
    assert_null(trace);
    ntk_ntff_close(ntff);
    free(path);
}

struct making {
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    struct ntk_err err;
};

static int make_trace(void *ctx)
{
    struct ntk_trace_options options = { .list_bytes = 65536, .folder = test_scratch_folder };
    struct making *making = ctx;

    return ntk_trace_create(making->ntff, NULL, &options, &making->trace, &making->err);
}

static void a_full_disk_is_reported_as_an_error(void **state)
{
    struct ntff_big big = { .steps = 20000, .cores = 1 };
    struct making making = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);

    assert_int_equal(ntk_ntff_open(path, &making.ntff, &making.err), 0);
    assert_int_equal(big_trace_on_full_disk(make_trace, &making), -EFBIG);
    assert_non_null(strstr(making.err.text, test_scratch_folder));
    assert_non_null(strstr(making.err.text, "TMPDIR"));
    ntk_ntff_close(making.ntff);
    free(path);
}

static void cut_once(double share, void *ctx)
{
    (void)share;
    if (truncate(ctx, 8192) < 0) {
        fail_msg("cannot cut %s", (char *)ctx);
    }
}

static void a_capture_that_is_truncated_during_reading_is_reported(void **state)
{
    struct ntff_big big = { .steps = 40000, .cores = 1 };
    struct ntk_trace *trace = NULL;
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    char *path = ntff_big_write_in(test_scratch_folder, &big);
    struct ntk_trace_options options = { .folder = test_scratch_folder,
                                         .progress = cut_once,
                                         .progress_ctx = path };

    /* Large files are mapped; bytes after the sections belong to no section. */
    assert_int_equal(truncate(path, 70 * (off_t)MIB), 0);
    assert_int_equal(ntk_ntff_open(path, &ntff, &err), 0);
    assert_int_equal(ntk_ntff_check_whole(ntff, &err), 0);
    assert_int_equal(ntk_trace_create(ntff, NULL, &options, &trace, &err), -ESTALE);
    assert_null(trace);
    assert_non_null(strstr(err.text, "shrank below 73400320 bytes while it was being read"));
    assert_true(err.offset >= 8192 && err.offset < 70 * MIB);
    ntk_ntff_close(ntff);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_stored_in_files_equals_one_in_memory),
        cmocka_unit_test(many_short_lists_do_not_accumulate_in_memory),
        cmocka_unit_test(trace_memory_does_not_grow_with_the_capture),
        cmocka_unit_test(a_missing_trace_folder_is_an_error),
        cmocka_unit_test(a_full_disk_is_reported_as_an_error),
        cmocka_unit_test(a_capture_that_is_truncated_during_reading_is_reported),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
