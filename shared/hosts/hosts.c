/* SPDX-License-Identifier: MIT */
#include "shared/hosts/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_many.h"
#include "shared/http/http_ports.h"
#include "shared/report/report_json.h"

/* Maximum number of parallel requests; further ones start when one of these has ended. */
#define PLACES_MAX 64u
/* A Date header uses the kernel's coarse clock, which is up to one tick late. */
#define TICK_NS (20 * NTK_NS_PER_MS)

void ntk_host_set(struct ntk_host *host, const char *address)
{
    host->address = address;
    (void)ntk_url_redact(host->name, sizeof host->name, address);
}

void ntk_host_fini(struct ntk_host *host)
{
    ntk_snapshot_destroy(host->snapshot);
    host->snapshot = NULL;
    host->err = (struct ntk_err){ 0 };
}

int ntk_hosts_url_make(const char *name, const char *path, char *url, size_t url_bytes,
                       struct ntk_err *err)
{
    const char *scheme = strstr(name, "://");
    const char *host = scheme ? scheme + 3 : name;
    size_t length = strlen(name);
    char shown[NTK_URL_SHOWN_BYTES];

    if (scheme && strncmp(name, "http://", 7) != 0 && strncmp(name, "https://", 8) != 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid URL '%.200s': expected http:// or https://",
                           ntk_url_redact(shown, sizeof shown, name));
    }
    while (length > 0 && name[length - 1] == '/') {
        length--;
    }
    const char *slash = strchr(host, '/');
    bool has_path = slash && slash < name + length;
    if (!scheme && (has_path || !name[0])) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "invalid host '%.200s': expected a URL with http:// or https://, or HOST[:PORT]",
            ntk_url_redact(shown, sizeof shown, name));
    }
    /* A URL has its scheme's default port. */
    bool has_port = scheme || strchr(name[0] == '[' ? strchrnul(name, ']') : name, ':');
    int bytes =
        snprintf(url, url_bytes, "%s%.*s%s%s", scheme ? "" : "http://", (int)length, name,
                 has_port ? "" : ":" NTK_HTTP_PORT_TEXT(NTK_HTTP_PORT_AGENT), has_path ? "" : path);
    return bytes < 0 || (size_t)bytes >= url_bytes
               ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the address is too long")
               : 0;
}

struct ntk_http_question ntk_hosts_question(const struct ntk_hosts_remote *remote, const char *url)
{
    return (struct ntk_http_question){ .url = url,
                                       .token_file = remote->token_file,
                                       .ca_file = remote->ca_file,
                                       .unix_socket_path = remote->unix_path,
                                       .connect_ns = remote->timeout_ns,
                                       .timeout_ns = remote->timeout_ns,
                                       .answer_bytes_max = NTK_HOSTS_ANSWER_BYTES };
}

int ntk_hosts_answer_read(const struct ntk_http_answer *answer, struct ntk_snapshot **out_snapshot,
                          struct ntk_err *err)
{
    if (answer->status != 200) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the agent returned HTTP %ld%s",
                           answer->status,
                           answer->status == 401   ? ": authentication required: use --token-file"
                           : answer->status == 403 ? ": it responds only to root and its own user"
                           : answer->status == 503 ? ": no current report"
                                                   : "");
    }
    *out_snapshot = NULL;
    int ret = ntk_report_read(answer->body.bytes, answer->body.bytes_count, out_snapshot, err);
    return ret < 0 || *out_snapshot
               ? ret
               : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the response is not a report");
}

/* The second in which the peer answered; false if unknown. */
static bool date_get(const struct ntk_http_answer *answer, uint64_t *out_ns)
{
    char text[64];
    struct tm parts = { 0 };
    const char *end;

    if (!ntk_http_answer_header_get(answer, "date", text, sizeof text)) {
        return false;
    }
    end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    time_t seconds = end && !*end ? timegm(&parts) : -1;
    if (seconds <= 0 || (uint64_t)seconds >= INT64_MAX / NTK_NS_PER_SECOND) {
        return false;
    }
    *out_ns = (uint64_t)seconds * NTK_NS_PER_SECOND;
    return true;
}

struct ntk_ranks_clock ntk_hosts_clock(const struct ntk_snapshot *snapshot,
                                       const struct ntk_http_answer *answer, uint64_t asked_ns,
                                       uint64_t answered_ns)
{
    uint64_t first_ns; /* its answer was made between these two times */
    uint64_t last_ns;
    uint64_t made_ns = snapshot->realtime_ns;

    /* the clock may have been set back */
    answered_ns = answered_ns > asked_ns ? answered_ns : asked_ns;
    if (!date_get(answer, &first_ns)) {
        uint64_t middle_ns = asked_ns + (answered_ns - asked_ns) / 2;

        return (struct ntk_ranks_clock){ .ahead_ns = (int64_t)(made_ns - middle_ns),
                                         .error_ns = NTK_RANKS_CLOCK_UNKNOWN };
    }
    last_ns = first_ns + NTK_NS_PER_SECOND + TICK_NS;
    first_ns = made_ns > first_ns && made_ns < last_ns ? made_ns : first_ns;
    /* The offset is at least first - answered and at most last - asked. */
    uint64_t wide_ns = (last_ns - first_ns) + (answered_ns - asked_ns);
    return (struct ntk_ranks_clock){
        .ahead_ns = (int64_t)(first_ns - answered_ns + wide_ns / 2),
        .error_ns = wide_ns / 2 + 1,
    };
}

