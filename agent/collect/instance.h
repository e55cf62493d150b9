/* SPDX-License-Identifier: MIT */
/*
 * instance - facts about this machine: the firmware's tables (DMI) at once, and EC2's instance
 * metadata service (IMDSv2) from a separate thread, so that no other thread waits for it.
 *
 * The service is asked until it has answered everything once, with growing pauses, because the
 * network of a starting machine may come up late. Its answers are kept permanently.
 *
 * Asked: /latest/api/token, then below /latest/meta-data/ the paths of the members of struct
 * ntk_instance. The service has no known path for the UltraServer.
 *
 * Owner:   ntk_instance_source_create() / _destroy(), which cancels a running request.
 * Threads: _get from any.
 */
#ifndef NTK_AGENT_COLLECT_INSTANCE_H
#define NTK_AGENT_COLLECT_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The service's place on every EC2 machine. */
#define NTK_INSTANCE_ENDPOINT "http://169.254.169.254"
#define NTK_INSTANCE_CONNECT_NS UINT64_C(1000000000)
#define NTK_INSTANCE_TIMEOUT_NS UINT64_C(2000000000) /* of one question */
#define NTK_INSTANCE_PAUSE_NS UINT64_C(1000000000) /* after the first failure, then twice as long */
#define NTK_INSTANCE_PAUSE_MAX_NS UINT64_C(600000000000)

struct ntk_clock;
struct ntk_instance_source;

struct ntk_instance_options {
    const char *sysfs_root; /* replaces /sys; NULL: /sys */
    const char *endpoint;   /* of the service; NULL: do not ask */
    /* Ask even if DMI does not identify an EC2 machine. */
    bool is_certain;
    const struct ntk_clock *clock; /* for pauses; borrowed; NULL: the system's */
    /* The program that is started to ask (instance_facts.h describes why). NULL, or if it cannot be
     * started: a thread of this process asks. */
    const char *program;
};

/* The endpoint as the AWS SDKs find it: $AWS_EC2_METADATA_SERVICE_ENDPOINT, NULL with
 * $AWS_EC2_METADATA_DISABLED=true, else NTK_INSTANCE_ENDPOINT. Borrowed from the environment. */
const char *ntk_instance_endpoint_get(bool *out_is_certain);

int ntk_instance_source_create(const struct ntk_instance_options *options,
                               struct ntk_instance_source **out_source, struct ntk_err *err);
void ntk_instance_source_destroy(struct ntk_instance_source *source);

/* Copies the known facts into the snapshot; ctx is the source. Never waits for the service. */
void ntk_instance_source_get(struct ntk_snapshot *snapshot, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
