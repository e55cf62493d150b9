/* SPDX-License-Identifier: MIT */
/* what_if_instructions - recomputes the start and end of each instruction. */
#include "profiler/analysis/what_if_private.h"

static void finish(struct ntk_retime *r, uint32_t item);

/* ---- moments ---- */

/* Restores the stored data of an instruction. */
NTK_RETIME_CLONES static void make_again(const struct ntk_retime *r, uint32_t item,
                                         struct ntk_moment *out)
{
    const struct ntk_retimed_item *of = ntk_retimed_item_at(r->to, item);
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    int64_t was_ps = of->was >> NTK_MOMENT_CAUSE_BITS;
    int64_t length_ps = one->end_ps - was_ps;
    uint32_t rows = ntk_retimed_changed_rows(r->to, item);

    out->item = item;
    out->is_done = true;
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        out->own.ps[k] = k < r->to->row_count
                             ? ntk_retimed_own(r->to, item, k) >> NTK_MOMENT_CAUSE_BITS
                             : was_ps;
        out->end.ps[k] = ntk_retime_limited(out->own.ps[k] + length_ps);
    }
    for (uint32_t left = rows | ntk_retimed_rule_rows(r->to); left; left &= left - 1) {
        size_t k = (size_t)__builtin_ctz(left);
        out->end.ps[k] = ntk_retimed_end_ps(r->to, item, k);
    }
    out->start = out->own;
    if (of->start_place) {
        out->start = ((const struct ntk_lanes *)r->to->starts.items)[of->start_place - 1];
    }
}

static bool is_held(const struct ntk_retime *r, uint32_t item, unsigned engine)
{
    uint32_t last = r->previous[engine];

    return last != NTK_NO_INDEX &&
           (item == last || item == ntk_holder_of(r->to->dependencies, last));
}

/* Reuses the place of the item in `recent`. An older moment moves to `kept` while it is held. */
static struct ntk_moment *take_place(struct ntk_retime *r, uint32_t item)
{
    struct ntk_moment *moment = &r->recent[item % NTK_RETIME_RECENT];

    if (moment->item != NTK_NO_INDEX) {
        unsigned engine = r->core->instructions[moment->item].engine;
        struct ntk_moment *kept = &r->kept[NTK_RETIME_KEPT * engine];
        if (is_held(r, moment->item, engine)) {
            kept += kept->item != NTK_NO_INDEX && is_held(r, kept->item, engine);
            *kept = *moment;
        }
    }
    moment->item = item;
    moment->is_done = false;
    return moment;
}

static struct ntk_moment *find_moment(const struct ntk_retime *r, uint32_t item)
{
    struct ntk_moment *moment = &r->recent[item % NTK_RETIME_RECENT];

    if (moment->item == item) {
        return moment;
    }
    moment = &r->kept[(size_t)NTK_RETIME_KEPT * r->core->instructions[item].engine];
    for (size_t i = 0; i < NTK_RETIME_KEPT; i++, moment++) {
        if (moment->item == item) {
            return moment;
        }
    }
    return NULL;
}

const struct ntk_moment *ntk_retime_moment(struct ntk_retime *r, uint32_t item)
{
    struct ntk_moment *moment = find_moment(r, item);

    if (!moment) {
        moment = r->again[r->again_next++ % 2];
        make_again(r, item, moment);
    }
    return moment;
}

/* ---- changes ---- */

/* Computes the change by an instruction. Returns false if the end of the instruction is unknown. */
NTK_RETIME_CLONES static bool change_of_instruction(struct ntk_retime *r, uint32_t by,
                                                    int64_t change_ps, struct ntk_lanes *out)
{
    const struct ntk_trace_instruction *maker = &r->core->instructions[by];

    if (r->pending[maker->engine] == by) {
        finish(r, by);
    }
    const struct ntk_moment *moment = ntk_retime_moment(r, by);
    if (!moment->is_done) {
        return false;
    }
    if (change_ps >= maker->end_ps) {
        ntk_lanes_after(out, &moment->end, change_ps - maker->end_ps, &r->latency);
    } else {
        /* For a change before the end: the same share of its time. */
        ntk_lanes_share(out, &moment->start, &moment->end, change_ps - maker->start_ps,
                        maker->end_ps - maker->start_ps);
    }
    return true;
}

/* Computes a change by an instruction or transfer, maybe of another core. Returns false if the
 * maker belongs to an earlier execution, or its time is unknown. */
