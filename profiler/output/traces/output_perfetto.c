/* SPDX-License-Identifier: MIT */
/*
 * output_perfetto - writes a profile as a Perfetto trace, docs/formats/profile-traces.md.
 *
 * A core is a process, an engine or queue a thread. Overlapping spans get additional lines.
 * Descriptions of tracks and names use protobuf-c; slices and counters, which are most of the file,
 * are written field by field (docs/decisions/libraries.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/counters.h"
#include "profiler/analysis/dma_rate.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/traces/arrows.h"
#include "profiler/output/traces/lanes.h"
#include "profiler/output/traces/perfetto_slots.h"
#include "profiler/output/traces/slots_ahead.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

#define OPCODES 256
#define IID_OF_OPCODE(opcode) (1U + (opcode))
#define IID_OF_CLASS(dma_class) (1U + OPCODES + (dma_class))
#define IID_OF_TRANSFER(name) (1U + OPCODES + NTK_TRACE_DMA_CLASS_COUNT + (name))
#define EVENT_NAMES (OPCODES + NTK_TRACE_DMA_CLASS_COUNT + TRANSFER_NAMES)

/* Number of thread ids per core; they only need to be unique. */
#define TIDS_OF_CORE 1000
#define TID_OF_QUEUES 100
#define TID_OF_TRANSFERS 500

static const char *const argument_names[NTK_PERFETTO_ARGUMENT_COUNT] = {
#define ARGUMENT(id, name) [NTK_PERFETTO_##id] = name,
    NTK_PERFETTO_ARGUMENTS(ARGUMENT)
#undef ARGUMENT
};

/* Number of operations of moves.h; the first is for all others. */
#define TRANSFER_NAMES 9
static const char *const transfer_names[TRANSFER_NAMES] = {
    NTK_ROWS_TRANSFER_NAME, "copy", "cast", "add", "min", "max", "fma", "transpose", "compute",
};

struct core_writer {
    struct ntk_perfetto *to;
    const struct ntk_export *export;
    size_t index;
    const struct ntk_trace_core *core;
    int32_t pid;
    struct ntk_perfetto_slots *slots;
    uint64_t process, rate, throttle; /* numbers of tracks */
    uint64_t counters[NTK_COUNTER_COUNT];
    uint64_t semaphores[NTK_EXPORT_SEMAPHORES];
    struct ntk_arrows *arrows; /* NULL if not requested */
    struct ntk_vec flows[2]; /* elements are uint64_t: flows at the start and the end of a slice */
};

static int put_process(struct core_writer *c)
{
    char name[NTK_NTFF_NAME_BYTES + 96];

    (void)snprintf(name, sizeof name, "%s%sNC %u (%s)", c->to->prefix ? c->to->prefix : "",
                   c->to->prefix ? " " : "", c->core->ntff->core, c->core->ntff->name);
    return ntk_perfetto_put_process(c->to, c->pid, name, &c->process);
}

/* Writes the first packet: all names of slices and arguments, and texts of layers. Names of
 * instructions follow at their first execution. */
