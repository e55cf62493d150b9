/* SPDX-License-Identifier: MIT */
/*
 * trace_from_ntff - records of a capture paired to spans, cut to the execution and sorted.
 *
 * docs/formats/ntff.md says why each rule is as it is.
 */
#include "profiler/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#define PROGRESS_RECORDS (1u << 18)
#define NO_PENDING UINT32_MAX

struct progress {
    ntk_trace_progress *call;
    void *ctx;
    uint64_t done, total;
};

struct pending {
    int64_t start_ps;
    uint32_t next;
    uint16_t wait_cycles;
};

struct pairing { /* starts without an end yet, first in first out per slot of one engine */
    uint32_t *first, *last;
    size_t slot_count;
};

static void step(struct progress *progress)
{
    if (++progress->done % PROGRESS_RECORDS == 0 && progress->call && progress->total) {
        progress->call((double)progress->done / (double)progress->total, progress->ctx);
    }
}

/* ---- instructions ---- */

static int pairing_init(struct pairing *p, const struct ntk_ntff_subgraph *subgraph,
                        unsigned engine)
{
    const struct ntk_ntff_buffer *buffer = subgraph->engine_buffers[engine];

    p->slot_count = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
    p->first = malloc((p->slot_count + 1) * sizeof *p->first);
    p->last = malloc((p->slot_count + 1) * sizeof *p->last);
    if (!p->first || !p->last) {
        return -ENOMEM;
    }
    memset(p->first, 0xff, (p->slot_count + 1) * sizeof *p->first);
    memset(p->last, 0xff, (p->slot_count + 1) * sizeof *p->last);
    return 0;
}

static int pair_instruction(struct ntk_trace_core *core, const struct ntk_ntff_record *record,
                            struct pairing *pairings, struct ntk_vec *pendings,
                            struct ntk_vec *instructions)
{
    if (record->slot == NTK_NTFF_SLOT_OUTSIDE) {
        core->outside_code++;
        return 0;
    }
    struct pairing *p = &pairings[record->engine];
    uint32_t *first = &p->first[record->slot];
    uint32_t *last = &p->last[record->slot];
    if (record->kind == NTK_NTFF_RECORD_INSTRUCTION_START) {
        struct pending *pending = pendings->count < NO_PENDING ? ntk_vec_add(pendings) : NULL;
        if (!pending) {
            return -ENOMEM;
        }
        uint32_t index = (uint32_t)(pendings->count - 1);
        *pending = (struct pending){ record->time_ps, NO_PENDING, record->wait_cycles };
        if (*first == NO_PENDING) {
            *first = index;
        } else {
            ((struct pending *)ntk_vec_at(pendings, *last))->next = index;
        }
        *last = index;
        core->unpaired++;
        return 0;
    }
    if (*first == NO_PENDING) {
        core->unpaired++;
        return 0;
    }
    const struct pending *start = ntk_vec_at(pendings, *first);
    *first = start->next;
    if (record->time_ps < start->start_ps) {
        core->unpaired++; /* with its start, which stays counted */
        return 0;
    }
    core->unpaired--;
    struct ntk_trace_instruction *instruction = ntk_vec_add(instructions);
    if (!instruction) {
        return -ENOMEM;
    }
    *instruction = (struct ntk_trace_instruction){
        .start_ps = start->start_ps,
        .end_ps = record->time_ps,
        .slot = record->slot,
        .wait_cycles = start->wait_cycles,
        .crc_in = record->crc_in,
        .crc_out = record->crc_out,
        .engine = record->engine,
        .opcode = ntk_ntff_slot_get(core->ntff, record->engine, record->slot)[0],
    };
    return 0;
}

static int read_instructions(struct ntk_trace_core *core, struct ntk_vec *instructions,
                             struct progress *progress)
{
    struct pairing pairings[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct ntk_vec pendings = NTK_VEC_INIT(struct pending);
    int ret = 0;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && ret == 0; e++) {
        ret = pairing_init(&pairings[e], core->ntff, e);
    }
    for (size_t s = 0; s < core->ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &core->ntff->sections[s];
        if (section->type != NTK_NTFF_SECTION_INSTRUCTION ||
            section->block != NTK_NTFF_BLOCK_CORE) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret == 0; i++) {
            struct ntk_ntff_record record;
            ntk_ntff_record_get(core->ntff, section, i, &record);
            step(progress);
            if (record.kind == NTK_NTFF_RECORD_UNKNOWN) {
                core->unknown++;
            } else {
                ret = pair_instruction(core, &record, pairings, &pendings, instructions);
            }
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(pairings[e].first);
        free(pairings[e].last);
    }
    ntk_vec_fini(&pendings);
    return ret;
}

