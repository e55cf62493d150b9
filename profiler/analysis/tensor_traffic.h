/* SPDX-License-Identifier: MIT */
/*
 * tensor_traffic - lists the tensors read and written in device memory: the number of transfers,
 * and their bytes compared with the size of the tensor.
 *
 * It requires the NEFF, because its descriptors and variables have the names. Errors: -ENODATA if
 * data moved without a known tensor: without a NEFF, or if a vendor's NEFF does not record it;
 * -ENOMEM.
 *
 * Owner:   the caller provides the storage of the result; ntk_tensor_traffic_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_TENSOR_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_TENSOR_TRAFFIC_H

#include "profiler/analysis/line_costs.h"
#include "profiler/analysis/program.h"

struct ntk_tensor_row {
    const char *name; /* borrowed from the NEFF */
    const char *kind; /* "input", "output", "weight" or "scratch" */
    uint64_t size_bytes;
    uint64_t read_bytes, write_bytes;
    uint64_t read_count, write_count; /* number of transfers */
    uint64_t load_bytes, load_count;  /* reads into memory on the core */
    bool is_spill;                    /* moved by a spill queue */
    bool has_reload;
    double reload_ratio;           /* read_bytes / size_bytes: above 1 if loaded more than once */
    struct ntk_line_costs readers; /* bytes read, by line */
};

struct ntk_tensor_traffic {
    size_t row_count;
    struct ntk_tensor_row *rows; /* sorted by descending bytes */
};

/* Returns the kind of a tensor, as in the rows. */
const char *ntk_tensor_kind_name(enum ntk_neff_var_type type);
int ntk_analysis_tensor_traffic(const struct ntk_program *program,
                                struct ntk_tensor_traffic *out_traffic);
void ntk_tensor_traffic_fini(struct ntk_tensor_traffic *traffic);

#endif
