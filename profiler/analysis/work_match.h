/* SPDX-License-Identifier: MIT */
/*
 * work_match - which layers and regions of one program became which of another.
 *
 * Time of instructions is matched word by word (work_units.h), from the closest form to the widest:
 * what has one form on both sides is matched in its order of time, the first tenth of one side with
 * the first tenth of the other, so that it does not matter how much longer a side takes. What is
 * left has the next form, and in the end none: work that is gone, or new.
 *
 * A link from a unit before to a unit after stands for at least NTK_WORK_LINK_RATIO of the time of
 * either one. kept: neither has another link; fused: several became one; split: one became several;
 * mixed: both. A unit without a link is gone, or new.
 *
 * Pure; 0 or -ENOMEM. Owner: caller's storage; _fini frees. Indices are those of the units.
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
    NTK_WORK_GONE, /* after is none */
    NTK_WORK_NEW,  /* before is none */
    NTK_WORK_RELATION_COUNT
};

struct ntk_work_link {
    enum ntk_work_relation relation;
    uint32_t before, after;
    double before_ratio; /* of the time of the unit before: what is in the unit after */
    double after_ratio;  /* of the time of the unit after: what comes from the unit before */
};

struct ntk_work_match { /* the longest units before first, by their longest part; new ones last */
    size_t link_count;
    struct ntk_work_link *links;
};

int ntk_analysis_work_match(const struct ntk_work_units *before, const struct ntk_work_units *after,
                            struct ntk_work_match *out_match);
void ntk_work_match_fini(struct ntk_work_match *match);
/* "kept", "fused" ... */
const char *ntk_work_relation_name(enum ntk_work_relation relation);
/* Whether the match shows what a comparison by names does not: a unit that became others, or one
 * with another name. */
bool ntk_work_match_tells(const struct ntk_work_units *before, const struct ntk_work_units *after,
                          const struct ntk_work_match *match);

#endif
