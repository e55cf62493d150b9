/* SPDX-License-Identifier: MIT */
/* points_page - everything that exporters show, kept up to date from snapshots. */
#include "exporters/points/points_page.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "exporters/exporter.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

static void clean(char to[NTK_POINTS_LABEL_BYTES], const char *from)
{
    ntk_str_copy_clean(to, NTK_POINTS_LABEL_BYTES, from, strlen(from));
}

/* The end of a snapshot's period, and its length. */
struct moment {
    uint64_t now_ns; /* Unix time */
    uint64_t period_ns;
};

static double seconds_of(const struct moment *moment)
{
    return (double)moment->now_ns / (double)NTK_NS_PER_SECOND;
}

/* Since when a group counts that is seen for the first time. */
static uint64_t began_ns(const struct moment *moment, uint64_t group_period_ns)
{
    uint64_t period_ns = group_period_ns == 0 || group_period_ns == NTK_GROUP_ABSENT
                             ? moment->period_ns
                             : group_period_ns;

    return period_ns < moment->now_ns ? moment->now_ns - period_ns : moment->now_ns;
}

/* -- tags -------------------------------------------------------------------------------------- */

/* All but counters and what is counted. */
static void tag_clear_gauges(struct ntk_points_tag *tag)
{
    ntk_vec_fini(&tag->cores);
    ntk_vec_fini(&tag->memory);
    ntk_vec_fini(&tag->models);
    ntk_vec_init(&tag->cores, sizeof(struct ntk_points_core));
    ntk_vec_init(&tag->memory, sizeof(struct ntk_points_memory));
    ntk_vec_init(&tag->models, sizeof(struct ntk_points_model));
    tag->has_cpu = tag->has_percentiles = tag->has_device_percentiles = false;
    tag->has_resident = false;
    tag->host = tag->device = (struct ntk_memory_total){ .known = false };
}

static void tag_clear(struct ntk_points_page *page, struct ntk_points_tag *tag)
{
    ntk_vec_each(struct ntk_points_latency, latency, &tag->latencies) {
        page->fine_count -= (latency->total.fine != NULL) + (latency->device.fine != NULL);
        free(latency->total.fine);
        free(latency->device.fine);
    }
    ntk_vec_fini(&tag->latencies);
    ntk_vec_init(&tag->latencies, sizeof(struct ntk_points_latency));
    tag_clear_gauges(tag);
}

static void tag_destroy(struct ntk_points_page *page, struct ntk_points_tag *tag)
{
    if (tag) {
        tag_clear(page, tag);
        free(tag);
    }
}

/* Makes room for a tag of the user: the tag that ended longest ago goes, with its totals. It is one
 * of the same user where there is one. */
static void forget_oldest(struct ntk_points_page *page, uint32_t uid)
{
    struct ntk_points_tag *oldest = NULL;

    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        if (!tag->is_live && (!oldest || (tag->uid == uid) > (oldest->uid == uid) ||
                              ((tag->uid == uid) == (oldest->uid == uid) &&
                               tag->last_sequence < oldest->last_sequence))) {
            oldest = tag;
        }
    }
    if (oldest) {
        ntk_map_remove(&page->tags, oldest->key);
        tag_destroy(page, oldest);
    }
}

static bool is_shown(const struct ntk_points_tag *tag)
{
    return tag && (tag->is_live || tag->is_leaving);
}

static size_t shown_of_user(const struct ntk_points_page *page, uint32_t uid)
{
    return (uintptr_t)ntk_map_get_number(&page->shown_users, uid);
}

static bool has_room(const struct ntk_points_page *page, uint32_t uid)
{
    return ntk_exporter_has_room(page->application_max, page->shown_count,
                                 shown_of_user(page, uid));
}

static void count_one_shown(struct ntk_points_page *page, uint32_t uid)
{
    uintptr_t of_user = shown_of_user(page, uid) + 1;

    page->shown_count++;
    (void)ntk_map_put_number(&page->shown_users, uid, (void *)of_user); // NOLINT
}

/* Two users' applications of one name have their own series: the one that comes later says whose it
 * is, so that no user changes the series of another. */
static void name_user(const struct ntk_points_page *page, const char *key, size_t key_bytes,
                      const struct ntk_runtime_sample *runtime, struct ntk_points_owner *owner)
{
    bool is_shared = false;
    char user[NTK_POINTS_LABEL_BYTES];

    clean(user, runtime->user);
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;

        if (strncmp(tag->key, key, key_bytes) == 0 && tag->key[key_bytes] == '\n' &&
            !strchr(tag->key + key_bytes + 1, '\n')) {
            is_shared = true;
            user[0] = strcmp(tag->owner.user, user) == 0 ? '\0' : user[0];
        }
    }
    if (is_shared && user[0]) {
        ntk_str_copy(owner->user, sizeof owner->user, user);
    } else if (is_shared) {
        snprintf(owner->user, sizeof owner->user, "%u", runtime->uid);
    }
}

