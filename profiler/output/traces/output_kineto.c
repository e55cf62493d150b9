/* SPDX-License-Identifier: MIT */
/*
 * output_kineto - writes ranks as traces in the format of PyTorch's profiler, one file each
 * (docs/formats/rank-traces.md): core activity becomes kernels on streams, host activity becomes
 * operators and runtime calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/traces/rank_files.h"
#include "shared/base/bits.h"
#include "shared/base/json.h"

/* Readers recognise collectives by this prefix. */
#define COLLECTIVE_PREFIX "ncclKernel_"

#define ADD(buf, literal) ntk_buf_add(buf, literal, sizeof(literal) - 1)

struct writer {
    struct ntk_buf *buf;
    bool has_event;
};

/* Writes nanoseconds as microseconds with three digits, the unit of the format. */
static void put_us(struct ntk_buf *buf, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    ntk_buf_add_format(buf, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
                       (unsigned)(size % 1000));
}

static void put_text(struct ntk_buf *buf, const char *key, const char *text)
{
    ntk_json_add_quoted(buf, key);
    ADD(buf, ": ");
    ntk_json_add_quoted(buf, text);
}

static void put_number(struct ntk_buf *buf, const char *key, int64_t value)
{
    ntk_json_add_quoted(buf, key);
    ADD(buf, ": ");
    ntk_buf_add_i64(buf, value);
}

/* Returns the stream: executions and collectives of a core have a stream each; 0 is not used. */
static int64_t stream_of(const struct ntk_rank_span *span)
{
    return 2 * (int64_t)span->span->device_core + (span->kind == NTK_RANK_COLLECTIVE ? 2 : 1);
}

/* Returns a name without words that make readers mistake a kernel for a copy. */
static const char *run_name(const struct ntk_system_span *span)
{
    static const char *const words[] = { "Memcpy", "Memset", "dma", "nccl" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(span->name, words[i])) {
            return span->type;
        }
    }
    return span->name[0] ? span->name : span->type;
}

/* ---- events ---- */

static void begin_event(struct writer *w, const char *phase, int64_t pid, int64_t tid)
{
    ntk_buf_add_text(w->buf, w->has_event ? ",\n    {" : "    {");
    w->has_event = true;
    put_text(w->buf, "ph", phase);
    ADD(w->buf, ", ");
    put_number(w->buf, "pid", pid);
    ADD(w->buf, ", ");
    put_number(w->buf, "tid", tid);
}

static void put_name(struct writer *w, const char *what, int64_t pid, int64_t tid, const char *name)
{
    begin_event(w, "M", pid, tid);
    ADD(w->buf, ", ");
    put_text(w->buf, "name", what);
    ADD(w->buf, ", \"ts\": 0, \"args\": {");
    put_text(w->buf, "name", name);
    ADD(w->buf, "}}");
}

/* Writes the arguments of collectives of the communicator: all its ranks, if known. */
static void put_group(struct ntk_buf *buf, const struct ntk_rank_group *group)
{
    ntk_buf_add_format(buf, ", \"Process Group Name\": \"%016llx\"",
                       (unsigned long long)group->key);
    ADD(buf, ", ");
    put_number(buf, "Group size", group->rank_count);
    if (group->known_count == group->rank_count) {
        ADD(buf, ", \"Process Group Ranks\": \"[");
        for (uint32_t i = 0; i < group->rank_count; i++) {
            ntk_buf_add_text(buf, i ? ", " : "");
            ntk_buf_add_u64(buf, group->members[i]);
        }
        ADD(buf, "]\"");
    }
}

static void put_arguments(const struct ntk_rank_files *files, const struct ntk_rank_span *of,
                          struct ntk_buf *buf)
{
    const struct ntk_system_span *span = of->span;
    bool is_execute = strcmp(span->type, "nrt_execute") == 0;
    bool is_device = of->kind == NTK_RANK_RUN || of->kind == NTK_RANK_COLLECTIVE;

