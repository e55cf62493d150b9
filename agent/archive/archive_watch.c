/* SPDX-License-Identifier: MIT */
/* archive_watch - writes the archive of the agent. */
#include "agent/archive/archive_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "exporters/transport/output_counts.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"

#define MODULE "archive"
/* Maximum age of rows relative to the check that detects a clock set back. */
#define SETBACK_NS (2 * NTK_ARCHIVE_WATCH_NS)
#define NOTE_HEAD "neuron-monitor archive 1"
#define NOTE_BYTES_MAX ((size_t)64 * 1024)
/* Niceness of the thread, because sampling has priority. */
#define NICE 10

struct progress {        /* state of a dataset */
    uint64_t done_ns;    /* rows up to this time are written */
    uint64_t last_event; /* for logs: rows up to this number were checked */
};

struct ntk_archive_watch {
    /* options of create(), with the folder of the database for S3 */
    struct ntk_archive_options options;
    const char *db_path;
    char *note_path;
    char *folder;
    pthread_t thread;
    bool has_thread;
    uint64_t began_ns; /* nanoseconds since 1970 */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool stop;
    struct ntk_output_source source;
    _Atomic uint64_t parts, failures, lost_steps;
    /* Everything before this time was archived; initially the start time */
    _Atomic uint64_t complete_ns;
    struct ntk_archive *_Atomic archive; /* NULL while the destination cannot be opened */
    /* The members below belong to the thread. */
    uint64_t store_id;
    struct progress progress[NTK_STORE_DATASET_COUNT];
    uint64_t lost_ns[NTK_STORE_DATASET_COUNT]; /* steps up to this time were counted as lost */
    /* Table at which the next round starts: the one after the table that failed */
    size_t first;
    bool is_failing;
    bool said_note;
    uint64_t parts_before; /* number of parts before the failure */
};

/* ---- the note ---- */

/*
 * neuron-monitor archive 1
 * store 18eae12bc949b058
 * place s3://bucket/prefix
 * cluster prod
 * core_minute 1795478400000000000 0
 */
static void write_note(struct ntk_archive_watch *watch)
{
    struct ntk_buf note = { 0 };
    struct ntk_err err = { 0 };

    ntk_buf_add_format(&note, NOTE_HEAD "\nstore %016" PRIx64 "\nplace %s\ncluster %s\n",
                       watch->store_id, watch->options.target.destination,
                       watch->options.cluster ? watch->options.cluster : NTK_ARCHIVE_CLUSTER);
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT; i++) {
        if (watch->progress[i].done_ns || watch->progress[i].last_event) {
            ntk_buf_add_format(&note, "%s %" PRIu64 " %" PRIu64 "\n", ntk_store_datasets[i].name,
                               watch->progress[i].done_ns, watch->progress[i].last_event);
        }
    }
    int ret = ntk_buf_ok(&note) ? ntk_fs_write(watch->note_path, note.bytes, note.bytes_count, &err)
                                : ntk_err_no_memory(&err);
    if (ret < 0 && !watch->said_note) {
        ntk_log_warn(MODULE, "%s; all parts will be written again after a restart", err.text);
    }
    watch->said_note = ret < 0;
    ntk_buf_fini(&note);
}

/* Returns true if the line has the form "<key> <value>". */
static bool says(const char *line, const char *key, const char *value)
{
    size_t length = strlen(key);

    return strncmp(line, key, length) == 0 && line[length] == ' ' &&
           strcmp(line + length + 1, value) == 0;
}

static void read_progress(struct ntk_archive_watch *watch, const char *line)
{
    char name[64];
    struct progress progress;

    if (sscanf(line, "%63s %" SCNu64 " %" SCNu64, name, &progress.done_ns, &progress.last_event) ==
        3) {
        enum ntk_store_dataset_id id = ntk_store_dataset_find(name);
        if (id < NTK_STORE_DATASET_COUNT) {
            watch->progress[id] = progress;
        }
    }
}

/* Reads the note. If it is missing, or belongs to another database or destination, nothing was
 * written yet. */
