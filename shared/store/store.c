/* SPDX-License-Identifier: MIT */
/* store - writes to the database: queue, thread, commits, retries. */
#include "shared/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/metrics/snapshot_merge.h"
#include "shared/store/retention.h"
#include "shared/store/rollup.h"
#include "shared/store/store_file.h"
#include "shared/store/store_rows.h"
#include "shared/store/store_schema.h"
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

#define DEFAULT_KEEP_BYTES (UINT64_C(1) << 30)
#define DEFAULT_JOINED_BYTES ((size_t)64 << 20)
#define DEFAULT_COMMIT_NS NTK_NS_PER_SECOND
#define DEFAULT_RETRY_NS (5 * NTK_NS_PER_SECOND)
#define RETENTION_EVERY_NS (60 * NTK_NS_PER_SECOND)
#define BUSY_TIMEOUT_MS 10000
/* Maximum snapshots in a transaction, below the queue's size, so that there is always room for new
 * ones. */
#define TRANSACTION_MAX (NTK_STORE_QUEUE_MAX / 2)
/* Maximum time for which merging may delay a commit. */
#define ROLLUP_BUDGET_NS (100 * NTK_NS_PER_MS)
/* Size to which the write-ahead log shrinks after a long reader let it grow. */
#define WAL_BYTES "16777216"
/* An offset beyond every byte that SQLite locks. */
#define WRITER_LOCK_OFFSET (INT64_MAX - 16)

struct ntk_store {
    struct ntk_store_options options;
    /* descriptor with the writer's lock, closed after the database: see open_and_lock() */
    int lock_fd;
    char *path;
    sqlite3 *db; /* NULL while a damaged file could not be replaced */
    struct ntk_store_file file;
    struct ntk_store_rows *rows;
    struct ntk_rollup *rollup;

    pthread_mutex_t mutex; /* protects the following fields */
    pthread_cond_t changed;
    const struct ntk_snapshot *queue[NTK_STORE_QUEUE_MAX]; /* oldest first */
    size_t queue_count;
    size_t in_transaction; /* number of snapshots at the front that are written but not committed */
    bool stop;
    struct ntk_store_status status;

    /* Used only by the writer's thread. */
    pthread_t thread;
    bool thread_runs;
    bool transaction_open;
    uint64_t transaction_since_ns;
    uint64_t transaction_rows;
    uint64_t retry_at_ns;
    uint64_t retention_at_ns;
};

/* A process loses its POSIX locks when it closes any descriptor of the file, including SQLite's. So
 * the writer's lock is an open-file-description lock on a descriptor that outlives the database. */
static int open_and_lock(struct ntk_store *store, struct ntk_err *err)
{
    const char *path = store->path;
    struct stat info;
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = WRITER_LOCK_OFFSET, .l_len = 1
    };

    store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
    if (store->lock_fd < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open the database '%s': %s",
                           path, strerror(errno));
    }
    if (fstat(store->lock_fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "%s is not a database", path);
    }
    if (fcntl(store->lock_fd, F_OFD_SETLK, &lock) < 0) {
        int code = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
        return ntk_err_set(
            err, code, NTK_ERR_NO_OFFSET, "cannot write to the database '%s': %s", path,
            code == -EBUSY ? "another neuron-monitor is writing to it" : strerror(errno));
    }
    return 0;
}

static int open_database(struct ntk_store *store, struct ntk_err *err)
{
    bool is_empty = false;

    if (sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        return ntk_store_sql_error(store->db, "cannot open", err);
    }
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
    int ret = ntk_store_file_guard(&store->file, store->db, err);
    if (ret == 0) {
        ret = ntk_store_sql_check(store->db, &is_empty, err);
    }
    if (ret == 0 && is_empty) {
        ret = ntk_store_schema_make(store->db, err);
    }
    if (ret == 0) {
        ret =
            ntk_store_sql_exec(store->db,
                               "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                               "PRAGMA cache_size = -4096; PRAGMA journal_size_limit = " WAL_BYTES,
                               err);
    }
    if (ret == 0) {
        ret = ntk_tier_add_functions(store->db, err);
    }
    if (ret == 0) {
        ret = ntk_store_rows_create(store->db, &store->rows, err);
    }
    return ret == 0 ? ntk_rollup_create(store->db, &store->rollup, err) : ret;
}

static void close_database(struct ntk_store *store)
{
    ntk_store_rows_destroy(store->rows);
    store->rows = NULL;
    ntk_rollup_destroy(store->rollup);
    store->rollup = NULL;
    sqlite3_close(store->db);
    store->db = NULL;
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
        store->lock_fd = -1;
    }
}

