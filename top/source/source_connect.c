/* SPDX-License-Identifier: MIT */
/*
 * source_connect - gets snapshots from another machine's neuron-monitor over HTTP: a thread reads
 * its stream and passes the bytes through a pipe to a stream source. A broken connection is
 * restored.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/url.h"
#include "shared/base/write_all.h"
#include "shared/hosts/hosts.h"
#include "shared/http/http_client.h"
#include "top/source/source.h"

/* Path of whole reports, even if the agent limits lines. */
#define STREAM_PATH "/api/v1/live"
/* a server that sends nothing for this time is not an agent */
#define HEAD_NS (10 * NTK_NS_PER_SECOND)
#define RETRY_NS (1 * NTK_NS_PER_SECOND)

struct connect_source {
    struct ntk_top_source base;
    struct ntk_top_source *stream; /* reads the pipe */
    struct ntk_top_remote remote;
    char url[NTK_HOSTS_URL_BYTES];
    struct ntk_http_client *client;
    pthread_t thread;
    bool has_thread;
    int pipe_fd;          /* the thread writes to it */
    char last_byte;       /* last byte written to the pipe */
    pthread_mutex_t lock; /* protects all members below */
    pthread_cond_t changed;
    bool is_stopping;
    uint64_t heard_ns; /* monotonic time when bytes arrived; 0 for never */
    /* Reason for a missing connection, "" while there is one */
    char trouble[NTK_ERR_TEXT_BYTES];
    char note[NTK_ERR_TEXT_BYTES]; /* copy last returned; belongs to the calling thread */
};

/* -- the thread -------------------------------------------------------------------------------- */

static void set_trouble(struct connect_source *source, const char *text)
{
    size_t url = strlen(source->url);

    /* The user knows the address, so it is omitted. */
    if (strncmp(text, source->url, url) == 0 && strncmp(text + url, ": ", 2) == 0) {
        text += url + 2;
    }
    pthread_mutex_lock(&source->lock);
    (void)snprintf(source->trouble, sizeof source->trouble, "%s", text);
    pthread_mutex_unlock(&source->lock);
    /* An empty line wakes the screen, which shows the age, and ends a truncated line. */
    source->last_byte = '\n';
    (void)!write(source->pipe_fd, "\n", 1);
}

static bool on_bytes(const void *bytes, size_t bytes_count, void *ctx)
{
    struct connect_source *source = ctx;

    pthread_mutex_lock(&source->lock);
    bool was_away = source->trouble[0] != '\0';
    source->trouble[0] = '\0';
    source->heard_ns = ntk_clock_now_ns(source->remote.clock);
    bool is_stopping = source->is_stopping;
    pthread_mutex_unlock(&source->lock);
    if (was_away && source->last_byte != '\n') {
        (void)!write(source->pipe_fd, "\n", 1);
    }
    if (!is_stopping && ntk_write_all(source->pipe_fd, bytes, bytes_count) < 0) {
        return false; /* the reader is gone */
    }
    source->last_byte = ((const char *)bytes)[bytes_count - 1];
    return !is_stopping;
}

static int ask_once(struct connect_source *source, struct ntk_http_answer *answer,
                    struct ntk_err *err)
{
    const struct ntk_http_question question = { .url = source->url,
                                                .token_file = source->remote.token_file,
                                                .timeout_ns = UINT64_MAX,
                                                .head_ns = HEAD_NS,
                                                .ca_file = source->remote.ca_file,
                                                .on_bytes = on_bytes,
                                                .ctx = source };

    int ret = ntk_http_client_ask(source->client, &question, answer, err);
    if (ret >= 0 && answer->status != 200) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the agent returned HTTP %ld",
                           answer->status);
    }
    return ret < 0 ? ret : ntk_err_set(err, -EPIPE, NTK_ERR_NO_OFFSET, "the connection was closed");
}

