/* SPDX-License-Identifier: MIT */
/* points_page - holds all exported values, and updates them from snapshots. */
#include "exporters/points/points_page.h"

#include <string.h>

#include "exporters/exporter.h"
#include "exporters/points/points_page_parts.h"
#include "shared/base/clock.h"

uint64_t points_began_ns(const struct points_moment *moment, uint64_t group_period_ns)
{
    uint64_t period_ns = group_period_ns == 0 || group_period_ns == NTK_GROUP_ABSENT
                             ? moment->period_ns
                             : group_period_ns;

    return period_ns < moment->now_ns ? moment->now_ns - period_ns : moment->now_ns;
}

static void fill(char to[NTK_POINTS_LABEL_BYTES], const char *from)
{
    if (to[0] == '\0') {
        points_clean(to, from);
    }
}

/* Copies the labels of the instance; each keeps its first value. The metadata service may answer
 * late and in parts, but a changed label would change the series of every counter. */
static void take_instance(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_instance *instance = &snapshot->instance;

    /* A known type replaces the value from the device tree. */
    if (!page->has_type && instance->type[0]) {
        page->instance.type[0] = '\0';
        page->has_type = true;
    }
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        fill(page->instance.texts[i], instance->texts[i]);
    }
    fill(page->instance.type, snapshot->hardware.instance_type);
}

void ntk_points_page_init(struct ntk_points_page *page, const struct ntk_exporter_options *options)
{
    page->application_max = ntk_exporter_application_max(options);
    page->has_pid_label = options->pid_label;
    page->labels = options->labels;
    page->names = options->names ? *options->names : 0;
    page->fills_zeros = options->zero_fill;
}

/* Forgets the slowest executions, which belong to one period. */
static void forget_slowest(struct ntk_points_page *page)
{
    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        ntk_vec_each(struct ntk_points_latency, latency, &tag->latencies) {
            latency->total.slowest = (struct ntk_slow_execution){ 0 };
        }
    }
}

static void begin_period(struct ntk_points_page *page)
{
    memset(page->cores, 0, page->core_count * sizeof *page->cores);
    memset(page->outcome, 0, sizeof page->outcome);
    memset(page->error_class, 0, sizeof page->error_class);
    page->events_read = 0;
    memset(page->events_lost, 0, sizeof page->events_lost);
    page->device_sample_count = 0;
    page->is_partial = page->has_cpu = false;
    page->system_has = 0;
}

int ntk_points_page_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct points_moment moment = {
        .now_ns = ntk_snapshot_time_ns(snapshot),
        .period_ns = snapshot->period_ns,
    };
    int ret = 0;

    forget_slowest(page);
    if (page->sequence++ == 0) {
        page->created_seconds = (double)moment.now_ns / (double)NTK_NS_PER_SECOND;
        page->began_ns = points_began_ns(&moment, 0);
    }
    page->now_ns = moment.now_ns;
    take_instance(page, snapshot);
    if (page->is_of_period) {
        begin_period(page);
    }
    points_tags_begin(page);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        int added = points_runtime_add(page, &snapshot->runtimes[i], &moment);
        ret = added < 0 ? added : ret;
    }
    points_tags_end(page, moment.now_ns);
    points_host_update(page, snapshot);
    return ret;
}

int ntk_points_page_resume(struct ntk_points_page *page, const struct ntk_snapshot *totals)
{
    size_t application_max = page->application_max;

    page->application_max = 0; /* all applications are remembered, none is on the page */
    int ret = ntk_points_page_update(page, totals);
    page->application_max = application_max;
    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        tag->is_live = false;
        tag->is_resumed = true;
    }
    return ret;
}

bool ntk_points_page_delivered(struct ntk_points_page *page)
{
    page->deliveries += !page->age.is_stale;
    return points_tags_forget(page, page->now_ns);
}

int ntk_points_page_freeze(const struct ntk_points_page *page, struct ntk_points_page *out)
{
    *out = *page;
    out->tags = out->others = out->shown_users = (struct ntk_map){ 0 };
    out->fine_count = 0;
    int ret = points_tags_copy(page, out);
    if (ret < 0) {
        ntk_points_page_fini(out);
    }
    return ret;
}

void ntk_points_page_fini(struct ntk_points_page *page)
{
    points_tags_fini(page);
    memset(page, 0, sizeof *page);
}
