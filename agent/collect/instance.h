/* SPDX-License-Identifier: MIT */
/*
 * instance - where this machine runs: the firmware's tables (DMI) at once, and EC2's instance
 * metadata service (IMDSv2) from its own thread, so that no thread ever waits for it.
 *
 * The service is asked until it answered everything once, with growing pauses while it does not
 * answer
 * answer: the network of a machine that starts may come late. What it told holds for good.
 *
 * Asked: /latest/api/token, then below /latest/meta-data/ what struct ntk_instance has a member
 * for. The UltraServer is not among it: no path of the service is known to tell it.
 *
 * Owner:   ntk_instance_source_create() / _destroy(), which ends a question that is being asked.
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
    const char *sysfs_root; /* stands for /sys; NULL: that */
    const char *endpoint;   /* of the service; NULL: it is not asked */
    /* Whether it is asked even if DMI says that this is not a machine of EC2. */
    bool is_certain;
    const struct ntk_clock *clock; /* of pauses; borrowed; NULL: the system's */
    /* A program of ours that is started to ask (instance_facts.h describes why); NULL, or when it
     * cannot be started: a thread of this process asks. */
    const char *program;
};

/* The endpoint as the AWS SDKs find it: $AWS_EC2_METADATA_SERVICE_ENDPOINT, NULL with
 * $AWS_EC2_METADATA_DISABLED=true, else NTK_INSTANCE_ENDPOINT. Borrowed from the environment. */
const char *ntk_instance_endpoint_get(bool *out_is_certain);

int ntk_instance_source_create(const struct ntk_instance_options *options,
                               struct ntk_instance_source **out_source, struct ntk_err *err);
void ntk_instance_source_destroy(struct ntk_instance_source *source);

/* Puts what is known now into the snapshot; ctx is the source. Never waits for the service. */
void ntk_instance_source_get(struct ntk_snapshot *snapshot, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
