/* SPDX-License-Identifier: MIT */
/*
 * report_stream - reads neuron-monitor's reports as they arrive in pieces, one snapshot per report.
 *
 *   while ((got = ntk_report_stream_fill(stream, fd, &err)) > 0) {
 *       while ((ret = ntk_report_stream_next(stream, &snapshot, &err)) != 0) {
 *           ...                       // 1: a snapshot, negative: a message about one text
 *       }
 *   }
 *
 * Reports may be single lines, indented over several lines, without line breaks between them, or in
 * an array. Text that is not a report, is truncated, or is longer than NTK_REPORT_READ_BYTES_MAX,
 * is reported once with its line and skipped; the next report is read normally. Blanks are ignored.
 *
 * Owner:   create / destroy; the caller owns snapshots from next() (ntk_snapshot_destroy()).
 * Threads: one at a time per stream.
 */
#ifndef NTK_SHARED_REPORT_REPORT_STREAM_H
#define NTK_SHARED_REPORT_REPORT_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_snapshot;
struct ntk_report_stream;

/* Counts since the stream was created. */
struct ntk_report_stream_counts {
    uint64_t line_count;   /* complete lines, including empty ones */
    uint64_t report_count; /* reports that were read */
    uint64_t bad_count;    /* texts that were skipped with a message */
};

/* Returns NULL if out of memory. */
struct ntk_report_stream *ntk_report_stream_create(void);
void ntk_report_stream_destroy(struct ntk_report_stream *stream);

/* Adds bytes in portions of any size. Returns 0 or -ENOMEM. */
int ntk_report_stream_add(struct ntk_report_stream *stream, const void *bytes, size_t bytes_count);
/* Does one read() from fd into the stream. Returns the number of bytes, 0 at the end, -EAGAIN,
 * -EINTR, or another -errno with a message. */
ssize_t ntk_report_stream_fill(struct ntk_report_stream *stream, int fd, struct ntk_err *err);
/* Ends the stream: a last line without '\n' counts as a line, and an incomplete report as
 * skipped. */
void ntk_report_stream_end(struct ntk_report_stream *stream);

/* Returns 1 and a snapshot; 0 if no report is complete; -EBADMSG with a message for skipped
 * text; or -ENOMEM. */
int ntk_report_stream_next(struct ntk_report_stream *stream, struct ntk_snapshot **out_snapshot,
                           struct ntk_err *err);

struct ntk_report_stream_counts
ntk_report_stream_counts_get(const struct ntk_report_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
