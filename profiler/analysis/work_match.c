/* SPDX-License-Identifier: MIT */
/* work_match - matches items with one form in order; overlaps become links. */
#include "profiler/analysis/work_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

#define TIE 1e-9 /* tolerance for rounding of shares */

const char *ntk_work_relation_name(enum ntk_work_relation relation)
{
    static const char *const names[NTK_WORK_RELATION_COUNT] = { "kept",  "fused", "split",
                                                                "mixed", "gone",  "new" };

    return names[relation];
}

struct entry { /* an item in the order of one form */
    const char *form;
    const struct ntk_work_item *item;
};

struct side {
    const struct ntk_work_units *units;
    bool *is_matched;      /* indexed by item */
    struct entry *entries; /* sorted by the form being matched, then by time */
    size_t entry_count;
};

struct matching {
    struct side sides[2];
    struct ntk_map numbers; /* maps before << 32 | after to 1 + index */
    struct ntk_vec links;   /* elements are struct ntk_work_link; ratios are still times */
};

NTK_ORDER(compare_entries, struct entry, NTK_TEXT(form) NTK_UP(item->first_ps) NTK_UP(item->unit));

static void list_form(struct side *side, unsigned form)
{
    side->entry_count = 0;
    for (size_t i = 0; i < side->units->items.count; i++) {
        const struct ntk_work_item *item = ntk_vec_at(&side->units->items, i);
        const struct ntk_work_word *word = ntk_vec_at(&side->units->words, item->word);
        if (!side->is_matched[i] && word->forms[form]) {
            side->entries[side->entry_count++] = (struct entry){ word->forms[form], item };
        }
    }
    qsort(side->entries, side->entry_count, sizeof *side->entries, compare_entries);
}

static int link_add(struct matching *m, const struct ntk_work_item *before,
                    const struct ntk_work_item *after, double before_ps, double after_ps)
{
    uint64_t key = (uint64_t)before->unit << 32 | after->unit;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&m->numbers, key);

    if (!number) {
        struct ntk_work_link link = { .before = before->unit, .after = after->unit };
        if (ntk_vec_push(&m->links, &link) < 0) {
            return -ENOMEM;
        }
        number = m->links.count;
        if (ntk_map_put_number(&m->numbers, key, (void *)number) < 0) {
            return -ENOMEM;
        }
    }
    struct ntk_work_link *link = ntk_vec_at(&m->links, number - 1);
    link->before_ratio += before_ps;
    link->after_ratio += after_ps;
    return 0;
}

static double time_of(const struct entry *entries, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)entries[i].item->time_ps;
    }
    return sum;
}

/* Returns the share of an item, because both sides are scaled to 0..1. Without times all shares are
 * equal. */
static double share_of(const struct entry *entry, double whole, size_t count)
{
    return whole > 0 ? (double)entry->item->time_ps / whole : 1.0 / (double)count;
}

static int lay(struct matching *m, struct entry *before, size_t before_count, struct entry *after,
               size_t after_count)
{
    double before_ps = time_of(before, before_count);
    double after_ps = time_of(after, after_count);
    double before_end = share_of(&before[0], before_ps, before_count);
    double after_end = share_of(&after[0], after_ps, after_count);
    double at = 0;
    size_t b = 0;
    size_t a = 0;
    int ret = 0;

    while (ret == 0) {
        double end = before_end < after_end ? before_end : after_end;
        bool ends_before = before_end <= end + TIE;
        bool ends_after = after_end <= end + TIE;
        if (end > at + TIE) {
            ret = link_add(m, before[b].item, after[a].item, (end - at) * before_ps,
                           (end - at) * after_ps);
            at = end;
        }
        if ((ends_before && b + 1 == before_count) || (ends_after && a + 1 == after_count)) {
            return ret;
        }
        b += ends_before;
        a += ends_after;
        before_end += ends_before ? share_of(&before[b], before_ps, before_count) : 0;
        after_end += ends_after ? share_of(&after[a], after_ps, after_count) : 0;
    }
    return ret;
}

static void mark(struct side *side, const struct entry *entries, size_t count)
{
    const struct ntk_work_item *first = side->units->items.items;

    for (size_t i = 0; i < count; i++) {
        side->is_matched[entries[i].item - first] = true;
    }
}

static size_t run_of(const struct side *side, size_t at)
{
    size_t end = at;

    while (end < side->entry_count &&
           strcmp(side->entries[end].form, side->entries[at].form) == 0) {
        end++;
    }
    return end - at;
}

static int match_form(struct matching *m, unsigned form)
{
    struct side *before = &m->sides[0];
    struct side *after = &m->sides[1];
    size_t b = 0;
    size_t a = 0;
    int ret = 0;

    list_form(before, form);
    list_form(after, form);
    while (b < before->entry_count && a < after->entry_count && ret == 0) {
        int order = strcmp(before->entries[b].form, after->entries[a].form);
        size_t b_count = run_of(before, b);
        size_t a_count = run_of(after, a);
        if (order == 0) {
            ret = lay(m, &before->entries[b], b_count, &after->entries[a], a_count);
            mark(before, &before->entries[b], b_count);
            mark(after, &after->entries[a], a_count);
        }
        b += order <= 0 ? b_count : 0;
        a += order >= 0 ? a_count : 0;
    }
    return ret;
}

static int64_t unit_ps(const struct ntk_work_units *units, uint32_t unit)
{
    return ((const struct ntk_work_unit *)ntk_vec_at(&units->units, unit))->time_ps;
}

