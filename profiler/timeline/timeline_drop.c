/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_drop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/child.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/write_all.h"

#define SAID "said" /* file with output of view; not a valid name of a dropped file */
#define SAID_BYTES_MAX (64U << 10)
#define LINE_BYTES 256
#define SHOWN "View profile at http://localhost:"

struct ntk_timeline_drop {
    const char *program;
    uint16_t port;
    pthread_mutex_t lock; /* protects the members below */
    pid_t shown[NTK_TIMELINE_DROPS_MAX];
    char *folders[NTK_TIMELINE_DROPS_MAX]; /* folder with the files of each drop */
    bool stops;
};

struct file {
    char name[NAME_MAX + 1];
    uint64_t left; /* number of bytes that have not arrived yet */
    bool is_capture;
};

/* State of one drop. */
struct upload {
    struct ntk_timeline_drop *drop;
    char *folder;
    struct file files[NTK_TIMELINE_DROP_FILES_MAX];
    size_t file_count, current;
    int fd;     /* current file; -1 if not open */
    int status; /* status of the answer, after a failure */
    struct ntk_err err;
};

/* ---- the request ---- */

static bool is_name(const char *name)
{
    bool is_text = name[0] && name[0] != '.' && strlen(name) <= NAME_MAX && !strchr(name, '/');

    for (const char *c = name; *c && is_text; c++) {
        is_text = (unsigned char)*c >= ' ' && *c != 0x7f;
    }
    return is_text;
}

/* Adds a file from "SIZE,NAME". */
static int add_file(const char *name, const char *value, void *ctx)
{
    struct upload *upload = ctx;
    char *end = NULL;

    if (strcmp(name, "file") != 0) {
        return 0;
    }
    errno = 0;
    uint64_t size = value && *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    if (!end || *end != ',' || errno || !is_name(end + 1)) {
        return ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid file: expected SIZE,NAME");
    }
    const char *base = end + 1;
    bool is_capture = ntk_str_ends_with(base, ".ntff");
    if (!is_capture && !ntk_str_ends_with(base, ".neff")) {
        return ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s is neither a capture (*.ntff) nor a NEFF (*.neff)", base);
    }
    if (upload->file_count == NTK_TIMELINE_DROP_FILES_MAX) {
        return ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET, "too many files (at most %d)",
                           NTK_TIMELINE_DROP_FILES_MAX);
    }
    for (size_t i = 0; i < upload->file_count; i++) {
        if (strcmp(upload->files[i].name, base) == 0) {
            return ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate file '%s'",
                               base);
        }
        if (is_capture && upload->files[i].is_capture) {
            return ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s and %s are two captures: drop one at a time",
                               upload->files[i].name, base);
        }
    }
    struct file *file = &upload->files[upload->file_count++];
    *file = (struct file){ .left = size, .is_capture = is_capture };
    (void)ntk_str_copy(file->name, sizeof file->name, base);
    return 0;
}

static const struct file *capture_of(const struct upload *upload)
{
    for (size_t i = 0; i < upload->file_count; i++) {
        if (upload->files[i].is_capture) {
            return &upload->files[i];
        }
    }
    return NULL;
}

/* Checks a request; returns 0 or the status, with the message. */
static int check(struct upload *upload, const struct ntk_http_request *request,
                 uint64_t bytes_count)
{
    uint64_t sum = 0;

    if (ntk_http_request_query_each(request, add_file, upload) < 0) {
        return 400;
    }
    for (size_t i = 0; i < upload->file_count; i++) {
        if (__builtin_add_overflow(sum, upload->files[i].left, &sum)) {
            sum = UINT64_MAX;
            break;
        }
    }
    if (!capture_of(upload)) {
        ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "no capture (*.ntff): drop it together with its NEFF");
        return 400;
    }
    if (sum != bytes_count) {
        ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "expected %llu bytes of files, received %llu", (unsigned long long)sum,
                    (unsigned long long)bytes_count);
        return 400;
    }
    return 0;
}