/* NULL when there is no room. */
static struct ntk_points_tag *find_tag(struct ntk_points_page *page,
                                       const struct ntk_runtime_sample *runtime,
                                       const struct moment *moment)
{
    static char other[] = NTK_EXPORTER_OTHER; /* not NULL, as a value of the map */
    uint64_t group_period_ns = runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS];
    char name[NTK_POINTS_LABEL_BYTES];
    char key[NTK_POINTS_KEY_BYTES];
    struct ntk_points_owner owner = { .pid = "" };

    clean(name, runtime->tag);
    clean(owner.container_name, runtime->pod.container);
    clean(owner.namespace_name, runtime->pod.namespace_name);
    clean(owner.pod_name, runtime->pod.name);
    if (page->has_pid_label) {
        snprintf(owner.pid, sizeof owner.pid, "%u", runtime->pid);
    }
    /* Clean texts have no newline: two owners never make one key. */
    int labels_bytes = snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%s", name, owner.namespace_name,
                                owner.pod_name, owner.container_name, owner.pid);
    snprintf(key + labels_bytes, sizeof key - (size_t)labels_bytes, "\n%u", runtime->uid);
    struct ntk_points_tag *tag = ntk_map_get(&page->tags, key);
    /* One that is called as the rest would make its series a second time. */
    if (page->application_max &&
        (strcmp(name, other) == 0 || (!is_shown(tag) && !has_room(page, runtime->uid)))) {
        (void)ntk_map_put(&page->others, key, other);
        ntk_str_copy(name, sizeof name, other);
        ntk_str_copy(key, sizeof key, other);
        owner = (struct ntk_points_owner){ .pid = "" };
        labels_bytes = 0;
        tag = ntk_map_get(&page->tags, key);
    } else if (!is_shown(tag)) {
        count_one_shown(page, runtime->uid);
    }
    if (tag) {
        return tag;
    }
    if (page->tags.count >= NTK_POINTS_TAGS_MAX) {
        forget_oldest(page, runtime->uid);
    }
    if (page->tags.count >= NTK_POINTS_TAGS_MAX) {
        return NULL;
    }
    tag = calloc(1, sizeof *tag);
    if (!tag) {
        return NULL;
    }
    memcpy(tag->tag, name, sizeof name);
    memcpy(tag->key, key, sizeof key);
    if (labels_bytes > 0) {
        name_user(page, key, (size_t)labels_bytes, runtime, &owner);
    }
    tag->owner = owner;
    tag->uid = runtime->uid;
    tag->created_seconds = seconds_of(moment);
    tag->began_ns = began_ns(moment, group_period_ns);
    tag_clear(page, tag);
    if (ntk_map_put(&page->tags, key, tag) < 0) {
        free(tag);
        return NULL;
    }
    return tag;
}

static bool is_due(const struct ntk_runtime_sample *runtime, enum ntk_runtime_group group,
                   uint32_t has)
{
    return runtime->group_period_ns[group] != NTK_GROUP_ABSENT && runtime->has & has;
}

static struct ntk_points_core *tag_core(struct ntk_points_tag *tag, uint32_t core)
{
    ntk_vec_each(struct ntk_points_core, at, &tag->cores) {
        if (at->core == core) {
            return at;
        }
    }
    struct ntk_points_core *added = ntk_vec_add(&tag->cores);
    if (added) {
        added->core = core;
    }
    return added;
}

static void add_ranks(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < runtime->rank_count; i++) {
        const struct ntk_rank_sample *rank = &runtime->ranks[i];

        tag->has_ranks = true;
        for (size_t k = 0; k < NTK_COLLECTIVE_COUNT; k++) {
            tag->collectives[k] += rank->operations[k].period;
        }
        for (size_t k = 0; k < NTK_RANK_COUNTS; k++) {
            tag->rank_counts[k] += rank->counts[k].period;
        }
        if (rank->in_flight > 0 && rank->state == NTK_RANK_JOINED && !runtime->ended &&
            rank->since_ns > tag->in_collective_ns) {
            tag->in_collective_ns = rank->since_ns;
        }
    }
}

/* The largest of the runtimes of a tag; reported: used if there is no histogram. */
static void take_percentiles(const struct ntk_histogram *histogram, const double *reported,
                             bool *has, double seconds[NTK_PERCENTILE_COUNT])
{
    double made[NTK_PERCENTILE_COUNT];
    const double *ns =
        ntk_histogram_percentiles(histogram, ntk_percentile_list, NTK_PERCENTILE_COUNT, made)
            ? made
            : reported;

    for (int i = 0; ns && i < NTK_PERCENTILE_COUNT; i++) {
        double value = ns[i] / (double)NTK_NS_PER_SECOND;
        seconds[i] = !*has || value > seconds[i] ? value : seconds[i];
    }
    *has = *has || ns;
}

