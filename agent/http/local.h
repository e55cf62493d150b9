/* SPDX-License-Identifier: MIT */
/*
 * local - answers programs of this machine over a Unix socket: neuron-monitor health, hang and
 * slow.
 *
 *   /api/v1/report   the devices of the machine, without processes; for every user
 *   /api/v1/ranks    ranks and long executions; only for root and the agent's user: others see
 *                    only their segments
 *
 * Owner:   create / destroy; the path is borrowed.
 * Threads: put from one thread; the thread of the server sends responses.
 */
#ifndef NTK_AGENT_HTTP_LOCAL_H
#define NTK_AGENT_HTTP_LOCAL_H

#include <stdbool.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_local_answer { NTK_LOCAL_DEVICES, NTK_LOCAL_RANKS, NTK_LOCAL_ANSWER_COUNT };

struct ntk_local_options {
    const char *path;
    /* Provides current responses, or returns false: the server then answers 503 instead of an old
     * report. If NULL, the server sends the last response that was put. */
    bool (*refresh)(void *ctx);
    void *refresh_ctx;
};

struct ntk_local;

/* Creates the folder if missing. -EADDRINUSE: another agent uses the socket. */
int ntk_local_create(const struct ntk_local_options *options, struct ntk_local **out_local,
                     struct ntk_err *err);
void ntk_local_destroy(struct ntk_local *local);
/* Sets the response from now on: a report as one line, which is copied. */
void ntk_local_put(struct ntk_local *local, enum ntk_local_answer answer,
                   const struct ntk_buf *line);

#ifdef __cplusplus
}
#endif
#endif
