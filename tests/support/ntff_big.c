/* SPDX-License-Identifier: MIT */
/* ntff_big - steps through the writer of the format. */
#include "tests/support/ntff_big.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/vendor_slot.h"
#include "shared/formats/ntff/ntff.h"

#define SLOTS 512
#define STEP_BYTES (16 * (2 * 3 + 2 + NTFF_BIG_EVENTS + 2 * NTFF_BIG_PACKETS)) /* about */
#define DMA_OF_STEPS 4
/* Semaphores: of the transfers, of the tensor engine. */
#define TRANSFERS 3
#define PRODUCTS 7

static void put_u16(uint8_t *slot, size_t at, uint16_t value)
{
    slot[at] = (uint8_t)value;
    slot[at + 1] = (uint8_t)(value >> 8);
}

/* Continues at the first change. */
static void put_wait(uint8_t *wait, uint8_t *value, uint8_t semaphore)
{
    wait[0] = NTK_VENDOR_WAIT_AT_LEAST;
    wait[1] = semaphore;
    value[0] = 1;
}

static void put_waits(uint8_t *slot)
{
    uint8_t *head = slot + NTK_VENDOR_SLOT_WAIT;
    uint8_t *body = slot + NTK_VENDOR_SLOT_BODY;

    switch (slot[0]) {
    case NTK_NTFF_OPCODE_MATMUL:
        put_wait(head, slot + NTK_VENDOR_SLOT_WAIT_VALUE, TRANSFERS);
        slot[NTK_VENDOR_SLOT_SIGNAL] = NTK_VENDOR_SIGNAL_INC;
        slot[NTK_VENDOR_SLOT_SIGNAL + 1] = PRODUCTS;
        break;
    case NTK_NTFF_OPCODE_ACTIVATE:
        put_wait(head, slot + NTK_VENDOR_SLOT_WAIT_VALUE, PRODUCTS);
        break;
    case NTK_NTFF_OPCODE_EVENT_SEMAPHORE:
        put_wait(body, body + 4, TRANSFERS + 1);
        break;
    case NTK_NTFF_OPCODE_DMA_DIRECT2D:
        slot[NTK_VENDOR_SLOT_DMA_SEMAPHORE] = TRANSFERS;
        break;
    default:
        break;
    }
}

/* All slots of an engine are the same, except the last, a NOTIFY. */
static void fill_code(uint8_t code[SLOTS * NTK_NTFF_SLOT_BYTES], uint8_t opcode, bool has_waits)
{
    memset(code, 0, (size_t)SLOTS * NTK_NTFF_SLOT_BYTES);
    for (size_t s = 0; s < SLOTS; s++) {
        uint8_t *slot = code + s * NTK_NTFF_SLOT_BYTES;
        slot[0] = s + 1 < SLOTS ? opcode : NTK_NTFF_OPCODE_NOTIFY;
        slot[1] = 0x10;
        if (slot[0] == NTK_NTFF_OPCODE_MATMUL) {
            put_u16(slot, 26, NTFF_BIG_MATMUL_COLUMNS);
            put_u16(slot, 28, 1);
            put_u16(slot, 30, 1);
            slot[38] = slot[39] = 128; /* rows, columns */
        } else if (slot[0] == NTK_NTFF_OPCODE_DMA_DIRECT2D) {
            slot[16 + 7] = 0x20; /* from HBM */
            slot[40 + 4] = 0x20; /* to the state buffer */
            put_u16(slot, 32, 1);
            put_u16(slot, 34, DMA_OF_STEPS * NTFF_BIG_PACKETS);
            put_u16(slot, 36, NTFF_BIG_PACKET_BYTES);
        }
        if (has_waits) {
            put_waits(slot);
        }
    }
}

struct writing {
    struct ntk_ntff_writer *writer;
    struct ntff_big *big;
    size_t core;
    int ret;
};

static void add(struct writing *w, unsigned engine, uint64_t slot, uint64_t start_ps,
                uint64_t length_ps)
{
    struct ntk_ntff_instruction instruction = { .engine = engine,
                                                .slot = (uint32_t)slot,
                                                .start_ps = start_ps,
                                                .end_ps = start_ps + length_ps };
    int ret = ntk_ntff_writer_add_instruction(w->writer, w->core, &instruction);

    w->ret = w->ret ? w->ret : ret;
    w->big->instruction_count++;
    w->big->record_count += 2;
}

static void add_event(struct writing *w, const struct ntk_ntff_event *event)
{
    int ret = ntk_ntff_writer_add_event(w->writer, w->core, event);

    w->ret = w->ret ? w->ret : ret;
    w->big->event_count++;
    w->big->record_count++;
}

