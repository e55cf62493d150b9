/* SPDX-License-Identifier: MIT */
/* snapshot_merge - merges two consecutive periods into one. */
#include "shared/metrics/snapshot_merge.h"

#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/metrics/snapshot_idle.h"
#include "shared/metrics/spans.h"

/* Weights of the two parts, proportional to their durations. */
struct weights {
    double older;
    double newer;
};

static double mix(struct weights w, double older, double newer)
{
    return w.older * older + w.newer * newer;
}

static void add(struct ntk_count *to, struct ntk_count older)
{
    to->period += older.period; /* the total is the newer part's */
}

static void *copy_array(struct ntk_snapshot *s, const void *items, size_t count, size_t item_bytes)
{
    void *copy = count ? ntk_snapshot_alloc(s, count, item_bytes) : NULL;

    if (copy) {
        memcpy(copy, items, count * item_bytes);
    }
    return copy;
}

static struct ntk_histogram merge_histograms(struct ntk_snapshot *s,
                                             const struct ntk_histogram *older,
                                             const struct ntk_histogram *newer)
{
    struct ntk_histogram_dense dense;

    if (!older || older->count == 0 || newer->count == 0) {
        const struct ntk_histogram *only = newer->count == 0 && older ? older : newer;
        struct ntk_histogram copy = *only;
        copy.entries = copy_array(s, only->entries, only->entry_count, sizeof *only->entries);
        if (!copy.entries) {
            copy = (struct ntk_histogram){ 0 };
        }
        return copy;
    }
    ntk_histogram_dense_reset(&dense);
    ntk_histogram_dense_merge(&dense, older);
    ntk_histogram_dense_merge(&dense, newer);
    return ntk_snapshot_histogram(s, &dense);
}

/* -- cores ------------------------------------------------------------------------------------- */

static void add_core(struct ntk_snapshot *s, struct ntk_core_sample *to,
                     const struct ntk_core_sample *older, struct weights w);

static const struct ntk_core_sample *merge_unwatched(struct ntk_snapshot *s,
                                                     const struct ntk_core_sample *older,
                                                     const struct ntk_core_sample *newer,
                                                     struct weights w)
{
    static const struct ntk_core_sample nothing;

    if (!older && !newer) {
        return NULL;
    }
    struct ntk_core_sample *copy = ntk_snapshot_alloc(s, 1, sizeof *copy);
    if (copy) {
        *copy = newer ? *newer : nothing;
        add_core(s, copy, older ? older : &nothing, w);
    }
    return copy;
}

/* The runs of a core in one of the parts; a core with only one run is that run. */
struct lives {
    const struct ntk_core_sample *items;
    size_t count;
};

static struct lives lives_of(const struct ntk_core_sample *core)
{
    return core && core->lives ? (struct lives){ core->lives, core->life_count }
                               : (struct lives){ core, core ? 1 : 0 };
}

static void copy_lives(struct ntk_snapshot *s, struct ntk_core_sample *to, struct lives from)
{
    for (size_t i = 0; i < from.count; i++) {
        to[i] = from.items[i];
        to[i].total_latency = merge_histograms(s, NULL, &from.items[i].total_latency);
        to[i].device_latency = merge_histograms(s, NULL, &from.items[i].device_latency);
        to[i].unwatched = NULL;
        to[i].lives = NULL;
        to[i].life_count = 0;
    }
}

/* Merges the runs. The last run of the older part may continue as the first run of the newer
 * part. */
static void merge_lives(struct ntk_snapshot *s, struct ntk_core_sample *to,
                        const struct ntk_core_sample *older, const struct ntk_core_sample *newer,
                        struct weights w)
{
    struct lives before = lives_of(older);
    struct lives after = lives_of(newer);
    bool continues = before.count > 0 && after.count > 0 &&
                     before.items[before.count - 1].began_ns == after.items[0].began_ns;
    size_t count = before.count + after.count - continues;

    if (count < 2) {
        return;
    }
    struct ntk_core_sample *lives = ntk_snapshot_alloc(s, count, sizeof *lives);
    if (!lives) {
        return;
    }
    copy_lives(s, lives, before);
    copy_lives(s, lives + before.count - continues, after);
    if (continues) {
        add_core(s, &lives[before.count - 1], &before.items[before.count - 1], w);
    }
    to->lives = lives;
    to->life_count = count;
}

