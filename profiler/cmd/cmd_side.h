/* SPDX-License-Identifier: MIT */
/*
 * cmd_side - collects measures of repeated executions of one program, for one side of a comparison.
 *
 * Owner:   the caller provides zeroed storage; ntk_side_fini() frees the content.
 */
#ifndef NTK_PROFILER_CMD_CMD_SIDE_H
#define NTK_PROFILER_CMD_CMD_SIDE_H

#include "profiler/output/answers/execution_measures.h"
#include "profiler/trace/trace.h"

struct ntk_side {
    struct ntk_execution_measures executions;
    bool is_incomplete; /* a file is incomplete */
    size_t neff_count;  /* number of captures with a NEFF */
    size_t capture_count;
    uint64_t error_count; /* number of errors that the device recorded in all captures */
    bool has_stopped;     /* one of these errors ended an execution */
    bool has_failed;      /* its message was printed */
    size_t lacking_count; /* captures that lack records */
    char lacks[256];      /* description of the records that the first of these captures lacks */
    bool hides_figures;   /* the lack makes figures unknown, not only approximate */
    /* Known bytes of the uuid, from the capture with the most. */
    unsigned uuid_known_bytes;
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
    enum ntk_metrics_version metrics;
    char instance_type[64]; /* "" if unknown */
};

struct ntk_side_wanted {
    char *const *paths; /* captures, or folders with captures (*.ntff), of one program */
    size_t path_count;
    const char *neff; /* same as in ntk_profile_open() */
    bool wants_units;
};

/* Opens all sides. If only some executions have a NEFF, none is used, because names would differ.
 * Returns 0, or 1 after printing a message. */
int ntk_sides_open(struct ntk_side *sides, const struct ntk_side_wanted *wanted, size_t count);
void ntk_side_fini(struct ntk_side *side);

#endif
