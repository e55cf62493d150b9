/* SPDX-License-Identifier: MIT */
/* Method: environment, services and clock are tables; checks which keys are found. */
#include "shared/aws/aws_credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/http/http_client.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define NOW UINT64_C(1700000000) /* 2023-11-14T22:13:20Z */
#define SOON "2023-11-14T22:23:20Z"
#define LATER "2023-11-15T22:13:20Z"
#define KEYS(id, end)                                                             \
    "{\"Code\":\"Success\",\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"s\"," \
    "\"Token\":\"t\",\"Expiration\":\"" end "\"}"
#define IMDS "http://169.254.169.254/latest/"
#define ROLES IMDS "meta-data/iam/security-credentials/"

struct service {
    const char *url;
    const char *body;   /* NULL: no answer */
    const char *header; /* required in the request */
};

struct world {
    const char *variables[8]; /* "NAME=value" */
    struct service services[4];
    uint64_t now;
    int asked;
    char last_body[512];
    char bodies[2048];   /* one per line */
    char signers[256];   /* the access keys that signed them; "-" for none */
    const char *command; /* the only command that may run */
    const char *output;  /* its output; NULL: it fails */
};

static const char *environment(void *ctx, const char *name)
{
    struct world *world = ctx;
    size_t bytes = strlen(name);

    for (size_t i = 0; i < sizeof world->variables / sizeof *world->variables; i++) {
        const char *at = world->variables[i];
        if (at && !strncmp(at, name, bytes) && at[bytes] == '=') {
            return at + bytes + 1;
        }
    }
    return NULL;
}

static bool has_header(const struct ntk_http_question *question, const char *header)
{
    for (const char *const *at = question->headers; at && *at; at++) {
        if (!strcmp(*at, header)) {
            return true;
        }
    }
    return false;
}

/* Records the access key of "Credential=KEY/...", and the token sent with it. */
static void note_signer(struct world *world, const struct ntk_http_question *question)
{
    char key[64] = "-";
    const char *token = "";

    for (const char *const *at = question->headers; at && *at; at++) {
        const char *from = strstr(*at, "Credential=");
        if (from) {
            snprintf(key, sizeof key, "%.*s", (int)strcspn(from + 11, "/"), from + 11);
            assert_non_null(strstr(*at, "/sts/aws4_request"));
        }
        token = strncmp(*at, "x-amz-security-token: ", 22) == 0 ? *at + 21 : token;
    }
    size_t used = strlen(world->signers);
    snprintf(world->signers + used, sizeof world->signers - used, "%s%s,", key, token);
}

static int run(void *ctx, const char *command, struct ntk_buf *out, struct ntk_err *err)
{
    const struct world *world = ctx;

    if (!world->command || strcmp(command, world->command) != 0 || !world->output) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the command fails");
    }
    ntk_buf_add_text(out, world->output);
    return 0;
}

static int ask(void *ctx, const struct ntk_http_question *question, struct ntk_http_answer *answer,
               struct ntk_err *err)
{
    struct world *world = ctx;

    world->asked++;
    ntk_buf_reset(&answer->body);
    if (question->body) {
        memcpy(world->last_body, question->body, question->body_bytes);
        world->last_body[question->body_bytes] = '\0';
        size_t used = strlen(world->bodies);
        snprintf(world->bodies + used, sizeof world->bodies - used, "%s\n", world->last_body);
        note_signer(world, question);
    }
    for (size_t i = 0; i < sizeof world->services / sizeof *world->services; i++) {
        const struct service *service = &world->services[i];
        if (!service->url || strcmp(service->url, question->url) != 0) {
            continue;
        }
        if (!service->body) {
            return ntk_err_set(err, -ETIMEDOUT, NTK_ERR_NO_OFFSET, "no response");
        }
        answer->status = service->header && !has_header(question, service->header) ? 401 : 200;
        ntk_buf_add_text(&answer->body, service->body);
        return 0;
    }
    return ntk_err_set(err, -ECONNREFUSED, NTK_ERR_NO_OFFSET, "cannot connect to %s",
                       question->url);
}

