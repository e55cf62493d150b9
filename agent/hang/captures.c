/* SPDX-License-Identifier: MIT */
#include "agent/hang/captures.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hang/captures_room.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/metrics/percentile.h"

#define MODULE "captures"
#define EVERY_NS (600 * NTK_NS_PER_SECOND)
#define FAILED_SHARE 10        /* after a failed capture, this fraction of the interval */
#define P99_EXECUTIONS_MIN 20U /* minimum per period; with fewer executions, the slowest is used */
#define RUNS_MAX 8             /* maximum number of simultaneous runs, one per user */
/* Maximum number of users with a budget; beyond it, the user who was idle longest is replaced */
#define USERS_MAX 64
#define RUN_NS (180 * NTK_NS_PER_SECOND) /* a longer run is killed */
#define STOP_NS NTK_NS_PER_SECOND        /* time for runs to stop when the agent stops */

const char *const ntk_captures_reason_names[NTK_CAPTURES_REASON_COUNT] = { "hang", "slow", "stuck",
                                                                           "ecc", "p99" };

/* The remaining budget of a user. */
struct budget {
    uint32_t uid;
    uint64_t used_ns;                             /* 0 for a free entry */
    uint64_t taken_ns[NTK_CAPTURES_REASON_COUNT]; /* 0 for never */
    uint64_t omitted[NTK_CAPTURES_REASON_COUNT];  /* number of captures skipped since then */
};

struct run {
    pid_t pid; /* 0 if none */
    uint32_t uid;
    enum ntk_captures_reason reason;
    uint64_t end_ns; /* time at which the run is killed */
    char folder[PATH_MAX];
};

struct ntk_captures {
    const struct ntk_captures_options *options;
    uint64_t every_ns;
    char program[PATH_MAX];
    size_t process_count; /* number of processes in the last period */
    struct budget budgets[USERS_MAX];
    struct run runs[RUNS_MAX];
};

/* ---- options --------------------------------------------------------------------------------- */

#define EXPECTED "expected hang, slow, stuck, ecc or p99=TIME, separated by commas"

static int reason_parse(char *word, uint64_t offset, struct ntk_captures_options *options,
                        struct ntk_err *err)
{
    char *value = strchr(word, '=');
    enum ntk_captures_reason reason = 0;

    if (value) {
        *value++ = '\0';
    }
    while (reason < NTK_CAPTURES_REASON_COUNT &&
           strcmp(word, ntk_captures_reason_names[reason]) != 0) {
        reason++;
    }
    if (reason == NTK_CAPTURES_REASON_COUNT) {
        return ntk_err_set(err, -EINVAL, offset, EXPECTED);
    }
    if ((value != NULL) != (reason == NTK_CAPTURES_P99) ||
        (value &&
         (ntk_str_parse_duration_ns(value, &options->p99_ns) < 0 || options->p99_ns == 0))) {
        return ntk_err_set(err, -EINVAL, offset,
                           reason == NTK_CAPTURES_P99 ? "p99 requires a time, such as p99=50ms"
                                                      : "'%s' takes no value",
                           word);
    }
    options->is_wanted[reason] = true;
    return 0;
}

int ntk_captures_parse(const char *list, struct ntk_captures_options *options, struct ntk_err *err)
{
    char *copy = strdup(list);
    char *save = NULL;
    int ret = copy ? 0 : ntk_err_no_memory(err);

    if (ret == 0 && !list[0]) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, EXPECTED);
    }
    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && ret == 0;
         word = strtok_r(NULL, ",", &save)) {
        ret = reason_parse(word, (uint64_t)(word - copy), options, err);
    }
    free(copy);
    return ret;
}

uint64_t ntk_captures_keep_bytes(const struct ntk_captures_options *options)
{
    return options->keep_bytes > 0 ? options->keep_bytes : NTK_CAPTURES_KEEP_BYTES;
}

/* ---- a run ----------------------------------------------------------------------------------- */

int ntk_captures_create(const struct ntk_captures_options *options,
                        struct ntk_captures **out_captures, struct ntk_err *err)
{
    struct ntk_captures *captures = calloc(1, sizeof *captures);

    if (!captures) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_fs_make_folders(options->folder, 0755, err);
    if (ret < 0) {
        free(captures);
        return ret;
    }
    captures->options = options;
    captures->every_ns = options->every_ns > 0 ? options->every_ns : EVERY_NS;
    ntk_child_program_next_to("neuron-profile", captures->program, sizeof captures->program);
    *out_captures = captures;
    return 0;
}

