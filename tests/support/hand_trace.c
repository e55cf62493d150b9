/* SPDX-License-Identifier: MIT */
/* hand_trace - the lists of a trace, filled one by one. */
#include "tests/support/hand_trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define PS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

void hand_trace_begin(struct hand_trace *h, size_t core_count, const char *instance_type,
                      int64_t total_ns)
{
    memset(h, 0, sizeof *h);
    assert(core_count <= HAND_TRACE_CORES);
    ntk_str_copy(h->ntff.instance_type, sizeof h->ntff.instance_type, instance_type);
    h->ntff.subgraphs = h->subgraphs;
    h->ntff.subgraph_count = core_count;
    h->trace.ntff = &h->ntff;
    h->trace.has_total = total_ns > 0;
    h->trace.total_ps = PS(total_ns);
    h->trace.has_chip = ntk_chip_find(instance_type, &h->trace.chip);
    h->trace.cores = h->cores;
    h->trace.core_count = core_count;
    for (size_t c = 0; c < core_count; c++) {
        struct ntk_trace_core *core = &h->cores[c];

        ntk_str_copy(h->subgraphs[c].name, sizeof h->subgraphs[c].name, c ? "sg01" : "sg00");
        h->subgraphs[c].core = (uint32_t)c;
        core->ntff = &h->subgraphs[c];
        core->instructions = calloc(HAND_TRACE_ITEMS, sizeof *core->instructions);
        core->events = calloc(HAND_TRACE_ITEMS, sizeof *core->events);
        core->packets = calloc(HAND_TRACE_ITEMS, sizeof *core->packets);
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            h->code[c][e] = calloc(HAND_TRACE_SLOTS, NTK_NTFF_SLOT_BYTES);
            h->buffers[c][e] = (struct ntk_ntff_buffer){ .engine = e, .code = h->code[c][e] };
        }
        h->neff_subgraphs[c].queue_sets = h->queue_sets[c];
    }
}

static uint8_t *grow(struct hand_trace *h, size_t core, unsigned engine, size_t slots)
{
    struct ntk_ntff_buffer *buffer = &h->buffers[core][engine];
    uint8_t *at = h->code[core][engine] + buffer->code_bytes;

    buffer->code_bytes += slots * NTK_NTFF_SLOT_BYTES;
    assert(buffer->code_bytes <= (size_t)HAND_TRACE_SLOTS * NTK_NTFF_SLOT_BYTES);
    h->subgraphs[core].engine_buffers[engine] = buffer;
    return at;
}

uint32_t hand_trace_open(struct hand_trace *h, size_t core, unsigned engine,
                         const struct ntk_isa_instr *instr)
{
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots = 0;
    int ret = ntk_isa_encode(instr, (enum ntk_isa_engine)engine, bytes, &slots, NULL);

    if (ret != 0) {
        abort();
    }
    uint8_t *at = grow(h, core, engine, slots);
    memcpy(at, bytes, slots * NTK_NTFF_SLOT_BYTES);
    return (uint32_t)((size_t)(at - h->code[core][engine]) / NTK_NTFF_SLOT_BYTES);
}

uint32_t hand_trace_slot(struct hand_trace *h, size_t core, unsigned engine,
                         const uint8_t bytes[NTK_NTFF_SLOT_BYTES])
{
    uint8_t *at = grow(h, core, engine, 1);

    memcpy(at, bytes, NTK_NTFF_SLOT_BYTES);
    return (uint32_t)((size_t)(at - h->code[core][engine]) / NTK_NTFF_SLOT_BYTES);
}

uint32_t hand_trace_nop(struct hand_trace *h, size_t core, unsigned engine, unsigned wait,
                        unsigned wait_value, unsigned signal)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    instr.imm[0] = 1;
    if (wait != NTK_ISA_NO_SEMAPHORE) {
        instr.wait_semaphore = (uint16_t)wait;
        instr.wait_value = (uint16_t)wait_value;
    }
    if (signal != NTK_ISA_NO_SEMAPHORE) {
        instr.signal_semaphore = (uint16_t)signal;
        instr.signal_value = 1;
    }
    return hand_trace_open(h, core, engine, &instr);
}

void hand_trace_run(struct hand_trace *h, size_t core, unsigned engine, uint32_t slot,
                    int64_t start_ns, int64_t end_ns)
{
    struct ntk_trace_core *of = &h->cores[core];

    assert(of->instruction_count < HAND_TRACE_ITEMS);
    of->instructions[of->instruction_count++] = (struct ntk_trace_instruction){
        .start_ps = PS(start_ns),
        .end_ps = PS(end_ns),
        .slot = slot,
        .engine = (uint8_t)engine,
        .opcode = h->code[core][engine][(size_t)slot * NTK_NTFF_SLOT_BYTES],
    };
    if (PS(end_ns) > of->end_ps) {
        of->end_ps = PS(end_ns);
    }
}

