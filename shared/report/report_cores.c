/* SPDX-License-Identifier: MIT */
/* report_cores - neuroncore_counters, and facts about physical cores in our part of the line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/order.h"
#include "shared/report/report_part.h"

/* Maximum number of cores that one runtime lists. */
#define LISTED_MAX 4096

#define AT(member) .offset = offsetof(struct ntk_core_sample, member)
/* The current state. */
const struct report_field report_fields_core_state[] = {
#define NTK_CORE_HAS_ANY 0
#define NTK_CORE_STATE(name, type, report, known, rule, metric, what)         \
    REPORT_ROW(#name, REPORT_##report, AT(name), .has = NTK_CORE_HAS_##known, \
               .sparse = NTK_CORE_HAS_##known == 0, .text = (what)),
#include "shared/metrics/core_state.def"
    REPORT_END,
};
/* The counts of the period. */
#define KEY_ONE(member) #member
#define KEY_ENGINE(member) #member
#define KEY_OUTCOME(member) "execution_summary"
#define KEY_ERROR_CLASS(member) "error_summary"
#define LIST_ONE .count = 0
#define LIST_ENGINE .count = NTK_ENGINE_COUNT, .names = ntk_engine_labels
#define LIST_OUTCOME .count = NTK_OUTCOME_COUNT
#define LIST_ERROR_CLASS .count = NTK_ERROR_CLASS_COUNT
const struct report_field report_fields_core_counts[] = {
#define NTK_CORE_COUNT(id, member, list, group, metric)                                          \
    [id] = REPORT_ROW(KEY_##list(member), REPORT_COUNT, AT(member), .has = NTK_CORE_HAS_##group, \
                      LIST_##list),
#include "shared/abi/core_counts.def"
    [NTK_CORE_COUNT_ROWS] = REPORT_END,
};
#undef AT

/* -- which cores ------------------------------------------------------------------------------- */

static bool holds(const struct ntk_vec *numbers, uint32_t number)
{
    ntk_vec_each(uint32_t, at, numbers) {
        if (*at == number) {
            return true;
        }
    }
    return false;
}

static void add_number(struct ntk_vec *numbers, uint32_t number)
{
    if (numbers->count < LISTED_MAX && !holds(numbers, number)) {
        ntk_vec_push(numbers, &number);
    }
}

void report_list_cores(const struct report_writer *w, const struct ntk_runtime_sample *runtime,
                       struct ntk_vec *out_logical)
{
    const struct ntk_hardware *hardware = &w->snapshot->hardware;
    uint32_t lnc = report_lnc_of(w->snapshot, runtime);

    ntk_vec_init(out_logical, sizeof(uint32_t));
    for (size_t i = 0; i < runtime->core_count; i++) {
        add_number(out_logical, runtime->cores[i].core / lnc);
    }
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        if (row->location == NTK_MEMORY_DEVICE && row->core != NTK_NO_CORE) {
            add_number(out_logical, row->core / lnc);
        }
    }
    if (w->options->all_cores) {
        uint64_t count = (uint64_t)hardware->device_count * hardware->cores_per_device / lnc;
        for (uint32_t i = 0; i < count && i < LISTED_MAX; i++) {
            add_number(out_logical, i);
        }
    }
    ntk_vec_sort(out_logical, report_compare_as_text);
}

void report_physical_version(const struct ntk_snapshot *snapshot, char *to, size_t to_bytes)
{
    snprintf(to, to_bytes, "%s", snapshot->hardware.core_version);
    size_t length = strlen(to);
    if (length > 1 && to[length - 1] == 'd') {
        to[length - 1] = '\0';
    }
}

/* -- the vendor's group: rates and percents of logical cores ----------------------------------- */

static double group_seconds(const struct ntk_snapshot *snapshot,
                            const struct ntk_runtime_sample *runtime)
{
    return (double)report_group_period_ns(snapshot,
                                          runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES]) /
           (double)NTK_NS_PER_SECOND;
}

static void key_rate(struct report_writer *w, const char *key, uint64_t count, double seconds)
{
    double rate = seconds > 0 ? (double)count / seconds : 0;

    report_key_u64(w, key, rate < 9e18 ? (uint64_t)rate : INT64_MAX);
}

