/* SPDX-License-Identifier: MIT */
/* arrows - finds pairs of releases in one pass over the releases of a core. */
#include "profiler/output/traces/arrows.h"

#include "profiler/output/tables/rows.h"

struct leaving {
    uint32_t first, next; /* index + 1; 0 if none */
};

static const struct ntk_trace_core *core_of(const struct ntk_arrows *arrows)
{
    return &arrows->transfers->program->trace->cores[arrows->core_index];
}

int ntk_arrows_init(struct ntk_arrows *arrows, const struct ntk_transfers *transfers)
{
    *arrows = (struct ntk_arrows){ .transfers = transfers };
    return ntk_analysis_dependencies(transfers->program, &arrows->dependencies);
}

/* A span as drawn, in whole ns, because readers distinguish the ends of an arrow by time, then by
 * position in the file, where transfers follow instructions. */
struct span {
    int64_t start_ns, end_ns;
};

static struct span span_of(const struct ntk_trace_instruction *instruction)
{
    int64_t start_ns = ntk_rows_ns(instruction->start_ps);

    return (struct span){ start_ns,
                          start_ns + ntk_rows_ns(instruction->end_ps - instruction->start_ps) };
}

/* Starts the arrow at the transfer. Returns false if it would start before its end. */
static bool leads_from_transfer(const struct ntk_arrows *arrows, struct span to,
                                struct ntk_arrow *arrow)
{
    const struct ntk_transfer *transfer =
        arrow->by_transfer
            ? ntk_transfer_of_instruction(arrows->transfers, arrows->core_index, arrow->from)
            : NULL;

    if (!transfer || transfer->packet_count == 0) {
        return false;
    }
    int64_t from_ns = ntk_rows_ns(transfer->start_ps);
    arrow->is_inside = from_ns >= to.start_ns;
    arrow->transfer = (uint32_t)(transfer - arrows->transfers->cores[arrows->core_index].items);
    return from_ns < to.end_ns;
}

struct ntk_arrow ntk_arrow_to(const struct ntk_arrows *arrows, uint32_t instruction)
{
    const struct ntk_trace_core *core = core_of(arrows);
    const struct ntk_release *release =
        &arrows->dependencies.cores[arrows->core_index].releases[instruction];
    struct ntk_arrow none = { .from = NTK_NO_INDEX, .transfer = NTK_NO_INDEX };
    struct ntk_arrow arrow = { .from = release->by, .by_transfer = release->by_transfer };

    if (release->by == NTK_NO_INDEX || release->by == instruction || release->core_away) {
        return none;
    }
    struct span to = span_of(&core->instructions[instruction]);
    if (leads_from_transfer(arrows, to, &arrow)) {
        return arrow;
    }
    arrow.transfer = NTK_NO_INDEX;
    arrow.is_inside = false;
    int64_t from_ns = ntk_rows_ns(core->instructions[release->by].start_ps);
    if (from_ns < to.start_ns || (from_ns == to.start_ns && release->by < instruction)) {
        return arrow;
    }
    arrow.is_inside = true;
    return from_ns < to.end_ns ? arrow : none;
}

int ntk_arrows_turn_to(struct ntk_arrows *arrows, size_t core_index)
{
    arrows->core_index = core_index;
    const struct ntk_trace_core *core = core_of(arrows);

    ntk_long_list_fini(&arrows->leaving);
    ntk_long_list_init(&arrows->leaving, arrows->transfers->program->trace, sizeof(struct leaving),
                       1);
    int ret = ntk_long_list_resize(&arrows->leaving, core->instruction_count);
    struct leaving *leaving = arrows->leaving.items;
    /* items are inserted at the front, so visit them backwards */
    for (size_t i = core->instruction_count; i > 0 && ret == 0; i--) {
        struct ntk_arrow arrow = ntk_arrow_to(arrows, (uint32_t)(i - 1));
        if (arrow.from != NTK_NO_INDEX) {
            leaving[i - 1].next = leaving[arrow.from].first;
            leaving[arrow.from].first = (uint32_t)i;
        }
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_arrows_give_back(arrows);
        }
    }
    return ret;
}

static uint32_t index_of(uint32_t number)
{
    return number ? number - 1 : NTK_NO_INDEX;
}

uint32_t ntk_arrows_first(const struct ntk_arrows *arrows, uint32_t from)
{
    return index_of(((const struct leaving *)arrows->leaving.items)[from].first);
}

uint32_t ntk_arrows_next(const struct ntk_arrows *arrows, uint32_t to)
{
    return index_of(((const struct leaving *)arrows->leaving.items)[to].next);
}

void ntk_arrows_give_back(const struct ntk_arrows *arrows)
{
    ntk_dependencies_give_back(core_of(arrows), &arrows->dependencies.cores[arrows->core_index]);
    ntk_long_list_give_back(&arrows->leaving);
    ntk_transfers_give_back(arrows->transfers, arrows->core_index);
}

void ntk_arrows_fini(struct ntk_arrows *arrows)
{
    ntk_long_list_fini(&arrows->leaving);
    if (arrows->dependencies.cores) {
        ntk_dependencies_fini(&arrows->dependencies);
    }
}
