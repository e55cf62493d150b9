/* SPDX-License-Identifier: MIT */
/*
 * model_graphs - keeps the history of each logical core and of all cores: adds each snapshot, and
 * returns values for the view of graphs. Threads: one.
 *
 * Owner:   the model; ntk_top_model_graphs_fini() frees the content.
 */
#ifndef NTK_TOP_MODEL_MODEL_GRAPHS_H
#define NTK_TOP_MODEL_MODEL_GRAPHS_H

#include "top/model/model.h"

enum ntk_top_quantity {
    NTK_TOP_QUANTITY_BUSY,       /* percent; for several cores the mean */
    NTK_TOP_QUANTITY_HBM,        /* bytes; for the machine the driver's count, if there is one */
    NTK_TOP_QUANTITY_EXECUTIONS, /* ended executions with any outcome, per second */
    NTK_TOP_QUANTITY_TERAFLOPS,  /* per second, without transposes */
    NTK_TOP_QUANTITY_COUNT,
};

#define NTK_TOP_GRAPHS_CORES_MAX 512    /* maximum number with a separate history */
#define NTK_TOP_GRAPHS_TOTAL UINT32_MAX /* all cores of the selected tab together */

void ntk_top_model_graphs_init(struct ntk_top_graphs *graphs);
void ntk_top_model_graphs_fini(struct ntk_top_graphs *graphs);

/* ---- of the view, see views.h ---- */
/* Takes a moment before the shown one. Returns 0 or -ENOMEM. */
int ntk_top_model_graphs_take_past(struct ntk_top_model *model,
                                   const struct ntk_snapshot *snapshot);
int ntk_top_model_graphs_observe(struct ntk_top_model *model);
int ntk_top_model_graphs_project(struct ntk_top_model *model, struct ntk_top_table *table);
bool ntk_top_model_graphs_act(struct ntk_top_model *model, int action, int argument);

/* ---- contents of the view ---- */
uint64_t ntk_top_model_graphs_span_ns(const struct ntk_top_model *model);
/* Lists the logical cores of the selected tab that have a history; returns their number. */
size_t ntk_top_model_graphs_cores(const struct ntk_top_model *model,
                                  uint32_t out[NTK_TOP_GRAPHS_CORES_MAX]);
/* Returns the value for a core or NTK_TOP_GRAPHS_TOTAL; absent if not measured. */
struct ntk_top_number ntk_top_model_graphs_now(const struct ntk_top_model *model,
                                               enum ntk_top_quantity quantity, uint32_t core);
/* Reads count values over the span up to the shown snapshot, NAN if unknown. Returns 0 or
 * -ENOMEM. */
int ntk_top_model_graphs_read_span(const struct ntk_top_model *model,
                                   enum ntk_top_quantity quantity, uint32_t core, uint64_t span_ns,
                                   size_t count, float *out);
/* Same, over the chosen span. */
int ntk_top_model_graphs_read(const struct ntk_top_model *model, enum ntk_top_quantity quantity,
                              uint32_t core, size_t count, float *out);
/* Returns the maximum of the quantity for the core or for all, absent if unknown. */
struct ntk_top_number ntk_top_model_graphs_limit(const struct ntk_top_model *model,
                                                 enum ntk_top_quantity quantity, uint32_t core);

#endif
