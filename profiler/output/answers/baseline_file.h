/* SPDX-License-Identifier: MIT */
/*
 * baseline_file - reads and writes a baseline as JSON (docs/formats/baseline.md).
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_BASELINE_FILE_H
#define NTK_PROFILER_OUTPUT_ANSWERS_BASELINE_FILE_H

#include "profiler/analysis/baseline.h"
#include "shared/base/buf.h"

#define NTK_BASELINE_FORMAT "neuron-profile-baseline"
#define NTK_BASELINE_VERSION 1
#define NTK_BASELINE_BYTES_MAX ((size_t)128 << 20) /* 512 executions of 2,000 measures have half */
#define NTK_BASELINE_EXECUTIONS_MAX 10000

/* Appends a baseline. Returns 0 or negative with a message: -EFBIG for a baseline that
 * ntk_baseline_read() would reject, -ENOMEM. */
int ntk_baseline_write(const struct ntk_baseline *baseline, struct ntk_buf *out,
                       struct ntk_err *err);
/* Returns 0 or negative with a message that contains the path: -EBADMSG for an invalid file,
 * -ENOTSUP for another version, -EFBIG, -ENOMEM, or a read error. */
int ntk_baseline_read(const char *path, struct ntk_baseline *out_baseline, struct ntk_err *err);
/* Reads the bytes of a file; path is for messages. */
int ntk_baseline_read_bytes(const void *bytes, size_t bytes_count, const char *path,
                            struct ntk_baseline *out_baseline, struct ntk_err *err);

#endif
