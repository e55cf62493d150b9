/* SPDX-License-Identifier: MIT */
/*
 * predecessors - the rows that must complete before an instruction, by the compiler's data.
 *
 * A NEFF names instructions of the program; each stands for every row of the core that executed it.
 * In loops that is the product of how often both ran, so a row names a bounded number of others.
 *
 * Owner:   ntk_predecessors_create() allocates, _destroy() frees; the export is borrowed.
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_PREDECESSORS_H
#define NTK_PROFILER_OUTPUT_TABLES_PREDECESSORS_H

#include "profiler/output/export.h"

/* A row with more has none. */
#define NTK_PREDECESSORS_MAX 1024

struct ntk_predecessors;

/* For a core whose instructions have names. 0 or -errno. */
int ntk_predecessors_create(const struct ntk_export *export, size_t core_index,
                            struct ntk_predecessors **out_predecessors);
void ntk_predecessors_destroy(struct ntk_predecessors *predecessors);

/* [{"id":12,"type":"FLOW_DEPENDENCE"}], until the next call; NULL: none. 0 or -ENOMEM. */
int ntk_predecessors_get(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                         const char **out_json);

/* Called with the row of the core and the kind of each of these. Less than 0 ends it. */
typedef int ntk_predecessors_put(void *ctx, uint32_t row, uint64_t kind);
int ntk_predecessors_each(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                          ntk_predecessors_put *put, void *ctx);

/* "I-72-0 (FLOW_DEPENDENCE), I-3 (ORDERED) and 2 more": the instructions themselves, appended. */
#define NTK_PREDECESSORS_NAMED_MAX 16
void ntk_predecessors_print(const struct ntk_neff_debug *names,
                            const struct ntk_neff_debug_instruction *one, struct ntk_buf *text);

/* Rows of all cores that have more than NTK_PREDECESSORS_MAX. */
uint64_t ntk_predecessors_omitted(const struct ntk_export *export);

#endif
