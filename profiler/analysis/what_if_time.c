/* SPDX-License-Identifier: MIT */
/* what_if_time - walks along the measured times and computes new ones for each instruction and
 * packet. */
#include "profiler/analysis/what_if_private.h"

#include <stdlib.h>
#include <string.h>

void ntk_retime_bind(struct ntk_retime_bound *bound, int64_t was_ps, int64_t is_ps, uint32_t from,
                     enum ntk_moment_cause cause)
{
    bound->was_ps = ntk_retime_larger(bound->was_ps, was_ps);
    if (bound->cause == NTK_MOMENT_FIRST || is_ps > bound->is_ps) {
        bound->is_ps = ntk_retime_larger(bound->is_ps, is_ps);
        bound->from = from;
        bound->cause = cause;
    }
}

int64_t ntk_retime_start_ps(const struct ntk_retime *r, const struct ntk_retime_bound *bound,
                            int64_t start_ps, bool is_known, int64_t *kept_ps)
{
    *kept_ps = bound->cause == NTK_MOMENT_FIRST ? 0 : start_ps - bound->was_ps;
    if (r->to->is_tight && is_known && *kept_ps > 0) {
        *kept_ps = 0;
        return bound->is_ps;
    }
    return ntk_retime_sum(bound->is_ps, start_ps - bound->was_ps);
}

void ntk_retime_passed(const struct ntk_retime *r, size_t looks)
{
    if (looks % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
        ntk_dependencies_give_back(r->core, r->to->dependencies);
        ntk_transfers_give_back(r->to->transfers, r->to->core);
        ntk_long_list_give_back(&r->to->moments);
        ntk_long_list_give_back(&r->to->moved);
    }
}

static void walk(struct ntk_retime *r)
{
    size_t p = 0;

    for (size_t i = 0; i < r->core->instruction_count; i++) {
        const struct ntk_trace_instruction *one = &r->core->instructions[i];
        for (; p < r->core->packet_count && r->core->packets[p].start_ps < one->start_ps; p++) {
            ntk_retime_finish_until(r, r->core->packets[p].start_ps);
            ntk_retime_packet(r, p);
            ntk_retime_passed(r, p);
        }
        ntk_retime_finish_until(r, one->start_ps);
        ntk_retime_instruction(r, (uint32_t)i);
        ntk_retime_passed(r, i);
    }
    for (; p < r->core->packet_count; p++) {
        ntk_retime_finish_until(r, r->core->packets[p].start_ps);
        ntk_retime_packet(r, p);
        ntk_retime_passed(r, p);
    }
    ntk_retime_finish_until(r, INT64_MAX);
    for (size_t l = 0; l < r->lane_count; l++) {
        r->to->dma_busy_ps = ntk_retime_larger(r->to->dma_busy_ps, r->lanes[l].busy_ps);
    }
}

static void least(int64_t *of, int64_t ps)
{
    if (ps >= 0 && ps < *of) {
        *of = ps;
    }
}

/* An engine without measurements uses the time of the quickest one, or no time. */
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

/* Only the last thing waited for shows how long the release takes. */
static void least_of(struct ntk_retime *r, uint32_t item)
{
    const struct ntk_release *release = &r->to->dependencies->releases[item];
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    const struct ntk_slot_fact *fact = ntk_retime_fact(r, item);
    bool waits = fact->wait != NTK_WAIT_NONE && !fact->waits_inside;
    int64_t free_ps = release->previous == NTK_NO_INDEX
                          ? INT64_MIN
                          : r->core->instructions[release->previous].end_ps;
    int64_t change_ps = release->event == NTK_NO_INDEX || !waits
                            ? INT64_MIN
                            : r->core->events[release->event].time_ps;

    if (!fact->has_sync || (waits && change_ps == INT64_MIN)) {
        return;
    }
    if (change_ps > free_ps) {
        least(&r->release_ps[one->engine], one->start_ps - change_ps);
    } else if (release->previous != NTK_NO_INDEX) {
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
    for (size_t i = 0; i < r->core->instruction_count; i++) {
        least_of(r, (uint32_t)i);
        ntk_retime_passed(r, i);
    }
    fill(r->issue_ps);
    fill(r->release_ps);
    for (size_t t = 0; t < of->count; t++) {
        if (of->items[t].packet_count) {
            least(&r->begin_ps, of->items[t].start_ps - all[of->items[t].instruction].end_ps);
        }
        ntk_retime_passed(r, t);
    }
}

int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_program *program,
                     const struct ntk_transfers *transfers,
                     const struct ntk_dependencies *dependencies, size_t core,
                     const struct ntk_what_if_changes *changes, bool is_tight)
{
    struct ntk_retimed result = { .program = program,
                                  .transfers = transfers,
                                  .dependencies = &dependencies->cores[core],
                                  .changes = changes,
                                  .core = core,
                                  .is_tight = is_tight,
                                  .last = NTK_NO_INDEX };
    struct ntk_retime r = { .to = &result, .core = &program->trace->cores[core] };

    ntk_long_list_init(&result.moments, program->trace, sizeof(struct ntk_moment), 1);
    ntk_long_list_init(&result.moved, program->trace, sizeof(struct ntk_moved), 1);
    memset(r.pending, 0xff, sizeof r.pending);
    ntk_retime_read_changes(&r);
    int ret = ntk_long_list_resize(&result.moments, r.core->instruction_count);
    ret = ret ? ret : ntk_long_list_resize(&result.moved, transfers->cores[core].count);
    r.moments = result.moments.items;
    r.moved = result.moved.items;
    ret = ret ? ret : ntk_retime_prepare_packets(&r);
    if (ret == 0) {
        find_least(&r);
        walk(&r);
    }
    free(r.queues);
    free(r.lanes);
    if (ret < 0) {
        ntk_retimed_fini(&result);
        return ret;
    }
    *retimed = result;
    return 0;
}

void ntk_retimed_fini(struct ntk_retimed *retimed)
{
    ntk_long_list_fini(&retimed->moments);
    ntk_long_list_fini(&retimed->moved);
    *retimed = (struct ntk_retimed){ 0 };
}
