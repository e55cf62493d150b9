/* SPDX-License-Identifier: MIT */
/* store_file - opens a database file of unknown origin. */
#include "shared/store/store_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/base/clock.h"
#include "shared/store/store_sql.h"

/*
 * The header of SQLite's file format:
 *   offset size field
 *        0   16 magic
 *       18  1+1 versions for writing and for reading: 1, or 2 with a log
 *       44    4 format of the schema, big-endian, 1 to 4; 0 without one
 *       68    4 application_id, big-endian
 *      100      the first page continues
 */
#define MAGIC "SQLite format 3"
#define WRITE_VERSION_AT 18
#define FORMAT_AT 44
#define FORMAT_MAX 4
#define APPLICATION_AT 68
#define HEADER_BYTES 100

/* Number of SQLite instructions between two checks of the clock: about a millisecond. */
#define STEPS_PER_LOOK 20000
/* Limit on a value; real values are much shorter. */
#define VALUE_BYTES_MAX (4 << 20)
#define MEMORY_BYTES (32 << 20)
/* Limit within which the schema of a valid file ends. */
#define SCHEMA_BYTES (1 << 20)

bool ntk_store_file_is_plain(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool ends_by_signal(void)
{
    sigset_t waiting;

    return sigpending(&waiting) == 0 &&
           (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1);
}

static sqlite3_int64 size_of(sqlite3 *db, sqlite3_file **out_file)
{
    sqlite3_int64 size = 0;

    *out_file = NULL;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)out_file);
    if (!*out_file || !(*out_file)->pMethods ||
        (*out_file)->pMethods->xFileSize(*out_file, &size) != SQLITE_OK) {
        *out_file = NULL;
    }
    return size;
}

/* Returns true if the file takes too much memory. SQLite counts all connections of the process
 * together, so memory used before the statement belongs to others; our statements do not nest. A
 * file that we created is trusted. */
static bool fills_memory(const struct ntk_store_file *file)
{
    sqlite3_int64 used = sqlite3_memory_used() - file->memory_before - MEMORY_BYTES;
    sqlite3_file *handle;

    return !file->is_fresh && used > 0 && used > 2 * size_of(file->db, &handle);
}

/* SQLite calls this function during work; returning nonzero stops the statement. */
static int look(void *ctx)
{
    struct ntk_store_file *file = ctx;

    return (file->stop && atomic_load(file->stop)) || (file->heeds_signals && ends_by_signal()) ||
           ntk_clock_monotonic_ns() > atomic_load(&file->until_ns) || fills_memory(file);
}

/* At the beginning of a statement: its time and memory count from now. */
static int begin(unsigned int what, void *ctx, void *statement, void *text)
{
    struct ntk_store_file *file = ctx;
    uint64_t span_ns =
        atomic_load(&file->hurries) ? NTK_STORE_FILE_HURRY_NS : NTK_STORE_FILE_STATEMENT_NS;

    (void)what;
    (void)statement;
    if (text && strncmp(text, "--", 2) == 0) { /* of a virtual table, inside a statement */
        return 0;
    }
    file->memory_before = sqlite3_memory_used();
    atomic_store(&file->until_ns, ntk_clock_monotonic_ns() + span_ns);
    return 0;
}

int ntk_store_file_guard(struct ntk_store_file *file, sqlite3 *db, struct ntk_err *err)
{
    static const int settings[][2] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },
        { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
        /* Forbid the file's triggers and views; temporary ones are allowed. */
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
        { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
    };
    sqlite3_file *handle;
    sqlite3_int64 size = size_of(db, &handle);

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (sqlite3_db_config(db, settings[i][0], settings[i][1], NULL) != SQLITE_OK) {
            return ntk_store_sql_error(db, "cannot open", err);
        }
    }
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    file->db = db;
    file->is_fresh = handle && size == 0; /* SQLite then also ignores a log next to it */
    begin(0, file, NULL, NULL);           /* SQLite's first work is not one of our statements */
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, begin, file);
    sqlite3_progress_handler(db, STEPS_PER_LOOK, look, file);
    return 0;
}

void ntk_store_file_hurry(struct ntk_store_file *file)
{
    atomic_store(&file->hurries, true);
    atomic_store(&file->until_ns, ntk_clock_monotonic_ns() + NTK_STORE_FILE_HURRY_NS);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static uint32_t number_at(const unsigned char *head, size_t at)
{
    return (uint32_t)head[at] << 24 | (uint32_t)head[at + 1] << 16 | (uint32_t)head[at + 2] << 8 |
           head[at + 3];
}

/* Returns true if the file has our tables, even if the header is damaged: SQLite writes rows of the
 * schema, which contain our table names, near the start of the file. */
static bool has_our_tables(sqlite3_file *file, sqlite3_int64 size)
{
    static const char *const rows[] = { "tableexecution_sampleexecution_sample",
                                        "tablerank_verdictrank_verdict" };
    size_t count = size < SCHEMA_BYTES ? (size_t)size : SCHEMA_BYTES;
    char *bytes = malloc(count + 1);
    bool is_ours = bytes && file->pMethods->xRead(file, bytes, (int)count, 0) == SQLITE_OK;

    for (size_t i = 0; i < sizeof rows / sizeof *rows && is_ours; i++) {
        is_ours = memmem(bytes, count, rows[i], strlen(rows[i])) != NULL;
    }
    free(bytes);
    return is_ours;
}

int ntk_store_file_check(sqlite3 *db, bool *out_is_ours, struct ntk_err *err)
{
    unsigned char head[HEADER_BYTES];
    sqlite3_file *file;
    sqlite3_int64 size = size_of(db, &file);
    size_t count = size < HEADER_BYTES ? (size_t)size : HEADER_BYTES;

    *out_is_ours = false;
    if (!file || count == 0) {
        return 0;
    }
    if (file->pMethods->xRead(file, head, (int)count, 0) != SQLITE_OK) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot read the header");
    }
    if (is_zero(head, count)) { /* blocks that never reached the disk */
        return ntk_err_set(err, -EBADMSG, 0, "the first bytes are all zero");
    }
    bool is_sqlite = memcmp(head, MAGIC, count < sizeof MAGIC ? count : sizeof MAGIC) == 0;
    if (is_sqlite && count < HEADER_BYTES) {
        return ntk_err_set(err, -EBADMSG, count, "the file ends inside the header");
    }
    uint32_t application = is_sqlite ? number_at(head, APPLICATION_AT) : 0;
    bool is_ours = application == NTK_STORE_APPLICATION_ID || has_our_tables(file, size);
    if (!is_sqlite) {
        return is_ours ? ntk_err_set(err, -EBADMSG, 0, "the header is damaged")
                       : ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "not a database");
    }
    if (application != 0 && application != NTK_STORE_APPLICATION_ID) {
        return is_ours ? ntk_err_set(err, -EBADMSG, APPLICATION_AT, "the header is damaged")
                       : ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                                     "a database created by another program");
    }
    /* SQLite cannot open or write such files, but does not report them as damaged. */
    if (is_ours && (number_at(head, FORMAT_AT) > FORMAT_MAX || head[WRITE_VERSION_AT] > 2 ||
                    head[WRITE_VERSION_AT + 1] > 2)) {
        return ntk_err_set(err, -EBADMSG, WRITE_VERSION_AT, "the header is damaged");
    }
    *out_is_ours = is_ours;
    return 0;
}
