/* SPDX-License-Identifier: MIT */
/*
 * tensor_traffic - the tensors read and written in device memory: how often, and how much compared
 * with their size.
 *
 * Requires the NEFF: its descriptors and variables name them. -ENODATA if data moved without a
 * known tensor: without a NEFF, or if a vendor's NEFF does not record it. Pure: trace to result;
 * -ENOMEM.
 *
 * Owner:   the result is the caller's storage; ntk_tensor_traffic_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_TENSOR_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_TENSOR_TRAFFIC_H

#include "profiler/analysis/line_costs.h"
#include "profiler/analysis/program.h"

struct ntk_tensor_row {
    const char *name; /* the NEFF's */
    const char *kind; /* "input", "output", "weight", "scratch" */
    uint64_t size_bytes;
    uint64_t read_bytes, write_bytes;
    uint64_t read_count, write_count; /* transfers */
    uint64_t load_bytes, load_count;  /* of those read: to memory on the core */
    bool is_spill;                    /* a spill queue moves it */
    bool has_reload;
    double reload_ratio;           /* read_bytes / size_bytes: above 1 if loaded more than once */
    struct ntk_line_costs readers; /* bytes read by lines */
};

struct ntk_tensor_traffic {
    size_t row_count;
    struct ntk_tensor_row *rows; /* by descending bytes */
};

/* The kind of a tensor, as in the rows. */
const char *ntk_tensor_kind_name(enum ntk_neff_var_type type);
int ntk_analysis_tensor_traffic(const struct ntk_program *program,
                                struct ntk_tensor_traffic *out_traffic);
void ntk_tensor_traffic_fini(struct ntk_tensor_traffic *traffic);

#endif