static void read_note(struct ntk_archive_watch *watch)
{
    char store[32];
    uint8_t *bytes = NULL;
    size_t count;
    char *save = NULL;
    unsigned good = 0;
    const char *cluster = watch->options.cluster ? watch->options.cluster : NTK_ARCHIVE_CLUSTER;

    memset(watch->progress, 0, sizeof watch->progress);
    memset(watch->lost_ns, 0, sizeof watch->lost_ns);
    (void)snprintf(store, sizeof store, "%016" PRIx64, watch->store_id);
    if (ntk_fs_read(watch->note_path, NOTE_BYTES_MAX, &bytes, &count, NULL) < 0) {
        return;
    }
    for (char *line = strtok_r((char *)bytes, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (good == 4) {
            read_progress(watch, line);
        } else if (strcmp(line, NOTE_HEAD) == 0 || says(line, "store", store) ||
                   says(line, "place", watch->options.target.destination) ||
                   says(line, "cluster", cluster)) {
            good++;
        } else {
            break;
        }
    }
    free(bytes);
}

/* ---- a round ---- */

/* Counts steps that the database deleted, or started to delete, before they were written. */
static void count_lost(struct ntk_archive_watch *watch, enum ntk_store_dataset_id id,
                       uint64_t whole_ns)
{
    const struct ntk_store_dataset_info *info = &ntk_store_datasets[id];
    uint64_t done_ns = watch->progress[id].done_ns;
    uint64_t counted_ns = watch->lost_ns[id] > done_ns ? watch->lost_ns[id] : done_ns;

    if (done_ns && whole_ns > counted_ns) {
        uint64_t steps = (whole_ns - counted_ns + info->step_ns - 1) / info->step_ns;
        watch->lost_ns[id] = counted_ns + steps * info->step_ns;
        atomic_fetch_add(&watch->lost_steps, steps);
        ntk_log_warn(
            MODULE, "%s: up to %" PRIu64 " %s of rows were deleted before they could be archived",
            info->name, steps, info->step_ns > 3600 * NTK_NS_PER_SECOND ? "days" : "hours");
    }
}

/* Handles a clock that was set back: time is repeated and written steps get more rows. They are
 * written again after the clock has passed their end. */
static uint64_t heed_clock(struct ntk_archive_watch *watch, enum ntk_store_dataset_id id,
                           uint64_t done_ns)
{
    uint64_t now_ns = ntk_clock_wall_ns(watch->options.clock);
    struct progress *progress = &watch->progress[id];

    if (progress->done_ns > now_ns && now_ns > SETBACK_NS) {
        progress->done_ns = ntk_store_dataset_start(id, now_ns - SETBACK_NS);
    }
    return done_ns < now_ns ? done_ns : now_ns;
}

static int archive_dataset(struct ntk_archive_watch *watch, struct ntk_store_reader *reader,
                           enum ntk_store_dataset_id id, struct ntk_err *err)
{
    const struct ntk_store_dataset_info *info = &ntk_store_datasets[id];
    struct progress *progress = &watch->progress[id];
    const struct progress before = *progress;
    uint64_t whole_ns, done_ns;
    uint64_t last_event = 0, late_ns = UINT64_MAX;
    int ret = ntk_store_dataset_span(reader, id, &whole_ns, &done_ns, err);

    if (ret == 0 && info->is_log) {
        ret = ntk_store_dataset_late(reader, id, progress->last_event, &last_event, &late_ns, err);
    }
    if (ret < 0) {
        return ret;
    }
    done_ns = heed_clock(watch, id, done_ns);
    count_lost(watch, id, whole_ns);
    uint64_t at_ns = progress->done_ns;
    if (at_ns && late_ns < at_ns) {
        at_ns = ntk_store_dataset_start(id, late_ns);
    }
    while (ret == 0 && !atomic_load(&watch->stop)) {
        struct ntk_archive_counts counts = { 0 };
        uint64_t time_ns;
        ret = ntk_store_dataset_next(reader, id, at_ns, &time_ns, err);
        uint64_t start_ns = ret < 0 ? 0 : ntk_store_dataset_start(id, time_ns);
        if (ret == -ENODATA || (ret == 0 && start_ns + info->step_ns > done_ns)) {
            ret = 0;
            break;
        }
        ret = ret < 0 ? ret
                      : ntk_archive_write(atomic_load(&watch->archive), reader, id, start_ns,
                                          &counts, err);
        atomic_fetch_add(&watch->parts, counts.parts);
        if (ret == 0) {
            at_ns = start_ns + info->step_ns;
            progress->done_ns = at_ns > progress->done_ns ? at_ns : progress->done_ns;
        }
    }
    if (whole_ns > progress->done_ns && progress->done_ns) {
        progress->done_ns = whole_ns / info->step_ns * info->step_ns;
    }
    if (ret == 0 && !atomic_load(&watch->stop)) {
        uint64_t over_ns = done_ns ? ntk_store_dataset_start(id, done_ns) : 0;
        progress->done_ns = over_ns > progress->done_ns ? over_ns : progress->done_ns;
        progress->last_event = last_event;
    }
    if (memcmp(&before, progress, sizeof before) != 0) {
        write_note(watch);
    }
    return ret;
}

/* Returns true if the database has a sample from this run; all earlier steps are complete then. */
static bool is_awake(struct ntk_archive_watch *watch)
{
    struct ntk_store_reader *reader = NULL;
    uint64_t time_ns = 0;

    bool is_there = ntk_store_reader_open_until(watch->db_path, &watch->stop, &reader, NULL) == 0 &&
                    ntk_store_reader_before(reader, INT64_MAX, &time_ns, NULL) == 0;
    ntk_store_reader_close(reader);
    return is_there && time_ns >= watch->began_ns;
}

static int open_archive(struct ntk_archive_watch *watch, struct ntk_err *err)
{
    struct ntk_archive *archive = NULL;
    int ret = atomic_load(&watch->archive) ? 0 : ntk_archive_open(&watch->options, &archive, err);

    if (archive) {
        atomic_store(&watch->archive, archive);
    }
    return ret;
}

static int look(struct ntk_archive_watch *watch, struct ntk_err *err)
{
    struct ntk_store_reader *reader = NULL;
    char host[NTK_STORE_HOST_BYTES];
    uint64_t store_id;
    int ret = ntk_store_reader_open_until(watch->db_path, &watch->stop, &reader, err);

    ret = ret < 0 ? ret : ntk_store_dataset_origin(reader, 0, &store_id, host, err);
    if (ret == 0 && store_id != watch->store_id) {
        watch->store_id = store_id;
        read_note(watch);
    }
    ret = ret < 0 ? ret : open_archive(watch, err);
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT && ret == 0; i++) {
        size_t id = (watch->first + i) % NTK_STORE_DATASET_COUNT;
        if (watch->options.wanted[id] && !atomic_load(&watch->stop)) {
            ret = archive_dataset(watch, reader, id, err);
            watch->first = ret < 0 ? (id + 1) % NTK_STORE_DATASET_COUNT : watch->first;
        }
    }
    ntk_store_reader_close(reader);
    return ret;
}

