/* SPDX-License-Identifier: MIT */
/* captures_http - runs neuron-profile trigger for other processes, and returns the results. */
#include "agent/hang/captures_http.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hang/captures_room.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "captures"
#define ID_BYTES 48
#define ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define DEPTH_MAX 8 /* maximum folder depth of the listed files in a capture */
#define ENTRIES_MAX 20000
#define STOP_NS NTK_NS_PER_SECOND /* time for runs to stop when the agent stops */

/* A request as text, for the arguments of a program. */
struct wish {
    bool is_look, is_idle;
    char job[256]; /* "" if pid is given */
    char user[16]; /* uid as text; "" for any */
    char pid[24];
    char at[24];
    char executions[24];
    char timeout[32];
    char size[24];
    char instead_of[ID_BYTES];
    int status; /* 0 if the request is valid */
    const char *said;
    struct ntk_captures_http *captures;
};

struct run {
    char id[ID_BYTES];     /* "" if none */
    char folder[PATH_MAX]; /* "" for a check without a capture */
    pid_t pid;             /* 0 if the program has ended */
    int output;            /* output of the program */
    int exit_code;
    uint64_t began; /* number of the run */
};

struct ntk_captures_http {
    const struct ntk_captures_options *options;
    char program[PATH_MAX];
    uint64_t count;
    struct run runs[NTK_CAPTURES_HTTP_MAX]; /* owned by the thread for slow responses */
};

/* -- answers ----------------------------------------------------------------------------------- */

static void answer_buf(struct ntk_http_response *response, int status, struct ntk_buf *buf)
{
    response->status = status;
    response->content_type = "application/json";
    response->body = ntk_http_body_create(buf);
    if (!response->body) {
        response->status = 500;
        response->text = "{\"error\":\"out of memory\"}\n";
    }
}

static void answer_error(struct ntk_http_response *response, int status, const char *said)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "error", said);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&buf, '\n');
    answer_buf(response, status, &buf);
}

/* -- requests, on the server's thread ---------------------------------------------------------- */

/* Reads a number of the query within limits; the default if it is missing. */
static bool take_number(const struct ntk_http_request *request, const char *name, uint64_t least,
                        uint64_t most, uint64_t otherwise, uint64_t *out)
{
    const char *text = ntk_http_request_query_get(request, name);

    *out = otherwise;
    return !text || (ntk_str_parse_u64(text, out) >= 0 && *out >= least && *out <= most);
}

static void read_wish(struct wish *wish, const struct ntk_http_request *request)
{
    const char *job = ntk_http_request_query_get(request, "job");
    const char *pid = ntk_http_request_query_get(request, "pid");
    const char *before = ntk_http_request_query_get(request, "instead_of");
    uint64_t keep_bytes = ntk_captures_keep_bytes(wish->captures->options);
    uint64_t number, user, at, executions, timeout_ms, size;

    wish->is_look = ntk_http_request_query_get(request, "look") != NULL;
    wish->is_idle = ntk_http_request_query_get(request, "idle") != NULL;
    wish->status = 400;
    if (!job == !pid) {
        wish->said = "expected either job=NAME or pid=PID";
    } else if (job && (!job[0] || !ntk_str_copy(wish->job, sizeof wish->job, job))) {
        wish->said = "job: invalid name";
    } else if (!take_number(request, "pid", 1, UINT32_MAX, 0, &number)) {
        wish->said = "pid: invalid process number";
    } else if (!take_number(request, "user", 0, UINT32_MAX, UINT64_MAX, &user)) {
        wish->said = "user: invalid user id";
    } else if (!take_number(request, "at", 1, UINT64_MAX, 0, &at) || (at == 0 && !wish->is_look)) {
        wish->said = "at: expected the number of the first execution, 1 or greater";
    } else if (!take_number(request, "executions", 1, 100000, 1, &executions)) {
        wish->said = "executions: expected 1 to 100000";
    } else if (!take_number(request, "timeout_ms", 1, NTK_CAPTURES_HTTP_TIMEOUT_NS / NTK_NS_PER_MS,
                            60000, &timeout_ms)) {
        wish->said = "timeout_ms: expected at most 600000 (ten minutes)";
    } else if (!take_number(request, "size", 1, UINT64_MAX, keep_bytes, &size)) {
        wish->said = "size: expected a number of bytes";
    } else if (before && !ntk_str_copy(wish->instead_of, sizeof wish->instead_of, before)) {
        wish->said = "instead_of: invalid capture name";
    } else {
        wish->status = 0;
        (void)snprintf(wish->pid, sizeof wish->pid, "%llu", (unsigned long long)number);
        if (user != UINT64_MAX) {
            (void)snprintf(wish->user, sizeof wish->user, "%llu", (unsigned long long)user);
        }
        (void)snprintf(wish->at, sizeof wish->at, "%llu", (unsigned long long)at);
        (void)snprintf(wish->executions, sizeof wish->executions, "%llu",
                       (unsigned long long)executions);
        (void)snprintf(wish->timeout, sizeof wish->timeout, "%llums",
                       (unsigned long long)timeout_ms);
        (void)snprintf(wish->size, sizeof wish->size, "%llu",
                       (unsigned long long)(size < keep_bytes ? size : keep_bytes));
    }
}

