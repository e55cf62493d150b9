/* SPDX-License-Identifier: MIT */
#include "shared/metrics/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"
#include "shared/base/order.h"

const char *const ntk_rank_where_names[NTK_RANK_WHERE_COUNT] = {
    "arrived", "elsewhere", "behind", "restarted", "gone", "lost", "unseen",
};
const char *const ntk_comm_verdict_names[NTK_COMM_VERDICT_COUNT] = { "idle", "goes_on", "hangs",
                                                                     "broke" };

void ntk_ranks_init(struct ntk_ranks *ranks)
{
    ntk_vec_init(&ranks->rows, sizeof(struct ntk_rank_row));
    ntk_vec_init(&ranks->verdicts, sizeof(struct ntk_comm_verdict));
}

static void verdicts_clear(struct ntk_ranks *ranks)
{
    ntk_vec_each(struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        free(verdict->ranks);
    }
    ntk_vec_fini(&ranks->verdicts);
    ntk_vec_init(&ranks->verdicts, sizeof(struct ntk_comm_verdict));
}

void ntk_ranks_fini(struct ntk_ranks *ranks)
{
    verdicts_clear(ranks);
    ntk_vec_fini(&ranks->verdicts);
    ntk_vec_fini(&ranks->rows);
}

/* ---- rows ---- */

static int row_add(struct ntk_ranks *ranks, const struct ntk_rank_row *about,
                   const struct ntk_rank_sample *sample, struct ntk_ranks_clock clock)
{
    struct ntk_rank_row *row;

    if (sample->rank_count == 0 || sample->rank_count > NTK_RANKS_MAX ||
        sample->rank >= sample->rank_count) {
        return 0;
    }
    row = ntk_vec_add(&ranks->rows);
    if (!row) {
        return -ENOMEM;
    }
    *row = *about;
    row->sample = sample;
    row->begin_realtime_ns = sample->join_timestamp_ns - (uint64_t)clock.ahead_ns;
    row->clock_error_ns = clock.error_ns;
    return 0;
}

int ntk_ranks_add(struct ntk_ranks *ranks, const struct ntk_snapshot *snapshot, const char *host,
                  struct ntk_ranks_clock clock)
{
    int ret = 0;

    for (size_t i = 0; i < snapshot->runtime_count && ret == 0; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        const struct ntk_rank_row about = { .host = host,
                                            .pid = runtime->pid,
                                            .tag = runtime->tag,
                                            .command = runtime->command,
                                            .is_lost = runtime->ended };

        for (size_t k = 0; k < runtime->rank_count && ret == 0; k++) {
            ret = row_add(ranks, &about, &runtime->ranks[k], clock);
        }
    }
    for (size_t i = 0; i < snapshot->lost_rank_count && ret == 0; i++) {
        const struct ntk_lost_rank *lost = &snapshot->lost_ranks[i];
        const struct ntk_rank_row about = { .host = host,
                                            .pid = lost->pid,
                                            .tag = lost->tag,
                                            .command = lost->command,
                                            .is_lost = true,
                                            .lost_for_ns = lost->lost_for_ns };

        ret = row_add(ranks, &about, &lost->rank, clock);
    }
    return ret;
}

/* Groups the rows of a communicator; for each rank, the newest comes first. */
NTK_ORDER(compare_rows, struct ntk_rank_row,
          NTK_UP(sample->key) NTK_UP(sample->rank) NTK_DOWN(begin_realtime_ns) NTK_UP(is_lost));

/* ---- one communicator ---- */

static bool is_in(const struct ntk_rank_row *row)
{
    return !row->is_lost && row->sample->state == NTK_RANK_JOINED && row->sample->in_flight > 0;
}

/* Finds the awaited operation, which is the highest that a living rank is in, and its start. */
static void operation_find(struct ntk_comm_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->seen; i++) {
        const struct ntk_rank_row *row = verdict->ranks[i].row;

        if (!is_in(row) || row->sample->sequence < verdict->sequence) {
            continue;
        }
        if (row->sample->sequence > verdict->sequence) {
            verdict->age_ns = 0;
        }
        verdict->sequence = row->sample->sequence;
        verdict->operation = row->sample->operation;
        if (row->sample->state_ns > verdict->age_ns) {
            verdict->age_ns = row->sample->state_ns;
            verdict->first = row;
        }
    }
}

uint64_t ntk_ranks_limit(uint64_t longest_ns, bool *out_is_learned)
{
    *out_is_learned = longest_ns > 0;
    if (longest_ns == 0) {
        return NTK_RANKS_UNKNOWN_NS;
    }
    if (longest_ns >= NTK_RANKS_MOST_NS / NTK_RANKS_TIMES) {
        return NTK_RANKS_MOST_NS;
    }
    longest_ns *= NTK_RANKS_TIMES;
    return longest_ns < NTK_RANKS_LEAST_NS ? NTK_RANKS_LEAST_NS : longest_ns;
}

