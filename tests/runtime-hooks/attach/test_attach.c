/* SPDX-License-Identifier: MIT */
/*
 * Attaching to a job that runs. Method: a job that makes the calls it is told to, over a runtime
 * that does nothing else, is attached to by the program as a user starts it; its segment is read as
 * any reader does, and every number has to be the one that the test caused since. Skipped where the
 * kernel or its rules let nobody attach.
 */
#include "runtime-hooks/attach/attach.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/formats/neff/neff_layout.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
    char *hooks;
    char *neff;
    char *out; /* what the attached program said */
    char *err;
    pid_t job;
    int to_job;
    FILE *from_job;
    pid_t attach;
    struct ntk_ring_registry *registry;
};

static char client_path[512];
static char stub_folder[512];

/* ---- the job ---- */

static void tell(struct fixture *f, const char *line)
{
    char answer[64];

    assert_true(dprintf(f->to_job, "%s\n", line) > 0);
    assert_non_null(fgets(answer, sizeof answer, f->from_job));
    assert_string_equal(answer, "done\n");
}

static void start_job(struct fixture *f)
{
    int in[2];
    int out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    f->job = fork();
    if (f->job == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        setenv("NEURON_RT_VISIBLE_CORES", "2-3", 1);
        setenv("NEURON_PROCESS_TAG", "stub", 1);
        setenv("LD_LIBRARY_PATH", stub_folder, 1);
        execl(client_path, "attach_client", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    f->to_job = in[1];
    f->from_job = fdopen(out[0], "r");
    tell(f, ""); /* its libraries are mapped */
}

/* The exit code of a job that ends by itself. */
static int end_job(struct fixture *f)
{
    int status = 0;

    close(f->to_job);
    f->to_job = -1;
    assert_int_equal(waitpid(f->job, &status, 0), f->job);
    f->job = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the program ---- */

static char *read_file(const char *path)
{
    static char text[8192];
    FILE *file = fopen(path, "r");
    size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file != NULL) {
        fclose(file);
    }
    text[bytes] = '\0';
    return text;
}

/* What the program says follows what it does: a while may pass. */
struct saying {
    const struct fixture *f;
    const char *text;
};

static int is_said(void *ctx)
{
    const struct saying *saying = ctx;

    return strstr(read_file(saying->f->err), saying->text) != NULL;
}

static void expect_said(const struct fixture *f, const char *text)
{
    struct saying saying = { .f = f, .text = text };

    if (!test_wait_until(is_said, &saying)) {
        fail_msg("'%s' was not said: %s", text, read_file(f->err));
    }
}

static int has_attached(void *ctx)
{
    struct fixture *f = ctx;

    return strstr(read_file(f->out), "attached to ") != NULL;
}

/* whom: NULL: the job. */
static void start_attach_to(struct fixture *f, const char *whom, const char *const *options)
{
    char folder[600];
    char pid[16];
    char program[600];
    const char *argv[16] = { program, "attach", whom != NULL ? whom : pid };
    size_t i;

    (void)snprintf(folder, sizeof folder, "NEURON_HOOKS_DIR=%s", f->hooks);
    (void)snprintf(pid, sizeof pid, "%d", (int)f->job);
    (void)snprintf(program, sizeof program, "%s/neuron-monitor", getenv("NTK_BIN_DIR"));
    for (i = 0; options != NULL && options[i] != NULL; i++) {
        argv[3 + i] = options[i];
    }
    (void)unlink(f->out); /* of one before */
    f->attach = fork();
    if (f->attach == 0) {
        int out = open(f->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int err = open(f->err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        putenv(folder);
        execv(program, (char **)(uintptr_t)argv);
        _exit(127);
    }
    if (!test_wait_until(has_attached, f)) {
        fail_msg("not attached: %s", read_file(f->err));
    }
}

static void start_attach(struct fixture *f, const char *const *options)
{
    start_attach_to(f, NULL, options);
}

static void start_attach_all(struct fixture *f)
{
    start_attach_to(f, "--all", NULL);
}

static int end_attach(struct fixture *f, int signal_number)
{
    int code = test_stop_program(f->attach, signal_number);

    f->attach = 0;
    return code;
}

/* Its one child, which writes the segment. */
static pid_t writer_of(const struct fixture *f)
{
    char path[64];

    pid_t writer;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)f->attach, (int)f->attach);
    writer = (pid_t)strtol(read_file(path), NULL, 10);
    assert_true(writer > 0);
    return writer;
}

/* ---- what a reader sees ---- */

/* The segment of the job that is written now, looked for once. */
static struct ntk_ring_segment *poll_segment(struct fixture *f)
{
    size_t i;

    assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
    for (i = 0; i < ntk_ring_registry_count(f->registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(f->registry, i);
        struct ntk_ring_process process;

        ntk_ring_segment_process(segment, &process);
        if (process.pid == (uint32_t)f->job &&
            ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            return segment;
        }
    }
    return NULL;
}

static struct ntk_ring_segment *get_segment(struct fixture *f)
{
    struct ntk_ring_segment *segment = poll_segment(f);

    assert_non_null(segment);
    return segment;
}

struct seen {
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t in_flight;
    uint64_t busy_ns;
    uint64_t histogram;
    uint64_t sum_ns;
    uint64_t loads;
    size_t cores;
};

static void see(struct fixture *f, struct seen *out)
{
    static struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_segment *segment = get_segment(f);
    size_t i;
    size_t k;

    memset(out, 0, sizeof *out);
    out->cores = ntk_ring_segment_cores(segment, cores, NTK_SEGMENT_CORES);
    for (i = 0; i < out->cores; i++) {
        for (k = 0; k < NTK_OUTCOME_COUNT; k++) {
            out->outcome[k] += cores[i].counters.outcome[k];
        }
        out->in_flight += cores[i].in_flight;
        out->busy_ns += cores[i].busy_ns;
        out->loads += cores[i].counters.model_load_count;
        if (ntk_ring_segment_core_histogram(segment, cores[i].core, &histogram) == 0) {
            for (k = 0; k < NTK_HISTOGRAM_BUCKETS; k++) {
                out->histogram += histogram.total.bucket[k];
            }
            out->sum_ns += histogram.total.sum_ns;
        }
    }
}

struct expectation {
    struct fixture *f;
    uint64_t completed;
    uint64_t bytes;
    uint32_t flag;
};

static int has_completed(void *ctx)
{
    struct expectation *expected = ctx;
    struct seen seen;

    see(expected->f, &seen);
    return seen.outcome[NTK_OUTCOME_COMPLETED] >= expected->completed && seen.in_flight == 0;
}

static int has_that_many(void *ctx)
{
    struct expectation *expected = ctx;
    struct seen seen;

    see(expected->f, &seen);
    return seen.outcome[NTK_OUTCOME_COMPLETED] >= expected->completed;
}

static void expect_completed(struct fixture *f, uint64_t completed)
{
    struct expectation expected = { .f = f, .completed = completed };
    struct seen seen;

    if (!test_wait_until(has_completed, &expected)) {
        see(f, &seen);
        fail_msg("%llu of %llu executions, %llu in flight; %s",
                 (unsigned long long)seen.outcome[NTK_OUTCOME_COMPLETED],
                 (unsigned long long)completed, (unsigned long long)seen.in_flight,
                 read_file(f->err));
    }
    see(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED], completed);
}

/* Whatever else runs. */
static void expect_completed_beside(struct fixture *f, uint64_t completed)
{
    struct expectation expected = { .f = f, .completed = completed };
    struct seen seen;

    assert_true(test_wait_until(has_that_many, &expected));
    see(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED], completed);
}

static uint64_t tensor_bytes(struct fixture *f, uint8_t category)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    size_t count = ntk_ring_segment_memory(get_segment(f), rows, NTK_SEGMENT_MEMORY_ROWS);
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        bytes += rows[i].category == category ? rows[i].current_bytes : 0;
    }
    return bytes;
}