static int put_names(struct ntk_perfetto *to, const struct ntk_export *export)
{
    const struct ntk_program *program = export->program;
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;
    Ntk__Perfetto__InternedData data = NTK__PERFETTO__INTERNED_DATA__INIT;
    size_t name_count = EVENT_NAMES + NTK_PERFETTO_ARGUMENT_COUNT;
    Ntk__Perfetto__InternedName *names = calloc(name_count, sizeof *names);
    Ntk__Perfetto__InternedName **name_rows = calloc(name_count, sizeof *name_rows);
    size_t text_count = program->layer_count;
    Ntk__Perfetto__InternedString *texts = calloc(text_count, sizeof *texts);
    Ntk__Perfetto__InternedString **text_rows = calloc(text_count, sizeof *text_rows);
    size_t row_count = 0;
    char opcodes[OPCODES][8];
    int ret = -ENOMEM;

    if (!names || !name_rows || !texts || !text_rows) {
        goto out;
    }
    for (size_t i = 0; i < export->opcodes.row_count; i++) { /* opcodes that ran */
        uint8_t opcode = export->opcodes.rows[i].opcode;
        names[opcode].name = (char *)ntk_ntff_opcode_name(opcode, opcodes[opcode], 8);
    }
    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        names[OPCODES + k].name = (char *)ntk_trace_dma_class_name(k);
    }
    for (unsigned n = 0; n < TRANSFER_NAMES; n++) {
        names[IID_OF_TRANSFER(n) - 1].name = (char *)transfer_names[n];
    }
    for (size_t i = 1; i < NTK_PERFETTO_ARGUMENT_COUNT; i++) {
        names[EVENT_NAMES + i].name = (char *)argument_names[i];
    }
    for (size_t i = 0; i < name_count; i++) {
        char *name = names[i].name;
        if (!name) {
            continue;
        }
        ntk__perfetto__interned_name__init(&names[i]);
        names[i].name = name;
        names[i].has_iid = 1;
        names[i].iid = i < EVENT_NAMES ? 1 + i : i - EVENT_NAMES;
        name_rows[row_count++] = &names[i];
    }
    for (size_t i = 0; i < text_count; i++) {
        const char *text = i == NTK_PERFETTO_UNKNOWN_LAYER ? NTK_LAYER_UNKNOWN : program->layers[i];
        ntk__perfetto__interned_string__init(&texts[i]);
        text_rows[i] = &texts[i];
        texts[i].has_iid = 1;
        texts[i].iid = i;
        texts[i].has_str = 1;
        texts[i].str.data = (uint8_t *)(uintptr_t)text;
        texts[i].str.len = strlen(text);
    }
    data.event_names = name_rows;
    data.n_event_names = row_count - (NTK_PERFETTO_ARGUMENT_COUNT - 1);
    data.debug_annotation_names = name_rows + data.n_event_names;
    data.n_debug_annotation_names = NTK_PERFETTO_ARGUMENT_COUNT - 1;
    data.debug_annotation_string_values = text_rows + NTK_LAYER_RUNTIME;
    data.n_debug_annotation_string_values = text_count - NTK_LAYER_RUNTIME;
    packet.interned_data = &data;
    packet.has_first_packet_on_sequence = 1;
    packet.first_packet_on_sequence = 1;
    packet.sequence_flags = NTK_PERFETTO_STATE_CLEARED;
    ret = ntk_perfetto_put_packet(to, &packet);
    to->next_text = text_count;
out:
    free(names);
    free(name_rows);
    free(texts);
    free(text_rows);
    return ret;
}

/* ---- a core ---- */

/* Writes the name of a line, at its first use. */
typedef void name_line(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes);

/* Returns the track for a span: the track of the thread, or an additional one if it is occupied. */
static int take_track(struct core_writer *c, struct ntk_lanes *lanes, int32_t tid,
                      name_line *name_of, size_t index, int64_t start_ns, int64_t end_ns,
                      uint64_t *out_track)
{
    struct ntk_lane *lane = ntk_lanes_take(lanes, start_ns, end_ns);
    char name[NTK_NTFF_NAME_BYTES + 32];
    int ret = 0;

    if (!lane) {
        return -ENOMEM;
    }
    if (!lane->id) {
        name_of(c, index, name, sizeof name);
        ret = ntk_perfetto_put_thread(c->to, c->pid, tid, name,
                                      lane == lanes->items ? 0 : lanes->items[0].id, &lane->id);
    }
    *out_track = lane->id;
    return ret;
}

static void name_engine(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes)
{
    (void)c;
    (void)ntk_str_copy(buf, buf_bytes, ntk_ntff_engine_title((unsigned)index));
}

static void name_ring(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes)
{
    size_t e = index / NTK_NTFF_DMA_QUEUES;
    size_t q = index % NTK_NTFF_DMA_QUEUES;
    const char *queue = c->export->cores[c->index].queue_names[e][q];

    (void)snprintf(buf, buf_bytes, "%s Q%zu-E%zu", queue, q,
                   (size_t)NTK_NTFF_DMA_ENGINES * c->core->ntff->core + e);
}

/* Returns the id of the arrow that ends at an instruction, distinct from arrows of host
 * executions. */
static uint64_t flow_of(const struct core_writer *c, uint32_t to)
{
    return UINT64_C(1) << 63 | (uint64_t)c->pid << 32 | to;
}

/* Returns the arrow to a transfer, by index. */
static uint64_t flow_to_transfer(const struct core_writer *c, const struct ntk_transfer *transfer)
{
    return UINT64_C(1) << 62 |
           flow_of(c, (uint32_t)(transfer - c->export->transfers.cores[c->index].items));
}

/* Finds the arrows of an instruction's slice. An arrow that ends inside belongs to the slice's end,
 * because its cause was later than the start. */
static int find_flows(struct core_writer *c, uint32_t instruction,
                      struct ntk_perfetto_flows out_flows[2])
{
    struct ntk_arrow arrow = ntk_arrow_to(c->arrows, instruction);
    uint64_t id = flow_of(c, instruction);
    int ret = 0;

