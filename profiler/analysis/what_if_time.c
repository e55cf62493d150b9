/* SPDX-License-Identifier: MIT */
/* what_if_time - walks along the measured times of a group of cores and recomputes the times of
 * each instruction and packet. */
#include "profiler/analysis/what_if_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT ((size_t)NTK_RETIME_KEPT * NTK_NTFF_ENGINE_COUNT)

static void show(const struct ntk_retime *r)
{
    const struct ntk_retime_input *input = r->input;
    double done = 0;
    double all = 0;

    for (size_t i = 0; i < r->to->group_count; i++) {
        done += (double)r->group[i].next_item;
        all += (double)r->group[i].core->instruction_count;
    }
    if (all > 0) {
        ntk_progress_show(input->progress,
                          input->share_from + (input->share_to - input->share_from) * done / all);
    }
}

void ntk_retime_passed(const struct ntk_retime *r, size_t looks)
{
    if (looks % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
        ntk_dependencies_give_back(r->core, r->to->dependencies);
        ntk_transfers_give_back(r->to->transfers, r->to->core);
        ntk_long_list_give_back(&r->to->items);
        ntk_long_list_give_back(&r->to->bases);
        ntk_long_list_give_back(&r->to->wide);
        ntk_long_list_give_back(&r->to->starts);
        ntk_long_list_give_back(&r->to->moved);
        ntk_long_list_give_back(&r->to->ends);
        show(r);
    }
}

/* ---- executions ---- */

static void go_to(struct ntk_retime *r, size_t execution)
{
    const struct ntk_program *program = r->to->program;

    r->execution = execution;
    r->from_ps = ntk_execution_start_ps(&program->borders, execution);
    r->next_ps = execution + 1 < ntk_execution_known_count(&program->borders)
                     ? ntk_execution_start_ps(&program->borders, execution + 1)
                     : INT64_MAX;
    r->ends = ((struct ntk_retimed_ends *)r->to->ends.items)[execution].rows;
}

static void ends_init(struct ntk_retime *r)
{
    struct ntk_retimed_ends *ends = r->to->ends.items;

    for (size_t e = 0; e < r->to->ends.count; e++) {
        for (size_t k = 0; k < NTK_RETIME_ROWS; k++) {
            ends[e].rows[k].end_ps = ntk_execution_start_ps(&r->to->program->borders, e);
            ends[e].rows[k].last = NTK_NO_INDEX;
        }
    }
}

/* Stores the end of the execution for all rows. */
static void put_ends(struct ntk_retime *r)
{
    struct ntk_retimed_end *measured = &r->ends[NTK_RETIME_MEASURED];

    for (size_t l = 0; l < r->lane_count; l++) {
        measured->dma_busy_ps = ntk_retime_larger(measured->dma_busy_ps, r->lanes[l].busy_was_ps);
    }
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        struct ntk_retimed_end *end = &r->ends[k];
        end->end_ps = r->end.ps[k];
        end->last = r->last[k];
        end->ends_in_moved = r->in_moved >> k & 1;
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            end->engine_busy_ps[e] += measured->engine_busy_ps[e];
        }
        for (size_t l = 0; l < r->lane_count; l++) {
            end->dma_busy_ps = ntk_retime_larger(end->dma_busy_ps, r->lanes[l].busy.ps[k]);
        }
    }
}

/* Begins an execution: nothing before it has an effect on it. */
static void begin(struct ntk_retime *r, size_t execution)
{
    go_to(r, execution);
    ntk_lanes_fill(&r->end, r->from_ps);
    memset(r->last, 0xff, sizeof r->last);
    r->in_moved = 0;
    for (size_t l = 0; l < r->lane_count; l++) {
        r->lanes[l].is_used = false;
        r->lanes[l].busy_was_ps = 0;
        ntk_lanes_fill(&r->lanes[l].busy, 0);
    }
    for (size_t q = 0; q < r->queue_count; q++) {
        r->queues[q].was_ps = 0;
        ntk_lanes_fill(&r->queues[q].is, 0);
    }
}

static void pass(struct ntk_retime *r, int64_t time_ps)
{
    while (time_ps >= r->next_ps) {
        ntk_retime_finish_until(r, INT64_MAX);
        put_ends(r);
        begin(r, r->execution + 1);
    }
    ntk_retime_finish_until(r, time_ps);
}

