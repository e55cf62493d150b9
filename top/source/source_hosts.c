/* SPDX-License-Identifier: MIT */
/*
 * source_hosts - sends requests to the agents of many machines once per period. Its snapshots come
 * from the open host; without one they are empty, and ntk_top_source_hosts_get() returns the list.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "top/source/hosts.h"
#include "top/source/source.h"
#include "shared/base/url.h"

#define TIMEOUT_NS (5 * NTK_NS_PER_SECOND)
#define PERIOD_NS (1 * NTK_NS_PER_SECOND)

struct hosts_source {
    struct ntk_top_source base;
    struct ntk_hosts_watch *watch;
    struct ntk_top_hosts hosts;
    bool is_asked_now; /* another host was opened: show its last report immediately */
    char note[NTK_ERR_TEXT_BYTES + 64];
};

/* Updates the current state of every host, and their ranks together. */
static int look(struct hosts_source *source)
{
    struct ntk_top_hosts *hosts = &source->hosts;
    int ret = 0;

    ntk_ranks_fini(&hosts->ranks); /* its rows are borrowed from data that is freed */
    ntk_ranks_init(&hosts->ranks);
    for (size_t i = 0; i < hosts->count; i++) {
        struct ntk_top_host *host = &hosts->items[i];

        host->reports = host->state.reports;
        ntk_snapshot_destroy(host->state.snapshot);
        ntk_hosts_watch_get(source->watch, i, &host->state);
        /* An old report of a host proves nothing about its ranks. */
        if (ret == 0 && host->state.snapshot && !host->state.trouble[0]) {
            ret = ntk_ranks_add(&hosts->ranks, host->state.snapshot, host->name, host->state.clock);
        }
    }
    return ret == 0 ? ntk_ranks_judge(&hosts->ranks, 0) : ret;
}

static struct ntk_snapshot *empty(void)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    if (snapshot) {
        snapshot->realtime_ns = ntk_clock_realtime_ns();
        snapshot->monotonic_ns = ntk_clock_monotonic_ns();
        snapshot->period_ns = PERIOD_NS;
    }
    return snapshot;
}

static int hosts_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                      struct ntk_err *err)
{
    struct hosts_source *source = (struct hosts_source *)base;
    bool has_news = ntk_hosts_watch_take(source->watch);
    const struct ntk_top_host *open = NULL;

    if (!has_news && !source->is_asked_now) {
        return 0;
    }
    if (has_news && look(source) < 0) {
        return ntk_err_no_memory(err);
    }
    if (source->hosts.open_index < source->hosts.count) {
        open = &source->hosts.items[source->hosts.open_index];
    }
    bool is_first = source->is_asked_now;
    source->is_asked_now = false;
    if (open && !is_first && open->state.reports == open->reports) {
        return 0; /* its last report is already shown */
    }
    *out_snapshot = open && open->state.snapshot
                        ? (struct ntk_snapshot *)(uintptr_t)ntk_snapshot_share(open->state.snapshot)
                        : empty();
    return *out_snapshot ? 1 : ntk_err_no_memory(err);
}

static const char *hosts_note(const struct ntk_top_source *base)
{
    struct hosts_source *source = (struct hosts_source *)(uintptr_t)base;

    source->note[0] = '\0';
    if (source->hosts.open_index < source->hosts.count) {
        const struct ntk_top_host *host = &source->hosts.items[source->hosts.open_index];
        unsigned long long age_s = host->state.age_ns / NTK_NS_PER_SECOND;

        if (host->state.trouble[0] && host->state.snapshot) {
            (void)snprintf(source->note, sizeof source->note, "no response, data is %llus old: %s",
                           age_s, host->state.trouble);
        } else if (host->state.trouble[0]) {
            (void)snprintf(source->note, sizeof source->note, "no response: %s",
                           host->state.trouble);
        }
    }
    return source->note;
}

static void hosts_close(struct ntk_top_source *base)
{
    struct hosts_source *source = (struct hosts_source *)base;

    ntk_hosts_watch_close(source->watch);
    ntk_ranks_fini(&source->hosts.ranks);
    for (size_t i = 0; source->hosts.items && i < source->hosts.count; i++) {
        ntk_snapshot_destroy(source->hosts.items[i].state.snapshot);
    }
    free(source->hosts.items);
    free(source);
}

static const struct ntk_top_source_ops hosts_ops = { .take = hosts_take,
                                                     .close = hosts_close,
                                                     .note = hosts_note };

struct ntk_top_hosts *ntk_top_source_hosts_get(struct ntk_top_source *base)
{
    return base->ops == &hosts_ops ? &((struct hosts_source *)base)->hosts : NULL;
}

void ntk_top_source_hosts_show(struct ntk_top_source *base, size_t index)
{
    struct hosts_source *source = (struct hosts_source *)base;

    source->hosts.open_index = index;
    source->is_asked_now = true;
}

int ntk_top_source_hosts_open(const char *const *names, size_t count,
                              const struct ntk_top_remote *remote, bool begin_whole,
                              struct ntk_top_source **out_source, struct ntk_err *err)
{
    struct hosts_source *source = calloc(1, sizeof *source);
    const struct ntk_hosts_watch_options options = { .names = names,
                                                     .count = count,
                                                     .remote = { .token_file = remote->token_file,
                                                                 .ca_file = remote->ca_file,
                                                                 .timeout_ns = TIMEOUT_NS },
                                                     .period_ns = PERIOD_NS,
                                                     .begin_whole = begin_whole };

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->base.ops = &hosts_ops;
    source->hosts.open_index = SIZE_MAX;
    ntk_ranks_init(&source->hosts.ranks);
    source->hosts.items = calloc(count, sizeof *source->hosts.items);
    int ret = source->hosts.items ? ntk_hosts_watch_open(&options, &source->watch, err)
                                  : ntk_err_no_memory(err);
    if (ret < 0 || !source->hosts.items) {
        hosts_close(&source->base);
        return ret;
    }
    source->hosts.count = count;
    for (size_t i = 0; i < count; i++) {
        (void)ntk_url_redact(source->hosts.items[i].name, NTK_URL_SHOWN_BYTES, names[i]);
        source->hosts.items[i].verdict = -1;
        source->hosts.items[i].reason = "";
        for (size_t p = 0; p < NTK_TOP_HOST_PAST; p++) {
            source->hosts.items[i].past[p] = NAN;
        }
    }
    source->base.fd = ntk_hosts_watch_fd(source->watch);
    *out_source = &source->base;
    return 0;
}