void ntk_captures_destroy(struct ntk_captures *captures)
{
    pid_t pids[RUNS_MAX];

    if (captures) {
        for (size_t i = 0; i < RUNS_MAX; i++) {
            pids[i] = captures->runs[i].pid;
        }
        ntk_child_stop(captures->options->clock, pids, RUNS_MAX, STOP_NS);
        free(captures);
    }
}

static struct budget *budget_of(struct ntk_captures *captures, uint32_t uid, uint64_t now_ns)
{
    struct budget *budget = &captures->budgets[0];

    for (size_t i = 0; i < USERS_MAX; i++) {
        struct budget *other = &captures->budgets[i];

        if (other->used_ns > 0 && other->uid == uid) {
            budget = other;
            break;
        }
        budget = other->used_ns < budget->used_ns ? other : budget;
    }
    if (budget->used_ns == 0 || budget->uid != uid) {
        *budget = (struct budget){ .uid = uid };
    }
    budget->used_ns = now_ns;
    return budget;
}

/* Returns a slot for another run of the user; NULL if there is none, or if one is already
 * running. */
static struct run *find_place(struct ntk_captures *captures, uint32_t uid)
{
    struct run *place = NULL;

    for (size_t i = 0; i < RUNS_MAX; i++) {
        struct run *run = &captures->runs[i];

        if (run->pid > 0 && run->uid == uid) {
            return NULL;
        }
        place = run->pid == 0 ? run : place;
    }
    return place;
}

/* Returns the timeout; without a running operation, only the time before is recorded. */
static const char *timeout_of(enum ntk_captures_reason reason)
{
    return reason == NTK_CAPTURES_HANG || reason == NTK_CAPTURES_STUCK ? "3s" : "20s";
}

/* Starts a run; divides the total size among the processes. */
static int start(struct ntk_captures *captures, struct run *run, const char *job, const char *pid)
{
    char log[PATH_MAX + 16];
    char size[24];
    char user[16];
    char parent[16];

    (void)snprintf(log, sizeof log, "%s/trigger.log", run->folder);
    (void)snprintf(size, sizeof size, "%" PRIu64,
                   ntk_captures_keep_bytes(captures->options) / (captures->process_count + 1) + 1);
    (void)snprintf(user, sizeof user, "%" PRIu32, run->uid);
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    char *const argv[] = { (char *)"neuron-profile",
                           (char *)"trigger",
                           (char *)(job[0] ? "--job" : "--pid"),
                           (char *)(job[0] ? job : pid),
                           (char *)"--user",
                           user,
                           (char *)"--executions",
                           (char *)"3",
                           (char *)"--size",
                           size,
                           (char *)"--timeout",
                           (char *)timeout_of(run->reason),
                           (char *)"--output",
                           run->folder,
                           (char *)"--parent",
                           parent,
                           NULL };
    struct ntk_child child = {
        .program = captures->program, .argv = argv, .has_files = true, .takes_errors = true
    };
    child.output =
        open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (child.output < 0) {
        return -errno;
    }
    int ret = ntk_child_start(&child, &run->pid);
    close(child.output);
    run->pid = ret < 0 ? 0 : run->pid;
    return ret;
}

void ntk_captures_take(struct ntk_captures *captures, enum ntk_captures_reason reason,
                       const char *job, uint32_t pid, uint32_t uid)
{
    struct ntk_err err = { 0 };
    char pid_text[16];

    if (!captures || !captures->options->is_wanted[reason]) {
        return;
    }
    uint64_t now_ns = ntk_clock_now_ns(captures->options->clock);
    struct budget *budget = budget_of(captures, uid, now_ns);
    struct run *run = find_place(captures, uid);
    if (!run ||
        (budget->taken_ns[reason] > 0 && now_ns - budget->taken_ns[reason] < captures->every_ns)) {
        budget->omitted[reason]++;
        return;
    }
    (void)snprintf(pid_text, sizeof pid_text, "%u", pid);
    run->uid = uid;
    run->reason = reason;
    run->end_ns = now_ns + RUN_NS;
    int ret = ntk_captures_room_begin(
        captures->options->folder, ntk_clock_wall_ns(captures->options->clock),
        ntk_captures_reason_names[reason], uid, run->folder, sizeof run->folder, &err);
    if (ret == 0 && (ret = start(captures, run, job, pid_text)) < 0) {
        ntk_err_set(&err, ret, NTK_ERR_NO_OFFSET, "cannot run '%s': %s", captures->program,
                    strerror(-ret));
    }
    budget->taken_ns[reason] = now_ns;
    if (ret < 0) {
        struct ntk_err ignored = { 0 };

        (void)ntk_fs_remove_tree(run->folder, &ignored);
        ntk_captures_room_end(captures->options->folder, run->folder,
                              ntk_captures_keep_bytes(captures->options));
        ntk_log_warn(MODULE, "no capture for %s: %s", ntk_captures_reason_names[reason], err.text);
        return;
    }
    ntk_log_warn(MODULE, "%s: capturing %s %s to %s", ntk_captures_reason_names[reason],
                 job[0] ? "job" : "process", job[0] ? job : pid_text, run->folder);
    if (budget->omitted[reason] > 0) {
        ntk_log_warn(
            MODULE,
            "%s: %llu other events since the previous capture were not captured for user %" PRIu32,
            ntk_captures_reason_names[reason], (unsigned long long)budget->omitted[reason], uid);
    }
    budget->omitted[reason] = 0;
}