static void add_core(struct ntk_snapshot *s, struct ntk_core_sample *to,
                     const struct ntk_core_sample *older, struct weights w)
{
    to->has |= older->has;
    to->busy_of_calls = to->busy_of_calls || older->busy_of_calls;
    double utilization = mix(w, older->utilization, to->utilization);
    to->utilization = utilization > 1 ? 1 : utilization; /* two parts of one period may overlap */
    for (int i = 0; i < NTK_CORE_COUNTS; i++) {
        add(&to->counts[i], older->counts[i]);
    }
    to->total_latency = merge_histograms(s, &older->total_latency, &to->total_latency);
    to->device_latency = merge_histograms(s, &older->device_latency, &to->device_latency);
    to->unwatched = merge_unwatched(s, older->unwatched, to->unwatched, w);
}

/* Merges cores. A core that is only in one part was idle in the other, and its totals are
 * unchanged. */
static struct ntk_core_sample *merge_cores(struct ntk_snapshot *s,
                                           const struct ntk_core_sample *older, size_t older_count,
                                           const struct ntk_core_sample *newer, size_t newer_count,
                                           struct weights w, size_t *out_count)
{
    size_t room = older_count + newer_count;
    struct ntk_core_sample *cores = ntk_snapshot_alloc(s, room, sizeof *cores);
    size_t count = 0;

    for (size_t i = 0, k = 0; cores && (i < older_count || k < newer_count);) {
        static const struct ntk_core_sample idle;
        bool has_older = i < older_count && (k >= newer_count || older[i].core <= newer[k].core);
        bool has_newer = k < newer_count && (i >= older_count || newer[k].core <= older[i].core);
        struct ntk_core_sample *to = &cores[count++];
        if (has_newer) {
            *to = newer[k];
            to->lives = NULL;
            to->life_count = 0;
        } else {
            to->core = older[i].core;
            to->began_ns = older[i].began_ns;
            for (int c = 0; c < NTK_CORE_COUNTS; c++) {
                to->counts[c].total = older[i].counts[c].total;
            }
        }
        add_core(s, to, has_older ? &older[i] : &idle, w);
        merge_lives(s, to, has_older ? &older[i] : NULL, has_newer ? &newer[k] : NULL, w);
        i += has_older;
        k += has_newer;
    }
    *out_count = count;
    return cores;
}

/* -- runtimes ---------------------------------------------------------------------------------- */

static void copy_model(struct ntk_snapshot *s, struct ntk_model_sample *to,
                       const struct ntk_model_sample *from, const struct ntk_model_sample *older)
{
    *to = *from;
    to->name = ntk_snapshot_text(s, from->name);
    to->neff_path = ntk_snapshot_text(s, from->neff_path);
    if (older) {
        to->has |= older->has;
        to->is_running = to->is_running || older->is_running;
        for (size_t i = 0; i < NTK_MODEL_COUNTS; i++) {
            add(&to->counts[i], older->counts[i]);
        }
    }
    to->total_latency =
        merge_histograms(s, older ? &older->total_latency : NULL, &from->total_latency);
    to->device_latency =
        merge_histograms(s, older ? &older->device_latency : NULL, &from->device_latency);
}

/* Merges models by id. A model that is only in the older part was unloaded there. */
static void merge_models(struct ntk_snapshot *s, struct ntk_runtime_sample *to,
                         const struct ntk_runtime_sample *older,
                         const struct ntk_runtime_sample *newer)
{
    size_t older_count = older ? older->model_count : 0;
    struct ntk_model_sample *models =
        ntk_snapshot_alloc_models(s, to, older_count + newer->model_count);
    size_t count = 0;

    for (size_t i = 0, k = 0; models && (i < older_count || k < newer->model_count);) {
        const struct ntk_model_sample *a = i < older_count ? &older->models[i] : NULL;
        const struct ntk_model_sample *b = k < newer->model_count ? &newer->models[k] : NULL;
        struct ntk_model_sample *model = &models[count++];
        if (a && (!b || a->id < b->id)) {
            copy_model(s, model, a, NULL);
            model->loaded = false;
            i++;
        } else if (b) {
            bool both = a && a->id == b->id;
            copy_model(s, model, b, both ? a : NULL);
            i += both;
            k++;
        }
    }
    to->model_count = count;
}

