/* SPDX-License-Identifier: MIT */
/* aws_credentials - a table of places, asked one after the other. */
#include "exporters/cloudwatch/aws_credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define URL_BYTES 1024
#define PATH_BYTES 4096
#define REGION_BYTES_MAX 36u
#define HEADER_BYTES (NTK_AWS_VALUE_BYTES_MAX + 64)
#define SESSION_NAME "neuron-monitor-cloudwatch"

#define CONTAINER_HOST "http://169.254.170.2"
#define CONTAINER_TIMEOUT_NS (2 * NTK_NS_PER_SECOND)
#define IMDS_TIMEOUT_NS NTK_NS_PER_SECOND
#define STS_TIMEOUT_NS (10 * NTK_NS_PER_SECOND)

struct ntk_aws_credentials {
    struct ntk_aws_world world;
    char *asked_profile; /* NULL: none was asked for */
    struct ntk_http_answer answer;
    struct ntk_aws_keys keys;    /* access_key NULL: none yet */
    bool is_refused;             /* by the service */
    bool is_instance;            /* keys of the metadata service */
    uint64_t retry_unix_seconds; /* keys that end soon are not renewed before */
};

static const char *environment(const struct ntk_aws_credentials *c, const char *name)
{
    const char *value = c->world.environment(c->world.ctx, name);

    return value && *value ? value : NULL;
}

static bool is_on(const struct ntk_aws_credentials *c, const char *name)
{
    const char *value = environment(c, name);

    return value && !strcasecmp(value, "true");
}

static int out_of_memory(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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

/* -- asking ------------------------------------------------------------------------------------- */

/* 0 with a 2xx answer in c->answer; -EBADMSG with the status in the sentence for others. */
static int ask(struct ntk_aws_credentials *c, const struct ntk_http_question *question,
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

/* -- files -------------------------------------------------------------------------------------- */

static const struct {
    const char *variable;
    const char *home_path;
} files[] = {
    [NTK_AWS_FILE_CREDENTIALS] = { "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials" },
    [NTK_AWS_FILE_CONFIG] = { "AWS_CONFIG_FILE", ".aws/config" },
};

/* "" when there is no such file to look for. */
static void file_path(const struct ntk_aws_credentials *c, enum ntk_aws_file file,
                      char path[PATH_BYTES])
{
    const char *named = environment(c, files[file].variable);
    const char *home = environment(c, "HOME");
    int bytes = 0;

    path[0] = '\0';
    if (named && strncmp(named, "~/", 2) != 0) {
        bytes = snprintf(path, PATH_BYTES, "%s", named);
    } else if (home) {
        bytes =
            snprintf(path, PATH_BYTES, "%s/%s", home, named ? named + 2 : files[file].home_path);
    }
    if (bytes < 0 || bytes >= PATH_BYTES) {
        path[0] = '\0';
    }
}

static const char *profile_name(const struct ntk_aws_credentials *c, bool *out_is_asked)
{
    const char *name = c->asked_profile;

    name = name ? name : environment(c, "AWS_PROFILE");
    name = name ? name : environment(c, "AWS_DEFAULT_PROFILE");
    *out_is_asked = name != NULL;
    return name ? name : "default";
}

static int read_profile(const struct ntk_aws_credentials *c, enum ntk_aws_file file,
                        struct ntk_aws_profile *out_profile, struct ntk_err *err)
{
    char path[PATH_BYTES];
    bool is_asked;

    memset(out_profile, 0, sizeof *out_profile);
    file_path(c, file, path);
    return path[0] ? ntk_aws_config_read(path, file, profile_name(c, &is_asked), out_profile, err)
                   : 0;
}

/* What either file says of the key, the credentials file first. */
static int find_in_files(const struct ntk_aws_credentials *c, enum ntk_aws_key key,
                         char **out_value, struct ntk_err *err)
{
    *out_value = NULL;
    for (int file = 0; file < 2; file++) {
        struct ntk_aws_profile profile;
        int ret = read_profile(c, (enum ntk_aws_file)file, &profile, err);
        if (ret < 0) {
            return ret;
        }
        *out_value = profile.value[key];
        profile.value[key] = NULL;
        ntk_aws_profile_fini(&profile);
        if (*out_value) {
            break;
        }
    }
    return 0;
}

/* -- region and endpoints ----------------------------------------------------------------------- */

bool ntk_aws_region_is_good(const char *region)
{
    size_t bytes = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

    return bytes > 0 && bytes <= REGION_BYTES_MAX && region[bytes] == '\0';
}

static int take_region(char *region, char **out_region, struct ntk_err *err)
{
    if (region && !ntk_aws_region_is_good(region)) {
        char shown[64];
        ntk_str_copy_clean(shown, sizeof shown, region, strlen(region));
        free(region);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "'%s' is no region", shown);
    }
    *out_region = region;
    return 0;
}

int ntk_aws_region_find(const struct ntk_aws_credentials *c, char **out_region, struct ntk_err *err)
{
    const char *said = environment(c, "AWS_REGION");
    char *region;

    said = said ? said : environment(c, "AWS_DEFAULT_REGION");
    if (!said) {
        int ret = find_in_files(c, NTK_AWS_REGION, &region, err);
        return ret < 0 ? ret : take_region(region, out_region, err);
    }
    region = strdup(said);
    return region ? take_region(region, out_region, err) : out_of_memory(err);
}

int ntk_aws_endpoint_find(const struct ntk_aws_credentials *c, const char *service, char **out_url,
                          struct ntk_err *err)
{
    char name[64];

    *out_url = NULL;
    if (is_on(c, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
        return 0;
    }
    (void)snprintf(name, sizeof name, "AWS_ENDPOINT_URL_%s", service);
    const char *said = environment(c, name);
    said = said ? said : environment(c, "AWS_ENDPOINT_URL");
    if (!said) {
        return find_in_files(c, NTK_AWS_ENDPOINT_URL, out_url, err);
    }
    *out_url = strdup(said);
    return *out_url ? 0 : out_of_memory(err);
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
                       is_on(c, "AWS_USE_FIPS_ENDPOINT") ? "-fips" : "", region,
                       is_on(c, "AWS_USE_DUALSTACK_ENDPOINT") ? partitions[i].dual_suffix
                                                              : partitions[i].suffix);
    return ntk_buf_take(&url, NULL);
}

/* -- the places: 1 keys are set, 0 nothing there, negative --------------------------------------- */

static int from_environment(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                            struct ntk_err *err)
{
    const char *access_key = environment(c, "AWS_ACCESS_KEY_ID");
    const char *secret_key = environment(c, "AWS_SECRET_ACCESS_KEY");
    const char *session_token = environment(c, "AWS_SESSION_TOKEN");

    if (!access_key || c->asked_profile) {
        return 0;
    }
    if (!secret_key) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not");
    }
    session_token = session_token ? session_token : environment(c, "AWS_SECURITY_TOKEN");
    int ret = ntk_aws_keys_set(keys, access_key, secret_key, session_token, err);
    if (ret < 0) {
        ntk_err_prefix(err, "environment");
    }
    return ret < 0 ? ret : 1;
}