static void add_executions(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    tag->has_executions = true;
    add_ranks(tag, runtime);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        tag->outcome[i] += runtime->outcome[i].period;
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        tag->error_class[i] += runtime->error_class[i].period;
    }
    take_percentiles(&runtime->total_latency,
                     runtime->has & NTK_RUNTIME_HAS_PERCENTILES ? runtime->total_percentile_ns
                                                                : NULL,
                     &tag->has_percentiles, tag->percentile_seconds);
    take_percentiles(
        &runtime->device_latency,
        runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES ? runtime->device_percentile_ns : NULL,
        &tag->has_device_percentiles, tag->device_percentile_seconds);
}

static struct ntk_points_latency *tag_latency(struct ntk_points_tag *tag, const char *model_name)
{
    char name[NTK_POINTS_LABEL_BYTES];

    clean(name, model_name);
    ntk_vec_each(struct ntk_points_latency, at, &tag->latencies) {
        if (!strcmp(at->model_name, name)) {
            return at;
        }
    }
    if (tag->latencies.count >= NTK_POINTS_MODELS_MAX) {
        return NULL;
    }
    struct ntk_points_latency *added = ntk_vec_add(&tag->latencies);
    if (added) {
        memcpy(added->model_name, name, sizeof name);
    }
    return added;
}

static const char *name_of(const struct ntk_model_sample *model)
{
    return model->name[0] ? model->name : model->neff_path;
}

static void add_latency(struct ntk_points_page *page, struct ntk_points_latency_series *series,
                        const struct ntk_histogram *period, uint64_t period_began_ns)
{
    if (period->entry_count == 0) {
        return;
    }
    if (!series->began_ns) {
        series->began_ns = period_began_ns;
        if (page->keeps_fine_latencies && page->fine_count < NTK_POINTS_FINE_MAX) {
            series->fine = calloc(1, sizeof *series->fine);
            page->fine_count += series->fine != NULL;
        }
    }
    ntk_latency_series_add(&series->edges, period);
    if (series->fine) {
        ntk_histogram_dense_merge(series->fine, period);
    }
}

/* Histograms of models follow the executions. */
static void add_latencies(struct ntk_points_page *page, struct ntk_points_tag *tag,
                          const struct ntk_runtime_sample *runtime, const struct moment *moment)
{
    uint64_t period_began_ns =
        began_ns(moment, runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS]);

    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!(model->has & (NTK_MODEL_HAS_LATENCY | NTK_MODEL_HAS_DEVICE_LATENCY))) {
            continue;
        }
        struct ntk_points_latency *latency = tag_latency(tag, name_of(model));
        if (latency) {
            add_latency(page, &latency->total, &model->total_latency, period_began_ns);
            add_latency(page, &latency->device, &model->device_latency, period_began_ns);
        }
    }
}

static void add_memory_row(struct ntk_points_tag *tag, const struct ntk_memory_sample *row,
                           uint32_t lnc)
{
    uint32_t core = row->core == NTK_NO_CORE ? NTK_NO_CORE : row->core / lnc;

    if (row->category >= NTK_MEMORY_CATEGORY_COUNT) {
        return;
    }
    ntk_vec_each(struct ntk_points_memory, at, &tag->memory) {
        if (at->core == core && at->category == row->category) {
            at->bytes += row->current_bytes;
            at->peak_bytes += row->peak_bytes;
            return;
        }
    }
    struct ntk_points_memory *added = ntk_vec_add(&tag->memory);
    if (added) {
        *added = (struct ntk_points_memory){ core, row->location, row->category, row->current_bytes,
                                             row->peak_bytes };
    }
}

static void add_groups(struct ntk_points_core *core, const bool known[NTK_GROUP_COUNT])
{
    for (int g = 0; g < NTK_GROUP_COUNT; g++) {
        core->has_group[g] = core->has_group[g] || known[g];
    }
}

static void add_total(struct ntk_memory_total *sum, const struct ntk_memory_total *part)
{
    sum->bytes += part->bytes;
    sum->known = (sum->known && part->known) || sum->bytes > 0;
}

