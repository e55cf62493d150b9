/* SPDX-License-Identifier: MIT */
/*
 * bench_ranks - how well and how soon slow ranks are found: real jobs of two to eight ranks on
 * software cores, each with the fault that its seed selects, watched from outside by the code of
 * the agent and of neuron-monitor slow.
 *
 * A rank is a process: each step it reads for a while, executes a model and waits for its device
 * time (NEURON_SOFT_PACE=1), then gathers with the others. Faults are those of NEURON_SOFT_FAULT; a
 * slow host is a rank that reads longer. The verdict that counts is that of a window of 30 steps.
 * The number of steps until the first verdict names the rank is measured by a check every second
 * step.
 *
 * In some jobs all ranks become slower together after 50 steps, and are watched for 50 more. There
 * the change must be reported and no rank named; in all other jobs no change may be reported.
 *
 * Precision: the injected share of what was reported (a rank, or that all are slower). Recall: the
 * reported share of what was injected. BENCH_CASES sets the number of seeds (default 500),
 * BENCH_SEED the first one (default 1).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "shared/base/clock.h"
#include "shared/collect/collect.h"
#include "shared/metrics/ranks_change.h"
#include "shared/metrics/ranks_pace.h"
#include "tests/bench/rounds.h"
#include "tests/support/models.h"
#include "tests/support/scratch.h"

#define CASES 500u
#define RANKS_MAX 8u
#define WINDOW_STEPS 30
#define STEPS_A_LOOK 2
#define WARM_UP 3
#define CHANGE_STEP 50 /* after this step all ranks are slower, where that is injected */
#define CHANGE_WINDOW_STEPS 100
#define BYTES 4096u
/* The link fault counts an operation of one page as this long (docs/faults.md). */
#define LINK_NS 15328.0

enum injected {
    NOTHING,
    SLOW_CORE,
    SLOW_MEMORY,
    SLOW_HOST,
    SLOW_LINK,
    JITTER,
    PAUSE,
    HALF,
    ALL_CORES,
    ALL_HOSTS,
    ALL_LINKS,
    KINDS
};

static const struct {
    const char *name;
    bool is_slow;              /* one rank is to be named ... */
    enum ntk_pace_where where; /* ... with this cause */
    bool is_slower;            /* all ranks become slower */
    enum ntk_change_where change;
} kinds[KINDS] = {
    [NOTHING] = { "nothing", false, NTK_PACE_UNKNOWN },
    [SLOW_CORE] = { "slow core", true, NTK_PACE_CORE },
    [SLOW_MEMORY] = { "slow HBM", true, NTK_PACE_MEMORY },
    [SLOW_HOST] = { "slow host", true, NTK_PACE_HOST },
    [SLOW_LINK] = { "slow link", true, NTK_PACE_LINK },
    [JITTER] = { "jitter of all", false, NTK_PACE_UNKNOWN },
    [PAUSE] = { "one pause", false, NTK_PACE_UNKNOWN },
    [HALF] = { "half are slow", false, NTK_PACE_UNKNOWN },
    [ALL_CORES] = { "all cores, later", .is_slower = true, .change = NTK_CHANGE_EXECUTION },
    [ALL_HOSTS] = { "all hosts, later", .is_slower = true, .change = NTK_CHANGE_OUTSIDE },
    [ALL_LINKS] = { "all links, later", .is_slower = true, .change = NTK_CHANGE_COLLECTIVES },
};

struct job {
    uint64_t seed;
    uint32_t ranks, struck;
    enum injected kind;
    uint32_t core_steps; /* of TEST_MODEL_STEP_NS */
    uint64_t host_ns;
    double size; /* of what is injected, in steps */
};

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

static struct job job_of(uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
    struct job job = { .seed = seed };

    (void)uniform(&state);
    job.kind = (enum injected)(uniform(&state) * KINDS);
    job.ranks = 2 + (uint32_t)(uniform(&state) * (RANKS_MAX - 1));
    job.ranks = job.kind == HALF && job.ranks < 4 ? 4 : job.ranks;
    job.struck = (uint32_t)(uniform(&state) * job.ranks);
    job.core_steps = 8 + (uint32_t)(uniform(&state) * 10);
    job.host_ns = (uint64_t)((0.5 + 2 * uniform(&state)) * 1e6);
    job.size = 0.3 + 1.5 * uniform(&state);
    return job;
}