static int has_bytes(void *ctx)
{
    struct expectation *expected = ctx;

    return tensor_bytes(expected->f, NTK_MEMORY_TENSORS) == expected->bytes;
}

static void expect_tensors(struct fixture *f, uint64_t bytes)
{
    struct expectation expected = { .f = f, .bytes = bytes };

    if (!test_wait_until(has_bytes, &expected)) {
        fail_msg("%llu bytes of tensors, not %llu",
                 (unsigned long long)tensor_bytes(f, NTK_MEMORY_TENSORS),
                 (unsigned long long)bytes);
    }
}

static int has_flag(void *ctx)
{
    struct expectation *expected = ctx;
    struct ntk_ring_process process;

    ntk_ring_segment_process(get_segment(expected->f), &process);
    return (process.flags & expected->flag) != 0;
}

static int has_no_segment(void *ctx)
{
    return poll_segment(ctx) == NULL;
}

/* Whether the job's code is as in its file: a probe replaces an instruction. */
static int code_is_its_own(const struct fixture *f)
{
    char path[64];
    char line[1024];
    int same = 1;
    FILE *maps;
    int memory;

    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)f->job);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)f->job);
    maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long start;
        unsigned long end;
        unsigned long offset;
        char file[512];

        if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %511s", &start, &end, &offset, file) == 4 &&
            strstr(file, "libnrt.so") != NULL) {
            size_t bytes = end - start;
            char *there = malloc(bytes);
            char *here = malloc(bytes);
            int fd = open(file, O_RDONLY | O_CLOEXEC);
            ssize_t in_file = pread(fd, here, bytes, (off_t)offset);

            assert_true(in_file > 0);
            assert_int_equal(pread(memory, there, (size_t)in_file, (off_t)start), in_file);
            same = same && memcmp(here, there, (size_t)in_file) == 0;
            close(fd);
            free(there);
            free(here);
        }
    }
    fclose(maps);
    close(memory);
    return same;
}

