/* SPDX-License-Identifier: MIT */
/* model_events - a row per event of the log; repeated ones share a row. */
#ifndef NTK_TOP_MODEL_MODEL_EVENTS_H
#define NTK_TOP_MODEL_MODEL_EVENTS_H

#include "top/model/model.h"

enum ntk_top_events_column {
    NTK_TOP_EVENTS_TIME,
    NTK_TOP_EVENTS_KIND,
    NTK_TOP_EVENTS_TIMES,
    NTK_TOP_EVENTS_APP,
    NTK_TOP_EVENTS_CORE,
    NTK_TOP_EVENTS_WHAT,
    NTK_TOP_EVENTS_BYTES,
    NTK_TOP_EVENTS_DURATION,
    NTK_TOP_EVENTS_NAME,
    NTK_TOP_EVENTS_MODEL,
    NTK_TOP_EVENTS_ADDRESS,
    NTK_TOP_EVENTS_EXECUTION,
    NTK_TOP_EVENTS_PID,
    NTK_TOP_EVENTS_THREAD,
    NTK_TOP_EVENTS_COUNT,
};

/* An event that repeats one of this many rows above is counted there. */
#define NTK_TOP_EVENTS_FOLD_ROWS 4

/* The number of events ever; while an earlier moment is shown, of the kept ones up to it. */
uint64_t ntk_top_model_events_count(const struct ntk_top_model *model);
/* Keeps the events of every snapshot. 0 or -ENOMEM. */
int ntk_top_model_events_observe(struct ntk_top_model *model);
/* 0 or -ENOMEM. */
int ntk_top_model_events(struct ntk_top_model *model, struct ntk_top_table *table);
/* The key x: each event has a row, or repeated ones share one. */
bool ntk_top_model_events_act(struct ntk_top_model *model, int action, int argument);

#endif