/* ---- the execution ---- */

struct window {
    bool is_known;
    int64_t start_ps, end_ps;
};

/* Version 6 says it. Before, the execution ends with the tensor engine's last NOTIFY and its length
 * stands in the header. Without any of that the window is everything there is. */
static struct window find_window(const struct ntk_ntff *ntff, const struct ntk_trace_core *core,
                                 const struct ntk_vec *instructions)
{
    struct window window = { 0 };
    bool has_notify = false;
    int64_t notify_end_ps = 0;

    if (ntff->has_window) {
        return (struct window){ true, (int64_t)ntff->window_start_ps,
                                (int64_t)ntff->window_end_ps };
    }
    window.start_ps = INT64_MAX;
    window.end_ps = INT64_MIN;
    ntk_vec_each(const struct ntk_trace_instruction, instruction, instructions) {
        if (instruction->engine == NTK_NTFF_ENGINE_TENSOR &&
            instruction->opcode == NTK_NTFF_OPCODE_NOTIFY &&
            (!has_notify || instruction->end_ps > notify_end_ps)) {
            has_notify = true;
            notify_end_ps = instruction->end_ps;
        }
        if (instruction->start_ps < window.start_ps) {
            window.start_ps = instruction->start_ps;
        }
        if (instruction->end_ps > window.end_ps) {
            window.end_ps = instruction->end_ps;
        }
    }
    if (has_notify && core->ntff->execution_ps && core->ntff->execution_ps < INT64_MAX / 2 &&
        notify_end_ps > INT64_MIN / 2) {
        return (struct window){ true, notify_end_ps - (int64_t)core->ntff->execution_ps,
                                notify_end_ps };
    }
    if (window.start_ps > window.end_ps) { /* no instructions */
        window.start_ps = INT64_MIN;
        window.end_ps = INT64_MAX;
    }
    return window;
}

/* Times further from the start than this (26 days) are nonsense; below it differences cannot overflow. */
#define TIME_PS_MAX (INT64_C(1) << 61)

static bool is_time(int64_t ps)
{
    return ps >= -TIME_PS_MAX && ps <= TIME_PS_MAX;
}

/* The difference of two times of a file that may say anything. */
static int64_t since(int64_t time_ps, int64_t t0_ps)
{
    int64_t difference;

    return __builtin_sub_overflow(time_ps, t0_ps, &difference) ? INT64_MAX : difference;
}

static bool is_inside(const struct ntk_trace_core *core, const struct window *window,
                      int64_t time_ps)
{
    return time_ps >= window->start_ps && time_ps <= window->end_ps &&
           is_time(since(time_ps, core->t0_ps));
}

