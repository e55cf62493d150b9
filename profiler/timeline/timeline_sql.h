/* SPDX-License-Identifier: MIT */
/*
 * timeline_sql - runs SELECTs over the captures that the page shows, with a program for each query.
 *
 *   /api/v1/sql_sources          inputs with their tables and columns
 *   /api/v1/sql?source&sql&rows&seconds
 *                                starts a query: {"id": 7}
 *   /api/v1/sql_answer?id        {"state": "running" | "done" | "failed" | "cancelled", "ms", ...}
 *   /api/v1/sql_cancel?id        ends it
 *
 * A query is `neuron-profile query`, which can only read the tables of the capture. It is a
 * separate process, so no statement delays another request, and each can be stopped: after its time
 * limit, on cancellation, if its answer is too long, and with the server. Its memory and disk space
 * are also limited.
 *
 * An answer is the CSV that query prints, with one row more than requested if there are more. It is
 * kept until NTK_TIMELINE_SQL_MAX later queries were started.
 *
 * Owner:   create / destroy, which ends queries; programs and arguments are borrowed.
 * Threads: handlers come from the server's thread; a query has a thread that waits for it.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_SQL_H
#define NTK_PROFILER_TIMELINE_TIMELINE_SQL_H

#include "shared/base/err.h"
#include "shared/http/http_server.h"

#define NTK_TIMELINE_SQL_MAX 4 /* maximum number of simultaneous queries, and of stored answers */
#define NTK_TIMELINE_SQL_ROWS_MAX 10000U
#define NTK_TIMELINE_SQL_SECONDS_MAX 600U
#define NTK_TIMELINE_SQL_ANSWER_BYTES ((size_t)16 << 20)
/* Limits on a program: private memory, and a file on disk. */
#define NTK_TIMELINE_SQL_MEMORY_BYTES (UINT64_C(2) << 30)
#define NTK_TIMELINE_SQL_FILE_BYTES (UINT64_C(16) << 30)

#define NTK_TIMELINE_SQL_ARGUMENTS_MAX 20

/* A capture, or folders, as options of query. */
struct ntk_timeline_sql_source {
    const char *name;
    bool is_of_folders;                                    /* has the tables of folders */
    const char *arguments[NTK_TIMELINE_SQL_ARGUMENTS_MAX]; /* ends with NULL */
};

struct ntk_timeline_sql;

/* Returns NULL if out of memory. The program is neuron-profile. */
struct ntk_timeline_sql *ntk_timeline_sql_create(const char *program,
                                                 const struct ntk_timeline_sql_source *sources,
                                                 size_t source_count);
/* Accepts NULL. */
void ntk_timeline_sql_destroy(struct ntk_timeline_sql *sql);

#define NTK_TIMELINE_SQL_ROUTES 4
/* Lists fast routes; out_routes must have space for them. */
void ntk_timeline_sql_routes(struct ntk_timeline_sql *sql, struct ntk_http_route *out_routes);

#endif