static uint64_t realtime_ns(void *ctx)
{
    return ((struct world *)ctx)->now * NTK_NS_PER_SECOND;
}

static struct ntk_clock clock_of(struct world *world)
{
    world->now = world->now ? world->now : NOW;
    return (struct ntk_clock){ NULL, realtime_ns, world };
}

static struct ntk_aws_credentials *create(struct world *world, const struct ntk_clock *clock,
                                          const char *profile)
{
    const struct ntk_aws_world outside = { environment, ask, run, world, clock };

    return ntk_aws_credentials_create(&outside, profile);
}

/* The id of the keys, or the message if there are none. */
static void assert_found(struct world *world, const char *profile, const char *expected)
{
    struct ntk_clock clock = clock_of(world);
    struct ntk_aws_credentials *credentials = create(world, &clock, profile);
    const struct ntk_aws_keys *keys;
    struct ntk_err err = { 0 };

    int ret = ntk_aws_credentials_get(credentials, &keys, &err);
    assert_string_equal(ret < 0 ? err.text : keys->access_key, expected);
    ntk_aws_credentials_destroy(credentials);
}

static int check(struct world *world, const char *profile)
{
    struct ntk_clock clock = clock_of(world);
    struct ntk_aws_credentials *credentials = create(world, &clock, profile);
    struct ntk_err err = { 0 };

    int ret = ntk_aws_profile_check(credentials, &err);
    ntk_aws_credentials_destroy(credentials);
    return ret;
}

