/* SPDX-License-Identifier: MIT */
#include "top/ls/health.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/collect/health.h"

int ntk_ls_health_read(struct ntk_device_source *source, struct ntk_ls_machine *machine)
{
    const struct ntk_health_time now = { ntk_clock_monotonic_ns(), ntk_clock_realtime_ns() };
    struct ntk_device_reading *readings = calloc(machine->device_count, sizeof *readings);
    struct ntk_health *health = ntk_health_create();
    int ret = -ENOMEM;

    machine->judged = ntk_snapshot_create();
    if (readings && health && machine->judged) {
        size_t count =
            ntk_device_source_read(source, NTK_DEVICE_READ_HEALTH, readings, machine->device_count);

        ntk_health_tree(health, ntk_device_source_tree(source), true, now);
        for (size_t i = 0; i < count; i++) {
            struct ntk_device_sample *sample = &machine->devices[i].health;

            sample->index = readings[i].index;
            ntk_health_reading(health, &readings[i], NTK_DEVICE_READ_HEALTH, false, false, now);
            ntk_health_fill(health, machine->judged, sample);
            if (!(sample->health_evidence &
                  (1u << NTK_HEALTH_BY_ECC | 1u << NTK_HEALTH_BY_COMPONENTS))) {
                sample->has = 0; /* a longer check may find the evidence */
            }
        }
        ret = ntk_snapshot_ok(machine->judged) ? 0 : -ENOMEM;
    }
    ntk_health_destroy(health);
    free(readings);
    return ret;
}

void ntk_ls_health_write(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        const struct ntk_device_sample *device = &machine->devices[i].health;
        const struct ntk_health_reason_row *worst = ntk_health_worst(device);

        if (device->has & NTK_DEVICE_HAS_HEALTH && device->verdict != NTK_HEALTH_HEALTHY && worst) {
            ntk_buf_add_format(out, "Device %u is %s (%s): %s; %s\n", device->index,
                               ntk_health_verdict_names[device->verdict], worst->name,
                               worst->sentence,
                               ntk_health_actions[ntk_health_action_of(device)].sentence);
        }
    }
}
