/* SPDX-License-Identifier: MIT */
/* view_models - defines the columns of model_models. */
#include "top/model/model_models.h"
#include "top/view/columns.h"
#include "top/view/views.h"

static const struct ntk_top_column items[] = {
    [NTK_TOP_MODELS_NAME] = { "MODEL", "name; ~ before it: durations are estimates",
                              NTK_TOP_AS_TEXT, 16, 24, 0 },
    [NTK_TOP_MODELS_APP] = { "APP", "tag of the application that loaded it", NTK_TOP_AS_TEXT, 12,
                             12, 0 },
    [NTK_TOP_MODELS_CORES] = { "CORES", "logical cores it runs on", NTK_TOP_AS_TEXT, 5, 2,
                               NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_ASCENDING },
    [NTK_TOP_MODELS_RATE] = { NTK_TOP_FIGURE_RATE, 0, 0 },
    [NTK_TOP_MODELS_P50] = { NTK_TOP_FIGURE_P50, 0, 0 },
    [NTK_TOP_MODELS_P99] = { NTK_TOP_FIGURE_P99, 0, 0 },
    [NTK_TOP_MODELS_ERROR_RATE] = { NTK_TOP_FIGURE_ERROR_RATE, 0, 0 },
    [NTK_TOP_MODELS_FLOPS] = { NTK_TOP_FIGURE_FLOPS, 0, 0 },
    [NTK_TOP_MODELS_PEAK] = { "%PEAK", "FLOPs as a share of its cores' peak", NTK_TOP_AS_PERCENT, 6,
                              0, 0 },
    [NTK_TOP_MODELS_ERRORS] = { "ERRORS", "failed executions since it was loaded", NTK_TOP_AS_COUNT,
                                6, 0, 0 },
    [NTK_TOP_MODELS_QUEUE] = { NTK_TOP_FIGURE_QUEUE, 5, 0, 0 },
    [NTK_TOP_MODELS_DEVICE_P50] = { "DEV P50",
                                    "median time on the core; host time for software cores",
                                    NTK_TOP_AS_DURATION, 7, 0, 0 },
    [NTK_TOP_MODELS_DEVICE_P99] = { "DEV P99", "99 of 100 take at most this long on the core",
                                    NTK_TOP_AS_DURATION, 7, 0, 0 },
    [NTK_TOP_MODELS_HBM] = { "HBM", "device memory allocated by loading it", NTK_TOP_AS_BYTES, 8, 0,
                             0 },
    [NTK_TOP_MODELS_HOST] = { "HOST", "host memory allocated by loading it", NTK_TOP_AS_BYTES, 8, 0,
                              0 },
    [NTK_TOP_MODELS_EXECUTIONS] = { "TOTAL", "executions since it was loaded", NTK_TOP_AS_COUNT, 6,
                                    0, 0 },
    [NTK_TOP_MODELS_ID] = { "ID", "number within its process", NTK_TOP_AS_ID, 6, 0, 0 },
    [NTK_TOP_MODELS_LOADED] = { "LOADED AT", "when it was loaded", NTK_TOP_AS_TIME, 12, 0, 0 },
    [NTK_TOP_MODELS_LOAD] = { "LOADING", "load duration", NTK_TOP_AS_DURATION, 7, 0,
                              NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_MODELS_UUID] = { "UUID", "UUID of the NEFF", NTK_TOP_AS_TEXT, 32, 0,
                              NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_MODELS_PATH] = { "FILE", "path of the NEFF", NTK_TOP_AS_TEXT, 16, 60,
                              NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_MODELS_MAX] = { NTK_TOP_FIGURE_MAX, 0, NTK_TOP_COLUMN_HIDDEN },
};

/* The slowest model is first. */
static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_MODELS_P99 };

const struct ntk_top_view ntk_top_view_models = {
    .columns = &columns,
    .shows_latency = true,
    .shows_time = true,
    .is_owned = true,
    .empty = "no model is loaded",
    .project = ntk_top_model_models,
};
