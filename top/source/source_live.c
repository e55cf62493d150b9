/* SPDX-License-Identifier: MIT */
/* source_live - gets snapshots of this machine directly from shared/collect: no agent is needed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/collect/collect.h"
#include "shared/device/device.h"
#include "shared/metrics/health.h"
#include "top/source/agent_health.h"
#include "top/source/pods.h"
#include "top/source/source.h"

/* Interval of checks of the fault indicators; each refresh also checks them. If refreshes are rarer
 * than one per second, they are also checked in between. */
#define HEALTH_NS NTK_TOP_SOURCE_RARE_NS
/* Interval of checks with many cores: the fault counters of 128 cores are a thousand files, most of
 * the data of a refresh. Failures of an observed process are shown immediately, from its
 * segment. */
#define MANY_CORES_NS (5 * NTK_NS_PER_SECOND)

struct live_source {
    struct ntk_top_source base;
    struct ntk_collector *collector;
    struct ntk_top_pods pods;
    struct ntk_top_agent_health *agent; /* NULL if the agent is not used */
    uint64_t first_ns;                  /* realtime of the first snapshot; 0 if none so far */
    char instance_id[64];               /* "" if not on EC2 */
    char others[128]; /* users with applications that cannot be seen; "" if none */
};

/* Finds other users' applications. A user without the rights of root or the service only sees their
 * own applications, and applications in a common folder. */
static void look_for_others(struct live_source *source)
{
    bool is_restricted = !ntk_paths_hooks_dir_variable() && !ntk_process_reads_all_users();
    DIR *dir = is_restricted ? opendir(NTK_HOOKS_PARENT) : NULL;
    const struct dirent *entry;

    source->others[0] = '\0';
    while (dir && (entry = readdir(dir))) {
        uint64_t uid;

        if (ntk_str_starts_with(entry->d_name, NTK_HOOKS_USER_PREFIX) &&
            ntk_str_parse_u64(entry->d_name + strlen(NTK_HOOKS_USER_PREFIX), &uid) == 0 &&
            uid != geteuid()) {
            (void)snprintf(source->others, sizeof source->others,
                           "permission denied for applications of user %llu: run as root",
                           (unsigned long long)uid);
            break;
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static int live_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                     struct ntk_err *err)
{
    struct live_source *source = (struct live_source *)base;
    int ret = ntk_collector_poll(source->collector, out_snapshot, err);

    if (ret < 0) {
        return ret;
    }
    if (!(*out_snapshot)->hardware.software && !(*out_snapshot)->instance.id[0]) {
        (*out_snapshot)->instance.id = ntk_snapshot_text(*out_snapshot, source->instance_id);
    }
    ntk_top_pods_fill(&source->pods, *out_snapshot);
    source->first_ns = source->first_ns ? source->first_ns : (*out_snapshot)->realtime_ns;
    ntk_health_forget_since(*out_snapshot, 0, source->first_ns);
    ntk_top_agent_health_fill(source->agent, *out_snapshot);
    source->others[0] = '\0';
    if ((*out_snapshot)->runtime_count == 0) {
        look_for_others(source);
    }
    return 1;
}

static void live_close(struct ntk_top_source *base)
{
    struct live_source *source = (struct live_source *)base;

    ntk_collector_destroy(source->collector);
    ntk_top_pods_fini(&source->pods);
    ntk_top_agent_health_destroy(source->agent);
    free(source);
}

static const char *live_note(const struct ntk_top_source *base)
{
    const struct live_source *source = (const struct live_source *)base;
    const char *note = ntk_collector_note(source->collector);

    return note[0] ? note : source->others;
}

static void live_read_events(struct ntk_top_source *base)
{
    ntk_collector_read_events(((struct live_source *)base)->collector);
}

static void live_read_latency(struct ntk_top_source *base, bool of_models)
{
    ntk_collector_read_latency(((struct live_source *)base)->collector, of_models);
}

static void live_read_usage(struct ntk_top_source *base)
{
    ntk_collector_read_usage(((struct live_source *)base)->collector);
}

static bool live_has_news(struct ntk_top_source *base)
{
    struct live_source *source = (struct live_source *)base;

    return ntk_collector_drain(source->collector) >= 0 &&
           ntk_collector_health_changed(source->collector);
}

static const struct ntk_top_source_ops live_ops = {
    .is_here = true,
    .take = live_take,
    .close = live_close,
    .note = live_note,
    .read_events = live_read_events,
    .read_latency = live_read_latency,
    .read_usage = live_read_usage,
    .has_news = live_has_news,
};

int ntk_top_source_live_open(const char *sysfs_root, struct ntk_top_source **out_source,
                             struct ntk_err *err)
{
    /* Events explain causes, but most views only show amounts, which counters provide at lower
     * cost. Few views show latency. */
    struct ntk_collector_options options = { .sysfs_root = sysfs_root,
                                             .no_events = true,
                                             .no_latency = true,
                                             .no_usage = true,
                                             .no_self = true,
                                             .command_lines = true,
                                             .health_ns = HEALTH_NS,
                                             .many_cores_ns = MANY_CORES_NS };
    struct live_source *source = calloc(1, sizeof *source);
    int ret;

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->base.ops = &live_ops;
    source->base.fd = -1;
    ntk_top_pods_init(&source->pods, NTK_TOP_PODS_FOLDER);
    ntk_device_firmware_instance_id(sysfs_root, source->instance_id, sizeof source->instance_id);
    ret = ntk_collector_create(&options, &source->collector, err);
    if (ret < 0) {
        free(source);
        return ret;
    }
    /* agent of this machine */
    source->agent = sysfs_root ? NULL : ntk_top_agent_health_create(NULL);
    *out_source = &source->base;
    return 0;
}
