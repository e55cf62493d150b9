/* SPDX-License-Identifier: MIT */
/* monitor_schedule - creates reports from snapshots of the collector. */
#include "agent/report/monitor_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot_merge.h"

/* Maximum time by which a timer may fire early. */
#define SLACK_NS (NTK_NS_PER_MS)

/* One period of the configuration, or the time since the last report. */
struct window {
    uint64_t every_ns;
    uint64_t due_ns;
    const struct ntk_snapshot *covered; /* snapshot since it was last due; NULL if none yet */
    bool due;                           /* true if part of the report being created */
};

struct ntk_monitor_schedule {
    const struct ntk_monitor_config *config;
    struct window windows[NTK_MONITOR_PERIODS_MAX]; /* in the same order as config->periods_ns */
    size_t window_count;
    struct window poll;     /* for outputs other than the report */
    struct window reported; /* since the last report: for data outside the groups */
    struct window page;     /* all groups since the last page; every_ns is 0 without pages */
    uint64_t page_ns_max;
    uint64_t urgent_ns; /* time when all groups are due; 0 if nothing is urgent */
    uint64_t sequence;
    struct ntk_snapshot *page_report; /* borrows from page_held */
    const struct ntk_snapshot *page_held;
    struct ntk_snapshot *report; /* borrows from held[] */
    const struct ntk_snapshot *held[NTK_MONITOR_PERIODS_MAX + 1];
    size_t held_count;
};

static void release_report(struct ntk_monitor_schedule *schedule)
{
    ntk_snapshot_destroy(schedule->report);
    schedule->report = NULL;
    for (size_t i = 0; i < schedule->held_count; i++) {
        ntk_snapshot_destroy(schedule->held[i]);
    }
    schedule->held_count = 0;
}

static void release_page(struct ntk_monitor_schedule *schedule)
{
    ntk_snapshot_destroy(schedule->page_report);
    ntk_snapshot_destroy(schedule->page_held);
    schedule->page_report = NULL;
    schedule->page_held = NULL;
}

static uint64_t shortest_period(const struct ntk_monitor_schedule *schedule)
{
    uint64_t shortest_ns = NTK_MONITOR_PERIOD_MAX_NS;

    for (size_t i = 0; i < schedule->window_count; i++) {
        if (schedule->windows[i].every_ns < shortest_ns) {
            shortest_ns = schedule->windows[i].every_ns;
        }
    }
    return shortest_ns;
}

static void begin_windows(struct ntk_monitor_schedule *schedule,
                          const struct ntk_monitor_config *config, uint64_t now_ns, bool skip_first)
{
    schedule->config = config;
    schedule->urgent_ns = 0;
    schedule->window_count = config->period_count;
    for (size_t i = 0; i < schedule->window_count; i++) {
        schedule->windows[i] =
            (struct window){ .every_ns = config->periods_ns[i],
                             .due_ns = now_ns + (skip_first ? config->periods_ns[i] : 0) };
    }
    if (schedule->page_ns_max) {
        uint64_t every_ns = shortest_period(schedule);
        schedule->page.every_ns = every_ns < NTK_MONITOR_SHORTEST_NS ? NTK_MONITOR_SHORTEST_NS
                                  : every_ns > schedule->page_ns_max ? schedule->page_ns_max
                                                                     : every_ns;
        schedule->page.due_ns = now_ns + (skip_first ? schedule->page.every_ns : 0);
    }
}

struct ntk_monitor_schedule *ntk_monitor_schedule_create(const struct ntk_monitor_config *config,
                                                         uint64_t poll_ns, uint64_t page_ns_max,
                                                         uint64_t now_ns, bool skip_first)
{
    struct ntk_monitor_schedule *schedule = calloc(1, sizeof *schedule);

    if (!schedule) {
        return NULL;
    }
    if (!skip_first) {
        now_ns += NTK_MONITOR_SHORTEST_NS;
    }
    schedule->page_ns_max = page_ns_max;
    begin_windows(schedule, config, now_ns, skip_first);
    schedule->poll.every_ns = poll_ns;
    schedule->poll.due_ns = now_ns + (skip_first ? poll_ns : 0);
    return schedule;
}

