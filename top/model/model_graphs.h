/* SPDX-License-Identifier: MIT */
/*
 * model_graphs - the history of each logical core and of all of them: what each snapshot adds, and
 * what the view of graphs reads. Threads: one.
 *
 * Owner:   the model; ntk_top_model_graphs_fini() frees.
 */
#ifndef NTK_TOP_MODEL_MODEL_GRAPHS_H
#define NTK_TOP_MODEL_MODEL_GRAPHS_H

#include "top/model/model.h"

enum ntk_top_quantity {
    NTK_TOP_QUANTITY_BUSY,       /* percent; of several cores the mean */
    NTK_TOP_QUANTITY_HBM,        /* bytes; for the machine the driver's count, if there is one */
    NTK_TOP_QUANTITY_EXECUTIONS, /* that ended, with any outcome, per second */
    NTK_TOP_QUANTITY_TERAFLOPS,  /* per second, without transposes */
    NTK_TOP_QUANTITY_COUNT,
};

#define NTK_TOP_GRAPHS_CORES_MAX 512    /* with their own history */
#define NTK_TOP_GRAPHS_TOTAL UINT32_MAX /* all cores of the selected tab together */

void ntk_top_model_graphs_init(struct ntk_top_graphs *graphs);
void ntk_top_model_graphs_fini(struct ntk_top_graphs *graphs);

/* ---- of the view, see views.h ---- */
/* A moment before the shown one, which the model takes. 0 or -ENOMEM. */
int ntk_top_model_graphs_take_past(struct ntk_top_model *model,
                                   const struct ntk_snapshot *snapshot);
int ntk_top_model_graphs_observe(struct ntk_top_model *model);
int ntk_top_model_graphs_project(struct ntk_top_model *model, struct ntk_top_table *table);
bool ntk_top_model_graphs_act(struct ntk_top_model *model, int action, int argument);

/* ---- contents of the view ---- */
uint64_t ntk_top_model_graphs_span_ns(const struct ntk_top_model *model);
/* The logical cores of the selected tab that have a history; returns their number. */
size_t ntk_top_model_graphs_cores(const struct ntk_top_model *model,
                                  uint32_t out[NTK_TOP_GRAPHS_CORES_MAX]);
/* For a core or NTK_TOP_GRAPHS_TOTAL. Absent if not measured. */
struct ntk_top_number ntk_top_model_graphs_now(const struct ntk_top_model *model,
                                               enum ntk_top_quantity quantity, uint32_t core);
/* count values over the span up to the shown snapshot, NAN if unknown. 0 or -ENOMEM. */
int ntk_top_model_graphs_read_span(const struct ntk_top_model *model,
                                   enum ntk_top_quantity quantity, uint32_t core, uint64_t span_ns,
                                   size_t count, float *out);
/* The same over the chosen span. */
int ntk_top_model_graphs_read(const struct ntk_top_model *model, enum ntk_top_quantity quantity,
                              uint32_t core, size_t count, float *out);
/* The maximum of the quantity for the core or for all, absent if unknown. */
struct ntk_top_number ntk_top_model_graphs_limit(const struct ntk_top_model *model,
                                                 enum ntk_top_quantity quantity, uint32_t core);

#endif
