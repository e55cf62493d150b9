/* SPDX-License-Identifier: MIT */
/*
 * work_match - maps layers and regions of one program to layers and regions of another.
 *
 * The time of instructions is matched word by word (work_units.h), from the closest form to the
 * widest: work with the same form on both sides is matched in order of time, relative to the length
 * of each side. The next form is used for unmatched work; finally it counts as gone or new.
 *
 * A link between an old and a new unit covers at least NTK_WORK_LINK_RATIO of the time of either
 * one. kept: neither has another link; fused: several became one; split: one became several; mixed:
 * both. A unit without a link is gone, or new.
 *
 * Returns 0 or -ENOMEM. Owner: the caller provides the storage; _fini frees the content. Indices
 * refer to the units.
 */
#ifndef NTK_PROFILER_ANALYSIS_WORK_MATCH_H
#define NTK_PROFILER_ANALYSIS_WORK_MATCH_H

#include "profiler/analysis/work_units.h"

#define NTK_WORK_LINK_RATIO 0.1
#define NTK_WORK_NO_UNIT UINT32_MAX

enum ntk_work_relation {
    NTK_WORK_KEPT,
    NTK_WORK_FUSED,
    NTK_WORK_SPLIT,
    NTK_WORK_MIXED,
    NTK_WORK_GONE, /* no new unit corresponds */
    NTK_WORK_NEW,  /* no old unit corresponds */
    NTK_WORK_RELATION_COUNT
};

struct ntk_work_link {
    enum ntk_work_relation relation;
    uint32_t before, after;
    double before_ratio; /* share of the old unit's time that is in the new unit */
    double after_ratio;  /* share of the new unit's time that comes from the old unit */
};

struct ntk_work_match { /* old units by descending longest part, then new units */
    size_t link_count;
    struct ntk_work_link *links;
};

int ntk_analysis_work_match(const struct ntk_work_units *before, const struct ntk_work_units *after,
                            struct ntk_work_match *out_match);
void ntk_work_match_fini(struct ntk_work_match *match);
/* Returns a name such as "kept" or "fused". */
const char *ntk_work_relation_name(enum ntk_work_relation relation);
/* Returns true if the match adds to a comparison by names: a unit that became others or changed its
 * name. */
bool ntk_work_match_tells(const struct ntk_work_units *before, const struct ntk_work_units *after,
                          const struct ntk_work_match *match);

#endif