static void keys_in_the_environment_are_used_before_other_sources(void **state)
{
    struct world world = { .variables = { "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=s",
                                          "AWS_WEB_IDENTITY_TOKEN_FILE=/none" } };
    struct world half = { .variables = { "AWS_ACCESS_KEY_ID=A",
                                         "AWS_EC2_METADATA_DISABLED=true" } };
    struct world bad = { .variables = { "AWS_ACCESS_KEY_ID=A\r\nx: y",
                                        "AWS_SECRET_ACCESS_KEY=s" } };

    assert_found(&world, NULL, "A");
    assert_int_equal(world.asked, 0);
    assert_found(&half, NULL, "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
    assert_found(&bad, NULL, "environment: invalid access key id");
}

static void a_profile_is_read_from_credentials_and_config_files(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "credentials");
    char *config = test_scratch_path(folder, "config");
    char variable[2][300];
    struct world world = { .variables = { variable[0], variable[1], "AWS_ACCESS_KEY_ID=A",
                                          "AWS_SECRET_ACCESS_KEY=s",
                                          "AWS_EC2_METADATA_DISABLED=true" } };
    static const char text[] = "[default]\naws_access_key_id=D\naws_secret_access_key=s\n"
                               "[half]\naws_access_key_id=H\n[role]\nrole_arn=r\n";
    static const char more[] = "[profile c]\naws_access_key_id=C\naws_secret_access_key=s\n"
                               "region=eu-west-3\nendpoint_url=http://e\n";
    struct ntk_err err = { 0 };
    char said[400];

    snprintf(variable[0], sizeof variable[0], "AWS_SHARED_CREDENTIALS_FILE=%s", path);
    snprintf(variable[1], sizeof variable[1], "AWS_CONFIG_FILE=%s", config);
    assert_int_equal(ntk_fs_write(path, text, sizeof text - 1, &err), 0);
    assert_int_equal(ntk_fs_write(config, more, sizeof more - 1, &err), 0);
    assert_found(&world, "default", "D"); /* a requested profile beats the environment */
    assert_found(&world, NULL, "A");
    assert_found(&world, "c", "C");
    snprintf(said, sizeof said, "unknown profile 'none': it is not in %s or %s", path, config);
    assert_found(&world, "none", said);
    assert_found(&world, "role",
                 "profile 'role' has role_arn without source_profile, credential_source or "
                 "web_identity_token_file");
    snprintf(said, sizeof said,
             "%s: the profile has aws_access_key_id but no aws_secret_access_key", path);
    assert_found(&world, "half", said);
    assert_int_equal(check(&world, "c"), 0);
    assert_int_equal(check(&world, "default"), 0);
    assert_int_equal(check(&world, "none"), -EINVAL);
    assert_int_equal(check(&world, NULL), 0);
    world.variables[4] = "AWS_PROFILE=none";
    assert_int_equal(check(&world, NULL), 0); /* the keys of the environment are used */
    world.variables[2] = "HOME=/none";
    assert_int_equal(check(&world, NULL), -EINVAL);
    world.variables[0] = world.variables[1] = "AWS_CONFIG_FILE=/dev/null";
    assert_found(&world, NULL,
                 "unknown profile 'none': it is not in /none/.aws/credentials or /dev/null");
    world.variables[1] = variable[1];
    world.variables[0] = variable[0];
    world.variables[3] = "AWS_WEB_IDENTITY_TOKEN_FILE=/token";
    assert_int_equal(check(&world, NULL), 0); /* as are those of a role */
    assert_int_equal(check(&world, "none"), -EINVAL);
    world.variables[3] = "AWS_SECRET_ACCESS_KEY=s";
    world.variables[4] = "AWS_EC2_METADATA_DISABLED=true";
    world.variables[2] = "AWS_PROFILE=c";
    assert_found(&world, NULL, "C");

    struct ntk_clock clock = clock_of(&world);
    struct ntk_aws_credentials *credentials = create(&world, &clock, "c");
    char *value = NULL;
    assert_int_equal(ntk_aws_region_find(credentials, &value, &err), 0);
    assert_string_equal(value, "eu-west-3");
    free(value);
    assert_int_equal(ntk_aws_endpoint_find(credentials, "CLOUDWATCH", &value, &err), 0);
    assert_string_equal(value, "http://e");
    free(value);
    world.variables[3] = "AWS_ENDPOINT_URL_STS=http://sts";
    assert_int_equal(ntk_aws_endpoint_find(credentials, "STS", &value, &err), 0);
    assert_string_equal(value, "http://sts");
    free(value);
    world.variables[4] = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true";
    assert_int_equal(ntk_aws_endpoint_find(credentials, "STS", &value, &err), 0);
    assert_null(value);
    ntk_aws_credentials_destroy(credentials);
    free(path);
    free(config);
    test_scratch_destroy(folder);
}

static void access_keys_are_read_from_the_container_endpoint(void **state)
{
    struct world world = { .variables = { "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x",
                                          "AWS_CONTAINER_AUTHORIZATION_TOKEN=Basic abc" },
                           .services = { { "http://169.254.170.2/v2/x", KEYS("C", LATER),
                                           "Authorization: Basic abc" } } };
    struct world pod = {
        .variables = { "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://[fd00:ec2::23]/v1/credentials" },
        .services = { { "http://[fd00:ec2::23]/v1/credentials", KEYS("P", LATER), NULL } }
    };

    assert_found(&world, NULL, "C");
    assert_found(&pod, NULL, "P");
    world.variables[1] = "AWS_CONTAINER_AUTHORIZATION_TOKEN=a\r\nHost: b";
    assert_found(&world, NULL, "AWS_CONTAINER_AUTHORIZATION_TOKEN: invalid token");
    world.variables[1] = "AWS_CONTAINER_AUTHORIZATION_TOKEN=other";
    assert_found(&world, NULL, "http://169.254.170.2/v2/x: status 401");
}

static void a_container_address_on_another_host_is_rejected(void **state)
{
    static const char *const urls[] = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://example.org/",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1.example.org/",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1@example.org/",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:x@example.org/",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.20/",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=ftp://127.0.0.1/",
    };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct world world = { .variables = { urls[i] } };
        assert_found(&world, NULL,
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither HTTPS nor on this machine");
        assert_int_equal(world.asked, 0);
    }
}

