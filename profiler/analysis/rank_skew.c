/* SPDX-License-Identifier: MIT */
/* rank_skew - spans by kind, rank and start, then step by step over all ranks. */
#include "profiler/analysis/rank_skew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/vec.h"

static const char *const types[] = { "nc_exec_running", "cc_running", "cc_exec_barrier" };

enum { TYPE_COUNT = sizeof types / sizeof *types };

/* Physical cores of a logical one, at most. */
#define PAIR_CORES 8

struct begin {
    uint32_t worker, device_core;
    uint64_t start_ns, end_ns;
    uint64_t exec_id;
};

static int compare_begins(const void *a, const void *b)
{
    const struct begin *x = a;
    const struct begin *y = b;

    if (x->worker != y->worker) {
        return x->worker < y->worker ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* One entry per step of a worker. Both physical cores of a logical one run the same execution: the
 * n-th span of one core in it is the same step as the n-th of the other. */
static int gather(const struct ntk_system_trace *const *traces, size_t count, const char *type,
                  struct ntk_vec *begins)
{
    const struct begin *last = NULL;
    struct begin before;
    size_t seen[PAIR_CORES] = { 0 }; /* spans of the execution, by core */
    size_t first = 0;                /* entry of the execution */
    size_t kept = 0;

    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < traces[t]->span_count; i++) {
            const struct ntk_system_span *span = &traces[t]->spans[i];
            struct begin begin = { span->worker, span->device_core, span->start_ns, span->end_ns,
                                   ntk_system_span_is_collective(span) ? 0 : span->exec_id };
            if (strcmp(span->type, type) == 0 && !span->is_instant && !span->is_partial &&
                ntk_vec_push(begins, &begin) < 0) {
                return -ENOMEM;
            }
        }
    }
    ntk_vec_sort(begins, compare_begins);
    ntk_vec_each(const struct begin, begin, begins) {
        struct begin one = *begin; /* entries take the place of what is gone through */
        if (!last || last->worker != one.worker || !one.exec_id || last->exec_id != one.exec_id) {
            memset(seen, 0, sizeof seen);
            first = kept;
        }
        size_t at = first + seen[one.device_core % PAIR_CORES]++;
        struct begin *step = ntk_vec_at(begins, at);
        if (at == kept) {
            *step = one;
            kept++;
        } else if (one.end_ns > step->end_ns) {
            step->end_ns = one.end_ns;
        }
        before = one;
        last = &before;
    }
    begins->count = kept;
    return 0;
}

static int judge(const struct ntk_vec *begins, struct ntk_skew_kind *kind)
{
    const struct begin *all = begins->items;
    size_t *firsts = calloc(begins->count + 1, sizeof *firsts);
    uint64_t *skews = NULL;
    int ret = -ENOMEM;

    kind->ranks = calloc(begins->count + 1, sizeof *kind->ranks);
    if (!firsts || !kind->ranks) {
        goto out;
    }
    for (size_t i = 0; i < begins->count; i++) {
        if (i == 0 || all[i].worker != all[i - 1].worker) {
            firsts[kind->rank_count] = i;
            kind->ranks[kind->rank_count++].worker = all[i].worker;
        }
        kind->ranks[kind->rank_count - 1].span_count++;
        kind->ranks[kind->rank_count - 1].total_ns += all[i].end_ns - all[i].start_ns;
    }
    kind->step_count = kind->rank_count ? UINT64_MAX : 0;
    for (size_t r = 0; r < kind->rank_count; r++) {
        if (kind->ranks[r].span_count < kind->step_count) {
            kind->step_count = kind->ranks[r].span_count;
        }
        if (kind->ranks[r].span_count > kind->most_count) {
            kind->most_count = kind->ranks[r].span_count;
        }
    }
    for (size_t r = 0; kind->is_from_end && r < kind->rank_count; r++) {
        firsts[r] += kind->ranks[r].span_count - kind->step_count;
    }
    skews = calloc(kind->step_count + 1, sizeof *skews);
    if (!skews) {
        goto out;
    }
    for (uint64_t step = 0; step < kind->step_count; step++) {
        size_t first = 0;
        size_t last = 0;
        for (size_t r = 1; r < kind->rank_count; r++) {
            uint64_t start_ns = all[firsts[r] + step].start_ns;
            first = start_ns < all[firsts[first] + step].start_ns ? r : first;
            last = start_ns > all[firsts[last] + step].start_ns ? r : last;
        }
        uint64_t first_ns = all[firsts[first] + step].start_ns;
        uint64_t last_ns = all[firsts[last] + step].start_ns;
        skews[step] = last_ns - first_ns;
        kind->skew_ns += skews[step];
        kind->ranks[last].late_count += skews[step] > 0;
        if (skews[step] > kind->greatest_ns) {
            kind->greatest_ns = skews[step];
            kind->greatest_at_ns = first_ns;
        }
        for (size_t r = 0; r < kind->rank_count; r++) {
            kind->ranks[r].behind_ns += all[firsts[r] + step].start_ns - first_ns;
            kind->ranks[r].waited_ns += last_ns - all[firsts[r] + step].start_ns;
        }
    }
    qsort(skews, kind->step_count, sizeof *skews, compare_numbers);
    kind->median_ns = kind->step_count ? skews[(kind->step_count - 1) / 2] : 0;
    ret = 0;

out:
    free(firsts);
    free(skews);
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
        struct ntk_vec begins = NTK_VEC_INIT(struct begin);
        struct ntk_skew_kind kind = { .type = types[t], .is_from_end = has_lost };

        ret = gather(traces, trace_count, types[t], &begins);
        ret = ret ? ret : judge(&begins, &kind);
        ntk_vec_fini(&begins);
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