static void add_memory(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;
    bool known[NTK_GROUP_COUNT];
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    for (int g = 0; g < NTK_GROUP_COUNT; g++) {
        known[g] = ntk_snapshot_tells_group(runtime, (enum ntk_memory_group)g);
    }
    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    add_total(&tag->host, &host);
    add_total(&tag->device, &device);
    /* An owned core without memory shows zeros. */
    size_t owned = runtime->has & NTK_RUNTIME_HAS_LISTED_MEMORY ? 0 : runtime->core_count;
    for (size_t i = 0; i < owned; i++) {
        struct ntk_points_core *core = tag_core(tag, runtime->cores[i].core / lnc);
        if (core) {
            core->has_memory = true;
            add_groups(core, known);
        }
    }
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        if (row->core == NTK_NO_CORE || row->category >= NTK_MEMORY_CATEGORY_COUNT ||
            row->location != NTK_MEMORY_DEVICE) {
            continue;
        }
        struct ntk_points_core *core = tag_core(tag, row->core / lnc);
        if (core) {
            enum ntk_memory_group group =
                ntk_memory_group_of((enum ntk_memory_category)row->category);
            core->has_memory = true;
            add_groups(core, known);
            core->group_bytes[group] += known[group] ? row->current_bytes : 0;
        }
    }
    for (size_t i = 0; i < runtime->memory_by_category_count; i++) {
        add_memory_row(tag, &runtime->memory_by_category[i], lnc);
    }
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!model->loaded || tag->models.count >= NTK_POINTS_MODELS_MAX) {
            continue;
        }
        struct ntk_points_model *added = ntk_vec_add(&tag->models);
        if (added) {
            added->core = model->core / lnc;
            added->id = model->id;
            clean(added->name, name_of(model));
        }
    }
}

/* Of several runtimes of a tag, by the rule of the row. */
static void add_state(struct ntk_points_core *core, const struct ntk_core_sample *sample)
{
    for (size_t i = 0; i < NTK_CORE_STATES; i++) {
        const struct ntk_core_state_row *row = &ntk_core_state_rows[i];
        uint64_t value;

        if (row->metric == NTK_METRIC_NONE || !(sample->has & row->has)) {
            continue;
        }
        memcpy(&value, (const char *)sample + row->offset, sizeof value);
        if (!(core->has_state >> i & 1) || (value < core->state[i]) == row->is_smallest) {
            core->state[i] = value;
        }
        core->has_state |= 1u << i;
    }
}

static void add_cores(struct ntk_points_tag *tag, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;

    for (size_t i = 0; i < runtime->core_count; i++) {
        struct ntk_core_sample logical;
        uint32_t number = runtime->cores[i].core / lnc;
        if (i > 0 && runtime->cores[i - 1].core / lnc == number) {
            continue;
        }
        struct ntk_points_core *core = tag_core(tag, number);
        if (!core || !ntk_snapshot_logical_core(runtime->cores, runtime->core_count, lnc, number,
                                                &logical)) {
            continue;
        }
        if (!runtime->ended) {
            add_state(core, &logical);
        }
        if (logical.has & NTK_CORE_HAS_BUSY) {
            core->utilization = core->has_utilization && core->utilization > logical.utilization
                                    ? core->utilization
                                    : logical.utilization;
            core->has_utilization = true;
        }
    }
}

/* What the groups of this snapshot replace is emptied before the first runtime of the tag adds. */
static void begin_tag(struct ntk_points_page *page, struct ntk_points_tag *tag,
                      const struct ntk_runtime_sample *runtime)
{
    bool memory = is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_MEMORY);
    bool cores = is_due(runtime, NTK_RUNTIME_GROUP_CORES, NTK_RUNTIME_HAS_CORES);

    if (!tag->is_live) {
        /* Its histograms begin again, whether their last counts were scraped or not. */
        tag_clear(page, tag);
    }
    tag->is_live = true;
    tag->is_leaving = false;
    ntk_vec_each(struct ntk_points_core, core, &tag->cores) {
        if (memory) {
            core->has_memory = false;
            memset(core->group_bytes, 0, sizeof core->group_bytes);
            memset(core->has_group, 0, sizeof core->has_group);
        }
        if (cores) {
            core->has_utilization = false;
            core->has_state = 0;
        }
    }
    if (memory) {
        tag->host = tag->device = (struct ntk_memory_total){ .known = true };
        tag->has_resident = false;
        tag->resident_bytes = 0;
        ntk_vec_clear(&tag->memory);
        ntk_vec_clear(&tag->models);
    }
    if (runtime->group_period_ns[NTK_RUNTIME_GROUP_CPU] != NTK_GROUP_ABSENT) {
        memset(tag->cpu_usage, 0, sizeof tag->cpu_usage);
        tag->has_cpu = false; /* due, and perhaps not known */
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS)) {
        tag->in_collective_ns = 0;
    }
    /* Without an execution the last latency stays, as in the vendor's exporter. */
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS) &&
        (runtime->total_latency.count > 0 || runtime->has & NTK_RUNTIME_HAS_PERCENTILES)) {
        tag->has_percentiles = tag->has_device_percentiles = false;
    }
}

