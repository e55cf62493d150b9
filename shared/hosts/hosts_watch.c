/* SPDX-License-Identifier: MIT */
#include "shared/hosts/hosts_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/hosts/hosts_round.h"
#include "shared/http/http_many.h"

struct watched {
    char url[NTK_HOSTS_URL_BYTES];
    bool is_asking; /* used only by the thread, like the following fields */
    uint64_t asked_ns;
    bool has_ended;               /* a request to this host has ended before */
    struct ntk_hosts_state state; /* protected by the lock; its ages are start times here */
    uint64_t good_ns;             /* time of its last answer, protected by the lock; 0: never */
};

struct ntk_hosts_watch {
    struct ntk_hosts_watch_options options;
    struct ntk_http_many *many;
    int fd;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* protects the states */
    size_t count;
    struct watched hosts[];
};

/* -- the thread -------------------------------------------------------------------------------- */

/* Cuts the address off a message, because the user knows it. */
static const char *without_url(const char *text, const char *url)
{
    size_t length = strlen(url);

    return strncmp(text, url, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

static void trouble_set(struct ntk_hosts_watch *watch, struct watched *host, const char *text)
{
    pthread_mutex_lock(&watch->lock);
    host->state.silent_ns = host->state.silent_ns ? host->state.silent_ns : host->good_ns;
    (void)snprintf(host->state.trouble, sizeof host->state.trouble, "%s",
                   without_url(text, host->url));
    pthread_mutex_unlock(&watch->lock);
    host->has_ended = true;
}

static void ask(struct ntk_hosts_watch *watch, size_t index)
{
    struct watched *host = &watch->hosts[index];
    struct ntk_http_question question = ntk_hosts_question(&watch->options.remote, host->url);
    struct ntk_err err = { 0 };

    host->asked_ns = ntk_clock_realtime_ns();
    if (ntk_http_many_start(watch->many, index, &question, &err) == 0) {
        host->is_asking = true;
    } else {
        trouble_set(watch, host, err.text);
    }
}

/* Returns true if the report is new. A report that was seen before does not count, because its host
 * may hang. A report without a time counts as new. */
static bool is_new(const struct watched *host, const struct ntk_snapshot *snapshot)
{
    const struct ntk_snapshot *before = host->state.snapshot;

    return !before || snapshot->realtime_ns == 0 || snapshot->realtime_ns != before->realtime_ns;
}

static void take(struct ntk_hosts_watch *watch, const struct ntk_http_many_end *end)
{
    struct watched *host = &watch->hosts[end->place];
    uint64_t answered_ns = ntk_clock_realtime_ns();
    struct ntk_err err = end->err;
    struct ntk_snapshot *snapshot = NULL;

    host->is_asking = false;
    if (end->result < 0 || ntk_hosts_answer_read(end->answer, &snapshot, &err) < 0) {
        trouble_set(watch, host, err.text);
        return;
    }
    pthread_mutex_lock(&watch->lock);
    host->state.trouble[0] = '\0';
    host->state.silent_ns = 0;
    host->good_ns = ntk_clock_monotonic_ns();
    const struct ntk_snapshot *useless = snapshot;
    if (is_new(host, snapshot)) {
        useless = host->state.snapshot;
        host->state.clock = ntk_hosts_clock(snapshot, end->answer, host->asked_ns, answered_ns);
        host->state.age_ns = ntk_clock_monotonic_ns();
        host->state.snapshot = snapshot;
        host->state.reports++;
    }
    pthread_mutex_unlock(&watch->lock);
    ntk_snapshot_destroy(useless);
    host->has_ended = true;
}

static void tell(const struct ntk_hosts_watch *watch)
{
    const uint64_t one = 1;

    (void)!write(watch->fd, &one, sizeof one);
}

/* Returns true if a request is pending, or (first) a host has not had its first result. */
static bool is_waiting(const struct ntk_hosts_watch *watch, bool first)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (first ? !watch->hosts[i].has_ended : watch->hosts[i].is_asking) {
            return true;
        }
    }
    return false;
}

