/* SPDX-License-Identifier: MIT */
/* what_if_instructions - recomputes the start and end of each instruction. */
#include "profiler/analysis/what_if_private.h"

static void finish(struct ntk_retime *r, uint32_t item);

/* The time of a change by an instruction. False: its end is unknown. */
static bool change_of_instruction(struct ntk_retime *r, uint32_t by, int64_t change_ps,
                                  int64_t *out_ps)
{
    const struct ntk_trace_instruction *maker = &r->core->instructions[by];

    if (!r->moments[by].is_done && r->pending[maker->engine] == by) {
        finish(r, by);
    }
    if (!r->moments[by].is_done) {
        return false;
    }
    const struct ntk_moment *moment = &r->moments[by];
    if (change_ps >= maker->end_ps) {
        *out_ps = ntk_retime_sum(moment->end_ps,
                                 ntk_retime_scaled(change_ps - maker->end_ps, r->latency_factor));
        return true;
    }
    /* Before its end: at the same fraction of its time. */
    int64_t was_ps = maker->end_ps - maker->start_ps;
    int64_t is_ps = moment->end_ps - moment->start_ps;
    double factor = was_ps == is_ps ? 1 : (double)is_ps / (double)was_ps;
    *out_ps =
        ntk_retime_sum(moment->start_ps, ntk_retime_scaled(change_ps - maker->start_ps, factor));
    return true;
}

/* When the change that an instruction waits for occurs. False: it waits for none, or its maker is
 * unknown. */
static bool change_get(struct ntk_retime *r, uint32_t item, int64_t *out_was_ps, int64_t *out_is_ps)
{
    const struct ntk_release *release = &r->to->dependencies->releases[item];

    if (release->event == NTK_NO_INDEX) {
        r->to->unknown_wait_count += ntk_retime_fact(r, item)->wait != NTK_WAIT_NONE;
        return false;
    }
    *out_was_ps = r->core->events[release->event].time_ps;
    bool is_known = release->by != NTK_NO_INDEX &&
                    r->core->instructions[release->by].start_ps < *out_was_ps &&
                    (release->by_transfer
                         ? ntk_retime_change_of_transfer(r, release->by, *out_was_ps, out_is_ps)
                         : change_of_instruction(r, release->by, *out_was_ps, out_is_ps));
    r->to->unknown_wait_count += !is_known;
    return is_known;
}

static enum ntk_moment_cause cause_of(const struct ntk_release *release)
{
    return release->by_transfer ? NTK_MOMENT_TRANSFER : NTK_MOMENT_CHANGE;
}

/* ---- instructions ---- */

/* own_ps: start of the instruction's own time. */
static void end_set(struct ntk_retime *r, uint32_t item, int64_t own_was_ps, int64_t own_is_ps)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    struct ntk_moment *moment = &r->moments[item];
    /* It may only wait. */
    bool only_waits = moment->is_unknown && ntk_retime_fact(r, item)->waits_inside;
    double factor = only_waits ? 1 : ntk_retime_factor(r, item);
    int64_t from_ps = ntk_retime_larger(own_was_ps, r->covered_ps[one->engine]);

    moment->end_ps = ntk_retime_sum(own_is_ps, ntk_retime_scaled(one->end_ps - own_was_ps, factor));
    moment->own_ps = own_is_ps;
    moment->is_done = true;
    if (one->end_ps > from_ps) {
        int64_t busy_ps = ntk_only_waits(one) ? 0 : one->end_ps - from_ps;
        r->to->engine_busy_ps[one->engine] =
            ntk_retime_sum(r->to->engine_busy_ps[one->engine], ntk_retime_scaled(busy_ps, factor));
        r->covered_ps[one->engine] = one->end_ps;
    }
    r->to->measured_end_ps = ntk_retime_larger(r->to->measured_end_ps, one->end_ps);
    if (r->to->last == NTK_NO_INDEX || moment->end_ps > r->to->end_ps) {
        r->to->end_ps = moment->end_ps;
        r->to->last = item;
        r->to->ends_in_moved = false;
    }
}

/* Inside itself it waited for something later than what released it. */
static void decide(struct ntk_moment *moment, uint32_t from, enum ntk_moment_cause cause)
{
    moment->from = from;
    moment->cause = (uint8_t)cause;
    moment->kept_ps = 0;
}

/* For a started instruction that waits for a change inside itself, or for the engine to drain. */
static void finish(struct ntk_retime *r, uint32_t item)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    const struct ntk_release *release = &r->to->dependencies->releases[item];
    const struct ntk_slot_fact *fact = ntk_retime_fact(r, item);
    struct ntk_moment *moment = &r->moments[item];
    uint32_t holder = ntk_holder_of(r->to->dependencies, item);
    int64_t was_ps = one->start_ps;
    int64_t is_ps = moment->start_ps;
    int64_t change_was_ps;
    int64_t change_is_ps;

    if (r->pending[one->engine] == item) {
        r->pending[one->engine] = NTK_NO_INDEX;
    }
    if (holder != NTK_NO_INDEX && ntk_only_waits(one)) {
        int64_t end_ps = r->core->instructions[holder].end_ps;
        if (end_ps > was_ps && end_ps <= one->end_ps) {
            was_ps = end_ps;
            if (r->moments[holder].end_ps > is_ps) {
                is_ps = r->moments[holder].end_ps;
                decide(moment, holder, NTK_MOMENT_ENGINE);
            }
        }
    }
    if (fact->waits_inside && fact->wait != NTK_WAIT_NONE) {
        moment->is_unknown = !change_get(r, item, &change_was_ps, &change_is_ps);
    }
    if (fact->waits_inside && fact->wait != NTK_WAIT_NONE && !moment->is_unknown) {
        bool is_removed = ntk_retime_is_wait_removed(r, item);
        was_ps = ntk_retime_larger(was_ps, ntk_retime_smaller(change_was_ps, one->end_ps));
        if (!is_removed && change_is_ps > is_ps) {
            is_ps = change_is_ps;
            decide(moment, release->by, cause_of(release));
        }
    }
    end_set(r, item, was_ps, is_ps);
}