/* Adds the counts of the cores' work, or of the rank itself. */
static void add_counts(struct ntk_rank_sample *rank, const struct ntk_rank_sample *before,
                       bool is_work)
{
    for (size_t i = 0; i < NTK_RANK_COUNTS; i++) {
        if (ntk_rank_count_rows[i].is_work == is_work) {
            add(&rank->counts[i], before->counts[i]);
        }
    }
}

static bool is_same_place(const struct ntk_rank_sample *a, const struct ntk_rank_sample *b)
{
    return a->key == b->key && a->rank == b->rank;
}

static void add_rank(struct ntk_rank_sample *rank, const struct ntk_rank_sample *before)
{
    for (size_t n = 0; n < NTK_COLLECTIVE_COUNT; n++) {
        add(&rank->operations[n], before->operations[n]);
    }
    add_counts(rank, before, false);
}

/* The rank that continues the counts of `before`: the same rank, its replacement, or none. */
static struct ntk_rank_sample *heir_of(struct ntk_rank_sample *ranks, size_t count,
                                       const struct ntk_rank_sample *before)
{
    struct ntk_rank_sample *heir = NULL;

    for (size_t i = 0; i < count; i++) {
        if (is_same_place(&ranks[i], before) &&
            (!heir || ranks[i].join_timestamp_ns == before->join_timestamp_ns)) {
            heir = &ranks[i];
        }
    }
    return heir;
}

/* Merges ranks: the state is the newer part's, and the older part's counts are added. A rank that
 * left and joined again may be listed twice in either part: its counts are added once, and so is
 * the work of the cores, which both entries have in full. A rank that is only in the older part
 * left there. */
static void merge_ranks(struct ntk_snapshot *s, struct ntk_runtime_sample *to,
                        const struct ntk_runtime_sample *older,
                        const struct ntk_runtime_sample *newer)
{
    size_t older_count = older ? older->rank_count : 0, count = 0;
    struct ntk_rank_sample *ranks =
        ntk_snapshot_alloc_ranks(s, to, older_count + newer->rank_count);

    for (; ranks && count < newer->rank_count; count++) {
        ranks[count] = newer->ranks[count];
    }
    for (size_t k = 0; ranks && k < older_count; k++) {
        const struct ntk_rank_sample *before = &older->ranks[k];
        struct ntk_rank_sample *heir = heir_of(ranks, newer->rank_count, before);
        bool is_added = false;

        if (heir) {
            add_rank(heir, before);
        } else {
            ranks[count] = *before;
            ranks[count].in_flight = 0;
            ranks[count].state = before->state == NTK_RANK_JOINED ? NTK_RANK_LEFT : before->state;
            count++;
        }
        for (size_t m = 0; m < k && !is_added; m++) {
            is_added = is_same_place(&older->ranks[m], before);
        }
        for (size_t i = 0; i < newer->rank_count && !is_added; i++) {
            if (is_same_place(&ranks[i], before)) {
                add_counts(&ranks[i], before, true);
            }
        }
    }
    to->rank_count = count;
    for (size_t i = 0; i < count; i++) {
        ranks[i].rendezvous = ntk_snapshot_text(s, ranks[i].rendezvous);
        ranks[i].members = ntk_snapshot_text(s, ranks[i].members);
    }
}

