/* SPDX-License-Identifier: MIT */
/* health - takes readings and reports about devices and processes, and returns the verdict. */
#include "shared/collect/health.h"

#include <stdlib.h>
#include <string.h>

#include "shared/abi/core_number.h"
#include "shared/abi/result.h"
#include "shared/collect/health_state.h"

struct ntk_health *ntk_health_create(void)
{
    return calloc(1, sizeof(struct ntk_health));
}

void ntk_health_destroy(struct ntk_health *health)
{
    free(health);
}

/* ---- reports of other sources ---- */

/* Handles a tree that cannot be read. It may come back with the next check, so nothing is forgotten
 * or reported until it is away for longer. */
static void take_away(struct ntk_health *health, struct device_state *device,
                      struct ntk_health_time now)
{
    if (!device->is_away) {
        device->is_away = true;
        device->away_since_ns = now.monotonic_ns;
    }
    if (device->is_gone || !ntk_health_is_past(device->away_since_ns, NTK_HEALTH_LOST_NS, now)) {
        return;
    }
    if (device->is_software) {
        memset(device, 0, sizeof *device);
        return;
    }
    device->is_gone = true;
    device->gone_since_ns = now.realtime_ns;
    ntk_health_judge(health, device, now);
}

void ntk_health_tree(struct ntk_health *health, const struct ntk_device_tree *tree, bool is_new,
                     struct ntk_health_time now)
{
    bool there[NTK_DEVICES_MAX] = { 0 };

    health->cores_per_device =
        tree->device_count > 0 ? tree->cores_per_device : health->cores_per_device;
    for (size_t i = 0; i < tree->device_count; i++) {
        if (tree->devices[i].index < NTK_DEVICES_MAX) {
            there[tree->devices[i].index] = true;
        }
    }
    for (size_t i = 0; i < NTK_DEVICES_MAX; i++) {
        struct device_state *device = &health->devices[i];

        if (there[i]) {
            if (is_new || device->is_gone) {
                ntk_health_begin_anew(device);
            }
            device->is_away = false;
        } else if (device->is_known) {
            take_away(health, device, now);
        }
        device->is_software =
            there[i] ? tree->origin == NTK_DEVICE_ORIGIN_SOFTWARE : device->is_software;
    }
}

static struct core_state *core_of(struct ntk_health *health, uint32_t device, uint32_t local_core)
{
    return device < NTK_DEVICES_MAX && local_core < NTK_DEVICE_CORES_MAX
               ? &health->devices[device].cores[local_core]
               : NULL;
}

static int signal_of_status(uint32_t status)
{
    if (ntk_error_class_of_status(status) == NTK_ERROR_HARDWARE) {
        return SIGNAL_P_HARDWARE;
    }
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        if (ntk_health_signals[s].origin == ORIGIN_PROCESS &&
            ntk_health_signals[s].status == status) {
            return s;
        }
    }
    return -1;
}

static void raise_execution(struct core_state *core, int signal, uint32_t status, uint64_t count,
                            struct ntk_health_time now)
{
    struct sign *sign = &core->signs[signal];

    ntk_health_raise_sign(sign, now);
    sign->count += count;
    sign->status = status ? status : sign->status;
    core->owned_ns = now.monotonic_ns;
}

void ntk_health_findings(struct ntk_health *health, const struct ntk_finding *findings,
                         size_t count, struct ntk_health_time now)
{
    for (uint32_t d = 0; d < NTK_DEVICES_MAX; d++) {
        struct device_state *device = &health->devices[d];
        bool changed = false;

        for (uint32_t c = 0; device->is_known && c < NTK_DEVICE_CORES_MAX; c++) {
            struct sign *sign = &device->cores[c].signs[SIGNAL_D_CORRUPTION];
            const struct ntk_finding *found = NULL;

            for (size_t i = 0; i < count && !found; i++) {
                found = findings[i].device == d && findings[i].core == c ? &findings[i] : NULL;
            }
            changed =
                changed || sign->is_on != (found != NULL) || (found && sign->count != found->count);
            if (found) {
                if (sign->count != found->count || !sign->is_on) {
                    ntk_health_raise_sign(sign, now);
                }
                sign->since_ns = found->since_ns;
                sign->count = found->count;
            } else {
                sign->is_on = false;
            }
        }
        if (changed) {
            ntk_health_judge(health, device, now);
        }
    }
}

void ntk_health_execution(struct ntk_health *health, uint32_t device, uint32_t local_core,
                          uint32_t status, bool is_new, struct ntk_health_time now)
{
    struct core_state *core = core_of(health, device, local_core);
    int signal = signal_of_status(status);

    if (!core || signal < 0) {
        return;
    }
    raise_execution(core, signal, status, is_new, now);
    core->reported[signal] += is_new;
    health->devices[device].evidence |= 1u << NTK_HEALTH_BY_PROCESSES;
    ntk_health_judge(health, &health->devices[device], now);
}

