/* SPDX-License-Identifier: MIT */
/* joined_walk - merges the operations of all ranks in causal order on one clock, and splits the
 * time of each rank at each collective. */
#include "profiler/analysis/joined_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"

/* Maximum number of operations that a rank may run in a different order from other ranks, as
 * happens with queues. */
#define WINDOW 32U
#define NODES_HEAP_BYTES ((size_t)16 << 20)

/* ---- runs ---- */

static struct ntk_rank_run run_at(struct ntk_join_walker *walker, size_t index)
{
    const struct ntk_rank_run *run = ntk_rank_cursor_at(&walker->runs, index);

    return (struct ntk_rank_run){ run->start_ns - walker->offset_ns,
                                  run->end_ns - walker->offset_ns };
}

static struct ntk_rank_op op_at(struct ntk_join_walker *walker, size_t index)
{
    return ntk_rank_op_at(walker->ops, &walker->list, index);
}

static void segment(struct ntk_join *join, const struct ntk_join_walker *walker,
                    enum ntk_joined_part part, int64_t start_ns, int64_t end_ns)
{
    if (join->options && join->options->segment && end_ns > start_ns && join->ret == 0) {
        join->ret = join->options->segment((size_t)(walker - join->walkers), part, start_ns, end_ns,
                                           join->options->ctx);
    }
}

/* Returns the time in which a core executes between two times, reported as `in`; the rest is
 * reported as `out`. Called in time order. */
static int64_t run_in(struct ntk_join *join, struct ntk_join_walker *walker, int64_t from_ns,
                      int64_t until_ns, enum ntk_joined_part in, enum ntk_joined_part out)
{
    int64_t sum_ns = 0;
    int64_t done_ns = from_ns;

    while (walker->run < walker->runs.rows.count && run_at(walker, walker->run).end_ns <= from_ns) {
        walker->run++;
    }
    for (; walker->run < walker->runs.rows.count; walker->run++) {
        struct ntk_rank_run run = run_at(walker, walker->run);
        int64_t start_ns = run.start_ns > from_ns ? run.start_ns : from_ns;
        int64_t end_ns = run.end_ns < until_ns ? run.end_ns : until_ns;

        if (run.start_ns >= until_ns) {
            break;
        }
        sum_ns += end_ns - start_ns;
        segment(join, walker, out, done_ns, start_ns);
        segment(join, walker, in, start_ns, end_ns);
        done_ns = end_ns;
        if (run.end_ns > until_ns) {
            break; /* the run continues */
        }
    }
    segment(join, walker, out, done_ns, until_ns);
    return sum_ns;
}

/* ---- arrivals ---- */

static struct ntk_join_come come_to(const struct ntk_join *join)
{
    const struct ntk_join_member *all = join->members;
    struct ntk_join_come come = { .first_ns = all[0].start_ns, .last_ns = all[0].start_ns };

    for (size_t m = 1; m < join->member_count; m++) {
        if (all[m].start_ns < come.first_ns) {
            come.first = m;
            come.first_ns = all[m].start_ns;
        }
        if (all[m].start_ns > come.last_ns) {
            come.last = m;
            come.last_ns = all[m].start_ns;
        }
    }
    come.is_alone = true;
    for (size_t m = 0; m < join->member_count && come.is_alone; m++) {
        come.is_alone = m == come.last || all[m].start_ns < come.last_ns;
    }
    return come;
}