/* ---- fixture ---- */

static int set_up(void **state)
{
    struct ntk_neff_layout_header header = { .name = "stub model", .uuid = "0123456789abcde" };
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_ring_options options = { .reap = true };
    FILE *file;

    f->to_job = -1;
    f->folder = test_scratch_create();
    f->hooks = test_scratch_path(f->folder, "hooks");
    f->neff = test_scratch_path(f->folder, "model.neff");
    f->out = test_scratch_path(f->folder, "out");
    f->err = test_scratch_path(f->folder, "err");
    options.folder = f->hooks;
    mkdir(f->hooks, 0700);
    file = fopen(f->neff, "w");
    fwrite(&header, sizeof header, 1, file);
    fclose(file);
    *state = f;
    return ntk_ring_registry_open(&options, &f->registry, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    if (f->attach > 0) {
        (void)end_attach(f, SIGTERM);
    }
    if (f->job > 0) {
        (void)test_stop_program(f->job, SIGKILL);
    }
    if (f->to_job >= 0) {
        close(f->to_job);
    }
    if (f->from_job != NULL) {
        fclose(f->from_job);
    }
    ntk_ring_registry_close(f->registry);
    test_scratch_destroy(f->folder);
    free(f->hooks);
    free(f->neff);
    free(f->out);
    free(f->err);
    free(f);
    return 0;
}

static void load(struct fixture *f, const char *call, int vnc)
{
    char line[600];

    (void)snprintf(line, sizeof line, "%s %s %d", call, f->neff, vnc);
    tell(f, line);
}

/* ---- tests ---- */

static void a_job_that_runs_already_is_counted_from_then_on(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_model models[4];
    struct ntk_ring_process process;
    struct seen seen;

    start_job(f);
    tell(f, "init");
    load(f, "load", 1);
    tell(f, "exec 17 0 1000");
    start_attach(f, NULL);
    tell(f, "exec 40 0 2000");
    tell(f, "repeat 5 0 2000");
    tell(f, "exec 3 5 1000");    /* timed out */
    tell(f, "exec 2 1003 1000"); /* with NaN */
    tell(f, "exec 4 2 1000");    /* refused */
    tell(f, "exec 1 7 1000");    /* the queue was full */
    tell(f, "exec 6 14 1000");   /* closed: no execution at all */
    tell(f, "exec 1 0 1000");
    expect_completed(f, 56); /* each repeat is three */

    see(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_TIMED_OUT], 3);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED_WITH_NUM_ERR], 2);
    assert_int_equal(seen.outcome[NTK_OUTCOME_INCORRECT_INPUT], 4);
    assert_int_equal(seen.outcome[NTK_OUTCOME_FAILED_TO_QUEUE], 1);
    assert_int_equal(seen.histogram, 61); /* those that reached a core */
    assert_true(seen.sum_ns >= 96000000u && seen.busy_ns >= 96000000u);
    assert_int_equal(seen.loads, 0); /* nobody saw one */
    assert_int_equal(ntk_ring_segment_models(get_segment(f), models, 4), 1);
    assert_int_equal(models[0].executions, 61);
    assert_int_equal(models[0].errors, 10);
    assert_string_equal(models[0].name, "");
    ntk_ring_segment_process(get_segment(f), &process);
    assert_int_equal(process.flags & (NTK_PROCESS_ATTACHED | NTK_PROCESS_SOFTWARE_CORE),
                     NTK_PROCESS_ATTACHED);
    assert_true(process.flags & NTK_PROCESS_CORES_GUESSED); /* of two it could be either */
    assert_string_equal(process.tag, "stub");
    assert_string_equal(process.command, "attach_client");
    assert_int_equal(process.uid, geteuid());
    assert_int_equal(end_job(f), 0);
    assert_int_equal(end_attach(f, 0), 0);
}

