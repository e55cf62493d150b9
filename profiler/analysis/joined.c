/* SPDX-License-Identifier: MIT */
/* joined - merges the operations of all ranks in causal order on one clock; what is known of each
 * collective is a list that is walked back for the path. */
#include "profiler/analysis/joined.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/joined_match.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

/* Limit of operations that a rank may do in another order than other ranks, as with queues. */
#define WINDOW 32U
#define NODES_HEAP_BYTES ((size_t)16 << 20)
#define NODES_PASS ((size_t)65536) /* whole pages */
#define NO_NODE UINT64_MAX

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

/* A collective that all ranks of it have. */
struct node {
    int64_t start_ns;                    /* when the last rank came */
    int64_t left_ns;                     /* when that rank left its previous collective */
    int64_t run_ns, host_ns, unknown_ns; /* what it did since */
    uint64_t before;                     /* its previous collective, NO_NODE: none */
    uint64_t skew_ns;
    uint32_t last;
    bool is_alone; /* came after all others */
};

/* The position of a rank in its operations. */
struct walker {
    struct ntk_rank_ops *ops;
    struct ntk_joined_rank *out;
    int64_t offset_ns;
    size_t next;   /* next operation; later ones that are done are in `done` */
    uint64_t done; /* bit i: next + i */
    size_t run;    /* the first run that may still matter */
    size_t restart;
    struct ntk_rank_cursor list, runs; /* its operations and its executions */
    bool has_left;
    int64_t left_ns; /* end of the previous operation */
    uint64_t node;   /* the last complete collective; NO_NODE */
    int64_t node_left_ns;
    int64_t run_ns, host_ns, unknown_ns;     /* since then */
    uint64_t part_ns[NTK_JOINED_PART_COUNT]; /* since then; counts once another one comes */
    double first_left[2], left[2]; /* of the recomputed graph: without and with the changes */
    double factor[NTK_JOINED_PART_COUNT];
};

/* An operation of the current collective. */
struct member {
    struct walker *walker;
    struct ntk_rank_op op;
    size_t at;
    int64_t start_ns, end_ns;            /* on the first clock, not before the previous operation */
    int64_t run_ns, host_ns, unknown_ns; /* since the previous operation */
    bool is_broken;                      /* collectives are missing before it */
};

struct join {
    struct ntk_joined *joined;
    const struct ntk_joined_options *options;
    struct ntk_joined_match match;
    struct walker *walkers;
    struct member *members; /* room for all ranks */
    size_t member_count;
    int64_t (*comes)[2]; /* room for all ranks: arrival time, index of the member */
    struct ntk_long_list nodes;
    int64_t base_ns; /* a moment in the first collective: nearby times are small numbers */
    bool is_of_kinds, is_of_times; /* a doubt about all, if nothing is numbered */
    int ret;
};

/* ---- runs ---- */

static struct ntk_rank_run run_at(struct walker *walker, size_t index)
{
    const struct ntk_rank_run *run = ntk_rank_cursor_at(&walker->runs, index);

    return (struct ntk_rank_run){ run->start_ns - walker->offset_ns,
                                  run->end_ns - walker->offset_ns };
}

static struct ntk_rank_op op_at(struct walker *walker, size_t index)
{
    return ntk_rank_op_at(walker->ops, &walker->list, index);
}

static void segment(struct join *join, const struct walker *walker, enum ntk_joined_part part,
                    int64_t start_ns, int64_t end_ns)
{
    if (join->options && join->options->segment && end_ns > start_ns && join->ret == 0) {
        join->ret = join->options->segment((size_t)(walker - join->walkers), part, start_ns, end_ns,
                                           join->options->ctx);
    }
}

/* How long a core executes between two moments, reported as `in`, the rest as `out`. Called in
 * order of time. */
static int64_t run_in(struct join *join, struct walker *walker, int64_t from_ns, int64_t until_ns,
                      enum ntk_joined_part in, enum ntk_joined_part out)
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
            break; /* it continues */
        }
    }
    segment(join, walker, out, done_ns, until_ns);
    return sum_ns;
}