static void add_form(struct ntk_buf *body, const char *name, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    ntk_buf_add_format(body, "&%s=", name);
    for (; *value; value++) {
        if (strchr(plain, *value)) {
            ntk_buf_add_char(body, *value);
        } else {
            ntk_buf_add_format(body, "%%%02X", (unsigned char)*value);
        }
    }
}

/* A token of a file, as it is now: one line without blanks. */
static int read_token(const char *path, char *token, struct ntk_err *err)
{
    ssize_t got = ntk_fs_read_text(path, token, NTK_AWS_VALUE_BYTES_MAX);

    if (got < 0) {
        return ntk_err_set(err, (int)got, NTK_ERR_NO_OFFSET, "%.200s: %s", path,
                           strerror((int)-got));
    }
    token[strcspn(token, "\r\n")] = '\0';
    for (const char *at = token; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%.200s: is no token", path);
        }
    }
    return token[0] ? 0
                    : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%.200s: has no token", path);
}

static int sts_url(struct ntk_aws_credentials *c, char **out_url, struct ntk_err *err)
{
    char *region = NULL;

    int ret = ntk_aws_endpoint_find(c, "STS", out_url, err);
    if (ret < 0 || *out_url) {
        return ret;
    }
    ret = ntk_aws_region_find(c, &region, err);
    if (ret >= 0) {
        *out_url = ntk_aws_endpoint_make(c, "sts", region ? region : "us-east-1");
        ret = *out_url ? 0 : out_of_memory(err);
    }
    free(region);
    return ret;
}

