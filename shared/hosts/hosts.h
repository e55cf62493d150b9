/* SPDX-License-Identifier: MIT */
/*
 * hosts - asks the agents of many machines, all at once on one thread, and says how their clocks
 * stand.
 *
 * A host is what a person types: a URL, HOST:PORT or HOST, whose port is NTK_HTTP_PORT_AGENT. Time
 * and bytes are bounded for each of them, so a host that is silent, or never ends, delays no caller
 * longer.
 *
 * Owner:   names are borrowed; ntk_host_fini() frees what a host answered.
 * Threads: one at a time per host; no state elsewhere.
 */
#ifndef NTK_SHARED_HOSTS_HOSTS_H
#define NTK_SHARED_HOSTS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/base/opt.h"
#include "shared/base/url.h"
#include "shared/http/http_client.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an agent answers, GET. */
#define NTK_HOSTS_RANKS "/api/v1/ranks"   /* processes and their communicators, each period */
#define NTK_HOSTS_REPORT "/api/v1/report" /* everything, as often as the agent reports */

#define NTK_HOSTS_URL_BYTES 2048
/* Bound on one answer: above the largest machine's. */
#define NTK_HOSTS_ANSWER_BYTES ((size_t)8 * 1024 * 1024)

/* For the host's answer, when there is one. */
struct ntk_host {
    const char *address;                 /* as requested, borrowed; "": this machine */
    char name[NTK_URL_SHOWN_BYTES];      /* the same for people, without a password */
    const struct ntk_snapshot *snapshot; /* NULL: none, see err */
    struct ntk_err err;
    struct ntk_ranks_clock clock;
    /* Of segments: processes that this user may not read, and users whose processes it cannot
     * count. */
    uint32_t unreadable_processes, unreadable_users;
    bool is_segments;                  /* read from shared memory here, not from an agent */
    char no_agent[NTK_ERR_TEXT_BYTES]; /* of this machine: why its agent was not the source */
};

struct ntk_hosts_remote {
    const char *token_file; /* a bearer token; NULL: none */
    const char *ca_file;    /* PEM; NULL: the system's */
    uint64_t timeout_ns;    /* of one host */
    const char *unix_path;  /* the agent of this machine, for the host ""; NULL: none */
};

/* Where the agent of this machine answers: agent.sock in $NEURON_HOOKS_DIR, whose processes are
 * their own machine, else in this folder. */
#define NTK_HOSTS_AGENT_FOLDER "/run/neuron-monitor"
/* False when the buffer is too small. */
bool ntk_hosts_agent_path(char *buf, size_t buf_bytes);
/* Asks it. False: host->no_agent gives the reason; its snapshot is NULL then. Only a socket of root
 * or of this user is believed. */
bool ntk_hosts_agent_ask(struct ntk_host *host, const char *path, struct ntk_hosts_remote *remote);

#define NTK_HOSTS_TIMEOUT_NS (5 * NTK_NS_PER_SECOND) /* unless an option says otherwise */

/* Option rows of programs that ask agents: remote, with timeout_ns set as above. */
#define NTK_HOSTS_OPT(remote)                                                                    \
    { 0, "Other machines", 0, NTK_OPT_HEADING, 0, 0 },                                           \
        { 0,                                                                                     \
          "token-file",                                                                          \
          "FILE",                                                                                \
          NTK_OPT_TEXT,                                                                          \
          &(remote).token_file,                                                                  \
          "read the bearer token for the agents from FILE" },                                    \
        { 0,                                                                                     \
          "ca-file",                                                                             \
          "FILE",                                                                                \
          NTK_OPT_TEXT,                                                                          \
          &(remote).ca_file,                                                                     \
          "trust the certificate authorities in this PEM file (default: those of the system)" }, \
    {                                                                                            \
        0, "timeout", "TIME", NTK_OPT_DURATION, &(remote).timeout_ns,                            \
            "wait at most TIME for an agent to respond (default 5s)", .is_above_zero = true      \
    }

/* The address of path at a host: "http://" before a name without scheme; a URL that has its own
 * path keeps it. -EINVAL with a message. */
int ntk_hosts_url_make(const char *name, const char *path, char *url, size_t url_bytes,
                       struct ntk_err *err);
/* Asks each host once for a report at path, and comes back when all have answered or their time is
 * up: snapshot and clock, or err. What they had before is freed. 0 or -ENOMEM. */
int ntk_hosts_ask(struct ntk_host *hosts, size_t count, const char *path,
                  const struct ntk_hosts_remote *remote, struct ntk_err *err);
void ntk_host_set(struct ntk_host *host, const char *address);
void ntk_host_fini(struct ntk_host *host);

/* The parts, for callers with their own loop. What a question to a host has, but for its URL: */
struct ntk_http_question ntk_hosts_question(const struct ntk_hosts_remote *remote, const char *url);
/* The snapshot of an answer with a status. Negative with a message. */
int ntk_hosts_answer_read(const struct ntk_http_answer *answer, struct ntk_snapshot **out_snapshot,
                          struct ntk_err *err);
/* How far the clock of the answering host is ahead, by the time that it gives the answer (Date,
 * whole seconds) and that of its report, which is before. A report alone does not tell how old it
 * is: then error_ns is NTK_RANKS_CLOCK_UNKNOWN. Times are of this machine, since 1970. */
struct ntk_ranks_clock ntk_hosts_clock(const struct ntk_snapshot *snapshot,
                                       const struct ntk_http_answer *answer, uint64_t asked_ns,
                                       uint64_t answered_ns);

#ifdef __cplusplus
}
#endif
#endif
