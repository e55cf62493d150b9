/* SPDX-License-Identifier: MIT */
/* cmd_trigger - makes running processes record the same executions. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_job.h"
#include "profiler/cmd/cmd_trigger_around.h"
#include "profiler/cmd/cmd_trigger_hosts.h"
#include "profiler/cmd/cmd_trigger_text.h"
#include "shared/base/order.h"
#include "shared/base/progress.h"
#include "profiler/system/trigger.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/hosts/hosts.h"
#include "shared/ring/ring_registry.h"

#define LOOK_TIMEOUT_NS (5 * NTK_NS_PER_SECOND)
#define RATE_NS (200 * NTK_NS_PER_MS) /* interval of checks of the processes' progress */
/* time until the first recorded execution, in the first attempt */
#define AHEAD_NS (500 * NTK_NS_PER_MS)
#define TRIES 5 /* maximum number of attempts; the time doubles with each */
#define CANCEL_NS (2 * NTK_NS_PER_SECOND)
#define HEADS_BYTES \
    (UINT64_C(64) << 20) /* space for programs and file headers, which --size does not count */
#define USERS_MAX 64U    /* maximum number of users with simultaneous requests */
#define POLL_NS (10 * NTK_NS_PER_MS)

static uint64_t arg_pid;
static const char *arg_job;
static uint64_t arg_count = 1;
static uint64_t arg_at;
static const char *arg_folder = "triggered";
static uint64_t arg_timeout_ns = 60 * NTK_NS_PER_SECOND;
static uint64_t arg_bytes = UINT64_C(1) << 30;
static bool arg_look;
static bool arg_idle;
static bool arg_json;
static uint64_t arg_parent;
static uint64_t arg_user = UINT64_MAX; /* UINT64_MAX for any user */
static struct ntk_hosts_remote remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS };
static struct ntk_vec arg_hosts = NTK_VEC_INIT(const char *);

static int add_host(const char *value, struct ntk_err *err)
{
    return ntk_vec_push(&arg_hosts, &value) < 0 ? ntk_err_no_memory(err) : 0;
}
static int (*const call_host)(const char *, struct ntk_err *) = add_host;

