/* SPDX-License-Identifier: MIT */
/* cells - creates cell contents that several projections share. Threads: one. */
#ifndef NTK_TOP_BASE_CELLS_H
#define NTK_TOP_BASE_CELLS_H

#include "shared/base/clock.h"
#include "shared/metrics/snapshot.h"
#include "top/base/table.h"

/* Returns the identity of a process over refreshes. */
uint64_t ntk_top_cells_runtime_key(const struct ntk_runtime_sample *runtime);
/* Returns the identity of a model over refreshes. */
uint64_t ntk_top_cells_model_key(const struct ntk_runtime_sample *runtime,
                                 const struct ntk_model_sample *sample);
/* Fills median, p99 and maximum (NULL: not needed) of the histogram, absent without a value. */
void ntk_top_cells_latency(const struct ntk_histogram *histogram, struct ntk_top_cell *out_p50,
                           struct ntk_top_cell *out_p99, struct ntk_top_cell *out_max);
/* Returns the logical cores of physical cores, such as "0-3,8"; the sort value is the first
 * core. */
struct ntk_top_cell ntk_top_cells_cores(struct ntk_top_table *table, uint32_t lnc,
                                        const struct ntk_core_sample *cores, size_t count);
#define NTK_TOP_HELD_IDLE_NS (60 * NTK_NS_PER_SECOND) /* an idle core is reported after this time */
/* Returns the time for which its process ran nothing on the core; 0 if unknown. */
uint64_t ntk_top_cells_held_idle_ns(const struct ntk_core_sample *core);
/* Returns true if the application has set a tag; the default is its pid, on the host or inside its
 * container. */
bool ntk_top_cells_has_tag(const struct ntk_runtime_sample *runtime);
/* Returns the tag of a process, or its pid. */
struct ntk_top_cell ntk_top_cells_tag(struct ntk_top_table *table,
                                      const struct ntk_runtime_sample *runtime);
/* Computes bytes of device and host memory of a process: for one model, or NTK_MEMORY_ANY. */
void ntk_top_cells_memory(const struct ntk_runtime_sample *runtime, uint32_t model_id,
                          struct ntk_top_cell *out_device, struct ntk_top_cell *out_host);

#endif
