/* SPDX-License-Identifier: MIT */
/*
 * Method: captures of known size (support/ntff_big.h) with instructions that wait. All analyses of
 * them with their memory on the heap and in files, the high-water mark of a process that makes
 * them, and that of the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profiler/output/answers/analyses.h"
#include "tests/support/big_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LIST_BYTES ((size_t)1 << 20)

struct opened {
    struct big_trace big;
    struct ntk_analyses *analyses;
};

static char *write_big(struct ntff_big *big)
{
    big->has_waits = true;
    return ntff_big_write_in(test_scratch_folder, big);
}

static void close_all(struct opened *o)
{
    ntk_analyses_destroy(o->analyses);
    big_trace_close(&o->big);
}

static void drop(void *buf)
{
    ntk_buf_reset(buf);
}

/* Writes all analyses as JSON; the output is kept, or dropped as it is produced. */
static void put_all(const struct opened *o, bool keeps, struct ntk_buf *out)
{
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        struct ntk_json json;
        ntk_json_init(&json, out, false);
        if (!keeps) {
            json.ended = drop;
            json.ended_ctx = out;
        }
        int ret = ntk_analyses_put(o->analyses, i, NULL, &json);
        assert_true(ret == 0 || ret == -ENODATA);
    }
    assert_true(ntk_buf_ok(out));
}

static void analyses_from_files_equal_those_from_memory(void **state)
{
    struct ntff_big big = { .steps = 30000, .cores = 2 };
    struct opened o[2] = { 0 };
    struct ntk_buf out[2] = { 0 };
    char *path = write_big(&big);

    for (size_t i = 0; i < 2; i++) {
        big_trace_open(path, i == 0 ? (size_t)1 << 30 : 1, &o[i].big);
        assert_int_equal(ntk_analyses_create(o[i].big.trace, &o[i].analyses), 0);
        put_all(&o[i], true, &out[i]);
    }
    assert_false(o[0].analyses->dependencies.cores[1].list.is_mapped);
    assert_true(o[1].analyses->dependencies.cores[1].list.is_mapped);
    assert_false(o[0].analyses->path.list.is_mapped);
    assert_true(o[1].analyses->path.list.is_mapped);
    assert_int_equal(out[0].bytes_count, out[1].bytes_count);
    assert_memory_equal(out[0].bytes, out[1].bytes, out[0].bytes_count);
    for (size_t i = 0; i < 2; i++) {
        close_all(&o[i]);
        ntk_buf_fini(&out[i]);
    }
    free(path);
}

static void a_brief_analysis_omits_only_the_steps_of_the_critical_path(void **state)
{
    struct ntff_big big = { .steps = 2000, .cores = 2 };
    struct opened o = { 0 };
    char *path = write_big(&big);

    big_trace_open(path, 1, &o.big);
    assert_int_equal(ntk_analyses_create(o.big.trace, &o.analyses), 0);
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        struct ntk_buf out[2] = { 0 };
        struct ntk_json json[2];
        ntk_json_init(&json[0], &out[0], false);
        ntk_json_init(&json[1], &out[1], false);
        int ret = ntk_analyses_put(o.analyses, i, NULL, &json[0]);
        assert_int_equal(ntk_analyses_put_brief(o.analyses, i, &json[1]), ret);
        char *steps = strstr(ntk_buf_text_get(&out[0]), ",\"steps\":[");
        assert_int_equal(steps != NULL, strcmp(ntk_analyses_info(i)->name, "critical-path") == 0);
        if (steps) {
            memcpy(steps, "}", sizeof "}");
        }
        assert_string_equal(ntk_buf_text_get(&out[0]), ntk_buf_text_get(&out[1]));
        ntk_buf_fini(&out[0]);
        ntk_buf_fini(&out[1]);
    }
    close_all(&o);
    unlink(path);
    free(path);
}

