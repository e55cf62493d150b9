/* SPDX-License-Identifier: MIT */
#include "agent/hang/hang_watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/base/log.h"
#include "agent/hang/captures.h"
#include "agent/hang/hang.h"
#include "agent/hang/hang_troubles.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/units.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/ranks_change.h"
#include "shared/metrics/ranks_pace.h"
#include "shared/report/report_json.h"

#define MODULE "ranks"
#define LONG_NS NTK_NS_PER_SECOND
#define PACE_NS UINT64_C(10000000000) /* length of a window for slow ranks */

struct ntk_hang_watch {
    /* For each communicator with a problem: the last reported enum ntk_comm_verdict_kind + 1 */
    struct ntk_map said;
    bool has_ranks;
    struct ntk_captures *captures; /* NULL: record nothing */
    struct ntk_pace pace;          /* pace in the current window */
    uint64_t window_ns;
    struct ntk_map said_slow;   /* maps a communicator to its last reported rank + 1 */
    struct ntk_map said_slower; /* keyed by communicator */
    struct ntk_change change;
    struct ntk_hang_troubles troubles;
    struct ntk_map said_stuck; /* keyed by process and core, from stuck_key() */
};

void ntk_hang_watch_set_captures(struct ntk_hang_watch *watch, struct ntk_captures *captures)
{
    watch->captures = captures;
}

struct ntk_hang_watch *ntk_hang_watch_create(void)
{
    struct ntk_hang_watch *watch = calloc(1, sizeof *watch);

    if (watch) {
        ntk_pace_init(&watch->pace);
        ntk_change_init(&watch->change);
        ntk_hang_troubles_init(&watch->troubles);
    }
    return watch;
}

void ntk_hang_watch_destroy(struct ntk_hang_watch *watch)
{
    if (watch) {
        ntk_map_fini(&watch->said);
        ntk_map_fini(&watch->said_slow);
        ntk_map_fini(&watch->said_slower);
        ntk_map_fini(&watch->said_stuck);
        ntk_change_fini(&watch->change);
        ntk_pace_fini(&watch->pace);
        ntk_hang_troubles_fini(&watch->troubles);
        free(watch);
    }
}

bool ntk_hang_watch_has_ranks(const struct ntk_hang_watch *watch)
{
    return watch->has_ranks;
}

/* Captures the job of a communicator. There is nothing to capture for a lost rank. */
static void capture(struct ntk_hang_watch *watch, const struct ntk_snapshot *snapshot,
                    enum ntk_captures_reason reason, uint64_t key, uint32_t pid)
{
    const struct ntk_runtime_sample *runtime = ntk_hang_member(snapshot, key, pid);

    if (runtime) {
        ntk_captures_take(watch->captures, reason, ntk_hang_rendezvous(snapshot, key), runtime->pid,
                          runtime->uid);
    }
}

static void say(const struct ntk_comm_verdict *verdict)
{
    struct ntk_buf text = { 0 };
    char age[32];

    ntk_buf_add_format(&text, "%s %llu on %u ranks at ", ntk_collective_names[verdict->operation],
                       (unsigned long long)verdict->sequence, verdict->rank_count);
    ntk_buf_add_clean(&text, ntk_hang_place(verdict->first->sample->rendezvous));
    if (verdict->kind == NTK_COMM_BROKE) {
        ntk_buf_add_text(&text, " broke");
    } else {
        ntk_buf_add_format(&text, " has been hanging for %s",
                           ntk_units_duration(age, sizeof age, verdict->age_ns));
    }
    if (verdict->missing_count > 0) {
        ntk_buf_add_text(&text, ": ");
        ntk_hang_write_missing(verdict, &text);
    } else {
        ntk_buf_add_text(&text, verdict->kind == NTK_COMM_BROKE ? ": cause unknown"
                                                                : " after all ranks arrived");
    }
    ntk_log_warn(MODULE, "%s", ntk_buf_text_get(&text));
    ntk_buf_fini(&text);
}

