/* SPDX-License-Identifier: MIT */
/*
 * aws_verdict - decides how to react to a service's response. Pure. Threads: any.
 */
#ifndef NTK_SHARED_AWS_AWS_VERDICT_H
#define NTK_SHARED_AWS_AWS_VERDICT_H

#include <stdint.h>

#include "shared/aws/aws_answer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_answer;

/* Reaction to a service's response. */
enum ntk_aws_verdict {
    NTK_AWS_TAKEN,
    NTK_AWS_AGAIN,   /* retry later */
    NTK_AWS_RENEW,   /* retry with new keys, or with another time in the signature */
    NTK_AWS_REFUSED, /* give up: the service rejected the request */
};
enum ntk_aws_verdict ntk_aws_judge(long status, const struct ntk_aws_error *error);
/* The pause that the service requests: X-Amz-Retry-After (milliseconds, at most an hour), else
 * Retry-After; 0 if neither is present. */
uint64_t ntk_aws_pause_ns(const struct ntk_http_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