/* Writes the utilization of a core. A core of another runtime (NULL) does nothing for this one; the
 * busy time of the runtime's cores may be unknown. */
static void key_utilization(struct report_writer *w, const struct ntk_core_sample *core)
{
    if (!core || core->has & NTK_CORE_HAS_BUSY) {
        ntk_json_key_double(&w->json, "neuroncore_utilization", core ? core->utilization * 100 : 0);
    }
}

static void write_core(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                       uint32_t logical)
{
    double seconds = group_seconds(w->snapshot, runtime);
    uint32_t lnc = report_lnc_of(w->snapshot, runtime);
    struct ntk_core_sample core;
    char version[24];
    char name[48];

    bool is_its_own =
        ntk_snapshot_watched_logical_core(runtime->cores, runtime->core_count, lnc, logical, &core);
    report_key_number(w, logical);
    ntk_json_object_begin(&w->json);
    key_utilization(w, is_its_own ? &core : NULL);
    if (core.has & NTK_CORE_HAS_FLOPS) {
        key_rate(w, "flops", core.flops.period, seconds);
    }
    if (core.has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
        key_rate(w, "effective_flops", core.effective_flops.period, seconds);
    }
    report_physical_version(w->snapshot, version, sizeof version - 1);
    if (lnc > 1 && version[0] && !report_omits(w, NTK_REPORT_OMIT_PHYSICAL_CORES)) {
        snprintf(name, sizeof name, "%sd", version);
        ntk_json_key_object_begin(&w->json, name);
        for (uint32_t i = 0; i < lnc; i++) {
            const struct ntk_core_sample *part =
                ntk_snapshot_find_core(runtime->cores, runtime->core_count, logical * lnc + i);
            snprintf(name, sizeof name, "nc_%s.%u", version, logical * lnc + i);
            ntk_json_key_object_begin(&w->json, name);
            key_utilization(w, part);
            ntk_json_object_end(&w->json);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
}

void report_write_cores(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    struct ntk_vec logical;

    ntk_json_key_object_begin(&w->json, ntk_runtime_group_names[NTK_RUNTIME_GROUP_CORES]);
    report_write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES]);
    ntk_json_key_object_begin(&w->json, "neuroncores_in_use");
    report_list_cores(w, runtime, &logical);
    ntk_vec_each(uint32_t, core, &logical) {
        write_core(w, runtime, *core);
    }
    ntk_vec_fini(&logical);
    ntk_json_object_end(&w->json);
    report_key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

NTK_ORDER(compare_cores, struct ntk_core_sample, NTK_UP(core));

/* Removes duplicate cores: keys such as "1" and "01" are the same core, and the first one stays. */
static size_t drop_doubles(struct ntk_core_sample *cores, size_t count)
{
    size_t kept = 0;

    qsort(cores, count, sizeof *cores, compare_cores);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || cores[kept - 1].core != cores[i].core) {
            cores[kept++] = cores[i];
        }
    }
    return kept;
}

static void read_rate(const json_t *object, const char *key, double seconds,
                      struct ntk_core_sample *core, uint32_t has, struct ntk_count *to)
{
    double count = report_get_double(object, key) * seconds;

    if (report_has(object, key) && count >= 0 && count < 1e18) {
        core->has |= has;
        *to = report_count_of((uint64_t)(count + 0.5));
    }
}

/* Reads the vendor's cores: each physical core of a logical core gets its utilization; the first
 * one gets the counts. */
static void read_vendor_cores(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                              const json_t *in_use)
{
    uint32_t lnc = runtime->lnc;
    size_t room = report_bounded(json_object_size(in_use), REPORT_CORES_MAX) * lnc;
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    double seconds = group_seconds(snapshot, runtime);
    size_t count = 0;
    const char *key;
    json_t *value;

    if (!cores) {
        return;
    }
    report_each_key(in_use, key, value)
    {
        uint32_t logical;
        if (count + lnc > room || !json_is_object(value) ||
            !report_key_index(key, REPORT_CORES_MAX / lnc, &logical)) {
            continue;
        }
        double utilization =
            report_clamp_ratio(report_get_double(value, "neuroncore_utilization") / 100);
        struct ntk_core_sample *first = &cores[count];
        for (uint32_t i = 0; i < lnc; i++) {
            struct ntk_core_sample *core = &cores[count++];
            core->core = logical * lnc + i;
            if (!report_has(value, "neuroncore_utilization")) {
                continue;
            }
            core->utilization = utilization;
            core->has = NTK_CORE_HAS_BUSY;
            core->busy_ns = report_count_of((uint64_t)(utilization * seconds * 1e9));
        }
        read_rate(value, "flops", seconds, first, NTK_CORE_HAS_FLOPS, &first->flops);
        read_rate(value, "effective_flops", seconds, first, NTK_CORE_HAS_EFFECTIVE_FLOPS,
                  &first->effective_flops);
    }
    runtime->cores = cores;
    runtime->core_count = drop_doubles(cores, count);
}