static int compare_comes(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    if (x[0] != y[0]) {
        return x[0] < y[0] ? -1 : 1;
    }
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Finds the activity of the last rank while each of the others waited, before its own time is
 * split. */
static void causes_find(struct ntk_join *join, const struct ntk_join_come *come)
{
    const struct ntk_join_member *last = &join->members[come->last];
    struct ntk_join_walker *walker = last->walker;
    int64_t left_ns = walker->left_ns < come->last_ns ? walker->left_ns : come->last_ns;
    int64_t run_ns = 0; /* its run time until the next waiting rank arrived */
    int64_t all_ns = 0;
    size_t run = walker->run;

    for (size_t m = 0; m < join->member_count; m++) {
        join->comes[m][0] = join->members[m].start_ns;
        join->comes[m][1] = (int64_t)m;
    }
    qsort(join->comes, join->member_count, sizeof *join->comes, compare_comes);
    for (size_t i = run; i < walker->runs.rows.count; i++) {
        struct ntk_rank_run one = run_at(walker, i);
        int64_t start_ns = one.start_ns > left_ns ? one.start_ns : left_ns;
        int64_t end_ns = one.end_ns < come->last_ns ? one.end_ns : come->last_ns;

        if (one.start_ns >= come->last_ns) {
            break;
        }
        all_ns += end_ns > start_ns ? end_ns - start_ns : 0;
    }
    for (size_t i = 0; i < join->member_count; i++) {
        struct ntk_join_member *one = &join->members[join->comes[i][1]];
        uint64_t *cause_ns = one->walker->out->cause_ns;
        int64_t end_ns = come->last_ns < one->end_ns ? come->last_ns : one->end_ns;
        int64_t waited_ns = end_ns - one->start_ns;
        int64_t from_ns = one->start_ns > left_ns ? one->start_ns : left_ns;

        if (!one->walker->has_left || waited_ns <= 0 || one->walker->node == NTK_JOIN_NO_NODE) {
            continue; /* before the examined time */
        }
        if (!walker->has_left || last->is_broken || end_ns < come->last_ns) {
            cause_ns[NTK_JOINED_CAUSE_UNKNOWN] += (uint64_t)waited_ns;
            continue;
        }
        while (run < walker->runs.rows.count && run_at(walker, run).end_ns <= from_ns) {
            struct ntk_rank_run done = run_at(walker, run++);
            int64_t start_ns = done.start_ns > left_ns ? done.start_ns : left_ns;
            run_ns += done.end_ns > start_ns ? done.end_ns - start_ns : 0;
        }
        int64_t before_ns = run_ns;
        if (run < walker->runs.rows.count && run_at(walker, run).start_ns < from_ns) {
            int64_t start_ns = run_at(walker, run).start_ns;
            before_ns += from_ns - (start_ns > left_ns ? start_ns : left_ns);
        }
        cause_ns[NTK_JOINED_CAUSE_RUN] += (uint64_t)(all_ns - before_ns);
        cause_ns[NTK_JOINED_CAUSE_HOST] +=
            (uint64_t)(come->last_ns - from_ns - (all_ns - before_ns));
        cause_ns[NTK_JOINED_CAUSE_COLLECTIVE] += (uint64_t)(from_ns - one->start_ns);
    }
}

/* ---- an operation of a rank ---- */

/* Takes an operation from the rank: its position on the clock, and the time before it. */
static void member_begin(struct ntk_join_member *one)
{
    struct ntk_join_walker *walker = one->walker;
    const int64_t *restarts = walker->ops->restarts_ns.items;
    struct ntk_rank_life *life =
        one->op.life == NTK_RANK_NO_LIFE ? NULL : ntk_vec_at(&walker->ops->lives, one->op.life);

    one->start_ns = one->op.start_ns - walker->offset_ns;
    one->end_ns = one->op.end_ns - walker->offset_ns;
    one->is_broken = life && life->reached > 0 && one->op.sequence > life->reached + 1;
    if (life) {
        life->reached = one->op.sequence;
    }
    while (walker->restart < walker->ops->restarts_ns.count &&
           one->op.start_ns >= restarts[walker->restart]) {
        walker->restart++;
        one->is_broken = true;
    }
    /* An operation that starts before the end of the previous operation counts from that end. */
    if (walker->has_left) {
        one->start_ns = one->start_ns > walker->left_ns ? one->start_ns : walker->left_ns;
        one->end_ns = one->end_ns > one->start_ns ? one->end_ns : one->start_ns;
    }
    one->run_ns = one->host_ns = one->unknown_ns = 0;
}

/* Splits the time between the previous operation and this one. */
static void gap_split(struct ntk_join *join, struct ntk_join_member *one)
{
    struct ntk_join_walker *walker = one->walker;
    enum ntk_joined_part rest = one->is_broken ? NTK_JOINED_UNKNOWN : NTK_JOINED_HOST;

    if (!walker->has_left) {
        return;
    }
    one->run_ns = run_in(join, walker, walker->left_ns, one->start_ns, NTK_JOINED_RUN, rest);
    int64_t rest_ns = one->start_ns - walker->left_ns - one->run_ns;
    *(one->is_broken ? &one->unknown_ns : &one->host_ns) = rest_ns;
    walker->part_ns[NTK_JOINED_RUN] += (uint64_t)one->run_ns;
    walker->part_ns[rest] += (uint64_t)rest_ns;
    walker->run_ns += one->run_ns;
    walker->host_ns += one->host_ns;
    walker->unknown_ns += one->unknown_ns;
}

static void member_end(struct ntk_join_member *one)
{
    struct ntk_join_walker *walker = one->walker;
    walker->has_left = true;
    walker->left_ns = one->end_ns;
    walker->done |= UINT64_C(1) << (one->at - walker->next);
    while (walker->done & 1) {
        walker->done >>= 1;
        walker->next++;
    }
}

/* Handles an operation that cannot be matched, so that it waits for no rank. */
static void alone(struct ntk_join *join, struct ntk_join_member *one)
{
    struct ntk_join_walker *walker = one->walker;

    gap_split(join, one);
    int64_t inside_ns =
        run_in(join, walker, one->start_ns, one->end_ns, NTK_JOINED_INSIDE, NTK_JOINED_UNKNOWN);
    walker->part_ns[NTK_JOINED_INSIDE] += (uint64_t)inside_ns;
    walker->part_ns[NTK_JOINED_UNKNOWN] += (uint64_t)(one->end_ns - one->start_ns - inside_ns);
    walker->unknown_ns += one->end_ns - one->start_ns;
    member_end(one);
}

/* ---- a collective ---- */

static bool is_of_one_kind(const struct ntk_join *join)
{
    for (size_t m = 1; m < join->member_count; m++) {
        if (join->members[m].op.is_barrier != join->members[0].op.is_barrier) {
            return false;
        }
    }
    return true;
}

/* Returns true if no rank leaves before the last arrival, within the accuracy of the clocks. */
static bool can_be_one(const struct ntk_join *join)
{
    const struct ntk_join_member *last = &join->members[0];
    int64_t last_ns = last->op.start_ns - last->walker->offset_ns;

    for (size_t m = 1; m < join->member_count; m++) {
        const struct ntk_join_member *one = &join->members[m];
        int64_t start_ns = one->op.start_ns - one->walker->offset_ns;

        if (start_ns > last_ns) {
            last = one;
            last_ns = start_ns;
        }
    }
    for (size_t m = 0; m < join->member_count; m++) {
        const struct ntk_join_member *one = &join->members[m];
        uint64_t a = last->walker->out->offset_apart_ns;
        uint64_t b = one->walker->out->offset_apart_ns;
        bool is_far = last->walker->out->has_other_clock || one->walker->out->has_other_clock;
        int64_t early_ns = last_ns - (one->op.end_ns - one->walker->offset_ns);

        if (early_ns > 0 && (!is_far || (uint64_t)early_ns > 2 * (a > b ? a : b) + 1000000)) {
            return false;
        }
    }
    return true;
}

void ntk_join_nodes_pass(const struct ntk_join *join, size_t index)
{
    if (index > 0 && index % NTK_JOIN_NODES_PASS == 0 && index <= join->nodes.count) {
        ntk_long_items_give_back(
            (const struct ntk_join_node *)join->nodes.items + (index - NTK_JOIN_NODES_PASS),
            NTK_JOIN_NODES_PASS * sizeof(struct ntk_join_node), join->nodes.is_mapped);
    }
}

static void node_add(struct ntk_join *join, const struct ntk_join_come *come)
{
    const struct ntk_join_member *last = &join->members[come->last];
    const struct ntk_join_walker *walker = last->walker;
    struct ntk_join_node *node = ntk_long_list_add(&join->nodes, &join->ret);

    if (node) {
        *node = (struct ntk_join_node){ .start_ns = last->start_ns,
                                        .left_ns = walker->node_left_ns,
                                        .run_ns = walker->run_ns,
                                        .host_ns = walker->host_ns,
                                        .unknown_ns = walker->unknown_ns,
                                        .before = walker->node,
                                        .skew_ns = (uint64_t)(come->last_ns - come->first_ns),
                                        .last = (uint32_t)(walker - join->walkers),
                                        .is_alone = come->is_alone };
        ntk_join_nodes_pass(join, join->nodes.count - 1);
    }
}

/* Splits the time of one rank from its previous operation to the end of this one. */
static void split(struct ntk_join *join, struct ntk_join_member *one,
                  const struct ntk_join_come *come)
{
    struct ntk_join_walker *walker = one->walker;
    struct ntk_joined_rank *out = walker->out;
    int64_t come_ns = come->last_ns < one->end_ns ? come->last_ns : one->end_ns;
    int64_t wait_run_ns =
        run_in(join, walker, one->start_ns, come_ns, NTK_JOINED_INSIDE, NTK_JOINED_WAIT);
    int64_t link_run_ns =
        run_in(join, walker, come_ns, one->end_ns, NTK_JOINED_INSIDE, NTK_JOINED_LINK);

    walker->part_ns[NTK_JOINED_WAIT] += (uint64_t)(come_ns - one->start_ns - wait_run_ns);
    walker->part_ns[NTK_JOINED_LINK] += (uint64_t)(one->end_ns - come_ns - link_run_ns);
    walker->part_ns[NTK_JOINED_INSIDE] += (uint64_t)(wait_run_ns + link_run_ns);
    if (walker->node != NTK_JOIN_NO_NODE) {
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            out->part_ns[p] += walker->part_ns[p];
            out->span_ns += walker->part_ns[p];
        }
        out->waited_ns += (uint64_t)(come_ns - one->start_ns);
    }
    memset(walker->part_ns, 0, sizeof walker->part_ns);
    walker->run_ns = walker->host_ns = walker->unknown_ns = 0;
    walker->node = join->nodes.count - 1;
    walker->node_left_ns = one->end_ns;
    member_end(one);
}

