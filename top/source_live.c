/* SPDX-License-Identifier: MIT */
/* source_live - snapshots of this machine, straight from shared/collect: no agent is needed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/collect/collect.h"
#include "shared/device/device.h"
#include "top/source.h"

struct live_source {
    struct ntk_top_source base;
    struct ntk_collector *collector;
    char instance_id[64]; /* "" away from EC2 */
};

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
    return 1;
}

static void live_close(struct ntk_top_source *base)
{
    struct live_source *source = (struct live_source *)base;

    ntk_collector_destroy(source->collector);
    free(source);
}

static const char *live_note(const struct ntk_top_source *base)
{
    return ntk_collector_note(((const struct live_source *)base)->collector);
}

static void live_read_events(struct ntk_top_source *base)
{
    ntk_collector_read_events(((struct live_source *)base)->collector);
}

static const struct ntk_top_source_ops live_ops = { live_take, live_close, live_note, NULL,
                                                    live_read_events };

int ntk_top_source_live_open(const char *sysfs_root, struct ntk_top_source **out_source,
                             struct ntk_err *err)
{
    /* Events explain why; most views show how much, which the counters know and which costs less. */
    struct ntk_collector_options options = { .sysfs_root = sysfs_root,
                                             .no_events = true,
                                             .command_lines = true };
    struct live_source *source = calloc(1, sizeof *source);
    int ret;

    if (!source) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    source->base.ops = &live_ops;
    source->base.fd = -1;
    ntk_device_firmware_instance_id(sysfs_root, source->instance_id, sizeof source->instance_id);
    ret = ntk_collector_create(&options, &source->collector, err);
    if (ret < 0) {
        free(source);
        return ret;
    }
    *out_source = &source->base;
    return 0;
}
