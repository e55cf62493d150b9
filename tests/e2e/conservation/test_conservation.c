/* SPDX-License-Identifier: MIT */
/* Databases hold exactly what processes execute, per process, whichever processes and agents are
 * killed and when. The processes count their executions in memory that no agent reads. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/observed_mlp.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define WRITERS 4 /* at once */
#define JOBS_MAX 400
#define ROUND_NS (5 * NTK_NS_PER_SECOND)
#define AGENTS 2

/* The independent count: at most one execution falls between the two counters when a process is
 * killed. */
struct job {
    pid_t pid;
    _Atomic uint64_t begun;
    _Atomic uint64_t done;
    bool runs;
};

struct agent {
    const char *db; /* NULL: keeps nothing */
    char *path;
    bool is_killed; /* repeatedly */
    pid_t pid;      /* 0: a gap */
    uint64_t next_ns;
};

struct fixture {
    struct agent agents[AGENTS];
    char *folder;
    char *hooks;
    char *environment[2];
    struct job *jobs;
    size_t job_count;
    unsigned int seed;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char text[1024];

    test_scratch_in_memory();
    f->folder = test_scratch_create();
    f->hooks = test_scratch_path(f->folder, "hooks");
    (void)snprintf(text, sizeof text, "NEURON_HOOKS_DIR=%s", f->hooks);
    f->environment[0] = strdup(text);
    (void)setenv("NEURON_HOOKS_DIR", f->hooks, 1);
    f->jobs = mmap(NULL, JOBS_MAX * sizeof *f->jobs, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f->jobs == MAP_FAILED) {
        return -1;
    }
    f->seed = (unsigned int)time(NULL);
    print_message("seed %u\n", f->seed);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    /* Runs after a failed assertion, too. */
    for (size_t i = 0; i < f->job_count; i++) {
        if (f->jobs[i].runs) {
            (void)test_stop_program(f->jobs[i].pid, SIGKILL);
        }
    }
    for (size_t i = 0; i < AGENTS; i++) {
        if (f->agents[i].pid != 0) {
            (void)test_stop_program(f->agents[i].pid, SIGKILL);
        }
        free(f->agents[i].path);
    }
    munmap(f->jobs, JOBS_MAX * sizeof *f->jobs);
    test_scratch_destroy(f->folder);
    free(f->environment[0]);
    free(f->hooks);
    free(f);
    return 0;
}

static unsigned int random_below(struct fixture *f, unsigned int bound)
{
    f->seed = f->seed * 1103515245u + 12345u;
    return (f->seed >> 16) % bound;
}

static void pause_us(unsigned int us)
{
    const struct timespec pause = { us / 1000000, (long)(us % 1000000) * 1000 };

    (void)nanosleep(&pause, NULL);
}

/* ---- jobs ---- */

static void run_job(struct job *job, unsigned int executions, unsigned int pause)
{
    struct ntk_hooks_model_ref ref;

    if (observed_mlp_begin(&ref) < 0) {
        _exit(3);
    }
    for (unsigned int i = 0; i < executions; i++) {
        atomic_fetch_add(&job->begun, 1);
        observed_mlp_execute(ref, i + 1, 0);
        atomic_fetch_add(&job->done, 1);
        if (i % 16 == 0) {
            pause_us(pause);
        }
    }
    ntk_hooks_detach();
    _exit(0);
}

static void start_job(struct fixture *f)
{
    struct job *job = &f->jobs[f->job_count++];
    unsigned int executions = random_below(f, 4) == 0 ? random_below(f, 50) : random_below(f, 5000);
    unsigned int pause = random_below(f, 3000);

    pid_t pid = fork();
    if (pid == 0) {
        run_job(job, executions, pause);
    }
    job->pid = pid;
    job->runs = pid > 0;
}

static unsigned int reap_jobs(struct fixture *f)
{
    unsigned int running = 0;

    for (size_t i = 0; i < f->job_count; i++) {
        if (f->jobs[i].runs && waitpid(f->jobs[i].pid, NULL, WNOHANG) == f->jobs[i].pid) {
            f->jobs[i].runs = false;
        }
        running += f->jobs[i].runs;
    }
    return running;
}

static void kill_a_job(struct fixture *f)
{
    struct job *job = &f->jobs[random_below(f, (unsigned int)f->job_count)];

    if (job->runs) {
        (void)kill(job->pid, SIGKILL);
    }
}

/* ---- agents ---- */

static void start_agent(struct fixture *f, struct agent *agent)
{
    const char *kept[] = { "neuron-monitor", "--quiet", "--period",  "200ms",
                           "--no-imds",      "--db",    agent->path, NULL };
    const char *plain[] = { "neuron-monitor", "--period", "200ms", "--no-imds", NULL };

    agent->pid =
        test_start_program(agent->db ? kept : plain, (const char *const *)f->environment, NULL);
}

