/* SPDX-License-Identifier: MIT */
/* rank_skew - sorts spans by kind, rank and start, then compares step by step over all ranks. */
#include "profiler/analysis/rank_skew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/median.h"
#include "profiler/trace/long_list.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

static const char *const types[] = { "nc_exec_running", "cc_running", "cc_exec_barrier" };

enum { TYPE_COUNT = sizeof types / sizeof *types };

#define PAIR_CORES 8 /* maximum number of physical cores per logical core */
#define CORE_BITS 3
#define HEAP_BYTES ((size_t)8 << 20) /* memory per list; longer lists are stored in a file */
#define PASS_BEGINS 65536U

/* An item of a sorter, ordered by worker first. */
struct begin {
    int64_t worker;
    uint64_t start_ns, end_ns;
    uint64_t place; /* exec_id << CORE_BITS | core */
};

struct begins {
    struct ntk_sorted sorted;
    size_t count; /* for steps: number of remaining steps */
};

NTK_ORDER(compare_begins, struct begin, NTK_UP(start_ns));

static void give_back(const struct begins *begins)
{
    ntk_long_items_give_back(begins->sorted.items, begins->sorted.count * sizeof(struct begin),
                             begins->sorted.is_mapped);
}

static int spans_add(const struct ntk_system_trace *trace, const char *type,
                     struct ntk_sorter *begins)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        if (strcmp(span->type, type) == 0 && !span->is_instant && !span->is_partial) {
            uint64_t exec_id = ntk_system_span_is_collective(span) ? 0 : span->exec_id;
            struct begin *begin = ntk_sorter_add(begins);

            if (!begin) {
                return begins->failed;
            }
            *begin = (struct begin){ span->worker, span->start_ns, span->end_ns,
                                     exec_id << CORE_BITS | span->device_core % PAIR_CORES };
        }
        ntk_system_trace_passed(trace, i);
    }
    return 0;
}

/* Joins entries, so that there is one per step of a worker. Both physical cores of a logical core
 * run the same execution: the n-th spans of the two are the same step. */
static void steps_join(struct begins *begins)
{
    struct begin *all = begins->sorted.items;
    struct begin before = { 0 };
    size_t seen[PAIR_CORES] = { 0 }; /* number of spans in the execution, by core */
    size_t first = 0;                /* first entry of the execution */
    size_t kept = 0;

    for (size_t i = 0; i < begins->sorted.count; i++) {
        struct begin one = all[i]; /* entries replace processed ones */
        uint64_t exec_id = one.place >> CORE_BITS;

        if (i == 0 || before.worker != one.worker || !exec_id ||
            before.place >> CORE_BITS != exec_id) {
            memset(seen, 0, sizeof seen);
            first = kept;
        }
        size_t at = first + seen[one.place % PAIR_CORES]++;
        if (at == kept) {
            all[at] = one;
            kept++;
        } else if (one.end_ns > all[at].end_ns) {
            all[at].end_ns = one.end_ns;
        }
        before = one;
        if (i % PASS_BEGINS == 0) {
            give_back(begins);
        }
    }
    begins->count = kept;
}

static int gather(const struct ntk_system_trace *const *traces, size_t count, const char *type,
                  struct begins *begins)
{
    struct ntk_sorter sorter;
    int ret = 0;

    ntk_sorter_init(&sorter, sizeof(struct begin), compare_begins, HEAP_BYTES,
                    ntk_fs_temporary_folder());
    for (size_t t = 0; t < count && ret == 0; t++) {
        ret = spans_add(traces[t], type, &sorter);
    }
    ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, HEAP_BYTES, &begins->sorted, NULL);
    ntk_sorter_fini(&sorter);
    steps_join(begins);
    return ret;
}