static void together(struct ntk_join *join)
{
    for (size_t m = 0; m < join->member_count; m++) {
        member_begin(&join->members[m]);
    }
    struct ntk_join_come come = come_to(join);
    causes_find(join, &come);
    for (size_t m = 0; m < join->member_count; m++) {
        gap_split(join, &join->members[m]);
    }
    ntk_join_time(join, &come);
    node_add(join, &come);
    for (size_t m = 0; m < join->member_count; m++) {
        split(join, &join->members[m], &come);
    }
    join->joined->joint_count++;
}

/* Judges the present members of the collective, which has `count` ranks. */
static void judge(struct ntk_join *join, size_t count)
{
    bool is_whole = join->member_count == count && count > 1;
    bool is_kind = is_of_one_kind(join);
    bool is_sound = is_kind && can_be_one(join);

    join->is_of_kinds = join->is_of_kinds && (is_kind || !is_whole);
    join->is_of_times = join->is_of_times && (is_sound || !is_kind || !is_whole);
    if (is_whole && is_sound) {
        together(join);
        return;
    }
    join->joined->partial_count += !is_whole;
    join->joined->doubted_count += is_whole;
    for (size_t m = 0; m < join->member_count; m++) {
        member_begin(&join->members[m]);
        alone(join, &join->members[m]);
    }
}

