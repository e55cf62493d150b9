/* SPDX-License-Identifier: MIT */
/* joined - the joints of each rank in order, put on one clock, then joint by joint over all. */
#include "profiler/analysis/joined.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/vec.h"

static const char *const part_names[NTK_JOINED_PART_COUNT] = { "run", "host", "wait", "link",
                                                               "inside" };

const char *ntk_joined_part_name(enum ntk_joined_part part)
{
    return part_names[part];
}

/* Later ones (2043) are no times: differences of the others, on any clock, are numbers. */
#define TIME_NS_MAX (UINT64_C(1) << 61)

/* How many times as fast or slow somebody may ask for. */
#define SPEED_MAX 1e6
#define SPEED_MIN 1e-3

/* A collective of a rank, or a time in which a core of it executes. Signed: put on another clock,
 * what is hostile may lie before 1970. */
struct joint {
    const char *type;
    int64_t start_ns, end_ns;
    int64_t run_ns; /* executing between the joint before and this one */
    uint32_t device_core;
};

struct rank {
    uint32_t worker;
    bool is_twice;
    const struct ntk_system_trace *trace;
    struct ntk_vec joints; /* of struct joint */
    struct ntk_vec runs;   /* the same: apart, by start */
    struct joint *first;   /* the first that all have */
    size_t run;            /* the first that may still matter */
};

static bool is_run(const char *type)
{
    return strcmp(type, "nc_exec_running") == 0;
}

static bool is_joint(const char *type)
{
    return strcmp(type, "cc_running") == 0 || strcmp(type, "cc_exec_barrier") == 0;
}

static int compare_joints(const void *a, const void *b)
{
    const struct joint *x = a;
    const struct joint *y = b;

    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = ((const struct rank *)a)->worker;
    uint32_t y = ((const struct rank *)b)->worker;

    return x < y ? -1 : x > y;
}

static int compare_signed(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* ---- what the traces have ---- */

static struct rank *rank_of(struct ntk_vec *ranks, uint32_t worker)
{
    ntk_vec_each(struct rank, rank, ranks) {
        if (rank->worker == worker) {
            return rank;
        }
    }
    struct rank *rank = ntk_vec_add(ranks);
    if (rank) {
        rank->worker = worker;
        ntk_vec_init(&rank->joints, sizeof(struct joint));
        ntk_vec_init(&rank->runs, sizeof(struct joint));
    }
    return rank;
}

static int gather(const struct ntk_system_trace *trace, struct ntk_vec *ranks)
{
    struct rank *rank = NULL;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        struct joint one = { .type = span->type,
                             .start_ns = (int64_t)span->start_ns,
                             .end_ns = (int64_t)span->end_ns,
                             .device_core = span->device_core };

        if (span->is_instant || span->is_partial || span->end_ns > TIME_NS_MAX ||
            span->end_ns < span->start_ns || !(is_run(span->type) || is_joint(span->type))) {
            continue;
        }
        if (!rank || rank->worker != span->worker) {
            rank = rank_of(ranks, span->worker);
        }
        if (!rank || ntk_vec_push(is_run(span->type) ? &rank->runs : &rank->joints, &one) < 0) {
            return -ENOMEM;
        }
        rank->is_twice = rank->is_twice || (rank->trace && rank->trace != trace);
        rank->trace = trace;
    }
    return 0;
}

/* Executions that overlap, as of the cores of a pair, are one. */
static void merge_runs(struct ntk_vec *runs)
{
    struct joint *all = runs->items;
    size_t kept = 0;

    ntk_vec_sort(runs, compare_joints);
    for (size_t i = 0; i < runs->count; i++) {
        if (kept > 0 && all[i].start_ns <= all[kept - 1].end_ns) {
            all[kept - 1].end_ns =
                all[i].end_ns > all[kept - 1].end_ns ? all[i].end_ns : all[kept - 1].end_ns;
        } else {
            all[kept++] = all[i];
        }
    }
    runs->count = kept;
}

/* Both cores of a pair tell of a collective: of each kind, those of the core that was first. */
static void drop_pairs(struct ntk_vec *joints)
{
    struct joint *all = joints->items;
    const struct joint *firsts[2] = { NULL, NULL };
    struct joint seen[2];
    size_t kept = 0;

    ntk_vec_sort(joints, compare_joints);
    for (size_t i = 0; i < joints->count; i++) {
        size_t kind = strcmp(all[i].type, "cc_running") == 0;

        if (!firsts[kind]) {
            seen[kind] = all[i];
            firsts[kind] = &seen[kind];
        }
        if (all[i].device_core == firsts[kind]->device_core) {
            all[kept++] = all[i];
        }
    }
    joints->count = kept;
}