static void a_job_that_begins_later_is_known_whole(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_model models[4];
    struct ntk_ring_process process;
    struct seen seen;

    start_job(f);
    start_attach(f, NULL);
    tell(f, "init");
    load(f, "load", 0);
    load(f, "collectives", 1);
    tell(f, "alloc 0 1 4096");
    tell(f, "slice");
    tell(f, "alloc 1 0 100");
    tell(f, "exec 25 0 1000");
    expect_completed(f, 25);

    see(f, &seen);
    assert_int_equal(seen.cores, 2);
    assert_int_equal(seen.loads, 2);
    assert_int_equal(ntk_ring_segment_models(get_segment(f), models, 4), 2);
    assert_string_equal(models[0].name, "stub model");
    assert_memory_equal(models[0].uuid, "0123456789abcde", 16);
    assert_string_equal(models[0].neff_path, f->neff);
    assert_int_equal(models[0].core, 2); /* the first of NEURON_RT_VISIBLE_CORES=2-3 */
    assert_int_equal(models[1].core, 3);
    assert_int_equal(models[1].executions, 25);
    expect_tensors(f, 4096);
    assert_int_equal(tensor_bytes(f, NTK_MEMORY_HOST_TENSORS), 100);
    tell(f, "free");
    tell(f, "free"); /* the slice: its memory is the tensor's */
    tell(f, "alloc 0 0 50");
    expect_tensors(f, 4146);
    assert_int_equal(tensor_bytes(f, NTK_MEMORY_HOST_TENSORS), 0);
    tell(f, "slice");
    tell(f, "buffer"); /* of the slice, then of nothing */
    tell(f, "free");
    tell(f, "free");
    expect_tensors(f, 4096);
    tell(f, "unload");
    tell(f, "close");
    expect_tensors(f, 0);
    assert_int_equal(ntk_ring_segment_models(get_segment(f), models, 4), 2);
    assert_int_equal(models[0].state, NTK_MODEL_UNLOADED);
    assert_int_equal(models[1].state, NTK_MODEL_UNLOADED);
    ntk_ring_segment_process(get_segment(f), &process);
    assert_false(process.flags & NTK_PROCESS_CORES_GUESSED);
    assert_int_equal(end_job(f), 0);
    assert_int_equal(end_attach(f, 0), 0);
    assert_non_null(strstr(read_file(f->out), "it ended; saw 25 calls that execute"));
}

struct names {
    struct ntk_ring_segment *segment;
    uint64_t executions;
    uint64_t of_workers;
};