void hand_trace_change(struct hand_trace *h, size_t core, unsigned source, unsigned number,
                       uint32_t value, int64_t at_ns)
{
    struct ntk_trace_core *of = &h->cores[core];

    assert(of->event_count < HAND_TRACE_ITEMS);
    of->events[of->event_count++] = (struct ntk_trace_event){ .time_ps = PS(at_ns),
                                                              .value = value,
                                                              .source = (uint8_t)source,
                                                              .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                                              .number = (uint8_t)number,
                                                              .is_semaphore = true };
}

void hand_trace_packet(struct hand_trace *h, size_t core, unsigned engine, unsigned queue,
                       enum ntk_trace_dma_class dma_class, uint32_t bytes, int64_t start_ns,
                       int64_t end_ns)
{
    struct ntk_trace_core *of = &h->cores[core];

    assert(of->packet_count < HAND_TRACE_ITEMS);
    of->packets[of->packet_count++] =
        (struct ntk_trace_packet){ .start_ps = PS(start_ns),
                                   .end_ps = PS(end_ns),
                                   .bytes_count = bytes,
                                   .engine = (uint16_t)(NTK_NTFF_DMA_ENGINES * core + engine),
                                   .queue = (uint8_t)queue,
                                   .dma_class = (uint8_t)dma_class };
}

static struct ntk_neff_subgraph *neff_of(struct hand_trace *h, size_t core)
{
    h->trace.neff = &h->neff;
    h->cores[core].neff = &h->neff_subgraphs[core];
    return &h->neff_subgraphs[core];
}

uint32_t hand_trace_name(struct hand_trace *h, size_t core, unsigned engine, const char *name)
{
    struct ntk_neff_engine *of = &neff_of(h, core)->engines[engine];

    assert(of->name_count < 32);
    of->names = h->names[core][engine];
    of->names[of->name_count++] = name;
    return of->name_count;
}

uint32_t hand_trace_queue(struct hand_trace *h, size_t core, const char *name, unsigned semaphore)
{
    struct ntk_neff_subgraph *of = neff_of(h, core);

    assert(of->queue_set_count < 8);
    of->queue_sets[of->queue_set_count++] = (struct ntk_neff_queue_set){
        .name = name, .queue_count = 1, .semaphore_count = 1, .semaphores = { (uint16_t)semaphore }
    };
    return of->queue_set_count - 1;
}

struct ntk_isa_instr hand_trace_load(struct hand_trace *h, size_t core, uint32_t columns)
{
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    load.queue = (uint16_t)hand_trace_queue(h, core, "qSPIO0", 20);
    load.done_semaphore = 20;
    load.done_value = 1;
    load.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, columns, NTK_DTYPE_FLOAT32);
    load.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 128, columns, columns, NTK_DTYPE_FLOAT32);
    return load;
}

static int by_start(const void *a, const void *b)
{
    const struct ntk_trace_instruction *x = a;
    const struct ntk_trace_instruction *y = b;

    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    return x->engine != y->engine ? (int)x->engine - (int)y->engine : (int)x->slot - (int)y->slot;
}

static int by_time(const void *a, const void *b)
{
    const struct ntk_trace_event *x = a;
    const struct ntk_trace_event *y = b;

    return x->time_ps < y->time_ps ? -1 : x->time_ps > y->time_ps;
}

static int by_packet(const void *a, const void *b)
{
    const struct ntk_trace_packet *x = a;
    const struct ntk_trace_packet *y = b;

    return x->start_ps < y->start_ps ? -1 : x->start_ps > y->start_ps;
}

void hand_trace_end(struct hand_trace *h)
{
    for (size_t c = 0; c < h->trace.core_count; c++) {
        struct ntk_trace_core *core = &h->cores[c];

        qsort(core->instructions, core->instruction_count, sizeof *core->instructions, by_start);
        qsort(core->events, core->event_count, sizeof *core->events, by_time);
        qsort(core->packets, core->packet_count, sizeof *core->packets, by_packet);
    }
}

void hand_trace_fini(struct hand_trace *h)
{
    for (size_t c = 0; c < h->trace.core_count; c++) {
        free(h->cores[c].instructions);
        free(h->cores[c].events);
        free(h->cores[c].packets);
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            free(h->code[c][e]);
        }
    }
}
