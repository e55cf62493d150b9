/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/joined_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

/* Number of ends of collectives for matching a clock; with more, every n-th is used. */
#define ENDS_MAX ((uint64_t)1 << 18)

/* Maximum clock offset; larger offsets are invalid. */
#define OFFSET_NS_MAX ((int64_t)1 << 61)

struct entry {
    uint64_t key;
    uint32_t rank, life;
    uint32_t nth; /* number of occurrences of this key in its rank so far */
};

NTK_ORDER(compare_entries, struct entry, NTK_UP(key) NTK_UP(rank) NTK_UP(life));

static struct ntk_rank_life *life_at(struct ntk_rank_ops *const *ranks, const struct entry *entry)
{
    return ntk_vec_at(&ranks[entry->rank]->lives, entry->life);
}

/* Creates entries for all lives of all ranks, sorted by key, rank and time. */
static int entries_make(struct ntk_rank_ops *const *ranks, size_t rank_count, struct ntk_vec *out)
{
    for (size_t r = 0; r < rank_count; r++) {
        for (size_t l = 0; l < ranks[r]->lives.count; l++) {
            struct ntk_rank_life *life = ntk_vec_at(&ranks[r]->lives, l);
            struct entry entry = { .key = life->comm.key,
                                   .rank = (uint32_t)r,
                                   .life = (uint32_t)l };

            life->instance = UINT32_MAX;
            life->reached = 0;
            if (ntk_vec_push(out, &entry) < 0) {
                return -ENOMEM;
            }
        }
    }
    ntk_vec_sort(out, compare_entries);
    struct entry *all = out->items;
    for (size_t i = 1; i < out->count; i++) {
        all[i].nth =
            all[i].key == all[i - 1].key && all[i].rank == all[i - 1].rank ? all[i - 1].nth + 1 : 0;
    }
    return 0;
}

/* Returns the largest number of lives with one key in a rank, and the first rank with it. */
static uint32_t lives_of_key(const struct entry *all, size_t count, size_t *out_most)
{
    uint32_t most = 0;

    for (size_t i = 0; i < count; i++) {
        if (all[i].nth + 1 > most) {
            most = all[i].nth + 1;
            *out_most = i - all[i].nth;
        }
    }
    return most;
}

static size_t same_key(const struct ntk_vec *entries, size_t first)
{
    const struct entry *all = entries->items;
    size_t end = first;

    while (end < entries->count && all[end].key == all[first].key) {
        end++;
    }
    return end - first;
}

static size_t same_rank(const struct entry *all, size_t count, size_t first)
{
    size_t end = first;

    while (end < count && all[end].rank == all[first].rank) {
        end++;
    }
    return end - first;
}

/* Matches ranks with the same number of lives of the communicator: the n-th lives match. */
static void match_by_count(struct ntk_rank_ops *const *ranks, struct ntk_vec *entries,
                           uint32_t *inout_count)
{
    for (size_t first = 0; first < entries->count;) {
        struct entry *all = ntk_vec_at(entries, first);
        size_t count = same_key(entries, first);
        size_t reference = 0;
        uint32_t most = lives_of_key(all, count, &reference);

        for (size_t i = 0; i < count;) {
            size_t lives = same_rank(all, count, i);

            for (size_t l = 0; l < lives && lives == most; l++) {
                life_at(ranks, &all[i + l])->instance = *inout_count + (uint32_t)l;
            }
            i += lives;
        }
        *inout_count += most;
        first += count;
    }
}

/* Matches ranks that lack some lives by time. */
static void match_by_time(struct ntk_rank_ops *const *ranks, const struct ntk_joined *joined,
                          struct ntk_vec *entries)
{
    for (size_t first = 0; first < entries->count;) {
        struct entry *all = ntk_vec_at(entries, first);
        size_t count = same_key(entries, first);
        size_t reference = 0;
        uint32_t most = lives_of_key(all, count, &reference);
        int64_t there_ns = joined->ranks[all[reference].rank].offset_ns;

        for (size_t i = 0; i < count;) {
            size_t lives = same_rank(all, count, i);
            int64_t here_ns = joined->ranks[all[i].rank].offset_ns;
            uint32_t from = 0; /* first of the reference's lives that are still free */

            for (size_t l = 0; l < lives && lives < most; l++) {
                struct ntk_rank_life *life = life_at(ranks, &all[i + l]);
                int64_t best_ns = 0;

                for (uint32_t m = from; m < most; m++) {
                    const struct ntk_rank_life *other = life_at(ranks, &all[reference + m]);
                    int64_t start_ns = other->start_ns - there_ns;
                    int64_t end_ns = other->end_ns - there_ns;

                    start_ns =
                        life->start_ns - here_ns > start_ns ? life->start_ns - here_ns : start_ns;
                    end_ns = life->end_ns - here_ns < end_ns ? life->end_ns - here_ns : end_ns;
                    if (end_ns - start_ns > best_ns) {
                        best_ns = end_ns - start_ns;
                        life->instance = other->instance;
                        from = m + 1;
                    }
                }
            }
            i += lives;
        }
        first += count;
    }
}

