/* SPDX-License-Identifier: MIT */
/*
 * store_reader - reads the database: series, latency, processes, past moments; the state that a
 * restarted agent needs; and plain SQL.
 *
 * Readers never block the writer, and each call sees one state of the file. A file without a
 * running agent can be read on a read-only disk. Times are nanoseconds since 1970 UTC, durations
 * nanoseconds, sizes bytes; cores are global physical numbers. A file may have any origin: a call
 * that takes minutes fails, and so does a call during which a blocked SIGINT or SIGTERM is pending
 * (-ECANCELED). Errors: a message, which names the file only if it cannot be opened.
 *
 * Owner:   ntk_store_reader_open() allocates, _close() frees. Callbacks call no function of their
 *          reader.
 * Threads: one at a time per reader.
 */
#ifndef NTK_SHARED_STORE_STORE_READER_H
#define NTK_SHARED_STORE_STORE_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"
#include "shared/store/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_store_reader;

/* Opens a file read-only. Returns -ENOENT if it is missing, -EPROTO if it is not one of our
 * databases. */
int ntk_store_reader_open(const char *path, struct ntk_store_reader **out_reader,
                          struct ntk_err *err);
/* Same, for a program with several threads: every call fails (-ECANCELED) soon after *stop becomes
 * true. stop is borrowed for life. */
int ntk_store_reader_open_until(const char *path, const atomic_bool *stop,
                                struct ntk_store_reader **out_reader, struct ntk_err *err);
void ntk_store_reader_close(struct ntk_store_reader *reader);

/* Makes all queries until _end see one state of the file, even while an agent writes. A single
 * query always does; use this around several queries that belong together. Calls may be nested. */
int ntk_store_reader_begin(struct ntk_store_reader *reader, struct ntk_err *err);
void ntk_store_reader_end(struct ntk_store_reader *reader);

/*
 * Reads the stored totals of a process since its segment began at began_ns, for
 * ntk_collector_options.totals_get with the reader as ctx. The reader owns the histograms in
 * cores[] until the next call.
 */
bool ntk_store_reader_totals_get(const char *boot_id, struct ntk_process_key key, uint64_t began_ns,
                                 struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                                 void *ctx);

/* Reads the stored ECC counters of a device, for ntk_collector_options.ecc_get. */
bool ntk_store_reader_ecc_get(const char *boot_id, uint32_t device, struct ntk_ecc_stored *out,
                              void *ctx);

/* Reads a device's last verdict in this boot, for ntk_collector_options.health_get. */
bool ntk_store_reader_health_get(const char *boot_id, uint32_t device,
                                 struct ntk_health_stored *out, void *ctx);

/*
 * Reads the cumulative counts of executions and cores as one period: a runtime per tag
 * (by_process: per process), the machine's cores, the sums. For counters that must continue from
 * these values. Returns -ENODATA if there are none. The caller destroys the snapshot.
 */
int ntk_store_reader_totals_snapshot(struct ntk_store_reader *reader, bool by_process,
                                     struct ntk_snapshot **out_snapshot, struct ntk_err *err);

/* ---- windows ----
 *
 * A window is (from_ns, to_ns], cut into steps of step_ns (0: one step). If there is a step, the
 * window is widened to multiples of it since 1970, so the same query returns the same steps later.
 * The reader uses the coarsest tier that fits into a step, finer tiers at the edges and for rows
 * that are not merged yet, and coarser tiers if the finer rows were deleted: a point is then longer
 * than requested.
 * */
#define NTK_STORE_POINTS_MAX 100000

struct ntk_store_window {
    uint64_t from_ns;
    uint64_t to_ns; /* must be above from_ns */
    uint64_t step_ns;
};

/* The filter; a zeroed struct selects everything. Texts are borrowed for the call. */
struct ntk_store_filter {
    const char *process; /* tag or pid, as text */
    const char *user;    /* user of the processes: a name, or the uid as text */
    const char *model;   /* name of the model, with or without ".neff" */
    /* For ranks, without a model: a tag, or the place where a communicator meets. */
    const char *job;
    bool has_core;
    uint32_t core; /* global physical number */
    bool has_device;
    uint32_t device;
    uint64_t newest_events; /* for events: maximum number, the last ones in the window; 0: all */
};

