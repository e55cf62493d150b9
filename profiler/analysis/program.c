/* SPDX-License-Identifier: MIT */
/* program - decodes each slot once, and collects layer names. */
#include "profiler/analysis/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/core_signals.h"
#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/dropped.h"
#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/matmul_flops.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/vendor_slot.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

struct filling {
    struct ntk_program *program;
    struct ntk_vec layers;  /* elements are const char * */
    struct ntk_map numbers; /* maps a name to its number, as a pointer */
    bool has_names;
    int failed;
};

static uint32_t layer_number(struct filling *f, const char *name)
{
    uintptr_t number = (uintptr_t)ntk_map_get(&f->numbers, name);

    if (!number) {
        number = f->layers.count;
        if (ntk_vec_push(&f->layers, &name) < 0 ||
            ntk_map_put(&f->numbers, name, (void *)number) < 0) {
            f->failed = -ENOMEM;
            return NTK_LAYER_NONE;
        }
    }
    f->program->has_layers = true;
    return (uint32_t)number;
}

const char *ntk_program_queue_of(const struct ntk_trace_core *core, uint16_t semaphore)
{
    for (uint32_t q = 0; core->neff && q < core->neff->queue_set_count; q++) {
        const struct ntk_neff_queue_set *set = &core->neff->queue_sets[q];
        for (uint32_t s = 0; s < set->semaphore_count; s++) {
            if (set->semaphores[s] == semaphore) {
                return set->name;
            }
        }
    }
    return NULL;
}

/* Finds the end of a prepared transfer, which is signalled as described by its group in the
 * NEFF. */
static void trigger_end(const struct ntk_trace_core *core, unsigned engine,
                        const struct ntk_isa_instr *open, struct ntk_slot_fact *fact)
{
    uint32_t index = 0;
    const struct ntk_neff_dma_group *group = ntk_dma_group_next(core, engine, open, &index);

    if (group) {
        fact->done_is_event = group->semaphore == NTK_NEFF_NONE;
        uint32_t number = fact->done_is_event ? group->event : group->semaphore;
        fact->done_number = number < NTK_ISA_SEMAPHORES ? (uint16_t)number : NTK_PROGRAM_NO_NUMBER;
    }
    for (; group && fact->is_open; group = ntk_dma_group_next(core, engine, open, &index)) {
        fact->signals_core = fact->signals_core || group->remote_semaphore_count > 0;
    }
}

static void fill_open(struct filling *f, const struct ntk_trace_core *core, unsigned engine,
                      const struct ntk_isa_instr *open, struct ntk_slot_fact *fact)
{
    bool is_event = (open->flags & NTK_ISA_FLAG_WAIT_EVENT) != 0;

    fact->is_open = true;
    fact->has_sync = true;
    if (open->wait_semaphore != NTK_ISA_NO_SEMAPHORE) {
        fact->wait_number = open->wait_semaphore;
        fact->wait_value = open->wait_value;
        if (is_event) {
            fact->wait = open->wait_value ? NTK_WAIT_SET : NTK_WAIT_CLEAR;
        } else {
            fact->wait = open->flags & NTK_ISA_FLAG_WAIT_EQUAL ? NTK_WAIT_EQUAL : NTK_WAIT_AT_LEAST;
        }
    }
    if (open->signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        fact->signal_number = open->signal_semaphore;
        fact->signals_event = (open->flags & NTK_ISA_FLAG_SIGNAL_EVENT) != 0;
    }
    fact->is_transfer = ntk_isa_ends_later(open->op) || open->op == NTK_ISA_OP_DMA_TRIGGER;
    if (fact->is_transfer) {
        fact->done_number = open->done_semaphore; /* a missing number is the same in both */
        if (open->op == NTK_ISA_OP_DMA_TRIGGER) {
            trigger_end(core, engine, open, fact);
        }
        if (core->neff && open->queue < core->neff->queue_set_count) {
            fact->queue = core->neff->queue_sets[open->queue].name;
        }
    }
    if (core->neff && open->name_id && open->name_id <= core->neff->engines[engine].name_count) {
        fact->layer = layer_number(f, core->neff->engines[engine].names[open->name_id - 1]);
    }
}

