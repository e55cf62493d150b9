/* SPDX-License-Identifier: MIT */
/*
 * Method: captures of known size (support/ntff_big.h) with instructions that wait; all analyses of
 * them with what they keep on the heap and in files, the high-water mark of a process that makes
 * them, and that of the program.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/answers/analyses.h"
#include "shared/formats/ntff/ntff_read_private.h"
#include "tests/support/ntff_big.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LIST_BYTES ((size_t)1 << 20)
#define MIB ((uint64_t)1 << 20)

struct opened {
    char *path;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    struct ntk_analyses *analyses;
};

static char *write_big(struct ntff_big *big)
{
    big->has_waits = true;
    return ntff_big_write_in(test_scratch_folder, big);
}

static void open_trace(const char *path, size_t list_bytes, struct opened *o)
{
    struct ntk_trace_options options = { .list_bytes = list_bytes, .folder = test_scratch_folder };

    assert_int_equal(ntk_ntff_open(path, &o->ntff, NULL), 0);
    assert_int_equal(ntk_trace_create(o->ntff, NULL, &options, &o->trace, NULL), 0);
}

static void close_all(struct opened *o)
{
    ntk_analyses_destroy(o->analyses);
    ntk_trace_destroy(o->trace);
    ntk_ntff_close(o->ntff);
}

static void drop(void *buf)
{
    ntk_buf_reset(buf);
}

/* All answers as JSON; kept, or dropped as they come. */
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

static void answers_from_files_are_those_from_memory(void **state)
{
    struct ntff_big big = { .steps = 30000, .cores = 2 };
    struct opened o[2] = { 0 };
    struct ntk_buf out[2] = { 0 };
    char *path = write_big(&big);

    for (size_t i = 0; i < 2; i++) {
        open_trace(path, i == 0 ? (size_t)1 << 30 : 1, &o[i]);
        assert_int_equal(ntk_analyses_create(o[i].trace, &o[i].analyses), 0);
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

static void brief_answers_lack_the_steps_alone(void **state)
{
    struct ntff_big big = { .steps = 2000, .cores = 2 };
    struct opened o = { 0 };
    char *path = write_big(&big);

    open_trace(path, 1, &o);
    assert_int_equal(ntk_analyses_create(o.trace, &o.analyses), 0);
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

/* Who waited for whom in the middle of the capture, as support/ntff_big.h made it. */
static void waits_end_with_what_was_waited_for(void **state)
{
    struct ntff_big big = { .steps = 40000, .cores = 1 };
    struct opened o = { 0 };
    char *path = write_big(&big);
    uint64_t looked_at = 0;

    open_trace(path, 1, &o);
    assert_int_equal(ntk_analyses_create(o.trace, &o.analyses), 0);
    const struct ntk_trace_core *core = &o.trace->cores[0];
    const struct ntk_release *releases = o.analyses->dependencies.cores[0].releases;
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_trace_instruction *instruction = &core->instructions[i];
        const struct ntk_release *release = &releases[i];
        int64_t step = instruction->start_ps / NTFF_BIG_STEP_PS;
        if (step < 3 || instruction->opcode == NTK_NTFF_OPCODE_NOTIFY) {
            continue;
        }
        if (instruction->engine == NTK_NTFF_ENGINE_SCALAR) {
            /* The last product that ended before the engine was free: it ends later than the step
             * before works. */
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

/* The high-water mark of its own process that makes and writes all analyses of the capture. */
static uint64_t memory_of_analyses(const char *path)
{
    struct rusage usage;
    int status = 0;

    fflush(NULL);
    malloc_trim(0); /* what the tests before freed is none of its memory */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct opened o = { 0 };
        struct ntk_buf out = { 0 };
        open_trace(path, LIST_BYTES, &o);
        if (ntk_analyses_create(o.trace, &o.analyses) < 0) {
            _exit(1);
        }
        put_all(&o, false, &out);
        close_all(&o);
        ntk_buf_fini(&out);
        _exit(0);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static void memory_does_not_grow_with_the_capture(void **state)
{
    uint64_t used[2] = { 0 };
    uint64_t sizes[2] = { NTFF_BIG_HAS_SHADOWS ? 2 * MIB : 16 * MIB,
                          NTFF_BIG_HAS_SHADOWS ? 4 * MIB : 40 * MIB };

    ntk_ntff_map_from_bytes = MIB; /* what is copied would count */
    for (size_t i = 0; i < 2; i++) {
        struct ntff_big big = { .bytes_count = sizes[i], .cores = 1 };
        char *path = write_big(&big);
        used[i] = memory_of_analyses(path);
        print_message("%llu MiB of records: %llu MiB of memory\n",
                      (unsigned long long)(big.record_count * 16 / MIB),
                      (unsigned long long)(used[i] / MIB));
        unlink(path);
        free(path);
    }
    if (!NTFF_BIG_HAS_SHADOWS) {
        assert_true(used[1] <= used[0] + 3 * MIB);
        assert_true(used[1] <= 32 * MIB);
    }
}

static void the_program_gives_away_what_it_writes(void **state)
{
    struct ntff_big big = { .bytes_count = NTFF_BIG_HAS_SHADOWS ? 2 * MIB : 108 * MIB, .cores = 1 };
    char *path = write_big(&big);
    const char *bin = getenv("NTK_BIN_DIR");
    struct rusage usage;
    char program[4096];
    int status = 0;

    (void)snprintf(program, sizeof program, "%s/neuron-profile", bin ? bin : ".");
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setenv("TMPDIR", test_scratch_folder, 1);
        (void)!freopen("/dev/null", "w", stdout);
        (void)execl(program, program, "analyze", "--json", "-s", path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    print_message("%llu MiB of records: %llu MiB of memory\n",
                  (unsigned long long)(big.record_count * 16 / MIB),
                  (unsigned long long)usage.ru_maxrss / 1024);
    if (!NTFF_BIG_HAS_SHADOWS) {
        /* Short lists of the trace are on the heap, up to four of 32 MiB; a sanitizer makes the
         * program larger. */
        const char *checks = getenv("NTK_SANITIZE");
        uint64_t program_bytes = checks && checks[0] ? 16 * MIB : 0;

        assert_true((uint64_t)usage.ru_maxrss * 1024 <= 128 * MIB + program_bytes);
    }
    unlink(path);
    free(path);
}

static void a_full_disk_is_a_failure_of_the_analyses(void **state)
{
    struct rlimit before;
    struct ntff_big big = { .steps = 20000, .cores = 1 };
    struct opened o = { 0 };
    char *path = write_big(&big);

    open_trace(path, (size_t)1 << 30, &o);
    o.trace->list_bytes = 65536;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = { 128 << 10, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int ret = ntk_analyses_create(o.trace, &o.analyses);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(ret, -EFBIG);
    assert_null(o.analyses);
    close_all(&o);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_from_files_are_those_from_memory),
        cmocka_unit_test(brief_answers_lack_the_steps_alone),
        cmocka_unit_test(waits_end_with_what_was_waited_for),
        cmocka_unit_test(memory_does_not_grow_with_the_capture),
        cmocka_unit_test(the_program_gives_away_what_it_writes),
        cmocka_unit_test(a_full_disk_is_a_failure_of_the_analyses),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