static void *begin(const struct ntk_http_request *request, uint64_t bytes_count,
                   struct ntk_http_response *response, void *ctx)
{
    struct wish *wish = calloc(1, sizeof *wish);

    (void)bytes_count; /* the body is ignored */
    if (!wish) {
        answer_error(response, 500, "out of memory");
        return NULL;
    }
    wish->captures = ctx;
    read_wish(wish, request);
    if (wish->status != 0) {
        answer_error(response, wish->status, wish->said);
        free(wish);
        return NULL;
    }
    return wish;
}

static void take(void *upload, const void *bytes, size_t bytes_count)
{
    (void)upload;
    (void)bytes;
    (void)bytes_count;
}

/* -- runs, on the thread of slow responses ----------------------------------------------------- */

static void forget(struct run *run)
{
    if (run->output >= 0 && run->id[0]) {
        close(run->output);
    }
    memset(run, 0, sizeof *run);
    run->output = -1;
}

/* Returns true if the run has ended by now. */
static bool is_done(struct ntk_captures_http *captures, struct run *run)
{
    int status = 0;

    if (run->pid > 0 && waitpid(run->pid, &status, WNOHANG) != 0) {
        run->pid = 0;
        run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        if (run->folder[0]) {
            ntk_captures_room_end(captures->options->folder, run->folder,
                                  ntk_captures_keep_bytes(captures->options));
        }
    }
    return run->pid == 0;
}

static struct run *find(struct ntk_captures_http *captures, const char *id, size_t id_bytes)
{
    for (size_t i = 0; i < NTK_CAPTURES_HTTP_MAX; i++) {
        struct run *run = &captures->runs[i];

        if (run->id[0] && strlen(run->id) == id_bytes && memcmp(run->id, id, id_bytes) == 0) {
            return run;
        }
    }
    return NULL;
}

/* Returns a slot for another run: a free slot, or the slot of the oldest finished run. NULL if too
 * many are running. */
static struct run *find_place(struct ntk_captures_http *captures)
{
    struct run *place = NULL;
    unsigned running = 0;

    for (size_t i = 0; i < NTK_CAPTURES_HTTP_MAX; i++) {
        struct run *run = &captures->runs[i];

        if (!is_done(captures, run)) {
            running++;
        } else if (!place || run->began < place->began) {
            place = run;
        }
    }
    return running < NTK_CAPTURES_HTTP_RUNS_MAX ? place : NULL;
}

static int start(struct ntk_captures_http *captures, const struct wish *wish, struct run *run)
{
    char *argv[24];
    char parent[16];
    size_t count = 0;
    struct ntk_child child = { .program = captures->program, .argv = argv, .has_files = true };

    argv[count++] = (char *)"neuron-profile";
    argv[count++] = (char *)"trigger";
    argv[count++] = (char *)"--json";
    argv[count++] = (char *)"--parent";
    argv[count++] = parent;
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    argv[count++] = (char *)(wish->job[0] ? "--job" : "--pid");
    argv[count++] = (char *)(wish->job[0] ? wish->job : wish->pid);
    if (wish->user[0]) {
        argv[count++] = (char *)"--user";
        argv[count++] = (char *)wish->user;
    }
    if (wish->is_look) {
        argv[count++] = (char *)"--look";
    } else {
        const char *const rest[] = { "--at-execution", wish->at,    "--executions",
                                     wish->executions, "--timeout", wish->timeout,
                                     "--size",         wish->size,  "--output",
                                     run->folder };

        for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
            argv[count++] = (char *)rest[i];
        }
        if (wish->is_idle) {
            argv[count++] = (char *)"--idle";
        }
    }
    argv[count] = NULL;
    run->output = memfd_create("neuron-captures", MFD_CLOEXEC);
    child.output = run->output;
    if (run->output < 0) {
        return -errno;
    }
    int ret = ntk_child_start(&child, &run->pid);

    run->pid = ret < 0 ? 0 : run->pid;
    return ret;
}

