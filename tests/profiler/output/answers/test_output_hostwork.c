/* SPDX-License-Identifier: MIT */
/* Method: hand-written records with hostile texts; checks each output. */
#include "profiler/output/answers/output_hostwork.h"

#include <jansson.h>
#include <string.h>
#include <sys/syscall.h>

#include "profiler/output/traces/host_flame.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MS UINT64_C(1000000)

static struct ntk_host_records records;
static struct ntk_host_result result;
static struct ntk_hostwork_answer answer;

/* 100 ms idle: 60 ms in a read of load(), 40 ms running. */
static int begin(void **state)
{
    struct ntk_host_slice slice = { .end_ns = 60 * MS, .tid = 100, .syscall = SYS_read };
    struct ntk_host_thread *thread;
    uint32_t stack;

    ntk_host_records_init(&records);
    records.end_ns = 200 * MS;
    records.method = NTK_HOST_METHOD_BPF;
    thread = ntk_host_records_thread_add(&records, 100, 100);
    strcpy(thread->name, "loader;x");
    thread->last_ns = 200 * MS;
    stack = ntk_host_stacks_push(&records.stacks, 0, "main", "job", 0, NTK_HOST_NATIVE);
    slice.stack =
        ntk_host_stacks_push(&records.stacks, stack, "load;\x1b[31m", "job", 0, NTK_HOST_NATIVE);
    slice.object = ntk_host_stacks_text(&records.stacks, "/data/\"shard\"");
    ntk_vec_push(&records.slices, &slice);
    ntk_vec_push(&records.gaps, &(struct ntk_host_gap){ 0, 100 * MS, 0, 100 });
    ntk_vec_push(
        &records.marks,
        &(struct ntk_host_mark){ 0, 50 * MS, ntk_host_stacks_text(&records.stacks, "step"), 3 });
    assert_int_equal(ntk_host_attribute(&records, 1, &result), 0);
    answer = (struct ntk_hostwork_answer){
        .pid = 100, .command = "job", .reason = "", .records = &records, .result = &result
    };
    return 0;
}

static int end(void **state)
{
    ntk_host_result_fini(&result);
    ntk_host_records_fini(&records);
    return 0;
}

static void text_output_has_shares_bars_evidence_and_steps(void **state)
{
    struct ntk_buf out = { 0 };
    const char *text;

    ntk_hostwork_text(&answer, 20, &out);
    text = ntk_buf_text_get(&out);
    assert_non_null(strstr(text, "1 core, idle 50.0% (100ms in 1 gap, longest 100ms)"));
    assert_non_null(strstr(text, "60.0%  60.0ms     1   60.0ms  ##################  read"));
    assert_non_null(strstr(text, "read /data/\"shard\""));
    assert_non_null(strstr(text, "60% of the idle time: blocked in read"));
    assert_non_null(strstr(text, "evidence: 60% in thread loader;x (100), function load"));
    assert_non_null(strstr(text, "Steps with the most idle time (of 1)"));
    assert_null(strchr(text, '\x1b'));
    ntk_buf_fini(&out);
}

/* The cores are idle until 100 ms: for all of steps 4 and 5, and half of step 6. */
static void steps_with_equal_idle_time_are_all_in_the_text(void **state)
{
    static const struct {
        uint64_t start_ms, end_ms, value;
    } steps[] = { { 60, 75, 4 }, { 75, 90, 5 }, { 90, 110, 6 } };
    struct ntk_buf out = { 0 };
    const char *text;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct ntk_host_mark mark = { steps[i].start_ms * MS, steps[i].end_ms * MS,
                                      ntk_host_stacks_text(&records.stacks, "step"),
                                      steps[i].value };
        ntk_vec_push(&records.marks, &mark);
    }
    ntk_host_result_fini(&result);
    assert_int_equal(ntk_host_attribute(&records, 1, &result), 0);
    ntk_hostwork_text(&answer, 20, &out);
    text = ntk_buf_text_get(&out);
    assert_non_null(strstr(text, "Steps with the most idle time (of 4)"));
    assert_non_null(strstr(text, "\n   3  50.0ms     1   50.0ms  read\n"
                                 "   4  15.0ms     1   15.0ms  running\n"
                                 "   5  15.0ms     1   15.0ms  running\n"
                                 "   6  10.0ms     1   10.0ms  running\n"));
    ntk_buf_fini(&out);
}

static void json_output_has_the_same_figures_as_text(void **state)
{
    struct ntk_buf out = { 0 };

    ntk_hostwork_json(&answer, 1, 1, &out);
    json_t *root = json_loads(ntk_buf_text_get(&out), 0, NULL);
    assert_non_null(root);
    const json_t *process = json_array_get(json_object_get(root, "processes"), 0);
    const json_t *row = json_array_get(json_object_get(process, "rows"), 0);
    assert_int_equal(json_array_size(json_object_get(process, "rows")), 1);
    assert_string_equal(json_string_value(json_object_get(process, "method")), "bpf");
    assert_true(json_number_value(json_object_get(process, "idle_percent")) == 50);
    assert_string_equal(json_string_value(json_object_get(row, "cause")), "read");
    assert_true(json_number_value(json_object_get(row, "percent")) == 60);
    assert_string_equal(json_string_value(json_object_get(row, "object")), "/data/\"shard\"");
    const json_t *causes = json_object_get(process, "causes");
    assert_int_equal(json_array_size(causes), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(causes, 0), "meaning")),
                        ntk_host_cause_text(NTK_HOST_READ));
    assert_int_equal(json_array_size(json_object_get(process, "steps")), 1);
    json_decref(root);
    ntk_buf_fini(&out);
}

static void folded_stacks_start_with_process_thread_and_cause(void **state)
{
    char *path = test_scratch_path(test_scratch_folder, "folded");
    struct ntk_err err = { 0 };
    uint8_t *bytes;
    size_t count;

    assert_int_equal(ntk_host_flame_folded(&answer, 1, path, &err), 0);
    assert_int_equal(ntk_fs_read(path, 4096, &bytes, &count, &err), 0);
    assert_non_null(strstr((const char *)bytes, "job (100);loader:x (100);read;main;load:"));
    assert_non_null(strstr((const char *)bytes, " 60000000\n"));
    assert_non_null(strstr((const char *)bytes, "job (100);loader:x (100);running 40000000\n"));
    free(bytes);
    free(path);
}

static void a_pprof_profile_is_compressed(void **state)
{
    char *path = test_scratch_path(test_scratch_folder, "pprof");
    struct ntk_err err = { 0 };
    uint8_t *bytes;
    size_t count;

    assert_int_equal(ntk_host_flame_pprof(&answer, 1, path, &err), 0);
    assert_int_equal(ntk_fs_read(path, 65536, &bytes, &count, &err), 0);
    assert_true(count > 64);
    assert_int_equal(bytes[0], 0x1f);
    assert_int_equal(bytes[1], 0x8b);
    free(bytes);
    free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(text_output_has_shares_bars_evidence_and_steps),
        TEST(steps_with_equal_idle_time_are_all_in_the_text),
        TEST(json_output_has_the_same_figures_as_text),
        TEST(folded_stacks_start_with_process_thread_and_cause),
        TEST(a_pprof_profile_is_compressed),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
