/* SPDX-License-Identifier: MIT */
/* Any bytes as a report: what is taken can be written, and reads back to the same line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ntk_buf write_line(const struct ntk_snapshot *snapshot)
{
    struct ntk_report_options options = { .timestamps = true };
    struct ntk_buf buf = { 0 };

    if (ntk_report_write(snapshot, &options, &buf, NULL) < 0) {
        abort();
    }
    return buf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_snapshot *snapshot;
    struct ntk_snapshot *again;
    struct ntk_err err = { 0 };

    if (ntk_report_read((const char *)data, size, &snapshot, &err) < 0) {
        return 0;
    }
    struct ntk_buf first = write_line(snapshot);
    ntk_snapshot_destroy(snapshot);
    if (ntk_report_read(first.bytes, first.bytes_count, &again, &err) < 0) {
        abort(); /* what we write, we read */
    }
    ntk_snapshot_destroy(again);
    ntk_buf_fini(&first);
    return 0;
}
