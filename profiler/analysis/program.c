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
#include "profiler/analysis/slot_codes.h"
#include "profiler/trace/executed.h"
#include "shared/formats/neff/vendor_slot.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

static const struct ntk_slot_code no_code; /* of slots that did not run */

struct filling {
    struct ntk_program *program;
    struct ntk_slot_codes codes;
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
                        const struct ntk_isa_instr *open, struct ntk_slot_code *code)
{
    uint32_t index = 0;
    const struct ntk_neff_dma_group *group = ntk_dma_group_next(core, engine, open, &index);

    if (group) {
        code->done_is_event = group->semaphore == NTK_NEFF_NONE;
        uint32_t number = code->done_is_event ? group->event : group->semaphore;
        code->done_number = number < NTK_ISA_SEMAPHORES ? (uint16_t)number : NTK_PROGRAM_NO_NUMBER;
    }
    for (; group && code->is_open; group = ntk_dma_group_next(core, engine, open, &index)) {
        code->signals_core = code->signals_core || group->remote_semaphore_count > 0;
    }
}

static void fill_open(struct filling *f, const struct ntk_trace_core *core, unsigned engine,
                      const struct ntk_isa_instr *open, struct ntk_slot_code *code)
{
    bool is_event = (open->flags & NTK_ISA_FLAG_WAIT_EVENT) != 0;

    code->is_open = true;
    code->has_sync = true;
    if (open->wait_semaphore != NTK_ISA_NO_SEMAPHORE) {
        code->wait_number = open->wait_semaphore;
        code->wait_value = open->wait_value;
        if (is_event) {
            code->wait = open->wait_value ? NTK_WAIT_SET : NTK_WAIT_CLEAR;
        } else {
            code->wait = open->flags & NTK_ISA_FLAG_WAIT_EQUAL ? NTK_WAIT_EQUAL : NTK_WAIT_AT_LEAST;
        }
    }
    if (open->signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        code->signal_number = open->signal_semaphore;
        code->signals_event = (open->flags & NTK_ISA_FLAG_SIGNAL_EVENT) != 0;
    }
    code->is_transfer = ntk_isa_ends_later(open->op) || open->op == NTK_ISA_OP_DMA_TRIGGER;
    if (code->is_transfer) {
        code->done_number = open->done_semaphore; /* a missing number is the same in both */
        if (open->op == NTK_ISA_OP_DMA_TRIGGER) {
            trigger_end(core, engine, open, code);
        }
        if (core->neff && open->queue < core->neff->queue_set_count) {
            code->queue = core->neff->queue_sets[open->queue].name;
        }
    }
    if (core->neff && open->name_id && open->name_id <= core->neff->engines[engine].name_count) {
        code->layer = layer_number(f, core->neff->engines[engine].names[open->name_id - 1]);
    }
}

/* Fills the fields from bytes: kind, number, kind, number, value. */
static void fill_vendor_sync(const uint8_t *wait, const uint8_t *value, struct ntk_slot_code *code)
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

    code->has_sync = waits[wait[0]].is_known && signals[signal];
    code->wait = waits[wait[0]].kind;
    if (code->wait != NTK_WAIT_NONE) {
        code->wait_number = wait[1];
        code->wait_value = (uint32_t)ntk_vendor_slot_u(value, 0, 4);
    }
    if (signal != 0 && signals[signal]) {
        code->signal_number = wait[3];
        code->signals_event = signal == NTK_VENDOR_SIGNAL_SET;
        code->adds_one = signal == NTK_VENDOR_SIGNAL_INC;
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
                                const struct ntk_isa_instr *trigger, struct ntk_slot_code *code)
{
    const struct ntk_neff_queue_set *set = &core->neff->queue_sets[trigger->queue];

    code->is_transfer = true;
    code->queue = trigger->imm[0] ? set->instances[trigger->imm[0] - 1] : set->name;
    trigger_end(core, engine, trigger, code);
}