static double step_ns(const struct job *job)
{
    return (double)job->core_steps * TEST_MODEL_STEP_NS + TEST_MODEL_MOVE_NS + (double)job->host_ns;
}

/* ---- a rank ---------------------------------------------------------------------------------- */

static void check(NRT_STATUS status, const char *what)
{
    char cause[128];

    (void)snprintf(cause, sizeof cause, "%s: status %d", what, (int)status);
    rounds_require(status == NRT_SUCCESS, cause);
}

static void fault_set(const struct job *job, uint32_t rank)
{
    bool is_struck = job->kind == HALF ? rank % 2 == 1 : rank == job->struck;
    double more_ns = job->size * step_ns(job);
    int from = kinds[job->kind].is_slower ? WARM_UP + CHANGE_STEP : 1;
    uint64_t seed = job->seed * 64 + rank;
    char text[128] = "";

    if (job->kind == JITTER) {
        (void)snprintf(text, sizeof text, "jitter:from=1,time=%lluns,seed=%llu",
                       (unsigned long long)more_ns, (unsigned long long)seed);
    } else if (job->kind == ALL_CORES ||
               (is_struck && (job->kind == SLOW_CORE || job->kind == HALF))) {
        double factor = 1 + more_ns / ((double)job->core_steps * TEST_MODEL_STEP_NS);

        (void)snprintf(text, sizeof text, "slow-core:from=%d,factor=%.3f", from, factor);
    } else if (is_struck && job->kind == SLOW_MEMORY) {
        (void)snprintf(text, sizeof text, "slow-hbm:from=%d,factor=%.3f", from,
                       1 + more_ns / TEST_MODEL_MOVE_NS);
    } else if (job->kind == ALL_LINKS || (is_struck && job->kind == SLOW_LINK)) {
        (void)snprintf(text, sizeof text, "slow-link:from=%d,factor=%.3f", from,
                       1 + more_ns / LINK_NS);
    } else if (is_struck && job->kind == PAUSE) {
        (void)snprintf(text, sizeof text, "pause:at=%d,time=%lluns", WARM_UP + WINDOW_STEPS / 2,
                       (unsigned long long)(8 * more_ns));
    }
    if (text[0]) {
        setenv("NEURON_SOFT_FAULT", text, 1);
    }
}

static nrt_tensor_set_t *set_of(const char *name, size_t bytes)
{
    nrt_tensor_set_t *set = NULL;
    nrt_tensor_t *tensor = NULL;

    check(nrt_allocate_tensor_set(&set), "nrt_allocate_tensor_set");
    check(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, bytes, name, &tensor),
          "nrt_tensor_allocate");
    check(nrt_add_tensor_to_tensor_set(set, name, tensor), "nrt_add_tensor_to_tensor_set");
    return set;
}

static void read_for(uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / NTK_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % NTK_NS_PER_SECOND) };

    (void)nanosleep(&time, NULL);
}

/* Runs until it is killed; reports on `ready` once its job is running. */
static void rank_run(const struct job *job, uint32_t rank, int ready)
{
    static char own[BYTES];
    static char all[RANKS_MAX * BYTES];
    size_t bytes = 0;
    uint8_t *neff = test_model_moving(job->core_steps, &bytes);
    uint64_t host_ns = job->host_ns;
    nrt_model_t *model = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    fault_set(job, rank);
    if (job->kind == SLOW_HOST && rank == job->struck) {
        host_ns += (uint64_t)(job->size * step_ns(job));
    }
    check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "nrt_init");
    check(nrt_load(neff, bytes, 0, 1, &model), "nrt_load");
    nrt_tensor_set_t *inputs = set_of("x", 2 * (size_t)TEST_MODEL_MOVED_BYTES);
    nrt_tensor_set_t *outputs = set_of("y", TEST_MODEL_MOVED_BYTES);
    for (unsigned i = 0;; i++) {
        bool is_late = job->kind == ALL_HOSTS && i >= WARM_UP + CHANGE_STEP;

        read_for(host_ns + (is_late ? (uint64_t)(job->size * step_ns(job)) : 0));
        check(nrt_execute(model, inputs, outputs), "nrt_execute");
        check(nrt_all_gather(0, rank, job->ranks, BYTES, own, all), "nrt_all_gather");
        rounds_require(i + 1 != WARM_UP || write(ready, "", 1) == 1, "a pipe");
    }
}

/* ---- the observed job ------------------------------------------------------------------------ */