    ntk_vec_clear(&c->flows[0]);
    ntk_vec_clear(&c->flows[1]);
    if (arrow.from != NTK_NO_INDEX) {
        ret = ntk_vec_push(&c->flows[arrow.is_inside], &id);
    }
    for (uint32_t to = ntk_arrows_first(c->arrows, instruction); to != NTK_NO_INDEX && ret == 0;
         to = ntk_arrows_next(c->arrows, to)) {
        id = flow_of(c, to);
        if (ntk_arrow_to(c->arrows, to).transfer == NTK_NO_INDEX) {
            ret = ntk_vec_push(&c->flows[0], &id);
        }
    }
    const struct ntk_transfer *transfer =
        ntk_transfer_of_instruction(&c->export->transfers, c->index, instruction);
    if (transfer && transfer->packet_count && ret == 0) {
        id = flow_to_transfer(c, transfer);
        ret = ntk_vec_push(&c->flows[0], &id);
    }
    for (size_t end = 0; end < 2; end++) {
        out_flows[end] = (struct ntk_perfetto_flows){ c->flows[end].items, c->flows[end].count };
    }
    if (instruction % NTK_TRACE_LOOKS == 0) {
        ntk_arrows_give_back(c->arrows);
    }
    return ret;
}

static int put_instructions(struct core_writer *c)
{
    struct ntk_lanes lanes[NTK_NTFF_ENGINE_COUNT] = { 0 };
    int32_t tid = TIDS_OF_CORE * c->pid;
    struct ntk_perfetto_flows flows[2] = { 0 };
    struct ntk_perfetto_arguments arguments;
    uint64_t track;
    int ret = 0;

    ntk_trace_each_instruction(c->core, from) {
        int64_t start_ns = ntk_rows_ns(from->start_ps);
        int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);

        ntk_slots_ahead(c->export, c->index, from);
        ret = ntk_perfetto_slots_instruction(c->slots, from, &arguments);
        if (ret < 0) {
            break;
        }
        ret = take_track(c, &lanes[from->engine], tid + from->engine, name_engine, from->engine,
                         start_ns, end_ns, &track);
        if (ret == 0 && c->arrows) {
            ret = find_flows(c, (uint32_t)(from - c->core->instructions), flows);
        }
        if (ret == 0) {
            ret = ntk_perfetto_put_slice(c->to, track, IID_OF_OPCODE(from->opcode), start_ns,
                                         end_ns, arguments, c->arrows ? flows : NULL);
        }
        if (ret < 0) {
            break;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_lanes_fini(&lanes[e]);
    }
    return ret;
}

static int put_packet_slice(struct core_writer *c, const struct ntk_trace_packet *from,
                            struct ntk_lanes *lanes)
{
    size_t e = from->engine % NTK_NTFF_DMA_ENGINES;
    size_t q = from->queue % NTK_NTFF_DMA_QUEUES;
    int64_t start_ns = ntk_rows_ns(from->start_ps);
    int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);
    size_t ring = e * NTK_NTFF_DMA_QUEUES + q;
    uint8_t event[NTK_PERFETTO_ARGUMENT_BYTES];
    const uint8_t *at =
        ntk_perfetto_argument(event, NTK_PERFETTO_BYTES, NTK_PERFETTO_UINT, from->bytes_count);
    struct ntk_perfetto_arguments arguments = { event, (size_t)(at - event) };
    uint64_t track;
    int ret = take_track(c, &lanes[ring], TIDS_OF_CORE * c->pid + TID_OF_QUEUES + (int32_t)ring,
                         name_ring, ring, start_ns, end_ns, &track);

    return ret == 0 ? ntk_perfetto_put_slice(c->to, track, IID_OF_CLASS(from->dma_class), start_ns,
                                             end_ns, arguments, NULL)
                    : ret;
}