static void hostile_responses_of_key_services_are_rejected(void **state)
{
    static const struct {
        const char *body;
        const char *said;
    } rows[] = {
        { "", "http://localhost/k: the response is not a JSON object" },
        { "[]", "http://localhost/k: the response is not a JSON object" },
        { "{\"AccessKeyId\":\"A\"}", "http://localhost/k: the response has no keys" },
        { "{\"AccessKeyId\":1,\"SecretAccessKey\":\"s\"}",
          "http://localhost/k: the response has no keys" },
        { "{\"Code\":\"Failed\"}", "http://localhost/k: the response code is 'Failed'" },
        { "{\"AccessKeyId\":\"A\\r\\nB\",\"SecretAccessKey\":\"s\"}",
          "http://localhost/k: invalid access key id" },
        { "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Token\":\"a\\nb\"}",
          "http://localhost/k: invalid session token" },
        { KEYS("A", "tomorrow"),
          "http://localhost/k: the keys in the response have an invalid expiry" },
        { KEYS("A", "2023-13-01T00:00:00Z"),
          "http://localhost/k: the keys in the response have an invalid expiry" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world world = {
            .variables = { "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost/k" },
            .services = { { "http://localhost/k", rows[i].body, NULL } }
        };
        assert_found(&world, NULL, rows[i].said);
    }
}

static void a_web_identity_token_is_exchanged_for_keys(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "token");
    char variable[300];
    struct world world = {
        .variables = { variable, "AWS_ROLE_ARN=arn:aws:iam::1:role/a b", "AWS_REGION=cn-north-1" },
        .services = { { "https://sts.cn-north-1.amazonaws.com.cn",
                        "<X><AccessKeyId>no</AccessKeyId><Credentials>\n<AccessKeyId> W "
                        "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t"
                        "</SessionToken><Expiration>" LATER "</Expiration></Credentials></X>",
                        NULL } }
    };
    struct ntk_err err = { 0 };

    snprintf(variable, sizeof variable, "AWS_WEB_IDENTITY_TOKEN_FILE=%s", path);
    assert_int_equal(ntk_fs_write(path, "to+ken\n", 7, &err), 0);
    assert_found(&world, NULL, "W");
    assert_string_equal(world.last_body,
                        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
                        "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b"
                        "&RoleSessionName=neuron-monitor-cloudwatch&WebIdentityToken=to%2Bken");
    world.services[0].body = "<X><Credentials><AccessKeyId>W</AccessKeyId></X>";
    assert_found(&world, NULL, "https://sts.cn-north-1.amazonaws.com.cn: the response has no keys");
    free(path);
    test_scratch_destroy(folder);
}

#define STS "https://sts.us-east-1.amazonaws.com"
#define STS_KEYS(id)                                                                        \
    "<R><Credentials><AccessKeyId>" id "</AccessKeyId><SecretAccessKey>s</SecretAccessKey>" \
    "<SessionToken>t</SessionToken><Expiration>" LATER "</Expiration></Credentials></R>"
#define ASSUME "Action=AssumeRole&Version=2011-06-15&RoleArn="
#define SESSION "&RoleSessionName=neuron-monitor-cloudwatch"

/* A world with this config file and STS. */
struct roles {
    char *folder;
    char *path;
    char variable[300];
    struct world world;
};

