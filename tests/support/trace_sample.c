/* SPDX-License-Identifier: MIT */
#include "tests/support/trace_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS NTK_TRACE_PS_PER_NS
#define STEP_PS (1000 * NS)
#define FIRST_ENGINE 32

static void *must_calloc(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (!memory) {
        abort();
    }
    return memory;
}

static uint8_t tensor_opcode(size_t slot)
{
    return slot % 10 == 9 ? NTK_NTFF_OPCODE_EVENT_SEMAPHORE : NTK_NTFF_OPCODE_MATMUL;
}

static void fill_core(struct ntk_trace_core *core, size_t count)
{
    core->instructions = must_calloc(2 * count, sizeof *core->instructions);
    core->packets = must_calloc(count, sizeof *core->packets);
    core->events = must_calloc(count, sizeof *core->events);
    for (size_t i = 0; i < count; i++) {
        int64_t at_ps = (int64_t)i * STEP_PS;
        core->instructions[2 * i] =
            (struct ntk_trace_instruction){ .start_ps = at_ps,
                                            .end_ps = at_ps + 800 * NS,
                                            .slot = (uint32_t)(i % TRACE_SAMPLE_SLOTS),
                                            .crc_in = UINT16_MAX,
                                            .crc_out = UINT16_MAX,
                                            .engine = NTK_NTFF_ENGINE_TENSOR,
                                            .opcode = tensor_opcode(i) };
        core->instructions[2 * i + 1] =
            (struct ntk_trace_instruction){ .start_ps = at_ps,
                                            .end_ps = at_ps + 250 * NS,
                                            .slot = (uint32_t)(i % TRACE_SAMPLE_SLOTS),
                                            .wait_cycles = 12,
                                            .crc_in = UINT16_MAX,
                                            .crc_out = UINT16_MAX,
                                            .engine = NTK_NTFF_ENGINE_VECTOR,
                                            .opcode = NTK_NTFF_OPCODE_TENSOR_REDUCE };
        core->packets[i] = (struct ntk_trace_packet){ .start_ps = at_ps,
                                                      .end_ps = at_ps + 2 * STEP_PS,
                                                      .bytes_count = 2048,
                                                      .engine = (uint16_t)(FIRST_ENGINE + i % 16),
                                                      .dma_class = NTK_TRACE_DMA_HARDWARE_DYNAMIC };
        core->events[i] = (struct ntk_trace_event){ .time_ps = at_ps,
                                                    .value = (uint32_t)(i % 4) + 1,
                                                    .source = NTK_NTFF_ENGINE_TENSOR,
                                                    .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                                    .number = 7,
                                                    .is_semaphore = true };
    }
    core->instruction_count = 2 * count;
    core->packet_count = count;
    core->event_count = count;
    core->end_ps = count ? (int64_t)(count - 1) * STEP_PS + 800 * NS : 0;
}

/* Programs of a vendor's encoding: only the opcodes. */
static void fill_code(struct trace_sample *sample)
{
    for (size_t b = 0; b < 2; b++) {
        struct ntk_ntff_buffer *buffer = &sample->buffers[b];
        buffer->engine = b == 0 ? NTK_NTFF_ENGINE_TENSOR : NTK_NTFF_ENGINE_VECTOR;
        buffer->code = sample->code[b];
        buffer->code_bytes = sizeof sample->code[b];
        for (size_t slot = 0; slot < TRACE_SAMPLE_SLOTS; slot++) {
            sample->code[b][slot * NTK_NTFF_SLOT_BYTES] =
                b == 0 ? tensor_opcode(slot) : NTK_NTFF_OPCODE_TENSOR_REDUCE;
            sample->code[b][slot * NTK_NTFF_SLOT_BYTES + 1] = 0x10;
        }
        sample->subgraph.engine_buffers[buffer->engine] = buffer;
    }
    sample->subgraph.buffers = sample->buffers;
    sample->subgraph.buffer_count = 2;
}

struct trace_sample *trace_sample_create(size_t count)
{
    struct trace_sample *sample = must_calloc(1, sizeof *sample);

    for (unsigned e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        sample->queues[e].engine = FIRST_ENGINE + e;
        (void)snprintf(sample->queues[e].name, sizeof sample->queues[e].name, "qSPDynamicHW");
    }
    sample->subgraph.core = 2;
    sample->subgraph.queues = sample->queues;
    sample->subgraph.queue_count = NTK_NTFF_DMA_ENGINES;
    fill_code(sample);
    sample->ntff.version = 6;
    (void)snprintf(sample->ntff.neff_name, sizeof sample->ntff.neff_name, "sample");
    (void)snprintf(sample->ntff.instance_type, sizeof sample->ntff.instance_type, "trn2.48xlarge");
    sample->ntff.subgraphs = &sample->subgraph;
    sample->ntff.subgraph_count = 1;
    sample->core.ntff = &sample->subgraph;
    fill_core(&sample->core, count);
    sample->trace = (struct ntk_trace){ .ntff = &sample->ntff,
                                        .has_total = true,
                                        .total_ps = (int64_t)count * STEP_PS,
                                        .cores = &sample->core,
                                        .core_count = 1 };
    sample->trace.has_chip = ntk_chip_find(sample->ntff.instance_type, &sample->trace.chip);
    return sample;
}

void trace_sample_destroy(struct trace_sample *sample)
{
    free(sample->core.instructions);
    free(sample->core.packets);
    free(sample->core.events);
    free(sample);
}