/* Fills the fields from bytes: kind, number, kind, number, value. */
static void fill_vendor_sync(const uint8_t *wait, const uint8_t *value, struct ntk_slot_fact *fact)
{
    static const struct {
        bool is_known;
        enum ntk_wait_kind kind;
    } waits[256] = {
        [0] = { true, NTK_WAIT_NONE },
        [NTK_VENDOR_WAIT_EQUAL] = { true, NTK_WAIT_EQUAL },
        [NTK_VENDOR_WAIT_AT_LEAST] = { true, NTK_WAIT_AT_LEAST },
        [NTK_VENDOR_WAIT_EVENT] = { true, NTK_WAIT_SET },
    };
    static const bool signals[256] = {
        [0] = true,
        [NTK_VENDOR_SIGNAL_SET] = true,
        [NTK_VENDOR_SIGNAL_INC] = true,
        [NTK_VENDOR_SIGNAL_DEC] = true,
        [NTK_VENDOR_SIGNAL_ADD] = true,
        [NTK_VENDOR_SIGNAL_WRITE] = true,
    };
    uint8_t signal = wait[2];

    fact->has_sync = waits[wait[0]].is_known && signals[signal];
    fact->wait = waits[wait[0]].kind;
    if (fact->wait != NTK_WAIT_NONE) {
        fact->wait_number = wait[1];
        fact->wait_value = (uint32_t)ntk_vendor_slot_u(value, 0, 4);
    }
    if (signal != 0 && signals[signal]) {
        fact->signal_number = wait[3];
        fact->signals_event = signal == NTK_VENDOR_SIGNAL_SET;
        fact->adds_one = signal == NTK_VENDOR_SIGNAL_INC;
    }
}

/* Returns the queue for which an engine generates descriptors; without a NEFF only the capture
 * shows it. */
static const char *generated_queue_of(const struct ntk_trace_core *core, unsigned engine)
{
    static const char *const begins[NTK_NTFF_ENGINE_COUNT] = {
        [NTK_NTFF_ENGINE_TENSOR] = "qPeDynamic",   [NTK_NTFF_ENGINE_SCALAR] = "qActDynamic",
        [NTK_NTFF_ENGINE_GPSIMD] = "qPoolDynamic", [NTK_NTFF_ENGINE_VECTOR] = "qDveDynamic",
        [NTK_NTFF_ENGINE_SYNC] = "qSPDynamic",
    };

    for (size_t q = 0; q < core->ntff->queue_count; q++) {
        if (ntk_str_starts_with(core->ntff->queues[q].name, begins[engine])) {
            return core->ntff->queues[q].name;
        }
    }
    return NULL;
}

/* Fills the facts of the WRITE that starts prepared transfers; each instance is a separate
 * queue. */
static void fill_vendor_trigger(const struct ntk_trace_core *core, unsigned engine,
                                const struct ntk_isa_instr *trigger, struct ntk_slot_fact *fact)
{
    const struct ntk_neff_queue_set *set = &core->neff->queue_sets[trigger->queue];

    fact->is_transfer = true;
    fact->queue = trigger->imm[0] ? set->instances[trigger->imm[0] - 1] : set->name;
    trigger_end(core, engine, trigger, fact);
}

static void fill_vendor(const struct ntk_trace_core *core, unsigned engine, const uint8_t *slot,
                        struct ntk_slot_fact *fact)
{
    const uint8_t *head = slot + NTK_VENDOR_SLOT_WAIT;
    const uint8_t *body = slot + NTK_VENDOR_SLOT_BODY;

    if (slot[0] == NTK_NTFF_OPCODE_EVENT_SEMAPHORE && !head[0] && !head[2]) {
        fill_vendor_sync(body, body + 4, fact);
        fact->waits_inside = true;
    } else {
        fill_vendor_sync(head, slot + NTK_VENDOR_SLOT_WAIT_VALUE, fact);
    }
    if (slot[0] == NTK_NTFF_OPCODE_DMA_DIRECT2D) {
        fact->is_transfer = true;
        fact->done_number = slot[NTK_VENDOR_SLOT_DMA_SEMAPHORE];
        fact->queue = ntk_program_queue_of(core, fact->done_number);
        fact->queue = fact->queue ? fact->queue : generated_queue_of(core, engine);
    }
    fact->is_transpose = slot[0] == NTK_NTFF_OPCODE_LDWEIGHTS && ntk_vendor_slot_is_transpose(slot);
    fact->signals_core = ntk_core_signals_in(slot);
}

static void fill_onchip(const uint8_t *slot, enum ntk_metrics_version version,
                        struct ntk_slot_fact *fact)
{
    struct ntk_vendor_work work;

    ntk_vendor_slot_work(slot, version, &work);
    fact->has_onchip = work.is_known;
    fact->is_psum_to_sbuf = work.is_psum_to_sbuf;
    fact->sbuf_read_bytes = work.sbuf_read_bytes;
    fact->sbuf_write_bytes = work.sbuf_write_bytes;
    fact->psum_read_bytes = work.psum_read_bytes;
    fact->psum_write_bytes = work.psum_write_bytes;
    fact->psum_to_sbuf_bytes = work.psum_to_sbuf_bytes;
}

static void add_bytes(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count,
                      void *ctx)
{
    struct ntk_slot_fact *fact = ctx;

    (void)var;
    *(is_write ? &fact->write_bytes : &fact->read_bytes) += bytes_count;
}