static int set_up_roles(void **state)
{
    static const char text[] =
        "[default]\naws_access_key_id=D\naws_secret_access_key=s\n"
        "[profile role]\nrole_arn=one\nsource_profile=default\nrole_session_name=me me\n"
        "external_id=x/y\nduration_seconds=900\n"
        "[profile chain]\nrole_arn=two\nsource_profile=role\n"
        "[profile self]\nrole_arn=mine\nsource_profile=self\naws_access_key_id=S\n"
        "aws_secret_access_key=s\n"
        "[profile circle]\nrole_arn=a\nsource_profile=elcric\n"
        "[profile elcric]\nrole_arn=b\nsource_profile=circle\n"
        "[profile lost]\nrole_arn=a\nsource_profile=nobody\n"
        "[profile empty]\nregion=us-east-1\n[profile of-empty]\nrole_arn=a\nsource_profile=empty\n"
        "[profile env]\nrole_arn=e\ncredential_source=Environment\n"
        "[profile ec2]\nrole_arn=i\ncredential_source=Ec2InstanceMetadata\n"
        "[profile odd]\nrole_arn=o\ncredential_source=Moon\n"
        "[profile both]\nrole_arn=o\ncredential_source=Environment\nsource_profile=default\n"
        "[profile mfa]\nrole_arn=o\nsource_profile=default\nmfa_serial=arn\n"
        "[profile long]\nrole_arn=o\nsource_profile=default\nduration_seconds=1h\n"
        "[profile run]\ncredential_process=get keys\n"
        "[profile of-run]\nrole_arn=r\nsource_profile=run\n"
        "[profile written]\ncredential_process=get keys\naws_access_key_id=W\n"
        "aws_secret_access_key=s\n"
        "[profile person]\nsso_session=corp\n";
    struct roles *f = calloc(1, sizeof *f);
    struct ntk_err err = { 0 };

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "config");
    snprintf(f->variable, sizeof f->variable, "AWS_CONFIG_FILE=%s", f->path);
    assert_int_equal(ntk_fs_write(f->path, text, sizeof text - 1, &err), 0);
    f->world = (struct world){ .variables = { f->variable, "AWS_EC2_METADATA_DISABLED=true",
                                              "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=s",
                                              "AWS_SESSION_TOKEN=et" },
                               .services = { { STS, STS_KEYS("R"), NULL } } };
    *state = f;
    return 0;
}

static int tear_down_roles(void **state)
{
    struct roles *f = *state;

    free(f->path);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void a_role_is_assumed_with_the_keys_of_another_profile(void **state)
{
    struct roles *f = *state;
    struct world *world = &f->world;

    assert_found(world, "role", "R");
    assert_string_equal(world->bodies, ASSUME "one&RoleSessionName=me%20me&DurationSeconds=900"
                                              "&ExternalId=x%2Fy\n");
    assert_string_equal(world->signers, "D,");
    world->bodies[0] = world->signers[0] = '\0';
    assert_found(world, "chain", "R"); /* the second is signed with the keys of the first */
    assert_string_equal(world->bodies, ASSUME
                        "one&RoleSessionName=me%20me&DurationSeconds=900&ExternalId=x%2Fy\n" ASSUME
                        "two" SESSION "\n");
    assert_string_equal(world->signers, "D,R t,");
    world->bodies[0] = world->signers[0] = '\0';
    assert_found(world, "self", "R");
    assert_string_equal(world->bodies, ASSUME "mine" SESSION "\n");
    assert_string_equal(world->signers, "S,");
    world->services[0].body = "<E><Credentials/></E>";
    assert_found(world, "role", STS ": the response has no keys");
}

static void a_role_is_assumed_with_keys_from_its_credential_source(void **state)
{
    struct roles *f = *state;
    struct world *world = &f->world;

    assert_found(world, "env", "R");
    assert_string_equal(world->signers, "E et,");
    assert_found(world, "ec2", "profile 'ec2' has a credential_source without keys");
    world->variables[1] = NULL;
    world->services[1] = (struct service){ IMDS "api/token", "tok", NULL };
    world->services[2] = (struct service){ ROLES, "my-role", NULL };
    world->services[3] = (struct service){ ROLES "my-role", KEYS("I", LATER), NULL };
    world->signers[0] = '\0';
    assert_found(world, "ec2", "R");
    assert_string_equal(world->signers, "I t,");
}

static void failure_to_assume_a_role_reports_the_reason(void **state)
{
    static const struct {
        const char *profile;
        const char *said;
    } rows[] = {
        { "lost", "profile 'lost' has a source_profile that does not exist" },
        { "of-empty", "profile 'of-empty' has a source_profile without keys" },
        { "circle", "profile 'elcric' exceeds the limit on chained source_profile entries" },
        { "odd", "profile 'odd' has an invalid credential_source: expected Environment, "
                 "EcsContainer or Ec2InstanceMetadata" },
        { "both", "profile 'both' has both source_profile and credential_source" },
        { "mfa", "profile 'mfa' requires a code from an MFA device (mfa_serial), which a service "
                 "cannot enter" },
        { "long", "profile 'long' has an invalid duration_seconds: expected a number" },
        { "person", "profile 'person' requires an interactive sign-in (sso_session), which is not "
                    "supported; use a credential_process line to get keys" },
    };
    struct roles *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_found(&f->world, rows[i].profile, rows[i].said);
    }
    assert_int_equal(f->world.asked, 0);
}