/* Forgets a drop when its program has ended. */
static void forget(struct ntk_timeline_drop *drop, size_t place)
{
    drop->shown[place] = 0;
    if (drop->folders[place]) {
        (void)ntk_fs_remove_tree(drop->folders[place], NULL);
    }
    free(drop->folders[place]);
    drop->folders[place] = NULL;
}

/* Forgets drops with programs that have exited, and checks for space. Returns 0, or the status with
 * a message. */
static int check_room(struct upload *upload, uint64_t bytes_count)
{
    struct ntk_timeline_drop *drop = upload->drop;
    const char *folder = ntk_fs_temporary_folder();
    struct statvfs disk;
    size_t free_count = 0;

    pthread_mutex_lock(&drop->lock);
    for (size_t i = 0; i < NTK_TIMELINE_DROPS_MAX; i++) {
        if (drop->shown[i] > 0 && waitpid(drop->shown[i], NULL, WNOHANG) == drop->shown[i]) {
            forget(drop, i);
        }
        free_count += drop->shown[i] == 0;
    }
    bool stops = drop->stops;
    pthread_mutex_unlock(&drop->lock);
    if (stops) {
        ntk_err_set(&upload->err, -ECANCELED, NTK_ERR_NO_OFFSET, "the server is shutting down");
        return 503;
    }
    if (free_count == 0) {
        ntk_err_set(&upload->err, -EMFILE, NTK_ERR_NO_OFFSET,
                    "too many open captures (at most %d): use neuron-profile view for this one",
                    NTK_TIMELINE_DROPS_MAX);
        return 503;
    }
    if (statvfs(folder, &disk) == 0) {
        uint64_t bytes_free = (uint64_t)disk.f_bavail * disk.f_frsize;
        if (bytes_count > UINT64_MAX - NTK_TIMELINE_DROP_ROOM ||
            bytes_free < bytes_count + NTK_TIMELINE_DROP_ROOM) {
            ntk_err_set(
                &upload->err, -ENOSPC, NTK_ERR_NO_OFFSET,
                "no space in %s for %llu MB: use neuron-profile view to show files without a copy",
                folder, (unsigned long long)(bytes_count >> 20));
            return 507;
        }
    }
    return 0;
}

static void answer_text(struct ntk_http_response *response, int status, const char *text)
{
    struct ntk_buf out = { 0 };

    response->status = status;
    ntk_buf_add_text(&out, text);
    ntk_buf_add_char(&out, '\n');
    ntk_http_response_put(response, &out);
}

static void end(void *state)
{
    struct upload *upload = state;

    if (upload->fd >= 0) {
        close(upload->fd);
    }
    if (upload->folder) {
        (void)ntk_fs_remove_tree(upload->folder, NULL);
    }
    free(upload->folder);
    free(upload);
}

static void *begin(const struct ntk_http_request *request, uint64_t bytes_count,
                   struct ntk_http_response *response, void *ctx)
{
    struct upload *upload = calloc(1, sizeof *upload);

    if (!upload) {
        answer_text(response, 500, "out of memory");
        return NULL;
    }
    upload->drop = ctx;
    upload->fd = -1;
    int status = check(upload, request, bytes_count);
    status = status ? status : check_room(upload, bytes_count);
    if (!status &&
        asprintf(&upload->folder, "%s/neuron-profile-XXXXXX", ntk_fs_temporary_folder()) < 0) {
        upload->folder = NULL;
        ntk_err_no_memory(&upload->err);
        status = 500;
    } else if (!status && !mkdtemp(upload->folder)) {
        ntk_err_set(&upload->err, -errno, NTK_ERR_NO_OFFSET, "cannot create a folder in '%s': %s",
                    ntk_fs_temporary_folder(), strerror(errno));
        free(upload->folder);
        upload->folder = NULL;
        status = 507;
    }
    if (status) {
        answer_text(response, status, upload->err.text);
        end(upload);
        return NULL;
    }
    return upload;
}

/* ---- the files ---- */

static int open_in(const char *folder, const char *name)
{
    char *path = NULL;
    int fd = -1;

    if (asprintf(&path, "%s/%s", folder, name) >= 0) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        free(path);
    }
    return fd;
}

