/* SPDX-License-Identifier: MIT */
/* instance - where this machine runs: DMI, and EC2's instance metadata service. */
#include "agent/collect/instance.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define TEXT_BYTES 256
#define ANSWER_BYTES 4096
#define HTTP_OK 200
#define HTTP_NOT_FOUND 404

struct facts {
    char name[TEXT_BYTES];
    char id[TEXT_BYTES];
    char type[TEXT_BYTES];
    char zone[TEXT_BYTES];
    char zone_id[TEXT_BYTES];
    char region[TEXT_BYTES];
    char ami_id[TEXT_BYTES];
    char subnet_id[TEXT_BYTES];
    char error[TEXT_BYTES];
};

struct ntk_instance_source {
    struct facts facts; /* under the lock once there is a thread */
    char *endpoint;
    uint64_t pause_ns;
    struct ntk_http_client *client;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_over; /* under the lock */
};

/* Below /latest/meta-data/. */
static const struct {
    const char *path;
    size_t offset;
    bool optional; /* older machines, and those whose owner did not allow it, do not have it */
} questions[] = {
    { "instance-id", offsetof(struct facts, id), false },
    { "instance-type", offsetof(struct facts, type), false },
    { "placement/availability-zone", offsetof(struct facts, zone), false },
    { "placement/availability-zone-id", offsetof(struct facts, zone_id), true },
    { "placement/region", offsetof(struct facts, region), true },
    { "ami-id", offsetof(struct facts, ami_id), false },
    { "tags/instance/Name", offsetof(struct facts, name), true },
};

const char *ntk_instance_endpoint_get(bool *out_is_certain)
{
    const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
    const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");

    *out_is_certain = endpoint && endpoint[0];
    if (disabled && strcmp(disabled, "true") == 0) {
        return NULL;
    }
    return *out_is_certain ? endpoint : NTK_INSTANCE_ENDPOINT;
}

/* -- DMI ---------------------------------------------------------------------------------------- */

static void read_dmi_text(const char *root, const char *name, char text[TEXT_BYTES])
{
    char path[1024];

    snprintf(path, sizeof path, "%s/class/dmi/id/%s", root, name);
    if (ntk_fs_read_text(path, text, TEXT_BYTES) < 0) {
        text[0] = '\0';
    }
}

/* Whether this may be a machine of EC2. */
static bool read_dmi(const char *root, struct facts *facts)
{
    char vendor[TEXT_BYTES];
    char tag[TEXT_BYTES];

    read_dmi_text(root, "sys_vendor", vendor);
    if (strcmp(vendor, "Amazon EC2") != 0) {
        return vendor[0] == '\0';
    }
    read_dmi_text(root, "product_name", facts->type);
    read_dmi_text(root, "board_asset_tag", tag);
    if (ntk_str_starts_with(tag, "i-")) {
        ntk_str_copy(facts->id, sizeof facts->id, tag);
    }
    return true;
}

/* -- the service -------------------------------------------------------------------------------- */

/* One question with the method and header; the first line of the answer. The HTTP status, or -errno. */
static long ask(const struct ntk_instance_source *source, const char *method, const char *path,
                const char *header, char text[TEXT_BYTES], struct ntk_err *err)
{
    char url[1024];
    const char *const headers[] = { header, NULL };
    const struct ntk_http_question question = {
        .method = method,
        .url = url,
        .headers = headers,
        .connect_ns = NTK_INSTANCE_CONNECT_NS,
        .timeout_ns = NTK_INSTANCE_TIMEOUT_NS,
        .answer_bytes_max = ANSWER_BYTES,
    };
    struct ntk_http_answer answer = { 0 };

    text[0] = '\0';
    snprintf(url, sizeof url, "%s/latest/%s", source->endpoint, path);
    long ret = ntk_http_client_ask(source->client, &question, &answer, err);
    if (ret >= 0) {
        ret = answer.status;
        if (answer.status == HTTP_OK) {
            const char *body = ntk_buf_text_get(&answer.body);
            ntk_str_copy_clean(text, TEXT_BYTES, body, strcspn(body, "\r\n"));
        } else {
            ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                        "the instance metadata service answers %ld to %s", answer.status, path);
        }
    }
    ntk_http_answer_fini(&answer);
    return ret;
}

static long ask_data(const struct ntk_instance_source *source, const char *path, const char *header,
                     char text[TEXT_BYTES], struct ntk_err *err)
{
    char full[512];

    snprintf(full, sizeof full, "meta-data/%s", path);
    return ask(source, NULL, full, header, text, err);
}

static bool is_mac(const char *text)
{
    return text[0] && strspn(text, "0123456789abcdefABCDEF:") == strlen(text) && strlen(text) <= 32;
}

/* The subnet stands with the network interface, which has the machine's own address as its name. */
static bool ask_subnet(const struct ntk_instance_source *source, const char *header,
                       struct facts *facts, struct ntk_err *err)
{
    char mac[TEXT_BYTES];
    char path[128];

    if (ask_data(source, "mac", header, mac, err) != HTTP_OK) {
        return false;
    }
    if (!is_mac(mac)) {
        ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                    "the instance metadata service gives a mac that is none");
        return false;
    }
    snprintf(path, sizeof path, "network/interfaces/macs/%s/subnet-id", mac);
    return ask_data(source, path, header, facts->subnet_id, err) == HTTP_OK;
}