static int compare_instructions(const void *a, const void *b)
{
    const struct ntk_trace_instruction *x = a;
    const struct ntk_trace_instruction *y = b;

    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    if (x->engine != y->engine) {
        return x->engine < y->engine ? -1 : 1;
    }
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static void keep_instructions(struct ntk_trace_core *core, struct ntk_vec *instructions,
                              const struct window *window)
{
    size_t kept = 0;

    ntk_vec_each(struct ntk_trace_instruction, instruction, instructions) {
        int64_t start_ps = since(instruction->start_ps, core->t0_ps);
        int64_t end_ps = since(instruction->end_ps, core->t0_ps);
        if (instruction->start_ps < window->start_ps || instruction->end_ps > window->end_ps ||
            !is_time(start_ps) || !is_time(end_ps)) {
            core->outside_window += 2;
            continue;
        }
        struct ntk_trace_instruction *to = ntk_vec_at(instructions, kept++);
        *to = *instruction;
        to->start_ps = start_ps;
        to->end_ps = end_ps;
        if (to->end_ps > core->end_ps) {
            core->end_ps = to->end_ps;
        }
    }
    instructions->count = kept;
    ntk_vec_sort(instructions, compare_instructions);
    core->instructions = instructions->items;
    core->instruction_count = kept;
    *instructions = (struct ntk_vec)NTK_VEC_INIT(struct ntk_trace_instruction);
}

/* ---- DMA ---- */

static enum ntk_trace_dma_class class_by_name(const char *name)
{
    if (ntk_str_ends_with(name, "DynamicHW")) {
        return NTK_TRACE_DMA_HARDWARE_DYNAMIC;
    }
    if (ntk_str_ends_with(name, "Dynamic")) {
        return NTK_TRACE_DMA_SOFTWARE_DYNAMIC;
    }
    if (ntk_str_ends_with(name, "Table")) {
        return NTK_TRACE_DMA_INSTRUCTION;
    }
    return strstr(name, "IO") ? NTK_TRACE_DMA_IO : NTK_TRACE_DMA_DATA;
}

static void classify_queues(const struct ntk_ntff_subgraph *subgraph,
                            uint8_t classes[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES])
{
    memset(classes, NTK_TRACE_DMA_INSTRUCTION, (size_t)NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES);
    for (size_t q = 0; q < subgraph->queue_count; q++) {
        const struct ntk_ntff_queue *queue = &subgraph->queues[q];
        if (queue->queue < NTK_NTFF_DMA_QUEUES) {
            classes[queue->engine % NTK_NTFF_DMA_ENGINES][queue->queue] =
                (uint8_t)class_by_name(queue->name);
        }
    }
}

static int compare_packets(const void *a, const void *b)
{
    const struct ntk_trace_packet *x = a;
    const struct ntk_trace_packet *y = b;

    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    if (x->engine != y->engine) {
        return x->engine < y->engine ? -1 : 1;
    }
    if (x->queue != y->queue) {
        return x->queue < y->queue ? -1 : 1;
    }
    return x->end_ps < y->end_ps ? -1 : x->end_ps > y->end_ps;
}

struct ring_record {
    struct ntk_ntff_record record;
    uint32_t next;
};

struct ring { /* starts without an end, or ends without a start: never both */
    uint32_t first, last;
    bool holds_ends;
};

static int ring_push(struct ring *ring, struct ntk_vec *waiting,
                     const struct ntk_ntff_record *record)
{
    struct ring_record *entry = waiting->count < NO_PENDING ? ntk_vec_add(waiting) : NULL;

    if (!entry) {
        return -ENOMEM;
    }
    uint32_t index = (uint32_t)(waiting->count - 1);
    *entry = (struct ring_record){ *record, NO_PENDING };
    if (ring->first == NO_PENDING) {
        ring->first = index;
        ring->holds_ends = record->kind == NTK_NTFF_RECORD_DMA_END;
    } else {
        ((struct ring_record *)ntk_vec_at(waiting, ring->last))->next = index;
    }
    ring->last = index;
    return 0;
}

/* The i-th start of a ring belongs to its i-th end, whichever comes first in the file. Where a packet
 * was under way at the start of the execution, ends come before their starts from then on: those
 * pairs are no packets. */
static int pair_packet(struct ntk_trace_core *core, struct ring *ring, struct ntk_vec *waiting,
                       const struct ntk_ntff_record *record, uint8_t dma_class,
                       struct ntk_vec *packets)
{
    bool is_end = record->kind == NTK_NTFF_RECORD_DMA_END;

    if (ring->first == NO_PENDING || ring->holds_ends == is_end) {
        core->unpaired++;
        return ring_push(ring, waiting, record);
    }
    const struct ring_record *other = ntk_vec_at(waiting, ring->first);
    const struct ntk_ntff_record *start = is_end ? &other->record : record;
    const struct ntk_ntff_record *end = is_end ? record : &other->record;
    ring->first = other->next;
    if (end->time_ps < start->time_ps) {
        core->unpaired++;
        return 0;
    }
    core->unpaired--;
    struct ntk_trace_packet *packet = ntk_vec_add(packets);
    if (!packet) {
        return -ENOMEM;
    }
    *packet = (struct ntk_trace_packet){
        .start_ps = since(start->time_ps, core->t0_ps),
        .end_ps = since(end->time_ps, core->t0_ps),
        .bytes_count = end->bytes_count,
        .engine = (uint16_t)(NTK_NTFF_DMA_ENGINES * core->ntff->core + end->engine),
        .crc = end->crc_in,
        .queue = end->queue,
        .dma_class = dma_class,
    };
    return 0;
}

static int read_packets(struct ntk_trace_core *core, const struct window *window,
                        struct progress *progress)
{
    uint8_t classes[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    struct ring rings[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    struct ntk_vec waiting = NTK_VEC_INIT(struct ring_record);
    struct ntk_vec packets = NTK_VEC_INIT(struct ntk_trace_packet);
    int ret = 0;

    classify_queues(core->ntff, classes);
    for (size_t e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        for (size_t q = 0; q < NTK_NTFF_DMA_QUEUES; q++) {
            rings[e][q] = (struct ring){ NO_PENDING, NO_PENDING, false };
        }
    }
    for (size_t s = 0; s < core->ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &core->ntff->sections[s];
        if (section->type != NTK_NTFF_SECTION_DMA) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret == 0; i++) {
            struct ntk_ntff_record record;
            ntk_ntff_record_get(core->ntff, section, i, &record);
            step(progress);
            if (record.kind == NTK_NTFF_RECORD_UNKNOWN) {
                core->unknown++;
            } else if (record.kind == NTK_NTFF_RECORD_DMA_COMPLETION) {
                continue;
            } else if (!is_inside(core, window, record.time_ps)) {
                core->outside_window++;
            } else {
                ret = pair_packet(core, &rings[record.engine][record.queue], &waiting, &record,
                                  classes[record.engine][record.queue], &packets);
            }
        }
    }
    ntk_vec_fini(&waiting);
    if (ret < 0) {
        ntk_vec_fini(&packets);
        return ret;
    }
    ntk_vec_sort(&packets, compare_packets);
    core->packets = packets.items;
    core->packet_count = packets.count;
    return 0;
}

/* ---- semaphores, events, throttling ---- */

static int compare_events(const void *a, const void *b)
{
    const struct ntk_trace_event *x = a;
    const struct ntk_trace_event *y = b;

    if (x->time_ps != y->time_ps) {
        return x->time_ps < y->time_ps ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_throttles(const void *a, const void *b)
{
    const struct ntk_trace_throttle *x = a;
    const struct ntk_trace_throttle *y = b;

    return x->time_ps < y->time_ps ? -1 : x->time_ps > y->time_ps;
}

static int read_others(struct ntk_trace_core *core, const struct window *window,
                       struct progress *progress)
{
    struct ntk_vec events = NTK_VEC_INIT(struct ntk_trace_event);
    struct ntk_vec throttles = NTK_VEC_INIT(struct ntk_trace_throttle);
    int ret = 0;

    for (size_t s = 0; s < core->ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &core->ntff->sections[s];
        if (section->block != NTK_NTFF_BLOCK_CORE || (section->type != NTK_NTFF_SECTION_EVENT &&
                                                      section->type != NTK_NTFF_SECTION_THROTTLE)) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret == 0; i++) {
            struct ntk_ntff_record record;
            ntk_ntff_record_get(core->ntff, section, i, &record);
            step(progress);
            if (record.kind == NTK_NTFF_RECORD_UNKNOWN) {
                core->unknown++;
                continue;
            }
            if (!is_inside(core, window, record.time_ps)) {
                core->outside_window++;
                continue;
            }
            int64_t time_ps = since(record.time_ps, core->t0_ps);
            if (record.kind == NTK_NTFF_RECORD_EVENT) {
                ret = ntk_vec_push(
                    &events, &(struct ntk_trace_event){ .time_ps = time_ps,
                                                        .value = record.value,
                                                        .source = record.engine,
                                                        .mode = record.mode,
                                                        .number = record.number,
                                                        .is_semaphore = record.is_semaphore });
            } else {
                ret = ntk_vec_push(&throttles,
                                   &(struct ntk_trace_throttle){ .time_ps = time_ps,
                                                                 .type = record.throttle_type,
                                                                 .k = record.throttle_k,
                                                                 .n = record.throttle_n });
            }
        }
    }
    ntk_vec_sort(&events, compare_events);
    ntk_vec_sort(&throttles, compare_throttles);
    core->events = events.items;
    core->event_count = events.count;
    core->throttles = throttles.items;
    core->throttle_count = throttles.count;
    return ret;
}

/* ---- all of it ---- */

/* Names repeat when a model has several core nodes: the n-th of a name here is the n-th there. */
static const struct ntk_neff_subgraph *find_neff_subgraph(const struct ntk_neff *neff,
                                                          const struct ntk_ntff *ntff, size_t index)
{
    const char *name = ntff->subgraphs[index].name;
    size_t before = 0;

    for (size_t i = 0; i < index; i++) {
        before += strcmp(ntff->subgraphs[i].name, name) == 0;
    }
    for (uint32_t k = 0; neff && k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            if (strcmp(neff->kelfs[k].subgraphs[s].name, name) == 0 && before-- == 0) {
                return &neff->kelfs[k].subgraphs[s];
            }
        }
    }
    return NULL;
}

static int read_core(struct ntk_trace *trace, struct ntk_trace_core *core,
                     struct progress *progress)
{
    struct ntk_vec instructions = NTK_VEC_INIT(struct ntk_trace_instruction);
    int ret = read_instructions(core, &instructions, progress);

    if (ret == 0) {
        struct window window = find_window(trace->ntff, core, &instructions);
        core->t0_ps = window.start_ps == INT64_MIN ? 0 : window.start_ps;
        if (!window.is_known) {
            trace->has_total = false;
        } else if (since(window.end_ps, window.start_ps) > trace->total_ps) {
            trace->total_ps = since(window.end_ps, window.start_ps);
        }
        keep_instructions(core, &instructions, &window);
        ret = read_packets(core, &window, progress);
        if (ret == 0) {
            ret = read_others(core, &window, progress);
        }
    }
    ntk_vec_fini(&instructions);
    return ret;
}

static void count_records(struct ntk_trace *trace, struct progress *progress)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        for (size_t s = 0; s < subgraph->section_count; s++) {
            const struct ntk_ntff_section *section = &subgraph->sections[s];
            progress->total += section->record_count;
            if (section->block == NTK_NTFF_BLOCK_CC && section->record_count) {
                trace->has_collectives = true;
            }
            if (section->block == NTK_NTFF_BLOCK_CORE && section->type == NTK_NTFF_SECTION_ERROR) {
                trace->error_records += section->record_count;
            }
        }
    }
}