void ntk_monitor_schedule_configure(struct ntk_monitor_schedule *schedule,
                                    const struct ntk_monitor_config *config, uint64_t now_ns)
{
    release_report(schedule);
    for (size_t i = 0; i < schedule->window_count; i++) {
        ntk_snapshot_destroy(schedule->windows[i].covered);
    }
    begin_windows(schedule, config, now_ns, true);
}

void ntk_monitor_schedule_destroy(struct ntk_monitor_schedule *schedule)
{
    if (!schedule) {
        return;
    }
    release_report(schedule);
    for (size_t i = 0; i < schedule->window_count; i++) {
        ntk_snapshot_destroy(schedule->windows[i].covered);
    }
    ntk_snapshot_destroy(schedule->reported.covered);
    ntk_snapshot_destroy(schedule->page.covered);
    release_page(schedule);
    free(schedule);
}

static uint64_t sooner(uint64_t next_ns, const struct window *window)
{
    return window->every_ns && window->due_ns < next_ns ? window->due_ns : next_ns;
}

uint64_t ntk_monitor_schedule_next_ns(const struct ntk_monitor_schedule *schedule)
{
    uint64_t next = schedule->urgent_ns ? schedule->urgent_ns : UINT64_MAX;

    next = sooner(sooner(next, &schedule->poll), &schedule->page);
    for (size_t i = 0; i < schedule->window_count; i++) {
        next = sooner(next, &schedule->windows[i]);
    }
    return next;
}

static uint64_t covered_ns(const struct window *window)
{
    return window->covered ? window->covered->period_ns : 0;
}

/* Returns true if the window is long enough for correct rates and shares. */
static bool is_long_enough(const struct window *window, uint64_t every_ns)
{
    uint64_t least_ns = every_ns / 2;

    least_ns = least_ns < NTK_MONITOR_SHORTEST_NS ? least_ns : NTK_MONITOR_SHORTEST_NS;
    return covered_ns(window) + SLACK_NS >= least_ns;
}

static bool is_due(const struct window *window, uint64_t now_ns)
{
    return window->due_ns <= now_ns + SLACK_NS && is_long_enough(window, window->every_ns);
}

/* Moves due_ns to the next point of the grid after now. */
static void advance(struct window *window, uint64_t now_ns)
{
    if (window->due_ns <= now_ns + SLACK_NS) {
        uint64_t late_ns = now_ns + SLACK_NS - window->due_ns;
        window->due_ns += (late_ns / window->every_ns + 1) * window->every_ns;
    }
}

/* State of one put: windows that started together cover the same snapshots, which are merged
 * once. */
struct merge {
    const struct ntk_snapshot *older; /* only compared, because it may be freed */
    const struct ntk_snapshot *merged;
};

static int cover(struct window *window, const struct ntk_snapshot *snapshot, struct merge *last)
{
    if (!window->covered) {
        window->covered = ntk_snapshot_share(snapshot);
        return 0;
    }
    bool is_same = last->older == window->covered;
    const struct ntk_snapshot *merged =
        is_same ? ntk_snapshot_share(last->merged) : ntk_snapshot_merge(window->covered, snapshot);
    if (!merged) {
        return -ENOMEM; /* this window loses the snapshot; the next window continues */
    }
    *last = (struct merge){ window->covered, merged };
    ntk_snapshot_destroy(window->covered);
    window->covered = merged;
    return 0;
}

/* -- the report -------------------------------------------------------------------------------- */

static void take_executions(struct ntk_runtime_sample *to, const struct ntk_runtime_sample *from)
{
    memcpy(to->outcome, from->outcome, sizeof to->outcome);
    memcpy(to->error_class, from->error_class, sizeof to->error_class);
    to->total_latency = from->total_latency;
    to->device_latency = from->device_latency;
    to->has_device_latency = from->has_device_latency;
    to->models = from->models;
    to->model_count = from->model_count;
}

static void take_group(struct ntk_runtime_sample *to, const struct ntk_runtime_sample *from,
                       int group)
{
    switch (group) {
    case NTK_RUNTIME_GROUP_EXECUTIONS:
        take_executions(to, from);
        break;
    case NTK_RUNTIME_GROUP_MEMORY:
        to->memory = from->memory;
        to->memory_count = from->memory_count;
        to->memory_by_category = from->memory_by_category;
        to->memory_by_category_count = from->memory_by_category_count;
        to->rss_bytes = from->rss_bytes;
        break;
    case NTK_RUNTIME_GROUP_CPU:
        memcpy(to->shares, from->shares, sizeof to->shares);
        to->cpu_error = from->cpu_error;
        break;
    default:
        to->cores = from->cores;
        to->core_count = from->core_count;
        break;
    }
}

