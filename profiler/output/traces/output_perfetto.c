/* SPDX-License-Identifier: MIT */
/*
 * output_perfetto - a profile as a Perfetto trace, docs/formats/profile-traces.md.
 *
 * A core is a process, an engine or queue a thread. Spans of one line must not overlap, so those
 * that do get separate lines below it. Descriptions of tracks and names go through protobuf-c;
 * slices and counters, which are the file, are written field by field
 * (docs/decisions/libraries.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_rate.h"
#include "profiler/analysis/pending.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/output/export_to.h"
#include "profiler/output/tables/operands.h"
#include "profiler/output/tables/predecessors.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/traces/arrows.h"
#include "profiler/output/traces/lanes.h"
#include "profiler/output/traces/perfetto_writer.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

#define OPCODES 256
#define IID_OF_OPCODE(opcode) (1U + (opcode))
#define IID_OF_CLASS(dma_class) (1U + OPCODES + (dma_class))
/* Layers have their numbers; what the runtime put around a program is of none, so its number is
 * free. */
#define IID_OF_UNKNOWN_LAYER NTK_LAYER_RUNTIME
#define IID_OF_TRANSFER(name) (1U + OPCODES + NTK_TRACE_DMA_CLASS_COUNT + (name))
#define EVENT_NAMES (OPCODES + NTK_TRACE_DMA_CLASS_COUNT + TRANSFER_NAMES)

/* Numbers of threads: any that are unique. */
#define TIDS_OF_CORE 1000
#define TID_OF_QUEUES 100
#define TID_OF_TRANSFERS 500

enum { /* interned names of arguments */
       ARGUMENT_PC = 1,
       ARGUMENT_COMPILER_PC,
       ARGUMENT_WAIT,
       ARGUMENT_LAYER,
       ARGUMENT_BIR_NAME,
       ARGUMENT_PENGUIN_TEXT,
       ARGUMENT_PREDECESSORS,
       ARGUMENT_OPERANDS,
       ARGUMENT_COMPILER_OPERANDS,
       ARGUMENT_BYTES,
       ARGUMENT_PACKETS,
       ARGUMENT_VARIABLE,
       ARGUMENT_SOURCE,
       ARGUMENT_DEST,
       ARGUMENT_DMA_NAME,
       ARGUMENT_FUNCTION,
       ARGUMENT_ITERATION,
       ARGUMENT_COUNT,
};

static const char *const argument_names[ARGUMENT_COUNT] = {
    [ARGUMENT_PC] = "pc",
    [ARGUMENT_COMPILER_PC] = "compiler_pc",
    [ARGUMENT_WAIT] = "evt_wait_time_ns",
    [ARGUMENT_LAYER] = "layer",
    [ARGUMENT_BIR_NAME] = "bir_instruction_name",
    [ARGUMENT_PENGUIN_TEXT] = "penguin_text",
    [ARGUMENT_PREDECESSORS] = "predecessors",
    [ARGUMENT_OPERANDS] = "operands",
    [ARGUMENT_COMPILER_OPERANDS] = "compiler_operands",
    [ARGUMENT_BYTES] = "bytes",
    [ARGUMENT_PACKETS] = "packets",
    [ARGUMENT_VARIABLE] = "variable",
    [ARGUMENT_SOURCE] = "source",
    [ARGUMENT_DEST] = "dest",
    [ARGUMENT_DMA_NAME] = "dma_name",
    [ARGUMENT_FUNCTION] = "function",
    [ARGUMENT_ITERATION] = "iteration",
};

/* What moves.h calls operations; the first for all others. */
#define TRANSFER_NAMES 9
static const char *const transfer_names[TRANSFER_NAMES] = {
    NTK_ROWS_TRANSFER_NAME, "copy", "cast", "add", "min", "max", "fma", "transpose", "compute",
};

/* Texts of a slot, which are put when it runs for the first time. */
struct slot_texts {
    bool is_put;
    uint32_t name, penguin; /* iids; 0: none */
    uint32_t operands, compiler_operands, predecessors;
    uint32_t variable, source, dest, dma_name; /* of its transfer */
    uint32_t line, function, iteration;        /* of the source */
};

#define LINES_KEPT 4096U

