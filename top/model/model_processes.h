/* SPDX-License-Identifier: MIT */
/* model_processes - lists a row per process that uses Neuron cores. */
#ifndef NTK_TOP_MODEL_MODEL_PROCESSES_H
#define NTK_TOP_MODEL_MODEL_PROCESSES_H

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

/* Returns the mean busy share of the process's cores. */
struct ntk_top_number ntk_top_model_processes_busy(const struct ntk_top_model *model,
                                                   const struct ntk_runtime_sample *runtime);
/* Returns 0 or -ENOMEM. */
int ntk_top_model_processes(struct ntk_top_model *model, struct ntk_top_table *table);

#endif
