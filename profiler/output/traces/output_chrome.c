/* SPDX-License-Identifier: MIT */
/*
 * output_chrome - writes a profile in the JSON trace event format, docs/formats/profile-traces.md.
 *
 * A core is a process; complete events of one thread must nest, so overlapping spans get separate
 * threads with the same name.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/counters.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/rows_system.h"
#include "profiler/output/traces/arrows.h"
#include "profiler/output/traces/chrome_slots.h"
#include "profiler/output/traces/chrome_text.h"
#include "profiler/output/traces/lanes.h"
#include "profiler/output/traces/slots_ahead.h"
#include "profiler/output/traces/system_lines.h"
#include "shared/base/json.h"
#include "shared/base/str.h"

#define RINGS ((size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES)

#define OPCODES 256
#define OPCODE_BYTES 46 /* longest name with its quotes */

struct opcode_name { /* in quotes, with its length; 0 if not used yet */
    uint8_t bytes_count;
    char bytes[OPCODE_BYTES + 1];
};

struct writer {
    struct ntk_sink *sink;
    struct ntk_buf *buf; /* buffer of the sink */
    bool has_event;
    int64_t first_pid; /* first process of the capture, from 1 */
    int64_t pid;
    int64_t offset_ns;  /* added to the times of the capture */
    const char *prefix; /* for the names of its cores; NULL if none */
    uint64_t tid_count;
    struct ntk_system_lines lines; /* lines of folders */
    struct ntk_map machines;       /* maps a name to its pid */
    struct ntk_lanes engines[NTK_NTFF_ENGINE_COUNT];
    struct ntk_lanes rings[RINGS];
    struct ntk_lanes *queues; /* for transfers, by the number of their queue */
    struct ntk_queue_names queue_names;
    struct opcode_name opcodes[OPCODES];
    const struct ntk_export *export; /* export of the capture */
    int64_t counter_core;            /* number of the core for counters */
    bool has_arrows;
    /* Elements are uint64_t, used with arrows: threads by instruction of all cores, and by
     * transfer. */
    struct ntk_long_list tids, transfer_tids;
    uint64_t arrow_count;
};

#define ADD(buf, literal) ntk_buf_add(buf, literal, sizeof(literal) - 1)

static void put_us(struct ntk_buf *buf, int64_t ns)
{
    char text[NTK_CHROME_US_BYTES];

    ntk_buf_add(buf, text, (size_t)(ntk_chrome_us(text, ns) - text));
}

/* Returns space at the end of the buffer for writing in place; NULL if out of memory. */
static char *begin_text(struct writer *w, size_t bytes)
{
    return ntk_buf_extend(w->buf, bytes);
}

static void end_text(struct writer *w, char *at)
{
    *at = '\0';
    w->buf->bytes_count = (size_t)(at - w->buf->bytes);
}

#define EVENT_BYTES (64U + 2 * NTK_CHROME_NUMBER_BYTES)
#define SPAN_BYTES (64U + 2 * NTK_CHROME_US_BYTES)

/* Writes the text between events, and the start of an event:
 * {"ph":"X","name":"...","pid":1,"tid":2. Names may need escaping; the buffer moves. */
static void begin_event(struct writer *w, char phase, const char *name, uint64_t tid)
{
    char *at = begin_text(w, EVENT_BYTES);

    if (at) {
        at =
            w->has_event ? NTK_CHROME_WORD(at, ",\n{\"ph\":\"") : NTK_CHROME_WORD(at, "{\"ph\":\"");
        *at++ = phase;
        end_text(w, NTK_CHROME_WORD(at, "\",\"name\":"));
    }
    w->has_event = true;
    ntk_json_add_quoted(w->buf, name);
    at = begin_text(w, EVENT_BYTES);
    if (at) {
        at = ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"pid\":"), (uint64_t)w->pid);
        end_text(w, ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"tid\":"), tid));
    }
}