/* Texts of positions that are put already: unrolled instructions share them. */
struct place_texts {
    uint32_t *functions, *iterations; /* iids, by 1 + index in the kernel tree; 0: not put */
    struct {
        const char *file;
        uint32_t line;
        uint32_t iid;
    } lines[LINES_KEPT]; /* the last one of each hash */
    struct {
        const char *text;
        uint32_t iid;
    } penguins[LINES_KEPT]; /* by place in memory: there each is once */
};

struct core_writer {
    struct ntk_perfetto *to;
    const struct ntk_export *export;
    size_t index;
    const struct ntk_trace_core *core;
    int32_t pid;
    struct ntk_operands *operands;
    struct slot_texts *slots[NTK_NTFF_ENGINE_COUNT];
    struct place_texts *places;
    struct ntk_buf text;                       /* of the one that is added */
    struct ntk_buf texts;                      /* added since the last packet of them */
    uint64_t process, rate, pending, throttle; /* tracks */
    uint64_t semaphores[NTK_EXPORT_SEMAPHORES];
    struct ntk_arrows *arrows; /* NULL: none are wanted */
    struct ntk_vec flows[2];   /* of uint64_t: of the start and the end of a slice */
};

static int put_process(struct core_writer *c)
{
    char name[NTK_NTFF_NAME_BYTES + 96];

    (void)snprintf(name, sizeof name, "%s%sNC %u (%s)", c->to->prefix ? c->to->prefix : "",
                   c->to->prefix ? " " : "", c->core->ntff->core, c->core->ntff->name);
    return ntk_perfetto_put_process(c->to, c->pid, name, &c->process);
}

/* The first packet: all names that slices and arguments have, and texts of layers. Names of
 * instructions follow when they run. */
static int put_names(struct ntk_perfetto *to, const struct ntk_export *export)
{
    const struct ntk_program *program = export->program;
    Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;
    Ntk__Perfetto__InternedData data = NTK__PERFETTO__INTERNED_DATA__INIT;
    size_t name_count = EVENT_NAMES + ARGUMENT_COUNT;
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
    for (size_t i = 0; i < export->opcodes.row_count; i++) { /* those that ran */
        uint8_t opcode = export->opcodes.rows[i].opcode;
        names[opcode].name = (char *)ntk_ntff_opcode_name(opcode, opcodes[opcode], 8);
    }
    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        names[OPCODES + k].name = (char *)ntk_trace_dma_class_name(k);
    }
    for (unsigned n = 0; n < TRANSFER_NAMES; n++) {
        names[IID_OF_TRANSFER(n) - 1].name = (char *)transfer_names[n];
    }
    for (size_t i = 1; i < ARGUMENT_COUNT; i++) {
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
        const char *text = i == IID_OF_UNKNOWN_LAYER ? NTK_LAYER_UNKNOWN : program->layers[i];
        ntk__perfetto__interned_string__init(&texts[i]);
        text_rows[i] = &texts[i];
        texts[i].has_iid = 1;
        texts[i].iid = i;
        texts[i].has_str = 1;
        texts[i].str.data = (uint8_t *)(uintptr_t)text;
        texts[i].str.len = strlen(text);
    }
    data.event_names = name_rows;
    data.n_event_names = row_count - (ARGUMENT_COUNT - 1);
    data.debug_annotation_names = name_rows + data.n_event_names;
    data.n_debug_annotation_names = ARGUMENT_COUNT - 1;
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

/* Its iid from now on; 0 for none. */
static uint32_t add_text(struct core_writer *c, const char *text)
{
    return text && text[0] ? (uint32_t)ntk_perfetto_add_text(c->to, text, &c->texts) : 0;
}

/* The same of c->text. */
static uint32_t add_made_text(struct core_writer *c)
{
    c->texts.failed = c->texts.failed || !ntk_buf_ok(&c->text);
    return add_text(c, ntk_buf_text_get(&c->text));
}

static uint32_t add_place_line(struct core_writer *c, const struct ntk_neff_position *at,
                               const char *file, uint32_t number, uint32_t line)
{
    size_t hash = ((size_t)line * 31 + number) % LINES_KEPT;

    if (c->places->lines[hash].file != file || c->places->lines[hash].line != line) {
        ntk_buf_reset(&c->text);
        (void)ntk_neff_position_line_add(c->export->program->positions, at, &c->text);
        c->places->lines[hash].iid = add_made_text(c);
        c->places->lines[hash].file = file;
        c->places->lines[hash].line = line;
    }
    return c->places->lines[hash].iid;
}

