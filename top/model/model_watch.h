/* SPDX-License-Identifier: MIT */
/*
 * model_watch - the memory of a model about all snapshots up to one moment: errors, the states of
 * the cores, slow ranks, peaks of memory. A snapshot alone does not have it.
 *
 * The moment is that of the shown snapshot. While that is an earlier one, the model keeps another
 * watch for the newest snapshot, so that observation continues. The past of a run is bounded: a
 * third watch holds what was before it, and from there the watch of any kept moment is computed
 * again.
 *
 * Owner:   the model; ntk_top_watch_fini() frees. Zeroed: nothing was observed.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_WATCH_H
#define NTK_TOP_MODEL_MODEL_WATCH_H

#include "top/model/model.h"
#include "top/source/past.h"

void ntk_top_watch_fini(struct ntk_top_watch *watch);
/* Passes the shown snapshot, which is the newest, to the watch and to the views. 0 or -ENOMEM. */
int ntk_top_model_watch(struct ntk_top_model *model);
/* The newest snapshot is shown again. */
void ntk_top_model_return_to_now(struct ntk_top_model *model);
/* Shows a snapshot of the past as it was seen then; index < past->count. */
int ntk_top_model_show_past(struct ntk_top_model *model, const struct ntk_top_past *past,
                            size_t index, struct ntk_err *err);
/* The past is about to drop its first snapshot. */
void ntk_top_model_leave(struct ntk_top_model *model, const struct ntk_snapshot *snapshot);

#endif