/* Ends the arguments and the event. */
static int end_event(struct writer *w)
{
    ADD(w->buf, "}}");
    return ntk_sink_step(w->sink);
}

/* `what` is "process_name" or "thread_name" */
static int put_name(struct writer *w, const char *what, const char *name, uint64_t tid)
{
    begin_event(w, 'M', what, tid);
    ADD(w->buf, ",\"args\":{\"name\":");
    ntk_json_add_quoted(w->buf, name);
    return end_event(w);
}

static int begin_core(struct writer *w, int64_t core_index, const struct ntk_trace_core *core)
{
    char name[NTK_NTFF_NAME_BYTES + 96];

    w->pid = w->first_pid + core_index;
    (void)snprintf(name, sizeof name, "%s%sNC %u (%s)", w->prefix ? w->prefix : "",
                   w->prefix ? " " : "", core->ntff->core, core->ntff->name);
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
    for (size_t q = 0; w->queues && q < w->queue_names.count; q++) {
        ntk_lanes_fini(&w->queues[q]);
    }
}

/* Returns the process of a core, by its index in the capture. */
static int64_t pid_of(const struct writer *w, int64_t number)
{
    return w->first_pid + (int64_t)ntk_trace_core_place(w->export->trace, (size_t)number);
}

/* Starts a new core, with new threads for its rows. */
static void turn_to(struct writer *w, int64_t number)
{
    int64_t pid = pid_of(w, number);

    if (w->pid != pid) {
        w->pid = pid;
        forget_lanes(w);
    }
}

/* Returns the line for a span; *out_is_new is true if it has no name yet. NULL if out of memory. */
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

/* Writes the rest of a complete event up to its arguments, which are still open. */
static char *put_times(const struct writer *w, char *at, int64_t start_ns, int64_t duration_ns)
{
    at = ntk_chrome_us(NTK_CHROME_WORD(at, ",\"ts\":"), w->offset_ns + start_ns);
    at = ntk_chrome_us(NTK_CHROME_WORD(at, ",\"dur\":"), duration_ns);
    return NTK_CHROME_WORD(at, ",\"args\":{");
}

/* Begins a complete event, with its arguments still open. */
static void begin_span(struct writer *w, uint64_t tid, const char *name, int64_t start_ns,
                       int64_t duration_ns)
{
    begin_event(w, 'X', name, tid);
    char *at = begin_text(w, SPAN_BYTES);
    if (at) {
        end_text(w, put_times(w, at, start_ns, duration_ns));
    }
}

/* Names of operations need no escaping. */
static const struct opcode_name *name_of(struct writer *w, uint8_t opcode)
{
    struct opcode_name *name = &w->opcodes[opcode];
    char unnamed[8];

    if (!name->bytes_count) {
        int length = snprintf(name->bytes, sizeof name->bytes, "\"%s\"",
                              ntk_ntff_opcode_name(opcode, unnamed, sizeof unnamed));
        assert(length > 0 && length <= OPCODE_BYTES);
        name->bytes_count = (uint8_t)length;
    }
    return name;
}

#define INSTRUCTION_BYTES \
    (EVENT_BYTES + OPCODE_BYTES + SPAN_BYTES + 64U + 3 * NTK_CHROME_NUMBER_BYTES)