static int update_runtime(struct ntk_points_page *page, const struct ntk_runtime_sample *runtime,
                          const struct moment *moment)
{
    struct ntk_points_tag *tag = find_tag(page, runtime, moment);

    if (!tag) {
        return -ENOMEM;
    }
    if (tag->last_sequence != page->sequence || !tag->is_live) {
        begin_tag(page, tag, runtime);
        tag->last_sequence = page->sequence;
        tag->is_over = true;
        memset(tag->is_watched, 0, sizeof tag->is_watched);
        tag->is_uncounted = true;
    }
    tag->is_uncounted = tag->is_uncounted && runtime->no_executions;
    page->is_partial = page->is_partial || runtime->no_executions;
    int counted = runtime->partial_executions ? 2 : runtime->no_executions;
    tag->is_watched[runtime->hooks][runtime->cores_guessed][counted] = true;
    tag->is_over = tag->is_over && runtime->ended && !runtime->first;
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS)) {
        add_executions(tag, runtime);
        add_latencies(page, tag, runtime, moment);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_MEMORY)) {
        add_memory(tag, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CPU, NTK_RUNTIME_HAS_CPU)) {
        tag->has_cpu = true;
        tag->cpu_usage[NTK_POINTS_CPU_USER] += runtime->cpu_user;
        tag->cpu_usage[NTK_POINTS_CPU_SYSTEM] += runtime->cpu_system;
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_RSS)) {
        tag->has_resident = true;
        tag->resident_bytes += runtime->rss_bytes;
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES, NTK_RUNTIME_HAS_CORES)) {
        add_cores(tag, runtime);
    }
    return 0;
}

/* -- the machine ------------------------------------------------------------------------------- */

static bool has_owner(const struct ntk_snapshot *snapshot, size_t logical, uint32_t lnc)
{
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t i = 0; i < runtime->core_count && !runtime->ended; i++) {
            if (runtime->cores[i].core / lnc == logical) {
                return true;
            }
        }
    }
    return false;
}

static void add_core_counts(struct ntk_points_machine_core *core,
                            const struct ntk_core_sample *sample)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];
        for (size_t k = row->at; k < row->at + row->count && sample->has & row->has; k++) {
            core->counts[k] += sample->counts[k].period;
        }
    }
}

static void update_cores(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    uint32_t lnc = snapshot->hardware.lnc ? snapshot->hardware.lnc : 1;
    size_t count = snapshot->core_count / lnc;
    bool known = snapshot->runtime_count == 0;

    for (size_t i = 0; i < snapshot->core_count; i++) {
        known = known || snapshot->cores[i].has & NTK_CORE_HAS_BUSY;
    }
    page->core_count = count < NTK_POINTS_CORES_MAX ? count : NTK_POINTS_CORES_MAX;
    for (size_t i = 0; i < page->core_count; i++) {
        struct ntk_points_machine_core *core = &page->cores[i];
        struct ntk_core_sample logical;
        if (!ntk_snapshot_logical_core(snapshot->cores + i * lnc, lnc, lnc, (uint32_t)i,
                                       &logical)) {
            continue;
        }
        core->has |= logical.has;
        if (known) {
            core->utilization = logical.has & NTK_CORE_HAS_BUSY ? logical.utilization : 0;
            core->is_unreported = !(logical.has & NTK_CORE_HAS_BUSY) && has_owner(snapshot, i, lnc);
        }
        add_core_counts(core, &logical);
    }
}

static void update_health(struct ntk_points_device *device, const struct ntk_device_sample *sample)
{
    device->has |= sample->has & NTK_DEVICE_HAS_HEALTH;
    device->verdict = sample->verdict;
    device->health_count = sample->health_count < NTK_HEALTH_REASON_COUNT ? sample->health_count
                                                                          : NTK_HEALTH_REASON_COUNT;
    for (size_t i = 0; i < device->health_count; i++) {
        device->health[i].reason = sample->health[i].reason;
        device->health[i].since_ns = sample->health[i].since_ns;
    }
}

static void update_troubles(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    page->trouble_count = 0;
    for (size_t i = 0; i < snapshot->trouble_count && i < NTK_SNAPSHOT_TROUBLES_MAX; i++) {
        const struct ntk_rank_trouble *sample = &snapshot->troubles[i];
        struct ntk_points_trouble *trouble = &page->troubles[page->trouble_count++];

        trouble->kind = sample->kind;
        trouble->key = sample->key;
        trouble->has_rank = sample->has_rank;
        trouble->rank = sample->rank;
        trouble->since_ns = sample->since_realtime_ns;
        ntk_str_copy_clean(trouble->cause, sizeof trouble->cause, sample->cause,
                           strlen(sample->cause));
        clean(trouble->rendezvous, sample->rendezvous);
    }
}

static void take_figures(struct ntk_device_sample *figures, const struct ntk_device_sample *sample)
{
    figures->has = sample->has;
    figures->stack_count = sample->stack_count < NTK_SNAPSHOT_STACKS_MAX ? sample->stack_count
                                                                         : NTK_SNAPSHOT_STACKS_MAX;
    for (size_t i = 0; i < NTK_DEVICE_ROWS; i++) {
        const struct ntk_device_row *row = &ntk_device_rows[i];
        memcpy((char *)figures + row->offset, (const char *)sample + row->offset, row->bytes);
    }
}

