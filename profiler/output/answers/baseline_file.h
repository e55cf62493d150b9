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

/* Appends a baseline; ntk_buf_ok() reports a failed allocation. */
void ntk_baseline_write(const struct ntk_baseline *baseline, struct ntk_buf *out);
/* Returns 0 or negative with a message that contains the path: -EBADMSG for an invalid file,
 * -ENOTSUP for another version, -EFBIG, -ENOMEM, or a read error. */
int ntk_baseline_read(const char *path, struct ntk_baseline *out_baseline, struct ntk_err *err);
/* Reads the bytes of a file; path is for messages. */
int ntk_baseline_read_bytes(const void *bytes, size_t bytes_count, const char *path,
                            struct ntk_baseline *out_baseline, struct ntk_err *err);

#endif