static const struct ntk_opt options[] = {
    { 'p', "pid", "PID", NTK_OPT_U64, &arg_pid, "record this process", .is_above_zero = true },
    { 0, "job", "NAME", NTK_OPT_TEXT, &arg_job,
      "record all processes with this tag, or with ranks that meet at this address" },
    { 0, "user", "UID", NTK_OPT_U64, &arg_user,
      "record only processes of this user (default: record the jobs of several users separately)" },
    { 0, "executions", "N", NTK_OPT_U64, &arg_count,
      "record N executions (default 1, at most 100000)", .is_above_zero = true },
    { 0, "at-execution", "K", NTK_OPT_U64, &arg_at,
      "begin at execution K, counted in each process from its nrt_init (default: the next one that "
      "no process has reached yet)",
      .is_above_zero = true },
    { 'o', "output", "FOLDER", NTK_OPT_TEXT, &arg_folder,
      "write files to this folder (default triggered)" },
    { 0, "size", "SIZE", NTK_OPT_BYTES, &arg_bytes,
      "limit the captures of a process to about SIZE (default 1G); the rest is dropped and counted",
      .is_above_zero = true },
    { 0, "timeout", "TIME", NTK_OPT_DURATION, &arg_timeout_ns,
      "stop after TIME (default 60s) and keep the recorded part", .is_above_zero = true },
    { 0, "idle", NULL, NTK_OPT_FLAG, &arg_idle,
      "also record what host threads do meanwhile while cores are idle (see neuron-profile idle)" },
    { 0, "look", NULL, NTK_OPT_FLAG, &arg_look,
      "print the current execution of each process, without recording" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print a JSON object" },
    { 0, "parent", "PID", NTK_OPT_U64, &arg_parent,
      "stop when this process exits (the one that started the command)", .is_above_zero = true },
    { 0, "Other machines", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "host", "HOST[:PORT]", NTK_OPT_CALL, (void *)(uintptr_t)&call_host,
      "record on HOST through its agent (neuron-monitor --capture-remote); may be repeated: all "
      "hosts record the same executions, and the files are downloaded" },
    { 0, "token-file", "FILE", NTK_OPT_TEXT, &remote.token_file,
      "read the bearer token for the agents from FILE" },
    { 0, "ca-file", "FILE", NTK_OPT_TEXT, &remote.ca_file,
      "trust the certificate authorities in this PEM file (default: those of the system)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile trigger",
    .usage = "--pid PID | --job NAME [--host HOST[:PORT]]... [OPTION]...",
    .summary = "Makes running processes record executions, starting with the same one in all of\n"
               "them, and saves the earlier events that are still in their rings.",
    .options = options,
    .epilogue = "The request uses the shared memory of the process. Only the owner of the\n"
                "process and root can therefore record it. The process must use the runtime of\n"
                "this project. Processes of two users are two jobs, even with equal names: a\n"
                "process that fails affects only processes of the same user. The exit code is 1\n"
                "if a process could not record all executions.",
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* ---- queried processes ----------------------------------------------------------------------- */

/* The processes of one user. Processes of two users are never one job, even if they claim it. */
struct asking {
    uint32_t uid;
    pthread_t thread;
    _Atomic bool is_done;
    bool is_reported;
    int ret; /* negative after a failure, with a message */
    struct ntk_err err;
    bool is_shown; /* true if its progress is shown */
    struct ntk_trigger_target *targets;
    size_t count;
    struct ntk_trigger_around *around;
    int watch_code; /* 1 if host threads of a process could not be observed */
    /* elements are struct ntk_trigger_target that cannot record, so they are only examined */
    struct ntk_vec others;
    uint64_t now;      /* latest started execution at the last check */
    double per_second; /* executions per second */
    uint64_t first;
    char folder[PATH_MAX];
    bool may_try_again; /* true if a later execution may succeed */
    struct ntk_progress progress;
    uint64_t begin_ns;
};

struct askings {
    struct asking *of[USERS_MAX];
    size_t count;
};

/* Returns the rank; -1 if unknown. */
static int64_t rank_of(struct ntk_ring_segment *segment)
{
    struct ntk_ring_comm first;

    return ntk_ring_segment_comms(segment, &first, 1) > 0 ? (int64_t)first.world_rank : -1;
}

/* Orders by rank, then by process. */
NTK_ORDER(compare, struct ntk_trigger_target, NTK_UP(rank) NTK_UP(pid));

/* Returns NULL with a message if there are too many users. */
static struct asking *asking_of(struct askings *askings, uint32_t uid, struct ntk_err *err)
{
    struct asking *asking;

    for (size_t i = 0; i < askings->count; i++) {
        if (askings->of[i]->uid == uid) {
            return askings->of[i];
        }
    }
    if (askings->count == USERS_MAX) {
        (void)ntk_err_set(err, -E2BIG, NTK_ERR_NO_OFFSET,
                          "processes of more than %u users match: choose one with --user",
                          USERS_MAX);
        return NULL;
    }
    asking = calloc(1, sizeof *asking);
    if (!asking) {
        (void)ntk_err_no_memory(err);
        return NULL;
    }
    asking->uid = uid;
    ntk_vec_init(&asking->others, sizeof(struct ntk_trigger_target));
    askings->of[askings->count++] = asking;
    return asking;
}

static void asking_destroy(struct asking *asking)
{
    for (size_t i = 0; i < asking->count; i++) {
        ntk_trigger_release(&asking->targets[i]);
    }
    free(asking->targets);
    ntk_trigger_around_destroy(asking->around);
    ntk_vec_fini(&asking->others);
    free(asking);
}

/* Adds all processes of a user, or none, with asking->ret set. -ENOMEM. */
static int target_take(struct asking *asking, struct ntk_trigger_target *target,
                       const char *segment_path)
{
    struct ntk_err err = { 0 };
    int ret = ntk_trigger_take(target, segment_path, &err);

    if (ret == -ENOTSUP) { /* another runtime: its rings can be saved nevertheless */
        target->is_answered = true;
        target->status = ret;
        target->err = err;
        return ntk_vec_push(&asking->others, target);
    }
    if (ret < 0) {
        asking->ret = asking->ret < 0 ? asking->ret : ret;
        asking->err = asking->err.text[0] ? asking->err : err;
        return 0;
    }
    struct ntk_trigger_target *targets =
        realloc(asking->targets, (asking->count + 1) * sizeof *targets);
    if (!targets) {
        ntk_trigger_release(target);
        return -ENOMEM;
    }
    asking->targets = targets;
    targets[asking->count++] = *target;
    return 0;
}

/* Orders own processes first, then by user. */
static int compare_askings(const void *a, const void *b)
{
    const struct asking *x = *(struct asking *const *)a;
    const struct asking *y = *(struct asking *const *)b;
    bool x_is_own = x->uid == geteuid();

    return x_is_own != (y->uid == geteuid()) ? (x_is_own ? -1 : 1)
           : x->uid < y->uid                 ? -1
                                             : x->uid > y->uid;
}

/* Groups targets by user. Processes that only root may use are ignored if the caller has processes
 * with the same name. */
static int targets_take(struct askings *askings, struct ntk_ring_registry *registry,
                        const struct ntk_ring_poll *poll, struct ntk_err *err)
{
    size_t known = ntk_ring_registry_count(registry);

    for (size_t i = 0; i < known; i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);
        struct ntk_trigger_target target = { 0 };
        struct ntk_ring_process process;

        ntk_ring_segment_process(segment, &process);
        bool is_users = arg_user == UINT64_MAX || process.uid == arg_user;
        if (ntk_ring_segment_state(segment) != NTK_SEGMENT_ALIVE || !is_users ||
            !ntk_profile_job_has(arg_job, arg_pid, segment, &process)) {
            continue;
        }
        struct asking *asking = asking_of(askings, process.uid, err);
        if (!asking) {
            return err->code;
        }
        target.rank = rank_of(segment);
        target.pid = process.pid;
        target.uid = process.uid;
        (void)ntk_str_copy(target.command, sizeof target.command, process.command);
        if (target_take(asking, &target, ntk_ring_segment_path(segment)) < 0) {
            return ntk_err_no_memory(err);
        }
    }
    if (askings->count == 0) {
        return ntk_profile_job_err_not_found(arg_job, arg_pid, poll, err);
    }
    qsort(askings->of, askings->count, sizeof *askings->of, compare_askings);
    while (geteuid() != 0 && askings->of[0]->uid == geteuid() && askings->count > 1) {
        asking_destroy(askings->of[--askings->count]);
    }
    for (size_t i = 0; i < askings->count; i++) {
        struct asking *asking = askings->of[i];

        asking->is_shown = i == 0;
        if (asking->count > 1) {
            qsort(asking->targets, asking->count, sizeof *asking->targets, compare);
        }
    }
    return 0;
}

/* ---- the first execution --------------------------------------------------------------------- */

static int all_look(struct asking *asking, uint64_t *out_most, struct ntk_err *err)
{
    *out_most = 0;
    for (size_t i = 0; i < asking->count; i++) {
        ntk_trigger_ask(&asking->targets[i], NTK_TRIGGER_LOOK);
    }
    if (!ntk_trigger_wait(NULL, asking->targets, asking->count, LOOK_TIMEOUT_NS, NULL, NULL)) {
        return ntk_err_set(err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                           "a process does not respond; check whether it is stopped");
    }
    for (size_t i = 0; i < asking->count; i++) {
        const struct ntk_trigger_target *target = &asking->targets[i];

        if (target->status != 0) {
            *err = target->err;
            return target->status;
        }
        *out_most = target->execution > *out_most ? target->execution : *out_most;
    }
    return 0;
}

/* Selects an execution far enough ahead that no process starts it before the request arrives. */
static int first_choose(struct asking *asking, uint64_t ahead_ns, struct ntk_err *err)
{
    uint64_t before = 0;
    uint64_t now = 0;
    int ret = all_look(asking, &before, err);

    if (ret == 0) {
        usleep(RATE_NS / NTK_NS_PER_US);
        ret = all_look(asking, &now, err);
    }
    if (ret < 0) {
        return ret;
    }
    if (arg_at > 0 && arg_at <= now) {
        return ntk_err_set(err, -EAGAIN, NTK_ERR_NO_OFFSET,
                           "execution %llu is in the past: the processes are at %llu",
                           (unsigned long long)arg_at, (unsigned long long)now);
    }
    asking->now = now;
    asking->per_second = (double)(now - before) * (double)NTK_NS_PER_SECOND / (double)RATE_NS;
    asking->first = arg_at > 0 ? arg_at : now + 1 + (now - before) * ahead_ns / RATE_NS;
    return 0;
}

/* ---- the recordings -------------------------------------------------------------------------- */

/* Returns true if a process could not start in time. */
static bool is_somebody_late(const struct asking *asking)
{
    for (size_t i = 0; i < asking->count; i++) {
        if (asking->targets[i].is_answered && asking->targets[i].status == -EAGAIN) {
            return true;
        }
    }
    return false;
}

static bool continues(void *ctx)
{
    struct asking *asking = ctx;

    if (asking->is_shown) {
        ntk_progress_show(&asking->progress, (double)(ntk_clock_monotonic_ns() - asking->begin_ns) /
                                                 (double)arg_timeout_ns);
    }
    ntk_trigger_around_poll(asking->around);
    return !is_interrupted && !(asking->may_try_again && is_somebody_late(asking));
}

static void all_record(struct asking *asking)
{
    asking->begin_ns = ntk_clock_monotonic_ns();
    for (size_t i = 0; i < asking->count; i++) {
        struct ntk_trigger_target *target = &asking->targets[i];

        ntk_trigger_ask_record(target, asking->first, arg_count, arg_bytes,
                               arg_timeout_ns + CANCEL_NS,
                               ntk_trigger_hands_over(target) ? "" : asking->folder);
    }
    if (asking->is_shown) {
        ntk_progress_begin(&asking->progress, "waiting for executions (percent of the time limit)");
    }
    bool is_done =
        ntk_trigger_wait(NULL, asking->targets, asking->count, arg_timeout_ns, continues, asking);
    if (asking->is_shown) {
        ntk_progress_end(&asking->progress);
    }
    if (is_done) {
        return;
    }
    /* Save the time before: the recording's answer starts with its number, then this. */
    for (size_t i = 0; i < asking->count; i++) {
        if (!asking->targets[i].is_answered) {
            ntk_trigger_ask(&asking->targets[i], NTK_TRIGGER_CANCEL);
        }
    }
    (void)ntk_trigger_wait(NULL, asking->targets, asking->count, CANCEL_NS, NULL, NULL);
}

/* Removes files that other processes recorded for an execution that one process lacks. */
static void files_remove(const struct asking *asking)
{
    char pattern[96];

    for (size_t i = 0; i < asking->count; i++) {
        const struct ntk_trigger_target *target = &asking->targets[i];
        DIR *files = opendir(asking->folder); /* files of other users are not moved yet */

        (void)snprintf(pattern, sizeof pattern, "pid_%u_nc_*_exec_%llu.ntff", target->pid,
                       (unsigned long long)asking->first);
        for (const struct dirent *file; files && (file = readdir(files));) {
            if (fnmatch(pattern, file->d_name, 0) == 0) {
                (void)unlinkat(dirfd(files), file->d_name, 0);
            }
        }
        if (files) {
            closedir(files);
        }
    }
}

/* Moves files from processes that cannot write to the folder. */
static void files_take(const struct asking *asking)
{
    for (size_t i = 0; i < asking->count; i++) {
        struct ntk_trigger_target *target = &asking->targets[i];

        if (!target->is_answered || !ntk_trigger_hands_over(target)) {
            continue;
        }
        if (target->status == -EINVAL) {
            (void)ntk_err_set(&target->err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                              "process %u (%s): its runtime is too old to pass files to another "
                              "user or container; run this command as the user of the process",
                              target->pid, target->command);
        } else if (target->file_count > 0) {
            struct ntk_err err = { 0 };
            uint64_t bytes_max =
                arg_bytes < UINT64_MAX - HEADS_BYTES ? arg_bytes + HEADS_BYTES : UINT64_MAX;
            int ret =
                ntk_trigger_files_take(target, asking->first, bytes_max, asking->folder, &err);

            if (ret < 0) {
                target->status = ret;
                target->err = err;
                target->file_count = 0;
            }
        }
    }
}

static int record(struct asking *asking, struct ntk_err *err)
{
    int ret = 0;

    asking->around =
        ntk_trigger_around_begin(asking->targets, asking->count, arg_idle, &asking->watch_code);
    if (!asking->around) {
        return ntk_err_no_memory(err);
    }
    for (unsigned tries = 0; tries < TRIES && asking->count > 0; tries++) {
        asking->may_try_again = arg_at == 0 && tries + 1 < TRIES;
        ret = first_choose(asking, AHEAD_NS << tries, err);
        if (ret < 0) {
            return ret;
        }
        all_record(asking);
        if (!asking->may_try_again || is_interrupted || !is_somebody_late(asking)) {
            files_take(asking);
            return 0;
        }
        files_remove(asking);
    }
    return 0;
}

static void put_text(const struct ntk_trigger_target *target, const char *before)
{
    char rank[32] = "";
    char range[NTK_TRIGGER_RANGE_BYTES];

    if (target->rank >= 0) {
        (void)snprintf(rank, sizeof rank, ", rank %lld", (long long)target->rank);
    }
    printf("process %u (%s)%s: %s in %u file%s, earlier events in %s\n", target->pid,
           target->command, rank,
           ntk_trigger_executions_text(target->recorded_first, target->recorded_last, range,
                                       sizeof range),
           target->file_count, target->file_count == 1 ? "" : "s", before ? before : "none");
}

static void put_who(const struct ntk_trigger_target *target, struct ntk_json *json)
{
    ntk_json_key_u64(json, "pid", target->pid);
    ntk_json_key_u64(json, "uid", target->uid);
    ntk_json_key_text(json, "command", target->command);
    if (target->rank >= 0) {
        ntk_json_key_i64(json, "rank", target->rank);
    }
}

static void put_json(const struct ntk_trigger_target *target, const char *before,
                     struct ntk_json *json)
{
    ntk_json_object_begin(json);
    put_who(target, json);
    if (target->file_count > 0) {
        ntk_json_key_u64(json, "first_execution", target->recorded_first);
        ntk_json_key_u64(json, "last_execution", target->recorded_last);
    }
    ntk_json_key_u64(json, "file_count", target->file_count);
    ntk_json_key_u64(json, "file_bytes", target->file_bytes);
    ntk_json_key(json, "before");
    ntk_json_text(json, before);
    ntk_json_key_text(json, "error", target->status != 0 ? target->err.text : "");
    ntk_json_key_bool(json, "is_late", target->status == -EAGAIN);
    ntk_json_object_end(json);
}

/* Prints one process: its recording, or the reason for none. Returns the exit code. */
static int tell_one(const struct asking *asking, struct ntk_trigger_target *target,
                    struct ntk_json *json)
{
    struct ntk_err err = { 0 };
    char *before = NULL;
    int code = 0;

    if (!target->is_answered) {
        target->status =
            ntk_err_set(&target->err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                        "process %u (%s) did not respond", target->pid, target->command);
    }
    if (target->status != -ESRCH) {
        before = ntk_trigger_around_save(asking->around, target, asking->folder, &err);
    }
    if (target->status != 0 || target->file_count == 0) {
        code = 1;
        if (target->status == 0) {
            target->status = ntk_err_set(
                &target->err, -ENODATA, NTK_ERR_NO_OFFSET,
                "process %u (%s): recorded no execution from %llu on before the timeout",
                target->pid, target->command, (unsigned long long)asking->first);
        }
        (void)ntk_profile_fail(&target->err);
    }
    if (target->file_count > 0 && !arg_json) {
        put_text(target, before);
    } else if (before && !arg_json) {
        printf("process %u (%s): no execution, earlier events in %s\n", target->pid,
               target->command, before);
    }
    uint64_t had = target->recorded_last - target->recorded_first + 1;
    if (target->file_count > 0 && had < arg_count) {
        code = 1;
        fprintf(stderr,
                "neuron-profile: process %u (%s): recorded only %llu of %llu executions before the "
                "timeout; use a longer --timeout\n",
                target->pid, target->command, (unsigned long long)had,
                (unsigned long long)arg_count);
    }
    if (!before && err.text[0]) {
        (void)ntk_profile_fail(&err);
        code = 1;
    }
    put_json(target, before, json);
    free(before);
    return code;
}

/* Prints the processes of one of several users, if the capture failed. Returns the exit code. */
static int tell_none(const struct asking *asking, struct ntk_json *json)
{
    struct ntk_err err = { 0 };

    (void)ntk_err_set(&err, asking->ret, NTK_ERR_NO_OFFSET, "processes of user %u: %s", asking->uid,
                      asking->err.text);
    for (size_t i = 0; i < asking->count && !arg_look; i++) {
        struct ntk_trigger_target target = asking->targets[i];

        target.status = asking->ret;
        target.err = asking->err;
        target.file_count = 0;
        put_json(&target, NULL, json);
    }
    return ntk_profile_fail(&err);
}

/* Prints the recordings; returns the exit code. */
static int tell_records(const struct asking *asking, struct ntk_json *json)
{
    int code = asking->watch_code;

    for (size_t i = 0; i < asking->count; i++) {
        code |= tell_one(asking, &asking->targets[i], json);
    }
    ntk_vec_each(struct ntk_trigger_target, target, &asking->others) {
        code |= tell_one(asking, target, json);
    }
    return code;
}

static int tell_look(const struct asking *asking, struct ntk_json *json)
{
    for (size_t i = 0; i < asking->count; i++) {
        const struct ntk_trigger_target *target = &asking->targets[i];

        ntk_json_object_begin(json);
        put_who(target, json);
        ntk_json_key_u64(json, "execution", target->execution);
        ntk_json_object_end(json);
        if (!arg_json) {
            printf("process %u (%s): execution %llu\n", target->pid, target->command,
                   (unsigned long long)target->execution);
        }
    }
    return 0;
}

/* Prints the results of each user as soon as they are complete, so that no user waits for another.
 * Returns the exit code. */
static int tell_done(struct askings *askings, struct ntk_json *json)
{
    size_t reported = 0;
    int code = 0;

    while (reported < askings->count) {
        for (size_t i = 0; i < askings->count; i++) {
            struct asking *asking = askings->of[i];

            if (asking->is_reported || !atomic_load(&asking->is_done)) {
                continue;
            }
            asking->is_reported = true;
            reported++;
            code |= asking->ret < 0 ? tell_none(asking, json)
                    : arg_look      ? tell_look(asking, json)
                                    : tell_records(asking, json);
            (void)fflush(stdout);
        }
        if (reported < askings->count) {
            usleep(POLL_NS / NTK_NS_PER_US);
        }
    }
    return code;
}

/* Reports a failure; returns the exit code. */
static int tell_failure(const struct ntk_err *err)
{
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    if (arg_json) {
        ntk_json_init(&json, &out, true);
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "error", err->text);
        ntk_json_key_bool(&json, "is_late", err->code == -EAGAIN);
        ntk_json_object_end(&json);
        ntk_buf_add_char(&out, '\n');
        (void)ntk_profile_put(&out, NULL);
        ntk_buf_fini(&out);
    }
    return ntk_profile_fail(err);
}

static int folder_make(struct askings *askings, struct ntk_err *err)
{
    char folder[PATH_MAX];
    int ret = ntk_fs_make_folders(arg_folder, 0755, err);

    if (ret < 0) {
        return ret;
    }
    if (!realpath(arg_folder, folder)) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", arg_folder, strerror(errno));
    }
    for (size_t i = 0; i < askings->count; i++) {
        (void)ntk_str_copy(askings->of[i]->folder, sizeof askings->of[i]->folder, folder);
    }
    return strlen(folder) < NTK_TRIGGER_FOLDER_BYTES
               ? 0
               : ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s: the path is too long",
                             folder);
}

