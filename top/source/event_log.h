/* SPDX-License-Identifier: MIT */
/*
 * event_log - keeps the last events that snapshots listed: memory log, errors, loads, marks; and
 * the ends of applications.
 *
 * The log is bounded: the oldest events are dropped first. If time goes back (a recording was
 * rewound), the log restarts.
 *
 * Owner: init / fini. Threads: one.
 */
#ifndef NTK_TOP_SOURCE_EVENT_LOG_H
#define NTK_TOP_SOURCE_EVENT_LOG_H

#include "shared/metrics/snapshot.h"

#define NTK_TOP_EVENTS_MAX 8192
#define NTK_TOP_EVENT_NAME_BYTES 96
#define NTK_TOP_EVENT_TAG_BYTES 64

/* A kind in addition to those of segments: an application ended; its value is 1 if it did not close
 * its runtime, and error_code and status are struct ntk_exit. */
#define NTK_TOP_EVENT_END NTK_EVENT_KIND_COUNT

struct ntk_top_event {
    struct ntk_event_sample sample;      /* its name is NULL: see name */
    uint64_t number;                     /* 1, 2, ... in this log */
    uint64_t listed_ns;                  /* time of the snapshot that listed it */
    char name[NTK_TOP_EVENT_NAME_BYTES]; /* name of a tensor, model, file or mark */
    char model[NTK_TOP_EVENT_NAME_BYTES];
    char tag[NTK_TOP_EVENT_TAG_BYTES];
};

struct ntk_top_event_log {
    struct ntk_top_event *events; /* a ring of NTK_TOP_EVENTS_MAX; NULL before the first event */
    uint64_t count;               /* number of events ever added; the last ones are kept */
    uint64_t lost;                /* number of records overwritten before they were read */
    uint64_t unlisted;            /* number of events that did not fit in a snapshot */
    uint64_t realtime_ns;         /* time of the last snapshot */
};

void ntk_top_event_log_fini(struct ntk_top_event_log *log);
/* Returns the end of an application as an event; the runtime owns its texts. */
struct ntk_event_sample ntk_top_event_log_end_of(const struct ntk_runtime_sample *runtime,
                                                 uint64_t realtime_ns);
/* Returns 0 or -ENOMEM. */
int ntk_top_event_log_add(struct ntk_top_event_log *log, const struct ntk_snapshot *snapshot);
size_t ntk_top_event_log_kept(const struct ntk_top_event_log *log);
/* index must be below `kept`; oldest first. */
const struct ntk_top_event *ntk_top_event_log_get(const struct ntk_top_event_log *log,
                                                  size_t index);

#endif