/* Gets the first and last time_ns of a tier's rows; -ENODATA if it has none. */
int ntk_store_reader_span(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                          uint64_t *out_first_ns, uint64_t *out_last_ns, struct ntk_err *err);
/* 1 if none of the tier's rows was ever deleted, else 0. */
int ntk_store_reader_has_all(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                             struct ntk_err *err);
/* Gets the time_ns of the first second at or after a time, less than half a second away; -ENODATA
 * without one. */
int ntk_store_reader_near(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_time_ns,
                          struct ntk_err *err);
/* Checks a filter. Returns -ENOENT with a message if its process, model, core or device was never
 * stored; -EINVAL if processes of several users match and no user is given: they are never
 * added. */
int ntk_store_reader_check(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                           struct ntk_err *err);

/* ---- series of a metric ---- */

#define NTK_STORE_METRIC(id, name, family, kind, unit, value, largest, help) NTK_STORE_##id,
enum ntk_store_metric {
#include "shared/store/store_metrics.def"
    NTK_STORE_METRIC_COUNT
};
#undef NTK_STORE_METRIC

/* Parts of a filter, as a mask. */
enum ntk_store_filter_part {
    NTK_STORE_BY_PROCESS = 1 << 0,
    NTK_STORE_BY_MODEL = 1 << 1,
    NTK_STORE_BY_CORE = 1 << 2,
    NTK_STORE_BY_DEVICE = 1 << 3,
};

struct ntk_store_metric_info {
    const char *name;
    const char *unit; /* such as "ratio", "bytes", "bytes/s", "1/s" */
    const char *help;
    /* parts of a filter that the metric supports; other parts are not checked */
    uint32_t filter_parts;
};
extern const struct ntk_store_metric_info ntk_store_metrics[NTK_STORE_METRIC_COUNT];
/* Finds a metric by name; NTK_STORE_METRIC_COUNT if there is none. */
enum ntk_store_metric ntk_store_metric_find(const char *name);

/*
 * One step. covered_ns 0: a gap in which no agent was running. Covered, but without a value:
 * unknown, or the process was absent. A rate or share of an observed but idle object is 0.
 */
struct ntk_store_point {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t covered_ns; /* part of the step in which an agent was running */
    /* Total length of the periods that end in the step; they may begin before it. */
    uint64_t counted_ns;
    /* Part of counted_ns in which a process of the filter ran, the divisor of shares and rates; all
     * of it if none ran, or if the filter has no process, user or model. */
    uint64_t running_ns;
    bool is_running; /* a process of the filter ran */
    bool has_value;
    bool has_largest;
    /* shares and rates: over running_ns; sizes: the last value; several cores or processes are
     * added */
    double value;
    double largest; /* largest value of a second; only for a single core or process */
};

/* Reads the steps of the window in order, including gaps. The caller frees *out_points with
 * free(). */
int ntk_store_reader_series(struct ntk_store_reader *reader, enum ntk_store_metric metric,
                            const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window,
                            struct ntk_store_point **out_points, size_t *out_count,
                            struct ntk_err *err);

/* ---- executions and their latency ---- */

struct ntk_store_executions {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t covered_ns; /* 0: a gap, in which the counts have no meaning */
    uint64_t counted_ns; /* see struct ntk_store_point */
    uint64_t running_ns; /* see struct ntk_store_point */
    bool is_running;
    /* number of processes with executions that are not, or only partly, included */
    uint64_t uncounted;
    bool is_counted; /* false: all processes are uncounted, and the counts have no meaning */
    /* With filter.model, only completed and failed executions are known. */
    bool has_outcomes;
    uint64_t completed;
    uint64_t failed; /* all other outcomes */
    /* Part of these counts and of all counts below, from the time before an agent was running; so
     * it is in no rate. */
    uint64_t unwatched;
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    struct ntk_histogram total_latency;  /* empty: no executions, or unknown */
    struct ntk_histogram device_latency; /* the entries are valid during the call */
};
/* Called for each step in order; a negative return value stops and is returned. */
typedef int (*ntk_store_executions_row)(const struct ntk_store_executions *step, void *ctx);
int ntk_store_reader_executions(struct ntk_store_reader *reader,
                                const struct ntk_store_filter *filter,
                                const struct ntk_store_window *window, ntk_store_executions_row row,
                                void *ctx, struct ntk_err *err);

