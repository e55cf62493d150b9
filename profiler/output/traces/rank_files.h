/* SPDX-License-Identifier: MIT */
/*
 * rank_files - folders of inspections as one file per rank: the ranks, their activity on one clock,
 * and the output folder (docs/formats/rank-traces.md).
 *
 * A rank is a process of a machine, identified by one of its workers, a logical core; rank_ops.h
 * decides whether several cores are one rank. Its number is the rank in the world if all traces
 * have one, else the worker, else its index. Clocks are aligned with the first machine's as in
 * joined.h.
 *
 * Owner: caller's storage, _fini() frees; the export is borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_RANK_FILES_H
#define NTK_PROFILER_OUTPUT_TRACES_RANK_FILES_H

#include "profiler/output/export.h"
#include "profiler/output/sink.h"
#include "shared/base/vec.h"
#include "shared/formats/ntrace/ntrace_comm.h"

#define NTK_RANK_NO_GROUP SIZE_MAX

/* Ranks that communicate. */
struct ntk_rank_group {
    uint64_t key;
    uint32_t rank_count;
    uint32_t known_count; /* number of members with a trace */
    uint32_t *members;    /* rank_count ranks; UINT32_MAX: no trace */
};

struct ntk_rank {
    uint32_t number;
    uint32_t worker; /* the first, or the one in collectives */
    size_t host;
    int64_t offset_ns; /* of its clock; already subtracted */
    uint64_t lost_count;
    uint64_t partial_count; /* spans without a start or end, omitted in files */
};

struct ntk_rank_files {
    const struct ntk_export *export;
    uint32_t world_count;
    int64_t zero_ns;        /* since 1970, on the first clock: start of the first span */
    size_t *hosts;          /* of each folder of the export */
    struct ntk_vec ranks;   /* of struct ntk_rank, by number */
    struct ntk_vec groups;  /* of struct ntk_rank_group */
    struct ntk_vec aliases; /* of struct ntk_rank_alias, by folder */
};

enum ntk_rank_span_kind {
    NTK_RANK_HOST,       /* a call, or part of one */
    NTK_RANK_MARK,       /* from the program itself */
    NTK_RANK_RUN,        /* of a core */
    NTK_RANK_COLLECTIVE, /* a collective or barrier, once even if both cores of a pair report it */
    NTK_RANK_OTHER,      /* of the device */
};

struct ntk_rank_span {
    enum ntk_rank_span_kind kind;
    const struct ntk_system_trace *trace;
    const struct ntk_system_span *span;
    int64_t start_ns, end_ns; /* from zero_ns */
    size_t group;             /* index; NTK_RANK_NO_GROUP: unknown */
};

/* 0 or -errno with a message. */
int ntk_rank_files_init(const struct ntk_export *export, struct ntk_rank_files *out_files,
                        struct ntk_err *err);
void ntk_rank_files_fini(struct ntk_rank_files *files);
/* Complete spans and instants of a rank (struct ntk_rank_span), by start. -ENOMEM. */
int ntk_rank_files_spans(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                         struct ntk_vec *out_spans);

struct ntk_rank_format {
    const char *name;        /* "kineto" */
    const char *head, *tail; /* of a file name, around the number */
    const char *extra;       /* an additional file; NULL: none */
    int (*put)(const struct ntk_rank_files *files, const struct ntk_rank *rank,
               struct ntk_sink *sink);
    void (*put_extra)(const struct ntk_rank_files *files, struct ntk_buf *out);
};

/* Writes a folder with a file per rank; it appears whole or not at all. 0 or -errno. */
int ntk_rank_files_write(const struct ntk_export *export, const char *path,
                         const struct ntk_rank_format *format, struct ntk_err *err);

#endif
