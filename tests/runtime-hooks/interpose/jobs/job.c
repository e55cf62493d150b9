/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/interpose/jobs/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/models.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define STATUS_MAX 2048
#define PROCESSES_MAX 64
#define MODELS_MAX NTK_SEGMENT_MODELS
#define STATUS_UNINITIALIZED 13
#define STATUS_CLOSED 14

/* The counts of one process, from itself or from its segments. */
struct counted {
    uint32_t pid;
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t status[NTK_STATUS_COUNT];
    uint64_t tensors;
    uint64_t tensor_bytes;
    uint64_t models;
    uint64_t in_flight; /* no client exits with one */
    bool has_segment;
};

struct processes {
    struct counted one[PROCESSES_MAX];
    size_t count;
};

static char *folder;
static char *hooks_variable;
static struct ntk_ring_registry *registry;
static unsigned int there_are = JOB_CORE; /* the available means */
static struct ntk_ring_model models[MODELS_MAX];
static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
static struct ntk_ring_core cores[NTK_SEGMENT_CORES];

/* ---- reports of the segments ---- */

static struct counted *process_of(struct processes *processes, uint32_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->one[i].pid == pid) {
            return &processes->one[i];
        }
    }
    assert_true(processes->count < PROCESSES_MAX);
    processes->one[processes->count] = (struct counted){ .pid = pid };
    return &processes->one[processes->count++];
}

static void segment_add(struct ntk_ring_segment *segment, struct processes *seen)
{
    struct ntk_ring_process process;

    ntk_ring_segment_process(segment, &process);
    struct counted *counted = process_of(seen, process.own_pid);
    counted->has_segment = true;
    size_t count = ntk_ring_segment_cores(segment, cores, NTK_SEGMENT_CORES);
    for (size_t i = 0; i < count; i++) {
        counted->in_flight += cores[i].in_flight;
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            counted->outcome[k] += cores[i].counters.outcome[k];
        }
        for (size_t k = 0; k < NTK_STATUS_COUNT; k++) {
            counted->status[k] += cores[i].counters.status[k];
        }
    }
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].category == NTK_MEMORY_TENSORS) {
            counted->tensors += rows[i].alloc_count;
            counted->tensor_bytes += rows[i].peak_bytes;
        }
    }
    count = ntk_ring_segment_models(segment, models, MODELS_MAX);
    for (size_t i = 0; i < count; i++) {
        counted->models += models[i].name[0] != '\0';
    }
}

/* Reads again after each that ended, until none is left. */
static void segments_read(struct processes *seen)
{
    struct ntk_err err = { 0 };

    *seen = (struct processes){ 0 };
    do {
        assert_true(ntk_ring_registry_poll(registry, NULL, &err) >= 0);
        for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
            struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);
            if (ntk_ring_segment_state(segment) == NTK_SEGMENT_ENDED) {
                segment_add(segment, seen);
            }
        }
    } while (ntk_ring_registry_count(registry) > 0);
}

/* ---- reports of the clients ---- */

static void line_add(const char *line, struct processes *reported)
{
    char *end = NULL;
    struct counted *counted = process_of(reported, (uint32_t)strtoul(line, &end, 10));

    while (*end == ' ') {
        char *name = end + 1;
        char *value = strchr(name, '=');
        if (!value) {
            break;
        }
        uint64_t number = strtoull(value + 1, &end, 10);
        unsigned long status = strtoul(name, NULL, 10);
        if (strncmp(name, "tensors=", 8) == 0) {
            counted->tensors += number;
        } else if (strncmp(name, "bytes=", 6) == 0) {
            counted->tensor_bytes += number;
        } else if (strncmp(name, "models=", 7) == 0) {
            counted->models += number;
        } else if (strncmp(name, "y=", 2) == 0) {
            break;
        } else if (status != STATUS_UNINITIALIZED && status != STATUS_CLOSED) {
            counted->outcome[ntk_outcome_of_status((uint32_t)status)] += number;
            counted->status[ntk_status_counter_of_status((uint32_t)status)] += number;
        }
    }
}

/* The lines of the clients in the text; their pids are removed from it. */
static void output_take(char *text, struct processes *reported)
{
    static const char mark[] = "client ";

    *reported = (struct processes){ 0 };
    for (char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, mark, sizeof mark - 1) == 0) {
            char *pid = line + sizeof mark - 1;
            line_add(pid, reported);
            size_t digits = strspn(pid, "0123456789");
            memmove(pid, pid + digits, strlen(pid + digits) + 1);
        }
    }
}

/* ---- one run ---- */

static const char *means_name(unsigned int means)
{
    return means == 0             ? "plain"
           : means == JOB_CORE    ? "core"
           : means == JOB_PRELOAD ? "preload"
                                  : "audit";
}

/* Command and environment of the job. */
struct command {
    const char *argv[JOB_WORDS + 5];
    const char *environment[16];
    char *made[JOB_WORDS + JOB_VARIABLES + 2];
    size_t made_count;
};