static bool change_of(struct ntk_retime *r, const struct ntk_release *release, int64_t change_ps,
                      struct ntk_lanes *out)
{
    struct ntk_retime *of =
        release->core_away ? ntk_retime_of_core(r, ntk_release_core(r->to->core, release)) : r;

    if (!of || release->by >= of->next_item) {
        return false;
    }
    int64_t start_ps = of->core->instructions[release->by].start_ps;
    if (start_ps >= change_ps || (r->execution > 0 && start_ps < r->from_ps)) {
        return false;
    }
    return release->by_transfer ? ntk_retime_change_of_transfer(of, release->by, change_ps, out)
                                : change_of_instruction(of, release->by, change_ps, out);
}

/* Computes the time of the change for which an instruction waits. Returns false if it waits for
 * none, or if the change's maker is unknown. */
static bool change_get(struct ntk_retime *r, uint32_t item, const struct ntk_slot_fact *fact,
                       int64_t *out_was_ps, struct ntk_lanes *out)
{
    const struct ntk_release *release = &r->to->dependencies->releases[item];

    if (release->event == NTK_NO_INDEX) {
        r->to->unknown_wait_count += fact->code->wait != NTK_WAIT_NONE;
        return false;
    }
    *out_was_ps = ntk_change_at(r->core, r->to->dependencies, release->event)->time_ps;
    bool is_known = release->by != NTK_NO_INDEX &&
                    !ntk_release_loads_code(r->to->dependencies, release) &&
                    change_of(r, release, *out_was_ps, out);
    r->to->unknown_wait_count += !is_known;
    r->to->outside_wait_count += ntk_release_is_outside(release);
    return is_known;
}

/* ---- instructions ---- */

/* Limit of differences that fit. */
#define OWN_LIMIT_PS (UINT64_C(1) << (31 - NTK_MOMENT_CAUSE_BITS))

static void keep_wide(struct ntk_retime *r, const struct ntk_moment *moment,
                      struct ntk_retimed_item *of, const uint8_t causes[NTK_RETIME_ROWS])
{
    struct ntk_lanes *own = ntk_long_list_add(&r->to->wide, &r->failed);

    for (size_t k = 0; own && k < NTK_RETIME_LANES; k++) {
        own->ps[k] = (int64_t)((uint64_t)moment->own.ps[k] << NTK_MOMENT_CAUSE_BITS | causes[k]);
    }
    of->wide_place = (uint32_t)r->to->wide.count;
}

/* Stores the own time and cause in each row. */
NTK_RETIME_CLONES static void keep(struct ntk_retime *r, const struct ntk_moment *moment,
                                   int64_t own_was_ps, const uint8_t causes[NTK_RETIME_ROWS])
{
    struct ntk_retimed_item *of = ntk_retimed_item_at(r->to, moment->item);
    struct ntk_retimed_base *base = ntk_retimed_base_at(r->to, moment->item);
    int64_t was_ps = ntk_retime_limited(own_was_ps);
    uint64_t beyond = 0;
    bool is_late = false;

    for (size_t k = 0; !base->is_set && k < NTK_RETIME_LANES; k++) {
        base->later.ps[k] = moment->own.ps[k] - was_ps;
    }
    base->is_set = true;
    for (size_t k = 0; k < r->to->row_count; k++) {
        int64_t more_ps = moment->own.ps[k] - was_ps - base->later.ps[k];
        beyond |= (uint64_t)(more_ps + OWN_LIMIT_PS);
        of->own[k] = (int32_t)((uint32_t)more_ps << NTK_MOMENT_CAUSE_BITS | causes[k]);
        is_late |= causes[k] >= NTK_MOMENT_DRAINED;
    }
    of->was = (int64_t)((uint64_t)was_ps << NTK_MOMENT_CAUSE_BITS | causes[NTK_RETIME_MEASURED]);
    of->start_place = 0;
    of->wide_place = 0;
    if (beyond >= 2 * OWN_LIMIT_PS) {
        keep_wide(r, moment, of, causes);
    }
    if (is_late) {
        struct ntk_lanes *start = ntk_long_list_add(&r->to->starts, &r->failed);
        if (start) {
            *start = moment->start;
            of->start_place = (uint32_t)r->to->starts.count;
        }
    }
}

/* In special rows, a wait inside an instruction for a change from outside takes another time, and
 * so does a collective. */
