/* SPDX-License-Identifier: MIT */
/* rows_split - creates rows for executions and loads, split by their analyses, and for the contents
 * of full memory. */
#include "profiler/output/tables/rows_split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/rows_system.h"
#include "shared/base/json.h"

static_assert(NTK_SPLIT_ABSENT == NTK_ABSENT_I64, /* NOLINT(misc-redundant-expression) */
              "unknown values have no cell");

static const char *instance_of(const struct ntk_system_trace *trace)
{
    return trace->info ? trace->info->instance_id : "";
}

static int64_t id_or_absent(uint64_t id)
{
    return id ? ntk_rows_i64(id) : NTK_ABSENT_I64;
}

static const char *text_or_absent(const char *text)
{
    return text && text[0] ? text : NULL;
}

int ntk_rows_system_executions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        struct ntk_execution_split split;

        ret = ntk_analysis_execution_split(trace, &split);
        for (size_t i = 0; ret == 0 && i < split.count; i++) {
            const struct ntk_split_execution *one = &split.items[i];
            struct ntk_split_row row = {
                .exec_id = ntk_rows_i64(one->exec_id),
                .nc = one->nc,
                .model_id = id_or_absent(one->model_id),
                .sequence = id_or_absent(one->sequence),
                .process = ntk_rows_system_process(trace),
                .time_ns = ntk_rows_i64(one->start_ns),
                .model = text_or_absent(one->model),
                .bound = one->bound,
                .instance = instance_of(trace),
                .is_partial = one->is_partial,
                .submit_ns = one->submit_ns,
                .queue_ns = one->queue_ns,
                .queue_busy_ns = one->queue_busy_ns,
                .switch_ns = one->switch_ns,
                .device_ns = one->device_ns,
                .notify_ns = one->notify_ns,
                .post_ns = one->post_ns,
                .total_ns = one->total_ns,
                .host_ns = one->host_ns,
            };
            ret = put(ctx, &row);
            if (ret < 0) {
                ntk_execution_split_fini(&split);
                return ret;
            }
        }
        if (ret == 0) {
            ntk_execution_split_fini(&split);
        }
    }
    return ret;
}

static int64_t i64_if(bool is_known, uint64_t value)
{
    return is_known ? ntk_rows_i64(value) : NTK_ABSENT_I64;
}

int ntk_rows_system_loads(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        struct ntk_load_split split;

        ret = ntk_analysis_load_split(trace, &split);
        for (size_t i = 0; ret == 0 && i < split.count; i++) {
            const struct ntk_split_load *one = &split.items[i];
            struct ntk_load_row row = {
                .nc = one->nc,
                .model_id = id_or_absent(one->model_id),
                .process = ntk_rows_system_process(trace),
                .time_ns = ntk_rows_i64(one->start_ns),
                .duration_ns = ntk_rows_i64(one->duration_ns),
                .model = text_or_absent(one->model),
                .instance = instance_of(trace),
                .is_partial = one->is_partial,
                .alloc_count = i64_if(split.has_allocs, one->alloc_count),
                .alloc_bytes = i64_if(split.has_allocs, one->alloc_bytes),
                .alloc_ns = i64_if(split.has_alloc_times, one->alloc_ns),
                .copy_count = i64_if(split.has_copies, one->copy_count),
                .copy_bytes = i64_if(split.has_copies, one->copy_bytes),
                .copy_ns = i64_if(split.has_copies, one->copy_ns),
                .rest_ns = i64_if(split.has_allocs || split.has_copies, one->rest_ns),
            };
            ret = put(ctx, &row);
            if (ret < 0) {
                ntk_load_split_fini(&split);
                return ret;
            }
        }
        if (ret == 0) {
            ntk_load_split_fini(&split);
        }
    }
    return ret;
}

static void usages_json(const struct ntk_out_of_memory *memory, struct ntk_buf *buf)
{
    struct ntk_json json;

    ntk_json_init(&json, buf, false);
    ntk_json_array_begin(&json);
    for (size_t u = 0; u < memory->usage_count; u++) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "usage", memory->usages[u].usage);
        ntk_json_key_u64(&json, "bytes", memory->usages[u].bytes);
        ntk_json_key_u64(&json, "peak_bytes", memory->usages[u].peak_bytes);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
}

static void largest_json(const struct ntk_out_of_memory *memory, struct ntk_buf *buf)
{
    struct ntk_json json;
    char address[24];

    ntk_json_init(&json, buf, false);
    ntk_json_array_begin(&json);
    for (size_t i = 0; i < memory->largest_count; i++) {
        (void)snprintf(address, sizeof address, "0x%" PRIx64, memory->largest[i].address);
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "physical_address", address);
        ntk_json_key_u64(&json, "bytes", memory->largest[i].bytes);
        ntk_json_key_text(&json, "usage", memory->largest[i].usage);
        ntk_json_key_u64(&json, "nc_idx", memory->largest[i].nc);
        ntk_json_key_u64(&json, "timestamp", memory->largest[i].time_ns);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
}

static int put_out_of_memory(const struct ntk_system_trace *trace,
                             const struct ntk_out_of_memory *memory, ntk_row_put *put, void *ctx)
{
    struct ntk_buf usages = { 0 };
    struct ntk_buf largest = { 0 };

    usages_json(memory, &usages);
    largest_json(memory, &largest);
    struct ntk_oom_row row = {
        .time_ns = ntk_rows_i64(memory->time_ns),
        .nc = memory->nc,
        .hbm = memory->hbm == NTK_SYSTEM_NO_STACK ? NTK_ABSENT_I64 : memory->hbm,
        .device = memory->device == NTK_SYSTEM_NO_STACK ? NTK_ABSENT_I64 : memory->device,
        .size = id_or_absent(memory->size),
        .code = memory->code,
        .model_id = id_or_absent(memory->model_id),
        .process = ntk_rows_system_process(trace),
        .usage = memory->usage,
        .model = text_or_absent(memory->model),
        .call = text_or_absent(memory->call),
        .instance = instance_of(trace),
        .total_bytes =
            memory->hbm == NTK_SYSTEM_NO_STACK ? NTK_ABSENT_I64 : ntk_rows_i64(memory->total_bytes),
        .capacity_bytes = id_or_absent(memory->capacity_bytes),
        .is_fragmented = memory->is_fragmented,
        .freed_count = ntk_rows_i64(memory->freed_count),
        .freed_bytes = ntk_rows_i64(memory->freed_bytes),
        .kept_count = ntk_rows_i64(memory->kept_count),
        .kept_bytes = ntk_rows_i64(memory->kept_bytes),
        .failed_count = ntk_rows_i64(memory->failed_count),
        .by_usage = ntk_buf_text_get(&usages),
        .largest = ntk_buf_text_get(&largest),
    };
    int ret = ntk_buf_ok(&usages) && ntk_buf_ok(&largest) ? put(ctx, &row) : -ENOMEM;
    ntk_buf_fini(&usages);
    ntk_buf_fini(&largest);
    return ret;
}

int ntk_rows_system_out_of_memory(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        struct ntk_out_of_memory memory;

        ret = ntk_analysis_out_of_memory(trace, &memory);
        if (ret == 0 && memory.is_there) {
            ret = put_out_of_memory(trace, &memory, put, ctx);
        }
    }
    return ret;
}
