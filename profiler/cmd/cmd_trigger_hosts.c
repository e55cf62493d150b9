/* SPDX-License-Identifier: MIT */
/* cmd_trigger_hosts - sends queries and requests to agents, waits, and fetches their files. */
#include "profiler/cmd/cmd_trigger_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_trigger_text.h"
#include "profiler/output/answers/output_hostwork.h"
#include "shared/base/progress.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/url.h"

#define CAPTURES "/api/v1/captures"
#define AHEAD_NS (2 * NTK_NS_PER_SECOND) /* time at first; doubled with each attempt */
#define TRIES 4
#define POLL_NS (100 * NTK_NS_PER_MS)
#define LOOK_NS (15 * NTK_NS_PER_SECOND) /* longer than the timeout of any agent */
#define GRACE_NS (15 * NTK_NS_PER_SECOND)
#define ID_BYTES 64
#define PIECE_BYTES UINT64_C(4194304) /* bytes of a file per request */
#define ANSWER_BYTES ((size_t)8 * 1024 * 1024)

struct host {
    const char *address;
    char name[NTK_URL_SHOWN_BYTES]; /* name for users */
    struct ntk_http_client *client;
    char id[ID_BYTES];  /* id of its request; "" if none */
    json_t *state;      /* last reported state */
    struct ntk_err err; /* text is "" without an error */
    uint64_t fetched_files;
    bool has_host_threads; /* true if a fetched file has host threads */
    char folder[PATH_MAX]; /* folder for its files; "" if none */
};

/* ---- queries --------------------------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static uint64_t number_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_integer(value) && json_integer_value(value) > 0
               ? (uint64_t)json_integer_value(value)
               : 0;
}

/* Sends a query; stores the answer in the caller's storage. Negative with a message; a status of
 * 300 or more is an error, too. */
static int ask(struct host *host, const struct ntk_hosts_remote *remote, const char *method,
               const char *path, struct ntk_http_answer *answer)
{
    char url[NTK_HOSTS_URL_BYTES];
    int ret = ntk_hosts_url_make(host->address, path, url, sizeof url, &host->err);

    if (ret < 0) {
        return ret;
    }
    struct ntk_http_question question = ntk_hosts_question(remote, url);
    question.method = method;
    question.answer_bytes_max = ANSWER_BYTES;
    if (strcmp(method, "PUT") == 0) {
        question.body = "{}"; /* a body is required */
        question.body_bytes = 2;
    }
    ret = ntk_http_client_ask(host->client, &question, answer, &host->err);
    if (ret < 0 || answer->status / 100 == 2) {
        return ret;
    }
    json_t *root = json_loadb((const char *)answer->body.bytes, answer->body.bytes_count, 0, NULL);
    const char *said = text_of(root, "error");

    ret = ntk_err_set(
        &host->err, -EREMOTEIO, NTK_ERR_NO_OFFSET, "the agent returned HTTP %ld: %s",
        answer->status,
        said[0] ? said
        : answer->status == 404 || answer->status == 405
            ? "the agent accepts no remote captures (start it with neuron-monitor --capture-remote)"
        : answer->status == 401 || answer->status == 403
            ? "authentication failed: check --token-file"
            : "no reason given");
    json_decref(root);
    return ret;
}

static int ask_object(struct host *host, const struct ntk_hosts_remote *remote, const char *method,
                      const char *path)
{
    struct ntk_http_answer answer = { 0 };
    int ret = ask(host, remote, method, path, &answer);

    if (ret >= 0) {
        json_decref(host->state);
        host->state = json_loadb((const char *)answer.body.bytes, answer.body.bytes_count, 0, NULL);
        ret = json_is_object(host->state)
                  ? 0
                  : ntk_err_set(&host->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                "the response of the agent is not a JSON object");
    }
    ntk_http_answer_fini(&answer);
    return ret;
}

/* Takes the id of a request; accepts only a valid id. */
static bool take_id(struct host *host)
{
    const char *id = text_of(host->state, "id");
    size_t bytes = strlen(id);

    if (bytes == 0 || bytes >= sizeof host->id ||
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != bytes) {
        ntk_err_set(&host->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                    "the response of the agent does not name the capture");
        return false;
    }
    return ntk_str_copy(host->id, sizeof host->id, id);
}

