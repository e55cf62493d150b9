/* SPDX-License-Identifier: MIT */
/* store_rows_rank - writes the communicators of a process, and its work in them. */
#include <stdio.h>

#include "shared/store/store_rows_state.h"
#include "shared/store/store_sql.h"

/* Adds with a limit, the largest value of a column, because counts may be wrong. */
static void add_up(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum) || *sum > INT64_MAX) {
        *sum = INT64_MAX;
    }
}

static bool is_same(const struct ntk_rank_sample *a, const struct ntk_rank_sample *b)
{
    return a->key == b->key && a->rank == b->rank;
}

struct sums {
    uint64_t operations;
    uint64_t counts[NTK_RANK_COUNTS]; /* the counts that are stored */
};

/* Sums up a rank. A rank that left and joined again is listed twice and counts as one; the work of
 * its cores counts once. */
static struct sums sums_of(const struct ntk_runtime_sample *runtime, size_t first)
{
    struct sums sums = { 0 };

    for (size_t i = first; i < runtime->rank_count; i++) {
        const struct ntk_rank_sample *rank = &runtime->ranks[i];

        if (!is_same(rank, &runtime->ranks[first])) {
            continue;
        }
        for (size_t n = 0; n < NTK_COLLECTIVE_COUNT; n++) {
            add_up(&sums.operations, rank->operations[n].period);
        }
        for (size_t n = 0; n < NTK_RANK_COUNTS; n++) {
            if (i == first || !ntk_rank_count_rows[n].is_work) {
                add_up(&sums.counts[n], rank->counts[n].period);
            }
        }
    }
    return sums;
}

static int write_rank(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                      const struct ntk_rows_process *process, const struct ntk_rank_sample *rank,
                      const char *communicator, struct ntk_err *err)
{
    sqlite3_stmt *row = rows->statements[PUT_RANK];

    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    ntk_store_sql_bind_text(row, "communicator", communicator);
    ntk_store_sql_bind(row, "rank", rank->rank);
    ntk_store_sql_bind(row, "rank_count", rank->rank_count);
    ntk_store_sql_bind(row, "world_rank", rank->world_rank);
    ntk_store_sql_bind(row, "world_count", rank->world_count);
    ntk_store_sql_bind(row, "model_id", rank->model_id);
    ntk_store_sql_bind_known(row, "core", rank->core != NTK_NO_CORE, rank->core);
    ntk_store_sql_bind_text(row, "rendezvous", rank->rendezvous);
    ntk_store_sql_bind_text(row, "members", rank->members);
    ntk_store_sql_bind(row, "first_seen_ns", snapshot->realtime_ns);
    ntk_store_sql_bind(row, "last_seen_ns", snapshot->realtime_ns);
    ntk_store_sql_bind(row, "last_sequence", rank->sequence);
    return ntk_rows_finish(rows, row, err);
}

static int write_sample(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                        const struct ntk_rows_process *process, const struct ntk_rank_sample *rank,
                        const char *communicator, const struct sums *sums, struct ntk_err *err)
{
    sqlite3_stmt *row = rows->statements[ADD_RANK_SAMPLE];

    ntk_store_sql_bind(row, "time_ns", snapshot->realtime_ns);
    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    ntk_store_sql_bind_text(row, "communicator", communicator);
    ntk_store_sql_bind(row, "rank", rank->rank);
    ntk_store_sql_bind(row, "period_ns", snapshot->period_ns);
    ntk_store_sql_bind(row, "operations", sums->operations);
    for (size_t i = 0; i < NTK_RANK_COUNTS; i++) {
        if (ntk_rank_count_rows[i].is_stored) {
            ntk_store_sql_bind(row, ntk_rank_count_rows[i].name, sums->counts[i]);
        }
    }
    return ntk_rows_finish(rows, row, err);
}

int ntk_rows_write_ranks(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_rows_process *process, const struct ntk_runtime_sample *runtime,
                         struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < runtime->rank_count && ret == 0; i++) {
        const struct ntk_rank_sample *rank = &runtime->ranks[i];
        bool is_written = false;
        char communicator[17];

        for (size_t k = 0; k < i && !is_written; k++) {
            is_written = is_same(&runtime->ranks[k], rank);
        }
        if (is_written) {
            continue;
        }
        (void)snprintf(communicator, sizeof communicator, "%016llx", (unsigned long long)rank->key);
        ret = write_rank(rows, snapshot, process, rank, communicator, err);
        struct sums sums = sums_of(runtime, i);
        if (ret == 0 && (sums.operations > 0 || sums.counts[&rank->errors - rank->counts] > 0)) {
            ret = write_sample(rows, snapshot, process, rank, communicator, &sums, err);
        }
    }
    return ret;
}
