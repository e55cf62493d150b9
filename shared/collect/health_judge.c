/* SPDX-License-Identifier: MIT */
/* health_judge - turns the signs of a device into reasons, and these into a verdict. */
#include <string.h>

#include "shared/collect/health_state.h"

#include "shared/abi/core_number.h"

/* Component names for errors that another counter explains better. */
static const struct {
    enum ntk_health_reason reason;
    enum ntk_health_reason by[2];
} explained[] = {
    { NTK_HEALTH_REASON_HBM_UNHEALTHY,
      { NTK_HEALTH_REASON_HBM_UNCORRECTABLE, NTK_HEALTH_REASON_HBM_REPAIRABLE } },
    { NTK_HEALTH_REASON_SRAM_UNHEALTHY,
      { NTK_HEALTH_REASON_SRAM_UNCORRECTABLE, NTK_HEALTH_REASON_SRAM_UNCORRECTABLE } },
    { NTK_HEALTH_REASON_EXECUTION_TIMEOUT,
      { NTK_HEALTH_REASON_HARDWARE_ERROR, NTK_HEALTH_REASON_HARDWARE_ERROR } },
    { NTK_HEALTH_REASON_CORE_DEAD,
      { NTK_HEALTH_REASON_HARDWARE_ERROR, NTK_HEALTH_REASON_EXECUTION_TIMEOUT } },
};

static void add_reason(struct judged *reasons, enum ntk_health_reason reason,
                       const struct ntk_health_sample *sample)
{
    struct judged *judged = &reasons[reason];
    struct ntk_health_sample *into = &judged->sample;

    if (!judged->is_on) {
        judged->is_on = true;
        *into = *sample;
        into->reason = (uint16_t)reason;
        return;
    }
    into->since_ns = sample->since_ns < into->since_ns ? sample->since_ns : into->since_ns;
    into->last_ns = sample->last_ns > into->last_ns ? sample->last_ns : into->last_ns;
    into->cores |= sample->cores;
    if (into->core != NTK_NO_CORE && sample->core != NTK_NO_CORE) {
        into->count += sample->count; /* from another core, or more from the same one */
    }
    into->status = into->status ? into->status : sample->status;
}

/* signs are those of the device, or of one of its cores. */
static void add_sign(struct judged *reasons, enum signal signal, const struct sign *signs,
                     uint16_t core)
{
    const struct sign *sign = &signs[signal];
    uint64_t counted_elsewhere = 0;

    if (!sign->is_on) {
        return; /* true for nearly all signals of each core of each device */
    }
    /* A counter of the driver and a process may both have seen an error: only the difference
     * counts. */
    for (size_t s = 0; s < (size_t)signal; s++) {
        bool is_same =
            signs[s].is_on && ntk_health_signals[s].reason == ntk_health_signals[signal].reason;

        counted_elsewhere =
            is_same && signs[s].count > counted_elsewhere ? signs[s].count : counted_elsewhere;
    }
    const struct ntk_health_sample sample = { .core = core,
                                              .cores = core == NTK_NO_CORE ? 0 : 1u << core,
                                              .status = sign->status,
                                              .since_ns = sign->since_ns,
                                              .last_ns = sign->last_ns,
                                              .count = sign->count > counted_elsewhere
                                                           ? sign->count - counted_elsewhere
                                                           : 0 };

    add_reason(reasons, ntk_health_signals[signal].reason, &sample);
}

static void add_state(struct judged *reasons, enum ntk_health_reason reason, uint64_t since_ns)
{
    const struct ntk_health_sample sample = { .core = NTK_NO_CORE,
                                              .since_ns = since_ns,
                                              .last_ns = since_ns };

    add_reason(reasons, reason, &sample);
}

/* Returns true if a leaf has been missing for too long. A sign that another leaf keeps set
 * stays. */
static bool is_lost(const struct device_state *device)
{
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        if (device->signs[s].is_lost) {
            return true;
        }
        for (size_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
            if (device->cores[c].signs[s].is_lost) {
                return true;
            }
        }
    }
    return false;
}

static bool has_signals(const struct device_state *device)
{
    return device->evidence & ~(1u << NTK_HEALTH_BY_HEARTBEAT);
}