struct found {
    bool has_verdict;
    int64_t rank; /* -1: none is slow */
    enum ntk_pace_where where;
    unsigned steps; /* to the first correct name, or since the change; 0: none */
    bool is_slower; /* the verdict at some point was that all are slower */
    enum ntk_change_where change;
};

static bool has_slow(struct ntk_pace *pace, struct found *found)
{
    const struct ntk_pace_verdict *verdict = pace->verdicts.items;

    found->rank = -1;
    found->has_verdict = pace->verdicts.count == 1 && verdict->seen >= 2;
    if (found->has_verdict && verdict->slow) {
        found->rank = verdict->slow->rank;
        found->where = verdict->where;
    }
    return found->rank >= 0;
}

/* Checks every second step; the window ends after this number of operations per rank. */
static struct found watch(const struct job *job)
{
    const struct ntk_collector_options options = { .no_events = true, .no_latency = true };
    struct ntk_collector *collector = NULL;
    struct found found = { 0 };
    struct ntk_pace pace;
    struct ntk_err err = { 0 };
    uint64_t operations = 0;
    uint64_t steps = kinds[job->kind].is_slower ? CHANGE_WINDOW_STEPS : WINDOW_STEPS;
    struct ntk_change change;
    double look_ns = step_ns(job) *
                     (1 + (job->kind == NOTHING || kinds[job->kind].is_slower ? 0 : job->size)) *
                     STEPS_A_LOOK;

    ntk_pace_init(&pace);
    ntk_change_init(&change);
    rounds_require(ntk_collector_create(&options, &collector, &err) == 0, err.text);
    while (operations < steps) {
        struct ntk_snapshot *snapshot = NULL;

        read_for((uint64_t)look_ns);
        rounds_require(ntk_collector_poll(collector, &snapshot, &err) == 0, err.text);
        rounds_require(ntk_pace_add(&pace, snapshot, "") >= 0 && ntk_pace_judge(&pace) >= 0 &&
                           ntk_change_add(&change, snapshot) >= 0,
                       "out of memory");
        operations = pace.ranks.count > 0 ? UINT64_MAX : 0;
        ntk_vec_each(struct ntk_pace_rank, rank, &pace.ranks) {
            operations = rank->operations < operations ? rank->operations : operations;
        }
        if (has_slow(&pace, &found) && found.steps == 0 && found.rank == job->struck) {
            found.steps = (unsigned)operations;
        }
        if (change.verdicts.count > 0 && !found.is_slower) {
            found.is_slower = true;
            found.change = ((const struct ntk_change_verdict *)change.verdicts.items)->where;
            if (kinds[job->kind].is_slower && operations > CHANGE_STEP) {
                found.steps = (unsigned)operations - CHANGE_STEP;
            }
        }
        ntk_snapshot_destroy(snapshot);
    }
    ntk_change_fini(&change);
    ntk_pace_fini(&pace);
    ntk_collector_destroy(collector);
    return found;
}

static struct found job_run(const struct job *job)
{
    char *folder = test_scratch_create();
    struct found found = { 0 };
    pid_t pids[RANKS_MAX];
    char text[32];
    int ready[2];
    char byte;

    setenv("NEURON_HOOKS_DIR", folder, 1);
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", 1024 + (unsigned)(job->seed % 60000));
    setenv("NEURON_RT_ROOT_COMM_ID", text, 1);
    rounds_require(pipe(ready) == 0, "no pipe");
    for (uint32_t i = 0; i < job->ranks; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            (void)close(ready[0]);
            rank_run(job, i, ready[1]);
        }
    }
    (void)close(ready[1]);
    uint32_t going = 0;
    while (going < job->ranks && read(ready[0], &byte, 1) == 1) {
        going++;
    }
    (void)close(ready[0]);
    if (going == job->ranks) {
        found = watch(job);
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        (void)kill(pids[i], SIGKILL);
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        (void)waitpid(pids[i], NULL, 0);
    }
    test_scratch_destroy(folder);
    return found;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct tally {
    unsigned cases, named, right, right_where;
    unsigned slower; /* a verdict that all are slower */
    unsigned steps[CASES * 4], change_steps[CASES * 4];
    size_t step_count, change_step_count;
};

static unsigned number_of(const char *name, unsigned usual)
{
    const char *text = getenv(name);

    return text && text[0] ? (unsigned)strtoul(text, NULL, 10) : usual;
}

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a;
    unsigned y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