/* Finds the ranks with their sums, and the first step of each. */
static int ranks_find(const struct begins *begins, struct ntk_skew_kind *kind, size_t **out_firsts)
{
    const struct begin *all = begins->sorted.items;
    size_t rank_count = 0;

    for (size_t i = 0; i < begins->count; i++) {
        rank_count += i == 0 || all[i].worker != all[i - 1].worker;
    }
    *out_firsts = calloc(rank_count + 1, sizeof **out_firsts);
    kind->ranks = calloc(rank_count + 1, sizeof *kind->ranks);
    if (!*out_firsts || !kind->ranks) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < begins->count; i++) {
        if (i == 0 || all[i].worker != all[i - 1].worker) {
            (*out_firsts)[kind->rank_count] = i;
            kind->ranks[kind->rank_count++].worker = (uint32_t)all[i].worker;
        }
        struct ntk_skew_rank *rank = &kind->ranks[kind->rank_count - 1];
        rank->span_count++;
        rank->total_ns = ntk_count_sum(rank->total_ns, all[i].end_ns - all[i].start_ns);
        if (i % PASS_BEGINS == 0) {
            give_back(begins);
        }
    }
    kind->step_count = kind->rank_count ? UINT64_MAX : 0;
    for (size_t r = 0; r < kind->rank_count; r++) {
        uint64_t span_count = kind->ranks[r].span_count;

        kind->step_count = span_count < kind->step_count ? span_count : kind->step_count;
        kind->most_count = span_count > kind->most_count ? span_count : kind->most_count;
    }
    for (size_t r = 0; kind->is_from_end && r < kind->rank_count; r++) {
        (*out_firsts)[r] += kind->ranks[r].span_count - kind->step_count;
    }
    return 0;
}

/* Takes a step; returns its skew. */
static uint64_t step_take(const struct begin *all, const size_t *firsts, uint64_t step,
                          struct ntk_skew_kind *kind)
{
    size_t first = 0;
    size_t last = 0;

    for (size_t r = 1; r < kind->rank_count; r++) {
        uint64_t start_ns = all[firsts[r] + step].start_ns;
        first = start_ns < all[firsts[first] + step].start_ns ? r : first;
        last = start_ns > all[firsts[last] + step].start_ns ? r : last;
    }
    uint64_t first_ns = all[firsts[first] + step].start_ns;
    uint64_t last_ns = all[firsts[last] + step].start_ns;
    uint64_t skew_ns = last_ns - first_ns;
    kind->skew_ns = ntk_count_sum(kind->skew_ns, skew_ns);
    kind->ranks[last].late_count += skew_ns > 0;
    if (skew_ns > kind->greatest_ns) {
        kind->greatest_ns = skew_ns;
        kind->greatest_at_ns = first_ns;
    }
    for (size_t r = 0; r < kind->rank_count; r++) {
        struct ntk_skew_rank *rank = &kind->ranks[r];
        uint64_t start_ns = all[firsts[r] + step].start_ns;

        rank->behind_ns = ntk_count_sum(rank->behind_ns, start_ns - first_ns);
        rank->waited_ns = ntk_count_sum(rank->waited_ns, last_ns - start_ns);
    }
    return skew_ns;
}

static int judge(const struct begins *begins, struct ntk_skew_kind *kind)
{
    struct ntk_median skews;
    size_t *firsts = NULL;
    int ret = ranks_find(begins, kind, &firsts);

    ntk_median_init(&skews);
    for (uint64_t step = 0; step < kind->step_count && ret == 0; step++) {
        ret = ntk_median_add(&skews, step_take(begins->sorted.items, firsts, step, kind));
        if (step * kind->rank_count % PASS_BEGINS < kind->rank_count) {
            give_back(begins);
        }
    }
    ret = ret < 0 ? ret : ntk_median_get(&skews, &kind->median_ns);
    ntk_median_fini(&skews);
    free(firsts);
    return ret;
}

int ntk_analysis_rank_skew(const struct ntk_system_trace *const *traces, size_t trace_count,
                           struct ntk_rank_skew *out_skew)
{
    struct ntk_rank_skew skew = { .kinds = calloc(TYPE_COUNT, sizeof *skew.kinds) };
    bool has_lost = false;
    int ret = skew.kinds ? 0 : -ENOMEM;

    for (size_t t = 0; t < trace_count; t++) {
        has_lost = has_lost || traces[t]->lost > 0;
    }
    for (size_t t = 0; t < TYPE_COUNT && ret == 0; t++) {
        struct begins begins = { 0 };
        struct ntk_skew_kind kind = { .type = types[t], .is_from_end = has_lost };

        ret = gather(traces, trace_count, types[t], &begins);
        ret = ret ? ret : judge(&begins, &kind);
        ntk_sorted_fini(&begins.sorted, sizeof(struct begin));
        if (ret == 0 && kind.rank_count > 1) {
            skew.kinds[skew.kind_count++] = kind;
        } else {
            free(kind.ranks);
        }
    }
    if (ret < 0) {
        ntk_rank_skew_fini(&skew);
        return ret;
    }
    *out_skew = skew;
    return 0;
}

void ntk_rank_skew_fini(struct ntk_rank_skew *skew)
{
    for (size_t k = 0; k < skew->kind_count; k++) {
        free(skew->kinds[k].ranks);
    }
    free(skew->kinds);
    *skew = (struct ntk_rank_skew){ 0 };
}
