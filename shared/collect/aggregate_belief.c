/* SPDX-License-Identifier: MIT */
/*
 * aggregate_belief - decides which source is trusted about a core: its process's segment, or the
 * device tree.
 *
 * Our software cores count everything themselves, so their segments are trusted. Hooks around
 * another runtime see only calls: they know the results, but the time of a call includes waiting,
 * and they do not see the core. There the driver's counters come first.
 * docs/decisions/collecting.md has the table.
 */
#include <string.h>

#include "shared/base/clock.h"
#include "shared/collect/aggregate_state.h"

#define AT_FLOPS NTK_CORE_COUNT_AT(effective_flops)
#define AT_COMPLETED NTK_CORE_COUNT_AT(outcome[NTK_OUTCOME_COMPLETED])

/* Counters of a core in the driver's tree. */
static const struct {
    size_t counter;
    uint32_t has;
    size_t offset; /* offset of the struct ntk_device_value */
    uint64_t scale;
    bool beats_calls;
} tree_rows[] = {
    { AT_BUSY, NTK_CORE_HAS_BUSY, offsetof(struct ntk_device_core_reading, busy_us), 1000, true },
    { AT_FLOPS, NTK_CORE_HAS_EFFECTIVE_FLOPS, offsetof(struct ntk_device_core_reading, flops), 1,
      true },
    { AT_COMPLETED, NTK_CORE_HAS_EXECUTIONS,
      offsetof(struct ntk_device_core_reading, inference_count), 1, false },
};
#define TREE_ROWS (sizeof tree_rows / sizeof *tree_rows)

/* ---- segments ---- */

uint32_t ntk_aggregate_believed_of_segment(const struct ntk_ring_process *process)
{
    uint32_t reported = NTK_CORE_HAS_TRANSFERS;

    if (!(process->flags & NTK_PROCESS_NO_EXECUTIONS)) {
        reported |= NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY;
    }
    if (process->flags & NTK_PROCESS_SOFTWARE_CORE) {
        reported |= NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS |
                    NTK_CORE_HAS_BYTES | NTK_CORE_HAS_DEVICE_LATENCY;
    }
    return reported;
}

/* ---- the tree ---- */

void ntk_aggregate_take_tree_core(struct machine_core *core,
                                  const struct ntk_device_core_reading *reading, bool appeared)
{
    for (size_t i = 0; i < TREE_ROWS; i++) {
        const struct ntk_device_value *value =
            (const void *)((const char *)reading + tree_rows[i].offset);
        uint64_t *base = &core->tree_base[tree_rows[i].counter];
        uint64_t now = value->value * tree_rows[i].scale;

        if (!value->present) {
            core->has_base &= ~tree_rows[i].has;
            core->has_tree &= ~tree_rows[i].has;
            continue;
        }
        if (!(core->has_base & tree_rows[i].has)) {
            *base = appeared ? 0 : now;
            core->has_base |= tree_rows[i].has;
        }
        core->has_tree |= tree_rows[i].has;
        core->tree_period[tree_rows[i].counter] += ntk_aggregate_difference(now, *base);
        if (now < *base) {
            core->tree_is_cleared = true;
            core->tree_cleared[tree_rows[i].counter] += now;
        }
        *base = now;
    }
}

/* Drops impossible counts. After a clear, a core cannot have been busy for longer than it was
 * observed, nor can it have counted more than its peak allows. A value beyond that was not cleared
 * but decreased slightly, for example because a process ended during the reading; then nothing is
 * counted. */
static void drop_what_cannot_be(struct machine_core *core, const struct ntk_snapshot *snapshot)
{
    /* Readings are taken shortly before or after the ends of the period. */
    double room_ns = 2 * (double)snapshot->period_ns;
    double peak = snapshot->hardware.has & NTK_HARDWARE_HAS_PEAK
                      ? snapshot->hardware.tensor_peak_flops * room_ns / NTK_NS_PER_SECOND
                      : 0;
    const struct {
        size_t counter;
        double most; /* 0: unknown */
    } rows[] = { { AT_BUSY, room_ns }, { AT_FLOPS, peak } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t *cleared = &core->tree_cleared[rows[i].counter];

        if (rows[i].most > 0 && (double)*cleared > rows[i].most) {
            core->tree_period[rows[i].counter] -= *cleared;
        }
    }
    memset(core->tree_cleared, 0, sizeof core->tree_cleared);
    core->tree_is_cleared = false;
}

void ntk_aggregate_settle_tree(struct ntk_aggregate *aggregate, const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < aggregate->cores_used; i++) {
        if (aggregate->cores[i].tree_is_cleared) {
            drop_what_cannot_be(&aggregate->cores[i], snapshot);
        }
    }
}

/* ---- both ---- */

/* If a process around another runtime is alone on its core, the driver's counts on the core belong
 * to it. With two processes, the owner of the counts is unknown. */
static void tell_core(const struct machine_core *machine, struct core_state *state,
                      struct ntk_core_sample *sample)
{
    sample->busy_of_calls = sample->has & NTK_CORE_HAS_BUSY;
    for (size_t i = 0; i < TREE_ROWS; i++) {
        size_t at = tree_rows[i].counter;
        struct ntk_count *count = &sample->counts[at];

        if (!tree_rows[i].beats_calls) {
            continue;
        }
        if (machine->has_tree & tree_rows[i].has && machine->observed == 1) {
            count->period = machine->tree_period[at];
            sample->has |= tree_rows[i].has;
            if (at == AT_BUSY) {
                sample->busy_of_calls = false;
                state->window_ns = 0; /* computed from the segment's readings */
            }
        }
        state->trusted_total[at] += count->period;
        count->total = state->trusted_total[at];
    }
}

void ntk_aggregate_tell_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime)
{
    struct ntk_runtime_sample *sample = &runtime->sample;

    for (size_t i = 0; i < sample->core_count && !sample->software; i++) {
        uint32_t core = sample->cores[i].core;

        if (runtime->cores[core]) {
            tell_core(&aggregate->cores[core], runtime->cores[core], &sample->cores[i]);
        }
    }
}

uint32_t ntk_aggregate_tell_machine(struct machine_core *core, bool software_machine,
                                    bool *out_busy_of_calls)
{
    uint32_t has = core->observed > 0 ? core->has_observed : core->has_software;

    *out_busy_of_calls = core->has_observed & NTK_CORE_HAS_BUSY;
    for (size_t i = 0; i < TREE_ROWS; i++) {
        size_t at = tree_rows[i].counter;
        bool by_segment = core->observed > 0
                              ? !tree_rows[i].beats_calls && core->has_observed & tree_rows[i].has
                              : core->has_software & tree_rows[i].has;

        if (core->has_tree & tree_rows[i].has && !by_segment) {
            core->period[at] = core->tree_period[at];
            core->unwatched[at] = 0;
            has |= tree_rows[i].has;
            if (at == AT_BUSY) {
                *out_busy_of_calls = false;
                core->window_known = false;
            }
        }
    }
    /* A software machine's core is idle if no process runs on it. */
    return has | (software_machine && core->observed == 0 ? NTK_CORE_HAS_IDLE : 0u);
}