/* Returns the measured start of the next instruction or packet; INT64_MAX at the end. */
static int64_t next_start(const struct ntk_retime *r)
{
    const struct ntk_trace_core *core = r->core;
    int64_t item_ps = r->next_item < core->instruction_count
                          ? core->instructions[r->next_item].start_ps
                          : INT64_MAX;

    return r->next_packet < core->packet_count
               ? ntk_retime_smaller(item_ps, core->packets[r->next_packet].start_ps)
               : item_ps;
}

/* Recomputes the instructions and packets that start before the time, at least one. */
static void walk_until(struct ntk_retime *r, int64_t until_ps)
{
    const struct ntk_trace_core *core = r->core;

    do {
        const struct ntk_trace_instruction *one =
            r->next_item < core->instruction_count ? &core->instructions[r->next_item] : NULL;
        const struct ntk_trace_packet *packet =
            r->next_packet < core->packet_count ? &core->packets[r->next_packet] : NULL;

        if (!one && !packet) {
            return;
        }
        if (packet && (!one || packet->start_ps < one->start_ps)) {
            pass(r, packet->start_ps);
            ntk_retime_packet(r, r->next_packet);
            ntk_retime_passed(r, r->next_packet++);
        } else {
            size_t item = r->next_item++;
            pass(r, one->start_ps);
            ntk_retime_instruction(r, (uint32_t)item);
            ntk_retime_passed(r, item);
        }
    } while (next_start(r) < until_ps);
}

/* Walks through all cores of a group in the order of measured starts. */
static void walk(struct ntk_retime *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        begin(&group[i], 0);
    }
    for (;;) {
        int64_t first_ps = INT64_MAX;
        int64_t second_ps = INT64_MAX;
        struct ntk_retime *first = &group[0];

        for (size_t i = 0; i < count; i++) {
            int64_t start_ps = next_start(&group[i]);
            if (start_ps < first_ps) {
                second_ps = first_ps;
                first_ps = start_ps;
                first = &group[i];
            } else {
                second_ps = ntk_retime_smaller(second_ps, start_ps);
            }
        }
        if (first_ps == INT64_MAX) {
            break;
        }
        walk_until(first, second_ps);
    }
    /* The end of a wait may need the end of a wait in another core. */
    for (size_t i = 0; i < count; i++) {
        ntk_retime_finish_until(&group[i], INT64_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        put_ends(&group[i]);
    }
}

static void least(int64_t *of, int64_t ps)
{
    if (ps >= 0 && ps < *of) {
        *of = ps;
    }
}

/* Sets the time of engines without measurements: the time of the quickest engine, or no time. */
static void fill(int64_t *of)
{
    int64_t quickest_ps = INT64_MAX;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        quickest_ps = ntk_retime_smaller(quickest_ps, of[e]);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (of[e] == INT64_MAX) {
            of[e] = quickest_ps == INT64_MAX ? 0 : quickest_ps;
        }
    }
}

/* Returns true for an instruction that may wait for another core: it is not a sample. */
static bool meets(const struct ntk_retime *r, uint32_t item)
{
    return ntk_retimed_meeting(r->to, item) != NTK_MEETING_NONE;
}

/* Updates minimum times; only the last condition of a wait shows the time of the release. */
static void least_of(struct ntk_retime *r, uint32_t item)
{
    const struct ntk_release *release = &r->to->dependencies->releases[item];
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    const struct ntk_slot_fact *fact = ntk_retime_fact(r, item);
    bool waits = fact->code->wait != NTK_WAIT_NONE && !fact->code->waits_inside;
    bool has_previous =
        release->previous != NTK_NO_INDEX && !ntk_retime_is_before(r, release->previous);
    int64_t free_ps = has_previous ? r->core->instructions[release->previous].end_ps : INT64_MIN;
    int64_t change_ps = release->event == NTK_NO_INDEX || !waits
                            ? INT64_MIN
                            : ntk_change_at(r->core, r->to->dependencies, release->event)->time_ps;

    if (!fact->code->has_sync || (waits && change_ps == INT64_MIN) || meets(r, item)) {
        return;
    }
    if (change_ps > free_ps) {
        least(&r->release_ps[one->engine], one->start_ps - change_ps);
    } else if (has_previous) {
        least(&r->issue_ps[one->engine], one->start_ps - free_ps);
    }
}

