/* SPDX-License-Identifier: MIT */
/* aws_credentials - the chain of places with keys, tried in order; region and endpoints. */
#include "shared/aws/aws_credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_finder.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define REGION_BYTES_MAX 36u

const char *ntk_aws_variable(const struct ntk_aws_credentials *c, const char *name)
{
    const char *value = c->world.environment(c->world.ctx, name);

    return value && *value ? value : NULL;
}

bool ntk_aws_is_on(const struct ntk_aws_credentials *c, const char *name)
{
    return ntk_str_is_true(ntk_aws_variable(c, name));
}

struct ntk_aws_credentials *ntk_aws_credentials_create(const struct ntk_aws_world *world,
                                                       const char *profile)
{
    struct ntk_aws_credentials *c = calloc(1, sizeof *c);

    if (!c) {
        return NULL;
    }
    c->world = *world;
    c->asked_profile = profile ? strdup(profile) : NULL;
    if (profile && !c->asked_profile) {
        free(c);
        return NULL;
    }
    return c;
}

static void wipe_answer(struct ntk_aws_credentials *c)
{
    if (c->answer.body.bytes) {
        explicit_bzero(c->answer.body.bytes, c->answer.body.bytes_count);
    }
    ntk_http_answer_fini(&c->answer);
}

void ntk_aws_credentials_destroy(struct ntk_aws_credentials *c)
{
    if (!c) {
        return;
    }
    ntk_aws_keys_fini(&c->keys);
    wipe_answer(c);
    free(c->asked_profile);
    free(c);
}

/* -- requests ---------------------------------------------------------------------------------- */

int ntk_aws_ask(struct ntk_aws_credentials *c, const struct ntk_http_question *question,
                struct ntk_err *err)
{
    struct ntk_aws_error said;

    int ret = c->world.ask(c->world.ctx, question, &c->answer, err);
    if (ret < 0 || (c->answer.status >= 200 && c->answer.status < 300)) {
        return ret;
    }
    ntk_aws_error_parse(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count, &said);
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%.*s: status %ld%s%s%s%s",
                       (int)strcspn(question->url, "?#"), question->url, c->answer.status,
                       said.code[0] ? ", " : "", said.code, said.text[0] ? ": " : "", said.text);
}

int ntk_aws_token_read(const char *path, char *token, struct ntk_err *err)
{
    ssize_t got = ntk_fs_read_text(path, token, NTK_AWS_VALUE_BYTES_MAX);

    if (got < 0) {
        return ntk_err_set(err, (int)got, NTK_ERR_NO_OFFSET, "%.200s: %s", path,
                           strerror((int)-got));
    }
    token[strcspn(token, "\r\n")] = '\0';
    for (const char *at = token; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%.200s: invalid token", path);
        }
    }
    return token[0] ? 0 : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%.200s: no token", path);
}

/* -- region and endpoints ---------------------------------------------------------------------- */

bool ntk_aws_region_is_good(const char *region)
{
    size_t bytes = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return bytes > 0 && bytes <= REGION_BYTES_MAX && region[bytes] == '\0';
}

int ntk_aws_region_take(char *region, char **out_region, struct ntk_err *err)
{
    if (region && !ntk_aws_region_is_good(region)) {
        char shown[64];
        ntk_str_copy_clean(shown, sizeof shown, region, strlen(region));
        free(region);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid region '%s'", shown);
    }
    *out_region = region;
    return 0;
}

int ntk_aws_region_find(const struct ntk_aws_credentials *c, char **out_region, struct ntk_err *err)
{
    const char *said = ntk_aws_variable(c, "AWS_REGION");
    char *region;

    said = said ? said : ntk_aws_variable(c, "AWS_DEFAULT_REGION");
    if (!said) {
        int ret = ntk_aws_files_find(c, NTK_AWS_REGION, &region, err);
        return ret < 0 ? ret : ntk_aws_region_take(region, out_region, err);
    }
    region = strdup(said);
    return region ? ntk_aws_region_take(region, out_region, err) : ntk_err_no_memory(err);
}

int ntk_aws_endpoint_find(const struct ntk_aws_credentials *c, const char *service, char **out_url,
                          struct ntk_err *err)
{
    char name[64];