/* Appends text with percent encoding of special characters. */
static void add_escaped(struct ntk_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *text)) {
            ntk_buf_add_char(out, *text);
        } else {
            ntk_buf_add_format(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

static void begin(struct host *host, const struct ntk_trigger_options *options, uint64_t first)
{
    struct ntk_buf path = { 0 };
    char before[ID_BYTES];

    (void)ntk_str_copy(before, sizeof before, host->id);
    host->id[0] = '\0';
    ntk_buf_add_format(&path, CAPTURES "?%s=", options->job ? "job" : "pid");
    if (options->job) {
        add_escaped(&path, options->job);
    } else {
        ntk_buf_add_u64(&path, options->pid);
    }
    if (options->uid != UINT64_MAX) {
        ntk_buf_add_format(&path, "&user=%llu", (unsigned long long)options->uid);
    }
    if (before[0]) { /* files of a failed attempt are not needed */
        ntk_buf_add_format(&path, "&instead_of=%s", before);
    }
    if (first == 0) {
        ntk_buf_add_text(&path, "&look=1");
    } else {
        ntk_buf_add_format(&path, "&at=%llu&executions=%llu&timeout_ms=%llu&size=%llu",
                           (unsigned long long)first, (unsigned long long)options->executions,
                           (unsigned long long)(options->timeout_ns / NTK_NS_PER_MS),
                           (unsigned long long)options->keep_bytes);
        ntk_buf_add_text(&path, options->idle ? "&idle=1" : "");
    }
    if (!ntk_buf_ok(&path)) {
        (void)ntk_err_no_memory(&host->err);
    } else if (ask_object(host, &options->remote, "PUT", ntk_buf_text_get(&path)) >= 0) {
        (void)take_id(host);
    }
    ntk_buf_fini(&path);
}

/* Waits until all hosts are done, or the time is up. */
static void wait_for_all(struct host *hosts, const struct ntk_trigger_options *options,
                         uint64_t timeout_ns, const char *what)
{
    struct ntk_progress progress = { 0 };
    uint64_t begin_ns = ntk_clock_monotonic_ns();
    size_t waiting = 1;

    ntk_progress_begin(&progress, what);
    while (waiting > 0 && !*options->is_interrupted) {
        uint64_t spent_ns = ntk_clock_monotonic_ns() - begin_ns;

        waiting = 0;
        for (size_t i = 0; i < options->count; i++) {
            struct host *host = &hosts[i];
            char path[sizeof CAPTURES + ID_BYTES + 8];

            if (host->err.code != 0 || strcmp(text_of(host->state, "state"), "done") == 0) {
                continue;
            }
            (void)snprintf(path, sizeof path, CAPTURES "/%s", host->id);
            if (ask_object(host, &options->remote, "GET", path) >= 0 &&
                strcmp(text_of(host->state, "state"), "done") != 0) {
                waiting++;
                if (spent_ns > timeout_ns) {
                    (void)ntk_err_set(&host->err, -ETIMEDOUT, NTK_ERR_NO_OFFSET,
                                      "the agent did not finish before the timeout");
                }
            }
        }
        ntk_progress_show(&progress, (double)spent_ns / (double)timeout_ns);
        if (waiting > 0) {
            usleep(POLL_NS / NTK_NS_PER_US);
        }
    }
    ntk_progress_end(&progress);
}

/* Returns the output of the remote program; an empty object if there is none. */
static json_t *said_of(const struct host *host)
{
    return json_object_get(host->state, "answer");
}

static void take_failure(struct host *host)
{
    const char *said = text_of(said_of(host), "error");
    char clean[400];

    if (host->err.code == 0 && (said[0] || !json_is_object(said_of(host)))) {
        ntk_str_copy_clean(clean, sizeof clean, said, strlen(said));
        (void)ntk_err_set(&host->err, -EREMOTEIO, NTK_ERR_NO_OFFSET, "%s",
                          clean[0] ? clean : "capture failed; see the agent's log");
    }
}

/* Returns true if there is one user or --user was given, because processes of two users are not one
 * job. */
static bool users_agree(struct host *hosts, const struct ntk_trigger_options *options)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < options->count && options->uid == UINT64_MAX; i++) {
        const json_t *processes = json_object_get(said_of(&hosts[i]), "processes");
        json_t *process;
        size_t k;

        json_array_foreach(processes, k, process)
        {
            uint64_t uid = number_of(process, "uid");

            if (first != UINT64_MAX && uid != first) {
                for (size_t h = 0; h < options->count; h++) {
                    (void)ntk_err_set(&hosts[h].err, -EINVAL, NTK_ERR_NO_OFFSET,
                                      "processes of users %llu and %llu match: choose one with "
                                      "--user",
                                      (unsigned long long)first, (unsigned long long)uid);
                }
                return false;
            }
            first = uid;
        }
    }
    return true;
}