/* ---- processes of a window ---- */

/* One process in the window; texts are valid during the call. */
struct ntk_store_process {
    uint32_t pid;
    const char *tag;
    const char *command;
    const char *user;
    const char *container_id;
    uint64_t first_seen_ns;
    uint64_t last_seen_ns;
    uint64_t ended_ns; /* 0: its end was not seen */
    struct ntk_exit exit;
    uint32_t core_count;
    const char *cores; /* global physical numbers in order, such as "4,5"; NULL: none */
    bool has_samples;  /* an agent observed the process */
    bool has_host;     /* false: unknown, because no source reports it */
    uint64_t host_bytes_max;
    bool has_device;
    bool device_estimated; /* a model's memory is a difference measured around its load */
    uint64_t device_bytes_max;
    bool has_rss;
    uint64_t rss_bytes_max;
    uint64_t completed;
    uint64_t failed;
    uint64_t unwatched; /* part of both counts, from the time before an agent was running */
    const char *hooks;  /* one of ntk_hooks_kind_names; NULL: unknown */
    const char *executions_counted; /* with `none`, the counts have no meaning; NULL: unknown */
};
typedef int (*ntk_store_process_row)(const struct ntk_store_process *process, void *ctx);
/* Reads processes in order of first_seen_ns; step_ns of the window is ignored. With a core or model
 * in the filter, only processes that used it are read; executions are those on that core, and of
 * all models. */
int ntk_store_reader_processes(struct ntk_store_reader *reader,
                               const struct ntk_store_filter *filter,
                               const struct ntk_store_window *window, ntk_store_process_row row,
                               void *ctx, struct ntk_err *err);

/* Reads the names of models that were loaded in the window, sorted; the text is valid during the
 * call. */
typedef int (*ntk_store_name_row)(const char *name, void *ctx);
int ntk_store_reader_models(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window, ntk_store_name_row row,
                            void *ctx, struct ntk_err *err);

/* ---- events ---- */

enum ntk_store_event_kind {
    NTK_STORE_EVENT_START = 0, /* a process was first seen */
    NTK_STORE_EVENT_END = 1,
    NTK_STORE_EVENT_LOAD = 2, /* a model was loaded */
    NTK_STORE_EVENT_UNLOAD = 3,
    NTK_STORE_EVENT_ERROR = 4,
    NTK_STORE_EVENT_ALLOC = 5, /* memory events: many, and kept only as long as the seconds */
    NTK_STORE_EVENT_FREE = 6,
    NTK_STORE_EVENT_MODEL_START = 7,
    NTK_STORE_EVENT_MODEL_STOP = 8,
    /* events that the program reports: as many, and kept as long, as memory events */
    NTK_STORE_EVENT_MARK = 9,
    NTK_STORE_EVENT_COUNT
};
extern const char *const ntk_store_event_names[NTK_STORE_EVENT_COUNT]; /* such as "first_seen" */
/* Masks of kinds, one bit each. */
#define NTK_STORE_EVENTS_ALL ((1u << NTK_STORE_EVENT_COUNT) - 1)
#define NTK_STORE_EVENTS_MEMORY (1u << NTK_STORE_EVENT_ALLOC | 1u << NTK_STORE_EVENT_FREE)

/* An event; texts are valid during the call. */
struct ntk_store_event {
    uint64_t time_ns;
    enum ntk_store_event_kind kind;
    uint32_t pid;
    const char *tag;
    bool has_core;
    uint32_t core;     /* global physical number */
    uint32_t model_id; /* 0: none */
    const char *model; /* name of the model; NULL: none, or unknown */
    const char
        /* ERROR: class; ALLOC, FREE: category; MARK: name; END: how it exited; NULL or "":
         * unknown */
        *what;
    const char *name; /* START: command; LOAD, UNLOAD: file; ALLOC, FREE: tensor; "": none */
    bool has_status;
    uint32_t status;
    bool has_bytes;
    uint64_t bytes;
    bool has_duration;
    uint64_t duration_ns;
    bool has_address;
    uint64_t address;
    bool has_execution;
    uint64_t execution; /* number of the failed execution */
    bool has_value;
    uint64_t value; /* MARK: value from the program */
};
/* A negative return value stops and is returned. */
typedef int (*ntk_store_event_row)(const struct ntk_store_event *event, void *ctx);
/* Reads events in time order; step_ns of the window and filter.device are ignored. */
int ntk_store_reader_events(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window, uint32_t kinds,
                            ntk_store_event_row row, void *ctx, struct ntk_err *err);

