/* SPDX-License-Identifier: MIT */
/*
 * columns - defines figures that several lists have: one title, help and format on all screens. In
 * a list, its width_more and its flags follow the figure.
 */
#ifndef NTK_TOP_VIEW_COLUMNS_H
#define NTK_TOP_VIEW_COLUMNS_H

#include "top/base/table.h"

#define NTK_TOP_FIGURE_PID "PID", "process id", NTK_TOP_AS_ID, 7
#define NTK_TOP_FIGURE_TAG "TAG", "NEURON_PROCESS_TAG, or the process id", NTK_TOP_AS_TEXT
#define NTK_TOP_FIGURE_COMMAND "COMMAND", "command of the process", NTK_TOP_AS_TEXT, 16
#define NTK_TOP_FIGURE_RATE "EXEC/S", "executions per second", NTK_TOP_AS_RATE, 7
#define NTK_TOP_FIGURE_ERROR_RATE "ERR/S", "failed executions per second", NTK_TOP_AS_RATE, 6
#define NTK_TOP_FIGURE_P50 "P50", "median execution time", NTK_TOP_AS_DURATION, 7
#define NTK_TOP_FIGURE_P99 \
    "P99", "99 of 100 executions take at most this long", NTK_TOP_AS_DURATION, 7
#define NTK_TOP_FIGURE_MAX "MAX", "longest execution time", NTK_TOP_AS_DURATION, 7
#define NTK_TOP_FIGURE_QUEUE "QUEUE", "executions submitted but not finished", NTK_TOP_AS_COUNT
#define NTK_TOP_FIGURE_FLOPS \
    "TFLOPS", "tensor FLOPs per second, excluding transposes", NTK_TOP_AS_TERAFLOPS, 9
#define NTK_TOP_FIGURE_BUSY_OF_CORES "BUSY", "mean utilization of its cores", NTK_TOP_AS_BAR, 6
#define NTK_TOP_FIGURE_DEVICE_CORE "CORE", "device, and core in it", NTK_TOP_AS_TEXT

#endif