static void set_special_ends(const struct ntk_retime *r, struct ntk_moment *moment, bool only_waits)
{
    const struct ntk_retime_special *special = &r->to->special;
    int64_t end_ps = r->core->instructions[moment->item].end_ps;

    if (special->late >= r->to->row_count) {
        return;
    }
    if (only_waits && ntk_retimed_is_special(r->to, moment->item, special->late)) {
        moment->end.ps[special->late] = ntk_retime_larger(moment->own.ps[special->late], end_ps);
        moment->end.ps[special->early] = moment->own.ps[special->early];
    } else if (ntk_retimed_meeting(r->to, moment->item) == NTK_MEETING_COLLECTIVE) {
        moment->end.ps[special->late] = ntk_retime_larger(moment->end.ps[special->late], end_ps);
        moment->end.ps[special->early] = moment->own.ps[special->early];
    }
}

/* Ends an instruction. own_was_ps: time from which the time belongs to the instruction. */
NTK_RETIME_CLONES static void end_set(struct ntk_retime *r, struct ntk_moment *moment,
                                      const struct ntk_slot_fact *fact, int64_t own_was_ps)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[moment->item];
    struct ntk_retimed_end *measured = &r->ends[NTK_RETIME_MEASURED];
    /* The instruction may only wait. */
    bool only_waits =
        ntk_retimed_item_at(r->to, moment->item)->is_unknown && fact->code->waits_inside;
    uint32_t rows = only_waits ? 0 : ntk_retimed_changed_rows(r->to, moment->item);
    int64_t from_ps = ntk_retime_larger(own_was_ps, r->covered_ps[one->engine]);
    int64_t length_ps = one->end_ps - own_was_ps;
    int64_t busy_ps = one->end_ps > from_ps && !ntk_only_waits(one) ? one->end_ps - from_ps : 0;

    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        moment->end.ps[k] = ntk_retime_limited(moment->own.ps[k] + length_ps);
    }
    /* The measured row has the sum of the parts that are the same in all rows. */
    measured->engine_busy_ps[one->engine] =
        ntk_retime_limited(measured->engine_busy_ps[one->engine] + busy_ps);
    for (; rows; rows &= rows - 1) {
        size_t k = (size_t)__builtin_ctz(rows);
        double factor = ntk_retimed_factor(r->to, moment->item, k);
        int64_t *more_ps = &r->ends[k].engine_busy_ps[one->engine];
        moment->end.ps[k] =
            ntk_retime_limited(moment->own.ps[k] + ntk_retime_scaled(length_ps, factor));
        *more_ps = ntk_retime_limited(*more_ps + ntk_retime_scaled(busy_ps, factor) - busy_ps);
    }
    set_special_ends(r, moment, only_waits);
    moment->is_done = true;
    if (one->end_ps > from_ps) {
        r->covered_ps[one->engine] = one->end_ps;
    }
    if (one->end_ps > r->next_ps) {
        return; /* the next execution did not wait for it */
    }
    if (measured->last == NTK_NO_INDEX || one->end_ps > measured->end_ps) {
        measured->end_ps = one->end_ps;
        measured->last = moment->item;
        measured->ends_in_moved = false;
    }
    ntk_retime_end(r, &moment->end, moment->item, false);
}

/* Finishes an instruction that has started: it waits for a change inside itself, or for the engine
 * to drain. */
