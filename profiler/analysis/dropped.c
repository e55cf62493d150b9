/* SPDX-License-Identifier: MIT */
/* dropped - checks slots, changes and queues of each core, in one pass each. */
#include "profiler/analysis/dropped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/open_slot.h"
#include "profiler/trace/executed.h"
#include "shared/base/vec.h"

#define NUMBERS 256
/* maximum increment; a larger difference is not caused by a few records */
#define INCREMENT_MAX 65536
/* second half of a vendor's DMA with a list of indices; runs with the first */
#define OPCODE_SECOND_HALF 0xda
#define OPEN_ESCAPE 0xc0
/* offset of the number of operand slots in the first slot of an instruction */
#define OPEN_OPERAND_SLOTS 2

/* ---- instructions ---- */

struct flow {
    const struct ntk_program *program;
    size_t core_index;
    unsigned engine;
    uint64_t expected; /* minimum number of runs of the next slot */
    bool is_open;      /* true if the last slot that ran is in the open encoding */
};

static const uint8_t *slot_at(const struct flow *flow, size_t slot)
{
    const struct ntk_trace_core *core = &flow->program->trace->cores[flow->core_index];

    return core->ntff->engine_buffers[flow->engine]->code + slot * NTK_NTFF_SLOT_BYTES;
}

/* Returns true if the next slot need not run after this slot, or this slot not after the previous
 * one. */
static bool breaks_flow(const struct flow *flow, size_t slot)
{
    const struct ntk_trace_core *core = &flow->program->trace->cores[flow->core_index];
    const struct ntk_trace_instruction at = { .engine = (uint8_t)flow->engine,
                                              .slot = (uint32_t)slot };
    uint8_t opcode = slot_at(flow, slot)[0];
    struct ntk_isa_instr open;

    if (opcode != OPEN_ESCAPE || !ntk_open_slot_decode(core, &at, &open)) {
        return opcode == NTK_NTFF_OPCODE_COMPARE_BRANCH;
    }
    return open.op == NTK_ISA_OP_CALL || open.op == NTK_ISA_OP_RETURN ||
           open.op == NTK_ISA_OP_FUNCTION;
}

static void pass_slot(struct flow *flow, size_t slot, uint64_t times, struct ntk_lost *lost)
{
    const struct ntk_trace_core *core = &flow->program->trace->cores[flow->core_index];
    bool is_break = breaks_flow(flow, slot);

    if (ntk_ntff_compiler_pc(core->ntff, flow->engine, (uint32_t)slot) < 0 ||
        (is_break && times == 0)) {
        flow->expected = 0;
        return;
    }
    if (slot_at(flow, slot)[0] == OPCODE_SECOND_HALF) {
        return;
    }
    lost->lost += flow->expected > times ? flow->expected - times : 0;
    flow->expected = is_break ? 0 : times > flow->expected ? times : flow->expected;
}

static void pass_engine(struct flow *flow, const uint64_t *counts, size_t slots,
                        struct ntk_lost *lost)
{
    const struct ntk_slot_fact *facts =
        flow->program->facts[flow->core_index * NTK_NTFF_ENGINE_COUNT + flow->engine];

    while (slots > 0 && counts[slots - 1] == 0) {
        slots--; /* after the last slot that ran, the program may have stopped */
    }
    for (size_t slot = 0; slot < slots;) {
        lost->there += counts[slot];
        flow->is_open = counts[slot] ? facts[slot].code->is_open : flow->is_open;
        if (flow->expected || counts[slot]) {
            pass_slot(flow, slot, counts[slot], lost);
        }
        slot += 1U + (flow->is_open ? slot_at(flow, slot)[OPEN_OPERAND_SLOTS] : 0U);
    }
}

/* ---- changes ---- */

struct number {
    bool is_program; /* an instruction waits for it, changes it or ends transfers with it */
    bool is_known;   /* a change is recorded */
    uint32_t value;  /* of the last recorded change */
    uint64_t lost;   /* values that the recorded increments skipped */
    uint64_t there[NTK_NTFF_ENGINE_COUNT];  /* recorded changes by each engine */
    uint64_t makers[NTK_NTFF_ENGINE_COUNT]; /* instructions that make a change */
};

static void use_number(uint16_t number, bool is_event, struct number *numbers)
{
    if (!is_event && number < NUMBERS) {
        numbers[number].is_program = true;
    }
}

/* Finds the semaphores of a vendor's program and of the runtime's code around it, and the number of
 * instructions that change each. */
static void find_numbers(const struct ntk_program *program, size_t core_index,
                         struct number *numbers)
{
    struct ntk_executed executed = { .core = &program->trace->cores[core_index] };

    while (ntk_executed_next(&executed)) {
        const struct ntk_slot_fact *fact =
            ntk_program_fact(program, core_index, &executed.instruction);
        if (fact->code->is_open) {
            continue;
        }
        use_number(fact->code->signal_number, fact->code->signals_event, numbers);
        if (fact->code->has_sync && !fact->code->signals_event &&
            fact->code->signal_number < NUMBERS) {
            numbers[fact->code->signal_number].makers[executed.instruction.engine] +=
                executed.times;
        }
        if (!fact->code->is_runtime) {
            use_number(fact->code->wait_number, fact->code->wait >= NTK_WAIT_SET, numbers);
            use_number(fact->code->done_number, fact->code->done_is_event, numbers);
        }
    }
}

static void pass_change(const struct ntk_trace_event *event, struct number *of)
{
    if (of->is_known && event->mode == NTK_NTFF_MODE_SEMAPHORE_INC) {
        uint32_t more = event->value - of->value - 1;
        of->lost += more < INCREMENT_MAX ? more : 0;
    }
    of->value = event->value;
    of->is_known = true;
    if (event->source < NTK_NTFF_ENGINE_COUNT) {
        of->there[event->source]++;
    }
}