static void *run(void *ctx)
{
    struct connect_source *source = ctx;
    struct ntk_http_answer answer = { 0 };

    pthread_mutex_lock(&source->lock);
    while (!source->is_stopping) {
        struct ntk_err err = { 0 };

        pthread_mutex_unlock(&source->lock);
        (void)ask_once(source, &answer, &err);
        set_trouble(source, err.text);
        uint64_t until_ns = ntk_clock_now_ns(source->remote.clock) + RETRY_NS;
        pthread_mutex_lock(&source->lock);
        while (!source->is_stopping && ntk_cond_wait_clock(source->remote.clock, &source->changed,
                                                           &source->lock, until_ns) != -ETIMEDOUT) {
        }
    }
    pthread_mutex_unlock(&source->lock);
    ntk_http_answer_fini(&answer);
    return NULL;
}

/* -- the source -------------------------------------------------------------------------------- */

static int connect_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                        struct ntk_err *err)
{
    struct connect_source *source = (struct connect_source *)base;

    return ntk_top_source_take(source->stream, out_snapshot, err);
}

static const char *connect_note(const struct ntk_top_source *base)
{
    struct connect_source *source = (struct connect_source *)(uintptr_t)base;

    char shown[NTK_URL_SHOWN_BYTES];

    pthread_mutex_lock(&source->lock);
    if (source->trouble[0] && source->heard_ns > 0) {
        uint64_t age_s =
            (ntk_clock_now_ns(source->remote.clock) - source->heard_ns) / NTK_NS_PER_SECOND;

        (void)snprintf(source->note, sizeof source->note, "no connection, data is %llus old: %s",
                       (unsigned long long)age_s, source->trouble);
    } else {
        (void)snprintf(source->note, sizeof source->note, "%s%s%s",
                       source->trouble[0] ? ntk_url_redact(shown, sizeof shown, source->remote.url)
                                          : "",
                       source->trouble[0] ? ": " : "", source->trouble);
    }
    pthread_mutex_unlock(&source->lock);
    return source->note;
}

static void connect_close(struct ntk_top_source *base)
{
    struct connect_source *source = (struct connect_source *)base;

    if (source->has_thread) {
        pthread_mutex_lock(&source->lock);
        source->is_stopping = true;
        pthread_cond_broadcast(&source->changed);
        pthread_mutex_unlock(&source->lock);
        ntk_top_source_close(source->stream); /* ends a write to the pipe */
        source->stream = NULL;
        ntk_http_client_cancel(source->client);
        pthread_join(source->thread, NULL);
    }
    ntk_top_source_close(source->stream);
    if (source->pipe_fd >= 0) {
        close(source->pipe_fd);
    }
    ntk_http_client_destroy(source->client);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->lock);
    free(source);
}

static const struct ntk_top_source_ops connect_ops = { .take = connect_take,
                                                       .close = connect_close,
                                                       .note = connect_note };

static int start(struct connect_source *source, struct ntk_err *err)
{
    int fds[2];

    int ret =
        ntk_hosts_url_make(source->remote.url, STREAM_PATH, source->url, sizeof source->url, err);
    if (ret < 0) {
        return ret;
    }
    source->client = ntk_http_client_create();
    if (!source->client) {
        return ntk_err_no_memory(err);
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a pipe: %s",
                           strerror(errno));
    }
    source->pipe_fd = fds[1];
    ret = ntk_top_source_stream_open(fds[0], &source->stream, err);
    if (ret < 0) {
        close(fds[0]);
        return ret;
    }
    source->base.fd = fds[0];
    ret = pthread_create(&source->thread, NULL, run, source);
    if (ret != 0) {
        return ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(ret));
    }
    source->has_thread = true;
    return 0;
}

int ntk_top_source_connect_open(const struct ntk_top_remote *remote,
                                struct ntk_top_source **out_source, struct ntk_err *err)
{
    struct connect_source *source = calloc(1, sizeof *source);

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->base.ops = &connect_ops;
    source->remote = *remote;
    source->pipe_fd = -1;
    source->last_byte = '\n';
    pthread_mutex_init(&source->lock, NULL);
    pthread_cond_init(&source->changed, NULL);
    int ret = start(source, err);
    if (ret < 0) {
        connect_close(&source->base);
        return ret;
    }
    *out_source = &source->base;
    return 0;
}
