/* SPDX-License-Identifier: MIT */
/* cmd_trigger_ask - finds the processes of each user, and makes them record the same executions. */
#include "profiler/cmd/cmd_trigger_ask.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd_job.h"
#include "shared/base/clock.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

#define LOOK_TIMEOUT_NS (5 * NTK_NS_PER_SECOND)
#define RATE_NS (200 * NTK_NS_PER_MS) /* interval of checks of the processes' progress */
/* time until the first recorded execution, in the first attempt */
#define AHEAD_NS (500 * NTK_NS_PER_MS)
#define TRIES 5 /* maximum number of attempts; the time doubles with each */
#define CANCEL_NS (2 * NTK_NS_PER_SECOND)
#define HEADS_BYTES \
    (UINT64_C(64) << 20) /* space for programs and file headers, which --size does not count */

/* ---- queried processes ---- */

/* Returns the rank; -1 if unknown. */
static int64_t rank_of(struct ntk_ring_segment *segment)
{
    struct ntk_ring_comm first;

    return ntk_ring_segment_comms(segment, &first, 1) > 0 ? (int64_t)first.world_rank : -1;
}

/* Orders by rank, then by process. */
NTK_ORDER(compare, struct ntk_trigger_target, NTK_UP(rank) NTK_UP(pid));

/* Returns NULL with a message if there are too many users. */
static struct ntk_trigger_asking *asking_of(struct ntk_trigger_askings *askings, uint32_t uid,
                                            struct ntk_err *err)
{
    struct ntk_trigger_asking *asking;

    for (size_t i = 0; i < askings->count; i++) {
        if (askings->of[i]->uid == uid) {
            return askings->of[i];
        }
    }
    if (askings->count == NTK_TRIGGER_USERS_MAX) {
        (void)ntk_err_set(err, -E2BIG, NTK_ERR_NO_OFFSET,
                          "processes of more than %u users match: choose one with --user",
                          NTK_TRIGGER_USERS_MAX);
        return NULL;
    }
    asking = calloc(1, sizeof *asking);
    if (!asking) {
        (void)ntk_err_no_memory(err);
        return NULL;
    }
    asking->options = askings->options;
    asking->uid = uid;
    ntk_vec_init(&asking->others, sizeof(struct ntk_trigger_target));
    askings->of[askings->count++] = asking;
    return asking;
}

void ntk_trigger_asking_destroy(struct ntk_trigger_asking *asking)
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
static int target_take(struct ntk_trigger_asking *asking, struct ntk_trigger_target *target,
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
    const struct ntk_trigger_asking *x = *(struct ntk_trigger_asking *const *)a;
    const struct ntk_trigger_asking *y = *(struct ntk_trigger_asking *const *)b;
    bool x_is_own = x->uid == geteuid();

    return x_is_own != (y->uid == geteuid()) ? (x_is_own ? -1 : 1)
           : x->uid < y->uid                 ? -1
                                             : x->uid > y->uid;
}

int ntk_trigger_askings_take(struct ntk_trigger_askings *askings,
                             struct ntk_ring_registry *registry, const struct ntk_ring_poll *poll,
                             struct ntk_err *err)
{
    size_t known = ntk_ring_registry_count(registry);

    for (size_t i = 0; i < known; i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);
        struct ntk_trigger_target target = { 0 };
        struct ntk_ring_process process;

        ntk_ring_segment_process(segment, &process);
        bool is_users = askings->options->uid == UINT64_MAX || process.uid == askings->options->uid;
        if (ntk_ring_segment_state(segment) != NTK_SEGMENT_ALIVE || !is_users ||
            !ntk_profile_job_has(askings->options->job, askings->options->pid, segment, &process)) {
            continue;
        }
        struct ntk_trigger_asking *asking = asking_of(askings, process.uid, err);
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
        return ntk_profile_job_err_not_found(askings->options->job, askings->options->pid, poll,
                                             err);
    }
    qsort(askings->of, askings->count, sizeof *askings->of, compare_askings);
    while (geteuid() != 0 && askings->of[0]->uid == geteuid() && askings->count > 1) {
        ntk_trigger_asking_destroy(askings->of[--askings->count]);
    }
    for (size_t i = 0; i < askings->count; i++) {
        struct ntk_trigger_asking *asking = askings->of[i];

        asking->is_shown = i == 0;
        if (asking->count > 1) {
            qsort(asking->targets, asking->count, sizeof *asking->targets, compare);
        }
    }
    return 0;
}