static void fail(struct upload *upload, int error)
{
    upload->status = 507;
    ntk_err_set(&upload->err, error, NTK_ERR_NO_OFFSET, "cannot store '%s' in %s: %s",
                upload->files[upload->current].name, ntk_fs_temporary_folder(), strerror(-error));
}

/* Writes the part that belongs to the current file; also handles empty files. */
static void take(void *state, const void *bytes, size_t count)
{
    struct upload *upload = state;
    const char *from = bytes;

    while (upload->status == 0 && upload->current < upload->file_count) {
        struct file *file = &upload->files[upload->current];
        size_t part = file->left < count ? (size_t)file->left : count;
        if (upload->fd < 0) {
            upload->fd = open_in(upload->folder, file->name);
        }
        int ret = upload->fd < 0 ? -errno : ntk_write_all(upload->fd, from, part);
        if (ret < 0) {
            fail(upload, ret);
            return;
        }
        from += part;
        count -= part;
        file->left -= part;
        if (file->left) {
            return;
        }
        close(upload->fd);
        upload->fd = -1;
        upload->current++;
    }
}

/* ---- the program that shows them ---- */

static pid_t start(const struct upload *upload, int out, int said)
{
    char port[16];
    const char *name = capture_of(upload)->name;
    sigset_t none;

    (void)snprintf(port, sizeof port, "%u", upload->drop->port);
    sigemptyset(&none);
    pid_t child = ntk_child_fork(SIGTERM);
    if (child == 0) {
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (chdir(upload->folder) == 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            dup2(said, STDERR_FILENO) >= 0) {
            execl(upload->drop->program, "neuron-profile", "view", "-s", name, "--output-format",
                  "page", "--port", port, "--no-open", (char *)NULL);
        }
        _exit(127);
    }
    return child;
}

/* Returns the port from the line that view prints when it is ready; 0 if it exited without this
 * line. */
static unsigned read_port(int fd)
{
    char line[LINE_BYTES];
    size_t count = 0;
    ssize_t got;

    while (count < sizeof line - 1 &&
           ((got = read(fd, line + count, sizeof line - 1 - count)) > 0 ||
            (got < 0 && errno == EINTR))) {
        count += got > 0 ? (size_t)got : 0;
        line[count] = '\0';
        if (strchr(line, '\n')) {
            break;
        }
    }
    line[count] = '\0';
    return strncmp(line, SHOWN, strlen(SHOWN)) == 0
               ? (unsigned)strtoul(line + strlen(SHOWN), NULL, 10)
               : 0;
}

/* Calls back for each output line of view, without the program's name. */
static void each_line(char *text, void (*call)(const char *line, void *ctx), void *ctx)
{
    char *rest = text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *sentence =
            strncmp(line, "neuron-profile: ", 16) == 0 ? line + strlen("neuron-profile: ") : line;
        if (*sentence) {
            call(sentence, ctx);
        }
    }
}

static void put_line(const char *line, void *ctx)
{
    ntk_json_text(ctx, line);
}

static void keep_last(const char *line, void *ctx)
{
    *(const char **)ctx = line;
}

static void answer_shown(struct ntk_http_response *response, unsigned port, char *said)
{
    struct ntk_json json;
    struct ntk_buf out = { 0 };

    ntk_json_init(&json, &out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "port", port);
    ntk_json_key_array_begin(&json, "said");
    each_line(said, put_line, &json);
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&out, '\n');
    response->content_type = "application/json";
    ntk_http_response_put(response, &out);
}

/* Returns a free place for a displayed capture; -1 if none, or if stopping. The program is started
 * under the lock, so that stop finds it. */
static int start_shown(struct upload *upload, int out, int said)
{
    struct ntk_timeline_drop *drop = upload->drop;
    int place = -1;

    pthread_mutex_lock(&drop->lock);
    for (int i = 0; i < NTK_TIMELINE_DROPS_MAX && !drop->stops && place < 0; i++) {
        place = drop->shown[i] == 0 ? i : -1;
    }
    pid_t child = place >= 0 ? start(upload, out, said) : -1;
    if (child > 0) {
        drop->shown[place] = child;
        drop->folders[place] = upload->folder;
        upload->folder = NULL; /* the program owns it while it runs */
    } else {
        place = -1;
    }
    pthread_mutex_unlock(&drop->lock);
    return place;
}