/* ---- clocks ---- */

NTK_ORDER_NUMBERS(compare_signed, int64_t);

/* Finds the common life with the most operations. */
static bool shared_life(const struct ntk_rank_ops *a, const struct ntk_rank_ops *b, uint32_t *out_a,
                        uint32_t *out_b)
{
    uint64_t most = 0;

    for (size_t x = 0; x < a->lives.count; x++) {
        const struct ntk_rank_life *life = ntk_vec_at(&a->lives, x);

        for (size_t y = 0; y < b->lives.count && life->instance != UINT32_MAX; y++) {
            const struct ntk_rank_life *other = ntk_vec_at(&b->lives, y);
            uint64_t count = life->count < other->count ? life->count : other->count;

            if (other->instance == life->instance && count > most) {
                most = count;
                *out_a = (uint32_t)x;
                *out_b = (uint32_t)y;
            }
        }
    }
    return most > 0;
}

/* Position in a rank's operations of one life. */
struct line {
    const struct ntk_rank_ops *rank;
    struct ntk_rank_cursor cursor;
    uint32_t life;
    size_t at;
    struct ntk_rank_op op; /* next operation */
};

/* Advances; returns false at the end. */
static bool line_next(struct line *line)
{
    while (line->at < line->cursor.rows.count) {
        line->op = ntk_rank_op_at(line->rank, &line->cursor, line->at++);
        if (line->op.life == line->life) {
            return true;
        }
    }
    return false;
}

/* Sets the offset to the median difference of collective ends on the two clocks, because a
 * collective ends for all ranks at about the same time. */
static int offset_set(struct ntk_rank_store *store, const struct ntk_rank_ops *from,
                      uint32_t from_life, const struct ntk_rank_ops *to, uint32_t to_life,
                      struct ntk_joined_host *out)
{
    const struct ntk_rank_life *life = ntk_vec_at(&from->lives, from_life);
    uint64_t every = life->count / ENDS_MAX + 1;
    int64_t *apart = calloc(ENDS_MAX + 2, sizeof *apart);
    struct line a = { .rank = from, .life = from_life };
    struct line b = { .rank = to, .life = to_life };
    size_t count = 0;
    uint64_t nth = 0;

    if (!apart) {
        return -ENOMEM;
    }
    ntk_rank_cursor_init(&a.cursor, store, from->ops, sizeof(struct ntk_rank_op));
    ntk_rank_cursor_init(&b.cursor, store, to->ops, sizeof(struct ntk_rank_op));
    bool continues = line_next(&a) && line_next(&b);
    while (continues) {
        if (a.op.sequence == b.op.sequence) {
            if (nth++ % every == 0 && count < ENDS_MAX) {
                apart[count++] = b.op.end_ns - a.op.end_ns;
            }
            continues = line_next(&a) && line_next(&b);
        } else {
            continues = line_next(a.op.sequence < b.op.sequence ? &a : &b);
        }
    }
    if (count > 0) {
        qsort(apart, count, sizeof *apart, compare_signed);
        out->has_offset = true;
        out->offset_ns = apart[(count - 1) / 2];
        out->apart_ns = (uint64_t)(apart[(count - 1) * 3 / 4] - apart[(count - 1) / 4]);
    }
    free(apart);
    return 0;
}

/* Sets the clock of a machine by its first rank that shares a communicator with a rank of known
 * clock. */
static int host_clock(struct ntk_rank_store *store, struct ntk_rank_ops *const *ranks,
                      struct ntk_joined *joined, const bool *is_known, size_t host)
{
    struct ntk_joined_host *out = &joined->hosts[host];
    uint32_t there = 0;
    uint32_t here = 0;

