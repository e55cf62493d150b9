/* SPDX-License-Identifier: MIT */
/* joined_path - finds the critical path back through the collectives of all ranks, the late rank at
 * each time, and the recomputed graph. */
#include "profiler/analysis/joined_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"

static void path_report(struct ntk_join *join, size_t rank, enum ntk_joined_part part,
                        int64_t start_ns, int64_t end_ns)
{
    if (join->options && join->options->path && end_ns > start_ns && join->ret == 0) {
        join->ret = join->options->path(rank, part, start_ns, end_ns, join->options->ctx);
    }
}

void ntk_join_path_find(struct ntk_join *join)
{
    const struct ntk_join_node *nodes = join->nodes.items;
    size_t next = SIZE_MAX; /* rank that left the collective last */

    for (size_t r = 0; r < join->joined->rank_count; r++) {
        const struct ntk_join_walker *walker = &join->walkers[r];

        if (walker->node != NTK_JOIN_NO_NODE &&
            (next == SIZE_MAX || walker->node_left_ns > join->walkers[next].node_left_ns)) {
            next = r;
        }
    }
    if (next == SIZE_MAX) {
        return;
    }
    int64_t left_ns = join->walkers[next].node_left_ns;
    uint64_t behind = join->nodes.count / NTK_JOIN_NODES_PASS;
    for (uint64_t at = join->walkers[next].node; nodes[at].before != NTK_JOIN_NO_NODE;) {
        const struct ntk_join_node *node = &nodes[at];
        struct ntk_joined_rank *out = &join->joined->ranks[node->last];
        int64_t gap_ns = node->run_ns + node->host_ns + node->unknown_ns;
        int64_t link_ns = left_ns - node->start_ns;

        /* If clocks are inaccurate, the end may be before the start. */
        link_ns = link_ns > 0 ? link_ns : 0;
        out->path_ns[NTK_JOINED_RUN] += (uint64_t)node->run_ns;
        out->path_ns[NTK_JOINED_HOST] += (uint64_t)node->host_ns;
        out->path_ns[NTK_JOINED_UNKNOWN] += (uint64_t)node->unknown_ns;
        join->joined->ranks[next].path_ns[NTK_JOINED_LINK] += (uint64_t)link_ns;
        join->joined->total_ns += (uint64_t)(gap_ns + link_ns);
        path_report(join, next, NTK_JOINED_LINK, node->start_ns, left_ns);
        path_report(join, node->last, NTK_JOINED_RUN, node->left_ns, node->start_ns);
        next = node->last;
        left_ns = node->left_ns;
        at = node->before;
        if (at / NTK_JOIN_NODES_PASS < behind) { /* number of passes left */
            behind = at / NTK_JOIN_NODES_PASS;
            ntk_join_nodes_pass(join, (size_t)(behind + 2) * NTK_JOIN_NODES_PASS);
        }
    }
}

int ntk_join_pieces_make(struct ntk_join *join)
{
    struct ntk_joined *joined = join->joined;
    const struct ntk_join_node *nodes = join->nodes.items;
    uint64_t count = joined->joint_count - 1;
    size_t pieces = count < NTK_JOINED_PIECES_MAX ? (size_t)count : NTK_JOINED_PIECES_MAX;
    uint64_t *lates = calloc(joined->rank_count, sizeof *lates);

    if (!lates) {
        return -ENOMEM;
    }
    for (size_t p = 0; p < pieces; p++) {
        struct ntk_joined_piece *piece = &joined->pieces[p];
        uint64_t from = 1 + count * p / pieces;
        uint64_t until = 1 + count * (p + 1) / pieces;

        memset(lates, 0, joined->rank_count * sizeof *lates);
        piece->first_joint = from;
        piece->joint_count = until - from;
        for (uint64_t k = from; k < until; k++) {
            piece->skew_ns = ntk_count_sum(piece->skew_ns, nodes[k].skew_ns);
            if (nodes[k].is_alone) {
                uint64_t *late_ns = &lates[nodes[k].last];
                *late_ns = ntk_count_sum(*late_ns, nodes[k].skew_ns);
            }
            joined->ranks[nodes[k].last].last_count += nodes[k].is_alone;
            ntk_join_nodes_pass(join, (size_t)k);
        }
        for (size_t r = 0; r < joined->rank_count; r++) {
            if (lates[r] > piece->late_ns) {
                piece->late_ns = lates[r];
                piece->rank = r;
                piece->worker = joined->ranks[r].number;
            }
        }
    }
    joined->piece_count = pieces;
    free(lates);
    return 0;
}

double ntk_join_factor(const struct ntk_joined_options *options, uint32_t number,
                       enum ntk_joined_part part)
{
    double f = 1;

    for (size_t i = 0; options && i < options->change_count; i++) {
        const struct ntk_joined_change *change = &options->changes[i];

        if (change->part == part && (!change->is_of_rank || change->worker == number)) {
            f = change->speed > 0 ? f / change->speed : 0;
        }
    }
    return f;
}

static double since_node(const struct ntk_join_walker *walker, bool is_changed)
{
    return (double)walker->run_ns * (is_changed ? walker->factor[NTK_JOINED_RUN] : 1) +
           (double)walker->host_ns * (is_changed ? walker->factor[NTK_JOINED_HOST] : 1) +
           (double)walker->unknown_ns;
}

void ntk_join_time(struct ntk_join *join, const struct ntk_join_come *come)
{
    bool has_before = false;

    if (join->nodes.count == 0) {
        join->base_ns = join->members[0].end_ns;
        join->joined->begin_ns = join->base_ns;
    }
    for (size_t m = 0; m < join->member_count; m++) {
        has_before = has_before || join->members[m].walker->node != NTK_JOIN_NO_NODE;
    }
    for (int v = 0; v < 2; v++) {
        double last = -INFINITY;

        for (size_t m = 0; m < join->member_count; m++) {
            const struct ntk_join_member *one = &join->members[m];
            double came = one->walker->node == NTK_JOIN_NO_NODE
                              ? (double)(one->start_ns - join->base_ns)
                              : one->walker->left[v] + since_node(one->walker, v == 1);
            last = fmax(last, came);
        }
        for (size_t m = 0; m < join->member_count; m++) {
            struct ntk_join_member *one = &join->members[m];
            int64_t link_ns = one->end_ns - come->last_ns;
            double f = v == 1 ? one->walker->factor[NTK_JOINED_LINK] : 1;

            one->walker->left[v] = has_before ? last + (double)(link_ns > 0 ? link_ns : 0) * f
                                              : (double)(one->end_ns - join->base_ns);
            if (one->walker->node == NTK_JOIN_NO_NODE) {
                one->walker->first_left[v] = one->walker->left[v];
            }
        }
    }
}

void ntk_join_estimate(struct ntk_join *join)
{
    uint64_t *out[] = { &join->joined->model_ns, &join->joined->estimate_ns };

    for (int v = 0; v < 2; v++) {
        double begin = INFINITY;
        double end = -INFINITY;

        for (size_t r = 0; r < join->joined->rank_count; r++) {
            const struct ntk_join_walker *walker = &join->walkers[r];

            if (walker->node != NTK_JOIN_NO_NODE) {
                begin = fmin(begin, walker->first_left[v]);
                end = fmax(end, walker->left[v]);
            }
        }
        /* Many changes together may exceed any number of ns. */
        *out[v] = end > begin ? (uint64_t)(fmin(end - begin, 1e18) + 0.5) : 0;
    }
}