static void drop_files(struct ntk_captures_http *captures, const char *id)
{
    struct run *run = find(captures, id, strlen(id));
    struct ntk_err err = { 0 };

    if (run && is_done(captures, run) && run->folder[0]) {
        if (ntk_fs_remove_tree(run->folder, &err) < 0) {
            ntk_log_warn(MODULE, "%s", err.text);
        }
        run->folder[0] = '\0';
    }
}

static void finish(void *upload, struct ntk_http_response *response)
{
    const struct wish *wish = upload;
    struct ntk_captures_http *captures = wish->captures;
    struct ntk_err err = { 0 };
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char what[24];

    if (wish->instead_of[0]) {
        drop_files(captures, wish->instead_of);
    }
    struct run *run = find_place(captures);
    if (!run) {
        answer_error(response, 429, "too many captures are running; retry later");
        return;
    }
    forget(run);
    run->began = ++captures->count;
    (void)snprintf(what, sizeof what, "asked-%llu", (unsigned long long)run->began);
    int ret = 0;
    if (wish->is_look) {
        (void)snprintf(run->id, sizeof run->id, "look-%llu", (unsigned long long)run->began);
    } else {
        ret = ntk_captures_room_begin(captures->options->folder,
                                      ntk_clock_wall_ns(captures->options->clock), what, geteuid(),
                                      run->folder, sizeof run->folder, &err);
        (void)ntk_str_copy(run->id, sizeof run->id, ntk_str_base_name(run->folder));
    }
    if (ret >= 0 && (ret = start(captures, wish, run)) < 0) {
        ntk_err_set(&err, ret, NTK_ERR_NO_OFFSET, "cannot run '%s': %s", captures->program,
                    strerror(-ret));
    }
    if (ret < 0) {
        ntk_log_warn(MODULE, "%s", err.text);
        answer_error(response, 500, err.text);
        forget(run);
        return;
    }
    if (!wish->is_look) {
        ntk_log_info(MODULE, "capturing %s %s to %s on request", wish->job[0] ? "job" : "process",
                     wish->job[0] ? wish->job : wish->pid, run->folder);
    }
    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "id", run->id);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&buf, '\n');
    answer_buf(response, 202, &buf);
}

static void end(void *upload)
{
    free(upload);
}

/* -- the result of a run ----------------------------------------------------------------------- */

struct listing {
    struct ntk_json *json;
    size_t count;
};

static bool list_file(const char *name, const struct stat *status, void *ctx)
{
    struct listing *listing = ctx;

    ntk_json_object_begin(listing->json);
    ntk_json_key_text(listing->json, "name", name);
    ntk_json_key_u64(listing->json, "bytes", (uint64_t)status->st_size);
    ntk_json_object_end(listing->json);
    return ++listing->count < NTK_CAPTURES_HTTP_FILES_MAX;
}

/* Writes the member "answer": the program's output if it is JSON, else null. */
static void put_answer(struct run *run, struct ntk_json *json)
{
    struct stat status;
    char *bytes = NULL;
    size_t count = 0;

    if (fstat(run->output, &status) == 0 && status.st_size > 0 &&
        (size_t)status.st_size <= ANSWER_BYTES_MAX) {
        count = (size_t)status.st_size;
        bytes = malloc(count);
    }
    ntk_json_key(json, "answer");
    if (bytes && ntk_fs_pread(run->output, bytes, count, 0) == 0 && bytes[0] == '{') {
        ntk_json_raw(json, bytes, count);
    } else {
        ntk_json_null(json);
    }
    free(bytes);
}

