/* SPDX-License-Identifier: MIT */
/* model_topology - computes the load of each device, for the map of the devices. Threads: one. */
#ifndef NTK_TOP_MODEL_MODEL_TOPOLOGY_H
#define NTK_TOP_MODEL_MODEL_TOPOLOGY_H

#include "shared/metrics/topology.h"
#include "top/model/model.h"

enum ntk_top_heat {
    NTK_TOP_HEAT_BUSY,  /* mean of the cores, for the selected tab */
    NTK_TOP_HEAT_HBM,   /* used share of its memory, by all applications */
    NTK_TOP_HEAT_POWER, /* mean of the last full minute, as a share of the maximum power */
    NTK_TOP_HEAT_COUNT,
};

bool ntk_top_model_topology_act(struct ntk_top_model *model, int action, int argument);
enum ntk_topology ntk_top_model_topology_shape(const struct ntk_top_model *model);
/* Returns percent, absent if unknown. */
struct ntk_top_number ntk_top_model_topology_heat(const struct ntk_top_model *model,
                                                  enum ntk_top_heat heat, uint32_t device);

#endif