/* ---- clocks ---- */

static const char *machine_of(const struct rank *rank)
{
    const NtkNtracePb__Info *info = rank->trace->info;

    return info && info->instance_id ? info->instance_id : "";
}

/* A collective ends for all at about the same moment: the median of how much later it ended by the
 * other clock. */
static int offset_set(const struct rank *reference, const struct rank *rank, uint64_t joint_count,
                      struct ntk_joined_rank *out)
{
    int64_t *apart = calloc(joint_count + 1, sizeof *apart);

    if (!apart) {
        return -ENOMEM;
    }
    for (uint64_t k = 0; k < joint_count; k++) {
        apart[k] = rank->first[k].end_ns - reference->first[k].end_ns;
    }
    qsort(apart, joint_count, sizeof *apart, compare_signed);
    out->has_other_clock = true;
    out->offset_ns = apart[(joint_count - 1) / 2];
    out->offset_apart_ns =
        (uint64_t)(apart[(joint_count - 1) * 3 / 4] - apart[(joint_count - 1) / 4]);
    free(apart);
    return 0;
}

static int clocks_join(struct rank *ranks, struct ntk_joined *joined)
{
    for (size_t r = 1; r < joined->rank_count; r++) {
        struct ntk_joined_rank *out = &joined->ranks[r];
        size_t same = 0; /* the first rank of its machine */
        int ret = 0;

        while (strcmp(machine_of(&ranks[same]), machine_of(&ranks[r])) != 0) {
            same++;
        }
        if (same == 0) {
            continue;
        }
        if (same < r) {
            out->has_other_clock = true;
            out->offset_ns = joined->ranks[same].offset_ns;
            out->offset_apart_ns = joined->ranks[same].offset_apart_ns;
        } else {
            ret = offset_set(&ranks[0], &ranks[r], joined->joint_count, out);
        }
        if (ret < 0) {
            return ret;
        }
    }
    for (size_t r = 1; r < joined->rank_count; r++) {
        ntk_vec_each(struct joint, joint, &ranks[r].joints) {
            joint->start_ns -= joined->ranks[r].offset_ns;
            joint->end_ns -= joined->ranks[r].offset_ns;
        }
        ntk_vec_each(struct joint, run, &ranks[r].runs) {
            run->start_ns -= joined->ranks[r].offset_ns;
            run->end_ns -= joined->ranks[r].offset_ns;
        }
    }
    return 0;
}

/* ---- joint by joint ---- */

/* How long a core executes from one moment to a later one. Asked in order of time. */
static int64_t run_in(struct rank *rank, int64_t from_ns, int64_t until_ns)
{
    const struct joint *runs = rank->runs.items;
    int64_t sum_ns = 0;

    while (rank->run < rank->runs.count && runs[rank->run].end_ns <= from_ns) {
        rank->run++;
    }
    for (size_t i = rank->run; i < rank->runs.count && runs[i].start_ns < until_ns; i++) {
        int64_t start_ns = runs[i].start_ns > from_ns ? runs[i].start_ns : from_ns;
        int64_t end_ns = runs[i].end_ns < until_ns ? runs[i].end_ns : until_ns;
        sum_ns += end_ns - start_ns;
    }
    return sum_ns;
}

struct come {
    size_t first, last;
    bool is_alone; /* the last one came after all others */
    int64_t first_ns, last_ns;
};

static struct come come_to(const struct rank *ranks, size_t rank_count, uint64_t joint)
{
    struct come come = { .first_ns = ranks[0].first[joint].start_ns,
                         .last_ns = ranks[0].first[joint].start_ns };

    for (size_t r = 1; r < rank_count; r++) {
        int64_t start_ns = ranks[r].first[joint].start_ns;

        if (start_ns < come.first_ns) {
            come.first = r;
            come.first_ns = start_ns;
        }
        if (start_ns > come.last_ns) {
            come.last = r;
            come.last_ns = start_ns;
        }
    }
    come.is_alone = true;
    for (size_t r = 0; r < rank_count && come.is_alone; r++) {
        come.is_alone = r == come.last || ranks[r].first[joint].start_ns < come.last_ns;
    }
    return come;
}

/* The parts of the time of one rank from the end of the joint before to the end of this one. */
static void split(struct rank *rank, uint64_t joint, const struct come *come,
                  struct ntk_joined_rank *out)
{
    struct joint *one = &rank->first[joint];
    int64_t left_ns = rank->first[joint - 1].end_ns;
    int64_t come_ns = come->last_ns < one->end_ns ? come->last_ns : one->end_ns;
    int64_t run_ns = run_in(rank, left_ns, one->start_ns);
    int64_t wait_run_ns = run_in(rank, one->start_ns, come_ns);
    int64_t link_run_ns = run_in(rank, come_ns, one->end_ns);