static void find_reasons(struct device_state *device, struct judged *reasons,
                         struct ntk_health_time now)
{
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        add_sign(reasons, (enum signal)s, device->signs, NTK_NO_CORE);
        for (uint16_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
            add_sign(reasons, (enum signal)s, device->cores[c].signs, c);
        }
    }
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++) {
        if (reasons[explained[i].by[0]].is_on || reasons[explained[i].by[1]].is_on) {
            reasons[explained[i].reason].is_on = false;
        }
    }
    if (device->is_gone) {
        add_state(reasons, NTK_HEALTH_REASON_TREE_GONE, device->gone_since_ns);
        return;
    }
    if (device->heart.is_still) {
        add_state(reasons, NTK_HEALTH_REASON_HEARTBEAT_STILL, device->heart.still_since_ns);
    }
    device->lost_since_ns = !is_lost(device)        ? 0
                            : device->lost_since_ns ? device->lost_since_ns
                                                    : now.realtime_ns;
    if (device->lost_since_ns) {
        add_state(reasons, NTK_HEALTH_REASON_SIGNAL_LOST, device->lost_since_ns);
    }
    device->no_signal_ns = has_signals(device)    ? 0
                           : device->no_signal_ns ? device->no_signal_ns
                                                  : now.realtime_ns;
    if (!has_signals(device)) {
        add_state(reasons, NTK_HEALTH_REASON_NO_SIGNALS, device->no_signal_ns);
    }
}

/* Continues the cores of a stored reason. A device counter has no core. Core counters count only
 * from the first reading, so only the earlier collector saw them increase. */
static void continue_cores(struct device_state *device, size_t r, struct judged *judged)
{
    if (!judged->is_on) {
        device->stored_cores[r] = 0;
    } else if (!judged->sample.cores) {
        judged->sample.cores = device->stored_cores[r];
    }
}

void ntk_health_judge(struct ntk_health *health, struct device_state *device,
                      struct ntk_health_time now)
{
    struct judged reasons[NTK_HEALTH_REASON_COUNT] = { 0 };
    uint32_t verdict = NTK_HEALTH_HEALTHY;
    bool changed = false;

    bool is_first = device->verdict_since_ns == 0; /* readers are then informed of the verdict */

    /* A driver that is being loaded shows a device before its indicators: the previous verdict, if
     * any, stays for a while. */
    if (!has_signals(device) && !device->is_gone &&
        !ntk_health_is_past(device->first_ns, NTK_HEALTH_LOST_NS, now)) {
        return;
    }
    find_reasons(device, reasons, now);
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        if (reasons[r].is_on && ntk_health_reasons[r].verdict > verdict) {
            verdict = ntk_health_reasons[r].verdict;
        }
        continue_cores(device, r, &reasons[r]);
        changed = changed || reasons[r].is_on != device->reasons[r].is_on;
    }
    if (is_first || device->verdict != verdict) {
        device->verdict = verdict;
        device->verdict_since_ns = now.realtime_ns;
    }
    memcpy(device->reasons, reasons, sizeof reasons);
    health->has_changed = health->has_changed || (changed && !is_first);
}

static void continue_signs(struct sign *signs, const struct ntk_health_stored *stored)
{
    for (size_t s = 0; s < SIGNAL_COUNT; s++) {
        uint64_t stored_ns = stored->reasons[ntk_health_signals[s].reason].since_ns;

        if (signs[s].is_on && stored_ns > 0 && stored_ns < signs[s].since_ns) {
            signs[s].since_ns = stored_ns;
        }
    }
}

void ntk_health_continue(struct ntk_health *health, uint32_t index,
                         const struct ntk_health_stored *stored)
{
    struct device_state *device = index < NTK_DEVICES_MAX ? &health->devices[index] : NULL;

    if (!device || device->verdict_since_ns == 0 || device->verdict != stored->verdict ||
        stored->since_ns >= device->verdict_since_ns) {
        return;
    }
    const uint32_t first = ntk_core_number(index, health->cores_per_device, 0);
    device->verdict_since_ns = stored->since_ns;
    continue_signs(device->signs, stored);
    for (size_t c = 0; c < NTK_DEVICE_CORES_MAX; c++) {
        continue_signs(device->cores[c].signs, stored);
    }
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        struct judged *judged = &device->reasons[r];

        if (!judged->is_on || stored->reasons[r].since_ns == 0) {
            continue;
        }
        if (stored->reasons[r].since_ns < judged->sample.since_ns) {
            judged->sample.since_ns = stored->reasons[r].since_ns;
        }
        if (stored->reasons[r].has_core && stored->reasons[r].core >= first &&
            stored->reasons[r].core - first < health->cores_per_device) {
            device->stored_cores[r] = 1u << (stored->reasons[r].core - first);
        }
        continue_cores(device, r, judged);
    }
}

void ntk_health_begin_anew(struct device_state *device)
{
    uint32_t verdict = device->verdict;
    uint64_t since_ns = device->verdict_since_ns;
    bool was_judged = device->is_known;
    struct judged reasons[NTK_HEALTH_REASON_COUNT];

    memcpy(reasons, device->reasons, sizeof reasons);
    memset(device, 0, sizeof *device);
    if (was_judged) { /* the shown verdict stays until the next reading is judged */
        device->verdict = verdict;
        device->verdict_since_ns = since_ns;
        memcpy(device->reasons, reasons, sizeof reasons);
    }
}
