/* SPDX-License-Identifier: MIT */
/* Any bytes as a report: an accepted one can be written, and reads back to the same line; its ranks
 * are judged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/ranks.h"
#include "shared/metrics/ranks_pace.h"
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

/* Uses the sizes that the descriptions claim. */
static void judge(const struct ntk_snapshot *snapshot)
{
    const struct ntk_ranks_clock clock = { .ahead_ns = INT64_MIN, .error_ns = UINT64_MAX };
    struct ntk_ranks ranks;
    struct ntk_pace pace;
    size_t seen = 0;

    ntk_ranks_init(&ranks);
    if (ntk_ranks_add(&ranks, snapshot, "host", clock) < 0 || ntk_ranks_judge(&ranks, 0) < 0) {
        abort();
    }
    ntk_vec_each(struct ntk_comm_verdict, verdict, &ranks.verdicts) {
        struct ntk_rank_verdict missing;

        if (verdict->missing_count > verdict->rank_count || verdict->seen > verdict->rank_count ||
            ntk_comm_verdict_missing(verdict, 0, &missing) != (verdict->missing_count > 0)) {
            abort();
        }
        seen += verdict->seen;
    }
    if (seen > ranks.rows.count) {
        abort();
    }
    ntk_ranks_fini(&ranks);
    ntk_pace_init(&pace);
    if (ntk_pace_add(&pace, snapshot, "host") < 0 || ntk_pace_judge(&pace) < 0) {
        abort();
    }
    ntk_pace_fini(&pace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_snapshot *snapshot;
    struct ntk_snapshot *again;
    struct ntk_err err = { 0 };

    if (ntk_report_read((const char *)data, size, &snapshot, &err) < 0) {
        return 0;
    }
    judge(snapshot);
    struct ntk_buf first = write_line(snapshot);
    ntk_snapshot_destroy(snapshot);
    if (ntk_report_read(first.bytes, first.bytes_count, &again, &err) < 0) {
        abort(); /* our own output must be readable */
    }
    ntk_snapshot_destroy(again);
    ntk_buf_fini(&first);
    return 0;
}