    *out_url = NULL;
    if (ntk_aws_is_on(c, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
        return 0;
    }
    (void)snprintf(name, sizeof name, "AWS_ENDPOINT_URL_%s", service);
    const char *said = ntk_aws_variable(c, name);
    said = said ? said : ntk_aws_variable(c, "AWS_ENDPOINT_URL");
    if (!said) {
        return ntk_aws_files_find(c, NTK_AWS_ENDPOINT_URL, out_url, err);
    }
    *out_url = strdup(said);
    return *out_url ? 0 : ntk_err_no_memory(err);
}

static const struct {
    const char *region_begin;
    const char *suffix;
    const char *dual_suffix;
} partitions[] = {
    { "cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn" },
    { "eusc-", "amazonaws.eu", "api.amazonwebservices.eu" },
    { "us-isob-", "sc2s.sgov.gov", "sc2s.sgov.gov" },
    { "us-iso-", "c2s.ic.gov", "c2s.ic.gov" },
    { "", "amazonaws.com", "api.aws" },
};

char *ntk_aws_endpoint_make(const struct ntk_aws_credentials *c, const char *prefix,
                            const char *region)
{
    struct ntk_buf url = { 0 };
    size_t i = 0;

    while (!ntk_str_starts_with(region, partitions[i].region_begin)) {
        i++;
    }
    ntk_buf_add_format(&url, "https://%s%s.%s.%s", prefix,
                       ntk_aws_is_on(c, "AWS_USE_FIPS_ENDPOINT") ? "-fips" : "", region,
                       ntk_aws_is_on(c, "AWS_USE_DUALSTACK_ENDPOINT") ? partitions[i].dual_suffix
                                                                      : partitions[i].suffix);
    return ntk_buf_take(&url, NULL);
}

/* Ignores a requested profile, which the chain handles. */
int ntk_aws_from_environment(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                             struct ntk_err *err)
{
    const char *access_key = ntk_aws_variable(c, "AWS_ACCESS_KEY_ID");
    const char *secret_key = ntk_aws_variable(c, "AWS_SECRET_ACCESS_KEY");
    const char *session_token = ntk_aws_variable(c, "AWS_SESSION_TOKEN");

    if (!access_key) {
        return 0;
    }
    if (!secret_key) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
    }
    session_token = session_token ? session_token : ntk_aws_variable(c, "AWS_SECURITY_TOKEN");
    int ret = ntk_aws_keys_set(keys, access_key, secret_key, session_token, err);
    if (ret < 0) {
        ntk_err_prefix(err, "environment");
    }
    return ret < 0 ? ret : 1;
}

/* -- the chain --------------------------------------------------------------------------------- */

static const struct {
    int (*find)(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, struct ntk_err *err);
    const char *variable; /* if set, this place decides, unless a profile was requested by name */
    bool may_be_away;     /* a failure means that the place does not exist */
} places[] = {
    { ntk_aws_from_environment, "AWS_ACCESS_KEY_ID", false },
    { ntk_aws_from_web_identity, "AWS_WEB_IDENTITY_TOKEN_FILE", false },
    { ntk_aws_from_files, NULL, false },
    { ntk_aws_from_container, NULL, false },
    { ntk_aws_from_instance, NULL, true },
};

int ntk_aws_profile_check(const struct ntk_aws_credentials *c, struct ntk_err *err)
{
    for (size_t i = 0; !c->asked_profile && places[i].variable; i++) {
        if (ntk_aws_variable(c, places[i].variable)) {
            return 0;
        }
    }
    return ntk_aws_files_check(c, err);
}

static int find(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, bool *out_is_instance,
                struct ntk_err *err)
{
    struct ntk_err away = { 0 };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (c->asked_profile && places[i].variable) {
            continue;
        }
        int ret = places[i].find(c, keys, places[i].may_be_away ? &away : err);
        wipe_answer(c);
        if (ret > 0) {
            *out_is_instance = places[i].may_be_away;
            return 0;
        }
        if (ret == -ENOMEM || (ret < 0 && !places[i].may_be_away)) {
            return ret;
        }
    }
    return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                       "no AWS credentials in the environment, in files, or from the container or "
                       "instance%s%.200s%s",
                       away.text[0] ? " (" : "", away.text, away.text[0] ? ")" : "");
}

int ntk_aws_credentials_get(struct ntk_aws_credentials *c, const struct ntk_aws_keys **out_keys,
                            struct ntk_err *err)
{
    uint64_t now = c->world.clock->realtime_ns(c->world.clock->ctx) / NTK_NS_PER_SECOND;
    uint64_t expires = c->keys.expires_unix_seconds;
    bool has_keys = c->keys.access_key && !c->is_refused;
    bool is_usable = has_keys && (!expires || now < expires || c->is_instance);
    struct ntk_aws_keys keys = { 0 };
    bool is_instance = false;

    *out_keys = &c->keys;
    if (has_keys && (!expires || now + NTK_AWS_RENEW_SECONDS < expires)) {
        return 0;
    }
    if (is_usable && now < c->retry_unix_seconds) {
        return 0;
    }
    int ret = find(c, &keys, &is_instance, err);
    c->retry_unix_seconds = now + NTK_AWS_RETRY_SECONDS;
    if (ret < 0) {
        return is_usable ? 0 : ret;
    }
    ntk_aws_keys_fini(&c->keys);
    c->keys = keys;
    c->is_instance = is_instance;
    c->is_refused = false;
    return 0;
}

void ntk_aws_credentials_forget(struct ntk_aws_credentials *c)
{
    c->is_refused = true;
}