/* False, with a sentence, when something is still missing that every machine has. */
static bool ask_all(const struct ntk_instance_source *source, struct facts *facts,
                    struct ntk_err *err)
{
    char token[TEXT_BYTES];
    char header[TEXT_BYTES + 32];
    bool is_complete;

    if (ask(source, "PUT", "api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60", token, err) !=
        HTTP_OK) {
        return false;
    }
    snprintf(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        char text[TEXT_BYTES];
        long status = ask_data(source, questions[i].path, header, text, err);
        if (status == HTTP_OK) {
            ntk_str_copy((char *)facts + questions[i].offset, TEXT_BYTES, text);
        } else if (!questions[i].optional || status != HTTP_NOT_FOUND) {
            return false;
        }
    }
    is_complete = ask_subnet(source, header, facts, err);
    if (is_complete) {
        facts->error[0] = '\0';
    }
    return is_complete;
}

/* False when it is over. */
static bool wait_for(struct ntk_instance_source *source, uint64_t pause_ns)
{
    uint64_t until_ns = ntk_clock_monotonic_ns() + pause_ns;
    const struct timespec until = { (time_t)(until_ns / NTK_NS_PER_SECOND),
                                    (long)(until_ns % NTK_NS_PER_SECOND) };
    bool go_on;

    pthread_mutex_lock(&source->lock);
    while (!source->is_over &&
           pthread_cond_timedwait(&source->wake, &source->lock, &until) != ETIMEDOUT) {
    }
    go_on = !source->is_over;
    pthread_mutex_unlock(&source->lock);
    return go_on;
}

static void *ask_until_told(void *ctx)
{
    struct ntk_instance_source *source = ctx;
    struct facts facts = source->facts; /* nobody else writes them */
    uint64_t pause_ns = source->pause_ns;
    bool is_complete;

    do {
        struct ntk_err err = { 0 };
        is_complete = ask_all(source, &facts, &err);
        if (!is_complete) {
            ntk_str_copy(facts.error, sizeof facts.error, err.text);
        }
        pthread_mutex_lock(&source->lock);
        source->facts = facts;
        pthread_mutex_unlock(&source->lock);
        pause_ns = pause_ns < NTK_INSTANCE_PAUSE_MAX_NS ? pause_ns : NTK_INSTANCE_PAUSE_MAX_NS;
        if (is_complete || !wait_for(source, pause_ns)) {
            break;
        }
        pause_ns *= 2;
    } while (true);
    return NULL;
}

static int start(struct ntk_instance_source *source, const struct ntk_instance_options *options,
                 struct ntk_err *err)
{
    source->endpoint = strdup(options->endpoint);
    source->client = ntk_http_client_create();
    source->pause_ns = options->pause_ns ? options->pause_ns : NTK_INSTANCE_PAUSE_NS;
    if (!source->endpoint || !source->client) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    size_t length = strlen(source->endpoint);
    while (length > 0 && source->endpoint[length - 1] == '/') {
        source->endpoint[--length] = '\0';
    }
    int code = pthread_create(&source->thread, NULL, ask_until_told, source);
    if (code != 0) {
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(code));
    }
    source->has_thread = true;
    return 0;
}

int ntk_instance_source_create(const struct ntk_instance_options *options,
                               struct ntk_instance_source **out_source, struct ntk_err *err)
{
    struct ntk_instance_source *source = calloc(1, sizeof *source);
    pthread_condattr_t clock;
    int ret = 0;

    if (!source) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    pthread_mutex_init(&source->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&source->wake, &clock);
    pthread_condattr_destroy(&clock);
    bool may_be_ec2 = read_dmi(options->sysfs_root ? options->sysfs_root : "/sys", &source->facts);
    if (options->endpoint && (may_be_ec2 || options->is_certain)) {
        ret = start(source, options, err);
    }
    if (ret < 0) {
        ntk_instance_source_destroy(source);
        return ret;
    }
    *out_source = source;
    return 0;
}

void ntk_instance_source_destroy(struct ntk_instance_source *source)
{
    if (!source) {
        return;
    }
    if (source->has_thread) {
        pthread_mutex_lock(&source->lock);
        source->is_over = true;
        pthread_cond_signal(&source->wake);
        pthread_mutex_unlock(&source->lock);
        ntk_http_client_cancel(source->client);
        pthread_join(source->thread, NULL);
    }
    ntk_http_client_destroy(source->client);
    free(source->endpoint);
    pthread_cond_destroy(&source->wake);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

void ntk_instance_source_get(struct ntk_snapshot *snapshot, void *ctx)
{
    struct ntk_instance_source *source = ctx;
    struct facts facts;

    pthread_mutex_lock(&source->lock);
    facts = source->facts;
    pthread_mutex_unlock(&source->lock);
    snapshot->instance = (struct ntk_instance){
        .name = ntk_snapshot_text(snapshot, facts.name),
        .id = ntk_snapshot_text(snapshot, facts.id),
        .type = ntk_snapshot_text(snapshot, facts.type),
        .zone = ntk_snapshot_text(snapshot, facts.zone),
        .zone_id = ntk_snapshot_text(snapshot, facts.zone_id),
        .region = ntk_snapshot_text(snapshot, facts.region),
        .ami_id = ntk_snapshot_text(snapshot, facts.ami_id),
        .subnet_id = ntk_snapshot_text(snapshot, facts.subnet_id),
        .ultraserver_id = "",
        .error = ntk_snapshot_text(snapshot, facts.error),
    };
}
