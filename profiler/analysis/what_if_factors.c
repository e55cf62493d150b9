/* SPDX-License-Identifier: MIT */
/* what_if_factors - applies the requested changes to one instruction. */
#include "profiler/analysis/open_slot.h"
#include "profiler/analysis/what_if_private.h"
#include "profiler/trace/executed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double factor_of(double speed)
{
    return speed == 0 ? 0 : 1 / speed;
}

/* Returns true if the path ends with the name: "a/b/c.py" matches "c.py" and "b/c.py". */
static bool is_file(const char *path, const char *name)
{
    size_t path_length = path ? strlen(path) : 0;
    size_t length = strlen(name);

    return path && length <= path_length && strcmp(path + path_length - length, name) == 0 &&
           (length == path_length || path[path_length - length - 1] == '/');
}

static bool is_at_line(const struct ntk_program *program, size_t core, uint32_t item,
                       const struct ntk_what_if_change *change)
{
    const struct ntk_neff_position *at =
        ntk_program_position(program, core, &program->trace->cores[core].instructions[item]);

    return at && at->line == change->number &&
           is_file(ntk_neff_position_file(program->positions, at), change->name);
}

/* Returns true if the text is the name in the NEFF, or the shown name. */
static bool is_queue(const struct ntk_trace_core *core, const struct ntk_slot_fact *fact,
                     const char *name)
{
    const char *queue = ntk_program_queue_of(core, fact->code->wait_number);
    char shown[NTK_WHAT_IF_NAME_BYTES];

    if (!queue) {
        return false;
    }
    ntk_ntff_queue_name_show(queue, shown, sizeof shown);
    return strcmp(queue, name) == 0 || strcmp(shown, name) == 0;
}

bool ntk_what_if_applies(const struct ntk_program *program, size_t core, uint32_t item,
                         const struct ntk_what_if_change *change)
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(program, core, &program->trace->cores[core].instructions[item]);
    bool waits = fact->code->wait == NTK_WAIT_AT_LEAST || fact->code->wait == NTK_WAIT_EQUAL;

    switch (change->part) {
    case NTK_WHAT_IF_TRANSPOSES:
        return fact->code->is_transpose;
    case NTK_WHAT_IF_LINE:
        return is_at_line(program, core, item, change);
    case NTK_WHAT_IF_WAIT:
        return waits && fact->code->wait_number == change->number;
    case NTK_WHAT_IF_WAIT_ENGINE:
        return waits && program->trace->cores[core].instructions[item].engine == change->number;
    case NTK_WHAT_IF_WAIT_QUEUE:
        return waits && is_queue(&program->trace->cores[core], fact, change->name);
    case NTK_WHAT_IF_WAIT_LINE:
        return fact->code->wait != NTK_WAIT_NONE && is_at_line(program, core, item, change);
    default:
        return false;
    }
}

/* ---- rows ---- */

#define ROW_MASK ((UINT64_C(1) << NTK_RETIME_LANES) - 1)
#define UNWAITED_SHIFT NTK_RETIME_LANES
#define MEETING_SHIFT (2 * NTK_RETIME_LANES)
#define IS_FOUND (UINT64_C(1) << 63)

static enum ntk_meeting find_meeting(const struct ntk_retimed *retimed,
                                     const struct ntk_trace_instruction *one)
{
    const struct ntk_program *program = retimed->program;
    const struct ntk_trace_core *core = &program->trace->cores[retimed->core];
    const struct ntk_slot_fact *fact = ntk_program_fact(program, retimed->core, one);
    struct ntk_isa_instr open;

    if (fact->code->is_open && ntk_open_slot_decode(core, one, &open)) {
        if (open.op == NTK_ISA_OP_CORE_BARRIER) {
            return NTK_MEETING_BARRIER;
        }
        if (open.op == NTK_ISA_OP_SENDRECV) {
            return NTK_MEETING_EXCHANGE;
        }
    }
    return ntk_collective_names_find(&retimed->collectives, program, retimed->core, fact)
               ? NTK_MEETING_COLLECTIVE
               : NTK_MEETING_NONE;
}

/* Finds the rows for all executions of a slot. */
static uint64_t find_rows(const struct ntk_retimed *retimed, uint32_t item, unsigned engine)
{
    const struct ntk_trace_instruction *one =
        &retimed->program->trace->cores[retimed->core].instructions[item];
    uint64_t rows = IS_FOUND;

    if (retimed->has_meetings) {
        rows |= (uint64_t)find_meeting(retimed, one) << MEETING_SHIFT;
    }
    for (size_t k = 0; k < retimed->row_count; k++) {
        const struct ntk_what_if_changes *changes = retimed->changes[k];
        bool is_changed = retimed->engine_factors[k][engine] != 1;
        bool is_unwaited = false;

        for (size_t i = 0; retimed->single_rows >> k & 1 && i < changes->count; i++) {
            const struct ntk_what_if_change *change = &changes->list[i];
            if (ntk_what_if_applies(retimed->program, retimed->core, item, change)) {
                is_unwaited = is_unwaited || ntk_what_if_is_wait(change->part);
                is_changed = is_changed || !ntk_what_if_is_wait(change->part);
            }
        }
        rows |= (uint64_t)is_changed << k | (uint64_t)is_unwaited << (UNWAITED_SHIFT + k);
    }
    return rows;
}