/* ---- ranks ----
 *
 * Texts are valid during the call. A negative return value stops and is returned. */
struct ntk_store_rank {
    uint64_t start_ns; /* start of the step */
    uint64_t end_ns;
    const char *tag;
    uint32_t pid;
    const char *communicator;
    const char *rendezvous;
    uint32_t rank, rank_count;
    uint32_t model_id;
    uint64_t period_ns; /* total length of the periods in which an operation ended */
    uint64_t operations;
    uint64_t errors;
    uint64_t moved_bytes;
    uint64_t in_operations_ns;
    bool has_wait; /* false: unknown, as around another runtime */
    uint64_t wait_ns;
    uint64_t core_busy_ns;
    uint64_t last_sequence; /* number of the last operation ever recorded */
    /* verdicts on the rank in the step, such as "slow core, broke lost"; NULL: none */
    const char *verdicts;
};
typedef int (*ntk_store_rank_row)(const struct ntk_store_rank *rank, void *ctx);
/* Reads ranks by step, communicator and rank; only ranks that did something in the step. */
int ntk_store_reader_ranks(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                           const struct ntk_store_window *window, ntk_store_rank_row row, void *ctx,
                           struct ntk_err *err);

struct ntk_store_verdict {
    uint64_t from_ns;
    uint64_t to_ns;   /* 0: it still holds */
    const char *kind; /* such as "hangs" */
    const char *cause;
    const char *communicator;
    const char *rendezvous;
    uint32_t rank_count;
    bool has_rank; /* false: no single rank is named */
    uint32_t rank;
    uint32_t pid; /* 0: unknown */
    const char *tag;
    const char *operation; /* NULL: not about an operation */
    uint64_t sequence;
    uint32_t missing_count;
    uint64_t behind_ns; /* 0: unknown */
    uint64_t interval_ns;
};
typedef int (*ntk_store_verdict_row)(const struct ntk_store_verdict *verdict, void *ctx);
/* Reads verdicts that held at some time in the window, in order of their start. */
int ntk_store_reader_verdicts(struct ntk_store_reader *reader,
                              const struct ntk_store_filter *filter,
                              const struct ntk_store_window *window, ntk_store_verdict_row row,
                              void *ctx, struct ntk_err *err);

/* ---- idle time ----
 *
 * Why cores of processes were idle, as neuron-monitor --idle observed it. Texts are valid during
 * the call. A negative return value stops and is returned. */
#define NTK_STORE_IDLE_CAUSES 20 /* maximum causes of a process in a step */
struct ntk_store_idle {
    uint64_t start_ns; /* start of the step */
    uint64_t end_ns;
    const char *tag;
    uint32_t pid;
    uint64_t period_ns; /* observed time; the following figures are for the process in the step */
    uint64_t held_ns;   /* held time, summed over cores */
    uint64_t all_idle_ns;
    uint64_t lost;     /* number of lost records */
    const char *cause; /* NULL: the process had no idle time */
    const char *thread, *function, *module, *syscall, *object; /* "" if unknown */
    uint64_t idle_ns;
    uint64_t gaps;
    uint64_t longest_ns;
};
typedef int (*ntk_store_idle_row)(const struct ntk_store_idle *idle, void *ctx);
/* Reads the largest causes, by step, process, and time. */
int ntk_store_reader_idle(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                          const struct ntk_store_window *window, ntk_store_idle_row row, void *ctx,
                          struct ntk_err *err);

/* ---- batch jobs ----
 *
 * The cores that a job had in the window, and the work on them during that time. Texts and lists
 * are valid during the call. A negative return value stops and is returned. */
