/* SPDX-License-Identifier: MIT */
/* store_rows_process - writes the row of a process, and keeps its state between two snapshots. */
#include "shared/store/store_rows_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/store_histogram.h"
#include "shared/store/columns.h"
#include "shared/store/store_sql.h"

#define KEY_BYTES 128

void ntk_rows_destroy_process(struct ntk_rows_process *process)
{
    ntk_map_each(entry, &process->cores) {
        struct ntk_rows_core *core = entry->value;
        ntk_buf_fini(&core->total_latency);
        ntk_buf_fini(&core->device_latency);
        free(core);
    }
    ntk_map_each(entry, &process->memory) {
        free(entry->value);
    }
    ntk_map_fini(&process->cores);
    ntk_map_fini(&process->memory);
    free(process);
}

static void make_text(char text[KEY_BYTES], const char *boot_id, struct ntk_process_key key)
{
    snprintf(text, KEY_BYTES, "%s/%" PRIu32 "/%" PRIu32 "/%" PRIu64, boot_id, key.header_pid,
             key.uid, key.start_time);
}

static void bind_key(sqlite3_stmt *row, const char *boot_id, struct ntk_process_key key)
{
    ntk_store_sql_bind_text(row, "boot_id", boot_id);
    ntk_store_sql_bind(row, "header_pid", key.header_pid);
    ntk_store_sql_bind(row, "uid", key.uid);
    ntk_store_sql_bind(row, "start_time", key.start_time);
}

static int find_process_row(struct ntk_store_rows *rows, const char *boot_id,
                            struct ntk_process_key key, int64_t *out_id, struct ntk_err *err)
{
    sqlite3_stmt *row = rows->statements[FIND_PROCESS];
    int ret = 0;

    bind_key(row, boot_id, key);
    int step = sqlite3_step(row);
    if (step == SQLITE_ROW) {
        *out_id = (int64_t)ntk_store_sql_u64(row, "process_id");
        ret = 1;
    } else if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(rows->db, "database", err);
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return ret;
}

/* runtime may be NULL, for an event of a process without a sample. */
int ntk_rows_get_process(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         struct ntk_process_key key, const struct ntk_runtime_sample *runtime,
                         struct ntk_rows_process **out, struct ntk_err *err)
{
    char text[KEY_BYTES];
    int64_t id = 0;

    make_text(text, snapshot->boot_id, key);
    *out = ntk_map_get(&rows->processes, text);
    if (*out) {
        return 0;
    }
    int found = find_process_row(rows, snapshot->boot_id, key, &id, err);
    if (found < 0) {
        return found;
    }
    if (!found) {
        sqlite3_stmt *row = rows->statements[ADD_PROCESS];
        bind_key(row, snapshot->boot_id, key);
        ntk_store_sql_bind(row, "pid", runtime ? runtime->pid : key.header_pid);
        ntk_store_sql_bind_text(row, "tag", runtime ? runtime->tag : "");
#define NTK_PROCESS_TEXT(name) ntk_store_sql_bind_text(row, #name, runtime ? runtime->name : "");
#include "shared/metrics/process.def"
        ntk_store_sql_bind(row, "lnc", runtime ? runtime->lnc : 1);
        ntk_store_sql_bind_known(row, "software", runtime, runtime && runtime->software);
        ntk_rows_bind_hooks(row, runtime);
        ntk_store_sql_bind(row, "first_seen_ns", snapshot->realtime_ns);
        ntk_store_sql_bind(row, "last_seen_ns", snapshot->realtime_ns);
        int ret = ntk_rows_finish(rows, row, err);
        if (ret < 0) {
            return ret;
        }
        id = sqlite3_last_insert_rowid(rows->db);
    }
    struct ntk_rows_process *process = calloc(1, sizeof *process);
    if (!process || ntk_map_put(&rows->processes, text, process) < 0) {
        free(process);
        return ntk_err_no_memory(err);
    }
    process->id = id;
    *out = process;
    return found ? ntk_rows_load_memory(rows, process, err) : 0;
}

static sqlite3_stmt *ask_core(struct ntk_store_rows *rows, enum ntk_rows_statement id,
                              const struct ntk_rows_process *process, uint32_t core)
{
    sqlite3_stmt *row = rows->statements[id];

    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    ntk_store_sql_bind(row, "core", core);
    return row;
}

