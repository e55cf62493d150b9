/* SPDX-License-Identifier: MIT */
/*
 * exporter - what each exporter fills: the agent knows exporters by this table only.
 *
 * An exporter gets each snapshot once, in order, and must not wait for the network in put(): it
 * encodes, keeps the bytes for who fetches them, or hands them to a thread of its own.
 *
 * Owner:   create() / destroy(); the snapshot is borrowed during put().
 * Threads: create, put and destroy are called from one thread.
 */
#ifndef NTK_EXPORTERS_EXPORTER_H
#define NTK_EXPORTERS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_labels;
struct ntk_snapshot;
struct ntk_http_security;
struct ntk_http_request;
struct ntk_http_response;

struct ntk_exporter_options {
    /* Where to: an address to listen on or an URL, by exporter; NULL: no server or target of its
     * own (its pages may still be mounted elsewhere through answer()). */
    const char *target;
    bool vendor_only;                   /* only what the vendor's exporter has */
    bool pid_label;                     /* applications of one tag stand apart by their pid */
    const struct ntk_labels *labels;    /* of every series; borrowed; NULL: none */
    bool zero_fill;                     /* cores that nobody has are shown at zero */
    struct ntk_http_security *security; /* of a server of its own; borrowed; NULL: none */
    const char *token_file;             /* a bearer token for the target; NULL: none */
    const char *spool_folder;           /* what the target did not take yet; NULL: memory only */
};

struct ntk_exporter {
    const char *name; /* as in the command line: "prometheus" */
    int (*create)(const struct ntk_exporter_options *options, void **out_state,
                  struct ntk_err *err);
    int (*put)(void *state, const struct ntk_snapshot *snapshot, struct ntk_err *err);
    /* Before the first put: what an earlier agent counted, as one period. Counters go on from it; nothing is sent. */
    int (*resume)(void *state, const struct ntk_snapshot *totals, struct ntk_err *err);
    /* Its text as an answer of another server (the agent's page); called on the server's thread.
     * NULL when there is nothing to fetch. */
    void (*answer)(void *state, const struct ntk_http_request *request,
                   struct ntk_http_response *response);
    /* After the last put: 1 when nothing is left to send, 0 when to ask again soon (never in haste), negative
     * with a sentence when something is lost. NULL: nothing is ever left. */
    int (*drain)(void *state, bool in_haste, struct ntk_err *err);
    /* The port of its own server, 0 without one. NULL where there never is one. */
    unsigned (*port_get)(void *state);
    void (*destroy)(void *state);
};

/* NULL when there is none of the name. Static. */
const struct ntk_exporter *ntk_exporter_find(const char *name);

extern const struct ntk_exporter ntk_exporter_otlp;
extern const struct ntk_exporter ntk_exporter_prometheus;
extern const struct ntk_exporter ntk_exporter_remote_write;

#ifdef __cplusplus
}
#endif
#endif
