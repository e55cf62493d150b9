/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/rtd/rtd_end.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/cond.h"
#include "shared/base/log.h"

#define MODULE "end"

struct rtd_end {
    pthread_t thread;
    sem_t is_stopped;
    pthread_mutex_t lock; /* protects is_over */
    pthread_cond_t over;
    bool is_over;
    const struct ntk_clock *clock;
    atomic_bool is_socket_gone;
    struct ntk_rpc_server *server;
    struct rtd_manager *manager;
    const char *endpoint;
    struct ntk_service *service;
};

static void signals_get(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
}

void rtd_end_block_signals(void)
{
    sigset_t signals;

    signals_get(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* executions may write files */
}

/* Leaves without cleanup, because an execution cannot be cancelled and the process would only wait
 * for it. */
static void leave(const struct rtd_end *end)
{
    ntk_log_warn(MODULE,
                 "executions or releases of device memory are still in progress after %d s: "
                 "exiting without waiting for them",
                 RTD_END_WAIT_S);
    if (!atomic_load(&end->is_socket_gone) &&
        strncmp(end->endpoint, "unix:", strlen("unix:")) == 0) {
        (void)unlink(end->endpoint + strlen("unix:"));
    }
    _exit(0);
}

/* Waits; returns true if everything ended in time. */
static bool await(struct rtd_end *end)
{
    uint64_t until_ns = ntk_clock_now_ns(end->clock) + RTD_END_WAIT_S * NTK_NS_PER_SECOND;

    pthread_mutex_lock(&end->lock);
    while (!end->is_over &&
           ntk_cond_wait_clock(end->clock, &end->over, &end->lock, until_ns) != -ETIMEDOUT) {
    }
    bool is_over = end->is_over;
    pthread_mutex_unlock(&end->lock);
    return is_over;
}

/* Waits for a signal in a thread, which may call functions that a signal handler may not. */
static void *wait_for_signal(void *ctx)
{
    struct rtd_end *end = ctx;
    sigset_t signals;
    int number = 0;

    signals_get(&signals);
    (void)sigwait(&signals, &number);
    ntk_log_info(MODULE, "[NRTD:sig_act] SIG: %d", number);
    ntk_service_stopping(end->service);
    rtd_health_stop(end->manager, end->clock);
    ntk_rpc_server_stop(end->server);
    sem_post(&end->is_stopped);
    if (!await(end)) {
        leave(end);
    }
    return NULL;
}

static void end_free(struct rtd_end *end)
{
    sem_destroy(&end->is_stopped);
    pthread_cond_destroy(&end->over);
    pthread_mutex_destroy(&end->lock);
    free(end);
}

int rtd_end_begin(struct ntk_rpc_server *server, struct rtd_manager *manager, const char *endpoint,
                  struct ntk_service *service, const struct ntk_clock *clock,
                  struct rtd_end **out_end, struct ntk_err *err)
{
    struct rtd_end *end = calloc(1, sizeof *end);

    if (!end) {
        return ntk_err_no_memory(err);
    }
    end->server = server;
    end->manager = manager;
    end->endpoint = endpoint;
    end->service = service;
    end->clock = clock;
    sem_init(&end->is_stopped, 0, 0);
    pthread_mutex_init(&end->lock, NULL);
    pthread_cond_init(&end->over, NULL);
    if (pthread_create(&end->thread, NULL, wait_for_signal, end) != 0) {
        end_free(end);
        return ntk_err_no_memory(err);
    }
    *out_end = end;
    return 0;
}

void rtd_end_run(struct rtd_end *end)
{
    ntk_rpc_server_run(end->server);
    /* The server may end before the call that stopped it. */
    while (sem_wait(&end->is_stopped) < 0 && errno == EINTR) {
    }
}

void rtd_end_socket_gone(struct rtd_end *end)
{
    atomic_store(&end->is_socket_gone, true);
}

void rtd_end_finish(struct rtd_end *end)
{
    pthread_mutex_lock(&end->lock);
    end->is_over = true;
    pthread_cond_signal(&end->over);
    pthread_mutex_unlock(&end->lock);
    pthread_join(end->thread, NULL);
    end_free(end);
}