/* Returns the snapshot that a group with this period covers in the report or page; NULL if the
 * group is not due. */
static const struct ntk_snapshot *covered_of(const struct ntk_monitor_schedule *schedule,
                                             int period, bool is_page)
{
    return period == NTK_MONITOR_NOT_ASKED ? NULL
           : is_page                       ? schedule->page.covered
           : schedule->windows[period].due ? schedule->windows[period].covered
                                           : NULL;
}

/* Fills `to` from base, the newest sample of the runtime; returns false if it is not listed. */
static bool fill_runtime(const struct ntk_monitor_schedule *schedule, struct ntk_runtime_sample *to,
                         bool is_new, bool is_page)
{
    static const uint32_t has_of_group[NTK_RUNTIME_GROUP_COUNT] = {
        NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT,
        NTK_RUNTIME_HAS_MEMORY | NTK_RUNTIME_HAS_RSS, NTK_RUNTIME_HAS_CPU, NTK_RUNTIME_HAS_CORES
    };
    const struct ntk_runtime_sample base = *to;
    struct ntk_monitor_runtime_groups groups;
    bool any = false;

    if (!ntk_monitor_config_match(schedule->config, to->tag, &groups)) {
        return false;
    }
    to->by_address = groups.by_address;
    for (int i = 0; i < NTK_RUNTIME_GROUP_COUNT; i++) {
        const struct ntk_snapshot *covered = covered_of(schedule, groups.period[i], is_page);
        const struct ntk_runtime_sample *from =
            covered ? ntk_snapshot_find_runtime(covered, &base) : NULL;
        to->group_period_ns[i] = NTK_GROUP_ABSENT;
        to->has &= ~has_of_group[i];
        if (from) {
            take_group(to, from, i);
            to->has |= from->has & has_of_group[i];
            to->group_period_ns[i] = covered->period_ns;
            any = true;
        }
    }
    return is_new || any;
}

static int make_runtimes(const struct ntk_monitor_schedule *schedule, struct ntk_snapshot *report,
                         const struct ntk_snapshot *base, bool is_page)
{
    size_t room = base->runtime_count;
    size_t count = 0;

    for (size_t i = 0; i < schedule->window_count && !is_page; i++) {
        room += schedule->windows[i].due ? schedule->windows[i].covered->runtime_count : 0;
    }
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(report, room);
    if (room > 0 && !runtimes) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < base->runtime_count; i++) {
        runtimes[count] = base->runtimes[i];
        count += fill_runtime(schedule, &runtimes[count], true, is_page);
    }
    report->runtime_count = count;
    /* Add runtimes that ended before the last report, with groups that were not due then. */
    for (size_t k = 0; k < schedule->window_count && !is_page; k++) {
        const struct ntk_snapshot *covered = schedule->windows[k].covered;
        for (size_t i = 0; schedule->windows[k].due && i < covered->runtime_count; i++) {
            if (!ntk_snapshot_find_runtime(base, &covered->runtimes[i]) &&
                !ntk_snapshot_find_runtime(report, &covered->runtimes[i])) {
                runtimes[count] = covered->runtimes[i];
                count += fill_runtime(schedule, &runtimes[count], false, false);
                report->runtime_count = count;
            }
        }
    }
    return 0;
}

static void take_self(struct ntk_system_sample *to, const struct ntk_system_sample *from)
{
    to->self_vcpu_user = from->self_vcpu_user;
    to->self_vcpu_system = from->self_vcpu_system;
    to->self_memory_bytes = from->self_memory_bytes;
}

static void make_system(const struct ntk_monitor_schedule *schedule, struct ntk_snapshot *report,
                        bool is_page)
{
    const struct ntk_system_sample *self = &report->system;

    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        const struct ntk_snapshot *covered =
            covered_of(schedule, schedule->config->system_period[i], is_page);
        report->group_period_ns[i] = covered ? covered->period_ns : NTK_GROUP_ABSENT;
        if (!covered) {
            continue;
        }
        if (i == NTK_SYSTEM_GROUP_CPU) {
            report->system = covered->system;
        } else if (i == NTK_SYSTEM_GROUP_SELF) {
            self = &covered->system;
        } else if (i == NTK_SYSTEM_GROUP_ECC) {
            report->devices = covered->devices;
            report->device_count = covered->device_count;
        }
    }
    take_self(&report->system, self);
}