static void threshold_find(struct ntk_comm_verdict *verdict, uint64_t threshold_ns)
{
    uint64_t longest_ns = 0;

    verdict->threshold_ns = threshold_ns;
    if (threshold_ns != 0) {
        return;
    }
    for (uint32_t i = 0; i < verdict->seen; i++) {
        const struct ntk_rank_row *row = verdict->ranks[i].row;

        if (row->sample->longest_ns > longest_ns) {
            longest_ns = row->sample->longest_ns;
        }
    }
    verdict->threshold_ns = ntk_ranks_limit(longest_ns, &verdict->is_learned);
}

/* Returns true if its process certainly began after other ranks had started to wait. */
static bool is_restarted(const struct ntk_rank_row *row, const struct ntk_comm_verdict *verdict)
{
    const struct ntk_rank_row *first = verdict->first;
    uint64_t later_ns = row->begin_realtime_ns > first->begin_realtime_ns
                            ? row->begin_realtime_ns - first->begin_realtime_ns
                            : 0;

    if (row->sample->sequence >= verdict->sequence ||
        verdict->sequence - row->sample->sequence < 2 || later_ns <= NTK_RANKS_LEAST_NS) {
        return false;
    }
    later_ns -= NTK_RANKS_LEAST_NS; /* the sender claims the error, so the error is never added */
    return later_ns > row->clock_error_ns && later_ns - row->clock_error_ns > first->clock_error_ns;
}

static enum ntk_rank_where where_of(const struct ntk_rank_row *row,
                                    const struct ntk_comm_verdict *verdict)
{
    const struct ntk_rank_sample *sample = row->sample;

    if (sample->state == NTK_RANK_LEFT) {
        return NTK_RANK_GONE;
    }
    if (row->is_lost) {
        return sample->state == NTK_RANK_BROKEN ? NTK_RANK_GONE : NTK_RANK_LOST;
    }
    if (sample->sequence >= verdict->sequence) {
        return NTK_RANK_ARRIVED;
    }
    if (is_restarted(row, verdict)) {
        return NTK_RANK_RESTARTED;
    }
    return sample->in_flight > 0 ? NTK_RANK_BEHIND : NTK_RANK_ELSEWHERE;
}

/* Time since the communicator broke for it. */
static uint64_t broke_for(const struct ntk_rank_row *row)
{
    return row->sample->state_ns + (row->is_lost ? row->lost_for_ns : 0);
}

uint64_t ntk_comm_verdict_broke_for(const struct ntk_comm_verdict *verdict)
{
    uint64_t longest_ns = 0;

    for (uint32_t i = 0; i < verdict->seen; i++) {
        const struct ntk_rank_row *row = verdict->ranks[i].row;
        uint64_t for_ns = verdict->ranks[i].where == NTK_RANK_LOST ? row->lost_for_ns
                          : row->sample->state == NTK_RANK_BROKEN  ? broke_for(row)
                                                                   : 0;

        longest_ns = for_ns > longest_ns ? for_ns : longest_ns;
    }
    return longest_ns;
}

/* The kind if no rank waits: a rank was missing, or they are between two operations, or they have
 * finished. */
static enum ntk_comm_verdict_kind kind_at_rest(const struct ntk_comm_verdict *verdict)
{
    bool is_broken = false;
    bool has_lost = false;
    bool is_between = false;

    for (uint32_t i = 0; i < verdict->seen; i++) {
        const struct ntk_rank_row *row = verdict->ranks[i].row;

        is_broken = is_broken ||
                    (row->sample->state == NTK_RANK_BROKEN && broke_for(row) <= NTK_RANKS_BROKE_NS);
        has_lost = has_lost || verdict->ranks[i].where == NTK_RANK_LOST;
        is_between = is_between ||
                     (!row->is_lost && row->sample->state == NTK_RANK_JOINED &&
                      row->sample->sequence > 0 && row->sample->state_ns <= NTK_RANKS_LEAST_NS);
    }
    return is_broken || has_lost ? NTK_COMM_BROKE : is_between ? NTK_COMM_GOES_ON : NTK_COMM_IDLE;
}

/* Fills in the newest row of each rank, which comes first. */
static void seen_fill(struct ntk_comm_verdict *verdict, const struct ntk_rank_row *rows,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = rows[i].sample->rank;

        if (rank < verdict->rank_count &&
            (verdict->seen == 0 || verdict->ranks[verdict->seen - 1].rank != rank)) {
            verdict->ranks[verdict->seen++] =
                (struct ntk_rank_verdict){ .rank = rank, .row = &rows[i] };
        }
    }
}

/* If no rank is in an operation, finds the last operation that a rank was in. */
static void operation_find_last(struct ntk_comm_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->seen; i++) {
        const struct ntk_rank_sample *sample = verdict->ranks[i].row->sample;

        if (sample->sequence >= verdict->sequence) {
            verdict->sequence = sample->sequence;
            verdict->operation = sample->operation;
        }
    }
}

