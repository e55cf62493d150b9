/* SPDX-License-Identifier: MIT */
/* view_ranks - defines the columns of model_ranks. */
#include "top/model/model_ranks.h"
#include "top/view/columns.h"
#include "top/view/views.h"

static const struct ntk_top_column items[] = {
    [NTK_TOP_RANKS_RANK] = { "RANK", "rank and size of the communicator", NTK_TOP_AS_TEXT, 8, 4,
                             NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_RANKS_STATE] = { "STATE",
                              "state of the communicator, or slow: the others wait for this rank",
                              NTK_TOP_AS_TEXT, 11, 1, NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_RANKS_WHERE] = { "WHERE", "whether it arrived at the operation, or where it is",
                              NTK_TOP_AS_TEXT, 9, 0, 0 },
    [NTK_TOP_RANKS_HOST] = { "HOST", "host of the agent that reports it", NTK_TOP_AS_TEXT, 4, 20,
                             0 },
    [NTK_TOP_RANKS_PID] = { NTK_TOP_FIGURE_PID, 0, 0 },
    [NTK_TOP_RANKS_CORE] = { "CORE", "its first logical core", NTK_TOP_AS_ID, 4, 0, 0 },
    [NTK_TOP_RANKS_STEP] = { "STEP", "number of the operation, same on all ranks", NTK_TOP_AS_COUNT,
                             6, 0, 0 },
    [NTK_TOP_RANKS_OPERATION] = { "OPERATION", "current or last operation", NTK_TOP_AS_TEXT, 14, 6,
                                  0 },
    [NTK_TOP_RANKS_SINCE] = { "SINCE", "time since the rank entered or left it",
                              NTK_TOP_AS_DURATION, 7, 0, 0 },
    [NTK_TOP_RANKS_WAIT] = { "WAITS",
                             "share of time waiting for other ranks; the slow rank waits least",
                             NTK_TOP_AS_BAR, 6, 12, NTK_TOP_COLUMN_FIRST },
    [NTK_TOP_RANKS_RATE] = { "OPS/S", "finished operations per second", NTK_TOP_AS_RATE, 7, 0, 0 },
    [NTK_TOP_RANKS_APP] = { NTK_TOP_FIGURE_TAG, 8, 12, 0 },
    [NTK_TOP_RANKS_PLACE] = { "MEETS AT", "where its ranks meet", NTK_TOP_AS_TEXT, 15, 20, 0 },
    [NTK_TOP_RANKS_GROUP] = { "GROUP", "world ranks of its group in order; a dash means all",
                              NTK_TOP_AS_TEXT, 8, 12, NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_RANKS_COMMAND] = { NTK_TOP_FIGURE_COMMAND, 60, NTK_TOP_COLUMN_HIDDEN },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_RANKS_STATE };

const struct ntk_top_view ntk_top_view_ranks = {
    .columns = &columns,
    .empty = "no process is a rank of a communicator",
    .empty_recording = "recordings contain no ranks: use neuron-monitor query ranks --db FILE",
    .project = ntk_top_model_ranks,
};