    for (size_t r = 0; r < joined->rank_count; r++) {
        for (size_t k = 0; k < joined->rank_count && joined->ranks[r].host == host; k++) {
            const struct ntk_joined_host *other = &joined->hosts[joined->ranks[k].host];

            if (!is_known[joined->ranks[k].host] ||
                !shared_life(ranks[k], ranks[r], &there, &here)) {
                continue;
            }
            int ret = offset_set(store, ranks[k], there, ranks[r], here, out);
            out->offset_ns += other->offset_ns; /* both are differences of times */
            out->apart_ns += other->apart_ns;
            out->has_offset = out->has_offset && llabs(out->offset_ns) <= OFFSET_NS_MAX;
            if (ret < 0 || out->has_offset) {
                return ret;
            }
            out->offset_ns = 0;
            out->apart_ns = 0;
        }
    }
    return 0;
}

static int clocks_join(struct ntk_rank_store *store, struct ntk_rank_ops *const *ranks,
                       struct ntk_joined *joined)
{
    bool *is_known = calloc(joined->host_count + 1, sizeof *is_known);
    bool continues = true;
    int ret = is_known ? 0 : -ENOMEM;

    if (is_known) {
        is_known[joined->ranks[0].host] = true;
    }
    while (continues && ret == 0) {
        continues = false;
        for (size_t h = 0; h < joined->host_count && ret == 0; h++) {
            if (!is_known[h]) {
                ret = host_clock(store, ranks, joined, is_known, h);
                is_known[h] = joined->hosts[h].has_offset;
                continues = continues || is_known[h];
            }
        }
    }
    for (size_t r = 0; r < joined->rank_count && ret == 0; r++) {
        const struct ntk_joined_host *host = &joined->hosts[joined->ranks[r].host];

        joined->ranks[r].has_other_clock = joined->ranks[r].host != joined->ranks[0].host;
        joined->ranks[r].offset_ns = host->offset_ns;
        joined->ranks[r].offset_apart_ns = host->apart_ns;
    }
    free(is_known);
    return ret;
}

/* ---- members ---- */

static int compare_members(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    for (int i = 0; i < 3; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static int members_make(struct ntk_rank_ops *const *ranks, size_t rank_count, uint32_t count,
                        struct ntk_joined_match *match)
{
    struct ntk_vec sorted; /* sorted by instance, rank, life */
    int ret = 0;

    ntk_vec_init(&sorted, 3 * sizeof(uint32_t));
    for (size_t r = 0; r < rank_count; r++) {
        for (size_t l = 0; l < ranks[r]->lives.count; l++) {
            const struct ntk_rank_life *life = ntk_vec_at(&ranks[r]->lives, l);
            uint32_t one[3] = { life->instance, (uint32_t)r, (uint32_t)l };

            ret = life->instance != UINT32_MAX && ntk_vec_push(&sorted, one) < 0 ? -ENOMEM : ret;
        }
    }
    ntk_vec_sort(&sorted, compare_members);
    if (ret == 0 && count > 0 && !ntk_vec_add_many(&match->instances, count)) {
        ret = -ENOMEM;
    }
    for (size_t i = 0; i < sorted.count && ret == 0; i++) {
        const uint32_t *one = ntk_vec_at(&sorted, i);
        struct ntk_joined_member member = { one[1], one[2] };
        struct ntk_joined_instance *instance = ntk_vec_at(&match->instances, one[0]);

        instance->first = instance->count ? instance->first : i;
        instance->count++;
        ret = ntk_vec_push(&match->members, &member);
    }
    ntk_vec_fini(&sorted);
    return ret;
}

int ntk_joined_match_make(struct ntk_rank_store *store, struct ntk_rank_ops *const *ranks,
                          struct ntk_joined *joined, struct ntk_joined_match *out_match)
{
    struct ntk_vec entries = NTK_VEC_INIT(struct entry);
    uint32_t count = 0;

    ntk_vec_init(&out_match->members, sizeof(struct ntk_joined_member));
    ntk_vec_init(&out_match->instances, sizeof(struct ntk_joined_instance));
    int ret = entries_make(ranks, joined->rank_count, &entries);
    if (ret == 0) {
        match_by_count(ranks, &entries, &count);
        ret = clocks_join(store, ranks, joined);
    }
    if (ret == 0) {
        match_by_time(ranks, joined, &entries);
        ret = members_make(ranks, joined->rank_count, count, out_match);
    }
    ntk_vec_fini(&entries);
    return ret;
}

void ntk_joined_match_fini(struct ntk_joined_match *match)
{
    ntk_vec_fini(&match->members);
    ntk_vec_fini(&match->instances);
}
