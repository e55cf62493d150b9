/* SPDX-License-Identifier: MIT */
#include "shared/metrics/ranks_pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const ntk_pace_where_names[NTK_PACE_WHERE_COUNT] = { "unknown", "core", "host" };

/* Of what a rank is behind so much stands in how long its cores were busy, or does not. */
#define CORE_SHARE 0.5
#define HOST_SHARE 0.2

void ntk_pace_init(struct ntk_pace *pace)
{
    pace->by_hash = (struct ntk_map){ 0 };
    pace->round = 0;
    ntk_vec_init(&pace->ranks, sizeof(struct ntk_pace_rank));
    ntk_vec_init(&pace->verdicts, sizeof(struct ntk_pace_verdict));
}

void ntk_pace_fini(struct ntk_pace *pace)
{
    ntk_map_fini(&pace->by_hash);
    ntk_vec_fini(&pace->ranks);
    ntk_vec_fini(&pace->verdicts);
}

void ntk_pace_clear(struct ntk_pace *pace)
{
    ntk_map_fini(&pace->by_hash);
    pace->by_hash = (struct ntk_map){ 0 };
    pace->round = 0;
    ntk_vec_clear(&pace->ranks);
    ntk_vec_clear(&pace->verdicts);
}

static uint64_t hash_of(const struct ntk_rank_sample *sample, const char *host, uint32_t pid)
{
    uint64_t hash = sample->key ^ ((uint64_t)sample->rank << 32 | pid);

    for (; *host; host++) {
        hash = (hash ^ (unsigned char)*host) * 0x100000001b3u;
    }
    return hash;
}

/* NULL without memory. */
static struct ntk_pace_rank *rank_get(struct ntk_pace *pace, const struct ntk_rank_sample *sample,
                                      const char *host, uint32_t pid)
{
    uint64_t hash = hash_of(sample, host, pid);
    uintptr_t first = (uintptr_t)ntk_map_get_number(&pace->by_hash, hash);
    struct ntk_pace_rank *rank;

    for (uintptr_t next = first; next != 0; next = rank->next) {
        rank = ntk_vec_at(&pace->ranks, next - 1);
        if (rank->key == sample->key && rank->rank == sample->rank && rank->pid == pid &&
            strcmp(rank->host, host) == 0) {
            return rank;
        }
    }
    rank = ntk_vec_add(&pace->ranks);
    if (!rank || ntk_map_put_number(&pace->by_hash, hash, (void *)pace->ranks.count) < 0) {
        return NULL;
    }
    rank->key = sample->key;
    rank->rank = sample->rank;
    rank->rank_count = sample->rank_count;
    rank->host = host;
    rank->pid = pid;
    rank->next = (uint32_t)first;
    return rank;
}

/* One that left and joined again is there twice. What it did is added; the period itself, and what
 * its cores did, counts once. */
static void rank_add(struct ntk_pace *pace, struct ntk_pace_rank *rank,
                     const struct ntk_rank_sample *sample, uint64_t period_ns)
{
    if (rank->round != pace->round) {
        rank->round = pace->round;
        rank->span_ns += period_ns;
        rank->busy_ns += sample->core_busy_ns.period;
    }
    rank->time_ns += sample->time_ns.period;
    for (size_t n = 0; n < NTK_COLLECTIVE_COUNT; n++) {
        rank->operations += sample->operations[n].period;
    }
}

int ntk_pace_add(struct ntk_pace *pace, const struct ntk_snapshot *snapshot, const char *host)
{
    pace->round++;
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t k = 0; k < runtime->rank_count; k++) {
            const struct ntk_rank_sample *sample = &runtime->ranks[k];
            struct ntk_pace_rank *rank = rank_get(pace, sample, host, runtime->pid);

            if (!rank) {
                return -ENOMEM;
            }
            rank_add(pace, rank, sample, snapshot->period_ns);
        }
    }
    return 0;
}