/* ---- each period ----------------------------------------------------------------------------- */

/* Notes a failed capture, which is retried sooner. */
static void fail_note(struct ntk_captures *captures, const struct run *run)
{
    struct budget *budget =
        budget_of(captures, run->uid, ntk_clock_now_ns(captures->options->clock));
    uint64_t *taken_ns = &budget->taken_ns[run->reason];
    uint64_t less_ns = captures->every_ns - captures->every_ns / FAILED_SHARE;

    *taken_ns -= *taken_ns > less_ns ? less_ns : *taken_ns > 0;
}

static void run_look(struct ntk_captures *captures, struct run *run)
{
    int status = 0;

    if (run->pid == 0) {
        return;
    }
    if (waitpid(run->pid, &status, WNOHANG) == 0) {
        if (ntk_clock_now_ns(captures->options->clock) > run->end_ns) {
            /* it may be blocked forever by a hanging file system of its job */
            (void)kill(run->pid, SIGKILL);
        }
        return;
    }
    run->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ntk_log_warn(MODULE, "capture incomplete: see %s/trigger.log", run->folder);
        fail_note(captures, run);
    }
    ntk_captures_room_end(captures->options->folder, run->folder,
                          ntk_captures_keep_bytes(captures->options));
}

static bool has_error(const struct ntk_device_sample *device)
{
    return device->ecc[NTK_ECC_MEM_UNCORRECTED].period > 0 ||
           device->ecc[NTK_ECC_SRAM_UNCORRECTED].period > 0 ||
           device->ecc[NTK_ECC_MEM_REPAIRABLE].period > 0;
}

/* Returns the first process with a core of the device; NULL if none. */
static const struct ntk_runtime_sample *holder_of(const struct ntk_snapshot *snapshot,
                                                  const struct ntk_device_sample *device)
{
    uint32_t per_device = snapshot->hardware.cores_per_device;

    for (size_t i = 0; i < snapshot->runtime_count && per_device > 0; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t c = 0; c < runtime->core_count && !runtime->ended; c++) {
            if (runtime->cores[c].core / per_device == device->index) {
                return runtime;
            }
        }
    }
    return NULL;
}

void ntk_captures_look(struct ntk_captures *captures, const struct ntk_snapshot *snapshot)
{
    if (!captures) {
        return;
    }
    for (size_t i = 0; i < RUNS_MAX; i++) {
        run_look(captures, &captures->runs[i]);
    }
    captures->process_count = snapshot->runtime_count;
    for (size_t i = 0; i < snapshot->device_count && captures->options->is_wanted[NTK_CAPTURES_ECC];
         i++) {
        const struct ntk_runtime_sample *holder =
            has_error(&snapshot->devices[i]) ? holder_of(snapshot, &snapshot->devices[i]) : NULL;

        if (holder) {
            ntk_captures_take(captures, NTK_CAPTURES_ECC, "", holder->pid, holder->uid);
        }
    }
    for (size_t i = 0;
         i < snapshot->runtime_count && captures->options->is_wanted[NTK_CAPTURES_P99]; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        double p99_ns = 0;

        if (!runtime->ended && runtime->total_latency.count >= P99_EXECUTIONS_MIN &&
            ntk_histogram_percentile(&runtime->total_latency, 99, &p99_ns) &&
            p99_ns > (double)captures->options->p99_ns) {
            ntk_captures_take(captures, NTK_CAPTURES_P99, "", runtime->pid, runtime->uid);
        }
    }
}
