/* SPDX-License-Identifier: MIT */
/*
 * layer_summary - computes the running time of each layer on each core, and the busy time of each
 * engine in it.
 *
 * Layer names come from the NEFF; an additional row has all instructions of a core. -ENOMEM is the
 * only error.
 *
 * Owner:   the caller provides the storage of the result; ntk_layer_summary_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_LAYER_SUMMARY_H
#define NTK_PROFILER_ANALYSIS_LAYER_SUMMARY_H

#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/program.h"
#include "profiler/trace/trace.h"

struct ntk_layer {
    size_t core_index;
    const char *name; /* borrowed; NULL for the whole core */
    int64_t start_ps, end_ps;
    struct ntk_engine_activity engines[NTK_NTFF_ENGINE_COUNT];
    bool has_flops;
    uint64_t flops, transpose_flops;
    uint64_t peak_flops,
        useful_peak_flops; /* as counted for shares of the peak: all, without transposes */
    /* Time from its start to the end of its last instruction on the vector engine (whole core) or
     * on the tensor engine (layer): the divisor of flops in the original tool. 0 if there is
     * none. */
    int64_t flops_ps;
};

struct ntk_layer_summary { /* rows by core, the whole core first, then by start */
    size_t layer_count;
    struct ntk_layer *layers;
};

/* Returns 0 or -ENOMEM; the result is freed with _fini. program belongs to the trace. */
int ntk_analysis_layer_summary(const struct ntk_trace *trace, const struct ntk_program *program,
                               struct ntk_layer_summary *out_summary);
#define NTK_LAYER_UNKNOWN "Unknown"

/* Returns the layer of an instruction: its name in the NEFF; in a vendor's program the framework's
 * name of its operation, or "Unknown". NULL without a layer or a NEFF. Borrowed from
 * program. */
const char *ntk_layer_name(const struct ntk_program *program, const struct ntk_trace_core *core,
                           const struct ntk_slot_fact *fact);
void ntk_layer_summary_fini(struct ntk_layer_summary *summary);

#endif