static void fill_vendor(const struct ntk_trace_core *core, unsigned engine, const uint8_t *slot,
                        struct ntk_slot_code *code)
{
    const uint8_t *head = slot + NTK_VENDOR_SLOT_WAIT;
    const uint8_t *body = slot + NTK_VENDOR_SLOT_BODY;

    if (slot[0] == NTK_NTFF_OPCODE_EVENT_SEMAPHORE && !head[0] && !head[2]) {
        fill_vendor_sync(body, body + 4, code);
        code->waits_inside = true;
    } else {
        fill_vendor_sync(head, slot + NTK_VENDOR_SLOT_WAIT_VALUE, code);
    }
    if (slot[0] == NTK_NTFF_OPCODE_DMA_DIRECT2D) {
        code->is_transfer = true;
        code->done_number = slot[NTK_VENDOR_SLOT_DMA_SEMAPHORE];
        code->queue = ntk_program_queue_of(core, code->done_number);
        code->queue = code->queue ? code->queue : generated_queue_of(core, engine);
    }
    code->is_transpose = slot[0] == NTK_NTFF_OPCODE_LDWEIGHTS && ntk_vendor_slot_is_transpose(slot);
    code->signals_core = ntk_core_signals_in(slot);
}

static void fill_onchip(const uint8_t *slot, enum ntk_metrics_version version,
                        struct ntk_slot_code *code)
{
    struct ntk_vendor_work work;

    ntk_vendor_slot_work(slot, version, &work);
    code->has_onchip = work.is_known;
    code->is_psum_to_sbuf = work.is_psum_to_sbuf;
    code->sbuf_read_bytes = work.sbuf_read_bytes;
    code->sbuf_write_bytes = work.sbuf_write_bytes;
    code->psum_read_bytes = work.psum_read_bytes;
    code->psum_write_bytes = work.psum_write_bytes;
    code->psum_to_sbuf_bytes = work.psum_to_sbuf_bytes;
}

static void add_bytes(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count,
                      void *ctx)
{
    struct ntk_slot_code *code = ctx;

    (void)var;
    *(is_write ? &code->write_bytes : &code->read_bytes) += bytes_count;
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
}

static void fill_code(struct filling *f, const struct ntk_trace_core *core,
                      const struct ntk_trace_instruction *instruction, struct ntk_slot_code *code)
{
    const struct ntk_trace *trace = f->program->trace;
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, instruction->engine, instruction->slot);
    struct ntk_isa_instr open;

    code->wait_number = NTK_PROGRAM_NO_NUMBER;
    code->signal_number = NTK_PROGRAM_NO_NUMBER;
    code->done_number = NTK_PROGRAM_NO_NUMBER;
    if (ntk_open_slot_decode(core, instruction, &open)) {
        fill_open(f, core, instruction->engine, &open, code);
    } else if (slot && trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation)) {
        fill_vendor(core, instruction->engine, slot, code);
        fill_onchip(slot, trace->metrics, code);
    }
    if (!code->is_open && ntk_dma_trigger_get(core, instruction, &open)) {
        fill_vendor_trigger(core, instruction->engine, &open, code);
    }
    if (instruction->opcode == NTK_NTFF_OPCODE_MATMUL) {
        struct ntk_matmul matmul = { .is_transpose = code->is_transpose };
        code->has_flops = ntk_matmul_get(trace, core, instruction, &matmul);
        code->is_transpose = matmul.is_transpose;
        code->elements = matmul.elements;
        code->flops = matmul.flops;
        code->has_adjusted = matmul.has_adjusted;
        code->adjusted_flops = matmul.adjusted_flops;
        code->useful_flops = matmul.is_transpose ? 0 : matmul.useful_flops;
        code->dtype = matmul.dtype;
    }
    code->has_bytes = ntk_hbm_traffic_visit(trace, core, instruction, add_bytes, code);
    if (code->is_transfer && ntk_moves_create(trace, core, instruction, &code->moves) < 0) {
        f->failed = -ENOMEM;
    }
}

