/* SPDX-License-Identifier: MIT */
/* model_processes - a row per process that uses Neuron cores. */
#ifndef NTK_TOP_MODEL_MODEL_PROCESSES_H
#define NTK_TOP_MODEL_MODEL_PROCESSES_H

#include "shared/base/clock.h"
#include "top/model/model.h"

enum ntk_top_processes_column {
    NTK_TOP_PROCESSES_PID,
    NTK_TOP_PROCESSES_USER,
    NTK_TOP_PROCESSES_TAG,
    NTK_TOP_PROCESSES_COMMAND,
    NTK_TOP_PROCESSES_STATE,
    NTK_TOP_PROCESSES_CORES,
    NTK_TOP_PROCESSES_BUSY,
    NTK_TOP_PROCESSES_HBM,
    NTK_TOP_PROCESSES_RATE,
    NTK_TOP_PROCESSES_P99,
    NTK_TOP_PROCESSES_P50,
    NTK_TOP_PROCESSES_CPU,
    NTK_TOP_PROCESSES_HOST,
    NTK_TOP_PROCESSES_ERROR_RATE,
    NTK_TOP_PROCESSES_QUEUE,
    NTK_TOP_PROCESSES_FLOPS,
    NTK_TOP_PROCESSES_RSS,
    NTK_TOP_PROCESSES_WHERE,
    NTK_TOP_PROCESSES_ERRORS,
    NTK_TOP_PROCESSES_LOST,
    NTK_TOP_PROCESSES_VERSION,
    NTK_TOP_PROCESSES_SINCE,
    NTK_TOP_PROCESSES_MAX,
    NTK_TOP_PROCESSES_HOOKS,
    NTK_TOP_PROCESSES_COUNT,
};

#define NTK_TOP_HELD_IDLE_NS (60 * NTK_NS_PER_SECOND) /* from then on it is worth a word */

/* 0 or -ENOMEM. */
int ntk_top_model_processes(struct ntk_top_model *model, struct ntk_top_table *table);

#endif
