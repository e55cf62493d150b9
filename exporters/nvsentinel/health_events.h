/* SPDX-License-Identifier: MIT */
/*
 * health_events - converts verdicts on devices to NVSentinel's health events: one for each changed
 * device. Its only state is the earlier reports.
 *
 * As for Kubernetes, a verdict depends only on the driver and on diagnoses, so that no process can
 * cause a node to be drained. The first event of a healthy device clears an earlier agent's report.
 * A device of unknown health has no event, because it may be unhealthy.
 *
 *   action of the reason            recommendedAction   isFatal
 *   none                            CONTACT_SUPPORT     no
 *   restart_workload                RESTART_APP         no
 *   reset_device                    COMPONENT_RESET     yes
 *   reload_driver, reboot_instance  RESTART_VM          yes
 *   replace_instance                REPLACE_VM          yes
 *
 * Source:  NVIDIA/NVSentinel, data-models/protobufs/health_event.proto and docs.
 * Owner:   caller's storage; a zeroed struct has reported nothing.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_NVSENTINEL_HEALTH_EVENTS_H
#define NTK_EXPORTERS_NVSENTINEL_HEALTH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HEALTH_EVENTS_CHECK "NeuronDeviceHealth"

struct ntk_health_events {
    struct {
        bool is_said;
        bool is_healthy;
        uint16_t reason; /* reason of a device that is not healthy */
    } devices[NTK_SNAPSHOT_DEVICES_MAX];
};

struct ntk_health_events_options {
    const char *node;
    bool is_store_only; /* store only, without repair */
};

/* Appends one message with the events of the snapshot; check ntk_buf_ok(out). Returns the number of
 * events (0: no message). */
unsigned ntk_health_events_make(struct ntk_health_events *said,
                                const struct ntk_health_events_options *options,
                                const struct ntk_snapshot *snapshot, uint64_t now_ns,
                                struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