/* Writes all numbers in one piece: a call for each would take longer than writing it. */
static int put_instruction(struct writer *w, struct ntk_chrome_slots *slots, size_t core_index,
                           const struct ntk_trace_instruction *from)
{
    const struct ntk_trace *trace = w->export->trace;
    const struct ntk_slot_fact *fact = ntk_program_fact(w->export->program, core_index, from);
    int64_t start_ns = ntk_rows_ns(from->start_ps);
    int64_t duration_ns = ntk_rows_ns(from->end_ps - from->start_ps);
    uint32_t wait_ns =
        trace->has_chip ? from->wait_cycles * 1000U / (uint32_t)trace->chip.base_mhz : 0;
    bool is_new;
    struct ntk_lane *lane = take_lane(w, &w->engines[from->engine], start_ns, duration_ns, &is_new);

    if (!lane) {
        return -ENOMEM;
    }
    uint64_t tid = lane->id;
    int ret = is_new ? put_name(w, "thread_name", ntk_ntff_engine_title(from->engine), tid) : 0;
    if (ret == 0 && w->has_arrows) {
        uint64_t *kept = ntk_long_list_add(&w->tids, &ret);
        if (kept) {
            *kept = tid;
        }
    }
    if (ret < 0) {
        return ret;
    }
    const struct opcode_name *name = name_of(w, from->opcode);
    char *at = begin_text(w, INSTRUCTION_BYTES);
    if (at) {
        at = w->has_event ? NTK_CHROME_WORD(at, ",\n{\"ph\":\"X\",\"name\":")
                          : NTK_CHROME_WORD(at, "{\"ph\":\"X\",\"name\":");
        at = ntk_chrome_word(at, name->bytes, name->bytes_count);
        at = ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"pid\":"), (uint64_t)w->pid);
        at = ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"tid\":"), tid);
        at = put_times(w, at, start_ns, duration_ns);
        at = ntk_chrome_u64(NTK_CHROME_WORD(at, "\"pc\":"), from->slot);
        if (fact->compiler_pc >= 0) {
            at = ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"compiler_pc\":"),
                                (uint64_t)fact->compiler_pc);
        }
        if (wait_ns) {
            at = ntk_chrome_u64(NTK_CHROME_WORD(at, ",\"evt_wait_time_ns\":"), wait_ns);
        }
        end_text(w, at);
    }
    w->has_event = true;
    ntk_chrome_slots_add(slots, from, w->buf);
    return end_event(w);
}

/* Writes instructions without the rows of tables, because rows contain all columns of an
 * instruction. */
static int put_instructions(const struct ntk_export *export, struct writer *w)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        struct ntk_chrome_slots *slots = ntk_chrome_slots_create(export, c);

        ret = slots ? 0 : -ENOMEM;
        w->pid = w->first_pid + (int64_t)c;
        forget_lanes(w);
        if (ret == 0) {
            ntk_trace_each_instruction(&export->trace->cores[c], from) {
                ntk_slots_ahead(export, c, from);
                ret = put_instruction(w, slots, c, from);
                if (ret < 0) {
                    break;
                }
            }
        }
        ntk_chrome_slots_destroy(slots);
    }
    return ret;
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
        (void)snprintf(thread, sizeof thread, "%s %s", row->queue_name, row->lane);
        ret = put_name(w, "thread_name", thread, lane->id);
    }
    if (ret < 0) {
        return ret;
    }
    begin_span(w, lane->id, row->queue_type, row->start_ns, row->duration_ns);
    ADD(w->buf, "\"bytes\":");
    ntk_buf_add_i64(w->buf, row->bytes);
    return end_event(w);
}

static void put_text_argument(struct writer *w, const char *key, const char *value)
{
    if (value) {
        ntk_buf_add_char(w->buf, ',');
        ntk_json_add_quoted(w->buf, key);
        ntk_buf_add_char(w->buf, ':');
        ntk_json_add_quoted(w->buf, value);
    }
}

