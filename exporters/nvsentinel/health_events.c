/* SPDX-License-Identifier: MIT */
/* health_events - encodes changes of health as events. */
#include "exporters/nvsentinel/health_events.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "exporters/nvsentinel/health_event.pb-c.h"
#include "shared/base/clock.h"
#include "shared/metrics/health.h"

#define CODE_BYTES 96

#define ACTION(name) NTK__NVSENTINEL__RECOMMENDED_ACTION__##name
static const struct {
    Ntk__Nvsentinel__RecommendedAction action;
    bool is_fatal;
} actions[NTK_HEALTH_ACTION_COUNT] = {
    [NTK_HEALTH_ACTION_NONE] = { ACTION(CONTACT_SUPPORT), false },
    [NTK_HEALTH_ACTION_RESTART_WORKLOAD] = { ACTION(RESTART_APP), false },
    [NTK_HEALTH_ACTION_RESET_DEVICE] = { ACTION(COMPONENT_RESET), true },
    [NTK_HEALTH_ACTION_RELOAD_DRIVER] = { ACTION(RESTART_VM), true },
    [NTK_HEALTH_ACTION_REBOOT_INSTANCE] = { ACTION(RESTART_VM), true },
    [NTK_HEALTH_ACTION_REPLACE_INSTANCE] = { ACTION(REPLACE_VM), true },
};

/* Storage for texts that an event points to. */
struct texts {
    char device[16];
    char code[CODE_BYTES];
    char message[NTK_HEALTH_SENTENCE_BYTES];
};

static void add_event(const struct ntk_health_events_options *options, uint32_t device,
                      const struct ntk_health_sample *health, uint64_t now_ns, struct ntk_buf *out)
{
    Ntk__Nvsentinel__HealthEvents piece = NTK__NVSENTINEL__HEALTH_EVENTS__INIT;
    Ntk__Nvsentinel__HealthEvent event = NTK__NVSENTINEL__HEALTH_EVENT__INIT;
    Ntk__Nvsentinel__HealthEvent *events[] = { &event };
    Ntk__Nvsentinel__Entity entity = NTK__NVSENTINEL__ENTITY__INIT;
    Ntk__Nvsentinel__Entity *entities[] = { &entity };
    Ntk__Nvsentinel__Timestamp time = NTK__NVSENTINEL__TIMESTAMP__INIT;
    struct texts texts = { .message = "no Neuron errors" };
    char *codes[] = { texts.code };

    (void)snprintf(texts.device, sizeof texts.device, "%u", (unsigned)device);
    entity.entitytype = (char *)"NEURON_DEVICE";
    entity.entityvalue = texts.device;
    event.version = 1;
    event.agent = (char *)"neuron-monitor";
    event.componentclass = (char *)"Neuron";
    event.checkname = (char *)NTK_HEALTH_EVENTS_CHECK;
    event.nodename = (char *)options->node;
    event.message = texts.message;
    event.entitiesimpacted = entities;
    event.n_entitiesimpacted = 1;
    time.seconds = (int64_t)(now_ns / NTK_NS_PER_SECOND);
    time.nanos = (int32_t)(now_ns % NTK_NS_PER_SECOND);
    event.generatedtimestamp = &time;
    event.processingstrategy = options->is_store_only
                                   ? NTK__NVSENTINEL__PROCESSING_STRATEGY__STORE_ONLY
                                   : NTK__NVSENTINEL__PROCESSING_STRATEGY__EXECUTE_REMEDIATION;
    event.ishealthy = !health;
    if (health) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[health->reason];
        (void)snprintf(texts.code, sizeof texts.code, "NEURON_%s", row->name);
        for (char *c = texts.code; *c; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        ntk_health_reason_format(device, health->reason, texts.message, sizeof texts.message);
        event.recommendedaction = actions[row->action].action;
        event.isfatal = actions[row->action].is_fatal;
        event.errorcode = codes;
        event.n_errorcode = 1;
    }
    piece.events = events;
    piece.n_events = 1;
    void *to = ntk_buf_extend(out, ntk__nvsentinel__health_events__get_packed_size(&piece));
    if (to) {
        ntk__nvsentinel__health_events__pack(&piece, to);
    }
}

unsigned ntk_health_events_make(struct ntk_health_events *said,
                                const struct ntk_health_events_options *options,
                                const struct ntk_snapshot *snapshot, uint64_t now_ns,
                                struct ntk_buf *out)
{
    Ntk__Nvsentinel__HealthEvents head = NTK__NVSENTINEL__HEALTH_EVENTS__INIT;
    struct ntk_health_events now = *said;
    struct ntk_buf events = { 0 };
    unsigned count = 0;

    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        const struct ntk_health_sample *health = NULL;
        if (!(device->has & NTK_DEVICE_HAS_HEALTH) || device->index >= NTK_SNAPSHOT_DEVICES_MAX) {
            continue;
        }
        enum ntk_health_verdict verdict = ntk_health_driver_verdict(device, &health);
        bool is_healthy = verdict == NTK_HEALTH_HEALTHY;
        if (verdict == NTK_HEALTH_UNKNOWN || (!is_healthy && !health)) {
            continue;
        }
        uint16_t reason = is_healthy ? 0 : health->reason;
        if (now.devices[device->index].is_said &&
            now.devices[device->index].is_healthy == is_healthy &&
            now.devices[device->index].reason == reason) {
            continue;
        }
        now.devices[device->index].is_said = true;
        now.devices[device->index].is_healthy = is_healthy;
        now.devices[device->index].reason = reason;
        add_event(options, device->index, is_healthy ? NULL : health, now_ns, &events);
        count++;
    }
    if (count > 0) {
        head.version = 1;
        void *to = ntk_buf_extend(out, ntk__nvsentinel__health_events__get_packed_size(&head));
        if (to) {
            ntk__nvsentinel__health_events__pack(&head, to);
        }
        ntk_buf_add(out, events.bytes, events.bytes_count);
    }
    out->failed = out->failed || !ntk_buf_ok(&events);
    ntk_buf_fini(&events);
    *said = now;
    return count;
}
