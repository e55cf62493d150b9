/* SPDX-License-Identifier: MIT */
#include "shared/collect/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/collect/source.h"

/* Limit on open descriptors: a segment needs one, a folder two, and a file that is being removed
 * one more. */
#define DESCRIPTORS_MAX 16384
#define BOOT_ID_BYTES 64

enum { SOURCE_RING, SOURCE_DEVICE, SOURCE_ADAPTER, SOURCE_PROC, SOURCE_COUNT };

struct ntk_collector {
    struct ntk_collector_options options; /* the texts are copies */
    char *texts[4];
    struct ntk_aggregate *aggregate;
    bool reads_latency; /* read latency of processes */
    bool reads_models;  /* read latency of models */
    struct ntk_collect_source sources[SOURCE_COUNT];
    const char *note; /* borrowed from the ring source */
};

static uint64_t now_ns(const struct ntk_collector *collector)
{
    const struct ntk_clock *clock = collector->options.clock;

    return clock->monotonic_ns(clock->ctx);
}

static void set_now(struct ntk_collector *collector, uint64_t monotonic_ns)
{
    const struct ntk_clock *clock = collector->options.clock;

    ntk_aggregate_set_now(collector->aggregate, (struct ntk_health_time){
                                                    .monotonic_ns = monotonic_ns,
                                                    .realtime_ns = clock->realtime_ns(clock->ctx),
                                                });
}

/* Copies a text, so that callers need not keep theirs. */
static int keep_text(struct ntk_collector *collector, size_t slot, const char **text)
{
    if (!*text) {
        return 0;
    }
    collector->texts[slot] = strdup(*text);
    *text = collector->texts[slot];
    return *text ? 0 : -ENOMEM;
}

static void set_host(struct ntk_collector *collector, char boot_id[BOOT_ID_BYTES])
{
    char path[1024];
    struct utsname host;

    snprintf(path, sizeof path, "%s/sys/kernel/random/boot_id", collector->options.proc_root);
    if (ntk_fs_read_text(path, boot_id, BOOT_ID_BYTES) < 0) {
        boot_id[0] = '\0';
    }
    ntk_aggregate_set_host(collector->aggregate, boot_id, uname(&host) == 0 ? host.nodename : "");
}

/* Continues verdicts that an earlier collector stored and that are still true. */
static void continue_health(const struct ntk_collector *collector, const char *boot_id)
{
    const struct ntk_collector_options *options = &collector->options;
    struct ntk_health_stored stored;

    for (uint32_t device = 0; options->health_get && device < NTK_DEVICES_MAX; device++) {
        if (options->health_get(boot_id, device, &stored, options->totals_ctx)) {
            ntk_health_continue(ntk_aggregate_health(collector->aggregate), device, &stored);
        }
    }
}

static int open_sources(struct ntk_collector *collector, struct ntk_err *err)
{
    const struct ntk_collector_options *options = &collector->options;
    int ret =
        ntk_source_ring_open(options, &collector->sources[SOURCE_RING], &collector->note, err);

    if (ret == 0) {
        ret = ntk_source_device_open(options, &collector->sources[SOURCE_DEVICE], err);
    }
    if (ret == 0) {
        ret = ntk_source_adapter_open(options, &collector->sources[SOURCE_ADAPTER], err);
    }
    if (ret == 0) {
        ret = ntk_source_proc_open(options, &collector->sources[SOURCE_PROC], err);
    }
    return ret;
}

static int sample_source(struct ntk_collector *collector, int which, uint64_t monotonic_ns,
                         struct ntk_err *err)
{
    struct ntk_collect_source *source = &collector->sources[which];

    return source->ops->sample(source->state, collector->aggregate, monotonic_ns, err);
}

int ntk_collector_create(const struct ntk_collector_options *options,
                         struct ntk_collector **out_collector, struct ntk_err *err)
{
    struct ntk_collector *collector = calloc(1, sizeof *collector);
    struct ntk_aggregate_options aggregate_options = { 0 };
    char boot_id[BOOT_ID_BYTES];
    int ret = -ENOMEM;

    if (!collector) {
        return ntk_err_no_memory(err);
    }
    ntk_fs_raise_descriptor_limit(DESCRIPTORS_MAX);
    if (options) {
        collector->options = *options;
    }
    options = &collector->options;
    if (!options->clock) {
        collector->options.clock = ntk_clock_system_get();
    }
    if (!options->proc_root) {
        collector->options.proc_root = "/proc";
    }
    if (keep_text(collector, 0, &collector->options.proc_root) < 0 ||
        keep_text(collector, 1, &collector->options.sysfs_root) < 0 ||
        keep_text(collector, 2, &collector->options.driver_sysfs) < 0 ||
        keep_text(collector, 3, &collector->options.hooks_dir) < 0) {
        ntk_err_no_memory(err);
        goto out;
    }
    aggregate_options.begin_monotonic_ns = now_ns(collector);
    aggregate_options.ticks_per_second = (uint32_t)sysconf(_SC_CLK_TCK);
    aggregate_options.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    aggregate_options.events_max = options->events_max;
    aggregate_options.collector = &collector->options;
    ret = ntk_aggregate_create(&aggregate_options, &collector->aggregate);
    if (ret < 0) {
        ntk_err_no_memory(err);
        goto out;
    }
    ntk_aggregate_set_lists_events(collector->aggregate, !options->no_events);
    ntk_aggregate_set_reads_latency(collector->aggregate, !options->no_latency,
                                    !options->no_latency);
    collector->reads_latency = collector->reads_models = !options->no_latency;
    set_host(collector, boot_id);
    set_now(collector, aggregate_options.begin_monotonic_ns);
    ret = open_sources(collector, err);
    if (ret < 0) {
        goto out;
    }
    ntk_aggregate_set_has_core(collector->aggregate, ntk_source_device_has_core,
                               collector->sources[SOURCE_DEVICE].state);
    /*
     * The baselines of the first period. Reading a device tree may take long, so it comes first and
     * the period starts after it: a core that is always busy then shows 100 %. Processes get their
     * counters at first sight, then their CPU time.
     */
    ret = sample_source(collector, SOURCE_DEVICE, now_ns(collector), err);
    if (ret < 0) {
        goto out;
    }
    continue_health(collector, boot_id);
    ntk_aggregate_start_period(collector->aggregate, now_ns(collector));
    ret = ntk_collector_drain(collector) < 0 ? -EIO : 0;
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot search for observed processes");
        goto out;
    }
    ret = sample_source(collector, SOURCE_PROC, now_ns(collector), err);
    if (ret < 0) {
        goto out;
    }
    *out_collector = collector;
    collector = NULL;