struct ntk_store_job {
    const char *id;
    const char *user;
    const char *name;
    const char *partition;
    const char *cluster;
    uint32_t runs; /* number of times that it started in the window */
    uint64_t from_ns;
    uint64_t to_ns; /* end of the known time */
    bool is_ended;  /* false: it still existed at to_ns */
    /* partly from shares of rows of minutes or hours, at its beginning and end */
    bool is_coarse;
    uint32_t lnc;          /* physical cores per logical core */
    const uint32_t *cores; /* physical numbers, ascending */
    size_t core_count;
    uint64_t held_ns;    /* total time of its logical cores */
    uint64_t watched_ns; /* part of held_ns while an agent was running */
    bool has_used;
    uint64_t used_ns;         /* busy time of its cores */
    uint64_t used_watched_ns; /* part of used_ns while an agent was running */
    bool has_executions;
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    uint32_t ecc_has;            /* bit i: ecc[i] is known */
    uint64_t ecc[NTK_ECC_COUNT]; /* counts of its devices */
    bool has_memory;
    uint64_t memory_bytes_max; /* peak device memory of its processes */
    bool has_flops;
    double effective_flops;
    bool has_peak;
    double peak_flops; /* FLOPs that its cores could have done while an agent was running */
    bool has_power;
    /* For its share of devices (by cores): the equivalent time at full power, and the part of its
     * time for which that is known. */
    uint64_t full_power_ns;
    uint64_t power_known_ns;
};
typedef int (*ntk_store_job_row)(const struct ntk_store_job *job, void *ctx);
/* Selects jobs with this id and user (NULL: any), in order of their start: the newest `most`. */
struct ntk_store_jobs_filter {
    const char *id;
    const char *user;
    struct ntk_store_window window;
    size_t most;
};
/* *out_more is the number of jobs beyond `most`. */
int ntk_store_reader_jobs(struct ntk_store_reader *reader,
                          const struct ntk_store_jobs_filter *filter, size_t *out_more,
                          ntk_store_job_row row, void *ctx, struct ntk_err *err);

/* ---- a moment ----
 *
 * The snapshot of the period that contains time_ns, as the agent stored it, or of a minute or an
 * hour if the seconds have been deleted (see period_ns). Known: machine, devices, runtimes, their
 * cores, models, memory rows and logged events. Not stored, so 0 or absent: cumulative totals
 * (ntk_count.total, except busy_ns.total), single CPUs, tags, memory peaks by category. Of power
 * only the average is known; minimum and maximum repeat it. The caller destroys the snapshot.
 * Returns -ENODATA with a message in a gap.
 * */
int ntk_store_reader_snapshot_at(struct ntk_store_reader *reader, uint64_t time_ns,
                                 struct ntk_snapshot **out_snapshot, struct ntk_err *err);
/* Same, for the newest snapshot of a tier that ends before time_ns. Returns -ENODATA if there is
 * none. */
int ntk_store_reader_snapshot_before(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                                     uint64_t time_ns, struct ntk_snapshot **out_snapshot,
                                     struct ntk_err *err);
/* Replaces the snapshot's events by the events logged after from_ns until the end of the snapshot:
 * the last ones, at most `most`. */
int ntk_store_reader_load_events(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                                 uint64_t from_ns, size_t most, struct ntk_err *err);
/* Fills failing_since_ns and running_ns of the cores, which sample rows lack, from the errors and
 * samples before the snapshot. */
int ntk_store_reader_load_failing(struct ntk_store_reader *reader, struct ntk_snapshot *snapshot,
                                  struct ntk_err *err);
/* Finds the time_ns of the first sample after time_ns (before: the last one before it) in any tier,
 * for stepping. Returns -ENODATA at the end. */
int ntk_store_reader_next(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_time_ns,
                          struct ntk_err *err);
int ntk_store_reader_before(struct ntk_store_reader *reader, uint64_t time_ns,
                            uint64_t *out_time_ns, struct ntk_err *err);

/* ---- other queries ---- */

/* Runs one SELECT. row is called for each row with texts (NULL for NULL) that are valid during the
 * call; a negative return value stops. Returns 0 or a negative value. */
typedef int (*ntk_store_row)(size_t column_count, const char *const *names,
                             const char *const *values, void *ctx);
int ntk_store_reader_query(struct ntk_store_reader *reader, const char *sql, ntk_store_row row,
                           void *ctx, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
