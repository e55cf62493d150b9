/* SPDX-License-Identifier: MIT */
/*
 * health_say - logs messages of the agent about the health of devices: changed verdicts, and
 * further actions.
 *
 * Owner:   caller's storage, zeroed. Threads: one.
 */
#ifndef NTK_AGENT_HEALTH_HEALTH_SAY_H
#define NTK_AGENT_HEALTH_HEALTH_SAY_H

#include "shared/metrics/snapshot.h"

struct ntk_health_said {
    struct {
        uint32_t verdict; /* value of enum ntk_health_verdict */
        enum ntk_health_action action;
    } devices[NTK_SNAPSHOT_DEVICES_MAX];
};

/* Logs changes; a device without a report needs no action. */
void ntk_health_say(struct ntk_health_said *said, const struct ntk_snapshot *snapshot);

#endif
