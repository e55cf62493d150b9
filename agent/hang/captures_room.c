/* SPDX-License-Identifier: MIT */
#include "agent/hang/captures_room.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "captures"
/* length of a time such as 20261124T010000Z at the start of each folder name */
#define STAMP_BYTES 16
#define NAME_BYTES 96
/* maximum number of simultaneous captures; more are not protected while written */
#define ACTIVE_MAX 16
#define DEPTH_MAX 8 /* maximum folder depth of the files in a capture */
#define ENTRIES_MAX 20000
#define REMOVE_CALLS 16
#define FOLDER_BYTES 4096U /* counted even for an empty folder */
#define LEDGER_BYTES_MAX ((size_t)4 << 20)

struct capture {
    const char *name;
    uint64_t bytes;
    uint32_t uid;
    bool is_active;
    bool is_removed;
    bool is_settled; /* its size no longer changes */
};

static struct {
    pthread_mutex_t lock; /* protects active, asked, is_running */
    pthread_mutex_t making;
    char active[ACTIVE_MAX][NAME_BYTES];
    uint64_t asked; /* number of requests to free space */
    bool is_running;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .making = PTHREAD_MUTEX_INITIALIZER };

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns true for a folder created by an agent, with a name such as "20261124T010000Z-hang". */
static int is_ours(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t digits = strspn(name, "0123456789");

    return digits == 8 && name[8] == 'T' && strspn(name + 9, "0123456789") == 6 &&
           name[15] == 'Z' && name[STAMP_BYTES] == '-' && strlen(name) < NAME_BYTES;
}

static uint32_t uid_of(const char *name)
{
    const char *text = strstr(name, "-uid_");
    uint64_t uid = 0;

    return text && ntk_str_parse_u64(text + 5, &uid) >= 0 && uid <= UINT32_MAX ? (uint32_t)uid
                                                                               : geteuid();
}

static bool is_active(const char *name)
{
    bool is_found = false;

    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < ACTIVE_MAX; i++) {
        is_found = is_found || strcmp(state.active[i], name) == 0;
    }
    pthread_mutex_unlock(&state.lock);
    return is_found;
}

/* Replaces `from` with `to`. */
static void active_change(const char *from, const char *to)
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < ACTIVE_MAX; i++) {
        if (strcmp(state.active[i], from) == 0) {
            (void)ntk_str_copy(state.active[i], NAME_BYTES, to);
            break;
        }
    }
    pthread_mutex_unlock(&state.lock);
}

int ntk_captures_room_begin(const char *folder, uint64_t realtime_ns, const char *what,
                            uint32_t uid, char *buf, size_t buf_bytes, struct ntk_err *err)
{
    time_t now = (time_t)(realtime_ns / NTK_NS_PER_SECOND);
    char owner[24] = "";
    char stamp[32];
    struct tm utc;

    gmtime_r(&now, &utc);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    if (uid != geteuid()) {
        (void)snprintf(owner, sizeof owner, "-uid_%" PRIu32, uid);
    }
    if ((size_t)snprintf(buf, buf_bytes, "%s/%s-%s%s", folder, stamp, what, owner) >= buf_bytes) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s: name too long", folder);
    }
    int ret = ntk_fs_make_folders(buf, 0755, err);

    if (ret == 0) {
        active_change("", ntk_str_base_name(buf));
    }
    return ret;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool add_file(const char *name, const struct stat *status, void *ctx)
{
    (void)name;
    *(uint64_t *)ctx += (uint64_t)status->st_blocks * 512;
    return true;
}

/* Measures a capture. Folders that cannot be measured are removed first. Folders of other users,
 * left by an older agent, may grow, so they are measured each time. */
static void measure(const char *path, uint64_t keep_bytes, struct capture *capture)
{
    struct ntk_fs_walk walk = {
        .depth_max = DEPTH_MAX, .entries_max = ENTRIES_MAX, .file = add_file, .ctx = &capture->bytes
    };

    for (int i = 0; i < 2; i++) {
        capture->bytes = FOLDER_BYTES;
        capture->is_settled = !walk.is_any_owner;
        if (ntk_fs_walk(path, &walk) == 0) {
            return;
        }
        walk.is_any_owner = true;
    }
    capture->bytes = keep_bytes;
}

/* Finds the entry in the ledger; false if there is none. */
static bool ledger_find(const char *ledger, const char *name, uint64_t *out_bytes)
{
    size_t length = strlen(name);

    for (const char *line = ledger; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            char *end;
            *out_bytes = strtoull(line + length + 1, &end, 10);
            return *end == '\n' && *out_bytes > 0;
        }
    }
    return false;
}

