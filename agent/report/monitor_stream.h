/* SPDX-License-Identifier: MIT */
/*
 * monitor_stream - writes whole lines to stdout and never waits for their reader.
 *
 * Lines wait in a bounded queue. If it is full, the newest line is dropped and counted, so that a
 * slow reader affects neither the store nor HTTP.
 *
 * A pipe gets a line only when the whole line fits, so that an exit at any moment leaves no partial
 * line; a pipe that is too small is enlarged if the system permits it. If the space is unknown or
 * insufficient (sockets, terminals, longer lines), lines are written in pieces:
 * ntk_monitor_stream_is_torn() reports an incomplete line.
 *
 * After a write error (a full disk) the line is kept and retried; only a closed reader ends the
 * stream.
 *
 * stdout is often shared (a terminal, the pipe of a script), so its file status flags are not
 * touched: pipes and terminals are reopened in non-blocking mode, sockets are written with a flag
 * per call.
 *
 * Written and dropped lines are counted in exporters/transport/output_counts.h, as output "stdout".
 *
 * Owner:   ntk_monitor_stream_create() / _destroy(); the caller keeps fd.
 * Threads: one.
 */
#ifndef NTK_AGENT_REPORT_MONITOR_STREAM_H
#define NTK_AGENT_REPORT_MONITOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the queue: one line always fits into an empty queue. */
#define NTK_MONITOR_STREAM_BYTES_MAX (1024 * 1024)
#define NTK_MONITOR_STREAM_LINES_MAX 64

#define NTK_MONITOR_STREAM_STEP_NS (20 * NTK_NS_PER_MS)

struct ntk_monitor_stream;

int ntk_monitor_stream_create(int fd, struct ntk_monitor_stream **out_stream, struct ntk_err *err);
void ntk_monitor_stream_destroy(struct ntk_monitor_stream *stream);
/* Queues a copy and writes without waiting. Returns 1 if the line was dropped, 0, or -errno like
 * _flush. is_cut: the line was shortened, which is counted. */
int ntk_monitor_stream_put(struct ntk_monitor_stream *stream, const char *line, size_t line_bytes,
                           bool is_cut);
/* Writes without waiting. Returns 0, -EPIPE if the reader is gone, or -errno. */
int ntk_monitor_stream_flush(struct ntk_monitor_stream *stream);
/* Writes until the queue is empty, for at most for_ns, or until must_stop(ctx) is true, checked
 * every NTK_MONITOR_STREAM_STEP_NS. Returns the same as _flush. */
int ntk_monitor_stream_drain(struct ntk_monitor_stream *stream, const struct ntk_clock *clock,
                             uint64_t for_ns, bool (*must_stop)(void *ctx), void *ctx);
bool ntk_monitor_stream_is_empty(const struct ntk_monitor_stream *stream);
/* Returns true if the stream waits for writability; otherwise _flush() must be called
 * occasionally. */
bool ntk_monitor_stream_waits_for_out(const struct ntk_monitor_stream *stream);
/* Returns true if only part of a line was written. */
bool ntk_monitor_stream_is_torn(const struct ntk_monitor_stream *stream);
uint64_t ntk_monitor_stream_dropped_count(const struct ntk_monitor_stream *stream);
uint64_t ntk_monitor_stream_cut_count(const struct ntk_monitor_stream *stream);
/* Returns the descriptor to watch for EPOLLOUT while the stream waits for it. */
int ntk_monitor_stream_fd_get(const struct ntk_monitor_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