static void add_steps(struct writing *w)
{
    for (uint64_t s = 0; s < w->big->steps; s++) {
        uint64_t now_ps = s * NTFF_BIG_STEP_PS;
        uint64_t slot = s % (SLOTS - 1);
        /* Not in the order of their starts: the instruction that started in the previous step is
         * among those of this one. */
        add(w, NTK_NTFF_ENGINE_SCALAR, slot, now_ps + 200000, NTFF_BIG_SCALAR_PS);
        if (s > 0) {
            add(w, NTK_NTFF_ENGINE_VECTOR, (s - 1) % (SLOTS - 1), now_ps - NTFF_BIG_STEP_PS / 2,
                NTFF_BIG_VECTOR_PS);
        }
        add(w, NTK_NTFF_ENGINE_TENSOR, slot, now_ps, NTFF_BIG_TENSOR_PS);
        if (s % DMA_OF_STEPS == 0) {
            add(w, NTK_NTFF_ENGINE_GPSIMD, slot, now_ps + 500000, 200000);
        }
        add(w, NTK_NTFF_ENGINE_SYNC, slot, now_ps, 900000);
        for (unsigned k = 0; k < NTFF_BIG_EVENTS; k++) {
            struct ntk_ntff_event event = { .source = NTK_NTFF_ENGINE_AXI,
                                            .is_semaphore = true,
                                            .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                            .number = (uint8_t)(k + TRANSFERS),
                                            .value = (uint32_t)s,
                                            .time_ps = now_ps + 100000 * (k + 1) };
            add_event(w, &event);
        }
        if (w->big->has_waits) {
            struct ntk_ntff_event event = { .source = NTK_NTFF_ENGINE_TENSOR,
                                            .is_semaphore = true,
                                            .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                            .number = PRODUCTS,
                                            .value = (uint32_t)s,
                                            .time_ps = now_ps + NTFF_BIG_TENSOR_PS };
            add_event(w, &event);
        }
    }
    add(w, NTK_NTFF_ENGINE_TENSOR, SLOTS - 1, w->big->steps * NTFF_BIG_STEP_PS, 5000);
}

static void add_packets(struct writing *w)
{
    for (unsigned e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        uint64_t turns = NTK_NTFF_DMA_ENGINES / NTFF_BIG_PACKETS;
        for (uint64_t s = e / NTFF_BIG_PACKETS; s < w->big->steps; s += turns) {
            struct ntk_ntff_dma dma = { .dma_engine = e,
                                        .bytes_count = NTFF_BIG_PACKET_BYTES,
                                        .start_ps = s * NTFF_BIG_STEP_PS +
                                                    100000 * (e % NTFF_BIG_PACKETS) };
            dma.end_ps = dma.start_ps + 500000;
            int ret = ntk_ntff_writer_add_dma(w->writer, w->core, &dma);
            w->ret = w->ret ? w->ret : ret;
            w->big->packet_count++;
            w->big->record_count += 2;
        }
    }
}

int ntff_big_write(const char *path, struct ntff_big *big)
{
    static uint8_t codes[NTK_NTFF_ENGINE_COUNT][SLOTS * NTK_NTFF_SLOT_BYTES];
    static const uint8_t opcodes[NTK_NTFF_ENGINE_COUNT] = {
        [NTK_NTFF_ENGINE_TENSOR] = NTK_NTFF_OPCODE_MATMUL,
        [NTK_NTFF_ENGINE_SCALAR] = NTK_NTFF_OPCODE_ACTIVATE,
        [NTK_NTFF_ENGINE_GPSIMD] = NTK_NTFF_OPCODE_DMA_DIRECT2D,
        [NTK_NTFF_ENGINE_VECTOR] = NTK_NTFF_OPCODE_TENSOR_REDUCE,
        [NTK_NTFF_ENGINE_SYNC] = NTK_NTFF_OPCODE_EVENT_SEMAPHORE,
    };
    struct ntk_ntff_capture_queue queues[NTK_NTFF_DMA_ENGINES];
    struct ntk_ntff_capture_subgraph subgraphs[2] = { { .name = "sg00" },
                                                      { .name = "sg01", .core = 1 } };
    struct ntk_ntff_capture capture = { .neff_name = "big",
                                        .model_id = 10001,
                                        .instance_type = "trn2.48xlarge",
                                        .base_clock_mhz = 1200,
                                        .subgraph_count = big->cores,
                                        .subgraphs = subgraphs };
    struct writing w = { .big = big };

    for (uint32_t e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        queues[e] = (struct ntk_ntff_capture_queue){ .name = "qPoolDynamic", .dma_engine = e };
    }
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        fill_code(codes[e], opcodes[e], big->has_waits);
        for (size_t c = 0; c < 2; c++) {
            subgraphs[c].engines[e] =
                (struct ntk_ntff_capture_code){ codes[e], sizeof codes[e], 0x100000 * (e + 1) };
            subgraphs[c].queue_count = NTK_NTFF_DMA_ENGINES;
            subgraphs[c].queues = queues;
        }
    }
    if (!big->steps) {
        big->steps = big->bytes_count / big->cores / STEP_BYTES;
    }
    big->instruction_count = big->packet_count = big->event_count = big->record_count = 0;
    int ret = ntk_ntff_writer_create(path, &capture, &w.writer, NULL);
    if (ret < 0) {
        return ret;
    }
    for (w.core = 0; w.core < big->cores; w.core++) {
        add_steps(&w);
        add_packets(&w);
    }
    big->total_ps = (int64_t)(big->steps * NTFF_BIG_STEP_PS + 5000);
    ntk_ntff_writer_set_execution(w.writer, 0, (uint64_t)big->total_ps);
    ret = w.ret ? w.ret : ntk_ntff_writer_commit(w.writer, NULL);
    ntk_ntff_writer_destroy(w.writer);
    return ret;
}

char *ntff_big_write_in(const char *folder, struct ntff_big *big)
{
    char *path = NULL;

    if (asprintf(&path, "%s/big.ntff", folder) < 0) {
        return NULL;
    }
    if (ntff_big_write(path, big) < 0) {
        free(path);
        return NULL;
    }
    return path;
}