/* Converts times to ratios and drops weak links. */
static void strengthen(struct matching *m)
{
    struct ntk_work_link *links = m->links.items;
    size_t kept = 0;

    for (size_t i = 0; i < m->links.count; i++) {
        struct ntk_work_link link = links[i];
        double before_ps = (double)unit_ps(m->sides[0].units, link.before);
        double after_ps = (double)unit_ps(m->sides[1].units, link.after);
        link.before_ratio = before_ps > 0 ? link.before_ratio / before_ps : 1;
        link.after_ratio = after_ps > 0 ? link.after_ratio / after_ps : 1;
        if (link.before_ratio >= NTK_WORK_LINK_RATIO || link.after_ratio >= NTK_WORK_LINK_RATIO) {
            links[kept++] = link;
        }
    }
    m->links.count = kept;
}

/* Sets relations from the links of each unit; adds units without links. */
static int relate(struct matching *m)
{
    size_t counts[2] = { m->sides[0].units->units.count, m->sides[1].units->units.count };
    uint32_t *uses[2] = { calloc(counts[0] + 1, sizeof(uint32_t)),
                          calloc(counts[1] + 1, sizeof(uint32_t)) };
    int ret = uses[0] && uses[1] ? 0 : -ENOMEM;

    if (ret == 0) {
        ntk_vec_each(const struct ntk_work_link, link, &m->links) {
            uses[0][link->before]++;
            uses[1][link->after]++;
        }
        ntk_vec_each(struct ntk_work_link, link, &m->links) {
            bool is_split = uses[0][link->before] > 1;
            bool is_fused = uses[1][link->after] > 1;
            link->relation = is_split && is_fused ? NTK_WORK_MIXED
                             : is_split           ? NTK_WORK_SPLIT
                             : is_fused           ? NTK_WORK_FUSED
                                                  : NTK_WORK_KEPT;
        }
    }
    for (unsigned s = 0; s < 2; s++) {
        for (uint32_t u = 0; u < counts[s] && ret == 0; u++) {
            struct ntk_work_link alone = { .relation = s ? NTK_WORK_NEW : NTK_WORK_GONE,
                                           .before = s ? NTK_WORK_NO_UNIT : u,
                                           .after = s ? u : NTK_WORK_NO_UNIT };
            ret = uses[s][u] ? 0 : ntk_vec_push(&m->links, &alone);
        }
    }
    free(uses[0]);
    free(uses[1]);
    return ret;
}

struct order { /* a link with its sort key */
    struct ntk_work_link link;
    int64_t before_ps, after_ps;
};

NTK_ORDER(compare_orders, struct order,
          NTK_DOWN(before_ps) NTK_UP(link.before) NTK_DOWN(link.before_ratio) NTK_DOWN(after_ps)
              NTK_UP(link.after));

static int take_sorted(struct matching *m, struct ntk_work_match *out)
{
    size_t count = m->links.count;
    struct order *orders = calloc(count + 1, sizeof *orders);

    out->links = calloc(count + 1, sizeof *out->links);
    if (!orders || !out->links) {
        free(orders);
        ntk_work_match_fini(out);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_work_link *link = ntk_vec_at(&m->links, i);
        orders[i] = (struct order){ *link, -1, -1 }; /* none, so sorted last */
        if (link->before != NTK_WORK_NO_UNIT) {
            orders[i].before_ps = unit_ps(m->sides[0].units, link->before);
        }
        if (link->after != NTK_WORK_NO_UNIT) {
            orders[i].after_ps = unit_ps(m->sides[1].units, link->after);
        }
    }
    qsort(orders, count, sizeof *orders, compare_orders);
    for (size_t i = 0; i < count; i++) {
        out->links[i] = orders[i].link;
    }
    out->link_count = count;
    free(orders);
    return 0;
}

int ntk_analysis_work_match(const struct ntk_work_units *before, const struct ntk_work_units *after,
                            struct ntk_work_match *out_match)
{
    struct matching m = { .sides = { { .units = before }, { .units = after } },
                          .links = NTK_VEC_INIT(struct ntk_work_link) };
    int ret = 0;

    *out_match = (struct ntk_work_match){ 0 };
    for (unsigned s = 0; s < 2; s++) {
        size_t count = m.sides[s].units->items.count;
        m.sides[s].is_matched = calloc(count + 1, sizeof *m.sides[s].is_matched);
        m.sides[s].entries = calloc(count + 1, sizeof *m.sides[s].entries);
        ret = m.sides[s].is_matched && m.sides[s].entries ? ret : -ENOMEM;
    }
    for (unsigned form = 0; form < NTK_WORK_FORMS && ret == 0; form++) {
        ret = match_form(&m, form);
    }
    if (ret == 0) {
        strengthen(&m);
        ret = relate(&m);
    }
    ret = ret ? ret : take_sorted(&m, out_match);
    for (unsigned s = 0; s < 2; s++) {
        free(m.sides[s].is_matched);
        free(m.sides[s].entries);
    }
    ntk_map_fini(&m.numbers);
    ntk_vec_fini(&m.links);
    return ret;
}

void ntk_work_match_fini(struct ntk_work_match *match)
{
    free(match->links);
    *match = (struct ntk_work_match){ 0 };
}

bool ntk_work_match_tells(const struct ntk_work_units *before, const struct ntk_work_units *after,
                          const struct ntk_work_match *match)
{
    for (size_t i = 0; i < match->link_count; i++) {
        const struct ntk_work_link *link = &match->links[i];
        if (link->relation == NTK_WORK_GONE || link->relation == NTK_WORK_NEW) {
            continue;
        }
        if (link->relation != NTK_WORK_KEPT) {
            return true;
        }
        const struct ntk_work_unit *from = ntk_vec_at(&before->units, link->before);
        const struct ntk_work_unit *to = ntk_vec_at(&after->units, link->after);
        if (strcmp(from->key, to->key) != 0) {
            return true;
        }
    }
    return false;
}
