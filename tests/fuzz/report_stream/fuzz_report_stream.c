/* SPDX-License-Identifier: MIT */
/* Any bytes as neuron-monitor's stream: in pieces and as a whole they yield the same reports and
 * messages. */
#include <stdint.h>
#include <stdlib.h>

#include "shared/metrics/snapshot.h"
#include "shared/report/report_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_all(struct ntk_report_stream *stream)
{
    struct ntk_snapshot *snapshot;
    struct ntk_err err = { 0 };
    int ret;

    while ((ret = ntk_report_stream_next(stream, &snapshot, &err)) != 0) {
        if (ret > 0) {
            ntk_snapshot_destroy(snapshot);
        } else if (err.text[0] == '\0') {
            abort(); /* a skipped part has a message */
        }
    }
}

static struct ntk_report_stream_counts read_in_pieces(const uint8_t *data, size_t size,
                                                      size_t piece_bytes)
{
    struct ntk_report_stream *stream = ntk_report_stream_create();

    if (!stream) {
        abort();
    }
    for (size_t at = 0; at < size; at += piece_bytes) {
        size_t bytes = size - at < piece_bytes ? size - at : piece_bytes;
        if (ntk_report_stream_add(stream, data + at, bytes) < 0) {
            abort();
        }
        take_all(stream);
    }
    ntk_report_stream_end(stream);
    take_all(stream);
    struct ntk_report_stream_counts counts = ntk_report_stream_counts_get(stream);
    ntk_report_stream_destroy(stream);
    return counts;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct ntk_report_stream_counts pieces = read_in_pieces(data + 1, size - 1, data[0] % 64 + 1U);
    struct ntk_report_stream_counts whole = read_in_pieces(data + 1, size - 1, size);
    if (pieces.line_count != whole.line_count || pieces.report_count != whole.report_count ||
        pieces.bad_count != whole.bad_count || whole.report_count + whole.bad_count > size) {
        abort();
    }
    return 0;
}