static void answer_state(struct ntk_captures_http *captures, struct run *run,
                         struct ntk_http_response *response)
{
    bool has_ended = is_done(captures, run);
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "id", run->id);
    ntk_json_key_text(&json, "state", has_ended ? "done" : "running");
    if (has_ended) {
        ntk_json_key_i64(&json, "exit_code", run->exit_code);
        put_answer(run, &json);
        ntk_json_key_array_begin(&json, "files");
        if (run->folder[0]) {
            struct listing listing = { .json = &json };
            const struct ntk_fs_walk walk = { .depth_max = DEPTH_MAX,
                                              .entries_max = ENTRIES_MAX,
                                              .file = list_file,
                                              .ctx = &listing };

            (void)ntk_fs_walk(run->folder, &walk);
        }
        ntk_json_array_end(&json);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(&buf, '\n');
    answer_buf(response, 200, &buf);
}

/* Opens a regular file below the folder, because jobs of other users may have placed links
 * there. */
static int open_file(const struct run *run, const char *name)
{
    struct stat status;
    int folder = open(run->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = folder < 0 ? -1 : ntk_fs_open_below(folder, name, O_RDONLY);

    if (folder >= 0) {
        close(folder);
    }
    if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void answer_file(struct run *run, const struct ntk_http_request *request,
                        struct ntk_http_response *response)
{
    const char *name = ntk_http_request_query_get(request, "name");
    struct ntk_buf buf = { 0 };
    uint64_t offset = 0;
    ssize_t got = -1;

    if (!name || !take_number(request, "offset", 0, INT64_MAX, 0, &offset)) {
        answer_error(response, 400, "no range: use name=NAME&offset=N");
        return;
    }
    int fd = run->folder[0] ? open_file(run, name) : -1;
    if (fd < 0) {
        answer_error(response, 404, "no such file");
        return;
    }
    void *room = ntk_buf_extend(&buf, NTK_CAPTURES_HTTP_BYTES);
    if (room) {
        got = pread(fd, room, NTK_CAPTURES_HTTP_BYTES, (off_t)offset);
    }
    close(fd);
    if (got < 0) {
        ntk_buf_fini(&buf);
        answer_error(response, 500, "cannot read the file");
        return;
    }
    buf.bytes_count = (size_t)got;
    answer_buf(response, 200, &buf);
    response->content_type = "application/octet-stream";
}

static void answer_get(const struct ntk_http_request *request, struct ntk_http_response *response,
                       void *ctx)
{
    struct ntk_captures_http *captures = ctx;
    const char *id = ntk_http_request_path_get(request) + strlen(NTK_CAPTURES_HTTP_PATH "/");
    const char *rest = strchr(id, '/');
    struct run *run = find(captures, id, rest ? (size_t)(rest - id) : strlen(id));

    if (!run || (rest && strcmp(rest, "/file") != 0)) {
        answer_error(response, 404, "unknown capture");
    } else if (!rest) {
        answer_state(captures, run, response);
    } else if (!is_done(captures, run)) {
        answer_error(response, 409, "the capture is still running");
    } else {
        answer_file(run, request, response);
    }
}

/* -- life -------------------------------------------------------------------------------------- */

struct ntk_captures_http *ntk_captures_http_create(const struct ntk_captures_options *options)
{
    struct ntk_captures_http *captures = calloc(1, sizeof *captures);

    if (captures) {
        captures->options = options;
        for (size_t i = 0; i < NTK_CAPTURES_HTTP_MAX; i++) {
            captures->runs[i].output = -1;
        }
        ntk_child_program_next_to("neuron-profile", captures->program, sizeof captures->program);
    }
    return captures;
}

void ntk_captures_http_destroy(struct ntk_captures_http *captures)
{
    pid_t pids[NTK_CAPTURES_HTTP_MAX];

    if (!captures) {
        return;
    }
    for (size_t i = 0; i < NTK_CAPTURES_HTTP_MAX; i++) {
        pids[i] = captures->runs[i].pid;
        forget(&captures->runs[i]);
    }
    ntk_child_stop(captures->options->clock, pids, NTK_CAPTURES_HTTP_MAX, STOP_NS);
    free(captures);
}

struct ntk_http_upload ntk_captures_http_upload(struct ntk_captures_http *captures)
{
    return (struct ntk_http_upload){ .path = NTK_CAPTURES_HTTP_PATH,
                                     .begin = begin,
                                     .take = take,
                                     .finish = finish,
                                     .end = end,
                                     .ctx = captures };
}

struct ntk_http_route ntk_captures_http_route(struct ntk_captures_http *captures)
{
    return (struct ntk_http_route){ NTK_CAPTURES_HTTP_PATH "/*", answer_get, captures };
}
