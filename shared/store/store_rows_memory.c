/* SPDX-License-Identifier: MIT */
/* store_rows_memory - writes rows of memory, one for each change. */
#include "shared/store/store_rows_state.h"

#include <stdlib.h>

#include "shared/store/store_sql.h"

/* A number that identifies a memory row: 16 bits core, 16 bits category, 32 bits model. */
static uint64_t memory_key(uint32_t core, uint32_t category, uint32_t model_id)
{
    return (uint64_t)core << 48 | (uint64_t)category << 32 | model_id;
}

/* Loads the memory rows that a process had when the last writer stopped. */
int ntk_rows_load_memory(struct ntk_store_rows *rows, struct ntk_rows_process *process,
                         struct ntk_err *err)
{
    sqlite3_stmt *row = rows->statements[FIND_MEMORY];
    int ret = 0;
    int step;

    ntk_store_sql_bind(row, "process_id", (uint64_t)process->id);
    while (ret == 0 && (step = sqlite3_step(row)) != SQLITE_DONE) {
        if (step != SQLITE_ROW) {
            ret = ntk_store_sql_error(rows->db, "database", err);
            break;
        }
        int64_t core = (int64_t)ntk_store_sql_u64(row, "core");
        struct ntk_rows_memory *state = calloc(1, sizeof *state);
        if (!state) {
            ret = ntk_err_no_memory(err);
            break;
        }
        state->current_bytes = ntk_store_sql_u64(row, "current_bytes");
        state->peak_bytes = ntk_store_sql_u64(row, "peak_bytes");
        uint64_t key = memory_key(core < 0 ? NTK_NO_CORE : (uint32_t)core & 0xffff,
                                  (uint32_t)ntk_store_sql_u64(row, "category") & 0xffff,
                                  (uint32_t)ntk_store_sql_u64(row, "model_id"));
        if (ntk_map_put_number(&process->memory, key, state) < 0) {
            free(state);
            ret = ntk_err_no_memory(err);
        }
    }
    sqlite3_reset(row);
    sqlite3_clear_bindings(row);
    return ret;
}

static int write_memory_row(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                            const struct ntk_rows_process *process, uint64_t key,
                            const struct ntk_rows_memory *state, struct ntk_err *err)
{
    static const enum ntk_rows_statement both[] = { ADD_MEMORY, PUT_MEMORY_LAST };

    for (size_t i = 0; i < 2; i++) {
        sqlite3_stmt *row = rows->statements[both[i]];
        ntk_rows_bind(rows, row, "time_ns", snapshot->realtime_ns);
        ntk_rows_bind(rows, row, "process_id", (uint64_t)process->id);
        ntk_rows_bind_core(row, "core", (uint32_t)(key >> 48));
        ntk_rows_bind(rows, row, "category", key >> 32 & 0xffff);
        ntk_rows_bind(rows, row, "model_id", key & UINT32_MAX);
        ntk_rows_bind(rows, row, "current_bytes", state->current_bytes);
        ntk_rows_bind(rows, row, "peak_bytes", state->peak_bytes);
        int ret = ntk_rows_finish(rows, row, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

int ntk_rows_write_memory(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                          struct ntk_rows_process *process,
                          const struct ntk_runtime_sample *runtime, struct ntk_err *err)
{
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        uint64_t key = memory_key(row->core, row->category, row->model_id);
        struct ntk_rows_memory *state = ntk_map_get_number(&process->memory, key);
        bool is_new = !state;
        if (is_new) {
            state = calloc(1, sizeof *state);
            if (!state || ntk_map_put_number(&process->memory, key, state) < 0) {
                free(state);
                return ntk_err_no_memory(err);
            }
        }
        state->generation = rows->generation;
        if (!is_new && state->current_bytes == row->current_bytes &&
            state->peak_bytes == row->peak_bytes) {
            continue;
        }
        state->current_bytes = row->current_bytes;
        state->peak_bytes = row->peak_bytes;
        int ret = write_memory_row(rows, snapshot, process, key, state, err);
        if (ret < 0) {
            return ret;
        }
    }
    /* A row that is missing became 0; its peak stays. */
    ntk_map_each(entry, &process->memory) {
        struct ntk_rows_memory *state = entry->value;
        if (state->generation != rows->generation && state->current_bytes != 0) {
            state->current_bytes = 0;
            int ret = write_memory_row(rows, snapshot, process, entry->number, state, err);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}
