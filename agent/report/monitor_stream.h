/* SPDX-License-Identifier: MIT */
/*
 * monitor_stream - writes whole lines to stdout and never waits for their reader.
 *
 * Lines wait in a bounded queue. When it is full the newest line is dropped whole and counted: the
 * reader is slower than the reports come, and neither the store nor the HTTP side may suffer for
 * it.
 *
 * A pipe gets a line when the line fits into it whole, so that an end at any moment leaves no half
 * of one; a pipe that is too small is made larger, as far as the system allows. Where the room
 * cannot be known or had (sockets, terminals, lines beyond it) lines go by pieces:
 * ntk_monitor_stream_is_torn() reports one that was started.
 *
 * Errors of a write (a full disk) keep the line for another try; only a reader that is gone is the
 * end.
 *
 * stdout is often shared (a terminal, the pipe of a script), so its file status flags are not
 * touched: pipes and terminals are opened once more for writing without waiting, sockets are
 * written with a flag per call.
 *
 * The fate of the lines is counted in exporters/transport/output_counts.h, as output "stdout".
 *
 * Owner:   ntk_monitor_stream_create() / _destroy(); fd stays the caller's.
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

/* One line always fits into an empty queue. */
#define NTK_MONITOR_STREAM_BYTES_MAX (1024 * 1024)
#define NTK_MONITOR_STREAM_LINES_MAX 64

#define NTK_MONITOR_STREAM_STEP_NS (20 * NTK_NS_PER_MS)

struct ntk_monitor_stream;

int ntk_monitor_stream_create(int fd, struct ntk_monitor_stream **out_stream, struct ntk_err *err);
void ntk_monitor_stream_destroy(struct ntk_monitor_stream *stream);
/* Queues a copy and writes what goes without waiting. 1 when the line was dropped, 0, or -errno as
 * for _flush. is_cut: the line was made shorter, and counted. */
int ntk_monitor_stream_put(struct ntk_monitor_stream *stream, const char *line, size_t line_bytes,
                           bool is_cut);
/* Writes what goes without waiting. 0, -EPIPE when the reader is gone, or -errno. */
int ntk_monitor_stream_flush(struct ntk_monitor_stream *stream);
/* Writes until nothing is queued, for at most for_ns, or until must_stop(ctx) says so, which is
 * asked every NTK_MONITOR_STREAM_STEP_NS. As _flush. */
int ntk_monitor_stream_drain(struct ntk_monitor_stream *stream, const struct ntk_clock *clock,
                             uint64_t for_ns, bool (*must_stop)(void *ctx), void *ctx);
bool ntk_monitor_stream_is_empty(const struct ntk_monitor_stream *stream);
/* Whether being writable is what the stream waits for; else it needs _flush() now and then. */
bool ntk_monitor_stream_waits_for_out(const struct ntk_monitor_stream *stream);
/* Some bytes of a line are written and some are not. */
bool ntk_monitor_stream_is_torn(const struct ntk_monitor_stream *stream);
uint64_t ntk_monitor_stream_dropped_count(const struct ntk_monitor_stream *stream);
uint64_t ntk_monitor_stream_cut_count(const struct ntk_monitor_stream *stream);
/* The descriptor to watch for EPOLLOUT while the stream waits for it. */
int ntk_monitor_stream_fd_get(const struct ntk_monitor_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
