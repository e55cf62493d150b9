/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/tables/query.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/str.h"

#define SAID_BYTES_MAX ((size_t)64 << 10)
#define NICE 5 /* niceness, because the page has priority */

enum state { UNUSED, RUNNING, DONE, FAILED, CANCELLED };

struct query {
    struct ntk_timeline_sql *of;
    pthread_t thread;
    uint64_t id;
    uint64_t limit_ns; /* time limit */
    int out, said;     /* pipes of the program; closed by the thread */
    /* Members protected by the lock. */
    enum state state;
    pid_t pid; /* 0 if none, or already reaped */
    bool is_cancelled;
    uint64_t begin_ns, end_ns;
    struct ntk_buf csv;
    char message[NTK_ERR_TEXT_BYTES];
};

struct ntk_timeline_sql {
    const char *program;
    const struct ntk_timeline_sql_source *sources;
    size_t source_count;
    pthread_mutex_t lock;
    uint64_t next_id;
    struct query queries[NTK_TIMELINE_SQL_MAX];
};

/* ---- a query that runs ----------------------------------------------------------------------- */

/* The sanitizers reserve terabytes of addresses before main(). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_DATA false
#else
#define LIMITS_DATA true
#endif

static void limit(int resource, uint64_t most)
{
    struct rlimit wanted = { most, most };

    (void)setrlimit(resource, &wanted);
}

static pid_t start(const char *program, const char *const *arguments, int out, int said)
{
    sigset_t none;

    sigemptyset(&none);
    pid_t child = ntk_child_fork(SIGKILL);
    if (child == 0) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)setpriority(PRIO_PROCESS, 0, NICE);
        if (LIMITS_DATA) {
            limit(RLIMIT_DATA, NTK_TIMELINE_SQL_MEMORY_BYTES);
        }
        limit(RLIMIT_FSIZE, NTK_TIMELINE_SQL_FILE_BYTES);
        limit(RLIMIT_CORE, 0);
        if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            dup2(said, STDERR_FILENO) >= 0) {
            execv(program, (char *const *)(uintptr_t)arguments);
        }
        _exit(127);
    }
    return child;
}

/* Appends more data; returns false at the end. Beyond the limit data is read and dropped. */
static bool take(int fd, struct ntk_buf *out, size_t bytes_max, bool *out_is_long)
{
    char part[65536];
    ssize_t got = read(fd, part, sizeof part);

    if (got < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    if (got > 0 && out->bytes_count + (size_t)got > bytes_max) {
        *out_is_long = true;
    } else if (got > 0) {
        ntk_buf_add(out, part, (size_t)got);
    }
    return got > 0;
}

/* Returns the last line that query printed, without the program's name. */
static const char *last_line(struct ntk_buf *said)
{
    char *text = said->bytes_count ? (char *)(uintptr_t)ntk_buf_text_get(said) : NULL;
    size_t length = text ? strlen(text) : 0;

    while (length && text[length - 1] == '\n') {
        text[--length] = '\0';
    }
    char *line = length ? strrchr(text, '\n') : NULL;
    line = line ? line + 1 : text;
    return !length ? "" : strncmp(line, "neuron-profile: ", 16) == 0 ? line + 16 : line;
}

enum end { AT_END, TOO_LATE, TOO_LONG };

/* Reads the output of the query until it exits or must be stopped. */
static enum end follow(struct query *query, struct ntk_buf *csv, struct ntk_buf *said)
{
    struct pollfd pipes[2] = { { .fd = query->out, .events = POLLIN },
                               { .fd = query->said, .events = POLLIN } };
    uint64_t until_ns = query->begin_ns + query->limit_ns;
    bool is_long = false;
    bool is_ignored = false;

    while ((pipes[0].fd >= 0 || pipes[1].fd >= 0) && !is_long) {
        uint64_t now_ns = ntk_clock_monotonic_ns();
        if (now_ns >= until_ns) {
            return TOO_LATE;
        }
        if (poll(pipes, 2, (int)((until_ns - now_ns) / NTK_NS_PER_MS) + 1) <= 0) {
            continue;
        }
        if (pipes[0].revents && !take(query->out, csv, NTK_TIMELINE_SQL_ANSWER_BYTES, &is_long)) {
            pipes[0].fd = -1;
        }
        if (pipes[1].revents && !take(query->said, said, SAID_BYTES_MAX, &is_ignored)) {
            pipes[1].fd = -1;
        }
    }
    return is_long ? TOO_LONG : AT_END;
}

static int wait_for(struct query *query)
{
    siginfo_t info;
    int status = 0;

    /* WNOWAIT: the pid is not reused until waitpid() under the lock, so a cancellation cannot hit
     * another process. */
    while (waitid(P_PID, (id_t)query->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    pthread_mutex_lock(&query->of->lock);
    while (waitpid(query->pid, &status, 0) < 0 && errno == EINTR) {
    }
    query->pid = 0;
    pthread_mutex_unlock(&query->of->lock);
    return status;
}

static enum state judge(const struct query *query, enum end end, int status, const char *line,
                        const struct ntk_buf *csv, char *message, size_t message_bytes)
{
    bool has_failed = true;

    if (query->is_cancelled) {
        (void)snprintf(message, message_bytes, "cancelled");
        return CANCELLED;
    }
    if (end == TOO_LATE) {
        (void)snprintf(message, message_bytes, "stopped after %" PRIu64 " s (time limit)",
                       query->limit_ns / NTK_NS_PER_SECOND);
    } else if (end == TOO_LONG) {
        (void)snprintf(message, message_bytes,
                       "the result is larger than %zu MiB: select fewer columns or rows",
                       NTK_TIMELINE_SQL_ANSWER_BYTES >> 20);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(
            message, message_bytes,
            "the query was killed by signal %d (%s): it may need too much memory or disk",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) == NTK_QUERY_EXIT_CUT) {
        (void)snprintf(message, message_bytes, "the query failed after its first rows: %s", line);
    } else {
        /* If there is a table, the message is about an incomplete capture. */
        has_failed = WEXITSTATUS(status) != 0 && csv->bytes_count == 0;
        (void)ntk_str_copy(message, message_bytes,
                           WEXITSTATUS(status) == 0 ? ""
                           : line[0]                ? line
                                                    : "the query failed");
    }
    return has_failed || !ntk_buf_ok(csv) ? FAILED : DONE;
}

static void *run(void *state)
{
    struct query *query = state;
    struct ntk_buf csv = { 0 };
    struct ntk_buf said = { 0 };
    enum end end = follow(query, &csv, &said);

    if (end != AT_END) {
        pthread_mutex_lock(&query->of->lock);
        (void)kill(query->pid, SIGKILL);
        pthread_mutex_unlock(&query->of->lock);
    }
    close(query->out);
    close(query->said);
    int status = wait_for(query);
    pthread_mutex_lock(&query->of->lock);
    query->end_ns = ntk_clock_monotonic_ns();
    query->state =
        judge(query, end, status, last_line(&said), &csv, query->message, sizeof query->message);
    if (query->state == DONE) {
        query->csv = csv;
        csv = (struct ntk_buf){ 0 };
    }
    pthread_mutex_unlock(&query->of->lock);
    ntk_buf_fini(&csv);
    ntk_buf_fini(&said);
    return NULL;
}

/* ---- queries --------------------------------------------------------------------------------- */

static void answer(struct ntk_http_response *response, struct ntk_buf *out)
{
    ntk_buf_add_char(out, '\n');
    response->content_type = "application/json";
    ntk_http_response_put(response, out);
}

static void answer_error(struct ntk_http_response *response, int status, const char *text)
{
    struct ntk_buf out = { 0 };

    response->status = status;
    ntk_buf_add_text(&out, text);
    ntk_buf_add_char(&out, '\n');
    ntk_http_response_put(response, &out);
}

/* Gets a number from `least` to `most`; returns false after answering if it is missing or
 * invalid. */
static bool get_number(const struct ntk_http_request *request, const char *name, uint64_t least,
                       uint64_t most, uint64_t *out_number, struct ntk_http_response *response)
{
    const char *text = ntk_http_request_query_get(request, name);
    char message[96];

    if (text && ntk_str_parse_u64(text, out_number) == 0 && *out_number >= least &&
        *out_number <= most) {
        return true;
    }
    (void)snprintf(message, sizeof message, "%s: expected a number from %" PRIu64 " to %" PRIu64,
                   name, least, most);
    answer_error(response, 400, message);
    return false;
}

/* Forgets a query after its thread has ended; frees it. */
static void forget(struct query *query)
{
    if (query->state != UNUSED) {
        (void)pthread_join(query->thread, NULL);
    }
    ntk_buf_fini(&query->csv);
}

/* Returns a finished query, oldest first; NULL if all are running. */
static struct query *find_place(struct ntk_timeline_sql *sql)
{
    struct query *found = NULL;

    for (size_t q = 0; q < NTK_TIMELINE_SQL_MAX; q++) {
        struct query *query = &sql->queries[q];
        if (query->state != RUNNING && (!found || query->id < found->id)) {
            found = query;
        }
    }
    return found;
}

static int begin_program(struct query *query, const struct ntk_timeline_sql_source *source,
                         const char *text, uint64_t rows)
{
    const char *arguments[NTK_TIMELINE_SQL_ARGUMENTS_MAX + 8] = { "neuron-profile", "query" };
    size_t count = 2;
    char most[32];
    int out[2];
    int said[2];

    for (size_t a = 0; a < NTK_TIMELINE_SQL_ARGUMENTS_MAX && source->arguments[a]; a++) {
        arguments[count++] = source->arguments[a];
    }
    /* one more shows if there are more rows */
    (void)snprintf(most, sizeof most, "%" PRIu64, rows + 1);
    arguments[count++] = "--csv";
    arguments[count++] = "--rows";
    arguments[count++] = most;
    arguments[count++] = "--";
    arguments[count++] = text;
    if (pipe2(out, O_CLOEXEC) < 0) {
        return -errno;
    }
    if (pipe2(said, O_CLOEXEC) < 0) {
        int ret = -errno;
        close(out[0]);
        close(out[1]);
        return ret;
    }
    pid_t child = start(query->of->program, arguments, out[1], said[1]);
    int ret = child < 0 ? -errno : 0;
    close(out[1]);
    close(said[1]);
    query->out = out[0];
    query->said = said[0];
    query->pid = child;
    if (ret < 0) {
        close(out[0]);
        close(said[0]);
    }
    return ret;
}

static int begin(struct ntk_timeline_sql *sql, struct query *query, uint64_t source,
                 const char *text, uint64_t rows, uint64_t seconds)
{
    struct query earlier = *query; /* its answer stays until the new query runs */
    struct query new = { .of = sql,
                         .id = ++sql->next_id,
                         .limit_ns = seconds * NTK_NS_PER_SECOND,
                         .begin_ns = ntk_clock_monotonic_ns(),
                         .state = RUNNING };
    int ret = begin_program(&new, &sql->sources[source], text, rows);

    if (ret < 0) {
        return ret;
    }
    *query = new;
    ret = -pthread_create(&query->thread, NULL, run, query);
    if (ret < 0) {
        (void)kill(new.pid, SIGKILL);
        (void)waitpid(new.pid, NULL, 0);
        close(new.out);
        close(new.said);
        *query = earlier;
    } else {
        forget(&earlier);
    }
    return ret;
}

/* Returns true for a request from a page of another site. Such requests must not start or stop a
 * process; a browser lets pages send them without reading the answer. Browsers send the requesting
 * page; other programs do not. */
static bool is_of_other_site(const struct ntk_http_request *request,
                             struct ntk_http_response *response)
{
    const char *site = ntk_http_request_header_get(request, "Sec-Fetch-Site");
    bool is_other = site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;

    if (is_other) {
        answer_error(response, 403, "pages from other sites cannot start or cancel queries");
    }
    return is_other;
}

static void answer_begin(const struct ntk_http_request *request, struct ntk_http_response *response,
                         void *ctx)
{
    struct ntk_timeline_sql *sql = ctx;
    const char *text = ntk_http_request_query_get(request, "sql");
    struct ntk_buf out = { 0 };
    uint64_t source = 0;
    uint64_t rows = 0;
    uint64_t seconds = 0;
    uint64_t id = 0;

    if (is_of_other_site(request, response)) {
        return;
    }
    if (!text) {
        answer_error(response, 400, "missing sql");
        return;
    }
    if (!get_number(request, "source", 0, sql->source_count - 1, &source, response) ||
        !get_number(request, "rows", 1, NTK_TIMELINE_SQL_ROWS_MAX, &rows, response) ||
        !get_number(request, "seconds", 1, NTK_TIMELINE_SQL_SECONDS_MAX, &seconds, response)) {
        return;
    }
    pthread_mutex_lock(&sql->lock);
    struct query *query = find_place(sql);
    int ret = query ? begin(sql, query, source, text, rows, seconds) : -EBUSY;
    id = sql->next_id;
    pthread_mutex_unlock(&sql->lock);
    if (ret == -EBUSY) {
        answer_error(response, 503, "too many queries at once (at most 4): cancel one");
    } else if (ret < 0) {
        answer_error(response, 500, strerror(-ret));
    } else {
        ntk_buf_add_format(&out, "{\"id\":%" PRIu64 "}", id);
        answer(response, &out);
    }
}

/* Returns the query of the request, or NULL after answering. The caller holds the lock. */
static struct query *query_of(struct ntk_timeline_sql *sql, const struct ntk_http_request *request,
                              struct ntk_http_response *response)
{
    uint64_t id = 0;

    if (!get_number(request, "id", 1, UINT64_MAX, &id, response)) {
        return NULL;
    }
    for (size_t q = 0; q < NTK_TIMELINE_SQL_MAX; q++) {
        if (sql->queries[q].state != UNUSED && sql->queries[q].id == id) {
            return &sql->queries[q];
        }
    }
    answer_error(response, 404, "unknown query: later queries have replaced it");
    return NULL;
}

static void answer_answer(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    static const char *const names[] = { "", "running", "done", "failed", "cancelled" };
    struct ntk_timeline_sql *sql = ctx;
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    pthread_mutex_lock(&sql->lock);
    struct query *query = query_of(sql, request, response);
    if (query) {
        uint64_t now_ns = query->state == RUNNING ? ntk_clock_monotonic_ns() : query->end_ns;
        ntk_json_init(&json, &out, false);
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "state", names[query->state]);
        ntk_json_key_u64(&json, "ms", (now_ns - query->begin_ns) / NTK_NS_PER_MS);
        if (query->message[0]) {
            ntk_json_key_text(&json, "message", query->message);
        }
        if (query->state == DONE) {
            ntk_json_key_text(&json, "csv", ntk_buf_text_get(&query->csv));
        }
        ntk_json_object_end(&json);
    }
    pthread_mutex_unlock(&sql->lock);
    if (query) {
        answer(response, &out);
    }
}

static void cancel(struct query *query)
{
    if (query->state == RUNNING && query->pid > 0) {
        query->is_cancelled = true;
        (void)kill(query->pid, SIGKILL);
    }
}

static void answer_cancel(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct ntk_timeline_sql *sql = ctx;
    struct ntk_buf out = { 0 };

    if (is_of_other_site(request, response)) {
        return;
    }
    pthread_mutex_lock(&sql->lock);
    struct query *query = query_of(sql, request, response);
    if (query) {
        cancel(query);
    }
    pthread_mutex_unlock(&sql->lock);
    if (query) {
        ntk_buf_add_text(&out, "{}");
        answer(response, &out);
    }
}

static void put_tables(bool is_of_folders, struct ntk_buf *out)
{
    (void)ntk_query_list(is_of_folders, NULL, true, out, NULL);
}

static void answer_sources(const struct ntk_http_request *request,
                           struct ntk_http_response *response, void *ctx)
{
    const struct ntk_timeline_sql *sql = ctx;
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    (void)request;
    ntk_json_init(&json, &out, false);
    ntk_json_array_begin(&json);
    for (size_t s = 0; s < sql->source_count; s++) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", sql->sources[s].name);
        ntk_json_key_bool(&json, "folders", sql->sources[s].is_of_folders);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    struct ntk_buf whole = { 0 };
    ntk_buf_add_text(&whole, "{\"sources\":");
    ntk_buf_add(&whole, out.bytes, out.bytes_count);
    ntk_buf_add_text(&whole, ",\"tables\":");
    put_tables(false, &whole);
    ntk_buf_add_text(&whole, ",\"folder_tables\":");
    put_tables(true, &whole);
    ntk_buf_add_char(&whole, '}');
    ntk_buf_fini(&out);
    answer(response, &whole);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct ntk_timeline_sql *ntk_timeline_sql_create(const char *program,
                                                 const struct ntk_timeline_sql_source *sources,
                                                 size_t source_count)
{
    struct ntk_timeline_sql *sql = calloc(1, sizeof *sql);

    if (sql) {
        sql->program = program;
        sql->sources = sources;
        sql->source_count = source_count;
        pthread_mutex_init(&sql->lock, NULL);
    }
    return sql;
}

void ntk_timeline_sql_destroy(struct ntk_timeline_sql *sql)
{
    if (!sql) {
        return;
    }
    pthread_mutex_lock(&sql->lock);
    for (size_t q = 0; q < NTK_TIMELINE_SQL_MAX; q++) {
        cancel(&sql->queries[q]);
    }
    pthread_mutex_unlock(&sql->lock);
    for (size_t q = 0; q < NTK_TIMELINE_SQL_MAX; q++) {
        forget(&sql->queries[q]);
    }
    pthread_mutex_destroy(&sql->lock);
    free(sql);
}

void ntk_timeline_sql_routes(struct ntk_timeline_sql *sql, struct ntk_http_route *out_routes)
{
    out_routes[0] = (struct ntk_http_route){ "/api/v1/sql_sources", answer_sources, sql };
    out_routes[1] = (struct ntk_http_route){ "/api/v1/sql", answer_begin, sql };
    out_routes[2] = (struct ntk_http_route){ "/api/v1/sql_answer", answer_answer, sql };
    out_routes[3] = (struct ntk_http_route){ "/api/v1/sql_cancel", answer_cancel, sql };
}