    one->run_ns = run_ns;
    out->part_ns[NTK_JOINED_RUN] += (uint64_t)run_ns;
    out->part_ns[NTK_JOINED_HOST] += (uint64_t)(one->start_ns - left_ns - run_ns);
    out->part_ns[NTK_JOINED_WAIT] += (uint64_t)(come_ns - one->start_ns - wait_run_ns);
    out->part_ns[NTK_JOINED_LINK] += (uint64_t)(one->end_ns - come_ns - link_run_ns);
    out->part_ns[NTK_JOINED_INSIDE] += (uint64_t)(wait_run_ns + link_run_ns);
    out->waited_ns += (uint64_t)(come_ns - one->start_ns);
    out->span_ns += (uint64_t)(one->end_ns - left_ns);
}

/* From the last joint that ended back to the first: who came last made the others wait. */
static void walk_path(const struct rank *ranks, struct ntk_joined *joined)
{
    size_t next = 0; /* the rank whose leaving the joint counts */

    for (size_t r = 1; r < joined->rank_count; r++) {
        uint64_t last = joined->joint_count - 1;
        next = ranks[r].first[last].end_ns > ranks[next].first[last].end_ns ? r : next;
    }
    for (uint64_t k = joined->joint_count - 1; k > 0; k--) {
        struct come come = come_to(ranks, joined->rank_count, k);
        struct ntk_joined_rank *out = &joined->ranks[come.last];
        const struct joint *one = &ranks[come.last].first[k];
        int64_t gap_ns = one->start_ns - one[-1].end_ns;
        int64_t link_ns = ranks[next].first[k].end_ns - one->start_ns;

        /* Clocks that are not quite joined can have it end before it began. */
        link_ns = link_ns > 0 ? link_ns : 0;
        out->path_ns[NTK_JOINED_RUN] += (uint64_t)one->run_ns;
        out->path_ns[NTK_JOINED_HOST] += (uint64_t)(gap_ns - one->run_ns);
        joined->ranks[next].path_ns[NTK_JOINED_LINK] += (uint64_t)link_ns;
        joined->total_ns += (uint64_t)(gap_ns + link_ns);
        next = come.last;
    }
}

static double factor(const struct ntk_joined_options *options, uint32_t worker,
                     enum ntk_joined_part part)
{
    double f = 1;

    for (size_t i = 0; options && i < options->change_count; i++) {
        const struct ntk_joined_change *change = &options->changes[i];

        if (change->part == part && (!change->is_of_rank || change->worker == worker)) {
            f = change->speed > 0 ? f / change->speed : 0;
        }
    }
    return f;
}

/* The graph timed anew: a rank comes when its own work is done, and leaves as long after the last
 * came as it did. */
static int estimate(const struct rank *ranks, const struct ntk_joined *joined,
                    const struct ntk_joined_options *options, uint64_t *out_ns)
{
    double *left = calloc(joined->rank_count, sizeof *left);
    double begin = INFINITY;
    double end = -INFINITY;

    if (!left) {
        return -ENOMEM;
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        left[r] = (double)(ranks[r].first[0].end_ns - ranks[0].first[0].end_ns);
        begin = fmin(begin, left[r]);
    }
    for (uint64_t k = 1; k < joined->joint_count; k++) {
        struct come come = come_to(ranks, joined->rank_count, k);
        double last = -INFINITY;

        for (size_t r = 0; r < joined->rank_count; r++) {
            const struct joint *one = &ranks[r].first[k];
            int64_t host_ns = one->start_ns - one[-1].end_ns - one->run_ns;
            last = fmax(last,
                        left[r] +
                            (double)one->run_ns * factor(options, ranks[r].worker, NTK_JOINED_RUN) +
                            (double)host_ns * factor(options, ranks[r].worker, NTK_JOINED_HOST));
        }
        for (size_t r = 0; r < joined->rank_count; r++) {
            int64_t link_ns = ranks[r].first[k].end_ns - come.last_ns;
            left[r] = last + (double)(link_ns > 0 ? link_ns : 0) *
                                 factor(options, ranks[r].worker, NTK_JOINED_LINK);
        }
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        end = fmax(end, left[r]);
    }
    /* Many changes at once can make it longer than any number of ns. */
    *out_ns = end > begin ? (uint64_t)(fmin(end - begin, 1e18) + 0.5) : 0;
    free(left);
    return 0;
}

