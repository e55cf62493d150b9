/* SPDX-License-Identifier: MIT */
/*
 * aws_credentials - finds keys as the AWS SDKs do, and renews them before they expire.
 *
 * The first place that has keys is used, in this order: AWS_ACCESS_KEY_ID and its companions (not
 * with a requested profile), AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, the profile in the
 * shared credentials file and in the config file, the container's endpoint, the instance metadata
 * service (IMDSv2 only). A configured place that does not work is an error, except for the metadata
 * service, which may be absent.
 *
 * A profile provides keys in one of these ways, the first that applies: role_arn with
 * source_profile, credential_source or web_identity_token_file; plain values; credential_process.
 * Interactive sign-in (sso_session and similar) is rejected with a message.
 *
 * Renewal of expiring keys starts 15 minutes before they expire. If it fails, they are used until
 * they expire; instance keys are used even longer. Files are read again each time.
 * Source:  "Standardized credential providers" of the AWS SDKs and Tools Reference Guide.
 *
 * Owner:  create / destroy. Threads: one.
 */
#ifndef NTK_SHARED_AWS_AWS_CREDENTIALS_H
#define NTK_SHARED_AWS_AWS_CREDENTIALS_H

#include "shared/aws/aws_answer.h"
#include "shared/aws/aws_config.h"
#include "shared/base/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_buf;
struct ntk_http_answer;
struct ntk_http_question;

#define NTK_AWS_RENEW_SECONDS 900u
#define NTK_AWS_RETRY_SECONDS 60u
/* The limit for an endpoint's response. */
#define NTK_AWS_ANSWER_BYTES_MAX ((size_t)128 * 1024)

/* The calls by which the finder reaches the outside world. */
struct ntk_aws_world {
    const char *(*environment)(void *ctx, const char *name); /* NULL if the variable is not set */
    /* Same as ntk_http_client_ask(). */
    int (*ask)(void *ctx, const struct ntk_http_question *question, struct ntk_http_answer *answer,
               struct ntk_err *err);
    /* Runs the command of a credential_process line and returns its output, like
     * ntk_aws_process_run(). */
    int (*run)(void *ctx, const char *command, struct ntk_buf *out, struct ntk_err *err);
    void *ctx;
    const struct ntk_clock *clock;
};

struct ntk_aws_credentials;

/* profile NULL: AWS_PROFILE, else "default". Copies world. Returns NULL if out of memory. */
struct ntk_aws_credentials *ntk_aws_credentials_create(const struct ntk_aws_world *world,
                                                       const char *profile);
void ntk_aws_credentials_destroy(struct ntk_aws_credentials *credentials);

/* The keys, borrowed until the next call. May query services and take seconds. Returns -ENOENT if
 * no source has keys, else the reason of the failure. */
int ntk_aws_credentials_get(struct ntk_aws_credentials *credentials,
                            const struct ntk_aws_keys **out_keys, struct ntk_err *err);
/* Returns -EINVAL with a message if a profile was requested by name, its keys are needed, and
 * neither file has it. */
int ntk_aws_profile_check(const struct ntk_aws_credentials *credentials, struct ntk_err *err);
/* Drops keys that a service rejected: the next get() searches for others. */
void ntk_aws_credentials_forget(struct ntk_aws_credentials *credentials);

/* Returns a copied text, freed with free(), or NULL if no source has it. Region: from AWS_REGION,
 * AWS_DEFAULT_REGION, then the profile. Endpoint of service "CLOUDWATCH" or "STS": from
 * AWS_ENDPOINT_URL_<service>, AWS_ENDPOINT_URL, then the profile. */
int ntk_aws_region_find(const struct ntk_aws_credentials *credentials, char **out_region,
                        struct ntk_err *err);
int ntk_aws_endpoint_find(const struct ntk_aws_credentials *credentials, const char *service,
                          char **out_url, struct ntk_err *err);
/* Asks the metadata service for this instance's region. */
int ntk_aws_region_ask(struct ntk_aws_credentials *credentials, char **out_region,
                       struct ntk_err *err);
/* A URL such as "https://monitoring.eu-west-1.amazonaws.com". prefix is "monitoring" or "sts".
 * Follows AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT. NULL if out of memory. */
char *ntk_aws_endpoint_make(const struct ntk_aws_credentials *credentials, const char *prefix,
                            const char *region);
/* Returns true if the region is 1 to 36 lower-case letters, digits and '-'. */
bool ntk_aws_region_is_good(const char *region);

#ifdef __cplusplus
}
#endif
#endif
