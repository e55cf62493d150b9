/* SPDX-License-Identifier: MIT */
/*
 * cmd_side - repeated executions of one program, as measures: one side of a comparison.
 *
 * Owner:   caller's storage, zeroed before _init; _fini frees.
 */
#ifndef NTK_PROFILER_CMD_CMD_SIDE_H
#define NTK_PROFILER_CMD_CMD_SIDE_H

#include "profiler/analysis/measures.h"
#include "profiler/analysis/work_units.h"
#include "profiler/trace/trace.h"

struct ntk_side {
    struct ntk_vec measures; /* struct ntk_measures, one for each execution */
    bool is_incomplete;      /* parts of a file are missing */
    size_t neff_count;       /* executions whose NEFF was named or found */
    bool has_units;
    struct ntk_work_units units; /* of the first execution, with wants_units */
    bool wants_units;            /* set after _init */
    /* For the capture that tells most, as far as it does. */
    unsigned uuid_known_bytes;
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
    enum ntk_metrics_version metrics;
    char instance_type[64]; /* "": none of them tells */
};

void ntk_side_init(struct ntk_side *side);
/* A capture, or a folder with captures (*.ntff), which all must be of the program of those before.
 * neff as in ntk_profile_open(). 0, or 1 with the message printed. */
int ntk_side_add(struct ntk_side *side, const char *path, const char *neff);
void ntk_side_fini(struct ntk_side *side);

/* Whether only some of all executions have a NEFF: their names would differ from the others'. */
static inline bool ntk_side_differs(const struct ntk_side *a, const struct ntk_side *b)
{
    size_t count = a->neff_count + (b ? b->neff_count : 0);

    return count > 0 && count < a->measures.count + (b ? b->measures.count : 0);
}

#endif
