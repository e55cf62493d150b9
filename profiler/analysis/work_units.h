/* SPDX-License-Identifier: MIT */
/*
 * work_units - describes the work of each layer or region of an execution in words that can be
 * compared with another program: shapes, types, and sources of data.
 *
 * The unit of an instruction is its layer if the NEFF has one, else the innermost region on its
 * engine, else the engine outside regions. Control instructions and instructions of the runtime
 * have none.
 *
 * A word has up to four forms, from the closest to the widest: for a matrix product the shape of
 * the stationary operand, its type and its sources; then without the type; then without the shape;
 * then without all properties. Sources are the operations that wrote an instruction's inputs.
 * Copies, casts, transposes and scratch tensors in device memory pass sources on, so a kernel that
 * stops writing this tensor keeps its sources. The forms of transfers have their tensor, then its
 * size, then its kind.
 *
 * Time:    is linear in instructions, times the depth of regions. The same trace always has the
 *          same units.
 * Owner:   the caller provides the storage, zeroed if empty; _fini frees the content. Texts are
 *          copies, independent of the program.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_WORK_UNITS_H
#define NTK_PROFILER_ANALYSIS_WORK_UNITS_H

#include "profiler/analysis/regions.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_WORK_FORMS 4
/* maximum; further layers and regions belong to the unit of their engine */
#define NTK_WORK_UNITS_MAX 4096

struct ntk_work_unit {
    char *name; /* name for users */
    char *key;  /* identifies it in another capture */
    bool is_layer;
    int64_t time_ps; /* time of its instructions, including overlaps */
};

struct ntk_work_item { /* all instructions of a unit with one word */
    uint32_t unit;
    uint32_t word;    /* index in words */
    int64_t time_ps;  /* sum of durations */
    int64_t first_ps; /* start of the first instruction */
};

struct ntk_work_word {
    char *forms[NTK_WORK_FORMS]; /* NULL if it has no form at this level */
};

struct ntk_work_units {
    struct ntk_vec units; /* elements are struct ntk_work_unit */
    struct ntk_vec items; /* elements are struct ntk_work_item */
    struct ntk_vec words; /* elements are struct ntk_work_word */
};

/* regions must belong to the program. Returns 0 or -errno of a long list. */
int ntk_work_units_init(struct ntk_work_units *units, const struct ntk_program *program,
                        const struct ntk_regions *regions);
void ntk_work_units_fini(struct ntk_work_units *units);

#endif
