/* SPDX-License-Identifier: MIT */
/*
 * layer_summary - the running time of each layer of each core, and how busy each engine was in it.
 *
 * The NEFF names layers; an additional row has all instructions of a core. Pure: trace to result.
 * -ENOMEM is the only failure.
 *
 * Owner:   the result is the caller's storage; ntk_layer_summary_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_LAYER_SUMMARY_H
#define NTK_PROFILER_ANALYSIS_LAYER_SUMMARY_H

#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/program.h"
#include "profiler/trace/trace.h"

struct ntk_layer {
    size_t core_index;
    const char *name; /* borrowed; NULL: the whole core */
    int64_t start_ps, end_ps;
    struct ntk_engine_activity engines[NTK_NTFF_ENGINE_COUNT];
    bool has_flops;
    uint64_t flops, transpose_flops;
    uint64_t peak_flops,
        useful_peak_flops; /* as counted for shares of the peak: all, without transposes */
    /* From its start to the end of its last instruction on the vector engine (whole core) or on the
     * tensor engine (layer): the divisor of flops in the original tool. 0: none. */
    int64_t flops_ps;
};

struct ntk_layer_summary { /* by core, the whole core first, then by start */
    size_t layer_count;
    struct ntk_layer *layers;
};

/* 0 or -ENOMEM; freed with _fini. program belongs to the trace. */
int ntk_analysis_layer_summary(const struct ntk_trace *trace, const struct ntk_program *program,
                               struct ntk_layer_summary *out_summary);
#define NTK_LAYER_UNKNOWN "Unknown"

/* The layer of an instruction: its name in the NEFF; in a vendor's program the framework's name of
 * its operation, or "Unknown". NULL: no layer, or no NEFF. Borrowed from program. */
const char *ntk_layer_name(const struct ntk_program *program, const struct ntk_trace_core *core,
                           const struct ntk_slot_fact *fact);
void ntk_layer_summary_fini(struct ntk_layer_summary *summary);

#endif