/* ---- who comes ---- */

struct come {
    size_t first, last;
    bool is_alone; /* the last one came after all others */
    int64_t first_ns, last_ns;
};

static struct come come_to(const struct join *join)
{
    const struct member *all = join->members;
    struct come come = { .first_ns = all[0].start_ns, .last_ns = all[0].start_ns };

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

/* What the last rank did while each of the others waited, before its own time is split. */
static void causes_find(struct join *join, const struct come *come)
{
    const struct member *last = &join->members[come->last];
    struct walker *walker = last->walker;
    int64_t left_ns = walker->left_ns < come->last_ns ? walker->left_ns : come->last_ns;
    int64_t run_ns = 0; /* its time until the next waiting rank came */
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
        struct member *one = &join->members[join->comes[i][1]];
        uint64_t *cause_ns = one->walker->out->cause_ns;
        int64_t end_ns = come->last_ns < one->end_ns ? come->last_ns : one->end_ns;
        int64_t waited_ns = end_ns - one->start_ns;
        int64_t from_ns = one->start_ns > left_ns ? one->start_ns : left_ns;

        if (!one->walker->has_left || waited_ns <= 0 || one->walker->node == NO_NODE) {
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

/* ---- the graph timed again ---- */

static double factor_of(const struct ntk_joined_options *options, uint32_t number,
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

static double since_node(const struct walker *walker, bool is_changed)
{
    return (double)walker->run_ns * (is_changed ? walker->factor[NTK_JOINED_RUN] : 1) +
           (double)walker->host_ns * (is_changed ? walker->factor[NTK_JOINED_HOST] : 1) +
           (double)walker->unknown_ns;
}

/* A rank arrives when its own work is done, and leaves as long after the last arrival as it did.
 * The time since the previous node is in the walkers. */
static void estimate(struct join *join, const struct come *come)
{
    bool has_before = false;

    if (join->nodes.count == 0) {
        join->base_ns = join->members[0].end_ns;
        join->joined->begin_ns = join->base_ns;
    }
    for (size_t m = 0; m < join->member_count; m++) {
        has_before = has_before || join->members[m].walker->node != NO_NODE;
    }
    for (int v = 0; v < 2; v++) {
        double last = -INFINITY;

        for (size_t m = 0; m < join->member_count; m++) {
            const struct member *one = &join->members[m];
            double came = one->walker->node == NO_NODE
                              ? (double)(one->start_ns - join->base_ns)
                              : one->walker->left[v] + since_node(one->walker, v == 1);
            last = fmax(last, came);
        }
        for (size_t m = 0; m < join->member_count; m++) {
            struct member *one = &join->members[m];
            int64_t link_ns = one->end_ns - come->last_ns;
            double f = v == 1 ? one->walker->factor[NTK_JOINED_LINK] : 1;

            one->walker->left[v] = has_before ? last + (double)(link_ns > 0 ? link_ns : 0) * f
                                              : (double)(one->end_ns - join->base_ns);
            if (one->walker->node == NO_NODE) {
                one->walker->first_left[v] = one->walker->left[v];
            }
        }
    }
}

/* ---- an operation of a rank ---- */

/* Takes an operation from the rank: its place on the clock, and the time before it. */
static void member_begin(struct member *one)
{
    struct walker *walker = one->walker;
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
    /* An operation that starts before the end of the previous one counts from that end. */
    if (walker->has_left) {
        one->start_ns = one->start_ns > walker->left_ns ? one->start_ns : walker->left_ns;
        one->end_ns = one->end_ns > one->start_ns ? one->end_ns : one->start_ns;
    }
    one->run_ns = one->host_ns = one->unknown_ns = 0;
}

/* Splits the time between the previous operation and this one. */
static void gap_split(struct join *join, struct member *one)
{
    struct walker *walker = one->walker;
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

static void member_end(struct member *one)
{
    struct walker *walker = one->walker;
    walker->has_left = true;
    walker->left_ns = one->end_ns;
    walker->done |= UINT64_C(1) << (one->at - walker->next);
    while (walker->done & 1) {
        walker->done >>= 1;
        walker->next++;
    }
}

/* An operation that cannot be matched: no rank is waited for. */
static void alone(struct join *join, struct member *one)
{
    struct walker *walker = one->walker;

    gap_split(join, one);
    int64_t inside_ns =
        run_in(join, walker, one->start_ns, one->end_ns, NTK_JOINED_INSIDE, NTK_JOINED_UNKNOWN);
    walker->part_ns[NTK_JOINED_INSIDE] += (uint64_t)inside_ns;
    walker->part_ns[NTK_JOINED_UNKNOWN] += (uint64_t)(one->end_ns - one->start_ns - inside_ns);
    walker->unknown_ns += one->end_ns - one->start_ns;
    member_end(one);
}

/* ---- a collective ---- */

static bool is_of_one_kind(const struct join *join)
{
    for (size_t m = 1; m < join->member_count; m++) {
        if (join->members[m].op.is_barrier != join->members[0].op.is_barrier) {
            return false;
        }
    }
    return true;
}

/* No rank leaves before the last arrival, within the accuracy of the clocks. */
static bool can_be_one(const struct join *join)
{
    const struct member *last = &join->members[0];
    int64_t last_ns = last->op.start_ns - last->walker->offset_ns;

    for (size_t m = 1; m < join->member_count; m++) {
        const struct member *one = &join->members[m];
        int64_t start_ns = one->op.start_ns - one->walker->offset_ns;

        if (start_ns > last_ns) {
            last = one;
            last_ns = start_ns;
        }
    }
    for (size_t m = 0; m < join->member_count; m++) {
        const struct member *one = &join->members[m];
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

/* Called for each index on the way up: returns memory of earlier ones. */
static void nodes_pass(const struct join *join, size_t index)
{
    if (index > 0 && index % NODES_PASS == 0 && index <= join->nodes.count) {
        ntk_long_items_give_back((const struct node *)join->nodes.items + (index - NODES_PASS),
                                 NODES_PASS * sizeof(struct node), join->nodes.is_mapped);
    }
}

static void node_add(struct join *join, const struct come *come)
{
    const struct member *last = &join->members[come->last];
    const struct walker *walker = last->walker;
    struct node *node = ntk_long_list_add(&join->nodes, &join->ret);

    if (node) {
        *node = (struct node){ .start_ns = last->start_ns,
                               .left_ns = walker->node_left_ns,
                               .run_ns = walker->run_ns,
                               .host_ns = walker->host_ns,
                               .unknown_ns = walker->unknown_ns,
                               .before = walker->node,
                               .skew_ns = (uint64_t)(come->last_ns - come->first_ns),
                               .last = (uint32_t)(walker - join->walkers),
                               .is_alone = come->is_alone };
        nodes_pass(join, join->nodes.count - 1);
    }
}

/* Splits the time of one rank from its previous operation to the end of this one. */
static void split(struct join *join, struct member *one, const struct come *come)
{
    struct walker *walker = one->walker;
    struct ntk_joined_rank *out = walker->out;
    int64_t come_ns = come->last_ns < one->end_ns ? come->last_ns : one->end_ns;
    int64_t wait_run_ns =
        run_in(join, walker, one->start_ns, come_ns, NTK_JOINED_INSIDE, NTK_JOINED_WAIT);
    int64_t link_run_ns =
        run_in(join, walker, come_ns, one->end_ns, NTK_JOINED_INSIDE, NTK_JOINED_LINK);

    walker->part_ns[NTK_JOINED_WAIT] += (uint64_t)(come_ns - one->start_ns - wait_run_ns);
    walker->part_ns[NTK_JOINED_LINK] += (uint64_t)(one->end_ns - come_ns - link_run_ns);
    walker->part_ns[NTK_JOINED_INSIDE] += (uint64_t)(wait_run_ns + link_run_ns);
    if (walker->node != NO_NODE) {
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

static void together(struct join *join)
{
    for (size_t m = 0; m < join->member_count; m++) {
        member_begin(&join->members[m]);
    }
    struct come come = come_to(join);
    causes_find(join, &come);
    for (size_t m = 0; m < join->member_count; m++) {
        gap_split(join, &join->members[m]);
    }
    estimate(join, &come);
    node_add(join, &come);
    for (size_t m = 0; m < join->member_count; m++) {
        split(join, &join->members[m], &come);
    }
    join->joined->joint_count++;
}

/* The present members of the collective, of `count` ranks. */
static void judge(struct join *join, size_t count)
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

/* The next undone operation of a life. False: it is further on, or *out_is_over. */
static bool visible(struct walker *walker, uint32_t life, struct member *out, bool *out_is_over)
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

/* Takes the next collective of a communicator: true. False: a rank must do *out_before first.
 * is_forced: continue without these ranks. */
static bool take(struct join *join, uint32_t number, bool is_forced, size_t *out_before)
{
    const struct ntk_joined_instance *instance = ntk_vec_at(&join->match.instances, number);
    uint64_t sequence = UINT64_MAX;

    join->member_count = 0;
    for (size_t m = 0; m < instance->count; m++) {
        const struct ntk_joined_member *member =
            ntk_vec_at(&join->match.members, instance->first + m);
        struct member one = { .walker = &join->walkers[member->rank] };
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

/* The rank whose next operation started first; rank_count: none. */
static size_t earliest(const struct join *join)
{
    size_t found = join->joined->rank_count;
    int64_t found_ns = INT64_MAX;

    for (size_t r = 0; r < join->joined->rank_count; r++) {
        struct walker *walker = &join->walkers[r];

        if (walker->next < walker->list.rows.count &&
            op_at(walker, walker->next).start_ns - walker->offset_ns < found_ns) {
            found = r;
            found_ns = op_at(walker, walker->next).start_ns - walker->offset_ns;
        }
    }
    return found;
}

static void walk(struct join *join)
{
    size_t count = join->joined->rank_count;

    for (size_t first = earliest(join); first < count && join->ret == 0; first = earliest(join)) {
        bool is_taken = false;
        size_t rank = first;

        for (size_t steps = 0; !is_taken; steps++) {
            struct walker *walker = &join->walkers[rank];
            struct ntk_rank_op op = op_at(walker, walker->next);
            const struct ntk_rank_life *life =
                op.life == NTK_RANK_NO_LIFE ? NULL : ntk_vec_at(&walker->ops->lives, op.life);

            if (!life || life->instance == UINT32_MAX) {
                struct member one = { .walker = walker, .op = op, .at = walker->next };

                join->joined->partial_count++;
                member_begin(&one);
                alone(join, &one);
                is_taken = true;
            } else { /* after as many steps as ranks, they wait for each other in a cycle */
                is_taken = take(join, life->instance, steps > count, &rank);
            }
        }
    }
}

/* ---- back from the end ---- */

static void path_report(struct join *join, size_t rank, enum ntk_joined_part part, int64_t start_ns,
                        int64_t end_ns)
{
    if (join->options && join->options->path && end_ns > start_ns && join->ret == 0) {
        join->ret = join->options->path(rank, part, start_ns, end_ns, join->options->ctx);
    }
}

/* From the last collective back to the first: the last rank to arrive made the others wait. */
static void walk_path(struct join *join)
{
    const struct node *nodes = join->nodes.items;
    size_t next = SIZE_MAX; /* the rank that left the collective last */

    for (size_t r = 0; r < join->joined->rank_count; r++) {
        const struct walker *walker = &join->walkers[r];

        if (walker->node != NO_NODE &&
            (next == SIZE_MAX || walker->node_left_ns > join->walkers[next].node_left_ns)) {
            next = r;
        }
    }
    if (next == SIZE_MAX) {
        return;
    }
    int64_t left_ns = join->walkers[next].node_left_ns;
    uint64_t behind = join->nodes.count / NODES_PASS;
    for (uint64_t at = join->walkers[next].node; nodes[at].before != NO_NODE;) {
        const struct node *node = &nodes[at];
        struct ntk_joined_rank *out = &join->joined->ranks[node->last];
        int64_t gap_ns = node->run_ns + node->host_ns + node->unknown_ns;
        int64_t link_ns = left_ns - node->start_ns;

        /* Inaccurate clocks may place its end before its start. */
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
        if (at / NODES_PASS < behind) { /* that many passes are left */
            behind = at / NODES_PASS;
            nodes_pass(join, (size_t)(behind + 2) * NODES_PASS);
        }
    }
}

/* The late rank at each time. */
static int pieces_make(struct join *join)
{
    struct ntk_joined *joined = join->joined;
    const struct node *nodes = join->nodes.items;
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
            nodes_pass(join, (size_t)k);
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

static void estimate_end(struct join *join)
{
    uint64_t *out[] = { &join->joined->model_ns, &join->joined->estimate_ns };

    for (int v = 0; v < 2; v++) {
        double begin = INFINITY;
        double end = -INFINITY;

        for (size_t r = 0; r < join->joined->rank_count; r++) {
            const struct walker *walker = &join->walkers[r];

            if (walker->node != NO_NODE) {
                begin = fmin(begin, walker->first_left[v]);
                end = fmax(end, walker->left[v]);
            }
        }
        /* Many changes together may exceed any number of ns. */
        *out[v] = end > begin ? (uint64_t)(fmin(end - begin, 1e18) + 0.5) : 0;
    }
}

/* ---- all of it ---- */

static int join_init(struct join *join, struct ntk_rank_store *store,
                     struct ntk_rank_ops *const *ranks)
{
    size_t count = join->joined->rank_count;

    join->is_of_kinds = join->is_of_times = true;
    join->walkers = calloc(count + 1, sizeof *join->walkers);
    join->members = calloc(count + 1, sizeof *join->members);
    join->comes = calloc(count + 1, sizeof *join->comes);
    join->nodes = (struct ntk_long_list){ .item_bytes = sizeof(struct node),
                                          .heap_bytes_max = NODES_HEAP_BYTES,
                                          .folder = ntk_fs_temporary_folder(),
                                          .fd = -1 };
    if (!join->walkers || !join->members || !join->comes) {
        return -ENOMEM;
    }
    int ret = ntk_joined_match_make(store, ranks, join->joined, &join->match);
    for (size_t r = 0; r < count; r++) {
        struct walker *walker = &join->walkers[r];

        walker->ops = ranks[r];
        walker->out = &join->joined->ranks[r];
        walker->offset_ns = walker->out->offset_ns;
        walker->node = NO_NODE;
        ntk_rank_cursor_init(&walker->list, store, ranks[r]->ops, sizeof(struct ntk_rank_op));
        ntk_rank_cursor_init(&walker->runs, store, ranks[r]->runs, sizeof(struct ntk_rank_run));
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            walker->factor[p] = factor_of(join->options, walker->out->number, p);
        }
    }
    return ret;
}

static void join_fini(struct join *join)
{
    ntk_joined_match_fini(&join->match);
    ntk_long_list_fini(&join->nodes);
    free(join->walkers);
    free(join->members);
    free(join->comes);
}

static int join_ranks(struct ntk_rank_list *list, struct ntk_rank_ops *const *ranks,
                      const struct ntk_joined_options *options, struct ntk_joined *joined)
{
    struct join join = { .joined = joined, .options = options };
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
        walk_path(&join);
        estimate_end(&join);
        for (size_t r = 0; r < joined->rank_count; r++) {
            uint64_t span_ns = joined->ranks[r].span_ns;
            joined->span_ns = span_ns > joined->span_ns ? span_ns : joined->span_ns;
        }
        join.ret = join.ret < 0 ? join.ret : pieces_make(&join);
    }
    join_fini(&join);
    return join.ret < 0 ? join.ret : ntk_rank_list_failed(list);
}

/* Without numbers: the n-th of each, counted from the end if events were lost. */
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

/* The rank in the world of its largest communicator; UINT32_MAX: unknown. */
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

/* Orders ranks by the first number that distinguishes them all: worker, rank in the world. */
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

/* Selects those that can be joined. */
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
        ret = ret ? ret : join_ranks(list, ranks, options, &joined);
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