/* Ends a program that has exited, or must exit. */
static void end_shown(struct ntk_timeline_drop *drop, size_t place)
{
    pthread_mutex_lock(&drop->lock);
    if (drop->shown[place] > 0) {
        (void)kill(drop->shown[place], SIGKILL);
        (void)waitpid(drop->shown[place], NULL, 0);
    }
    forget(drop, place);
    pthread_mutex_unlock(&drop->lock);
}

static void show(struct upload *upload, struct ntk_http_response *response, int said_fd)
{
    char *said = calloc(1, SAID_BYTES_MAX + 1);
    int pipes[2];

    if (!said || pipe2(pipes, O_CLOEXEC) < 0) {
        answer_text(response, 500, "out of memory or file descriptors");
        free(said);
        return;
    }
    int place = start_shown(upload, pipes[1], said_fd);
    close(pipes[1]);
    unsigned port = place >= 0 ? read_port(pipes[0]) : 0;
    close(pipes[0]);
    ssize_t count = pread(said_fd, said, SAID_BYTES_MAX, 0);
    said[count > 0 ? count : 0] = '\0';
    if (port) {
        answer_shown(response, port, said);
    } else {
        const char *last = "cannot start neuron-profile view";
        each_line(said, keep_last, &last);
        answer_text(response, place >= 0 ? 422 : 503, last);
        if (place >= 0) {
            end_shown(upload->drop, (size_t)place);
        }
    }
    free(said);
}

static void finish(void *state, struct ntk_http_response *response)
{
    struct upload *upload = state;

    take(upload, "", 0); /* handles empty files at the end */
    if (upload->status == 0 && upload->current < upload->file_count) {
        upload->status = 400;
        ntk_err_set(&upload->err, -EINVAL, NTK_ERR_NO_OFFSET, "%s is truncated",
                    upload->files[upload->current].name);
    }
    if (upload->status) {
        answer_text(response, upload->status, upload->err.text);
        return;
    }
    int said = open_in(upload->folder, SAID);
    if (said < 0) {
        upload->current = 0;
        fail(upload, -errno);
        answer_text(response, upload->status, upload->err.text);
        return;
    }
    show(upload, response, said);
    close(said);
}

/* ---- life ---- */

struct ntk_timeline_drop *ntk_timeline_drop_create(const char *program, uint16_t port)
{
    struct ntk_timeline_drop *drop = calloc(1, sizeof *drop);

    if (drop) {
        drop->program = program;
        drop->port = port;
        pthread_mutex_init(&drop->lock, NULL);
    }
    return drop;
}

void ntk_timeline_drop_stop(struct ntk_timeline_drop *drop)
{
    if (!drop) {
        return;
    }
    pthread_mutex_lock(&drop->lock);
    drop->stops = true;
    for (size_t i = 0; i < NTK_TIMELINE_DROPS_MAX; i++) {
        if (drop->shown[i] > 0) {
            (void)kill(drop->shown[i], SIGTERM);
        }
    }
    pthread_mutex_unlock(&drop->lock);
}

void ntk_timeline_drop_destroy(struct ntk_timeline_drop *drop)
{
    if (!drop) {
        return;
    }
    ntk_timeline_drop_stop(drop);
    for (size_t i = 0; i < NTK_TIMELINE_DROPS_MAX; i++) {
        end_shown(drop, i);
    }
    pthread_mutex_destroy(&drop->lock);
    free(drop);
}

struct ntk_http_upload ntk_timeline_drop_route(struct ntk_timeline_drop *drop)
{
    return (struct ntk_http_upload){ .path = NTK_TIMELINE_DROP_PATH,
                                     .begin = begin,
                                     .take = take,
                                     .finish = finish,
                                     .end = end,
                                     .ctx = drop };
}
