/* SPDX-License-Identifier: MIT */
/* joined - selects and numbers the ranks that can be joined, and finds absent ranks. */
#include "profiler/analysis/joined.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/joined_private.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

static const char *const part_names[NTK_JOINED_PART_COUNT] = { "run",  "host",   "wait",
                                                               "link", "inside", "unknown" };

const char *ntk_joined_part_name(enum ntk_joined_part part)
{
    return part_names[part];
}

static const char *const cause_names[NTK_JOINED_CAUSE_COUNT] = { "run", "host", "collective",
                                                                 "unknown" };

const char *ntk_joined_cause_name(enum ntk_joined_cause cause)
{
    return cause_names[cause];
}

/* Counts operations without numbers: the n-th of each rank match, counted from the end if events
 * were lost. */
static int ops_count(struct ntk_rank_ops *const *ranks, const struct ntk_joined *joined)
{
    for (size_t r = 0; r < joined->rank_count; r++) {
        struct ntk_rank_ops *rank = ranks[r];

        assert(rank);
        uint64_t skipped = joined->is_from_end ? joined->most_count - rank->ops.count : 0;
        rank->is_counted = true;
        rank->skipped = skipped;
        ntk_vec_clear(&rank->lives);
        struct ntk_rank_life *life = ntk_vec_add(&rank->lives);
        if (!life) {
            return -ENOMEM;
        }
        *life = (struct ntk_rank_life){ .comm = { .key = 1 },
                                        .first = skipped + 1,
                                        .last = skipped + rank->ops.count,
                                        .count = rank->ops.count };
    }
    return 0;
}

#define WORLD_MAX 65536U

/* Returns the rank in the world of its largest communicator; UINT32_MAX if unknown. */
static uint32_t world_rank_of(const struct ntk_rank_ops *rank, uint32_t world_count)
{
    ntk_vec_each(const struct ntk_rank_life, life, &rank->lives) {
        if (life->comm.world_count == world_count) {
            return life->comm.world_rank;
        }
    }
    return UINT32_MAX;
}

static void absent_find(struct ntk_rank_list *list, struct ntk_joined *joined)
{
    const struct ntk_rank_ops *ranks = list->ranks.items;
    uint32_t world_count = 0;
    bool *is_seen;

    for (size_t r = 0; r < list->ranks.count; r++) {
        ntk_vec_each(const struct ntk_rank_life, life, &ranks[r].lives) {
            world_count =
                life->comm.world_count > world_count ? life->comm.world_count : world_count;
        }
    }
    is_seen = world_count <= WORLD_MAX ? calloc((size_t)world_count + 1, 1) : NULL;
    joined->has_world = joined->is_numbered && world_count > 0 && is_seen;
    for (size_t r = 0; r < list->ranks.count && joined->has_world; r++) {
        uint32_t rank = world_rank_of(&ranks[r], world_count);

        if (rank < world_count) {
            is_seen[rank] = true;
        }
    }
    for (uint32_t rank = 0; rank < world_count && joined->has_world; rank++) {
        joined->absent_first = joined->absent_count || is_seen[rank] ? joined->absent_first : rank;
        joined->absent_count += !is_seen[rank];
    }
    free(is_seen);
    uint64_t seen = list->ranks.count > 0 ? ranks[0].worker_last : 0;
    for (size_t r = 1; r < list->ranks.count && !joined->has_world; r++) {
        if (ranks[r].worker_first > seen + 1) {
            joined->absent_first = joined->absent_count ? joined->absent_first : (uint32_t)seen + 1;
            joined->absent_count += ranks[r].worker_first - (seen + 1);
        }
        seen = ranks[r].worker_last > seen ? ranks[r].worker_last : seen;
    }
}

NTK_ORDER_NUMBERS(compare_numbers, uint64_t);

/* Orders ranks by the first number that distinguishes all of them: worker, then rank in the
 * world. */
static int ranks_number(struct ntk_rank_ops **ranks, struct ntk_joined *joined)
{
    size_t count = joined->rank_count;
    uint64_t *numbers = calloc(count + 1, sizeof *numbers); /* number << 32 | index */
    struct ntk_rank_ops **sorted = calloc(count + 1, sizeof *sorted);
    uint32_t world_count = 0;
    bool is_apart = false;

    if (!numbers || !sorted) {
        free(numbers);
        free(sorted);
        return -ENOMEM;
    }
    for (size_t r = 0; r < count; r++) {
        assert(ranks[r]);
        ntk_vec_each(const struct ntk_rank_life, life, &ranks[r]->lives) {
            world_count =
                life->comm.world_count > world_count ? life->comm.world_count : world_count;
        }
    }
    for (int way = 0; way < 3 && !is_apart; way++) {
        for (size_t r = 0; r < count; r++) {
            uint64_t number = way == 0   ? ranks[r]->worker
                              : way == 1 ? world_rank_of(ranks[r], world_count)
                                         : r;
            numbers[r] = number << 32 | r;
        }
        qsort(numbers, count, sizeof *numbers, compare_numbers);
        is_apart = true;
        for (size_t r = 1; r < count && is_apart; r++) {
            is_apart = numbers[r] >> 32 != numbers[r - 1] >> 32;
        }
    }
    for (size_t r = 0; r < count; r++) {
        sorted[r] = ranks[(uint32_t)numbers[r]];
        joined->ranks[r] = (struct ntk_joined_rank){
            .number = (uint32_t)(numbers[r] >> 32),
            .worker = sorted[r]->worker,
            .host = sorted[r]->host,
            .restart_count = (uint32_t)sorted[r]->restarts_ns.count,
        };
    }
    memcpy(ranks, sorted, count * sizeof *ranks);
    free(numbers);
    free(sorted);
    return 0;
}

