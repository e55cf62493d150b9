/* SPDX-License-Identifier: MIT */
/*
 * rank_ops - what the join of ranks needs of their traces: of each rank its collectives and the
 * times in which a core of it executes, both in order.
 *
 * A trace is read once, from one end to the other, and one at a time; what is kept of all of them
 * is in one unnamed temporary file where it is long (rank_store.h), so memory grows with the number
 * of ranks and not with their traces.
 *
 * A rank is a process of a machine, known by a worker of it: a logical core. Its cores are one rank
 * unless several of them take part in collectives and do not record that they are the same rank of
 * the same communicator; then each worker is one. Several traces of a rank that follow one another
 * are one, which was restarted between them.
 *
 * Owner:   caller's storage; _fini() frees. Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_OPS_H
#define NTK_PROFILER_ANALYSIS_RANK_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/analysis/rank_store.h"
#include "profiler/system/system_trace.h"
#include "profiler/trace/sorter.h"
#include "shared/base/map.h"
#include "shared/formats/ntrace/ntrace_comm.h"

#define NTK_RANK_NO_LIFE UINT32_MAX

/* A collective. Signed: put on another clock, what is hostile may lie before 1970. */
struct ntk_rank_op {
    int64_t start_ns, end_ns;
    uint64_t sequence; /* in its communicator, from 1; 0: unknown */
    uint32_t life; /* index into lives of its rank; NTK_RANK_NO_LIFE: no communicator is known */
    uint16_t device_core;
    bool is_barrier;
    uint8_t stream; /* which of the cores of its rank, as it came */
};

struct ntk_rank_run {
    int64_t start_ns, end_ns;
};

/* A communicator of a rank from its first operation to the last: one that is made again counts from
 * 1 again, which is another life. */
struct ntk_rank_life {
    struct ntk_ntrace_comm comm;
    uint32_t comm_number; /* index + 1 into comms of the list */
    uint64_t first, last; /* sequence numbers */
    uint64_t count;
    int64_t start_ns, end_ns;
    uint32_t instance; /* the caller's, as is the next */
    uint64_t reached;
};

struct ntk_rank_ops {
    uint32_t worker;                    /* the one in collectives, else the first of its process */
    uint32_t worker_first, worker_last; /* of the cores of its process that are this rank */
    size_t host;                        /* index */
    bool is_twice;                      /* several processes were it at once */
    bool has_lost;                      /* events, of its process */
    struct ntk_rank_rows ops, runs; /* of struct ntk_rank_op and ntk_rank_run, by start; runs are
                                       apart */
    uint64_t numbered_count;        /* of ops, those with a life */
    struct ntk_vec lives;           /* of struct ntk_rank_life */
    struct ntk_vec restarts_ns;     /* of int64_t: begin of its traces but the first */
    bool is_counted; /* the caller's: nothing is numbered, and the n-th is of life 0, with number */
    uint64_t skipped;         /* this + n + 1 */
    int64_t begin_ns, end_ns; /* of the ops and runs */
};

struct ntk_rank_host {
    char *id;   /* traces with the same have one clock */
    char *name; /* "" not known */
};

/* A capture next to a trace: one execution of a rank. */
struct ntk_rank_capture {
    char *path;
    size_t host;
    uint32_t worker;            /* of its rank */
    int64_t start_ns;           /* on the clock of its host, where the core began */
    const char *omitted_reason; /* why nothing is known of that; NULL: it is */
};

/* A core of a process whose rank is another one. */
struct ntk_rank_alias {
    size_t trace; /* index, as they were added */
    uint32_t worker, lead;
};

struct ntk_span_filter;

struct ntk_rank_list {
    struct ntk_vec captures; /* of struct ntk_rank_capture */
    struct ntk_vec aliases;  /* of struct ntk_rank_alias, by trace */
    size_t trace_count;      /* that were added */
    struct ntk_vec hosts;    /* of struct ntk_rank_host, as they came */
    struct ntk_vec ranks;    /* of struct ntk_rank_ops; after _finish() by worker, then host */
    struct ntk_vec comms;    /* of struct ntk_ntrace_comm */
    struct ntk_map comm_names;
    struct ntk_rank_store store;
    struct ntk_vec warnings;              /* of char *: files that cannot be read */
    const struct ntk_span_filter *filter; /* of the folders that are added; NULL: all */
};

void ntk_rank_list_init(struct ntk_rank_list *list);
void ntk_rank_list_fini(struct ntk_rank_list *list);
/* A trace that is in memory anyway. 0 or -errno, with a message. */
int ntk_rank_list_add(struct ntk_rank_list *list, const struct ntk_system_trace *trace,
                      struct ntk_err *err);
/* That of a folder, read piece by piece. A file that cannot be read is a warning. */
int ntk_rank_list_add_folder(struct ntk_rank_list *list, const char *folder, struct ntk_err *err);
/* For the rank's ops through a cursor of them. */
struct ntk_rank_op ntk_rank_op_at(const struct ntk_rank_ops *rank, struct ntk_rank_cursor *cursor,
                                  size_t index);
/* Index of the machine of a trace that was added. */
size_t ntk_rank_list_host(const struct ntk_rank_list *list, const NtkNtracePb__Info *info);
/* When all are added. */
int ntk_rank_list_finish(struct ntk_rank_list *list);
/* What of it could not be kept: 0, or the -errno of the temporary file. */
int ntk_rank_list_failed(const struct ntk_rank_list *list);

#endif
