/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch - sends snapshots to CloudWatch: collects them per minute, signs requests, retries
 * after failures, and keeps data on disk while the service is unreachable. Only this file in the
 * folder uses the network.
 *
 * A request that the service rejects for its content is dropped and counted; others are retried
 * until accepted. Values count twice only if the connection broke after the whole request was
 * written: docs/decisions/exporters.md.
 *
 * Owner: create / destroy. Threads: one; a separate thread sends.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/transport/outbox.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_snapshot;
struct ntk_cloudwatch;

#define NTK_CLOUDWATCH_NAMESPACE "Neuron"

struct ntk_cloudwatch_options {
    const char *namespace_name; /* all texts are copied */
    const char *region;         /* NULL: as found by the SDKs, then from reports */
    const char *profile;        /* NULL: AWS_PROFILE, else "default" */
    const char *endpoint_url;   /* NULL: as found by the SDKs */
    const char *spool_folder;   /* NULL: memory only */
    uint64_t spool_bytes_max;   /* 0: default of the outbox */
    uint32_t metric_mask;
    bool is_high_resolution;
    /* for pauses and signatures; borrowed; NULL for the system clock */
    const struct ntk_clock *clock;
};

/* err has the invalid option, variable or file. Keys are only searched for when data is sent. */
int ntk_cloudwatch_create(const struct ntk_cloudwatch_options *options,
                          struct ntk_cloudwatch **out_cloudwatch, struct ntk_err *err);
void ntk_cloudwatch_destroy(struct ntk_cloudwatch *cloudwatch);
/* Adds a snapshot; never waits for the network. */
int ntk_cloudwatch_put(struct ntk_cloudwatch *cloudwatch, const struct ntk_snapshot *snapshot,
                       struct ntk_err *err);
/* Like ntk_outbox_drain(), but also sends the current minute. */
int ntk_cloudwatch_drain(struct ntk_cloudwatch *cloudwatch, bool in_haste, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
