/* SPDX-License-Identifier: MIT */
/* rows_core - creates rows for semaphores, throttling, memory, queues and counts of each core. */
#include "profiler/output/tables/rows.h"

#include <string.h>

#include "profiler/analysis/chip_usage.h"
#include "profiler/analysis/throttling.h"

int ntk_rows_semaphores(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct ntk_semaphore_row row = { .core_index =
                                             (int64_t)ntk_trace_core_number(export->trace, c),
                                         .subgraph = core->ntff->name };
        ntk_trace_each_event(core, from) {
            if (!from->is_semaphore) {
                continue;
            }
            row.time_ns = ntk_rows_ns(from->time_ps);
            row.value = from->value;
            row.name = export->cores[c].semaphore_names[from->number];
            row.source =
                from->source == NTK_NTFF_ENGINE_AXI ? "axi" : ntk_ntff_engine_name(from->source);
            row.operation = ntk_ntff_mode_name(from->mode);
            int ret = put(ctx, &row);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

struct usage_target {
    struct ntk_usage_row row;
    ntk_row_put *put;
    void *ctx;
};

static int put_usage(void *ctx, const struct ntk_chip_usage *usage)
{
    struct usage_target *target = ctx;
    struct ntk_usage_row *row = &target->row;
    bool is_psum = usage->space == NTK_CHIP_PSUM;

    row->time_ns = ntk_rows_ns(usage->time_ps);
    row->type = is_psum ? "psum" : "sb";
    row->mean = (double)usage->mean;
    for (unsigned p = 0; p < NTK_CHIP_SAMPLES; p++) {
        row->partitions[p] = is_psum ? NTK_ABSENT_F64 : (double)usage->places[p];
    }
    for (unsigned b = 0; b < NTK_CHIP_BANKS; b++) {
        row->banks[b] = is_psum ? (double)usage->places[b] : NTK_ABSENT_F64;
    }
    return target->put(target->ctx, row);
}

static int put_usages(const struct ntk_export *export, unsigned spaces, ntk_row_put *put, void *ctx)
{
    struct usage_target target = { .put = put, .ctx = ctx };
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        target.row.core_index = (int64_t)ntk_trace_core_number(export->trace, c);
        target.row.subgraph = export->trace->cores[c].ntff->name;
        ret = ntk_analysis_chip_usage(export->program, c, spaces, put_usage, &target);
    }
    return ret;
}

int ntk_rows_usage(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_usages(export, 1U << NTK_CHIP_SBUF | 1U << NTK_CHIP_PSUM, put, ctx);
}

int ntk_rows_sbuf_usage(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_usages(export, 1U << NTK_CHIP_SBUF, put, ctx);
}

int ntk_rows_psum_usage(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_usages(export, 1U << NTK_CHIP_PSUM, put, ctx);
}

int ntk_rows_throttles(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct ntk_throttle_row row = { .core_index =
                                            (int64_t)ntk_trace_core_number(export->trace, c),
                                        .subgraph = core->ntff->name };
        for (size_t i = 0; i < core->throttle_count && ret == 0; i++) {
            const struct ntk_trace_throttle *from = &core->throttles[i];
            int64_t until_ps =
                i + 1 < core->throttle_count ? core->throttles[i + 1].time_ps : core->end_ps;
            const char *name = ntk_throttle_type_name(from->type);
            row.time_ns = ntk_rows_ns(from->time_ps);
            row.duration_ns = until_ps > from->time_ps ? ntk_rows_ns(until_ps - from->time_ps) : 0;
            row.k = from->k;
            row.n = from->n;
            row.type = from->type;
            row.type_name = name ? name : "unknown";
            ret = put(ctx, &row);
        }
    }
    return ret;
}

static int put_throttle_summary(int64_t nc, const char *type, int64_t active_ns, int64_t end_ns,
                                double limit_ratio, ntk_row_put *put, void *ctx)
{
    struct ntk_throttle_summary_row row = {
        .nc = nc,
        .type = type,
        .active_ns = active_ns,
        .active_ratio = (double)active_ns / (double)end_ns,
        .limit_ratio = limit_ratio,
    };

    return put(ctx, &row);
}