/* ---- who is late when ---- */

static int pieces_make(const struct rank *ranks, struct ntk_joined *joined)
{
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
            struct come come = come_to(ranks, joined->rank_count, k);

            piece->skew_ns += (uint64_t)(come.last_ns - come.first_ns);
            lates[come.last] += come.is_alone ? (uint64_t)(come.last_ns - come.first_ns) : 0;
            joined->ranks[come.last].last_count += come.is_alone;
        }
        for (size_t r = 0; r < joined->rank_count; r++) {
            if (lates[r] > piece->late_ns) {
                piece->late_ns = lates[r];
                piece->worker = ranks[r].worker;
            }
        }
    }
    joined->piece_count = pieces;
    free(lates);
    return 0;
}

/* ---- what cannot be joined ---- */

static const char *doubt(const struct rank *ranks, const struct ntk_joined *joined)
{
    for (uint64_t k = 0; k < joined->joint_count; k++) {
        for (size_t r = 1; r < joined->rank_count; r++) {
            if (strcmp(ranks[r].first[k].type, ranks[0].first[k].type) != 0) {
                return "ranks have collectives of different kinds at the same place, so they are "
                       "not of one communicator, or one of them began later";
            }
        }
    }
    for (uint64_t k = 0; k < joined->joint_count; k++) {
        struct come come = come_to(ranks, joined->rank_count, k);
        for (size_t r = 0; r < joined->rank_count; r++) {
            const struct ntk_joined_rank *last = &joined->ranks[come.last];
            const struct ntk_joined_rank *one = &joined->ranks[r];
            uint64_t apart_ns = last->offset_apart_ns > one->offset_apart_ns ? last->offset_apart_ns
                                                                             : one->offset_apart_ns;
            bool is_far = last->has_other_clock || one->has_other_clock;
            int64_t early_ns = come.last_ns - ranks[r].first[k].end_ns;

            if (early_ns > 0 && (!is_far || (uint64_t)early_ns > 2 * apart_ns + 1000000)) {
                return "a rank left a collective before another came to it, so they are not of "
                       "one communicator, or one of them began later";
            }
        }
    }
    return NULL;
}

/* A collective that begins before the one before it has ended counts from there. */
static void in_order(struct rank *rank, uint64_t joint_count)
{
    for (uint64_t k = 1; k < joint_count; k++) {
        struct joint *one = &rank->first[k];

        one->start_ns = one->start_ns > one[-1].end_ns ? one->start_ns : one[-1].end_ns;
        one->end_ns = one->end_ns > one->start_ns ? one->end_ns : one->start_ns;
    }
}

static int judge(struct rank *ranks, const struct ntk_joined_options *options,
                 struct ntk_joined *joined)
{
    int ret = clocks_join(ranks, joined);

    joined->unknown = ret < 0 ? NULL : doubt(ranks, joined);
    if (ret < 0 || joined->unknown) {
        return ret;
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        in_order(&ranks[r], joined->joint_count);
        merge_runs(&ranks[r].runs);
    }
    for (uint64_t k = 1; k < joined->joint_count; k++) {
        struct come come = come_to(ranks, joined->rank_count, k);
        for (size_t r = 0; r < joined->rank_count; r++) {
            split(&ranks[r], k, &come, &joined->ranks[r]);
        }
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        joined->span_ns =
            joined->ranks[r].span_ns > joined->span_ns ? joined->ranks[r].span_ns : joined->span_ns;
    }
    walk_path(ranks, joined);
    ret = pieces_make(ranks, joined);
    ret = ret ? ret : estimate(ranks, joined, NULL, &joined->model_ns);
    return ret ? ret : estimate(ranks, joined, options, &joined->estimate_ns);
}

/* Those that can be joined move to the front; how many. */
static size_t ranks_choose(struct ntk_vec *all, struct ntk_joined *joined)
{
    struct rank *ranks = all->items;
    size_t count = 0;

    ntk_vec_sort(all, compare_ranks);
    for (size_t r = 0; r < all->count; r++) {
        if (r > 0 && ranks[r].worker - ranks[r - 1].worker > 1) {
            joined->absent_first =
                joined->absent_count ? joined->absent_first : ranks[r - 1].worker + 1;
            joined->absent_count += ranks[r].worker - ranks[r - 1].worker - 1;
        }
    }
    for (size_t r = 0; r < all->count; r++) {
        if (ranks[r].is_twice) {
            joined->twice_first = joined->twice_count ? joined->twice_first : ranks[r].worker;
            joined->twice_count++;
        } else if (ranks[r].joints.count > 0) {
            struct rank one = ranks[count];
            ranks[count++] = ranks[r];
            ranks[r] = one;
        }
    }
    return count;
}