/* ---- in which order ---- */

/* Finds the next unfinished operation of a life. Returns false if it is further on, or
 * *out_is_over. */
static bool visible(struct ntk_join_walker *walker, uint32_t life, struct ntk_join_member *out,
                    bool *out_is_over)
{
    const struct ntk_rank_life *lives = walker->ops->lives.items;

    *out_is_over = lives[life].reached == lives[life].last;
    for (size_t i = 0; i < WINDOW && walker->next + i < walker->list.rows.count && !*out_is_over;
         i++) {
        if (!(walker->done >> i & 1)) {
            out->at = walker->next + i;
            out->op = op_at(walker, out->at);
            if (out->op.life == life) {
                return true;
            }
        }
    }
    return false;
}

/* Takes the next collective of a communicator. Returns false if a rank must finish *out_before
 * first. is_forced: continue without these ranks. */
static bool take(struct ntk_join *join, uint32_t number, bool is_forced, size_t *out_before)
{
    const struct ntk_joined_instance *instance = ntk_vec_at(&join->match.instances, number);
    uint64_t sequence = UINT64_MAX;

    join->member_count = 0;
    for (size_t m = 0; m < instance->count; m++) {
        const struct ntk_joined_member *member =
            ntk_vec_at(&join->match.members, instance->first + m);
        struct ntk_join_member one = { .walker = &join->walkers[member->rank] };
        bool is_over = false;

        bool is_visible = visible(one.walker, member->life, &one, &is_over);
        if (!is_visible && !is_over && !is_forced) {
            *out_before = member->rank;
            return false;
        }
        if (is_visible && one.op.sequence < sequence) {
            sequence = one.op.sequence;
            join->member_count = 0;
        }
        if (is_visible && one.op.sequence == sequence) {
            join->members[join->member_count++] = one;
        }
    }
    judge(join, instance->count);
    return true;
}

/* Returns the rank with the earliest next operation; rank_count if none. */
static size_t earliest(const struct ntk_join *join)
{
    size_t found = join->joined->rank_count;
    int64_t found_ns = INT64_MAX;

    for (size_t r = 0; r < join->joined->rank_count; r++) {
        struct ntk_join_walker *walker = &join->walkers[r];

        if (walker->next < walker->list.rows.count &&
            op_at(walker, walker->next).start_ns - walker->offset_ns < found_ns) {
            found = r;
            found_ns = op_at(walker, walker->next).start_ns - walker->offset_ns;
        }
    }
    return found;
}

