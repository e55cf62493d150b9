/* SPDX-License-Identifier: MIT */
/*
 * rank_reading - the state shared by the parts of rank_ops while a trace is read: sorted lists of a
 * worker (rank_worker.c), ranks of several workers (rank_leads.c), and captures in the folder of
 * the trace (rank_captures.c).
 *
 * Private to rank_*.c of this folder. Owner: rank_read.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_READING_H
#define NTK_PROFILER_ANALYSIS_RANK_READING_H

#include "profiler/analysis/rank_ops.h"

/* Maximum number of cores in one rank that take part in collectives; with more, each core is a
 * rank. */
#define NTK_RANK_STREAMS_MAX 256U
#define NTK_RANK_WORKERS_MAX 1024U /* maximum per process; events of further workers are ignored */

/* A worker of the trace. Until the trace is complete, `life` has communicators from
 * ntk_rank_comm_of(). */
struct rank_worker {
    uint32_t worker, worker_first, worker_last;
    int64_t begin_ns, end_ns;
    /* communicator of its operations, the first with the largest world; 0 if unknown */
    uint32_t comm;
    bool has_ops;
    bool is_other; /* its rank is another worker, which has the data of both */
    struct ntk_sorter ops, runs;
};

struct rank_reading {
    struct ntk_rank_list *list;
    const struct ntk_system_trace *trace; /* NULL if the trace is read piece by piece */
    struct ntk_vec workers;               /* elements are struct rank_worker */
    size_t last;                          /* index of the worker that was used last */
    uint64_t ignored;                     /* number of events of workers beyond the limit */
    struct ntk_vec begun; /* elements are the structs of rank_read.c for starts, oldest first */
    size_t capture_first; /* first of its captures */
    uint64_t lost, lost_now;
    uint32_t lost_of; /* core of lost_now */
};

/* ---- rank_ops.c ---- */

/* Adds a copy of the message to the warnings of the list. Returns 0 or -ENOMEM. */
int ntk_rank_warn(struct ntk_rank_list *list, const struct ntk_err *err);
/* Finds the machine of the trace, added if new. Returns 0 or -ENOMEM. */
int ntk_rank_host_of(struct ntk_rank_list *list, const NtkNtracePb__Info *info, size_t *out_host);
/* Returns index + 1 in comms; 0 for an invalid name. -ENOMEM. */
int64_t ntk_rank_comm_of(struct ntk_rank_list *list, const char *name);

/* ---- rank_worker.c ---- */

void ntk_rank_worker_init(struct rank_worker *worker, uint32_t number);
void ntk_rank_worker_fini(struct rank_worker *worker);
/* Adds an operation or run. Failures are reported when the lists are stored. */
void ntk_rank_worker_op(struct rank_worker *worker, const struct ntk_rank_op *op);
void ntk_rank_worker_run(struct rank_worker *worker, int64_t start_ns, int64_t end_ns);
/* Moves the operations of a finished worker to another worker, as one of its streams. */
int ntk_rank_worker_move(struct rank_worker *worker, struct rank_worker *lead, uint8_t stream,
                         struct ntk_err *err);
/* Adds the worker to the ranks of the list, as a new rank or after earlier traces of a rank. */
int ntk_rank_worker_keep(struct ntk_rank_list *list, struct rank_worker *worker, size_t host,
                         bool has_lost, struct ntk_err *err);

/* ---- rank_leads.c ---- */

/* Notes a communicator; the one with the largest world is used for a worker. */
void ntk_rank_comm_note(const struct ntk_rank_list *list, struct rank_worker *worker,
                        uint32_t comm);
/* Merges workers of the process that are one rank. `trace` is the index of the trace. */
int ntk_rank_leads_join(struct rank_reading *reading, const NtkNtracePb__Info *info, size_t trace,
                        struct ntk_err *err);

/* ---- rank_captures.c ---- */

/* Adds the captures in the folder of the trace, with their positions. Returns 0 or -errno. */
int ntk_rank_captures_add(struct rank_reading *reading, size_t host);

#endif
