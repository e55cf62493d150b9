/* SPDX-License-Identifier: MIT */
/* EFA adapters: what their ports have counted. */
#include <stdlib.h>

#include "shared/collect/source.h"
#include "shared/device/efa.h"

struct source_efa {
    const char *root;
    struct ntk_efa_reading readings[NTK_EFA_PORTS_MAX];
};

static int source_efa_sample(void *state, struct ntk_aggregate *aggregate, uint64_t now_ns,
                             struct ntk_err *err)
{
    struct source_efa *source = state;

    (void)now_ns;
    (void)err;
    ntk_aggregate_set_efa(aggregate, source->readings,
                          ntk_efa_read(source->root, source->readings, NTK_EFA_PORTS_MAX));
    return 0;
}

static void source_efa_destroy(void *state)
{
    free(state);
}

static const struct ntk_collect_source_ops ops = {
    .sample = source_efa_sample,
    .destroy = source_efa_destroy,
};

int ntk_source_efa_open(const struct ntk_collector_options *options,
                        struct ntk_collect_source *out_source, struct ntk_err *err)
{
    struct source_efa *source = calloc(1, sizeof *source);

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->root = options->sysfs_root     ? options->sysfs_root
                   : options->driver_sysfs ? options->driver_sysfs
                                           : "/sys";
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
