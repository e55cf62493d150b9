/* SPDX-License-Identifier: MIT */
/*
 * workers - runs the same work in several processes, which are stopped together if one of them
 * fails.
 *
 * Threads: must be called while the process has one thread and no other children.
 */
#ifndef NTK_PROFILER_CAPTURE_WORKERS_H
#define NTK_PROFILER_CAPTURE_WORKERS_H

#include <stdint.h>

#include "shared/base/err.h"

/* Runs in the worker's process; returns its exit code. */
typedef int ntk_worker(uint64_t index, void *ctx);

/* Returns 0 if all succeed, 1 if one fails (after reporting the reason), negative if not all could
 * be started. */
int ntk_workers_run(uint64_t count, ntk_worker *worker, void *ctx, struct ntk_err *err);

#endif
