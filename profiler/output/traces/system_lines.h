/* SPDX-License-Identifier: MIT */
/*
 * system_lines - selects the process and line of a trace where a host or core event is drawn.
 *
 * Two lists of fields determine which events share a process, and which share a line in it. Host
 * activity (neuron_rt) and core activity (neuron_hw) never share a line. Spans of one line nest; a
 * span that overlaps another without nesting is drawn in an additional line.
 *
 * Owner:   the caller provides the storage; ntk_system_lines_init() and _fini() manage the content.
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_SYSTEM_LINES_H
#define NTK_PROFILER_OUTPUT_TRACES_SYSTEM_LINES_H

#include "profiler/output/tables/rows_system.h"
#include "shared/base/err.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_SYSTEM_FIELDS_MAX 8
#define NTK_SYSTEM_PRIMARY_DEFAULT "instance_id,process_id"
#define NTK_SYSTEM_SECONDARY_DEFAULT "worker_gid,lnc_idx,thread_id"

struct ntk_system_grouping {
    size_t primary_count, secondary_count;
    unsigned char primary[NTK_SYSTEM_FIELDS_MAX], secondary[NTK_SYSTEM_FIELDS_MAX];
};

/* Sets the grouping from comma-separated lists; NULL for the default. -EINVAL with a message for an
 * unknown field. */
int ntk_system_grouping_set(struct ntk_system_grouping *grouping, const char *primary,
                            const char *secondary, struct ntk_err *err);

/* A line. The owner sets its ids, which are initially 0. */
struct ntk_system_lane {
    uint64_t id;
    struct ntk_vec ends_ns; /* elements are int64_t: ends of open spans, innermost last */
};

struct ntk_system_line {
    char name[160];
    size_t process;
    struct ntk_vec lanes; /* elements are struct ntk_system_lane */
};

struct ntk_system_process {
    char name[160];
    uint64_t id;
    int64_t pid;
};

struct ntk_system_lines {
    struct ntk_system_grouping grouping;
    struct ntk_vec processes, lines;
    struct ntk_map process_indices, line_indices; /* maps a name to index + 1 */
};

void ntk_system_lines_init(struct ntk_system_lines *lines,
                           const struct ntk_system_grouping *grouping);
void ntk_system_lines_fini(struct ntk_system_lines *lines);

struct ntk_system_place { /* valid until the next call */
    struct ntk_system_process *process;
    struct ntk_system_line *line;
    struct ntk_system_lane *lane, *first; /* first: the line itself */
};

/* Returns 0 or -ENOMEM. Rows of a line must be in order of start. */
int ntk_system_lines_take(struct ntk_system_lines *lines, const struct ntk_system_event_row *row,
                          struct ntk_system_place *out_place);

#endif
