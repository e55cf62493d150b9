/* SPDX-License-Identifier: MIT */
/*
 * s3 - puts objects into a bucket of AWS, or of a service that speaks S3.
 *
 * An object is one signed PUT with the hash of its content (at most 5 GiB, the limit of the
 * service; no multipart uploads). A failed upload is retried after growing pauses, or after the
 * pause that the service requests. Keys, region and address are found as in the AWS SDKs
 * (aws_credentials.h); AWS_ENDPOINT_URL_S3 names another service. The bucket name is part of the
 * host name for AWS where possible, else part of the path.
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

/* Maximum attempts per object, and the first pause between two attempts, which doubles each
 * time. */
#define NTK_S3_TRIES 5
#define NTK_S3_PAUSE_NS UINT64_C(200000000)

struct ntk_clock;

struct ntk_s3_options {
    const char *place;        /* "s3://bucket" or "s3://bucket/prefix"; all texts are copied */
    const char *endpoint_url; /* NULL: as the SDKs find it */
    const char *region;  /* NULL: as the SDKs find it; us-east-1 for a service other than AWS */
    const char *profile; /* NULL: AWS_PROFILE, else "default" */
    const struct ntk_clock *clock; /* for pauses and signatures; borrowed; NULL: the system's */
};

struct ntk_s3;

/* The message of an error names the wrong option, variable or file. Keys are searched for only when
 * sending. */
int ntk_s3_create(const struct ntk_s3_options *options, struct ntk_s3 **out_s3,
                  struct ntk_err *err);
void ntk_s3_destroy(struct ntk_s3 *s3);
/* Writes the object PREFIX/path. Returns 0 if done; 1 if the object existed and was kept (only with
 * keeps); -ECANCELED; or the reason of the failure. */
int ntk_s3_put(struct ntk_s3 *s3, const char *path, const void *bytes, size_t bytes_count,
               bool keeps, struct ntk_err *err);
/* Makes a waiting call return soon; nothing more is sent. */
void ntk_s3_cancel(struct ntk_s3 *s3);

#ifdef __cplusplus
}
#endif
#endif
