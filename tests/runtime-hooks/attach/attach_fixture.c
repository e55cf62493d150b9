/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/attach/attach_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/formats/neff/neff_layout.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static char client_path[512];
static char stub_folder[512];

const char *const at_any_cost[] = { "--max-cost", "100", NULL };

void job_begin(struct attach_fixture *f, const char *line)
{
    assert_true(dprintf(f->to_job, "%s\n", line) > 0);
}

static void expect_done(struct attach_fixture *f)
{
    char answer[64];

    assert_non_null(fgets(answer, sizeof answer, f->from_job));
    assert_string_equal(answer, "done\n");
}

void job_tell(struct attach_fixture *f, const char *line)
{
    job_begin(f, line);
    expect_done(f);
}

void job_finish(struct attach_fixture *f)
{
    job_tell(f, ""); /* answers the previous line */
    expect_done(f);
}

void job_start(struct attach_fixture *f)
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
    job_tell(f, ""); /* its libraries are mapped */
}

int job_end(struct attach_fixture *f)
{
    int status = 0;

    close(f->to_job);
    f->to_job = -1;
    assert_int_equal(waitpid(f->job, &status, 0), f->job);
    f->job = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *attach_read_file(const char *path)
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

/* The program prints after it acts, so the text may come a while later. */
struct report {
    const struct attach_fixture *f;
    const char *text;
};

static int is_reported(void *ctx)
{
    const struct report *report = ctx;

    return strstr(attach_read_file(report->f->err), report->text) != NULL;
}

void attach_expect_reported(const struct attach_fixture *f, const char *text)
{
    struct report report = { .f = f, .text = text };

    if (!test_wait_until(is_reported, &report)) {
        fail_msg("'%s' was not reported: %s", text, attach_read_file(f->err));
    }
}

/* Attached to this job; --all also finds those of other tests. */
static int has_attached(void *ctx)
{
    const struct attach_fixture *f = ctx;
    char text[64];

    (void)snprintf(text, sizeof text, "attached to %d ", (int)f->job);
    return strstr(attach_read_file(f->out), text) != NULL;
}

void attach_start_to(struct attach_fixture *f, const char *whom, const char *const *options)
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
    (void)unlink(f->out); /* of a previous one */
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
        fail_msg("not attached: %s", attach_read_file(f->err));
    }
}

void attach_start(struct attach_fixture *f, const char *const *options)
{
    attach_start_to(f, NULL, options);
}

int attach_end(struct attach_fixture *f, int signal_number)
{
    int code = test_stop_program(f->attach, signal_number);

    f->attach = 0;
    return code;
}

pid_t attach_writer(const struct attach_fixture *f)
{
    char path[64];

    pid_t writer;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)f->attach, (int)f->attach);
    writer = (pid_t)strtol(attach_read_file(path), NULL, 10);
    assert_true(writer > 0);
    return writer;
}

/* The segment of the job that is being written now, searched for once. */
static struct ntk_ring_segment *poll_segment(struct attach_fixture *f)
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

struct ntk_ring_segment *segment_get(struct attach_fixture *f)
{
    struct ntk_ring_segment *segment = poll_segment(f);

    assert_non_null(segment);
    return segment;
}

void seen_now(struct attach_fixture *f, struct seen *out)
{
    static struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_segment *segment = segment_get(f);
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

static int has_completed(void *ctx)
{
    struct expectation *expected = ctx;
    struct seen seen;

    seen_now(expected->f, &seen);
    return seen.outcome[NTK_OUTCOME_COMPLETED] >= expected->completed && seen.in_flight == 0;
}

void expect_completed(struct attach_fixture *f, uint64_t completed)
{
    struct expectation expected = { .f = f, .completed = completed };
    struct seen seen;

    if (!test_wait_until(has_completed, &expected)) {
        seen_now(f, &seen);
        fail_msg("%llu of %llu executions, %llu in flight; %s",
                 (unsigned long long)seen.outcome[NTK_OUTCOME_COMPLETED],
                 (unsigned long long)completed, (unsigned long long)seen.in_flight,
                 attach_read_file(f->err));
    }
    seen_now(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED], completed);
}

uint64_t tensor_bytes(struct attach_fixture *f, uint8_t category)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    size_t count = ntk_ring_segment_memory(segment_get(f), rows, NTK_SEGMENT_MEMORY_ROWS);
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

void expect_tensors(struct attach_fixture *f, uint64_t bytes)
{
    struct expectation expected = { .f = f, .bytes = bytes };

    if (!test_wait_until(has_bytes, &expected)) {
        fail_msg("%llu bytes of tensors, not %llu",
                 (unsigned long long)tensor_bytes(f, NTK_MEMORY_TENSORS),
                 (unsigned long long)bytes);
    }
}

int segment_has_flag(void *ctx)
{
    struct expectation *expected = ctx;
    struct ntk_ring_process process;

    ntk_ring_segment_process(segment_get(expected->f), &process);
    return (process.flags & expected->flag) != 0;
}

int segment_is_gone(void *ctx)
{
    return poll_segment(ctx) == NULL;
}

int attach_setup(void **state)
{
    struct ntk_neff_layout_header header = { .name = "stub model", .uuid = "0123456789abcde" };
    struct attach_fixture *f = calloc(1, sizeof *f);
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

int attach_teardown(void **state)
{
    struct attach_fixture *f = *state;

    if (f->attach > 0) {
        (void)attach_end(f, SIGTERM);
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

void job_load(struct attach_fixture *f, const char *call, int vnc)
{
    char line[600];

    (void)snprintf(line, sizeof line, "%s %s %d", call, f->neff, vnc);
    job_tell(f, line);
}

int job_code_is_its_own(const struct attach_fixture *f)
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

/* Whether attaching is possible on this machine: with the privilege, the first error is that this
 * process runs no model. */
static int may_attach(void)
{
    char self[16];
    const char *const argv[] = { "neuron-monitor", "attach", self, NULL };
    struct test_run run;
    int may;

    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    run = test_run_program(argv, NULL);
    may = strstr(run.err, "has no libnrt.so.1 mapped") != NULL;
    if (!may) {
        (void)fprintf(stderr, "skipped: %s", run.err);
    }
    test_run_fini(&run);
    return may;
}

int attach_prepare(int argc, char **argv)
{
    const char *build = getenv("NTK_BUILD_DIR");

    (void)snprintf(client_path, sizeof client_path, "%s/tests/attach_client", build);
    (void)snprintf(stub_folder, sizeof stub_folder, "%s/tests/attach-stub", build);
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return may_attach() ? 0 : 77;
}
