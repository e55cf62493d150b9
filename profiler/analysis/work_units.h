/* SPDX-License-Identifier: MIT */
/*
 * work_units - what each layer or region of an execution works on, in words that another program
 * shares: shapes, types, and where the data came from.
 *
 * The unit of an instruction is its layer where the NEFF names one, else the innermost region that
 * it is in on its engine, else what its engine does outside of regions. Control and the runtime's
 * instructions belong to none.
 *
 * A word has up to four forms, from the closest to the widest: of a matrix product the shape of
 * what stays, its type and its sources; then without the type; then without the shape; then alone.
 * Sources are the operations that wrote what an instruction reads. Copies, casts and transposes
 * pass theirs on, and so does a scratch tensor in device memory: a kernel that no longer writes it
 * has the same sources. Transfers name their tensor, then its size, then its kind.
 *
 * Time: linear in instructions, times the depth of regions. The same trace gives the same units.
 * Owner:   caller's storage, zeroed is empty; _fini frees. Texts are copies: the program may go.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_WORK_UNITS_H
#define NTK_PROFILER_ANALYSIS_WORK_UNITS_H

#include "profiler/analysis/regions.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_WORK_FORMS 4
#define NTK_WORK_UNITS_MAX 4096 /* what is beyond is in the unit of its engine */

struct ntk_work_unit {
    char *name; /* as people see it */
    char *key;  /* the same in another capture */
    bool is_layer;
    int64_t time_ps; /* of its instructions, those that overlap each */
};

struct ntk_work_item { /* all instructions of a unit with one word */
    uint32_t unit;
    uint32_t word;    /* in words */
    int64_t time_ps;  /* sum */
    int64_t first_ps; /* when the first began */
};

struct ntk_work_word {
    char *forms[NTK_WORK_FORMS]; /* NULL: it has no such form */
};

struct ntk_work_units {
    struct ntk_vec units; /* struct ntk_work_unit */
    struct ntk_vec items; /* struct ntk_work_item */
    struct ntk_vec words; /* struct ntk_work_word */
};

/* regions: of the program. 0 or -errno of a long list. */
int ntk_work_units_init(struct ntk_work_units *units, const struct ntk_program *program,
                        const struct ntk_regions *regions);
void ntk_work_units_fini(struct ntk_work_units *units);

#endif
