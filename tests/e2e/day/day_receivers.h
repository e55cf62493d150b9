/* SPDX-License-Identifier: MIT */
/*
 * day_receivers - the peers of an agent in one HTTP server: remote write, OTLP, CloudWatch and S3.
 * Each decodes what it accepts with the published messages, and fails on command.
 *
 * Owner:   day_receivers_start() / _stop().
 * Threads: one per connection; the functions may be called from any.
 */
#ifndef NTK_TESTS_E2E_DAY_RECEIVERS_H
#define NTK_TESTS_E2E_DAY_RECEIVERS_H

#include <stdint.h>

enum day_output {
    DAY_REMOTE_WRITE,
    DAY_OTLP,
    DAY_TRACES,
    DAY_CLOUDWATCH,
    DAY_S3,
    DAY_OUTPUT_COUNT,
};

enum day_mode {
    DAY_ACCEPTS,
    DAY_REFUSES, /* 503 */
    DAY_BREAKS,  /* closes the connection before the body is read */
};

struct day_got {
    uint64_t requests; /* accepted */
    uint64_t failures; /* requests not accepted */
    uint64_t items;    /* as the sender counts them */
    uint64_t invalid;  /* requests that cannot be decoded */
    double executions; /* completed ones of the machine: total, or sum of what came */
    double of_jobs;    /* the same as a sum over applications */
};

struct day_receivers;

/* Objects of S3 become files below the folder. */
struct day_receivers *day_receivers_start(const char *folder);
void day_receivers_stop(struct day_receivers *receivers);
uint16_t day_receivers_port(const struct day_receivers *receivers);
void day_receivers_set_mode(struct day_receivers *receivers, enum day_output output,
                            enum day_mode mode);
struct day_got day_receivers_got(struct day_receivers *receivers, enum day_output output);

#endif