static void bind_engine(struct ntk_retime *r, uint32_t item, struct ntk_retime_bound *bound)
{
    const struct ntk_core_dependencies *dependencies = r->to->dependencies;
    const struct ntk_trace_instruction *all = r->core->instructions;
    const struct ntk_trace_instruction *one = &all[item];
    uint32_t previous = dependencies->releases[item].previous;
    uint32_t holder = ntk_holder_of(dependencies, item);

    if (previous == NTK_NO_INDEX) {
        return;
    }
    const struct ntk_trace_instruction *before = &all[previous];
    const struct ntk_moment *moment = &r->moments[previous];
    if (one->start_ps >= before->end_ps) {
        int64_t gap_ps =
            ntk_retime_smaller(one->start_ps - before->end_ps, r->issue_ps[one->engine]);
        ntk_retime_bind(bound, before->end_ps + gap_ps, ntk_retime_sum(moment->end_ps, gap_ps),
                        previous, NTK_MOMENT_ENGINE);
    } else {
        double part = (double)(one->start_ps - before->start_ps) /
                      (double)(before->end_ps - before->start_ps);
        int64_t length_ps = moment->end_ps - moment->start_ps;
        int64_t offset_ps = length_ps == before->end_ps - before->start_ps
                                ? one->start_ps - before->start_ps
                                : ntk_retime_scaled(length_ps, part);
        ntk_retime_bind(bound, one->start_ps, moment->start_ps + offset_ps, previous,
                        NTK_MOMENT_ENGINE);
    }
    if (holder == NTK_NO_INDEX || holder == previous) {
        return;
    }
    int64_t free_ps = ntk_executes_until_ps(dependencies, &all[holder]);
    if (one->start_ps >= free_ps) {
        int64_t gap_ps = ntk_retime_smaller(one->start_ps - free_ps, r->issue_ps[one->engine]);
        int64_t drain_ps =
            ntk_retime_scaled(all[holder].end_ps - free_ps, ntk_retime_factor(r, holder));
        ntk_retime_bind(bound, free_ps + gap_ps,
                        ntk_retime_sum(r->moments[holder].end_ps, gap_ps - drain_ps), holder,
                        NTK_MOMENT_ENGINE);
    }
}

void ntk_retime_instruction(struct ntk_retime *r, uint32_t item)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    const struct ntk_slot_fact *fact = ntk_retime_fact(r, item);
    const struct ntk_release *release = &r->to->dependencies->releases[item];
    struct ntk_retime_bound bound = { 0, 0, NTK_NO_INDEX, NTK_MOMENT_FIRST };
    int64_t was_ps;
    int64_t is_ps;

    if (r->pending[one->engine] != NTK_NO_INDEX) {
        finish(r, r->pending[one->engine]);
    }
    bind_engine(r, item, &bound);
    bool waits = !fact->waits_inside && fact->wait != NTK_WAIT_NONE;
    bool is_known = fact->has_sync;
    if (waits) {
        is_known = change_get(r, item, &was_ps, &is_ps) && was_ps <= one->start_ps;
    }
    if (waits && is_known) {
        int64_t gap_ps = ntk_retime_smaller(one->start_ps - was_ps, r->release_ps[one->engine]);
        if (ntk_retime_is_wait_removed(r, item)) {
            bound.was_ps = ntk_retime_larger(bound.was_ps, was_ps + gap_ps);
        } else {
            ntk_retime_bind(&bound, was_ps + gap_ps,
                            ntk_retime_sum(is_ps, ntk_retime_scaled(gap_ps, r->latency_factor)),
                            release->by, cause_of(release));
        }
    }
    struct ntk_moment *moment = &r->moments[item];
    *moment = (struct ntk_moment){ .from = bound.from,
                                   .cause = (uint8_t)bound.cause,
                                   .is_unknown = !is_known };
    moment->start_ps = ntk_retime_start_ps(r, &bound, one->start_ps, is_known, &moment->kept_ps);
    if (fact->waits_inside && fact->wait != NTK_WAIT_NONE) {
        r->pending[one->engine] = item;
    } else {
        finish(r, item);
    }
}

void ntk_retime_finish_until(struct ntk_retime *r, int64_t time_ps)
{
    for (;;) {
        uint32_t next = NTK_NO_INDEX;

        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            uint32_t item = r->pending[e];
            if (item != NTK_NO_INDEX && r->core->instructions[item].end_ps <= time_ps &&
                (next == NTK_NO_INDEX ||
                 r->core->instructions[item].end_ps < r->core->instructions[next].end_ps)) {
                next = item;
            }
        }
        if (next == NTK_NO_INDEX) {
            return;
        }
        finish(r, next);
    }
}