/* Communicators together, of each the ranks in order. */
static int compare_ranks(const void *a, const void *b)
{
    const struct ntk_pace_rank *x = a;
    const struct ntk_pace_rank *y = b;

    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* With count > 0; sorts. */
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool has_enough(const struct ntk_pace_rank *rank)
{
    return rank->operations >= NTK_PACE_OPERATIONS_MIN;
}

/* Whether its cores were busy longer than those of the others, by about what it is behind. */
static enum ntk_pace_where where_of(const struct ntk_pace_verdict *verdict, double busy,
                                    double usual_busy)
{
    double more = busy - usual_busy;

    if (more >= CORE_SHARE * (double)verdict->behind_ns) {
        return NTK_PACE_CORE;
    }
    return more <= HOST_SHARE * (double)verdict->behind_ns ? NTK_PACE_HOST : NTK_PACE_UNKNOWN;
}

/* scratch holds 2 * count. */
static void judge_one(const struct ntk_pace_rank *ranks, size_t count, double *scratch,
                      struct ntk_pace_verdict *verdict)
{
    const struct ntk_pace_rank *slow = NULL;
    double least = 0; /* time in an operation of who waits least, and of the next */
    double next = 0;
    double interval = 0;
    size_t others = 0;

    for (size_t i = 0; i < count; i++) {
        double time;

        if (!has_enough(&ranks[i])) {
            continue;
        }
        verdict->seen++;
        time = (double)ranks[i].time_ns / (double)ranks[i].operations;
        interval += (double)ranks[i].span_ns / (double)ranks[i].operations;
        if (!slow || time < least) {
            next = slow ? least : time;
            least = time;
            slow = &ranks[i];
        } else if (verdict->seen == 2 || time < next) {
            next = time;
        }
    }
    if (verdict->seen < 2 || !slow) {
        return;
    }
    interval /= verdict->seen;
    for (size_t i = 0; i < count; i++) {
        if (has_enough(&ranks[i]) && &ranks[i] != slow) {
            scratch[others] = (double)ranks[i].time_ns / (double)ranks[i].operations;
            scratch[count + others++] = (double)ranks[i].busy_ns / (double)ranks[i].operations;
        }
    }
    double usual = median(scratch, others);
    double usual_busy = median(scratch + count, others);

    verdict->interval_ns = (uint64_t)interval;
    verdict->behind_ns = usual > least ? (uint64_t)(usual - least) : 0;
    verdict->share = interval > 0 ? (usual - least) / interval : 0;
    /* One that is slow stands apart; where all differ, no single one is. */
    if (verdict->share < NTK_PACE_SHARE_MIN ||
        usual - least < NTK_PACE_TIMES_MIN * (usual > next ? usual - next : 0)) {
        return;
    }
    verdict->slow = slow;
    verdict->where =
        where_of(verdict, (double)slow->busy_ns / (double)slow->operations, usual_busy);
}

static int compare_verdicts(const void *a, const void *b)
{
    const struct ntk_pace_verdict *x = a;
    const struct ntk_pace_verdict *y = b;

    if ((x->slow != NULL) != (y->slow != NULL)) {
        return x->slow ? -1 : 1;
    }
    return x->share > y->share ? -1 : x->share < y->share;
}

int ntk_pace_judge(struct ntk_pace *pace)
{
    const struct ntk_pace_rank *ranks = pace->ranks.items;
    double *scratch = calloc(pace->ranks.count + 1, 2 * sizeof *scratch);

    ntk_vec_clear(&pace->verdicts);
    if (!scratch) {
        return -ENOMEM;
    }
    if (pace->ranks.count > 0) {
        qsort(pace->ranks.items, pace->ranks.count, sizeof *ranks, compare_ranks);
    }
    for (size_t begin = 0, end; begin < pace->ranks.count; begin = end) {
        struct ntk_pace_verdict verdict = { .key = ranks[begin].key,
                                            .rank_count = ranks[begin].rank_count };

        for (end = begin; end < pace->ranks.count && ranks[end].key == ranks[begin].key;) {
            end++;
        }
        judge_one(ranks + begin, end - begin, scratch, &verdict);
        if (ntk_vec_push(&pace->verdicts, &verdict) < 0) {
            free(scratch);
            return -ENOMEM;
        }
    }
    free(scratch);
    ntk_vec_sort(&pace->verdicts, compare_verdicts);
    return 0;
}