/* Makes a name next to the database that does not exist yet; "-wal" can be appended to it. */
static int make_name(const struct ntk_store *store, char *name, size_t name_bytes)
{
    char stamp[32];
    time_t now = (time_t)(ntk_clock_realtime_ns() / NTK_NS_PER_SECOND);
    struct tm utc;

    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    for (int i = 0;; i++) {
        int count = snprintf(name, name_bytes, i == 0 ? "%s.damaged-%s" : "%s.damaged-%s-%d",
                             store->path, stamp, i);
        if (count < 0 || (size_t)count >= name_bytes) {
            return -ENAMETOOLONG;
        }
        if (access(name, F_OK) < 0) {
            return 0;
        }
    }
}

/* Renames a damaged file; why describes the damage. */
static int set_aside(struct ntk_store *store, const char *why, struct ntk_err *err)
{
    char name[PATH_MAX - 4];
    char from[PATH_MAX];
    char to[PATH_MAX];
    int ret = make_name(store, name, sizeof name);

    if (ret == 0 && rename(store->path, name) < 0) {
        ret = -errno;
    }
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                           "%s is damaged (%s) and cannot be renamed: %s", store->path, why,
                           strerror(-ret));
    }
    /* The log may contain data that the file lacks; the next program that opens it rebuilds the
     * index. */
    snprintf(from, sizeof from, "%s-wal", store->path);
    snprintf(to, sizeof to, "%s-wal", name);
    (void)rename(from, to);
    snprintf(from, sizeof from, "%s-shm", store->path);
    (void)unlink(from);
    pthread_mutex_lock(&store->mutex);
    store->status.set_aside_count++;
    snprintf(store->status.set_aside, sizeof store->status.set_aside,
             "%s is damaged (%s): renamed it to %s; creating a new database", store->path, why,
             name);
    pthread_mutex_unlock(&store->mutex);
    return 0;
}

/* Replaces a damaged database by a new one, at most a few times. */
static int open_or_replace(struct ntk_store *store, struct ntk_err *err)
{
    for (;;) {
        int ret = open_and_lock(store, err);
        if (ret < 0) {
            return ret;
        }
        ret = open_database(store, err);
        if (ret != -EBADMSG) {
            if (ret < 0) {
                ntk_err_prefix(err, "%s", store->path);
            }
            return ret;
        }
        if (store->status.set_aside_count >= NTK_STORE_SET_ASIDE_MAX) {
            ntk_err_prefix(err, "%s", store->path);
            return ret;
        }
        struct ntk_err why = *err;
        close_database(store);
        ret = set_aside(store, why.text, err);
        if (ret < 0) {
            return ret;
        }
    }
}

/* Checks the disk. Runs on the writer's thread, because a disk that does not respond blocks the
 * caller. */
static void look_at_disk(struct ntk_store *store)
{
    struct statvfs disk;
    bool has_free = statvfs(store->path, &disk) == 0;

    pthread_mutex_lock(&store->mutex);
    store->status.has_free = has_free;
    store->status.free_bytes = has_free ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
    pthread_mutex_unlock(&store->mutex);
}

static void set_failing(struct ntk_store *store, const struct ntk_err *err)
{
    look_at_disk(store);
    pthread_mutex_lock(&store->mutex);
    store->status.failing = err != NULL;
    if (err) {
        memcpy(store->status.text, err->text, sizeof store->status.text);
        store->status.failures++;
    }
    store->in_transaction = 0;
    pthread_mutex_unlock(&store->mutex);
}

/* Puts everything in the transaction back into the queue; replaces a damaged file. */
static void fail(struct ntk_store *store, const struct ntk_err *cause)
{
    struct ntk_err err = *cause;

    if (store->db && !sqlite3_get_autocommit(store->db)) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    store->transaction_open = false;
    if (store->db) {
        ntk_store_rows_forget(store->rows);
        ntk_rollup_forget(store->rollup);
    }
    store->retry_at_ns = ntk_clock_now_ns(store->options.clock) + store->options.retry_ns;
    if (cause->code == -EBADMSG && store->status.set_aside_count < NTK_STORE_SET_ASIDE_MAX) {
        close_database(store);
        if (set_aside(store, cause->text, &err) == 0) {
            store->retry_at_ns = 0;
            set_failing(store, NULL);
            return;
        }
    }
    set_failing(store, &err);
}

