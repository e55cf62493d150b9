/* SPDX-License-Identifier: MIT */
/* view_engines - defines the columns of model_engines. */
#include "top/model/model_engines.h"
#include "top/view/columns.h"
#include "top/view/views.h"

#define ENGINE(id, symbol, neff, name, label, profile, nki) \
    [NTK_TOP_ENGINES_ENGINE +                               \
        (id)] = { name, "share of time that " name " was active", NTK_TOP_AS_BAR, 6, 14, 0 },

static const struct ntk_top_column items[] = {
    [NTK_TOP_ENGINES_CORE] = { NTK_TOP_FIGURE_DEVICE_CORE, 9, 0, NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_ENGINES_BUSY] = { "BUSY", "share of time that a model ran", NTK_TOP_AS_BAR, 6, 24, 0 },
#define NTK_ENGINE ENGINE
#include "shared/abi/engine.def"
#undef NTK_ENGINE
    [NTK_TOP_ENGINES_FLOPS] = { NTK_TOP_FIGURE_FLOPS, 0, 0 },
    [NTK_TOP_ENGINES_PEAK] = { "%PEAK", "FLOPs as a share of the core's peak", NTK_TOP_AS_PERCENT,
                               6, 0, 0 },
    [NTK_TOP_ENGINES_HBM_READ] = { "HBM RD", "bytes read from HBM", NTK_TOP_AS_BYTES_PER_SECOND, 10,
                                   0, 0 },
    [NTK_TOP_ENGINES_HBM_WRITTEN] = { "HBM WR", "bytes written to HBM", NTK_TOP_AS_BYTES_PER_SECOND,
                                      10, 0, 0 },
    [NTK_TOP_ENGINES_DMA] = { "DMA MOVED", "bytes moved by DMA", NTK_TOP_AS_BYTES_PER_SECOND, 10, 0,
                              NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_ENGINES_IN_FLIGHT] = { NTK_TOP_FIGURE_QUEUE, 6, 0, 0 },
    [NTK_TOP_ENGINES_OWNER] = { "APP", "tag of the application that holds the core",
                                NTK_TOP_AS_TEXT, 10, 20, 0 },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_ENGINES_CORE };

const struct ntk_top_view ntk_top_view_engines = {
    .columns = &columns,
    .shows_time = true,
    .empty = "no NeuronCore to show",
    .project = ntk_top_model_engines,
};