/* Line, function and iteration: each is formatted once, not for every slot that has it. */
static void add_place(struct core_writer *c, const struct ntk_trace_instruction *instruction,
                      struct slot_texts *texts)
{
    const struct ntk_neff_positions *positions = c->export->program->positions;
    const struct ntk_neff_position *at =
        ntk_program_position(c->export->program, c->index, instruction);
    const struct ntk_neff_kernel_instruction *kernel = ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);

    if (at && at->file) {
        texts->line =
            add_place_line(c, at, ntk_neff_position_file(positions, at), at->file, at->line);
    } else if (function) {
        texts->line = add_place_line(c, at, function->file, kernel->function, kernel->line);
    }
    if (function) {
        uint32_t *iid = &c->places->functions[kernel->function];
        *iid = *iid ? *iid : add_text(c, function->name);
        texts->function = *iid;
    }
    if (kernel && kernel->iteration) {
        uint32_t *iid = &c->places->iterations[kernel->iteration];
        if (!*iid) {
            ntk_buf_reset(&c->text);
            ntk_neff_position_path_add(positions, at, &c->text);
            *iid = add_made_text(c);
        }
        texts->iteration = *iid;
    }
}

/* Many instructions have the text of one operation of the middle end. */
static uint32_t add_penguin(struct core_writer *c, const char *text)
{
    size_t hash = (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 32) % LINES_KEPT;

    if (text && c->places->penguins[hash].text != text) {
        c->places->penguins[hash].text = text;
        c->places->penguins[hash].iid = add_text(c, text);
    }
    return text ? c->places->penguins[hash].iid : 0;
}

/* Those of equal instructions are added once. */
static uint32_t add_operands(struct core_writer *c, const char *text, uint64_t *mark)
{
    if (text && !*mark) {
        *mark = add_text(c, text + strspn(text, " "));
    }
    return text ? (uint32_t)*mark : 0;
}

static int put_slot_texts(struct core_writer *c, const struct ntk_trace_instruction *instruction,
                          const struct ntk_slot_fact *fact, struct slot_texts *texts)
{
    struct ntk_operands_text text = { 0 };

    texts->is_put = true;
    if (fact->named) {
        texts->name = add_text(c, fact->named->name);
        texts->penguin = add_penguin(c, fact->named->penguin_text);
    }
    if (fact->named && fact->named->predecessor_count) {
        ntk_buf_reset(&c->text);
        ntk_predecessors_print(c->export->program->names[c->index], fact->named, &c->text);
        texts->predecessors = add_made_text(c);
    }
    if (fact->moves) {
        const struct ntk_moves *moves = fact->moves;
        texts->variable = add_text(c, moves->variable);
        texts->source = add_text(c, moves->sides[NTK_MOVES_SOURCE]);
        texts->dest = add_text(c, moves->sides[NTK_MOVES_DEST]);
        texts->dma_name = add_text(c, moves->name);
    }
    add_place(c, instruction, texts);
    if (ntk_operands_get(c->operands, c->index, instruction, &text)) {
        texts->operands = add_operands(c, text.operands, &text.marks[0]);
        texts->compiler_operands = add_operands(c, text.compiler_operands, &text.marks[1]);
    }
    return ntk_perfetto_put_texts(c->to, &c->texts);
}

static uint8_t *add_slot_texts(uint8_t *at, const struct slot_texts *texts)
{
    const struct {
        unsigned name;
        uint64_t iid;
    } all[] = {
        { ARGUMENT_BIR_NAME, texts->name },
        { ARGUMENT_PENGUIN_TEXT, texts->penguin },
        { ARGUMENT_PREDECESSORS, texts->predecessors },
        { ARGUMENT_OPERANDS, texts->operands },
        { ARGUMENT_COMPILER_OPERANDS, texts->compiler_operands },
        { ARGUMENT_SOURCE, texts->line },
        { ARGUMENT_FUNCTION, texts->function },
        { ARGUMENT_ITERATION, texts->iteration },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].iid) {
            at = ntk_perfetto_argument(at, all[i].name, NTK_PERFETTO_STRING, all[i].iid);
        }
    }
    return at;
}