/* Returns false if the write failed; then everything is back in the queue. */
static bool commit(struct ntk_store *store)
{
    struct ntk_err err = { 0 };
    const struct ntk_snapshot *done[NTK_STORE_QUEUE_MAX];
    size_t done_count;

    if (!store->transaction_open) {
        return true;
    }
    if (ntk_store_sql_exec(store->db, "COMMIT", &err) < 0) {
        fail(store, &err);
        return false;
    }
    store->transaction_open = false;
    pthread_mutex_lock(&store->mutex);
    done_count = store->in_transaction;
    memcpy(done, store->queue, done_count * sizeof *done);
    store->queue_count -= done_count;
    memmove(store->queue, store->queue + done_count, store->queue_count * sizeof *store->queue);
    store->in_transaction = 0;
    store->status.failing = false;
    store->status.snapshots_stored += done_count;
    store->status.sequence_stored = done[done_count - 1]->sequence;
    store->status.rows_stored += store->transaction_rows;
    store->status.committed_realtime_ns = ntk_clock_wall_ns(store->options.clock);
    pthread_mutex_unlock(&store->mutex);
    look_at_disk(store);
    for (size_t i = 0; i < done_count; i++) {
        ntk_snapshot_destroy(done[i]);
    }
    return true;
}

static void write_one(struct ntk_store *store, const struct ntk_snapshot *snapshot)
{
    struct ntk_err err = { 0 };
    int ret = 0;

    if (!store->db) {
        ret = open_or_replace(store, &err);
        if (ret < 0) {
            close_database(store);
        }
    }
    if (ret == 0 && !store->transaction_open) {
        ret = ntk_store_sql_exec(store->db, "BEGIN IMMEDIATE", &err);
        store->transaction_open = ret == 0;
        store->transaction_since_ns = ntk_clock_now_ns(store->options.clock);
        store->transaction_rows = 0;
    }
    if (ret == 0) {
        ret = ntk_rollup_see(store->rollup, snapshot->realtime_ns, snapshot->period_ns, &err);
    }
    if (ret == 0) {
        ret = ntk_store_rows_write(store->rows, snapshot, &store->transaction_rows, &err);
    }
    if (ret < 0) {
        fail(store, &err);
    }
}

static void keep_house(struct ntk_store *store)
{
    struct ntk_err err = { 0 };
    uint64_t now_ns = ntk_clock_now_ns(store->options.clock);

    int ret = ntk_rollup_run(store->rollup, ROLLUP_BUDGET_NS, &err);
    if (ret >= 0 && now_ns >= store->retention_at_ns) {
        struct ntk_retention retention = { .keep_bytes = store->options.keep_bytes };
        memcpy(retention.keep_ns, store->options.keep_ns, sizeof retention.keep_ns);
        ret =
            ntk_retention_run(store->db, &retention, ntk_clock_wall_ns(store->options.clock), &err);
        store->retention_at_ns = ret > 0 ? now_ns : now_ns + RETENTION_EVERY_NS;
    }
    if (ret < 0) {
        fail(store, &err);
    }
}

static void *writer_main(void *arg)
{
    struct ntk_store *store = arg;

    pthread_mutex_lock(&store->mutex);
    for (;;) {
        uint64_t now_ns = ntk_clock_now_ns(store->options.clock);
        bool waiting = store->queue_count > store->in_transaction;
        bool may_write = store->stop || now_ns >= store->retry_at_ns;
        /* Commit the first transaction at once, so that a new database is not empty. */
        uint64_t commit_at_ns = store->transaction_since_ns +
                                (store->status.snapshots_stored > 0 ? store->options.commit_ns : 0);

        bool is_long = store->in_transaction == TRANSACTION_MAX;

        if (waiting && may_write && !is_long) {
            /* Count it as part of the transaction first, so that put() does not touch it. */
            const struct ntk_snapshot *snapshot = store->queue[store->in_transaction++];
            bool last_try = store->stop;
            pthread_mutex_unlock(&store->mutex);
            write_one(store, snapshot);
            pthread_mutex_lock(&store->mutex);
            if (last_try && !store->transaction_open && store->status.failing) {
                break; /* it failed and the program is stopping; a new file allows another try */
            }
            continue;
        }
        if (store->transaction_open && (store->stop || is_long || now_ns >= commit_at_ns)) {
            bool last_try = store->stop;
            pthread_mutex_unlock(&store->mutex);
            bool committed = commit(store);
            if (committed) {
                keep_house(store);
            }
            pthread_mutex_lock(&store->mutex);
            if (last_try && !committed && store->status.failing) {
                break; /* same as above: the rows fit into memory, but not onto the disk */
            }
            continue;
        }
        if (store->stop) {
            break;
        }
        if (store->transaction_open) {
            (void)ntk_cond_wait_clock(store->options.clock, &store->changed, &store->mutex,
                                      commit_at_ns);
        } else if (waiting) {
            (void)ntk_cond_wait_clock(store->options.clock, &store->changed, &store->mutex,
                                      store->retry_at_ns);
        } else {
            (void)ntk_cond_wait_clock(store->options.clock, &store->changed, &store->mutex,
                                      NTK_COND_FOREVER);
        }
    }
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

static int start_thread(struct ntk_store *store, struct ntk_err *err)
{
    pthread_cond_init(&store->changed, NULL);
    int code = pthread_create(&store->thread, NULL, writer_main, store);
    if (code != 0) {
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot start the writer thread: %s",
                           strerror(code));
    }
    store->thread_runs = true;
    return 0;
}