static int put_transfer(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_transfer_row *row = data;
    size_t core = ntk_trace_core_place(w->export->trace, (size_t)row->core_index);
    const struct ntk_transfers_core *of = &w->export->transfers.cores[core];
    size_t index = (size_t)(row->id - w->export->cores[core].first_transfer_id);
    size_t queue = ntk_queue_names_find(
        &w->queue_names, core, &w->export->trace->cores[core].packets[of->items[index].first]);
    bool is_new;
    int ret = 0;

    turn_to(w, row->core_index);
    struct ntk_lane *lane =
        take_lane(w, &w->queues[queue], row->start_ns, row->duration_ns, &is_new);
    if (!lane) {
        return -ENOMEM;
    }
    uint64_t tid = lane->id;
    if (is_new) {
        char thread[NTK_NTFF_NAME_BYTES + 32];
        (void)snprintf(thread, sizeof thread, "Transfers %s", row->queue_name);
        ret = put_name(w, "thread_name", thread, tid);
    }
    if (ret == 0 && w->has_arrows) { /* unknown transfers have no arrow */
        for (size_t c = 0; c < core; c++) {
            index += w->export->transfers.cores[c].count;
        }
        ret = ntk_long_list_resize(&w->transfer_tids, index + 1);
        if (ret == 0) {
            ((uint64_t *)w->transfer_tids.items)[index] = tid;
        }
    }
    if (ret < 0) {
        return ret;
    }
    begin_span(w, tid, row->op ? row->op : NTK_ROWS_TRANSFER_NAME, row->start_ns, row->duration_ns);
    ADD(w->buf, "\"packets\":");
    ntk_buf_add_i64(w->buf, row->packet_count);
    ADD(w->buf, ",\"bytes\":");
    ntk_buf_add_i64(w->buf, row->packet_bytes);
    put_text_argument(w, "variable", row->variable);
    put_text_argument(w, "source", row->source);
    put_text_argument(w, "dest", row->dest);
    put_text_argument(w, "dma_name", row->name);
    return end_event(w);
}

/* Begins a counter, with its value still open. */
static void begin_counter(struct writer *w, int64_t core_index, const char *name, int64_t time_ns)
{
    w->pid = pid_of(w, core_index);
    begin_event(w, 'C', name, 0);
    ADD(w->buf, ",\"ts\":");
    put_us(w->buf, w->offset_ns + time_ns);
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

static int put_counter(void *ctx, enum ntk_counter counter, int64_t time_ps, double value)
{
    const struct ntk_counter_info *info = ntk_counter_info_get(counter);
    struct writer *w = ctx;
    char text[32];

    begin_counter(w, w->counter_core, info->name, ntk_rows_ns(time_ps));
    ntk_buf_add_char(w->buf, '"');
    ntk_buf_add_text(w->buf, info->unit);
    ADD(w->buf, "\":");
    if (info->is_whole) {
        ntk_buf_add_i64(w->buf, (int64_t)value);
    } else {
        ntk_buf_add(w->buf, text, ntk_json_format_double(text, sizeof text, value));
    }
    return end_event(w);
}

static int put_counters(const struct ntk_export *export, struct writer *w)
{
    struct ntk_counters counters;
    int ret = 0;

    ntk_counters_init(&counters, &export->transfers);
    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        w->counter_core = (int64_t)ntk_trace_core_number(export->trace, c);
        ret = ntk_analysis_counters(&counters, c, put_counter, w);
    }
    return ret;
}

static int put_semaphore(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_semaphore_row *row = data;
    static const char kind[] = "Semaphore "; /* as many as events, so no snprintf() */
    char name[NTK_NTFF_NAME_BYTES + sizeof kind];

    memcpy(name, kind, sizeof kind);
    (void)ntk_str_copy(name + sizeof kind - 1, sizeof name - sizeof kind + 1, row->name);
    begin_counter(w, row->core_index, name, row->time_ns);
    ADD(w->buf, "\"value\":");
    ntk_buf_add_i64(w->buf, row->value);
    return end_event(w);
}

/* ---- arrows between instructions ---- */

/* Writes one end of an arrow, within the preceding complete event of the file. */
static int put_arrow_end(struct writer *w, bool is_start, const struct ntk_arrow *arrow,
                         uint64_t tid, int64_t at_ns)
{
    begin_event(w, is_start ? 's' : 'f', arrow->by_transfer ? "transfer" : "signal", tid);
    ADD(w->buf, ",\"cat\":\"wait\",\"id\":");
    ntk_buf_add_u64(w->buf, w->arrow_count);
    if (!is_start) {
        ADD(w->buf, ",\"bp\":\"e\"");
    }
    ADD(w->buf, ",\"ts\":");
    put_us(w->buf, w->offset_ns + at_ns);
    ADD(w->buf, ",\"args\":{");
    return end_event(w);
}

