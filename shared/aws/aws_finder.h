/* SPDX-License-Identifier: MIT */
/*
 * aws_finder - shared by the files of aws_credentials: the finder's state and the places where keys
 * may be.
 *
 * A place answers 1 (the keys are set), 0 (nothing there) or negative with a message. The response
 * of a service stays in the finder until the next request; aws_credentials.c wipes it.
 *
 * Owner:   the caller frees texts of out_ parameters with free(); the finder is owned by
 *          aws_credentials.c.
 * Threads: as for aws_credentials.h.
 */
#ifndef NTK_SHARED_AWS_AWS_FINDER_H
#define NTK_SHARED_AWS_AWS_FINDER_H

#include "shared/aws/aws_credentials.h"
#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_aws_credentials {
    struct ntk_aws_world world;
    char *asked_profile; /* requested profile; NULL: none */
    struct ntk_http_answer answer;
    struct ntk_aws_keys keys;    /* access_key is NULL until keys are found */
    bool is_refused;             /* a service rejected the keys */
    bool is_instance;            /* the keys come from the metadata service */
    uint64_t retry_unix_seconds; /* keys that expire soon are not renewed before this time */
};

/* In aws_credentials.c. An empty variable counts as not set. */
const char *ntk_aws_variable(const struct ntk_aws_credentials *c, const char *name);
bool ntk_aws_is_on(const struct ntk_aws_credentials *c, const char *name);
/* Returns 0 if the response, in c->answer, has a 2xx status; else -EBADMSG with the status in the
 * message. */
int ntk_aws_ask(struct ntk_aws_credentials *c, const struct ntk_http_question *question,
                struct ntk_err *err);
/* Reads a token from a file, at most NTK_AWS_VALUE_BYTES_MAX bytes: one line without blanks. */
int ntk_aws_token_read(const char *path, char *token, struct ntk_err *err);
/* Takes ownership of an allocated text, or NULL; frees it unless it is a region. */
int ntk_aws_region_take(char *region, char **out_region, struct ntk_err *err);
int ntk_aws_from_environment(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                             struct ntk_err *err);

/* In aws_profile.c. The value of the key in the profile: from the credentials file, else from the
 * config file. */
int ntk_aws_files_find(const struct ntk_aws_credentials *c, enum ntk_aws_key key, char **out_value,
                       struct ntk_err *err);
/* Returns -EINVAL with a message if a profile was requested and neither file has it. */
int ntk_aws_files_check(const struct ntk_aws_credentials *c, struct ntk_err *err);
int ntk_aws_from_files(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                       struct ntk_err *err);

/* In aws_services.c. */
int ntk_aws_from_container(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                           struct ntk_err *err);
int ntk_aws_from_instance(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                          struct ntk_err *err);

/* In aws_sts.c. Texts are borrowed; NULL: not given. */
struct ntk_aws_role {
    const char *arn;
    const char *session_name;     /* NULL: AWS_ROLE_SESSION_NAME, else a default */
    const char *token_file;       /* token file of a web identity */
    const char *external_id;      /* external ID for a role that is assumed with other keys */
    const char *duration_seconds; /* decimal digits */
};
/* Assumes the role with the token in role->token_file. Returns 1 or negative. */
int ntk_aws_from_identity(struct ntk_aws_credentials *c, const struct ntk_aws_role *role,
                          struct ntk_aws_keys *keys, struct ntk_err *err);
/* Assumes the role with the given keys. Returns 1 or negative. */
int ntk_aws_from_role(struct ntk_aws_credentials *c, const struct ntk_aws_role *role,
                      const struct ntk_aws_keys *with, struct ntk_aws_keys *keys,
                      struct ntk_err *err);
/* Uses AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN. */
int ntk_aws_from_web_identity(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                              struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