static void set_defaults(struct ntk_store_options *options)
{
    for (size_t i = 0; i < NTK_STORE_TIER_COUNT; i++) {
        options->keep_ns[i] = options->keep_ns[i] ? options->keep_ns[i] : ntk_tier_keep_ns[i];
    }
    options->keep_bytes = options->keep_bytes ? options->keep_bytes : DEFAULT_KEEP_BYTES;
    options->commit_ns = options->commit_ns ? options->commit_ns : DEFAULT_COMMIT_NS;
    options->retry_ns = options->retry_ns ? options->retry_ns : DEFAULT_RETRY_NS;
    options->joined_bytes = options->joined_bytes ? options->joined_bytes : DEFAULT_JOINED_BYTES;
}

int ntk_store_open(const char *path, const struct ntk_store_options *options,
                   struct ntk_store **out_store, struct ntk_err *err)
{
    struct ntk_store *store = calloc(1, sizeof *store);
    struct ntk_err first_err = { 0 };

    if (!store) {
        return ntk_err_no_memory(err);
    }
    if (options) {
        store->options = *options;
    }
    set_defaults(&store->options);
    pthread_mutex_init(&store->mutex, NULL);
    store->lock_fd = -1;
    store->file.heeds_signals = true; /* until the thread exists, which can be stopped */
    store->path = strdup(path);
    int ret = store->path ? open_or_replace(store, &first_err) : ntk_err_no_memory(&first_err);
    if (ret == 0) {
        store->file.heeds_signals = false;
        ret = start_thread(store, &first_err);
    }
    if (ret < 0) {
        if (err) {
            *err = first_err;
        }
        ntk_store_close(store, NULL);
        return ret;
    }
    *out_store = store;
    return 0;
}

/* Makes room: joins the two oldest snapshots, or drops the second of them. The caller must hold the
 * mutex. */
static void join_oldest(struct ntk_store *store)
{
    const struct ntk_snapshot **oldest = store->queue + store->in_transaction;
    const struct ntk_snapshot *joined = ntk_snapshot_bytes(oldest[0]) < store->options.joined_bytes
                                            ? ntk_snapshot_merge(oldest[0], oldest[1])
                                            : NULL;

    if (joined) {
        ntk_snapshot_destroy(oldest[0]);
        oldest[0] = joined;
        store->status.snapshots_joined++;
    } else {
        store->status.snapshots_lost++;
    }
    ntk_snapshot_destroy(oldest[1]);
    store->queue_count--;
    memmove(oldest + 1, oldest + 2,
            (store->queue_count - store->in_transaction - 1) * sizeof *oldest);
}

void ntk_store_put(struct ntk_store *store, const struct ntk_snapshot *snapshot)
{
    pthread_mutex_lock(&store->mutex);
    if (store->queue_count == NTK_STORE_QUEUE_MAX) {
        join_oldest(store);
    }
    store->queue[store->queue_count++] = ntk_snapshot_share(snapshot);
    pthread_cond_signal(&store->changed);
    pthread_mutex_unlock(&store->mutex);
}

void ntk_store_status_get(struct ntk_store *store, struct ntk_store_status *out_status)
{
    pthread_mutex_lock(&store->mutex);
    *out_status = store->status;
    out_status->snapshots_waiting = store->queue_count;
    pthread_mutex_unlock(&store->mutex);
}

int ntk_store_close(struct ntk_store *store, struct ntk_err *err)
{
    int ret = 0;

    if (!store) {
        return 0;
    }
    ntk_store_file_hurry(&store->file);
    if (store->thread_runs) {
        pthread_mutex_lock(&store->mutex);
        store->stop = true;
        pthread_cond_signal(&store->changed);
        pthread_mutex_unlock(&store->mutex);
        pthread_join(store->thread, NULL);
        pthread_cond_destroy(&store->changed);
    }
    /* a time, not a number, because one entry may be several joined snapshots */
    uint64_t waiting_ns = 0;
    for (size_t i = 0; i < store->queue_count; i++) {
        waiting_ns += store->queue[i]->period_ns;
        ntk_snapshot_destroy(store->queue[i]);
    }
    if (store->queue_count > 0) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the last %.1f s were not stored: %s",
                          (double)waiting_ns / NTK_NS_PER_SECOND, store->status.text);
    }
    close_database(store);
    pthread_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
    return ret;
}