static int put_one_arrow(struct writer *w, const struct ntk_arrow *arrow, uint64_t from_tid,
                         int64_t from_ns, uint64_t to_tid, int64_t to_ns)
{
    w->arrow_count++;
    int ret = put_arrow_end(w, true, arrow, from_tid, from_ns);
    return ret == 0 ? put_arrow_end(w, false, arrow, to_tid, to_ns) : ret;
}

/* Threads of a core's instructions and transfers. */
struct threads {
    const uint64_t *instructions, *transfers;
};

static int put_core_arrows(struct writer *w, const struct ntk_arrows *arrows,
                           const struct ntk_trace_core *core, struct threads tids)
{
    const struct ntk_transfers_core *transfers = &arrows->transfers->cores[arrows->core_index];
    int ret = 0;

    ntk_trace_each_instruction(core, to) {
        uint32_t index = (uint32_t)(to - core->instructions);
        struct ntk_arrow arrow = ntk_arrow_to(arrows, index);
        if (arrow.from != NTK_NO_INDEX) {
            bool is_whole = tids.transfers && arrow.transfer != NTK_NO_INDEX;
            int64_t from_ns = ntk_rows_ns(is_whole ? transfers->items[arrow.transfer].start_ps
                                                   : core->instructions[arrow.from].start_ps);
            ret = put_one_arrow(
                w, &arrow,
                is_whole ? tids.transfers[arrow.transfer] : tids.instructions[arrow.from], from_ns,
                tids.instructions[index], arrow.is_inside ? from_ns : ntk_rows_ns(to->start_ps));
        }
        if (ret < 0) {
            break;
        }
        if (index % NTK_TRACE_LOOKS == 0) {
            ntk_arrows_give_back(arrows);
            ntk_long_list_give_back(&w->tids);
            ntk_long_list_give_back(&w->transfer_tids);
        }
    }
    return ret;
}

/* Writes arrows from each instruction to the transfer that it started. */
static int put_beginnings(struct writer *w, const struct ntk_arrows *arrows,
                          const struct ntk_trace_core *core, struct threads tids)
{
    const struct ntk_transfers_core *transfers = &arrows->transfers->cores[arrows->core_index];
    struct ntk_arrow arrow = { .by_transfer = true };
    int ret = 0;

    for (size_t t = 0; t < transfers->count && ret == 0; t++) {
        const struct ntk_transfer *to = &transfers->items[t];
        if (to->packet_count) {
            ret = put_one_arrow(w, &arrow, tids.instructions[to->instruction],
                                ntk_rows_ns(core->instructions[to->instruction].start_ps),
                                tids.transfers[t], ntk_rows_ns(to->start_ps));
        }
        if (t % NTK_TRACE_LOOKS == 0) {
            ntk_arrows_give_back(arrows);
            ntk_long_list_give_back(&w->tids);
            ntk_long_list_give_back(&w->transfer_tids);
        }
    }
    return ret;
}

static int put_arrows(const struct ntk_export *export, struct writer *w)
{
    struct ntk_arrows arrows = { 0 };
    struct threads tids = { w->tids.items, w->transfer_tids.items };
    int ret = ntk_arrows_init(&arrows, &export->transfers);

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        w->pid = w->first_pid + (int64_t)c;
        ret = ntk_arrows_turn_to(&arrows, c);
        ret = ret == 0 ? put_core_arrows(w, &arrows, core, tids) : ret;
        ret = ret == 0 ? put_beginnings(w, &arrows, core, tids) : ret;
        tids.instructions += core->instruction_count;
        tids.transfers = tids.transfers ? tids.transfers + export->transfers.cores[c].count : NULL;
    }
    ntk_arrows_fini(&arrows);
    return ret;
}

