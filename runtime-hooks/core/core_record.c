/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- while the engines run -------------------------------------------------------------------- */

static void on_instruction(const struct ntk_engine_instruction_event *event, void *ctx)
{
    const struct core_record_lane *lane = ctx;
    struct ntk_ntff_instruction instruction = {
        .engine = event->engine,
        .slot = event->slot,
        .wait_ps = event->wait_ps,
    };

    for (size_t i = 0; i < lane->sink_count; i++) {
        const struct core_record_sink *sink = &lane->sinks[i];

        instruction.start_ps = sink->offset_ps + event->start_ps;
        instruction.end_ps = sink->offset_ps + event->end_ps;
        /* The writer counts records that cannot be stored, and reports them when it writes. */
        (void)ntk_ntff_writer_add_instruction(sink->writer, sink->subgraph, &instruction);
    }
}

static void on_dma(const struct ntk_engine_dma_event *event, void *ctx)
{
    const struct core_record_lane *lane = ctx;
    struct ntk_ntff_dma dma = {
        .dma_engine = event->dma_engine % NTK_NTFF_DMA_ENGINES,
        .queue = event->queue_set % NTK_NTFF_DMA_QUEUES,
        .bytes_count =
            event->write_bytes > event->read_bytes ? event->write_bytes : event->read_bytes,
    };

    for (size_t i = 0; i < lane->sink_count; i++) {
        const struct core_record_sink *sink = &lane->sinks[i];

        dma.start_ps = sink->offset_ps + event->start_ps;
        dma.end_ps = sink->offset_ps + event->end_ps;
        (void)ntk_ntff_writer_add_dma(sink->writer, sink->subgraph, &dma);
    }
}

static void on_semaphore(const struct ntk_engine_semaphore_event *event, void *ctx)
{
    const struct core_record_lane *lane = ctx;
    struct ntk_ntff_event change = {
        .source = event->engine < NTK_NTFF_ENGINE_COUNT ? event->engine : NTK_NTFF_ENGINE_AXI,
        .is_semaphore = !event->is_event,
        .mode = !event->is_event ? NTK_NTFF_MODE_SEMAPHORE_INC
                : event->value   ? NTK_NTFF_MODE_EVENT_SET
                                 : NTK_NTFF_MODE_EVENT_CLEAR,
        .number = (uint8_t)event->number,
        .value = event->value,
    };

    for (size_t i = 0; i < lane->sink_count; i++) {
        const struct core_record_sink *sink = &lane->sinks[i];

        change.time_ps = sink->offset_ps + event->time_ps;
        (void)ntk_ntff_writer_add_event(sink->writer, sink->subgraph, &change);
    }
}

static void on_error(const struct ntk_engine_error_event *event, void *ctx)
{
    const struct core_record_lane *lane = ctx;
    struct ntk_ntff_error error = {
        .kind = event->outcome == NTK_RUN_NUMERICAL_ERROR ? NTK_NTFF_ERROR_NUMERICAL
                : event->outcome == NTK_RUN_OUT_OF_BOUNDS ? NTK_NTFF_ERROR_OUT_OF_BOUNDS
                : event->outcome == NTK_RUN_DEADLOCK      ? NTK_NTFF_ERROR_DEADLOCK
                                                          : NTK_NTFF_ERROR_TIMEOUT,
        .engine = event->engine < NTK_NTFF_ENGINE_COUNT ? event->engine : NTK_NTFF_ENGINE_AXI,
        .slot = event->slot,
    };

    for (size_t i = 0; i < lane->sink_count; i++) {
        const struct core_record_sink *sink = &lane->sinks[i];

        error.time_ps = sink->offset_ps + event->time_ps;
        (void)ntk_ntff_writer_add_error(sink->writer, sink->subgraph, &error);
    }
}