NTK_RETIME_CLONES static void finish_moment(struct ntk_retime *r, struct ntk_moment *moment,
                                            const struct ntk_slot_fact *fact,
                                            uint8_t causes[NTK_RETIME_ROWS])
{
    uint32_t item = moment->item;
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    uint32_t holder = ntk_holder_of(r->to->dependencies, item);
    int64_t was_ps = one->start_ps;
    int64_t change_was_ps;
    struct ntk_lanes change;

    moment->own = moment->start;
    if (holder != NTK_NO_INDEX && ntk_only_waits(one) && !ntk_retime_is_before(r, holder)) {
        int64_t end_ps = r->core->instructions[holder].end_ps;
        if (end_ps > was_ps && end_ps <= one->end_ps) {
            const struct ntk_moment *before = ntk_retime_moment(r, holder);
            was_ps = end_ps;
            causes[NTK_RETIME_MEASURED] = NTK_MOMENT_DRAINED;
            for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
                bool is_later = before->end.ps[k] > moment->own.ps[k];
                causes[k] = is_later ? NTK_MOMENT_DRAINED : causes[k];
                moment->own.ps[k] = is_later ? before->end.ps[k] : moment->own.ps[k];
            }
        }
    }
    if (fact->code->waits_inside && fact->code->wait != NTK_WAIT_NONE) {
        bool is_known = change_get(r, item, fact, &change_was_ps, &change);
        ntk_retimed_item_at(r->to, item)->is_unknown = !is_known;
        if (is_known) {
            uint32_t unwaited = ntk_retimed_unwaited_rows(r->to, item);
            change_was_ps = ntk_retime_smaller(change_was_ps, one->end_ps);
            if (change_was_ps > was_ps) {
                was_ps = change_was_ps;
                causes[NTK_RETIME_MEASURED] = NTK_MOMENT_INSIDE;
            }
            for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
                bool is_later = change.ps[k] > moment->own.ps[k] && !(unwaited >> k & 1);
                causes[k] = is_later ? NTK_MOMENT_INSIDE : causes[k];
                moment->own.ps[k] = is_later ? change.ps[k] : moment->own.ps[k];
            }
        }
    }
    end_set(r, moment, fact, was_ps);
    keep(r, moment, was_ps, causes);
}

static uint8_t cause_of(const struct ntk_retime *r, uint32_t item, size_t lane)
{
    return (uint8_t)(ntk_retimed_own(r->to, item, lane) & ((1 << NTK_MOMENT_CAUSE_BITS) - 1));
}

static void finish(struct ntk_retime *r, uint32_t item)
{
    unsigned engine = r->core->instructions[item].engine;
    uint8_t causes[NTK_RETIME_ROWS] = { 0 };

    for (size_t k = 0; k < r->to->row_count && k < NTK_RETIME_LANES; k++) {
        causes[k] = cause_of(r, item, k);
    }
    causes[NTK_RETIME_MEASURED] = cause_of(r, item, NTK_RETIME_MEASURED);
    r->pending[engine] = NTK_NO_INDEX;
    r->pending_end_ps = INT64_MAX;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (r->pending[e] != NTK_NO_INDEX) {
            r->pending_end_ps =
                ntk_retime_smaller(r->pending_end_ps, r->core->instructions[r->pending[e]].end_ps);
        }
    }
    /* This is the last instruction of its engine, so its moment is not calculated again. */
    finish_moment(r, find_moment(r, item), ntk_retime_fact(r, item), causes);
}

NTK_RETIME_CLONES static void bind_engine(struct ntk_retime *r, uint32_t item,
                                          struct ntk_retime_bound *bound)
{
    const struct ntk_core_dependencies *dependencies = r->to->dependencies;
    const struct ntk_trace_instruction *all = r->core->instructions;
    const struct ntk_trace_instruction *one = &all[item];
    uint32_t previous = dependencies->releases[item].previous;
    uint32_t holder = ntk_holder_of(dependencies, item);
    struct ntk_lanes is;

    if (previous == NTK_NO_INDEX || ntk_retime_is_before(r, previous)) {
        return;
    }
    const struct ntk_trace_instruction *before = &all[previous];
    const struct ntk_moment *moment = ntk_retime_moment(r, previous);
    if (one->start_ps >= before->end_ps) {
        int64_t gap_ps =
            ntk_retime_smaller(one->start_ps - before->end_ps, r->issue_ps[one->engine]);
        for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
            is.ps[k] = moment->end.ps[k] + gap_ps;
        }
        ntk_retime_bind(bound, before->end_ps + gap_ps, &is, NTK_MOMENT_PREVIOUS);
    } else {
        ntk_lanes_share(&is, &moment->start, &moment->end, one->start_ps - before->start_ps,
                        before->end_ps - before->start_ps);
        ntk_retime_bind(bound, one->start_ps, &is, NTK_MOMENT_PREVIOUS);
    }
    if (holder == NTK_NO_INDEX || holder == previous || ntk_retime_is_before(r, holder)) {
        return;
    }
    int64_t free_ps = ntk_executes_until_ps(dependencies, &all[holder]);
    if (one->start_ps >= free_ps) {
        int64_t gap_ps = ntk_retime_smaller(one->start_ps - free_ps, r->issue_ps[one->engine]);
        int64_t drain_ps = all[holder].end_ps - free_ps;
        moment = ntk_retime_moment(r, holder);
        for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
            is.ps[k] = moment->end.ps[k] + gap_ps - drain_ps;
        }
        for (uint32_t rows = ntk_retimed_changed_rows(r->to, holder); rows; rows &= rows - 1) {
            size_t k = (size_t)__builtin_ctz(rows);
            is.ps[k] = moment->end.ps[k] + gap_ps -
                       ntk_retime_scaled(drain_ps, ntk_retimed_factor(r->to, holder, k));
        }
        ntk_retime_bind(bound, free_ps + gap_ps, &is, NTK_MOMENT_HOLDER);
    }
}

