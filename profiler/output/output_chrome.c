/* SPDX-License-Identifier: MIT */
/*
 * output_chrome - a profile in the JSON trace event format, docs/formats/profile-traces.md.
 *
 * A core is a process; complete events of one thread must nest, so spans that overlap get threads of
 * their own, named alike.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/output/lanes.h"
#include "profiler/output/rows.h"
#include "shared/base/json.h"

#define RINGS ((size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES)

struct writer {
    struct ntk_sink *sink;
    struct ntk_buf *buf; /* the sink's */
    bool has_event;
    int64_t pid;
    uint64_t tid_count;
    struct ntk_lanes engines[NTK_NTFF_ENGINE_COUNT];
    struct ntk_lanes rings[RINGS];
};

#define ADD(buf, literal) ntk_buf_add(buf, literal, sizeof(literal) - 1)

/* Nanoseconds as microseconds with three digits, the unit of the format. */
static void put_us(struct ntk_buf *buf, int64_t ns)
{
    unsigned below = (unsigned)(ns % 1000);
    char digits[] = { '.', (char)('0' + below / 100), (char)('0' + below / 10 % 10),
                      (char)('0' + below % 10) };

    ntk_buf_add_i64(buf, ns / 1000);
    ntk_buf_add(buf, digits, sizeof digits);
}

/* What stands between events; the head of one: {"ph":"X","name":"...","pid":1,"tid":2 */
static void begin_event(struct writer *w, char phase, const char *name, uint64_t tid)
{
    if (w->has_event) {
        ADD(w->buf, ",\n");
    }
    w->has_event = true;
    ADD(w->buf, "{\"ph\":\"");
    ntk_buf_add_char(w->buf, phase);
    ADD(w->buf, "\",\"name\":");
    ntk_json_add_quoted(w->buf, name);
    ADD(w->buf, ",\"pid\":");
    ntk_buf_add_i64(w->buf, w->pid);
    ADD(w->buf, ",\"tid\":");
    ntk_buf_add_u64(w->buf, tid);
}

/* Ends the arguments and the event. */
static int end_event(struct writer *w)
{
    ADD(w->buf, "}}");
    return ntk_sink_step(w->sink);
}

/* "process_name", "thread_name" */
static int put_name(struct writer *w, const char *what, const char *name, uint64_t tid)
{
    begin_event(w, 'M', what, tid);
    ADD(w->buf, ",\"args\":{\"name\":");
    ntk_json_add_quoted(w->buf, name);
    return end_event(w);
}

static int begin_core(struct writer *w, int64_t core_index, const struct ntk_trace_core *core)
{
    char name[NTK_NTFF_NAME_BYTES + 32];

    w->pid = core_index + 1;
    snprintf(name, sizeof name, "NC %u (%s)", core->ntff->core, core->ntff->name);
    return put_name(w, "process_name", name, 0);
}

static void forget_lanes(struct writer *w)
{
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_lanes_fini(&w->engines[e]);
    }
    for (size_t r = 0; r < RINGS; r++) {
        ntk_lanes_fini(&w->rings[r]);
    }
}

/* Rows of another core than the last one's have threads of their own. */
static void turn_to(struct writer *w, int64_t core_index)
{
    if (w->pid != core_index + 1) {
        w->pid = core_index + 1;
        forget_lanes(w);
    }
}

/* The line for a span; *out_is_new when it has no name yet. NULL without memory. */
static struct ntk_lane *take_lane(struct writer *w, struct ntk_lanes *lanes, int64_t start_ns,
                                  int64_t duration_ns, bool *out_is_new)
{
    struct ntk_lane *lane = ntk_lanes_take(lanes, start_ns, start_ns + duration_ns);

    *out_is_new = lane && !lane->id;
    if (*out_is_new) {
        lane->id = ++w->tid_count;
    }
    return lane;
}

/* A complete event, open for its arguments. */
static void begin_span(struct writer *w, const struct ntk_lane *lane, const char *name,
                       int64_t start_ns, int64_t duration_ns)
{
    begin_event(w, 'X', name, lane->id);
    ADD(w->buf, ",\"ts\":");
    put_us(w->buf, start_ns);
    ADD(w->buf, ",\"dur\":");
    put_us(w->buf, duration_ns);
    ADD(w->buf, ",\"args\":{");
}

