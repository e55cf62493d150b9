/* SPDX-License-Identifier: MIT */
#include "agent/hang/hang_troubles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

#define RANKS_NAMED 16u /* maximum per communicator */

struct held_trouble {
    struct ntk_rank_trouble trouble; /* borrows the texts of this struct */
    char rendezvous[128];
    char tag[128];
};

void ntk_hang_troubles_init(struct ntk_hang_troubles *troubles)
{
    ntk_vec_init(&troubles->held, sizeof(struct held_trouble));
    ntk_hang_jobs_init(&troubles->jobs);
}

void ntk_hang_troubles_fini(struct ntk_hang_troubles *troubles)
{
    ntk_vec_fini(&troubles->held);
    ntk_hang_jobs_fini(&troubles->jobs);
}

const struct ntk_runtime_sample *ntk_hang_member(const struct ntk_snapshot *snapshot, uint64_t key,
                                                 uint32_t pid)
{
    const struct ntk_runtime_sample *first = NULL;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t k = 0; k < runtime->rank_count && !runtime->ended; k++) {
            if (runtime->ranks[k].key != key) {
                continue;
            }
            if (runtime->pid == pid) {
                return runtime;
            }
            first = first ? first : runtime;
        }
    }
    return first;
}

const char *ntk_hang_rendezvous(const struct ntk_snapshot *snapshot, uint64_t key)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t k = 0; k < runtime->rank_count; k++) {
            if (runtime->ranks[k].key == key) {
                return runtime->ranks[k].rendezvous;
            }
        }
    }
    return "";
}

/* ---- slow ranks ---- */

static struct held_trouble *held_find(struct ntk_hang_troubles *troubles, uint64_t key)
{
    ntk_vec_each(struct held_trouble, held, &troubles->held) {
        if (held->trouble.key == key) {
            return held;
        }
    }
    return NULL;
}

void ntk_hang_troubles_hold(struct ntk_hang_troubles *troubles, const struct ntk_snapshot *snapshot,
                            const struct ntk_pace_verdict *verdict, uint64_t window_ns)
{
    const struct ntk_pace_rank *slow = verdict->slow;
    const struct ntk_runtime_sample *runtime = ntk_hang_member(snapshot, verdict->key, slow->pid);
    struct held_trouble *held = held_find(troubles, verdict->key);
    bool is_same = held && held->trouble.rank == slow->rank;

    if (!held && troubles->held.count < NTK_SNAPSHOT_TROUBLES_MAX) {
        held = ntk_vec_add(&troubles->held);
    }
    if (!held) {
        return;
    }
    held->trouble.behind_ns = verdict->behind_ns;
    held->trouble.interval_ns = verdict->interval_ns;
    if (is_same && verdict->where == NTK_PACE_UNKNOWN) {
        return; /* it was known earlier, and may be again */
    }
    held->trouble.cause = ntk_pace_where_names[verdict->where];
    if (is_same) {
        return;
    }
    held->trouble.kind = NTK_TROUBLE_SLOW;
    held->trouble.key = verdict->key;
    held->trouble.rank_count = verdict->rank_count;
    held->trouble.has_rank = true;
    held->trouble.rank = slow->rank;
    held->trouble.pid = slow->pid;
    held->trouble.since_ns =
        snapshot->realtime_ns - (window_ns < snapshot->realtime_ns ? window_ns : 0);
    ntk_str_copy(held->rendezvous, sizeof held->rendezvous,
                 ntk_hang_rendezvous(snapshot, verdict->key));
    ntk_str_copy(held->tag, sizeof held->tag, runtime ? runtime->tag : "");
}

void ntk_hang_troubles_drop(struct ntk_hang_troubles *troubles, uint64_t key)
{
    for (size_t i = 0; i < troubles->held.count; i++) {
        const struct held_trouble *held = ntk_vec_at(&troubles->held, i);

        if (held->trouble.key == key) {
            ntk_vec_remove(&troubles->held, i);
            return;
        }
    }
}

/* Returns true if its ranks are running or will be; verdicts keep killed ranks for some time. */
static bool is_alive(const struct ntk_ranks *ranks, uint64_t key)
{
    ntk_vec_each(const struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        for (uint32_t i = 0; verdict->first->sample->key == key && i < verdict->seen; i++) {
            const struct ntk_rank_row *row = verdict->ranks[i].row;

            if (!row->is_lost && row->sample->state == NTK_RANK_JOINED) {
                return verdict->kind != NTK_COMM_BROKE;
            }
        }
    }
    return false;
}

/* ---- of a period ---- */

struct filling {
    const struct ntk_hang_jobs *jobs;
    struct ntk_rank_trouble troubles[NTK_SNAPSHOT_TROUBLES_MAX];
    size_t count;
};

static void fill(struct filling *filling, const struct ntk_rank_trouble *trouble)
{
    if (filling->count < NTK_SNAPSHOT_TROUBLES_MAX) {
        filling->troubles[filling->count] = *trouble;
        filling->troubles[filling->count++].job_id = ntk_hang_jobs_get(filling->jobs, trouble->key);
    }
}