static void ledger_write(const char *path, const struct capture *captures, size_t count)
{
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < count; i++) {
        if (captures[i].is_settled && !captures[i].is_removed) {
            ntk_buf_add_format(&text, "%s %" PRIu64 "\n", captures[i].name, captures[i].bytes);
        }
    }
    if (text.bytes_count == 0) {
        (void)unlink(path);
    } else if (ntk_buf_ok(&text) && ntk_fs_write(path, text.bytes, text.bytes_count, &err) < 0) {
        ntk_log_warn(MODULE, "%s", err.text);
    }
    ntk_buf_fini(&text);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Returns the oldest capture of the user with the most bytes, except the newest of all; NULL if
 * none. */
static struct capture *find_next(struct capture *captures, size_t count)
{
    struct capture *found = NULL;
    uint64_t most = 0;

    for (size_t i = 0; i + 1 < count; i++) {
        uint64_t bytes = 0;

        if (captures[i].is_removed || captures[i].is_active ||
            (found && captures[i].uid == found->uid)) {
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            bytes += captures[k].uid == captures[i].uid && !captures[k].is_removed
                         ? captures[k].bytes
                         : 0;
        }
        if (bytes > most) {
            most = bytes;
            found = &captures[i];
        }
    }
    return found;
}

static void remove_some(const char *folder, struct capture *captures, size_t count,
                        uint64_t keep_bytes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        total += captures[i].bytes;
    }
    while (total > keep_bytes) {
        struct capture *next = find_next(captures, count);
        struct ntk_err err = { 0 };
        char path[PATH_MAX];

        if (!next) {
            return;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, next->name);
        int ret = -E2BIG; /* if too deep, retry a limited number of times */
        for (int i = 0; i < REMOVE_CALLS && ret == -E2BIG; i++) {
            ret = ntk_fs_remove_tree(path, &err);
        }
        if (ret < 0) {
            ntk_log_warn(MODULE, "%s", err.text);
        }
        next->is_removed = true; /* if this fails, the folder is measured again next time */
        total -= next->bytes;
    }
}

void ntk_captures_room_make(const char *folder, uint64_t keep_bytes)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    uint8_t *ledger = NULL;
    size_t ledger_bytes = 0;

    pthread_mutex_lock(&state.making);
    (void)snprintf(path, sizeof path, "%s/" NTK_CAPTURES_LEDGER, folder);
    (void)ntk_fs_read(path, LEDGER_BYTES_MAX, &ledger, &ledger_bytes, NULL);
    int found = scandir(folder, &entries, is_ours, alphasort);
    size_t count = found > 0 ? (size_t)found : 0;
    struct capture *captures = calloc(count + 1, sizeof *captures);

    for (size_t i = 0; i < count && captures; i++) {
        captures[i].name = entries[i]->d_name;
        captures[i].uid = uid_of(captures[i].name);
        captures[i].is_active = is_active(captures[i].name);
        if (captures[i].is_active) {
            continue;
        }
        captures[i].is_settled =
            ledger_find((const char *)ledger, captures[i].name, &captures[i].bytes);
        if (!captures[i].is_settled) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, captures[i].name);
            measure(path, keep_bytes, &captures[i]);
        }
    }
    if (captures) {
        remove_some(folder, captures, count, keep_bytes);
        (void)snprintf(path, sizeof path, "%s/" NTK_CAPTURES_LEDGER, folder);
        ledger_write(path, captures, count);
    }
    for (size_t i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    free(captures);
    free(ledger);
    pthread_mutex_unlock(&state.making);
}

/* ---- by another thread ----------------------------------------------------------------------- */

struct task {
    uint64_t keep_bytes;
    char folder[PATH_MAX];
};

static void *task_run(void *ctx)
{
    struct task *task = ctx;
    uint64_t done = 0;

    for (;;) {
        pthread_mutex_lock(&state.lock);
        state.is_running = state.asked > done;
        done = state.asked;
        bool is_over = !state.is_running;
        pthread_mutex_unlock(&state.lock);
        if (is_over) {
            break;
        }
        ntk_captures_room_make(task->folder, task->keep_bytes);
    }
    free(task);
    return NULL;
}

void ntk_captures_room_end(const char *folder, const char *capture, uint64_t keep_bytes)
{
    struct task *task = calloc(1, sizeof *task);
    pthread_t thread;

    active_change(ntk_str_base_name(capture), "");
    pthread_mutex_lock(&state.lock);
    state.asked++;
    bool is_first = task && !state.is_running;
    state.is_running = state.is_running || is_first;
    pthread_mutex_unlock(&state.lock);
    if (!is_first) {
        free(task);
        return;
    }
    task->keep_bytes = keep_bytes;
    (void)ntk_str_copy(task->folder, sizeof task->folder, folder);
    if (pthread_create(&thread, NULL, task_run, task) == 0) {
        pthread_detach(thread);
        return;
    }
    pthread_mutex_lock(&state.lock);
    state.is_running = false; /* at the end of the next capture */
    pthread_mutex_unlock(&state.lock);
    free(task);
}
