/* SPDX-License-Identifier: MIT */
/*
 * rank_files - writes folders of inspections as one file per rank: the ranks, their activity on one
 * clock, and the output folder (docs/formats/rank-traces.md).
 *
 * A rank is a process of a machine, identified by one of its workers, a logical core; rank_ops.h
 * decides if several cores are one rank. Its number is the rank in the world if all traces have
 * one, else the worker, else its index. Clocks are aligned with the first machine's as in joined.h.
 *
 * Owner:   the caller provides the storage, _fini() frees the content; the export is borrowed.
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_RANK_FILES_H
#define NTK_PROFILER_OUTPUT_TRACES_RANK_FILES_H

#include "profiler/output/export.h"
#include "profiler/output/sink.h"
#include "shared/base/vec.h"
#include "shared/formats/ntrace/ntrace_comm.h"

#define NTK_RANK_NO_GROUP SIZE_MAX

/* A group of ranks that communicate. */
struct ntk_rank_group {
    uint64_t key;
    uint32_t rank_count;
    uint32_t known_count; /* number of members with a trace */
    uint32_t *members;    /* rank_count ranks; UINT32_MAX without a trace */
};

struct ntk_rank {
    uint32_t number;
    uint32_t worker; /* first worker, or the worker in collectives */
    size_t host;
    int64_t offset_ns; /* offset of its clock; already subtracted */
    uint64_t lost_count;
    uint64_t partial_count; /* number of spans without a start or end, which are omitted in files */
};

struct ntk_rank_files {
    const struct ntk_export *export;
    uint32_t world_count;
    int64_t zero_ns;        /* start of the first span, since 1970, on the first clock */
    size_t *hosts;          /* indexed by folder of the export */
    struct ntk_vec ranks;   /* elements are struct ntk_rank, by number */
    struct ntk_vec groups;  /* elements are struct ntk_rank_group */
    struct ntk_vec aliases; /* elements are struct ntk_rank_alias, by folder */
};

enum ntk_rank_span_kind {
    NTK_RANK_HOST, /* a call, or part of a call */
    NTK_RANK_MARK, /* set by the program */
    NTK_RANK_RUN,  /* an execution on a core */
    /* a collective or barrier, only once even if both cores of a pair report it */
    NTK_RANK_COLLECTIVE,
    NTK_RANK_OTHER, /* other activity on the device */
};

struct ntk_rank_span {
    enum ntk_rank_span_kind kind;
    const struct ntk_system_trace *trace;
    const struct ntk_system_span *span;
    int64_t start_ns, end_ns; /* relative to zero_ns */
    size_t group;             /* index of the group; NTK_RANK_NO_GROUP if unknown */
};

/* Returns 0 or -errno with a message. */
int ntk_rank_files_init(const struct ntk_export *export, struct ntk_rank_files *out_files,
                        struct ntk_err *err);
void ntk_rank_files_fini(struct ntk_rank_files *files);
/* Collects complete spans and instants of a rank (struct ntk_rank_span), by start. -ENOMEM. */
int ntk_rank_files_spans(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                         struct ntk_vec *out_spans);

struct ntk_rank_format {
    const char *name;        /* such as "kineto" */
    const char *head, *tail; /* parts of a file name around the number */
    const char *extra;       /* an additional file; NULL if none */
    int (*put)(const struct ntk_rank_files *files, const struct ntk_rank *rank,
               struct ntk_sink *sink);
    void (*put_extra)(const struct ntk_rank_files *files, struct ntk_buf *out);
};

/* Writes a folder with a file per rank, which appears completely or not at all. Returns 0 or
 * -errno. */
int ntk_rank_files_write(const struct ntk_export *export, const char *path,
                         const struct ntk_rank_format *format, struct ntk_err *err);

#endif
