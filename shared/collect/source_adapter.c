/* SPDX-License-Identifier: MIT */
/* source_adapter - the counters of network adapter ports. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/aside.h"
#include "shared/base/clock.h"
#include "shared/collect/source.h"
#include "shared/device/adapter.h"

/* Time limit for a read. Each read queries the adapter, which may hang; then its ports are
 * absent. */
#define WAIT_NS NTK_NS_PER_SECOND
/* Interval of reads while the machine has no ports: waking the thread costs more than all other
 * work of a poll on an idle machine. */
#define NONE_NS (5 * NTK_NS_PER_SECOND)

struct source_adapter {
    struct ntk_aside *aside; /* NULL: no thread could be created, so the calling thread reads */
    char *root;
    uint64_t none_ns; /* time of the last read if it found no ports; 0: it found some */
    size_t count;
    struct ntk_adapter_port ports[NTK_ADAPTER_PORTS_MAX];
};

static ntk_adapter_read *const readers[NTK_ADAPTER_COUNT] = {
#define NTK_ADAPTER(family, word) ntk_##word##_read,
#include "shared/abi/adapter.def"
};

static void read_ports(void *ctx)
{
    struct source_adapter *source = ctx;

    source->count = 0;
    for (int i = 0; i < NTK_ADAPTER_COUNT; i++) {
        source->count += readers[i](source->root, source->ports + source->count,
                                    NTK_ADAPTER_PORTS_MAX - source->count);
    }
}

static void release(void *ctx)
{
    struct source_adapter *source = ctx;

    free(source->root);
    free(source);
}

static int source_adapter_sample(void *state, struct ntk_aggregate *aggregate, uint64_t now_ns,
                                 struct ntk_err *err)
{
    struct source_adapter *source = state;

    (void)err;
    if (source->none_ns > 0 && now_ns - source->none_ns < NONE_NS) {
        return 0;
    }
    if (source->aside && !ntk_aside_ask(source->aside, WAIT_NS)) {
        return 0;
    }
    if (!source->aside) {
        read_ports(source);
    }
    source->none_ns = source->count == 0 ? now_ns : 0;
    ntk_aggregate_set_ports(aggregate, source->ports, source->count);
    return 0;
}

static void source_adapter_destroy(void *state)
{
    struct source_adapter *source = state;

    if (source && source->aside) {
        ntk_aside_destroy(source->aside);
    } else if (source) {
        release(source);
    }
}

static const struct ntk_collect_source_ops ops = {
    .sample = source_adapter_sample,
    .destroy = source_adapter_destroy,
};

int ntk_source_adapter_open(const struct ntk_collector_options *options,
                            struct ntk_collect_source *out_source, struct ntk_err *err)
{
    struct source_adapter *source = calloc(1, sizeof *source);

    const char *root = options->sysfs_root     ? options->sysfs_root
                       : options->driver_sysfs ? options->driver_sysfs
                                               : "/sys";

    if (!source || !(source->root = strdup(root))) {
        free(source);
        return ntk_err_no_memory(err);
    }
    source->aside = ntk_aside_create(read_ports, release, source);
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