static int slots_init(struct core_writer *c)
{
    const struct ntk_neff_positions *positions = c->export->program->positions;
    int ret = 0;

    c->places = calloc(1, sizeof *c->places);
    if (c->places && positions) {
        c->places->functions =
            calloc(positions->kernel.functions.count + 1, sizeof *c->places->functions);
        c->places->iterations =
            calloc(positions->kernel.iterations.count + 1, sizeof *c->places->iterations);
        ret = c->places->functions && c->places->iterations ? 0 : -ENOMEM;
    }
    c->operands = ntk_operands_create(c->export->trace);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = c->core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        c->slots[e] = calloc(slots + 1, sizeof *c->slots[e]);
        ret = c->slots[e] ? ret : -ENOMEM;
    }
    return c->operands && c->places ? ret : -ENOMEM;
}

static void slots_fini(struct core_writer *c)
{
    ntk_operands_destroy(c->operands);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(c->slots[e]);
    }
    if (c->places) {
        free(c->places->functions);
        free(c->places->iterations);
        free(c->places);
    }
    ntk_buf_fini(&c->text);
    ntk_buf_fini(&c->texts);
}

/* ---- a core ---- */

/* Writes the name of a line; only where one begins. */
typedef void name_line(const struct core_writer *c, size_t index, char *buf, size_t buf_bytes);

/* The track for a span: the thread's, or one below it where that is taken. */
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

/* The number of the arrow that comes to an instruction: no execution of a host has it. */
static uint64_t flow_of(const struct core_writer *c, uint32_t to)
{
    return UINT64_C(1) << 63 | (uint64_t)c->pid << 32 | to;
}

/* The arrow to a transfer, by its place. */
static uint64_t flow_to_transfer(const struct core_writer *c, const struct ntk_transfer *transfer)
{
    return UINT64_C(1) << 62 |
           flow_of(c, (uint32_t)(transfer - c->export->transfers.cores[c->index].items));
}