static int put_capture(const struct ntk_export *export, struct writer *w)
{
    static const struct {
        int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx);
        ntk_row_put *put;
    } kinds[] = {
        { ntk_rows_packets, put_packet },       { ntk_rows_transfers, put_transfer },
        { ntk_rows_rates, put_rate },           { ntk_rows_throttles, put_throttle },
        { ntk_rows_semaphores, put_semaphore },
    };
    int ret = ntk_queue_names_init(&w->queue_names, export->trace);

    w->export = export;
    w->has_arrows = export->has_flows;
    w->queues = calloc(w->queue_names.count + 1, sizeof *w->queues);
    ret = w->queues ? ret : -ENOMEM;
    ntk_long_list_init(&w->tids, export->trace, sizeof(uint64_t), 2);
    ntk_long_list_init(&w->transfer_tids, export->trace, sizeof(uint64_t), 2);
    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        ret = begin_core(w, (int64_t)c, &export->trace->cores[c]);
    }
    ret = ret == 0 ? put_instructions(export, w) : ret;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && ret == 0; k++) {
        w->pid = 0;
        ret = kinds[k].rows(export, kinds[k].put, w);
    }
    ret = ret == 0 ? put_counters(export, w) : ret;
    ret = ret == 0 && w->has_arrows ? put_arrows(export, w) : ret;
    forget_lanes(w);
    ntk_long_list_fini(&w->tids);
    ntk_long_list_fini(&w->transfer_tids);
    free(w->queues);
    w->queues = NULL;
    ntk_queue_names_fini(&w->queue_names);
    return ret;
}

/* ---- folders of inspections ---- */

static void put_number_argument(struct writer *w, const char *key, int64_t value)
{
    if (value != NTK_ABSENT_I64) {
        ntk_buf_add_char(w->buf, ',');
        ntk_json_add_quoted(w->buf, key);
        ntk_buf_add_char(w->buf, ':');
        ntk_buf_add_i64(w->buf, value);
    }
}

static int put_system_event(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_system_event_row *row = data;
    struct ntk_system_argument arguments[NTK_SYSTEM_ARGUMENTS_MAX];
    size_t argument_count = ntk_rows_system_arguments(row, arguments);
    struct ntk_system_place place;
    int ret = ntk_system_lines_take(&w->lines, row, &place);

    if (ret < 0) {
        return ret;
    }
    if (!place.process->pid) {
        place.process->pid = w->first_pid++;
        w->pid = place.process->pid;
        ret = put_name(w, "process_name", place.process->name, 0);
    }
    w->pid = place.process->pid;
    if (ret == 0 && !place.lane->id) {
        place.lane->id = ++w->tid_count;
        ret = put_name(w, "thread_name", place.line->name, place.lane->id);
    }
    if (ret < 0) {
        return ret;
    }
    if (row->is_instant) {
        begin_event(w, 'i', row->label, place.lane->id);
        ADD(w->buf, ",\"s\":\"t\",\"ts\":");
        put_us(w->buf, w->offset_ns + row->start_ns);
        ADD(w->buf, ",\"args\":{");
    } else {
        begin_span(w, place.lane->id, row->label, row->start_ns, row->duration_ns);
    }
    ADD(w->buf, "\"id\":");
    ntk_buf_add_i64(w->buf, row->id);
    for (size_t i = 0; i < argument_count; i++) {
        if (arguments[i].text) {
            put_text_argument(w, arguments[i].key, arguments[i].text);
        } else {
            put_number_argument(w, arguments[i].key, arguments[i].number);
        }
    }
    return end_event(w);
}