static int put_packets(struct core_writer *c)
{
    const size_t rings = (size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES;
    struct ntk_lanes *lanes = calloc(rings, sizeof *lanes);
    int ret = lanes ? 0 : -ENOMEM;

    if (ret == 0) {
        ntk_trace_each_packet(c->core, from) {
            ret = put_packet_slice(c, from, lanes);
            if (ret < 0) {
                break;
            }
        }
    }
    for (size_t r = 0; lanes && r < rings; r++) {
        ntk_lanes_fini(&lanes[r]);
    }
    free(lanes);
    return ret;
}

/* ---- whole transfers ---- */

struct transfer_lines {
    struct ntk_queue_names names;
    struct ntk_lanes *lanes; /* by the number of the queue */
};

static void name_transfers(const struct core_writer *c, size_t ring, char *buf, size_t buf_bytes)
{
    size_t e = ring / NTK_NTFF_DMA_QUEUES;
    size_t q = ring % NTK_NTFF_DMA_QUEUES;

    (void)snprintf(buf, buf_bytes, "Transfers %s", c->export->cores[c->index].queue_names[e][q]);
}

/* Finds the arrows of a transfer's slice: from the instruction that started it, and to the
 * instructions that it released. */
static int find_transfer_flows(struct core_writer *c, const struct ntk_transfer *transfer,
                               struct ntk_perfetto_flows out_flows[2])
{
    uint32_t index = (uint32_t)(transfer - c->export->transfers.cores[c->index].items);
    uint64_t id = flow_to_transfer(c, transfer);

    ntk_vec_clear(&c->flows[0]);
    int ret = ntk_vec_push(&c->flows[0], &id);
    for (uint32_t to = ntk_arrows_first(c->arrows, transfer->instruction);
         to != NTK_NO_INDEX && ret == 0; to = ntk_arrows_next(c->arrows, to)) {
        id = flow_of(c, to);
        if (ntk_arrow_to(c->arrows, to).transfer == index) {
            ret = ntk_vec_push(&c->flows[0], &id);
        }
    }
    out_flows[0] = (struct ntk_perfetto_flows){ c->flows[0].items, c->flows[0].count };
    return ret;
}

static uint64_t name_of_transfer(const struct ntk_moves *moves)
{
    unsigned n = TRANSFER_NAMES - 1;

    while (n > 0 && (!moves || !moves->op || strcmp(transfer_names[n], moves->op) != 0)) {
        n--;
    }
    return IID_OF_TRANSFER(n);
}

static int put_transfer_slice(struct core_writer *c, const struct ntk_transfer *from,
                              struct transfer_lines *lines)
{
    const struct ntk_trace_packet *first = &c->core->packets[from->first];
    const struct ntk_trace_instruction *by = &c->core->instructions[from->instruction];
    const struct ntk_slot_fact *fact = ntk_program_fact(c->export->program, c->index, by);
    size_t queue = ntk_queue_names_find(&lines->names, c->index, first);
    size_t ring = (size_t)(first->engine % NTK_NTFF_DMA_ENGINES) * NTK_NTFF_DMA_QUEUES +
                  first->queue % NTK_NTFF_DMA_QUEUES;
    int64_t start_ns = ntk_rows_ns(from->start_ps);
    int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);
    struct ntk_perfetto_flows flows[2] = { 0 };
    struct ntk_perfetto_arguments arguments;
    uint64_t track;
    int ret = ntk_perfetto_slots_transfer(c->slots, from, by, &arguments);

    ret = ret == 0 ? take_track(c, &lines->lanes[queue],
                                TIDS_OF_CORE * c->pid + TID_OF_TRANSFERS + (int32_t)ring,
                                name_transfers, ring, start_ns, end_ns, &track)
                   : ret;
    ret = ret == 0 && c->arrows ? find_transfer_flows(c, from, flows) : ret;
    return ret == 0 ? ntk_perfetto_put_slice(c->to, track, name_of_transfer(fact->code->moves),
                                             start_ns, end_ns, arguments, flows)
                    : ret;
}

/* Writes transfers. Within a queue they are in order of time; a lane only takes spans after its
 * end. */
static int put_transfers(struct core_writer *c)
{
    const struct ntk_transfers_core *of = &c->export->transfers.cores[c->index];
    struct transfer_lines lines = { 0 };
    int ret = ntk_queue_names_init(&lines.names, c->export->trace);

    lines.lanes = calloc(lines.names.count + 1, sizeof *lines.lanes);
    ret = lines.lanes ? ret : -ENOMEM;
    for (size_t t = 0; t < of->count && ret == 0; t++) {
        ret = of->items[t].packet_count ? put_transfer_slice(c, &of->items[t], &lines) : 0;
        if (t % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(&c->export->transfers, c->index);
        }
    }
    for (size_t q = 0; lines.lanes && q < lines.names.count; q++) {
        ntk_lanes_fini(&lines.lanes[q]);
    }
    free(lines.lanes);
    ntk_queue_names_fini(&lines.names);
    return ret;
}

static int put_rate(void *ctx, const struct ntk_dma_rate_point *point)
{
    struct core_writer *c = ctx;

    /* The value has 24 bits, as in the tables. */
    return ntk_perfetto_put_number(c->to, c->rate, ntk_rows_ns(point->time_ps),
                                   (float)point->bytes_per_second);
}