__attribute__((format(printf, 2, 3))) static const char *made(struct command *command,
                                                              const char *format, ...)
{
    char *text = NULL;
    va_list list;

    va_start(list, format);
    assert_true(vasprintf(&text, format, list) >= 0);
    va_end(list);
    command->made[command->made_count++] = text;
    return text;
}

/* A word as the program gets it. */
static const char *word_make(struct command *command, const char *word, const char *library_folder)
{
    const char *at = strchrnul(word, '@');
    int before = (int)(at - word);

    if (strcmp(at, "@vendor") == 0) {
        return made(command, "%.*s%s/libnrt.so.1", before, word, library_folder);
    }
    if (at[0] == '@') {
        return made(command, "%.*s%s/tests/interpose/%s", before, word, getenv("NTK_BUILD_DIR"),
                    at + 1);
    }
    return word;
}

static void command_init(struct command *command, const struct job *job, unsigned int means)
{
    static const char *const before[] = { "neuron-monitor", "run", "--audit" };
    char library_folder[PATH_MAX];
    size_t used = 0;

    *command =
        (struct command){ .environment = { hooks_variable, "NEURON_SOFT_INSTANCE=trn1.2xlarge",
                                           "NEURON_RT_LOG_LEVEL=QUIET" } };
    while (command->environment[used]) {
        used++;
    }
    (void)snprintf(library_folder, sizeof library_folder, "%s/%s", getenv("NTK_LIB_DIR"),
                   means == JOB_CORE ? "."
                   : job->vendor     ? job->vendor
                                     : "vendor");
    command->environment[used++] = job->is_found_otherwise
                                       ? "LD_LIBRARY_PATH="
                                       : made(command, "LD_LIBRARY_PATH=%s", library_folder);
    command->environment[used++] =
        made(command, "CLIENT_NEFF=%s/%s.neff", folder, job->model ? job->model : "adder");
    for (size_t i = 0; i < JOB_VARIABLES && job->environment[i]; i++) {
        command->environment[used++] = word_make(command, job->environment[i], library_folder);
    }
    used = means == JOB_PRELOAD ? 2 : means == JOB_AUDIT ? 3 : 0;
    memcpy(command->argv, before, used * sizeof *before);
    if (used > 0) {
        command->argv[used++] = "--";
    }
    for (size_t i = 0; i < JOB_WORDS && job->words[i]; i++) {
        command->argv[used++] = word_make(command, job->words[i], library_folder);
    }
}

static void command_fini(struct command *command)
{
    for (size_t i = 0; i < command->made_count; i++) {
        free(command->made[i]);
    }
}

static struct test_run job_run(const struct job *job, unsigned int means)
{
    struct command command;

    command_init(&command, job, means);
    struct test_run run = test_run_program(command.argv, command.environment);
    command_fini(&command);
    return run;
}

pid_t job_start(const struct job *job, enum job_means means)
{
    struct command command;

    command_init(&command, job, means);
    pid_t pid = test_start_program(command.argv, command.environment, NULL);
    command_fini(&command);
    return pid;
}

bool job_look(pid_t pid, struct job_look *out)
{
    struct ntk_err err = { 0 };
    struct ntk_ring_process process;
    bool is_there = false;

    assert_true(ntk_ring_registry_poll(registry, NULL, &err) >= 0);
    for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);
        ntk_ring_segment_process(segment, &process);
        if (process.pid != (uint32_t)pid) {
            continue;
        }
        *out = (struct job_look){ 0 };
        out->state = ntk_ring_segment_state(segment);
        out->own_pid = (pid_t)process.own_pid;
        out->is_clean = process.clean_exit;
        size_t count = ntk_ring_segment_cores(segment, cores, NTK_SEGMENT_CORES);
        for (size_t k = 0; k < count; k++) {
            out->in_flight += cores[k].in_flight;
            out->completed += cores[k].counters.outcome[NTK_OUTCOME_COMPLETED];
        }
        is_there = true;
        if (out->state == NTK_SEGMENT_ALIVE) {
            break;
        }
    }
    return is_there;
}

unsigned int job_means_there_are(void)
{
    return there_are;
}

/* ---- comparisons ---- */

static size_t complaints;
static char current[128]; /* which job, by which means */

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    char text[2048];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    print_error("%s: %s\n", current, text);
    complaints++;
}

static void same(const char *what, const char *name, uint64_t reported, uint64_t seen)
{
    if (reported != seen) {
        complain("%s %s: the client counts %llu, its segment %llu", what, name,
                 (unsigned long long)reported, (unsigned long long)seen);
    }
}

static void process_check(const struct counted *reported, const struct counted *seen)
{
    static const char *const outcome_names[] = {
#define NTK_OUTCOME(id, symbol, key, text) [id] = #symbol,
#include "shared/abi/core_counts.def"
    };
    static const char *const status_names[] = {
#define NTK_STATUS(id, symbol, status_folder, datastore_id) [id] = #symbol,
#include "shared/abi/status.def"
#undef NTK_STATUS
    };

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        same("outcome", outcome_names[i], reported->outcome[i], seen->outcome[i]);
    }
    for (size_t i = 0; i < NTK_STATUS_COUNT; i++) {
        same("status", status_names[i], reported->status[i], seen->status[i]);
    }
    same("number of", "tensors", reported->tensors, seen->tensors);
    same("bytes of", "tensors", reported->tensor_bytes, seen->tensor_bytes);
    same("number of", "models", reported->models, seen->models);
    same("number of", "executions in progress", reported->in_flight, seen->in_flight);
}

