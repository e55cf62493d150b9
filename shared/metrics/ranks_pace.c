/* SPDX-License-Identifier: MIT */
#include "shared/metrics/ranks_pace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

const char *const ntk_pace_where_names[NTK_PACE_WHERE_COUNT] = { "unknown", "core", "host",
                                                                 "memory", "link" };

/* Share of a rank's delay that must be busy time of its cores for the delay to count as theirs. */
#define CORE_SHARE 0.5
#define HOST_SHARE 0.2
/* A device's memory is slow if its transfers, relative to its engines' time, take this many times
 * as long as those of the others ... */
#define MEMORY_TIMES 1.25
/* ... and all run the same program: the same bytes per operation, within this share. */
#define BYTES_SHARE 0.2

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

/* Returns NULL if out of memory. */
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

/* Adds a rank's counts. A rank that left and joined again is listed twice: its counts are added,
 * but the period and the work of its cores count once. */
static void rank_add(struct ntk_pace *pace, struct ntk_pace_rank *rank,
                     const struct ntk_rank_sample *sample, uint64_t period_ns)
{
    bool is_new = rank->round != pace->round;
    struct ntk_pace_period *period;

    if (is_new && rank->period_count < NTK_PACE_PERIODS_MAX) {
        rank->period_count++;
    }
    period = &rank->periods[rank->period_count - 1];
    if (is_new) {
        rank->round = pace->round;
        rank->span_ns += period_ns;
        period->busy_ns += sample->core_busy_ns.period;
        period->engine_ns += sample->engine_busy_ns.period;
        period->dma_ns += sample->dma_busy_ns.period;
        period->dma_bytes += sample->dma_bytes.period;
    }
    period->time_ns += sample->in_operations_ns.period;
    period->wait_ns += sample->wait_ns.period;
    for (size_t n = 0; n < NTK_COLLECTIVE_COUNT; n++) {
        period->operations += sample->operations[n].period;
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

/* Groups ranks by communicator, in rank order. */
NTK_ORDER(compare_ranks, struct ntk_pace_rank, NTK_UP(key) NTK_UP(rank));

NTK_ORDER_NUMBERS(compare_doubles, double);

/* Sorts the values; count must be above 0. */
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static bool has_enough(const struct ntk_pace_rank *rank)
{
    return rank->operations >= NTK_PACE_OPERATIONS_MIN;
}

/* Values per operation. */
enum value { TIME, WAIT, BUSY, VALUES };

static double value_of(const struct ntk_pace_period *period, enum value value)
{
    uint64_t ns = value == TIME   ? period->time_ns
                  : value == WAIT ? period->wait_ns
                                  : period->busy_ns;

    return (double)ns / (double)period->operations;
}

static void medians_take(struct ntk_pace_rank *rank)
{
    double *const to[VALUES] = { [TIME] = &rank->time, [WAIT] = &rank->wait, [BUSY] = &rank->busy };

    for (enum value v = TIME; v < VALUES; v++) {
        double values[NTK_PACE_PERIODS_MAX] = { 0 };
        size_t count = 0;

        for (uint32_t p = 0; p < rank->period_count; p++) {
            if (rank->periods[p].operations > 0) {
                values[count++] = value_of(&rank->periods[p], v);
            }
        }
        *to[v] = median(values, count);
    }
}

/* A measure, from times and waits, that is large for slow ranks. */
typedef double measure_of(double time, double wait);

static double earliness(double time, double wait)
{
    (void)wait;
    return -time;
}

static double own_time(double time, double wait)
{
    return time - wait;
}

static double wait_of(double time, double wait)
{
    (void)time;
    return wait;
}

static double measured(const struct ntk_pace_rank *rank, measure_of *measure)
{
    return measure(rank->time, rank->wait);
}

/* The rank's period that many before its last one, as an approximation of the same time: machines
 * are read in turn, each with its own clock. NULL if the rank did nothing in it. */
static const struct ntk_pace_period *period_of(const struct ntk_pace_rank *rank, uint32_t before)
{
    const struct ntk_pace_period *period =
        before < rank->period_count ? &rank->periods[rank->period_count - 1 - before] : NULL;

    return period && period->operations > 0 ? period : NULL;
}

static double median_of_others(const struct ntk_pace_rank *ranks, size_t count,
                               const struct ntk_pace_rank *one, measure_of *measure,
                               double *scratch)
{
    size_t others = 0;

    for (size_t i = 0; i < count; i++) {
        if (has_enough(&ranks[i]) && &ranks[i] != one) {
            scratch[others++] = measured(&ranks[i], measure);
        }
    }
    return median(scratch, others);
}

/* Returns true if the rank is also far enough above the others in most of the periods. */
static bool is_steady(const struct ntk_pace_rank *ranks, size_t count,
                      const struct ntk_pace_rank *one, measure_of *measure, double least,
                      double *scratch)
{
    uint32_t above = 0;
    uint32_t seen = 0;

    for (uint32_t before = 0; before < one->period_count; before++) {
        const struct ntk_pace_period *own = period_of(one, before);
        size_t others = 0;

        for (size_t i = 0; i < count && own; i++) {
            const struct ntk_pace_period *period =
                &ranks[i] != one ? period_of(&ranks[i], before) : NULL;

            if (period) {
                scratch[others++] = measure(value_of(period, TIME), value_of(period, WAIT));
            }
        }
        if (others > 0) {
            seen++;
            above += measure(value_of(own, TIME), value_of(own, WAIT)) - median(scratch, others) >=
                     least;
        }
    }
    return seen > 0 && above >= NTK_PACE_PERIODS_SHARE_MIN * seen;
}

/* The rank that is furthest above the others by this measure, and the distance. NULL if it is not
 * far enough, or not isolated: if all differ, no single one is slow. At least two ranks must have
 * enough data. */
static const struct ntk_pace_rank *stands_apart(const struct ntk_pace_rank *ranks, size_t count,
                                                measure_of *measure, double interval,
                                                double *scratch, double *out_behind)
{
    const struct ntk_pace_rank *first = NULL;
    double least = NTK_PACE_SHARE_MIN * interval;
    double next = -INFINITY;

    for (size_t i = 0; i < count; i++) {
        if (!has_enough(&ranks[i])) {
            continue;
        }
        double value = measured(&ranks[i], measure);
        if (!first || value > measured(first, measure)) {
            next = first ? measured(first, measure) : next;
            first = &ranks[i];
        } else if (value > next) {
            next = value;
        }
    }
    if (!first) {
        *out_behind = 0;
        return NULL;
    }
    double usual = median_of_others(ranks, count, first, measure, scratch);
    double behind = measured(first, measure) - usual;

    *out_behind = behind > 0 ? behind : 0;
    return interval > 0 && behind >= least &&
                   behind >= NTK_PACE_TIMES_MIN * (next > usual ? next - usual : 0) &&
                   is_steady(ranks, count, first, measure, least, scratch)
               ? first
               : NULL;
}

/* How much longer its cores are busy per operation than those of the other ranks. */
static double busy_more(const struct ntk_pace_rank *ranks, size_t count,
                        const struct ntk_pace_rank *one, double *scratch)
{
    size_t others = 0;

    for (size_t i = 0; i < count; i++) {
        if (has_enough(&ranks[i]) && &ranks[i] != one) {
            scratch[others++] = ranks[i].busy;
        }
    }
    return one->busy - median(scratch, others);
}

/* Returns CORE if the rank's cores were busy longer than those of the other ranks by about its
 * delay, HOST if not, UNKNOWN in between. */
static enum ntk_pace_where where_of(double more, double behind)
{
    if (more >= CORE_SHARE * behind) {
        return NTK_PACE_CORE;
    }
    return more <= HOST_SHARE * behind ? NTK_PACE_HOST : NTK_PACE_UNKNOWN;
}

/* The ratio of transfer time to engine time over the window, in which host and device time cancel
 * out. 0 if unknown. */
static double transfers_of(const struct ntk_pace_rank *rank, double *out_bytes)
{
    double engines = 0;
    double transfers = 0;

    *out_bytes = 0;
    for (uint32_t p = 0; p < rank->period_count; p++) {
        engines += (double)rank->periods[p].engine_ns;
        transfers += (double)rank->periods[p].dma_ns;
        *out_bytes += (double)rank->periods[p].dma_bytes;
    }
    *out_bytes /= (double)rank->operations;
    return engines > 0 && *out_bytes > 0 ? transfers / engines : 0;
}

/* If a rank's cores are busy longer, checks whether their memory is the reason. */
static void memory_find(const struct ntk_pace_rank *ranks, size_t count, double *scratch,
                        struct ntk_pace_verdict *verdict)
{
    size_t others = 0;
    double own_bytes = 0;
    double own = transfers_of(verdict->slow, &own_bytes);

    for (size_t i = 0; i < count; i++) {
        double bytes = 0;
        double its = has_enough(&ranks[i]) && &ranks[i] != verdict->slow
                         ? transfers_of(&ranks[i], &bytes)
                         : 0;

        if (its > 0 && fabs(bytes - own_bytes) <= BYTES_SHARE * own_bytes) {
            scratch[others++] = its;
        }
    }
    if (own > 0 && others > 0) {
        verdict->has_transfers = true;
        verdict->where =
            own >= MEMORY_TIMES * median(scratch, others) ? NTK_PACE_MEMORY : verdict->where;
    }
}

/* scratch must have room for count values. */
static void judge_one(struct ntk_pace_rank *ranks, size_t count, double *scratch,
                      struct ntk_pace_verdict *verdict)
{
    double interval = 0;
    double behind;

    for (size_t i = 0; i < count; i++) {
        if (has_enough(&ranks[i])) {
            medians_take(&ranks[i]);
            verdict->seen++;
            interval += (double)ranks[i].span_ns / (double)ranks[i].operations;
        }
    }
    if (verdict->seen < 2) {
        return;
    }
    interval /= verdict->seen;
    verdict->slow = stands_apart(ranks, count, earliness, interval, scratch, &behind);
    if (verdict->slow) {
        verdict->where = where_of(busy_more(ranks, count, verdict->slow, scratch), behind);
        if (verdict->where == NTK_PACE_CORE) {
            memory_find(ranks, count, scratch, verdict);
        }
    } else {
        double late = behind;
        const struct ntk_pace_rank *link =
            stands_apart(ranks, count, own_time, interval, scratch, &behind);

        /* If the waiting time is unknown, a whole operation would appear to be its work. */
        if (link && median_of_others(ranks, count, link, wait_of, scratch) >= CORE_SHARE * behind) {
            verdict->slow = link;
            verdict->where = NTK_PACE_LINK;
        } else {
            behind = late;
        }
    }
    verdict->interval_ns = (uint64_t)interval;
    verdict->behind_ns = (uint64_t)behind;
    verdict->share = interval > 0 ? behind / interval : 0;
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
    struct ntk_pace_rank *ranks = pace->ranks.items;
    double *scratch = calloc(pace->ranks.count + 1, sizeof *scratch);

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
