/* SPDX-License-Identifier: MIT */
/*
 * summary - computes all metrics of one execution, a few hundred numbers.
 *
 * A metric that the capture (and the NEFF, if given) does not contain is absent; no metric is
 * estimated. Percent in a name means a fraction from 0 to 1, as in the vendor's tool.
 *
 * Owner:   the caller provides the storage; ntk_summary_fini() frees the content. Texts are copies.
 * Threads: one at a time per struct.
 */
#ifndef NTK_PROFILER_ANALYSIS_SUMMARY_H
#define NTK_PROFILER_ANALYSIS_SUMMARY_H

#include "profiler/analysis/program.h"
#include "profiler/trace/trace.h"

enum ntk_summary_id {
#define NTK_SUMMARY(name, group, kind, meaning) NTK_SUMMARY_##name,
#include "profiler/analysis/summary.def"
    NTK_SUMMARY_COUNT
};

enum ntk_summary_kind {
    NTK_SUMMARY_KIND_COUNT,
    NTK_SUMMARY_KIND_BYTES,
    NTK_SUMMARY_KIND_SECONDS,
    NTK_SUMMARY_KIND_FRACTION,
    NTK_SUMMARY_KIND_NUMBER,
    NTK_SUMMARY_KIND_TEXT,
};

/* Groups in the order of the vendor's tool. */
enum ntk_summary_group {
    NTK_SUMMARY_GROUP_OVERALL,
    NTK_SUMMARY_GROUP_DATA,
    NTK_SUMMARY_GROUP_SOFTWARE_DMA,
    NTK_SUMMARY_GROUP_HARDWARE_DMA,
    NTK_SUMMARY_GROUP_TENSOR,
    NTK_SUMMARY_GROUP_VECTOR,
    NTK_SUMMARY_GROUP_SCALAR,
    NTK_SUMMARY_GROUP_SYNC,
    NTK_SUMMARY_GROUP_GPSIMD,
    NTK_SUMMARY_GROUP_CC,
    NTK_SUMMARY_GROUP_SYSTEM,
    NTK_SUMMARY_GROUP_THROTTLING_NC0,
    NTK_SUMMARY_GROUP_THROTTLING_NC1,
    NTK_SUMMARY_GROUP_COUNT
};

struct ntk_summary_value {
    char name[72];
    enum ntk_summary_group group;
    enum ntk_summary_kind kind;
    bool is_present;
    uint64_t count; /* for COUNT and BYTES */
    double number;  /* for SECONDS, FRACTION and NUMBER */
    char text[96];
};

struct ntk_summary {
    size_t value_count; /* metrics of the table, then of throttling */
    struct ntk_summary_value *values;
    uint64_t uncounted; /* number of runs of instructions with unknown on-chip bytes */
};

/* Returns 0, -ENOMEM or -errno of a long list. */
int ntk_analysis_summary(const struct ntk_trace *trace, struct ntk_summary *out_summary);
/* Like ntk_analysis_summary(), for an existing program. */
int ntk_analysis_summary_of(const struct ntk_program *program, struct ntk_summary *out_summary);
void ntk_summary_fini(struct ntk_summary *summary);
/* Returns a name such as "overall_stats". */
const char *ntk_summary_group_name(enum ntk_summary_group group);

#endif
