/* SPDX-License-Identifier: MIT */
/*
 * rank_reading - what the parts of rank_ops share while a trace is read: lists of a worker that are
 * sorted as they come (rank_worker.c), which of them are one rank (rank_leads.c), and the captures
 * next to the trace (rank_captures.c).
 *
 * Private to rank_*.c of this folder. Owner: rank_read.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_READING_H
#define NTK_PROFILER_ANALYSIS_RANK_READING_H

#include "profiler/analysis/rank_ops.h"

/* Cores of one rank that take part in collectives; with more, each is one. */
#define NTK_RANK_STREAMS_MAX 256U
#define NTK_RANK_WORKERS_MAX 1024U /* of one process; events of others are ignored */

/* One worker of the trace. Communicators are in `life` as ntk_rank_comm_of() has them until all is
 * there. */
struct rank_worker {
    uint32_t worker, worker_first, worker_last;
    int64_t begin_ns, end_ns;
    uint32_t comm; /* of its operations, the first with the greatest world; 0: none is known */
    bool has_ops;
    bool is_other; /* its rank is that of another worker, which has all of it */
    struct ntk_sorter ops, runs;
};

struct rank_reading {
    struct ntk_rank_list *list;
    const struct ntk_system_trace *trace; /* NULL: it is read piece by piece */
    struct ntk_vec workers;               /* of struct rank_worker */
    size_t last;                          /* index into them: the one that was asked for last */
    uint64_t ignored;                     /* events of workers beyond the most */
    struct ntk_vec begun;                 /* of struct started (rank_read.c), the oldest first */
    size_t capture_first;                 /* of those next to it */
    uint64_t lost, lost_now;
    uint32_t lost_of; /* the core that lost_now is of */
};

/* ---- rank_ops.c ---- */

/* A copy of the message is a warning of the list. 0 or -ENOMEM. */
int ntk_rank_warn(struct ntk_rank_list *list, const struct ntk_err *err);
/* The machine of the trace, new ones too. 0 or -ENOMEM. */
int ntk_rank_host_of(struct ntk_rank_list *list, const NtkNtracePb__Info *info, size_t *out_host);
/* Index + 1 into comms; 0: the name is none. -ENOMEM. */
int64_t ntk_rank_comm_of(struct ntk_rank_list *list, const char *name);

/* ---- rank_worker.c ---- */

void ntk_rank_worker_init(struct rank_worker *worker, uint32_t number);
void ntk_rank_worker_fini(struct rank_worker *worker);
/* What failed is reported when they are kept. */
void ntk_rank_worker_op(struct rank_worker *worker, const struct ntk_rank_op *op);
void ntk_rank_worker_run(struct rank_worker *worker, int64_t start_ns, int64_t end_ns);
/* One that is ready to be read goes to another one, as operations of a stream. */
int ntk_rank_worker_move(struct rank_worker *worker, struct rank_worker *lead, uint8_t stream,
                         struct ntk_err *err);
/* To the ranks of the list, as one of them or after the earlier traces of one. */
int ntk_rank_worker_keep(struct ntk_rank_list *list, struct rank_worker *worker, size_t host,
                         bool has_lost, struct ntk_err *err);

/* ---- rank_leads.c ---- */

/* Of the communicators of a worker the one that says most counts: that of the greatest world. */
void ntk_rank_comm_note(const struct ntk_rank_list *list, struct rank_worker *worker,
                        uint32_t comm);
/* Workers of the process that are one rank become one. `trace` is the index of the trace. */
int ntk_rank_leads_join(struct rank_reading *reading, const NtkNtracePb__Info *info, size_t trace,
                        struct ntk_err *err);

/* ---- rank_captures.c ---- */

/* Those next to the trace, with their places. 0 or -errno. */
int ntk_rank_captures_add(struct rank_reading *reading, size_t host);

#endif
