/* SPDX-License-Identifier: MIT */
/*
 * regions - what an execution does repeatedly: loops, iterations, layers, collectives; how long
 * each time, and which times were out of the ordinary.
 *
 * A region is a block that repeats, an instance is one run of it, from the start of its first
 * instruction to the end of its last. Kinds:
 *
 *   loop        an engine ran the same slots again: it jumped back
 *   kernel      statements of one program text, which the compiler unrolled: what it calls one
 *               Penguin instruction, or several that alternate, with their loop variables
 *   iteration   other instructions whose operations and names repeat, numbers in names left out
 *   layer       names of a NEFF up to a '/', numbers left out, on all engines of a core
 *   collective  instructions that are called after a collective operation
 *
 * The first three are found engine by engine with fold.h, and nest. What only synchronises or
 * prepares, and what the runtime put around a program, does not count as content. Without
 * repetition the list is empty.
 *
 * Outliers are instances that took more than the third quartile and 1.5 times the distance of the
 * quartiles (Tukey, Exploratory Data Analysis, 1977), and NTK_REGION_OUTLIER_RATIO medians.
 *
 * Time: linear in instructions, and in instances for quantiles; memory: that of fold.h and one long
 * list of instances. The same trace gives the same regions.
 *
 * Pure; -errno as for ntk_long_list_err_set(). Owner: caller's storage; _fini frees, also a zeroed
 * one. It borrows the program.
 */
#ifndef NTK_PROFILER_ANALYSIS_REGIONS_H
#define NTK_PROFILER_ANALYSIS_REGIONS_H

#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

#define NTK_REGION_NONE UINT32_MAX
#define NTK_REGION_OUTLIERS 8 /* that are kept of a region, the longest first */
#define NTK_REGION_OUTLIER_RATIO 1.1
#define NTK_REGION_OUTLIERS_FROM 4 /* instances: of fewer none is out of the ordinary */
#define NTK_REGIONS_MAX ((size_t)1 << 15)
/* Times that a layer was entered, of all layers of a core; with more, each counts as one. */
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
    uint32_t instruction; /* the first, in the list of its core */
};

struct ntk_region_outlier {
    uint64_t index; /* of the instances of the region, in order of time */
    int64_t start_ps, end_ps;
};

struct ntk_region {
    size_t core_index;
    uint8_t engine; /* NTK_NTFF_ENGINE_COUNT: all of the core */
    enum ntk_region_kind kind;
    char *name; /* "LDWEIGHTS MATMUL", "$50[i_kv]", "layer#" */
    /* The same in another capture: core, engine, kind and name without numbers, unique in this. */
    char *key;
    char *shown;     /* the key with the name as it is: for people */
    uint32_t parent; /* that it is in first; NTK_REGION_NONE */
    uint32_t depth;
    uint64_t count;             /* instances */
    uint64_t instruction_count; /* of all instances */
    int64_t total_ps, median_ps, worst_ps;
    int64_t covered_ps;       /* of the execution, once however many instances run at a time */
    uint64_t worst;           /* index of the first instance with this time */
    int64_t start_ps, end_ps; /* of all instances */
    size_t first_instance;    /* the others follow, in order of time */
    uint64_t outlier_count;   /* also those that are not kept */
    uint32_t outliers_kept;
    struct ntk_region_outlier outliers[NTK_REGION_OUTLIERS];
};

struct ntk_regions { /* the longest total first, of equal ones the earliest */
    size_t region_count;
    struct ntk_region *regions;
    struct ntk_long_list instances; /* struct ntk_region_instance, by region */
    uint64_t omitted;               /* repeats that were too many to keep apart */
};

int ntk_analysis_regions(const struct ntk_program *program, struct ntk_regions *out_regions);
void ntk_regions_fini(struct ntk_regions *regions);

/* "loop", "kernel" ... */
const char *ntk_region_kind_name(enum ntk_region_kind kind);
/* "tensor"; "all" */
const char *ntk_region_engine_name(const struct ntk_region *region);
/* What it covers of the execution, 0 to 1; negative: its length is unknown. */
double ntk_region_share(const struct ntk_trace *trace, const struct ntk_region *region);

static inline const struct ntk_region_instance *
ntk_region_instances(const struct ntk_regions *regions, const struct ntk_region *region)
{
    return (const struct ntk_region_instance *)regions->instances.items + region->first_instance;
}

#endif
