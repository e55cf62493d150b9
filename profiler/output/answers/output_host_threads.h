/* SPDX-License-Identifier: MIT */
/*
 * output_host_threads - writes the activity of host threads while cores were idle, from the file
 * that `neuron-profile idle --record` adds to the folder of a trace (docs/idle.md).
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_HOST_THREADS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_HOST_THREADS_H

#include "profiler/output/answers/output_joined.h"

/* Appends to json, or to text if json is NULL. -ENODATA: no folder has the file. */
int ntk_output_host_threads(const struct ntk_system_asked *asked, struct ntk_buf *text,
                            struct ntk_json *json);

#endif