/* Returns 1 with the first row, or 0 if there is none. The caller resets the statement. */
static int step_once(struct ntk_store_rows *rows, sqlite3_stmt *statement, struct ntk_err *err)
{
    int step = sqlite3_step(statement);

    return step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ntk_store_sql_error(rows->db, "database", err);
}

/* If there are too many runs, merges the oldest into one row. */
static int join_old_totals(struct ntk_store_rows *rows, const struct ntk_rows_process *process,
                           uint32_t core, struct ntk_err *err)
{
    static const enum ntk_rows_statement both[] = { SUM_OLD_TOTALS, DROP_OLD_TOTALS };
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < 2; i++) {
        sqlite3_stmt *row = ask_core(rows, both[i], process, core);
        ret = step_once(rows, row, err);
        sqlite3_reset(row);
        sqlite3_clear_bindings(row);
    }
    return ret;
}

static void take_totals(sqlite3_stmt *statement, struct ntk_rows_core *state)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            const char *column = ntk_store_count_name(row, k);
            if (ntk_store_sql_known(statement, column)) {
                state->has |= row->has;
                state->totals[row->at + k] = ntk_store_sql_u64(statement, column);
            }
        }
    }
    ntk_store_sql_blob(statement, "total_latency_histogram", &state->total_latency);
    ntk_store_sql_blob(statement, "device_latency_histogram", &state->device_latency);
}

/* Returns 1, or 0 if nothing is stored for this run. */
static int load_life(struct ntk_store_rows *rows, const struct ntk_rows_process *process,
                     uint32_t core, struct ntk_rows_core *state, struct ntk_err *err)
{
    sqlite3_stmt *row = ask_core(rows, FIND_TOTAL, process, core);

    ntk_store_sql_bind(row, "began_ns", state->began_ns);
    int ret = step_once(rows, row, err);
    if (ret > 0) {
        take_totals(row, state);
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return ret;
}

static int load_since(struct ntk_store_rows *rows, const struct ntk_rows_process *process,
                      uint32_t core, struct ntk_rows_core *state, struct ntk_err *err)
{
    sqlite3_stmt *row = ask_core(rows, FIND_LAST_TOTAL, process, core);
    int ret = step_once(rows, row, err);

    if (ret > 0) {
        state->since_ns = ntk_store_sql_u64(row, "time_ns");
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return ret < 0 ? ret : 0;
}

static int load_core(struct ntk_store_rows *rows, const struct ntk_rows_process *process,
                     uint32_t core, uint64_t began_ns, struct ntk_rows_core *state,
                     struct ntk_err *err)
{
    state->began_ns = began_ns;
    state->has = 0;
    memset(state->totals, 0, sizeof state->totals);
    ntk_buf_reset(&state->total_latency);
    ntk_buf_reset(&state->device_latency);
    int ret = load_life(rows, process, core, state, err);
    if (ret == 0) {
        ret = join_old_totals(rows, process, core, err);
    }
    if (ret < 0) {
        return ret;
    }
    /* An unreadable histogram starts from zero: the counts next to it stay correct. */
    ntk_store_histogram_add(&state->total_latency, &(struct ntk_histogram){ 0 });
    ntk_store_histogram_add(&state->device_latency, &(struct ntk_histogram){ 0 });
    return 0;
}

int ntk_rows_get_core(struct ntk_store_rows *rows, struct ntk_rows_process *process, uint32_t core,
                      uint64_t began_ns, struct ntk_rows_core **out, struct ntk_err *err)
{
    struct ntk_rows_core *state = ntk_map_get_number(&process->cores, core);
    bool is_new = !state;
    int ret = 0;

    if (is_new) {
        state = calloc(1, sizeof *state);
        if (!state || ntk_map_put_number(&process->cores, core, state) < 0) {
            free(state);
            return ntk_err_no_memory(err);
        }
        ret = load_since(rows, process, core, state, err);
    }
    if (ret == 0 && (is_new || state->began_ns != began_ns)) {
        ret = load_core(rows, process, core, began_ns, state, err);
    }
    *out = state;
    return ret;
}

/* Drops the state of processes that ended, because they are not needed again. */
void ntk_rows_forget_ended(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        char text[KEY_BYTES];
        if (!runtime->ended) {
            continue;
        }
        make_text(text, snapshot->boot_id, ntk_runtime_key(runtime));
        struct ntk_rows_process *process = ntk_map_remove(&rows->processes, text);
        if (process) {
            ntk_rows_destroy_process(process);
        }
    }
}