static void take_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                       size_t count, void *ctx)
{
    struct names *names = ctx;
    size_t i;

    for (i = 0; i < count; i++) {
        struct ntk_ring_thread thread;

        if (slots[i].kind == NTK_EVENT_EXEC) {
            ntk_ring_segment_thread(segment, &slots[i], &thread);
            names->executions++;
            names->of_workers += strcmp(thread.name, "worker") == 0;
        }
    }
}

static void threads_are_told_apart_and_every_call_counts(void **state)
{
    struct fixture *f = *state;
    struct names names = { 0 };
    struct seen seen;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    (void)get_segment(f);
    tell(f, "threads 16 150 1500");
    tell(f, "exec 10 0 1000");
    expect_completed(f, 2410);

    see(f, &seen);
    assert_int_equal(seen.histogram, 2410);
    ntk_ring_segment_drain(get_segment(f), 0, take_batch, &names);
    assert_int_equal(names.executions, 2410);
    assert_int_equal(names.of_workers, 2400);
}

static void what_finds_no_room_is_counted_all_the_same(void **state)
{
    static const char *const options[] = { "--buffer", "4096", "--max-cost", "100", NULL };
    struct fixture *f = *state;
    struct ntk_ring_refusals refusals;
    struct seen seen;
    pid_t writer;

    start_job(f);
    start_attach(f, options);
    tell(f, "init");
    load(f, "load", 0);
    tell(f, "exec 10 0 1000");
    expect_completed(f, 10);
    writer = writer_of(f);
    assert_int_equal(kill(writer, SIGSTOP), 0);
    tell(f, "threads 4 2000 100");
    tell(f, "exec 30 5 1000");
    tell(f, "exec 20 2 100");
    tell(f, "churn 300");
    tell(f, "repeat 3 0 3000");
    tell(f, "exec 1 0 1000");
    assert_int_equal(kill(writer, SIGCONT), 0);
    expect_completed(f, 8020);
    expect_tensors(f, 150000);

    see(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_TIMED_OUT], 30);
    assert_int_equal(seen.outcome[NTK_OUTCOME_INCORRECT_INPUT], 20);
    assert_int_equal(seen.histogram, 8050);
    assert_int_equal(seen.in_flight, 0);
    ntk_ring_segment_refusals(get_segment(f), &refusals);
    assert_true(refusals.events_without_ring > 8000);
    expect_said(f, "counts stay exact");
    tell(f, "exec 5 0 1000"); /* and goes on as ever */
    expect_completed(f, 8025);
}

static void a_call_that_is_left_by_a_jump_counts_nowhere(void **state)
{
    struct fixture *f = *state;
    struct seen seen;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "exec 5 0 1000");
    tell(f, "leave");
    tell(f, "exec 5 0 1000");
    tell(f, "leave");
    tell(f, "repeat 5 0 1000");
    expect_completed(f, 25);

    see(f, &seen);
    assert_int_equal(seen.histogram, 25);
    assert_int_equal(seen.in_flight, 0);
}

static void executions_that_are_too_short_are_left_alone(void **state)
{
    struct fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };
    struct seen seen;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "exec 5000 0 1");
    assert_true(test_wait_until(has_flag, &expected));
    tell(f, "exec 10 0 1000");
    tell(f, "alloc 0 0 77"); /* the rest is looked at */
    expect_tensors(f, 77);

    see(f, &seen);
    assert_int_equal(seen.in_flight, 0);
    expect_said(f, "executions of process ");
    expect_said(f, "more than 1 %");
    assert_int_equal(end_attach(f, SIGINT), 0);
    assert_non_null(strstr(read_file(f->out), "calls that execute, then did not look any more"));
}

/* Calls of a thread that was inside one when they were given up, from further down its stack. */
static void what_is_given_up_hides_no_other_call(void **state)
{
    struct fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "exec 2000000 0 1");
    assert_true(test_wait_until(has_flag, &expected));
    tell(f, "deep alloc 0 0 77");
    expect_tensors(f, 77);
}

static int has_none_in_flight(void *ctx)
{
    struct seen seen;

    see(ctx, &seen);
    return seen.in_flight == 0;
}

