/* SPDX-License-Identifier: MIT */
/*
 * timeline_sql - SELECTs over the captures that the page shows: a program for each query.
 *
 *   /api/v1/sql_sources             what can be asked, with its tables and their columns
 *   /api/v1/sql?source&sql&rows&seconds   begins a query: {"id": 7}
 *   /api/v1/sql_answer?id           {"state": "running" | "done" | "failed" | "cancelled", "ms", ...}
 *   /api/v1/sql_cancel?id           ends it
 *
 * A query is `neuron-profile query`, which can read nothing but the tables of the capture. It is a
 * process, so no statement, whatever it computes, delays another request, and all of them
 * can be ended: after their time, when they are cancelled, when their answer is too long, and with
 * the server. What one may take of memory and disk is limited, too.
 *
 * An answer is the CSV that query prints, with one row more than was asked for where there are
 * more. It stays until NTK_TIMELINE_SQL_MAX later queries were started.
 *
 * Owner:   create / destroy, which ends queries; programs and arguments are borrowed.
 * Threads: handlers come from the server's thread; a query has a thread that waits for it.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_SQL_H
#define NTK_PROFILER_TIMELINE_TIMELINE_SQL_H

#include "shared/base/err.h"
#include "shared/http/http_server.h"

#define NTK_TIMELINE_SQL_MAX 4 /* queries at once, and answers that stay */
#define NTK_TIMELINE_SQL_ROWS_MAX 10000U
#define NTK_TIMELINE_SQL_SECONDS_MAX 600U
#define NTK_TIMELINE_SQL_ANSWER_BYTES ((size_t)16 << 20)
/* Of a program: memory that is its own, and a file on the disk. */
#define NTK_TIMELINE_SQL_MEMORY_BYTES (UINT64_C(2) << 30)
#define NTK_TIMELINE_SQL_FILE_BYTES (UINT64_C(16) << 30)

#define NTK_TIMELINE_SQL_ARGUMENTS_MAX 20

/* A capture, or folders, as options of query name them. */
struct ntk_timeline_sql_source {
    const char *name;
    bool is_of_folders;                                    /* has their tables */
    const char *arguments[NTK_TIMELINE_SQL_ARGUMENTS_MAX]; /* ended by NULL */
};

struct ntk_timeline_sql;

/* NULL if out of memory. The program is neuron-profile. */
struct ntk_timeline_sql *ntk_timeline_sql_create(const char *program,
                                                 const struct ntk_timeline_sql_source *sources,
                                                 size_t source_count);
/* NULL is fine. */
void ntk_timeline_sql_destroy(struct ntk_timeline_sql *sql);

#define NTK_TIMELINE_SQL_ROUTES 4
/* Quick ones; out_routes has room for them. */
void ntk_timeline_sql_routes(struct ntk_timeline_sql *sql, struct ntk_http_route *out_routes);

#endif
