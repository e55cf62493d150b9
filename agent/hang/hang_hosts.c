/* SPDX-License-Identifier: MIT */
/* hang_hosts - a snapshot of this machine, or of those whose agents answer. */
#include "agent/hang/hang.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/collect/collect.h"
#include "shared/http/http_client.h"
#include "shared/report/report_json.h"

#define ASKERS_MAX 16u
#define URL_BYTES 512
#define RANKS_PATH "/api/v1/ranks"

void ntk_hang_host_fini(struct ntk_hang_host *host)
{
    ntk_snapshot_destroy(host->snapshot);
    host->snapshot = NULL;
    host->err = (struct ntk_err){ 0 };
}

struct ntk_hang_host *ntk_hang_hosts_create(char *const *names, size_t count, struct ntk_err *err)
{
    struct ntk_hang_host *hosts = calloc(count, sizeof *hosts);

    if (!hosts) {
        (void)ntk_err_no_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        hosts[i].name = names ? names[i] : "";
    }
    return hosts;
}

void ntk_hang_hosts_destroy(struct ntk_hang_host *hosts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ntk_hang_host_fini(&hosts[i]);
    }
    free(hosts);
}

int ntk_hang_print(const struct ntk_buf *out, const char *module)
{
    struct ntk_err err = { 0 };

    if (!ntk_buf_ok(out)) {
        (void)ntk_err_no_memory(&err);
        return ntk_log_failure(module, &err);
    }
    if (fputs(ntk_buf_text_get(out), stdout) < 0 || fflush(stdout) != 0) {
        ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s", strerror(errno));
        return ntk_log_failure(module, &err);
    }
    return EXIT_SUCCESS;
}

size_t ntk_hang_answers_say(const struct ntk_hang_host *hosts, size_t count, const char *module)
{
    size_t answers = 0;

    for (size_t i = 0; i < count; i++) {
        answers += hosts[i].snapshot != NULL;
        if (!hosts[i].snapshot) {
            ntk_log_error(module, "%s: %s; its ranks are not seen",
                          hosts[i].name[0] ? hosts[i].name : "this machine", hosts[i].err.text);
        }
    }
    return answers;
}

int ntk_hang_look(struct ntk_hang_host *host, uint64_t window_ns, unsigned periods,
                  ntk_hang_period *each, void *ctx, struct ntk_err *err)
{
    const struct ntk_collector_options options = { .no_events = true, .no_latency = true };
    struct ntk_collector *collector = NULL;
    int ret = ntk_collector_create(&options, &collector, err);

    for (unsigned p = 0; p < periods && ret == 0; p++) {
        struct ntk_snapshot *snapshot = NULL;

        usleep((useconds_t)(window_ns / periods / NTK_NS_PER_US));
        ret = ntk_collector_poll(collector, &snapshot, err);
        ret = ret == 0 && each ? each(snapshot, ctx) : ret;
        ntk_snapshot_destroy(host->snapshot);
        host->snapshot = snapshot;
    }
    ntk_collector_destroy(collector);
    return ret;
}

/* ---- others ---- */

struct askers {
    struct ntk_hang_host *hosts;
    size_t count;
    const struct ntk_hang_remote *remote;
    atomic_size_t next;
};

static int url_make(const char *name, const char *path, char *url, size_t url_bytes,
                    struct ntk_err *err)
{
    const char *host = strstr(name, "://");
    size_t length = strlen(name);
    int bytes;

    while (length > 0 && name[length - 1] == '/') {
        length--;
    }
    bytes = snprintf(
        url, url_bytes, "%s%.*s%s", host ? "" : "http://", (int)length, name,
        strchr(host ? host + 3 : name, '/') && host && strchr(host + 3, '/')[1] ? "" : path);
    return bytes < 0 || (size_t)bytes >= url_bytes
               ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the address is too long")
               : 0;
}

/* The clock of who answered: the report says when it was made, at some time before the answer was
 * here and after the one before it was made. */
static void clock_take(struct ntk_hang_host *host, uint64_t asked_ns, uint64_t answered_ns)
{
    uint64_t made_ns = host->snapshot->realtime_ns;
    uint64_t period_ns = host->snapshot->period_ns;
    uint64_t took_ns = answered_ns > asked_ns ? answered_ns - asked_ns : 0; /* clocks are set */

    host->clock.ahead_ns = (int64_t)(made_ns - (asked_ns + took_ns / 2));
    host->clock.error_ns = period_ns + took_ns;
}

static void host_ask(struct ntk_http_client *client, struct ntk_hang_host *host,
                     const struct ntk_hang_remote *remote)
{
    char url[URL_BYTES];
    const struct ntk_http_question question = { .url = url,
                                                .token_file = remote->token_file,
                                                .ca_file = remote->ca_file,
                                                .connect_ns = remote->timeout_ns,
                                                .timeout_ns = remote->timeout_ns };
    struct ntk_http_answer answer = { 0 };
    struct ntk_snapshot *snapshot = NULL;
    int ret =
        url_make(host->name, remote->path ? remote->path : RANKS_PATH, url, sizeof url, &host->err);
    uint64_t asked_ns = ntk_clock_realtime_ns();

    if (ret == 0) {
        ret = ntk_http_client_ask(client, &question, &answer, &host->err);
    }
    if (ret == 0 && answer.status != 200) {
        ret = ntk_err_set(&host->err, -EIO, NTK_ERR_NO_OFFSET, "the answer has status %ld%s",
                          answer.status,
                          answer.status == 401   ? ": it wants a token, see --token-file"
                          : answer.status == 503 ? ": it has no report yet"
                                                 : "");
    }
    if (ret == 0) {
        ret = ntk_report_read(answer.body.bytes, answer.body.bytes_count, &snapshot, &host->err);
    }
    if (ret == 0 && snapshot) {
        host->snapshot = snapshot;
        clock_take(host, asked_ns, ntk_clock_realtime_ns());
    }
    ntk_http_answer_fini(&answer);
}

static void *ask_some(void *ctx)
{
    struct askers *askers = ctx;
    struct ntk_http_client *client = ntk_http_client_create();
    size_t index;

    while ((index = atomic_fetch_add(&askers->next, 1)) < askers->count) {
        struct ntk_hang_host *host = &askers->hosts[index];

        if (client) {
            host_ask(client, host, askers->remote);
        } else {
            (void)ntk_err_no_memory(&host->err);
        }
    }
    ntk_http_client_destroy(client);
    return NULL;
}

int ntk_hang_ask(struct ntk_hang_host *hosts, size_t count, const struct ntk_hang_remote *remote,
                 struct ntk_err *err)
{
    struct askers askers = { .hosts = hosts, .count = count, .remote = remote };
    pthread_t threads[ASKERS_MAX];
    size_t thread_count = 0;

    (void)err;
    while (thread_count + 1 < count && thread_count + 1 < ASKERS_MAX &&
           pthread_create(&threads[thread_count], NULL, ask_some, &askers) == 0) {
        thread_count++;
    }
    (void)ask_some(&askers); /* this thread is one of them */
    for (size_t i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
