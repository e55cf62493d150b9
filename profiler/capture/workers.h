/* SPDX-License-Identifier: MIT */
/*
 * workers - the same work in several processes at once, which end together when one of them fails.
 *
 * Threads: called while the process has one thread and no other children.
 */
#ifndef NTK_PROFILER_CAPTURE_WORKERS_H
#define NTK_PROFILER_CAPTURE_WORKERS_H

#include <stdint.h>

#include "shared/base/err.h"

/* In the worker's process: its exit code. */
typedef int ntk_worker(uint64_t index, void *ctx);

/* 0 when all have succeeded, 1 when one has not (and has said why), negative when not all could be
 * started. */
int ntk_workers_run(uint64_t count, ntk_worker *worker, void *ctx, struct ntk_err *err);

#endif