/* Begins the process for the counters of a machine; the first call writes its name. */
static int begin_machine_counter(struct writer *w, const char *instance, const char *name,
                                 int64_t time_ns)
{
    int64_t pid = (intptr_t)ntk_map_get(&w->machines, instance);
    int ret = 0;

    if (!pid) {
        pid = w->first_pid++;
        ret = ntk_map_put(&w->machines, instance, (void *)(intptr_t)pid);
        w->pid = pid;
        ret = ret == 0 ? put_name(w, "process_name", instance, 0) : ret;
    }
    w->pid = pid;
    begin_event(w, 'C', name, 0);
    ADD(w->buf, ",\"ts\":");
    put_us(w->buf, w->offset_ns + time_ns);
    ADD(w->buf, ",\"args\":{");
    return ret;
}

static int put_cpu(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_cpu_row *row = data;
    char name[64];
    char text[32];

    (void)snprintf(name, sizeof name, "CPU %s", row->cpu);
    int ret = begin_machine_counter(w, row->instance, name, row->time_ns);
    ADD(w->buf, "\"%\":");
    ntk_buf_add(w->buf, text, ntk_json_format_double(text, sizeof text, row->percent));
    return ret == 0 ? end_event(w) : ret;
}

static int put_host_memory(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_host_memory_row *row = data;
    int ret = begin_machine_counter(w, row->instance, "Host memory", row->time_ns);

    ADD(w->buf, "\"B\":");
    ntk_buf_add_i64(w->buf, row->used_bytes);
    return ret == 0 ? end_event(w) : ret;
}

static int put_hbm(void *ctx, const void *data)
{
    struct writer *w = ctx;
    const struct ntk_hbm_row *row = data;
    char name[NTK_HBM_NAME_BYTES];

    ntk_rows_hbm_name(row, name, sizeof name);
    int ret = begin_machine_counter(w, row->instance, name, row->time_ns);
    ADD(w->buf, "\"B\":");
    ntk_buf_add_i64(w->buf, row->total_bytes);
    return ret == 0 ? end_event(w) : ret;
}

static int put_folders(const struct ntk_export *export, struct writer *w)
{
    int64_t zero_ns = ntk_rows_system_first_ns(export);
    struct ntk_system_grouping grouping;
    int ret = ntk_system_grouping_set(&grouping, NULL, NULL, NULL);

    ntk_system_lines_init(&w->lines, export->grouping ? export->grouping : &grouping);
    w->offset_ns = -zero_ns;
    ret = ret == 0 ? ntk_rows_system_events(export, put_system_event, w) : ret;
    ret = ret == 0 ? ntk_rows_system_cpus(export, put_cpu, w) : ret;
    ret = ret == 0 ? ntk_rows_system_host_memory(export, put_host_memory, w) : ret;
    ret = ret == 0 ? ntk_rows_system_hbm(export, put_hbm, w) : ret;
    for (size_t i = 0; i < export->capture_count && ret == 0; i++) {
        const struct ntk_export_capture *capture = &export->captures[i];
        w->prefix = capture->export->profile_name;
        w->offset_ns = ntk_rows_system_offset_ns(capture, zero_ns);
        ret = put_capture(capture->export, w);
        forget_lanes(w);
        w->first_pid += (int64_t)capture->export->trace->core_count;
    }
    ntk_system_lines_fini(&w->lines);
    ntk_map_fini(&w->machines);
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
    w->first_pid = 1;
    ADD(w->buf, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"profile\":");
    ntk_json_add_quoted(w->buf, export->profile_name);
    if (export->folders) {
        ADD(w->buf, ",\"first_ts_ns\":\"");
        ntk_buf_add_i64(w->buf, ntk_rows_system_first_ns(export));
        ntk_buf_add_char(w->buf, '"');
    } else {
        ADD(w->buf, ",\"instance_type\":");
        ntk_json_add_quoted(w->buf, export->trace->ntff->instance_type);
    }
    ADD(w->buf, "},\"traceEvents\":[\n");
    ret = export->folders ? put_folders(export, w) : put_capture(export, w);
    ADD(w->buf, "\n]}\n");
    forget_lanes(w);
    free(w);
    return ntk_export_finish(&sink, ret, err);
}