static void fill_name(const struct ntk_neff_debug *names, unsigned engine,
                      struct ntk_slot_fact *fact)
{
    if (!names || fact->compiler_pc < 0) {
        return;
    }
    fact->has_bir_id = ntk_neff_debug_bir_id(names, (enum ntk_isa_engine)engine,
                                             (size_t)fact->compiler_pc, &fact->bir_id);
    fact->named = fact->has_bir_id ? ntk_neff_debug_find(names, fact->bir_id) : NULL;
    if (fact->named && fact->named->hlo_count) {
        fact->hlo = ntk_neff_debug_hlo(names, names->hlo_ids[fact->named->hlo_first]);
    }
    if (fact->hlo && fact->hlo->has_framework) {
        fact->framework = ntk_neff_debug_framework(names, fact->hlo->framework_id);
    }
}

static void fill_fact(struct filling *f, const struct ntk_trace_core *core,
                      const struct ntk_trace_instruction *instruction, struct ntk_slot_fact *fact)
{
    const struct ntk_trace *trace = f->program->trace;
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_isa_instr open;

    fact->wait_number = NTK_PROGRAM_NO_NUMBER;
    fact->signal_number = NTK_PROGRAM_NO_NUMBER;
    fact->done_number = NTK_PROGRAM_NO_NUMBER;
    fact->compiler_pc =
        (int32_t)ntk_ntff_compiler_pc(core->ntff, instruction->engine, instruction->slot);
    fact->is_runtime = fact->compiler_pc < 0;
    fact->layer = fact->is_runtime ? NTK_LAYER_RUNTIME : NTK_LAYER_NONE;
    if (ntk_open_slot_decode(core, instruction, &open)) {
        fill_open(f, core, instruction->engine, &open, fact);
    } else if (slot && trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation)) {
        fill_vendor(core, instruction->engine, slot, fact);
        fill_onchip(slot, trace->metrics, fact);
    }
    if (!fact->is_open && ntk_dma_trigger_get(core, instruction, &open)) {
        fill_vendor_trigger(core, instruction->engine, &open, fact);
    }
    if (instruction->opcode == NTK_NTFF_OPCODE_MATMUL) {
        struct ntk_matmul matmul = { .is_transpose = fact->is_transpose };
        fact->has_flops = ntk_matmul_get(trace, core, instruction, &matmul);
        fact->is_transpose = matmul.is_transpose;
        fact->elements = matmul.elements;
        fact->flops = matmul.flops;
        fact->has_adjusted = matmul.has_adjusted;
        fact->adjusted_flops = matmul.adjusted_flops;
        fact->useful_flops = matmul.is_transpose ? 0 : matmul.useful_flops;
        fact->dtype = matmul.dtype;
    }
    fact->has_bytes = ntk_hbm_traffic_visit(trace, core, instruction, add_bytes, fact);
    if (fact->is_transfer && ntk_moves_create(trace, core, instruction, &fact->moves) < 0) {
        f->failed = -ENOMEM;
    }
}

bool ntk_fact_is_work(const struct ntk_slot_fact *fact, uint8_t opcode)
{
    static const bool is_control[256] = {
        [NTK_NTFF_OPCODE_ACT_TABLE_LOAD] = true,
        [NTK_NTFF_OPCODE_REGISTER_MOVE] = true,
        [NTK_NTFF_OPCODE_REGISTER_ALU] = true,
        [NTK_NTFF_OPCODE_TENSOR_STORE] = true,
    };

    return !fact->is_runtime &&
           (fact->is_transfer || (!ntk_activity_sets_up(opcode) && !is_control[opcode]));
}

/* Returns the number of slots of facts[index]. */
static size_t slot_count(const struct ntk_program *program, size_t index)
{
    const struct ntk_trace_core *core = &program->trace->cores[index / NTK_NTFF_ENGINE_COUNT];
    const struct ntk_ntff_buffer *buffer =
        core->ntff->engine_buffers[index % NTK_NTFF_ENGINE_COUNT];

    return buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
}

static bool runs_transfers(const struct ntk_program *program)
{
    size_t lists = program->trace->core_count * NTK_NTFF_ENGINE_COUNT;

    for (size_t i = 0; i < lists; i++) {
        for (size_t s = 0; s < slot_count(program, i); s++) {
            if (program->facts[i][s].has_run && program->facts[i][s].is_transfer) {
                return true;
            }
        }
    }
    return false;
}

bool ntk_program_lacks_packets(const struct ntk_program *program)
{
    const struct ntk_trace *trace = program->trace;
    bool has_packets = false;

    for (size_t c = 0; c < trace->core_count; c++) {
        has_packets = has_packets || trace->cores[c].packet_count > 0;
    }
    return trace->is_cut.packets || (!has_packets && !trace->is_part && runs_transfers(program));
}

