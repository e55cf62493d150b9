/* SPDX-License-Identifier: MIT */
/*
 * hosts - queries the agents of many machines in parallel on one thread, and measures the offsets
 * of their clocks.
 *
 * A user names a host as a URL, HOST:PORT or HOST with the port NTK_HTTP_PORT_AGENT. Time and bytes
 * are limited for each host, so a host that is silent, or sends endlessly, delays the caller only
 * up to the limit.
 *
 * Owner:   names are borrowed; ntk_host_fini() frees a host's answer.
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

/* Paths for GET requests to an agent. */
#define NTK_HOSTS_RANKS "/api/v1/ranks" /* processes and their communicators, updated each period */
/* the whole report, updated as often as the agent reports */
#define NTK_HOSTS_REPORT "/api/v1/report"

#define NTK_HOSTS_URL_BYTES 2048
/* Maximum size of an answer, larger than that of the largest machine. */
#define NTK_HOSTS_ANSWER_BYTES ((size_t)8 * 1024 * 1024)

/* A host, and its answer if there is one. */
struct ntk_host {
    const char *address;                 /* as requested, borrowed; "": this machine */
    char name[NTK_URL_SHOWN_BYTES];      /* address to show to users, without a password */
    const struct ntk_snapshot *snapshot; /* NULL: no answer, see err */
    struct ntk_err err;
    struct ntk_ranks_clock clock;
    /* For segments: the number of processes that this user may not read, and of users with
     * processes that cannot be counted. */
    uint32_t unreadable_processes, unreadable_users;
    bool is_segments;                  /* read from shared memory here, not from an agent */
    char no_agent[NTK_ERR_TEXT_BYTES]; /* for this machine: why its agent was not used */
};

struct ntk_hosts_remote {
    const char *token_file; /* file with a bearer token; NULL: none */
    const char *ca_file;    /* PEM file; NULL: the system's */
    uint64_t timeout_ns;    /* limit for one host */
    const char *unix_path;  /* socket of this machine's agent, for the host ""; NULL: none */
};

/* The socket of this machine's agent: agent.sock in $NEURON_HOOKS_DIR, which counts as a separate
 * machine, otherwise in NTK_SERVICE_FOLDER. */
/* Returns false if the buffer is too small. */
bool ntk_hosts_agent_path(char *buf, size_t buf_bytes);
/* Queries this machine's agent. If it returns false, host->no_agent has the reason and the snapshot
 * is NULL. Only a socket of root, the service or this user is trusted. */
bool ntk_hosts_agent_ask(struct ntk_host *host, const char *path, struct ntk_hosts_remote *remote);

#define NTK_HOSTS_TIMEOUT_NS (5 * NTK_NS_PER_SECOND) /* unless an option sets it */

/* Option rows for programs that query agents; they set `remote`. Its timeout_ns must be initialised
 * with the default above. */
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

/* The URL of path at a host: puts "http://" before a name without a scheme, and keeps the path of a
 * URL. Returns -EINVAL with a message. */
int ntk_hosts_url_make(const char *name, const char *path, char *url, size_t url_bytes,
                       struct ntk_err *err);
/* Requests a report at path from each host once, and returns when all have answered or timed out.
 * Fills snapshot and clock, or err; frees earlier results. Returns 0 or -ENOMEM. */
int ntk_hosts_ask(struct ntk_host *hosts, size_t count, const char *path,
                  const struct ntk_hosts_remote *remote, struct ntk_err *err);
void ntk_host_set(struct ntk_host *host, const char *address);
void ntk_host_fini(struct ntk_host *host);

/* The individual steps, for callers that run their own event loop. Makes a request to a host,
 * without its URL. */
struct ntk_http_question ntk_hosts_question(const struct ntk_hosts_remote *remote, const char *url);
/* Parses the snapshot in an answer with a status. Negative with a message on failure. */
int ntk_hosts_answer_read(const struct ntk_http_answer *answer, struct ntk_snapshot **out_snapshot,
                          struct ntk_err *err);
/* The offset of the answering host's clock, from the time of its answer (Date, whole seconds) and
 * the time of its report, which is earlier. If the answer's time is missing, the age of the report
 * is unknown, and error_ns is NTK_RANKS_CLOCK_UNKNOWN. Times are those of this machine, since
 * 1970. */
struct ntk_ranks_clock ntk_hosts_clock(const struct ntk_snapshot *snapshot,
                                       const struct ntk_http_answer *answer, uint64_t asked_ns,
                                       uint64_t answered_ns);

#ifdef __cplusplus
}
#endif
#endif