/* Runs the request for the processes of one user. */
static void *asking_run(void *ctx)
{
    struct asking *asking = ctx;

    if (asking->ret == 0 && arg_look && asking->count == 0) {
        const struct ntk_trigger_target *other = ntk_vec_at(&asking->others, 0);

        asking->err = other->err;
        asking->ret = other->status;
    } else if (asking->ret == 0) {
        asking->ret =
            arg_look ? first_choose(asking, AHEAD_NS, &asking->err) : record(asking, &asking->err);
    }
    atomic_store(&asking->is_done, true);
    return NULL;
}

/* Returns the first request that succeeded; NULL if none. */
static const struct asking *first_good(const struct askings *askings)
{
    for (size_t i = 0; i < askings->count; i++) {
        if (askings->of[i]->ret >= 0) {
            return askings->of[i];
        }
    }
    return NULL;
}

static bool has_files(const struct askings *askings)
{
    for (size_t i = 0; i < askings->count; i++) {
        for (size_t t = 0; t < askings->of[i]->count; t++) {
            if (askings->of[i]->targets[t].file_count > 0) {
                return true;
            }
        }
    }
    return false;
}

/* Runs all requests; returns the exit code. */
static int ask(struct askings *askings)
{
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    /* A single user is handled in this thread, and its failure is the only message. */
    if (askings->count == 1) {
        (void)asking_run(askings->of[0]);
        if (askings->of[0]->ret < 0) {
            return tell_failure(&askings->of[0]->err);
        }
    }
    for (size_t i = 0; i < askings->count && askings->count > 1; i++) {
        struct asking *asking = askings->of[i];
        int ret = -pthread_create(&asking->thread, NULL, asking_run, asking);

        if (ret < 0) { /* is_done without a thread */
            asking->ret = ntk_err_set(&asking->err, ret, NTK_ERR_NO_OFFSET,
                                      "cannot start a thread: %s", strerror(-ret));
            asking->thread = pthread_self();
            atomic_store(&asking->is_done, true);
        }
    }
    ntk_json_init(&json, &out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "processes");
    int code = tell_done(askings, &json);
    ntk_json_array_end(&json);
    for (size_t i = 0; i < askings->count && askings->count > 1; i++) {
        if (!pthread_equal(askings->of[i]->thread, pthread_self())) {
            (void)pthread_join(askings->of[i]->thread, NULL);
        }
    }
    const struct asking *good = first_good(askings);
    if (!good) {
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): without one, targets_take() fails. */
        ntk_json_key_text(&json, "error", askings->of[0]->err.text);
        ntk_json_key_bool(&json, "is_late", askings->of[0]->err.code == -EAGAIN);
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    } else if (arg_look) {
        ntk_json_key_u64(&json, "execution", good->now);
        ntk_json_key_double(&json, "executions_per_second", good->per_second);
    } else {
        if (!arg_json && has_files(askings)) {
            ntk_trigger_say_next(arg_folder, arg_idle);
        }
        ntk_json_key_text(&json, "folder", good->folder);
        ntk_json_key_u64(&json, "first_execution", good->first);
        ntk_json_key_u64(&json, "execution_count", arg_count);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(&out, '\n');
    if (arg_json && ntk_profile_put(&out, NULL) != 0) {
        code = 1;
    }
    ntk_buf_fini(&out);
    return code;
}

