/* SPDX-License-Identifier: MIT */
#include "agent/idle/idle_sample.h"

static struct ntk_idle_cause cause_of(const struct ntk_host_records *records,
                                      const struct ntk_host_row *row)
{
    const struct ntk_host_thread *thread = ntk_host_records_thread(records, row->tid);

    return (struct ntk_idle_cause){
        .cause = ntk_host_cause_name(row->cause),
        .thread = thread ? thread->name : "",
        .function = row->function,
        .module = row->module,
        .syscall = row->syscall ? row->syscall : "",
        .object = row->object ? row->object : "",
        .idle_ns = row->share.ns,
        .gaps = row->share.gap_count,
        .longest_ns = row->share.longest_ns,
    };
}

void ntk_idle_sample_make(const struct ntk_host_records *records,
                          const struct ntk_host_result *result, struct ntk_idle_sample *out_sample,
                          struct ntk_idle_cause out_causes[NTK_SNAPSHOT_IDLE_CAUSES_MAX])
{
    size_t all = result->rows.count;
    size_t count = all < NTK_SNAPSHOT_IDLE_CAUSES_MAX ? all : NTK_SNAPSHOT_IDLE_CAUSES_MAX;
    size_t single = all > count ? count - 1 : count;

    out_sample->period_ns = records->end_ns - records->start_ns;
    out_sample->held_ns = result->held_ns;
    out_sample->idle_ns = result->idle_ns;
    out_sample->gaps = result->gap_count;
    out_sample->longest_ns = result->longest_ns;
    out_sample->lost = records->lost;
    out_sample->causes = out_causes;
    out_sample->cause_count = count;
    for (size_t i = 0; i < single; i++) {
        out_causes[i] = cause_of(records, ntk_vec_at(&result->rows, i));
    }
    if (single == count) {
        return;
    }
    struct ntk_idle_cause *rest = &out_causes[single];
    *rest = (struct ntk_idle_cause){ NTK_IDLE_REST, "", "", "", "", "", 0, 0, 0 };
    for (size_t i = single; i < all; i++) {
        const struct ntk_host_row *row = ntk_vec_at(&result->rows, i);
        rest->idle_ns += row->share.ns;
        rest->gaps += row->share.gap_count;
        rest->longest_ns =
            row->share.longest_ns > rest->longest_ns ? row->share.longest_ns : rest->longest_ns;
    }
}
