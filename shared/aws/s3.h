/* SPDX-License-Identifier: MIT */
/*
 * s3 - puts objects into a bucket of AWS, or of a service that speaks S3.
 *
 * An object is one signed PUT with the hash of its content (at most 5 GiB, the limit of the
 * service; no multipart uploads). It is tried again with growing pauses, or with the pause that the
 * service requests. Keys, region and address are found as in the AWS SDKs (aws_credentials.h);
 * AWS_ENDPOINT_URL_S3 names another service. Buckets of AWS are part of the host name where
 * possible, others part of the path.
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
    const char *endpoint_url;      /* NULL: found as in the SDKs */
    const char *region;            /* NULL: found as in the SDKs; us-east-1 for another service */
    const char *profile;           /* NULL: AWS_PROFILE, "default" */
    const struct ntk_clock *clock; /* for pauses and signatures; borrowed; NULL: the system's */
};

struct ntk_s3;

/* A message names the wrong option, variable or file. Keys are searched for when sending. */
int ntk_s3_create(const struct ntk_s3_options *options, struct ntk_s3 **out_s3,
                  struct ntk_err *err);
/* NULL is fine. */
void ntk_s3_destroy(struct ntk_s3 *s3);
/* Writes the object PREFIX/path. 0: done; 1: the object existed and stays (only with keeps);
 * -ECANCELED; else the reason of the failure. */
int ntk_s3_put(struct ntk_s3 *s3, const char *path, const void *bytes, size_t bytes_count,
               bool keeps, struct ntk_err *err);
/* A waiting call returns soon, and nothing more is sent. */
void ntk_s3_cancel(struct ntk_s3 *s3);

#ifdef __cplusplus
}
#endif
#endif