int ntk_rows_throttle_summaries(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct ntk_throttling all;
        ntk_analysis_throttling(core, &all);
        if (!all.is_present || all.end_ns <= 0) {
            continue;
        }
        for (unsigned t = 0; t < NTK_THROTTLE_TYPES && ret == 0; t++) {
            const struct ntk_throttle_type *type = &all.types[t];
            if (type->count) {
                ret = put_throttle_summary(
                    core->ntff->core, ntk_throttle_type_name(t), type->duration_ns, all.end_ns,
                    type->duration_ns > 0 ? type->limit_ns / (double)type->duration_ns
                                          : NTK_ABSENT_F64,
                    put, ctx);
            }
        }
        /* same values as throttle_active_ncX_time_ns and throttle_avg_util_limit_ncX_percent */
        if (ret == 0) {
            ret = put_throttle_summary(core->ntff->core, "all", all.limited_ns, all.end_ns,
                                       all.limit_ns / (double)all.end_ns, put, ctx);
        }
    }
    return ret;
}

int ntk_rows_memory(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = export->trace->cores[c].ntff;
        struct ntk_memory_row row = { .core = subgraph->core };
        uint64_t total = 0;
        for (size_t m = 0; m < subgraph->memory_count && ret == 0; m++) {
            row.usage_type = subgraph->memory[m].name;
            row.bytes = ntk_rows_i64(subgraph->memory[m].bytes_count);
            total += subgraph->memory[m].bytes_count;
            ret = put(ctx, &row);
        }
        if (subgraph->memory_count && ret == 0) {
            row.usage_type = "Total";
            row.bytes = ntk_rows_i64(total);
            ret = put(ctx, &row);
        }
    }
    return ret;
}

/* Returns floor(ps * mhz / 10^6), which does not overflow. */
static int64_t cycles(int64_t ps, uint32_t mhz)
{
    return ps / 1000000 * mhz + ps % 1000000 * mhz / 1000000;
}

int ntk_rows_cores(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    int ret = 0;

    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        struct ntk_core_row row = {
            .subgraph = core->ntff->name,
            .core = core->ntff->core,
            .cycles = trace->has_chip ? cycles(core->end_ps, trace->chip.base_mhz) : NTK_ABSENT_I64,
            .trace_count = (int64_t)(core->instruction_count + core->event_count +
                                     core->more_event_count + core->packet_count),
            .event_count = (int64_t)(core->event_count + core->more_event_count),
            .queue_count = (int64_t)core->ntff->queue_count,
        };
        for (size_t i = 0; i < export->layers.layer_count; i++) {
            const struct ntk_layer *layer = &export->layers.layers[i];
            for (unsigned e = 0;
                 layer->core_index == c && !layer->name && e < NTK_NTFF_ENGINE_COUNT; e++) {
                row.instruction_count[e] = (int64_t)layer->engines[e].instruction_count;
            }
        }
        ret = put(ctx, &row);
    }
    return ret;
}

static int put_queue(size_t number, const struct ntk_ntff_subgraph *subgraph,
                     const struct ntk_ntff_queue *queue, ntk_row_put *put, void *ctx)
{
    char shown[NTK_NTFF_NAME_BYTES + 16];
    struct ntk_queue_row row = {
        .name = shown,
        .type = queue->type == NTK_NTFF_QUEUE_WEIGHTS ? "weights"
                : queue->type == NTK_NTFF_QUEUE_IO    ? "io"
                                                      : "unknown",
        .subgraph = subgraph->name,
        .core_index = (int64_t)number,
        .index = queue->queue,
        .engine = queue->engine,
        .dram_channel = ntk_rows_i64(queue->dram_channel),
        .event_id = queue->event_id,
    };

    ntk_ntff_queue_name_show(queue->name, shown, sizeof shown);
    return put(ctx, &row);
}

static int put_queues(const struct ntk_export *export, bool only_last, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = export->trace->cores[c].ntff;
        for (size_t q = 0; q < subgraph->queue_count && ret == 0; q++) {
            bool is_last = true;
            for (size_t later = q + 1; only_last && later < subgraph->queue_count && is_last;
                 later++) {
                is_last = strcmp(subgraph->queues[q].name, subgraph->queues[later].name) != 0;
            }
            if (is_last) {
                ret = put_queue(ntk_trace_core_number(export->trace, c), subgraph,
                                &subgraph->queues[q], put, ctx);
            }
        }
    }
    return ret;
}

int ntk_rows_queues(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_queues(export, true, put, ctx);
}

int ntk_rows_all_queues(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    return put_queues(export, false, put, ctx);
}
