/* SPDX-License-Identifier: MIT */
/*
 * model_pace - finds ranks of this machine for which the others in their communicator repeatedly
 * wait.
 *
 * Ranks are judged over windows of five seconds, as in `neuron-monitor slow`; a verdict is valid
 * until the next one.
 *
 * Owner:   the watch of the model; ntk_top_pace_fini() frees it. NULL if no rank was found.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_PACE_H
#define NTK_TOP_MODEL_MODEL_PACE_H

#include "top/model/model.h"

void ntk_top_pace_fini(struct ntk_top_pace *pace);
/* Copies the verdicts; a new window begins. Returns 0 or -ENOMEM. */
int ntk_top_pace_dup(const struct ntk_top_pace *pace, struct ntk_top_pace **out_copy);
/* Adds the snapshot of the model. Returns 0 or -ENOMEM. */
int ntk_top_model_pace_observe(struct ntk_top_model *model);
/* Returns true if the rank is slow. key: key of the communicator. */
bool ntk_top_model_pace_is_slow(const struct ntk_top_model *model, uint64_t key, uint32_t rank);

#endif