void ntk_health_work(struct ntk_health *health, uint32_t device, uint32_t local_core,
                     const struct ntk_health_work *work, struct ntk_health_time now)
{
    const struct {
        int signal;
        uint64_t count;
        uint32_t status;
    } ends[] = { { SIGNAL_P_HARDWARE, work->hardware_errors, 0 },
                 { SIGNAL_P_TIMEOUT, work->timeouts, NTK_RESULT_TIMED_OUT } };
    struct core_state *core = core_of(health, device, local_core);
    bool is_worse = false;
    bool changed = false;

    if (!core) {
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        uint64_t reported = core->reported[ends[i].signal];

        if (ends[i].count > reported) {
            raise_execution(core, ends[i].signal, ends[i].status, ends[i].count - reported, now);
            changed = true;
        }
        is_worse = is_worse || ends[i].count > 0;
    }
    memset(core->reported, 0, sizeof core->reported);
    if (work->is_owned) {
        core->owned_ns = now.monotonic_ns;
        changed = changed || !(health->devices[device].evidence & 1u << NTK_HEALTH_BY_PROCESSES);
        health->devices[device].evidence |= 1u << NTK_HEALTH_BY_PROCESSES;
    }
    if ((work->completed > 0 && !is_worse) ||
        (!work->is_owned && ntk_health_is_past(core->owned_ns, NTK_HEALTH_HOLD_NS, now))) {
        changed = ntk_health_clear_work(core, ORIGIN_PROCESS, now) || changed;
    }
    /* rarely set, because judging is expensive for each of 128 cores */
    if (changed && health->devices[device].is_known) {
        ntk_health_judge(health, &health->devices[device], now);
    }
}

/* ---- the answer ---- */

/* Sorts by the worst verdict, then by the strongest action, then by the order of the table. */
static int compare_reasons(const void *a, const void *b)
{
    const struct ntk_health_sample *x = a;
    const struct ntk_health_sample *y = b;
    const struct ntk_health_reason_row *row = &ntk_health_reasons[x->reason];
    const struct ntk_health_reason_row *other = &ntk_health_reasons[y->reason];

    if (row->verdict != other->verdict) {
        return row->verdict > other->verdict ? -1 : 1;
    }
    if (row->action != other->action) {
        return row->action > other->action ? -1 : 1;
    }
    return (int)x->reason - (int)y->reason;
}

/* The first affected core, even if the device counts the errors and a process reported the core. */
static uint16_t first_core_of(const struct ntk_health_sample *sample, uint32_t base)
{
    return sample->cores ? (uint16_t)(base + (uint32_t)__builtin_ctz(sample->cores)) : NTK_NO_CORE;
}

void ntk_health_fill(struct ntk_health *health, struct ntk_snapshot *snapshot,
                     struct ntk_device_sample *out)
{
    const struct device_state *device;
    struct ntk_health_sample *samples;
    size_t reasons = 0;
    size_t count = 0;

    if (out->index >= NTK_DEVICES_MAX || !health->devices[out->index].verdict_since_ns) {
        return;
    }
    device = &health->devices[out->index];
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        reasons += device->reasons[r].is_on;
    }
    samples = ntk_snapshot_alloc(snapshot, reasons, sizeof *samples);
    if (!samples && reasons > 0) {
        return;
    }
    for (size_t r = 0; r < NTK_HEALTH_REASON_COUNT; r++) {
        if (!device->reasons[r].is_on) {
            continue;
        }
        samples[count] = device->reasons[r].sample;
        samples[count].core = first_core_of(
            &samples[count], ntk_core_number(out->index, health->cores_per_device, 0));
        samples[count].detail = r == NTK_HEALTH_REASON_COMPONENT_OTHER
                                    ? ntk_snapshot_text(snapshot, device->other)
                                    : "";
        count++;
    }
    if (count > 1) {
        qsort(samples, count, sizeof *samples, compare_reasons);
    }
    out->has |= NTK_DEVICE_HAS_HEALTH;
    out->verdict = device->verdict;
    out->verdict_since_ns = device->verdict_since_ns;
    out->health_evidence = device->evidence;
    out->health = samples;
    out->health_count = count;
}

size_t ntk_health_gone(const struct ntk_health *health, uint32_t indices[NTK_DEVICES_MAX])
{
    size_t count = 0;

    for (uint32_t i = 0; i < NTK_DEVICES_MAX; i++) {
        const struct device_state *device = &health->devices[i];

        if (device->is_away && !device->is_software) {
            indices[count++] = i;
        }
    }
    return count;
}

bool ntk_health_take_change(struct ntk_health *health)
{
    bool changed = health->has_changed;

    health->has_changed = false;
    return changed;
}