static void *run(void *ctx)
{
    struct ntk_hosts_watch *watch = ctx;
    struct ntk_hosts_round round = ntk_hosts_round_begin(
        watch->options.period_ns, watch->options.begin_whole, ntk_clock_monotonic_ns());

    while (!atomic_load(&watch->is_stopping)) {
        struct ntk_http_many_end end;

        if (ntk_hosts_round_is_due(&round, ntk_clock_monotonic_ns())) {
            for (size_t i = 0; i < watch->count; i++) {
                if (!watch->hosts[i].is_asking) {
                    ask(watch, i);
                }
            }
        }
        if (ntk_hosts_round_has_news(&round, ntk_clock_monotonic_ns(), is_waiting(watch, false),
                                     is_waiting(watch, true))) {
            tell(watch);
        }
        uint64_t until_ns = ntk_hosts_round_until(&round);
        uint64_t now_ns = ntk_clock_monotonic_ns();
        if (ntk_http_many_wait(watch->many, until_ns > now_ns ? until_ns - now_ns : 0, &end)) {
            take(watch, &end);
        }
    }
    return NULL;
}

/* -- for callers ------------------------------------------------------------------------------- */

void ntk_hosts_watch_close(struct ntk_hosts_watch *watch)
{
    if (!watch) {
        return;
    }
    if (watch->has_thread) {
        atomic_store(&watch->is_stopping, true);
        ntk_http_many_wake(watch->many);
        pthread_join(watch->thread, NULL);
    }
    ntk_http_many_destroy(watch->many);
    for (size_t i = 0; i < watch->count; i++) {
        ntk_snapshot_destroy(watch->hosts[i].state.snapshot);
    }
    if (watch->fd >= 0) {
        close(watch->fd);
    }
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static int start(struct ntk_hosts_watch *watch, struct ntk_err *err)
{
    const struct ntk_hosts_watch_options *options = &watch->options;

    for (size_t i = 0; i < options->count; i++) {
        int ret = ntk_hosts_url_make(options->names[i], NTK_HOSTS_REPORT, watch->hosts[i].url,
                                     sizeof watch->hosts[i].url, err);
        if (ret < 0) {
            return ret;
        }
    }
    watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->fd < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create an event descriptor: %s",
                           strerror(errno));
    }
    watch->many = ntk_http_many_create(options->count, err);
    if (!watch->many) {
        return err->code;
    }
    int ret = pthread_create(&watch->thread, NULL, run, watch);
    watch->has_thread = ret == 0;
    return ret == 0 ? 0
                    : ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                                  strerror(ret));
}

int ntk_hosts_watch_open(const struct ntk_hosts_watch_options *options,
                         struct ntk_hosts_watch **out_watch, struct ntk_err *err)
{
    struct ntk_hosts_watch *watch;

    if (options->count == 0 || options->count > NTK_HOSTS_WATCH_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%zu hosts: expected 1 to %u",
                           options->count, NTK_HOSTS_WATCH_MAX);
    }
    watch = calloc(1, sizeof *watch + options->count * sizeof *watch->hosts);
    if (!watch) {
        return ntk_err_no_memory(err);
    }
    watch->options = *options;
    watch->count = options->count;
    watch->fd = -1;
    pthread_mutex_init(&watch->lock, NULL);
    for (size_t i = 0; i < watch->count; i++) {
        watch->hosts[i].state.silent_ns = ntk_clock_monotonic_ns();
    }
    int ret = start(watch, err);
    if (ret < 0) {
        ntk_hosts_watch_close(watch);
        return ret;
    }
    *out_watch = watch;
    return 0;
}

int ntk_hosts_watch_fd(const struct ntk_hosts_watch *watch)
{
    return watch->fd;
}

bool ntk_hosts_watch_take(struct ntk_hosts_watch *watch)
{
    uint64_t count;

    return read(watch->fd, &count, sizeof count) == (ssize_t)sizeof count;
}

void ntk_hosts_watch_get(struct ntk_hosts_watch *watch, size_t index,
                         struct ntk_hosts_state *out_state)
{
    const struct ntk_hosts_state *state = &watch->hosts[index].state;

    pthread_mutex_lock(&watch->lock);
    *out_state = *state;
    out_state->snapshot = state->snapshot ? ntk_snapshot_share(state->snapshot) : NULL;
    pthread_mutex_unlock(&watch->lock);
    out_state->age_ns = out_state->snapshot ? ntk_clock_monotonic_ns() - out_state->age_ns : 0;
    out_state->silent_ns =
        out_state->silent_ns ? ntk_clock_monotonic_ns() - out_state->silent_ns : 0;
}
