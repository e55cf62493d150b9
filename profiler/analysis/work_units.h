/* SPDX-License-Identifier: MIT */
/*
 * work_units - describes the work of each layer or region of an execution in words that can be
 * compared with another program: shapes, types, and sources of data.
 *
 * The unit of an instruction is its layer if the NEFF names one, else the innermost region on its
 * engine, else the engine outside of regions. Control instructions and those of the runtime have
 * none.
 *
 * A word has up to four forms, from the closest to the widest: for a matrix product the shape of
 * the stationary operand, its type and its sources; then without the type; then without the shape;
 * then without all of these. Sources are the operations that wrote an instruction's inputs. Copies,
 * casts, transposes and scratch tensors in device memory pass sources on, so a kernel that stops
 * writing this tensor keeps its sources. Transfers name their tensor, then its size, then its kind.
 *
 * Time:    linear in instructions, times the depth of regions. The same trace gives the same units.
 * Owner:   caller's storage, zeroed is empty; _fini frees. Texts are copies, independent of the
 *          program.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_WORK_UNITS_H
#define NTK_PROFILER_ANALYSIS_WORK_UNITS_H

#include "profiler/analysis/regions.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_WORK_FORMS 4
#define NTK_WORK_UNITS_MAX 4096 /* further ones belong to the unit of their engine */

struct ntk_work_unit {
    char *name; /* as users see it */
    char *key;  /* identifies it in another capture */
    bool is_layer;
    int64_t time_ps; /* of its instructions, including overlaps */
};

struct ntk_work_item { /* all instructions of a unit with one word */
    uint32_t unit;
    uint32_t word;    /* in words */
    int64_t time_ps;  /* sum */
    int64_t first_ps; /* start of the first */
};

struct ntk_work_word {
    char *forms[NTK_WORK_FORMS]; /* NULL: it has no such form */
};

struct ntk_work_units {
    struct ntk_vec units; /* struct ntk_work_unit */
    struct ntk_vec items; /* struct ntk_work_item */
    struct ntk_vec words; /* struct ntk_work_word */
};

/* regions: those of the program. 0 or -errno of a long list. */
int ntk_work_units_init(struct ntk_work_units *units, const struct ntk_program *program,
                        const struct ntk_regions *regions);
void ntk_work_units_fini(struct ntk_work_units *units);

#endif
