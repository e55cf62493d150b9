/* SPDX-License-Identifier: MIT */
/*
 * sink - writes an export to a file that appears completely or not at all, or to stdout.
 *
 * A buffer is written whenever it holds NTK_SINK_BYTES, so memory does not grow with the output.
 * The first failure is kept; later bytes are dropped, and commit returns it.
 *
 * Owner:   the caller provides the storage; _abort after a _commit or on a zeroed struct does
 *          nothing.
 * Threads: one at a time per sink.
 */
#ifndef NTK_PROFILER_OUTPUT_SINK_H
#define NTK_PROFILER_OUTPUT_SINK_H

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/fs.h"

#define NTK_SINK_BYTES ((size_t)256 * 1024)

struct ntk_sink {
    struct ntk_buf buf; /* append to it, then call ntk_sink_step() */
    struct ntk_fs_replace replace;
    bool is_stdout;
    int failed;             /* -errno of the first failure */
    uint64_t flushed_bytes; /* number of written bytes; + buf.bytes_count = position in the file */
};

/* path "-" means stdout. */
int ntk_sink_open(struct ntk_sink *sink, const char *path, struct ntk_err *err);
/* Writes the content of the buffer. Returns 0 or the failure. */
int ntk_sink_flush(struct ntk_sink *sink);
/* Writes the buffer if it is long enough; must be called after each row. */
static inline int ntk_sink_step(struct ntk_sink *sink)
{
    return sink->buf.bytes_count < NTK_SINK_BYTES && !sink->buf.failed ? sink->failed
                                                                       : ntk_sink_flush(sink);
}
/* Completes the file; after a failure it does not appear, and err has the reason. A reader of
 * stdout that stops early is not a failure. */
int ntk_sink_commit(struct ntk_sink *sink, struct ntk_err *err);
void ntk_sink_abort(struct ntk_sink *sink);

#endif