static int ranks_join(struct ntk_vec *all, const struct ntk_joined_options *options,
                      struct ntk_joined *joined)
{
    struct rank *ranks = NULL;

    joined->rank_count = ranks_choose(all, joined);
    ranks = all->items;
    joined->ranks = calloc(joined->rank_count + 1, sizeof *joined->ranks);
    if (!joined->ranks) {
        return -ENOMEM;
    }
    joined->joint_count = joined->rank_count ? UINT64_MAX : 0;
    for (size_t r = 0; r < joined->rank_count; r++) {
        joined->ranks[r].worker = ranks[r].worker;
        drop_pairs(&ranks[r].joints);
        joined->is_from_end = joined->is_from_end || ranks[r].trace->lost > 0;
        joined->joint_count = ranks[r].joints.count < joined->joint_count ? ranks[r].joints.count
                                                                          : joined->joint_count;
        joined->most_count =
            ranks[r].joints.count > joined->most_count ? ranks[r].joints.count : joined->most_count;
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        size_t skipped = joined->is_from_end ? ranks[r].joints.count - joined->joint_count : 0;
        ranks[r].first = ntk_vec_at(&ranks[r].joints, skipped);
    }
    if (joined->rank_count < 2 || joined->joint_count < 2) {
        joined->unknown = "it takes two ranks with two collectives each";
        return 0;
    }
    return judge(ranks, options, joined);
}

int ntk_analysis_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                        const struct ntk_joined_options *options, struct ntk_joined *out_joined)
{
    struct ntk_vec ranks = NTK_VEC_INIT(struct rank);
    struct ntk_joined joined = { 0 };
    int ret = 0;

    for (size_t t = 0; t < trace_count && ret == 0; t++) {
        ret = gather(traces[t], &ranks);
    }
    ret = ret ? ret : ranks_join(&ranks, options, &joined);
    ntk_vec_each(struct rank, rank, &ranks) {
        ntk_vec_fini(&rank->joints);
        ntk_vec_fini(&rank->runs);
    }
    ntk_vec_fini(&ranks);
    if (ret < 0) {
        ntk_joined_fini(&joined);
        return ret;
    }
    *out_joined = joined;
    return 0;
}

void ntk_joined_fini(struct ntk_joined *joined)
{
    free(joined->ranks);
    *joined = (struct ntk_joined){ 0 };
}

/* ---- what if ---- */

static int change_parse(const char *word, size_t length, struct ntk_joined_change *out)
{
    static const enum ntk_joined_part parts[] = { NTK_JOINED_RUN, NTK_JOINED_HOST,
                                                  NTK_JOINED_LINK };
    char text[64];
    char *at = text;
    char *end = NULL;

    if (length == 0 || length >= sizeof text) {
        return -EINVAL;
    }
    memcpy(text, word, length);
    text[length] = '\0';
    *out = (struct ntk_joined_change){ 0 };
    if (strncmp(at, "rank", 4) == 0) {
        if (at[4] < '0' || at[4] > '9') {
            return -EINVAL;
        }
        unsigned long long worker = strtoull(at + 4, &end, 10);
        if (worker > UINT32_MAX || *end != '.') {
            return -EINVAL;
        }
        out->is_of_rank = true;
        out->worker = (uint32_t)worker;
        at = end + 1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *name = part_names[parts[i]];
        size_t name_length = strlen(name);

        if (strncmp(at, name, name_length) == 0 && at[name_length] == '=') {
            at += name_length + 1;
            out->part = parts[i];
            if ((*at < '0' || *at > '9') && *at != '.') {
                return -EINVAL;
            }
            out->speed = strtod(at, &end);
            return end == at || *end || out->speed > SPEED_MAX ||
                           (out->speed != 0 && !(out->speed >= SPEED_MIN))
                       ? -EINVAL
                       : 0;
        }
    }
    return -EINVAL;
}

int ntk_joined_changes_add(struct ntk_joined_options *options, const char *text,
                           struct ntk_err *err)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct ntk_joined_change change;

        if (change_parse(at, length, &change) < 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "takes run, host or link, with rank3. before it that of one rank, "
                               "and how many times as fast it is, such as link=2 or rank3.host=0 "
                               "(takes no time; else 0.001 to 1000000)");
        }
        if (options->change_count == NTK_JOINED_CHANGES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "takes up to %u changes",
                               NTK_JOINED_CHANGES_MAX);
        }
        options->changes[options->change_count++] = change;
        at += length;
        if (!*at) {
            return 0;
        }
    }
}
