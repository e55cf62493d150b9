/* SPDX-License-Identifier: MIT */
/*
 * bench_folder - writes the results of a run as files, with the names and units of the vendor's
 * program:
 *
 *   FOLDER/NAME_iMODELS_LIBMODE/info.json             percentiles, throughput
 *                               latency_data.json     individual calls, us, by core
 *                               nc_latency_data.json  executions on the device, us, by core
 *   FOLDER/profile_NAME/profile.ntff                  one recorded execution
 *
 * Owner:   the caller frees paths with free().
 */
#ifndef NTK_RUNTIME_HOOKS_BENCH_BENCH_FOLDER_H
#define NTK_RUNTIME_HOOKS_BENCH_BENCH_FOLDER_H

#include "runtime-hooks/bench/bench_exec.h"

/* The path of the recorded execution; creates its folder. Returns NULL with a message, or a path
 * that the caller frees. */
char *bench_folder_profile_path(const char *folder, const char *neff_path, struct ntk_err *err);
/* Returns 0, or -errno with a message. Meaningless times are omitted. */
int bench_folder_write(const char *folder, const struct ntk_nrt *nrt,
                       const struct bench_exec *bench, const struct bench_result *result,
                       struct ntk_err *err);

#endif