static void find_least(struct ntk_retime *r)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    const struct ntk_trace_instruction *all = r->core->instructions;

    r->begin_ps = INT64_MAX;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        r->issue_ps[e] = r->release_ps[e] = INT64_MAX;
    }
    go_to(r, 0);
    for (size_t i = 0; i < r->core->instruction_count; i++) {
        while (all[i].start_ps >= r->next_ps) {
            go_to(r, r->execution + 1);
        }
        least_of(r, (uint32_t)i);
        ntk_retime_passed(r, i);
    }
    fill(r->issue_ps);
    fill(r->release_ps);
    for (size_t t = 0; t < of->count; t++) {
        if (of->items[t].packet_count && !meets(r, of->items[t].instruction)) {
            least(&r->begin_ps, of->items[t].start_ps - all[of->items[t].instruction].end_ps);
        }
        ntk_retime_passed(r, t);
    }
    r->begin_ps = r->begin_ps == INT64_MAX ? 0 : r->begin_ps;
}

/* Empties a list. Memory of a new list is zeroed, memory of an earlier core is not. */
static int empty_list(struct ntk_long_list *list, size_t count)
{
    size_t used = list->capacity < count ? list->capacity : count;

    if (used) {
        memset(list->items, 0, used * list->item_bytes);
    }
    return ntk_long_list_resize(list, count);
}

static int prepare(struct ntk_retime *r)
{
    struct ntk_moment *moments = malloc((NTK_RETIME_RECENT + KEPT + 2) * sizeof *moments);

    if (!moments) {
        return -ENOMEM;
    }
    r->recent = moments;
    r->kept = moments + NTK_RETIME_RECENT;
    r->again[0] = r->kept + KEPT;
    r->again[1] = r->again[0] + 1;
    for (size_t i = 0; i < NTK_RETIME_RECENT + KEPT; i++) {
        moments[i].item = NTK_NO_INDEX;
    }
    memset(r->pending, 0xff, sizeof r->pending);
    memset(r->previous, 0xff, sizeof r->previous);
    r->pending_end_ps = INT64_MAX;
    int ret = ntk_retime_read_changes(r);
    if (ret == 0 && r->to->special.tight < r->to->row_count) {
        ret = ntk_retimed_find_meetings(r->to);
    }
    ret = ret ? ret : empty_list(&r->to->items, r->core->instruction_count);
    size_t blocks = r->core->instruction_count / NTK_RETIME_BLOCK + 1;
    ret = ret ? ret : empty_list(&r->to->bases, blocks * NTK_NTFF_ENGINE_COUNT);
    ret = ret ? ret : empty_list(&r->to->moved, r->to->transfers->cores[r->to->core].count);
    ret = ret ? ret : empty_list(&r->to->ends, ntk_execution_known_count(&r->to->program->borders));
    r->to->starts.count = r->to->wide.count = 0;
    r->moved = r->to->moved.items;
    return ret ? ret : ntk_retime_prepare_packets(r);
}

#define SMALL_LISTS 8 /* share of heap memory for a list that is far shorter than the items */

static void free_slots(struct ntk_retimed *retimed)
{
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(retimed->slots.of[e]);
    }
    ntk_collective_names_fini(&retimed->collectives);
}

static void lists_init(struct ntk_retimed *retimed, const struct ntk_retime_input *input)
{
    const struct ntk_trace *trace = input->program->trace;
    /* Items start at a multiple of 64 bits. */
    size_t own_bytes = (input->count + 1) / 2 * 2 * sizeof(int32_t);

    ntk_long_list_init(&retimed->items, trace, sizeof(struct ntk_retimed_item) + own_bytes, 1);
    if (retimed->items.heap_bytes_max >= NTK_TRACE_LIST_BYTES_MAX) {
        /* Use memory, because a page of a file costs ten times as much CPU. */
        retimed->items.heap_bytes_max *= NTK_TRACE_HEAP_LISTS;
    }
    ntk_long_list_init(&retimed->bases, trace, sizeof(struct ntk_retimed_base), SMALL_LISTS);
    ntk_long_list_init(&retimed->wide, trace, sizeof(struct ntk_lanes), SMALL_LISTS);
    ntk_long_list_init(&retimed->starts, trace, sizeof(struct ntk_lanes), 1);
    ntk_long_list_init(&retimed->moved, trace, sizeof(struct ntk_moved), 1);
    ntk_long_list_init(&retimed->ends, trace, sizeof(struct ntk_retimed_ends), SMALL_LISTS);
}

