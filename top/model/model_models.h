/* SPDX-License-Identifier: MIT */
/* model_models - lists a row per loaded model of each process. */
#ifndef NTK_TOP_MODEL_MODEL_MODELS_H
#define NTK_TOP_MODEL_MODEL_MODELS_H

#include "top/model/model.h"

enum ntk_top_models_column {
    NTK_TOP_MODELS_NAME,
    NTK_TOP_MODELS_APP,
    NTK_TOP_MODELS_CORES,
    NTK_TOP_MODELS_RATE,
    NTK_TOP_MODELS_P50,
    NTK_TOP_MODELS_P99,
    NTK_TOP_MODELS_ERROR_RATE,
    NTK_TOP_MODELS_QUEUE,
    NTK_TOP_MODELS_FLOPS,
    NTK_TOP_MODELS_PEAK,
    NTK_TOP_MODELS_DEVICE_P50,
    NTK_TOP_MODELS_DEVICE_P99,
    NTK_TOP_MODELS_HBM,
    NTK_TOP_MODELS_HOST,
    NTK_TOP_MODELS_EXECUTIONS,
    NTK_TOP_MODELS_ERRORS,
    NTK_TOP_MODELS_ID,
    NTK_TOP_MODELS_LOADED,
    NTK_TOP_MODELS_LOAD,
    NTK_TOP_MODELS_UUID,
    NTK_TOP_MODELS_PATH,
    NTK_TOP_MODELS_MAX,
    NTK_TOP_MODELS_COUNT,
};

/* Returns 0 or -ENOMEM. */
int ntk_top_model_models(struct ntk_top_model *model, struct ntk_top_table *table);

#endif
