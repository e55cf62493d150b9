/* SPDX-License-Identifier: MIT */
/* view_processes - defines the columns of model_processes, as a separate list and below the
 * overview. */
#include "top/model/model_processes.h"
#include "top/view/columns.h"
#include "top/view/view_overview.h"
#include "top/view/views.h"

static const struct ntk_top_column items[] = {
    [NTK_TOP_PROCESSES_PID] = { NTK_TOP_FIGURE_PID, 0, 0 },
    [NTK_TOP_PROCESSES_USER] = { "USER", "owner of the process", NTK_TOP_AS_TEXT, 8, 4, 0 },
    [NTK_TOP_PROCESSES_TAG] = { "TAG", "NEURON_PROCESS_TAG, where it is set", NTK_TOP_AS_TEXT, 12,
                                8, NTK_TOP_COLUMN_IF_ANY },
    [NTK_TOP_PROCESSES_COMMAND] = { NTK_TOP_FIGURE_COMMAND, 60, 0 },
    [NTK_TOP_PROCESSES_STATE] = { "STATE", "dead, stuck, exited, or idle while holding cores",
                                  NTK_TOP_AS_TEXT, 10, 0, NTK_TOP_COLUMN_IF_ANY },
    [NTK_TOP_PROCESSES_CORES] = { "CORES", "logical cores that it holds", NTK_TOP_AS_TEXT, 6, 6,
                                  NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_ASCENDING },
    [NTK_TOP_PROCESSES_BUSY] = { NTK_TOP_FIGURE_BUSY_OF_CORES, 14, NTK_TOP_COLUMN_FIRST },
    [NTK_TOP_PROCESSES_CPU] = { "CPU", "share of all vCPUs", NTK_TOP_AS_PERCENT, 6, 0, 0 },
    [NTK_TOP_PROCESSES_HBM] = { "HBM", "device memory", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_PROCESSES_HOST] = { "HOST", "host memory of the runtime", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_PROCESSES_RATE] = { NTK_TOP_FIGURE_RATE, 0, 0 },
    [NTK_TOP_PROCESSES_P50] = { NTK_TOP_FIGURE_P50, 0, 0 },
    [NTK_TOP_PROCESSES_P99] = { NTK_TOP_FIGURE_P99, 0, 0 },
    [NTK_TOP_PROCESSES_ERROR_RATE] = { NTK_TOP_FIGURE_ERROR_RATE, 0, 0 },
    [NTK_TOP_PROCESSES_ERRORS] = { "ERRORS", "failed executions since it started", NTK_TOP_AS_COUNT,
                                   6, 0, NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_PROCESSES_QUEUE] = { NTK_TOP_FIGURE_QUEUE, 5, 0, 0 },
    [NTK_TOP_PROCESSES_FLOPS] = { NTK_TOP_FIGURE_FLOPS, 0, 0 },
    [NTK_TOP_PROCESSES_RSS] = { "RSS", "resident memory of the process", NTK_TOP_AS_BYTES, 8, 0,
                                0 },
    [NTK_TOP_PROCESSES_WHERE] = { "CONTAINER", "pod, or container id if unknown", NTK_TOP_AS_TEXT,
                                  12, 16, 0 },
    [NTK_TOP_PROCESSES_LOST] = { "LOST", "records overwritten before they were read",
                                 NTK_TOP_AS_COUNT, 6, 0, NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_PROCESSES_VERSION] = { "RUNTIME", "version of its runtime", NTK_TOP_AS_TEXT, 12, 0,
                                    NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_PROCESSES_SINCE] = { "SINCE", "when it started, local time", NTK_TOP_AS_TEXT, 19, 0,
                                  NTK_TOP_COLUMN_BY_VALUE | NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_PROCESSES_HOOKS] = { "HOOKS", "type of hooks, and what they cannot report",
                                  NTK_TOP_AS_TEXT, 9, 8, 0 },
    [NTK_TOP_PROCESSES_MAX] = { NTK_TOP_FIGURE_MAX, 0, NTK_TOP_COLUMN_HIDDEN },
};

#define BIT(column) (UINT32_C(1) << NTK_TOP_PROCESSES_##column)

static const struct ntk_top_columns columns = {
    .items = items,
    .count = sizeof items / sizeof *items,
    .sort_column = NTK_TOP_PROCESSES_BUSY,
};

/* Columns below the devices, which fit in 80 cells. */
static const struct ntk_top_columns overview_columns = {
    .items = items,
    .count = sizeof items / sizeof *items,
    .sort_column = NTK_TOP_PROCESSES_BUSY,
    .hidden = ~(BIT(PID) | BIT(USER) | BIT(TAG) | BIT(COMMAND) | BIT(STATE) | BIT(CORES) |
                BIT(BUSY) | BIT(HBM) | BIT(RATE) | BIT(P99)),
};

const struct ntk_top_view ntk_top_view_processes = {
    .columns = &columns,
    .shows_latency = true,
    .shows_time = true,
    .is_owned = true,
    .project = ntk_top_model_processes,
};

const struct ntk_top_view ntk_top_view_overview = {
    .columns = &overview_columns,
    .shows_latency = true,
    .shows_time = true,
    .is_owned = true,
    .project = ntk_top_model_processes,
    .head_rows = ntk_top_view_overview_rows,
    .draw_head = ntk_top_view_overview_head,
};
