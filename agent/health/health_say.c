/* SPDX-License-Identifier: MIT */
#include "agent/health/health_say.h"

#include "shared/base/log.h"

#define MODULE "agent"

void ntk_health_say(struct ntk_health_said *said, const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        const struct ntk_health_reason_row *worst = ntk_health_worst(device);
        enum ntk_health_action action = ntk_health_action_of(device);
        uint32_t index = device->index;

        if (!(device->has & NTK_DEVICE_HAS_HEALTH) || index >= NTK_SNAPSHOT_DEVICES_MAX ||
            (device->verdict == said->devices[index].verdict &&
             (device->verdict == NTK_HEALTH_HEALTHY || action <= said->devices[index].action))) {
            continue;
        }
        bool was_quiet = said->devices[index].verdict == NTK_HEALTH_UNKNOWN &&
                         said->devices[index].action == NTK_HEALTH_ACTION_NONE;
        said->devices[index].verdict = device->verdict;
        said->devices[index].action = action;
        if (device->verdict == NTK_HEALTH_HEALTHY || !worst) {
            /* This message has the same severity as the problem. */
            ntk_log_write(was_quiet ? NTK_LOG_INFO : NTK_LOG_WARN, MODULE, "device %u is %s again",
                          index, ntk_health_verdict_names[device->verdict]);
        } else if (action == NTK_HEALTH_ACTION_NONE) {
            ntk_log_info(MODULE, "the health of device %u is unknown: %s", index, worst->sentence);
        } else {
            ntk_log_warn(MODULE, "device %u is %s (%s): %s; %s", index,
                         ntk_health_verdict_names[device->verdict], worst->name, worst->sentence,
                         ntk_health_actions[action].sentence);
        }
    }
}