static int put_instruction(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_instruction_row *row = data;
    bool is_new;

    turn_to(w, row->core_index);
    struct ntk_lane *lane =
        take_lane(w, &w->engines[row->engine_number], row->start_ns, row->duration_ns, &is_new);
    if (!lane) {
        return -ENOMEM;
    }
    int ret = is_new ? put_name(w, "thread_name", row->title, lane->id) : 0;
    if (ret < 0) {
        return ret;
    }
    begin_span(w, lane, row->opcode, row->start_ns, row->duration_ns);
    ADD(w->buf, "\"pc\":");
    ntk_buf_add_i64(w->buf, row->pc);
    if (row->compiler_pc != NTK_ABSENT_I64) {
        ADD(w->buf, ",\"compiler_pc\":");
        ntk_buf_add_i64(w->buf, row->compiler_pc);
    }
    if (row->wait_ns != NTK_ABSENT_I64 && row->wait_ns) {
        ADD(w->buf, ",\"evt_wait_time_ns\":");
        ntk_buf_add_i64(w->buf, row->wait_ns);
    }
    if (row->layer && row->layer[0]) {
        ADD(w->buf, ",\"layer\":");
        ntk_json_add_quoted(w->buf, row->layer);
    }
    return end_event(w);
}

static int put_packet(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_packet_row *row = data;
    size_t ring = (size_t)row->engine % NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES +
                  (size_t)row->queue % NTK_NTFF_DMA_QUEUES;
    bool is_new;
    int ret = 0;

    turn_to(w, row->core_index);
    struct ntk_lane *lane = take_lane(w, &w->rings[ring], row->start_ns, row->duration_ns, &is_new);
    if (!lane) {
        return -ENOMEM;
    }
    if (is_new) {
        char thread[NTK_NTFF_NAME_BYTES + 32];
        (void)snprintf(thread, sizeof thread, "%s%s%s", row->queue_name ? row->queue_name : "",
                       row->queue_name ? " " : "", row->lane);
        ret = put_name(w, "thread_name", thread, lane->id);
    }
    if (ret < 0) {
        return ret;
    }
    begin_span(w, lane, row->queue_type, row->start_ns, row->duration_ns);
    ADD(w->buf, "\"bytes\":");
    ntk_buf_add_i64(w->buf, row->bytes);
    return end_event(w);
}

/* A counter, open for its value. */
static void begin_counter(struct writer *w, int64_t core_index, const char *name, int64_t time_ns)
{
    w->pid = core_index + 1;
    begin_event(w, 'C', name, 0);
    ADD(w->buf, ",\"ts\":");
    put_us(w->buf, time_ns);
    ADD(w->buf, ",\"args\":{");
}

static int put_rate(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_rate_row *row = data;
    char text[32];

    begin_counter(w, row->core_index, "DMA throughput", row->time_ns);
    ADD(w->buf, "\"B/s\":");
    ntk_buf_add(w->buf, text,
                ntk_json_format_float(text, sizeof text, (float)row->bytes_per_second));
    return end_event(w);
}

static int put_throttle(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_throttle_row *row = data;
    char text[32];

    begin_counter(w, row->core_index, "Throttle limit", row->time_ns);
    ADD(w->buf, "\"of 1\":");
    ntk_buf_add(w->buf, text,
                ntk_json_format_double(text, sizeof text, (double)row->k / (double)row->n));
    return end_event(w);
}

static int put_pending(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_pending_row *row = data;

    begin_counter(w, row->core_index, "Pending DMA", row->time_ns);
    ADD(w->buf, "\"transfers\":");
    ntk_buf_add_i64(w->buf, row->value);
    return end_event(w);
}

static int put_semaphore(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_semaphore_row *row = data;
    char name[NTK_NTFF_NAME_BYTES + 32];

    (void)snprintf(name, sizeof name, "Semaphore %s", row->name);
    begin_counter(w, row->core_index, name, row->time_ns);
    ADD(w->buf, "\"value\":");
    ntk_buf_add_i64(w->buf, row->value);
    return end_event(w);
}

static int put_events(const struct ntk_export *export, struct writer *w)
{
    static const struct {
        int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx);
        ntk_row_put *put;
    } kinds[] = {
        { ntk_rows_instructions, put_instruction },
        { ntk_rows_packets, put_packet },
        { ntk_rows_rates, put_rate },
        { ntk_rows_throttles, put_throttle },
        { ntk_rows_pending, put_pending },
        { ntk_rows_semaphores, put_semaphore },
    };
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        ret = begin_core(w, (int64_t)c, &export->trace->cores[c]);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && ret == 0; k++) {
        w->pid = 0;
        ret = kinds[k].rows(export, kinds[k].put, w);
    }
    return ret;
}

int ntk_export_to_chrome(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct writer *w = calloc(1, sizeof *w);
    struct ntk_sink sink;

    if (!w) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_sink_open(&sink, path, err);
    if (ret < 0) {
        free(w);
        return ret;
    }
    w->sink = &sink;
    w->buf = &sink.buf;
    ADD(w->buf, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"profile\":");
    ntk_json_add_quoted(w->buf, export->profile_name);
    ADD(w->buf, ",\"instance_type\":");
    ntk_json_add_quoted(w->buf, export->trace->ntff->instance_type);
    ADD(w->buf, "},\"traceEvents\":[\n");
    ret = put_events(export, w);
    ADD(w->buf, "\n]}\n");
    forget_lanes(w);
    free(w);
    return ntk_export_finish(&sink, ret, err);
}