static int ask_sts(struct ntk_aws_credentials *c, const char *url, const char *role,
                   const char *token, struct ntk_err *err)
{
    static const char *const headers[] = {
        "Content-Type: application/x-www-form-urlencoded; charset=utf-8", "Accept: */*", NULL
    };
    const char *session_name = environment(c, "AWS_ROLE_SESSION_NAME");
    struct ntk_buf body = { 0 };

    ntk_buf_add_text(&body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
    add_form(&body, "RoleArn", role);
    add_form(&body, "RoleSessionName", session_name ? session_name : SESSION_NAME);
    add_form(&body, "WebIdentityToken", token);
    const struct ntk_http_question question = { .method = "POST",
                                                .url = url,
                                                .headers = headers,
                                                .body = body.bytes,
                                                .body_bytes = body.bytes_count,
                                                .timeout_ns = STS_TIMEOUT_NS,
                                                .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX };
    int ret = ntk_buf_ok(&body) ? ask(c, &question, err) : out_of_memory(err);
    if (body.bytes) {
        explicit_bzero(body.bytes, body.bytes_count);
    }
    ntk_buf_fini(&body);
    return ret;
}

static int from_web_identity(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                             struct ntk_err *err)
{
    const char *path = environment(c, "AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *role = environment(c, "AWS_ROLE_ARN");
    char token[NTK_AWS_VALUE_BYTES_MAX];
    char *url = NULL;

    if (!path || c->asked_profile) {
        return 0;
    }
    if (!role) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not");
    }
    int ret = read_token(path, token, err);
    ret = ret < 0 ? ret : sts_url(c, &url, err);
    ret = ret < 0 ? ret : ask_sts(c, url, role, token, err);
    if (ret >= 0) {
        ret = ntk_aws_keys_from_sts(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count,
                                    keys, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%.200s", url);
        }
    }
    explicit_bzero(token, sizeof token);
    free(url);
    return ret < 0 ? ret : 1;
}

static int from_profile(const struct ntk_aws_profile *profile, const char *path,
                        struct ntk_aws_keys *keys, struct ntk_err *err)
{
    char *const *value = profile->value;

    if (!value[NTK_AWS_ACCESS_KEY_ID]) {
        return 0;
    }
    if (!value[NTK_AWS_SECRET_ACCESS_KEY]) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%.200s: the profile has aws_access_key_id and no aws_secret_access_key",
                           path);
    }
    int ret = ntk_aws_keys_set(keys, value[NTK_AWS_ACCESS_KEY_ID], value[NTK_AWS_SECRET_ACCESS_KEY],
                               value[NTK_AWS_SESSION_TOKEN], err);
    if (ret < 0) {
        ntk_err_prefix(err, "%.200s", path);
    }
    return ret < 0 ? ret : 1;
}

static int from_files(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, struct ntk_err *err)
{
    char unsupported[64] = "";
    bool is_found = false;
    bool is_asked;
    const char *name = profile_name(c, &is_asked);

    for (int file = 0; file < 2; file++) {
        struct ntk_aws_profile profile;
        char path[PATH_BYTES];
        int ret = read_profile(c, (enum ntk_aws_file)file, &profile, err);
        if (ret < 0) {
            return ret;
        }
        file_path(c, (enum ntk_aws_file)file, path);
        is_found = is_found || profile.is_found;
        if (profile.value[NTK_AWS_UNSUPPORTED]) {
            ntk_str_copy(unsupported, sizeof unsupported, profile.value[NTK_AWS_UNSUPPORTED]);
        }
        ret = from_profile(&profile, path, keys, err);
        ntk_aws_profile_fini(&profile);
        if (ret != 0) {
            return ret;
        }
    }
    if (unsupported[0]) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "profile '%.100s' gets its keys by %s, which is not supported", name,
                           unsupported);
    }
    if (is_asked && !is_found) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "there is no profile '%.100s'", name);
    }
    return 0;
}

/* Hosts that may get a token without TLS: this machine's own, and those of the container services. */
static bool is_container_host(const char *url)
{
    static const char *const hosts[] = { "localhost", "169.254.170.2", "169.254.170.23",
                                         "[fd00:ec2::23]", "[::1]" };
    const char *host;
    size_t bytes;

    if (!strncmp(url, "https://", 8)) {
        return true;
    }
    if (strncmp(url, "http://", 7) != 0) {
        return false;
    }
    host = url + 7;
    bytes = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    if (memchr(host, '@', strcspn(host, "/?#"))) {
        return false;
    }
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (bytes == strlen(hosts[i]) && !strncasecmp(host, hosts[i], bytes)) {
            return true;
        }
    }
    /* 127.0.0.0/8 in numbers only: "127.example.org" is somebody else. */
    return !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == bytes;
}