static void merge_counts(struct ntk_runtime_sample *to, const struct ntk_runtime_sample *older,
                         struct weights w)
{
    to->has |= older->has & (NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES);
    to->first = to->first || older->first;
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        add(&to->outcome[i], older->outcome[i]);
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        add(&to->error_class[i], older->error_class[i]);
    }
    to->has_device_latency = to->has_device_latency || older->has_device_latency;
    if (!(to->has & NTK_RUNTIME_HAS_CPU) && older->has & NTK_RUNTIME_HAS_CPU) {
        to->has |= NTK_RUNTIME_HAS_CPU; /* it ended: this is its earlier use */
        to->cpu_error = "";
        for (size_t i = 0; i < NTK_PROCESS_SHARES; i++) {
            to->shares[i] = w.older * older->shares[i];
        }
    } else if (older->has & NTK_RUNTIME_HAS_CPU) {
        for (size_t i = 0; i < NTK_PROCESS_SHARES; i++) {
            to->shares[i] = mix(w, older->shares[i], to->shares[i]);
        }
    }
    add(&to->events_read, older->events_read);
    add(&to->events_lost, older->events_lost);
}

static void merge_runtime(struct ntk_snapshot *s, struct ntk_runtime_sample *to,
                          const struct ntk_runtime_sample *older,
                          const struct ntk_runtime_sample *newer, struct weights w)
{
    *to = *newer;
    if (older) {
        merge_counts(to, older, w);
    }
    to->tag = ntk_snapshot_text(s, newer->tag);
    to->error = ntk_snapshot_text(s, newer->error);
    to->cpu_error = ntk_snapshot_text(s, to->cpu_error);
#define NTK_PROCESS_TEXT(name) to->name = ntk_snapshot_text(s, newer->name);
#define NTK_PROCESS_POD(name, key) to->pod.name = ntk_snapshot_text(s, newer->pod.name);
#include "shared/metrics/process.def"
    to->cores = merge_cores(s, older ? older->cores : NULL, older ? older->core_count : 0,
                            newer->cores, newer->core_count, w, &to->core_count);
    to->total_latency =
        merge_histograms(s, older ? &older->total_latency : NULL, &newer->total_latency);
    to->device_latency =
        merge_histograms(s, older ? &older->device_latency : NULL, &newer->device_latency);
    to->memory = copy_array(s, newer->memory, newer->memory_count, sizeof *newer->memory);
    to->memory_by_category =
        copy_array(s, newer->memory_by_category, newer->memory_by_category_count,
                   sizeof *newer->memory_by_category);
    merge_models(s, to, older, newer);
    merge_ranks(s, to, older, newer);
    to->series = NULL;
    to->series_count = 0;
}

void ntk_snapshot_merge_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *to,
                                const struct ntk_runtime_sample *older,
                                const struct ntk_runtime_sample *newer)
{
    /* Both weights are 1, because shares of the same period are added. */
    const struct weights both = { 1, 1 };
    const struct ntk_runtime_sample copy = *newer;

    merge_runtime(snapshot, to, older, &copy, both);
}

NTK_ORDER(compare_runtimes, struct ntk_runtime_sample, NTK_UP(start_time) NTK_UP(pid));

static void merge_runtimes(struct ntk_snapshot *s, const struct ntk_snapshot *older,
                           const struct ntk_snapshot *newer, struct weights w)
{
    /* A runtime that is missing in a part adds nothing for that part's share of the time. */
    static const struct ntk_runtime_sample unknown = { .cpu_error = "" };
    struct ntk_runtime_sample *runtimes =
        ntk_snapshot_alloc_runtimes(s, older->runtime_count + newer->runtime_count);
    size_t count = 0;

    for (size_t i = 0; runtimes && i < newer->runtime_count; i++) {
        const struct ntk_runtime_sample *before =
            ntk_snapshot_find_runtime(older, &newer->runtimes[i]);
        merge_runtime(s, &runtimes[count++], before ? before : &unknown, &newer->runtimes[i], w);
        for (size_t k = 0; k < NTK_PROCESS_SHARES && !before; k++) {
            runtimes[count - 1].shares[k] *= w.newer;
        }
    }
    for (size_t i = 0; runtimes && i < older->runtime_count; i++) {
        if (!ntk_snapshot_find_runtime(newer, &older->runtimes[i])) {
            struct weights ended = { w.newer, w.older }; /* it takes the place of the newer part */
            struct ntk_runtime_sample *to = &runtimes[count++];
            merge_runtime(s, to, &unknown, &older->runtimes[i], ended);
            for (size_t k = 0; k < NTK_PROCESS_SHARES; k++) {
                to->shares[k] *= w.older;
            }
        }
    }
    s->runtime_count = count;
    if (runtimes) {
        qsort(runtimes, count, sizeof *runtimes, compare_runtimes);
    }
}

