/* SPDX-License-Identifier: MIT */
/*
 * monitor_state - shared by the files that run the agent: monitor.c (life, timers, signals),
 * monitor_open.c (its parts), monitor_period.c (a period) and monitor_stdout.c.
 *
 * Threads: one, that of the loop.
 */
#ifndef NTK_AGENT_MONITOR_STATE_H
#define NTK_AGENT_MONITOR_STATE_H

#include "agent/collect/instance.h"
#include "agent/collect/jobs.h"
#include "agent/collect/pods.h"
#include "agent/hang/captures.h"
#include "agent/hang/hang_watch.h"
#include "agent/health/health_say.h"
#include "agent/http/local.h"
#include "agent/http/routes.h"
#include "agent/loop.h"
#include "agent/monitor.h"
#include "agent/outputs/outputs.h"
#include "agent/refresh.h"
#include "agent/report/monitor_schedule.h"
#include "agent/report/monitor_stream.h"
#include "agent/store_counts.h"
#include "shared/collect/collect.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MONITOR_MODULE "agent" /* in messages */

struct ntk_monitor {
    const struct ntk_monitor_options *options;
    struct ntk_loop *loop;
    struct ntk_loop_watch *report_timer;
    struct ntk_loop_watch *drain_timer;
    struct ntk_loop_watch *stdout_watch; /* NULL for a regular file */
    struct ntk_service *service;         /* NULL without a service manager */
    uint64_t drain_ns;                   /* current interval of drains */
    struct ntk_store_reader *totals;     /* totals stored by earlier runs; NULL without --db */
    struct ntk_store *store;
    struct ntk_store_counts *store_counts; /* NULL without --db */
    struct ntk_instance_source *instance;
    struct ntk_pods *pods;        /* NULL: no requests to the kubelet */
    struct ntk_jobs_folder *jobs; /* NULL: no folder is read */
    struct ntk_collector *collector;
    struct ntk_monitor_schedule *schedule;
    struct ntk_hang_watch *ranks;
    struct ntk_captures *captures;     /* NULL: captures are off */
    struct ntk_archive_watch *archive; /* NULL: no archive */
    struct ntk_idle_watch *idle;       /* NULL: no observation of idle cores */
    /* read again at SIGHUP; NULL: the configuration comes from options */
    struct ntk_monitor_config *config;
    struct ntk_monitor_stream *stream;
    struct ntk_outputs outputs;
    struct ntk_refresh *refresh; /* requests from pages */
    struct ntk_routes *routes;
    struct ntk_local *local; /* NULL: local programs get no answers (yet) */
    uint64_t local_next_ns;  /* time of the next attempt to open the socket; UINT64_MAX for never */
    struct ntk_buf line;
    struct ntk_buf full_line; /* for the page, if line has omissions */
    uint64_t reports;
    uint64_t sequence; /* sequence of the last snapshot passed to the store */
    bool said_dropped; /* logged once per slow phase of a reader */
    bool said_stdout;  /* logged once per series of failed writes */
    bool said_cut;
    bool said_long;
    bool said_store;
    uint64_t said_set_aside;
    struct ntk_health_said said_health;
    bool said_collect;
    bool said_local;
    bool is_in_haste;                   /* true after a second stop signal */
    char said_note[NTK_ERR_TEXT_BYTES]; /* last problem of the collector */
    struct ntk_err err;                 /* error that stops the loop */
};

/* monitor.c */

uint64_t monitor_now_ns(const struct ntk_monitor *monitor);
uint64_t monitor_store_period_ns(const struct ntk_monitor_options *options);
/* Ends the loop with 0, or the error in monitor->err. */
void monitor_finish(struct ntk_monitor *monitor, int code);
/* Returns true if a second signal arrived while waiting for the exit. Signals are blocked, so it is
 * pending. */
bool monitor_is_in_haste(void *ctx);

/* monitor_open.c */

int monitor_store_open(struct ntk_monitor *monitor, struct ntk_err *err);
int monitor_collector_open(struct ntk_monitor *monitor, struct ntk_err *err);
int monitor_outputs_open(struct ntk_monitor *monitor, struct ntk_err *err);
void monitor_outputs_resume(struct ntk_monitor *monitor);

/* monitor_period.c */

/* Passes one snapshot to all outputs. Unreported data is urgent if the health of a device changed
 * or a rank was lost. Returns false if the snapshot could not be collected. */
bool monitor_period_take(struct ntk_monitor *monitor, enum ntk_monitor_urgency urgency,
                         bool page_is_wanted);

/* monitor_stdout.c */

/* Puts the line in monitor->line into the stream. */
void monitor_stdout_write(struct ntk_monitor *monitor, bool is_cut);
/* Checks the result of a write: stops the loop if the reader is gone, or if stdout is broken and
 * the only output. */
void monitor_stdout_check(struct ntk_monitor *monitor, int ret);
/* The descriptor accepts bytes again, or is closed. */
void monitor_on_stdout(uint32_t events, void *ctx);
/* Waits a limited time for the reader to take the queue; fails if the reader took part of a
 * line. */
int monitor_stdout_flush(struct ntk_monitor *monitor, struct ntk_err *err);
void monitor_stdout_say_cut(const struct ntk_monitor *monitor);

#ifdef __cplusplus
}
#endif
#endif
