/* SPDX-License-Identifier: MIT */
/*
 * otlp_health - encodes changes of device health as OTLP log records. Its only state is the last
 * health of each device.
 *
 *   event_name                            severity  when
 *   neuron.device.health.reason.started   by verdict a reason was found
 *   neuron.device.health.reason.ended     INFO      ... and no longer holds
 *   neuron.device.health.verdict          by verdict the verdict changed
 *
 * Severity: ERROR for unhealthy, WARN for unknown, INFO for healthy. A device that is healthy when
 * it is first seen has no record.
 *
 * Source:  opentelemetry-proto 1.x, logs.proto; docs/formats/otlp.md lists the attributes.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_HEALTH_H
#define NTK_EXPORTERS_OTLP_OTLP_HEALTH_H

#include "exporters/otlp/otlp_parts.h"
#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The last health of each device; zeroed at first. */
struct ntk_otlp_health {
    struct {
        bool is_known;
        uint32_t verdict;
        uint64_t reasons; /* bit i is reason i */
    } devices[NTK_SNAPSHOT_DEVICES_MAX];
};

/* Appends a request with the changes since the last call; attributes are the user's (struct
 * ntk_otlp_pair, may be NULL). Returns the number of records (0: out is unchanged), or -ENOMEM: the
 * next call then includes these changes. */
int ntk_otlp_health_encode(struct ntk_otlp_health *health, const struct ntk_snapshot *snapshot,
                           const struct ntk_otlp_machine *machine, const struct ntk_vec *attributes,
                           uint64_t now_ns, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