out:
    ntk_collector_destroy(collector);
    return ret;
}

void ntk_collector_destroy(struct ntk_collector *collector)
{
    if (!collector) {
        return;
    }
    /* Destroy the aggregate first, because it returns the contexts that sources keep with
     * processes. */
    ntk_aggregate_destroy(collector->aggregate);
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (collector->sources[i].ops) {
            collector->sources[i].ops->destroy(collector->sources[i].state);
        }
    }
    for (size_t i = 0; i < sizeof collector->texts / sizeof *collector->texts; i++) {
        free(collector->texts[i]);
    }
    free(collector);
}

int ntk_collector_drain(struct ntk_collector *collector)
{
    uint64_t now = now_ns(collector);
    int fullest = 0;

    set_now(collector, now);

    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        struct ntk_collect_source *source = &collector->sources[i];

        if (source->ops->drain) {
            int fill = source->ops->drain(source->state, collector->aggregate, now);

            if (fill < 0) {
                return fill;
            }
            fullest = fill > fullest ? fill : fullest;
        }
    }
    return fullest;
}

void ntk_collector_hurry(struct ntk_collector *collector)
{
    ntk_source_device_hurry(collector->sources[SOURCE_DEVICE].state);
}

static void fill_instance(const struct ntk_collector *collector, struct ntk_snapshot *snapshot)
{
    struct ntk_instance *instance = &snapshot->instance;

    if (collector->options.instance_get) {
        collector->options.instance_get(snapshot, collector->options.instance_ctx);
    }
    if (snapshot->hardware.software) {
        instance->type = snapshot->hardware.instance_type;
        instance->error = "";
    }
}

int ntk_collector_poll(struct ntk_collector *collector, struct ntk_snapshot **out_snapshot,
                       struct ntk_err *err)
{
    const struct ntk_clock *clock = collector->options.clock;
    struct ntk_snapshot *snapshot = NULL;
    uint64_t begin = now_ns(collector);
    int ret = 0;

    set_now(collector, begin);
    for (size_t i = 0; i < SOURCE_COUNT && ret == 0; i++) {
        ret = sample_source(collector, (int)i, begin, err);
    }
    if (ret < 0) {
        return ret;
    }
    ret = ntk_aggregate_finish(collector->aggregate, begin, clock->realtime_ns(clock->ctx),
                               &snapshot);
    if (ret < 0) {
        return ntk_err_no_memory(err);
    }
    fill_instance(collector, snapshot);
    if (collector->options.pods_get) {
        collector->options.pods_get(snapshot, collector->options.pods_ctx);
    }
    if (collector->options.jobs_get) {
        collector->options.jobs_get(snapshot, collector->options.jobs_ctx);
    }
    if (!ntk_snapshot_ok(snapshot)) {
        ntk_snapshot_destroy(snapshot);
        return ntk_err_no_memory(err);
    }
    snapshot->collect_duration_ns = now_ns(collector) - begin;
    *out_snapshot = snapshot;
    return 0;
}

bool ntk_collector_health_changed(struct ntk_collector *collector)
{
    return ntk_health_take_change(ntk_aggregate_health(collector->aggregate));
}

void ntk_collector_read_events(struct ntk_collector *collector)
{
    ntk_source_ring_read_events(&collector->sources[SOURCE_RING], collector->aggregate);
    ntk_aggregate_set_lists_events(collector->aggregate, true);
}

void ntk_collector_read_latency(struct ntk_collector *collector, bool of_models)
{
    bool begins = !collector->reads_latency;
    bool models_begin = of_models && !collector->reads_models;

    collector->reads_latency = true;
    collector->reads_models = of_models;
    ntk_aggregate_set_reads_latency(collector->aggregate, true, of_models);
    if (begins || models_begin) {
        ntk_source_ring_begin_latency(&collector->sources[SOURCE_RING], collector->aggregate,
                                      begins, models_begin);
    }
}

void ntk_collector_read_usage(struct ntk_collector *collector)
{
    if (collector->options.no_usage) {
        collector->options.no_usage = false;
        ntk_source_proc_read_usage(&collector->sources[SOURCE_PROC], collector->aggregate, true);
    }
}

void ntk_collector_keep(struct ntk_collector *collector, uint64_t sequence)
{
    ntk_source_ring_keep(&collector->sources[SOURCE_RING], sequence);
}

struct ntk_collector_unreadable ntk_collector_unreadable(const struct ntk_collector *collector)
{
    return ntk_source_ring_unreadable(&collector->sources[SOURCE_RING]);
}

const char *ntk_collector_note(const struct ntk_collector *collector)
{
    return collector->note[0] ? collector->note : ntk_aggregate_note(collector->aggregate);
}