static void update_devices(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    bool ecc_due = snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] != NTK_GROUP_ABSENT;

    for (size_t k = 0; k < page->device_sample_count; k++) { /* a device without a verdict has no
                                                              * health */
        page->devices[k].has &= ~(uint32_t)NTK_DEVICE_HAS_HEALTH;
        page->devices[k].health_count = 0;
    }
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *sample = &snapshot->devices[i];
        struct ntk_points_device *device = NULL;
        for (size_t k = 0; k < page->device_sample_count && !device; k++) {
            device = page->devices[k].index == sample->index ? &page->devices[k] : NULL;
        }
        if (!device && page->device_sample_count < NTK_SNAPSHOT_DEVICES_MAX) {
            device = &page->devices[page->device_sample_count++];
            device->index = sample->index;
        }
        if (!device) {
            continue;
        }
        update_health(device, sample);
        clean(device->name, sample->name);
        clean(device->serial, sample->serial);
        take_figures(&device->figures, sample);
        if (ecc_due) {
            device->has |=
                NTK_DEVICE_HAS_ECC; /* as in reports: what a driver does not count is 0 */
            device->ecc_has |= sample->has & NTK_DEVICE_HAS_ECC ? sample->ecc_has : 0u;
            for (int k = 0; k < NTK_ECC_COUNT; k++) {
                device->ecc[k] += sample->ecc[k].period;
            }
            if (sample->has & NTK_DEVICE_HAS_ECC_TOTAL) {
                device->ecc_total_has = sample->ecc_has;
                for (int k = 0; k < NTK_ECC_COUNT; k++) {
                    device->ecc_total[k] = sample->ecc[k].total;
                }
            }
        }
    }
}

static void take_owner(struct ntk_points_owner *to, const struct ntk_k8s_owner *from)
{
    size_t used = 0;

    clean(to->pod_name, from->pod_name);
    clean(to->namespace_name, from->namespace_name);
    for (size_t i = 0; i < from->container_count; i++) {
        char name[NTK_POINTS_LABEL_BYTES];
        clean(name, from->containers[i]);
        int bytes = snprintf(to->container_name + used, sizeof to->container_name - used, "%s%s",
                             i > 0 ? "," : "", name);
        if (bytes < 0 || (size_t)bytes >= sizeof to->container_name - used) {
            to->container_name[used] = '\0'; /* those that have room */
            return;
        }
        used += (size_t)bytes;
    }
}

/* The current owners; a report without them changes nothing. */
static void update_owners(struct ntk_points_page *page, const struct ntk_k8s *k8s)
{
    if (k8s->period_ns == NTK_GROUP_ABSENT) {
        return;
    }
    for (size_t i = 0; i < page->core_count; i++) {
        page->cores[i].owner = (struct ntk_points_owner){ .pid = "" };
    }
    for (size_t i = 0; i < k8s->core_count; i++) {
        if (k8s->cores[i].index < page->core_count) {
            take_owner(&page->cores[k8s->cores[i].index].owner, &k8s->cores[i]);
        }
    }
    for (size_t i = 0; i < page->device_sample_count; i++) {
        struct ntk_points_device *device = &page->devices[i];
        device->owner = (struct ntk_points_owner){ .pid = "" };
        for (size_t k = 0; k < k8s->device_count; k++) {
            if (k8s->devices[k].index == device->index) {
                take_owner(&device->owner, &k8s->devices[k]);
            }
        }
    }
}

static void update_jobs(struct ntk_points_page *page, const struct ntk_jobs *jobs)
{
    static_assert(NTK_SNAPSHOT_DEVICES_MAX <= 64, "a bit for each device");
    page->job_count = 0;
    for (size_t i = 0; i < jobs->count && i < NTK_SNAPSHOT_JOBS_MAX; i++) {
        const struct ntk_job *from = &jobs->rows[i];
        struct ntk_points_job *job = &page->jobs[page->job_count++];

        *job = (struct ntk_points_job){ .devices = 0 };
        for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
            ntk_str_copy_clean(job->texts[k], sizeof job->texts[k], from->texts[k],
                               strlen(from->texts[k]));
        }
        for (size_t k = 0; k < from->core_count; k++) {
            if (from->cores[k] < NTK_POINTS_CORES_MAX) {
                job->cores[from->cores[k] / 64] |= UINT64_C(1) << from->cores[k] % 64;
            }
        }
        for (size_t k = 0; k < from->device_count; k++) {
            if (from->devices[k] < NTK_SNAPSHOT_DEVICES_MAX) {
                job->devices |= UINT64_C(1) << from->devices[k];
            }
        }
    }
}