static int container_token(const struct ntk_aws_credentials *c, char *header, struct ntk_err *err)
{
    const char *path = environment(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *said = environment(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char token[NTK_AWS_VALUE_BYTES_MAX];

    header[0] = '\0';
    if (path) {
        int ret = read_token(path, token, err);
        if (ret < 0) {
            return ret;
        }
        said = token;
    }
    if (said && (said[strcspn(said, "\r\n")] || strlen(said) >= NTK_AWS_VALUE_BYTES_MAX)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN is no token");
    }
    if (said) {
        (void)snprintf(header, HEADER_BYTES, "Authorization: %s", said);
    }
    explicit_bzero(token, sizeof token);
    return 0;
}

static int from_container(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                          struct ntk_err *err)
{
    const char *relative = environment(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = environment(c, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    char header[HEADER_BYTES];
    char url[URL_BYTES];
    const char *headers[] = { NULL, NULL };

    if (!relative && !full) {
        return 0;
    }
    int bytes = snprintf(url, sizeof url, "%s%s", relative ? CONTAINER_HOST : "",
                         relative ? relative : full);
    if (bytes < 0 || bytes >= URL_BYTES || (relative && relative[0] != '/')) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the address of the container's credentials is none");
    }
    if (!is_container_host(url)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither HTTPS nor on this "
                           "machine");
    }
    int ret = container_token(c, header, err);
    if (ret < 0) {
        return ret;
    }
    headers[0] = header[0] ? header : NULL;
    const struct ntk_http_question question = { .url = url,
                                                .headers = headers,
                                                .timeout_ns = CONTAINER_TIMEOUT_NS,
                                                .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX,
                                                .no_proxy = true };
    ret = ask(c, &question, err);
    explicit_bzero(header, sizeof header);
    if (ret >= 0) {
        ret = ntk_aws_keys_from_json(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count,
                                     keys, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%.200s", url);
        }
    }
    return ret < 0 ? ret : 1;
}

/* Path below the metadata service's base, with a session token; the answer's body as text without its
 * line end. 1, 0 when the service is off, negative. */
static int ask_imds(struct ntk_aws_credentials *c, const char *path, struct ntk_err *err)
{
    const char *base = environment(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = environment(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    char url[URL_BYTES];
    char header[512];
    const char *headers[] = { "X-aws-ec2-metadata-token-ttl-seconds: 60", NULL };
    struct ntk_http_question question = { .method = "PUT",
                                          .url = url,
                                          .headers = headers,
                                          .timeout_ns = IMDS_TIMEOUT_NS,
                                          .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX,
                                          .no_proxy = true };

    if (is_on(c, "AWS_EC2_METADATA_DISABLED")) {
        return 0;
    }
    if (!base) {
        base =
            mode && !strcasecmp(mode, "ipv6") ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    }
    int length = (int)strlen(base);
    length -= length && base[length - 1] == '/';
    (void)snprintf(url, sizeof url, "%.*s/latest/api/token", length, base);
    int ret = ask(c, &question, err);
    if (ret < 0) {
        return ret;
    }
    const char *token = ntk_buf_text_get(&c->answer.body);
    int bytes = snprintf(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    if (bytes >= (int)sizeof header || token[strcspn(token, "\r\n")]) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: is no token", url);
    }
    headers[0] = header;
    question.method = NULL;
    (void)snprintf(url, sizeof url, "%.*s%s", length, base, path);
    ret = ask(c, &question, err);
    return ret < 0 ? ret : 1;
}

static int from_instance(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                         struct ntk_err *err)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    char path[URL_BYTES / 2];

    int ret = ask_imds(c, roles, err);
    if (ret <= 0) {
        return ret;
    }
    const char *role = ntk_buf_text_get(&c->answer.body);
    int role_bytes = (int)strcspn(role, "\r\n");
    int bytes = snprintf(path, sizeof path, "%s%.*s", roles, role_bytes, role);
    if (!role_bytes || bytes >= (int)sizeof path) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the instance has no role");
    }
    ret = ask_imds(c, path, err);
    if (ret > 0) {
        ret = ntk_aws_keys_from_json(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count,
                                     keys, err);
    }
    return ret < 0 ? ret : 1;
}

int ntk_aws_region_ask(struct ntk_aws_credentials *c, char **out_region, struct ntk_err *err)
{
    *out_region = NULL;
    int ret = ask_imds(c, "/latest/meta-data/placement/region", err);
    if (ret <= 0) {
        return ret;
    }
    const char *text = ntk_buf_text_get(&c->answer.body);
    char *region = strndup(text, strcspn(text, "\r\n"));
    return region ? take_region(region, out_region, err) : out_of_memory(err);
}

/* -- the chain ---------------------------------------------------------------------------------- */

static const struct {
    int (*find)(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, struct ntk_err *err);
    bool may_be_away; /* a failure is as if the place were not there */
} places[] = {
    { from_environment, false }, { from_web_identity, false }, { from_files, false },
    { from_container, false },   { from_instance, true },
};

static int find(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, bool *out_is_instance,
                struct ntk_err *err)
{
    struct ntk_err away = { 0 };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
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
                       "no AWS credentials in the environment, in files, of a container or of the "
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
