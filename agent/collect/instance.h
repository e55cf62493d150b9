/* SPDX-License-Identifier: MIT */
/*
 * instance - collects facts about this machine: from the firmware's tables (DMI) immediately, and
 * from EC2's instance metadata service (IMDSv2) in a separate thread, so that no other thread waits
 * for the service.
 *
 * Requests are repeated until the service has answered all of them once, with growing pauses,
 * because the network of a starting machine may come up late. The responses are kept permanently.
 *
 * The requested paths are /latest/api/token, then the paths of the members of struct ntk_instance
 * below /latest/meta-data/. The service has no known path for the UltraServer.
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

/* The address of the service on every EC2 machine. */
#define NTK_INSTANCE_ENDPOINT "http://169.254.169.254"
#define NTK_INSTANCE_CONNECT_NS UINT64_C(1000000000)
#define NTK_INSTANCE_TIMEOUT_NS UINT64_C(2000000000) /* per request */
#define NTK_INSTANCE_PAUSE_NS UINT64_C(1000000000)   /* after the first failure; then doubled */
#define NTK_INSTANCE_PAUSE_MAX_NS UINT64_C(600000000000)

struct ntk_clock;
struct ntk_instance_source;

struct ntk_instance_options {
    const char *sysfs_root; /* replaces /sys; NULL: /sys */
    const char *endpoint;   /* endpoint of the service; NULL: send no requests */
    /* Send requests even if DMI does not identify an EC2 machine. */
    bool is_certain;
    const struct ntk_clock *clock; /* for pauses; borrowed; NULL for the system clock */
    /* Program to start for the requests (instance_facts.h describes why). If NULL, or if it cannot
     * be started, a thread of this process sends them. */
    const char *program;
};

/* Finds the endpoint like AWS SDKs: $AWS_EC2_METADATA_SERVICE_ENDPOINT, NULL with
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