static double capped(double ratio)
{
    return ratio > 1 ? 1 : ratio;
}

/* The port itself, or the first that is called like it: a report may list one twice. */
static const struct ntk_adapter_port *find_port(const struct ntk_points_page *page,
                                                const struct ntk_adapter_port *wanted)
{
    const struct ntk_adapter_port *port = page->ports;

    while (port != wanted && (port->family != wanted->family || port->port != wanted->port ||
                              strcmp(port->device, wanted->device) != 0)) {
        port++;
    }
    return port;
}

/* Adapters that went away keep no series. */
static void update_ports(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    page->port_count = 0;
    for (size_t i = 0; i < snapshot->port_count && page->port_count < NTK_POINTS_PORTS_MAX; i++) {
        const struct ntk_adapter_port *from = &snapshot->ports[i];
        struct ntk_adapter_port *port = &page->ports[page->port_count];

        *port = *from;
        ntk_str_copy_clean(port->device, sizeof port->device, from->device, strlen(from->device));
        page->port_count += find_port(page, port) == port;
    }
}

static void update_system(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_system_sample *system = &snapshot->system;
    const uint64_t *due = snapshot->group_period_ns;

    /* A group that is due and not known has no values; one that is not due keeps its last. */
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        const struct ntk_system_row *row = &ntk_system_rows[i];
        bool is_known = system->has & row->has &&
                        (row->group != NTK_SYSTEM_GROUP_CPU || system->has & NTK_SYSTEM_HAS_CPU);
        if (due[row->group] != NTK_GROUP_ABSENT) {
            page->system_has = (page->system_has & ~row->has) | (is_known ? row->has : 0);
            page->system[i] = system->figures[i];
        }
    }
    if (due[NTK_SYSTEM_GROUP_CPU] == NTK_GROUP_ABSENT) {
        return;
    }
    page->has_cpu = system->has & NTK_SYSTEM_HAS_CPU;
    if (page->has_cpu) {
        const double *share = system->average;
        page->cpu_count = system->cpu_count;
        memcpy(page->cpu_fields, share, sizeof page->cpu_fields);
        page->cpu_usage[NTK_POINTS_CPU_USER] = capped(share[NTK_CPU_USER] + share[NTK_CPU_NICE]);
        page->cpu_usage[NTK_POINTS_CPU_SYSTEM] =
            capped(share[NTK_CPU_SYSTEM] + share[NTK_CPU_IO_WAIT] + share[NTK_CPU_IRQ] +
                   share[NTK_CPU_SOFT_IRQ]);
    }
}

static void fill(char to[NTK_POINTS_LABEL_BYTES], const char *from)
{
    if (to[0] == '\0') {
        clean(to, from);
    }
}

/* Each label keeps its first value: the metadata service may answer after the first report, and
 * some of it later than the rest; but a label that changes would make every counter another
 * series. */
static void take_instance(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_instance *instance = &snapshot->instance;

    fill(page->zone, instance->zone);
    fill(page->instance_id, instance->id);
    fill(page->instance_name, instance->name);
    fill(page->region, instance->region);
    fill(page->subnet_id, instance->subnet_id);
    fill(page->ultraserver_id, instance->ultraserver_id);
    /* The device tree's guess gives way to who knows it. */
    if (!page->has_type && instance->type[0]) {
        clean(page->instance_type, instance->type);
        page->has_type = true;
    }
    fill(page->instance_type, snapshot->hardware.instance_type);
}

/* Drops last counts that were scraped often enough; whether there were any. */
static bool forget_delivered(struct ntk_points_page *page, uint64_t now_ns)
{
    bool any = false;

    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        if (tag->is_leaving && tag->last_sequence != page->sequence &&
            (page->deliveries - tag->ended_deliveries >= page->last_looks ||
             now_ns - tag->ended_ns > NTK_POINTS_LAST_NS)) {
            tag_clear(page, tag);
            tag->is_leaving = false;
            any = true;
        }
    }
    return any;
}

/* Of those with their own series; the rest is found again. */
static void count_shown(struct ntk_points_page *page)
{
    page->shown_count = 0;
    ntk_map_fini(&page->shown_users);
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;
        if (is_shown(tag) && strcmp(entry->key, NTK_EXPORTER_OTHER) != 0) {
            count_one_shown(page, tag->uid);
        }
    }
    ntk_map_fini(&page->others);
}

void ntk_points_page_init(struct ntk_points_page *page, const struct ntk_exporter_options *options)
{
    page->application_max = ntk_exporter_application_max(options);
    page->has_pid_label = options->pid_label;
    page->labels = options->labels;
    page->names = options->names ? *options->names : 0;
    page->fills_zeros = options->zero_fill;
}

