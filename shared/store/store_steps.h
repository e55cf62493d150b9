/* SPDX-License-Identifier: MIT */
/*
 * store_steps - divides a window into steps, finds which part of each was observed, and assigns the
 * rows of a statement to steps.
 *
 * Owner:   caller's storage; ntk_steps_fini() frees, also after a failed ntk_steps_init().
 * Threads: the same as for the reader. Private to shared/store.
 */
#ifndef NTK_SHARED_STORE_STORE_STEPS_H
#define NTK_SHARED_STORE_STORE_STEPS_H

#include "shared/store/store_reader_state.h"

struct ntk_step {
    struct ntk_store_point point;
    uint64_t row_step_ns; /* length of the longest row in the step */
    bool has_row;         /* the request has a row in the step */
    uint64_t counting;    /* number of processes that count executions */
    uint64_t uncounted;   /* number of processes that do not */
};

struct ntk_steps {
    struct ntk_store_reader *reader;
    const struct ntk_store_filter *filter;
    struct ntk_store_window window; /* the window, aligned */
    struct ntk_vec pieces;
    struct ntk_step *steps;
    size_t step_count; /* number of steps when divided; rows refer to these */
    size_t kept_count; /* number of steps left by ntk_steps_widen() */
};

/* Divides the window and finds the observed time. */
int ntk_steps_init(struct ntk_steps *query, struct ntk_store_reader *reader,
                   const struct ntk_store_filter *filter, const struct ntk_store_window *window,
                   struct ntk_err *err);
void ntk_steps_fini(struct ntk_steps *query);
/* Loads the number of processes in each step that count executions, and of those that do not. */
int ntk_steps_load_counting(struct ntk_steps *query, struct ntk_err *err);
/* Returns true if executions are counted in the step: otherwise missing rows have no meaning. */
bool ntk_step_is_counted(const struct ntk_step *step);
/* Replaces the steps before a row that is longer than a step; the covered time is at most the
 * length. */
void ntk_steps_widen(struct ntk_steps *query);

/* Appends the column bucket: the number of a row's step. */
void ntk_steps_add_bucket(struct ntk_buf *sql, const struct ntk_steps *query);
/* Appends a condition for processes that loaded the filter's model. */
void ntk_steps_add_model_processes(struct ntk_buf *sql, const struct ntk_store_filter *filter,
                                   const char *separator);
/* Prepares a statement; frees sql. */
int ntk_steps_prepare(struct ntk_steps *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                      struct ntk_err *err);
/* Gets the next row of a statement and its step. Returns false at the end, or after an error, which
 * sets *ret. */
bool ntk_steps_next(const struct ntk_steps *query, sqlite3_stmt *statement, size_t *out_index,
                    int *ret, struct ntk_err *err);

#endif
