/* SPDX-License-Identifier: MIT */
/* store_reader - opens the database for reading, and shared parts of queries. */
#include "shared/store/store_reader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/store/columns.h"
#include "shared/store/store.h"
#include "shared/store/store_ecc.h"
#include "shared/store/store_health.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

#define BUSY_TIMEOUT_MS 5000

/* Histogram entries in the last answer, two lists per core. */
struct core_entries {
    struct ntk_histogram_entry total[NTK_HISTOGRAM_BUCKETS];
    struct ntk_histogram_entry device[NTK_HISTOGRAM_BUCKETS];
};

static const char totals_sql[] =
    "SELECT t.* FROM core_total t JOIN process p USING (process_id)"
    " WHERE p.boot_id = :boot_id AND p.header_pid = :header_pid AND p.uid = :uid"
    " AND p.start_time = :start_time"
    " AND t.began_ns = :began_ns ORDER BY t.core";

/* Makes "file:<path>?immutable=1", with a URI's special characters escaped; the caller frees it
 * with sqlite3_free(). */
static char *make_immutable_uri(const char *path)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);

    sqlite3_str_appendall(uri, "file:");
    for (; *path; path++) {
        if (strchr("%?#", *path)) {
            sqlite3_str_appendf(uri, "%%%02x", (unsigned char)*path);
        } else {
            sqlite3_str_appendchar(uri, 1, *path);
        }
    }
    sqlite3_str_appendall(uri, "?immutable=1");
    return sqlite3_str_finish(uri);
}

static int open_file(struct ntk_store_reader *reader, const char *name, int flags,
                     bool *out_is_empty, struct ntk_err *err)
{
    flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(name, &reader->db, flags, NULL) != SQLITE_OK) {
        return ntk_store_sql_error(reader->db, "cannot open", err);
    }
    sqlite3_extended_result_codes(reader->db, 1);
    sqlite3_busy_timeout(reader->db, BUSY_TIMEOUT_MS);
    int ret = ntk_store_file_guard(&reader->file, reader->db, err);
    return ret < 0 ? ret : ntk_store_sql_check(reader->db, out_is_empty, err);
}

/* Returns true if the file is complete, without the log of a running agent next to it. */
static bool is_alone(const char *path)
{
    char wal[PATH_MAX];
    struct stat info;
    int count = snprintf(wal, sizeof wal, "%s-wal", path);

    return count > 0 && (size_t)count < sizeof wal && (stat(wal, &info) < 0 || info.st_size == 0);
}

/* Opens the file. A reader creates an index next to it; if that fails (a read-only disk, another
 * user's folder) and no agent is running, the file is read as it is. */
static int open_somehow(struct ntk_store_reader *reader, const char *path, bool *out_is_empty,
                        struct ntk_err *err)
{
    int ret = open_file(reader, path, 0, out_is_empty, err);

    if ((ret != -ENOENT && ret != -EROFS) || !is_alone(path)) {
        return ret;
    }
    sqlite3_close(reader->db);
    reader->db = NULL;
    char *uri = make_immutable_uri(path);
    if (!uri) {
        return ntk_err_no_memory(err);
    }
    ret = open_file(reader, uri, SQLITE_OPEN_URI, out_is_empty, err);
    sqlite3_free(uri);
    return ret;
}

int ntk_store_reader_open(const char *path, struct ntk_store_reader **out_reader,
                          struct ntk_err *err)
{
    return ntk_store_reader_open_until(path, NULL, out_reader, err);
}

int ntk_store_reader_open_until(const char *path, const atomic_bool *stop,
                                struct ntk_store_reader **out_reader, struct ntk_err *err)
{
    bool is_empty = false;

    if (access(path, F_OK) < 0) {
        int code = errno;
        return code == ENOENT
                   ? ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "database '%s' not found", path)
                   : ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                                 strerror(code));
    }
    if (!ntk_store_file_is_plain(path)) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s is not a database", path);
    }
    struct ntk_store_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        return ntk_err_no_memory(err);
    }
    reader->file.stop = stop;
    reader->file.heeds_signals = true;
    int ret = open_somehow(reader, path, &is_empty, err);
    if (ret == 0 && is_empty) {
        ret = ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "the database is empty");
    }
    if (ret == 0) {
        ret = ntk_tier_add_functions(reader->db, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_prepare(reader->db, totals_sql, &reader->totals, err);
    }
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
        ntk_store_reader_close(reader);
        return ret;
    }
    *out_reader = reader;
    return 0;
}

