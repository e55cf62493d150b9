/* SPDX-License-Identifier: MIT */
/* snapshot_idle - joins the idle times of processes in snapshots. */
#include "shared/metrics/snapshot_idle.h"

static const struct ntk_idle_cause *copy_causes(struct ntk_snapshot *snapshot,
                                                const struct ntk_idle_sample *sample, size_t count)
{
    struct ntk_idle_cause *causes = ntk_snapshot_alloc(snapshot, count, sizeof *causes);

    for (size_t i = 0; causes && i < count; i++) {
        const struct ntk_idle_cause *from = &sample->causes[i];

        causes[i] = *from;
        causes[i].cause = ntk_snapshot_text(snapshot, from->cause);
        causes[i].thread = ntk_snapshot_text(snapshot, from->thread);
        causes[i].function = ntk_snapshot_text(snapshot, from->function);
        causes[i].module = ntk_snapshot_text(snapshot, from->module);
        causes[i].syscall = ntk_snapshot_text(snapshot, from->syscall);
        causes[i].object = ntk_snapshot_text(snapshot, from->object);
    }
    return causes;
}

void ntk_snapshot_join_idle(struct ntk_snapshot *snapshot, const struct ntk_idle_sample *older,
                            size_t older_count, const struct ntk_idle_sample *newer,
                            size_t newer_count)
{
    size_t all = older_count + newer_count;
    size_t count = all < NTK_SNAPSHOT_IDLE_MAX ? all : NTK_SNAPSHOT_IDLE_MAX;
    struct ntk_idle_sample *samples = ntk_snapshot_alloc(snapshot, count, sizeof *samples);

    for (size_t i = 0; samples && i < count; i++) {
        size_t at = all - count + i;
        const struct ntk_idle_sample *from =
            at < older_count ? &older[at] : &newer[at - older_count];
        size_t causes = from->cause_count < NTK_SNAPSHOT_IDLE_CAUSES_MAX
                            ? from->cause_count
                            : NTK_SNAPSHOT_IDLE_CAUSES_MAX;

        samples[i] = *from;
        samples[i].causes = copy_causes(snapshot, from, causes);
        samples[i].cause_count = samples[i].causes ? causes : 0;
    }
    snapshot->idle = samples;
    snapshot->idle_count = samples ? count : 0;
}