int ntk_trace_create_from_ntff(const struct ntk_ntff *ntff, const struct ntk_neff *neff,
                               ntk_trace_progress *progress_call, void *progress_ctx,
                               struct ntk_trace **out_trace, struct ntk_err *err)
{
    struct progress progress = { progress_call, progress_ctx, 0, 0 };
    int ret = neff ? ntk_ntff_check_neff(ntff, neff->header.uuid, err) : 0;

    if (ret < 0) {
        return ret;
    }
    struct ntk_trace *trace = calloc(1, sizeof *trace);
    if (!trace) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    trace->ntff = ntff;
    trace->neff = neff;
    trace->has_chip = ntk_chip_find(ntff->instance_type, &trace->chip);
    trace->has_total = ntff->subgraph_count > 0;
    trace->cores = calloc(ntff->subgraph_count + 1, sizeof *trace->cores);
    if (!trace->cores) {
        ret = -ENOMEM;
    } else {
        trace->core_count = ntff->subgraph_count;
        for (size_t c = 0; c < trace->core_count; c++) {
            trace->cores[c].ntff = &ntff->subgraphs[c];
            trace->cores[c].neff = find_neff_subgraph(neff, ntff, c);
        }
        count_records(trace, &progress);
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = read_core(trace, &trace->cores[c], &progress);
    }
    if (ret < 0) {
        ntk_trace_destroy(trace);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory");
    }
    if (!trace->has_total) {
        trace->total_ps = 0;
    }
    *out_trace = trace;
    return 0;
}

void ntk_trace_destroy(struct ntk_trace *trace)
{
    if (!trace) {
        return;
    }
    for (size_t c = 0; trace->cores && c < trace->core_count; c++) {
        free(trace->cores[c].instructions);
        free(trace->cores[c].packets);
        free(trace->cores[c].events);
        free(trace->cores[c].throttles);
    }
    free(trace->cores);
    free(trace);
}

const char *ntk_trace_dma_class_name(unsigned dma_class)
{
    static const char *const names[NTK_TRACE_DMA_CLASS_COUNT] = { "instruction", "io", "data",
                                                                  "software_dynamic",
                                                                  "hardware_dynamic" };

    return dma_class < NTK_TRACE_DMA_CLASS_COUNT ? names[dma_class] : "unknown";
}