static void say_pace(struct ntk_hang_watch *watch, const struct ntk_snapshot *snapshot,
                     const struct ntk_pace_verdict *verdict)
{
    uintptr_t before = (uintptr_t)ntk_map_get_number(&watch->said_slow, verdict->key);
    uintptr_t now = verdict->slow ? (uintptr_t)verdict->slow->rank + 1 : 0;
    char behind[32];
    char interval[32];

    if (verdict->seen < 2) {
        return;
    }
    if (verdict->slow) {
        ntk_hang_troubles_hold(&watch->troubles, snapshot, verdict, watch->window_ns);
    } else {
        ntk_hang_troubles_drop(&watch->troubles, verdict->key);
    }
    if (now == before) {
        return;
    }
    if (verdict->slow) {
        ntk_log_warn(MODULE,
                     "rank %u of %u (process %u) is slow: the other ranks spend %s of every %s "
                     "waiting for it; cause: %s",
                     verdict->slow->rank, verdict->rank_count, verdict->slow->pid,
                     ntk_units_duration(behind, sizeof behind, verdict->behind_ns),
                     ntk_units_duration(interval, sizeof interval, verdict->interval_ns),
                     ntk_pace_where_names[verdict->where]);
        (void)ntk_map_put_number(&watch->said_slow, verdict->key, (void *)now);
        capture(watch, snapshot, NTK_CAPTURES_SLOW, verdict->key, verdict->slow->pid);
    } else {
        ntk_log_warn(MODULE, "rank %u of %u is no longer slow", (uint32_t)before - 1,
                     verdict->rank_count);
        ntk_map_remove_number(&watch->said_slow, verdict->key);
    }
}

/* Judges consecutive windows; one is skipped if out of memory. */
static void watch_pace(struct ntk_hang_watch *watch, const struct ntk_snapshot *snapshot)
{
    watch->window_ns += snapshot->period_ns;
    if (ntk_pace_add(&watch->pace, snapshot, "") == 0 && watch->window_ns < PACE_NS) {
        return;
    }
    if (ntk_pace_judge(&watch->pace) == 0) {
        ntk_vec_each(struct ntk_pace_verdict, verdict, &watch->pace.verdicts) {
            say_pace(watch, snapshot, verdict);
        }
    }
    ntk_pace_clear(&watch->pace);
    watch->window_ns = 0;
}

static void say_slower(const struct ntk_change_verdict *verdict,
                       const struct ntk_snapshot *snapshot)
{
    const char *place = ntk_hang_place(ntk_hang_rendezvous(snapshot, verdict->key));
    uint64_t age_ns =
        snapshot->realtime_ns > verdict->since_ns ? snapshot->realtime_ns - verdict->since_ns : 0;
    char age[32];
    char before[32];
    char after[32];

    ntk_log_warn(MODULE,
                 "the ranks at %s became slower %s ago, all by the same amount (%u of %u ranks "
                 "visible): %s between operations instead of %s; cause: %s",
                 place, ntk_units_duration(age, sizeof age, age_ns), verdict->seen,
                 verdict->rank_count, ntk_units_duration(after, sizeof after, verdict->after_ns),
                 ntk_units_duration(before, sizeof before, verdict->before_ns),
                 ntk_change_where_names[verdict->where]);
}

/* Reports changes of a communicator's ranks once, and their end. */
static void watch_change(struct ntk_hang_watch *watch, const struct ntk_snapshot *snapshot)
{
    struct ntk_map now = { 0 };

    if (ntk_change_add(&watch->change, snapshot) < 0) {
        return; /* out of memory: skip a period */
    }
    ntk_vec_each(const struct ntk_change_verdict, verdict, &watch->change.verdicts) {
        if (!ntk_map_get_number(&watch->said_slower, verdict->key)) {
            say_slower(verdict, snapshot);
        }
        (void)ntk_map_put_number(&now, verdict->key, watch);
    }
    ntk_map_each(entry, &watch->said_slower) {
        const char *place = ntk_hang_rendezvous(snapshot, entry->number);

        if (!ntk_map_get_number(&now, entry->number) && place[0]) {
            ntk_log_warn(MODULE,
                         "the ranks at %s are back to their usual pace, or the new pace now "
                         "counts as usual",
                         place);
        }
    }
    ntk_map_fini(&watch->said_slower);
    watch->said_slower = now;
}