static int judge_one(struct ntk_ranks *ranks, const struct ntk_rank_row *rows, size_t count,
                     uint64_t threshold_ns)
{
    struct ntk_comm_verdict verdict = { .first = rows, .rank_count = rows->sample->rank_count };
    struct ntk_comm_verdict *added = ntk_vec_add(&ranks->verdicts);

    if (!added) {
        return -ENOMEM;
    }
    verdict.ranks = calloc(count, sizeof *verdict.ranks);
    if (!verdict.ranks) {
        return -ENOMEM;
    }
    seen_fill(&verdict, rows, count);
    operation_find(&verdict);
    threshold_find(&verdict, threshold_ns);
    verdict.missing_count = verdict.rank_count;
    for (uint32_t i = 0; i < verdict.seen; i++) {
        verdict.ranks[i].where = where_of(verdict.ranks[i].row, &verdict);
        verdict.missing_count -= verdict.ranks[i].where == NTK_RANK_ARRIVED;
    }
    verdict.kind = verdict.age_ns == 0                     ? kind_at_rest(&verdict)
                   : verdict.age_ns > verdict.threshold_ns ? NTK_COMM_HANGS
                                                           : NTK_COMM_GOES_ON;
    if (verdict.age_ns == 0) {
        operation_find_last(&verdict);
    }
    *added = verdict;
    return 0;
}

/* Finds the index of the first seen rank from this number on. */
static uint32_t seen_find(const struct ntk_comm_verdict *verdict, uint32_t from)
{
    uint32_t low = 0;

    NTK_BISECT(low, verdict->seen, i, verdict->ranks[i].rank < from);
    return low;
}

struct ntk_rank_verdict ntk_comm_verdict_rank(const struct ntk_comm_verdict *verdict, uint32_t rank)
{
    uint32_t index = seen_find(verdict, rank);

    if (index < verdict->seen && verdict->ranks[index].rank == rank) {
        return verdict->ranks[index];
    }
    return (struct ntk_rank_verdict){ .rank = rank, .where = NTK_RANK_UNSEEN };
}

bool ntk_comm_verdict_missing_as(const struct ntk_comm_verdict *verdict, enum ntk_rank_where where,
                                 uint32_t from, struct ntk_rank_verdict *out)
{
    for (uint32_t i = seen_find(verdict, from); i < verdict->seen; i++) {
        if (verdict->ranks[i].where == where) {
            *out = verdict->ranks[i];
            return true;
        }
    }
    return false;
}

bool ntk_comm_verdict_missing(const struct ntk_comm_verdict *verdict, uint32_t from,
                              struct ntk_rank_verdict *out)
{
    for (uint32_t i = seen_find(verdict, from); from < verdict->rank_count; i++, from++) {
        if (i >= verdict->seen || verdict->ranks[i].rank != from) {
            *out = (struct ntk_rank_verdict){ .rank = from, .where = NTK_RANK_UNSEEN };
            return true;
        }
        if (verdict->ranks[i].where != NTK_RANK_ARRIVED) {
            *out = verdict->ranks[i];
            return true;
        }
    }
    return false;
}

/* Sorts hanging communicators first, then broken ones; each by duration, then by size. */
static int compare_verdicts(const void *a, const void *b)
{
    static const int order[NTK_COMM_VERDICT_COUNT] = {
        [NTK_COMM_HANGS] = 0, [NTK_COMM_BROKE] = 1, [NTK_COMM_GOES_ON] = 2, [NTK_COMM_IDLE] = 3
    };
    const struct ntk_comm_verdict *x = a;
    const struct ntk_comm_verdict *y = b;

    if (x->kind != y->kind) {
        return order[x->kind] - order[y->kind];
    }
    if (x->age_ns != y->age_ns) {
        return x->age_ns > y->age_ns ? -1 : 1;
    }
    return x->rank_count < y->rank_count ? 1 : x->rank_count > y->rank_count ? -1 : 0;
}

int ntk_ranks_judge(struct ntk_ranks *ranks, uint64_t threshold_ns)
{
    const struct ntk_rank_row *rows = ranks->rows.items;
    int ret = 0;

    verdicts_clear(ranks);
    if (ranks->rows.count > 0) {
        qsort(ranks->rows.items, ranks->rows.count, sizeof *rows, compare_rows);
    }
    for (size_t begin = 0, end; begin < ranks->rows.count && ret == 0; begin = end) {
        end = begin;
        while (end < ranks->rows.count && rows[end].sample->key == rows[begin].sample->key) {
            end++;
        }
        ret = judge_one(ranks, rows + begin, end - begin, threshold_ns);
    }
    if (ranks->verdicts.count > 0) {
        qsort(ranks->verdicts.items, ranks->verdicts.count, sizeof(struct ntk_comm_verdict),
              compare_verdicts);
    }
    return ret;
}
