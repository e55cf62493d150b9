/* SPDX-License-Identifier: MIT */
/*
 * aws_service - signed requests to one service of AWS, or to another service that speaks its
 * protocol: finds region, address and keys as the AWS SDKs do (aws_credentials.h), and corrects the
 * time in signatures if the clocks differ too much.
 *
 * Owner:   create / destroy.
 * Threads: one; ntk_aws_service_cancel() from any.
 */
#ifndef NTK_SHARED_AWS_AWS_SERVICE_H
#define NTK_SHARED_AWS_AWS_SERVICE_H

#include "shared/aws/aws_post.h"
#include "shared/aws/aws_verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_clock;

struct ntk_aws_service_options {
    const char *name;              /* in signatures, such as "monitoring"; a literal */
    const char *variable;          /* the end of AWS_ENDPOINT_URL_..., such as "CLOUDWATCH" */
    const char *endpoint_url;      /* NULL: found as in the SDKs */
    const char *region;            /* NULL: found as in the SDKs */
    const char *profile;           /* NULL: AWS_PROFILE, "default" */
    const struct ntk_clock *clock; /* for signatures; borrowed; NULL: the system's */
};

struct ntk_aws_service;

/* A message names the wrong option, variable or file. Keys are searched for when sending. */
int ntk_aws_service_create(const struct ntk_aws_service_options *options,
                           struct ntk_aws_service **out_service, struct ntk_err *err);
/* NULL is fine. */
void ntk_aws_service_destroy(struct ntk_aws_service *service);

/* Borrowed until the service is destroyed. The endpoint that the user configured, without '/' at
 * its end; NULL: none. */
const char *ntk_aws_service_endpoint_get(const struct ntk_aws_service *service);
/* Finds the region, unless options or files had it: fallback, or with NULL the region of this
 * instance. -ENOENT; a later call may find it. */
int ntk_aws_service_region_find(struct ntk_aws_service *service, const char *fallback,
                                struct ntk_err *err);
/* The address of AWS in the region found: https://PREFIX.REGION...; freed with free(). NULL if out
 * of memory. */
char *ntk_aws_service_url_make(const struct ntk_aws_service *service, const char *prefix);

struct ntk_aws_reply {
    enum ntk_aws_verdict verdict;
    long status;                         /* HTTP status of the response */
    char code[NTK_AWS_ERROR_CODE_BYTES]; /* AWS code of the error; "" if none */
    uint64_t pause_ns;                   /* pause requested by the service; 0 if none */
};

/* Signs and sends a request; a second time if the service rejects keys or time. The call sets
 * region, service, keys and time of the request. 0 with a reply, and with status and error as the
 * message unless it is TAKEN. Negative if no response arrives: -ECANCELED, or the reason; the
 * verdict is then AGAIN if the request could not be delivered, or REFUSED if it could not be built,
 * for example without keys. The region must be known. */
int ntk_aws_service_call(struct ntk_aws_service *service, const struct ntk_aws_post *request,
                         uint64_t timeout_ns, struct ntk_aws_reply *out_reply, struct ntk_err *err);
/* A waiting call returns soon, and nothing more is sent. */
void ntk_aws_service_cancel(struct ntk_aws_service *service);
bool ntk_aws_service_is_canceled(const struct ntk_aws_service *service);

#ifdef __cplusplus
}
#endif
#endif