/* ---- the position of processes --------------------------------------------------------------- */

/* Returns the next execution that no process has started; 0 without an answer. */
static uint64_t look(struct host *hosts, const struct ntk_trigger_options *options,
                     uint64_t ahead_ns)
{
    uint64_t now = 0;
    double per_second = 0;
    bool has_any = false;

    for (size_t i = 0; i < options->count; i++) {
        if (hosts[i].err.code == 0) {
            begin(&hosts[i], options, 0);
        }
    }
    wait_for_all(hosts, options, LOOK_NS, "asking the agents for the processes");
    for (size_t i = 0; i < options->count; i++) {
        take_failure(&hosts[i]);
        if (hosts[i].err.code == 0) {
            uint64_t at = number_of(said_of(&hosts[i]), "execution");
            double rate =
                json_number_value(json_object_get(said_of(&hosts[i]), "executions_per_second"));

            has_any = true;
            now = at > now ? at : now;
            per_second = rate > per_second ? rate : per_second;
        }
    }
    if (!users_agree(hosts, options)) {
        return 0;
    }
    double ahead = per_second * (double)ahead_ns / (double)NTK_NS_PER_SECOND;
    return has_any && now < UINT64_MAX / 2 && ahead < 1e15 ? now + 1 + (uint64_t)ahead : 0;
}

static bool is_late(const struct host *host)
{
    json_t *process;
    size_t i;

    if (json_is_true(json_object_get(said_of(host), "is_late"))) {
        return true;
    }
    json_array_foreach(json_object_get(said_of(host), "processes"), i, process)
    {
        if (json_is_true(json_object_get(process, "is_late"))) {
            return true;
        }
    }
    return false;
}

/* Requests the recordings; returns the first execution, 0 if none. */
static uint64_t record(struct host *hosts, const struct ntk_trigger_options *options)
{
    uint64_t first = 0;

    for (unsigned tries = 0; tries < TRIES && !*options->is_interrupted; tries++) {
        bool is_somebody_late = false;

        first = look(hosts, options, AHEAD_NS << tries);
        if (first == 0 || options->only_look) {
            return first;
        }
        first = options->at_execution ? options->at_execution : first;
        for (size_t i = 0; i < options->count; i++) {
            if (hosts[i].err.code == 0) {
                begin(&hosts[i], options, first);
            }
        }
        wait_for_all(hosts, options, options->timeout_ns + GRACE_NS,
                     "waiting for executions (percent of the time limit)");
        for (size_t i = 0; i < options->count; i++) {
            is_somebody_late = is_somebody_late || (hosts[i].err.code == 0 && is_late(&hosts[i]));
        }
        if (!is_somebody_late || options->at_execution) {
            break;
        }
    }
    for (size_t i = 0; i < options->count; i++) {
        take_failure(&hosts[i]);
    }
    return first;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns true for a relative path below the folder, with parts of plain characters that do not
 * start with a dot. */
static bool is_safe(const char *name)
{
    size_t bytes = strlen(name);

    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        if (part[0] == '.' || part[0] == '/' || part[0] == '\0') {
            return false;
        }
    }
    return bytes < 512 && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-._/=+@") == bytes;
}

