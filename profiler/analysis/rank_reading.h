/* SPDX-License-Identifier: MIT */
/*
 * rank_reading - shared by the parts of rank_ops while a trace is read: sorted lists of a worker
 * (rank_worker.c), ranks of several workers (rank_leads.c), and captures next to the trace
 * (rank_captures.c).
 *
 * Private to rank_*.c of this folder. Owner: rank_read.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_READING_H
#define NTK_PROFILER_ANALYSIS_RANK_READING_H

#include "profiler/analysis/rank_ops.h"

/* Limit of cores in one rank that take part in collectives; with more, each core is a rank. */
#define NTK_RANK_STREAMS_MAX 256U
#define NTK_RANK_WORKERS_MAX 1024U /* of one process; events of further ones are ignored */

/* A worker of the trace. Until the trace is complete, `life` has communicators from
 * ntk_rank_comm_of(). */
struct rank_worker {
    uint32_t worker, worker_first, worker_last;
    int64_t begin_ns, end_ns;
    uint32_t comm; /* of its operations, the first with the largest world; 0: unknown */
    bool has_ops;
    bool is_other; /* its rank is another worker, which has its data */
    struct ntk_sorter ops, runs;
};

struct rank_reading {
    struct ntk_rank_list *list;
    const struct ntk_system_trace *trace; /* NULL: it is read piece by piece */
    struct ntk_vec workers;               /* of struct rank_worker */
    size_t last;                          /* index of the one used last */
    uint64_t ignored;                     /* events of workers beyond the limit */
    struct ntk_vec begun;                 /* of struct started (rank_read.c), oldest first */
    size_t capture_first;                 /* of those next to it */
    uint64_t lost, lost_now;
    uint32_t lost_of; /* the core of lost_now */
};

/* ---- rank_ops.c ---- */

/* Adds a copy of the message to the warnings of the list. 0 or -ENOMEM. */
int ntk_rank_warn(struct ntk_rank_list *list, const struct ntk_err *err);
/* The machine of the trace, added if new. 0 or -ENOMEM. */
int ntk_rank_host_of(struct ntk_rank_list *list, const NtkNtracePb__Info *info, size_t *out_host);
/* Index + 1 into comms; 0: not a valid name. -ENOMEM. */
int64_t ntk_rank_comm_of(struct ntk_rank_list *list, const char *name);

/* ---- rank_worker.c ---- */

void ntk_rank_worker_init(struct rank_worker *worker, uint32_t number);
void ntk_rank_worker_fini(struct rank_worker *worker);
/* Failures are reported when the lists are stored. */
void ntk_rank_worker_op(struct rank_worker *worker, const struct ntk_rank_op *op);
void ntk_rank_worker_run(struct rank_worker *worker, int64_t start_ns, int64_t end_ns);
/* Moves the operations of a finished worker to another one, as a stream of it. */
int ntk_rank_worker_move(struct rank_worker *worker, struct rank_worker *lead, uint8_t stream,
                         struct ntk_err *err);
/* Adds it to the ranks of the list, as a new rank or after earlier traces of one. */
int ntk_rank_worker_keep(struct ntk_rank_list *list, struct rank_worker *worker, size_t host,
                         bool has_lost, struct ntk_err *err);

/* ---- rank_leads.c ---- */

/* Of a worker's communicators, the one with the largest world counts. */
void ntk_rank_comm_note(const struct ntk_rank_list *list, struct rank_worker *worker,
                        uint32_t comm);
/* Merges workers of the process that are one rank. `trace` is the index of the trace. */
int ntk_rank_leads_join(struct rank_reading *reading, const NtkNtracePb__Info *info, size_t trace,
                        struct ntk_err *err);

/* ---- rank_captures.c ---- */

/* Adds those next to the trace, with their positions. 0 or -errno. */
int ntk_rank_captures_add(struct rank_reading *reading, size_t host);

#endif
