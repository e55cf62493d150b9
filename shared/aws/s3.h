/* SPDX-License-Identifier: MIT */
/*
 * s3 - puts objects into a bucket of AWS, or of a service that speaks S3.
 *
 * An object is one signed PUT with the hash of its content (at most 5 GiB, as the service has it;
 * no multipart uploads), tried again with growing pauses as the service asks for. Keys, region and
 * address are found as AWS's programs find them (aws_credentials.h); AWS_ENDPOINT_URL_S3 names
 * another service. Buckets of AWS are part of the host's name where they can be, others part of the
 * path.
 *
 * Owner:   create / destroy.
 * Threads: one; ntk_s3_cancel() from any.
 */
#ifndef NTK_SHARED_AWS_S3_H
#define NTK_SHARED_AWS_S3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tries of one object, and the first pause between two, which doubles. */
#define NTK_S3_TRIES 5
#define NTK_S3_PAUSE_NS UINT64_C(200000000)

struct ntk_clock;

struct ntk_s3_options {
    const char *place;             /* "s3://bucket" or "s3://bucket/prefix"; all texts are copied */
    const char *endpoint_url;      /* NULL: as the SDKs find it */
    const char *region;            /* NULL: as the SDKs find it; of another service us-east-1 */
    const char *profile;           /* NULL: AWS_PROFILE, "default" */
    const struct ntk_clock *clock; /* of pauses and signatures; borrowed; NULL: the system's */
};

struct ntk_s3;

/* A message says which option, variable or file is wrong. Keys are searched for when sending. */
int ntk_s3_create(const struct ntk_s3_options *options, struct ntk_s3 **out_s3,
                  struct ntk_err *err);
/* NULL is fine. */
void ntk_s3_destroy(struct ntk_s3 *s3);
/* The object PREFIX/path. 0: it is there; 1: there was one, which stays (only with keeps);
 * -ECANCELED; else why not. */
int ntk_s3_put(struct ntk_s3 *s3, const char *path, const void *bytes, size_t bytes_count,
               bool keeps, struct ntk_err *err);
/* What waits ends soon, and nothing more is sent. */
void ntk_s3_cancel(struct ntk_s3 *s3);

#ifdef __cplusplus
}
#endif
#endif
