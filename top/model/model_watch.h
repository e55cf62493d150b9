/* SPDX-License-Identifier: MIT */
/*
 * model_watch - keeps data of a model about all snapshots up to one moment: errors, the states of
 * the cores, slow ranks, peaks of memory. A single snapshot does not have this data.
 *
 * The moment belongs to the shown snapshot. While an earlier snapshot is shown, the model keeps
 * another watch for the newest snapshot, so that observation continues. The past of a run is
 * bounded: a third watch has the data from before the past, and from it the watch of any kept
 * moment is computed again.
 *
 * Owner:   the model; ntk_top_watch_fini() frees the content. A zeroed watch has observed nothing.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_WATCH_H
#define NTK_TOP_MODEL_MODEL_WATCH_H

#include "top/model/model.h"
#include "top/source/past.h"

void ntk_top_watch_fini(struct ntk_top_watch *watch);
/* Passes the shown snapshot, which is the newest, to the watch and to the views. Returns 0 or
 * -ENOMEM. */
int ntk_top_model_watch(struct ntk_top_model *model);
/* Shows the newest snapshot again. */
void ntk_top_model_return_to_now(struct ntk_top_model *model);
/* Shows a snapshot of the past with the data of that time; index must be below past->count. */
int ntk_top_model_show_past(struct ntk_top_model *model, const struct ntk_top_past *past,
                            size_t index, struct ntk_err *err);
/* Called before the past drops its first snapshot. */
void ntk_top_model_leave(struct ntk_top_model *model, const struct ntk_snapshot *snapshot);

#endif
