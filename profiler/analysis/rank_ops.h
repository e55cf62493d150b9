/* SPDX-License-Identifier: MIT */
/*
 * rank_ops - collects the data that is needed to join ranks from their traces: the collectives of
 * each rank, and the times in which one of its cores executes, both in order.
 *
 * Traces are read once, sequentially and one at a time. Large data is stored in one unnamed
 * temporary file (rank_store.h), so memory grows with the number of ranks, not with their traces.
 *
 * A rank is a process of a machine, identified by one of its workers (a logical core). Its cores
 * are one rank, unless several of them take part in collectives and are not recorded as the same
 * rank of a communicator; then each worker is a rank. Consecutive traces of a rank are one rank
 * that was restarted between them.
 *
 * Owner: the caller provides the storage; _fini() frees the content. Threads: one at a time.
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

/* A collective. Times are signed, because on another clock times in hostile files may be before
 * 1970. */
struct ntk_rank_op {
    int64_t start_ns, end_ns;
    uint64_t sequence; /* number in its communicator, from 1; 0 if unknown */
    uint32_t life; /* index in lives of its rank; NTK_RANK_NO_LIFE for an unknown communicator */
    uint16_t device_core;
    bool is_barrier;
    uint8_t stream; /* index of its core in the rank, in order of appearance */
};

struct ntk_rank_run {
    int64_t start_ns, end_ns;
};

/* A communicator of a rank from its first operation to the last. If the communicator is created
 * again, its numbers restart from 1, and it has another life. */
struct ntk_rank_life {
    struct ntk_ntrace_comm comm;
    uint32_t comm_number; /* index + 1 in comms of the list */
    uint64_t first, last; /* sequence numbers */
    uint64_t count;
    int64_t start_ns, end_ns;
    uint32_t instance; /* set by the caller, like the next member */
    uint64_t reached;
};

struct ntk_rank_ops {
    uint32_t worker;                    /* worker in collectives, else the first of its process */
    uint32_t worker_first, worker_last; /* cores of its process in this rank */
    size_t host;                        /* index in hosts */
    bool is_twice;                      /* several processes had this rank at the same time */
    bool has_lost;                      /* its process has lost events */
    /* elements are struct ntk_rank_op and ntk_rank_run, by start; runs do not overlap */
    struct ntk_rank_rows ops, runs;
    uint64_t numbered_count;    /* number of ops with a life */
    struct ntk_vec lives;       /* elements are struct ntk_rank_life */
    struct ntk_vec restarts_ns; /* elements are int64_t: starts of its traces except the first */
    /* set by the caller: nothing is numbered, and the n-th operation has life 0 and a number */
    bool is_counted;
    uint64_t skipped;         /* the number is this + n + 1 */
    int64_t begin_ns, end_ns; /* range of the ops and runs */
};

struct ntk_rank_host {
    char *id;   /* traces with the same id have the same clock */
    char *name; /* "" if unknown */
};

/* A capture in the folder of a trace: one execution of a rank. */
struct ntk_rank_capture {
    char *path;
    size_t host;
    uint32_t worker;            /* worker of its rank */
    int64_t start_ns;           /* on the host's clock, when the core started */
    const char *omitted_reason; /* reason why it is unknown; NULL if it is known */
};

/* A core of a process with another core as its rank. */
struct ntk_rank_alias {
    size_t trace; /* index of the trace, in the order of adding */
    uint32_t worker, lead;
};

struct ntk_span_filter;

struct ntk_rank_list {
    struct ntk_vec captures; /* elements are struct ntk_rank_capture */
    struct ntk_vec aliases;  /* elements are struct ntk_rank_alias, by trace */
    size_t trace_count;      /* number of added traces */
    struct ntk_vec hosts;    /* elements are struct ntk_rank_host, in the order of adding */
    /* elements are struct ntk_rank_ops; after _finish() by worker, then host */
    struct ntk_vec ranks;
    struct ntk_vec comms; /* elements are struct ntk_ntrace_comm */
    struct ntk_map comm_names;
    struct ntk_rank_store store;
    struct ntk_vec warnings;              /* elements are char *: files that cannot be read */
    const struct ntk_span_filter *filter; /* for added folders; NULL for all spans */
};

void ntk_rank_list_init(struct ntk_rank_list *list);
void ntk_rank_list_fini(struct ntk_rank_list *list);
/* Adds a trace in memory. Returns 0 or -errno with a message. */
int ntk_rank_list_add(struct ntk_rank_list *list, const struct ntk_system_trace *trace,
                      struct ntk_err *err);
/* Adds the trace of a folder, read piece by piece. An unreadable file is a warning. */
int ntk_rank_list_add_folder(struct ntk_rank_list *list, const char *folder, struct ntk_err *err);
/* Reads an operation of the rank through a cursor. */
struct ntk_rank_op ntk_rank_op_at(const struct ntk_rank_ops *rank, struct ntk_rank_cursor *cursor,
                                  size_t index);
/* Returns the index of the machine of an added trace. */
size_t ntk_rank_list_host(const struct ntk_rank_list *list, const NtkNtracePb__Info *info);
/* Finishes the list; must be called after all traces were added. */
int ntk_rank_list_finish(struct ntk_rank_list *list);
/* Returns 0, or -errno of the temporary file if data could not be stored. */
int ntk_rank_list_failed(const struct ntk_rank_list *list);

#endif