static int fetch_file(struct host *host, const struct ntk_trigger_options *options,
                      const char *name, uint64_t bytes)
{
    char path[PATH_MAX];
    struct ntk_buf url = { 0 };
    uint64_t at = 0;
    int ret = 0;

    if (!is_safe(name) ||
        (size_t)snprintf(path, sizeof path, "%s/%s", host->folder, name) >= sizeof path) {
        return ntk_err_set(&host->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "the agent sent a file with an invalid name");
    }
    *strrchr(path, '/') = '\0';
    ret = ntk_fs_make_folders(path, 0755, &host->err);
    path[strlen(path)] = '/';
    int fd = ret < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) {
        return ret < 0 ? ret
                       : ntk_err_set(&host->err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", path,
                                     strerror(errno));
    }
    while (ret >= 0 && at < bytes && !*options->is_interrupted) {
        struct ntk_http_answer answer = { 0 };

        ntk_buf_reset(&url);
        ntk_buf_add_format(&url, CAPTURES "/%s/file?offset=%llu&name=", host->id,
                           (unsigned long long)at);
        add_escaped(&url, name);
        ret = ask(host, &options->remote, "GET", ntk_buf_text_get(&url), &answer);
        size_t got = answer.body.bytes_count;
        if (ret >= 0 && got != (bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES)) {
            ret = ntk_err_set(&host->err, -EBADMSG, NTK_ERR_NO_OFFSET,
                              "%s does not have the size that the agent announced", name);
        } else if (ret >= 0 && (ret = ntk_fs_pwrite(fd, answer.body.bytes, got, at)) < 0) {
            ntk_err_set(&host->err, ret, NTK_ERR_NO_OFFSET, "%s: %s", path, strerror(-ret));
        }
        at += got;
        ntk_http_answer_fini(&answer);
    }
    ntk_buf_fini(&url);
    close(fd);
    return ret;
}

