/* SPDX-License-Identifier: MIT */
/*
 * store_steps - a window divided into steps: which part of each was watched, and the rows of a
 * statement by step.
 *
 * Owner:   caller's storage; ntk_steps_fini() frees, also after a failed ntk_steps_init().
 * Threads: as the reader. Private to shared/store.
 */
#ifndef NTK_SHARED_STORE_STORE_STEPS_H
#define NTK_SHARED_STORE_STORE_STEPS_H

#include "shared/store/store_reader_state.h"

struct ntk_step {
    struct ntk_store_point point;
    uint64_t row_step_ns; /* the longest row in it */
    bool has_row;         /* of the request */
    uint64_t counting;    /* processes that count executions */
    uint64_t uncounted;   /* ... and that do not */
};

struct ntk_steps {
    struct ntk_store_reader *reader;
    const struct ntk_store_filter *filter;
    struct ntk_store_window window; /* aligned */
    struct ntk_vec pieces;
    struct ntk_step *steps;
    size_t step_count; /* as divided; rows are numbered by these */
    size_t kept_count; /* number of them left by ntk_steps_widen() */
};

/* Divides the window and finds the watched time. */
int ntk_steps_init(struct ntk_steps *query, struct ntk_store_reader *reader,
                   const struct ntk_store_filter *filter, const struct ntk_store_window *window,
                   struct ntk_err *err);
void ntk_steps_fini(struct ntk_steps *query);
/* The number of processes in each step that count executions, and of those that do not. */
int ntk_steps_load_counting(struct ntk_steps *query, struct ntk_err *err);
/* Missing rows of executions have no meaning if they are not counted. */
bool ntk_step_is_counted(const struct ntk_step *step);
/* Rows longer than a step replace the steps before theirs; covered is at most the length. */
void ntk_steps_widen(struct ntk_steps *query);

/* The column bucket: the number of the step of a row. */
void ntk_steps_add_bucket(struct ntk_buf *sql, const struct ntk_steps *query);
/* The processes that loaded the model of the filter. */
void ntk_steps_add_model_processes(struct ntk_buf *sql, const struct ntk_store_filter *filter,
                                   const char *separator);
/* Frees sql. */
int ntk_steps_prepare(struct ntk_steps *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                      struct ntk_err *err);
/* The next row of a statement and its step; false at the end, and with *ret after an error. */
bool ntk_steps_next(const struct ntk_steps *query, sqlite3_stmt *statement, size_t *out_index,
                    int *ret, struct ntk_err *err);

#endif
