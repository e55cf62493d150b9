/* SPDX-License-Identifier: MIT */
/*
 * measures - describes one execution with named numbers, by which two executions can be compared.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _fini frees the content. Names are
 *          copies, so the trace may be freed.
 * Threads: one at a time per set.
 */
#ifndef NTK_PROFILER_ANALYSIS_MEASURES_H
#define NTK_PROFILER_ANALYSIS_MEASURES_H

#include "profiler/analysis/cost_table.h"
#include "shared/base/progress.h"
#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/work_units.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

enum ntk_measure_unit {
    NTK_MEASURE_UNIT_TIME,  /* in ps */
    NTK_MEASURE_UNIT_BYTES, /* bytes of all transfers, or the peak of each partition */
    NTK_MEASURE_UNIT_SHARE, /* 0 to 1 of the maximum: more is better */
};

enum ntk_measure_kind {
#define NTK_MEASURE(symbol, key, unit, title) NTK_MEASURE_##symbol,
#include "profiler/analysis/measures.def"
    NTK_MEASURE_KIND_COUNT
};

struct ntk_measure {
    enum ntk_measure_kind kind;
    char *name;   /* same name in every capture of the program */
    char *shown;  /* for users; NULL for the name */
    double value; /* in the unit of its kind */
    bool is_peak; /* the maximum over all executions, not their sum */
};

struct ntk_measures {
    struct ntk_vec items;                           /* elements are struct ntk_measure */
    struct ntk_map indices[NTK_MEASURE_KIND_COUNT]; /* maps a name to index + 1 */
    unsigned unknown; /* bit 1 << kind is set if the capture lacks the records of this kind */
    char *source;     /* "run.ntff" or "run.ntff, execution 3"; NULL if unknown */
};

#define NTK_MEASURE_TOTAL_NAME "execution"

/* Returns true if the capture has the records of this kind. */
static inline bool ntk_measures_have(const struct ntk_measures *measures,
                                     enum ntk_measure_kind kind)
{
    return !(measures->unknown & 1u << kind);
}

/* Adds to the measure of that kind and name. Returns 0 or -ENOMEM. */
int ntk_measures_add(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                     double value);
/* Same, for a maximum over all executions. */
int ntk_measures_add_peak(struct ntk_measures *measures, enum ntk_measure_kind kind,
                          const char *name, double value);
/* Sets the name for users, which may differ between captures. Returns 0 or -ENOMEM. */
int ntk_measures_show(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                      const char *shown);
static inline const char *ntk_measure_shown(const struct ntk_measure *measure)
{
    return measure->shown ? measure->shown : measure->name;
}
/* Returns NULL if there is none. */
const struct ntk_measure *ntk_measures_find(const struct ntk_measures *measures,
                                            enum ntk_measure_kind kind, const char *name);

/* Returns true if the capture does not record the value. Returns false if it does, or if the
 * execution does not have this measure, like the time of a queue that it does not use. */
bool ntk_measures_is_unknown(const struct ntk_measures *measures, enum ntk_measure_kind kind,
                             const char *name);

/* Computes the measures of one execution; for a capture with several, their means. path and
 * progress may be NULL; without a path, its measures are unknown. out_units must be zeroed, or
 * NULL; it stays zeroed if the regions are unknown. Returns 0 or -errno of a long list. */
int ntk_analysis_measures(const struct ntk_program *program, const struct ntk_critical_path *path,
                          const struct ntk_cost_table *costs, struct ntk_progress *progress,
                          struct ntk_measures *out_measures, struct ntk_work_units *out_units);
void ntk_measures_fini(struct ntk_measures *measures);

const char *ntk_measure_key(enum ntk_measure_kind kind);
const char *ntk_measure_title(enum ntk_measure_kind kind);
enum ntk_measure_unit ntk_measure_unit(enum ntk_measure_kind kind);

/* Returns true if every execution has measures of this kind, so that a missing measure is
 * unknown. */
static inline bool ntk_measure_is_always(enum ntk_measure_kind kind)
{
    return kind == NTK_MEASURE_TOTAL || kind == NTK_MEASURE_USE || kind == NTK_MEASURE_MEMORY;
}

static inline bool ntk_measure_is_time(enum ntk_measure_kind kind)
{
    return ntk_measure_unit(kind) == NTK_MEASURE_UNIT_TIME;
}

#endif