    put_text(buf, "type", span->type);
    if (is_device) {
        ADD(buf, ", \"device\": 0, ");
        put_number(buf, "stream", stream_of(of));
    }
    if (of->kind == NTK_RANK_RUN) {
        ADD(buf, ", ");
        put_number(buf, "device core", span->device_core);
    }
    if (span->exec_id && (is_execute || of->kind == NTK_RANK_RUN)) {
        ADD(buf, ", ");
        put_number(buf, "correlation", ntk_rows_i64(span->exec_id));
        ADD(buf, ", ");
        put_number(buf, "External id", ntk_rows_i64(span->exec_id));
    }
    if (of->kind == NTK_RANK_COLLECTIVE) {
        ADD(buf, ", ");
        if (ntk_system_span_operation(span)) {
            put_text(buf, "Collective name", ntk_system_span_operation(span));
            ADD(buf, ", ");
        }
        put_text(buf, "dtype", "Byte"); /* element counts are byte counts */
        ADD(buf, ", ");
        put_number(buf, "In msg nelems", ntk_rows_i64(span->bytes));
        if (of->group != NTK_RANK_NO_GROUP) {
            put_group(buf, ntk_vec_at(&files->groups, of->group));
            ADD(buf, ", ");
            put_number(buf, "Seq", ntk_rows_i64(span->exec_id));
        }
    } else if (of->kind == NTK_RANK_MARK) {
        ADD(buf, ", ");
        put_number(buf, "value", ntk_rows_i64(span->bytes));
    } else if (span->bytes) {
        ADD(buf, ", ");
        put_number(buf, "bytes", ntk_rows_i64(span->bytes));
    }
    if (span->model_id && span->name[0]) {
        ADD(buf, ", ");
        put_text(buf, "model", span->name);
    }
}

static void put_span(const struct ntk_rank_files *files, const struct ntk_rank_span *of,
                     struct writer *w)
{
    static const char *const categories[] = {
        [NTK_RANK_HOST] = "cpu_op",
        [NTK_RANK_MARK] = "user_annotation",
        [NTK_RANK_RUN] = "kernel",
        [NTK_RANK_COLLECTIVE] = "kernel",
        [NTK_RANK_OTHER] = "cpu_instant_event",
    };
    const struct ntk_system_span *span = of->span;
    bool is_device = of->kind == NTK_RANK_RUN || of->kind == NTK_RANK_COLLECTIVE;
    bool is_instant = span->is_instant || of->kind == NTK_RANK_OTHER;
    const char *category = strcmp(span->type, "nrt_execute") == 0 ? "cuda_runtime"
                           : is_instant                           ? "cpu_instant_event"
                                                                  : categories[of->kind];

    begin_event(w, is_instant ? "i" : "X",
                is_device ? 0 : ntk_rows_i64(of->trace->info ? of->trace->info->process_id : 0),
                is_device ? stream_of(of) : span->thread_id);
    ADD(w->buf, ", ");
    put_text(w->buf, "cat", category);
    ADD(w->buf, ", \"name\": ");
    if (of->kind == NTK_RANK_COLLECTIVE) {
        const char *operation = ntk_system_span_operation(span);

        ntk_buf_add_format(w->buf, "\"" COLLECTIVE_PREFIX "%s\"",
                           operation ? operation : span->type);
    } else {
        ntk_json_add_quoted(w->buf, of->kind == NTK_RANK_RUN ? run_name(span)
                                                             : ntk_system_span_label(span));
    }
    ADD(w->buf, ", \"ts\": ");
    put_us(w->buf, of->start_ns);
    if (is_instant) {
        ADD(w->buf, ", \"s\": \"t\"");
    } else {
        ADD(w->buf, ", \"dur\": ");
        put_us(w->buf, of->end_ns - of->start_ns);
    }
    ADD(w->buf, ", \"args\": {");
    put_arguments(files, of, w->buf);
    ADD(w->buf, "}}");
}