/* Begins a result with the memory of an earlier one. */
static void result_begin(struct ntk_retimed *retimed, const struct ntk_retime_input *input,
                         size_t core)
{
    struct ntk_retimed result = { .items = retimed->items,
                                  .bases = retimed->bases,
                                  .wide = retimed->wide,
                                  .starts = retimed->starts,
                                  .moved = retimed->moved,
                                  .ends = retimed->ends,
                                  .program = input->program,
                                  .transfers = input->transfers,
                                  .dependencies = &input->dependencies->cores[core],
                                  .changes = input->changes,
                                  .row_count = input->count,
                                  .core = core,
                                  .special = input->special };

    free_slots(retimed);
    if (!result.items.item_bytes) {
        lists_init(&result, input);
    }
    *retimed = result;
}

int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_retime_input *input,
                     const size_t *cores, size_t core_count)
{
    struct ntk_retime *group = calloc(core_count, sizeof *group);
    int ret = group ? 0 : -ENOMEM;

    for (size_t i = 0; group && i < core_count; i++) {
        result_begin(&retimed[i], input, cores[i]);
        retimed[i].group = retimed;
        retimed[i].group_count = core_count;
        group[i] = (struct ntk_retime){ .to = &retimed[i],
                                        .core = &input->program->trace->cores[cores[i]],
                                        .group = group,
                                        .input = input };
        ret = ret ? ret : prepare(&group[i]);
    }
    for (size_t i = 0; i < core_count && ret == 0; i++) {
        ends_init(&group[i]);
        find_least(&group[i]);
    }
    if (ret == 0) {
        walk(group, core_count);
    }
    for (size_t i = 0; group && i < core_count; i++) {
        ret = ret ? ret : group[i].failed;
        free(group[i].recent);
        free(group[i].queues);
        free(group[i].lanes);
    }
    free(group);
    for (size_t i = 0; i < core_count && ret < 0; i++) {
        ntk_retimed_fini(&retimed[i]);
    }
    return ret;
}

void ntk_retimed_fini(struct ntk_retimed *retimed)
{
    ntk_long_list_fini(&retimed->items);
    ntk_long_list_fini(&retimed->bases);
    ntk_long_list_fini(&retimed->wide);
    ntk_long_list_fini(&retimed->starts);
    ntk_long_list_fini(&retimed->moved);
    ntk_long_list_fini(&retimed->ends);
    free_slots(retimed);
    *retimed = (struct ntk_retimed){ 0 };
}

int64_t ntk_retimed_end_ps(const struct ntk_retimed *retimed, uint32_t item, size_t lane)
{
    const struct ntk_retimed_item *of = ntk_retimed_item_at(retimed, item);
    const struct ntk_trace_instruction *one =
        &retimed->program->trace->cores[retimed->core].instructions[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(retimed->program, retimed->core, one);
    int64_t own_ps = ntk_retimed_own(retimed, item, lane) >> NTK_MOMENT_CAUSE_BITS;
    int64_t length_ps = one->end_ps - (of->was >> NTK_MOMENT_CAUSE_BITS);
    bool only_waits = of->is_unknown && fact->code->waits_inside;

    bool has_rule = lane < NTK_RETIME_LANES && ntk_retimed_has_rule(retimed, lane);
    bool is_special = has_rule && only_waits && ntk_retimed_is_special(retimed, item, lane);
    bool meets =
        has_rule && !is_special && ntk_retimed_meeting(retimed, item) == NTK_MEETING_COLLECTIVE;
    if ((is_special || meets) && lane == retimed->special.early) {
        return own_ps;
    }
    if (is_special) {
        return ntk_retime_larger(own_ps, one->end_ps);
    }
    if (lane < NTK_RETIME_LANES && !only_waits &&
        ntk_retimed_changed_rows(retimed, item) >> lane & 1) {
        length_ps = ntk_retime_scaled(length_ps, ntk_retimed_factor(retimed, item, lane));
    }
    int64_t end_ps = ntk_retime_limited(own_ps + length_ps);
    return meets ? ntk_retime_larger(end_ps, one->end_ps) : end_ps;
}