/* Fetches files to a folder with the host's name, with ':' and '/' replaced by '_'. */
static void fetch(struct host *host, const struct ntk_trigger_options *options)
{
    json_t *files = json_object_get(host->state, "files");
    json_t *file;
    uint64_t all_bytes = 0;
    size_t i;

    int base = snprintf(host->folder, sizeof host->folder, "%s/", options->folder);
    if (base < 0 || (size_t)base + strlen(host->name) >= sizeof host->folder) {
        host->folder[0] = '\0';
        (void)ntk_err_set(&host->err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s: the path is too long",
                          options->folder);
        return;
    }
    for (const char *c = strstr(host->name, "://") ? strstr(host->name, "://") + 3 : host->name; *c;
         c++) {
        host->folder[base++] = strchr(":/?#%\\", *c) || (unsigned char)*c < ' ' ? '_' : *c;
    }
    host->folder[base] = '\0';
    json_array_foreach(files, i, file)
    {
        uint64_t bytes = number_of(file, "bytes");

        all_bytes += bytes;
        if (i >= NTK_TRIGGER_HOSTS_FILES_MAX || bytes > options->keep_bytes * 64 ||
            all_bytes > options->keep_bytes * 64) {
            (void)ntk_err_set(&host->err, -EFBIG, NTK_ERR_NO_OFFSET,
                              "the agent sent more files, or larger ones, than requested");
            return;
        }
        if (fetch_file(host, options, text_of(file, "name"), bytes) < 0) {
            return;
        }
        host->fetched_files++;
        host->has_host_threads =
            host->has_host_threads ||
            strcmp(ntk_str_base_name(text_of(file, "name")), NTK_HOSTWORK_FILE) == 0;
    }
    if (options->idle && !host->has_host_threads) {
        (void)ntk_err_set(&host->err, -ENODATA, NTK_ERR_NO_OFFSET,
                          "no record of host threads: the agent is too old, or is not allowed to "
                          "trace the processes (see its log)");
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void put_processes(struct host *host, const struct ntk_trigger_options *options,
                          struct ntk_json *json, int *code)
{
    json_t *process;
    size_t i;

    json_array_foreach(json_object_get(said_of(host), "processes"), i, process)
    {
        char command[64];
        char error[400];
        char range[NTK_TRIGGER_RANGE_BYTES];
        json_t *rank = json_object_get(process, "rank");
        uint64_t first = number_of(process, "first_execution");
        uint64_t last = number_of(process, "last_execution");
        const char *name = text_of(process, "command");
        const char *said = text_of(process, "error");
        bool is_whole = first > 0 && last >= first && last - first + 1 >= options->executions;

        ntk_str_copy_clean(command, sizeof command, name, strlen(name));
        ntk_str_copy_clean(error, sizeof error, said, strlen(said));
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "pid", number_of(process, "pid"));
        ntk_json_key_text(json, "command", command);
        if (json_is_integer(rank)) {
            ntk_json_key_i64(json, "rank", json_integer_value(rank));
        }
        if (options->only_look) {
            ntk_json_key_u64(json, "execution", number_of(process, "execution"));
        } else if (first > 0) {
            ntk_json_key_u64(json, "first_execution", first);
            ntk_json_key_u64(json, "last_execution", last);
        }
        ntk_json_key_text(json, "error", error);
        ntk_json_object_end(json);
        if (options->only_look && !options->json) {
            printf("%s: process %llu (%s): execution %llu\n", host->name,
                   (unsigned long long)number_of(process, "pid"), command,
                   (unsigned long long)number_of(process, "execution"));
            continue;
        }
        if (first > 0 && !options->json) {
            printf("%s: process %llu (%s)", host->name,
                   (unsigned long long)number_of(process, "pid"), command);
            if (json_is_integer(rank)) {
                printf(", rank %lld", (long long)json_integer_value(rank));
            }
            printf(": %s\n", ntk_trigger_executions_text(first, last, range, sizeof range));
        }
        if (!options->only_look && !is_whole) {
            *code = 1;
            fprintf(stderr, "neuron-profile: %s: process %llu (%s): %s\n", host->name,
                    (unsigned long long)number_of(process, "pid"), command,
                    error[0] ? error
                             : "not all executions were recorded before the timeout; use a longer "
                               "--timeout");
        }
    }
}

static int tell(struct host *hosts, const struct ntk_trigger_options *options, uint64_t first)
{
    struct ntk_buf out = { 0 };
    struct ntk_json json;
    bool has_files = false;
    bool has_host_threads = false;
    int code = 0;

    ntk_json_init(&json, &out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "first_execution", first);
    ntk_json_key_u64(&json, "execution_count", options->executions);
    ntk_json_key_array_begin(&json, "hosts");
    for (size_t i = 0; i < options->count; i++) {
        struct host *host = &hosts[i];

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "host", host->name);
        ntk_json_key_array_begin(&json, "processes");
        if (host->id[0]) {
            put_processes(host, options, &json, &code);
        }
        ntk_json_array_end(&json);
        ntk_json_key_u64(&json, "file_count", host->fetched_files);
        ntk_json_key(&json, "folder");
        ntk_json_text(&json, host->fetched_files > 0 ? host->folder : NULL);
        ntk_json_key_text(&json, "error", host->err.text);
        ntk_json_object_end(&json);
        has_files = has_files || host->fetched_files > 0;
        has_host_threads = has_host_threads || host->has_host_threads;
        if (host->fetched_files > 0 && !options->json) {
            printf("%s: %llu files in %s\n", host->name, (unsigned long long)host->fetched_files,
                   host->folder);
        }
        if (host->err.code != 0) {
            code = 1;
            ntk_err_prefix(&host->err, "%s", host->name);
            (void)ntk_profile_fail(&host->err);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(&out, '\n');
    if (options->json && ntk_profile_put(&out, NULL) != 0) {
        code = 1;
    }
    ntk_buf_fini(&out);
    if (has_files && !options->json) {
        ntk_trigger_say_next(options->folder, has_host_threads);
    }
    return code;
}

int ntk_trigger_hosts(const struct ntk_trigger_options *options)
{
    struct host *hosts = calloc(options->count, sizeof *hosts);
    struct ntk_err err = { 0 };
    uint64_t first = 0;
    int ret = 0;

    if (!hosts) {
        (void)ntk_err_no_memory(&err);
        return ntk_profile_fail(&err);
    }
    if (options->count > NTK_TRIGGER_HOSTS_MAX) {
        ret = ntk_err_set(&err, -E2BIG, NTK_ERR_NO_OFFSET, "at most %u hosts are supported",
                          NTK_TRIGGER_HOSTS_MAX);
    }
    for (size_t i = 0; i < options->count && ret == 0; i++) {
        hosts[i].address = options->names[i];
        (void)ntk_url_redact(hosts[i].name, sizeof hosts[i].name, options->names[i]);
        hosts[i].client = ntk_http_client_create();
        ret = hosts[i].client ? 0 : ntk_err_no_memory(&err);
    }
    int code = 1;
    if (ret == 0) {
        first = record(hosts, options);
        for (size_t i = 0; i < options->count && first > 0 && !options->only_look; i++) {
            if (hosts[i].id[0] && hosts[i].err.code == 0) {
                fetch(&hosts[i], options);
            }
        }
        code = tell(hosts, options, first);
    } else {
        (void)ntk_profile_fail(&err);
    }
    for (size_t i = 0; i < options->count; i++) {
        ntk_http_client_destroy(hosts[i].client);
        json_decref(hosts[i].state);
    }
    free(hosts);
    return code;
}
