/* SPDX-License-Identifier: MIT */
/*
 * health - the vocabulary for the health of a device: verdicts, reasons, actions, as data.
 *
 * Only shared/collect decides the verdict of a device; all other code shows it with these words.
 *
 * Threads: any; constant data.
 */
#ifndef NTK_SHARED_METRICS_HEALTH_H
#define NTK_SHARED_METRICS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_device_sample;
struct ntk_health_sample;
struct ntk_snapshot;

/* The numbers are those of the metric; a worse verdict has a higher number. */
enum ntk_health_verdict {
    NTK_HEALTH_HEALTHY = 0,
    NTK_HEALTH_UNKNOWN = 1,
    NTK_HEALTH_UNHEALTHY = 2,
    NTK_HEALTH_VERDICT_COUNT
};
extern const char *const ntk_health_verdict_names[NTK_HEALTH_VERDICT_COUNT];

enum ntk_health_action {
#define NTK_HEALTH_ACTION(symbol, ...) NTK_HEALTH_ACTION_##symbol,
#include "shared/metrics/health.def"
    NTK_HEALTH_ACTION_COUNT
};
struct ntk_health_action_row {
    const char *name;
    const char *sentence;
};
extern const struct ntk_health_action_row ntk_health_actions[NTK_HEALTH_ACTION_COUNT];

enum ntk_health_reason {
#define NTK_HEALTH_REASON(symbol, ...) NTK_HEALTH_REASON_##symbol,
#include "shared/metrics/health.def"
    NTK_HEALTH_REASON_COUNT
};
struct ntk_health_reason_row {
    const char *name;
    enum ntk_health_verdict verdict;
    enum ntk_health_action action;
    const char *sentence;
};
extern const struct ntk_health_reason_row ntk_health_reasons[NTK_HEALTH_REASON_COUNT];

/* The evidence that was available to judge the device. */
enum ntk_health_evidence {
    NTK_HEALTH_BY_ECC = 0,        /* counters of uncorrected errors */
    NTK_HEALTH_BY_COMPONENTS = 1, /* the leaf unhealthy_components */
    NTK_HEALTH_BY_HEARTBEAT = 2,
    NTK_HEALTH_BY_STATUS = 3,    /* status counters of cores */
    NTK_HEALTH_BY_PROCESSES = 4, /* executions of observed processes */
    NTK_HEALTH_EVIDENCE_COUNT
};
extern const char *const ntk_health_evidence_names[NTK_HEALTH_EVIDENCE_COUNT];

/* The number of a name, or -1. */
int ntk_health_reason_of(const char *name);

/* The device's worst reason; NULL if the device is healthy. Relies on the reasons being sorted. */
const struct ntk_health_reason_row *ntk_health_worst(const struct ntk_device_sample *device);
/* Returns true if only processes report this reason. A process reports failures that prove nothing
 * against the device, so no decision to take a device or node out of service may use them. */
bool ntk_health_reason_is_of_process(enum ntk_health_reason reason);
/* The verdict based on the driver and diagnoses, and the worst reason (NULL: none). */
enum ntk_health_verdict ntk_health_driver_verdict(const struct ntk_device_sample *device,
                                                  const struct ntk_health_sample **out_worst);
/* The strongest action among the device's reasons. */
enum ntk_health_action ntk_health_action_of(const struct ntk_device_sample *device);

/* Cores as bits of struct ntk_health_sample.cores, and their numbers on the machine. */
#define NTK_HEALTH_CORES_MAX 32u
uint32_t ntk_health_core_number(const struct ntk_device_sample *device, uint32_t bit);
/* A word with the core's bit set; 0 if the core belongs to another device. */
uint32_t ntk_health_core_bit(const struct ntk_device_sample *device, uint64_t core);

/* The stored health of a device. */
struct ntk_health_stored {
    uint32_t verdict; /* enum ntk_health_verdict */
    uint64_t since_ns;
    struct {
        uint64_t since_ns; /* start time by reason; 0: not a current reason */
        bool has_core;
        uint16_t core; /* first core, global physical number */
    } reasons[NTK_HEALTH_REASON_COUNT];
};

/* Makes the times between from_ns and to_ns unknown (0): verdicts and reasons that a collector
 * found at its first checks began earlier, at an unknown time. */
void ntk_health_forget_since(struct ntk_snapshot *snapshot, uint64_t from_ns, uint64_t to_ns);

/* Formats device, reason and action: "device 3: dma_abort: reset the device; ...". */
#define NTK_HEALTH_SENTENCE_BYTES 160
void ntk_health_reason_format(uint32_t device_index, enum ntk_health_reason reason, char *buf,
                              size_t buf_bytes);

/* The verdict on a machine: that of its worst device, with the strongest action among all devices.
 * A zeroed struct has no device yet. */
struct ntk_health_node {
    bool is_known; /* at least one device has a verdict */
    enum ntk_health_verdict verdict;
    enum ntk_health_action action;
};
/* Call it for a device with a verdict, then for each of its reasons. */
void ntk_health_node_add(struct ntk_health_node *node, uint32_t verdict);
void ntk_health_node_add_reason(struct ntk_health_node *node, enum ntk_health_reason reason);

/* The verdict on a core, by its number within the device: the worst of the core's reasons, without
 * reasons that concern the whole device. */
enum ntk_health_verdict ntk_health_core_verdict(const struct ntk_device_sample *device,
                                                uint32_t local_core);

#ifdef __cplusplus
}
#endif
#endif