/* Logs each failure and each recovery once. */
static void say(struct ntk_archive_watch *watch, int ret, const struct ntk_err *err)
{
    uint64_t parts = atomic_load(&watch->parts);

    if (ret < 0) {
        atomic_fetch_add(&watch->failures, 1);
    } else {
        atomic_store(&watch->complete_ns, ntk_clock_wall_ns(watch->options.clock));
    }
    if (ret < 0 && !watch->is_failing) {
        ntk_log_warn(MODULE, "%s; unarchived rows stay in the database; retrying", err->text);
        watch->parts_before = parts;
    } else if (ret == 0 && watch->is_failing) {
        ntk_log_warn(MODULE, "archiving resumed; %" PRIu64 " delayed parts were written",
                     parts - watch->parts_before);
    }
    watch->is_failing = ret < 0;
}

static void wait_ns(struct ntk_archive_watch *watch, uint64_t ns)
{
    uint64_t until_ns = ntk_clock_now_ns(watch->options.clock) + ns;

    pthread_mutex_lock(&watch->lock);
    while (!atomic_load(&watch->stop) && ntk_clock_now_ns(watch->options.clock) < until_ns) {
        ntk_cond_wait_clock(watch->options.clock, &watch->wake, &watch->lock, until_ns);
    }
    pthread_mutex_unlock(&watch->lock);
}