/* Forgets communicators that are gone, because a machine has many over time. */
static void forget(struct ntk_map *said, const struct ntk_vec *keys)
{
    struct ntk_map kept = { 0 };

    if (said->count == 0) {
        return;
    }
    ntk_vec_each(const uint64_t, key, keys) {
        void *value = ntk_map_get_number(said, *key);

        if (value) {
            (void)ntk_map_put_number(&kept, *key, value); /* out of memory: it is reported again */
        }
    }
    ntk_map_fini(said);
    *said = kept;
}

static void forget_gone(struct ntk_hang_watch *watch, const struct ntk_ranks *ranks)
{
    struct ntk_vec keys;

    ntk_vec_init(&keys, sizeof(uint64_t));
    ntk_vec_each(struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        if (ntk_vec_push(&keys, &verdict->first->sample->key) < 0) {
            ntk_vec_fini(&keys);
            return; /* try again in the next period */
        }
    }
    forget(&watch->said, &keys);
    forget(&watch->said_slow, &keys);
    ntk_vec_fini(&keys);
}

/* Key of a process and core, because two processes may have one core, in containers that share
 * hosts or one after the other. A process of another namespace may claim any pid, but not another
 * user. */
#define STUCK_PID_SHIFT 42 /* pids have 22 bits, cores 10 */
#define STUCK_UID_SHIFT 10
static uint64_t stuck_key(const struct ntk_runtime_sample *runtime, uint32_t core)
{
    return (uint64_t)runtime->pid << STUCK_PID_SHIFT | (uint64_t)runtime->uid << STUCK_UID_SHIFT |
           (core & ((1u << STUCK_UID_SHIFT) - 1));
}

/* Reports each stuck execution once, and its end once. */
static bool watch_stuck(struct ntk_hang_watch *watch, const struct ntk_snapshot *snapshot)
{
    struct ntk_map now = { 0 };
    struct ntk_stuck stuck;
    bool is_changed = false;

    ntk_stuck_init(&stuck);
    if (ntk_stuck_add(&stuck, snapshot, "", 0) < 0) {
        ntk_stuck_fini(&stuck);
        return false; /* checked again in the next period */
    }
    ntk_vec_each(struct ntk_stuck_row, row, &stuck.rows) {
        uint64_t key = stuck_key(row->runtime, row->core->core);

        if (!ntk_map_get_number(&watch->said_stuck, key)) {
            struct ntk_buf text = { 0 };

            ntk_hang_write_stuck(row, &text);
            ntk_log_warn(MODULE, "%s", ntk_buf_text_get(&text));
            ntk_buf_fini(&text);
            ntk_captures_take(watch->captures, NTK_CAPTURES_STUCK, "", row->runtime->pid,
                              row->runtime->uid);
            is_changed = true;
        }
        (void)ntk_map_put_number(&now, key, watch);
    }
    ntk_map_each(entry, &watch->said_stuck) {
        if (!ntk_map_get_number(&now, entry->number)) {
            ntk_log_warn(MODULE, "the execution on core %u of process %u is no longer stuck",
                         (uint32_t)entry->number & ((1u << STUCK_UID_SHIFT) - 1),
                         (uint32_t)(entry->number >> STUCK_PID_SHIFT));
            is_changed = true;
        }
    }
    ntk_map_fini(&watch->said_stuck);
    watch->said_stuck = now;
    ntk_stuck_fini(&stuck);
    return is_changed;
}

bool ntk_hang_watch_put(struct ntk_hang_watch *watch, struct ntk_snapshot *snapshot)
{
    const struct ntk_ranks_clock own = { 0 };
    struct ntk_ranks ranks;
    bool is_changed = watch_stuck(watch, snapshot);

    watch_pace(watch, snapshot);
    watch_change(watch, snapshot);
    ntk_ranks_init(&ranks);
    if (ntk_ranks_add(&ranks, snapshot, "", own) < 0 || ntk_ranks_judge(&ranks, 0) < 0) {
        ntk_ranks_fini(&ranks); /* out of memory: checked again in the next period */
        return is_changed;
    }
    watch->has_ranks = ranks.rows.count > 0;
    ntk_vec_each(struct ntk_comm_verdict, verdict, &ranks.verdicts) {
        uint64_t key = verdict->first->sample->key;
        uintptr_t before = (uintptr_t)ntk_map_get_number(&watch->said, key);
        bool has_trouble = verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE;
        uintptr_t now = has_trouble ? (uintptr_t)verdict->kind + 1 : 0;

        if (now == before) {
            continue;
        }
        is_changed = true;
        if (has_trouble) {
            say(verdict);
            if (verdict->kind == NTK_COMM_HANGS) {
                capture(watch, snapshot, NTK_CAPTURES_HANG, verdict->first->sample->key,
                        verdict->first->pid);
            }
            (void)ntk_map_put_number(&watch->said, key, (void *)now);
        } else {
            ntk_log_warn(MODULE, "the %u ranks at %s have recovered", verdict->rank_count,
                         ntk_hang_place(verdict->first->sample->rendezvous));
            ntk_map_remove_number(&watch->said, key);
        }
    }
    forget_gone(watch, &ranks);
    ntk_hang_troubles_set(&watch->troubles, &ranks, &watch->change, snapshot);
    ntk_ranks_fini(&ranks);
    return is_changed;
}