static void a_thread_that_ends_in_an_execution_keeps_no_core_busy(void **state)
{
    struct fixture *f = *state;
    struct seen seen;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "end");
    tell(f, "exec 5 0 1000");
    expect_completed_beside(f, 5);
    assert_true(test_wait_until(has_none_in_flight, f));
    see(f, &seen);
    assert_int_equal(seen.histogram, 5);
    assert_true(seen.busy_ns < 1000000000u);
}

static int is_attached_again(void *ctx)
{
    const struct fixture *f = ctx;
    const char *said = strstr(read_file(f->out), "it executes another program now");

    return said != NULL && strstr(said, "attached to ") != NULL;
}

/* The same process, but nothing of the program before is there, and the kernel has no probe in it
 * when another thread than the first one executed it. */
static void a_job_that_executes_another_program_is_attached_to_anew(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_model models[4];
    struct seen seen;

    start_job(f);
    start_attach_all(f);
    tell(f, "init");
    load(f, "load", 0);
    tell(f, "alloc 0 0 4096");
    tell(f, "exec 3 0 1000");
    expect_completed(f, 3);
    expect_tensors(f, 4096);
    assert_true(dprintf(f->to_job, "again\n") > 0);
    tell(f, "");
    assert_true(test_wait_until(is_attached_again, f));
    tell(f, "init");
    load(f, "load", 0);
    tell(f, "alloc 0 0 50");
    tell(f, "exec 4 0 1000");
    expect_completed(f, 4);
    expect_tensors(f, 50);
    see(f, &seen);
    assert_int_equal(seen.in_flight, 0);
    assert_int_equal(ntk_ring_segment_models(get_segment(f), models, 4), 1);
    assert_int_equal(models[0].state, NTK_MODEL_LOADED);
    assert_int_equal(models[0].executions, 4);
}

static uint64_t counted_and_lost(struct fixture *f, uint64_t *out_counted)
{
    struct ntk_ring_refusals refusals;
    struct seen seen;

    see(f, &seen);
    ntk_ring_segment_refusals(get_segment(f), &refusals);
    *out_counted = seen.histogram;
    return seen.histogram + refusals.events_without_ring;
}

static int has_the_crowd(void *ctx)
{
    uint64_t counted;

    return counted_and_lost(ctx, &counted) == 5001;
}

/* How many of a crowd are under way at once is up to the machine: all of them where it is fast. */
static void executions_without_room_to_be_noted_are_lost_and_counted(void **state)
{
    static const char *const options[] = { "--max-cost", "100", NULL };
    struct fixture *f = *state;
    uint64_t counted;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, options);
    tell(f, "crowd 5000 4000000"); /* of 4,096 */
    tell(f, "exec 1 0 1000");
    assert_true(test_wait_until(has_the_crowd, f));
    assert_int_equal(counted_and_lost(f, &counted), 5001);
    assert_true(counted >= 4097);
}

static void executions_that_end_after_their_calls_are_not_counted(void **state)
{
    struct fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };

    start_job(f);
    start_attach(f, NULL);
    tell(f, "init");
    tell(f, "async");
    assert_true(test_wait_until(has_flag, &expected));
    expect_said(f, "nrta_execute_schedule");
}

static void nothing_is_left_in_a_job_that_is_let_go(void **state)
{
    struct fixture *f = *state;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "exec 3 0 1000");
    assert_false(code_is_its_own(f));
    assert_true(dprintf(f->to_job, "threads 4 40 5000\n") > 0); /* lets go in the middle */
    assert_int_equal(end_attach(f, SIGINT), 0);
    assert_true(code_is_its_own(f));
    tell(f, ""); /* the answer to the line before */
    assert_true(test_wait_until(has_no_segment, f));
    tell(f, "exec 3 0 1000");
    assert_int_equal(end_job(f), 0);
}

static int writer_is_gone(void *ctx)
{
    return kill(*(pid_t *)ctx, 0) != 0;
}

static int code_is_restored(void *ctx)
{
    return code_is_its_own(ctx);
}

