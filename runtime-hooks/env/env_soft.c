/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/env/env_soft.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "runtime-hooks/core/core_text.h"
#include "runtime-hooks/env/env.h"

#define DEFAULT_FEATURES UINT64_C(0x8000000000000FFF)

/* The vendor runtime's wording for places, failures and files (docs/formats/memory-log.md). */
#define FATAL "(FATAL-RT-UNDEFINED-STATE) "
#define HERE "[ND $device][NC $core] "
#define AT " (engine $engine, slot $slot)"
static const char *const texts[NTK_CORE_TEXTS] = {
    [NTK_CORE_FAULT_SRAM] = FATAL HERE "Uncorrectable memory error is detected, metadata: 0x16. "
                                       "Execution of model $model cannot be trusted",
    [NTK_CORE_FAULT_HBM] = FATAL "Uncorrectable HBM memory error is detected. " HERE
                                 "cannot be repaired: terminate this instance and start another",
    [NTK_CORE_FAULT_HBM_REPAIRABLE] =
        FATAL "Uncorrectable HBM memory error is detected. " HERE
              "can be repaired: reload the driver or reboot the instance",
    [NTK_CORE_FAULT_DMA_ABORT] = "[MLA $device][NC $core] DMA TX engine 0 is in an abort state",
    [NTK_CORE_FAULT_HANG] =
        FATAL "execution timeout ($ms ms) on Neuron Device $device NC $core, model $model, waiting "
              "for execution completion notification",
    [NTK_CORE_FAULT_HANG_COLLECTIVE] =
        FATAL "missing collectives status on Neuron Device $device NC $core, model $model - "
              "suspected hang in collectives operation 0 out of 1",
    [NTK_CORE_FAULT_QUEUE_OVERFLOW] = HERE "a notification queue overflowed while running model "
                                           "$model: notifications of this execution are "
                                           "lost",
    [NTK_CORE_FAULT_DEVICE] = FATAL HERE "failed during an execution of model $model",
    [NTK_CORE_FAULT_NC_BUSY] = HERE "is locked by another process: model $model did not run",
    [NTK_CORE_TEXT_OUT_OF_BOUNDS] = HERE "Out of bounds access on model $model" AT,
    [NTK_CORE_TEXT_TIMEOUT] = HERE "execution timeout ($ms ms) on model $model: $what" AT,
    [NTK_CORE_TEXT_RUN] = HERE "execution of model $model (id $id): $what" AT,
    [NTK_CORE_TEXT_DEAD] =
        HERE "cannot run model $model after a fatal error: close the runtime and initialise it "
             "again",
    [NTK_CORE_TEXT_DEVICE] = "ND $device",
    [NTK_CORE_TEXT_STACK] = "ND $device HBM $stack",
    [NTK_CORE_TEXT_CORE] = "NC $core",
    [NTK_CORE_TEXT_PLACE] = "ND $device:NC $core",
    [NTK_CORE_TEXT_TABLE_OF_STACK] = "neuron_mem_table_device_$device_hbm_$stack.log",
    [NTK_CORE_TEXT_TABLE_OF_CORE] = "neuron_mem_table_device_$device_nc_$core.log",
    [NTK_CORE_TEXT_LOG_OF_STACK] = "neuron_mem_log_device_$device_hbm_$stack_$pid.csv",
    [NTK_CORE_TEXT_LOG_OF_DEVICE] = "$what_mem_log_device_$device_$pid.csv",
    [NTK_CORE_TEXT_LIVE_OF_STACK] = "neuron_mem_alloc_device_$device_hbm_$stack_$pid.csv",
};

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
                           "NEURON_SOFT_SYSFS=%s: expected old or new", layout);
    }
    *out_machine = (struct ntk_core_machine_options){ .instance = setting("NEURON_SOFT_INSTANCE"),
                                                      .new_tree = is_new };
    return 0;
}

int ntk_env_soft_options_get(struct ntk_core_options *options, struct ntk_err *err)
{
    int ret = ntk_env_soft_machine_get(&options->machine, err);

    options->faults = setting("NEURON_SOFT_FAULT");
    options->texts = texts;
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