/* Method: a chain of profiles, each with a role that may be assumed with the keys of the next; the
 * last has keys. */
static void a_chain_of_aws_profiles_is_limited_to_nine(void **state)
{
    struct roles *f = *state;
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };

    for (int i = 0; i < 9; i++) {
        ntk_buf_add_format(&text, "[profile p%d]\nrole_arn=a%d\nsource_profile=p%d\n", i, i, i + 1);
    }
    ntk_buf_add_text(&text, "[profile p9]\naws_access_key_id=P\naws_secret_access_key=s\n");
    assert_int_equal(ntk_fs_write(f->path, text.bytes, text.bytes_count, &err), 0);
    ntk_buf_fini(&text);
    assert_found(&f->world, "p1", "R");
    assert_string_equal(f->world.signers, "P,R t,R t,R t,R t,R t,R t,R t,");
    f->world.asked = 0;
    assert_found(&f->world, "p0",
                 "profile 'p9' exceeds the limit on chained source_profile entries");
    assert_int_equal(f->world.asked, 0);
}

static void access_keys_are_read_from_the_output_of_a_command(void **state)
{
    static const struct {
        const char *output;
        const char *said;
    } rows[] = {
        { NULL, "profile 'run': the command fails" },
        { "hello", "profile 'run': the response is not a JSON object" },
        { "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\"}",
          "profile 'run': unsupported version: expected 1" },
        { "{\"Version\":2,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\"}",
          "profile 'run': unsupported version: expected 1" },
        { "{\"Version\":1,\"AccessKeyId\":\"A\"}", "profile 'run': the response has no keys" },
        { "{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\"}", "A" },
    };
    struct roles *f = *state;

    f->world.command = "get keys";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->world.output = rows[i].output;
        assert_found(&f->world, "run", rows[i].said);
    }
    f->world.output = "{\"Version\":1,\"AccessKeyId\":\"P\",\"SecretAccessKey\":\"s\","
                      "\"SessionToken\":\"pt\",\"Expiration\":\"" LATER "\"}";
    assert_found(&f->world, "of-run", "R");
    assert_string_equal(f->world.signers, "P pt,");
    f->world.output = NULL;
    assert_found(&f->world, "written", "W"); /* keys in the file come first */
}

static void access_keys_are_read_from_the_instance_metadata_service(void **state)
{
    struct world world = {
        .services = { { IMDS "api/token", "tok", "X-aws-ec2-metadata-token-ttl-seconds: 60" },
                      { ROLES, "my-role\n", "X-aws-ec2-metadata-token: tok" },
                      { ROLES "my-role", KEYS("I", LATER), "X-aws-ec2-metadata-token: tok" },
                      { IMDS "meta-data/placement/region", "ap-east-1", NULL } }
    };
    static const char none[] =
        "no AWS credentials in the environment, in files, or from the container or instance";
    char *region = NULL;
    struct ntk_err err = { 0 };

    assert_found(&world, NULL, "I");
    struct ntk_clock clock = clock_of(&world);
    struct ntk_aws_credentials *credentials = create(&world, &clock, NULL);
    assert_true(ntk_aws_region_ask(credentials, &region, &err) >= 0);
    assert_string_equal(region, "ap-east-1");
    free(region);
    ntk_aws_credentials_destroy(credentials);
    world.services[0].body = "a\r\nb"; /* a token that would be two headers */
    assert_found(&world, NULL,
                 "no AWS credentials in the environment, in files, or from the container or "
                 "instance (" IMDS "api/token: invalid token)");
    world.variables[0] = "AWS_EC2_METADATA_DISABLED=true";
    world.asked = 0;
    assert_found(&world, NULL, none);
    assert_int_equal(world.asked, 0);
}

