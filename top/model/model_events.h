/* SPDX-License-Identifier: MIT */
/* model_events - lists a row per event of the log; repeated events share a row. */
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

/* Number of rows above in which a repeated event is counted. */
#define NTK_TOP_EVENTS_FOLD_ROWS 4

/* Returns the number of all events so far; while an earlier moment is shown, of the kept events up
 * to it. */
uint64_t ntk_top_model_events_count(const struct ntk_top_model *model);
/* Keeps the events of every snapshot. Returns 0 or -ENOMEM. */
int ntk_top_model_events_observe(struct ntk_top_model *model);
/* Returns 0 or -ENOMEM. */
int ntk_top_model_events(struct ntk_top_model *model, struct ntk_top_table *table);
/* Handles the key x: each event has a row, or repeated events share a row. */
bool ntk_top_model_events_act(struct ntk_top_model *model, int action, int argument);

#endif
