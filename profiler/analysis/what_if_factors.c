/* SPDX-License-Identifier: MIT */
/* what_if_factors - applies the requested changes to one instruction. */
#include "profiler/analysis/what_if_private.h"

#include <string.h>

static double factor_of(double speed)
{
    return speed == 0 ? 0 : 1 / speed;
}

/* "a/b/c.py" matches "c.py" and "b/c.py". */
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

/* Matches its name in the NEFF, or the shown name. */
static bool is_queue(const struct ntk_trace_core *core, const struct ntk_slot_fact *fact,
                     const char *name)
{
    const char *queue = ntk_program_queue_of(core, fact->wait_number);
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
    bool waits = fact->wait == NTK_WAIT_AT_LEAST || fact->wait == NTK_WAIT_EQUAL;

    switch (change->part) {
    case NTK_WHAT_IF_TRANSPOSES:
        return fact->is_transpose;
    case NTK_WHAT_IF_LINE:
        return is_at_line(program, core, item, change);
    case NTK_WHAT_IF_WAIT:
        return waits && fact->wait_number == change->number;
    case NTK_WHAT_IF_WAIT_ENGINE:
        return waits && program->trace->cores[core].instructions[item].engine == change->number;
    case NTK_WHAT_IF_WAIT_QUEUE:
        return waits && is_queue(&program->trace->cores[core], fact, change->name);
    case NTK_WHAT_IF_WAIT_LINE:
        return fact->wait != NTK_WAIT_NONE && is_at_line(program, core, item, change);
    default:
        return false;
    }
}

/* For changes of single instructions. */
static bool is_changed(const struct ntk_retime *r, uint32_t item, size_t change)
{
    return ntk_what_if_applies(r->to->program, r->to->core, item, &r->to->changes->list[change]);
}

double ntk_retime_factor(const struct ntk_retime *r, uint32_t item)
{
    double factor = r->engine_factors[r->core->instructions[item].engine];

    for (size_t i = 0; r->has_single && i < r->to->changes->count; i++) {
        const struct ntk_what_if_change *change = &r->to->changes->list[i];
        if (!ntk_what_if_is_wait(change->part) && is_changed(r, item, i)) {
            factor *= factor_of(change->speed);
        }
    }
    return factor;
}

bool ntk_retime_is_wait_removed(const struct ntk_retime *r, uint32_t item)
{
    for (size_t i = 0; r->has_single && i < r->to->changes->count; i++) {
        if (ntk_what_if_is_wait(r->to->changes->list[i].part) && is_changed(r, item, i)) {
            return true;
        }
    }
    return false;
}

void ntk_retime_read_changes(struct ntk_retime *r)
{
    r->dma_factor = r->begin_factor = r->latency_factor = 1;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        r->engine_factors[e] = 1;
    }
    for (size_t i = 0; i < r->to->changes->count; i++) {
        const struct ntk_what_if_change *change = &r->to->changes->list[i];
        double factor = factor_of(change->speed);
        switch (change->part) {
        case NTK_WHAT_IF_DMA:
            r->dma_factor *= factor;
            break;
        case NTK_WHAT_IF_DMA_LATENCY:
            r->begin_factor *= factor;
            break;
        case NTK_WHAT_IF_LATENCY:
            r->latency_factor *= factor;
            break;
        case NTK_WHAT_IF_ENGINES:
            for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
                r->engine_factors[e] *= factor;
            }
            break;
        case NTK_WHAT_IF_ENGINE:
            r->engine_factors[change->number] *= factor;
            break;
        default:
            r->has_single = true;
            break;
        }
    }
}