void ntk_store_reader_close(struct ntk_store_reader *reader)
{
    if (!reader) {
        return;
    }
    sqlite3_finalize(reader->totals);
    sqlite3_close(reader->db);
    free(reader->entries);
    free(reader);
}

struct ntk_histogram ntk_store_reader_histogram(sqlite3_stmt *statement, const char *column,
                                                struct ntk_histogram_entry *entries)
{
    struct ntk_histogram_dense dense = { 0 };
    struct ntk_histogram histogram = { 0 };

    if (ntk_store_sql_known(statement, column) &&
        ntk_store_sql_histogram(statement, column, &dense) == 0) {
        histogram.count = dense.count;
        histogram.sum_ns = dense.sum_ns;
        histogram.entries = entries;
        histogram.entry_count = ntk_histogram_dense_entries(&dense, entries, NTK_HISTOGRAM_BUCKETS);
    }
    return histogram;
}

static void take_totals(sqlite3_stmt *statement, struct core_entries *entries,
                        struct ntk_core_sample *core)
{
    *core = (struct ntk_core_sample){ 0 };
    core->core = (uint32_t)ntk_store_sql_u64(statement, "core");
    core->has = NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY;
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            const char *column = ntk_store_count_name(row, k);
            core->has |= ntk_store_sql_known(statement, column) ? row->has : 0;
            core->counts[row->at + k].total = ntk_store_sql_u64(statement, column);
        }
    }
    core->total_latency =
        ntk_store_reader_histogram(statement, "total_latency_histogram", entries->total);
    core->device_latency =
        ntk_store_reader_histogram(statement, "device_latency_histogram", entries->device);
}

bool ntk_store_reader_totals_get(const char *boot_id, struct ntk_process_key key, uint64_t began_ns,
                                 struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                                 void *ctx)
{
    struct ntk_store_reader *reader = ctx;
    sqlite3_stmt *statement = reader->totals;
    size_t count = 0;

    if (reader->entries_count < capacity) {
        struct core_entries *entries = realloc(reader->entries, capacity * sizeof *entries);
        if (!entries) {
            return false;
        }
        reader->entries = entries;
        reader->entries_count = capacity;
    }
    ntk_store_sql_bind_text(statement, "boot_id", boot_id);
    ntk_store_sql_bind(statement, "header_pid", key.header_pid);
    ntk_store_sql_bind(statement, "uid", key.uid);
    ntk_store_sql_bind(statement, "start_time", key.start_time);
    ntk_store_sql_bind(statement, "began_ns", began_ns);
    while (count < capacity && sqlite3_step(statement) == SQLITE_ROW) {
        take_totals(statement, &reader->entries[count], &cores[count]);
        count++;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    *out_count = count;
    return count > 0;
}

bool ntk_store_reader_ecc_get(const char *boot_id, uint32_t device, struct ntk_ecc_stored *out,
                              void *ctx)
{
    struct ntk_store_reader *reader = ctx;

    return ntk_store_ecc_read(reader->db, boot_id, device, out);
}

bool ntk_store_reader_health_get(const char *boot_id, uint32_t device,
                                 struct ntk_health_stored *out, void *ctx)
{
    struct ntk_store_reader *reader = ctx;

    return ntk_store_health_read(reader->db, boot_id, device, out);
}

int ntk_store_reader_query(struct ntk_store_reader *reader, const char *sql, ntk_store_row row,
                           void *ctx, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(reader->db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    size_t columns = (size_t)sqlite3_column_count(statement);
    const char **names = calloc(2 * columns + 1, sizeof *names);
    if (!names) {
        sqlite3_finalize(statement);
        return ntk_err_no_memory(err);
    }
    const char **values = names + columns;
    int step;
    while (ret == 0 && (step = sqlite3_step(statement)) != SQLITE_DONE) {
        if (step != SQLITE_ROW) {
            ret = ntk_store_sql_error(reader->db, "query", err);
            break;
        }
        for (size_t i = 0; i < columns; i++) {
            names[i] = sqlite3_column_name(statement, (int)i);
            values[i] = (const char *)sqlite3_column_text(statement, (int)i);
        }
        ret = row(columns, names, values, ctx);
    }
    free(names);
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}
