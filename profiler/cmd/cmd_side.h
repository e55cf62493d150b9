/* SPDX-License-Identifier: MIT */
/*
 * cmd_side - repeated executions of one program, as measures: one side of a comparison.
 *
 * Owner:   caller's storage, zeroed; ntk_side_fini() frees.
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
    struct ntk_work_units units; /* of the first execution, where they are wanted */
    bool has_failed;             /* its message was printed */
    /* For the capture that tells most, as far as it does. */
    unsigned uuid_known_bytes;
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
    enum ntk_metrics_version metrics;
    char instance_type[64]; /* "": none of them tells */
};

struct ntk_side_wanted {
    char *const *paths; /* captures, or folders with captures (*.ntff), of one program */
    size_t path_count;
    const char *neff; /* as in ntk_profile_open() */
    bool wants_units;
};

/* All sides. Without a NEFF where only some of the executions have one next to them: their names
 * would differ from the others'. 0, or 1 with the message printed. */
int ntk_sides_open(struct ntk_side *sides, const struct ntk_side_wanted *wanted, size_t count);
void ntk_side_fini(struct ntk_side *side);

#endif