/* Without any changes, all records of this kind are missing: incomplete.h. */
static bool has_changes(const struct ntk_trace *trace)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        if (trace->cores[c].event_count) {
            return true;
        }
    }
    return false;
}

/* Returns the number of lost changes of a semaphore, the larger of two lower bounds. */
static uint64_t lost_of(const struct number *of, bool counts_makers)
{
    uint64_t missing = 0;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && counts_makers; e++) {
        missing += of->makers[e] > of->there[e] ? of->makers[e] - of->there[e] : 0;
    }
    return of->is_program && of->lost > missing ? of->lost : missing;
}

static int pass_changes(const struct ntk_program *program, size_t core_index, struct ntk_lost *lost)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    struct number *numbers = calloc(NUMBERS, sizeof *numbers);

    if (!numbers) {
        return -ENOMEM;
    }
    find_numbers(program, core_index, numbers);
    ntk_trace_each_event(core, event) {
        if (event->is_semaphore) {
            pass_change(event, &numbers[event->number]);
        }
        lost->there += event->is_semaphore && numbers[event->number].is_program;
    }
    bool counts_makers = !core->is_cut.events && has_changes(program->trace);
    for (size_t n = 0; n < NUMBERS; n++) {
        lost->lost += lost_of(&numbers[n], counts_makers);
    }
    free(numbers);
    return 0;
}

/* ---- bytes ---- */

struct queue {
    const char *name; /* name in the file */
    uint64_t needed, there;
};

static struct queue *queue_of(struct ntk_vec *queues, const char *name)
{
    char wanted[NTK_NTFF_NAME_BYTES];
    char shown[NTK_NTFF_NAME_BYTES];

    ntk_ntff_queue_name_show(name, wanted, sizeof wanted);
    ntk_vec_each(struct queue, queue, queues) {
        ntk_ntff_queue_name_show(queue->name, shown, sizeof shown);
        if (queue->name == name || strcmp(shown, wanted) == 0) {
            return queue;
        }
    }
    return NULL;
}

static int find_queues(const struct ntk_ntff_subgraph *ntff, struct ntk_vec *queues,
                       uint32_t rings[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES])
{
    for (size_t q = 0; q < ntff->queue_count; q++) {
        const struct ntk_ntff_queue *of = &ntff->queues[q];
        struct queue *queue = queue_of(queues, of->name);
        const struct queue new = { .name = of->name };

        if (!queue && ntk_vec_push(queues, &new) < 0) {
            return -ENOMEM;
        }
        if (of->queue < NTK_NTFF_DMA_QUEUES) {
            size_t index =
                queue ? (size_t)(queue - (struct queue *)queues->items) : queues->count - 1;
            rings[of->engine % NTK_NTFF_DMA_ENGINES][of->queue] = (uint32_t)index + 1;
        }
    }
    return 0;
}

static void find_needs(const struct ntk_program *program, size_t core_index, struct ntk_vec *queues)
{
    struct ntk_executed executed = { .core = &program->trace->cores[core_index] };
    const char *name = NULL; /* consecutive transfers often belong to one queue */
    struct queue *queue = NULL;

    while (ntk_executed_next(&executed)) {
        const struct ntk_slot_fact *fact =
            ntk_program_fact(program, core_index, &executed.instruction);
        const struct ntk_moves *moves = fact->code->moves;
        if (!moves || !moves->is_plain || !fact->code->queue) {
            continue;
        }
        queue = fact->code->queue == name ? queue : queue_of(queues, fact->code->queue);
        name = fact->code->queue;
        if (queue) { /* packets have the bytes of one side */
            uint64_t source = moves->bytes[NTK_MOVES_SOURCE];
            uint64_t dest = moves->bytes[NTK_MOVES_DEST];
            queue->needed += executed.times * (source < dest ? source : dest);
        }
    }
}

static int pass_packets(const struct ntk_program *program, size_t core_index, struct ntk_lost *lost)
{
    const struct ntk_trace_core *core = &program->trace->cores[core_index];
    uint32_t rings[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES] = { { 0 } };
    struct ntk_vec queues = NTK_VEC_INIT(struct queue);
    int ret = find_queues(core->ntff, &queues, rings);

    if (ret == 0) {
        find_needs(program, core_index, &queues);
        ntk_trace_each_packet(core, packet) {
            uint32_t ring =
                rings[packet->engine % NTK_NTFF_DMA_ENGINES][packet->queue % NTK_NTFF_DMA_QUEUES];
            if (ring) {
                ((struct queue *)ntk_vec_at(&queues, ring - 1))->there += packet->bytes_count;
            }
        }
        ntk_vec_each(const struct queue, queue, &queues) {
            lost->there += queue->there;
            lost->lost += queue->needed > queue->there ? queue->needed - queue->there : 0;
        }
    }
    ntk_vec_fini(&queues);
    return ret;
}

int ntk_analysis_dropped(const struct ntk_program *program, struct ntk_dropped *out_dropped)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_dropped dropped = { 0 };
    int ret = 0;

    for (size_t c = 0; c < trace->core_count && ret == 0 && !trace->is_part; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && core->has_slot_counts; e++) {
            const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[e];
            struct flow flow = { .program = program, .core_index = c, .engine = e };
            if (buffer) {
                pass_engine(&flow, core->slot_counts[e], buffer->code_bytes / NTK_NTFF_SLOT_BYTES,
                            &dropped.instructions);
            }
        }
        ret = pass_changes(program, c, &dropped.changes);
        ret = ret ? ret : pass_packets(program, c, &dropped.bytes);
    }
    if (ret == 0) {
        *out_dropped = dropped;
    }
    return ret;
}
