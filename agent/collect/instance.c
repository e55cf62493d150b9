/* SPDX-License-Identifier: MIT */
/* instance - collects facts about this machine from DMI and EC2's instance metadata service. */
#include "agent/collect/instance.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/collect/instance_facts.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/device/device.h"
#include "shared/http/http_client.h"

#define TEXT_BYTES NTK_INSTANCE_TEXT_BYTES

struct ntk_instance_source {
    struct ntk_instance_facts facts; /* protected by the lock once the thread runs */
    char *endpoint;
    const struct ntk_clock *clock;
    /* Program that sends the requests; NULL if the thread sends them through client */
    char *program;
    struct ntk_http_client *client; /* protected by the lock; NULL while not needed */
    struct ntk_instance_child child;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_over; /* protected by the lock */
};

const char *ntk_instance_endpoint_get(bool *out_is_certain)
{
    const char *endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");

    *out_is_certain = endpoint && endpoint[0];
    if (ntk_str_is_true(getenv("AWS_EC2_METADATA_DISABLED"))) {
        return NULL;
    }
    return *out_is_certain ? endpoint : NTK_INSTANCE_ENDPOINT;
}

/* -- DMI --------------------------------------------------------------------------------------- */

/* Reads DMI; returns true if this may be an EC2 machine. */
static bool read_dmi(const char *root, struct ntk_instance_facts *facts)
{
    char path[1024];
    char vendor[TEXT_BYTES];

    snprintf(path, sizeof path, "%s/class/dmi/id/sys_vendor", root);
    if (ntk_fs_read_text(path, vendor, sizeof vendor) < 0) {
        return true;
    }
    if (strcmp(vendor, "Amazon EC2") != 0) {
        return vendor[0] == '\0';
    }
    ntk_device_firmware_instance_type(root, facts->type, sizeof facts->type);
    ntk_device_firmware_instance_id(root, facts->id, sizeof facts->id);
    return true;
}

/* -- requests ---------------------------------------------------------------------------------- */

/* Waits; returns false if the source was stopped. */
static bool wait_for(struct ntk_instance_source *source, uint64_t pause_ns)
{
    uint64_t until_ns = ntk_clock_now_ns(source->clock) + pause_ns;
    bool may_continue;

    pthread_mutex_lock(&source->lock);
    while (!source->is_over && ntk_cond_wait_clock(source->clock, &source->wake, &source->lock,
                                                   until_ns) != -ETIMEDOUT) {
    }
    may_continue = !source->is_over;
    pthread_mutex_unlock(&source->lock);
    return may_continue;
}

/* Returns the thread's client, created on demand. NULL if out of memory or stopped. */
static struct ntk_http_client *get_client(struct ntk_instance_source *source)
{
    pthread_mutex_lock(&source->lock);
    if (!source->client && !source->is_over) {
        source->client = ntk_http_client_create();
    }
    struct ntk_http_client *client = source->is_over ? NULL : source->client;
    pthread_mutex_unlock(&source->lock);
    return client;
}

static bool ask(struct ntk_instance_source *source, struct ntk_instance_facts *facts,
                struct ntk_err *err)
{
    if (source->program) {
        int reported =
            ntk_instance_child_ask(&source->child, source->program, source->endpoint, facts, err);
        if (reported >= 0) {
            return reported > 0;
        }
        /* The program cannot be started here, so the thread sends the requests from now on. */
        free(source->program);
        source->program = NULL;
    }
    struct ntk_http_client *client = get_client(source);
    if (!client) {
        ntk_err_no_memory(err);
        return false;
    }
    return ntk_instance_facts_ask(client, source->endpoint, facts, err);
}

static void *ask_until_answered(void *ctx)
{
    struct ntk_instance_source *source = ctx;
    struct ntk_instance_facts facts = source->facts; /* only this thread writes them */
    uint64_t pause_ns = NTK_INSTANCE_PAUSE_NS;
    bool is_complete;

    do {
        struct ntk_err err = { 0 };
        is_complete = ask(source, &facts, &err);
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
    source->program = options->program ? strdup(options->program) : NULL;
    source->clock = options->clock;
    if (!source->endpoint || (options->program && !source->program)) {
        return ntk_err_no_memory(err);
    }
    size_t length = strlen(source->endpoint);
    while (length > 0 && source->endpoint[length - 1] == '/') {
        source->endpoint[--length] = '\0';
    }
    int code = pthread_create(&source->thread, NULL, ask_until_answered, source);
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
    int ret = 0;

    if (!source) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&source->lock, NULL);
    pthread_mutex_init(&source->child.lock, NULL);
    source->child.clock = options->clock;
    pthread_cond_init(&source->wake, NULL);
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
        if (source->client) {
            ntk_http_client_cancel(source->client);
        }
        pthread_mutex_unlock(&source->lock);
        ntk_instance_child_cancel(&source->child);
        pthread_join(source->thread, NULL);
    }
    ntk_http_client_destroy(source->client);
    free(source->endpoint);
    free(source->program);
    pthread_mutex_destroy(&source->child.lock);
    pthread_cond_destroy(&source->wake);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

void ntk_instance_source_get(struct ntk_snapshot *snapshot, void *ctx)
{
    struct ntk_instance_source *source = ctx;
    struct ntk_instance_facts facts;

    pthread_mutex_lock(&source->lock);
    facts = source->facts;
    pthread_mutex_unlock(&source->lock);
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        snapshot->instance.texts[i] = ntk_snapshot_text(snapshot, facts.texts[i]);
    }
    snapshot->instance.error = ntk_snapshot_text(snapshot, facts.error);
}