int ntk_points_page_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    const struct moment moment = {
        .now_ns = snapshot->realtime_ns ? snapshot->realtime_ns : ntk_clock_realtime_ns(),
        .period_ns = snapshot->period_ns,
    };
    int ret = 0;

    if (page->sequence++ == 0) {
        page->created_seconds = seconds_of(&moment);
        page->began_ns = began_ns(&moment, 0);
    }
    page->now_ns = moment.now_ns;
    take_instance(page, snapshot);
    /* The last word counts: a machine that is just being set up may show a part of itself first. */
    if (hardware->device_count > 0 && hardware->cores_per_device > 0) {
        page->device_count = hardware->device_count;
        page->has_cards = strncmp(hardware->device_type, "mlu", 3) == 0;
        clean(page->driver_version, hardware->driver_version);
        clean(page->host_name, snapshot->host_name);
        page->cores_per_device = hardware->cores_per_device / (hardware->lnc ? hardware->lnc : 1);
        page->device_memory_bytes =
            hardware->has & NTK_HARDWARE_HAS_MEMORY ? hardware->device_memory_bytes : 0;
        page->has_hardware = true;
        page->hardware[0] = page->device_count;
        page->hardware[1] = page->hardware[0] * hardware->cores_per_device;
        page->hardware[2] = page->hardware[0] * page->cores_per_device;
    }
    count_shown(page);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        int added = update_runtime(page, &snapshot->runtimes[i], &moment);
        ret = added < 0 ? added : ret;
    }
    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        if (tag->is_live && (tag->is_over || tag->last_sequence != page->sequence)) {
            tag_clear_gauges(tag); /* its last runtime has ended; the totals stay */
            tag->is_live = false;
            tag->is_leaving = true;
            tag->ended_deliveries = page->deliveries;
            tag->ended_ns = moment.now_ns;
        }
    }
    (void)forget_delivered(page, moment.now_ns);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        page->outcome[i] += snapshot->outcome[i].period;
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        page->error_class[i] += snapshot->error_class[i].period;
    }
    page->events_read += snapshot->events_read.period;
    page->events_lost += snapshot->events_lost.period;
    page->collect_seconds = (double)snapshot->collect_duration_ns / (double)NTK_NS_PER_SECOND;
    update_cores(page, snapshot);
    update_devices(page, snapshot);
    update_troubles(page, snapshot);
    update_owners(page, &snapshot->k8s);
    update_jobs(page, &snapshot->jobs);
    update_ports(page, snapshot);
    update_system(page, snapshot);
    return ret;
}

int ntk_points_page_resume(struct ntk_points_page *page, const struct ntk_snapshot *totals)
{
    size_t application_max = page->application_max;

    page->application_max = 0; /* all are remembered, none is on the page */
    int ret = ntk_points_page_update(page, totals);
    page->application_max = application_max;
    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        tag->is_live = false;
    }
    return ret;
}

bool ntk_points_page_delivered(struct ntk_points_page *page)
{
    page->deliveries++;
    return forget_delivered(page, page->now_ns);
}

void ntk_points_page_fini(struct ntk_points_page *page)
{
    ntk_map_each(entry, &page->tags) {
        tag_destroy(page, entry->value);
    }
    ntk_map_fini(&page->tags);
    ntk_map_fini(&page->others);
    ntk_map_fini(&page->shown_users);
    memset(page, 0, sizeof *page);
}

/* -- the exporter itself ----------------------------------------------------------------------- */

static double boot_seconds(void)
{
    struct timespec real;
    struct timespec since;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &since);
    return (double)(real.tv_sec - since.tv_sec) + (double)(real.tv_nsec - since.tv_nsec) / 1e9;
}

static double count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double count = 0;

    if (!folder) {
        return 0;
    }
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the folder itself */
}

void ntk_points_page_update_process(struct ntk_points_page *page)
{
    struct ntk_points_process *process = &page->process;
    unsigned long long user;
    unsigned long long system;
    unsigned long long start;
    unsigned long long virtual_bytes;
    long long resident_pages;
    struct rlimit limit;
    char text[1024];

    page->output_count = ntk_output_counts_read(page->outputs);
    ssize_t count = ntk_fs_read_text("/proc/self/stat", text, sizeof text);
    const char *fields = count > 0 ? strrchr(text, ')') : NULL;
    if (!fields || sscanf(fields + 1,
                          " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
                          "%*d %*d %llu %llu %lld",
                          &user, &system, &start, &virtual_bytes, &resident_pages) != 5) {
        return;
    }
    double ticks = (double)sysconf(_SC_CLK_TCK);
    process->present = true;
    process->cpu_seconds = (double)(user + system) / ticks;
    if (process->start_seconds == 0) {
        process->start_seconds = boot_seconds() + (double)start / ticks;
    }
    process->virtual_bytes = (double)virtual_bytes;
    process->resident_bytes = (double)resident_pages * (double)sysconf(_SC_PAGESIZE);
    process->open_fds = count_fds();
    process->max_fds = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : 0;
}