static void assert_now(struct ntk_aws_credentials *credentials, const char *expected)
{
    const struct ntk_aws_keys *keys;
    struct ntk_err err = { 0 };

    int ret = ntk_aws_credentials_get(credentials, &keys, &err);
    assert_string_equal(ret < 0 ? "none" : keys->access_key, expected);
}

static void access_keys_are_renewed_before_they_expire(void **state)
{
    struct world world = { .variables = { "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost/k" },
                           .services = { { "http://localhost/k", KEYS("ONE", LATER), NULL } } };
    struct ntk_clock clock = clock_of(&world);
    struct ntk_aws_credentials *credentials = create(&world, &clock, NULL);

    assert_now(credentials, "ONE");
    world.services[0].body = KEYS("TWO", SOON); /* expires 10 minutes after NOW */
    assert_now(credentials, "ONE");
    assert_int_equal(world.asked, 1);
    ntk_aws_credentials_forget(credentials);
    assert_now(credentials, "TWO");
    assert_now(credentials, "TWO"); /* expires soon, but it was just requested */
    assert_int_equal(world.asked, 2);
    world.now = NOW + NTK_AWS_RETRY_SECONDS;
    world.services[0].body = NULL;
    assert_now(credentials, "TWO"); /* valid until it expires, because no newer keys exist */
    assert_int_equal(world.asked, 3);
    world.now = NOW + 600;
    assert_now(credentials, "none");
    world.services[0].body = KEYS("THREE", LATER);
    assert_now(credentials, "THREE");
    ntk_aws_credentials_forget(credentials);
    world.services[0].body = NULL;
    assert_now(credentials, "none"); /* rejected keys are not used again */
    ntk_aws_credentials_destroy(credentials);
}

static void instance_keys_are_used_during_an_outage_of_the_service(void **state)
{
    struct world world = { .services = { { IMDS "api/token", "tok", NULL },
                                         { ROLES, "r", NULL },
                                         { ROLES "r", KEYS("I", SOON), NULL } } };
    struct ntk_clock clock = clock_of(&world);
    struct ntk_aws_credentials *credentials = create(&world, &clock, NULL);

    assert_now(credentials, "I");
    world.services[0].body = NULL;
    world.now = NOW + 100000;
    assert_now(credentials, "I");
    ntk_aws_credentials_destroy(credentials);
}

static void an_endpoint_follows_from_region_and_environment(void **state)
{
    static const struct {
        const char *region;
        const char *url;
    } rows[] = { { "eu-west-1", "https://monitoring.eu-west-1.amazonaws.com" },
                 { "us-gov-west-1", "https://monitoring.us-gov-west-1.amazonaws.com" },
                 { "cn-north-1", "https://monitoring.cn-north-1.amazonaws.com.cn" },
                 { "eusc-de-east-1", "https://monitoring.eusc-de-east-1.amazonaws.eu" },
                 { "us-iso-east-1", "https://monitoring.us-iso-east-1.c2s.ic.gov" },
                 { "us-isob-east-1", "https://monitoring.us-isob-east-1.sc2s.sgov.gov" } };
    struct world world = { .variables = { NULL } };
    struct ntk_clock clock = clock_of(&world);
    struct ntk_aws_credentials *credentials = create(&world, &clock, NULL);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *url = ntk_aws_endpoint_make(credentials, "monitoring", rows[i].region);
        assert_string_equal(url, rows[i].url);
        free(url);
    }
    world.variables[0] = "AWS_USE_FIPS_ENDPOINT=true";
    world.variables[1] = "AWS_USE_DUALSTACK_ENDPOINT=true";
    char *url = ntk_aws_endpoint_make(credentials, "monitoring", "us-east-1");
    assert_string_equal(url, "https://monitoring-fips.us-east-1.api.aws");
    free(url);
    ntk_aws_credentials_destroy(credentials);
    assert_false(ntk_aws_region_is_good(""));
    assert_false(ntk_aws_region_is_good("us-east-1.example.org/"));
    assert_false(ntk_aws_region_is_good("US"));
}

