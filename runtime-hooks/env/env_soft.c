/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/env/env_soft.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "runtime-hooks/env/env.h"

#define DEFAULT_FEATURES UINT64_C(0x8000000000000FFF)

static struct ntk_core_setting setting(const char *name)
{
    return (struct ntk_core_setting){ .name = name, .value = ntk_env_text(name) };
}

int ntk_env_soft_machine_get(struct ntk_core_machine_options *out_machine, struct ntk_err *err)
{
    const char *layout = ntk_env_text("NEURON_SOFT_SYSFS");
    bool is_new = layout && strcmp(layout, "new") == 0;

    if (layout && !is_new && strcmp(layout, "old") != 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "NEURON_SOFT_SYSFS=%s is neither old nor new", layout);
    }
    *out_machine = (struct ntk_core_machine_options){ .instance = setting("NEURON_SOFT_INSTANCE"),
                                                      .new_tree = is_new };
    return 0;
}

int ntk_env_soft_options_get(struct ntk_core_options *options, struct ntk_err *err)
{
    int ret = ntk_env_soft_machine_get(&options->machine, err);

    options->faults = setting("NEURON_SOFT_FAULT");
    return ret < 0 ? ret : ntk_env_bool("NEURON_SOFT_PACE", &options->is_paced, err);
}

int ntk_env_soft_load_options_get(struct ntk_core_load_options *options, struct ntk_err *err)
{
    options->features_mask = DEFAULT_FEATURES;
    options->opaque_way_out = "NEURON_SOFT_OPAQUE=1";
    options->cpu_nodes_why = "another user owns it, or NEURON_SOFT_CPU_NODES forbids it";
    int ret = ntk_env_bool("NEURON_SOFT_OPAQUE", &options->run_opaque, err);

    return ret < 0 ? ret : ntk_env_u64("NEURON_SOFT_NEFF_FEATURES", &options->features_mask, err);
}

enum ntk_env_cpu_nodes ntk_env_soft_cpu_nodes(void)
{
    const char *value = ntk_env_text("NEURON_SOFT_CPU_NODES");

    if (value && strcmp(value, "1") == 0) {
        return NTK_ENV_CPU_NODES_ALL;
    }
    return value && strcasecmp(value, "own") != 0 ? NTK_ENV_CPU_NODES_NONE : NTK_ENV_CPU_NODES_OWN;
}