/* Waits in the middle of the capture and their causes, as support/ntff_big.h made them. */
static void waits_in_a_large_capture_have_their_causes(void **state)
{
    struct ntff_big big = { .steps = 40000, .cores = 1 };
    struct opened o = { 0 };
    char *path = write_big(&big);
    uint64_t looked_at = 0;

    big_trace_open(path, 1, &o.big);
    assert_int_equal(ntk_analyses_create(o.big.trace, &o.analyses), 0);
    const struct ntk_trace_core *core = &o.big.trace->cores[0];
    const struct ntk_release *releases = o.analyses->dependencies.cores[0].releases;
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_trace_instruction *instruction = &core->instructions[i];
        const struct ntk_release *release = &releases[i];
        int64_t step = instruction->start_ps / NTFF_BIG_STEP_PS;
        if (step < 3 || instruction->opcode == NTK_NTFF_OPCODE_NOTIFY) {
            continue;
        }
        if (instruction->engine == NTK_NTFF_ENGINE_SCALAR) {
            /* The last product that ended before the engine was free; its end is after the work of
             * the previous step. */
            const struct ntk_trace_instruction *by = &core->instructions[release->by];
            assert_int_equal(by->engine, NTK_NTFF_ENGINE_TENSOR);
            assert_int_equal(by->start_ps, (step - 2) * NTFF_BIG_STEP_PS);
            assert_int_equal(core->events[release->event].time_ps, by->end_ps);
            assert_false(release->by_transfer);
            looked_at++;
        } else if (instruction->engine == NTK_NTFF_ENGINE_TENSOR) {
            assert_true(release->by_transfer);
            assert_int_equal(core->events[release->event].number, 3);
            assert_int_equal(core->instructions[release->previous].start_ps,
                             (step - 1) * NTFF_BIG_STEP_PS);
            looked_at++;
        }
    }
    assert_int_equal(looked_at, 2 * (big.steps - 3));
    close_all(&o);
    free(path);
}

/* Makes and writes all analyses of the capture. */
static void analyse(void *ctx)
{
    const struct big_trace_file *file = ctx;
    struct opened o = { 0 };
    struct ntk_buf out = { 0 };

    big_trace_open(file->path, LIST_BYTES, &o.big);
    if (ntk_analyses_create(o.big.trace, &o.analyses) < 0) {
        _exit(1);
    }
    put_all(&o, false, &out);
    close_all(&o);
    ntk_buf_fini(&out);
}

static void analysis_memory_does_not_grow_with_the_capture(void **state)
{
    static const uint64_t sizes[2] = { 16 * MIB, 40 * MIB };
    uint64_t used[2] = { 0 };

    big_trace_memory_of_sizes(sizes, (struct ntff_big){ .cores = 1, .has_waits = true }, analyse,
                              used);
    if (!NTFF_BIG_HAS_SHADOWS) {
        assert_true(used[1] <= used[0] + 3 * MIB);
        assert_true(used[1] <= 32 * MIB);
    }
}

static bool has_sanitizer(void)
{
    const char *checks = getenv("NTK_SANITIZE");

    return checks && checks[0];
}

/* Runs with a memory limit, except with a sanitizer, which needs unlimited address space. */
static void analyse_by_program(void *ctx)
{
    const struct rlimit limit = { 1024 * MIB, 1024 * MIB };
    const char *bin = getenv("NTK_BIN_DIR");
    char program[4096];

    if (!has_sanitizer() && setrlimit(RLIMIT_AS, &limit) != 0) {
        _exit(1);
    }
    (void)snprintf(program, sizeof program, "%s/neuron-profile", bin ? bin : ".");
    (void)setenv("TMPDIR", test_scratch_folder, 1);
    (void)!freopen("/dev/null", "w", stdout);
    (void)execl(program, program, "analyze", "--json", "-s", (char *)ctx, (char *)NULL);
    _exit(127);
}

static void written_output_is_not_kept_in_memory(void **state)
{
    struct ntff_big big = { .bytes_count = NTFF_BIG_HAS_SHADOWS ? 2 * MIB : 108 * MIB, .cores = 1 };
    char *path = write_big(&big);
    uint64_t used = big_trace_memory(analyse_by_program, path);

    print_message("%llu MiB of records: %llu MiB of memory\n",
                  (unsigned long long)(big.record_count * 16 / MIB),
                  (unsigned long long)(used / MIB));
    if (!NTFF_BIG_HAS_SHADOWS) {
        /* Short lists of the trace are on the heap, up to four of 32 MiB; a sanitizer makes the
         * program larger. */
        assert_true(used <= (has_sanitizer() ? 16 + 640 : 128) * MIB);
    }
    unlink(path);
    free(path);
}

static int make_analyses(void *ctx)
{
    struct opened *o = ctx;

    return ntk_analyses_create(o->big.trace, &o->analyses);
}

static void analyses_fail_if_the_disk_is_full(void **state)
{
    struct ntff_big big = { .steps = 20000, .cores = 1 };
    struct opened o = { 0 };
    char *path = write_big(&big);

    big_trace_open(path, (size_t)1 << 30, &o.big);
    o.big.trace->list_bytes = 65536;
    assert_int_equal(big_trace_on_full_disk(make_analyses, &o), -EFBIG);
    assert_null(o.analyses);
    close_all(&o);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyses_from_files_equal_those_from_memory),
        cmocka_unit_test(a_brief_analysis_omits_only_the_steps_of_the_critical_path),
        cmocka_unit_test(waits_in_a_large_capture_have_their_causes),
        cmocka_unit_test(analysis_memory_does_not_grow_with_the_capture),
        cmocka_unit_test(written_output_is_not_kept_in_memory),
        cmocka_unit_test(analyses_fail_if_the_disk_is_full),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
