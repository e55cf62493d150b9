/* SPDX-License-Identifier: MIT */
/*
 * predecessors - finds the rows that must complete before an instruction, according to the
 * compiler.
 *
 * A NEFF lists instructions of the program, which match every row of the core that executed them.
 * In loops this is a product, so the number per row is limited.
 *
 * Owner:   ntk_predecessors_create() allocates, _destroy() frees; the export is borrowed.
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_PREDECESSORS_H
#define NTK_PROFILER_OUTPUT_TABLES_PREDECESSORS_H

#include "profiler/output/export.h"

/* Maximum per row; a row with more predecessors has none. */
#define NTK_PREDECESSORS_MAX 1024

struct ntk_predecessors;

/* Requires a core with named instructions. Returns 0 or -errno. */
int ntk_predecessors_create(const struct ntk_export *export, size_t core_index,
                            struct ntk_predecessors **out_predecessors);
void ntk_predecessors_destroy(struct ntk_predecessors *predecessors);

/* Returns a text such as [{"id":12,"type":"FLOW_DEPENDENCE"}], valid until the next call; NULL if
 * none. Returns 0 or -ENOMEM. */
int ntk_predecessors_get(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                         const char **out_json);

/* Called with the row in the core and the kind of each predecessor. A negative result stops. */
typedef int ntk_predecessors_put(void *ctx, uint32_t row, uint64_t kind);
int ntk_predecessors_each(struct ntk_predecessors *predecessors, const struct ntk_slot_fact *fact,
                          ntk_predecessors_put *put, void *ctx);

/* Appends the instructions themselves, such as "I-72-0 (FLOW_DEPENDENCE), I-3 (ORDERED) and 2
 * more". */
#define NTK_PREDECESSORS_NAMED_MAX 16
void ntk_predecessors_print(const struct ntk_neff_debug *names,
                            const struct ntk_neff_debug_instruction *one, struct ntk_buf *text);

/* Returns the number of rows with more than NTK_PREDECESSORS_MAX, over all cores. */
uint64_t ntk_predecessors_omitted(const struct ntk_export *export);

#endif