/* -- our part: physical cores ------------------------------------------------------------------ */

void report_write_ext_cores(struct report_writer *w, const struct ntk_core_sample *cores,
                            size_t count)
{
    ntk_json_key_object_begin(&w->json, "neuroncores");
    for (size_t i = 0; i < count; i++) {
        report_key_number(w, cores[i].core);
        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_core_state, &cores[i]);
        report_write_fields(w, report_fields_core_counts, &cores[i]);
        if (cores[i].unwatched) {
            ntk_json_key_object_begin(&w->json, "unwatched");
            report_write_fields(w, report_fields_core_counts, cores[i].unwatched);
            ntk_json_object_end(&w->json);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
}

static void read_unwatched(struct ntk_snapshot *snapshot, const json_t *object,
                           struct ntk_core_sample *core)
{
    struct ntk_core_sample *part = object ? ntk_snapshot_alloc(snapshot, 1, sizeof *part) : NULL;

    if (part) {
        part->core = core->core;
        report_read_fields(snapshot, object, report_fields_core_counts, part);
        core->unwatched = part;
    }
}

size_t report_read_ext_cores(struct ntk_snapshot *snapshot, const json_t *object,
                             struct ntk_core_sample **out_cores)
{
    size_t room = report_bounded(json_object_size(object), REPORT_CORES_MAX);
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = 0;
    const char *key;
    json_t *value;

    *out_cores = cores;
    if (!cores) {
        return 0;
    }
    report_each_key(object, key, value)
    {
        uint32_t number;
        if (count < room && json_is_object(value) &&
            report_key_index(key, REPORT_CORES_MAX, &number)) {
            cores[count].core = number;
            report_read_fields(snapshot, value, report_fields_core_state, &cores[count]);
            report_read_fields(snapshot, value, report_fields_core_counts, &cores[count]);
            read_unwatched(snapshot, report_get_object(value, "unwatched"), &cores[count++]);
        }
    }
    return drop_doubles(cores, count);
}

void report_write_owned_cores(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_array_begin(&w->json, "owned_cores");
    for (size_t i = 0; i < runtime->core_count; i++) {
        report_value_u64(w, runtime->cores[i].core);
    }
    ntk_json_array_end(&w->json);
}

static size_t read_owned_cores(struct ntk_snapshot *snapshot, const json_t *array,
                               struct ntk_core_sample **out_cores)
{
    size_t room = report_bounded(json_array_size(array), REPORT_CORES_MAX);
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = 0;

    for (size_t i = 0; cores && i < room; i++) {
        uint64_t number = report_item_u64(array, i);
        if (number < REPORT_CORES_MAX) {
            cores[count++].core = (uint32_t)number;
        }
    }
    *out_cores = cores;
    return cores ? drop_doubles(cores, count) : 0;
}

void report_read_cores(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                       const json_t *group, const json_t *ext)
{
    if (group) {
        runtime->has |= NTK_RUNTIME_HAS_CORES;
        const json_t *ours = report_get_object(ext, "neuroncores");
        if (ours) {
            runtime->core_count = report_read_ext_cores(snapshot, ours, &runtime->cores);
        } else {
            read_vendor_cores(snapshot, runtime, report_get_object(group, "neuroncores_in_use"));
        }
    }
    if (runtime->core_count == 0 && report_get_array(ext, "owned_cores")) {
        runtime->core_count =
            read_owned_cores(snapshot, report_get_array(ext, "owned_cores"), &runtime->cores);
    }
}