static void walk(struct ntk_join *join)
{
    size_t count = join->joined->rank_count;

    for (size_t first = earliest(join); first < count && join->ret == 0; first = earliest(join)) {
        bool is_taken = false;
        size_t rank = first;

        for (size_t steps = 0; !is_taken; steps++) {
            struct ntk_join_walker *walker = &join->walkers[rank];
            struct ntk_rank_op op = op_at(walker, walker->next);
            const struct ntk_rank_life *life =
                op.life == NTK_RANK_NO_LIFE ? NULL : ntk_vec_at(&walker->ops->lives, op.life);

            if (!life || life->instance == UINT32_MAX) {
                struct ntk_join_member one = { .walker = walker, .op = op, .at = walker->next };

                join->joined->partial_count++;
                member_begin(&one);
                alone(join, &one);
                is_taken = true;
                /* after as many steps as there are ranks, they wait for each other in a cycle */
            } else {
                is_taken = take(join, life->instance, steps > count, &rank);
            }
        }
    }
}

/* ---- all of it ---- */

static int join_init(struct ntk_join *join, struct ntk_rank_store *store,
                     struct ntk_rank_ops *const *ranks)
{
    size_t count = join->joined->rank_count;

    join->is_of_kinds = join->is_of_times = true;
    join->walkers = calloc(count + 1, sizeof *join->walkers);
    join->members = calloc(count + 1, sizeof *join->members);
    join->comes = calloc(count + 1, sizeof *join->comes);
    join->nodes = (struct ntk_long_list){ .item_bytes = sizeof(struct ntk_join_node),
                                          .heap_bytes_max = NODES_HEAP_BYTES,
                                          .folder = ntk_fs_temporary_folder(),
                                          .fd = -1 };
    if (!join->walkers || !join->members || !join->comes) {
        return -ENOMEM;
    }
    int ret = ntk_joined_match_make(store, ranks, join->joined, &join->match);
    for (size_t r = 0; r < count; r++) {
        struct ntk_join_walker *walker = &join->walkers[r];

        walker->ops = ranks[r];
        walker->out = &join->joined->ranks[r];
        walker->offset_ns = walker->out->offset_ns;
        walker->node = NTK_JOIN_NO_NODE;
        ntk_rank_cursor_init(&walker->list, store, ranks[r]->ops, sizeof(struct ntk_rank_op));
        ntk_rank_cursor_init(&walker->runs, store, ranks[r]->runs, sizeof(struct ntk_rank_run));
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            walker->factor[p] = ntk_join_factor(join->options, walker->out->number, p);
        }
    }
    return ret;
}

static void join_fini(struct ntk_join *join)
{
    ntk_joined_match_fini(&join->match);
    ntk_long_list_fini(&join->nodes);
    free(join->walkers);
    free(join->members);
    free(join->comes);
}

int ntk_join_ranks(struct ntk_rank_list *list, struct ntk_rank_ops *const *ranks,
                   const struct ntk_joined_options *options, struct ntk_joined *joined)
{
    struct ntk_join join = { .joined = joined, .options = options };
    uint64_t expected = joined->joint_count;

    joined->joint_count = 0;
    join.ret = join_init(&join, &list->store, ranks);
    if (join.ret == 0) {
        walk(&join);
    }
    if (join.ret == 0 && !joined->is_numbered && !join.is_of_kinds) {
        joined->unknown = "ranks have collectives of different kinds at the same position: they "
                          "are not in the same communicator, or one of them started later";
    } else if (join.ret == 0 && !joined->is_numbered && !join.is_of_times) {
        joined->unknown = "a rank left a collective before another rank arrived: they are not in "
                          "the same communicator, or one of them started later";
    } else if (join.ret == 0 && joined->joint_count < 2) {
        joined->unknown =
            "the traces of the ranks of a communicator have fewer than two collectives in common";
    }
    if (joined->unknown) {
        joined->joint_count = joined->is_numbered ? joined->joint_count : expected;
    } else if (join.ret == 0) {
        ntk_join_path_find(&join);
        ntk_join_estimate(&join);
        for (size_t r = 0; r < joined->rank_count; r++) {
            uint64_t span_ns = joined->ranks[r].span_ns;
            joined->span_ns = span_ns > joined->span_ns ? span_ns : joined->span_ns;
        }
        join.ret = join.ret < 0 ? join.ret : ntk_join_pieces_make(&join);
    }
    join_fini(&join);
    return join.ret < 0 ? join.ret : ntk_rank_list_failed(list);
}
