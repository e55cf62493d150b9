/* SPDX-License-Identifier: MIT */
/*
 * model_ranks - lists ranks of communicators, on this machine or on all hosts: the position of
 * each, and the ranks for which it waits. Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_RANKS_H
#define NTK_TOP_MODEL_MODEL_RANKS_H

#include "top/model/model.h"

enum ntk_top_ranks_column {
    NTK_TOP_RANKS_RANK,
    NTK_TOP_RANKS_STATE,
    NTK_TOP_RANKS_WHERE,
    NTK_TOP_RANKS_HOST,
    NTK_TOP_RANKS_PID,
    NTK_TOP_RANKS_CORE,
    NTK_TOP_RANKS_STEP,
    NTK_TOP_RANKS_OPERATION,
    NTK_TOP_RANKS_SINCE,
    NTK_TOP_RANKS_WAIT,
    NTK_TOP_RANKS_RATE,
    NTK_TOP_RANKS_APP,
    NTK_TOP_RANKS_PLACE,
    NTK_TOP_RANKS_GROUP,
    NTK_TOP_RANKS_COMMAND,
    NTK_TOP_RANKS_COUNT,
};

/* Returns 0 or -ENOMEM. */
int ntk_top_model_ranks(struct ntk_top_model *model, struct ntk_top_table *table);

#endif
