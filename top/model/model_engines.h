/* SPDX-License-Identifier: MIT */
/* model_engines - lists a row per logical core: how its engines share the time. */
#ifndef NTK_TOP_MODEL_MODEL_ENGINES_H
#define NTK_TOP_MODEL_MODEL_ENGINES_H

#include "shared/abi/event_abi.h"
#include "top/model/model.h"

enum ntk_top_engines_column {
    NTK_TOP_ENGINES_CORE,
    NTK_TOP_ENGINES_BUSY,
    NTK_TOP_ENGINES_ENGINE, /* first of NTK_ENGINE_COUNT */
    NTK_TOP_ENGINES_FLOPS = NTK_TOP_ENGINES_ENGINE + NTK_ENGINE_COUNT,
    NTK_TOP_ENGINES_PEAK,
    NTK_TOP_ENGINES_HBM_READ,
    NTK_TOP_ENGINES_HBM_WRITTEN,
    NTK_TOP_ENGINES_DMA,
    NTK_TOP_ENGINES_IN_FLIGHT,
    NTK_TOP_ENGINES_OWNER,
    NTK_TOP_ENGINES_COUNT,
};

/* Returns 0 or -ENOMEM. */
int ntk_top_model_engines(struct ntk_top_model *model, struct ntk_top_table *table);

#endif
