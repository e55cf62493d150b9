/* SPDX-License-Identifier: MIT */
/*
 * regions - finds repeated parts of an execution: loops, iterations, layers, collectives; with the
 * time of each run, and the outliers.
 *
 * A region is a repeated block; an instance is one run of it, from the start of its first
 * instruction to the end of its last. Kinds:
 *
 *   loop        an engine ran the same slots again: it jumped back
 *   kernel      statements of one program text, unrolled by the compiler: one
 *               Penguin instruction, or several that alternate, with their loop variables
 *   iteration   other instructions with repeating operations and names, ignoring numbers in names
 *   layer       names of a NEFF up to a '/', ignoring numbers, on all engines of a core
 *   collective  instructions named after a collective operation
 *
 * The first three are found engine by engine with fold.h, and nest. Synchronisation, preparation,
 * and the runtime's additions around a program do not count as content. Without repetition the list
 * is empty.
 *
 * Outliers are instances that took more than the third quartile plus 1.5 interquartile ranges
 * (Tukey, Exploratory Data Analysis, 1977), and more than NTK_REGION_OUTLIER_RATIO medians.
 *
 * Time is linear in instructions, and in instances for quantiles; memory is used by fold.h and one
 * long list of instances. The same trace has always the same regions.
 *
 * Errors:  -errno as for ntk_long_list_err_set().
 * Owner:   the caller provides the storage; _fini frees the content, and accepts a zeroed struct.
 *          The program is borrowed.
 */
#ifndef NTK_PROFILER_ANALYSIS_REGIONS_H
#define NTK_PROFILER_ANALYSIS_REGIONS_H

#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

#define NTK_REGION_NONE UINT32_MAX
#define NTK_REGION_OUTLIERS 8 /* maximum number per region, by descending time */
#define NTK_REGION_OUTLIER_RATIO 1.1
/* minimum number of instances; with fewer, none is an outlier */
#define NTK_REGION_OUTLIERS_FROM 4
#define NTK_REGIONS_MAX ((size_t)1 << 15)
/* Maximum number of entries into a layer, over all layers of a core; with more, each layer counts
 * as one instance. */
#define NTK_REGION_LAYER_RUNS_MAX ((size_t)1 << 18)

enum ntk_region_kind {
    NTK_REGION_LOOP,
    NTK_REGION_KERNEL,
    NTK_REGION_ITERATION,
    NTK_REGION_LAYER,
    NTK_REGION_COLLECTIVE,
    NTK_REGION_KIND_COUNT
};

struct ntk_region_instance {
    int64_t start_ps, end_ps;
    uint32_t region;
    uint32_t instruction; /* first instruction, as index in the list of its core */
};

struct ntk_region_outlier {
    uint64_t index; /* index in the instances of the region, in order of time */
    int64_t start_ps, end_ps;
};

struct ntk_region {
    size_t core_index;
    uint8_t engine; /* NTK_NTFF_ENGINE_COUNT for the whole core */
    enum ntk_region_kind kind;
    char *name; /* such as "LDWEIGHTS MATMUL", "$50[i_kv]" or "layer#" */
    /* Identifies the region in another capture: core, engine, kind and name without numbers, unique
     * here. */
    char *key;
    char *shown;     /* for users: the key with the full name */
    uint32_t parent; /* first region that contains it, or NTK_REGION_NONE */
    uint32_t depth;
    uint64_t count;             /* number of instances */
    uint64_t instruction_count; /* number of instructions in all instances */
    int64_t total_ps, median_ps, worst_ps;
    int64_t covered_ps;       /* covered time of the execution; overlaps are counted once */
    uint64_t worst;           /* index of the first instance with the maximum time */
    int64_t start_ps, end_ps; /* range of all instances */
    size_t first_instance;    /* the other instances follow, in order of time */
    uint64_t outlier_count;   /* number of all outliers, including those that are not stored */
    uint32_t outliers_kept;
    struct ntk_region_outlier outliers[NTK_REGION_OUTLIERS];
};

struct ntk_regions { /* by descending total time, then start */
    size_t region_count;
    struct ntk_region *regions;
    struct ntk_long_list instances; /* elements are struct ntk_region_instance, by region */
    uint64_t omitted;               /* number of repeats beyond the limit */
};

int ntk_analysis_regions(const struct ntk_program *program, struct ntk_regions *out_regions);
void ntk_regions_fini(struct ntk_regions *regions);

/* Returns a name such as "loop" or "kernel". */
const char *ntk_region_kind_name(enum ntk_region_kind kind);
/* Returns a name such as "tensor" or "all". */
const char *ntk_region_engine_name(const struct ntk_region *region);
/* Returns the share of the execution that the region covers, 0 to 1; negative if the length is
 * unknown. */
double ntk_region_share(const struct ntk_trace *trace, const struct ntk_region *region);

static inline const struct ntk_region_instance *
ntk_region_instances(const struct ntk_regions *regions, const struct ntk_region *region)
{
    return (const struct ntk_region_instance *)regions->instances.items + region->first_instance;
}

#endif