/* ---- one round ---- */

struct asker {
    struct ntk_host *hosts;
    size_t count;
    const char *path;
    const struct ntk_hosts_remote *remote;
    struct ntk_http_many *many;
    struct asked {
        size_t host_index;
        uint64_t asked_ns;
        char url[NTK_HOSTS_URL_BYTES];
    } * places;
    size_t next;   /* next host to query */
    size_t asking; /* number of places with a pending request */
};

/* Sends the next request, using this place. */
static void ask_next(struct asker *asker, size_t place)
{
    struct asked *asked = &asker->places[place];

    while (asker->next < asker->count) {
        struct ntk_host *host = &asker->hosts[asker->next];
        struct ntk_http_question question = ntk_hosts_question(asker->remote, asked->url);

        asked->host_index = asker->next++;
        asked->asked_ns = ntk_clock_realtime_ns();
        if (ntk_hosts_url_make(asker->remote->unix_path ? "localhost" : host->address, asker->path,
                               asked->url, sizeof asked->url, &host->err) == 0 &&
            ntk_http_many_start(asker->many, place, &question, &host->err) == 0) {
            asker->asking++;
            return;
        }
    }
}

static void take(struct asker *asker, const struct ntk_http_many_end *end)
{
    const struct asked *asked = &asker->places[end->place];
    struct ntk_host *host = &asker->hosts[asked->host_index];
    uint64_t answered_ns = ntk_clock_realtime_ns();
    struct ntk_snapshot *snapshot = NULL;

    if (end->result < 0) {
        host->err = end->err;
    } else if (ntk_hosts_answer_read(end->answer, &snapshot, &host->err) == 0 && snapshot) {
        host->snapshot = snapshot;
        host->is_segments = false;
        host->clock = (struct ntk_ranks_clock){ 0 };
        if (!asker->remote->unix_path) {
            host->clock = ntk_hosts_clock(snapshot, end->answer, asked->asked_ns, answered_ns);
        }
    }
}

int ntk_hosts_ask(struct ntk_host *hosts, size_t count, const char *path,
                  const struct ntk_hosts_remote *remote, struct ntk_err *err)
{
    size_t places = count < PLACES_MAX ? count : PLACES_MAX;
    struct asker asker = { .hosts = hosts, .count = count, .path = path, .remote = remote };
    int ret = 0;

    asker.places = calloc(places + 1, sizeof *asker.places);
    asker.many = ntk_http_many_create(places, err);
    if (!asker.places || !asker.many) {
        ret = asker.many ? ntk_err_no_memory(err) : err->code;
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        ntk_host_fini(&hosts[i]);
    }
    for (size_t i = 0; i < places; i++) {
        ask_next(&asker, i);
    }
    while (asker.asking > 0) {
        struct ntk_http_many_end end;

        if (ntk_http_many_wait(asker.many, UINT64_MAX, &end)) {
            asker.asking--;
            take(&asker, &end);
            ask_next(&asker, end.place);
        }
    }

out:
    ntk_http_many_destroy(asker.many);
    free(asker.places);
    return ret;
}

/* ---- the agent of this machine ---- */

bool ntk_hosts_agent_path(char *buf, size_t buf_bytes)
{
    const char *hooks = ntk_paths_hooks_dir_variable();
    int bytes = snprintf(buf, buf_bytes, "%s/agent.sock", hooks ? hooks : NTK_SERVICE_FOLDER);

    return bytes > 0 && (size_t)bytes < buf_bytes;
}

bool ntk_hosts_agent_ask(struct ntk_host *host, const char *path, struct ntk_hosts_remote *remote)
{
    static char unix_path[NTK_PATH_BYTES];
    struct ntk_err err = { 0 };
    struct stat status;

    host->no_agent[0] = '\0';
    remote->unix_path = NULL;
    if (!ntk_hosts_agent_path(unix_path, sizeof unix_path) || lstat(unix_path, &status) < 0) {
        (void)snprintf(host->no_agent, sizeof host->no_agent,
                       "no agent is running on this machine");
        return false;
    }
    if (!S_ISSOCK(status.st_mode) ||
        (status.st_uid != geteuid() && !ntk_paths_is_trusted_user(status.st_uid))) {
        (void)snprintf(host->no_agent, sizeof host->no_agent,
                       "%s is not a socket owned by root, the service or this user", unix_path);
        return false;
    }
    remote->unix_path = unix_path;
    int ret = ntk_hosts_ask(host, 1, path, remote, &err);
    if (ret == 0 && host->snapshot) {
        return true;
    }
    int code = ret < 0 ? ret : host->err.code;
    (void)snprintf(host->no_agent, sizeof host->no_agent, "%.200s: %.280s", unix_path,
                   code == -ECONNREFUSED ? "no agent responds"
                   : code == -ETIMEDOUT  ? "the agent timed out"
                   : ret < 0             ? err.text
                                         : host->err.text);
    remote->unix_path = NULL;
    host->err = (struct ntk_err){ 0 };
    return false;
}