/* Creates a report, which borrows base; NULL if out of memory. */
static struct ntk_snapshot *make_report(const struct ntk_monitor_schedule *schedule,
                                        const struct ntk_snapshot *base, bool is_page)
{
    struct ntk_snapshot *report = ntk_snapshot_create();

    if (!report) {
        return NULL;
    }
    *report = *base;
    report->sequence = schedule->sequence;
    report->every_ns = is_page ? schedule->page.every_ns : shortest_period(schedule);
    if (make_runtimes(schedule, report, base, is_page) < 0) {
        ntk_snapshot_destroy(report);
        return NULL;
    }
    make_system(schedule, report, is_page);
    return report;
}

/* Returns true if all groups are due. Urgent data may have to wait until its report is long
 * enough. */
static bool is_all_due(struct ntk_monitor_schedule *schedule, uint64_t now_ns,
                       enum ntk_monitor_urgency urgency)
{
    bool is_urgent = urgency != NTK_MONITOR_ON_TIME || schedule->urgent_ns;
    uint64_t rest_ns = covered_ns(&schedule->reported) < NTK_MONITOR_SHORTEST_NS
                           ? NTK_MONITOR_SHORTEST_NS - covered_ns(&schedule->reported)
                           : 0;
    bool all = is_urgent && (urgency == NTK_MONITOR_NOW || rest_ns <= SLACK_NS);

    schedule->urgent_ns = is_urgent && !all ? now_ns + rest_ns : 0;
    return all;
}

int ntk_monitor_schedule_put(struct ntk_monitor_schedule *schedule,
                             const struct ntk_snapshot *snapshot, uint64_t now_ns,
                             enum ntk_monitor_urgency urgency)
{
    struct merge last = { NULL, NULL };
    bool any = false;
    int ret;

    release_report(schedule);
    ret = cover(&schedule->reported, snapshot, &last);
    if (schedule->page.every_ns) {
        int covered = cover(&schedule->page, snapshot, &last);
        ret = covered < 0 ? covered : ret;
    }
    bool all = is_all_due(schedule, now_ns, urgency);
    for (size_t i = 0; i < schedule->window_count; i++) {
        struct window *window = &schedule->windows[i];
        int covered = cover(window, snapshot, &last);
        ret = covered < 0 ? covered : ret;
        window->due = all || is_due(window, now_ns);
        any = any || window->due;
        advance(window, now_ns);
    }
    if (schedule->poll.every_ns) {
        advance(&schedule->poll, now_ns);
    }
    if (!any) {
        return ret;
    }
    schedule->sequence++;
    schedule->report = make_report(schedule, schedule->reported.covered, false);
    /* Keep the data that the report borrows until the next put; its windows restart. */
    for (size_t i = 0; i < schedule->window_count; i++) {
        if (schedule->windows[i].due) {
            schedule->held[schedule->held_count++] = schedule->windows[i].covered;
            schedule->windows[i].covered = NULL;
        }
    }
    schedule->held[schedule->held_count++] = schedule->reported.covered;
    schedule->reported.covered = NULL;
    if (!schedule->report) {
        release_report(schedule);
        return -ENOMEM;
    }
    return 1;
}

const struct ntk_snapshot *ntk_monitor_schedule_page_take(struct ntk_monitor_schedule *schedule,
                                                          uint64_t now_ns, bool is_wanted)
{
    struct window *page = &schedule->page;

    release_page(schedule);
    if (!page->every_ns || !page->covered) {
        return NULL;
    }
    bool due = is_due(page, now_ns) ||
               (is_wanted && covered_ns(page) + SLACK_NS >= NTK_MONITOR_SHORTEST_NS);
    advance(page, now_ns);
    if (due) {
        schedule->page_report = make_report(schedule, page->covered, true);
        schedule->page_held = page->covered;
        page->covered = NULL;
    }
    return schedule->page_report;
}

const struct ntk_snapshot *
ntk_monitor_schedule_report_get(const struct ntk_monitor_schedule *schedule)
{
    return schedule->report;
}
