/* SPDX-License-Identifier: MIT */
#include "shared/metrics/catalogue.h"

const struct ntk_metric_row ntk_metrics[NTK_METRIC_COUNT] = {
#define NTK_METRIC(symbol, row_origin, row_key, row_name, row_unit, row_kind, row_labels, \
                   row_help)                                                              \
    { .origin = NTK_METRIC_ORIGIN_##row_origin,                                           \
      .unit = NTK_METRIC_UNIT_##row_unit,                                                 \
      .kind = NTK_METRIC_KIND_##row_kind,                                                 \
      .json_key = row_key,                                                                \
      .name = row_name,                                                                   \
      .labels = row_labels,                                                               \
      .help = row_help },
#include "shared/metrics/catalogue.def"
#undef NTK_METRIC
};