static void texts_compare(const char *what, const char *plain, const char *with)
{
    if (strcmp(plain, with) != 0) {
        complain("%s is '%s', and '%s' without us", what, with, plain);
    }
}

static void job_check_means(const struct job *job, const struct test_run *plain, unsigned int means)
{
    static struct processes reported;
    static struct processes seen;
    struct test_run run = job_run(job, means);

    segments_read(&seen);
    output_take(run.out, &reported);
    texts_compare("stderr", plain->err, run.err);
    if (!job->is_random) {
        texts_compare("stdout", plain->out, run.out);
    }
    if (run.exit_code != job->exit_code) {
        complain("the exit code is %d, and %d without us", run.exit_code, job->exit_code);
    }
    test_run_fini(&run);
    if (means & job->unseen) {
        if (seen.count > 0) {
            complain("%zu processes are visible, of a job that must not be", seen.count);
        }
        return;
    }
    for (size_t i = 0; i < reported.count; i++) {
        if (reported.one[i].models > 0) {
            process_check(&reported.one[i], process_of(&seen, reported.one[i].pid));
        }
    }
    size_t reported_count = reported.count;
    for (size_t i = 0; i < seen.count; i++) {
        (void)process_of(&reported, seen.one[i].pid);
    }
    if (reported.count > reported_count) {
        complain("%zu processes have a segment and are not clients",
                 reported.count - reported_count);
    }
}

void jobs_check(const struct job *jobs, size_t count)
{
    static const enum job_means all[] = { JOB_CORE, JOB_PRELOAD, JOB_AUDIT };

    complaints = 0;
    for (size_t i = 0; i < count; i++) {
        static struct processes reported;
        unsigned int means = (jobs[i].means ? jobs[i].means : JOB_ALL) & there_are;

        (void)snprintf(current, sizeof current, "%s, plain", jobs[i].name);
        struct test_run plain = job_run(&jobs[i], 0);
        output_take(plain.out, &reported);
        segments_read(&reported); /* from a runtime with built-in hooks */
        if (plain.exit_code != jobs[i].exit_code) {
            complain("the exit code is %d: %s", plain.exit_code, plain.err);
        }
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            if (means & all[k]) {
                (void)snprintf(current, sizeof current, "%s, %s", jobs[i].name, means_name(all[k]));
                job_check_means(&jobs[i], &plain, all[k]);
            }
        }
        test_run_fini(&plain);
    }
    assert_int_equal(complaints, 0);
}

/* ---- the machine ---- */

static bool library_is_there(const char *name)
{
    char *path = test_scratch_path(getenv("NTK_LIB_DIR"), name);
    bool is_there = access(path, R_OK) == 0;

    free(path);
    return is_there;
}

static void model_make(const char *name)
{
    char *path = test_scratch_path(folder, name);
    char *file = NULL;

    assert_true(asprintf(&file, "%s.neff", path) > 0);
    const char *argv[] = { "neuron-packager", "example", name, "-o", file, NULL };
    struct test_run run = test_run_program(argv, NULL);
    assert_int_equal(run.exit_code, 0);
    test_run_fini(&run);
    free(file);
    free(path);
}

int job_setup(void **state)
{
    there_are |= library_is_there("libneuron-hooks.so") ? JOB_PRELOAD : 0;
    there_are |= library_is_there("libneuron-hooks-audit.so") ? JOB_AUDIT : 0;

    struct ntk_ring_options options = { .reap = true };
    struct ntk_err err = { 0 };

    test_scratch_in_memory();
    folder = test_scratch_create();
    char *hooks = test_scratch_path(folder, "hooks");
    if (asprintf(&hooks_variable, "NEURON_HOOKS_DIR=%s", hooks) < 0) {
        return -1;
    }
    char *adder = test_scratch_path(folder, "adder.neff");
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&(struct test_model_options){ 0 }, &bytes);
    if (ntk_fs_write(adder, neff, bytes, &err) < 0) {
        return -1;
    }
    free(neff);
    free(adder);
    model_make("nan");
    model_make("oob");
    model_make("deadlock");
    model_make("spin");
    options.folder = hooks;
    /* The first round marks the folder: processes that end before they were seen leave their
     * counts. */
    int ret = ntk_ring_registry_open(&options, &registry, &err);
    if (ret >= 0) {
        ret = ntk_ring_registry_poll(registry, NULL, &err);
    }
    free(hooks);
    return ret < 0 ? -1 : 0;
}

int job_teardown(void **state)
{
    ntk_ring_registry_close(registry);
    free(hooks_variable);
    test_scratch_destroy(folder);
    return 0;
}