/* Returns the common tag of a job's ranks; a process without a tag has its pid instead. */
static const char *shared_tag(const char *tag, uint32_t pid)
{
    char own[16];

    (void)snprintf(own, sizeof own, "%" PRIu32, pid);
    return strcmp(tag, own) == 0 ? "" : tag;
}

static void fill_rank(struct filling *filling, struct ntk_rank_trouble trouble,
                      const struct ntk_rank_verdict *rank, uint64_t now_ns)
{
    const struct ntk_rank_row *row = rank->row;

    trouble.has_rank = true;
    trouble.rank = rank->rank;
    trouble.pid = row ? row->pid : 0;
    trouble.tag = row ? row->tag : trouble.tag;
    trouble.cause = ntk_rank_where_names[rank->where];
    if (row && trouble.kind == NTK_TROUBLE_BROKE) {
        uint64_t age_ns = row->is_lost ? row->lost_for_ns : row->sample->state_ns;

        trouble.since_ns = now_ns - (age_ns < now_ns ? age_ns : 0);
    }
    fill(filling, &trouble);
}

static void fill_verdict(struct filling *filling, const struct ntk_comm_verdict *verdict,
                         uint64_t now_ns)
{
    uint64_t for_ns =
        verdict->kind == NTK_COMM_BROKE ? ntk_comm_verdict_broke_for(verdict) : verdict->age_ns;
    uint64_t age_ns = for_ns < now_ns ? for_ns : 0;
    struct ntk_rank_verdict rank = { 0 };
    struct ntk_rank_trouble trouble = {
        .kind = verdict->kind == NTK_COMM_HANGS ? NTK_TROUBLE_HANGS : NTK_TROUBLE_BROKE,
        .key = verdict->first->sample->key,
        .rendezvous = verdict->first->sample->rendezvous,
        .rank_count = verdict->rank_count,
        .tag = shared_tag(verdict->first->tag, verdict->first->pid),
        .cause = verdict->kind == NTK_COMM_HANGS ? "operation" : "unknown",
        .operation = verdict->operation,
        .sequence = verdict->sequence,
        .since_ns = now_ns - age_ns,
        .missing_count = verdict->missing_count,
    };
    uint32_t named = 0;

    for (uint32_t from = 0;
         named < RANKS_NAMED && ntk_comm_verdict_missing_as(verdict, NTK_RANK_LOST, from, &rank);
         from = rank.rank + 1, named++) {
        fill_rank(filling, trouble, &rank, now_ns);
    }
    for (uint32_t from = 0; named < RANKS_NAMED && ntk_comm_verdict_missing(verdict, from, &rank);
         from = rank.rank + 1) {
        if (rank.where != NTK_RANK_LOST) {
            fill_rank(filling, trouble, &rank, now_ns);
            named++;
        }
    }
    if (named == 0) {
        fill(filling, &trouble);
    }
}

static void fill_change(struct filling *filling, const struct ntk_change_verdict *verdict,
                        const struct ntk_snapshot *snapshot)
{
    const struct ntk_runtime_sample *runtime = ntk_hang_member(snapshot, verdict->key, 0);
    const struct ntk_rank_trouble trouble = {
        .kind = NTK_TROUBLE_SLOWER,
        .key = verdict->key,
        .rendezvous = ntk_hang_rendezvous(snapshot, verdict->key),
        .rank_count = verdict->rank_count,
        .tag = runtime ? shared_tag(runtime->tag, runtime->pid) : "",
        .cause = ntk_change_where_names[verdict->where],
        .since_ns = verdict->since_ns,
        .behind_ns =
            verdict->after_ns > verdict->before_ns ? verdict->after_ns - verdict->before_ns : 0,
        .interval_ns = verdict->after_ns,
    };

    fill(filling, &trouble);
}

void ntk_hang_troubles_set(struct ntk_hang_troubles *troubles, const struct ntk_ranks *ranks,
                           const struct ntk_change *change, struct ntk_snapshot *snapshot)
{
    struct filling filling = { .jobs = &troubles->jobs };

    ntk_hang_jobs_look(&troubles->jobs, ranks, snapshot);
    for (size_t i = troubles->held.count; i-- > 0;) {
        struct held_trouble *held = ntk_vec_at(&troubles->held, i);

        if (!is_alive(ranks, held->trouble.key)) {
            ntk_vec_remove(&troubles->held, i);
        }
    }
    ntk_vec_each(struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        if (verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE) {
            fill_verdict(&filling, verdict, snapshot->realtime_ns);
        }
    }
    ntk_vec_each(struct held_trouble, held, &troubles->held) {
        held->trouble.rendezvous = held->rendezvous; /* the struct may have moved */
        held->trouble.tag = held->tag;
        fill(&filling, &held->trouble);
    }
    ntk_vec_each(const struct ntk_change_verdict, verdict, &change->verdicts) {
        fill_change(&filling, verdict, snapshot);
    }
    ntk_snapshot_set_troubles(snapshot, filling.troubles, filling.count);
}