/* Returns true if an execution runs long enough to be reported. */
static bool is_long(const struct ntk_core_sample *core)
{
    return core->running_ns >= LONG_NS;
}

static bool is_of_interest(const struct ntk_runtime_sample *runtime)
{
    bool has_long = false;

    for (size_t c = 0; c < runtime->core_count; c++) {
        has_long = has_long || is_long(&runtime->cores[c]);
    }
    return runtime->rank_count > 0 || has_long;
}

/* Copies only these members of cores with long executions. */
static void cores_take(struct ntk_snapshot *to, const struct ntk_runtime_sample *from,
                       struct ntk_runtime_sample *runtime)
{
    size_t count = 0;

    for (size_t c = 0; c < from->core_count; c++) {
        count += is_long(&from->cores[c]);
    }
    runtime->cores = count > 0 ? ntk_snapshot_alloc(to, count, sizeof *runtime->cores) : NULL;
    for (size_t c = 0; c < from->core_count && runtime->cores; c++) {
        if (is_long(&from->cores[c])) {
            runtime->cores[runtime->core_count++] =
                (struct ntk_core_sample){ .core = from->cores[c].core,
                                          .running_ns = from->cores[c].running_ns,
                                          .longest_ns = from->cores[c].longest_ns };
        }
    }
    if (runtime->core_count > 0) {
        runtime->has |= NTK_RUNTIME_HAS_CORES;
        runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES] = to->period_ns;
    }
}

bool ntk_hang_ranks_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line)
{
    const struct ntk_report_options options = { .timestamps = true };
    struct ntk_snapshot *small = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes;
    bool is_written = false;
    size_t count = 0;

    ntk_buf_reset(line);
    if (!small) {
        return false;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        count += is_of_interest(&snapshot->runtimes[i]);
    }
    small->sequence = snapshot->sequence;
    small->realtime_ns = snapshot->realtime_ns;
    small->monotonic_ns = snapshot->monotonic_ns;
    small->period_ns = snapshot->period_ns;
    small->lost_ranks = snapshot->lost_ranks; /* borrowed: the snapshot lives longer */
    small->lost_rank_count = snapshot->lost_rank_count;
    small->troubles = snapshot->troubles; /* borrowed in the same way */
    small->trouble_count = snapshot->trouble_count;
    runtimes = ntk_snapshot_alloc_runtimes(small, count);
    for (size_t i = 0, at = 0; i < snapshot->runtime_count && runtimes && at < count; i++) {
        const struct ntk_runtime_sample *from = &snapshot->runtimes[i];

        if (!is_of_interest(from)) {
            continue;
        }
        for (size_t k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            runtimes[at].group_period_ns[k] = NTK_GROUP_ABSENT;
        }
        runtimes[at].group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] = snapshot->period_ns;
        runtimes[at].pid = from->pid;
        runtimes[at].ended = from->ended;
        runtimes[at].lnc = from->lnc;
        runtimes[at].tag = from->tag;
        runtimes[at].command = from->command;
        runtimes[at].user = from->user;
        runtimes[at].ranks = from->ranks;
        runtimes[at].rank_count = from->rank_count;
        cores_take(small, from, &runtimes[at++]);
    }
    if (ntk_snapshot_ok(small)) {
        is_written = ntk_report_write(small, &options, line, NULL) == 0;
    }
    small->lost_ranks = NULL;
    small->troubles = NULL;
    ntk_snapshot_destroy(small);
    return is_written;
}