static void times_and_error_responses_are_parsed(void **state)
{
    static const char *const bad[] = { "",
                                       "2023-11-14",
                                       "2023-11-14T22:13:20",
                                       "x",
                                       "2023-11-14T22:13:20+01:00",
                                       "1969-12-31T00:00:00Z",
                                       "2023-11-14T25:13:20Z" };
    struct ntk_aws_error said;
    uint64_t seconds = 0;

    assert_int_equal(ntk_aws_time_parse("2023-11-14T22:13:20Z", &seconds), 0);
    assert_int_equal(seconds, NOW);
    assert_int_equal(ntk_aws_time_parse("2023-11-14T22:13:20.999Z", &seconds), 0);
    assert_int_equal(ntk_aws_http_date_parse("Tue, 14 Nov 2023 22:13:20 GMT", &seconds), 0);
    assert_int_equal(seconds, NOW);
    assert_int_equal(ntk_aws_http_date_parse("Tue, 14 ovD 2023 22:13:20 GMT", &seconds), -EBADMSG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ntk_aws_time_parse(bad[i], &seconds), -EBADMSG);
    }
    ntk_aws_error_parse("{\"__type\":\"a.b#Bad:http\",\"Message\":\"m\"}", 39, &said);
    assert_string_equal(said.code, "Bad");
    assert_string_equal(said.text, "m");
    ntk_aws_error_parse("<E><Code>Throttling</Code><Message>r\x1b[2J</Message></E>", 54, &said);
    assert_string_equal(said.code, "Throttling");
    assert_null(strchr(said.text, '\x1b'));
    ntk_aws_error_parse("", 0, &said);
    assert_string_equal(said.code, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_in_the_environment_are_used_before_other_sources),
        cmocka_unit_test(a_profile_is_read_from_credentials_and_config_files),
        cmocka_unit_test(access_keys_are_read_from_the_container_endpoint),
        cmocka_unit_test(a_container_address_on_another_host_is_rejected),
        cmocka_unit_test(hostile_responses_of_key_services_are_rejected),
        cmocka_unit_test(a_web_identity_token_is_exchanged_for_keys),
        cmocka_unit_test_setup_teardown(a_role_is_assumed_with_the_keys_of_another_profile,
                                        set_up_roles, tear_down_roles),
        cmocka_unit_test_setup_teardown(a_role_is_assumed_with_keys_from_its_credential_source,
                                        set_up_roles, tear_down_roles),
        cmocka_unit_test_setup_teardown(failure_to_assume_a_role_reports_the_reason, set_up_roles,
                                        tear_down_roles),
        cmocka_unit_test_setup_teardown(a_chain_of_aws_profiles_is_limited_to_nine, set_up_roles,
                                        tear_down_roles),
        cmocka_unit_test_setup_teardown(access_keys_are_read_from_the_output_of_a_command,
                                        set_up_roles, tear_down_roles),
        cmocka_unit_test(access_keys_are_read_from_the_instance_metadata_service),
        cmocka_unit_test(access_keys_are_renewed_before_they_expire),
        cmocka_unit_test(instance_keys_are_used_during_an_outage_of_the_service),
        cmocka_unit_test(an_endpoint_follows_from_region_and_environment),
        cmocka_unit_test(times_and_error_responses_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