static void nothing_is_left_when_the_program_is_killed(void **state)
{
    struct fixture *f = *state;
    pid_t writer;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    tell(f, "exec 3 0 1000");
    writer = writer_of(f);
    assert_true(dprintf(f->to_job, "threads 4 40 5000\n") > 0);
    assert_int_equal(end_attach(f, SIGKILL), 128 + SIGKILL);
    assert_true(test_wait_until(writer_is_gone, &writer));
    assert_true(test_wait_until(code_is_restored, f));
    tell(f, "");
    assert_true(test_wait_until(has_no_segment, f));

    start_attach(f, NULL); /* and the writer alone */
    writer = writer_of(f);
    assert_true(dprintf(f->to_job, "threads 4 40 5000\n") > 0);
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(end_attach(f, 0), 1);
    assert_true(test_wait_until(code_is_restored, f));
    assert_true(test_wait_until(has_no_segment, f));
    tell(f, "");
    tell(f, "exec 3 0 1000");
    assert_int_equal(end_job(f), 0);
}

static void a_job_that_is_killed_ends_its_segment(void **state)
{
    struct fixture *f = *state;

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    assert_true(dprintf(f->to_job, "threads 4 40 5000\n") > 0);
    assert_int_equal(test_stop_program(f->job, SIGKILL), 128 + SIGKILL);
    assert_int_equal(end_attach(f, 0), 0);
    assert_true(test_wait_until(has_no_segment, f));
    f->job = 0;
}

static void run_again(struct fixture *f, const char *pid, struct test_run *out)
{
    const char *const argv[] = { "neuron-monitor", "attach", pid, NULL };
    char folder[600];
    const char *const environment[] = { folder, NULL };

    (void)snprintf(folder, sizeof folder, "NEURON_HOOKS_DIR=%s", f->hooks);
    *out = test_run_program(argv, environment);
}

static void two_programs_never_attach_to_one_job(void **state)
{
    struct fixture *f = *state;
    struct test_run run;
    char pid[16];

    start_job(f);
    tell(f, "init");
    load(f, "load", 0);
    start_attach(f, NULL);
    (void)snprintf(pid, sizeof pid, "%d", (int)f->job);
    run_again(f, pid, &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "another program is attached to process"));
    test_run_fini(&run);
    tell(f, "exec 12 0 1000");
    expect_completed(f, 12);
}

static void who_cannot_be_attached_to_is_named(void **state)
{
    struct fixture *f = *state;
    struct test_run run;
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    run_again(f, pid, &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "it has no libnrt.so.1 mapped"));
    test_run_fini(&run);
    run_again(f, "2147483000", &run);
    assert_int_equal(run.exit_code, 1);
    assert_non_null(strstr(run.err, "there is no such process"));
    test_run_fini(&run);
    run_again(f, "abc", &run);
    assert_int_equal(run.exit_code, 2);
    test_run_fini(&run);
}

/* Whether attaching is possible here at all. */
static int may_attach(void)
{
    const char *const argv[] = { "neuron-monitor", "attach", "1", NULL };
    struct test_run run = test_run_program(argv, NULL);
    int may = strstr(run.err, "cannot attach to 1") != NULL;

    if (!may) {
        (void)fprintf(stderr, "skipped: %s", run.err);
    }
    test_run_fini(&run);
    return may;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_runs_already_is_counted_from_then_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_begins_later_is_known_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_are_told_apart_and_every_call_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_finds_no_room_is_counted_all_the_same, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_is_left_by_a_jump_counts_nowhere, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(executions_that_are_too_short_are_left_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_given_up_hides_no_other_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_in_an_execution_keeps_no_core_busy,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_executes_another_program_is_attached_to_anew,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(executions_without_room_to_be_noted_are_lost_and_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(executions_that_end_after_their_calls_are_not_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_left_in_a_job_that_is_let_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_left_when_the_program_is_killed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_is_killed_ends_its_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_programs_never_attach_to_one_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_cannot_be_attached_to_is_named, set_up, tear_down),
    };
    const char *build = getenv("NTK_BUILD_DIR");

    (void)snprintf(client_path, sizeof client_path, "%s/tests/attach_client", build);
    (void)snprintf(stub_folder, sizeof stub_folder, "%s/tests/attach-stub", build);
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    if (!may_attach()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