void core_step_record_begin(struct core_step_record *record, struct core_capture *capture,
                            struct ntk_core_model *model, uint32_t step_index,
                            uint64_t execution_id)
{
    const struct core_step *step = &model->steps[step_index];
    struct core_nc *nc = &model->core->ncs[step->nc];

    if (execution_id > nc->last_execution) {
        nc->last_execution = execution_id;
    }
    record->is_on = capture || nc->recorder_count > 0;
    if (!record->is_on) {
        return;
    }
    record->capture = capture;
    record->nc = nc;
    for (uint32_t i = 0; i < NTK_CORE_LNC_MAX; i++) {
        struct core_record_lane *lane = &record->lanes[i];

        lane->sink_count = 0;
        lane->trace = (struct ntk_engine_trace){
            .instruction = on_instruction,
            .dma = on_dma,
            .semaphore = on_semaphore,
            .error = on_error,
            .ctx = lane,
        };
        if (capture) {
            lane->sinks[lane->sink_count++] = core_capture_sink(capture, step_index, i);
        }
    }
    for (size_t slot = 0; slot < NTK_CORE_RECORDER_SLOTS; slot++) {
        struct core_record_sink sink = { 0 };

        record->is_recorder_on[slot] =
            nc->recorders[slot] &&
            core_recorder_step_begin(nc->recorders[slot], model, step_index, execution_id,
                                     nc->device_clock_ns, &sink);
        for (uint32_t i = 0; i < NTK_CORE_LNC_MAX && record->is_recorder_on[slot]; i++) {
            struct core_record_lane *lane = &record->lanes[i];

            lane->sinks[lane->sink_count++] = sink;
            sink.subgraph++;
        }
    }
}

const struct ntk_engine_trace *core_step_record_trace(const struct core_step_record *record,
                                                      uint32_t subgraph)
{
    if (!record->is_on || record->lanes[subgraph].sink_count == 0) {
        return NULL;
    }
    return &record->lanes[subgraph].trace;
}

void core_step_record_end(struct core_step_record *record, uint64_t device_ns, bool has_failed)
{
    if (!record->is_on) {
        return;
    }
    if (record->capture) {
        core_capture_step_end(record->capture, device_ns);
    }
    for (size_t slot = 0; slot < NTK_CORE_RECORDER_SLOTS; slot++) {
        if (record->is_recorder_on[slot]) {
            core_recorder_step_end(record->nc->recorders[slot],
                                   record->nc->device_clock_ns + device_ns, has_failed);
        }
    }
}

/* --- the head of a capture -------------------------------------------------------------------- */

/* The current memory of one physical core, only that of this process. */
static void memory_fill(const struct ntk_core *core, uint32_t physical,
                        const struct core_subgraph *subgraph, uint64_t *memory_bytes)
{
    static const struct {
        enum ntk_memory_category category;
        enum ntk_ntff_memory_type type;
    } types[] = {
        { NTK_MEMORY_UNCATEGORIZED, NTK_NTFF_MEMORY_GENERIC },
        { NTK_MEMORY_RUNTIME, NTK_NTFF_MEMORY_GENERIC },
        { NTK_MEMORY_TENSORS, NTK_NTFF_MEMORY_TENSORS },
        { NTK_MEMORY_CONSTANTS, NTK_NTFF_MEMORY_WEIGHTS },
        { NTK_MEMORY_UCODE, NTK_NTFF_MEMORY_UCODE },
        { NTK_MEMORY_SHARED_SCRATCHPAD, NTK_NTFF_MEMORY_SHARED_SCRATCHPAD },
        { NTK_MEMORY_SCRATCHPAD, NTK_NTFF_MEMORY_SCRATCHPAD },
        { NTK_MEMORY_DMA_RINGS_IO, NTK_NTFF_MEMORY_DMA_RINGS_IO },
        { NTK_MEMORY_DMA_RINGS_SPILL, NTK_NTFF_MEMORY_DMA_RINGS_SPILL },
        { NTK_MEMORY_DMA_RINGS_RUNTIME, NTK_NTFF_MEMORY_DMA_RINGS_RUNTIME },
        { NTK_MEMORY_DMA_RINGS_COLLECTIVES, NTK_NTFF_MEMORY_DMA_RINGS_COLLECTIVES },
        { NTK_MEMORY_COLLECTIVES, NTK_NTFF_MEMORY_COLLECTIVES },
        { NTK_MEMORY_NOTIFICATIONS, NTK_NTFF_MEMORY_PROFILER_BUFFERS },
    };
    static const enum ntk_ntff_memory_type code_types[NTK_ISA_ENGINE_COUNT] = {
        NTK_NTFF_MEMORY_TENSOR_CODE, NTK_NTFF_MEMORY_SCALAR_CODE, NTK_NTFF_MEMORY_GPSIMD_CODE,
        NTK_NTFF_MEMORY_VECTOR_CODE, NTK_NTFF_MEMORY_SYNC_CODE,
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        memory_bytes[types[i].type] +=
            ntk_abi_load(&core->soft->state->core[physical].memory[types[i].category].total);
    }
    for (size_t e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        memory_bytes[code_types[e]] += subgraph->code_bytes[e];
    }
}

