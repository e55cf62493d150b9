/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/glossary.h"

#include <stdio.h>
#include <string.h>

#include "profiler/analysis/summary.h"
#include "profiler/analysis/throttling.h"

#define CORES 2

static const struct {
    const char *metric, *group, *meaning;
} others[] = {
    { "ultraserver_id", "system", "UltraServer that contains this machine" },
    { "ultraserver_instance_index", "system", "position of the machine in the UltraServer" },
    { "ultraserver_size", "system", "number of machines in the UltraServer" },
    { "ultraserver_type", "system", "type of the UltraServer" },
    { "s3_bucket_path", "server_upload", "location to which the capture was uploaded" },
};

static const char *const extra_groups[] = { "server_upload" };

const char *ntk_glossary_group(unsigned n)
{
    if (n < NTK_SUMMARY_GROUP_COUNT) {
        return ntk_summary_group_name((enum ntk_summary_group)n);
    }
    n -= NTK_SUMMARY_GROUP_COUNT;
    return n < sizeof extra_groups / sizeof *extra_groups ? extra_groups[n] : NULL;
}

typedef void put_metric(void *ctx, const char *metric, const char *group, const char *meaning);

static void each_summary_metric(put_metric *put, void *ctx)
{
    static const struct {
        const char *metric;
        enum ntk_summary_group group;
        const char *meaning;
    } metrics[] = {
#define NTK_SUMMARY(name, group, kind, meaning) { #name, NTK_SUMMARY_GROUP_##group, meaning },
#include "profiler/analysis/summary.def"
    };

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        /* This is the only pair without its group. */
        bool is_total = strncmp(metrics[i].metric, "total_active_time", 17) == 0;
        put(ctx, metrics[i].metric, is_total ? "summary" : ntk_summary_group_name(metrics[i].group),
            metrics[i].meaning);
    }
}

static void each_throttle_metric(put_metric *put, void *ctx)
{
    char metric[72];
    char meaning[96];

    for (unsigned nc = 0; nc < CORES; nc++) {
        const char *group = ntk_summary_group_name(NTK_SUMMARY_GROUP_THROTTLING_NC0 + nc);
        snprintf(metric, sizeof metric, "throttle_active_nc%u_time_ns", nc);
        put(ctx, metric, group, "time during which the core was throttled, ns");
        snprintf(metric, sizeof metric, "throttle_avg_util_limit_nc%u_percent", nc);
        put(ctx, metric, group,
            "mean of the allowed utilization until the core's last instruction");
        for (unsigned t = 0; t < NTK_THROTTLE_TYPES; t++) {
            const char *type = ntk_throttle_type_name(t);
            snprintf(metric, sizeof metric, "throttle_%s_active_time_nc%u_percent", type, nc);
            snprintf(meaning, sizeof meaning,
                     "share of the core's time during which %s set the limit", type);
            put(ctx, metric, group, meaning);
            snprintf(metric, sizeof metric, "throttle_%s_avg_util_limit_nc%u_percent", type, nc);
            snprintf(meaning, sizeof meaning, "mean utilization allowed while %s set the limit",
                     type);
            put(ctx, metric, group, meaning);
        }
    }
}

static void each_queue(put_metric *put, void *ctx)
{
    static const char *const engines[] = { "gpsimd", "scalar", "sync", "vector" };
    static const struct {
        const char *suffix, *sync_suffix, *carries;
    } kinds[] = {
        { "ioparam*", "ioparam*", "weights" },
        { "pio*", "pio0*", "inputs and outputs" },
        { "spillreload*", "spillreload*", "spills and reloads" },
    };
    char metric[48];
    char meaning[96];

    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            bool is_sync = strcmp(engines[e], "sync") == 0;
            snprintf(metric, sizeof metric, "q%s%s", engines[e],
                     is_sync ? kinds[k].sync_suffix : kinds[k].suffix);
            snprintf(meaning, sizeof meaning, "queues for %s that the %s engine starts",
                     kinds[k].carries, engines[e]);
            put(ctx, metric, "dma_queue", meaning);
        }
    }
}

void ntk_glossary_each(put_metric *put, void *ctx)
{
    each_summary_metric(put, ctx);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put(ctx, others[i].metric, others[i].group, others[i].meaning);
    }
    each_throttle_metric(put, ctx);
    each_queue(put, ctx);
}
