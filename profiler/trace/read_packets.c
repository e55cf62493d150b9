/* SPDX-License-Identifier: MIT */
/* read_packets - pairs starts and ends of DMA packets, with the class of their queue. */
#include <errno.h>
#include <string.h>

#include "profiler/trace/trace_build.h"
#include "profiler/trace/waiting.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

struct ring { /* starts without an end, or ends without a start: never both */
    uint32_t queue;
    bool holds_ends;
    uint8_t dma_class;
};

struct reader {
    const struct ntk_trace_build *build;
    struct ntk_trace_core *core;
    const struct ntk_trace_window *window;
    struct ntk_waiting waiting;
    struct ring rings[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    struct ntk_sorter sorter;
};

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

/* Returns the class of a queue; the NEFF has the type of a prepared queue. */
static uint8_t class_of(const struct ntk_trace_core *core, const char *name)
{
    enum ntk_trace_dma_class by_name = class_by_name(name);

    for (uint32_t i = 0; core->neff && i < core->neff->queue_set_count; i++) {
        const struct ntk_neff_queue_set *set = &core->neff->queue_sets[i];
        if (ntk_trace_is_prepared(by_name) && strcmp(set->name, name) == 0) {
            return set->type == NTK_NEFF_QUEUE_IN    ? NTK_TRACE_DMA_INPUT
                   : set->type == NTK_NEFF_QUEUE_OUT ? NTK_TRACE_DMA_OUTPUT
                                                     : NTK_TRACE_DMA_DATA;
        }
    }
    return (uint8_t)by_name;
}

static void classify_rings(struct reader *r)
{
    const struct ntk_ntff_subgraph *ntff = r->core->ntff;

    for (size_t e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        for (size_t q = 0; q < NTK_NTFF_DMA_QUEUES; q++) {
            r->rings[e][q].dma_class = NTK_TRACE_DMA_INSTRUCTION;
        }
    }
    for (size_t q = 0; q < ntff->queue_count; q++) {
        const struct ntk_ntff_queue *queue = &ntff->queues[q];
        if (queue->queue < NTK_NTFF_DMA_QUEUES) {
            r->rings[queue->engine % NTK_NTFF_DMA_ENGINES][queue->queue].dma_class =
                class_of(r->core, queue->name);
        }
    }
}

/* Returns the part of a packet's end that is needed: 16 bits of size, 16 bits of the sum. */
static uint32_t detail_of(const struct ntk_ntff_record *record)
{
    return (record->bytes_count & 0xffff) | (uint32_t)record->crc_in << 16;
}

struct span {
    int64_t start_ps, end_ps;
};

/* Returns the bytes moved until then, assuming a constant rate. */
static uint32_t bytes_until(const struct span *span, uint32_t bytes_count, int64_t time_ps)
{
    if (time_ps >= span->end_ps) {
        return bytes_count;
    }
    __extension__ unsigned __int128 part = (unsigned __int128)(time_ps - span->start_ps);
    return time_ps <= span->start_ps
               ? 0
               : (uint32_t)(part * bytes_count / (uint64_t)(span->end_ps - span->start_ps));
}

/* Pairs a record: the i-th start of a ring belongs to its i-th end, whichever is first in the file.
 * If a packet was in progress at the start of the execution, ends precede their starts from then
 * on: those pairs are not packets. */
static int pair(struct reader *r, const struct ntk_ntff_record *record)
{
    bool is_end = record->kind == NTK_NTFF_RECORD_DMA_END;
    struct ring *ring = &r->rings[record->engine][record->queue];

    if (!ring->queue || ring->holds_ends == is_end) {
        int ret = ntk_waiting_push(&r->waiting, &ring->queue, record->time_ps, detail_of(record));
        ring->holds_ends = is_end;
        r->core->unpaired++;
        return ret == -ENOMEM ? ret : 0;
    }
    struct ntk_waiting_item other = ntk_waiting_pop(&r->waiting, &ring->queue);
    int64_t start_ps = is_end ? other.time_ps : record->time_ps;
    int64_t end_ps = is_end ? record->time_ps : other.time_ps;
    uint32_t detail = is_end ? detail_of(record) : other.detail;
    if (end_ps < start_ps) {
        r->core->unpaired++;
        return 0;
    }
    r->core->unpaired--;
    struct span whole = { ntk_trace_since(start_ps, r->core->t0_ps),
                          ntk_trace_since(end_ps, r->core->t0_ps) };
    struct span kept = whole;
    if (!ntk_trace_build_clip(r->build, &kept.start_ps, &kept.end_ps)) {
        return 0;
    }
    struct ntk_trace_packet *packet = ntk_sorter_add(&r->sorter);
    if (!packet) {
        return r->sorter.failed;
    }
    *packet = (struct ntk_trace_packet){
        .start_ps = kept.start_ps,
        .end_ps = kept.end_ps,
        .bytes_count = bytes_until(&whole, detail & 0xffff, kept.end_ps) -
                       bytes_until(&whole, detail & 0xffff, kept.start_ps),
        .engine = (uint16_t)(NTK_NTFF_DMA_ENGINES * r->core->ntff->core + record->engine),
        .crc = (uint16_t)(detail >> 16),
        .queue = record->queue,
        .dma_class = ring->dma_class,
    };
    return 0;
}

static int read_record(struct reader *r, const struct ntk_ntff_record *record)
{
    if (record->kind == NTK_NTFF_RECORD_DMA_COMPLETION) {
        return 0;
    }
    if (record->kind == NTK_NTFF_RECORD_UNKNOWN) {
        r->core->unknown++;
        return 0;
    }
    if (!ntk_trace_is_inside(r->core, r->window, record->time_ps)) {
        r->core->outside_window++;
        return 0;
    }
    return pair(r, record);
}

NTK_ORDER(compare, struct ntk_trace_packet, NTK_UP(engine) NTK_UP(queue) NTK_UP(end_ps));

int ntk_trace_read_packets(struct ntk_trace_build *build, struct ntk_trace_core *core,
                           const struct ntk_trace_window *window)
{
    struct reader r = { .build = build, .core = core, .window = window };
    struct ntk_sorted sorted;
    int ret = 0;

    classify_rings(&r);
    ntk_trace_build_sorter(build, &r.sorter, sizeof(struct ntk_trace_packet), compare);
    for (size_t s = 0; s < core->ntff->section_count && ret == 0; s++) {
        const struct ntk_ntff_section *section = &core->ntff->sections[s];
        if (section->type != NTK_NTFF_SECTION_DMA) {
            continue;
        }
        for (uint64_t i = 0; i < section->record_count && ret == 0;) {
            uint64_t end = ntk_trace_build_piece_end(section, i);
            for (; i < end && ret == 0; i++) {
                struct ntk_ntff_record record;
                ntk_ntff_record_get(core->ntff, section, i, &record);
                ret = read_record(&r, &record);
            }
            ntk_trace_build_passed(build, section, i);
        }
    }
    ntk_waiting_fini(&r.waiting);
    if (ret < 0 && !r.sorter.failed) {
        ntk_sorter_fini(&r.sorter);
        return ntk_err_no_memory(build->err);
    }
    ret = ntk_trace_build_finish(build, &r.sorter, sizeof(struct ntk_trace_packet), &sorted);
    if (ret == 0) {
        core->packets = sorted.items;
        core->packet_count = sorted.count;
        core->is_mapped.packets = sorted.is_mapped;
    }
    return ret;
}