/* -- the machine ------------------------------------------------------------------------------- */

static void merge_devices(struct ntk_snapshot *s, const struct ntk_snapshot *older,
                          const struct ntk_snapshot *newer)
{
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(s, newer->device_count);

    for (size_t i = 0; devices && i < newer->device_count; i++) {
        devices[i] = newer->devices[i];
        devices[i].name = ntk_snapshot_text(s, devices[i].name);
        devices[i].arch = ntk_snapshot_text(s, devices[i].arch);
        devices[i].serial_number = ntk_snapshot_text(s, devices[i].serial_number);
        devices[i].health =
            copy_array(s, devices[i].health, devices[i].health_count, sizeof *devices[i].health);
        devices[i].health_count = devices[i].health ? devices[i].health_count : 0;
        for (size_t h = 0; h < devices[i].health_count; h++) {
            devices[i].health[h].detail = ntk_snapshot_text(s, devices[i].health[h].detail);
        }
        for (size_t k = 0; k < older->device_count; k++) {
            if (older->devices[k].index == devices[i].index) {
                for (int e = 0; e < NTK_ECC_COUNT; e++) {
                    add(&devices[i].ecc[e], older->devices[k].ecc[e]);
                    devices[i].ecc_unwatched[e] += older->devices[k].ecc_unwatched[e];
                }
            }
        }
    }
}

static void merge_system(struct ntk_snapshot *s, const struct ntk_snapshot *older,
                         const struct ntk_snapshot *newer, struct weights w)
{
    const struct ntk_system_sample *before = &older->system;
    struct ntk_system_sample *system = &s->system;

    *system = newer->system;
    system->cpu_error = ntk_snapshot_text(s, newer->system.cpu_error);
    system->memory_error = ntk_snapshot_text(s, newer->system.memory_error);
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        system->figures[i] += ntk_system_rows[i].is_counter ? before->figures[i] : 0;
    }
    if (before->has & NTK_SYSTEM_HAS_SELF) {
        system->self_vcpu_user = mix(w, before->self_vcpu_user, system->self_vcpu_user);
        system->self_vcpu_system = mix(w, before->self_vcpu_system, system->self_vcpu_system);
    }
    system->cpus =
        copy_array(s, newer->system.cpus, newer->system.cpu_count, sizeof *newer->system.cpus);
    if (!(before->has & NTK_SYSTEM_HAS_CPU) || !system->cpus) {
        return;
    }
    for (int i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        system->average[i] = mix(w, before->average[i], system->average[i]);
    }
    for (size_t i = 0, k = 0; i < system->cpu_count; i++) {
        while (k < before->cpu_count && before->cpus[k].cpu < system->cpus[i].cpu) {
            k++;
        }
        for (int f = 0; k < before->cpu_count && before->cpus[k].cpu == system->cpus[i].cpu &&
                        f < NTK_CPU_FIELD_COUNT;
             f++) {
            system->cpus[i].share[f] = mix(w, before->cpus[k].share[f], system->cpus[i].share[f]);
        }
    }
}

static struct ntk_k8s_owner *copy_owners(struct ntk_snapshot *s, const struct ntk_k8s_owner *from,
                                         size_t count)
{
    struct ntk_k8s_owner *owners = copy_array(s, from, count, sizeof *owners);

    for (size_t i = 0; owners && i < count; i++) {
        const char **containers =
            ntk_snapshot_alloc(s, owners[i].container_count, sizeof *containers);
        owners[i].pod_name = ntk_snapshot_text(s, owners[i].pod_name);
        owners[i].namespace_name = ntk_snapshot_text(s, owners[i].namespace_name);
        for (size_t k = 0; containers && k < owners[i].container_count; k++) {
            containers[k] = ntk_snapshot_text(s, owners[i].containers[k]);
        }
        owners[i].containers = containers;
    }
    return owners;
}