int ntk_cmd_trigger(int argc, char **argv)
{
    struct ntk_ring_registry *registry = NULL;
    struct askings askings = { .count = 0 };
    struct ntk_ring_poll poll = { 0 };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (arg_count > NTK_TRIGGER_EXECUTIONS_MAX) {
        return ntk_opt_usage_error(&program, "--executions must be at most %u",
                                   NTK_TRIGGER_EXECUTIONS_MAX);
    }
    if ((arg_pid > 0) == (arg_job != NULL)) {
        return ntk_opt_usage_error(&program, "no process: use --pid PID or --job NAME%s",
                                   arg_job ? ", not both" : "");
    }
    if (arg_idle && arg_look) {
        return ntk_opt_usage_error(&program, "--idle and --look are mutually exclusive");
    }
    if (arg_hosts.count == 0 && (remote.token_file || remote.ca_file)) {
        return ntk_opt_usage_error(&program, "--token-file and --ca-file require --host");
    }
    (void)signal(SIGINT, interrupt);
    (void)signal(SIGTERM, interrupt);
    if (arg_parent > 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        is_interrupted = getppid() != (pid_t)arg_parent; /* the parent ended before */
    }
    if (arg_hosts.count > 0) {
        const struct ntk_trigger_hosts_options hosts = { .names = arg_hosts.items,
                                                         .count = arg_hosts.count,
                                                         .remote = &remote,
                                                         .job = arg_job,
                                                         .pid = arg_pid,
                                                         .uid = arg_user,
                                                         .executions = arg_count,
                                                         .at_execution = arg_at,
                                                         .timeout_ns = arg_timeout_ns,
                                                         .keep_bytes = arg_bytes,
                                                         .folder = arg_folder,
                                                         .only_look = arg_look,
                                                         .idle = arg_idle,
                                                         .json = arg_json,
                                                         .is_interrupted = &is_interrupted };
        int code = ntk_trigger_hosts(&hosts);

        ntk_vec_fini(&arg_hosts);
        return code;
    }
    int ret = ntk_ring_registry_open(&(struct ntk_ring_options){ .from = NTK_RING_FROM_NOW },
                                     &registry, &err);
    ret = ret < 0 ? ret : ntk_ring_registry_poll(registry, &poll, &err);
    ret = ret < 0 ? ret : targets_take(&askings, registry, &poll, &err);
    ret = ret < 0 || arg_look ? ret : folder_make(&askings, &err);
    int code = ret < 0 ? tell_failure(&err) : ask(&askings);
    for (size_t i = 0; i < askings.count; i++) {
        asking_destroy(askings.of[i]);
    }
    ntk_ring_registry_close(registry);
    return code;
}