/* ---- names of lines ---- */

/* Writes names of the streams, and of the processes of this rank. */
static void put_names(const struct ntk_vec *spans, const struct ntk_rank *rank, struct writer *w)
{
    const struct ntk_system_trace *named = NULL;
    uint64_t has_stream[NTK_BITS_WORDS(2048)] = { 0 };
    char text[64];

    put_name(w, "process_name", 0, 0, "NeuronCore");
    ntk_vec_each(const struct ntk_rank_span, span, spans) {
        if (span->trace != named) {
            named = span->trace;
            (void)snprintf(text, sizeof text, "rank %u, worker %u", rank->number, rank->worker);
            put_name(w, "process_name",
                     ntk_rows_i64(span->trace->info ? span->trace->info->process_id : 0), 0, text);
        }
        if (span->kind == NTK_RANK_RUN || span->kind == NTK_RANK_COLLECTIVE) {
            uint64_t stream = (uint64_t)stream_of(span);
            if (stream < sizeof has_stream * 8 && !ntk_bits_has(has_stream, stream)) {
                ntk_bits_add(has_stream, stream);
                if (span->kind == NTK_RANK_RUN) {
                    (void)snprintf(text, sizeof text, "executions on core %u",
                                   span->span->device_core);
                } else { /* traces do not record the core */
                    (void)snprintf(text, sizeof text, "collectives");
                }
                put_name(w, "thread_name", 0, (int64_t)stream, text);
            }
        }
    }
}

static void put_head(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                     const struct ntk_system_trace *trace, struct ntk_buf *buf)
{
    ADD(buf, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, ");
    put_text(buf, "name",
             trace && trace->info && trace->info->instance_type ? trace->info->instance_type
                                                                : "NeuronCore");
    ADD(buf, "}\n  ],\n  \"distributedInfo\": {\"backend\": \"neuron\", ");
    put_number(buf, "rank", rank->number);
    ADD(buf, ", ");
    put_number(buf, "world_size", files->world_count);
    ADD(buf, "},\n  \"neuron\": {");
    put_number(buf, "worker_gid", rank->worker);
    ADD(buf, ", ");
    put_number(buf, "clock_offset_ns", rank->offset_ns);
    ADD(buf, ", ");
    put_number(buf, "lost_events", ntk_rows_i64(rank->lost_count));
    ADD(buf, ", ");
    put_number(buf, "partial_spans", ntk_rows_i64(rank->partial_count));
    ADD(buf, "},\n  \"displayTimeUnit\": \"ms\",\n  ");
    put_number(buf, "baseTimeNanoseconds", files->zero_ns);
    ADD(buf, ",\n  ");
    put_text(buf, "traceName", files->export->profile_name);
    ADD(buf, ",\n  \"traceEvents\": [\n");
}

static int put_rank(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                    struct ntk_sink *sink)
{
    struct writer w = { .buf = &sink->buf };
    struct ntk_vec spans;
    int ret = ntk_rank_files_spans(files, rank, &spans);

    if (ret < 0) {
        return ret;
    }
    const struct ntk_rank_span *first = spans.items;
    put_head(files, rank, first ? first->trace : NULL, w.buf);
    put_names(&spans, rank, &w);
    ntk_vec_each(const struct ntk_rank_span, span, &spans) {
        put_span(files, span, &w);
        ret = ret == 0 ? ntk_sink_step(sink) : ret;
    }
    ADD(w.buf, "\n  ]\n}\n");
    ntk_vec_fini(&spans);
    return ret;
}

int ntk_export_to_kineto(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    static const struct ntk_rank_format format = {
        .name = "kineto", .head = "rank_", .tail = ".json", .put = put_rank
    };

    return ntk_rank_files_write(export, path, &format, err);
}