static void *run(void *ctx)
{
    struct ntk_archive_watch *watch = ctx;
    uint64_t pause_ns = NTK_ARCHIVE_WATCH_PAUSE_MIN_NS;

    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (uint64_t waited_ns = 0;
         waited_ns < NTK_ARCHIVE_WATCH_FIRST_NS && !atomic_load(&watch->stop) && !is_awake(watch);
         waited_ns += NTK_ARCHIVE_WATCH_STEP_NS) {
        wait_ns(watch, NTK_ARCHIVE_WATCH_STEP_NS);
    }
    while (!atomic_load(&watch->stop)) {
        struct ntk_err err = { 0 };
        int ret = look(watch, &err);
        if (atomic_load(&watch->stop)) {
            break;
        }
        say(watch, ret, &err);
        wait_ns(watch, ret < 0 ? pause_ns : NTK_ARCHIVE_WATCH_NS);
        pause_ns = ret == 0                                        ? NTK_ARCHIVE_WATCH_PAUSE_MIN_NS
                   : pause_ns * 2 < NTK_ARCHIVE_WATCH_PAUSE_MAX_NS ? pause_ns * 2
                                                                   : NTK_ARCHIVE_WATCH_PAUSE_MAX_NS;
    }
    return NULL;
}

static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    struct ntk_archive_watch *watch = ctx;

    counts->sent_items += atomic_load(&watch->parts);
    counts->lost_items += atomic_load(&watch->lost_steps);
    counts->retry_count += atomic_load(&watch->failures);
    counts->has_complete = true;
    counts->complete_ns = atomic_load(&watch->complete_ns);
}

/* ---- open, close ---- */

int ntk_archive_watch_create(const char *db_path, const struct ntk_archive_options *options,
                             struct ntk_archive_watch **out_watch, struct ntk_err *err)
{
    struct ntk_archive_watch *watch = calloc(1, sizeof *watch);
    struct ntk_err later = { 0 };

    if (!watch) {
        return ntk_err_no_memory(err);
    }
    watch->options = *options;
    watch->db_path = db_path;
    watch->began_ns = ntk_clock_wall_ns(options->clock);
    atomic_store(&watch->complete_ns, watch->began_ns);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
    watch->source =
        (struct ntk_output_source){ .name = "archive", .read = read_counts, .ctx = watch };
    int ret = asprintf(&watch->note_path, "%s.archive", db_path) < 0 ? ntk_err_no_memory(err) : 0;
    watch->note_path = ret < 0 ? NULL : watch->note_path;
    /* A sandboxed service can only write to the folder of the database: parts wait there until
     * they are uploaded. */
    const char *slash = strrchr(db_path, '/');
    watch->folder = slash ? strndup(db_path, (size_t)(slash - db_path) + 1) : strdup(".");
    ret = ret < 0 || watch->folder ? ret : ntk_err_no_memory(err);
    if (!watch->options.target.temporary_folder) {
        watch->options.target.temporary_folder = watch->folder;
    }
    int opened = ret < 0 ? 0 : open_archive(watch, &later);
    if (opened == -EINVAL || opened == -ENAMETOOLONG || opened == -ENOMEM) {
        *err = later; /* retrying cannot succeed */
        ret = opened;
    }
    if (ret == 0 && (ret = -pthread_create(&watch->thread, NULL, run, watch)) < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot create a thread: %s", strerror(-ret));
    }
    if (ret < 0) {
        ntk_archive_watch_destroy(watch);
        return ret;
    }
    watch->has_thread = true;
    ntk_output_source_add(&watch->source);
    *out_watch = watch;
    return 0;
}

void ntk_archive_watch_destroy(struct ntk_archive_watch *watch)
{
    if (!watch) {
        return;
    }
    ntk_output_source_remove(&watch->source);
    atomic_store(&watch->stop, true);
    if (atomic_load(&watch->archive)) {
        ntk_archive_cancel(atomic_load(&watch->archive));
    }
    if (watch->has_thread) {
        pthread_mutex_lock(&watch->lock);
        pthread_cond_signal(&watch->wake);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    ntk_archive_close(atomic_load(&watch->archive));
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    free(watch->note_path);
    free(watch->folder);
    free(watch);
}
