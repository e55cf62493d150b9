/* SPDX-License-Identifier: MIT */
/* The device tree: its facts once, its counters at each sample. */
#include <errno.h>
#include <stdlib.h>

#include "shared/collect/source.h"
#include "shared/device/device.h"

struct source_device {
    struct ntk_device_source *device;
    bool
        started; /* the first sample was taken: a tree that comes now is newer than the collector */
    bool had_tree;
    struct ntk_device_reading *readings; /* NTK_DEVICES_MAX */
};

static int source_device_sample(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                                struct ntk_err *err)
{
    struct source_device *source = state;
    const struct ntk_device_tree *tree;
    unsigned int read = NTK_DEVICE_READ_DEVICE;
    bool appeared;
    size_t count;
    int ret = ntk_device_source_refresh(source->device, err);

    (void)monotonic_ns;
    if (ret < 0) {
        return ret;
    }
    tree = ntk_device_source_tree(source->device);
    appeared = source->started && !source->had_tree;
    source->started = true;
    source->had_tree = tree->device_count > 0;
    if (tree->origin != NTK_DEVICE_ORIGIN_SOFTWARE && ntk_aggregate_wants_device_cores(aggregate)) {
        read |= NTK_DEVICE_READ_CORES;
    }
    count = ntk_device_source_read(source->device, read, source->readings, NTK_DEVICES_MAX);
    ntk_aggregate_devices(aggregate, tree, appeared, source->readings, count);
    return 0;
}

static void source_device_destroy(void *state)
{
    struct source_device *source = state;

    ntk_device_source_close(source->device);
    free(source->readings);
    free(source);
}

static const struct ntk_collect_source_ops ops = {
    .name = "device",
    .sample = source_device_sample,
    .destroy = source_device_destroy,
};

int ntk_source_device_open(const struct ntk_collector_options *options,
                           struct ntk_collect_source *out_source, struct ntk_err *err)
{
    const struct ntk_device_options device_options = {
        .sysfs_root = options->sysfs_root,
        .driver_sysfs = options->driver_sysfs,
        .hooks_dir = options->hooks_dir,
    };
    struct source_device *source = calloc(1, sizeof *source);
    int ret;

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->readings = calloc(NTK_DEVICES_MAX, sizeof *source->readings);
    if (!source->readings) {
        free(source);
        return ntk_err_no_memory(err);
    }
    ret = ntk_device_source_open(&device_options, &source->device, err);
    if (ret < 0) {
        free(source->readings);
        free(source);
        return ret;
    }
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