/* Copies the newest data, if it was requested in either part. */
static void merge_k8s(struct ntk_snapshot *s, const struct ntk_snapshot *older,
                      const struct ntk_snapshot *newer)
{
    const struct ntk_k8s *from =
        newer->k8s.period_ns == NTK_GROUP_ABSENT ? &older->k8s : &newer->k8s;

    s->k8s = *from;
    s->k8s.error = ntk_snapshot_text(s, from->error);
    s->k8s.cores = copy_owners(s, from->cores, from->core_count);
    s->k8s.devices = copy_owners(s, from->devices, from->device_count);
}

/* Copies the lost ranks of the newer part, because the merged snapshot outlives the parts. */
static void copy_lost_ranks(struct ntk_snapshot *s, const struct ntk_snapshot *newer)
{
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(s, newer->lost_rank_count);

    for (size_t i = 0; lost && i < newer->lost_rank_count; i++) {
        lost[i] = newer->lost_ranks[i];
        lost[i].tag = ntk_snapshot_text(s, lost[i].tag);
        lost[i].command = ntk_snapshot_text(s, lost[i].command);
        lost[i].rank.rendezvous = ntk_snapshot_text(s, lost[i].rank.rendezvous);
        lost[i].rank.members = ntk_snapshot_text(s, lost[i].rank.members);
    }
}

static void copy_texts(struct ntk_snapshot *s)
{
    const char **texts[] = {
        &s->boot_id,
        &s->host_name,
        &s->hardware.error,
        &s->instance.error,
#define NTK_HARDWARE_TEXT(name, ...) &s->hardware.name,
#define NTK_INSTANCE_TEXT(name, ...) &s->instance.name,
#include "shared/metrics/machine.def"
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = ntk_snapshot_text(s, *texts[i]);
    }
}

struct ntk_snapshot *ntk_snapshot_merge(const struct ntk_snapshot *older,
                                        const struct ntk_snapshot *newer)
{
    struct ntk_snapshot *s = ntk_snapshot_create();
    double both = (double)older->period_ns + (double)newer->period_ns;
    struct weights w = { both > 0 ? (double)older->period_ns / both : 0, 1 };

    if (!s) {
        return NULL;
    }
    w.newer = 1 - w.older;
    *s = *newer;
    s->period_ns += older->period_ns;
    s->events_unlisted += older->events_unlisted;
    s->lists_events = s->lists_events || older->lists_events;
    ntk_snapshot_join_events(s, older->events, older->event_count, newer->events,
                             newer->event_count);
    copy_texts(s);
    merge_runtimes(s, older, newer, w);
    merge_devices(s, older, newer);
    merge_system(s, older, newer, w);
    merge_k8s(s, older, newer);
    ntk_snapshot_set_jobs(s, newer->jobs.is_asked ? &newer->jobs : &older->jobs);
    copy_lost_ranks(s, newer);
    ntk_snapshot_set_ports(s, newer->ports, newer->port_count);
    ntk_snapshot_set_troubles(s, newer->troubles, newer->trouble_count);
    ntk_snapshot_join_spans(s, older, newer);
    ntk_snapshot_join_idle(s, older->idle, older->idle_count, newer->idle, newer->idle_count);
    s->cores = merge_cores(s, older->cores, older->core_count, newer->cores, newer->core_count, w,
                           &s->core_count);
    s->tags = copy_array(s, newer->tags, newer->tag_count, sizeof *newer->tags);
    s->tag_count = s->tags ? newer->tag_count : 0;
    for (size_t i = 0; i < s->tag_count; i++) {
        s->tags[i].tag = ntk_snapshot_text(s, s->tags[i].tag);
    }
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        add(&s->outcome[i], older->outcome[i]);
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        add(&s->error_class[i], older->error_class[i]);
    }
    add(&s->events_read, older->events_read);
    add(&s->events_lost, older->events_lost);
    for (int i = 0; i < NTK_UNWRITTEN_COUNT; i++) {
        add(&s->events_unwritten[i], older->events_unwritten[i]);
    }
    if (!ntk_snapshot_ok(s)) {
        ntk_snapshot_destroy(s);
        return NULL;
    }
    return s;
}
