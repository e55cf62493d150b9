/* SPDX-License-Identifier: MIT */
/* day_jobs - processes that execute on command and count that themselves. */
#include "tests/e2e/day/day_jobs.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/observed_mlp.h"
#include "tests/support/process.h"

enum { SLOTS = DAY_JOBS_AT_ONCE };

struct slot {
    sem_t go, done;
    unsigned executions; /* to do; 0: end */
    char tag[32];
    bool runs, is_killed;
    pid_t pid;
};

/* Shared by the test, the helper and all jobs. */
struct shared {
    sem_t go, done; /* of the helper */
    size_t slot;    /* of the job that begins or ends */
    bool is_over;
    _Atomic uint64_t executed;
    struct slot slots[SLOTS];
};

struct day_jobs {
    struct shared *shared;
    pid_t helper;
    size_t begun;
};

static void await(sem_t *semaphore)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(test_patience_ns() / NTK_NS_PER_SECOND) + 1;
    while (sem_timedwait(semaphore, &until) < 0) {
        if (errno != EINTR) {
            (void)fprintf(stderr, "a job does not answer\n");
            abort();
        }
    }
}

/* -- in the helper and its jobs ---------------------------------------------------------------- */

static void wait_for_command(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0 && errno == EINTR) {
    }
}

static void run_job(struct shared *shared, struct slot *slot)
{
    struct ntk_hooks_model_ref ref;
    uint64_t id = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setenv("NEURON_HOOKS_MEMORY", "1M", 1); /* many at once, and few events each */
    if (slot->tag[0]) {
        (void)setenv("NEURON_PROCESS_TAG", slot->tag, 1);
    }
    if (observed_mlp_begin(&ref) < 0) {
        _exit(3);
    }
    (void)sem_post(&slot->done);
    for (;;) {
        wait_for_command(&slot->go);
        if (slot->executions == 0) {
            break;
        }
        for (unsigned i = 0; i < slot->executions; i++) {
            observed_mlp_execute(ref, ++id, 0);
            atomic_fetch_add(&shared->executed, 1);
        }
        (void)sem_post(&slot->done);
    }
    ntk_hooks_detach();
    _exit(0);
}

static void help(struct shared *shared)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        wait_for_command(&shared->go);
        if (shared->is_over) {
            _exit(0);
        }
        struct slot *slot = &shared->slots[shared->slot];
        if (slot->runs) {
            int status = 0;
            if (slot->is_killed) {
                (void)kill(slot->pid, SIGKILL);
            } else {
                slot->executions = 0;
                (void)sem_post(&slot->go);
            }
            if (waitpid(slot->pid, &status, 0) != slot->pid || (!slot->is_killed && status != 0)) {
                _exit(1); /* the test times out with a message */
            }
            slot->runs = false;
        } else {
            slot->runs = true;
            pid_t pid = fork();
            if (pid == 0) {
                run_job(shared, slot);
            }
            slot->pid = pid; /* only here: the slot is shared */
        }
        (void)sem_post(&shared->done);
    }
}

/* -- in the test ------------------------------------------------------------------------------- */

struct day_jobs *day_jobs_start(void)
{
    struct day_jobs *jobs = calloc(1, sizeof *jobs);

    if (!jobs) {
        abort();
    }
    jobs->shared =
        mmap(NULL, sizeof *jobs->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (jobs->shared == MAP_FAILED || sem_init(&jobs->shared->go, 1, 0) < 0 ||
        sem_init(&jobs->shared->done, 1, 0) < 0) {
        abort();
    }
    for (size_t i = 0; i < SLOTS; i++) {
        (void)sem_init(&jobs->shared->slots[i].go, 1, 0);
        (void)sem_init(&jobs->shared->slots[i].done, 1, 0);
    }
    jobs->helper = fork();
    if (jobs->helper == 0) {
        help(jobs->shared);
    }
    return jobs;
}

void day_jobs_stop(struct day_jobs *jobs)
{
    if (!jobs) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (jobs->shared->slots[i].runs) {
            day_jobs_end(jobs, i, true);
        }
    }
    jobs->shared->is_over = true;
    (void)sem_post(&jobs->shared->go);
    (void)waitpid(jobs->helper, NULL, 0);
    (void)munmap(jobs->shared, sizeof *jobs->shared);
    free(jobs);
}

bool day_jobs_runs(const struct day_jobs *jobs, size_t slot)
{
    return jobs->shared->slots[slot].runs;
}

void day_jobs_begin(struct day_jobs *jobs, size_t slot, const char *tag)
{
    struct slot *begun = &jobs->shared->slots[slot];

    (void)snprintf(begun->tag, sizeof begun->tag, "%s", tag ? tag : "");
    /* A killed job may have left its semaphores raised. */
    (void)sem_init(&begun->go, 1, 0);
    (void)sem_init(&begun->done, 1, 0);
    jobs->begun++;
    jobs->shared->slot = slot;
    (void)sem_post(&jobs->shared->go);
    await(&jobs->shared->done);
    await(&begun->done);
}

void day_jobs_execute(struct day_jobs *jobs, size_t slot, unsigned executions)
{
    struct slot *busy = &jobs->shared->slots[slot];

    busy->executions = executions;
    (void)sem_post(&busy->go);
    await(&busy->done);
}

void day_jobs_end(struct day_jobs *jobs, size_t slot, bool is_killed)
{
    jobs->shared->slots[slot].is_killed = is_killed;
    jobs->shared->slot = slot;
    (void)sem_post(&jobs->shared->go);
    await(&jobs->shared->done);
}

uint64_t day_jobs_executed(const struct day_jobs *jobs)
{
    return atomic_load(&jobs->shared->executed);
}

size_t day_jobs_begun(const struct day_jobs *jobs)
{
    return jobs->begun;
}