static uint64_t rows_of(const struct ntk_retimed *retimed, uint32_t item)
{
    const struct ntk_trace_instruction *one =
        &retimed->program->trace->cores[retimed->core].instructions[item];
    uint64_t *rows = &retimed->slots.of[one->engine][one->slot];

    if (!*rows) {
        *rows = find_rows(retimed, item, one->engine);
    }
    return *rows;
}

uint32_t ntk_retimed_changed_rows(const struct ntk_retimed *retimed, uint32_t item)
{
    return (uint32_t)(rows_of(retimed, item) & ROW_MASK);
}

uint32_t ntk_retimed_unwaited_rows(const struct ntk_retimed *retimed, uint32_t item)
{
    return (uint32_t)(rows_of(retimed, item) >> UNWAITED_SHIFT & ROW_MASK);
}

int ntk_retimed_find_meetings(struct ntk_retimed *retimed)
{
    const struct ntk_program *program = retimed->program;
    struct ntk_executed executed = { .core = &program->trace->cores[retimed->core] };
    int ret = ntk_collective_names_init(&retimed->collectives, program, retimed->core);

    while (ret == 0 && !retimed->has_meetings && ntk_executed_next(&executed)) {
        retimed->has_meetings = find_meeting(retimed, &executed.instruction) != NTK_MEETING_NONE;
    }
    return ret;
}

enum ntk_meeting ntk_retimed_meeting_of(const struct ntk_retimed *retimed, uint32_t item)
{
    return (enum ntk_meeting)(rows_of(retimed, item) >> MEETING_SHIFT & 3);
}

double ntk_retimed_factor(const struct ntk_retimed *retimed, uint32_t item, size_t lane)
{
    const struct ntk_what_if_changes *changes = retimed->changes[lane];
    unsigned engine = retimed->program->trace->cores[retimed->core].instructions[item].engine;
    double factor = retimed->engine_factors[lane][engine];

    for (size_t i = 0; retimed->single_rows >> lane & 1 && i < changes->count; i++) {
        const struct ntk_what_if_change *change = &changes->list[i];
        if (!ntk_what_if_is_wait(change->part) &&
            ntk_what_if_applies(retimed->program, retimed->core, item, change)) {
            factor *= factor_of(change->speed);
        }
    }
    return factor;
}

static void add_changed(struct ntk_retime_changed *changed, size_t lane, double factor)
{
    if (factor != 1) {
        changed->lanes[changed->count] = (uint8_t)lane;
        changed->factors[changed->count++] = factor;
    }
}

static void read_row(struct ntk_retime *r, size_t lane)
{
    const struct ntk_what_if_changes *changes = r->to->changes[lane];
    double *engines = r->to->engine_factors[lane];
    double dma = 1;
    double begin = 1;
    double latency = 1;

    for (size_t i = 0; i < changes->count; i++) {
        const struct ntk_what_if_change *change = &changes->list[i];
        double factor = factor_of(change->speed);
        switch (change->part) {
        case NTK_WHAT_IF_DMA:
            dma *= factor;
            break;
        case NTK_WHAT_IF_DMA_LATENCY:
            begin *= factor;
            break;
        case NTK_WHAT_IF_LATENCY:
            latency *= factor;
            break;
        case NTK_WHAT_IF_ENGINES:
            for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
                engines[e] *= factor;
            }
            break;
        case NTK_WHAT_IF_ENGINE:
            engines[change->number] *= factor;
            break;
        default:
            r->to->single_rows |= 1U << lane;
            break;
        }
    }
    add_changed(&r->dma, lane, dma);
    add_changed(&r->begin, lane, begin);
    add_changed(&r->latency, lane, latency);
}

int ntk_retime_read_changes(struct ntk_retime *r)
{
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            r->to->engine_factors[k][e] = 1;
        }
        if (k < r->to->row_count) {
            read_row(r, k);
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = r->core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;

        r->to->slots.of[e] = calloc(slots + 1, sizeof *r->to->slots.of[e]);
        if (!r->to->slots.of[e]) {
            return -ENOMEM;
        }
    }
    return 0;
}
