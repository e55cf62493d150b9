/* SPDX-License-Identifier: MIT */
#include "shared/metrics/health.h"

#include <stdio.h>
#include <string.h>

#include "shared/abi/core_number.h"
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

bool ntk_health_reason_is_of_process(enum ntk_health_reason reason)
{
    enum {
        ECC = 1u << 0,
        COMPONENT = 1u << 1,
        STATUS = 1u << 2,
        PROCESS = 1u << 3,
        DIAG = 1u << 4
    };
    static const struct {
        enum ntk_health_reason reason;
        unsigned int origin;
    } signals[] = {
#define NTK_HEALTH_SIGNAL(symbol, origin, key, reason, clears) \
    { NTK_HEALTH_REASON_##reason, origin },
#include "shared/metrics/health.def"
    };
    unsigned int origins = 0;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        origins |= signals[i].reason == reason ? signals[i].origin : 0;
    }
    return origins == PROCESS;
}

enum ntk_health_verdict ntk_health_driver_verdict(const struct ntk_device_sample *device,
                                                  const struct ntk_health_sample **out_worst)
{
    *out_worst = NULL;
    if (!(device->has & NTK_DEVICE_HAS_HEALTH)) {
        return NTK_HEALTH_UNKNOWN;
    }
    for (size_t i = 0; i < device->health_count; i++) {
        if (!ntk_health_reason_is_of_process(device->health[i].reason)) {
            *out_worst = &device->health[i]; /* sorted, so the first is the worst */
            return ntk_health_reasons[device->health[i].reason].verdict;
        }
    }
    /* A verdict without reasons is returned unchanged. */
    return device->health_count > 0                     ? NTK_HEALTH_HEALTHY
           : device->verdict < NTK_HEALTH_VERDICT_COUNT ? (enum ntk_health_verdict)device->verdict
                                                        : NTK_HEALTH_UNKNOWN;
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

uint32_t ntk_health_core_number(const struct ntk_device_sample *device, uint32_t bit)
{
    return ntk_core_number(device->index, device->core_count, bit);
}

uint32_t ntk_health_core_bit(const struct ntk_device_sample *device, uint64_t core)
{
    uint64_t bit = core - ntk_health_core_number(device, 0);

    return bit < NTK_HEALTH_CORES_MAX ? 1u << bit : 0;
}

static void forget_since(uint64_t *since_ns, uint64_t from_ns, uint64_t to_ns)
{
    if (*since_ns >= from_ns && *since_ns <= to_ns) {
        *since_ns = 0;
    }
}

void ntk_health_forget_since(struct ntk_snapshot *snapshot, uint64_t from_ns, uint64_t to_ns)
{
    for (size_t i = 0; i < snapshot->device_count; i++) {
        struct ntk_device_sample *device = &snapshot->devices[i];

        forget_since(&device->verdict_since_ns, from_ns, to_ns);
        for (size_t k = 0; k < device->health_count; k++) {
            forget_since(&device->health[k].since_ns, from_ns, to_ns);
        }
    }
}

void ntk_health_reason_format(uint32_t device_index, enum ntk_health_reason reason, char *buf,
                              size_t buf_bytes)
{
    const struct ntk_health_reason_row *row = &ntk_health_reasons[reason];

    (void)snprintf(buf, buf_bytes, "device %u: %s: %s", device_index, row->name,
                   ntk_health_actions[row->action].sentence);
}

void ntk_health_node_add(struct ntk_health_node *node, uint32_t verdict)
{
    node->is_known = true;
    node->verdict = verdict > node->verdict ? (enum ntk_health_verdict)verdict : node->verdict;
}

void ntk_health_node_add_reason(struct ntk_health_node *node, enum ntk_health_reason reason)
{
    enum ntk_health_action action = ntk_health_reasons[reason].action;

    node->action = action > node->action ? action : node->action;
}

enum ntk_health_verdict ntk_health_core_verdict(const struct ntk_device_sample *device,
                                                uint32_t local_core)
{
    enum ntk_health_verdict verdict = NTK_HEALTH_HEALTHY;

    for (size_t i = 0; i < device->health_count && local_core < NTK_HEALTH_CORES_MAX; i++) {
        enum ntk_health_verdict of = ntk_health_reasons[device->health[i].reason].verdict;

        if (device->health[i].cores & 1u << local_core && of > verdict) {
            verdict = of;
        }
    }
    return verdict;
}
