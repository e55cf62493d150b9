/* SPDX-License-Identifier: MIT */
/*
 * model_pace - ranks of this machine that the others of their communicator repeatedly wait for.
 *
 * Judged over windows of five seconds, as `neuron-monitor slow` does; a verdict holds until the next
 * one.
 *
 * Owner:   the watch of the model; ntk_top_pace_fini() frees. NULL: no rank was seen.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_PACE_H
#define NTK_TOP_MODEL_MODEL_PACE_H

#include "top/model/model.h"

void ntk_top_pace_fini(struct ntk_top_pace *pace);
/* The verdicts; a new window begins. 0 or -ENOMEM. */
int ntk_top_pace_dup(const struct ntk_top_pace *pace, struct ntk_top_pace **out_copy);
/* Adds the snapshot of the model. 0 or -ENOMEM. */
int ntk_top_model_pace_observe(struct ntk_top_model *model);
/* key: of the communicator. */
bool ntk_top_model_pace_is_slow(const struct ntk_top_model *model, uint64_t key, uint32_t rank);

#endif