/* Makes one entry per DMA engine and queue set; an engine's queue number is that of the queue
 * set. */
static int queues_make(const struct core_subgraph *subgraph, uint32_t dma_engine_count,
                       uint32_t stack, struct ntk_ntff_capture_subgraph *to)
{
    uint32_t sets = subgraph->queue_set_count;
    uint32_t engines =
        dma_engine_count < NTK_NTFF_DMA_ENGINES ? dma_engine_count : NTK_NTFF_DMA_ENGINES;

    sets = sets < NTK_NTFF_DMA_QUEUES ? sets : NTK_NTFF_DMA_QUEUES;
    struct ntk_ntff_capture_queue *queues = calloc((size_t)sets * engines + 1, sizeof *queues);
    if (!queues) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < sets; s++) {
        bool is_io = subgraph->queue_sets[s].type == NTK_NEFF_QUEUE_IN ||
                     subgraph->queue_sets[s].type == NTK_NEFF_QUEUE_OUT;

        for (uint32_t e = 0; e < engines; e++) {
            queues[to->queue_count++] = (struct ntk_ntff_capture_queue){
                .name = subgraph->queue_sets[s].name,
                .dma_engine = e,
                .queue = s,
                .type = is_io ? NTK_NTFF_QUEUE_IO : NTK_NTFF_QUEUE_WEIGHTS,
                .dram_channel = stack,
            };
        }
    }
    to->queues = queues;
    return 0;
}

static int subgraph_describe(const struct ntk_core_model *model, const struct core_step *step,
                             uint32_t index, struct ntk_ntff_capture_subgraph *to)
{
    const struct ntk_core *core = model->core;
    const struct core_subgraph *subgraph = &step->subgraphs[index];
    const struct core_nc *nc = &core->ncs[step->nc];
    uint32_t physical = nc->first_physical + index;

    to->name = subgraph->name;
    to->core = physical % core->row->facts.cores_per_device;
    for (size_t e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        to->engines[e] = (struct ntk_ntff_capture_code){
            .code = subgraph->code_bytes[e] > 0
                        ? (const uint8_t *)subgraph->code.address + subgraph->code_offset[e]
                        : NULL,
            .code_bytes = subgraph->code_bytes[e],
            .address = subgraph->code.hook.address + subgraph->code_offset[e],
        };
    }
    memory_fill(core, physical, subgraph, to->memory_bytes);
    return queues_make(subgraph,
                       ntk_engine_core_spec_get(core->row->facts.generation)->dma_engine_count,
                       nc->stack->index, to);
}

int core_record_describe(const struct ntk_core_model *model, uint32_t first_step,
                         uint32_t step_count, struct core_record_description *out_description)
{
    const struct ntk_core_machine *machine = &model->core->row->facts;
    struct core_record_description *to = out_description;
    int ret = 0;

    to->subgraphs = calloc((size_t)step_count * NTK_CORE_LNC_MAX + 1, sizeof *to->subgraphs);
    if (!to->subgraphs) {
        return -ENOMEM;
    }
    to->capture = (struct ntk_ntff_capture){
        .neff_name = model->name,
        .model_id = model->id,
        .runtime = { .present = true, .major = 2, .minor = 31, .patch = 24 },
        .driver = { .present = true, .major = 2, .minor = 30, .patch = 2 },
        .instance_type = machine->instance,
        .instance_id = NTK_CORE_INSTANCE_ID,
        .process_id = (uint64_t)getpid(),
        .base_clock_mhz = ntk_engine_core_spec_get(machine->generation)->clock_mhz[NTK_ENGINE_SP],
        .subgraphs = to->subgraphs,
    };
    memcpy(to->capture.neff_uuid, model->uuid, sizeof to->capture.neff_uuid);
    for (uint32_t s = first_step; s < first_step + step_count && ret == 0; s++) {
        for (uint32_t i = 0; i < model->steps[s].subgraph_count && ret == 0; i++) {
            ret = subgraph_describe(model, &model->steps[s], i,
                                    &to->subgraphs[to->capture.subgraph_count++]);
        }
    }
    if (ret < 0) {
        core_record_description_fini(to);
    }
    return ret;
}

void core_record_description_fini(struct core_record_description *description)
{
    for (size_t i = 0; i < description->capture.subgraph_count; i++) {
        free((void *)description->subgraphs[i].queues);
    }
    free(description->subgraphs);
    *description = (struct core_record_description){ 0 };
}
