/* SPDX-License-Identifier: MIT */
/*
 * exporter - defines the table that each exporter fills, the agent's only interface to exporters.
 *
 * An exporter defines its options and stores their values. It gets each snapshot once, in order,
 * and must not wait for the network in put(): it encodes the snapshot and keeps the bytes for
 * clients or passes them to a separate thread. Unused members are NULL; name, is_asked, create, put
 * and destroy are required.
 *
 * Owner:   create() / destroy(); the snapshot is borrowed during put().
 * Threads: create, put and destroy are called from one thread.
 */
#ifndef NTK_EXPORTERS_EXPORTER_H
#define NTK_EXPORTERS_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/labels/labels.h"
#include "exporters/names/names.h"
#include "shared/base/err.h"
#include "shared/base/opt.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_clock;
struct ntk_snapshot;
struct ntk_span_rules;
struct ntk_http_security;
struct ntk_http_request;
struct ntk_http_response;

/* Default number of applications with separate series. Each has about fifty series, and as many per
 * model. */
#define NTK_EXPORTER_APPLICATIONS 64
#define NTK_EXPORTER_OTHER "other" /* common tag of all other applications */

/* Options that apply to all exporters. */
struct ntk_exporter_options {
    bool vendor_only; /* only the metrics of the vendor's exporter */
    /* lists of names from ntk_names_parse(); NULL: the names of this project */
    const unsigned *names;
    bool pid_label; /* the pid distinguishes applications with the same tag */
    /* maximum number with separate series; 0: NTK_EXPORTER_APPLICATIONS */
    uint64_t application_max;
    bool zero_fill;                     /* show free cores as zero */
    const struct ntk_labels *labels;    /* added to every series; borrowed; NULL if none */
    struct ntk_http_security *security; /* security of its server; borrowed; NULL if none */
    /* further host names of the server, separated by commas; NULL if none */
    const char *host_names;
    /* For a page that clients fetch: requests a newer snapshot if the last one is too old, and
     * waits a limited time for it. Called on the server's thread. NULL: snapshots arrive without
     * requests. */
    void (*refresh)(void *ctx);
    void *refresh_ctx;
    const struct ntk_clock *clock; /* for the age of pages; borrowed; NULL for the system clock */
};

/* Expands to rows of an option table that fill a struct ntk_exporter_options; the labels are in
 * ntk_labels_option. */
#define NTK_EXPORTER_OPT(options)                                                         \
    { 0,                                                                                  \
      "vendor-metrics-only",                                                              \
      0,                                                                                  \
      NTK_OPT_FLAG,                                                                       \
      &(options).vendor_only,                                                             \
      "export only the metrics of the vendor's exporter" },                               \
        { 0,                                                                              \
          "pid-label",                                                                    \
          0,                                                                              \
          NTK_OPT_FLAG,                                                                   \
          &(options).pid_label,                                                           \
          "add the label pid to metrics, to separate applications with the same tag" },   \
        NTK_NAMES_OPT, NTK_LABELS_OPT,                                                    \
        { 0,                                                                              \
          "max-applications",                                                             \
          "N",                                                                            \
          NTK_OPT_U64,                                                                    \
          &(options).application_max,                                                     \
          "export separate series for at most N applications (default 64; at most three " \
          "quarters of them for one user); the rest share the runtime_tag 'other'",       \
          .is_above_zero = true },                                                        \
    {                                                                                     \
        0, "zero-fill", 0, NTK_OPT_FLAG, &(options).zero_fill,                            \
            "export the utilization and memory of unused cores as zero"                   \
    }

static inline size_t ntk_exporter_application_max(const struct ntk_exporter_options *options)
{
    uint64_t wanted =
        options->application_max ? options->application_max : NTK_EXPORTER_APPLICATIONS;

    return wanted < SIZE_MAX ? (size_t)wanted : SIZE_MAX;
}

/* Returns true if the next application of a user gets separate series. One user gets at most three
 * quarters of the places, the next user three quarters of the rest; the last eighth is reserved for
 * users with fewer than two. So no user hides the series of others. */
static inline bool ntk_exporter_has_room(size_t application_max, size_t shown, size_t shown_of_user)
{
    size_t kept = shown_of_user < 2 ? 0 : application_max / 8;

    return shown + kept < application_max && shown_of_user / 3 < application_max - shown;
}

struct ntk_exporter {
    const char *name; /* name in messages */
    /* Options for the agent's command line; an empty row ends the list. */
    const struct ntk_opt *options;
    /* Returns 1 if the options request the exporter, 0 if not, negative with a message if they
     * contradict each other. */
    int (*is_asked)(struct ntk_err *err);
    /* Returns the spans that its snapshots must have, once is_asked() was called; NULL if none. */
    const struct ntk_span_rules *(*span_rules)(void);
    bool has_secrets; /* has credentials of a peer, which a core file would contain */
    bool listens;     /* has a separate port, with security and host_names */
    int (*create)(const struct ntk_exporter_options *options, void **out_state,
                  struct ntk_err *err);
    int (*put)(void *state, const struct ntk_snapshot *snapshot, struct ntk_err *err);
    /* Called before the first put with the counts of an earlier agent, as one period. Counters
     * continue from them; nothing is sent. */
    int (*resume)(void *state, const struct ntk_snapshot *totals, struct ntk_err *err);
    /* Path on the agent's HTTP port; the server's thread calls answer(). An exporter with a path is
     * created even if no option requests it. It gets pages instead of reports: every group, at each
     * refresh. */
    const char *path;
    void (*answer)(void *state, const struct ntk_http_request *request,
                   struct ntk_http_response *response);
    /* Returns true if the data of answer() is too old: no put for three periods. Any thread may
     * call it. */
    bool (*is_stale)(void *state);
    /* Called after the last put. Returns 1 if everything is sent, 0 to be called again soon (never
     * during a fast exit), negative with a message if data is lost. */
    int (*drain)(void *state, bool in_haste, struct ntk_err *err);
    void (*destroy)(void *state);
};

enum {
    NTK_EXPORTER_COUNT = 0
#define NTK_EXPORTER(folder) +1
#include "exporters/registry.def"
#undef NTK_EXPORTER
};

/* One element for each line of registry.def. */
extern const struct ntk_exporter *const ntk_exporters[NTK_EXPORTER_COUNT];

#ifdef __cplusplus
}
#endif
#endif