/* Layers are numbered in the order of their first run. */
static bool has_layer_names(const struct ntk_trace_core *core)
{
    for (unsigned e = 0; core->neff && e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (core->neff->engines[e].name_count) {
            return true;
        }
    }
    return false;
}

static void fill_slot(struct filling *f, size_t index,
                      const struct ntk_trace_instruction *instruction)
{
    struct ntk_slot_fact *fact =
        &f->program->facts[index * NTK_NTFF_ENGINE_COUNT + instruction->engine][instruction->slot];

    if (!fact->has_run) {
        fact->has_run = true;
        fill_fact(f, &f->program->trace->cores[index], instruction, fact);
        f->program->has_core_signals = f->program->has_core_signals || fact->signals_core;
        fill_name(f->program->names[index], instruction->engine, fact);
    }
}

static int fill_core(struct filling *f, size_t index)
{
    const struct ntk_trace_core *core = &f->program->trace->cores[index];
    struct ntk_slot_fact **facts = &f->program->facts[index * NTK_NTFF_ENGINE_COUNT];
    struct ntk_neff_debug **names = &f->program->names[index];

    /* Damaged names do not affect the rest of the capture. */
    if (f->has_names && core->neff &&
        ntk_neff_debug_create(f->program->trace->neff, core->neff, names, &f->program->names_err) ==
            -ENOMEM) {
        return -ENOMEM;
    }

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        size_t count = slot_count(f->program, index * NTK_NTFF_ENGINE_COUNT + e) + 1;
        facts[e] = calloc(count, sizeof *facts[e]);
        if (!facts[e]) {
            return -ENOMEM;
        }
        ntk_memory_is_large(facts[e], count * sizeof *facts[e]);
    }
    if (has_layer_names(core)) {
        ntk_trace_each_instruction(core, instruction) {
            fill_slot(f, index, instruction);
        }
    } else {
        struct ntk_executed executed = { .core = core };
        while (ntk_executed_next(&executed)) {
            fill_slot(f, index, &executed.instruction);
        }
    }
    return f->failed;
}

static int create(const struct ntk_trace *trace, bool has_names, struct ntk_program **out_program)
{
    static const char *const no_layer = "(no layer)";
    static const char *const runtime = "(runtime)";
    struct filling f = { .layers = NTK_VEC_INIT(const char *), .has_names = has_names };

    f.program = calloc(1, sizeof *f.program);
    if (!f.program) {
        return -ENOMEM;
    }
    f.program->trace = trace;
    f.program->execution_count = 1;
    f.program->facts =
        calloc(trace->core_count * NTK_NTFF_ENGINE_COUNT + 1, sizeof(struct ntk_slot_fact *));
    f.program->names = calloc(trace->core_count + 1, sizeof(struct ntk_neff_debug *));
    if (!f.program->names || !f.program->facts || ntk_vec_push(&f.layers, &no_layer) < 0 ||
        ntk_vec_push(&f.layers, &runtime) < 0) {
        f.failed = -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count && !f.failed; c++) {
        f.failed = fill_core(&f, c);
    }
    if (!f.failed && trace->neff && has_names) {
        f.failed = ntk_neff_positions_create(trace->neff, f.program->names, trace->core_count,
                                             &f.program->positions);
    }
    f.program->layers = f.layers.items;
    f.program->layer_count = f.layers.count;
    ntk_map_fini(&f.numbers);
    if (!f.failed && has_names) {
        f.failed = ntk_analysis_dropped(f.program, &f.program->dropped);
        f.failed = f.failed ? f.failed
                            : ntk_execution_borders_find(trace, &f.program->execution_count,
                                                         &f.program->borders);
    }
    if (f.failed) {
        ntk_program_destroy(f.program);
        return f.failed;
    }
    *out_program = f.program;
    return 0;
}

int ntk_program_create(const struct ntk_trace *trace, struct ntk_program **out_program)
{
    return create(trace, true, out_program);
}

int ntk_program_create_unnamed(const struct ntk_trace *trace, struct ntk_program **out_program)
{
    return create(trace, false, out_program);
}

void ntk_program_destroy(struct ntk_program *program)
{
    if (!program) {
        return;
    }
    for (size_t i = 0; program->facts && i < program->trace->core_count * NTK_NTFF_ENGINE_COUNT;
         i++) {
        for (size_t s = 0; program->facts[i] && s < slot_count(program, i); s++) {
            ntk_moves_destroy(program->facts[i][s].moves);
        }
        free(program->facts[i]);
    }
    ntk_neff_positions_destroy(program->positions);
    ntk_execution_borders_fini(&program->borders);
    for (size_t c = 0; program->names && c < program->trace->core_count; c++) {
        ntk_neff_debug_destroy(program->names[c]);
    }
    free(program->names);
    free(program->facts);
    free(program->layers);
    free(program);
}