static int hosts_make(const struct ntk_rank_list *list, struct ntk_joined *joined)
{
    joined->hosts = calloc(list->hosts.count + 1, sizeof *joined->hosts);
    if (!joined->hosts) {
        return -ENOMEM;
    }
    for (size_t h = 0; h < list->hosts.count; h++) {
        const struct ntk_rank_host *host = ntk_vec_at(&list->hosts, h);

        joined->hosts[h].name = strdup(host->name[0] ? host->name : host->id);
        joined->host_count++;
        if (!joined->hosts[h].name) {
            return -ENOMEM;
        }
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        joined->hosts[joined->ranks[r].host].rank_count++;
    }
    return 0;
}

/* Selects the ranks that can be joined. */
static void ranks_choose(struct ntk_rank_list *list, struct ntk_rank_ops **out,
                         struct ntk_joined *joined)
{
    uint64_t least = UINT64_MAX;

    joined->is_numbered = true;
    ntk_vec_each(struct ntk_rank_ops, rank, &list->ranks) {
        if (rank->is_twice) {
            joined->twice_first = joined->twice_count ? joined->twice_first : rank->worker;
            joined->twice_count++;
        } else if (rank->ops.count > 0) {
            out[joined->rank_count++] = rank;
            joined->is_numbered = joined->is_numbered && rank->numbered_count > 0;
            joined->is_from_end = joined->is_from_end || rank->has_lost;
            least = rank->ops.count < least ? rank->ops.count : least;
            joined->most_count =
                rank->ops.count > joined->most_count ? rank->ops.count : joined->most_count;
        }
    }
    joined->is_numbered = joined->is_numbered && joined->rank_count > 0;
    joined->is_from_end = joined->is_from_end && !joined->is_numbered;
    joined->joint_count = joined->rank_count > 0 ? least : 0;
}

int ntk_analysis_joined_list(struct ntk_rank_list *list, const struct ntk_joined_options *options,
                             struct ntk_joined *out_joined)
{
    struct ntk_joined joined = { 0 };
    struct ntk_rank_ops **ranks = calloc(list->ranks.count + 1, sizeof(struct ntk_rank_ops *));
    int ret = ranks ? 0 : -ENOMEM;

    if (ret == 0) {
        ranks_choose(list, ranks, &joined);
        absent_find(list, &joined);
        joined.ranks = calloc(joined.rank_count + 1, sizeof *joined.ranks);
        ret = joined.ranks ? ranks_number(ranks, &joined) : -ENOMEM;
    }
    ret = ret ? ret : hosts_make(list, &joined);
    if (ret == 0 && (joined.rank_count < 2 || (joined.joint_count < 2 && !joined.is_numbered))) {
        joined.unknown = "requires at least two ranks with two collectives each";
    } else if (ret == 0) {
        ret = joined.is_numbered ? 0 : ops_count(ranks, &joined);
        ret = ret ? ret : ntk_join_ranks(list, ranks, options, &joined);
    }
    free(ranks);
    if (ret < 0) {
        ntk_joined_fini(&joined);
        return ret;
    }
    *out_joined = joined;
    return 0;
}

int ntk_analysis_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                        const struct ntk_joined_options *options, struct ntk_joined *out_joined)
{
    struct ntk_rank_list list;
    int ret = 0;

    ntk_rank_list_init(&list);
    for (size_t t = 0; t < trace_count && ret == 0; t++) {
        ret = ntk_rank_list_add(&list, traces[t], NULL);
    }
    ret = ret ? ret : ntk_rank_list_finish(&list);
    ret = ret ? ret : ntk_analysis_joined_list(&list, options, out_joined);
    ntk_rank_list_fini(&list);
    return ret;
}

void ntk_joined_fini(struct ntk_joined *joined)
{
    for (size_t h = 0; h < joined->host_count; h++) {
        free(joined->hosts[h].name);
    }
    free(joined->hosts);
    free(joined->ranks);
    *joined = (struct ntk_joined){ 0 };
}
