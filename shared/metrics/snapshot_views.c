/* SPDX-License-Identifier: MIT */
/* snapshot_views - finds samples, and computes logical cores from physical ones, sums, rates and
 * shares. */
#include "shared/metrics/snapshot.h"

#include <string.h>

uint64_t ntk_device_sum(const struct ntk_device_sample *device, const uint64_t *stacks)
{
    uint64_t sum = 0;

    for (size_t s = 0; s < device->stack_count && s < NTK_SNAPSHOT_STACKS_MAX; s++) {
        sum += stacks[s];
    }
    return sum;
}

const struct ntk_runtime_sample *ntk_snapshot_find_runtime(const struct ntk_snapshot *snapshot,
                                                           const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        if (ntk_runtime_is_same(&snapshot->runtimes[i], runtime)) {
            return &snapshot->runtimes[i];
        }
    }
    return NULL;
}

const struct ntk_device_sample *ntk_snapshot_find_device(const struct ntk_snapshot *snapshot,
                                                         uint32_t index)
{
    for (size_t i = 0; snapshot && i < snapshot->device_count; i++) {
        if (snapshot->devices[i].index == index) {
            return &snapshot->devices[i];
        }
    }
    return NULL;
}

const struct ntk_core_sample *ntk_snapshot_find_core(const struct ntk_core_sample *cores,
                                                     size_t core_count, uint32_t core)
{
    for (size_t i = 0; i < core_count; i++) {
        if (cores[i].core == core) {
            return &cores[i];
        }
    }
    return NULL;
}

static void add_count(struct ntk_count *into, struct ntk_count from)
{
    into->period += from.period;
    into->total += from.total;
}

/* Combine two parts of a core for a row of core_state.def; `has` is still that of the first
 * part. */
#define ADD_SUM(name, known) into->name += from->name;
#define ADD_ANY(name, known) into->name = into->name || from->name;
#define ADD_LARGEST(name, known) into->name = from->name > into->name ? from->name : into->name;
#define ADD_EARLIEST(name, known) into->name = ntk_snapshot_earlier(into->name, from->name);
#define ADD_SMALLEST(name, known)                                                     \
    if (from->has & (known) && (!(into->has & (known)) || from->name < into->name)) { \
        into->name = from->name;                                                      \
    }
#define ADD_NONE(name, known)

void ntk_snapshot_add_core(struct ntk_core_sample *into, const struct ntk_core_sample *from)
{
#define NTK_CORE_STATE(name, type, report, known, rule, metric, ...) \
    ADD_##rule(name, NTK_CORE_HAS_##known)
#include "shared/metrics/core_state.def"
    into->has |= from->has;
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        add_count(&into->counts[i], from->counts[i]);
    }
    if (into->total_latency.count == 0) {
        into->total_latency = from->total_latency;
    }
    if (into->device_latency.count == 0) {
        into->device_latency = from->device_latency;
    }
}

/* Subtracts a part; a part that exceeds the whole is invalid input. */
static void drop_count(struct ntk_count *from, struct ntk_count part)
{
    from->period -= part.period < from->period ? part.period : from->period;
}

struct ntk_core_sample ntk_snapshot_watched_core(const struct ntk_core_sample *core)
{
    const struct ntk_core_sample *part = core->unwatched;
    struct ntk_core_sample watched = *core;

    watched.unwatched = NULL;
    if (!part) {
        return watched;
    }
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        drop_count(&watched.counts[i], part->counts[i]);
    }
    return watched;
}

void ntk_snapshot_watched_outcome(const struct ntk_runtime_sample *runtime,
                                  struct ntk_count out_outcome[NTK_OUTCOME_COUNT])
{
    const uint64_t *period_ns = runtime->group_period_ns;

    memcpy(out_outcome, runtime->outcome, sizeof runtime->outcome);
    if (period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] != period_ns[NTK_RUNTIME_GROUP_CORES]) {
        return;
    }
    for (size_t i = 0; i < runtime->core_count; i++) {
        const struct ntk_core_sample *part = runtime->cores[i].unwatched;
        for (size_t k = 0; part && k < NTK_OUTCOME_COUNT; k++) {
            drop_count(&out_outcome[k], part->outcome[k]);
        }
    }
}

/* Returns the index from which cores can belong to the logical core: its own one, if the list has
 * all cores of a machine in order. */
static size_t first_place(const struct ntk_core_sample *cores, size_t core_count, uint32_t first)
{
    return first < core_count && cores[first].core == first ? first : 0;
}

static bool sum_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                             uint32_t logical, bool is_watched, struct ntk_core_sample *out)
{
    uint32_t found = 0;

    if (lnc == 0) {
        lnc = 1;
    }
    memset(out, 0, sizeof *out);
    for (size_t i = first_place(cores, core_count, logical * lnc); i < core_count && found < lnc;
         i++) {
        if (cores[i].core - logical * lnc < lnc) {
            if (is_watched && cores[i].unwatched) {
                const struct ntk_core_sample watched = ntk_snapshot_watched_core(&cores[i]);
                ntk_snapshot_add_core(out, &watched);
            } else {
                ntk_snapshot_add_core(out, &cores[i]);
            }
            found++;
        }
    }
    out->core = logical;
    out->utilization /= lnc;
    out->busy_ns.period /= lnc;
    out->busy_ns.total /= lnc;
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        out->engine_busy_ns[i].period /= lnc;
        out->engine_busy_ns[i].total /= lnc;
    }
    return found > 0;
}

bool ntk_snapshot_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                               uint32_t logical, struct ntk_core_sample *out)
{
    return sum_logical_core(cores, core_count, lnc, logical, false, out);
}

bool ntk_snapshot_watched_logical_core(const struct ntk_core_sample *cores, size_t core_count,
                                       uint32_t lnc, uint32_t logical, struct ntk_core_sample *out)
{
    return sum_logical_core(cores, core_count, lnc, logical, true, out);
}

size_t ntk_snapshot_logical_list(const struct ntk_core_sample *cores, size_t core_count,
                                 uint32_t lnc, uint32_t *out_logical, size_t capacity)
{
    size_t count = 0;
    uint32_t last = UINT32_MAX;

    if (lnc == 0) {
        lnc = 1;
    }
    for (size_t i = 0; i < core_count; i++) {
        uint32_t logical = cores[i].core / lnc;

        if (logical == last) {
            continue;
        }
        last = logical;
        if (out_logical && count < capacity) {
            out_logical[count] = logical;
        }
        count++;
    }
    return count;
}

double ntk_snapshot_engine_share(const struct ntk_snapshot *snapshot,
                                 const struct ntk_core_sample *core, enum ntk_engine engine)
{
    double share;

    if (snapshot->period_ns == 0) {
        return 0;
    }
    share = (double)core->engine_busy_ns[engine].period / (double)snapshot->period_ns;
    return share > 1 ? 1 : share;
}

double ntk_snapshot_rate(const struct ntk_snapshot *snapshot, struct ntk_count count)
{
    return snapshot->period_ns == 0 ? 0 : (double)count.period * 1e9 / (double)snapshot->period_ns;
}

uint64_t ntk_snapshot_outcome_sum(const struct ntk_count *outcome)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sum += outcome[i].period;
    }
    return sum;
}