static void case_add(const struct job *job, const struct found *found, struct tally *tally)
{
    bool is_right_rank = kinds[job->kind].is_slow && found->rank == job->struck;
    bool is_right_change = kinds[job->kind].is_slower && found->is_slower;
    bool is_expected = (found->rank >= 0) == kinds[job->kind].is_slow &&
                       found->is_slower == kinds[job->kind].is_slower;

    tally->cases++;
    tally->named += found->rank >= 0;
    tally->slower += found->is_slower;
    tally->right += is_right_rank + is_right_change;
    tally->right_where += (is_right_rank && found->where == kinds[job->kind].where) +
                          (is_right_change && found->change == kinds[job->kind].change);
    if (is_right_change && found->steps > 0 && tally->change_step_count < CASES * 4) {
        tally->change_steps[tally->change_step_count++] = found->steps;
    }
    if (kinds[job->kind].is_slow && found->steps > 0 && tally->step_count < CASES * 4) {
        tally->steps[tally->step_count++] = found->steps;
    }
    if (getenv("BENCH_VERBOSE") && !is_expected) {
        printf("seed %llu: %s of rank %u of %u, %.2f of a step of %.1f ms: named %lld%s\n",
               (unsigned long long)job->seed, kinds[job->kind].name, job->struck, job->ranks,
               job->size, step_ns(job) / 1e6, (long long)found->rank,
               found->is_slower ? ", all slower" : "");
    }
}

int main(int argc, char **argv)
{
    static struct tally tallies[KINDS];
    static struct tally all;
    unsigned cases = number_of("BENCH_CASES", ROUNDS_SIZE(CASES, 1));
    unsigned first = number_of("BENCH_SEED", 1);
    unsigned injected = 0;
    unsigned lost = 0;

    rounds_options(argc, argv);
    test_scratch_in_memory();
    setenv("NEURON_SOFT_INSTANCE", "trn1.32xlarge", 1);
    setenv("NEURON_SOFT_PACE", "1", 1);
    setenv("NEURON_RT_NUM_CORES", "1", 1);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    unsetenv("NEURON_RT_VISIBLE_CORES");
    for (unsigned i = 0; i < cases; i++) {
        struct job job = job_of(first + i);
        struct found found = job_run(&job);

        if (!found.has_verdict) {
            lost++; /* it did not start, or reported too little */
            continue;
        }
        case_add(&job, &found, &tallies[job.kind]);
        case_add(&job, &found, &all);
        injected += kinds[job.kind].is_slow || kinds[job.kind].is_slower;
    }
    printf("%-16s %6s %6s %6s %6s %6s\n", "injected", "cases", "named", "slower", "right", "cause");
    for (int k = 0; k < KINDS; k++) {
        printf("%-16s %6u %6u %6u %6u %6u\n", kinds[k].name, tallies[k].cases, tallies[k].named,
               tallies[k].slower, tallies[k].right, tallies[k].right_where);
    }
    qsort(all.steps, all.step_count, sizeof all.steps[0], compare);
    rounds_print_value("cases that were judged", all.cases, "", cases, 1);
    rounds_print_value("cases with too few reports", lost, "", 0, 0);
    rounds_print_value("precision",
                       all.named + all.slower ? (double)all.right / (all.named + all.slower) : 0,
                       "", 0.99, 1);
    rounds_print_value("recall", injected ? (double)all.right / injected : 0, "", 0.95, 1);
    rounds_print_value("right cause, of those that were right",
                       all.right ? (double)all.right_where / all.right : 0, "", 0.95, 1);
    if (all.step_count == 0) {
        rounds_print_missing("steps to the first right name, median", "no rank was named");
    } else {
        size_t most = all.step_count * 95 / 100;
        size_t middle = all.step_count / 2;

        rounds_print_value("steps to the first right name, median", all.steps[middle], "", 10, 0);
        rounds_print_value("the same, 95th percentile", all.steps[most], "", 0, 0);
    }
    qsort(all.change_steps, all.change_step_count, sizeof all.change_steps[0], compare);
    if (all.change_step_count > 0) {
        size_t middle = all.change_step_count / 2;
        size_t most = all.change_step_count * 95 / 100;

        rounds_print_value("steps from a change of all to its telling, median",
                           all.change_steps[middle], "", 0, 0);
        rounds_print_value("the same, 95th percentile", all.change_steps[most], "", 0, 0);
    }
    return rounds_result();
}
