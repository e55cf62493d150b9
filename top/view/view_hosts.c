/* SPDX-License-Identifier: MIT */
/* view_hosts - defines the columns of model_hosts. */
#include "top/model/model_hosts.h"
#include "top/view/columns.h"
#include "top/view/views.h"

static const struct ntk_top_column items[] = {
    [NTK_TOP_HOSTS_NAME] = { "HOST", "name, as entered", NTK_TOP_AS_TEXT, 15, 25, 0 },
    [NTK_TOP_HOSTS_STATE] = { "STATE", "state; sorts the worst first, then the busiest",
                              NTK_TOP_AS_TEXT, 11, 0, NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_HOSTS_BUSY] = { NTK_TOP_FIGURE_BUSY_OF_CORES, 16, NTK_TOP_COLUMN_FIRST },
    [NTK_TOP_HOSTS_HBM] = { "HBM", "device memory in use", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_HOSTS_HBM_SHARE] = { "HBM%", "device memory in use as a share of the total",
                                  NTK_TOP_AS_PERCENT, 6, 0, NTK_TOP_COLUMN_HIDDEN },
    [NTK_TOP_HOSTS_RATE] = { NTK_TOP_FIGURE_RATE, 0, 0 },
    [NTK_TOP_HOSTS_ERROR_RATE] = { NTK_TOP_FIGURE_ERROR_RATE, 0, 0 },
    [NTK_TOP_HOSTS_HEALTH] = { "HEALTH", "verdict on its devices", NTK_TOP_AS_TEXT, 9, 0, 0 },
    [NTK_TOP_HOSTS_AGE] = { "AGE", "time since its last report", NTK_TOP_AS_DURATION, 7, 0, 0 },
    [NTK_TOP_HOSTS_CLOCK] = { "CLOCK", "clock offset from this machine, if known", NTK_TOP_AS_TEXT,
                              13, 4, NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_HOSTS_PAST] = { "PAST", "utilization in the last refreshes", NTK_TOP_AS_TEXT,
                             NTK_TOP_HOST_PAST, 0, 0 },
    [NTK_TOP_HOSTS_WHY] = { "WHY", "description of the problem", NTK_TOP_AS_TEXT, 12, 60, 0 },
    [NTK_TOP_HOSTS_TYPE] = { "TYPE", "instance type", NTK_TOP_AS_TEXT, 14, 0,
                             NTK_TOP_COLUMN_HIDDEN },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_HOSTS_STATE };

const struct ntk_top_view ntk_top_view_hosts = {
    .columns = &columns,
    .empty = "only one machine is shown: use --connect several times, or --hosts FILE",
    .observe = ntk_top_model_hosts_observe,
    .project = ntk_top_model_hosts,
    .act = ntk_top_model_hosts_act,
};