static int put_semaphores(struct core_writer *c)
{
    const struct ntk_export_core *names = &c->export->cores[c->index];

    ntk_trace_each_event(c->core, from) {
        uint64_t *track = &c->semaphores[from->number];
        int ret = 0;
        if (!from->is_semaphore) {
            continue;
        }
        if (!*track) {
            char name[NTK_NTFF_NAME_BYTES + 32];
            snprintf(name, sizeof name, "Semaphore %s", names->semaphore_names[from->number]);
            ret = ntk_perfetto_put_counter_track(c->to, name, NULL, c->process, track);
        }
        if (ret == 0) {
            ret = ntk_perfetto_put_count(c->to, *track, ntk_rows_ns(from->time_ps), from->value);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int put_counter(void *ctx, enum ntk_counter counter, int64_t time_ps, double value)
{
    const struct ntk_counter_info *info = ntk_counter_info_get(counter);
    struct core_writer *c = ctx;
    uint64_t *track = &c->counters[counter];
    int64_t time_ns = ntk_rows_ns(time_ps);
    int ret =
        *track ? 0
               : ntk_perfetto_put_counter_track(c->to, info->name, info->unit, c->process, track);

    if (ret < 0) {
        return ret;
    }
    return info->is_whole ? ntk_perfetto_put_count(c->to, *track, time_ns, (int64_t)value)
                          : ntk_perfetto_put_number(c->to, *track, time_ns, value);
}

static int put_counters(struct core_writer *c, const struct ntk_counters *counters)
{
    int ret = 0;

    if (c->core->packet_count) {
        ret = ntk_perfetto_put_counter_track(c->to, "DMA throughput", "B/s", c->process, &c->rate);
        ret = ret == 0 ? ntk_analysis_dma_rate(c->core, put_rate, c) : ret;
    }
    for (size_t i = 0; i < c->core->throttle_count && ret == 0; i++) {
        const struct ntk_trace_throttle *from = &c->core->throttles[i];
        ret = i ? 0
                : ntk_perfetto_put_counter_track(c->to, "Throttle limit", "of 1", c->process,
                                                 &c->throttle);
        ret = ret == 0 ? ntk_perfetto_put_number(c->to, c->throttle, ntk_rows_ns(from->time_ps),
                                                 (double)from->k / from->n)
                       : ret;
    }
    ret = ret ? ret : ntk_analysis_counters(counters, c->index, put_counter, c);
    return ret ? ret : put_semaphores(c);
}

int ntk_perfetto_put_capture(struct ntk_perfetto *to, const struct ntk_export *export)
{
    struct ntk_arrows arrows = { 0 };
    struct ntk_counters counters;
    int ret = put_names(to, export);

    ntk_counters_init(&counters, &export->transfers);

    if (ret == 0 && export->has_flows) {
        ret = ntk_arrows_init(&arrows, &export->transfers);
    }
    for (size_t i = 0; i < export->trace->core_count && ret == 0; i++) {
        struct core_writer c = { .to = to,
                                 .export = export,
                                 .index = i,
                                 .core = &export->trace->cores[i],
                                 .pid = ++to->process_count,
                                 .arrows = export->has_flows ? &arrows : NULL,
                                 .flows = { NTK_VEC_INIT(uint64_t), NTK_VEC_INIT(uint64_t) } };
        c.slots = ntk_perfetto_slots_create(to, export, i);
        ret = c.slots ? put_process(&c) : -ENOMEM;
        ret = ret == 0 && c.arrows ? ntk_arrows_turn_to(c.arrows, i) : ret;
        ret = ret == 0 ? put_instructions(&c) : ret;
        ret = ret == 0 ? put_packets(&c) : ret;
        ret = ret == 0 ? put_transfers(&c) : ret;
        ret = ret == 0 ? put_counters(&c, &counters) : ret;
        ntk_vec_fini(&c.flows[0]);
        ntk_vec_fini(&c.flows[1]);
        ntk_perfetto_slots_destroy(c.slots);
    }
    ntk_arrows_fini(&arrows);
    return ret;
}

int ntk_export_to_perfetto(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct ntk_sink sink;
    struct ntk_perfetto to = { .sink = &sink, .sequence = 1 };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ret = export->folders ? ntk_perfetto_put_folders(&to, export)
                          : ntk_perfetto_put_capture(&to, export);
    return ntk_export_finish(&sink, ret, err);
}
