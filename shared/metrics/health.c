/* SPDX-License-Identifier: MIT */
#include "shared/metrics/health.h"

#include <string.h>

#include "shared/metrics/snapshot.h"

const char *const ntk_health_verdict_names[NTK_HEALTH_VERDICT_COUNT] = {
    [NTK_HEALTH_HEALTHY] = "healthy",
    [NTK_HEALTH_UNKNOWN] = "unknown",
    [NTK_HEALTH_UNHEALTHY] = "unhealthy",
};

const char *const ntk_health_evidence_names[NTK_HEALTH_EVIDENCE_COUNT] = {
    [NTK_HEALTH_BY_ECC] = "ecc",
    [NTK_HEALTH_BY_COMPONENTS] = "components",
    [NTK_HEALTH_BY_HEARTBEAT] = "heartbeat",
    [NTK_HEALTH_BY_STATUS] = "status",
    [NTK_HEALTH_BY_PROCESSES] = "processes",
};

const struct ntk_health_action_row ntk_health_actions[NTK_HEALTH_ACTION_COUNT] = {
#define NTK_HEALTH_ACTION(symbol, name, sentence) { name, sentence },
#include "shared/metrics/health.def"
};

const struct ntk_health_reason_row ntk_health_reasons[NTK_HEALTH_REASON_COUNT] = {
#define NTK_HEALTH_REASON(symbol, name, verdict, action, sentence) \
    { name, NTK_HEALTH_##verdict, NTK_HEALTH_ACTION_##action, sentence },
#include "shared/metrics/health.def"
};

int ntk_health_verdict_of(const char *name)
{
    for (int i = 0; i < NTK_HEALTH_VERDICT_COUNT; i++) {
        if (strcmp(name, ntk_health_verdict_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int ntk_health_reason_of(const char *name)
{
    for (int i = 0; i < NTK_HEALTH_REASON_COUNT; i++) {
        if (strcmp(name, ntk_health_reasons[i].name) == 0) {
            return i;
        }
    }
    return -1;
}

const struct ntk_health_reason_row *ntk_health_worst(const struct ntk_device_sample *device)
{
    return device->health_count > 0 ? &ntk_health_reasons[device->health[0].reason] : NULL;
}

enum ntk_health_action ntk_health_action_of(const struct ntk_device_sample *device)
{
    enum ntk_health_action action = NTK_HEALTH_ACTION_NONE;

    for (size_t i = 0; i < device->health_count; i++) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[device->health[i].reason];

        action = row->action > action ? row->action : action;
    }
    return action;
}
