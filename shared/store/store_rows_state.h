/* SPDX-License-Identifier: MIT */
/*
 * store_rows_state - shared by the parts of store_rows: the statements, binding of rows, and the
 * state of each process between two snapshots.
 *
 * store_rows.c walks through a snapshot, store_rows_process.c handles processes, store_rows_core.c
 * writes cores and executions, store_rows_memory.c memory rows, and store_rows_event.c the logs.
 * Private to shared/store. Threads: the writer's.
 */
#ifndef NTK_SHARED_STORE_STORE_ROWS_STATE_H
#define NTK_SHARED_STORE_STORE_ROWS_STATE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/store/packed.h"
#include "shared/store/store_ecc.h"
#include "shared/store/store_health.h"
#include "shared/store/store_jobs.h"
#include "shared/store/store_machine.h"
#include "shared/store/store_rows.h"
#include "shared/store/store_verdicts.h"

enum ntk_rows_statement {
    FIND_PROCESS,
    ADD_PROCESS,
    SEE_PROCESS,
    PUT_MODEL,
    ADD_MACHINE,
    ADD_EXECUTION,
    ADD_MODEL_SAMPLE,
    ADD_MEMORY,
    PUT_MEMORY_LAST,
    PUT_CORE_TOTAL,
    ADD_UNWATCHED,
    FIND_TOTAL,
    FIND_LAST_TOTAL,
    SUM_OLD_TOTALS,
    DROP_OLD_TOTALS,
    FIND_MEMORY,
    ADD_MEMORY_LOG,
    ADD_ERROR_LOG,
    ADD_MODEL_LOG,
    ADD_MARK_LOG,
    PUT_RANK,
    ADD_RANK_SAMPLE,
    ADD_IDLE,
    ADD_IDLE_CAUSE,
    STATEMENT_COUNT
};

/* The state of a core, for the process's run that was written last. */
struct ntk_rows_core {
    uint64_t began_ns;
    struct ntk_buf total_latency; /* stored as BLOBs, which are a hundred times smaller */
    struct ntk_buf device_latency;
    uint64_t since_ns; /* start of the totals that were stored when they were first needed */
    uint32_t has;      /* enum ntk_core_has of totals[]; stays set once known */
    uint64_t totals[NTK_CORE_COUNTS];
};

struct ntk_rows_memory {
    uint64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t generation; /* number of the last snapshot with this row */
};

struct ntk_rows_process {
    int64_t id;
    struct ntk_map cores;  /* core to struct ntk_rows_core */
    struct ntk_map memory; /* memory_key() to struct ntk_rows_memory */
};

/* A parameter of a statement, or a column of a packer. */
struct ntk_rows_place {
    const void *row;
    const char *name; /* compared by address */
    int at;
};

/* size of the hash table; names that do not fit are searched for each time */
#define NTK_ROWS_PLACES 256

struct ntk_store_rows {
    sqlite3 *db;
    /* kept until destroy, because places[] contains their addresses */
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct ntk_rows_place places[NTK_ROWS_PLACES];
    int counts_at[STATEMENT_COUNT][NTK_CORE_COUNTS]; /* parameter numbers of counts; 0: none */
    struct ntk_packer *packers[NTK_FAMILY_COUNT];    /* NULL: not packed */
    int packed_counts_at[NTK_CORE_COUNTS];           /* columns of core_sample; -1: none */
    struct ntk_map processes;                        /* process_key() to struct ntk_rows_process */
    struct ntk_store_machine machine;
    struct ntk_store_health health;
    struct ntk_store_ecc ecc;
    struct ntk_store_verdicts verdicts;
    struct ntk_store_jobs jobs;
    uint64_t generation;
    uint64_t row_count;
    struct ntk_buf scratch;
    struct ntk_buf scratch_2;
};

/* Bind values of a row by column name (store_sql.h). This one binds the three columns about how a
 * process is observed. */
void ntk_rows_bind_hooks(sqlite3_stmt *row, const struct ntk_runtime_sample *runtime);
void ntk_rows_bind_core(sqlite3_stmt *row, const char *name, uint32_t core);
/* Same, for frequent rows of statements[]: the position of a name, which must be static, is looked
 * up once. */
void ntk_rows_bind(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                   uint64_t value);
void ntk_rows_bind_known(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                         bool is_known, uint64_t value);
void ntk_rows_bind_blob(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                        const struct ntk_buf *blob);
/* largest is NULL if the table lacks that column. */
void ntk_rows_bind_percentiles(struct ntk_store_rows *rows, sqlite3_stmt *row,
                               const struct ntk_histogram *histogram, const char *p50,
                               const char *p99, const char *largest);
void ntk_rows_bind_histogram(struct ntk_store_rows *rows, sqlite3_stmt *row, const char *name,
                             const struct ntk_histogram *histogram, struct ntk_buf *scratch);
/* Sets a known value of the last row of a packer; otherwise the same as ntk_rows_bind_known(). */
void ntk_rows_put(struct ntk_store_rows *rows, struct ntk_packer *packer, const char *name,
                  bool is_known, uint64_t value);
/* Runs the statement to its end, which writes one row. */
int ntk_rows_finish(struct ntk_store_rows *rows, sqlite3_stmt *row, struct ntk_err *err);

/* ---- the processes ---- */

/* runtime may be NULL, for an event of a process without a sample. */
int ntk_rows_get_process(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_process_key key, const struct ntk_runtime_sample *runtime,
                         struct ntk_rows_process **out, struct ntk_err *err);
/* The known totals of a process's core since its segment began, loaded at the first request; they
 * are replaced when another run begins. */
int ntk_rows_get_core(struct ntk_store_rows *rows, struct ntk_rows_process *process, uint32_t core,
                      uint64_t began_ns, struct ntk_rows_core **out, struct ntk_err *err);
void ntk_rows_destroy_process(struct ntk_rows_process *process);
/* Drops the state of exited processes, because they are not needed again. */
void ntk_rows_forget_ended(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot);

/* ---- rows ---- */

/* Loads the memory rows that a process had when the last writer stopped. */
int ntk_rows_load_memory(struct ntk_store_rows *rows, struct ntk_rows_process *process,
                         struct ntk_err *err);
int ntk_rows_write_memory(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                          struct ntk_rows_process *process,
                          const struct ntk_runtime_sample *runtime, struct ntk_err *err);
int ntk_rows_write_core(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        struct ntk_rows_process *process, const struct ntk_core_sample *core,
                        struct ntk_err *err);
int ntk_rows_write_ranks(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_rows_process *process, const struct ntk_runtime_sample *runtime,
                         struct ntk_err *err);
int ntk_rows_write_event(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         const struct ntk_event_sample *event, struct ntk_err *err);
int ntk_rows_write_idle(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct ntk_idle_sample *idle, struct ntk_err *err);

#endif