/* ---- the first execution ---- */

static int all_look(struct ntk_trigger_asking *asking, uint64_t *out_most, struct ntk_err *err)
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
static int first_choose(struct ntk_trigger_asking *asking, uint64_t ahead_ns, struct ntk_err *err)
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
    if (asking->options->at_execution > 0 && asking->options->at_execution <= now) {
        return ntk_err_set(err, -EAGAIN, NTK_ERR_NO_OFFSET,
                           "execution %llu is in the past: the processes have reached %llu",
                           (unsigned long long)asking->options->at_execution,
                           (unsigned long long)now);
    }
    asking->now = now;
    asking->per_second = (double)(now - before) * (double)NTK_NS_PER_SECOND / (double)RATE_NS;
    asking->first = asking->options->at_execution > 0
                        ? asking->options->at_execution
                        : now + 1 + (now - before) * ahead_ns / RATE_NS;
    return 0;
}

/* ---- the recordings ---- */

/* Returns true if a process could not start in time. */
static bool is_somebody_late(const struct ntk_trigger_asking *asking)
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
    struct ntk_trigger_asking *asking = ctx;

    if (asking->is_shown) {
        ntk_progress_show(&asking->progress, (double)(ntk_clock_monotonic_ns() - asking->begin_ns) /
                                                 (double)asking->options->timeout_ns);
    }
    ntk_trigger_around_poll(asking->around);
    return !*asking->options->is_interrupted &&
           !(asking->may_try_again && is_somebody_late(asking));
}

static void all_record(struct ntk_trigger_asking *asking)
{
    asking->begin_ns = ntk_clock_monotonic_ns();
    for (size_t i = 0; i < asking->count; i++) {
        struct ntk_trigger_target *target = &asking->targets[i];

        ntk_trigger_ask_record(target, asking->first, asking->options->executions,
                               asking->options->keep_bytes, asking->options->timeout_ns + CANCEL_NS,
                               ntk_trigger_hands_over(target) ? "" : asking->folder);
    }
    if (asking->is_shown) {
        ntk_progress_begin(&asking->progress, "waiting for executions (percent of the time limit)");
    }
    bool is_done = ntk_trigger_wait(NULL, asking->targets, asking->count,
                                    asking->options->timeout_ns, continues, asking);
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
static void files_remove(const struct ntk_trigger_asking *asking)
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
static void files_take(const struct ntk_trigger_asking *asking)
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
            uint64_t bytes_max = asking->options->keep_bytes < UINT64_MAX - HEADS_BYTES
                                     ? asking->options->keep_bytes + HEADS_BYTES
                                     : UINT64_MAX;
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

static int record(struct ntk_trigger_asking *asking, struct ntk_err *err)
{
    int ret = 0;

    asking->around = ntk_trigger_around_begin(asking->targets, asking->count, asking->options->idle,
                                              &asking->watch_code);
    if (!asking->around) {
        return ntk_err_no_memory(err);
    }
    for (unsigned tries = 0; tries < TRIES && asking->count > 0; tries++) {
        asking->may_try_again = asking->options->at_execution == 0 && tries + 1 < TRIES;
        ret = first_choose(asking, AHEAD_NS << tries, err);
        if (ret < 0) {
            return ret;
        }
        all_record(asking);
        if (!asking->may_try_again || *asking->options->is_interrupted ||
            !is_somebody_late(asking)) {
            files_take(asking);
            return 0;
        }
        files_remove(asking);
    }
    return 0;
}

void *ntk_trigger_asking_run(void *ctx)
{
    struct ntk_trigger_asking *asking = ctx;

    if (asking->ret == 0 && asking->options->only_look && asking->count == 0) {
        const struct ntk_trigger_target *other = ntk_vec_at(&asking->others, 0);

        asking->err = other->err;
        asking->ret = other->status;
    } else if (asking->ret == 0) {
        asking->ret = asking->options->only_look ? first_choose(asking, AHEAD_NS, &asking->err)
                                                 : record(asking, &asking->err);
    }
    atomic_store(&asking->is_done, true);
    return NULL;
}