static void disturb_agent(struct fixture *f, struct agent *agent)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();

    if (now_ns < agent->next_ns || !agent->is_killed) {
        return;
    }
    if (agent->pid != 0) {
        (void)test_stop_program(agent->pid, SIGKILL);
        agent->pid = 0;
        agent->next_ns = now_ns + random_below(f, 700) * NTK_NS_PER_MS;
    } else {
        start_agent(f, agent);
        agent->next_ns = now_ns + (200 + random_below(f, 900)) * NTK_NS_PER_MS;
    }
}

/* ---- requirements ---- */

/* The number from the query; -1: not available yet. */
static int64_t answer_of(const struct agent *agent, const char *query)
{
    char command[1024];
    char text[64] = "";
    FILE *pipe;

    (void)snprintf(command, sizeof command, "sqlite3 -readonly '%s' '%s' 2>/dev/null", agent->path,
                   query);
    pipe = popen(command, "r");
    if (pipe == NULL) {
        return -1;
    }
    char *line = fgets(text, sizeof text, pipe);
    (void)pclose(pipe);
    return line ? strtoll(text, NULL, 10) : -1;
}

static int64_t stored_of(const struct agent *agent, pid_t pid)
{
    char query[512];

    (void)snprintf(query, sizeof query,
                   "SELECT (SELECT coalesce(sum(completed), 0) FROM execution_sample"
                   "  JOIN process USING (process_id) WHERE header_pid = %d) +"
                   " (SELECT coalesce(sum(completed), 0) FROM unwatched"
                   "  JOIN process USING (process_id) WHERE header_pid = %d)",
                   (int)pid, (int)pid);
    return answer_of(agent, query);
}

/* Its mark is in the folder by then. */
static int has_looked(void *ctx)
{
    return answer_of(ctx, "SELECT count(*) FROM machine_sample") > 0;
}

struct lookup {
    struct fixture *f;
    struct agent *agent;
    bool tells;
};

static int is_conserved(void *ctx)
{
    const struct lookup *lookup = ctx;
    int all = 1;

    for (size_t i = 0; i < lookup->f->job_count; i++) {
        const struct job *job = &lookup->f->jobs[i];
        int64_t stored = stored_of(lookup->agent, job->pid);

        if (stored < (int64_t)job->done || stored > (int64_t)job->begun) {
            all = 0;
            if (!lookup->tells) {
                return 0;
            }
            print_message("%s: process %d executed %" PRIu64 " to %" PRIu64 ", stored %" PRId64
                          "\n",
                          lookup->agent->db, (int)job->pid, job->done, job->begun, stored);
        }
    }
    return all;
}

static void run(struct fixture *f, const struct agent what[AGENTS])
{
    struct agent *agents = f->agents;

    for (size_t i = 0; i < AGENTS; i++) {
        agents[i] = what[i];
        agents[i].path = test_scratch_path(f->folder, agents[i].db ? agents[i].db : "none");
        start_agent(f, &agents[i]);
        if (agents[i].db) {
            assert_true(test_wait_until(has_looked, &agents[i]));
        }
    }
    uint64_t end_ns = ntk_clock_monotonic_ns() + ROUND_NS;
    while (ntk_clock_monotonic_ns() < end_ns) {
        if (reap_jobs(f) < WRITERS && f->job_count < JOBS_MAX && random_below(f, 10) == 0) {
            start_job(f);
        }
        if (f->job_count > 0 && random_below(f, 40) == 0) {
            kill_a_job(f);
        }
        for (size_t i = 0; i < AGENTS; i++) {
            disturb_agent(f, &agents[i]);
        }
        pause_us(5000);
    }
    while (reap_jobs(f) > 0) {
        kill_a_job(f);
        pause_us(1000);
    }
    for (size_t i = 0; i < AGENTS; i++) {
        if (agents[i].pid == 0) {
            start_agent(f, &agents[i]);
        }
    }
    for (size_t i = 0; i < AGENTS; i++) {
        struct lookup lookup = { .f = f, .agent = &agents[i] };
        uint64_t begun = 0;

        if (agents[i].db) {
            (void)test_wait_until(is_conserved, &lookup);
            lookup.tells = true;
            assert_true(is_conserved(&lookup));
            for (size_t k = 0; k < f->job_count; k++) {
                begun += f->jobs[k].begun;
            }
            print_message("%s: %zu processes, %" PRIu64 " executions\n", agents[i].db, f->job_count,
                          begun);
        }
    }
    for (size_t i = 0; i < AGENTS; i++) {
        (void)test_stop_program(agents[i].pid, SIGTERM);
        agents[i].pid = 0;
    }
}

/* A second agent stores nothing, and must not remove what the first has yet to count. */
static void counts_are_complete_when_agents_and_processes_are_killed(void **state)
{
    const struct agent agents[AGENTS] = { { .db = "a.db", .is_killed = true },
                                          { .is_killed = true } };

    run(*state, agents);
}

static void two_agents_both_count_every_execution(void **state)
{
    const struct agent agents[AGENTS] = { { .db = "a.db" }, { .db = "b.db" } };

    run(*state, agents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_complete_when_agents_and_processes_are_killed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(two_agents_both_count_every_execution, setup, teardown),
    };

    if (system("command -v sqlite3 >/dev/null") != 0) {
        return test_skip("sqlite3 is missing");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