/* Binds an instruction to the condition for which it waits before its start. Returns false if
 * unknown. */
NTK_RETIME_CLONES static bool bind_change(struct ntk_retime *r, uint32_t item,
                                          const struct ntk_slot_fact *fact,
                                          struct ntk_retime_bound *bound)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    uint32_t unwaited = ntk_retimed_unwaited_rows(r->to, item);
    struct ntk_lanes is;
    int64_t was_ps;

    if (!change_get(r, item, fact, &was_ps, &is) || was_ps > one->start_ps) {
        return false;
    }
    int64_t gap_ps = ntk_retime_smaller(one->start_ps - was_ps, r->release_ps[one->engine]);
    ntk_lanes_after(&is, &is, gap_ps, &r->latency);
    if (!unwaited) {
        ntk_retime_bind(bound, was_ps + gap_ps, &is, NTK_MOMENT_CHANGE);
        return true;
    }
    /* In those rows this binds nothing; without other bounds, they start with the execution. */
    struct ntk_retime_bound before = *bound;
    ntk_retime_bind(bound, was_ps + gap_ps, &is, NTK_MOMENT_CHANGE);
    for (; unwaited; unwaited &= unwaited - 1) {
        size_t k = (size_t)__builtin_ctz(unwaited);
        bound->is.ps[k] = before.is.ps[k];
        bound->causes[k] = before.causes[k];
    }
    return true;
}

/* In special rows, an instruction that waits for a change from outside, or for another core, has
 * another start. */
static void set_special_starts(const struct ntk_retime *r, const struct ntk_retime_bound *bound,
                               struct ntk_moment *moment, bool is_unknown)
{
    enum ntk_meeting meeting = ntk_retimed_meeting(r->to, moment->item);
    bool meets = meeting == NTK_MEETING_BARRIER || meeting == NTK_MEETING_COLLECTIVE;

    if (meets || (is_unknown && ntk_retimed_is_special(r->to, moment->item, r->to->special.late))) {
        ntk_retime_set_special(r, bound, r->core->instructions[moment->item].start_ps,
                               &moment->start);
    }
    r->to->meeting_count += meeting != NTK_MEETING_NONE;
}

NTK_RETIME_CLONES void ntk_retime_instruction(struct ntk_retime *r, uint32_t item)
{
    const struct ntk_trace_instruction *one = &r->core->instructions[item];
    const struct ntk_slot_fact *fact = ntk_retime_fact(r, item);
    struct ntk_retime_bound bound;

    if (r->pending[one->engine] != NTK_NO_INDEX) {
        finish(r, r->pending[one->engine]);
    }
    ntk_retime_bound_init(r, &bound);
    bind_engine(r, item, &bound);
    bool waits = !fact->code->waits_inside && fact->code->wait != NTK_WAIT_NONE;
    bool is_known = waits ? bind_change(r, item, fact, &bound) : fact->code->has_sync;
    struct ntk_moment *moment = take_place(r, item);
    struct ntk_retimed_item *of = ntk_retimed_item_at(r->to, item);
    of->is_unknown = !is_known;
    of->kept_ps = ntk_retime_start(r, &bound, one->start_ps, is_known, &moment->start);
    set_special_starts(r, &bound, moment, waits && !is_known);
    r->previous[one->engine] = item;
    if (fact->code->waits_inside && fact->code->wait != NTK_WAIT_NONE) {
        moment->own = moment->start;
        keep(r, moment, one->start_ps, bound.causes); /* until it is finished */
        r->pending[one->engine] = item;
        r->pending_end_ps = ntk_retime_smaller(r->pending_end_ps, one->end_ps);
    } else {
        finish_moment(r, moment, fact, bound.causes);
    }
}

void ntk_retime_finish_pending(struct ntk_retime *r, int64_t time_ps)
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