/* Returns the code of a slot, from an equal slot if possible; NULL if out of memory. A transfer
 * also depends on its position in the compiler's program, and only that position shows if a WRITE
 * starts a transfer. */
static const struct ntk_slot_code *code_of(struct filling *f, size_t index,
                                           const struct ntk_trace_instruction *instruction,
                                           bool is_runtime)
{
    const struct ntk_trace_core *core = &f->program->trace->cores[index];
    bool may_share = !ntk_hbm_traffic_is_dma(instruction->opcode) &&
                     instruction->opcode != NTK_NTFF_OPCODE_WRITE;
    size_t place = may_share ? ntk_slot_codes_place(core, index, instruction) : NTK_SLOT_CODES;
    struct ntk_slot_code *code =
        ntk_slot_codes_find(&f->codes, place, core, index, instruction, is_runtime);

    if (code) {
        return code;
    }
    code = ntk_slot_codes_add(f->program);
    if (!code) {
        return NULL;
    }
    code->core_index = (uint16_t)index;
    code->engine = instruction->engine;
    code->opcode = instruction->opcode;
    code->is_runtime = is_runtime;
    code->layer = is_runtime ? NTK_LAYER_RUNTIME : NTK_LAYER_NONE;
    code->slot = instruction->slot;
    fill_code(f, core, instruction, code);
    f->program->has_core_signals = f->program->has_core_signals || code->signals_core;
    if (!code->is_transfer) {
        ntk_slot_codes_share(&f->codes, place, core, code);
    }
    return code;
}

bool ntk_fact_is_work(const struct ntk_slot_fact *fact, uint8_t opcode)
{
    static const bool is_control[256] = {
        [NTK_NTFF_OPCODE_ACT_TABLE_LOAD] = true,
        [NTK_NTFF_OPCODE_REGISTER_MOVE] = true,
        [NTK_NTFF_OPCODE_REGISTER_ALU] = true,
        [NTK_NTFF_OPCODE_TENSOR_STORE] = true,
    };

    return !fact->code->is_runtime &&
           (fact->code->is_transfer || (!ntk_activity_sets_up(opcode) && !is_control[opcode]));
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
    for (size_t i = 0; i < program->code_count; i++) {
        if (ntk_program_code(program, i)->is_transfer) {
            return true;
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

    if (fact->has_run) {
        return;
    }
    int32_t pc = (int32_t)ntk_ntff_compiler_pc(f->program->trace->cores[index].ntff,
                                               instruction->engine, instruction->slot);
    const struct ntk_slot_code *code = code_of(f, index, instruction, pc < 0);
    if (!code) {
        f->failed = -ENOMEM;
        return;
    }
    *fact = (struct ntk_slot_fact){ .code = code, .compiler_pc = pc, .has_run = true };
    fill_name(f->program->names[index], instruction->engine, fact);
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
        for (size_t s = 0; s < count; s++) {
            facts[e][s].code = &no_code;
        }
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

int ntk_program_create_slice(const struct ntk_program *whole, const struct ntk_trace *slice,
                             struct ntk_program **out_program)
{
    struct ntk_program *program = malloc(sizeof *program);

    if (!program) {
        return -ENOMEM;
    }
    *program = *whole;
    program->trace = slice;
    program->is_slice = true;
    program->execution_count = 1;
    program->borders = (struct ntk_execution_borders){ 0 };
    *out_program = program;
    return 0;
}

void ntk_program_destroy(struct ntk_program *program)
{
    if (!program || program->is_slice) {
        free(program);
        return;
    }
    for (size_t i = 0; program->facts && i < program->trace->core_count * NTK_NTFF_ENGINE_COUNT;
         i++) {
        free(program->facts[i]);
    }
    ntk_slot_codes_free(program);
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