/* The arrows of an instruction's slice. One that comes inside is the end's: at its start it had not
 * begun. */
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
    const struct ntk_export *export = c->export;
    const struct ntk_trace *trace = export->trace;
    struct ntk_lanes lanes[NTK_NTFF_ENGINE_COUNT] = { 0 };
    int32_t tid = TIDS_OF_CORE * c->pid;
    uint8_t event[NTK_PERFETTO_EVENT_BYTES];
    struct ntk_perfetto_flows flows[2] = { 0 };
    uint64_t track;
    int ret = 0;

    ntk_trace_each_instruction(c->core, from) {
        const struct ntk_slot_fact *fact = ntk_program_fact(export->program, c->index, from);
        int64_t start_ns = ntk_rows_ns(from->start_ps);
        int64_t end_ns = start_ns + ntk_rows_ns(from->end_ps - from->start_ps);
        struct slot_texts *texts = &c->slots[from->engine][from->slot];
        uint8_t *at = ntk_perfetto_argument(event, ARGUMENT_PC, NTK_PERFETTO_UINT, from->slot);

        ret = texts->is_put ? 0 : put_slot_texts(c, from, fact, texts);
        if (ret < 0) {
            break;
        }
        if (fact->compiler_pc >= 0) {
            at = ntk_perfetto_argument(at, ARGUMENT_COMPILER_PC, NTK_PERFETTO_UINT,
                                       (uint64_t)fact->compiler_pc);
        }
        if (trace->has_chip && from->wait_cycles) {
            at = ntk_perfetto_argument(at, ARGUMENT_WAIT, NTK_PERFETTO_UINT,
                                       (uint64_t)from->wait_cycles * 1000 / trace->chip.base_mhz);
        }
        if (fact->layer > NTK_LAYER_RUNTIME || ntk_layer_name(export->program, c->core, fact)) {
            at = ntk_perfetto_argument(at, ARGUMENT_LAYER, NTK_PERFETTO_STRING,
                                       fact->layer > NTK_LAYER_RUNTIME ? fact->layer
                                                                       : IID_OF_UNKNOWN_LAYER);
        }
        at = add_slot_texts(at, texts);
        ret = take_track(c, &lanes[from->engine], tid + from->engine, name_engine, from->engine,
                         start_ns, end_ns, &track);
        if (ret == 0 && c->arrows) {
            ret = find_flows(c, (uint32_t)(from - c->core->instructions), flows);
        }
        if (ret == 0) {
            ret = ntk_perfetto_put_slice(c->to, track, IID_OF_OPCODE(from->opcode), start_ns,
                                         end_ns, event, at, flows);
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
    uint8_t event[NTK_PERFETTO_EVENT_BYTES];
    uint8_t *at =
        ntk_perfetto_argument(event, ARGUMENT_BYTES, NTK_PERFETTO_UINT, from->bytes_count);
    uint64_t track;
    int ret = take_track(c, &lanes[ring], TIDS_OF_CORE * c->pid + TID_OF_QUEUES + (int32_t)ring,
                         name_ring, ring, start_ns, end_ns, &track);

    return ret == 0 ? ntk_perfetto_put_slice(c->to, track, IID_OF_CLASS(from->dma_class), start_ns,
                                             end_ns, event, at, NULL)
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

/* The arrows of a transfer's slice: from the instruction that began it, to those that it let go. */
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

static uint8_t *add_transfer_texts(uint8_t *at, const struct slot_texts *texts)
{
    const struct {
        unsigned name;
        uint64_t iid;
    } all[] = {
        { ARGUMENT_VARIABLE, texts->variable },
        { ARGUMENT_SOURCE, texts->source },
        { ARGUMENT_DEST, texts->dest },
        { ARGUMENT_DMA_NAME, texts->dma_name },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].iid) {
            at = ntk_perfetto_argument(at, all[i].name, NTK_PERFETTO_STRING, all[i].iid);
        }
    }
    return at;
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
    uint8_t event[NTK_PERFETTO_EVENT_BYTES];
    uint8_t *at =
        ntk_perfetto_argument(event, ARGUMENT_BYTES, NTK_PERFETTO_UINT, from->bytes_count);
    uint64_t track;

    at = ntk_perfetto_argument(at, ARGUMENT_PACKETS, NTK_PERFETTO_UINT, from->packet_count);
    at = add_transfer_texts(at, &c->slots[by->engine][by->slot]);
    int ret = take_track(c, &lines->lanes[queue],
                         TIDS_OF_CORE * c->pid + TID_OF_TRANSFERS + (int32_t)ring, name_transfers,
                         ring, start_ns, end_ns, &track);
    ret = ret == 0 && c->arrows ? find_transfer_flows(c, from, flows) : ret;
    return ret == 0 ? ntk_perfetto_put_slice(c->to, track, name_of_transfer(fact->moves), start_ns,
                                             end_ns, event, at, flows)
                    : ret;
}

/* For one queue they are in order of time; a lane takes what begins after its end in any case. */
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

    /* With the 24 bits of the tables. */
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

static int put_pending(void *ctx, int64_t time_ps, int64_t count)
{
    struct core_writer *c = ctx;
    int ret = c->pending ? 0
                         : ntk_perfetto_put_counter_track(c->to, "Pending DMA", NULL, c->process,
                                                          &c->pending);

    return ret ? ret
               : ntk_perfetto_put_count(c->to, c->pending, ntk_rows_ns(time_ps), (uint64_t)count);
}

static int put_counters(struct core_writer *c)
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
    ret = ret ? ret : ntk_analysis_pending(&c->export->transfers, c->index, put_pending, c);
    return ret ? ret : put_semaphores(c);
}

int ntk_perfetto_put_capture(struct ntk_perfetto *to, const struct ntk_export *export)
{
    struct ntk_arrows arrows = { 0 };
    int ret = put_names(to, export);

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
        ret = slots_init(&c);
        ret = ret == 0 ? put_process(&c) : ret;
        ret = ret == 0 && c.arrows ? ntk_arrows_turn_to(c.arrows, i) : ret;
        ret = ret == 0 ? put_instructions(&c) : ret;
        ret = ret == 0 ? put_packets(&c) : ret;
        ret = ret == 0 ? put_transfers(&c) : ret;
        ret = ret == 0 ? put_counters(&c) : ret;
        ntk_vec_fini(&c.flows[0]);
        ntk_vec_fini(&c.flows[1]);
        slots_fini(&c);
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
